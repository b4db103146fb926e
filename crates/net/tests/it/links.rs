//! Messages over real sockets.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_net::{Authority, LinkSecurity};
use whimbrel_platform::limits::{LINK_FLIGHT_BYTES, LINK_SOFT_MESSAGES};
use whimbrel_platform::link::LinkFrame;

use super::{IntroductionRest, Setting, TestNode, numbers, until};

#[test]
fn messages_arrive_once_in_order() {
    for level in [LinkSecurity::Open, LinkSecurity::Tls, LinkSecurity::Authenticated] {
        let mut authority = Authority::create("p").unwrap();
        let mut node = |name: &str| {
            let credentials = Some(authority.issue(name, &["127.0.0.1".to_owned()], 1).unwrap());
            TestNode::start(
                name,
                Setting { level: Some(level), credentials, token: Some("secret"), ..Setting::default() },
            )
        };
        let (one, two) = (node("one"), node("two"));
        let to = two.hub.connect(one.address());
        (0..10_000).for_each(|number| two.send(to, "agent-of-two", number));
        until("they arrive", || one.numbers().len() == 10_000);
        assert_eq!(one.numbers(), (0..10_000).collect::<Vec<_>>(), "{level:?}");
        until("all is acknowledged", || two.hub.links().waiting() == 0);
        assert_eq!(one.desk.agents.lock().unwrap()[0].1, "agent-of-two");
    }
}

#[test]
fn long_introduction_is_chunked() {
    let (chunks, bytes) = (400, 256 << 10);
    let rest = Arc::new(IntroductionRest {
        speaker: "agent-of-long".to_owned(),
        chunks,
        bytes,
        ..IntroductionRest::default()
    });
    let node = |name| TestNode::start(name, Setting { rest: Some(Arc::clone(&rest)), ..Setting::default() });
    let (long, peer) = (node("long"), node("peer"));
    peer.hub.connect(long.address());
    until("all is heard", || rest.introduced.load(Ordering::SeqCst));
    assert_eq!(rest.heard.load(Ordering::SeqCst), chunks);
    let ahead = rest.ahead.load(Ordering::SeqCst);
    assert!(ahead < chunks / 2, "{ahead} chunks were in memory");
}

#[test]
fn joining_node_finds_all_others() {
    let nodes: Vec<TestNode> = ["a", "b", "c", "d"].map(|name| TestNode::start(name, Setting::default())).into();
    for node in &nodes[1..] {
        node.hub.connect(nodes[0].address());
    }
    for node in &nodes {
        until("it has three links", || node.hub.has_links(3));
    }
}

/// A node that leaves writes its last messages and the good-bye at once, so its peer may read them at once.
#[test]
fn last_messages_precede_loss() {
    for _ in 0..20 {
        let [stays, leaves] = ["stays", "leaves"].map(|name| TestNode::start(name, Setting::default()));
        let to = leaves.hub.connect_to("stays", stays.address());
        until("both are introduced", || {
            [&stays, &leaves].iter().all(|node| node.hub.has_links(1) && !node.desk.agents.lock().unwrap().is_empty())
        });
        leaves.send(to, "agent-of-leaves", 7);
        leaves.hub.leave(Duration::from_secs(5));
        until("the peer hears of the end", || !stays.desk.heard_at_loss.lock().unwrap().is_empty());
        assert_eq!((stays.numbers(), stays.desk.heard_at_loss.lock().unwrap()[0]), (vec![7], 1));
    }
}

/// Of two connections that cross, one stays.
#[test]
fn simultaneous_connections_make_one_link() {
    for _ in 0..20 {
        let (a, b) = (TestNode::start("a", Setting::default()), TestNode::start("b", Setting::default()));
        let of_a = a.hub.connect_to("b", b.address());
        let of_b = b.hub.connect_to("a", a.address());
        until("both have a link", || a.hub.has_links(1) && b.hub.has_links(1));
        a.send(of_a, "agent-of-a", 1);
        b.send(of_b, "agent-of-b", 2);
        until("messages go both ways", || a.numbers() == [2] && b.numbers() == [1]);
    }
}

/// The restarted node listens elsewhere, and is the one that connects: its peers must notice.
#[test]
fn restarted_node_is_linked_again() {
    // Nodes whose names come first, and nodes whose names come later.
    for (survivor, restarted) in [("a", "b"), ("b", "a")] {
        let survivor = TestNode::start(survivor, Setting::default());
        let dead = TestNode::start(restarted, Setting::default()).address().to_owned();
        let to = survivor.hub.connect_to(restarted, &dead);
        for incarnation in 1..4 {
            let node = TestNode::start(restarted, Setting { incarnation: Some(incarnation), ..Setting::default() });
            let back = node.hub.connect_to(survivor.hub.view().node(), survivor.address());
            until("they are linked", || survivor.hub.has_links(1) && node.hub.has_links(1));
            survivor.send(to, "somebody", incarnation);
            node.send(back, "somebody", incarnation);
            until("messages go both ways", || {
                node.numbers() == [incarnation] && survivor.numbers().last() == Some(&incarnation)
            });
            // Other nodes hear from the survivor where the restarted node is now.
            assert_eq!(survivor.hub.status()[0].address.as_deref(), Some(node.address()));
            // The restarted node ends without a word. The survivor is told its next address, or finds the connection
            // broken.
            let next = TestNode::start("next", Setting::default()).address().to_owned();
            drop(node);
            until("the link breaks", || !survivor.hub.has_links(1));
            survivor.hub.connect_to(restarted, &next);
        }
    }
}

/// Nodes that die without a word take no places for ever, and may come back.
#[test]
fn lost_node_is_forgotten() {
    let patience = Some(Duration::from_millis(20));
    let host = TestNode::start("host", Setting { patience, ..Setting::default() });
    for incarnation in 1..4 {
        let guest = TestNode::start("guest", Setting { incarnation: Some(incarnation), ..Setting::default() });
        let to = guest.hub.connect(host.address());
        guest.send(to, "somebody", incarnation);
        until("it is heard", || host.numbers().last() == Some(&incarnation));
        drop(guest);
        until("it is forgotten", || host.hub.status().is_empty());
        assert!(!host.hub.is_alone(), "it may come back");
    }
}

/// A wire between two sockets that can be cut.
struct LinkProxy {
    address: String,
    wires: Arc<Mutex<Vec<TcpStream>>>,
}

impl LinkProxy {
    fn to(target: &str) -> Self {
        Self::renaming(target, "", "")
    }

    /// Proxy that replaces a text of the connecting end by another one of its length: nodes of one process have no
    /// names that are new to each other.
    fn renaming(target: &str, from: &'static str, to: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, target) = (listener.local_addr().unwrap().to_string(), target.to_owned());
        let wires: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let all = Arc::clone(&wires);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&target) else { continue };
                all.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                std::thread::spawn(move || if from.is_empty() { pump(near, far) } else { rename(near, far, from, to) });
                std::thread::spawn(move || pump(far_too, near_too));
            }
        });
        Self { address, wires }
    }

    fn cut(&self) {
        for wire in self.wires.lock().unwrap().drain(..) {
            let _ = wire.shutdown(Shutdown::Both);
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// Pumps frames, in which a text stands for another one.
fn rename(mut from: TcpStream, mut to: TcpStream, text: &str, other: &str) {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..count]);
        while let Ok(Some(LinkFrame { bytes: length, .. })) = LinkFrame::first(&bytes) {
            let mut frame: Vec<u8> = bytes.drain(..length).collect();
            for start in 0..frame.len().saturating_sub(text.len()) {
                if frame[start..].starts_with(text.as_bytes()) {
                    frame[start..start + other.len()].copy_from_slice(other.as_bytes());
                }
            }
            if to.write_all(&frame).is_err() {
                return;
            }
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn link_survives_too_many_names() {
    let setting = Setting { name_bytes_max: Some(1_000), ..Setting::default() };
    let (host, guest) = (TestNode::start("host", setting), TestNode::start("guest", Setting::default()));
    let proxy = LinkProxy::renaming(host.address(), "sent-here", "sent-away");
    let to = guest.hub.connect(&proxy.address);
    let known = 100..110;
    for number in known.clone() {
        guest.send(to, &format!("sent-here-{number}-{}", "n".repeat(100)), number - known.start);
        guest.send(to, "known", number);
    }
    let (heard, back) = (|| host.numbers(), || numbers(&guest.desk.lost));
    until("all are heard or come back", || heard().len() + back().len() == 20);
    let of_known: Vec<u64> = heard().into_iter().filter(|number| known.contains(number)).collect();
    assert_eq!(of_known, known.collect::<Vec<_>>(), "senders with old names lose nothing");
    assert!((2..8).contains(&back().len()) && back().iter().all(|number| *number < 10), "{:?}", back());
    assert!(host.hub.has_links(1) && guest.hub.has_links(1));
    let told = host.log.lock().unwrap().iter().filter(|line| line.contains("restart the receiving node")).count();
    assert_eq!(told, 1, "it is said once: {:?}", host.log.lock().unwrap());
}

#[test]
fn cut_connections_lose_nothing() {
    let (one, two) = (TestNode::start("one", Setting::default()), TestNode::start("two", Setting::default()));
    let proxy = LinkProxy::to(one.address());
    let to = two.hub.connect(&proxy.address);
    let mut sent = 0;
    for cuts in 0..20 {
        for _ in 0..2_000 {
            two.send(to, "a", sent);
            sent += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
        proxy.cut();
        // On a busy machine, several cuts may meet the same connection: six of them do not.
        if cuts < 6 {
            until("it connects again", || two.hub.status()[0].connections > cuts + 1);
        }
    }
    until("they arrive", || one.desk.messages.lock().unwrap().len() as u64 >= sent);
    assert_eq!(one.numbers(), (0..sent).collect::<Vec<_>>());
    assert!(two.hub.status()[0].connections > 5);
    assert!(two.desk.lost.lock().unwrap().is_empty());
}

#[test]
fn busy_node_is_not_flooded() {
    let (one, two) = (TestNode::start("one", Setting::default()), TestNode::start("two", Setting::default()));
    one.desk.busy.store(true, Ordering::Relaxed);
    let to = two.hub.connect(one.address());
    until("they are linked", || two.hub.has_links(1));
    for number in 0..600_000 {
        two.send(to, "a", number);
    }
    std::thread::sleep(Duration::from_millis(500));
    let arrived = one.desk.messages.lock().unwrap().len() as u64;
    // A message like the one before takes five bytes, a batch more may be under way.
    assert!(arrived < LINK_FLIGHT_BYTES / 4, "{arrived} arrived though there was no room");
    one.desk.busy.store(false, Ordering::Relaxed);
    one.hub.links().go_on();
    until("the rest arrives", || one.desk.messages.lock().unwrap().len() == 600_000);
}

/// A sender is told when to wait, after some milliseconds' worth of messages, and when to go on.
#[test]
fn senders_wait_for_full_link() {
    let (one, two) = (TestNode::start("one", Setting::default()), TestNode::start("two", Setting::default()));
    one.desk.busy.store(true, Ordering::Relaxed);
    let to = two.hub.connect(one.address());
    until("they are linked", || two.hub.has_links(1));
    let mut sent = 0;
    let mut waits = 0;
    // What is on its way goes on for a while.
    while waits < 50 {
        if two.send_for_room(to, "a", sent) == 0 {
            waits += 1;
            std::thread::sleep(Duration::from_millis(2));
        }
        sent += 1;
    }
    assert!(sent < LINK_FLIGHT_BYTES / 4 + 2 * LINK_SOFT_MESSAGES as u64, "{sent} were sent before they had to wait");
    let told = two.desk.drained.load(Ordering::Relaxed);
    one.desk.busy.store(false, Ordering::Relaxed);
    one.hub.links().go_on();
    until("senders may go on", || two.desk.drained.load(Ordering::Relaxed) > told);
    until("all arrive", || one.desk.messages.lock().unwrap().len() as u64 == sent);
    assert!(two.send_for_room(to, "a", sent) > 0);
}
