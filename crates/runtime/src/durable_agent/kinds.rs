//! Types of durable agents that a platform can restore.

use std::any::TypeId;

use rustc_hash::FxHashMap;
use whimbrel_platform::AgentBody;
use whimbrel_platform::durable::State;

use super::agent::DurableAgent;
use super::body::DurableBody;

type Restore = fn(&[State]) -> Result<Box<dyn AgentBody>, String>;

/// Types by name.
#[derive(Default)]
pub(crate) struct Kinds(FxHashMap<&'static str, (TypeId, Restore)>);

impl Kinds {
    /// Adds a type. Two types with one name are a fault of the program.
    pub fn add<A: DurableAgent>(&mut self) {
        let restore: Restore = |states| Ok(Box::new(DurableBody::<A>::restore(states)?));
        let before = self.0.insert(A::KIND, (TypeId::of::<A>(), restore));
        let is_same = before.is_none_or(|(before, _)| before == TypeId::of::<A>());
        assert!(is_same, "two types of durable agents are called {}", A::KIND);
    }

    pub fn knows(&self, kind: &str) -> bool {
        self.0.contains_key(kind)
    }

    /// Restores an agent from its recorded states.
    ///
    /// # Errors
    /// Returns the reason if the type is unknown, or if a state does not belong to it.
    pub fn restore(&self, kind: &str, states: &[State]) -> Result<Box<dyn AgentBody>, String> {
        match self.0.get(kind) {
            Some((_, restore)) => restore(states),
            None => Err(format!("this program has no kind of agent that is called {kind}")),
        }
    }
}
