//! Withheld effects: what a durable agent does in its turn stays invisible until the turn is persisted.

use super::WithheldEffect;
use crate::sync::{Mutex, locked};

/// Effects of the turn that a worker gives to a durable agent. The agent's services put them in; the worker moves them
/// to the agent's slot after the turn.
#[derive(Default)]
pub(crate) struct WithheldEffects(Mutex<Vec<WithheldEffect>>);

impl WithheldEffects {
    /// Withholds an effect.
    pub fn push(&self, effect: WithheldEffect) {
        locked(&self.0).push(effect);
    }

    /// Moves the effects of a turn that is over behind the agent's earlier ones.
    pub fn append_to(&self, effects: &mut Vec<WithheldEffect>) {
        effects.append(&mut locked(&self.0));
    }
}
