//! Tests of signing at one node and verifying at another, with changes in between.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::limits::{CERTIFICATE_BYTES_MAX, SIGNED_SHARED_MAX};
use whimbrel_platform::link::News;

use super::{AgentAuthority, AgentKey, Signature, Signing};
use crate::Authority;

/// Two nodes of one platform, with an agent of the first that writes to one of the second.
struct SigningPair {
    authority: Authority,
    here: Signing,
    there: Signing,
}

/// Error for a signature without a known certificate of the sender.
const UNKNOWN: &str = "no certificate of its sender is known";

fn signing(authority: &mut Authority, node: &str) -> Signing {
    Signing::new("p", node, 7, &authority.issue(node, &[], 1).unwrap(), None).unwrap()
}

fn message(content: i64) -> AclMessage {
    AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::Int(content))
}

fn envelope(message: AclMessage) -> Envelope {
    Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(message)) }
}

impl SigningPair {
    fn new() -> Self {
        let mut authority = Authority::create("p").unwrap();
        let (here, there) = (signing(&mut authority, "here"), signing(&mut authority, "there"));
        Self { authority, here, there }
    }

    /// Signs a message. Its certificate is sent before.
    fn sign(&self, content: i64) -> AclMessage {
        let mut batch = vec![envelope(message(content))];
        let unsigned = self.here.signer.sign(&mut batch, |news| {
            let News::Certificates { node, agents } = news else { panic!("{news:?}") };
            self.there.verifier.learn("here", &node, &agents).unwrap();
        });
        assert!(unsigned.unsigned.is_empty());
        *batch.remove(0).body.into_message()
    }

    fn check(&self, from: &str, message: AclMessage) -> Result<(), &'static str> {
        self.there.check(from, &envelope(message), &mut None)
    }
}

#[test]
fn signed_message_is_accepted_once() {
    let pair = SigningPair::new();
    let (first, second) = (pair.sign(1), pair.sign(2));
    assert_eq!(pair.check("here", first.clone()), Ok(()));
    assert_eq!(pair.check("here", first.clone()), Err("it came before"));
    assert_eq!(pair.check("here", second), Ok(()));
    assert_eq!(pair.check("here", first), Err("it came before"));
}

#[test]
fn altered_message_is_refused() {
    let pair = SigningPair::new();
    let refused = |why: &str, alter: &dyn Fn(&mut AclMessage)| {
        let mut altered = pair.sign(1);
        alter(&mut altered);
        assert_eq!(pair.check("here", altered), Err(why));
    };
    let unfit = "its signature does not match the message";
    refused(unfit, &|message| message.content = Value::Int(666));
    refused(unfit, &|message| message.receivers.push(Aid::local("eve")));
    refused(unfit, &|message| message.performative = Performative::Cancel);
    refused(unfit, &|message| message.extras_mut().conversation_id = Some("another".into()));
    refused(unfit, &|message| message.extras_mut().reply_to.push(Aid::local("eve")));
    refused(UNKNOWN, &|message| message.sender = Aid::local("eve"));
    refused("it is not signed", &|message| message.extras = None);
    for byte in [1, 33, 41, 50, 60, 100, 130, 180] {
        let mut altered = pair.sign(1);
        let signature = Signature::take_from(&mut altered).unwrap();
        let mut bytes = signature.to_bytes();
        bytes[byte] ^= 1;
        Signature::from_bytes(&bytes).unwrap().put_into(&mut altered);
        assert!(pair.check("here", altered).is_err(), "byte {byte}");
    }
    assert_eq!(pair.check("here", pair.sign(2)), Ok(()));
}

#[test]
fn message_of_another_node_is_refused() {
    let mut pair = SigningPair::new();
    let said = pair.sign(1);
    assert_eq!(pair.check("third", said), Err(UNKNOWN));
    // Nor show certificates of another node's agents.
    let third = signing(&mut pair.authority, "third");
    let mut batch = vec![envelope(message(1))];
    third.signer.sign(&mut batch, |news| {
        let News::Certificates { node, agents } = news else { panic!("{news:?}") };
        assert!(pair.there.verifier.learn("here", &node, &agents).is_err());
    });
    let forged = *batch.remove(0).body.into_message();
    assert_eq!(pair.check("here", forged), Err(UNKNOWN));
}

#[test]
fn ended_agents_messages_are_refused() {
    let pair = SigningPair::new();
    let last = pair.sign(1);
    pair.there.verifier.forget("here", "amy".into());
    assert_eq!(pair.check("here", last), Err(UNKNOWN));
    // A later agent of that name has another key.
    pair.here.signer.forget("amy".into());
    assert_eq!(pair.check("here", pair.sign(2)), Ok(()));
}

#[test]
fn credentials_change_during_talk() {
    let mut pair = SigningPair::new();
    assert_eq!(pair.check("here", pair.sign(1)), Ok(()));
    pair.authority.begin_rotation().unwrap();
    pair.authority.switch_rotation().unwrap();
    let (here, there) = (pair.authority.issue("here", &[], 1).unwrap(), pair.authority.issue("there", &[], 1).unwrap());
    pair.there.set_credentials(&there).unwrap();
    assert_eq!(pair.check("here", pair.sign(2)), Ok(()), "by the old key, which is trusted still");
    pair.here.set_credentials(&here).unwrap();
    assert_eq!(pair.check("here", pair.sign(3)), Ok(()), "by the new key");
    pair.authority.revoke("here");
    let trust = pair.authority.trust().unwrap();
    let there = crate::Credentials { revoked_pem: trust.revoked_pem, ..there };
    let last = pair.sign(4);
    pair.there.set_credentials(&there).unwrap();
    assert_eq!(pair.check("here", last), Err(UNKNOWN), "its node is not trusted any more");
}

#[test]
fn message_to_many_is_signed_once() {
    let pair = SigningPair::new();
    let shared = Arc::new(message(1).to(Aid::local("cat")));
    let copies = |to: &str| Envelope { to: Aid::local(to), body: MessageBody::Shared(Arc::clone(&shared)) };
    let mut batch = vec![copies("bob"), copies("cat")];
    pair.here.signer.sign(&mut batch, |_| ());
    let mut later = vec![copies("bob")];
    pair.here.signer.sign(&mut later, |_| ());
    assert_eq!(*batch[0].body, *batch[1].body);
    assert_eq!(*batch[0].body, *later[0].body);
}

#[test]
fn memory_of_conversations_is_bounded() {
    let pair = SigningPair::new();
    pair.here.signer.keep_conversations(8);
    let say = |conversation: String| {
        let mut batch = vec![envelope(message(1).in_conversation(conversation))];
        pair.here.signer.sign(&mut batch, |news| {
            let News::Certificates { node, agents } = news else { panic!("{news:?}") };
            pair.there.verifier.learn("here", &node, &agents).unwrap();
        });
        pair.check("here", *batch.remove(0).body.into_message())
    };
    for round in 0..3 {
        for number in 0..50 {
            // One conversation never rests, and many were forgotten when they continue.
            assert_eq!(say("busy".to_owned()), Ok(()), "{round} {number}");
            assert_eq!(say(format!("{number}{}", "long".repeat(100))), Ok(()), "{round} {number}");
        }
    }
}

#[test]
fn certificates_of_node_are_limited() {
    const BYTES_MAX: usize = 8 << 10;
    let mut pair = SigningPair::new();
    let greedy = signing(&mut pair.authority, "greedy");
    let show = |from: &str, signing: &Signing, agent: &str| {
        let said = AclMessage { sender: Aid::local(agent), ..message(1) };
        let mut shown = None;
        signing.signer.sign(&mut vec![envelope(said)], |news| {
            let News::Certificates { node, agents } = news else { panic!("{news:?}") };
            shown = Some(pair.there.verifier.learn_bounded(from, &node, &agents, BYTES_MAX));
        });
        shown.unwrap()
    };
    let taken = (0..50).take_while(|number| show("greedy", &greedy, &format!("a{number}")).is_ok()).count();
    assert!((5..30).contains(&taken), "{taken}");
    assert!(show("here", &pair.here, "amy").is_ok(), "others have room of their own");
    pair.there.verifier.forget("greedy", "a0".into());
    assert!(show("greedy", &greedy, "another").is_ok(), "there is room again");
    let long = pair.there.verifier.learn("here", &[0; CERTIFICATE_BYTES_MAX + 1], &[]).unwrap_err();
    assert!(long.to_string().contains("bytes"), "{long}");
}

#[test]
fn each_receiver_gets_one_copy() {
    let pair = SigningPair::new();
    pair.sign(0);
    let mut shared = Arc::new(message(1).to(Aid::local("cat")).to(Aid::local("dan")));
    let mut batch = vec![Envelope { to: Aid::local("bob"), body: MessageBody::Shared(Arc::clone(&shared)) }];
    pair.here.signer.sign(&mut batch, |_| ());
    let signed = *batch.remove(0).body.into_message();
    // Each time, the message is read from another frame.
    let check = |to: &str| {
        let body = MessageBody::Owned(Box::new(signed.clone()));
        pair.there.check("here", &Envelope { to: Aid::local(to), body }, &mut None)
    };
    assert_eq!((check("bob"), check("cat")), (Ok(()), Ok(())));
    assert_eq!((check("cat"), check("bob")), (Err("it came before"), Err("it came before")));
    assert_eq!(check("dan"), Ok(()));
    // Even after as many other messages as the signer remembers.
    Arc::make_mut(&mut shared).content = Value::Int(2);
    for _ in 0..SIGNED_SHARED_MAX {
        let other = Arc::new((*shared).clone());
        let mut batch = vec![Envelope { to: Aid::local("bob"), body: MessageBody::Shared(other) }];
        pair.here.signer.sign(&mut batch, |_| ());
        assert_eq!(pair.there.check("here", &batch.remove(0), &mut None), Ok(()));
    }
    assert_eq!(check("eve"), Err("it came before"), "it is not remembered any more, and cannot be said again");
}

#[test]
fn untaken_message_is_no_evidence() {
    let (folder, mut authority) =
        (std::env::temp_dir().join(format!("whimbrel-taken-{}", std::process::id())), Authority::create("p").unwrap());
    let _ = std::fs::remove_dir_all(&folder);
    let evidence = Arc::new(super::Evidence::open(&folder, Box::new(|line| panic!("{line}"))).unwrap());
    let credentials = authority.issue("here", &[], 1).unwrap();
    let here = Signing::new("p", "here", 7, &credentials, Some(Arc::clone(&evidence))).unwrap();
    let mut batch: Vec<Envelope> = (1..=3).map(|content| envelope(message(content))).collect();
    let signed = here.signer.sign(&mut batch, |_| ());
    here.signer.record(&signed, 2);
    evidence.settle(std::time::Duration::from_secs(10));
    assert_eq!(super::prove(&folder, "amy~bob").unwrap().len(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn repeated_end_is_remembered_once() {
    let pair = SigningPair::new();
    let first = pair.sign(1);
    for _ in 0..1_000 {
        pair.there.verifier.end("here", "amy");
    }
    assert_eq!(pair.there.verifier.ends_of("here"), 1);
    assert_eq!(pair.check("here", first), Ok(()), "last words are believed");
}

#[test]
fn own_key_signature_is_accepted() {
    let mut pair = SigningPair::new();
    let credentials = pair.authority.issue("here", &[], 1).unwrap();
    pair.here.set_credentials(&credentials).unwrap();
    let node = AgentAuthority::new("p", "here", &credentials).unwrap();
    let key = AgentKey::generate().unwrap();
    let certificate = node.certify("amy", &key.request(None).unwrap()).unwrap();
    let news = pair.here.signer.adopt("amy".into(), &certificate, node.certificate()).unwrap();
    let learn = |news: News| {
        let News::Certificates { node, agents } = news else { panic!("{news:?}") };
        pair.there.verifier.learn("here", &node, &agents).unwrap();
    };
    learn(news);
    let leave = |message: AclMessage| {
        let mut batch = vec![envelope(message)];
        assert!(pair.here.signer.sign(&mut batch, learn).unsigned.is_empty());
        *batch.remove(0).body.into_message()
    };
    let certified = |message: &AclMessage| Signature::take_from(&mut message.clone()).unwrap().claims.certificate;
    let (mut first, mut second) = (message(1), message(2));
    let shown = crate::agent_port::pem_of(&certificate);
    let digest = key.sign(&mut first, "p", &shown, (99, 1, None)).unwrap();
    key.sign(&mut second, "p", &shown, (99, 2, Some(digest))).unwrap();
    for said in [first.clone(), second] {
        let left = leave(said.clone());
        assert_eq!(left, said, "it leaves as it is");
        assert_eq!((certified(&left), pair.check("here", left)), (super::sha256(&certificate), Ok(())));
    }
    // An invalid signature is replaced: the node signs for its agent, as it does for all others.
    let altered = AclMessage { content: Value::Int(3), ..first };
    for said in [altered, message(4)] {
        let left = leave(said);
        assert_ne!(certified(&left), super::sha256(&certificate));
        assert_eq!(pair.check("here", left), Ok(()));
    }
    assert_eq!(pair.here.signer.introductions().len(), 2, "who comes later hears of both");
    pair.here.signer.forget("amy".into());
    assert!(pair.here.signer.introductions().is_empty(), "an agent's keys go with it");
}
