//! Platform of one thread without any I/O: AgentSpeak agents in a page, in a Worker, or in Node
//! (docs/design/device.md).
//!
//! [`Society`] gives agents their turns over the platform's own AMS, DF and topics. Time and randomness come from a
//! [`Host`], programs from files that the host adds before. Printed lines, and messages to agents elsewhere, come out
//! as [`Happening`]s. [`Desk`] does the same for hosts that speak JSON and bytes: the exports of the WebAssembly
//! module use it.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

mod events;
mod files;
mod json_host;
mod project;
mod services;
mod slots;
mod society;

#[cfg(target_arch = "wasm32")]
mod exports;

pub use events::Happening;
pub use files::Files;
pub use json_host::Desk;
pub use project::OpenError;
pub use services::Host;
pub use society::{Outlook, SnapshotError, Society, SpawnError};
