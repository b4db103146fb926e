//! Logs of conversations: entries are read as they were said, in bounded frames, and the oldest are dropped.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_platform::conversations::{Passage, What};
use whimbrel_platform::limits::{
    CONVERSATION_MESSAGE_BYTES_MAX, CONVERSATION_PASSAGE_BYTES_MAX, CONVERSATION_PASSAGE_ENTRIES_MAX,
};
use whimbrel_platform::store::{Epoch, Journal, Lsn, Partition};
use whimbrel_store::{ConversationLog, LogItem, Memory};
use whimbrel_testkit::{Probe, Random, Simulation};

fn journal() -> Arc<dyn Journal> {
    Arc::new(Memory::new(1))
}

/// Returns text that cannot be packed.
fn noise(seed: u64, bytes: usize) -> String {
    let mut random = Random::new(seed);
    (0..bytes).map(|_| char::from(b'a' + random.between(0..=25) as u8)).collect()
}

/// Writes messages to an agent, as one process that ends in order.
fn write(log: &ConversationLog, epoch: u64, contents: &[String]) {
    let keeper = log.keep(Epoch(epoch), 1_000, |why| panic!("{why}")).unwrap();
    let mut sim = Simulation::new(1);
    sim.observe(keeper.observer());
    sim.spawn("bob", Probe::new().body());
    contents.iter().for_each(|content| sim.tell("bob", content.as_str()));
    sim.run_until_idle();
    keeper.end();
}

/// Returns the items after a number, as texts. No number is left out.
fn read(log: &ConversationLog, after: u64) -> Vec<String> {
    let (mut items, mut last) = (Vec::new(), after);
    let told = log.read(after, &mut |item| {
        match item {
            LogItem::Dropped { count, upto } => {
                assert_eq!(last + count, upto);
                last = upto;
                items.push("dropped".to_owned());
            }
            LogItem::Entry(number, entry) => {
                assert_eq!(number, last + 1);
                last = number;
                match entry.what {
                    What::Sent(said) | What::Died { said, .. } => {
                        let envelope = said.envelope().unwrap();
                        items.push(envelope.body.content.as_str().unwrap().to_owned());
                    }
                    other => items.push(format!("{other:?}")),
                }
            }
        }
        ControlFlow::Continue(())
    });
    assert_eq!((told.unwrap(), last), (log.last(), log.last()));
    items
}

/// Returns the bytes of each frame of a journal, and the number of its entries.
fn frames(journal: &Arc<dyn Journal>) -> Vec<(usize, usize)> {
    let mut frames = Vec::new();
    let each = &mut |_, frame: &[u8]| {
        frames.push((frame.len(), Passage::decode(frame).unwrap().entries.len()));
        ControlFlow::Continue(())
    };
    journal.read(Partition(0), Lsn(0), each).unwrap();
    frames
}

#[test]
fn log_reads_as_written() {
    let journal = journal();
    let log = ConversationLog::open(Arc::clone(&journal)).unwrap();
    write(&log, 1, &["hello".to_owned(), "bye".to_owned()]);
    assert_eq!(read(&log, 0), ["Begun { cut_short: false }", "hello", "bye", "Ended"]);
    assert_eq!(read(&log, log.last() - 1), ["Ended"], "a reader continues behind what it has");
    let again = ConversationLog::open(journal).unwrap();
    write(&again, 2, &["hello again".to_owned()]);
    assert_eq!(read(&again, log.last()), ["Begun { cut_short: false }", "hello again", "Ended"]);
    assert!(again.read(again.last() + 1, &mut |_| ControlFlow::Continue(())).is_err(), "there is no such entry yet");
}

#[test]
fn many_messages_make_bounded_frames() {
    let journal = journal();
    let log = ConversationLog::open(Arc::clone(&journal)).unwrap();
    let contents: Vec<String> = (0..3_000).map(|number| format!("m{number}")).collect();
    write(&log, 1, &contents);
    assert_eq!(read(&log, 1)[..contents.len()], contents);
    let frames = frames(&journal);
    assert!(frames.iter().all(|(_, entries)| *entries <= CONVERSATION_PASSAGE_ENTRIES_MAX), "{frames:?}");
}

#[test]
fn long_messages_make_bounded_frames() {
    let journal = journal();
    let log = ConversationLog::open(Arc::clone(&journal)).unwrap();
    let long: Vec<String> = (0..60).map(|seed| noise(seed, CONVERSATION_MESSAGE_BYTES_MAX / 2)).collect();
    write(&log, 1, &long);
    assert_eq!(read(&log, 0).len(), 62);
    let frames = frames(&journal);
    let most = CONVERSATION_PASSAGE_BYTES_MAX + 2 * CONVERSATION_MESSAGE_BYTES_MAX;
    assert!(frames.iter().all(|(bytes, _)| *bytes <= most), "{frames:?}");
    assert!(frames.iter().any(|(_, entries)| *entries > 1), "{frames:?}");
}

#[test]
fn full_log_drops_oldest_entries() {
    let log = ConversationLog::of_size(journal(), 100_000).unwrap();
    let contents: Vec<String> = (0..40).map(|seed| noise(seed, 20_000)).collect();
    for (epoch, content) in (1..).zip(&contents) {
        write(&log, epoch, std::slice::from_ref(content));
    }
    let items = read(&log, 0);
    assert_eq!(items[0], "dropped");
    let left: Vec<&String> = items.iter().filter(|item| contents.contains(item)).collect();
    assert!((1..20).contains(&left.len()), "{} are left", left.len());
    assert!(contents.ends_with(&left.into_iter().cloned().collect::<Vec<_>>()), "the newest stay");
}

#[test]
fn later_writer_deposes_earlier_one() {
    let journal = journal();
    let log = ConversationLog::open(Arc::clone(&journal)).unwrap();
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&complaints);
    let earlier = log.keep(Epoch(1), 1_000, move |why| heard.lock().unwrap().push(why.to_owned())).unwrap();
    assert!(log.wait(0, Duration::from_secs(60)));
    let again = ConversationLog::open(journal).unwrap();
    write(&again, 2, &[]);
    assert_eq!(read(&again, 0)[1..], ["Begun { cut_short: true }", "Ended"]);
    earlier.end();
    let complaints = complaints.lock().unwrap();
    assert!(matches!(complaints.as_slice(), [why] if why.starts_with("conversation log ended: ")), "{complaints:?}");
}
