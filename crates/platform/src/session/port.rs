//! Port between a node's scheduler and its agent port. Neither knows the other.

use std::sync::Arc;

use whimbrel_acl::{Aid, Symbol};

use super::kept_agents::KeptAgents;
use crate::durable::Origin;
use crate::mobility::HopError;
use crate::route::ShardIndex;
use crate::services::CreateError;
use crate::{AgentBody, Time};

/// Reason for not running a session's agent.
const TAKES_NONE: &str = "this node takes in no agents of sessions";

/// Place of a session's agent, as far as its node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// This node, or nowhere: this node may have the agent.
    Here,
    /// Session on the node of this name: the agent has one there, or waits there for its client, or continues there.
    With(Symbol),
    /// Nowhere yet; the node of this name serves the partition of the agent's name, so only that one can write it to
    /// the journal.
    Due(Symbol),
}

/// Host: the scheduler, as sessions see it.
pub trait SessionHost: Send + Sync {
    /// Returns the platform's name.
    fn platform(&self) -> Symbol;

    /// Returns this node's name; `n1` if it is the only one.
    fn node(&self) -> Symbol;

    /// Returns the time.
    fn now(&self) -> Time;

    /// Returns the place of an agent of this name, or the best place for a new one.
    fn whereabouts(&self, _name: Symbol) -> Whereabouts {
        Whereabouts::Here
    }

    /// Returns true if another node of the platform has this name.
    fn has_neighbour(&self, _node: &str) -> bool {
        false
    }

    /// Checks if a session may have an agent of this name now, be it new or kept.
    ///
    /// # Errors
    /// The policy forbids it, or the platform is stopping.
    fn may_lodge(&self, _name: Symbol) -> Result<(), CreateError> {
        Ok(())
    }

    /// Creates an agent whose code is elsewhere, if [it may](Self::may_lodge). The agent exists when this returns; its
    /// first turn may come before. `is_home` is true if this node [was](Self::whereabouts) the right one. If another
    /// one is by now, which may have an agent of the name, none is created. The agent lives in the shard `near`, whose
    /// worker serves the session's socket, if there is one.
    ///
    /// # Errors
    /// The name is taken or invalid, the platform is stopping, or the owner of the name is unknown for the moment.
    fn lodge(
        &self,
        name: Symbol,
        body: Box<dyn AgentBody>,
        is_home: bool,
        near: Option<ShardIndex>,
    ) -> Result<Aid, CreateError>;

    /// Returns the node's kept agents: those of its sessions, and those kept before, if they outlive it.
    fn kept_agents(&self) -> Arc<KeptAgents> {
        Arc::default()
    }

    /// Returns true if any agents are written to a journal here.
    fn has_journal(&self) -> bool {
        false
    }

    /// Returns true if kept agents of this name are written to a journal here: then they outlive this node.
    fn writes_down(&self, _name: Symbol) -> bool {
        false
    }

    /// Gives an agent a turn, even without messages.
    fn wake(&self, agent: Aid);

    /// Returns the capability to run agents of sessions, which leave their clients for it, if this node has it.
    fn mobility(&self) -> Option<&dyn SessionMobility> {
        None
    }
}

/// Requests to any host, with the answer of one that lacks the capability.
impl dyn SessionHost + '_ {
    /// Takes in an agent's code from a session ([`SessionMobility::admit_code`]). May take long.
    ///
    /// # Errors
    /// The reason why it may not, or cannot.
    pub fn admit_code(&self, name: Symbol, origin: &Origin, bytes: Vec<u8>) -> Result<(), String> {
        match self.mobility() {
            Some(mobility) => mobility.admit_code(name, origin, bytes),
            None => Err(TAKES_NONE.to_owned()),
        }
    }

    /// Makes an agent again that this node wrote ([`SessionMobility::remake`]).
    ///
    /// # Errors
    /// The reason why it cannot be made.
    pub fn remake(&self, name: Symbol, origin: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        match self.mobility() {
            Some(mobility) => mobility.remake(name, origin, state),
            None => Err(TAKES_NONE.to_owned()),
        }
    }
}

/// Mobility of sessions' agents: they continue at this node, move on from it, and return to their clients.
pub trait SessionMobility {
    /// Returns true if this node has this code and can run a session agent with this name and code. Returns `None` if
    /// it cannot or may not run such an agent.
    fn has_code(&self, name: Symbol, origin: &Origin) -> Option<bool>;

    /// Takes in an agent's code from a session. May take long.
    ///
    /// # Errors
    /// The reason why it may not, or cannot.
    fn admit_code(&self, _name: Symbol, _origin: &Origin, _bytes: Vec<u8>) -> Result<(), String> {
        Err(TAKES_NONE.to_owned())
    }

    /// Makes an agent again from code that is here and a state that its client wrote. Discards ownership claims in the
    /// state.
    ///
    /// # Errors
    /// The reason why it cannot be made, or may not be here.
    fn restore(&self, name: Symbol, origin: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String>;

    /// Makes an agent again from code that is here and a state that this node wrote.
    ///
    /// # Errors
    /// The reason why it cannot be made.
    fn remake(&self, name: Symbol, origin: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        self.restore(name, origin, state)
    }

    /// Returns the code at this origin, as it travels, if it is here.
    fn code(&self, _origin: &Origin) -> Option<Arc<[u8]>> {
        None
    }

    /// Returns true if a session's agent may leave its client, or come to one: `object` is its name, or `session:NAME`.
    /// Denials are recorded.
    fn may_move(&self, _name: Symbol, _object: &str) -> bool {
        false
    }

    /// Finds a node of this name, or one with a session that has an agent of this name. Returns true if it is this
    /// node.
    ///
    /// # Errors
    /// There is no such node.
    fn is_here(&self, to: Symbol) -> Result<bool, HopError> {
        Err(HopError::NoSuchNode(to))
    }

    /// Notes that an agent of this node belongs to a session from now on, also for the policies of all nodes.
    fn handle_lodged(&self, _name: Symbol) {}

    /// Returns the life of an agent of this node: another agent of the same name has another one.
    fn life(&self, name: Symbol) -> Option<u32>;

    /// Exchanges the body of an agent of this node between two of its turns, if it is still in this life. Its mailbox
    /// stays.
    fn exchange(&self, _name: Symbol, _life: u32, with: Exchange) {
        with(None);
    }
}

/// Function that is given an agent's origin and state, if the agent is there and can be written out. Returns the new
/// body, if the agent gets another one.
pub type Exchange = Box<dyn FnOnce(Option<(Origin, Vec<u8>)>) -> Option<Box<dyn AgentBody>> + Send>;
