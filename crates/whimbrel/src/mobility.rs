//! Moving agents: hops to other nodes, journeys with several stops, minions that do one task elsewhere, and advice
//! whether a journey pays.
//!
//! [Durable agents](crate::durable_agents) move: [`DurableContext::move_to`](crate::durable_agents::DurableContext) at
//! the end of a turn, an [`Itinerary`] for a journey, and `DurableContext::dispatch` for a [`Minion`].
//! [`Platform::move_agent`](crate::agents::Platform::move_agent) moves an agent from outside.
//! [`node::membership`](crate::node::membership) links nodes.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use whimbrel::mobility::Hop;
//! use whimbrel::prelude::*;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Scout;
//!
//! impl DurableAgent for Scout {
//!     const KIND: &'static str = "scout";
//!
//!     fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, _message: MessageBody) {
//!         ctx.move_to("n2");
//!     }
//!
//!     fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
//!         match hop {
//!             Hop::Arrived { from } => ctx.print(&format!("I come from {from}")),
//!             Hop::Stayed { why, .. } => ctx.print(&format!("I stayed: {why}")),
//!             _ => {}
//!         }
//!     }
//! }
//! ```

#[doc(inline)]
pub use whimbrel_platform::advice::{Advice, AdviseError, DocumentJob, JobError, MoveChoice};
#[doc(inline)]
pub use whimbrel_platform::mobility::{Hop, HopError};
#[doc(inline)]
pub use whimbrel_runtime::{DispatchError, Itinerary, Leg, Minion, Missed, TourEnd};
