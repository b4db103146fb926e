//! What a gateway needs of its node: the port that the node's wiring implements.

use std::ops::ControlFlow;

use crate::{Answer, Event, LogLine, LogWanted, Refusal, Request, SniffWanted};

/// A node, as those who look at it and steer it through its gateway see it.
pub trait Operator: Send + Sync + 'static {
    /// Answers a request, all but [`Request::Sniff`], [`Request::Log`] and [`Request::Stop`], which are refused. May take as long
    /// as what is asked for takes; `gone` tells whether whoever asked went away meanwhile.
    fn answer(&self, request: Request, gone: &dyn Fn() -> bool) -> Answer;

    /// What was refused so far, by reason.
    fn refusals(&self) -> Vec<(&'static str, u64)>;

    /// Watches what happens from now on, until what is returned is dropped.
    fn watch(&self, wanted: Watched) -> Box<dyn Feed>;

    /// Counts who writes to whom from now on, until what is returned is dropped.
    fn count_traffic(&self) -> Box<dyn Traffic>;

    /// Measures how long messages wait, of some of them, until what is returned is dropped.
    fn measure_latency(&self) -> Box<dyn Latency>;

    /// Tells what the node's log of conversations holds, entry by entry, as long as `line` goes on. Takes as long as there is
    /// something to tell; if new entries are wanted, for ever: a [`Tick`](crate::Happening::Tick) comes several times a
    /// second then.
    ///
    /// # Errors
    /// There is no log, it cannot be read, or it has not come so far.
    fn log(&self, wanted: &LogWanted, line: &mut dyn FnMut(LogLine) -> ControlFlow<()>) -> Result<(), Refusal>;
}

/// What is to be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// What [`Request::Sniff`] tells.
    Events(SniffWanted),
    /// Agents that come from other nodes and go there.
    Mobility,
    /// What is refused.
    Security,
}

/// What happened since somebody looked last. Only so much is kept; what does not find room is counted.
pub trait Feed: Send {
    /// Takes what is kept, the oldest first, with a [`Skipped`](crate::Happening::Skipped) if there was more.
    fn take(&mut self) -> Vec<Event>;
}

/// Messages between two agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Who wrote.
    pub from: String,
    /// To whom.
    pub to: String,
    /// How often.
    pub count: u64,
}

/// Who wrote to whom since somebody looked last.
pub trait Traffic: Send {
    /// The busiest so many pairs, the busiest first.
    fn take(&mut self, pairs_max: usize) -> Counted;
}

/// Messages by who wrote to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those that were looked at.
    pub pairs: Vec<Pair>,
    /// How many there were beside: when there are very many, not each is looked at.
    pub unseen: u64,
}

/// How long messages wait from when they are put into a mailbox until a turn has taken them, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Waits {
    /// Half of them for no longer than this.
    pub p50: u64,
    /// 90 of 100.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
}

/// Somebody measures how long messages wait.
pub trait Latency: Send {
    /// How long they waited lately, if any were taken.
    fn waits(&self) -> Option<Waits>;
}
