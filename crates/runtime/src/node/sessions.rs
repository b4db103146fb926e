//! Scheduler as sessions see it.

use std::sync::atomic::Ordering;

use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::audit::Refused;
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::HopError;
use whimbrel_platform::policy::{Action, Principal, Verdict};
use whimbrel_platform::route::{LocalRoute, NodeId, Place, ShardIndex};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::{Exchange, KeptAgents, SessionHost, SessionMobility, Whereabouts};
use whimbrel_platform::{AgentBody, OfferedAgent, Time};

use super::Node;
use super::introduction::Introduction;
use crate::cluster::{PartitionServer, PartitionTable};
use crate::loader::CodeFound;
use crate::panics::caught;
use crate::services::NodeServices;
use crate::shard::Incarnation;
use crate::shard::Slot;
use crate::shard_command::{AgentChange, Offered, ShardCommand};
use crate::sync::Arc;

/// Node as host of sessions; see the module.
pub(crate) struct NodeHost(pub Arc<Node>);

impl SessionHost for NodeHost {
    fn platform(&self) -> Symbol {
        self.0.name
    }

    fn node(&self) -> Symbol {
        self.0.called()
    }

    fn now(&self) -> Time {
        self.0.now()
    }

    fn whereabouts(&self, name: Symbol) -> Whereabouts {
        let node = &self.0;
        let there = match node.routes.look_up(name).place() {
            Place::Local(_) => return Whereabouts::Here,
            Place::Node(there) => Some(there),
            _ => None,
        };
        let is_session = || node.with_ams(|ams| ams.kind_anywhere(Aid::local(name))) == Some(AgentKind::Session);
        if let Some(there) = there {
            // The name is taken, whichever agent has it.
            return if is_session() { Whereabouts::With(node.name_of(there)) } else { Whereabouts::Here };
        }
        match node.cluster.as_ref().map(|cluster| cluster.server_of(name)) {
            Some(PartitionServer::Node(there)) => Whereabouts::Due(node.name_of(there)),
            _ => Whereabouts::Here,
        }
    }

    fn has_neighbour(&self, node: &str) -> bool {
        self.0.linked.links().is_some_and(|links| links.node_named(node).is_some())
    }

    fn may_lodge(&self, name: Symbol) -> Result<(), CreateError> {
        if self.0.stopping.load(Ordering::Relaxed) {
            return Err(CreateError::Stopping);
        }
        // The agent may be about to be restored.
        if self.0.is_awaited(name) {
            return Err(CreateError::NotYet(name));
        }
        // The token says which name an agent may have; the policy may forbid it all the same.
        let principal = Principal::Session { name, node: self.0.called() };
        if self.0.guard.policy.verdict(principal, Action::Create, name.as_str()) == Verdict::Denied {
            self.0.audit(&Refused::forbidden(&principal.to_string(), Action::Create, name.as_str()));
            return Err(CreateError::Forbidden(name));
        }
        Ok(())
    }

    fn lodge(
        &self,
        name: Symbol,
        body: Box<dyn AgentBody>,
        is_home: bool,
        near: Option<ShardIndex>,
    ) -> Result<Aid, CreateError> {
        let is_served_here =
            || self.0.cluster.as_ref().is_none_or(|cluster| cluster.server_of(name) == PartitionServer::Here);
        self.may_lodge(name)?;
        let who = Introduction::new(name, AgentKind::Session);
        let shard = near.map_or_else(|| self.0.random(), u64::from) % self.0.seats.len() as u64;
        let agent = self.0.create(shard as ShardIndex, who, |_| Ok(Box::new(Slot::new(body))))?;
        // A node announces the yield of a partition before its agents leave: the name may have been free because of
        // that.
        if is_home && !is_served_here() {
            let _ = self.0.with_ams(|ams| ams.kill(agent));
            return Err(CreateError::NotYet(name));
        }
        Ok(agent)
    }

    fn kept_agents(&self) -> Arc<KeptAgents> {
        Arc::clone(&self.0.kept_agents)
    }

    fn has_journal(&self) -> bool {
        self.0.scribe.is_some()
    }

    fn writes_down(&self, name: Symbol) -> bool {
        let is_here = |cluster: &PartitionTable| cluster.server_of(name) == PartitionServer::Here;
        self.0.writes_steps() && self.0.cluster.as_ref().is_none_or(is_here)
    }

    fn wake(&self, agent: Aid) {
        self.0.wake(agent.name);
    }

    fn mobility(&self) -> Option<&dyn SessionMobility> {
        Some(self)
    }
}

impl SessionMobility for NodeHost {
    fn has_code(&self, name: Symbol, origin: &Origin) -> Option<bool> {
        let node = &self.0;
        // Code from sessions runs only where a rule allows it.
        let who = Principal::Session { name, node: node.called() };
        let object = origin.code_object()?;
        if !node.permits(who, Action::Move, name.as_str()) {
            return None;
        }
        let recalled = || match node.loader.find_code(origin) {
            CodeFound::Missing if node.loader.recall_code(origin) => node.loader.find_code(origin),
            found => found,
        };
        match caught(recalled).ok()? {
            CodeFound::Own => Some(true),
            _ if !node.permits(who, Action::Code, &object) => None,
            found => Some(found == CodeFound::Foreign),
        }
    }

    fn admit_code(&self, name: Symbol, origin: &Origin, bytes: Vec<u8>) -> Result<(), String> {
        if self.has_code(name, origin).is_none() {
            return Err(format!("{name} may bring no such code along"));
        }
        caught(|| self.0.loader.admit_code(origin, bytes))?.map_err(|error| error.to_string())
    }

    fn restore(&self, name: Symbol, origin: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        if self.0.scribe.is_some() && !self.writes_down(name) {
            return Err("its society is durable, and this agent is not written down here".to_owned());
        }
        let mut body = self.remake(name, origin, state)?;
        body.disown();
        let owner = Symbol::new(&Principal::Session { name, node: sym::EMPTY }.to_string());
        let services = NodeServices { node: Arc::clone(&self.0), shard: 0, in_turn: false, withheld: None };
        let arrival = OfferedAgent { name, owner, from: self.0.called(), clone_of: None, services: &services };
        caught(|| body.admit(&arrival))??;
        Ok(body)
    }

    fn remake(&self, name: Symbol, origin: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        let states = [State::Whole(state.to_vec())];
        caught(|| self.0.restore(name, origin, &states, self.0.now()))?
    }

    fn code(&self, origin: &Origin) -> Option<Arc<[u8]>> {
        let loader = &self.0.loader;
        let code = origin.code()?;
        caught(|| loader.code(code).or_else(|| loader.recall_code(origin).then(|| loader.code(code)).flatten())).ok()?
    }

    fn may_move(&self, name: Symbol, object: &str) -> bool {
        self.0.permits(Principal::Session { name, node: self.0.called() }, Action::Move, object)
    }

    fn is_here(&self, to: Symbol) -> Result<bool, HopError> {
        let node = &self.0;
        if to == Symbol::default() || to == node.called() {
            return Ok(true);
        }
        node.way_to(to).map(|_| false).ok_or(HopError::NoSuchNode(to))
    }

    fn handle_lodged(&self, name: Symbol) {
        let node = &self.0;
        // Done under the lock, like all announcements about an agent.
        node.with_ams(|ams| {
            if ams.handle_lodged(Aid::local(name), node.called())
                && let Some(links) = node.linked.links()
            {
                links.tell_all(News::Agents(vec![(name.into(), AgentKind::Session)]));
            }
        });
    }

    fn life(&self, name: Symbol) -> Option<u32> {
        match self.0.routes.look_up(name).place() {
            Place::Local(LocalRoute { generation, .. }) => Some(generation),
            _ => None,
        }
    }

    fn exchange(&self, name: Symbol, life: u32, with: Exchange) {
        let offered = Offered(Some(with));
        if self.life(name) == Some(life) {
            let bearer = Incarnation { name, generation: life };
            self.0.put(0, ShardCommand::PostedChange(bearer, AgentChange::Exchange(offered)));
        }
    }
}

impl Node {
    /// Returns true while recovery may still restore an agent of this name.
    fn is_awaited(&self, name: Symbol) -> bool {
        let is_passing = |cluster: &PartitionTable| {
            matches!(cluster.server_of(name), PartitionServer::Nobody | PartitionServer::HereSoon)
        };
        self.scribe.as_ref().is_some_and(|scribe| scribe.awaited.load(Ordering::Acquire))
            || self.cluster.as_ref().is_some_and(is_passing)
    }

    /// Returns the node's sessions, if one of them has an agent of this name.
    pub fn kept_agents_with(&self, client: Symbol) -> Option<Arc<KeptAgents>> {
        self.kept_agents.has_client(client).then(|| Arc::clone(&self.kept_agents))
    }

    /// Finds the other node of this name; or the node with a session that has an agent of this name, and that agent.
    pub fn way_to(&self, to: Symbol) -> Option<(NodeId, Symbol)> {
        if let Some(node) = self.linked.links().and_then(|links| links.node_named(to.as_str())) {
            return Some((node, Symbol::default()));
        }
        let Place::Node(node) = self.routes.look_up(to).place() else { return None };
        let kind = self.with_ams(|ams| ams.kind_anywhere(Aid::local(to)));
        (kind == Some(AgentKind::Session)).then_some((node, to))
    }
}
