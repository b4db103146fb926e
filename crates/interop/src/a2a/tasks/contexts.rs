//! Contexts of clients, and the agents that stand for the client in each.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use whimbrel_acl::Aid;
use whimbrel_platform::limits::A2A_IDLE_CONTEXTS_EACH_MAX;

use super::ClientId;
use crate::a2a::error::{A2aError, A2aErrorKind};

/// Starts the agent of this number for a client of this name.
pub type StartProxy<'a> = &'a mut dyn FnMut(u32, &str) -> Result<Aid, String>;

/// Clients, their contexts, and their agents.
#[derive(Default)]
pub(super) struct Contexts {
    clients: Vec<ContextClient>,
    contexts: FxHashMap<u64, ClientContext>,
    by_id: FxHashMap<(ClientId, String), u64>,
    proxies: Vec<ProxyAgent>,
    /// Number of the next context, and of the next time that one becomes idle.
    next: u64,
}

#[derive(Default)]
struct ContextClient {
    name: String,
    /// Agents without a context, the longest free first.
    free: VecDeque<u32>,
    /// Contexts without an open task, each with the number of that time; entries that are out of date are skipped.
    idle: VecDeque<(u64, u64)>,
    idle_count: usize,
}

/// Context of a client.
pub(super) struct ClientContext {
    pub client: ClientId,
    pub id: String,
    pub proxy: u32,
    /// Open tasks, oldest first.
    pub open: Vec<u64>,
    idle_since: u64,
}

struct ProxyAgent {
    aid: Option<Aid>,
    client: ClientId,
    context: Option<u64>,
}

impl Contexts {
    /// Returns the number of the client of this name.
    pub fn client(&mut self, name: &str) -> ClientId {
        let known = self.clients.iter().position(|client| client.name == name);
        let index = known.unwrap_or_else(|| {
            self.clients.push(ContextClient { name: name.to_owned(), ..ContextClient::default() });
            self.clients.len() - 1
        });
        ClientId(index as u32)
    }

    pub fn name_of(&self, client: ClientId) -> &str {
        self.clients.get(client.0 as usize).map_or("", |client| &client.name)
    }

    /// Returns the context for which an agent stands.
    pub fn of_proxy(&self, proxy: u32) -> Option<&ClientContext> {
        self.contexts.get(&self.proxies.get(proxy as usize)?.context?)
    }

    /// Returns the agent that stands for the client of a context.
    pub fn aid(&self, context: u64) -> Option<Aid> {
        self.proxies.get(self.contexts.get(&context)?.proxy as usize)?.aid
    }

    /// Returns the context of this identifier, made if it is new, and its agent.
    pub fn open(&mut self, client: ClientId, id: &str, start: StartProxy<'_>) -> Result<(u64, Aid), A2aError> {
        let key = (client, id.to_owned());
        if let Some(&context) = self.by_id.get(&key) {
            let proxy = self.contexts.get(&context).map_or(0, |context| context.proxy);
            return Ok((context, self.start(proxy, client, start)?));
        }
        let free = self.clients.get_mut(client.0 as usize).and_then(|client| client.free.pop_front());
        let proxy = free.unwrap_or_else(|| {
            self.proxies.push(ProxyAgent { aid: None, client, context: None });
            (self.proxies.len() - 1) as u32
        });
        let started = self.start(proxy, client, start);
        if started.is_err()
            && let Some(client) = self.clients.get_mut(client.0 as usize)
        {
            client.free.push_front(proxy);
        }
        let aid = started?;
        self.next += 1;
        let context = self.next;
        let state = ClientContext { client, id: key.1.clone(), proxy, open: Vec::new(), idle_since: 0 };
        self.contexts.insert(context, state);
        self.by_id.insert(key, context);
        if let Some(proxy) = self.proxies.get_mut(proxy as usize) {
            proxy.context = Some(context);
        }
        Ok((context, aid))
    }

    /// Returns the agent of this number, started if it has ended.
    fn start(&mut self, proxy: u32, client: ClientId, start: StartProxy<'_>) -> Result<Aid, A2aError> {
        let name = self.clients.get(client.0 as usize).map_or("", |client| client.name.as_str());
        let failed = |why| A2aError::new(A2aErrorKind::Internal, format!("the client has no agent here: {why}"));
        let Some(agent) = self.proxies.get_mut(proxy as usize) else { return Err(failed("unknown number".to_owned())) };
        if let Some(aid) = agent.aid {
            return Ok(aid);
        }
        let aid = start(proxy, name).map_err(failed)?;
        agent.aid = Some(aid);
        Ok(aid)
    }

    /// Adds an open task to a context.
    pub fn add_task(&mut self, context: u64, task: u64) {
        let Some(state) = self.contexts.get_mut(&context) else { return };
        if state.open.is_empty()
            && state.idle_since != 0
            && let Some(client) = self.clients.get_mut(state.client.0 as usize)
        {
            client.idle_count = client.idle_count.saturating_sub(1);
        }
        state.idle_since = 0;
        state.open.push(task);
    }

    /// Removes a task that is over from its context. Forgets the client's longest idle contexts.
    pub fn remove_task(&mut self, context: u64, task: u64) {
        self.next += 1;
        let Some(state) = self.contexts.get_mut(&context) else { return };
        state.open.retain(|other| *other != task);
        if !state.open.is_empty() {
            return;
        }
        state.idle_since = self.next;
        let client_id = state.client;
        let Some(client) = self.clients.get_mut(client_id.0 as usize) else { return };
        client.idle.push_back((context, self.next));
        client.idle_count += 1;
        let contexts = &self.contexts;
        let is_idle = |(context, since): &(u64, u64)| {
            contexts.get(context).is_some_and(|state| state.open.is_empty() && state.idle_since == *since)
        };
        if client.idle.len() > 4 * A2A_IDLE_CONTEXTS_EACH_MAX {
            client.idle.retain(is_idle);
        }
        let mut forgotten = Vec::new();
        while client.idle_count > A2A_IDLE_CONTEXTS_EACH_MAX
            && let Some(oldest) = client.idle.pop_front()
        {
            if is_idle(&oldest) {
                client.idle_count -= 1;
                forgotten.push(oldest.0);
            }
        }
        forgotten.into_iter().for_each(|context| self.forget(context));
    }

    fn forget(&mut self, context: u64) {
        let Some(state) = self.contexts.remove(&context) else { return };
        self.by_id.remove(&(state.client, state.id));
        if let Some(proxy) = self.proxies.get_mut(state.proxy as usize) {
            proxy.context = None;
        }
        if let Some(client) = self.clients.get_mut(state.client.0 as usize) {
            client.free.push_back(state.proxy);
        }
    }

    /// Notes that an agent ended. Returns the open tasks of its context.
    pub fn handle_gone(&mut self, proxy: u32) -> Vec<u64> {
        let Some(agent) = self.proxies.get_mut(proxy as usize) else { return Vec::new() };
        agent.aid = None;
        agent.context.and_then(|context| self.contexts.get(&context)).map_or(Vec::new(), |state| state.open.clone())
    }

    /// Returns the name of an agent's client.
    pub fn client_of(&self, proxy: u32) -> Option<&str> {
        Some(self.name_of(self.proxies.get(proxy as usize)?.client))
    }
}
