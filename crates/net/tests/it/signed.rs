//! Signed messages: their senders can be proven, and altered messages are refused.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use whimbrel_acl::{AclMessage, Aid, Encoding, Envelope, MessageBody, Performative, Value};
use whimbrel_net::signing::{Direction, Evidence, EvidenceBundle, PARAMETER, Verified, prove};
use whimbrel_net::{Authority, Credentials, LinkSecurity, Trust};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::limits::LINK_RECEIVERS_MAX;
use whimbrel_platform::link::{Link, LinkEvent, LinkFrame, LinkItem, News, Speaker};
use whimbrel_platform::route::NodeId;
use whimbrel_platform::{EndReason, Time};

use super::{Setting, TestNode, numbers, until};

fn signed(credentials: Credentials) -> Setting {
    Setting { level: Some(LinkSecurity::Signed), credentials: Some(credentials), ..Setting::default() }
}

/// A folder of evidence, and the evidence.
fn evidence(name: &str) -> (PathBuf, Arc<Evidence>) {
    let folder = std::env::temp_dir().join(format!("whimbrel-evidence-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let evidence = Evidence::open(&folder, Box::new(|line| panic!("{line}"))).unwrap();
    (folder, Arc::new(evidence))
}

fn say(from: &TestNode, to: NodeId, content: Value) {
    let (sender, receiver) = (Aid::local(from.desk.agent.as_str()), Aid::local("b"));
    let message = AclMessage::new(Performative::Propose, sender, receiver, content).in_conversation("deal");
    let envelope = Envelope { to: receiver, body: MessageBody::Owned(Box::new(message)) };
    from.hub.links().send(to, &mut vec![envelope], 0);
}

#[test]
fn conversation_is_proven_unaltered() {
    let mut authority = Authority::create("p").unwrap();
    let (folder, kept) = evidence("prove");
    let host = Setting { evidence: Some(kept), ..signed(authority.issue("host", &[], 1).unwrap()) };
    let host = TestNode::start("host", host);
    let other = TestNode::start("other", signed(authority.issue("other", &[], 1).unwrap()));
    let to_host = other.hub.connect(host.address());
    until("they are linked", || host.hub.has_links(1));
    for price in [10, 11] {
        say(&other, to_host, Value::Int(price));
    }
    until("they arrive", || host.numbers() == [10, 11]);
    let arrived = host.desk.messages.lock().unwrap()[0].clone();
    assert!(arrived.extras().user.iter().any(|(name, _)| name.as_str() == PARAMETER), "its receiver can verify it");
    say(&host, NodeId(1), Value::Int(12));
    until("the answer arrives", || other.numbers() == [12]);
    assert_eq!((host.hub.refusals().all().count(), other.hub.refusals().all().count()), (0, 0));
    drop(host);
    until("the evidence is written", || prove(&folder, "deal").is_ok_and(|bundle| bundle.len() == 3));
    let bundle = prove(&folder, "deal").unwrap();
    assert_eq!(EvidenceBundle::from_json(&bundle.to_json()).unwrap(), bundle);
    let trust = authority.trust().unwrap();
    let verified = bundle.verify(&trust).unwrap();
    check_deal(&verified);
    assert!(prove(&folder, "another").is_err());
    altered_bundles_are_refused(&bundle.to_json(), &trust);
    let strangers = Authority::create("p").unwrap().trust().unwrap();
    assert!(bundle.verify(&strangers).unwrap_err().to_string().starts_with("entry 1: its certificate is not to be"));
    std::fs::remove_dir_all(folder).unwrap();
}

fn check_deal(verified: &Verified) {
    let said = |index: usize| {
        let said = &verified.said[index];
        (said.node.as_str(), said.message.content.to_string(), said.sequence, said.direction, said.after)
    };
    assert_eq!(said(0), ("other", "10".to_owned(), 1, Direction::Received, None));
    assert_eq!(said(1), ("other", "11".to_owned(), 2, Direction::Received, Some(1)));
    assert_eq!(said(2), ("host", "12".to_owned(), 1, Direction::Sent, Some(2)));
    assert!(verified.missing.is_empty());
    assert_eq!(verified.to_string().lines().count(), 3);
}

/// Checks that any change of a bundle is reported with its place.
fn altered_bundles_are_refused(json: &str, trust: &Trust) {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    let refused = |what: &str, entry: u64, change: &dyn Fn(&mut serde_json::Value)| {
        let mut altered = value.clone();
        change(&mut altered);
        let bundle = EvidenceBundle::from_json(&altered.to_string()).unwrap();
        let error = bundle.verify(trust).unwrap_err().to_string();
        assert!(error.starts_with(&format!("entry {entry}: ")), "{what}: {error}");
    };
    let flip = |text: &mut serde_json::Value| {
        let mut bytes = text.as_str().unwrap().as_bytes().to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
        *text = String::from_utf8(bytes).unwrap().into();
    };
    for key in ["message", "signature"] {
        refused(key, 2, &|altered| flip(&mut altered["entries"][1][key]));
    }
    refused("the time", 2, &|altered| altered["entries"][1]["time_ms"] = 1_900_000_000_000u64.into());
    refused("the sequence", 2, &|altered| altered["entries"][1]["sequence"] = 7.into());
    refused("one is left out", 3, &|altered| drop(altered["entries"].as_array_mut().unwrap().remove(1)));
    refused("their order", 1, &|altered| altered["entries"].as_array_mut().unwrap().swap(0, 1));
    refused("one is said twice", 2, &|altered| {
        let again = altered["entries"][1].clone();
        altered["entries"].as_array_mut().unwrap().push(again);
    });
    refused("the conversation", 1, &|altered| altered["conversation"] = "another".into());
    refused("the direction", 2, &|altered| altered["entries"][0]["direction"] = "sent".into());
    refused("a certificate is missing", 1, &|altered| {
        altered["certificates"].as_object_mut().unwrap().clear();
    });
    assert!(EvidenceBundle::from_json("{}").is_err());
    assert!(EvidenceBundle::from_json(&json.replacen("\"bundle\": 1", "\"bundle\": 2", 1)).is_err());
}

#[test]
fn unsigned_node_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let host = TestNode::start("host", signed(authority.issue("host", &[], 1).unwrap()));
    let weak = Setting { level: Some(LinkSecurity::Authenticated), ..signed(authority.issue("weak", &[], 1).unwrap()) };
    let weak = TestNode::start("weak", weak);
    weak.hub.connect(host.address());
    until("the host says no", || host.hub.refusals().of(RefusalReason::Downgrade) > 0);
    host.hub.connect(weak.address());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!host.hub.has_links(1) && !weak.hub.has_links(1));
}

#[test]
fn broadcast_is_signed_once() {
    let mut authority = Authority::create("p").unwrap();
    let names = ["a", "b", "c"];
    let nodes = names.map(|name| TestNode::start(name, signed(authority.issue(name, &[], 1).unwrap())));
    let ids: Vec<NodeId> = nodes[1..].iter().map(|node| nodes[0].hub.connect(node.address())).collect();
    until("all are linked", || nodes[0].hub.has_links(2));
    let to = ["x", "y"].map(Aid::local);
    for round in 1..=100 {
        let message = AclMessage::new(Performative::Inform, Aid::local("agent-of-a"), to[0], Value::Int(round));
        let shared = Arc::new(message.to(to[1]));
        for id in &ids {
            let copy = |to: &Aid| Envelope { to: *to, body: MessageBody::Shared(Arc::clone(&shared)) };
            nodes[0].hub.links().send(*id, &mut to.iter().map(copy).collect(), 0);
        }
    }
    for node in &nodes[1..] {
        until("each has both copies of all", || node.numbers().len() == 200);
        assert!(numbers(&node.desk.forged).is_empty());
    }
    let signature = |node: &TestNode| node.desk.messages.lock().unwrap()[0].extras().user.clone();
    assert_eq!(signature(&nodes[1]), signature(&nodes[2]));
}

/// More receivers than one message on a link may have: it is written twice.
#[test]
fn large_multicast_arrives_everywhere() {
    const RECEIVERS: usize = 2 * LINK_RECEIVERS_MAX + 7;
    let mut authority = Authority::create("p").unwrap();
    let (folder, kept) = evidence("many");
    let host = Setting { evidence: Some(Arc::clone(&kept)), ..signed(authority.issue("host", &[], 1).unwrap()) };
    let host = TestNode::start("host", host);
    let other = TestNode::start("other", signed(authority.issue("other", &[], 1).unwrap()));
    let to_host = other.hub.connect(host.address());
    until("they are linked", || host.hub.has_links(1));
    let mut message = AclMessage::new(Performative::Inform, Aid::local("agent-of-other"), Aid::NOBODY, Value::Int(7));
    message.receivers = (0..RECEIVERS).map(|number| Aid::local(format!("b{number}").as_str())).collect();
    let mut batch = Vec::new();
    Envelope::for_each_receiver(Box::new(message), |envelope| batch.push(envelope));
    // A shard hands over its messages like this when its round is over.
    let rest = batch.split_off(10);
    for mut some in [batch, rest] {
        other.hub.links().send(to_host, &mut some, 0);
        assert!(some.is_empty());
        std::thread::sleep(Duration::from_millis(50));
    }
    until("all have it", || host.numbers().len() == RECEIVERS || host.hub.refusals().all().count() > 0);
    assert_eq!((host.numbers().len(), host.hub.refusals().all().count()), (RECEIVERS, 0), "{:?}", host.log);
    kept.settle(Duration::from_secs(10));
    let first = "agent-of-other~b0";
    assert_eq!(prove(&folder, first).unwrap().len(), 1, "it was said once");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Malicious node with valid keys of its own and of its agents: it speaks the link protocol itself, and sends anything.
struct Crook {
    link: Link,
    stream: rustls::StreamOwned<rustls::ClientConnection, std::net::TcpStream>,
    incoming: Vec<u8>,
}

impl Crook {
    fn connect(address: &str, credentials: &Credentials) -> Self {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
        let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate(&credentials.authority_pem)).unwrap();
        let key = PrivateKeyDer::from_pem_slice(credentials.key_pem.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate(&credentials.certificate_pem)], key)
            .unwrap();
        config.alpn_protocols = vec![b"whimbrel-signed/1".to_vec()];
        let name = ServerName::try_from("node.whimbrel").unwrap();
        let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = std::net::TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let me = Speaker { platform: "p".into(), node: "crook".into(), incarnation: 99, address: None, token: None };
        let mut link = Link::new(me, Encoding::Compact, true, 1, Time::ZERO);
        link.handle_connected(Time::ZERO);
        Self { link, stream: rustls::StreamOwned::new(connection, socket), incoming: Vec::new() }
    }

    fn write(&mut self) {
        let mut out = Vec::new();
        while self.link.poll_transmit(Time::ZERO, &mut out) {}
        self.stream.write_all(&out).unwrap();
        self.stream.flush().unwrap();
    }

    /// Sends a hello and this news.
    fn introduce(&mut self, news: Vec<News>) {
        self.write();
        let mut some = [0; 4096];
        loop {
            let count = self.stream.read(&mut some).unwrap();
            self.incoming.extend_from_slice(&some[..count]);
            let mut items = Vec::new();
            while let Some(frame) = LinkFrame::first(&self.incoming).unwrap() {
                let used = frame.bytes;
                self.link.handle_frame(Time::ZERO, &frame, &mut items).unwrap();
                self.incoming.drain(..used);
            }
            if std::iter::from_fn(|| self.link.poll_event()).any(|event| matches!(event, LinkEvent::Began)) {
                return self.link.introduce(news);
            }
        }
    }

    fn send(&mut self, message: AclMessage) {
        let envelope = Envelope { to: Aid::local("b"), body: MessageBody::Owned(Box::new(message)) };
        self.link.offer(&mut vec![LinkItem::Message(envelope)]);
        self.write();
    }
}

/// Certificates in a folder of evidence, as the node sends them.
fn certificates_in(folder: &std::path::Path) -> News {
    let bytes = |text: &serde_json::Value| base64::prelude::BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap();
    let file = std::fs::read_to_string(folder.join("evidence-000001.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    News::Certificates { node: bytes(&first["issued"]["node"]), agents: vec![bytes(&first["issued"]["agent"])] }
}

#[test]
fn message_altered_by_node_is_refused() {
    let mut authority = Authority::create("p").unwrap();
    let credentials = authority.issue("crook", &[], 1).unwrap();
    // The agent's real message, to a friend.
    let (folder, kept) = evidence("crook");
    let friend = Setting { evidence: Some(Arc::clone(&kept)), ..signed(authority.issue("friend", &[], 1).unwrap()) };
    let friend = TestNode::start("friend", friend);
    let honest = TestNode::start("crook", signed(credentials.clone()));
    let to = honest.hub.connect(friend.address());
    (1..=3).for_each(|number| honest.send(to, "agent-of-crook", number));
    until("the friend has it", || friend.numbers() == [1, 2, 3]);
    kept.settle(Duration::from_secs(10));
    let said = friend.desk.messages.lock().unwrap().clone();
    drop(honest);
    // The message that the host receives.
    let host = TestNode::start("host", signed(authority.issue("host", &[], 1).unwrap()));
    let mut crook = Crook::connect(host.address(), &credentials);
    let agents = vec![("agent-of-crook".into(), whimbrel_platform::ams::AgentKind::Native)];
    crook.introduce(vec![News::Agents(agents), certificates_in(&folder)]);
    let altered = AclMessage { content: Value::Int(666), ..said[1].clone() };
    let unsigned = AclMessage { extras: None, ..said[1].clone() };
    for message in [said[0].clone(), altered, unsigned, said[0].clone(), said[1].clone()] {
        crook.send(message);
    }
    until("what was signed arrives", || host.numbers() == [1, 2]);
    until("the others are refused", || numbers(&host.desk.forged) == [666, 2, 1]);
    assert_eq!(host.hub.refusals().of(RefusalReason::BadSignature), 3);
    // The others are of the same kind and node: they are counted.
    let why = "its signature does not match the message";
    assert!(host.logged(why), "{:?}", host.log);
    std::fs::remove_dir_all(folder).unwrap();
}

/// The AMS answers from every shard: its numbers leave in order all the same.
#[test]
fn sender_on_several_shards_is_accepted() {
    let mut authority = Authority::create("p").unwrap();
    let host = TestNode::start("host", signed(authority.issue("host", &[], 1).unwrap()));
    let other = TestNode::start("other", signed(authority.issue("other", &[], 1).unwrap()));
    let to_host = other.hub.connect(host.address());
    until("they are linked", || host.hub.has_links(1));
    std::thread::scope(|scope| {
        for shard in 0..4 {
            let other = &other;
            scope.spawn(move || (0..50).for_each(|number| other.send(to_host, "ams", shard * 100 + number)));
        }
    });
    until("all arrive", || host.numbers().len() == 200 || host.hub.refusals().all().count() > 0);
    assert_eq!(host.hub.refusals().all().count(), 0, "{:?}", host.log.lock().unwrap());
}

/// The news of an agent's end leaves before the agent's last messages in its shard.
#[test]
fn ended_agents_last_messages_arrive() {
    let mut authority = Authority::create("p").unwrap();
    let mut node = |name: &str| TestNode::start(name, signed(authority.issue(name, &[], 1).unwrap()));
    let (host, other) = (node("host"), node("other"));
    let to = other.hub.connect(host.address());
    until("they are linked", || host.hub.has_links(1));
    other.send(to, "agent-of-other", 1);
    until("it is heard", || host.numbers() == [1]);
    other.hub.links().tell_all(News::AgentEnded("agent-of-other".into(), EndReason::Killed));
    (2..10).for_each(|number| other.send(to, "agent-of-other", number));
    until("what it said before is heard", || host.numbers() == (1..10).collect::<Vec<_>>());
    assert_eq!(host.hub.refusals().of(RefusalReason::BadSignature), 0);
}
