//! The simulator: repeatable, fair in its disorder, and it loses nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod conservation;
mod links;
mod sessions;
mod simulation;
mod topics;
mod transcripts;
