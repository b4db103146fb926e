//! Parts of Whimbrel that a build can leave out, as `make demo` does to be ready sooner.

/// Error text of a build without the feature `nats`.
pub const NATS_ABSENT: &str = "this build has no NATS: run `make build` (Cargo feature `nats`)";

/// Error text of a build without the feature `wasm`.
pub const WASM_ABSENT: &str = "this build has no WebAssembly: run `make build` (Cargo feature `wasm`)";
