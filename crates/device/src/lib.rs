//! Platform of one thread without any I/O: AgentSpeak agents in a page, in a Worker, or in Node
//! (docs/design/device.md).
//!
//! [`DeviceSociety`] gives agents their turns on a [`LocalPlatform`](whimbrel_platform::local::LocalPlatform). Time and
//! randomness come from a [`DeviceHost`], programs from files that the host adds before. Printed lines, and messages to
//! agents elsewhere, come out as [`SocietyEvent`]s. [`JsonHost`] does the same for hosts that speak JSON and bytes: the
//! exports of the WebAssembly module use it.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

mod events;
mod files;
mod host;
mod json_host;
mod project;
mod society;

#[cfg(target_arch = "wasm32")]
mod exports;

pub use events::SocietyEvent;
pub use files::SourceFiles;
pub use host::DeviceHost;
pub use json_host::JsonHost;
pub use project::ProjectOpenError;
pub use society::{AgentSnapshotError, DeviceSociety, NextRun, SpawnError};
