//! Context of an agent: every operation that does not wait.

use std::time::Duration;

use crate::error::Error;
use crate::host;
use crate::message::{Message, Template};
use crate::value::Value;

/// Context of an agent: the operations of the node. It has no size, so it can be copied freely.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Context;

/// Level of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Helps to find faults.
    Debug,
    /// Is good to know.
    Info,
    /// Is perhaps a fault.
    Warning,
    /// Is a fault.
    Error,
}

impl Context {
    /// Returns the agent's name, `agent@platform`.
    pub fn name(self) -> String {
        host::text(host::name)
    }

    /// Returns the name of the agent's node.
    pub fn node(self) -> String {
        host::text(host::node)
    }

    /// Sends a message. It leaves when this call into the agent is over.
    ///
    /// # Errors
    /// Sending is not granted, or exceeds a quota.
    pub fn send(self, message: &Message) -> Result<(), Error> {
        host::check(host::send(&message.encode())).map(drop)
    }

    /// Takes the oldest waiting message that fits, if there is one: without waiting, and before its turn.
    ///
    /// # Errors
    /// The message cannot be read.
    pub fn take(self, template: &Template) -> Result<Option<Message>, Error> {
        match host::take(&template.encode()) {
            UNKNOWN => Ok(None),
            len => message(host::fetch(len)?).map(Some),
        }
    }

    /// Prints a line.
    pub fn print(self, line: impl AsRef<str>) {
        host::print(line.as_ref().as_bytes());
    }

    /// Logs a text for the node's operators.
    pub fn log(self, level: Level, text: impl AsRef<str>) {
        host::log(level as i32, text.as_ref().as_bytes());
    }

    /// Returns the time since 1970 (capability `clock`).
    ///
    /// # Errors
    /// The capability is not granted.
    pub fn now(self) -> Result<Duration, Error> {
        match host::now() {
            ms if ms < 0 => Err(Error::because(ms as i32)),
            ms => Ok(Duration::from_millis(ms as u64)),
        }
    }

    /// Fills `bytes` with random numbers (capability `random`). They are no secrets.
    ///
    /// # Errors
    /// The capability is not granted.
    pub fn random(self, bytes: &mut [u8]) -> Result<(), Error> {
        host::check(host::random(bytes)).map(drop)
    }

    /// Has [`Agent::on_timer`](crate::Agent::on_timer) called with `tag` after this time. Each tag has one timer: a
    /// later call sets it anew. Tags below 0 are reserved.
    ///
    /// # Errors
    /// There are too many timers.
    pub fn set_timer(self, after: Duration, tag: i64) -> Result<(), Error> {
        host::check(host::timer(milliseconds(after), tag)).map(drop)
    }

    /// Ends the timer of this tag. Returns true if there was one.
    pub fn cancel_timer(self, tag: i64) -> bool {
        host::cancel(tag) >= 0
    }

    /// Returns the time until the timer of this tag is due, to the millisecond; `None` if none is set.
    pub fn timer_left(self, tag: i64) -> Option<Duration> {
        u64::try_from(host::timer_left(tag)).ok().map(Duration::from_millis)
    }

    /// Offers a service in the DF.
    ///
    /// # Errors
    /// Registering is not granted.
    pub fn register(self, service: &str, kind: &str) -> Result<(), Error> {
        host::check(host::register(service.as_bytes(), kind.as_bytes())).map(drop)
    }

    /// Withdraws a service from the DF.
    ///
    /// # Errors
    /// The service was not registered.
    pub fn deregister(self, service: &str, kind: &str) -> Result<(), Error> {
        host::check(host::deregister(service.as_bytes(), kind.as_bytes())).map(drop)
    }

    /// Returns the agents that offer a service; an empty text stands for any.
    ///
    /// # Errors
    /// Searching is not granted.
    pub fn search(self, service: &str, kind: &str) -> Result<Vec<String>, Error> {
        let found = value(host::fetch(host::search(service.as_bytes(), kind.as_bytes()))?)?;
        Ok(found.items().iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Returns true if an agent of this name exists.
    ///
    /// # Errors
    /// The name is malformed.
    pub fn exists(self, agent: &str) -> Result<bool, Error> {
        host::check(host::exists(agent.as_bytes())).map(|found| found == 1)
    }

    /// Joins a topic (`topic:NAME`) or group (`group:NAME`).
    ///
    /// # Errors
    /// Joining is not granted.
    pub fn join(self, topic: &str) -> Result<(), Error> {
        host::check(host::join(topic.as_bytes())).map(drop)
    }

    /// Leaves a topic or group.
    ///
    /// # Errors
    /// The agent was no member.
    pub fn leave(self, topic: &str) -> Result<(), Error> {
        host::check(host::leave(topic.as_bytes())).map(drop)
    }

    /// Has a named environment of the node carry out an action (capability `environments`).
    ///
    /// # Errors
    /// The action is not granted, or fails.
    pub fn act(self, environment: &str, action: &Value) -> Result<Value, Error> {
        value(host::fetch(host::act(environment.as_bytes(), &action.encode()))?)
    }

    /// Moves to a node when this call into the agent is over. There [`Agent::on_arrival`](crate::Agent::on_arrival) is
    /// called. Async agents write `move_to` instead, and await it.
    ///
    /// # Errors
    /// There is no such node, or this call asked for a hop already.
    pub fn depart(self, node: &str) -> Result<(), Error> {
        host::check(host::depart(node.as_bytes())).map(drop)
    }

    /// Leaves a copy of the agent on a node when this call into the agent is over, under this name (empty: a new one).
    ///
    /// # Errors
    /// There is no such node, or this call asked for a hop already.
    pub fn depart_clone(self, node: &str, name: &str) -> Result<(), Error> {
        host::check(host::depart_clone(node.as_bytes(), name.as_bytes())).map(drop)
    }

    /// Number of times that the agent was called home. An [`Itinerary`](crate::Itinerary) heeds that by itself.
    pub fn recalls(self) -> i32 {
        host::recalled()
    }

    /// Limits the life of the agent and of copies that it makes: they end after this time, on any node. A shorter limit
    /// stays.
    ///
    /// # Errors
    /// The society is durable: its agents have no limit of life.
    pub fn set_lifetime(self, time: Duration) -> Result<(), Error> {
        host::check(host::set_lifetime(milliseconds(time))).map(drop)
    }

    /// Returns a number that tells this agent from earlier and later agents of its name. The number never changes;
    /// clones have others.
    pub fn life(self) -> u64 {
        host::life() as u64
    }

    /// Sets the message that is sent if the agent ends against its will: it traps, exceeds a quota, outlives its time,
    /// or is killed. The content of the message becomes the reason, a text. `None` sets no message. The message travels
    /// along; clones have none.
    ///
    /// # Errors
    /// The message is to a topic or group, or is longer than 4 KiB.
    pub fn on_failure(self, message: Option<&Message>) -> Result<(), Error> {
        host::check(host::on_failure(&message.map(Message::encode).unwrap_or_default())).map(drop)
    }

    /// Ends the agent when this call into it is over, or waits. Sent messages leave; a requested move or copy is
    /// dropped.
    pub fn stop(self) {
        host::stop();
    }
}

const UNKNOWN: i32 = -4;

/// Converts a time for the node. Less than a millisecond becomes one: no wait is shorter than requested.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

pub(crate) fn message(frame: Vec<u8>) -> Result<Message, Error> {
    Message::decode(&frame).map_err(malformed)
}

fn value(bytes: Vec<u8>) -> Result<Value, Error> {
    Value::decode(&bytes).map_err(malformed)
}

fn malformed(error: crate::frame::DecodeError) -> Error {
    Error::new(crate::error::ErrorKind::Malformed, error.to_string())
}
