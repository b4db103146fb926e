//! Durable Rust agents: serde encodes their state, and each of their steps is persisted with it ([`crate::durable`]).

mod agent;
mod body;
mod context;
mod dispatch;
mod founder;
mod itinerary;
mod kinds;
mod passive;
mod state;
mod timers;

pub use agent::{DispatchError, DurableAgent};
pub(crate) use body::DurableBody;
pub use context::{DurableContext, KeptTimers};
pub(crate) use dispatch::Envoy;
pub use dispatch::Minion;
pub use founder::{Founder, durable, volatile};
pub use itinerary::{Itinerary, Leg, Missed, TourEnd};
pub(crate) use kinds::Kinds;
