//! The agent scheduler: turns, mailboxes and timers on a shard per core; the Rust agent API.
//!
//! Examples name the crate `whimbrel`, as Rust programs do. A hidden line puts [`facade`] in its place, because
//! `whimbrel` is above this crate.

mod activity;
mod advice;
mod agent;
mod agent_stats;
mod arrivals;
pub mod behaviour;
mod clock;
mod cluster;
mod codes;
mod context;
mod cpu;
mod devices;
mod durable;
mod durable_agent;
mod ending;
mod external_calls;
#[doc(hidden)]
pub mod facade;
mod families;
mod guard;
mod handover;
mod health;
mod inbox;
mod latency;
mod loader;
mod location_claims;
mod memory;
mod mobility;
mod monitors;
mod moving_subscribers;
mod native_body;
mod node;
mod observers;
mod operate;
mod output;
mod panics;
mod peers;
mod platform;
mod pool;
mod questions;
mod services;
mod shard;
mod shard_command;
mod shard_handle;
mod speed;
mod state_transfer;
pub mod supervision;
mod sync;
mod throttle;
mod topics;
mod watchdog;
mod worker;

pub use agent::{Agent, behaving};
pub use agent_stats::AgentFigures;
pub use context::{Behaviours, Context};
pub use devices::{DEVICES, DeviceSeen, Devices, Roll};
pub use durable::{RecoverError, RecoveredJournal, erase, recover};
pub use durable_agent::{
    DispatchError, DurableAgent, DurableContext, Founder, Itinerary, KeptTimers, Leg, Minion, Missed, TourEnd, durable,
    volatile,
};
pub use ending::Remains;
pub use external_calls::AskError;
pub use health::{FullMailbox, NodeHealth, QuotaEnd, StillNode};
pub use latency::Percentiles;
pub use loader::{CodeFound, NoPrograms, PlatformAccess, ProgramLoader};
pub use memory::{limit_bytes, resident_bytes};
pub use node::cluster::{Adopted, KillOutcome, NotAdopted, NotYielded, ServeError};
pub use node::latency::LatencyWatch;
pub use node::observers::Observation;
pub use operate::OperateError;
pub use output::{Console, Output};
pub use platform::{Platform, PlatformBuilder};
pub use questions::{Answerer, QuestionError};
pub use speed::speed;
pub use supervision::Supervisor;
pub use whimbrel_platform::Counters;
