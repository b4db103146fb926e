//! Port of a gateway to its node, implemented by the node's wiring.

use std::ops::ControlFlow;

use crate::{Answer, LogLine, LogWanted, NodeEvent, Refusal, Request, SniffWanted};

/// A node, as its operators see it through the gateway.
pub trait Operator: Send + Sync + 'static {
    /// Answers a request; refuses [`Request::Sniff`], [`Request::Log`] and [`Request::Stop`]. The call lasts as long as
    /// the operation does. `gone` returns true once the client has gone away.
    fn answer(&self, request: Request, gone: &dyn Fn() -> bool) -> Answer;

    /// Refusals so far, by reason.
    fn refusals(&self) -> Vec<(&'static str, u64)>;

    /// Watches events from now on, until the returned feed is dropped.
    fn watch(&self, wanted: NodeWatch) -> Box<dyn Feed>;

    /// Counts messages by pair of agents from now on, until the returned counter is dropped.
    fn count_traffic(&self) -> Box<dyn Traffic>;

    /// Measures for a sample of messages how long they wait, until the returned meter is dropped.
    fn measure_latency(&self) -> Box<dyn Latency>;

    /// Passes the entries of the node's log of conversations to `line`, as long as that continues. The call ends with
    /// the last entry. If new entries are wanted, it does not end: a [`Tick`](crate::Happening::Tick) comes
    /// several times a second then.
    ///
    /// # Errors
    /// There is no log, the log cannot be read, or the cursor is beyond its end.
    fn log(&self, wanted: &LogWanted, line: &mut dyn FnMut(LogLine) -> ControlFlow<()>) -> Result<(), Refusal>;
}

/// Subject of a watch at the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeWatch {
    /// Events as for [`Request::Sniff`].
    Events(SniffWanted),
    /// Agents that arrive from other nodes and leave for them.
    Mobility,
    /// Refusals.
    Security,
}

/// Bounded queue of events. Events that find no room are counted.
pub trait Feed: Send {
    /// Takes the queued events, the oldest first, with a [`Skipped`](crate::Happening::Skipped) if some
    /// found no room.
    fn take(&mut self) -> Vec<NodeEvent>;
}

/// Messages from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Number of messages.
    pub count: u64,
}

/// Counter of messages by pair of agents.
pub trait Traffic: Send {
    /// Takes the counts since the last call, of the busiest pairs, the busiest first.
    fn take(&mut self, pairs_max: usize) -> Counted;
}

/// Counts of messages by pair of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Counted pairs.
    pub pairs: Vec<Pair>,
    /// Messages without a pair: under heavy load only a sample is counted by pair.
    pub unseen: u64,
}

/// Percentiles of the time that messages wait in a mailbox until a turn takes them, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WaitPercentiles {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
}

/// Meter of the time that messages wait.
pub trait Latency: Send {
    /// Percentiles of recent messages, if there were any.
    fn waits(&self) -> Option<WaitPercentiles>;
}
