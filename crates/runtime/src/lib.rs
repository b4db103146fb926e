//! The agent scheduler: turns, mailboxes and timers on a shard per core; the Rust agent API.

mod activity;
mod advice;
mod agent;
mod arrivals;
pub mod behaviour;
mod census;
mod clock;
mod cluster;
mod codes;
mod context;
mod cpu;
mod devices;
mod durable;
mod durable_agent;
mod ending;
mod guard;
mod handover;
mod hearsay;
mod inbox;
mod latency;
mod linked;
mod loader;
mod luggage;
mod mobility;
mod monitors;
mod node;
mod observers;
mod operate;
mod output;
mod parcel;
mod platform;
mod pool;
mod questions;
mod reception;
mod seat;
mod services;
mod sessions;
mod shard;
mod speed;
pub mod supervision;
mod sync;
mod topics;
mod turn;
mod watchdog;
mod worker;

pub use agent::{Agent, Behaviours, behaving};
pub use census::AgentFigures;
pub use cluster::{AdoptError, Adopted, NotAdopted, YieldError};
pub use context::Context;
pub use devices::{DEVICES, DeviceSeen, Devices, Roll};
pub use durable::{Kept, RecoverError, erase, recover};
pub use durable_agent::{
    DispatchError, DurableAgent, DurableContext, Founder, Itinerary, KeptTimers, Leg, Minion, Missed, TourEnd, durable,
    volatile,
};
pub use latency::{LatencyWatch, Percentiles};
pub use loader::{CodeFound, NoPrograms, ProgramLoader};
pub use observers::Observation;
pub use operate::OperateError;
pub use output::{Console, Output};
pub use platform::{Platform, PlatformBuilder};
pub use questions::{Answerer, QuestionError};
pub use reception::AskError;
pub use speed::speed;
pub use supervision::Supervisor;
pub use whimbrel_platform::Counters;
