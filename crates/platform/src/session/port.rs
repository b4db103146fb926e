//! The port between a node's scheduler and its agent port. Neither knows the other.

use std::sync::Arc;

use whimbrel_acl::{Aid, Symbol};

use super::shelf::Shelf;
use crate::durable::Origin;
use crate::mobility::HopError;
use crate::services::CreateError;
use crate::{AgentBody, Time};

/// Where an agent of a session is, as far as its node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this node, or nowhere: this node may have it.
    Here,
    /// An agent of that name is a session's on the node of this name, or was: it waits there for its client, or goes on there.
    With(Symbol),
    /// There is none, and the node of this name serves the partition of its name: only there what is kept of it is written down.
    Due(Symbol),
}

/// The scheduler, as sessions see it.
pub trait Host: Send + Sync {
    /// The platform's name.
    fn platform(&self) -> Symbol;

    /// What this node is called: `n1` if it is the only one.
    fn node(&self) -> Symbol;

    /// The time.
    fn now(&self) -> Time;

    /// On which node of the platform an agent of this name is, or had better be.
    fn whereabouts(&self, _name: Symbol) -> Whereabouts {
        Whereabouts::Here
    }

    /// Whether another node of the platform has this name.
    fn has_neighbour(&self, _node: &str) -> bool {
        false
    }

    /// Whether a session may have an agent of this name now, be it a new one or one that is kept for it.
    ///
    /// # Errors
    /// The policy forbids it, or the platform is stopping.
    fn may_lodge(&self, _name: Symbol) -> Result<(), CreateError> {
        Ok(())
    }

    /// Creates an agent whose code is elsewhere, if [it may](Self::may_lodge). It exists when this returns; its first turn may come before. If
    /// it `is_home`, this node [was](Self::whereabouts) the one for it: it is not created if that is another one by now, which may have one of its
    /// name.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping; or who has an agent of that name is not known for the moment.
    fn lodge(&self, name: Symbol, body: Box<dyn AgentBody>, is_home: bool) -> Result<Aid, CreateError>;

    /// Who is kept here: what its sessions keep, and what was kept here before, if that outlives it.
    fn shelf(&self) -> Arc<Shelf> {
        Arc::default()
    }

    /// Whether any agents are written down here.
    fn has_journal(&self) -> bool {
        false
    }

    /// Whether kept agents of this name are written down here: then they outlive this node.
    fn writes_down(&self, _name: Symbol) -> bool {
        false
    }

    /// Gives an agent a turn, whether it has messages or not.
    fn wake(&self, agent: Aid);

    /// Whether this node can run agents of a session that have this name and code, and the code is here; `None` if it cannot, or may not.
    fn has_code(&self, _name: Symbol, _origin: &Origin) -> Option<bool> {
        None
    }

    /// Takes in what a session says is this agent's code. Takes its time.
    ///
    /// # Errors
    /// It may not, or cannot: why.
    fn admit_code(&self, _name: Symbol, _origin: &Origin, _bytes: Vec<u8>) -> Result<(), String> {
        Err("this node takes in no agents of sessions".to_owned())
    }

    /// Makes an agent again from the code that is there and a state that its client wrote: what that says of whose it is does not count.
    ///
    /// # Errors
    /// It cannot be made, or may not be here: why.
    fn restore(&self, _name: Symbol, _origin: &Origin, _state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        Err("this node takes in no agents of sessions".to_owned())
    }

    /// Makes an agent again from the code that is there and a state that this node wrote.
    ///
    /// # Errors
    /// It cannot be made: why.
    fn remake(&self, name: Symbol, origin: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        self.restore(name, origin, state)
    }

    /// The code that is known by this name, as it travels, if it is here.
    fn code(&self, _origin: &Origin) -> Option<Arc<[u8]>> {
        None
    }

    /// Whether an agent of a session may leave its client, or come to one: `object` is its name, or `session:NAME`. What is forbidden is recorded.
    fn may_move(&self, _name: Symbol, _object: &str) -> bool {
        false
    }

    /// Whether there is a node of this name, or one with a session that has an agent of this name: true if that is this node.
    ///
    /// # Errors
    /// There is none.
    fn is_here(&self, to: Symbol) -> Result<bool, HopError> {
        Err(HopError::NoSuchNode(to))
    }

    /// An agent of this node is a session's from now on: to the policies of all nodes, too.
    fn handle_lodged(&self, _name: Symbol) {}

    /// Which life of this name it is, if an agent of this node has it: another agent of the same name has another.
    fn life(&self, _name: Symbol) -> Option<u32> {
        None
    }

    /// Has an agent of this node be something else from now on, between two of its turns, if it is still in this life. Its mailbox stays.
    fn exchange(&self, _name: Symbol, _life: u32, with: Exchange) {
        with(None);
    }
}

/// Is given where an agent's code is and what its state is, if it is there and can be written out; says what it is from now on, if that is another body.
pub type Exchange = Box<dyn FnOnce(Option<(Origin, Vec<u8>)>) -> Option<Box<dyn AgentBody>> + Send>;
