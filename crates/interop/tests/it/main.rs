//! Tests of the protocols of other platforms, as their users see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod a2a;
mod fuzz;
mod mcp_exchanges;
mod mtp_round_trip;
