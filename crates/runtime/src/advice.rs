//! State of a node's advice to agents: questions to other nodes, and recent measurements.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::time::Instant;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::advice::NodeCondition;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::ADVICE_THREADS;
use whimbrel_platform::route::NodeId;

use crate::pool::Pool;
use crate::sync::{Arc, Mutex};

/// State of a node's advice: pending questions and recent measurements.
pub(crate) struct Advisor {
    /// Threads that work out advice and wait for other nodes.
    pub pool: Arc<Pool>,
    /// Questions to other nodes without an answer yet, by number.
    pub asked: Mutex<FxHashMap<u64, (NodeId, Sender<NodeCondition>)>>,
    /// Pieces of work that a core did in a second, with the time of the measurement.
    pub speed: Mutex<Option<(Instant, f64)>>,
    /// Seconds of hops to each node beyond latency and transfer, with the time of the hop.
    pub hops: Mutex<FxHashMap<NodeId, Vec<(Instant, f64)>>>,
    /// Number of questions of each node that are being answered.
    pub answering: Mutex<FxHashMap<NodeId, u32>>,
    /// Weights of agents that were measured recently, oldest first.
    pub weights: Mutex<VecDeque<(Instant, Symbol, Weighed)>>,
}

/// Location of an agent's code, and bytes of its packed state; `None` where unknown.
pub(crate) type Weighed = (Option<Origin>, Option<u64>);

impl Default for Advisor {
    fn default() -> Self {
        let (asked, speed, hops, answering, weights) = Default::default();
        Self { pool: Arc::new(Pool::of(ADVICE_THREADS)), asked, speed, hops, answering, weights }
    }
}

/// Request to a shard for an agent's origin and state.
pub(crate) struct WeighRequest {
    pub agent: Symbol,
    pub answer: Sender<Option<(Origin, Vec<u8>)>>,
}
