//! Tests of stores from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails may panic"
)]

mod archive;
mod conformance;
mod conversations;
mod embedded;
mod folders;
mod full;
mod fuzz;
mod losses;
#[cfg(feature = "nats")]
mod nats;
mod torn;
mod versions;
