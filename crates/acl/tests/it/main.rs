//! Values and messages: their laws, and the vectors every implementation replays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod alone;
mod codecs;
mod compact;
mod compact_vectors;
mod documents;
mod fuzz;
// The crate testkit needs the platform: each edit here would build that anew.
#[path = "../../../testkit/src/generators.rs"]
mod generators;
mod jade;
mod laws;
mod notation;
mod sizes;
mod sl;
mod typed;
mod vectors;
mod view;
