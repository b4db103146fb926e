//! Agents that are WebAssembly modules: admission, sandbox and quotas, suspension in mid-call, and states as bytes.
//! By its state, an agent can be kept, moved and cloned (docs/design/wasm-agents.md).
//!
//! A [`Host`] is shared by all guests of a node. A [`Module`] is compiled once. A [`WasmAgent`] is one agent of a
//! module; to the scheduler it is a body like any other.

mod abi;
mod admission;
mod agent;
mod bytes;
mod call_state;
mod compile_cost;
mod compiled_modules;
pub mod frame;
mod guest;
mod guest_state;
mod host;
mod imports;
mod inbox;
mod live_guest;
mod memory_image;
mod module;
mod owner_usage;
mod packing;
mod processor_time;
mod provenance;
mod recent_usage;
mod residency;
mod touched_pages;

pub use admission::{AdmissionError, ModuleHash};
pub use agent::WasmAgent;
pub use bytes::BadBytes;
pub use compiled_modules::{CompiledForms, KeptForms};
pub use guest::Breach;
pub use host::{Host, HostError, HostOptions, TICK};
pub use module::Module;
