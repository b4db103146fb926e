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
mod sub_plans;
mod waits;
mod watch;

pub use agent::{Agent, AgentConfig, Loaded, ProgramError, compile_program, load, load_bundled};
pub(crate) use agent::{first_library_plans, is_library};
pub use cycle::Cycle;
pub(crate) use cycle::with_own_source as own_source;
pub(crate) use failure::current_literal;
pub use goals::{Doomed, unify_apart};
pub(crate) use hops::{JOURNEYS, minions_of};
pub use messages::{ExpectedAnswer, nest_sources, sourced};
pub(crate) use select::structure;

use whimbrel_acl::Structure;

use crate::code::{TriggerKind, TriggerOp};
use crate::mind::Event;

/// Makes a prover over a cycle's knowledge, leaving the cycle's bindings free to be changed.
macro_rules! solver {
    ($cycle:expr) => {
        $crate::logic::Solver::new($crate::logic::Knowledge {
            image: $cycle.image,
            mind: &*$cycle.mind,
            aid: $cycle.aid,
            now: $cycle.now,
            services: $cycle.services,
        })
    };
}
pub(crate) use solver;

/// Creates the event `+literal` (or `+!literal`) that no intention waits for.
fn step_event(literal: Structure, kind: TriggerKind) -> Event {
    step_event_of(TriggerOp::Add, literal, kind)
}

/// Creates an event that no intention waits for, the literal's variables numbered from 0.
pub(crate) fn step_event_of(op: TriggerOp, literal: Structure, kind: TriggerKind) -> Event {
    let mut event = Event::external(op, kind, literal);
    if !event.literal.is_ground() {
        let mut vars = crate::logic::Numbering::default();
        event.literal = step::close_literal(&crate::logic::Bindings::default(), &event.literal, &mut vars);
        event.open = vars.len() as u32;
    }
    event
}
