//! Agents that are WebAssembly modules: admission, sandbox and quotas, suspension in mid-call, and states as bytes.
//! By its state, an agent can be kept, moved and cloned (docs/design/wasm-agents.md).
//!
//! A [`Host`] is shared by all guests of a node. A [`Module`] is compiled once. A [`WasmAgent`] is one agent of a
//! module; to the scheduler it is a body like any other.

mod abi;
mod admission;
mod affairs;
mod agent;
mod bytes;
mod compiled;
mod cpu;
mod effort;
pub mod frame;
mod guest;
mod host;
mod image;
mod imports;
mod inbox;
mod lately;
mod line;
mod live;
mod mind;
mod module;
mod owners;
mod packing;
mod resident;
mod roost;

pub use admission::{AdmissionError, ModuleHash};
pub use agent::WasmAgent;
pub use bytes::BadBytes;
pub use compiled::{CompiledForms, KeptForms};
pub use guest::Breach;
pub use host::{Host, HostError, HostOptions, TICK};
pub use module::Module;
