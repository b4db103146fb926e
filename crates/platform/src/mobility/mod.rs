//! Mobility: agents that move from one node of a platform to another, in the middle of what they do.

mod code;
mod fetches;
mod hop;
mod news;
mod transits;

pub use code::Whence;
pub use fetches::{FetchError, FetchStep, Fetches, InboundHop, Part};
pub use hop::{Hop, HopError, HopMode, HopRequest, Wish, WishCall};
pub use news::{HopId, HopNews, HopOffer};
pub use transits::{Crossing, HopStep, Transits};
