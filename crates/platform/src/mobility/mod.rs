//! Agents that go from one node of a platform to another, in the middle of what they do.

mod hop;
mod news;
mod transits;

pub use hop::{Hop, HopError, HopMode, HopRequest};
pub use news::{HopId, HopNews, Offer};
pub use transits::{Crossing, Step, Transits};
