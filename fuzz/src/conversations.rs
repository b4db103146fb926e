//! Properties of the frames in a log of conversations, for any bytes. The fuzz target looks for violations; a test of
//! `platform` replays those that were found.

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::conversations::{Logged, LoggedMessage, Passage, Wanted, What};

/// Checks a frame. A decoded frame is the same after another round, its head agrees with its content, and a search by
/// a message's fields finds the message.
pub fn conversation_log(bytes: &[u8]) {
    let Ok(passage) = Passage::decode(bytes) else { return };
    let count = passage.entries.len() as u32;
    assert_eq!(Passage::span(bytes), Ok((passage.first, count)));
    let mut again = Vec::new();
    passage.encode(&mut again).expect("what was read can be written");
    assert_eq!(Passage::decode(&again).as_ref(), Ok(&passage));
    for entry in &passage.entries {
        let (What::Sent(said) | What::Died { said, .. }) = &entry.what else { continue };
        let Ok(envelope) = said.envelope() else { continue };
        assert!(Wanted::default().takes(entry.at_us, &envelope));
        let performatives = vec![envelope.body.performative.as_str().to_owned()];
        assert!(Wanted { performatives, ..Wanted::default() }.takes(entry.at_us, &envelope));
        assert!(LoggedMessage::of(&envelope).envelope().is_ok());
    }
}

/// Seeds: frames.
pub fn seeds() -> Vec<Vec<u8>> {
    let (amy, bob) = (Aid::local("amy"), Aid::new("bob", "home"));
    let message = |content: Value| {
        let message = AclMessage::new(Performative::Cfp, amy, bob, content).in_conversation("deal-7");
        LoggedMessage::of(&Envelope { to: bob, body: MessageBody::Owned(Box::new(message)) })
    };
    let whats = [
        vec![What::Begun { cut_short: true }, What::Sent(message(Value::term("tea", [Value::Int(5)])))],
        vec![What::Died { said: message(Value::Null), why: "no such agent".to_owned() }, What::LeftOut { count: 9 }],
        vec![What::Sent(message(Value::list([Value::from("x"), Value::Bytes(vec![1, 2].into())]))), What::Ended],
    ];
    let all = [&whats[..], &[whats.concat()]].concat();
    let frame = |whats: Vec<What>| {
        let entries = (7..).zip(whats).map(|(at_us, what)| Logged { at_us, what }).collect();
        let mut bytes = Vec::new();
        Passage { first: 300, entries }.encode(&mut bytes).expect("it is flat");
        bytes
    };
    all.into_iter().map(frame).collect()
}
