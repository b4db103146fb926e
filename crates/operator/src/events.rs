//! What happens: as it does, as a log of conversations keeps it, and messages that died.

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::conversations::Wanted;
use whimbrel_platform::limits::LIVE_LINES_BYTES_MAX;

/// Which events are wanted. What is not set matches any; patterns are those of [`AgentsWanted::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SniffWanted {
    /// One of these is the sender or the receiver.
    pub agents: Vec<String>,
    /// The conversation, by a pattern.
    pub conversation: Option<String>,
    /// One of these performatives.
    pub performatives: Vec<String>,
    /// Messages only: neither agents that come and go nor directory entries.
    pub only_messages: bool,
}

/// What is wanted of a log of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogWanted {
    /// What comes after the entry of this number.
    pub since: u64,
    /// Also what will be said.
    pub follow: bool,
    /// Which messages.
    #[serde(flatten)]
    pub wanted: Wanted,
}

/// An entry of a log of conversations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Its number: whoever asks for what came after it misses nothing. Of a [`Happening::Tick`], that of the last entry that was
    /// looked at.
    pub number: u64,
    /// What it is about.
    #[serde(flatten)]
    pub event: Event,
}

/// Entries of a log of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationsFound {
    /// The entries.
    pub lines: Vec<LogLine>,
    /// What to ask for as `since` to go on.
    pub next: u64,
    /// There was no more when it was asked.
    pub complete: bool,
    #[serde(skip)]
    bytes: usize,
}

impl ConversationsFound {
    /// None yet, of those that come after the entry of this number.
    pub fn after(number: u64) -> Self {
        Self { next: number, ..Self::default() }
    }

    /// Takes in what a log tells next, until it is so many entries or so many bytes that it is enough.
    pub fn take(&mut self, line: LogLine, most: usize) -> ControlFlow<()> {
        self.next = line.number;
        self.complete = matches!(line.event.what, Happening::Tick);
        if self.complete {
            return ControlFlow::Continue(());
        }
        self.bytes += line.bytes();
        self.lines.push(line);
        let is_enough = self.lines.len() >= most || self.bytes >= LIVE_LINES_BYTES_MAX;
        if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl LogLine {
    /// How much it has to say, in bytes, roughly.
    pub fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let said = match &self.event.what {
            Happening::Sent(message) | Happening::Died { message, .. } => {
                let MessageInfo {
                    from,
                    to,
                    via,
                    performative,
                    conversation,
                    protocol,
                    reply_with,
                    in_reply_to,
                    content,
                    more,
                } = message;
                let options: usize = [via, conversation, protocol, reply_with, in_reply_to].into_iter().map(text).sum();
                let more = more.as_ref().map_or(0, |more| more.bytes());
                from.len() + to.len() + performative.len() + content.len() + options + more
            }
            _ => 0,
        };
        std::mem::size_of::<Self>() + said
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When, in microseconds since 1970-01-01 UTC.
    pub at_us: u64,
    /// On which node.
    pub node: String,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A message was sent.
    Sent(MessageInfo),
    /// A message cannot reach its receiver.
    Died {
        /// The message.
        #[serde(flatten)]
        message: MessageInfo,
        /// Why.
        why: String,
    },
    /// An agent came, went or changed its state.
    Agent {
        /// Which agent.
        agent: String,
        /// What became of it, for people.
        text: String,
    },
    /// A directory entry came, went or changed.
    Service {
        /// Whose.
        agent: String,
        /// What became of it, for people.
        text: String,
    },
    /// Something was refused.
    Refused {
        /// Why, for programs: `bad_token`, `forbidden` and so on.
        reason: String,
        /// Whom: a principal as the policy writes it, or an address.
        who: String,
        /// What they wanted to do, if that is known.
        action: Option<String>,
        /// To whom or what; empty if that is not known.
        object: String,
        /// More about it, for people; may be empty.
        text: String,
        /// Number of equal refusals that this event stands for.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        count: u64,
    },
    /// Something was allowed, and done.
    Allowed {
        /// Principal as the policy writes it, holder of a token, or user of the machine.
        who: String,
        /// Way of the request; empty if the principal says it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        from: String,
        /// Action: `kill`, `move`, `spawn` and so on.
        action: String,
        /// Agent or thing that the action was about.
        object: String,
        /// Reason why the action failed, or the process that asked; may be empty.
        text: String,
        /// Number of equal acts that this event stands for.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        count: u64,
    },
    /// So many events were left out here: they came faster than they were read.
    Skipped {
        /// How many.
        count: u64,
    },
    /// A process went on with the log of conversations, and the one before it had not ended in order: the last that was said
    /// there may be missing.
    CutShort,
    /// So many entries of the log of conversations are not kept any more.
    Dropped {
        /// How many.
        count: u64,
    },
    /// Nothing; only the time.
    Tick,
}

/// What one sees of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageInfo {
    /// Its sender.
    pub from: String,
    /// The receiver of this copy.
    pub to: String,
    /// The topic or group by which it got it, if it was sent to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Its performative.
    pub performative: String,
    /// Its conversation, if it has one.
    pub conversation: Option<String>,
    /// Its interaction protocol, if it has one.
    pub protocol: Option<String>,
    /// What an answer is to quote, if it is to.
    pub reply_with: Option<String>,
    /// What it quotes, if it does.
    pub in_reply_to: Option<String>,
    /// Its content as AgentSpeak writes it, shortened if it is long.
    pub content: String,
    /// What else it says of itself, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<MoreInfo>>,
}

/// What few messages say of themselves (FIPA00061).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoreInfo {
    /// Who else it was sent to, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// How many more that are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others_left_out: u64,
    /// Where answers go instead of the sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_to: Vec<String>,
    /// Until when they are wanted, in milliseconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_by_ms: Option<u64>,
    /// The language of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// How that is encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// What gives the content's symbols meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ontology: Option<String>,
    /// Its `X-` parameters with their values as AgentSpeak writes them, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user: Vec<(String, String)>,
    /// How many more that are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub user_left_out: u64,
}

impl MoreInfo {
    fn bytes(&self) -> usize {
        let Self { others, reply_to, language, encoding, ontology, user, .. } = self;
        let words = [language, encoding, ontology].into_iter().flatten().chain(others).chain(reply_to);
        let user = user.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        std::mem::size_of::<Self>() + words.map(String::len).sum::<usize>() + user
    }
}

const fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Messages that could not reach their receivers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLettersFound {
    /// The newest of those that are kept and fit, the oldest of them first.
    pub letters: Vec<Event>,
    /// How many messages died since the node started.
    pub total: u64,
}
