//! Logs of conversations: a reader that continues from a number misses no entry and reads none twice, whatever fails.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel::acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel::platform::conversations::{Logged, What};
use whimbrel::platform::dead_letters::DeadReason;
use whimbrel::platform::limits::{
    CONVERSATION_CUT_CHARS, CONVERSATION_MESSAGE_BYTES_MAX, CONVERSATION_WAITING_BYTES_MAX,
};
use whimbrel::platform::store::{Epoch, Journal};
use whimbrel::platform::{Observer, PlatformEvent, Time};
use whimbrel::store::{
    ConversationKeeper, ConversationLog, Embedded, LogError, LogItem, Memory, OpenOptions, Point, StoreFault,
};

use super::Scratch;

/// Start of all platforms of this file.
const BEGAN_US: u64 = 1_000_000;

fn envelope(content: impl Into<Value>) -> Envelope {
    let (amy, bob) = (Aid::local("amy"), Aid::local("bob"));
    let message = AclMessage::new(Performative::Inform, amy, bob, content).in_conversation("deal-7");
    Envelope { to: bob, body: MessageBody::Owned(Box::new(message)) }
}

fn say(observer: &dyn Observer, numbers: impl IntoIterator<Item = i64>) {
    for number in numbers {
        observer.observe(Time(number as u64), PlatformEvent::Sent(&envelope(number)));
    }
}

fn keep(log: &ConversationLog, epoch: u64) -> ConversationKeeper {
    log.keep(Epoch(epoch), BEGAN_US, |_| ()).unwrap()
}

/// Returns a short form of an entry.
fn short(entry: &Logged) -> String {
    match &entry.what {
        What::Sent(said) => said.envelope().unwrap().body.content.to_string(),
        What::Died { said, why } => format!("{} died: {why}", said.envelope().unwrap().body.content),
        What::Begun { cut_short: true } => "cut short".to_owned(),
        What::Begun { .. } => "begun".to_owned(),
        What::LeftOut { count } => format!("{count} left out"),
        What::Ended => "ended".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Reads entries after a number, at most this many, and the number to continue from.
fn read_some(log: &ConversationLog, after: u64, most: usize) -> (Vec<String>, u64) {
    let mut told = Vec::new();
    let mut expected = after;
    let cursor = log.read(after, &mut |one| {
        match one {
            LogItem::Entry(number, entry) => {
                expected += 1;
                assert_eq!(number, expected, "no number is left out");
                told.push(short(&entry));
            }
            LogItem::Dropped { count, upto } => {
                expected += count;
                assert_eq!(upto, expected);
                told.push(format!("{count} dropped"));
            }
        }
        if told.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    (told, cursor.unwrap())
}

fn read(log: &ConversationLog, after: u64) -> Vec<String> {
    read_some(log, after, usize::MAX).0
}

fn wait_for(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60), "it takes too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn continued_reading_misses_nothing() {
    let log = ConversationLog::open(Arc::new(Memory::new(1))).unwrap();
    assert_eq!((log.last(), read(&log, 0)), (0, Vec::new()));
    let keeper = keep(&log, 1);
    let (stop, reader) = (Arc::new(AtomicBool::new(false)), log.clone());
    let stopped = Arc::clone(&stop);
    // One reads while it is written, in pieces of all sizes.
    let reading = std::thread::spawn(move || {
        let (mut all, mut cursor, mut most) = (Vec::new(), 0, 1);
        loop {
            let is_last = stopped.load(Ordering::Acquire);
            let (mut told, next) = read_some(&reader, cursor, most);
            let nothing = told.is_empty();
            all.append(&mut told);
            (cursor, most) = (next, most % 97 + 5);
            if nothing && is_last {
                return all;
            }
            reader.wait(cursor, Duration::from_millis(5));
        }
    });
    for some in 0..50 {
        say(&*keeper.observer(), some * 40..some * 40 + 40);
        std::thread::sleep(Duration::from_millis(some as u64 % 3 * 4));
    }
    let nobody = envelope("lost");
    keeper.observer().observe(Time(7), PlatformEvent::Died(&nobody, DeadReason::AgentEnded));
    keeper.end();
    stop.store(true, Ordering::Release);
    let mut expected = vec!["begun".to_owned()];
    expected.extend((0..2_000).map(|number: i64| number.to_string()));
    expected.extend([format!("\"lost\" died: {}", DeadReason::AgentEnded), "ended".to_owned()]);
    assert_eq!(reading.join().unwrap(), expected);
    assert_eq!(read(&log, 0), expected);
    assert_eq!(read(&log, 1_999), expected[1_999..]);
    let mut times = Vec::new();
    let _ = log.read(2, &mut |told| {
        if let LogItem::Entry(_, entry) = told {
            times.push(entry.at_us);
        }
        ControlFlow::Break(())
    });
    assert_eq!(times, [BEGAN_US + 1]);
}

#[test]
fn unknown_number_differs_from_last() {
    let log = ConversationLog::open(Arc::new(Memory::new(1))).unwrap();
    keep(&log, 1).end();
    assert_eq!(read(&log, 2), [""; 0]);
    let ahead = log.read(3, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(ahead, Err(LogError::NotYet { after: 3, last: 2 })), "{ahead:?}");
    assert!(!log.wait(2, Duration::from_millis(1)));
}

#[test]
fn reopened_log_reports_truncation() {
    let folder = Scratch::new();
    let options = OpenOptions { partitions: Some(1), ..OpenOptions::default() };
    let open = || ConversationLog::open(Arc::new(Embedded::open(folder.path(), &options).unwrap())).unwrap();
    let log = open();
    let keeper = keep(&log, 1);
    say(&*keeper.observer(), 0..3);
    keeper.end();
    drop(log);
    let log = open();
    let keeper = keep(&log, 2);
    say(&*keeper.observer(), 3..5);
    wait_for(|| log.last() == 8);
    // It ends without a word, as after kill -9.
    let copy = Scratch::new();
    copy_all(folder.path(), copy.path());
    drop(keeper);
    let log = ConversationLog::open(Arc::new(Embedded::open(copy.path(), &options).unwrap())).unwrap();
    keep(&log, 3).end();
    let all = ["begun", "0", "1", "2", "ended", "begun", "3", "4", "cut short", "ended"];
    assert_eq!(read(&log, 0), all);
    assert_eq!(read(&log, 7), all[7..]);
}

/// Copies a folder, but not the lock in it.
pub fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy_all(&path, &to.join(name));
        } else if name != "lock" {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn full_log_drops_oldest_entries() {
    let memory = Arc::new(Memory::new(1));
    let log = ConversationLog::of_size(Arc::clone(&memory) as Arc<dyn Journal>, 20_000).unwrap();
    let keeper = keep(&log, 1);
    for some in 0..40 {
        say(&*keeper.observer(), some * 25..some * 25 + 25);
        wait_for(|| log.last() as i64 == some * 25 + 26);
    }
    keeper.end();
    let told = read(&log, 0);
    let dropped: usize = told[0].strip_suffix(" dropped").expect("some were dropped").parse().unwrap();
    assert!(dropped > 400 && told.len() > 100, "{dropped}, {}", told.len());
    assert_eq!(told[1], (dropped - 1).to_string());
    assert_eq!(told.last().map(String::as_str), Some("ended"));
    // Somebody who had read some of it hears how much he misses; and it is all the same when the log is read anew.
    assert_eq!(read(&log, 100)[0], format!("{} dropped", dropped - 100));
    assert_eq!(read(&ConversationLog::open(memory).unwrap(), 0), told);
}

#[test]
fn failed_write_is_retried_once() {
    let memory = Arc::new(Memory::new(1));
    let log = ConversationLog::open(Arc::clone(&memory) as Arc<dyn Journal>).unwrap();
    let count = AtomicUsize::new(0);
    memory.set_faults(move |point| match (point, count.fetch_add(1, Ordering::Relaxed) % 4) {
        (Point::Append(_), 1) => StoreFault::Fails,
        (Point::Append(_), 2) => StoreFault::Unknown(1),
        (Point::Append(_), 3) => StoreFault::Unknown(0),
        _ => StoreFault::None,
    });
    let complaints: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&complaints);
    let keeper = log.keep(Epoch(1), 0, move |text| heard.lock().unwrap().push(text.to_owned())).unwrap();
    for some in 0..20 {
        say(&*keeper.observer(), some * 3..some * 3 + 3);
        wait_for(|| log.last() as i64 == some * 3 + 4);
    }
    memory.clear_faults();
    keeper.end();
    let told = read(&ConversationLog::open(memory).unwrap(), 1);
    assert_eq!(told[..60], (0..60).map(|number| number.to_string()).collect::<Vec<_>>());
    let complaints = complaints.lock().unwrap();
    assert!(complaints[0].contains("delayed") && complaints[1].contains("again"), "{complaints:?}");
}

#[test]
fn slow_disk_counts_omitted_messages() {
    let memory = Arc::new(Memory::new(1));
    let log = ConversationLog::open(Arc::clone(&memory) as Arc<dyn Journal>).unwrap();
    let keeper = keep(&log, 1);
    wait_for(|| log.last() == 1);
    memory.set_faults(|_| StoreFault::Fails);
    let long = "x".repeat(CONVERSATION_MESSAGE_BYTES_MAX - 1_000);
    let sent = 3 * CONVERSATION_WAITING_BYTES_MAX / long.len();
    (0..sent).for_each(|_| keeper.observer().observe(Time(1), PlatformEvent::Sent(&envelope(long.as_str()))));
    memory.clear_faults();
    wait_for(|| read(&log, 1).iter().any(|entry| entry.contains("left out")));
    keeper.end();
    let told = read(&log, 1);
    let left_out: Vec<&str> = told.iter().filter_map(|entry| entry.strip_suffix(" left out")).collect();
    let left_out: usize = left_out.iter().map(|count| count.parse::<usize>().unwrap()).sum();
    let kept = told.iter().filter(|entry| entry.contains("xxx")).count();
    assert!(left_out > 0 && kept > 0);
    assert_eq!(kept + left_out, sent);
}

#[test]
fn overlong_message_is_cut() {
    let log = ConversationLog::open(Arc::new(Memory::new(1))).unwrap();
    let keeper = keep(&log, 1);
    let long = "é".repeat(CONVERSATION_MESSAGE_BYTES_MAX);
    keeper.observer().observe(Time(1), PlatformEvent::Sent(&envelope(long.as_str())));
    let name = AclMessage::clone(&envelope(1).body).in_conversation(long.as_str());
    let named = Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(name)) };
    keeper.observer().observe(Time(1), PlatformEvent::Sent(&named));
    keeper.end();
    let mut messages = Vec::new();
    let tell = &mut |told| {
        if let LogItem::Entry(_, Logged { what: What::Sent(said), .. }) = told {
            messages.push(AclMessage::clone(&said.envelope().unwrap().body));
        }
        ControlFlow::Continue(())
    };
    log.read(0, tell).unwrap();
    assert_eq!(messages[0].extras().conversation_id.as_deref(), Some("deal-7"));
    let content = messages[0].content.as_str().expect("it is text now");
    assert!(content.ends_with('…') && content.chars().count() == CONVERSATION_CUT_CHARS + 1);
    assert_eq!((messages[1].sender, messages[1].extras().conversation_id.as_ref()), (Aid::local("amy"), None));
}
