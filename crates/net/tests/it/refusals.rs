//! Refusals: each has a reason, and does no harm to others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use whimbrel_net::{Authority, Credentials, LinkSecurity};
use whimbrel_platform::audit::RefusalReason;

use whimbrel_platform::limits::{LINK_STRANGERS_EACH_MAX, WRONG_SECRET_WAIT_MS, WRONG_SECRETS_FREE};
use whimbrel_platform::link::{Ack, Hello, LINK_VERSION, write_frame};

use super::{Setting, TestNode, numbers, until};

fn secure(credentials: Credentials) -> Setting {
    Setting {
        level: Some(LinkSecurity::Authenticated),
        credentials: Some(credentials),
        token: None,
        ..Setting::default()
    }
}

/// A node that is let in, as a control; then the one with these credentials is not.
#[track_caller]
fn refused(
    authority: &mut Authority,
    listener: Credentials,
    name: &str,
    with: Setting,
    (why, reason): (&str, RefusalReason),
) {
    let host = TestNode::start("host", secure(listener));
    let friend = TestNode::start("friend", secure(authority.issue("friend", &[], 1).unwrap()));
    friend.hub.connect(host.address());
    until("the friend is let in", || host.hub.has_links(1));
    let other = TestNode::start(name, with);
    let to = other.hub.connect(host.address());
    other.send(to, &format!("agent-of-{name}"), 666);
    until("it is refused", || host.logged(why) || other.logged(why));
    std::thread::sleep(Duration::from_millis(300));
    assert!(host.numbers().is_empty());
    assert_eq!(host.hub.status().iter().filter(|link| link.up).count(), 1, "the friend is still there");
    assert!(host.hub.refusals().of(reason) > 0, "{:?}", host.hub.refusals());
}

#[test]
fn foreign_authority_is_refused() {
    let (mut ours, mut theirs) = (Authority::create("p").unwrap(), Authority::create("p").unwrap());
    let host = ours.issue("host", &[], 1).unwrap();
    let mut stranger = theirs.issue("stranger", &[], 1).unwrap();
    // It trusts us: it is we who do not trust it.
    stranger.authority_pem.clone_from(&host.authority_pem);
    stranger.revoked_pem.clone_from(&host.revoked_pem);
    refused(&mut ours, host, "stranger", secure(stranger), ("BadSignature", RefusalReason::BadCertificate));
}

#[test]
fn revoked_certificate_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let thief = authority.issue("thief", &[], 1).unwrap();
    assert_eq!(authority.revoke("thief"), 2, "its own, and that for its agents");
    let host = authority.issue("host", &[], 1).unwrap();
    refused(&mut authority, host, "thief", secure(thief), ("Revoked", RefusalReason::Revoked));
}

#[test]
fn expired_certificate_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let old = authority.issue("old", &[], 0).unwrap();
    std::thread::sleep(Duration::from_millis(2_100));
    let host = authority.issue("host", &[], 1).unwrap();
    refused(&mut authority, host, "old", secure(old), ("Expired", RefusalReason::Expired));
}

#[test]
fn wrong_address_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let mover = authority.issue("mover", &["192.0.2.7".to_owned()], 1).unwrap();
    let host = authority.issue("host", &[], 1).unwrap();
    refused(&mut authority, host, "mover", secure(mover), ("not for the address", RefusalReason::WrongAddress));
}

#[test]
fn other_nodes_certificate_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let credentials = authority.issue("honest", &[], 1).unwrap();
    let host = authority.issue("host", &[], 1).unwrap();
    refused(&mut authority, host, "liar", secure(credentials), ("does not name node liar", RefusalReason::Impostor));
}

#[test]
fn downgrade_is_refused() {
    for level in [LinkSecurity::Open, LinkSecurity::Tls] {
        let mut authority = Authority::create("p").unwrap();
        let credentials = authority.issue("weak", &[], 1).unwrap();
        let host = authority.issue("host", &[], 1).unwrap();
        let setting = Setting { level: Some(level), credentials: Some(credentials), token: None, ..Setting::default() };
        let reason = if level == LinkSecurity::Open { RefusalReason::Downgrade } else { RefusalReason::BadCertificate };
        refused(&mut authority, host, "weak", setting, ("closed: ", reason));
    }
}

#[test]
fn forged_sender_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let host = TestNode::start("host", secure(authority.issue("host", &[], 1).unwrap()));
    let other = TestNode::start("other", secure(authority.issue("other", &[], 1).unwrap()));
    let to = other.hub.connect(host.address());
    other.send(to, "agent-of-other", 1);
    other.send(to, "agent-of-host", 666);
    other.send(to, "nobody", 666);
    other.send(to, "agent-of-other", 2);
    until("the honest ones arrive", || host.numbers().len() == 2);
    assert_eq!(host.numbers(), [1, 2]);
    until("the others are refused", || numbers(&host.desk.forged) == [666, 666]);
    assert_eq!(host.hub.forged(), 2);
    assert_eq!(host.hub.refusals().of(RefusalReason::Forged), 2);
    assert!(host.logged("sender agent-of-host is not an agent of that node"));
}

/// Messages that differ in their contents alone are sorted out as one.
#[test]
fn forged_senders_in_row_are_refused() {
    let mut authority = Authority::create("p").unwrap();
    let host = TestNode::start("host", secure(authority.issue("host", &[], 1).unwrap()));
    let other = TestNode::start("other", secure(authority.issue("other", &[], 1).unwrap()));
    let to = other.hub.connect(host.address());
    (1..10).for_each(|number| other.send(to, if number % 6 < 3 { "agent-of-other" } else { "agent-of-host" }, number));
    until("the honest ones arrive", || host.numbers().len() == 5);
    assert_eq!(host.numbers(), [1, 2, 6, 7, 8]);
    until("the others are refused", || numbers(&host.desk.forged) == [3, 4, 5, 9]);
}

#[test]
fn wrong_secret_is_refused() {
    let host = TestNode::start("host", Setting { token: Some("right"), ..Setting::default() });
    for (name, token) in [("wrong", Some("wrong")), ("none", None)] {
        let other = TestNode::start(name, Setting { token, ..Setting::default() });
        other.hub.connect(host.address());
        until("it hears why", || other.hub.refusal().is_some());
        assert!(other.hub.refusal().unwrap().contains("token"), "{:?}", other.hub.refusal());
    }
    assert_eq!(host.hub.refusals().of(RefusalReason::BadToken), 2);
}

#[test]
fn other_protocol_version_is_refused() {
    let host = TestNode::start("host", Setting::default());
    for version in [LINK_VERSION - 1, LINK_VERSION + 1] {
        let mut socket = TcpStream::connect(host.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.write_all(&hello_of(version, "other", None)).unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        let why =
            format!("speaks version {version} of the link protocol, this node version {LINK_VERSION}: run releases");
        assert!(String::from_utf8_lossy(&rest).contains(&why), "{:?}", String::from_utf8_lossy(&rest));
    }
}

fn hello(node: &str, token: Option<&str>) -> Vec<u8> {
    hello_of(LINK_VERSION, node, token)
}

fn hello_of(version: u16, node: &str, token: Option<&str>) -> Vec<u8> {
    let says = Hello {
        version,
        platform: "p".into(),
        node: node.into(),
        incarnation: 1,
        heard: None,
        credit: 1 << 20,
        address: None,
        token: token.map(Into::into),
        encoding: "compact".into(),
        unreadable: None,
        to: None,
    };
    let mut frame = Vec::new();
    write_frame(&says, &mut frame);
    frame
}

/// Whoever does not know the secret takes no place and no link of others, whatever name they give.
#[test]
fn strangers_take_nothing() {
    let setting = || Setting { token: Some("right"), ..Setting::default() };
    let (host, friend) = (TestNode::start("host", setting()), TestNode::start("friend", setting()));
    let to = friend.hub.connect(host.address());
    until("the friend is there", || host.hub.has_links(1));
    let guesses = WRONG_SECRETS_FREE as usize + 2;
    let began = Instant::now();
    for name in (2..guesses).map(|n| format!("stranger{n}")).chain((0..2).map(|_| "friend".to_owned())) {
        let mut socket = TcpStream::connect(host.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.write_all(&hello(&name, Some("wrong"))).unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        assert!(String::from_utf8_lossy(&rest).contains("token"), "{name} hears why");
    }
    assert!(began.elapsed() >= Duration::from_millis(3 * WRONG_SECRET_WAIT_MS), "the last ones waited");
    friend.send(to, "a", 1);
    until("the friend is heard", || host.numbers() == [1]);
    let links = host.hub.status();
    assert_eq!((links.len(), links[0].connections), (1, 1), "{links:?}");
    assert_eq!(host.hub.refusals().of(RefusalReason::BadToken), guesses as u64);
}

/// A process that is linked and connects once more, not knowing to whom, is told so; it is nobody else.
#[test]
fn second_connection_is_no_impostor() {
    let host = TestNode::start("host", Setting::default());
    let friend = TestNode::start("friend", Setting { incarnation: Some(1), ..Setting::default() });
    friend.hub.connect(host.address());
    until("the friend is there", || host.hub.has_links(1));
    let mut again = TcpStream::connect(host.address()).unwrap();
    again.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    again.write_all(&hello("friend", None)).unwrap();
    let mut rest = Vec::new();
    again.read_to_end(&mut rest).unwrap();
    assert_eq!(host.hub.refusals().of(RefusalReason::Impostor), 0, "{}", String::from_utf8_lossy(&rest));
    assert!(host.hub.has_links(1));
}

/// A link whose peer is not where it should be is tried again, and goes on when it is.
#[test]
fn wrong_node_is_dialled_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TestNode::start("one", Setting::default());
    one.hub.connect_to("two", &listener.local_addr().unwrap().to_string());
    for _ in 0..3 {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(&hello("three", None)).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    }
    until("it is told who answers there", || one.logged("three"));
}

#[test]
fn duplicate_node_name_is_refused() {
    let (host, one) = (TestNode::start("host", Setting::default()), TestNode::start("twin", Setting::default()));
    one.hub.connect(host.address());
    until("the first is there", || host.hub.has_links(1));
    let same = TestNode::start("host", Setting::default());
    same.hub.connect(host.address());
    until("it is turned away", || host.logged("refused node"));
    assert_eq!(host.hub.status().iter().filter(|link| link.up).count(), 1);
}

/// Connections that say nothing, from one address, take none of the places of others.
#[test]
#[cfg(target_os = "linux")]
fn strangers_shut_nobody_out() {
    let host = TestNode::start("host", Setting::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let to = host.address().parse().unwrap();
    let strangers = runtime.block_on(async {
        let mut strangers = Vec::new();
        for _ in 0..2 * LINK_STRANGERS_EACH_MAX {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.66:0".parse().unwrap()).unwrap();
            strangers.push(socket.connect(to).await.unwrap());
        }
        strangers
    });
    until("some are refused", || host.hub.refusals().of(RefusalReason::TooMany) == LINK_STRANGERS_EACH_MAX as u64);
    let friend = TestNode::start("friend", Setting::default());
    friend.hub.connect(host.address());
    until("a friend is heard", || host.hub.has_links(1));
    drop(strangers);
}

/// While a node answers, its name is taken.
#[test]
fn second_process_of_a_node_is_refused() {
    let process =
        |incarnation| TestNode::start("twin", Setting { incarnation: Some(incarnation), ..Setting::default() });
    let (host, first, second) = (TestNode::start("host", Setting::default()), process(1), process(2));
    let to = first.hub.connect(host.address());
    until("the first is there", || host.hub.has_links(1));
    second.hub.connect(host.address());
    until("the second hears why", || second.hub.refusal().is_some());
    assert!(second.hub.refusal().unwrap().contains("the node name \"twin\" is taken"), "{:?}", second.hub.refusal());
    assert_eq!(host.hub.refusals().of(RefusalReason::Impostor), 1);
    (0..10).for_each(|number| first.send(to, "a", number));
    until("the first is heard", || host.numbers() == (0..10).collect::<Vec<_>>());
    let links = host.hub.status();
    assert_eq!((links.len(), links[0].connections, links[0].up), (1, 1, true), "{links:?}");
    drop(first);
    let third = process(3);
    let to = third.hub.connect(host.address());
    third.send(to, "a", 10);
    until("who comes when the first is dead has its name", || host.numbers().last() == Some(&10));
}

/// A node that is looked for where another one is: the link between the two that are there goes on.
#[test]
fn misdirected_connection_touches_no_link() {
    let (one, two) = (TestNode::start("one", Setting::default()), TestNode::start("two", Setting::default()));
    let to = two.hub.connect_to("one", one.address());
    until("they are linked", || one.hub.has_links(1) && two.hub.has_links(1));
    two.hub.connect_to("gone", one.address());
    let connections = |link: &str| {
        let links = two.hub.status();
        links.iter().find(|status| status.node.as_deref() == Some(link)).map(|status| status.connections)
    };
    until("it was looked for again and again", || connections("gone") > Some(2));
    two.send(to, "a", 1);
    until("the link is there", || one.numbers() == [1]);
    assert_eq!((connections("one"), one.hub.status().len(), one.hub.status()[0].connections), (Some(1), 1, 1));
    assert!(two.logged("the node at this address is \"one\", not \"gone\""));
    two.hub.forget_lost_but(&[]);
    until("it is forgotten", || connections("gone").is_none());
    assert!(one.hub.has_links(1) && two.hub.has_links(1));
}

#[test]
fn hostile_bytes_close_one_connection() {
    let (host, friend) = (TestNode::start("host", Setting::default()), TestNode::start("friend", Setting::default()));
    let to = friend.hub.connect(host.address());
    until("the friend is there", || host.hub.has_links(1));
    let hostile: [&[u8]; 6] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 64], &[0], &[3, 2, 0, 0], &[0xff, 0xff, 0x3f, 1], &[5, 1, 200, 1, 1, 1]];
    for bytes in hostile {
        let mut socket = TcpStream::connect(host.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        // Closed or reset, but not left open.
        assert!(!matches!(socket.read_to_end(&mut rest), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
    }
    until("the first is told to go elsewhere", || host.logged("look like HTTP: browsers connect to the HTTP port"));
    friend.send(to, "a", 1);
    until("the friend is heard", || host.numbers() == [1]);
}

/// A peer that said who it is and then does not keep to the rules: its connection is closed, and the reason counted.
#[test]
fn hostile_frames_are_counted() {
    let (host, friend) = (TestNode::start("host", Setting::default()), TestNode::start("friend", Setting::default()));
    let to = friend.hub.connect(host.address());
    until("the friend is there", || host.hub.has_links(1));
    let hello = hello("mallory", None);
    let mut forged_ack = Vec::new();
    write_frame(&Ack { received: 1 << 40, credit: 0 }, &mut forged_ack);
    let hostile: [(&[u8], &str); 6] = [
        (&[1, 99], "bad_frame"),
        (&hello, "out_of_turn"),
        (&[4, 2, 9, 0, 4], "not_next"),
        (&[4, 2, 0, 0, 99], "bad_batch"),
        (&[5, 2, 0, 0, 1, 200], "bad_batch"),
        (&forged_ack, "bad_acknowledgement"),
    ];
    for (bytes, reason) in hostile {
        let count = || {
            let links = host.hub.status();
            let faults = links.into_iter().find(|link| link.node.as_deref() == Some("mallory")).map(|link| link.faults);
            faults.unwrap_or_default().iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| *count)
        };
        let before = count();
        let mut socket = TcpStream::connect(host.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.write_all(&hello).unwrap();
        socket.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        let closed = socket.read_to_end(&mut rest);
        assert!(!matches!(closed, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "{reason}");
        until(reason, || count() == before + 1);
    }
    friend.send(to, "a", 1);
    until("the friend is heard", || host.numbers() == [1]);
}
