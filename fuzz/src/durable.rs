//! Properties of the frames in a journal of durable agents, for any bytes. The fuzz target looks for violations; a
//! test of `platform` replays those that were found.

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::Time;
use whimbrel_platform::ams::{AgentKind, AgentState};
use whimbrel_platform::df::{DfDescription, NoticeForm};
use whimbrel_platform::durable::{
    AgentStep, Born, DfSubscription, JournalReplay, Origin, Record, Registration, Sent, State, Ticket, decode_frame,
    encode_frame,
};

/// Checks a frame. A decoded frame is the same after another round. Its records make a society, and a journal with no
/// fewer records.
pub fn journal_frame(bytes: &[u8]) {
    let Ok(records) = decode_frame(bytes) else { return };
    let mut again = Vec::new();
    encode_frame(&records, &mut again).expect("what was read can be written");
    assert_eq!(decode_frame(&again).as_ref(), Ok(&records));
    let (ledger, agents, letters) = read([records.clone()]).finish();
    assert_eq!(agents.len(), ledger.agents());
    letters.iter().for_each(|(_, _, sent)| drop(sent.message()));
    let standings = agents.iter().filter_map(|agent| agent.standing.as_ref());
    standings.flat_map(|standing| &standing.subscriptions).for_each(can_be_read_again);
    for agent in agents.iter().filter(|agent| matches!(agent.born.origin, Origin::Kept { .. })) {
        // The agent is restored, or refused with a reason. A restored one can be saved.
        let kept_agents = std::sync::Arc::<whimbrel_platform::session::KeptAgents>::default();
        if let Ok(mut body) = kept_agents.resume(agent.born.agent, &agent.born.origin, &agent.states, Duration::ZERO) {
            assert!(body.save_whole(Time::ZERO, &mut Vec::new()));
        }
    }
    let pieces = read([records]).condense(&ledger);
    let (copy, copied, _) = read(pieces).finish();
    assert_eq!((copied, copy.agents()), (agents, ledger.agents()));
}

/// Checks that a subscription's form, if it can be read, is the same after another round.
fn can_be_read_again(subscription: &DfSubscription) {
    let Ok(form) = subscription.form() else { return };
    let again = DfSubscription::of(&subscription.template, &form).expect("what was read can be written");
    assert_eq!(again.form().as_ref(), Ok(&form));
}

fn read(frames: impl IntoIterator<Item = Vec<Record>>) -> JournalReplay {
    let mut arrears = JournalReplay::new(1);
    frames.into_iter().for_each(|records| arrears.read(records));
    arrears
}

/// Seeds: frames.
pub fn seeds() -> Vec<Vec<u8>> {
    let [ann, bob] = ["ann", "bob"].map(Symbol::new);
    let origin = Origin::Program { path: "ann.asl".to_owned(), fingerprint: 7, code: None };
    let born = |agent, origin, after| {
        Record::Born(Born { agent, kind: AgentKind::AgentSpeak, owner: bob, root: None, origin, founder: false, after })
    };
    let message = AclMessage::new(Performative::Request, Aid::local(ann), Aid::local(bob), Value::atom("go"));
    let sent = Sent::of(Aid::local(bob), &message).expect("it is flat");
    let step = |agent, state, first, sent| {
        Record::Step(AgentStep { agent, state, handled: vec![Ticket { sender: ann, number: 3 }], first, sent })
    };
    let tea = DfDescription::offering("tea", "drink");
    let fipa = NoticeForm::Fipa { inform: Box::new(message), action: Value::term("search", [Value::Int(1)]) };
    let subscription = |form| DfSubscription::of(&DfDescription::offering("", "cake"), form).expect("it is flat");
    let standing = Registration {
        agent: ann,
        last: 3,
        entry: Some(DfDescription { agent: Some(Aid::local(ann)), ..tea }),
        expires_ms: Some(1_700_000_000_000),
        subscriptions: vec![subscription(&NoticeForm::Provider), subscription(&fipa)],
        places: vec![Symbol::new("topic:news")],
        state: AgentState::Suspended,
    };
    let frames = [
        vec![born(ann, origin, 1), step(ann, State::Whole(b"mind".to_vec()), 2, vec![sent.clone(), sent.clone()])],
        vec![step(ann, State::Delta(b"more".to_vec()), 4, vec![sent]), Record::Stopped { agent: ann, code: 1 }],
        vec![born(bob, Origin::Type("counter".to_owned()), 9), step(bob, State::Same, 10, Vec::new())],
        vec![Record::Settled { agent: ann, numbers: vec![2, 3] }, Record::Gone { agent: ann, last: 4 }],
        vec![born(ann, Origin::Type("stall".to_owned()), 1), Record::Registration(standing)],
    ];
    let all = frames.concat();
    // An agent of a session that is kept, as it is written: all it is, then a state.
    let kept =
        b"\x01\xe3\x0a\x02\x21\x09Form\x11on_leave\x0bholds\x09code\x0bstate#GoOnSts:counter\x90\xa0\xc2a\xcb\x07one";
    let frames = frames.into_iter().chain([vec![
        born(bob, Origin::Kept { account: "someone".to_owned() }, 1),
        step(bob, State::Whole(kept.to_vec()), 2, Vec::new()),
        step(bob, State::Delta(b"\x02two".to_vec()), 2, Vec::new()),
    ]]);
    let frames: Vec<Vec<Record>> = frames.collect();
    let bytes = |records: &Vec<Record>| {
        let mut bytes = Vec::new();
        encode_frame(records, &mut bytes).expect("it is flat");
        bytes
    };
    frames.iter().chain([&all]).map(bytes).collect()
}
