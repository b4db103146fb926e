//! Monitors: agents and callers that are notified when an agent ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sym};
use whimbrel_platform::EndReason;
use whimbrel_platform::route::{Place, RouteTable};

use crate::sync::{Mutex, locked};

/// Callback with the reason for an agent's end; `None` if there was no such agent.
pub(crate) type EndCall = Box<dyn FnOnce(Option<&EndReason>) + Send>;

/// Generation that stands for agents of other nodes: no agent of this node has it.
const ELSEWHERE: u32 = u32::MAX;

enum EndWatcher {
    Agent(Aid),
    Call(EndCall),
}

impl EndWatcher {
    fn is(&self, agent: Aid) -> bool {
        matches!(self, Self::Agent(watcher) if *watcher == agent)
    }
}

/// Watchers by watched agent, and the number of agents that each watcher watches.
#[derive(Default)]
struct WatcherTable {
    by_watched: FxHashMap<(Symbol, u32), Vec<EndWatcher>>,
    watching: FxHashMap<Aid, usize>,
}

impl WatcherTable {
    /// Adds a watcher. Returns false if it watches this agent already.
    fn add(&mut self, watched: (Symbol, u32), watcher: EndWatcher) -> bool {
        let watchers = self.by_watched.entry(watched).or_default();
        if let EndWatcher::Agent(agent) = watcher {
            if watchers.iter().any(|one| one.is(agent)) {
                return false;
            }
            *self.watching.entry(agent).or_default() += 1;
        }
        watchers.push(watcher);
        true
    }

    /// Removes and returns the watchers of an agent.
    fn take(&mut self, watched: (Symbol, u32)) -> Vec<EndWatcher> {
        let watchers = self.by_watched.remove(&watched).unwrap_or_default();
        for watcher in &watchers {
            if let EndWatcher::Agent(agent) = watcher {
                self.count_down(*agent);
            }
        }
        watchers
    }

    /// Counts one watched agent less of a watcher.
    fn count_down(&mut self, agent: Aid) {
        if let Some(count) = self.watching.get_mut(&agent) {
            *count -= 1;
            if *count == 0 {
                self.watching.remove(&agent);
            }
        }
    }

    /// Removes an agent as a watcher: of the agents of this name, or of all. Returns how many it watched.
    fn remove(&mut self, watcher: Aid, of: Option<Symbol>) -> usize {
        if !self.watching.contains_key(&watcher) {
            return 0;
        }
        let mut removed = 0;
        self.by_watched.retain(|(name, _), watchers| {
            if of.is_none_or(|of| of == *name) {
                let before = watchers.len();
                watchers.retain(|one| !one.is(watcher));
                removed += before - watchers.len();
            }
            !watchers.is_empty()
        });
        (0..removed).for_each(|_| self.count_down(watcher));
        removed
    }
}

/// Watchers of a node's agents; see the module. An agent is identified by name and generation, so that no watcher is
/// notified of the end of another agent. An agent watches another one once, and no longer than it lives.
#[derive(Default)]
pub(crate) struct Monitors {
    watchers: Mutex<WatcherTable>,
    /// Number of watched agents. Most platforms watch none, and their agents' ends should not need the lock.
    watched: AtomicUsize,
}

impl Monitors {
    /// Notifies `watcher` when `agent` ends. Returns the notification at once if there is no such agent. `away` is
    /// true if the agent is on another node and has no route just now.
    pub fn watch(&self, routes: &RouteTable, watcher: Aid, agent: Symbol, away: bool) -> Option<AclMessage> {
        match self.add(routes, agent, EndWatcher::Agent(watcher), away) {
            Some(EndWatcher::Agent(watcher)) => Some(news(watcher, agent, None)),
            _ => None,
        }
    }

    /// Ends what [`Monitors::watch`] began. Returns false if `watcher` does not watch such an agent.
    pub fn unwatch(&self, watcher: Aid, agent: Symbol) -> bool {
        let removed = locked(&self.watchers).remove(watcher, Some(agent));
        self.watched.fetch_sub(removed, Ordering::SeqCst);
        removed > 0
    }

    /// Calls `call` when `agent` ends, or at once if there is no such agent.
    pub fn call(&self, routes: &RouteTable, agent: Symbol, call: EndCall, away: bool) {
        if let Some(EndWatcher::Call(call)) = self.add(routes, agent, EndWatcher::Call(call), away) {
            call(None);
        }
    }

    /// Adds a watcher. Returns the watcher if there is no such agent.
    fn add(&self, routes: &RouteTable, agent: Symbol, watcher: EndWatcher, away: bool) -> Option<EndWatcher> {
        let mut watchers = locked(&self.watchers);
        self.watched.fetch_add(1, Ordering::SeqCst);
        // An agent loses its route before its watchers are looked up. So either this thread sees that the agent is
        // gone, or the ending thread sees the watcher.
        let generation = match routes.look_up(agent).place() {
            Place::Local(place) => place.generation,
            Place::Node(_) => ELSEWHERE,
            _ if away => ELSEWHERE,
            _ => {
                self.watched.fetch_sub(1, Ordering::SeqCst);
                return Some(watcher);
            }
        };
        if !watchers.add((agent, generation), watcher) {
            self.watched.fetch_sub(1, Ordering::SeqCst);
        }
        None
    }

    /// Moves the watchers of an agent that went to another node, or came from one. `before` and `now` are its
    /// generations on this node.
    pub fn moved(&self, agent: Symbol, before: Option<u32>, now: Option<u32>) {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut watchers = locked(&self.watchers);
        if let Some(mut moved) = watchers.by_watched.remove(&(agent, before.unwrap_or(ELSEWHERE))) {
            watchers.by_watched.entry((agent, now.unwrap_or(ELSEWHERE))).or_default().append(&mut moved);
        }
    }

    /// Handles the end of another node's agent, like [`Monitors::ended`].
    pub fn ended_elsewhere(&self, agent: Symbol, reason: &EndReason) -> Vec<AclMessage> {
        self.ended(agent, ELSEWHERE, reason)
    }

    /// Handles an agent's end: makes the requested calls, and returns the notifications for watching agents.
    pub fn ended(&self, agent: Symbol, generation: u32, reason: &EndReason) -> Vec<AclMessage> {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return Vec::new();
        }
        let (watchers, left) = {
            let mut table = locked(&self.watchers);
            (table.take((agent, generation)), table.remove(Aid::local(agent), None))
        };
        self.watched.fetch_sub(watchers.len() + left, Ordering::SeqCst);
        let mut told = Vec::new();
        for watcher in watchers {
            match watcher {
                EndWatcher::Agent(watcher) => told.push(news(watcher, agent, Some(reason))),
                EndWatcher::Call(call) => call(Some(reason)),
            }
        }
        told
    }
}

fn news(watcher: Aid, agent: Symbol, reason: Option<&EndReason>) -> AclMessage {
    let content = Value::term("ended", [Value::atom(agent), reason_value(reason)]);
    AclMessage::new(Performative::Inform, Aid::local(sym::AMS), watcher, content)
}

/// Returns the reason of an agent's end as a value: `finished`, `killed`, `failed("why")`, `expired`, or `unknown` if
/// there was no such agent.
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
