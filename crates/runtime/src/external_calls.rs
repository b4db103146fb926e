//! External calls: questions to agents from outside, whose answers an agent of the platform receives.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Text};
use whimbrel_platform::ams::AgentKind;

use crate::agent::Agent;
use crate::context::Context;
use crate::native_body::NativeBody;
use crate::platform::Platform;
use crate::sync::{Mutex, locked};

/// Reason why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// No such agent exists.
    #[error("there is no agent named {0}")]
    NoSuchAgent(Aid),
    /// No answer came in time.
    #[error("agent {agent} did not answer within {at_most:?}")]
    NoAnswer {
        /// Agent that was asked.
        agent: Aid,
        /// Time that the call waited.
        at_most: Duration,
    },
    /// The question names no receiver, or the platform is stopping.
    #[error("the call cannot be sent")]
    CannotAsk,
}

type Questions = Arc<Mutex<FxHashMap<Text, SyncSender<MessageBody>>>>;

/// Pending external calls, with the agent that receives their answers.
pub(crate) struct ExternalCalls {
    desk: Option<Aid>,
    open: Questions,
}

struct AnswerReceiver {
    open: Questions,
}

impl Agent for AnswerReceiver {
    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        let ticket = message.extras().in_reply_to.clone();
        if let Some(asker) = ticket.and_then(|ticket| locked(&self.open).remove(&ticket)) {
            // The caller may have given up.
            let _ = asker.try_send(message);
        }
    }
}

impl ExternalCalls {
    pub fn open(platform: &Platform) -> Self {
        let open = Questions::default();
        let desk = NativeBody::boxed(AnswerReceiver { open: Arc::clone(&open) });
        // Other nodes have such an agent, too.
        let name = format!("outside-{:08x}", platform.services().random() as u32);
        Self { desk: platform.spawn_kind(name.as_str(), AgentKind::Service, desk).ok(), open }
    }

    pub fn ask(
        &self,
        platform: &Platform,
        at_most: Duration,
        mut question: Box<AclMessage>,
    ) -> Result<MessageBody, AskError> {
        let (Some(desk), Some(agent)) = (self.desk, question.receivers.first().copied()) else {
            return Err(AskError::CannotAsk);
        };
        let services = platform.services();
        if !services.exists(agent) {
            return Err(AskError::NoSuchAgent(agent));
        }
        let ticket = Text::from(format!("{:016x}", services.random()));
        let (asker, answer) = sync_channel(1);
        locked(&self.open).insert(ticket.clone(), asker);
        question.sender = desk;
        question.extras_mut().reply_with = Some(ticket.clone());
        platform.send(question);
        answer.recv_timeout(at_most).map_err(|error| {
            locked(&self.open).remove(&ticket);
            match error {
                RecvTimeoutError::Timeout => AskError::NoAnswer { agent, at_most },
                RecvTimeoutError::Disconnected => AskError::CannotAsk,
            }
        })
    }
}
