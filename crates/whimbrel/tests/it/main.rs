//! The library, as Rust programs embed it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod embedding;
mod fuzz;
mod jade;
mod peer_process;
mod spade;
