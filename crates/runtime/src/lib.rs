//! The agent scheduler: turns, mailboxes and timers on a shard per core; the Rust agent API.

mod activity;
mod agent;
mod arrivals;
pub mod behaviour;
mod clock;
mod cpu;
mod ending;
mod guard;
mod handover;
mod inbox;
mod linked;
mod loader;
mod monitors;
mod node;
mod output;
mod parcel;
mod platform;
mod pool;
mod reception;
mod seat;
mod services;
mod sessions;
mod shard;
pub mod supervision;
mod sync;
mod topics;
mod turn;
mod watchdog;
mod worker;

pub use agent::{Agent, Context, behaving};
pub use loader::{NoPrograms, ProgramLoader};
pub use output::{Console, Output};
pub use platform::{Platform, PlatformBuilder};
pub use reception::AskError;
pub use supervision::Supervisor;
pub use whimbrel_platform::Counters;
