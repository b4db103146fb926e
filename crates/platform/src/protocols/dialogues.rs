//! Dialogues of one agent.

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value, sym};

use super::dialogue::{Dialogue, MessageVerdict, SayError, Saying};
use super::table::{Protocol, ProtocolRole, START};
use crate::limits::DIALOGUES_MAX;

/// Conversation identifier, and the other agent.
type DialogueKey = (Text, Aid);

/// All dialogues of one agent, by conversation and other agent.
///
/// Inputs are messages that the agent is about to send ([`say`](Self::say)), messages that it received
/// ([`take`](Self::take)), and the time ([`handle_timeout`](Self::handle_timeout)). Outputs are verdicts, automatic
/// answers that the agent sends as they are, the next deadline ([`poll_timeout`](Self::poll_timeout)), and dialogues
/// that deadlines ended. Call `say` before each message is sent, `take` in the order of arrival, and `handle_timeout`
/// when `poll_timeout` is due.
///
/// [`DIALOGUES_MAX`] dialogues are kept. Beyond that, the oldest ones that are over are forgotten first.
#[derive(Clone, Debug)]
pub struct Dialogues {
    me: Aid,
    home: Symbol,
    all: FxHashMap<DialogueKey, Dialogue>,
    /// Keys in the order of their beginnings.
    order: std::collections::VecDeque<DialogueKey>,
}

/// Message that was judged.
#[derive(Clone, Debug)]
pub struct JudgedMessage {
    /// Verdict.
    pub verdict: MessageVerdict,
    /// Other agent of the dialogue: the sender, or the agent that a message did not reach.
    pub other: Aid,
    /// State of the dialogue after the message; `None` if there is no dialogue.
    pub state: Option<&'static str>,
    /// Answer to send.
    pub answer: Option<AclMessage>,
}

impl Dialogues {
    /// Returns the dialogues of the agent `me` on the platform `home`, of which there are none yet.
    pub fn new(me: Aid, home: Symbol) -> Self {
        Self { me, home, all: FxHashMap::default(), order: std::collections::VecDeque::new() }
    }

    /// Returns the dialogue in a conversation with an agent.
    pub fn find(&self, conversation: &str, other: Aid) -> Option<&Dialogue> {
        self.all.get(&(Text::from(conversation), self.at_home(other)))
    }

    /// Takes note of a message that the agent sends, once for each receiver. Messages of other protocols, and those
    /// without a conversation, are none of its business.
    ///
    /// # Errors
    /// The protocol does not allow it in one of the dialogues, maybe because a deadline has passed: the message is not
    /// to be sent, and nothing changed.
    pub fn say(&mut self, message: &AclMessage, now_ms: u64) -> Result<(), SayError> {
        let extras = message.extras();
        let Some(conversation) = &extras.conversation_id else { return Ok(()) };
        let protocol = extras.protocol.and_then(|name| Protocol::named(name.as_str()));
        let said = Saying::from(message);
        let mut changed = Vec::new();
        for receiver in &message.receivers {
            let key = (conversation.clone(), self.at_home(*receiver));
            let mut dialogue = match (self.all.get(&key), protocol) {
                (Some(dialogue), _) => dialogue.clone(),
                (None, Some(protocol)) => Dialogue::new(protocol, ProtocolRole::Initiator),
                (None, None) => continue,
            };
            dialogue.say(&said, now_ms)?;
            changed.push((key, dialogue));
        }
        changed.into_iter().for_each(|(key, dialogue)| self.put(key, dialogue));
        Ok(())
    }

    /// Judges a message. `None` if it belongs to no protocol.
    pub fn take(&mut self, message: &AclMessage, now_ms: u64) -> Option<JudgedMessage> {
        let extras = message.extras();
        let sender = self.at_home(message.sender);
        let unreached = unreached(message).filter(|_| sender.name == sym::AMS);
        let other = unreached.map_or(sender, |aid| self.at_home(aid));
        let conversation = match &extras.conversation_id {
            Some(conversation) => conversation.clone(),
            None => self.conversation_of(other, extras.in_reply_to.as_ref())?,
        };
        let key = (conversation, other);
        let said = Saying::from(message);
        if let Some(dialogue) = self.all.get_mut(&key) {
            let by = if unreached.is_some() { ProtocolRole::Platform } else { dialogue.role().other() };
            let verdict = dialogue.take(by, &said, now_ms);
            let state = Some(dialogue.state());
            let answer = self.answer(message, &verdict);
            return Some(JudgedMessage { verdict, other, state, answer });
        }
        let protocol = extras.protocol.and_then(|name| Protocol::named(name.as_str()))?;
        let mut dialogue = Dialogue::new(protocol, ProtocolRole::Participant);
        if protocol.next(START, ProtocolRole::Initiator, said.performative).is_some() {
            let verdict = dialogue.take(ProtocolRole::Initiator, &said, now_ms);
            let state = Some(dialogue.state());
            // A recruiter passes on a question of another agent, who gets the answers.
            let other = extras.reply_to.first().map_or(other, |asker| self.at_home(*asker));
            let key = (key.0, other);
            self.put(key, dialogue);
            return Some(JudgedMessage { verdict, other, state, answer: None });
        }
        let verdict = MessageVerdict::Unknown(dialogue.explain(ProtocolRole::Initiator, said.performative));
        let answer = self.answer(message, &verdict);
        Some(JudgedMessage { verdict, other, state: None, answer })
    }

    /// Returns the conversation of a message without an identifier: the one whose question it quotes, or the only one
    /// with its sender that is not over.
    fn conversation_of(&self, other: Aid, quoted: Option<&Text>) -> Option<Text> {
        let mut with_other = self.all.iter().filter(|((_, agent), dialogue)| {
            *agent == other && quoted.map_or(!dialogue.is_over(), |quoted| dialogue.has_asked(quoted))
        });
        let ((conversation, _), _) = with_other.next()?;
        with_other.next().is_none().then(|| conversation.clone())
    }

    /// Returns the earliest deadline, in milliseconds since 1970.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.all.values().filter_map(Dialogue::poll_timeout).min()
    }

    /// Handles the passing of time. Returns the dialogues whose deadlines passed: conversation and other agent.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Vec<(Text, Aid)> {
        let late =
            self.all.iter_mut().filter_map(|(key, dialogue)| dialogue.handle_timeout(now_ms).then(|| key.clone()));
        let mut late: Vec<DialogueKey> = late.collect();
        late.sort_by(|(one, agent), (other, another)| (one, agent.name.as_str()).cmp(&(other, another.name.as_str())));
        late
    }

    /// Forgets a dialogue: a later message of it is unknown.
    pub fn forget(&mut self, conversation: &str, other: Aid) {
        let key = (Text::from(conversation), self.at_home(other));
        self.all.remove(&key);
        self.order.retain(|known| *known != key);
    }

    fn put(&mut self, key: DialogueKey, dialogue: Dialogue) {
        if self.all.insert(key.clone(), dialogue).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > DIALOGUES_MAX {
            let is_over = |key: &DialogueKey| self.all.get(key).is_none_or(Dialogue::is_over);
            let oldest = self.order.iter().position(is_over).unwrap_or_default();
            if let Some(key) = self.order.remove(oldest) {
                self.all.remove(&key);
            }
        }
    }

    fn answer(&self, message: &AclMessage, verdict: &MessageVerdict) -> Option<AclMessage> {
        let (performative, content) = match verdict {
            MessageVerdict::Ok | MessageVerdict::Late(None) => return None,
            MessageVerdict::Late(Some(performative)) => (*performative, Value::from("too late")),
            MessageVerdict::Wrong(text) => (Performative::NotUnderstood, Value::from(text.as_str())),
            MessageVerdict::Unknown(_) if message.performative == Performative::NotUnderstood => return None,
            MessageVerdict::Unknown(text) => (Performative::NotUnderstood, Value::from(text.as_str())),
        };
        Some(message.make_reply(self.me, performative).with_content(content))
    }

    /// Strips the platform from agents of this platform, so that names compare equal.
    fn at_home(&self, aid: Aid) -> Aid {
        if aid.platform == self.home { Aid::local(aid.name) } else { aid }
    }
}

/// Returns the agent that the AMS could not reach, if the message reports that.
fn unreached(message: &AclMessage) -> Option<Aid> {
    if message.performative != Performative::Failure {
        return None;
    }
    let word = message.content.items().find(|it| it.functor().is_some_and(|name| name.as_str() == "undelivered"))?;
    match word.args().first()? {
        Value::Atom(name) => Some(name.as_str().parse().unwrap_or_else(|_| Aid::local(*name))),
        Value::Str(name) => name.parse().ok(),
        _ => None,
    }
}
