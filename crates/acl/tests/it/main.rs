//! Values and messages: their laws, and the vectors every implementation replays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod compact;
mod laws;
mod notation;
mod typed;
mod vectors;
