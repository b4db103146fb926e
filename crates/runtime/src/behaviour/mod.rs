//! Behaviours: what an agent does besides answering messages, one thing beside the other, under JADE's names.
//!
//! An agent takes turns; within its turns its behaviours take steps, round robin. A step must be short; a long task
//! does a piece per step and asks for [`Step::Again`]. Tasks that want many steps stand back behind those that want few,
//! so that an agent computing for an hour still answers within a moment.
//!
//! ```
//! use std::time::Duration;
//! use whimbrel_acl::{Performative, Template};
//! use whimbrel_runtime::behaviour::{Cyclic, OneShot, Step, Ticker};
//! use whimbrel_runtime::{Platform, behaving};
//!
//! let platform = Platform::builder().build();
//! platform.spawn("amy", behaving(|ctx| {
//!     ctx.add_behaviour(OneShot::new(|ctx| ctx.print("I am here")));
//!     ctx.add_behaviour(Ticker::every(Duration::from_secs(60), |ctx| ctx.print("still here")));
//!     let questions = Template::performative(Performative::QueryRef);
//!     ctx.add_behaviour(Cyclic::new(move |ctx| match ctx.receive_matching(&questions) {
//!         Some(question) => {
//!             ctx.reply(&question, Performative::Inform, "42");
//!             Step::Again
//!         }
//!         None => Step::Block,
//!     }));
//! }))?;
//! platform.wait_idle();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod composite;
mod fsm;
mod schedule;
mod simple;

pub use composite::{Parallel, Sequential};
pub use fsm::Fsm;
pub(crate) use schedule::Schedule;
pub use simple::{Cyclic, OneShot, Ticker, Waker};
use whimbrel_platform::Time;

use crate::context::Context;

/// Something an agent does, step by step.
pub trait Behaviour: Send + 'static {
    /// Takes a step, and says when to take the next.
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step;

    /// How it ended, once it is done: what an [`Fsm`] chooses the next state by. JADE's `onEnd`.
    fn outcome(&self) -> i32 {
        0
    }

    /// Makes it as new, so that it can be done again. Only an [`Fsm`] that returns to a state needs it.
    fn reset(&mut self) {}
}

impl Behaviour for Box<dyn Behaviour> {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        (**self).action(ctx)
    }

    fn outcome(&self) -> i32 {
        (**self).outcome()
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

/// When a behaviour takes its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// When the others had theirs.
    Again,
    /// When a message comes. JADE's `block()`.
    Block,
    /// When a message comes, or at this time. JADE's `block(timeout)`.
    BlockUntil(Time),
    /// At this time, whatever comes.
    SleepUntil(Time),
    /// Never: it is done.
    Done,
}
