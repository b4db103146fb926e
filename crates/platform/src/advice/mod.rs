//! Advisor for jobs with documents of another node: whether to send the agent there, or to ask for the documents.
//!
//! Pure arithmetic about the link, both nodes, the job and the agent. Unknown values are [assumed](assumed), and the
//! advice says so.
//!
//! # The formulae
//!
//! The job is with *n* documents of *b* bytes, of which the share *p* passes. The link has the round trip *R* and
//! carries *Wo* bytes a second out and *Wb* back. An agent has a state of *s* bytes, and code of *c* bytes that the
//! other node lacks (0 if it has it).
//!
//! - Latency: going takes *R* for each of two hops, and *R* for each part of code. A hop takes 1.5 *R*, and one *R*
//!   more, if other nodes have to follow. Asking takes *R* for each request.
//! - Transfer: going takes (*s* + *c* + news) / *Wo* + (*s* + *z p n b* + news) / *Wb*. Asking takes requests ·
//!   question / *Wo* + *y n b* / *Wb*.
//! - Packing: going takes a hop's own time twice, and a time for each byte of states and of compiled code. Asking takes
//!   a time for each byte that is sent and read.
//! - Work: going takes *n b* at the agent's speed, there. Asking takes *n b* at the asker's speed, here (there, if the
//!   node that is asked picks).
//!
//! *z* is the share to which documents are packed on the way. *y* is the share of all documents' bytes that asking
//! transfers. It is *z* if the node that is asked packs, else 1, and times *p* if that node filters. Work takes longer
//! where the processor is slower or busy. With *w* other threads on *k* cores, an agent gets the share min(1, *k* /
//! (*w* + 1)) after its first time slice.
//!
//! If *m* clients do the same, the link and the other node are shared. A step takes the time *t* there, and each client
//! does *q* of them a second. Under load, the step takes *t* · min(*m*, 1 / (1 - (*m* - 1) *q t*)). This is the queue
//! of processor sharing (Kleinrock, Queueing Systems II, 4.4), in which no client has more than one job at a time. If
//! *q* is unknown, clients do the job all the time: *t* · *m*.

pub mod assumed;
mod explain;
mod job;
mod model;
mod news;
mod situation;

pub use explain::{Explanation, ExplanationLine};
pub use job::{DocumentJob, JobError};
pub use model::{CostFacts, Estimate, EstimateTerm};
pub use news::{AdviceCall, AdviceNews, AdviseError};
pub use situation::{LinkCost, NodeCondition, Situation, Weight};

use serde::{Deserialize, Serialize};
use whimbrel_acl::Value;

/// Choice between moving the agent and asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Choice"))]
#[serde(rename_all = "snake_case")]
pub enum MoveChoice {
    /// Send the agent to the documents.
    Go,
    /// Have the documents sent.
    Ask,
}

impl MoveChoice {
    /// Returns the choice as programs write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Ask => "ask",
        }
    }
}

/// Basis of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Measured by the platform just now.
    Measured,
    /// Measured by the platform some time ago, and not just now.
    Earlier,
    /// Told by the asking agent.
    Told,
    /// Assumed, because it is unknown.
    Assumed,
}

impl Basis {
    /// Returns the basis as it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Earlier => "measured earlier",
            Self::Told => "told",
            Self::Assumed => "assumed",
        }
    }
}

/// Value that the advice rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// Name of the value, in a few words.
    pub what: String,
    /// Value, with its unit.
    pub value: String,
    /// Basis of the value.
    pub basis: Basis,
}

/// Advice: a choice with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Faster choice; asking if both take as long.
    pub choice: MoveChoice,
    /// Factor by which the other choice takes longer, 1 or more.
    pub margin: f64,
    /// Estimate for sending the agent.
    pub go: Estimate,
    /// Estimate for having the documents sent.
    pub ask: Estimate,
    /// Values that the advice rests on.
    pub known: Vec<Known>,
    /// Reasons, a sentence each.
    pub why: Vec<String>,
}

impl Advice {
    /// Returns the advice for this job in this situation.
    pub fn of(job: &DocumentJob, situation: &Situation) -> Self {
        let (facts, known) = situation.facts(job);
        let (go, ask) = (facts.go(), facts.ask());
        let (gone, asked) = (go.seconds(), ask.seconds());
        let choice = if gone < asked { MoveChoice::Go } else { MoveChoice::Ask };
        let (fast, slow) = (gone.min(asked), gone.max(asked));
        let margin = if fast > 0.0 { slow / fast } else { 1.0 };
        let why = explain::reasons(&facts, &go, &ask);
        Self { choice, margin, go, ask, known, why }
    }

    /// Returns the advice for agents: `advice(Choice, Go_ms, Ask_ms, Why)`; the times are milliseconds, `Why` is a list
    /// of sentences.
    pub fn to_value(&self) -> Value {
        let ms = |estimate: &Estimate| Value::Num((estimate.seconds() * 1e6).round() / 1e3);
        let why = self.why.iter().map(|why| Value::from(why.as_str()));
        Value::term("advice", [Value::atom(self.choice.name()), ms(&self.go), ms(&self.ask), Value::list(why)])
    }

    /// Returns the choice in [such a value](Advice::to_value).
    pub fn choice_in(value: &Value) -> Option<MoveChoice> {
        let [choice, ..] = value.args() else { return None };
        let is_advice = value.functor().is_some_and(|name| name.as_str() == "advice");
        [MoveChoice::Go, MoveChoice::Ask].into_iter().find(|known| is_advice && *choice == Value::atom(known.name()))
    }
}
