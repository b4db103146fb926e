//! Agents that go from one node of a platform to another, in the middle of what they do.

mod hop;

pub use hop::{Hop, HopError, HopMode, HopRequest};
