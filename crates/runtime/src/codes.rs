//! Code transfer: agents that wait until their code is here.

use rustc_hash::FxHashMap;
use whimbrel_platform::mobility::{Fetches, HopOffer, InboundHop};

use crate::sync::{Condvar, Mutex};

/// Code that is being fetched from other nodes.
#[derive(Default)]
pub(crate) struct Codes {
    pub state: Mutex<OnOrder>,
    /// Signals that no fetch is pending any more.
    pub over: Condvar,
}

/// State of [`Fetches`], with the agents that wait.
#[derive(Default)]
pub(crate) struct OnOrder {
    pub fetches: Fetches,
    pub offers: FxHashMap<InboundHop, HopOffer>,
    /// True while a thread waits for late parts.
    pub is_watched: bool,
}
