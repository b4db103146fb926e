//! Agents that stand for clients: one for each open call, used again when it is over.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use whimbrel_acl::Aid;
use whimbrel_platform::limits::MCP_FREE_PROXIES_EACH_MIN;

use super::{CallId, CallerId};

/// Starts the agent of this number for a client of this name.
pub type StartCallProxy<'a> = &'a mut dyn FnMut(u32, &str) -> Result<Aid, String>;

/// Clients, and the agents that stand for them.
#[derive(Default)]
pub(super) struct CallProxies {
    callers: Vec<Caller>,
    by_name: FxHashMap<String, CallerId>,
    proxies: Vec<CallProxy>,
}

struct Caller {
    name: String,
    /// Agents without a call, the longest free first.
    free: VecDeque<u32>,
    open: usize,
}

struct CallProxy {
    aid: Option<Aid>,
    caller: CallerId,
    call: Option<CallId>,
}

impl CallProxies {
    /// Returns the number of the client of this name.
    pub fn caller(&mut self, name: &str) -> CallerId {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let caller = CallerId(self.callers.len() as u32);
        self.callers.push(Caller { name: name.to_owned(), free: VecDeque::new(), open: 0 });
        self.by_name.insert(name.to_owned(), caller);
        caller
    }

    pub fn name_of(&self, caller: CallerId) -> &str {
        self.callers.get(caller.0 as usize).map_or("", |caller| &caller.name)
    }

    pub fn open_calls_of(&self, caller: CallerId) -> usize {
        self.callers.get(caller.0 as usize).map_or(0, |caller| caller.open)
    }

    /// Gives a call an agent. Late answers to an earlier call must not reach it, so the longest free one is used, and
    /// some always stay free.
    pub fn begin(&mut self, caller: CallerId, call: CallId, start: StartCallProxy<'_>) -> Result<(u32, Aid), String> {
        let Some(state) = self.callers.get_mut(caller.0 as usize) else { return Err("unknown client".to_owned()) };
        let reused = if state.free.len() > MCP_FREE_PROXIES_EACH_MIN { state.free.pop_front() } else { None };
        let number = reused.unwrap_or_else(|| {
            self.proxies.push(CallProxy { aid: None, caller, call: None });
            (self.proxies.len() - 1) as u32
        });
        let known = self.proxies.get(number as usize).and_then(|proxy| proxy.aid);
        let started = known.map_or_else(|| start(number, &state.name), Ok);
        match (started, self.proxies.get_mut(number as usize)) {
            (Ok(aid), Some(proxy)) => {
                (proxy.aid, proxy.call) = (Some(aid), Some(call));
                state.open += 1;
                Ok((number, aid))
            }
            (Err(why), _) => {
                state.free.push_back(number);
                Err(why)
            }
            (Ok(_), None) => Err("unknown agent".to_owned()),
        }
    }

    /// Frees the agent of a call that is over.
    pub fn end(&mut self, number: u32) {
        let Some(proxy) = self.proxies.get_mut(number as usize) else { return };
        if proxy.call.take().is_some()
            && let Some(caller) = self.callers.get_mut(proxy.caller.0 as usize)
        {
            caller.free.push_back(number);
            caller.open = caller.open.saturating_sub(1);
        }
    }

    /// Notes that an agent ended. Returns its call.
    pub fn handle_gone(&mut self, number: u32) -> Option<CallId> {
        let proxy = self.proxies.get_mut(number as usize)?;
        proxy.aid = None;
        proxy.call
    }

    pub fn call_of(&self, number: u32) -> Option<CallId> {
        self.proxies.get(number as usize)?.call
    }

    pub fn client_of(&self, number: u32) -> Option<&str> {
        Some(self.name_of(self.proxies.get(number as usize)?.caller))
    }
}
