//! What a durable agent does in its turn is kept back until the turn is written down.

use std::cell::RefCell;

use super::Effect;

thread_local! {
    /// What was done in the turn that this thread is giving, if it is a durable agent's.
    static EFFECTS: RefCell<Option<Vec<Effect>>> = const { RefCell::new(None) };
}

/// Gives a turn, and returns what was done in it.
pub(crate) fn during<T>(turn: impl FnOnce() -> T) -> (T, Vec<Effect>) {
    EFFECTS.set(Some(Vec::new()));
    let outcome = turn();
    (outcome, EFFECTS.take().unwrap_or_default())
}

/// Keeps something back, if this is a durable agent's turn; false if it is not.
pub(crate) fn keep(effect: impl FnOnce() -> Effect) -> bool {
    EFFECTS.with_borrow_mut(|effects| match effects {
        Some(effects) => {
            effects.push(effect());
            true
        }
        None => false,
    })
}
