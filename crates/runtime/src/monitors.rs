//! Who wants to know when which agent ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sym};
use whimbrel_platform::EndReason;
use whimbrel_platform::route::{Place, RouteTable};

use crate::sync::{Mutex, locked};

/// Called with why an agent ended; `None` if there was no such agent.
pub(crate) type EndCall = Box<dyn FnOnce(Option<&EndReason>) + Send>;

/// The generation of whoever is on another node: no agent of this one has it.
const ELSEWHERE: u32 = u32::MAX;

enum Watcher {
    Agent(Aid),
    Call(EndCall),
}

/// See the module. An agent is known by its name and generation, so that nobody is told of another's end.
#[derive(Default)]
pub(crate) struct Monitors {
    watchers: Mutex<FxHashMap<(Symbol, u32), Vec<Watcher>>>,
    /// How many agents are watched: most platforms watch none, and their ends should not need the lock.
    watched: AtomicUsize,
}

impl Monitors {
    /// Has `watcher` told of the end of `agent`. What it is to be told at once, if there is no such agent.
    /// It may be `away`: no agent of this node, and without a route just now.
    pub fn watch(&self, routes: &RouteTable, watcher: Aid, agent: Symbol, away: bool) -> Option<AclMessage> {
        match self.add(routes, agent, Watcher::Agent(watcher), away) {
            Some(Watcher::Agent(watcher)) => Some(news(watcher, agent, None)),
            _ => None,
        }
    }

    /// Has `call` made at the end of `agent`; at once if there is no such agent.
    pub fn call(&self, routes: &RouteTable, agent: Symbol, call: EndCall, away: bool) {
        if let Some(Watcher::Call(call)) = self.add(routes, agent, Watcher::Call(call), away) {
            call(None);
        }
    }

    /// Gives the watcher back if there is no such agent.
    fn add(&self, routes: &RouteTable, agent: Symbol, watcher: Watcher, away: bool) -> Option<Watcher> {
        let mut watchers = locked(&self.watchers);
        self.watched.fetch_add(1, Ordering::SeqCst);
        // An agent loses its route before its watchers are looked up: so either it is seen here that it is gone, or the
        // watcher is seen there.
        let generation = match routes.look_up(agent).place() {
            Place::Local(place) => place.generation,
            Place::Node(_) => ELSEWHERE,
            _ if away => ELSEWHERE,
            _ => {
                self.watched.fetch_sub(1, Ordering::SeqCst);
                return Some(watcher);
            }
        };
        watchers.entry((agent, generation)).or_default().push(watcher);
        None
    }

    /// An agent went to another node, or came from there (its generation on this node: before, and from now on). Who watches
    /// it goes on watching it.
    pub fn moved(&self, agent: Symbol, before: Option<u32>, now: Option<u32>) {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut watchers = locked(&self.watchers);
        if let Some(mut moved) = watchers.remove(&(agent, before.unwrap_or(ELSEWHERE))) {
            watchers.entry((agent, now.unwrap_or(ELSEWHERE))).or_default().append(&mut moved);
        }
    }

    /// An agent of another node ended: as [`Monitors::ended`].
    pub fn ended_elsewhere(&self, agent: Symbol, reason: &EndReason) -> Vec<AclMessage> {
        self.ended(agent, ELSEWHERE, reason)
    }

    /// An agent ended: calls those who want to be called, and returns what the others are to be told.
    pub fn ended(&self, agent: Symbol, generation: u32, reason: &EndReason) -> Vec<AclMessage> {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return Vec::new();
        }
        let watchers = locked(&self.watchers).remove(&(agent, generation)).unwrap_or_default();
        self.watched.fetch_sub(watchers.len(), Ordering::SeqCst);
        let mut told = Vec::new();
        for watcher in watchers {
            match watcher {
                Watcher::Agent(watcher) => told.push(news(watcher, agent, Some(reason))),
                Watcher::Call(call) => call(Some(reason)),
            }
        }
        told
    }
}

fn news(watcher: Aid, agent: Symbol, reason: Option<&EndReason>) -> AclMessage {
    let content = Value::term("ended", [Value::atom(agent), reason_value(reason)]);
    AclMessage::new(Performative::Inform, Aid::local(sym::AMS), watcher, content)
}

/// Why an agent ended, as a value: `finished`, `killed`, `failed("why")`, `expired`, or `unknown` if there was none.
pub(crate) fn reason_value(reason: Option<&EndReason>) -> Value {
    if let Some(why) = reason.and_then(EndReason::failure) {
        return Value::term("failed", [Value::from(why)]);
    }
    match reason {
        Some(EndReason::Finished) => Value::atom("finished"),
        Some(EndReason::Killed) => Value::atom("killed"),
        Some(EndReason::Expired) => Value::atom("expired"),
        _ => Value::atom("unknown"),
    }
}
