//! State of the journal writer's thread.

use rustc_hash::FxHashMap;
use whimbrel_acl::Aid;
use whimbrel_platform::durable::Ledger;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::store::{Journal, Partition};

use super::served_term::ServedTerm;
use crate::node::Node;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

pub(crate) struct WriterState {
    pub node: Arc<Node>,
    pub journal: Arc<dyn Journal>,
    pub ledger: Ledger,
    /// Partitions that this node serves.
    pub terms: FxHashMap<Partition, ServedTerm>,
    /// Bytes written since the last check for garbage.
    pub unseen: u64,
}

impl WriterState {
    /// Returns true when the platform ends: effects that could not be persisted were never visible.
    pub fn is_suspended(&self) -> bool {
        self.node.scribe.as_ref().is_none_or(|scribe| scribe.suspended.load(Ordering::Acquire))
    }

    pub fn log(&self, text: &str) {
        self.node.output.log(Aid::local("journal"), LogLevel::Warning, text);
    }
}

/// Error: nothing more can be persisted. Another process has the journal, or a step is too big for it.
pub(crate) struct Fenced;
