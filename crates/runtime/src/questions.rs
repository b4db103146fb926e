//! Operators' questions to other nodes, over the links.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::limits::{
    QUESTION_ANSWER_BYTES_MAX, QUESTION_BYTES_MAX, QUESTION_THREADS, QUESTIONS_AT_ONCE_MAX,
};
use whimbrel_platform::link::News;
use whimbrel_platform::route::NodeId;

use crate::node::Node;
use crate::pool::Pool;
use crate::sync::{Arc, Mutex, locked};
use crate::turn::caught;

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
    #[error("a question of {0} bytes: {QUESTION_BYTES_MAX} are the most")]
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
    asked: Mutex<FxHashMap<u64, Asked>>,
    /// Number of questions of each node that are being answered.
    answering: Mutex<FxHashMap<NodeId, u32>>,
    answerer: OnceLock<Answerer>,
    pool: Arc<Pool>,
}

impl Default for Questions {
    fn default() -> Self {
        let (asked, answering, answerer) = Default::default();
        Self { asked, answering, answerer, pool: Arc::new(Pool::of(QUESTION_THREADS)) }
    }
}

impl Questions {
    /// Counts a question of this node that is about to be answered. Returns false if there are too many.
    fn begin(&self, from: NodeId) -> bool {
        let mut answering = locked(&self.answering);
        let count = answering.entry(from).or_default();
        let may = *count < QUESTIONS_AT_ONCE_MAX;
        *count += u32::from(may);
        may
    }

    fn end(&self, from: NodeId) {
        let mut answering = locked(&self.answering);
        answering.entry(from).and_modify(|count| *count -= 1);
        answering.retain(|_, count| *count > 0);
    }
}

impl Node {
    /// Sets the function that answers other nodes' questions. Returns false if one is set already.
    pub fn answer_with(&self, answerer: Answerer) -> bool {
        self.questions.answerer.set(answerer).is_ok()
    }

    /// Asks another node a question, and waits for its answer.
    pub fn ask(&self, to: Symbol, question: Vec<u8>, at_most: Duration) -> Result<Vec<u8>, QuestionError> {
        if question.len() > QUESTION_BYTES_MAX {
            return Err(QuestionError::TooLong(question.len()));
        }
        let links = self.linked.links().ok_or(QuestionError::NoSuchNode(to))?;
        let node = links.node_named(to.as_str()).ok_or(QuestionError::NoSuchNode(to))?;
        if !links.nodes().contains(&node) {
            return Err(QuestionError::NoAnswer(to));
        }
        let (number, (tell, told)) = (self.random(), channel());
        locked(&self.questions.asked).insert(number, (node, tell));
        links.tell(node, News::Ask { number, question });
        let answer = told.recv_timeout(at_most);
        locked(&self.questions.asked).remove(&number);
        match answer {
            Ok(answer) if answer.is_empty() => Err(QuestionError::Busy(to)),
            answer => answer.map_err(|_| QuestionError::NoAnswer(to)),
        }
    }

    /// Handles another node's question.
    pub fn hear_question(self: &Arc<Self>, from: NodeId, number: u64, question: Vec<u8>) {
        let Some(answerer) = self.questions.answerer.get().cloned() else { return };
        let Some(links) = self.linked.links() else { return };
        if question.len() > QUESTION_BYTES_MAX || !self.questions.begin(from) {
            return links.tell(from, News::Answer { number, answer: Vec::new() });
        }
        let node = Arc::clone(self);
        self.questions.pool.run(Box::new(move || {
            let answer = caught(|| answerer(node.name_of(from), &question)).ok();
            let answer = answer.filter(|answer| answer.len() <= QUESTION_ANSWER_BYTES_MAX);
            if let Some((links, answer)) = node.linked.links().zip(answer) {
                links.tell(from, News::Answer { number, answer });
            }
            node.questions.end(from);
        }));
    }

    /// Handles another node's answer.
    pub fn hear_answer(&self, from: NodeId, number: u64, answer: Vec<u8>) {
        let mut asked = locked(&self.questions.asked);
        // Only the node that was asked may answer.
        if asked.get(&number).is_some_and(|(node, _)| *node == from)
            && let Some((_, tell)) = asked.remove(&number)
        {
            let _ = tell.send(answer);
        }
    }
}
