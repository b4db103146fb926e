//! The host of WebAssembly agents, by modules in the text format, in the simulator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod harness;

mod addresses;
mod agents;
mod frames;
mod fuzz;
mod hostile;
mod last_words;
mod owners;
mod quotas;
mod states;
mod storage;
mod suspension;
