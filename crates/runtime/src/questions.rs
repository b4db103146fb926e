//! What operators ask of other nodes than theirs, over the links.

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

/// Answers what another node, of this name, asks. May take long.
pub type Answerer = Arc<dyn Fn(Symbol, &[u8]) -> Vec<u8> + Send + Sync>;

/// Why another node was not asked, or did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// There is no such node.
    #[error("there is no node named {0}")]
    NoSuchNode(Symbol),
    /// The question is too long.
    #[error("a question of {0} bytes: {QUESTION_BYTES_MAX} are the most")]
    TooLong(usize),
    /// No answer came in time, or there is no link to it just now.
    #[error("node {0} does not answer")]
    NoAnswer(Symbol),
    /// It answers as many questions of this node as it does at once.
    #[error("node {0} has too many questions to answer")]
    Busy(Symbol),
}

/// Which node was asked, and who waits for what it says.
type Asked = (NodeId, Sender<Vec<u8>>);

/// See the module.
pub(crate) struct Questions {
    /// By their numbers.
    asked: Mutex<FxHashMap<u64, Asked>>,
    /// How many questions of each node are being answered.
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
    /// A question of this node is about to be answered. False if there are too many.
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
    /// Has whoever asks this node over its links answered. False if that is so already.
    pub fn answer_with(&self, answerer: Answerer) -> bool {
        self.questions.answerer.set(answerer).is_ok()
    }

    /// What another node answers.
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

    /// Another node asks.
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

    /// Another node answers.
    pub fn hear_answer(&self, from: NodeId, number: u64, answer: Vec<u8>) {
        let mut asked = locked(&self.questions.asked);
        // Nobody else may.
        if asked.get(&number).is_some_and(|(node, _)| *node == from)
            && let Some((_, tell)) = asked.remove(&number)
        {
            let _ = tell.send(answer);
        }
    }
}
