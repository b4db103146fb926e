//! The simulator: repeatable, fair in its disorder, and it loses nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod conservation;
#[path = "../../../platform/tests/it/durable_actors.rs"]
mod durable_actors;
mod kept;
mod links;
mod movers;
mod moves;
mod sessions;
mod simulation;
mod societies;
mod topics;
mod transcripts;
