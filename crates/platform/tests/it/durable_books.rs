//! Ledgers of several nodes: facts that they must not state too early, nor forget.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{
    AgentStep, Born, Facts, JournalReplay, Ledger, Origin, Receipt, Record, Sent, State, Ticket, numbers_of_life,
};
use whimbrel_platform::store::Partition;

const PARTITIONS: u16 = 16;

fn ann() -> Symbol {
    Symbol::new("ann")
}

fn bob() -> Symbol {
    Symbol::new("bob")
}

/// Returns a node that serves the partitions of these agents, whose journals are empty.
fn node(agents: &[Symbol]) -> Ledger {
    let mut ledger = Ledger::new(PARTITIONS);
    ledger.keep_letters();
    let partitions: Vec<Partition> = agents.iter().map(|agent| ledger.partition_of(*agent)).collect();
    let (books, _, letters) = JournalReplay::of(PARTITIONS, &partitions).finish();
    ledger.take_over(books, &letters);
    ledger
}

fn born(agent: Symbol, life: u64) -> Record {
    let (owner, origin) = (Symbol::default(), Origin::Type("agent".to_owned()));
    let after = numbers_of_life(life);
    Record::Born(Born { agent, kind: AgentKind::Native, owner, root: None, origin, founder: false, after })
}

/// Returns a record in which the agent sends a message to bob in its first life.
fn asks_bob(agent: Symbol) -> Record {
    let message = AclMessage::new(Performative::Request, Aid::local(agent), Aid::local(bob()), Value::Null);
    let sent = vec![Sent::of(Aid::local(bob()), &message).unwrap()];
    Record::Step(AgentStep { agent, state: State::Same, handled: Vec::new(), first: 1, sent })
}

fn ticket() -> Ticket {
    Ticket { sender: ann(), number: 1 }
}

fn receipt() -> Receipt {
    Receipt { sender: ann(), number: 1, by: bob() }
}

fn handled() -> Facts {
    Facts { handled: vec![receipt()], known: Vec::new() }
}

fn refusal() -> Record {
    Record::Step(AgentStep { agent: bob(), state: State::Same, handled: vec![ticket()], first: 0, sent: Vec::new() })
}

#[test]
fn settlement_is_told_once_written() {
    let mut ledger = node(&[ann()]);
    ledger.note(asks_bob(ann()));
    ledger.hear(&handled());
    ledger.hear(&handled());
    let records = ledger.take_settled(ledger.partition_of(ann()));
    assert_eq!(records, [Record::Settled { agent: ann(), numbers: vec![1] }]);
    // Now it is being written.
    ledger.hear(&handled());
    assert_eq!((ledger.poll_facts(), ledger.partitions_to_settle().len()), (None, 0));
    records.into_iter().for_each(|record| ledger.note(record));
    let known = Facts { handled: Vec::new(), known: vec![receipt()] };
    assert_eq!(ledger.poll_facts(), Some((ledger.partition_of(bob()), known.clone())));
    // A node that asks again, because it did not hear, is told again.
    ledger.hear(&handled());
    assert_eq!(ledger.poll_facts(), Some((ledger.partition_of(bob()), known)));
    assert_eq!((ledger.poll_facts(), ledger.remembered()), (None, 0));
}

#[test]
fn foreign_facts_are_ignored() {
    let mut ledger = node(&[bob()]);
    ledger.hear(&handled());
    ledger.hear(&Facts { handled: Vec::new(), known: vec![receipt()] });
    assert_eq!((ledger.poll_facts(), ledger.take_known(), ledger.remembered()), (None, Vec::new(), 0));
}

#[test]
fn given_up_agent_is_forgotten() {
    let mut ledger = node(&[ann(), bob()]);
    ledger.note(asks_bob(ann()));
    ledger.write_off(ticket(), bob());
    let (anns, bobs) = (ledger.partition_of(ann()), ledger.partition_of(bob()));
    ledger.give_up(&[bobs]);
    assert_eq!(ledger.take_settled(bobs), []);
    let letters = ledger.say_again(&[bobs]);
    assert_eq!(letters.iter().map(|(ticket, ..)| *ticket).collect::<Vec<_>>(), [ticket()]);
    ledger.give_up(&[anns]);
    assert_eq!((ledger.say_again(&[bobs]), ledger.remembered()), (Vec::new(), 0));
}

#[test]
fn refusal_waits_for_receivers_end() {
    let mut ledger = node(&[ann(), bob()]);
    let bobs = ledger.partition_of(bob());
    ledger.note(asks_bob(ann()));
    ledger.note(born(bob(), 0));
    ledger.write_off(ticket(), bob());
    assert_eq!(ledger.partitions_to_settle(), [], "bob may live on");
    ledger.note(Record::Gone { agent: bob(), last: 0 });
    let records = ledger.take_settled(bobs);
    assert_eq!(records, [refusal()]);
    assert!(ledger.answers_for(ticket()), "that it is refused is not written");
    records.into_iter().for_each(|record| ledger.note(record));
    assert!(!ledger.answers_for(ticket()) && ledger.tickets_of(bob()).eq([ticket()]));
    ledger.write_off(ticket(), bob());
    assert_eq!(ledger.take_settled(bobs), [], "it came twice");
}

#[test]
fn message_for_earlier_life_is_refused() {
    let mut ledger = node(&[ann(), bob()]);
    ledger.note(asks_bob(ann()));
    ledger.note(born(bob(), 0));
    ledger.write_off(ticket(), bob());
    ledger.note(born(bob(), 1));
    assert_eq!(ledger.take_settled(ledger.partition_of(bob())), [refusal()]);
}

#[test]
fn only_receivers_server_refuses() {
    let mut ledger = node(&[ann()]);
    ledger.note(asks_bob(ann()));
    ledger.write_off(ticket(), bob());
    assert_eq!(ledger.partitions_to_settle(), []);
    assert!(ledger.answers_for(ticket()));
}

#[test]
fn refused_message_does_not_come_later() {
    // The receiver's server records the refusal although the receiver lives.
    let mut ledger = node(&[ann(), bob()]);
    ledger.note(asks_bob(ann()));
    ledger.note(born(bob(), 0));
    ledger.refuse(ticket(), bob());
    assert_eq!(ledger.take_settled(ledger.partition_of(bob())), [refusal()]);
    ledger.note(refusal());
    ledger.refuse(ticket(), bob());
    assert_eq!(
        (ledger.partitions_to_settle(), ledger.answers_for(ticket())),
        (vec![ledger.partition_of(ann())], false)
    );
    // The sender's server only stops answering for the message.
    let mut ledger = node(&[ann()]);
    ledger.note(asks_bob(ann()));
    ledger.refuse(ticket(), bob());
    assert!(!ledger.answers_for(ticket()) && ledger.say_again(&[ledger.partition_of(bob())]).is_empty());
    // A node that serves neither changes nothing.
    let mut ledger = node(&[]);
    ledger.refuse(ticket(), bob());
    assert_eq!((ledger.partitions_to_settle(), ledger.remembered()), (vec![], 0));
}

#[test]
fn message_names_its_unsettled_predecessor() {
    let mut ledger = node(&[ann()]);
    let sent = |first| {
        let message = AclMessage::new(Performative::Inform, Aid::local(ann()), Aid::local(bob()), Value::Null);
        let sent = vec![Sent::of(Aid::local(bob()), &message).unwrap()];
        Record::Step(AgentStep { agent: ann(), state: State::Same, handled: Vec::new(), first, sent })
    };
    let after = |ledger: &Ledger, number| ledger.comes_after(Ticket { sender: ann(), number });
    (1..=3).for_each(|first| ledger.note(sent(first)));
    assert_eq!((after(&ledger, 1), after(&ledger, 2), after(&ledger, 3)), (0, 1, 2));
    let handled = |number| Receipt { number, ..receipt() };
    ledger.hear(&Facts { handled: vec![handled(1), handled(2), handled(3)], known: Vec::new() });
    ledger.note(sent(4));
    assert_eq!(after(&ledger, 4), 0, "all before it is settled");
    let letters = ledger.letters_to(&[ledger.partition_of(bob())]);
    let mut next = node(&[]);
    let mut books = node(&[ann()]);
    letters.iter().for_each(|_| books.note(sent(4)));
    next.take_over(books, &letters);
    next.note(sent(5));
    assert_eq!(after(&next, 5), 4, "whoever takes over knows");
}

#[test]
fn condensed_journal_knows_lives() {
    let anns = Ledger::new(PARTITIONS).partition_of(ann());
    let read = |frames: &[Vec<Record>]| {
        let mut arrears = JournalReplay::of(PARTITIONS, &[anns]);
        frames.iter().for_each(|records| arrears.read(records.clone()));
        arrears
    };
    let last = numbers_of_life(7);
    let frames = [vec![born(ann(), 7)], vec![Record::Gone { agent: ann(), last }]];
    let (books, ..) = read(&frames).finish();
    let condensed = read(&frames).condense(&books);
    assert_eq!(condensed, [[Record::Lives { after: last }]], "nothing else is known of anybody");
    let (books, ..) = read(&condensed).finish();
    assert_eq!(books.next_life(), 8);
    // A node that takes it over continues from there.
    let mut ledger = node(&[bob()]);
    ledger.take_over(books, &[]);
    assert_eq!(ledger.next_life(), 8);
}

/// Returns a record of a change of the agent's state.
fn changes(agent: Symbol, state: State) -> Record {
    Record::Step(AgentStep { agent, state, handled: Vec::new(), first: numbers_of_life(1) + 1, sent: Vec::new() })
}

#[test]
fn journal_knows_waiting_times() {
    let anns = Ledger::new(PARTITIONS).partition_of(ann());
    let served = |ms| Record::Served { partition: anns.0, ms };
    let read = |frames: &[Vec<Record>]| {
        let mut arrears = JournalReplay::of(PARTITIONS, &[anns]);
        frames.iter().for_each(|records| arrears.read(records.clone()));
        arrears
    };
    let age = |frames: &[Vec<Record>]| read(frames).finish().1[0].age_ms;
    let mut frames = vec![vec![served(900), born(ann(), 1), changes(ann(), State::Whole(vec![1]))]];
    assert_eq!(age(&frames), 0);
    frames.push(vec![served(30)]);
    assert_eq!(age(&frames), 30);
    frames.push(vec![served(5), changes(ann(), State::Delta(vec![2]))]);
    assert_eq!(age(&frames), 0);
    frames.push(vec![served(7), changes(ann(), State::Same)]);
    frames.push(vec![served(4)]);
    assert_eq!(age(&frames), 11, "what did not change is as old as it was");
    // A condensed journal says the same, even if the old one is still there before a part of the new one.
    let (books, ..) = read(&frames).finish();
    let condensed = read(&frames).condense(&books);
    assert_eq!(age(&condensed), 11);
    let both: Vec<Vec<Record>> = frames.iter().chain(&condensed).cloned().chain([vec![served(2)]]).collect();
    assert_eq!(age(&both), 13);
    let later: Vec<Vec<Record>> = condensed.iter().cloned().chain([vec![served(2)]]).collect();
    assert_eq!(age(&later), 13);
}
