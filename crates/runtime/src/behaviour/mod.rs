//! Behaviours: an agent's concurrent activities besides answering messages, under JADE's names.
//!
//! An agent takes turns; within its turns its behaviours take steps, round robin. A step must be short; a long task
//! does a piece per step and asks for [`Step::Again`]. Behaviours with many steps give way to those with few, so that
//! an agent computing for an hour still answers within a moment.
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

/// Activity of an agent, step by step.
pub trait Behaviour: Send + 'static {
    /// Takes a step. Returns when to take the next.
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step;

    /// Returns the outcome of a behaviour that is done, by which an [`Fsm`] chooses the next state. JADE's `onEnd`.
    fn outcome(&self) -> i32 {
        0
    }

    /// Resets the behaviour for another run. Only an [`Fsm`] that returns to a state needs this.
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

/// Time of a behaviour's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// After the other behaviours' steps.
    Again,
    /// At the next message. JADE's `block()`.
    Block,
    /// At the next message, or at this time. JADE's `block(timeout)`.
    BlockUntil(Time),
    /// At this time, whatever comes.
    SleepUntil(Time),
    /// Never: the behaviour is done.
    Done,
}
