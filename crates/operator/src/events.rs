//! Events: as they happen, as the log of conversations keeps them, and dead letters.

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whimbrel_platform::conversations::Wanted;
use whimbrel_platform::limits::LIVE_LINES_BYTES_MAX;

/// Filter of events. A member that is not set matches any; patterns are those of [`AgentsWanted::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SniffWanted {
    /// Agents of which one is the sender or the receiver, as patterns.
    pub agents: Vec<String>,
    /// Conversation, as a pattern.
    pub conversation: Option<String>,
    /// Performatives of which the message has one.
    pub performatives: Vec<String>,
    /// True for messages only: neither events of agents nor of directory entries.
    pub only_messages: bool,
}

/// Filter of the log of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogWanted {
    /// Number of the last entry that is known already.
    pub since: u64,
    /// True to wait for new entries, too.
    pub follow: bool,
    /// Filter of the messages.
    #[serde(flatten)]
    pub wanted: Wanted,
}

/// Entry of the log of conversations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Number of the entry: a client that asks for the entries after it misses nothing. For a [`Happening::Tick`],
    /// number of the last entry that was looked at.
    pub number: u64,
    /// Event of the entry.
    #[serde(flatten)]
    pub event: NodeEvent,
}

/// Entries of the log of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationsFound {
    /// Entries, in order.
    pub lines: Vec<LogLine>,
    /// Value of `since` for the next request.
    pub next: u64,
    /// True if the log had no more entries.
    pub complete: bool,
    #[serde(skip)]
    bytes: usize,
}

impl ConversationsFound {
    /// Makes an empty list of the entries after this number.
    pub fn after(number: u64) -> Self {
        Self { next: number, ..Self::default() }
    }

    /// Adds an entry. Breaks once the list has `most` entries, or as many bytes as an answer may have.
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
    /// Returns the approximate size of the entry, in bytes.
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

/// Event on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct NodeEvent {
    /// Time in microseconds since 1970-01-01 UTC.
    pub at_us: u64,
    /// Name of the node.
    pub node: String,
    /// Kind of the event.
    #[serde(flatten)]
    pub what: Happening,
}

/// Kind of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A message was sent.
    Sent(MessageInfo),
    /// A message could not reach its receiver.
    Died {
        /// The message.
        #[serde(flatten)]
        message: MessageInfo,
        /// Reason.
        why: String,
    },
    /// An agent arrived, left or changed its state.
    Agent {
        /// Name of the agent.
        agent: String,
        /// Change, for people.
        text: String,
    },
    /// A directory entry appeared, disappeared or changed.
    Service {
        /// Agent of the entry.
        agent: String,
        /// Change, for people.
        text: String,
    },
    /// An operation was refused.
    Refused {
        /// Reason, for programs: `bad_token`, `forbidden` and so on.
        reason: String,
        /// Principal that was refused, as the policy writes it; or an address.
        who: String,
        /// Attempted action, if it is known.
        action: Option<String>,
        /// Object of the action; empty if unknown.
        object: String,
        /// Details, for people; may be empty.
        text: String,
        /// Sentence for people: who wanted what, and why not.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        sentence: String,
        /// Number of equal refusals that this event stands for.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        count: u64,
    },
    /// An act was allowed, and done.
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
        /// Sentence for people: who did what, on what, from where.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        sentence: String,
        /// Number of equal acts that this event stands for.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        count: u64,
    },
    /// Events were left out here: they came faster than they were read.
    Skipped {
        /// Number of events.
        count: u64,
    },
    /// A process continues the log of conversations of one that did not end in order. The last messages of the former
    /// process may be missing.
    CutShort,
    /// Entries of the log of conversations were deleted here.
    Dropped {
        /// Number of entries.
        count: u64,
    },
    /// No event: only the time.
    Tick,
}

/// Message, as observers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageInfo {
    /// Sender.
    pub from: String,
    /// Receiver of this copy.
    pub to: String,
    /// Topic or group that the message was sent to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Performative.
    pub performative: String,
    /// Conversation, if the message has one.
    pub conversation: Option<String>,
    /// Interaction protocol, if the message has one.
    pub protocol: Option<String>,
    /// Text that a reply must quote, if any.
    pub reply_with: Option<String>,
    /// Text that the message quotes, if it is a reply.
    pub in_reply_to: Option<String>,
    /// Content in AgentSpeak's notation, shortened if it is long.
    pub content: String,
    /// Rare parameters, if the message has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<MoreInfo>>,
}

/// Rare parameters of a message (FIPA00061).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoreInfo {
    /// Some of the other receivers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Number of other receivers that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others_left_out: u64,
    /// Receivers of replies, instead of the sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_to: Vec<String>,
    /// Deadline for replies, in milliseconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_by_ms: Option<u64>,
    /// Language of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Encoding of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Ontology of the content: gives its symbols meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ontology: Option<String>,
    /// Some of the `X-` parameters, with values in AgentSpeak's notation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user: Vec<(String, String)>,
    /// Number of `X-` parameters that are left out.
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

/// Recent events of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsFound {
    /// Matching events, the oldest first.
    pub events: Vec<NodeEvent>,
    /// Value of `since` for the next request. A node that begins anew to keep events answers a lower one.
    pub next: u64,
}

/// Messages that could not reach their receivers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLettersFound {
    /// Newest matching dead letters that are kept, the oldest of them first.
    pub letters: Vec<NodeEvent>,
    /// Number of dead letters since the node started.
    pub total: u64,
}
