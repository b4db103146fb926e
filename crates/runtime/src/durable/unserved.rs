//! Placeholder for a durable agent that cannot be restored here.

use whimbrel_platform::durable::Origin;
use whimbrel_platform::{AgentBody, Next, Turn};

/// Body that holds the agent's name and messages, and does nothing. The agent's records stay as they are, until a
/// program that knows the agent continues it.
pub(crate) struct Unserved(pub Option<Origin>);

impl AgentBody for Unserved {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }

    fn origin(&self) -> Option<Origin> {
        self.0.clone()
    }
}
