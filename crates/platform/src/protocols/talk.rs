//! Talk: a conversation that an agent began with several others.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value};

use super::dialogue::SayError;
use super::dialogues::{Dialogues, JudgedMessage};
use super::table::{Protocol, START};

/// Conversation that an agent began, with several other agents.
///
/// Inputs are received messages ([`take`](Self::take)) and the time ([`handle_timeout`](Self::handle_timeout)); the
/// command is [`say`](Self::say). Outputs are messages to send ([`poll_message`](Self::poll_message)), the next
/// deadline ([`poll_timeout`](Self::poll_timeout)), and the states of the other agents. Send all messages after each
/// input and command.
#[derive(Clone, Debug)]
pub struct Talk {
    me: Aid,
    dialogues: Dialogues,
    protocol: &'static Protocol,
    conversation: Text,
    others: Vec<Aid>,
    last: FxHashMap<Aid, AclMessage>,
    outgoing: VecDeque<AclMessage>,
    said: u64,
}

impl Talk {
    /// Returns a conversation in which nothing was said. `me` is an agent of the platform `home`.
    pub fn new(
        me: Aid,
        home: Symbol,
        protocol: &'static Protocol,
        conversation: impl Into<Text>,
        others: impl IntoIterator<Item = Aid>,
    ) -> Self {
        let others = others.into_iter().map(|other| local(other, home)).collect();
        let (conversation, dialogues) = (conversation.into(), Dialogues::new(me, home));
        let (last, outgoing) = (FxHashMap::default(), VecDeque::new());
        Self { me, dialogues, protocol, conversation, others, last, outgoing, said: 0 }
    }

    /// Returns the other agents.
    pub fn others(&self) -> &[Aid] {
        &self.others
    }

    /// Says something to some of the other agents. They have to answer by `reply_by_ms`, in milliseconds since 1970.
    ///
    /// # Errors
    /// The protocol does not allow it towards one of them, maybe because a deadline has passed: nothing is sent.
    pub fn say(
        &mut self,
        to: &[Aid],
        performative: Performative,
        content: &Value,
        reply_by_ms: Option<u64>,
        now_ms: u64,
    ) -> Result<(), SayError> {
        self.handle_timeout(now_ms);
        let mut dialogues = self.dialogues.clone();
        let mut messages = Vec::new();
        for other in to {
            self.said += 1;
            let mut message = AclMessage::new(performative, self.me, *other, content.clone())
                .with_protocol(self.protocol.name.as_str())
                .in_conversation(self.conversation.clone())
                .with_reply_with(format!("{}/{}", self.conversation, self.said));
            let extras = message.extras_mut();
            extras.reply_by_ms = reply_by_ms;
            extras.in_reply_to = self.last.get(other).and_then(|last| last.extras().reply_with.clone());
            dialogues.say(&message, now_ms)?;
            messages.push(message);
        }
        self.dialogues = dialogues;
        self.outgoing.extend(messages);
        Ok(())
    }

    /// Takes a message. `None` if it belongs to another conversation.
    pub fn take(&mut self, message: &AclMessage, now_ms: u64) -> Option<JudgedMessage> {
        let of_other = message.extras().conversation_id.as_ref().is_some_and(|id| *id != self.conversation);
        let judged = if of_other { None } else { self.dialogues.take(message, now_ms) }?;
        self.outgoing.extend(judged.answer.clone());
        if judged.verdict == super::MessageVerdict::Ok {
            self.last.insert(judged.other, message.clone());
        }
        Some(judged)
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now_ms: u64) {
        self.dialogues.handle_timeout(now_ms);
    }

    /// Returns the next deadline, in milliseconds since 1970.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.dialogues.poll_timeout()
    }

    /// Returns the next message to send.
    pub fn poll_message(&mut self) -> Option<AclMessage> {
        self.outgoing.pop_front()
    }

    /// Returns the state of the conversation with another agent.
    pub fn state(&self, other: Aid) -> &'static str {
        self.dialogues.find(&self.conversation, other).map_or(START, super::Dialogue::state)
    }

    /// Returns the other agents in one of these states.
    pub fn among(&self, states: &[&str]) -> Vec<Aid> {
        self.others.iter().copied().filter(|other| states.contains(&self.state(*other))).collect()
    }

    /// Returns the newest message of another agent that the protocol allowed.
    pub fn last(&self, other: Aid) -> Option<&AclMessage> {
        self.last.get(&other)
    }

    /// Returns true if the conversation is over with all other agents.
    pub fn is_over(&self) -> bool {
        self.others.iter().all(|other| self.protocol.is_end(self.state(*other)))
    }

    /// Cancels the conversation with all agents with whom it continues, by FIPA's cancel meta-protocol.
    ///
    /// # Errors
    /// A cancel is not allowed.
    pub fn cancel(&mut self, reply_by_ms: Option<u64>, now_ms: u64) -> Result<(), SayError> {
        self.handle_timeout(now_ms);
        let continues = |other: &Aid| {
            let state = self.state(*other);
            state != START && state != "cancelling" && !self.protocol.is_end(state)
        };
        let open: Vec<Aid> = self.others.iter().copied().filter(continues).collect();
        self.say(&open, Performative::Cancel, &Value::Null, reply_by_ms, now_ms)
    }
}

fn local(aid: Aid, home: Symbol) -> Aid {
    if aid.platform == home { Aid::local(aid.name) } else { aid }
}
