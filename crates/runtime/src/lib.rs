//! The agent scheduler: turns, mailboxes and timers on a shard per core; the Rust agent API.

mod activity;
mod agent;
mod clock;
mod ending;
mod handover;
mod inbox;
mod loader;
mod node;
mod output;
mod parcel;
mod platform;
mod seat;
mod services;
mod shard;
mod sync;
mod turn;
mod watchdog;
mod worker;

pub use agent::{Agent, Context};
pub use loader::{NoPrograms, ProgramLoader};
pub use output::{Console, Output};
pub use platform::{Platform, PlatformBuilder};
pub use whimbrel_platform::Counters;
