//! Finite state machine of behaviours.

use super::step::{Behaviour, Step};
use crate::context::Context;

/// Behaviour that runs the behaviour of its state. When that is done, its [`outcome`](Behaviour::outcome) chooses the
/// next state.
///
/// ```
/// # use whimbrel_runtime::facade as whimbrel;
/// use whimbrel::behaviours::{Fsm, OneShot};
/// let errand = Fsm::new()
///     .state("ask", OneShot::new(|ctx| ctx.print("may I?")))
///     .state("go", OneShot::new(|ctx| ctx.print("off I go")))
///     .last("home", OneShot::new(|ctx| ctx.print("back")))
///     .on("ask", 0, "go")
///     .otherwise("ask", "home")
///     .otherwise("go", "home");
/// # let _ = errand;
/// ```
#[derive(Default)]
pub struct Fsm {
    states: Vec<FsmState>,
    transitions: Vec<Transition>,
    /// Index of the current state; starts with the first.
    at: usize,
}

struct FsmState {
    name: &'static str,
    behaviour: Box<dyn Behaviour>,
    last: bool,
}

struct Transition {
    from: &'static str,
    /// Outcome for this transition; `None` for any outcome without a transition of its own.
    on: Option<i32>,
    to: &'static str,
}

impl Fsm {
    /// Creates a machine without states. It starts in the first state added.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the state `name` with its behaviour.
    #[must_use]
    pub fn state(self, name: &'static str, behaviour: impl Behaviour) -> Self {
        self.add(name, Box::new(behaviour), false)
    }

    /// Adds a final state: the machine ends with its behaviour.
    #[must_use]
    pub fn last(self, name: &'static str, behaviour: impl Behaviour) -> Self {
        self.add(name, Box::new(behaviour), true)
    }

    /// Adds a transition from `from` to `to` on this outcome.
    #[must_use]
    pub fn on(mut self, from: &'static str, outcome: i32, to: &'static str) -> Self {
        self.transitions.push(Transition { from, on: Some(outcome), to });
        self
    }

    /// Adds a transition from `from` to `to` on any other outcome. JADE's default transition.
    #[must_use]
    pub fn otherwise(mut self, from: &'static str, to: &'static str) -> Self {
        self.transitions.push(Transition { from, on: None, to });
        self
    }

    fn add(mut self, name: &'static str, behaviour: Box<dyn Behaviour>, last: bool) -> Self {
        self.states.push(FsmState { name, behaviour, last });
        self
    }

    /// Returns the state after `from` with `outcome`.
    fn next(&self, from: &str, outcome: i32) -> Option<usize> {
        let of_state = || self.transitions.iter().filter(|transition| transition.from == from);
        let exact = of_state().find(|transition| transition.on == Some(outcome));
        let to = exact.or_else(|| of_state().find(|transition| transition.on.is_none()))?.to;
        self.states.iter().position(|state| state.name == to)
    }
}

impl Behaviour for Fsm {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        let Some(state) = self.states.get_mut(self.at) else { return Step::Done };
        match state.behaviour.action(ctx) {
            Step::Done if state.last => return Step::Done,
            Step::Done => {}
            step => return step,
        }
        let (name, outcome) = (state.name, state.behaviour.outcome());
        let Some(next) = self.next(name, outcome) else { return Step::Done };
        self.at = next;
        if let Some(state) = self.states.get_mut(next) {
            state.behaviour.reset();
        }
        Step::Again
    }

    /// Returns the outcome of the last state.
    fn outcome(&self) -> i32 {
        self.states.get(self.at).map_or(0, |state| state.behaviour.outcome())
    }

    fn reset(&mut self) {
        self.at = 0;
        self.states.iter_mut().for_each(|state| state.behaviour.reset());
    }
}
