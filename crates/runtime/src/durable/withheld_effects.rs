//! Withheld effects: what a durable agent does in its turn stays invisible until the turn is persisted.

use std::cell::RefCell;

use super::Effect;

thread_local! {
    /// Effects of the turn that this thread is giving, if the agent is durable.
    static EFFECTS: RefCell<Option<Vec<Effect>>> = const { RefCell::new(None) };
}

/// Gives a turn, and returns the effects that were withheld in it.
pub(crate) fn during<T>(turn: impl FnOnce() -> T) -> (T, Vec<Effect>) {
    EFFECTS.set(Some(Vec::new()));
    let outcome = turn();
    (outcome, EFFECTS.take().unwrap_or_default())
}

/// Withholds an effect during a durable agent's turn. Returns false if the agent is not durable.
pub(crate) fn keep(effect: impl FnOnce() -> Effect) -> bool {
    EFFECTS.with_borrow_mut(|effects| match effects {
        Some(effects) => {
            effects.push(effect());
            true
        }
        None => false,
    })
}
