//! Questions of operators to other nodes: those without an answer yet, and those that are being answered.

use std::sync::OnceLock;
use std::sync::mpsc::Sender;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::limits::{QUESTION_BYTES_MAX, QUESTION_THREADS, QUESTIONS_AT_ONCE_MAX};
use whimbrel_platform::route::NodeId;

use crate::pool::Pool;
use crate::sync::{Arc, Mutex, locked};

/// Function that answers a question of another node, of this name. May take long.
pub type Answerer = Arc<dyn Fn(Symbol, &[u8]) -> Vec<u8> + Send + Sync>;

/// Reason why another node was not asked, or did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// No node has this name.
    #[error("there is no node named {0}")]
    NoSuchNode(Symbol),
    /// The question is too long.
    #[error("a question of {0} bytes: at most {QUESTION_BYTES_MAX}")]
    TooLong(usize),
    /// No answer came in time, or there is no link to the node just now.
    #[error("node {0} does not answer")]
    NoAnswer(Symbol),
    /// The node is answering as many questions of this node as it may at once.
    #[error("node {0} has too many queries to answer")]
    Busy(Symbol),
}

/// Node that was asked, and channel for its answer.
type Asked = (NodeId, Sender<Vec<u8>>);

/// Questions of a node, and to it; see the module.
pub(crate) struct Questions {
    /// Questions without an answer yet, by number.
    pub asked: Mutex<FxHashMap<u64, Asked>>,
    /// Number of questions of each node that are being answered.
    answering: Mutex<FxHashMap<NodeId, u32>>,
    pub answerer: OnceLock<Answerer>,
    pub pool: Arc<Pool>,
}

impl Default for Questions {
    fn default() -> Self {
        let (asked, answering, answerer) = Default::default();
        Self { asked, answering, answerer, pool: Arc::new(Pool::of(QUESTION_THREADS)) }
    }
}

impl Questions {
    /// Counts a question of this node that is about to be answered. Returns false if there are too many.
    pub fn begin(&self, from: NodeId) -> bool {
        let mut answering = locked(&self.answering);
        let count = answering.entry(from).or_default();
        let may = *count < QUESTIONS_AT_ONCE_MAX;
        *count += u32::from(may);
        may
    }

    pub fn end(&self, from: NodeId) {
        let mut answering = locked(&self.answering);
        answering.entry(from).and_modify(|count| *count -= 1);
        answering.retain(|_, count| *count > 0);
    }
}
