//! A durable agent that cannot be made again here.

use whimbrel_platform::durable::Origin;
use whimbrel_platform::{AgentBody, Next, Turn};

/// It keeps its name and its messages, and does nothing: what is kept of it stays as it is, until a program goes on with it
/// that can.
pub(crate) struct Unserved(pub Option<Origin>);

impl AgentBody for Unserved {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }

    fn origin(&self) -> Option<Origin> {
        self.0.clone()
    }
}
