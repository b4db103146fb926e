//! What an agent can do: everything that does not wait.

use std::time::Duration;

use crate::error::Error;
use crate::host;
use crate::message::{Message, Template};
use crate::value::Value;

/// What an agent can do. It costs nothing: copy it wherever it is needed.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Context;

/// How much what is logged matters to who operates the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// To find faults.
    Debug,
    /// Good to know.
    Info,
    /// Perhaps a fault.
    Warning,
    /// A fault.
    Error,
}

impl Context {
    /// Its name, `agent@platform`.
    pub fn name(self) -> String {
        host::text(host::name)
    }

    /// The name of the node that it is on.
    pub fn node(self) -> String {
        host::text(host::node)
    }

    /// Sends a message. It leaves when this call into the agent is over.
    ///
    /// # Errors
    /// It is not granted, or beyond a quota.
    pub fn send(self, message: &Message) -> Result<(), Error> {
        host::check(host::send(&message.encode())).map(drop)
    }

    /// Takes the oldest message that waits and fits, if there is one: without waiting, and before its turn.
    ///
    /// # Errors
    /// It cannot be read.
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

    /// Tells who operates the node.
    pub fn log(self, level: Level, text: impl AsRef<str>) {
        host::log(level as i32, text.as_ref().as_bytes());
    }

    /// The time, as a duration since 1970 (capability `clock`).
    ///
    /// # Errors
    /// It is not granted.
    pub fn now(self) -> Result<Duration, Error> {
        match host::now() {
            ms if ms < 0 => Err(Error::because(ms as i32)),
            ms => Ok(Duration::from_millis(ms as u64)),
        }
    }

    /// Fills `bytes` at random (capability `random`). They are no secrets.
    ///
    /// # Errors
    /// It is not granted.
    pub fn random(self, bytes: &mut [u8]) -> Result<(), Error> {
        host::check(host::random(bytes)).map(drop)
    }

    /// Has [`Agent::on_timer`](crate::Agent::on_timer) called with `tag` after this time. There is one timer of each tag: a later
    /// call sets it anew. Tags below 0 are taken.
    ///
    /// # Errors
    /// There are too many timers.
    pub fn set_timer(self, after: Duration, tag: i64) -> Result<(), Error> {
        host::check(host::timer(milliseconds(after), tag)).map(drop)
    }

    /// Ends the timer of this tag; whether there was one.
    pub fn cancel_timer(self, tag: i64) -> bool {
        host::cancel(tag) >= 0
    }

    /// How long it is until the timer of this tag is due, to the millisecond; `None` if none is set.
    pub fn timer_left(self, tag: i64) -> Option<Duration> {
        u64::try_from(host::timer_left(tag)).ok().map(Duration::from_millis)
    }

    /// Offers a service in the DF.
    ///
    /// # Errors
    /// It is not granted.
    pub fn register(self, service: &str, kind: &str) -> Result<(), Error> {
        host::check(host::register(service.as_bytes(), kind.as_bytes())).map(drop)
    }

    /// Offers it no more.
    ///
    /// # Errors
    /// It was not offered.
    pub fn deregister(self, service: &str, kind: &str) -> Result<(), Error> {
        host::check(host::deregister(service.as_bytes(), kind.as_bytes())).map(drop)
    }

    /// The agents that offer a service; an empty text stands for any.
    ///
    /// # Errors
    /// It is not granted.
    pub fn search(self, service: &str, kind: &str) -> Result<Vec<String>, Error> {
        let found = value(host::fetch(host::search(service.as_bytes(), kind.as_bytes()))?)?;
        Ok(found.items().iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Whether there is an agent of this name.
    ///
    /// # Errors
    /// That is no name.
    pub fn exists(self, agent: &str) -> Result<bool, Error> {
        host::check(host::exists(agent.as_bytes())).map(|found| found == 1)
    }

    /// Joins a topic (`topic:NAME`) or group (`group:NAME`).
    ///
    /// # Errors
    /// It is not granted.
    pub fn join(self, topic: &str) -> Result<(), Error> {
        host::check(host::join(topic.as_bytes())).map(drop)
    }

    /// Leaves it.
    ///
    /// # Errors
    /// It was not in there.
    pub fn leave(self, topic: &str) -> Result<(), Error> {
        host::check(host::leave(topic.as_bytes())).map(drop)
    }

    /// Has a named environment of the node do something (capability `environments`).
    ///
    /// # Errors
    /// It is not granted, or fails.
    pub fn act(self, environment: &str, action: &Value) -> Result<Value, Error> {
        value(host::fetch(host::act(environment.as_bytes(), &action.encode()))?)
    }

    /// Moves to that node when this call into the agent is over; there,
    /// [`Agent::on_arrival`](crate::Agent::on_arrival) is called. Async agents write `move_to` instead, and wait for it.
    ///
    /// # Errors
    /// There is no such node, or this call asked for a hop already.
    pub fn depart(self, node: &str) -> Result<(), Error> {
        host::check(host::depart(node.as_bytes())).map(drop)
    }

    /// Leaves a copy of itself on that node when this call into the agent is over, of this name (empty: a new one).
    ///
    /// # Errors
    /// There is no such node, or this call asked for a hop already.
    pub fn depart_clone(self, node: &str, name: &str) -> Result<(), Error> {
        host::check(host::depart_clone(node.as_bytes(), name.as_bytes())).map(drop)
    }

    /// How often the agent was called home so far. An [`Itinerary`](crate::Itinerary) heeds that by itself.
    pub fn recalls(self) -> i32 {
        host::recalled()
    }

    /// The agent ends after this time at the latest, wherever it is then, and so do copies that it makes; or sooner, if it was to
    /// end sooner anyway.
    ///
    /// # Errors
    /// Agents of this platform have no time to live: their society is durable.
    pub fn set_lifetime(self, time: Duration) -> Result<(), Error> {
        host::check(host::set_lifetime(milliseconds(time))).map(drop)
    }

    /// A number that tells this agent from all who had its name before, or have it later: always the same for this agent, and another one
    /// for its clones.
    pub fn life(self) -> u64 {
        host::life() as u64
    }

    /// Has this message sent should the agent end otherwise than by its own will, with the reason (a text) as its content: it traps, exceeds a
    /// quota, its time is over, it is killed. `None` takes that back. It travels along; clones have none.
    ///
    /// # Errors
    /// It goes to a topic or group, or is longer than 4 KiB.
    pub fn on_failure(self, message: Option<&Message>) -> Result<(), Error> {
        host::check(host::on_failure(&message.map(Message::encode).unwrap_or_default())).map(drop)
    }

    /// Ends the agent when this call into it is over, or waits. Nothing that it asked for besides happens then: it neither moves nor
    /// is copied. What it sent is sent.
    pub fn stop(self) {
        host::stop();
    }
}

const UNKNOWN: i32 = -4;

/// As the node counts time. Less than a millisecond is one: nobody waits shorter than he said.
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
