//! Observation of a platform: events, counters, health, dead letters, and what is in an agent.
//!
//! An [`Observer`] sees each event on the thread that does the work. It slows nothing down but by its own time.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use whimbrel::agents::Time;
//! use whimbrel::observation::{Observer, PlatformEvent};
//! use whimbrel::prelude::*;
//!
//! #[derive(Default)]
//! struct DeathCount(AtomicUsize);
//!
//! impl Observer for DeathCount {
//!     fn observe(&self, _at: Time, event: PlatformEvent<'_>) {
//!         if let PlatformEvent::Died(..) = event {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! let platform = Platform::builder().build();
//! let deaths = Arc::new(DeathCount::default());
//! let observation = platform.observe(Arc::clone(&deaths) as Arc<dyn Observer>);
//! platform.send(AclMessage::new(Performative::Inform, Aid::local("ada"), Aid::local("nobody"), "hello"));
//! platform.wait_idle();
//! // Neither agent exists: the message died, and so did the `failure` to its sender.
//! assert_eq!(deaths.0.load(Ordering::Relaxed), 2);
//! assert_eq!(platform.dead_letters().len(), 2);
//! drop(observation); // ends it
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use whimbrel_platform::dead_letters::{DeadLetter, DeadReason};
#[doc(inline)]
pub use whimbrel_platform::inspection::{AgentActivity, Inspection, Instruction, Look};
#[doc(inline)]
pub use whimbrel_platform::output_log::{OutputKind, OutputLine, OutputPage};
#[doc(inline)]
pub use whimbrel_platform::{Counters, Observer, PlatformEvent};
#[doc(inline)]
pub use whimbrel_runtime::{
    AgentFigures, FullMailbox, LatencyWatch, NodeHealth, Observation, OperateError, Percentiles, QuotaEnd, Remains,
};
