//! Observations: an observer is told of events while its observation exists.

use whimbrel_platform::Observer;

use super::Node;
use crate::sync::Arc;

/// Subscription of an observer to events, as long as it exists. The observer must not drop it during a call.
#[must_use = "an observer is told of nothing after this is dropped"]
pub struct Observation {
    node: Arc<Node>,
    number: u64,
}

impl Observation {
    pub(crate) fn begin(node: &Arc<Node>, observer: Arc<dyn Observer>) -> Self {
        let number = node.observers.add(observer);
        node.note_observers();
        Self { node: Arc::clone(node), number }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.node.observers.remove(self.number);
        self.node.note_observers();
    }
}
