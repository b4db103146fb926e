//! A platform of one thread without any I/O: AgentSpeak agents in a page, in a Worker, or in Node (docs/design/device.md).
//!
//! [`Society`] gives agents their turns over the platform's own AMS, DF and topics. Time and chance come from a [`Host`], program
//! text as files that were handed over before; what agents print, and what they say to agents elsewhere, comes out as
//! [`Happening`]s. [`Desk`] is the same for hosts that speak JSON and bytes, and what the exports of the WebAssembly module do.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

mod desk;
mod files;
mod happening;
mod project;
mod slots;
mod society;
mod world;

#[cfg(target_arch = "wasm32")]
mod exports;

pub use desk::Desk;
pub use files::Files;
pub use happening::Happening;
pub use project::OpenError;
pub use society::{Outlook, SnapshotError, Society, SpawnError};
pub use world::Host;
