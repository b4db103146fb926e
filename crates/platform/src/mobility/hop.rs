//! What an agent's body and the scheduler say to each other about a hop.

use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

/// Where an agent wants to be, or its clone: what a turn ends with that returns [`Next::Hop`](crate::Next::Hop).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopRequest {
    /// The node's name.
    pub to: Symbol,
    /// Who is to be there.
    pub mode: HopMode,
}

/// Who goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopMode {
    /// The agent itself.
    Move,
    /// A second agent of the same code and state, of this name; the first one stays where it is. An empty name is made from the
    /// agent's own, with a number.
    Clone(Symbol),
    /// A clone of this name that ends when it has lived for so long: it does something for the agent, and leaves nothing behind.
    Minion(Symbol, Duration),
    /// The agent itself, which somebody calls [home](crate::ams::Ties::home): a journey that it is on is over, even if it cannot get
    /// there.
    Recall,
}

/// That somebody else wants an agent to be at another place. Whoever has it says once what became of it; who drops it says that the agent is
/// not there any more.
pub struct Wish {
    /// The node, or the agent of a client, where it is wanted.
    pub to: Symbol,
    then: Option<WishCall>,
}

/// Called with what became of a wish.
pub type WishCall = Box<dyn FnOnce(Result<(), HopError>) + Send>;

impl Wish {
    /// Somebody wants an agent there, and is told by `then` what became of that.
    pub fn new(to: Symbol, then: WishCall) -> Self {
        Self { to, then: Some(then) }
    }

    /// It is known what became of it.
    pub fn over(mut self, outcome: Result<(), HopError>) {
        if let Some(then) = self.then.take() {
            then(outcome);
        }
    }

    /// Whoever is told, for somebody else to tell.
    pub fn into_call(mut self) -> WishCall {
        self.then.take().unwrap_or_else(|| Box::new(|_| ()))
    }
}

impl std::fmt::Debug for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wish").field("to", &self.to).finish_non_exhaustive()
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        if let Some(then) = self.then.take() {
            then(Err(HopError::NotMovable("it is not here any more".to_owned())));
        }
    }
}

/// Outcome of a hop, told to the agent before its next turn ([`Mobile::hopped`](crate::capabilities::Mobile::hopped)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// To the agent that moved: it is on another node now.
    Arrived {
        /// The node that it left.
        from: Symbol,
    },
    /// To the agent that was to move, or to be cloned: nothing of that happened.
    Stayed {
        /// The node where it, or its clone, was to be.
        to: Symbol,
        /// Why.
        why: HopError,
    },
    /// To the agent that was cloned: its clone lives there.
    Cloned {
        /// The clone's name.
        clone: Symbol,
        /// Its node.
        to: Symbol,
    },
    /// To the clone, before its first turn.
    IsClone {
        /// The agent whose clone it is.
        of: Symbol,
        /// That one's node.
        from: Symbol,
    },
}

/// Why an agent stayed where it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Encode, Decode)]
#[non_exhaustive]
pub enum HopError {
    /// Agents do not move on this platform: it is a node by itself.
    #[error("this platform is one node: there is nowhere to go")]
    OneNode,
    /// No node of this name is linked with this one.
    #[error("there is no node named {0}")]
    NoSuchNode(Symbol),
    /// The agent is on this node already.
    #[error("it is on node {0} already")]
    AlreadyThere(Symbol),
    /// Agents of this kind cannot move, or this one cannot just now: why.
    #[error("it cannot move: {0}")]
    NotMovable(String),
    /// It is written out, and larger than what can move.
    #[error("its state is too large to move: {bytes} bytes, {bytes_max} are the most")]
    TooLarge {
        /// Bytes of its state and its mailbox.
        bytes: u64,
        /// Bytes it may have.
        bytes_max: u64,
    },
    /// The policy of one of the two nodes forbids it.
    #[error("the policy of node {0} forbids it")]
    Forbidden(Symbol),
    /// The destination cannot make the agent: why.
    #[error("node {node} cannot take it: {reason}")]
    Refused {
        /// The destination.
        node: Symbol,
        /// Why, in its words.
        reason: String,
    },
    /// The destination has too much to do just now: it may be tried again.
    #[error("node {node} cannot take it now: {reason}")]
    Busy {
        /// The destination, or the agent that stands for a client.
        node: Symbol,
        /// Of what there is too much.
        reason: String,
    },
    /// The link to the destination, or the destination, was lost before the agent had left.
    #[error("node {0} is lost")]
    Unreachable(Symbol),
    /// An agent of the clone's name exists.
    #[error("an agent named {0} exists already")]
    NameTaken(Symbol),
    /// The platform is stopping.
    #[error("the platform is stopping")]
    Stopping,
}

impl HopError {
    /// A word for programs: what AgentSpeak plans find in `error(..)`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OneNode | Self::NoSuchNode(_) => "no_such_node",
            Self::AlreadyThere(_) => "already_there",
            Self::NotMovable(_) => "not_movable",
            Self::TooLarge { .. } => "too_large",
            Self::Forbidden(_) => "forbidden",
            Self::Refused { .. } => "refused",
            Self::Busy { .. } => "busy",
            Self::Unreachable(_) => "unreachable",
            Self::NameTaken(_) => "name_taken",
            Self::Stopping => "stopping",
        }
    }
}
