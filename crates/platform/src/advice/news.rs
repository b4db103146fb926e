//! News between nodes that advise, and reasons why there is no advice.

use whimbrel_acl::Symbol;
use whimbrel_acl::compact::{Decode, Encode};

use super::{Advice, JobError, NodeCondition};
use crate::durable::Origin;

/// News between two nodes before an agent decides where to work.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum AdviceNews {
    /// Question about a node's condition, and if it has this code.
    Ask {
        /// Number of the question, quoted in the answer.
        number: u64,
        /// Place of the agent's code, if it is asked for.
        code: Option<Origin>,
    },
    /// Answer.
    Tell {
        /// Number of the question.
        number: u64,
        /// Condition of the answering node.
        condition: NodeCondition,
    },
}

/// Reason why there is no advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdviseError {
    /// Malformed job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Platform of one node.
    #[error("this platform is one node: there is nowhere to go")]
    OneNode,
    /// Unknown node: no node of this name is linked with this one.
    #[error("there is no node named {0}")]
    NoSuchNode(Symbol),
    /// Documents that are here already.
    #[error("node {0} is this one: there is nowhere to go")]
    Here(Symbol),
}

impl AdviseError {
    /// Returns the reason as programs know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Job(_) => "bad_job",
            Self::OneNode | Self::NoSuchNode(_) => "no_such_node",
            Self::Here(_) => "already_there",
        }
    }
}

/// Call with advice, or the reason why there is none.
pub type AdviceCall = Box<dyn FnOnce(Result<Advice, AdviseError>) -> whimbrel_acl::AclMessage + Send>;
