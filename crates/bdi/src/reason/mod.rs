//! Reasoning cycle, named after Jason's operational semantics: sense (one message), deliberate (one event), act (one
//! step of one intention).

mod agent;
mod cycle;
mod direct;
mod failure;
mod forks;
mod goals;
mod hand;
mod hops;
mod literals;
mod memory;
mod messages;
mod meta;
mod operator;
mod passive;
mod plain;
mod plan_terms;
mod select;
mod spares;
mod step;
mod step_call;
mod stepped;
mod sub_plans;
mod waits;
mod watch;

pub use agent::{Agent, AgentConfig, Loaded, ProgramError, compile_program, load, load_bundled};
pub(crate) use agent::{first_library_plans, is_library};
pub use cycle::Cycle;
pub(crate) use cycle::solver;
pub(crate) use failure::current_literal;
pub use goals::{Doomed, unify_apart};
pub(crate) use hops::{JOURNEYS, minions_of};
pub(crate) use literals::{step_event_of, structure, with_own_source};
pub use messages::{ExpectedAnswer, nest_sources, sourced};
pub use step_call::{StepAction, StepCall, StepProgress};
