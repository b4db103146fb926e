//! Reader of a message log, entry by entry: for clients that ask a node, or read a folder. A gateway that serves
//! `since=` returns the same lines.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use whimbrel_operator::{ConversationsFound, Happening, LogLine, LogWanted, MessageInfo, NodeEvent, Reason, Refusal};
use whimbrel_platform::conversations::{Logged, LoggedMessage, What};
use whimbrel_store::{ConversationLog, LogError, LogItem};

use super::sniffer::{message_info, wall_us};

/// Longest silence towards a listener.
const TICK: Duration = Duration::from_millis(100);
/// Likely upper bound of the time until a sent message is written.
const LATE_US: u64 = 250_000;

/// Reasons why a history ends.
#[derive(Debug)]
pub enum HistoryEnd {
    /// The listener has gone.
    Gone(io::Error),
    /// Request that cannot be answered.
    Refused(Refusal),
}

impl From<io::Error> for HistoryEnd {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

impl From<Refusal> for HistoryEnd {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<LogError> for HistoryEnd {
    fn from(error: LogError) -> Self {
        let reason = if matches!(error, LogError::NotYet { .. }) { Reason::BadCursor } else { Reason::BadState };
        Self::Refused(Refusal { reason, text: error.to_string(), node: None })
    }
}

/// Sends the requested entries of a node's log; if new entries are requested, until the listener has gone.
///
/// # Errors
/// The listener has gone, the log cannot be read, or it has not come so far.
pub fn tell(
    log: &ConversationLog,
    node: &str,
    wanted: &LogWanted,
    line: &mut dyn FnMut(&LogLine) -> io::Result<()>,
) -> Result<(), HistoryEnd> {
    let mut teller = EntryTeller { node, wanted, line, told: Instant::now(), dropped: 0 };
    let mut after = wanted.since;
    loop {
        after = teller.tell_from(log, after)?;
        if !wanted.follow {
            return Ok(teller.tick(after, wall_us())?);
        }
        if !log.wait(after, TICK) {
            teller.tick(after, wall_us().saturating_sub(LATE_US))?;
        }
    }
}

/// Returns some of the requested entries of a node's log.
///
/// # Errors
/// The log cannot be read, or has not come so far.
pub fn page(log: &ConversationLog, node: &str, wanted: LogWanted, limit: usize) -> Result<ConversationsFound, Refusal> {
    let wanted = LogWanted { follow: false, ..wanted };
    let mut found = ConversationsFound::after(wanted.since);
    let mut take = |line: &LogLine| match found.take(line.clone(), limit) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(io::ErrorKind::BrokenPipe.into()),
    };
    match tell(log, node, &wanted, &mut take) {
        Ok(()) | Err(HistoryEnd::Gone(_)) => Ok(found),
        Err(HistoryEnd::Refused(refusal)) => Err(refusal),
    }
}

struct EntryTeller<'a> {
    node: &'a str,
    wanted: &'a LogWanted,
    line: &'a mut dyn FnMut(&LogLine) -> io::Result<()>,
    /// Time of the last line.
    told: Instant,
    /// Number of deleted entries that was not reported yet.
    dropped: u64,
}

impl EntryTeller<'_> {
    /// Sends the entries after a number. Returns the number at which to continue.
    fn tell_from(&mut self, log: &ConversationLog, after: u64) -> Result<u64, HistoryEnd> {
        let mut outcome = Ok(());
        let after = log.read(after, &mut |told| {
            outcome = self.tell(told);
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome?;
        Ok(after)
    }

    fn tell(&mut self, told: LogItem) -> io::Result<()> {
        match told {
            // A listener that begins at the oldest entry does not ask for earlier ones.
            LogItem::Dropped { count, upto } if self.wanted.since == 0 && count == upto => Ok(()),
            LogItem::Dropped { count, .. } => {
                self.dropped += count;
                Ok(())
            }
            LogItem::Entry(number, Logged { at_us, what }) => {
                let count = std::mem::take(&mut self.dropped);
                if count > 0 {
                    self.say(number - 1, at_us, Happening::Dropped { count })?;
                }
                match self.happening(at_us, what) {
                    Some(what) => self.say(number, at_us, what),
                    // A merge of several nodes' entries must not wait for long.
                    None if self.told.elapsed() > TICK => self.tick(number, at_us),
                    None => Ok(()),
                }
            }
        }
    }

    /// Returns the happening of an entry, if it is wanted. Gaps are always returned: the missing entries may have been
    /// wanted.
    fn happening(&self, at_us: u64, what: What) -> Option<Happening> {
        match what {
            What::Sent(said) => self.message(at_us, &said).map(Happening::Sent),
            What::Died { said, why } => self.message(at_us, &said).map(|message| Happening::Died { message, why }),
            What::LeftOut { count } => Some(Happening::Skipped { count }),
            What::Begun { cut_short: true } => Some(Happening::CutShort),
            _ => None,
        }
    }

    fn message(&self, at_us: u64, said: &LoggedMessage) -> Option<MessageInfo> {
        let envelope = said.envelope().ok()?;
        self.wanted.wanted.takes(at_us, &envelope).then(|| message_info(&envelope, usize::MAX))
    }

    fn tick(&mut self, number: u64, at_us: u64) -> io::Result<()> {
        self.say(number, at_us, Happening::Tick)
    }

    fn say(&mut self, number: u64, at_us: u64, what: Happening) -> io::Result<()> {
        self.told = Instant::now();
        (self.line)(&LogLine { number, event: NodeEvent { at_us, node: self.node.to_owned(), what } })
    }
}
