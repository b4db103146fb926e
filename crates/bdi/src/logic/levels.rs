//! Excess: terms that nest too deep, and proofs that do not end.
//!
//! Code that works on terms recurses over their levels, and a program that builds terms without end must not exhaust
//! the stack. So no term that nests too deep gets into a variable, and variables are not followed deeper than that.
//! Instead the excess is noted, which fails the current step.

use std::cell::{Cell, RefCell};

use whimbrel_acl::Value;
pub use whimbrel_acl::limits::TERM_LEVELS_MAX;

thread_local! {
    static NOTED: Cell<bool> = const { Cell::new(false) };
    /// Proof that was given up, if the noted excess is a proof's.
    static RUNAWAY: RefCell<Option<Runaway>> = const { RefCell::new(None) };
}

/// Proof that was given up.
#[derive(Clone, Debug)]
pub struct Runaway {
    /// Error of the step that requested the proof.
    pub error: &'static str,
    /// Reason, with the rule that was being tried.
    pub reason: String,
}

/// Notes that a term nested too deep.
#[cold]
pub fn note() {
    NOTED.set(true);
}

/// Returns true if excess was noted.
#[inline]
pub fn noted() -> bool {
    NOTED.get()
}

/// Takes the note of excess; it is reported once.
#[inline]
pub fn take() -> bool {
    NOTED.get() && forget()
}

#[cold]
fn forget() -> bool {
    RUNAWAY.take();
    NOTED.replace(false)
}

/// Notes that a proof is given up.
#[cold]
pub fn note_runaway(error: &'static str, reason: impl FnOnce() -> String) {
    if !NOTED.replace(true) {
        RUNAWAY.set(Some(Runaway { error, reason: reason() }));
    }
}

/// Returns the proof that was given up, if the noted excess is one.
pub fn runaway() -> Option<Runaway> {
    RUNAWAY.with_borrow(Clone::clone)
}

/// Returns true if a value nests no deeper than allowed; notes excess otherwise.
#[inline]
pub fn fits(value: &Value) -> bool {
    let fits = value.levels() <= TERM_LEVELS_MAX;
    if !fits {
        note();
    }
    fits
}

/// Returns the value, or an empty list if it nests too deep, which is noted.
#[inline]
pub fn checked(value: Value) -> Value {
    if fits(&value) { value } else { Value::Nil }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Text;
    use whimbrel_testkit::Simulation;

    use crate::syntax::NoFiles;
    use crate::{Agent, AgentConfig, load};

    #[test]
    fn earlier_excess_fails_no_step() {
        let program = "!go. +!go <- .wait(5); X = f(1); .print(X). -!go <- .print(failed).";
        let (image, _) =
            load(program, &Text::from("a.asl"), &mut NoFiles).unwrap_or_else(|error| panic!("{:?}", error.diagnostics));
        let mut simulation = Simulation::new(1);
        simulation.spawn("me", Box::new(Agent::new(AgentConfig::new(image))));
        simulation.run_for(1);
        // Left by a turn that panics.
        super::note();
        simulation.run_for(20);
        assert_eq!(simulation.output(), ["[me] f(1)"]);
    }
}
