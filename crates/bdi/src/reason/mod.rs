//! Reasoning cycle, named after Jason's operational semantics: sense (one message), deliberate (one event), act (one
//! step of one intention).

mod cycle;
mod direct;
mod edits;
mod failure;
mod failure_report;
mod foreign_calls;
mod forks;
mod goals;
mod growth;
mod hand;
mod hops;
mod literals;
mod messages;
mod meta;
mod plain;
mod plan_terms;
mod program_load;
mod select;
mod spares;
mod step;
mod step_call;
mod step_outcome;
mod sub_plans;
mod taught_plans;
mod turns;
mod waits;
mod watch;

pub use cycle::Cycle;
pub(crate) use cycle::{NOTHING_SENT, solver};
pub(crate) use edits::{Edit, MindQuery, ProgramLoad};
pub use goals::{Doomed, unify_apart};
pub(crate) use hops::{JOURNEYS, awaited, hopped, minions_of};
pub(crate) use literals::{step_event_of, structure, with_own_source};
pub use messages::{ExpectedAnswer, sourced};
pub(crate) use program_load::loaded_file;
pub(crate) use spares::Spares;
pub use step_call::{Actions, StepAction, StepCall, StepProgress};
pub(crate) use taught_plans::{bad_code, label_in, parse_plan};
pub(crate) use watch::{FailureNote, Watch};
