//! Agents that are created on one node and belong to a partition that another one serves.
//!
//! A creation is a message to the new agent. Its creator sends it like any other message, numbered and persisted with
//! its step, so it arrives exactly once. The node that serves the partition makes the agent. It records in one frame
//! that the agent was made and that the message was handled.

use whimbrel_acl::compact;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, Value, sym};
use whimbrel_platform::ams::{AgentKind, ElsewhereError, NewAgent};
use whimbrel_platform::durable::creation::{creation as creation_of, is_creation, name_taken, not_created};
use whimbrel_platform::durable::{Born, Origin, State, Ticket};
use whimbrel_platform::route::{Route, ShardIndex};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::{AgentBody, Time};

use crate::cluster::creation::{CreatedAgent, Creation, read};
use crate::cluster::{PartitionServer, PartitionTable};
use crate::durable::{Unwritten, WithheldEffect, WithheldEffects};
use crate::node::Node;
use crate::node::creation::assign_name;
use crate::node::introduction::Introduction;
use crate::shard::Slot;
use crate::shard_command::AgentChange;
use crate::sync::Arc;

/// Node on which a new agent is created.
enum Home {
    /// Another node, which makes the agent from this value.
    Elsewhere(Value),
    /// This node, as long as it serves the agent's partition.
    Here,
    /// This node, because the agent's state cannot be saved and sent to another.
    Unsaved,
}

impl Node {
    /// Creates an agent: in this shard, or in a cluster on the node that serves its name. Ends the creator's family
    /// if this was one refusal too many. In the turn of a durable agent, the creation is `withheld` with the other
    /// effects.
    pub fn create_somewhere(
        self: &Arc<Self>,
        shard: ShardIndex,
        who: Introduction,
        withheld: Option<&WithheldEffects>,
        body: impl FnOnce(Symbol) -> Result<Box<dyn AgentBody>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let created = self.create_where_served(shard, who, withheld, body);
        self.end_condemned_after(&created);
        created
    }

    fn create_where_served(
        &self,
        shard: ShardIndex,
        who: Introduction,
        withheld: Option<&WithheldEffects>,
        body: impl FnOnce(Symbol) -> Result<Box<dyn AgentBody>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let Some(cluster) = &self.cluster else {
            return self.create_here(shard, who, |name| Ok(Box::new(Slot::new(body(name)?))));
        };
        let name = self.with_ams(|ams| {
            let name = ams.free_name_for(who.name, who.unique, who.kind)?;
            ams.room_for(who.owner.map_or(name, |owner| owner.name), 1).map(|()| name)
        })?;
        let mut body = body(name)?;
        let who = Introduction { name, ..who };
        let Some(origin) = body.origin() else {
            return self.create_here(shard, who, |_| Ok(Box::new(Slot::new(body))));
        };
        loop {
            {
                // Under this lock the partition cannot pass to another node: a durable agent begins only where its
                // partition is served.
                let _parts = cluster.lock();
                if cluster.server_of(name) == PartitionServer::Here {
                    return self.create_here(shard, who, |_| Ok(Box::new(Slot::new(body))));
                }
            }
            match self.home_of(cluster, &who, &origin, &mut *body) {
                Home::Elsewhere(creation) => return self.create_there(&who, creation, withheld),
                Home::Unsaved => return self.create_here(shard, who, |_| Ok(Box::new(Slot::new(body)))),
                Home::Here => {}
            }
        }
    }

    /// Creates an agent that another node is to run. Its family is charged here, and its creator waits if that creates
    /// too fast.
    fn create_there(
        &self,
        who: &Introduction,
        creation: Value,
        withheld: Option<&WithheldEffects>,
    ) -> Result<Aid, CreateError> {
        let aid = Aid::local(who.name);
        let due = self.await_agent(who)?;
        // The creator of a clone is its original.
        if let (Some(due), Some(owner), false) = (due, who.owner, who.is_paid) {
            self.change(owner.name, AgentChange::Delay(due));
        }
        // A node speaks for its own agents only, and for its AMS: its owner may be another one's.
        let is_here = |owner: &Aid| self.with_ams(|ams| ams.kind(*owner)).is_some();
        let sender = who.owner.filter(is_here).unwrap_or(Aid::local(sym::AMS));
        let message = Box::new(creation_of(sender, aid, creation));
        match withheld {
            Some(withheld) => withheld.push(WithheldEffect::Create(message)),
            None => self.post(0, message),
        }
        Ok(aid)
    }

    /// Returns where an agent is to live now.
    fn home_of(&self, cluster: &PartitionTable, who: &Introduction, origin: &Origin, body: &mut dyn AgentBody) -> Home {
        let NewAgent { name, kind, owner, root, .. } = who.entry();
        let mut state = Vec::new();
        if cluster.server_of(name) == PartitionServer::Here {
            return Home::Here;
        }
        if !body.save_whole(self.now(), &mut state) {
            return Home::Unsaved;
        }
        let parent = if root == sym::EMPTY { owner } else { root };
        let root = self.with_ams(|ams| ams.root_of(parent));
        let root = (root != owner).then_some(root);
        let mut bytes = Vec::new();
        let creation = Creation { kind, owner, root, origin: origin.clone(), state };
        match compact::encode_body_of(&creation, &mut bytes) {
            Ok(()) => Home::Elsewhere(Value::from(bytes)),
            Err(_) => Home::Unsaved,
        }
    }

    /// Makes messages to an agent follow its creation to the node that makes it. Returns the time at which the
    /// creation is paid for, if that is later than now.
    fn await_agent(&self, who: &Introduction) -> Result<Option<Time>, CreateError> {
        let Some(cluster) = &self.cluster else { return Err(CreateError::NameTaken(who.name)) };
        let (new, now) = (who.entry(), self.now());
        let _parts = cluster.lock();
        let there = if let PartitionServer::Node(node) = cluster.server_of(new.name) { Some(node) } else { None };
        let due = self.with_ams(|ams| {
            self.check_creator(who)?;
            ams.handle_awaited(new, there, now, who.is_paid)?;
            there.into_iter().for_each(|node| self.routes.set(new.name, Route::node(node)));
            Ok(ams.creation_due(new.name, now))
        })?;
        Ok(due)
    }

    /// Prepares for an agent that a message creates. If the agent will live on this node, messages to it wait until
    /// it is made. Otherwise returns the message, with a route set to the node that will make the agent.
    pub fn expect_creation(&self, envelope: Envelope) -> Result<(), Envelope> {
        let (Some(cluster), Some(scribe)) = (&self.cluster, &self.scribe) else { return Err(envelope) };
        let name = envelope.to.name;
        if !is_creation(&envelope.body) {
            return Err(envelope);
        }
        if cluster.server_of(name) != PartitionServer::Here {
            // No node served the agent's partition when its creator learnt its name.
            self.direct_to_server(name);
            return Err(envelope);
        }
        let Some(creation) = read(&envelope.body) else { return Err(envelope) };
        let Creation { kind, owner, root, .. } = creation;
        let new = NewAgent { started: true, owner, root: root.unwrap_or_default(), ..NewAgent::new(name, kind) };
        let now = self.now();
        let created = self.with_ams(|ams| {
            // The agent has no route because it does not live on any node yet.
            self.forget_place(ams, name);
            ams.create_again(new, now)
        });
        if created.is_err() {
            return Err(envelope);
        }
        let generation = self.next_generation(1);
        scribe.expect_durable(name);
        self.expect(name, 0, generation);
        let ticket = match &envelope.body {
            MessageBody::Numbered(numbered) => Some(Ticket::of(numbered)),
            _ => None,
        };
        scribe.create(CreatedAgent { name, generation, creator: envelope.body.sender, ticket, creation });
        Ok(())
    }

    /// Refuses a creation by a message that is not numbered if the name is taken, and tells its creator. Returns
    /// every other message.
    pub fn refuse_creation(&self, envelope: Envelope) -> Result<(), Envelope> {
        if matches!(envelope.body, MessageBody::Numbered(_)) || !is_creation(&envelope.body) {
            return Err(envelope);
        }
        self.tell_creator(name_taken(Aid::local(sym::AMS), envelope.body.sender, envelope.to));
        Ok(())
    }

    fn tell_creator(&self, failure: Option<AclMessage>) {
        if let Some(failure) = failure {
            self.post(0, Box::new(failure));
        }
    }

    fn direct_to_server(&self, name: Symbol) {
        let Some(cluster) = &self.cluster else { return };
        let parts = cluster.lock();
        if let PartitionServer::Node(node) = cluster.server_of(name) {
            let entered = self.with_ams(|ams| {
                let kind = ams.kind_anywhere(Aid::local(name)).unwrap_or(AgentKind::Native);
                self.enter_elsewhere(ams, &name.into(), node, kind, true)
            });
            drop(parts);
            self.note_left_out(node, usize::from(entered == Err(ElsewhereError::NoRoom)));
        }
    }

    /// Makes an agent that was created on another node, unless the message that creates it was handled before.
    pub fn make_created(&self, created: CreatedAgent, is_new: bool) {
        let CreatedAgent { name, generation, creator, ticket, creation } = created;
        let Creation { kind, owner, root, origin, state } = creation;
        let restored = is_new.then(|| self.restore(name, &origin, &[State::Whole(state)], self.now()));
        match restored {
            Some(Ok(body)) => {
                let mut slot: Box<Slot> = Box::new(Slot::new(body));
                slot.mailbox.take_each_once_behind(ticket);
                if let Some(scribe) = &self.scribe {
                    let after = scribe.numbers_for(name);
                    let born = Born { agent: name, kind, owner, root, origin, founder: false, after };
                    let handled = ticket.into_iter().collect();
                    slot.unwritten = Some(Box::new(Unwritten { handled, ..Unwritten::of(born) }));
                }
                self.bring(0, vec![assign_name(slot, name, generation)]);
            }
            Some(Err(why)) => {
                self.output.log(Aid::local(name), LogLevel::Severe, &format!("cannot be created here: {why}"));
                self.not_created(name, generation, ticket, &why);
                self.tell_creator(not_created(Aid::local(sym::AMS), creator, Aid::local(name), &why));
            }
            None => self.not_created(name, generation, None, "it has ended"),
        }
    }

    fn not_created(&self, name: Symbol, generation: u32, ticket: Option<Ticket>, why: &str) {
        self.call_off(name, 0, generation, why);
        let Some(scribe) = &self.scribe else { return };
        scribe.forget(name);
        if let Some(ticket) = ticket {
            scribe.write_off(ticket, name);
        }
    }
}
