//! Creation of agents: registers their names, makes them durable, and brings them to their shards.

use std::sync::atomic::Ordering;
use std::time::Duration;

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::{AgentKind, LifecycleStep, NewAgent};
use whimbrel_platform::durable::{Born, Origin};
use whimbrel_platform::route::{Route, ShardIndex};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::{AgentBody, OfferedAgent, Time};

use super::Node;
use super::introduction::Introduction;
use crate::cluster::PartitionServer;
use crate::durable::{Entrant, Unwritten, WithheldEffect};
use crate::panics::caught;
use crate::services::NodeServices;
use crate::shard::Slot;
use crate::shard_command::{AgentChange, Newcomer, ShardCommand};
use crate::sync::{Arc, locked};

/// Assigns a name to a new agent.
pub(crate) fn assign_name(mut slot: Box<Slot>, name: Symbol, generation: u32) -> Newcomer {
    slot.name = name;
    slot.generation = generation;
    slot
}

impl Node {
    /// Creates an agent in `shard`. Ends the creator's family if this was one refusal too many.
    pub fn create(
        self: &Arc<Self>,
        shard: ShardIndex,
        who: Introduction,
        body: impl FnOnce(Symbol) -> Result<Box<Slot>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let created = self.create_here(shard, who, body);
        self.end_condemned_after(&created);
        created
    }

    /// Creates an agent like [`Node::create`], for callers that hold locks: they end condemned families once they
    /// hold none.
    pub fn create_here(
        &self,
        shard: ShardIndex,
        who: Introduction,
        body: impl FnOnce(Symbol) -> Result<Box<Slot>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let new = who.entry();
        let now = self.clock.now();
        let (aid, due) = self.with_ams(|ams| {
            self.check_creator(&who)?;
            let created = if who.is_paid { ams.create_again(new, now) } else { ams.create(new, now) };
            created.map(|aid| (aid, ams.creation_due(aid.name, now)))
        })?;
        let generation = self.next_generation(1);
        self.expect(aid.name, shard, generation);
        match body(aid.name) {
            Ok(mut slot) => {
                slot.supervisor = who.supervisor;
                if let (Some(due), Some(owner)) = (due, who.owner) {
                    self.delay_creation(&mut slot, due, owner.name);
                }
                self.make_durable(&mut slot, who.kind, aid.name, who.owner.map(|owner| owner.name));
                self.bring(shard, vec![assign_name(slot, aid.name, generation)]);
                Ok(aid)
            }
            Err(error) => {
                self.call_off(aid.name, shard, generation, &error.to_string());
                Err(error)
            }
        }
    }

    /// Refuses an agent of a creator that was ended in its turn. Such a creator loses its route under the lock of the
    /// AMS, which is held, so its family does not begin anew.
    pub fn check_creator(&self, who: &Introduction) -> Result<(), CreateError> {
        match who.owner.filter(|owner| who.in_turn && self.routes.look_up(owner.name).is_unknown()) {
            Some(owner) => Err(CreateError::CreatorEnded(owner.name)),
            None => Ok(()),
        }
    }

    /// Makes a clone and its original wait, if their family creates too fast.
    fn pace(&self, slot: &mut Slot, name: Symbol, creator: Symbol) {
        let now = self.clock.now();
        if let Some(due) = self.with_ams(|ams| ams.creation_due(name, now)) {
            self.delay_creation(slot, due, creator);
        }
    }

    /// Makes a creator wait for what another node is to create, if their family creates too fast.
    fn pace_creator(&self, name: Symbol, creator: Symbol) {
        let now = self.clock.now();
        if let Some(due) = self.with_ams(|ams| ams.creation_due(name, now)) {
            self.change(creator, AgentChange::Delay(due));
        }
    }

    fn delay_creation(&self, slot: &mut Slot, due: Time, creator: Symbol) {
        slot.wake_at = due;
        self.change(creator, AgentChange::Delay(due));
    }

    /// Creates agents that know of each other from their first turns on: all are registered before any begins.
    pub fn create_together(
        &self,
        shard: ShardIndex,
        agents: Vec<Entrant>,
        lifetime: impl Fn(Symbol) -> Option<Duration>,
    ) -> Result<Vec<Aid>, CreateError> {
        let mut newcomers = Vec::with_capacity(agents.len());
        let mut aids = Vec::with_capacity(agents.len());
        let now = self.clock.now();
        for agent in agents {
            let new = agent.entry();
            let aid = self.with_ams(|ams| ams.create_again(new, now))?;
            let Entrant { kind, slot, .. } = agent;
            if let Some(lifetime) = lifetime(aid.name) {
                self.set_lifetime(aid, lifetime);
            }
            let generation = self.next_generation(1);
            self.expect(aid.name, shard, generation);
            self.kept_agents.note_life(aid.name, generation);
            let mut slot = assign_name(slot, aid.name, generation);
            self.make_durable(&mut slot, kind, aid.name, None);
            newcomers.push(slot);
            aids.push(aid);
        }
        if let Some(scribe) = &self.scribe {
            let standings = std::mem::take(&mut locked(&scribe.pending).standings);
            self.restore_standings(standings);
        }
        if let Some(scribe) = &self.scribe {
            scribe.awaited.store(false, Ordering::Release);
        }
        self.post_kept();
        self.bring(shard, newcomers);
        Ok(aids)
    }

    /// Creates agents `name1`, `name2`, ... in `shard`.
    pub fn create_population(
        &self,
        shard: ShardIndex,
        name: Symbol,
        count: usize,
        kind: AgentKind,
        mut body: impl FnMut(usize) -> Box<Slot>,
    ) -> Result<Vec<Aid>, CreateError> {
        let new = NewAgent { started: true, ..NewAgent::new(name, kind) };
        let now = self.clock.now();
        let aids = self.with_ams(|ams| ams.create_population(new, count, now))?;
        let first = self.next_generation(count as u32);
        let mut newcomers = Vec::with_capacity(count);
        for (i, aid) in aids.iter().enumerate() {
            let generation = first.wrapping_add(i as u32) % Route::GENERATIONS;
            self.expect(aid.name, shard, generation);
            let mut slot = assign_name(body(i), aid.name, generation);
            self.make_durable(&mut slot, kind, aid.name, None);
            newcomers.push(slot);
        }
        self.bring(shard, newcomers);
        Ok(aids)
    }

    /// Makes a new agent durable, if this node has a journal and the agent's kind can be restored. Founders of the
    /// society have no owner.
    pub fn make_durable(&self, slot: &mut Slot, kind: AgentKind, name: Symbol, owner: Option<Symbol>) {
        let Some(scribe) = &self.scribe else { return };
        if slot.unwritten.is_some() || kind == AgentKind::Service {
            return;
        }
        if let Some(origin) = slot.body.origin() {
            let founder = owner.is_none();
            let root = owner.and_then(|owner| self.root_beside(name, owner));
            let owner = owner.unwrap_or_default();
            let after = scribe.numbers_for(name);
            if self.cluster.is_some() {
                slot.mailbox.take_each_once(0, []);
            }
            slot.unwritten =
                Some(Box::new(Unwritten::of(Born { agent: name, kind, owner, root, origin, founder, after })));
        }
    }

    /// Returns the root agent of this agent's family, if that is neither the owner nor the agent itself.
    pub fn root_beside(&self, name: Symbol, owner: Symbol) -> Option<Symbol> {
        let root = self.with_ams(|ams| ams.root_of(name));
        (root != owner && root != name).then_some(root)
    }

    /// Records an agent that continues as another body: to the journal it begins anew with its next step.
    pub fn write_as(&self, slot: &mut Slot, origin: Origin) {
        let Some(scribe) = &self.scribe else { return };
        let name = slot.name;
        if slot.unwritten.is_some() {
            scribe.retire(name);
        } else if self.cluster.is_some() {
            slot.mailbox.take_each_once(0, []);
        }
        let (kind, owner, after) = (AgentKind::Session, Symbol::default(), scribe.numbers_for(name));
        let root = self.root_beside(name, owner);
        let born = Born { agent: name, kind, owner, root, origin, founder: false, after };
        let unwritten = slot.unwritten.get_or_insert_with(|| Box::new(Unwritten::after(after)));
        (unwritten.born, unwritten.last) = (Some(Box::new(born)), after);
        (unwritten.whole_bytes, unwritten.delta_bytes) = (0, 0);
        // Its registration is recorded with the new agent, or not at all.
        unwritten.effects.push(WithheldEffect::Registration);
    }

    /// Sends the messages that were on their way at the last write to the journal.
    fn post_kept(&self) {
        let Some(scribe) = &self.scribe else { return };
        let letters = std::mem::take(&mut locked(&scribe.pending).letters);
        let commands: Vec<ShardCommand> = scribe.envelopes(letters, 0).into_iter().map(ShardCommand::Posted).collect();
        self.count_posted(commands.len() as u64);
        commands.into_iter().for_each(|command| self.put(0, command));
    }

    /// Handles the copy of an agent that the AMS commanded: made, or failed.
    pub fn copied(
        self: &Arc<Self>,
        original: Symbol,
        (copy, shard, generation): (Aid, ShardIndex, u32),
        body: Option<Box<dyn AgentBody>>,
    ) {
        let server = self.cluster.as_ref().map(|cluster| cluster.server_of(copy.name));
        let is_here = server.is_none_or(|server| server == PartitionServer::Here);
        let described = self.with_ams(|ams| ams.describe(copy));
        let (kind, owner) = described.map_or((AgentKind::Native, Symbol::default()), |copy| (copy.kind, copy.owner));
        match body.map(|body| self.admit_copy(original, copy.name, owner, shard, body)) {
            Some(Ok(body)) if !is_here && body.origin().is_some() => {
                // The copy belongs on another node, like any agent of its name.
                let root = self.with_ams(|ams| ams.root_of(copy.name));
                self.call_off(copy.name, shard, generation, "it is made on another node");
                let owner = Some(Aid::local(owner)).filter(|owner| owner.name != Symbol::default());
                let who = Introduction { owner, root, is_paid: true, ..Introduction::new(copy.name, kind) };
                match self.create_somewhere(shard, who, None, |_| Ok(body)) {
                    Ok(copy) => self.pace_creator(copy.name, original),
                    Err(error) => self.output.log(copy, LogLevel::Severe, &format!("cannot be cloned: {error}")),
                }
            }
            Some(Ok(body)) => {
                let _ = self.with_ams(|ams| ams.step(copy, LifecycleStep::Start));
                let mut slot: Box<Slot> = Box::new(Slot::new(body));
                self.make_durable(&mut slot, kind, copy.name, Some(owner));
                self.pace(&mut slot, copy.name, original);
                self.bring(shard, vec![assign_name(slot, copy.name, generation)]);
            }
            Some(Err(why)) => {
                self.output.log(copy, LogLevel::Warning, &format!("cannot be cloned: {why}"));
                self.call_off(copy.name, shard, generation, &why);
            }
            None => {
                self.call_off(copy.name, shard, generation, "this kind of agent cannot be copied");
            }
        }
    }

    /// Asks a copy of an agent whether it can be here, like any clone that arrives.
    fn admit_copy(
        self: &Arc<Self>,
        original: Symbol,
        name: Symbol,
        owner: Symbol,
        shard: ShardIndex,
        mut body: Box<dyn AgentBody>,
    ) -> Result<Box<dyn AgentBody>, String> {
        let kind = self.with_ams(|ams| ams.kind_anywhere(Aid::local(original))).unwrap_or(AgentKind::Native);
        self.permit_clone(kind, name, original)?;
        let services = NodeServices { node: Arc::clone(self), shard, in_turn: false, withheld: None };
        let arrival = OfferedAgent { name, owner, from: self.called(), clone_of: Some(original), services: &services };
        caught(|| body.admit(&arrival)).unwrap_or_else(Err).map(|()| body)
    }
}
