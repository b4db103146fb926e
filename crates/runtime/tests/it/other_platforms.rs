//! Messages to and from agents of other platforms, without a network.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::MessageTransport;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::policy::Policy;
use whimbrel_runtime::{Agent, Context, Platform};

/// Transport that keeps what it is given.
#[derive(Default)]
struct KeptAbroad(Mutex<Vec<Envelope>>);

impl MessageTransport for KeptAbroad {
    fn send(&self, message: Envelope) -> bool {
        self.0.lock().unwrap().push(message);
        false
    }

    fn waiting(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn reaches(&self, _agent: Aid) -> bool {
        true
    }

    fn addresses(&self) -> Vec<String> {
        vec!["http://here/acc".to_owned()]
    }
}

/// Answers each request.
struct Answerer;

impl Agent for Answerer {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative == Performative::Request {
            ctx.reply(&message, Performative::Inform, "done");
        }
    }
}

fn platform(policy: Policy) -> (Platform, Arc<KeptAbroad>) {
    let platform = Platform::builder().name("home").workers(2).policy(policy).build();
    let transport = Arc::<KeptAbroad>::default();
    assert!(platform.transport_with(Arc::clone(&transport) as Arc<dyn MessageTransport>));
    platform.spawn("bob", Answerer).unwrap();
    (platform, transport)
}

fn request(to: &str) -> Envelope {
    let to = Aid::local(to);
    let message = AclMessage::new(Performative::Request, Aid::new("ann", "away"), to, "x");
    Envelope { to, body: MessageBody::Owned(Box::new(message)) }
}

fn strangers_may_write() -> Policy {
    serde_json::from_str(r#"{ "allow": [{ "who": "stranger", "send": "bob" }] }"#).expect("a policy")
}

/// Returns the messages that the transport got.
fn taken(platform: &Platform, transport: &KeptAbroad, count: usize) -> Vec<Envelope> {
    platform.wait_idle_for(Duration::from_secs(10));
    let taken = std::mem::take(&mut *transport.0.lock().unwrap());
    assert_eq!(taken.len(), count);
    taken
}

#[test]
fn stranger_gets_answer_over_transport() {
    let (platform, transport) = platform(strangers_may_write());
    platform.take_in_foreign(request("bob"));
    let answers = taken(&platform, &transport, 1);
    assert_eq!(answers[0].to, Aid::new("ann", "away"));
    assert_eq!((answers[0].body.performative, answers[0].body.sender), (Performative::Inform, Aid::local("bob")));
    let counters = platform.counters();
    assert_eq!((counters.came, counters.left, counters.sent, counters.handled), (1, 1, 1, 1));
    counters.check().unwrap();
}

#[test]
fn refused_stranger_gets_failure() {
    for (to, policy, why) in [
        ("bob", Policy::DEFAULT, "undelivered(bob,forbidden)"),
        ("nobody", strangers_may_write(), "undelivered(nobody,forbidden)"),
        ("ams", Policy::DEFAULT, "unrecognised-value"),
    ] {
        let (platform, transport) = platform(policy);
        platform.take_in_foreign(request(to));
        let answer = &taken(&platform, &transport, 1)[0];
        assert!(answer.to == Aid::new("ann", "away") && answer.body.content.to_string().contains(why), "{answer:?}");
        platform.counters().check().unwrap();
    }
}

#[test]
fn returned_message_fails_at_sender() {
    let (platform, transport) = platform(Policy::DEFAULT);
    let question = AclMessage::new(Performative::Request, Aid::local("bob"), Aid::new("ann", "away"), "x");
    platform.send(question);
    let sent = taken(&platform, &transport, 1);
    assert_eq!(platform.counters().left, 1);
    platform.give_up_foreign(sent, DeadReason::Unreachable);
    platform.wait_idle_for(Duration::from_secs(10));
    let counters = platform.counters();
    assert_eq!((counters.left, counters.dead, counters.handled), (0, 1, 1), "bob handles the failure");
    counters.check().unwrap();
    let letter = platform.dead_letters().into_iter().next().unwrap();
    assert_eq!((letter.reason, letter.body.content.clone()), (DeadReason::Unreachable, Value::from("x")));
}

#[test]
fn waiting_message_is_queued() {
    let (platform, transport) = platform(Policy::DEFAULT);
    platform.send(AclMessage::new(Performative::Request, Aid::local("bob"), Aid::new("ann", "away"), "x"));
    platform.wait_idle_for(Duration::from_secs(10));
    let counters = platform.counters();
    assert_eq!((counters.sent, counters.queued, counters.left), (1, 1, 0));
    counters.check().unwrap();
    drop(transport);
}
