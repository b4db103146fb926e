//! Operators' questions to other nodes, over the links.

use std::sync::mpsc::channel;
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::limits::{QUESTION_ANSWER_BYTES_MAX, QUESTION_BYTES_MAX};
use whimbrel_platform::link::News;
use whimbrel_platform::route::NodeId;

use super::Node;
use crate::panics::caught;
use crate::questions::{Answerer, QuestionError};
use crate::sync::{Arc, locked};

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
