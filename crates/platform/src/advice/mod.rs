//! The advisor: before a job with documents on another node, is it faster to send the agent there, or to ask and have them sent here?
//!
//! Pure arithmetic about what is known of the way there, of both nodes, of the job and of the agent. What is not known is
//! [assumed](assumed), and the advice says so.
//!
//! # The formulae
//!
//! The job is with *n* documents of *b* bytes, of which the share *p* passes; the way has the round trip *R* and carries *Wo* bytes a
//! second out and *Wb* back. An agent has a state of *s* bytes, and code of *c* bytes that the other node lacks (0 if it has it).
//!
//! | seconds for | going | asking |
//! |---|---|---|
//! | latency | *R* (1.5, and 1 if other nodes have to follow) for each of two hops; *R* for each part of the code | *R* for each request |
//! | transfer | (*s* + *c* + news) / *Wo* + (*s* + *z p n b* + news) / *Wb* | requests · question / *Wo* + *y n b* / *Wb* |
//! | packing | a hop's own time, twice; and so long for each byte of the states that are written, packed and read, and of code that is compiled | so long for each byte that is sent and read |
//! | work | *n b* at the agent's speed, there | *n b* at the asker's speed, here (there, if who is asked picks) |
//!
//! *z* is what documents are packed to on the way, *y* is that if who is asked packs, times *p* if it picks them itself, else 1.
//! Work takes longer where the processor is slower, or others want it, too: *w* of them on *k* cores leave an agent the share
//! min(1, *k* / (*w* + 1)), after the time slice that it has at once.
//!
//! If *m* clients do the same, the link and the other node are shared. Whatever takes the time *t* there, with *q* of it a second and
//! client, takes *t* · min(*m*, 1 / (1 - (*m* - 1) *q t*)): the queue of processor sharing (Kleinrock, Queueing Systems II, 4.4), in
//! which nobody has more than one job at a time. If it is not known how often they do it, they do it all the time: *t* · *m*.

pub mod assumed;
mod explain;
mod job;
mod model;
mod news;
mod situation;

pub use explain::{Explanation, Line};
pub use job::{Job, JobError};
pub use model::{Estimate, Facts, Term};
pub use news::{AdviceCall, AdviceNews, AdviseError};
pub use situation::{Condition, Situation, Way, Weight};

use serde::{Deserialize, Serialize};
use whimbrel_acl::Value;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Send the agent to the documents.
    Go,
    /// Have the documents sent.
    Ask,
}

impl Choice {
    /// As programs write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Ask => "ask",
        }
    }
}

/// How something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The platform measured it just now.
    Measured,
    /// It measured it some time ago, and could not just now.
    Earlier,
    /// Whoever asks said it.
    Told,
    /// Nobody knows: it is assumed.
    Assumed,
}

impl Basis {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Earlier => "measured earlier",
            Self::Told => "told",
            Self::Assumed => "assumed",
        }
    }
}

/// Something that the advice rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// What, in a few words.
    pub what: String,
    /// Its value, with its unit.
    pub value: String,
    /// How it is known.
    pub basis: Basis,
}

/// What to do, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The faster way; asking if both take as long.
    pub choice: Choice,
    /// How many times as long the other way takes, 1 or more.
    pub margin: f64,
    /// Sending the agent.
    pub go: Estimate,
    /// Having the documents sent.
    pub ask: Estimate,
    /// What it rests on.
    pub known: Vec<Known>,
    /// Why, a sentence each.
    pub why: Vec<String>,
}

impl Advice {
    /// What to do about this job in this situation.
    pub fn of(job: &Job, situation: &Situation) -> Self {
        let (facts, known) = situation.facts(job);
        let (go, ask) = (facts.go(), facts.ask());
        let (gone, asked) = (go.seconds(), ask.seconds());
        let choice = if gone < asked { Choice::Go } else { Choice::Ask };
        let (fast, slow) = (gone.min(asked), gone.max(asked));
        let margin = if fast > 0.0 { slow / fast } else { 1.0 };
        let why = explain::reasons(&facts, &go, &ask);
        Self { choice, margin, go, ask, known, why }
    }

    /// As agents are told: `advice(Choice, Go_ms, Ask_ms, Why)`; the times are milliseconds, `Why` is a list of sentences.
    pub fn to_value(&self) -> Value {
        let ms = |estimate: &Estimate| Value::Num((estimate.seconds() * 1e6).round() / 1e3);
        let why = self.why.iter().map(|why| Value::from(why.as_str()));
        Value::term("advice", [Value::atom(self.choice.name()), ms(&self.go), ms(&self.ask), Value::list(why)])
    }

    /// The choice in [such a value](Advice::to_value).
    pub fn choice_in(value: &Value) -> Option<Choice> {
        let [choice, ..] = value.args() else { return None };
        let is_advice = value.functor().is_some_and(|name| name.as_str() == "advice");
        [Choice::Go, Choice::Ask].into_iter().find(|known| is_advice && *choice == Value::atom(known.name()))
    }
}
