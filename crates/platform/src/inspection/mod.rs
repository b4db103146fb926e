//! Inspection of an agent, and instructions to it. An operator asks a body between two of its turns
//! ([`Inspectable::inspect`](crate::capabilities::Inspectable::inspect)), and instructs it
//! ([`Inspectable::instruct`](crate::capabilities::Inspectable::instruct)). Plain data, bounded by the `INSPECTION_`
//! limits.

mod instruction;
mod texts;
mod upkeep;
mod workload;

use serde::{Deserialize, Serialize};

pub use instruction::{
    DebugOrder, DebuggerLine, DebuggerSetup, FailureStops, HitCount, Instructed, Instruction, ReportTo,
};
pub use texts::Texts;
pub use upkeep::{QuotaSeen, Upkeep};
pub use workload::{AgentActivity, Workload};

use crate::Mailbox;
use crate::limits::INSPECTION_MESSAGES_MAX;

/// Reason of a pause after a step ([`Inspection::paused_by`]).
pub const PAUSED_BY_STEP: &str = "a step";
/// Reason of a pause before the first step of an agent ([`Inspection::paused_by`]).
pub const PAUSED_BY_ENTRY: &str = "the beginning of its program";

/// Options of an inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Request to follow the agent: more inspections come soon. The agent is to remember its cycles until then
    /// ([`Inspection::recent`]), for [`INSPECTION_FOLLOWED_MS`](crate::limits::INSPECTION_FOLLOWED_MS) at most.
    pub follow: bool,
}

/// Inspection of an agent, made by its body. Fields that a kind of agent does not have are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Inspection {
    /// Number of reasoning cycles since the agent was first followed or debugged; not counted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    /// Pause of the agent: while paused, it has no cycles, and its messages wait.
    pub paused: bool,
    /// Reason of the pause: an order, or the plan with a breakpoint that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// True while a step that was ordered is not over.
    #[serde(skip_serializing_if = "is_false")]
    pub stepping: bool,
    /// Number of the intention whose step is next, if one is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<u64>,
    /// Failure at which the agent paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Box<FailureSeen>>,
    /// File of the agent's program, as the project names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// Beliefs and rules.
    pub beliefs: Vec<BeliefSeen>,
    /// Goals.
    pub goals: Vec<GoalSeen>,
    /// Intentions, the oldest first.
    pub intentions: Vec<IntentionSeen>,
    /// Plans of the agent, in the order in which they are tried, without those that every agent has.
    pub plans: Vec<PlanSeen>,
    /// Lines with breakpoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub line_breakpoints: Vec<ProgramLine>,
    /// Oldest waiting messages.
    pub mailbox: Vec<MessageSeen>,
    /// Number of waiting messages.
    pub mailbox_total: u64,
    /// Events that are not handled yet, in the order of handling.
    pub events: Vec<EventSeen>,
    /// Recent cycles, the newest last: only while the agent is followed or debugged.
    pub recent: Vec<CycleSeen>,
    /// Further details of this kind of agent, in reading order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// Numbers of omitted items, where there are too many.
    pub cut: Cut,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Belief or rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BeliefSeen {
    /// Literal without annotations; for a rule, the complete text.
    pub text: String,
    /// Namespace.
    pub namespace: String,
    /// Sources of the belief: `self`, `percept`, agents.
    pub sources: Vec<String>,
    /// Other annotations.
    pub annotations: Vec<String>,
    /// True for a rule.
    pub rule: bool,
}

/// Goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GoalSeen {
    /// Text, as `!serve(amy)`.
    pub text: String,
    /// State: `pending` before a plan is chosen, then the state of its intention.
    pub state: String,
    /// Number of the intention that pursues it.
    pub intention: Option<u64>,
    /// Reason why it makes no progress.
    pub reason: Option<String>,
}

/// Intention: a stack of plans in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IntentionSeen {
    /// Number: 1, 2, ... in the order in which intentions began.
    pub id: u64,
    /// State: `running`, `atomic` (no other runs), `waiting`, `suspended`.
    pub state: String,
    /// Event that the intention waits for.
    pub waits_for: Option<String>,
    /// Plans in progress, the innermost first.
    pub frames: Vec<FrameSeen>,
}

/// Failure at which an agent paused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FailureSeen {
    /// Place and reason, as in a report of the failure.
    pub text: String,
    /// True if a plan handles it.
    pub handled: bool,
    /// Intention as it was when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intention: Option<IntentionSeen>,
}

/// Plan in progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FrameSeen {
    /// Event that the frame handles, with the values that are known by now.
    pub trigger: String,
    /// Label of the plan.
    pub plan: String,
    /// File of the plan.
    pub file: String,
    /// Line where the plan begins; 0 if the plan has no text.
    pub line: u32,
    /// Present step, as the program writes it; `None` at the end.
    pub step: Option<String>,
    /// Line of the step.
    pub step_line: Option<u32>,
    /// Variables that have values, each with its value.
    pub unifier: Vec<(String, String)>,
}

/// Plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlanSeen {
    /// Label, which names it in breakpoints.
    pub label: String,
    /// Triggering event.
    pub trigger: String,
    /// Context; empty if the plan has none.
    pub context: String,
    /// Body; empty if there is none.
    pub body: String,
    /// Source from which the plan was acquired, if not the program: `self`, an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// File of the plan.
    pub file: String,
    /// Line where the plan begins; 0 if the plan has no text.
    pub line: u32,
    /// Breakpoint: the agent pauses when the plan is chosen.
    pub breakpoint: bool,
}

/// Line of a program's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramLine {
    /// File, as plans name it.
    pub file: String,
    /// Number of the line, from 1.
    pub line: u32,
}

/// Message that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MessageSeen {
    /// Sender.
    pub from: String,
    /// Performative, in FIPA's words.
    pub performative: String,
    /// Content.
    pub content: String,
}

/// Event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EventSeen {
    /// Text, as `+!serve(amy)[source(bob)]`.
    pub text: String,
    /// Number of the intention that waits until the event is handled.
    pub intention: Option<u64>,
}

/// Deed of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CycleSeen {
    /// Number of the cycle.
    pub cycle: u64,
    /// Deed in words.
    pub text: String,
}

/// Detail of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Detail {
    /// Name of the detail, a few words.
    pub name: String,
    /// Value of the detail.
    pub value: String,
}

impl Detail {
    /// Returns a detail.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }
}

/// Numbers of omitted items, by kind.
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
    /// Adds the waiting messages.
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
