//! Task with all that the server knows of it.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Extras, Performative, Symbol, Text, Value};
use whimbrel_platform::Time;

use super::reaction::{ReactionFacts, ResultPlace};
use super::{ClientId, Moment, WatchId};
use crate::a2a::acl::{self, AclExtension};
use crate::a2a::object::{
    A2aArtifact, A2aMessage, A2aTask, ArtifactUpdate, MessageRole, StatusUpdate, TaskState, TaskStatus, TaskUpdate,
};
use crate::a2a::timestamp;

/// Identifiers of own messages that an answer may quote; the oldest is forgotten.
const QUOTABLE_MAX: usize = 8;

/// Purpose of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchKind {
    /// Waits until the task is settled.
    Settled,
    /// Takes all updates.
    Stream,
    /// Waits until the task is called off.
    Cancel,
}

/// Question of the agent that the client has not answered.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentQuestion {
    pub reply_with: Option<Text>,
    pub conversation: Option<Text>,
    pub protocol: Option<Symbol>,
}

/// Task with all that the server knows of it.
pub(super) struct TaskEntry {
    pub task: A2aTask,
    pub client: ClientId,
    pub context: u64,
    /// Agent that works on the task.
    pub agent: Aid,
    /// First message to the agent.
    pub request: AclMessage,
    /// Identifiers that the agent's messages may quote, the first message's first.
    pub quotable: Vec<Text>,
    pub question: Option<AgentQuestion>,
    /// Identifier of the cancellation that the agent has not answered.
    pub cancel: Option<Text>,
    pub extension: AclExtension,
    pub watches: Vec<(WatchId, WatchKind)>,
    /// True if the client may know that there is a task.
    pub is_known: bool,
    pub announce_at: Option<Time>,
    pub answer_by: Option<Time>,
    pub cancel_by: Option<Time>,
    /// Timer that is set.
    pub timer: Option<Time>,
    pub bytes: usize,
    /// Bytes that the client's account has of the task; they only grow.
    pub counted: usize,
    /// Number of the last change, among those of all tasks.
    pub change: u64,
    written: u32,
}

impl TaskEntry {
    pub fn new(
        task: A2aTask,
        (client, context): (ClientId, u64),
        (agent, request): (Aid, AclMessage),
        extension: AclExtension,
    ) -> Self {
        let bytes = task.history.iter().map(|message| message.footprint()).sum();
        let quotable = request.extras().reply_with.iter().cloned().collect();
        Self {
            task,
            client,
            context,
            agent,
            request,
            quotable,
            question: None,
            cancel: None,
            extension,
            watches: Vec::new(),
            is_known: false,
            announce_at: None,
            answer_by: None,
            cancel_by: None,
            timer: None,
            bytes,
            counted: 0,
            change: 0,
            written: 0,
        }
    }

    pub fn state(&self) -> TaskState {
        self.task.status.state
    }

    /// Returns the moment of the first of the timers.
    pub fn due(&self) -> Option<Time> {
        [self.announce_at, self.answer_by, self.cancel_by].into_iter().flatten().min()
    }

    pub fn conversation(&self) -> Option<&Text> {
        self.request.extras().conversation_id.as_ref()
    }

    /// Returns true if a message quotes one of the client's, or is in a conversation of the task.
    pub fn is_named_by(&self, extras: &Extras) -> bool {
        let quotes = |id: &Text| self.quotable.contains(id) || self.cancel.as_ref() == Some(id);
        let asks_in = |id: &Text| self.question.as_ref().is_some_and(|it| it.conversation.as_ref() == Some(id));
        extras.in_reply_to.as_ref().is_some_and(quotes)
            || extras.conversation_id.as_ref().is_some_and(|id| self.conversation() == Some(id) || asks_in(id))
    }

    /// Returns true if the agent's message may be about this task although it names none.
    pub fn may_mean(&self, message: &AclMessage) -> bool {
        message.extras().in_reply_to.is_none() && message.sender.name == self.agent.name
    }

    pub fn facts(&self, message: &AclMessage) -> ReactionFacts {
        let quoted = message.extras().in_reply_to.as_ref();
        let answers_cancel = match (&self.cancel, quoted) {
            (Some(cancel), Some(quoted)) => cancel == quoted,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let first = self.quotable.first();
        ReactionFacts {
            answers_cancel,
            answers_later: quoted.is_some_and(|quoted| Some(quoted) != first),
            goes_on: matches!(self.request.performative, Performative::Subscribe | Performative::RequestWhenever),
            is_unknown: !self.is_known,
        }
    }

    pub fn note_quotable(&mut self, id: Text) {
        if self.quotable.len() >= QUOTABLE_MAX {
            // The first message can always be quoted.
            self.quotable.remove(1);
        }
        self.quotable.push(id);
    }

    /// Makes a message of the agent about the task.
    pub fn message_of(&mut self, said: &AclMessage) -> Arc<A2aMessage> {
        let written = acl::write(said, self.extension);
        self.written += 1;
        Arc::new(A2aMessage {
            message_id: format!("{}-{}", self.task.id, self.written),
            context_id: Some(self.task.context_id.clone()),
            task_id: Some(self.task.id.clone()),
            role: MessageRole::Agent,
            parts: written.parts,
            metadata: written.metadata,
            extensions: written.extensions,
            reference_task_ids: Vec::new(),
        })
    }

    /// Makes a message of the server about the task.
    pub fn remark(&mut self, text: &str) -> Arc<A2aMessage> {
        let said = AclMessage::new(Performative::Failure, self.agent, self.agent, Value::from(text));
        let extension = std::mem::take(&mut self.extension);
        let message = self.message_of(&said);
        self.extension = extension;
        message
    }

    /// Changes the status, and returns the update.
    pub fn set_status(&mut self, state: TaskState, message: Option<Arc<A2aMessage>>, at: Moment) -> TaskUpdate {
        self.bytes += message.as_ref().map_or(0, |message| message.footprint());
        let status = TaskStatus { state, message, timestamp: timestamp(at.wall_ms) };
        let before = std::mem::replace(&mut self.task.status, status.clone());
        self.task.history.extend(before.message);
        let (task_id, context_id) = (self.task.id.clone(), self.task.context_id.clone());
        TaskUpdate::StatusUpdate(StatusUpdate { task_id, context_id, status })
    }

    /// Adds a result, and returns the update; `None` if the result has no content.
    pub fn add_result(&mut self, said: &AclMessage, place: &ResultPlace) -> Option<TaskUpdate> {
        if matches!(said.content, Value::Null) && self.extension != AclExtension::Whole {
            return None;
        }
        let written = acl::write(said, self.extension);
        let artifact_id = match &place.artifact {
            Some(id) => id.clone(),
            None if place.appends => {
                self.task.artifacts.last().map_or_else(|| "1".to_owned(), |artifact| artifact.artifact_id.clone())
            }
            None => (self.task.artifacts.len() + 1).to_string(),
        };
        let artifact = A2aArtifact {
            name: place.artifact.clone(),
            artifact_id,
            parts: written.parts,
            metadata: written.metadata,
            extensions: written.extensions,
        };
        self.bytes += artifact.footprint();
        let artifact = Arc::new(artifact);
        let known = self.task.artifacts.iter_mut().find(|known| known.artifact_id == artifact.artifact_id);
        let appends = known.is_some() && place.appends;
        match known {
            Some(known) if appends => {
                let whole = Arc::make_mut(known);
                whole.parts.extend(artifact.parts.iter().cloned());
            }
            Some(known) => *known = Arc::clone(&artifact),
            None => self.task.artifacts.push(Arc::clone(&artifact)),
        }
        let (task_id, context_id) = (self.task.id.clone(), self.task.context_id.clone());
        let last_chunk = place.is_last;
        Some(TaskUpdate::ArtifactUpdate(ArtifactUpdate { task_id, context_id, artifact, append: appends, last_chunk }))
    }
}
