//! Steps of behaviours.

use whimbrel_platform::Time;

use crate::context::Context;

/// Activity of an agent, step by step.
pub trait Behaviour: Send + 'static {
    /// Takes a step. Returns when to take the next.
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step;

    /// Returns the outcome of a behaviour that is done, by which an [`Fsm`](super::Fsm) chooses the next state. JADE's
    /// `onEnd`.
    fn outcome(&self) -> i32 {
        0
    }

    /// Resets the behaviour for another run. Only an [`Fsm`](super::Fsm) that returns to a state needs this.
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
