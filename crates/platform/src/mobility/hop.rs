//! Hops: the dialogue of an agent's body with the scheduler about a move.

use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

/// Request to move an agent, or a clone of it: the end of a turn with [`Next::Hop`](crate::Next::Hop).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopRequest {
    /// Name of the destination.
    pub to: Symbol,
    /// Kind of move.
    pub mode: HopMode,
}

/// Kinds of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopMode {
    /// Move of the agent itself.
    Move,
    /// Clone: a second agent with the same code and state, of this name; the first one stays where it is. An empty name
    /// is made from the agent's own, with a number.
    Clone(Symbol),
    /// Minion: a clone of this name that ends after this time. It does something for the agent, and leaves nothing
    /// behind.
    Minion(Symbol, Duration),
    /// Recall [home](crate::ams::Ties::home) of the agent itself. A journey that it is on is over, even if it cannot
    /// get there.
    Recall,
}

/// Wish from outside that an agent move to another place. Its holder tells the outcome once; dropping it says that the
/// agent is no longer there.
pub struct Wish {
    /// Destination: a node, or the agent of a client.
    pub to: Symbol,
    then: Option<WishCall>,
}

/// Call with the outcome of a wish.
pub type WishCall = Box<dyn FnOnce(Result<(), HopError>) + Send>;

impl Wish {
    /// Returns a wish that an agent move to `to`; `then` is told the outcome.
    pub fn new(to: Symbol, then: WishCall) -> Self {
        Self { to, then: Some(then) }
    }

    /// Tells the outcome.
    pub fn over(mut self, outcome: Result<(), HopError>) {
        if let Some(then) = self.then.take() {
            then(outcome);
        }
    }

    /// Returns the call that is to be told the outcome.
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
    /// Arrival, told to the agent that moved: it is on another node now.
    Arrived {
        /// Node that the agent left. A durable agent is told the node that served its partition before; its new node
        /// if that one has not heard of any.
        from: Symbol,
    },
    /// Failure, told to the agent that was to move or to be cloned: nothing happened.
    Stayed {
        /// Node where the agent, or its clone, was to be.
        to: Symbol,
        /// Reason.
        why: HopError,
    },
    /// Creation of a clone, told to the agent that was cloned.
    Cloned {
        /// Name of the clone.
        clone: Symbol,
        /// Node of the clone.
        to: Symbol,
    },
    /// Origin as a clone, told to the clone before its first turn.
    IsClone {
        /// Agent whose clone it is.
        of: Symbol,
        /// Node of that agent.
        from: Symbol,
    },
}

/// Reason why an agent stayed where it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Encode, Decode)]
#[non_exhaustive]
pub enum HopError {
    /// Platform of one node, where agents cannot move.
    #[error("this platform is one node: there is nowhere to go")]
    OneNode,
    /// Unknown node: no node of this name is linked with this one.
    #[error("there is no node named {0}")]
    NoSuchNode(Symbol),
    /// Destination that the agent is on already.
    #[error("it is on node {0} already")]
    AlreadyThere(Symbol),
    /// Agent that cannot move, or not now, for this reason.
    #[error("it cannot move: {0}")]
    NotMovable(String),
    /// State too large to move.
    #[error("its state is too large to move: {bytes} bytes, at most {bytes_max}")]
    TooLarge {
        /// Bytes of the agent's state and mailbox.
        bytes: u64,
        /// Most bytes that may move.
        bytes_max: u64,
    },
    /// Policy of one of the two nodes that forbids the move.
    #[error("the policy of node {0} forbids it")]
    Forbidden(Symbol),
    /// Destination that cannot make the agent.
    #[error("node {node} cannot take it: {reason}")]
    Refused {
        /// Destination.
        node: Symbol,
        /// Reason, in the destination's words.
        reason: String,
    },
    /// Destination that is busy now: the agent may try again.
    #[error("node {node} cannot take it now: {reason}")]
    Busy {
        /// Destination, or the agent that stands for a client.
        node: Symbol,
        /// Resource that is exhausted.
        reason: String,
    },
    /// Destination, or link to it, that was lost before the agent had left.
    #[error("node {0} is lost")]
    Unreachable(Symbol),
    /// Name of the clone that another agent has.
    #[error("an agent named {0} exists already")]
    NameTaken(Symbol),
    /// Platform that stops.
    #[error("the platform is stopping")]
    Stopping,
}

impl HopError {
    /// Returns a word for programs, which AgentSpeak plans find in `error(..)`.
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
