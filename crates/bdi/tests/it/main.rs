//! Tests of the AgentSpeak language as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod actions;
mod backlog;
mod deltas;
mod depth;
mod diagnostics;
mod doors;
mod fuzz;
mod hints;
mod inspection;
mod layouts;
mod many;
mod messages;
mod parse;
mod project;
mod proofs;
mod quote;
mod round_trip;
mod runaways;
mod snapshots;
mod ways;
