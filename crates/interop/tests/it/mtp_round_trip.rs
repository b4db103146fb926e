//! Messages from platform to platform: what arrives is what was sent.

use proptest::prelude::*;
use whimbrel_acl::{AclMessage, Aid, Contact, Encoding, Envelope, MessageBody, Performative, Value};
use whimbrel_interop::mtp::{ArrivedPost, HomePlatform, PostRefusal, read_post, write_post};
use whimbrel_testkit::generators;

const NOW_MS: u64 = 1_795_859_637_598;

fn here() -> HomePlatform {
    HomePlatform::new("home", "http://127.0.0.1:7778/acc")
}

fn there() -> HomePlatform {
    HomePlatform::new("away:1099/JADE", "http://127.0.0.1:7779/acc")
}

fn sent_to(to: Aid, message: &AclMessage) -> Envelope {
    Envelope { to, body: MessageBody::Owned(Box::new(message.clone())) }
}

fn posted(message: &Envelope, encoding: Encoding) -> Option<Result<ArrivedPost, PostRefusal>> {
    let post = write_post(&here(), message, encoding, NOW_MS).ok()?;
    Some(read_post(&there(), &post.content_type, &post.bytes, NOW_MS))
}

/// Returns an agent of a message from here as it is known there.
fn moved(agent: Aid) -> Aid {
    let outward = here().outward(agent);
    if outward.platform == there().name { Aid::local(outward.name) } else { outward }
}

/// Returns a message from here as it arrives there, but for its language.
fn expected(message: &AclMessage) -> AclMessage {
    let mut message = message.clone();
    message.sender = here().outward(message.sender);
    message.receivers.iter_mut().for_each(|agent| *agent = moved(*agent));
    if message.extras.is_some() {
        message.extras_mut().reply_to.iter_mut().for_each(|agent| *agent = moved(*agent));
    }
    message.performative = match message.performative {
        Performative::Other(name) if name.as_str() == "tell" => Performative::Inform,
        Performative::Other(name) if name.as_str() == "askOne" => Performative::QueryRef,
        other => other,
    };
    message
}

/// Removes what the transport may add: a language for content that had none.
fn without_language(mut message: AclMessage, before: &AclMessage) -> String {
    if before.extras().language.is_none() {
        message.extras_mut().language = None;
    } else {
        message.extras_mut();
    }
    format!("{message:?} {:?}", message.sender.contact())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn message_arrives_as_sent(message in generators::message(), name in "[a-z]{1,6}") {
        let mut message = message;
        message.sender = Aid::local("amy");
        let to = Aid::new(name.as_str(), there().name);
        message.receivers.push(to);
        for encoding in [Encoding::String, Encoding::Xml, Encoding::BitEfficient] {
            let Some(arrived) = posted(&sent_to(to, &message), encoding) else { continue };
            let arrived = arrived.map_err(|error| TestCaseError::fail(format!("{encoding}: {error}")))?;
            let [one] = arrived.messages.as_slice() else { return Err(TestCaseError::fail("one copy")) };
            prop_assert!(one.to == Aid::local(name.as_str()) && arrived.encoding == encoding);
            let read = without_language((*one.body).clone(), &message);
            prop_assert_eq!(read, without_language(expected(&message), &message));
        }
    }
}

#[test]
fn every_performative_arrives() {
    let to = Aid::new("bob", there().name);
    for encoding in [Encoding::String, Encoding::Xml, Encoding::BitEfficient] {
        for performative in Performative::FIPA {
            let mut message = AclMessage::new(performative, Aid::local("amy"), to, "é世\r\n\"x\"")
                .in_conversation("c 1")
                .with_protocol("fipa-request")
                .with_ontology("o")
                .with_language("l")
                .with_reply_with("r")
                .with_reply_by_ms(NOW_MS);
            message.extras_mut().in_reply_to = Some("i".into());
            message.extras_mut().encoding = Some("e".into());
            message.extras_mut().reply_to.push(Aid::new("eve", "third"));
            message.extras_mut().user.push(("X-colour".into(), Value::from("red é")));
            let arrived = posted(&sent_to(to, &message), encoding).expect("it is written").expect("it is taken");
            assert_eq!(*arrived.messages[0].body, expected(&message), "{encoding} {performative:?}");
        }
    }
}

#[test]
fn copy_goes_to_its_receiver_alone() {
    let (bob, eve) = (Aid::new("bob", there().name), Aid::new("eve", there().name));
    let message = AclMessage::new(Performative::Inform, Aid::local("amy"), bob, "x").to(eve);
    let arrived = posted(&sent_to(eve, &message), Encoding::String).expect("written").expect("taken");
    assert_eq!(arrived.messages.iter().map(|copy| copy.to).collect::<Vec<_>>(), [Aid::local("eve")]);
    assert_eq!(arrived.messages[0].body.receivers.len(), 2);
    let sender = arrived.correspondents[0];
    assert_eq!((sender, &*sender.contact().addresses), ("amy@home".parse().unwrap(), &[here().address][..]));
}

#[test]
fn unfit_messages_are_refused() {
    let bob = Aid::new("bob", there().name);
    let message = |sender: Aid, to: Aid| sent_to(to, &AclMessage::new(Performative::Inform, sender, to, "x"));
    let refusal = |message: &Envelope| posted(message, Encoding::String).expect("written").expect_err("refused");
    let forged = message(Aid::new("eve", there().name), bob);
    assert!(matches!(refusal(&forged), PostRefusal::Forged(_)));
    let stray = message(Aid::local("amy"), Aid::new("bob", "elsewhere"));
    assert!(matches!(refusal(&stray), PostRefusal::NotOurs { .. }));
    let post = write_post(&here(), &message(Aid::local("amy"), bob), Encoding::String, NOW_MS).expect("written");
    let back = read_post(&here(), &post.content_type, &post.bytes, NOW_MS);
    assert!(matches!(back, Err(PostRefusal::Loop(_))), "{back:?}");
    let other = String::from_utf8(post.bytes).expect("text").replace("fipa.acl.rep.string.std", "x.corba");
    let refused = read_post(&there(), &post.content_type, other.as_bytes(), NOW_MS);
    assert!(matches!(refused, Err(PostRefusal::Representation(_))), "{refused:?}");
}

#[test]
fn undelivered_message_is_told_in_sl() {
    let stranger =
        Aid::new("ann", there().name).with_contact(Contact { addresses: vec![there().address], ..Contact::default() });
    let lost = AclMessage::new(Performative::Request, stranger, Aid::local("nobody"), "x").in_conversation("c1");
    let lost = Envelope { to: Aid::local("nobody"), body: MessageBody::Owned(Box::new(lost)) };
    let failure =
        whimbrel_platform::dead_letters::failure_for(&lost, whimbrel_platform::dead_letters::DeadReason::UnknownAgent);
    let failure = failure.expect("a failure");
    let arrived = posted(&sent_to(stranger, &failure), Encoding::String).expect("written").expect("taken");
    let told = &arrived.messages[0].body;
    assert_eq!((told.performative, told.sender), (Performative::Failure, "ams@home".parse().expect("a name")));
    let text = told.content.as_str().expect("text");
    assert!(text.contains("(MTS-error (agent-identifier :name \"nobody@home\" :addresses"), "{text}");
    assert!(text.contains("(internal-error \"the message was not delivered: unknown_agent\")"), "{text}");
    assert!(whimbrel_acl::sl::SlContent::parse(text, whimbrel_acl::sl::Profile::Sl).is_ok(), "{text}");
}
