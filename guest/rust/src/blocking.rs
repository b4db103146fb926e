//! Blocking calls: an agent waits in the middle of anything, in a loop in a call in a recursion. It is suspended there,
//! with its stack, and continues there, on the same node or on another one (strong mobility).
//!
//! `whimbrel agent build` prepares modules with blocking calls, which makes them larger and calls slower. Agents that
//! wait only in `async` functions need no preparation: see [`Context`](crate::Context).

use std::time::Duration;

use crate::context::{Context, message, milliseconds};
use crate::error::{Error, ErrorKind};
use crate::host;
use crate::message::{Message, Template};
use crate::patterns::{Errand, IntoAnswer, Itinerary, Leg};
use crate::value::Value;

/// Side of a clone after [`clone_to`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// Agent that called.
    Original,
    /// Copy on the other node.
    Copy,
}

/// Waits for a message that fits, for ever if necessary.
///
/// # Errors
/// The message cannot be read.
pub fn receive(template: &Template) -> Result<Message, Error> {
    message(host::fetch(host::receive(&template.encode(), -1))?)
}

/// Waits for a message that fits, at most for this time; `None` if there was none.
///
/// # Errors
/// The message cannot be read.
pub fn receive_within(template: &Template, time: Duration) -> Result<Option<Message>, Error> {
    match host::fetch(host::receive(&template.encode(), milliseconds(time))) {
        Err(Error { kind: ErrorKind::Timeout, .. }) => Ok(None),
        frame => message(frame?).map(Some),
    }
}

/// Waits for this time.
pub fn sleep(time: Duration) {
    host::sleep(milliseconds(time));
}

/// Moves to a node, unless the agent is there, and continues there.
///
/// # Errors
/// The agent did not move, or was not allowed to: it continues where it was.
pub fn move_to(node: &str) -> Result<(), Error> {
    if Context.node() == node { Ok(()) } else { host::check(host::move_to(node.as_bytes())).map(drop) }
}

/// Begins a journey, or continues it from a stop. Returns when the agent is at the next stop, or the journey is over.
pub fn next_stop<T>(tour: &mut Itinerary<T>) -> Leg<T> {
    tour.next_blocking()
}

/// Sends a minion, as [`Context::dispatch`] does.
///
/// # Errors
/// None of the nodes can be reached, the task failed there, or no answer came in time.
pub fn dispatch<N: AsRef<str>, A: IntoAnswer>(
    nodes: impl IntoIterator<Item = N>,
    within: Duration,
    task: impl FnOnce() -> A,
) -> Result<Value, Error> {
    let errand = Errand::new(Context);
    let mut outcome = Err(Error::new(ErrorKind::Unknown, "no node to send a minion to"));
    for node in nodes {
        outcome = clone_to(node.as_ref(), "");
        if outcome.is_ok() {
            break;
        }
    }
    if outcome? == Twin::Copy {
        errand.begin(Context, within);
        errand.end(Context, task().into_answer());
        loop {
            sleep(Duration::MAX);
        }
    }
    errand.result(receive_within(&errand.template(), within)?)
}

/// Leaves a copy of the agent on a node, under this name (empty: a new one). Both continue after this call, and each is
/// told which one it is.
///
/// # Errors
/// There is no copy.
pub fn clone_to(node: &str, name: &str) -> Result<Twin, Error> {
    let copy = host::check(host::clone_to(node.as_bytes(), name.as_bytes()))?;
    Ok(if copy == 1 { Twin::Copy } else { Twin::Original })
}
