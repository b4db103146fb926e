//! Latency watches: messages are sampled while one exists.

use std::sync::atomic::Ordering;

use super::Node;
use crate::latency::Percentiles;
use crate::sync::Arc;

/// Watch of message latency: samples are taken as long as it exists.
#[must_use = "nothing is measured after this is dropped"]
pub struct LatencyWatch(Arc<Node>);

impl LatencyWatch {
    pub(crate) fn begin(node: &Arc<Node>) -> Self {
        node.latency.watches.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(node))
    }

    /// Returns the percentiles of the last five seconds; `None` if nothing was measured or no message was handled.
    pub fn percentiles(&self) -> Option<Percentiles> {
        self.0.latency.percentiles(self.0.now())
    }
}

impl Drop for LatencyWatch {
    fn drop(&mut self) {
        self.0.latency.watches.fetch_sub(1, Ordering::Relaxed);
    }
}
