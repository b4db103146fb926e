//! What nodes tell each other when advice is asked for, and why there may be none.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

use super::{Advice, Condition, JobError};
use crate::durable::Origin;

/// What one node asks another before an agent of its decides whether to go there.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum AdviceNews {
    /// How are you doing, and do you have this code?
    Ask {
        /// Quoted in the answer.
        number: u64,
        /// Where the agent's code is, if it is asked for.
        code: Option<Origin>,
    },
    /// So.
    Tell {
        /// The question's.
        number: u64,
        /// See there.
        condition: Condition,
    },
}

/// Why there is no advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdviseError {
    /// The job is none.
    #[error(transparent)]
    Job(#[from] JobError),
    /// This platform is one node.
    #[error("this platform is one node: there is nowhere to go")]
    OneNode,
    /// No node of this name is linked with this one.
    #[error("there is no node named {0}")]
    NoSuchNode(Symbol),
    /// The documents are here already.
    #[error("node {0} is this one: there is nowhere to go")]
    Here(Symbol),
}

impl AdviseError {
    /// As programs know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Job(_) => "bad_job",
            Self::OneNode | Self::NoSuchNode(_) => "no_such_node",
            Self::Here(_) => "already_there",
        }
    }
}

/// Called with advice, or why there is none.
pub type AdviceCall = Box<dyn FnOnce(Result<Advice, AdviseError>) -> whimbrel_acl::AclMessage + Send>;
