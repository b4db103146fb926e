//! Looking into an agent, and steering it: what an operator asks of a body between two of its turns
//! ([`Inspectable::inspect`](crate::capabilities::Inspectable::inspect)), and what he has it do
//! ([`Inspectable::instruct`](crate::capabilities::Inspectable::instruct)). Plain data, bounded by the `INSPECTION_`
//! limits.

mod instruction;
mod texts;
mod upkeep;

use serde::{Deserialize, Serialize};

pub use instruction::{DebugOrder, Instructed, Instruction};
pub use texts::Texts;
pub use upkeep::{QuotaSeen, Upkeep};

use crate::Mailbox;
use crate::limits::INSPECTION_MESSAGES_MAX;

/// How somebody looks into an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// He will look again before long: the agent is to remember its cycles until then
    /// ([`Inspection::recent`]), at most [`INSPECTION_FOLLOWED_MS`](crate::limits::INSPECTION_FOLLOWED_MS) long.
    pub follow: bool,
}

/// What is in an agent, as its body tells it. What a kind of agent does not have is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Inspection {
    /// Reasoning cycles since somebody followed or debugged it; nobody counts them before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    /// Whether it was paused: it has no cycles, and its messages wait.
    pub paused: bool,
    /// Why it stands: it was told to, or the plan with a breakpoint that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// Whether a step that it was told to take is not over.
    #[serde(skip_serializing_if = "is_false")]
    pub stepping: bool,
    /// The file of its program, as the project names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// What it believes, and its rules.
    pub beliefs: Vec<BeliefSeen>,
    /// What it wants.
    pub goals: Vec<GoalSeen>,
    /// What it does, the oldest intention first.
    pub intentions: Vec<IntentionSeen>,
    /// The plans it knows, in the order they are tried; without those that every agent has.
    pub plans: Vec<PlanSeen>,
    /// The oldest of the messages that wait.
    pub mailbox: Vec<MessageSeen>,
    /// How many wait.
    pub mailbox_total: u64,
    /// What happened and was not handled yet, in the order it will be.
    pub events: Vec<EventSeen>,
    /// What its last cycles did, the newest last: only while somebody follows or debugs it.
    pub recent: Vec<CycleSeen>,
    /// What else there is to say of this kind of agent, in the order it is to be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// How many were left out, because there are too many.
    pub cut: Cut,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A belief or a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BeliefSeen {
    /// The literal without its annotations; of a rule all of it.
    pub text: String,
    /// Its namespace.
    pub namespace: String,
    /// Whom it is from: `self`, `percept`, agents.
    pub sources: Vec<String>,
    /// Its other annotations.
    pub annotations: Vec<String>,
    /// Whether it is a rule.
    pub rule: bool,
}

/// A goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GoalSeen {
    /// `!serve(amy)`
    pub text: String,
    /// `pending` before a plan is chosen, then that of its intention.
    pub state: String,
    /// The intention that pursues it, by number.
    pub intention: Option<u64>,
    /// Why it does not go on.
    pub reason: Option<String>,
}

/// A stack of plans in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IntentionSeen {
    /// Its number: 1, 2, ... in the order they were begun.
    pub id: u64,
    /// `running`, `atomic` (no other runs), `waiting`, `suspended`.
    pub state: String,
    /// For what.
    pub waits_for: Option<String>,
    /// The plans in progress, the innermost first.
    pub frames: Vec<FrameSeen>,
}

/// A plan in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FrameSeen {
    /// The event it is for, with the values that are known by now.
    pub trigger: String,
    /// Its label.
    pub plan: String,
    /// The file that its plan is from.
    pub file: String,
    /// The line where that begins; 0 if it was no text.
    pub line: u32,
    /// The step it is at, as it is written; `None` at its end.
    pub step: Option<String>,
    /// The step's line.
    pub step_line: Option<u32>,
    /// Its variables that have values, each with its value.
    pub unifier: Vec<(String, String)>,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlanSeen {
    /// Its label: by this it is known to breakpoints.
    pub label: String,
    /// What it is for.
    pub trigger: String,
    /// When it is applicable; empty if always.
    pub context: String,
    /// What it does; empty if nothing.
    pub body: String,
    /// The source it was acquired from, if it is not the program's: `self`, an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The file that it is from.
    pub file: String,
    /// The line where it begins; 0 if it was no text.
    pub line: u32,
    /// Whether the agent pauses when it is chosen.
    pub breakpoint: bool,
}

/// A message that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MessageSeen {
    /// Its sender.
    pub from: String,
    /// What it wants, in FIPA's words.
    pub performative: String,
    /// What it says.
    pub content: String,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventSeen {
    /// `+!serve(amy)[source(bob)]`
    pub text: String,
    /// The intention that waits for it to be handled, by number.
    pub intention: Option<u64>,
}

/// Something a cycle did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CycleSeen {
    /// Which cycle.
    pub cycle: u64,
    /// What it did.
    pub text: String,
}

/// Something to say of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Detail {
    /// What it is about, a few words.
    pub name: String,
    /// What is to be said about it.
    pub value: String,
}

impl Detail {
    /// That this is so.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }
}

/// How many of each were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cut {
    /// Beliefs and rules.
    pub beliefs: u64,
    /// Goals.
    pub goals: u64,
    /// Intentions.
    pub intentions: u64,
    /// Plans in progress, of the intentions that are shown: the outer ones.
    pub frames: u64,
    /// Plans.
    pub plans: u64,
    /// Messages.
    pub mailbox: u64,
    /// Events.
    pub events: u64,
}

impl Inspection {
    /// Adds the messages that wait.
    pub fn look_at(&mut self, mailbox: &Mailbox, texts: &mut Texts) {
        for message in mailbox.iter().take(INSPECTION_MESSAGES_MAX) {
            if texts.is_full() {
                break;
            }
            self.mailbox.push(MessageSeen {
                from: texts.of(message.sender.name),
                performative: message.performative.to_string(),
                content: texts.of(&message.content),
            });
        }
        self.mailbox_total = mailbox.len() as u64;
        self.cut.mailbox = self.mailbox_total - self.mailbox.len() as u64;
    }
}
