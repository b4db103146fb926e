//! Families of agents that are being ended.

use std::collections::VecDeque;

use whimbrel_acl::Symbol;
use whimbrel_platform::limits::FAMILY_ENDED_AT_ONCE;

/// Agents of families that end, in order, and the thread that ends them.
#[derive(Debug, Default)]
pub(crate) struct Condemned {
    pub agents: VecDeque<Symbol>,
    /// True while a thread ends them.
    pub is_served: bool,
}

impl Condemned {
    /// Takes some agents; none if the thread has nothing more to do.
    pub fn take_some(&mut self) -> Vec<Symbol> {
        let count = self.agents.len().min(FAMILY_ENDED_AT_ONCE);
        self.is_served = count > 0;
        self.agents.drain(..count).collect()
    }
}
