//! What one node signs and another verifies, with somebody in between who changes it.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::link::News;

use super::{Signature, Signing};
use crate::Authority;

/// Two nodes of one platform, and an agent of the first that writes to one of the second.
struct Pair {
    authority: Authority,
    here: Signing,
    there: Signing,
}

fn signing(authority: &mut Authority, node: &str) -> Signing {
    Signing::new("p", node, 7, &authority.issue(node, &[], 1).unwrap(), None).unwrap()
}

fn message(content: i64) -> AclMessage {
    AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::Int(content))
}

fn envelope(message: AclMessage) -> Envelope {
    Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(message)) }
}

impl Pair {
    fn new() -> Self {
        let mut authority = Authority::create("p").unwrap();
        let (here, there) = (signing(&mut authority, "here"), signing(&mut authority, "there"));
        Self { authority, here, there }
    }

    /// The message as it leaves, its certificate told before.
    fn sign(&self, content: i64) -> AclMessage {
        let mut batch = vec![envelope(message(content))];
        let unsigned = self.here.signer.sign(&mut batch, |news| {
            let News::Certificates { node, agents } = news else { panic!("{news:?}") };
            self.there.verifier.learn("here", &node, &agents).unwrap();
        });
        assert!(unsigned.is_empty());
        *batch.remove(0).body.into_message()
    }

    fn check(&self, from: &str, message: AclMessage) -> Result<(), &'static str> {
        self.there.check(from, &envelope(message), &mut None)
    }
}

#[test]
fn what_was_signed_is_taken_once() {
    let pair = Pair::new();
    let (first, second) = (pair.sign(1), pair.sign(2));
    assert_eq!(pair.check("here", first.clone()), Ok(()));
    assert_eq!(pair.check("here", first.clone()), Err("it came before"));
    assert_eq!(pair.check("here", second), Ok(()));
    assert_eq!(pair.check("here", first), Err("it came before"));
}

#[test]
fn whatever_is_altered_is_refused() {
    let pair = Pair::new();
    let refused = |why: &str, alter: &dyn Fn(&mut AclMessage)| {
        let mut altered = pair.sign(1);
        alter(&mut altered);
        assert_eq!(pair.check("here", altered), Err(why));
    };
    let unfit = "its signature does not fit what it says";
    refused(unfit, &|message| message.content = Value::Int(666));
    refused(unfit, &|message| message.receivers.push(Aid::local("eve")));
    refused(unfit, &|message| message.performative = Performative::Cancel);
    refused(unfit, &|message| message.extras_mut().conversation_id = Some("another".into()));
    refused(unfit, &|message| message.extras_mut().reply_to.push(Aid::local("eve")));
    refused("its certificate is not its sender's", &|message| message.sender = Aid::local("eve"));
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
fn another_node_cannot_pass_it_on_as_its_own() {
    let mut pair = Pair::new();
    let said = pair.sign(1);
    assert_eq!(pair.check("third", said), Err("its certificate is not its sender's"));
    // Nor show certificates of another node's agents.
    let third = signing(&mut pair.authority, "third");
    let mut batch = vec![envelope(message(1))];
    third.signer.sign(&mut batch, |news| {
        let News::Certificates { node, agents } = news else { panic!("{news:?}") };
        assert!(pair.there.verifier.learn("here", &node, &agents).is_err());
    });
    let forged = *batch.remove(0).body.into_message();
    assert_eq!(pair.check("here", forged), Err("its certificate is not known"));
}

#[test]
fn an_agent_that_ended_is_believed_no_more() {
    let pair = Pair::new();
    let last = pair.sign(1);
    pair.there.verifier.forget("here", "amy".into());
    assert_eq!(pair.check("here", last), Err("its certificate is not known"));
    // Another one of that name has another key.
    pair.here.signer.forget("amy".into());
    assert_eq!(pair.check("here", pair.sign(2)), Ok(()));
}

#[test]
fn credentials_change_while_agents_talk() {
    let mut pair = Pair::new();
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
    assert_eq!(pair.check("here", last), Err("its certificate is not known"), "its node is not trusted any more");
}

#[test]
fn a_message_to_many_is_signed_once() {
    let pair = Pair::new();
    let shared = Arc::new(message(1).to(Aid::local("cat")));
    let copies = |to: &str| Envelope { to: Aid::local(to), body: MessageBody::Shared(Arc::clone(&shared)) };
    let mut batch = vec![copies("bob"), copies("cat")];
    pair.here.signer.sign(&mut batch, |_| ());
    let mut later = vec![copies("bob")];
    pair.here.signer.sign(&mut later, |_| ());
    assert_eq!(*batch[0].body, *batch[1].body);
    assert_eq!(*batch[0].body, *later[0].body);
}
