//! Agents that are created on one node and belong to a partition that another one serves.
//!
//! A creation is a message to the agent to be. Its creator sends it as any other, numbered and written with its step, so
//! it arrives once; whoever serves the partition makes the agent, and writes that it was made and that the message was handled
//! in one frame.

use whimbrel_acl::compact::{self, Decode, Encode, Limits};
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, Value, sym};
use whimbrel_platform::AgentBody;
use whimbrel_platform::ams::{AgentKind, NewAgent};
use whimbrel_platform::durable::creation::{creation as creation_of, is_creation, name_taken, not_created};
use whimbrel_platform::durable::{Born, Origin, State, Ticket};
use whimbrel_platform::limits::FRAME_MEMORY_BYTES_MAX;
use whimbrel_platform::route::{Route, ShardIndex};
use whimbrel_platform::services::{CreateError, LogLevel};

use super::Server;
use super::adopt::forget_elsewhere;
use crate::durable::{Effect, Unwritten, backstage};
use crate::node::{Introduction, Node, christen};
use crate::shard::Slot;

/// An agent to be.
#[derive(Debug, Encode, Decode)]
struct Creation {
    kind: AgentKind,
    owner: Symbol,
    origin: Origin,
    /// Its whole state.
    state: Vec<u8>,
}

/// Where an agent is to live that is being created.
enum Home {
    /// On another node, which will make it.
    Elsewhere(Aid),
    /// On this one, under this name.
    Here(Symbol, Box<dyn AgentBody>),
}

impl Node {
    /// Creates an agent in this shard; in a cluster, on the node that serves its name.
    pub fn create_somewhere(
        &self,
        shard: ShardIndex,
        who: Introduction,
        body: impl FnOnce(Symbol) -> Result<Box<dyn AgentBody>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let Some(cluster) = &self.cluster else {
            return self.create(shard, who, |name| Ok(Box::new(Slot::new(body(name)?))));
        };
        let (name, body) = match self.create_there(&who, body)? {
            Home::Elsewhere(aid) => return Ok(aid),
            Home::Here(name, body) => (name, body),
        };
        let who = Introduction { name, ..who };
        {
            // Under this lock the partition cannot pass to another node: a durable agent begins only where its
            // partition is served.
            let _parts = cluster.lock();
            if body.origin().is_none() || cluster.server_of(name) == Server::Here {
                return self.create(shard, who, |_| Ok(Box::new(Slot::new(body))));
            }
        }
        match self.create_there(&who, |_| Ok(body))? {
            Home::Elsewhere(aid) => Ok(aid),
            // An agent that cannot be saved lives where it is created.
            Home::Here(name, body) => {
                self.create(shard, Introduction { name, ..who }, |_| Ok(Box::new(Slot::new(body))))
            }
        }
    }

    /// Creates an agent that another node is to run, if one is.
    fn create_there(
        &self,
        who: &Introduction,
        body: impl FnOnce(Symbol) -> Result<Box<dyn AgentBody>, CreateError>,
    ) -> Result<Home, CreateError> {
        let name = self.with_ams(|ams| {
            let name = ams.free_name_for(who.name, who.unique, who.kind)?;
            ams.room_for(who.owner.map_or(name, |owner| owner.name), 1).map(|()| name)
        })?;
        let mut body = body(name)?;
        let Some(creation) = self.creation(name, who, &mut *body) else { return Ok(Home::Here(name, body)) };
        if !self.await_agent(name, who.kind) {
            return Err(CreateError::NameTaken(name));
        }
        // A node speaks for its own agents only: its owner may be another one's.
        let is_here = |owner: &Aid| self.with_ams(|ams| ams.kind(*owner)).is_some();
        let sender = who.owner.filter(is_here).unwrap_or(Aid::local(name));
        let message = Box::new(creation_of(sender, Aid::local(name), creation));
        if !backstage::keep(|| Effect::Create(message.clone())) {
            self.post(0, message);
        }
        Ok(Home::Elsewhere(Aid::local(name)))
    }

    /// What another node is to make an agent of; `None` if it is to live here.
    fn creation(&self, name: Symbol, who: &Introduction, body: &mut dyn AgentBody) -> Option<Value> {
        let cluster = self.cluster.as_ref().filter(|cluster| cluster.server_of(name) != Server::Here)?;
        let origin = body.origin()?;
        let mut state = Vec::new();
        let owner = who.owner.map_or_else(Symbol::default, |owner| owner.name);
        let is_saved = cluster.server_of(name) != Server::Here && body.save_whole(self.now(), &mut state);
        let mut bytes = Vec::new();
        let creation = is_saved.then_some(Creation { kind: who.kind, owner, origin, state })?;
        compact::encode_body_of(&creation, &mut bytes).ok()?;
        Some(Value::from(bytes))
    }

    /// An agent of this name is about to be made on another node: messages to it follow its creation there.
    fn await_agent(&self, name: Symbol, kind: AgentKind) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        let _parts = cluster.lock();
        let there = if let Server::Node(node) = cluster.server_of(name) { Some(node) } else { None };
        let awaited = self.with_ams(|ams| ams.handle_awaited(name, there, kind));
        if let (true, Some(node)) = (awaited, there) {
            self.routes.set(name, Route::node(node));
        }
        awaited
    }

    /// A message creates an agent. If it is to be one of this node, messages to it wait from now on until it is made; else the
    /// message comes back, and there is a route to the node that is to make it.
    pub fn expect_creation(&self, envelope: Envelope) -> Result<(), Envelope> {
        let (Some(cluster), Some(scribe)) = (&self.cluster, &self.scribe) else { return Err(envelope) };
        let name = envelope.to.name;
        if !is_creation(&envelope.body) {
            return Err(envelope);
        }
        if cluster.server_of(name) != Server::Here {
            // Nobody served its partition when its creator was told its name.
            self.direct_to_server(name);
            return Err(envelope);
        }
        let Some(creation) = read(&envelope.body) else { return Err(envelope) };
        let new = NewAgent { started: true, owner: creation.owner, ..NewAgent::new(name, creation.kind) };
        let now = self.now();
        let created = self.with_ams(|ams| {
            // It has no route: it is nowhere yet.
            forget_elsewhere(ams, name);
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
        scribe.create(Created { name, generation, creator: envelope.body.sender, ticket, creation });
        Ok(())
    }

    /// A message that no journal keeps creates an agent, but there is one of that name: its creator is told. Else it comes back.
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
        let _parts = cluster.lock();
        if let Server::Node(node) = cluster.server_of(name) {
            let kind = self.with_ams(|ams| ams.kind_anywhere(Aid::local(name))).unwrap_or(AgentKind::Native);
            if self.with_ams(|ams| ams.handle_elsewhere(name, node, kind)) {
                self.routes.set(name, Route::node(node));
            }
        }
    }

    /// Makes an agent that was created elsewhere; not if that message had been handled before.
    pub fn make_created(&self, created: Created, is_new: bool) {
        let Created { name, generation, creator, ticket, creation } = created;
        let Creation { kind, owner, origin, state } = creation;
        let restored = is_new.then(|| self.restore(name, &origin, &[State::Whole(state)], self.now()));
        match restored {
            Some(Ok(body)) => {
                let mut slot: Box<Slot> = Box::new(Slot::new(body));
                slot.mailbox.take_each_once_behind(ticket);
                if let Some(scribe) = &self.scribe {
                    let after = scribe.numbers_for(name);
                    let born = Born { agent: name, kind, owner, origin, founder: false, after };
                    let handled = ticket.into_iter().collect();
                    slot.unwritten = Some(Box::new(Unwritten { handled, ..Unwritten::of(born) }));
                }
                self.bring(0, vec![christen(slot, name, generation)]);
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

/// An agent that is to be made.
pub(crate) struct Created {
    pub name: Symbol,
    generation: u32,
    creator: Aid,
    /// The message that creates it.
    pub ticket: Option<Ticket>,
    creation: Creation,
}

fn read(message: &AclMessage) -> Option<Creation> {
    let Value::Bytes(bytes) = &message.content else { return None };
    compact::decode_body_as(bytes, Limits::MESSAGE.with_budget_bytes(FRAME_MEMORY_BYTES_MAX)).ok()
}
