//! Behaviours: an agent's concurrent activities besides answering messages, under JADE's names.
//!
//! An agent takes turns; within its turns its behaviours take steps, round robin. A step must be short; a long task
//! does a piece per step and asks for [`Step::Again`]. Behaviours with many steps give way to those with few, so that
//! an agent computing for an hour still answers within a moment.
//!
//! ```
//! # use whimbrel_runtime::facade as whimbrel;
//! use std::time::Duration;
//! use whimbrel::behaviours::{Cyclic, OneShot, Step, Ticker, behaving};
//! use whimbrel::prelude::*;
//!
//! let platform = Platform::builder().build();
//! platform.spawn("amy", behaving(|ctx| {
//!     ctx.add_behaviour(OneShot::new(|ctx| ctx.print("I am here")));
//!     ctx.add_behaviour(Ticker::every(Duration::from_secs(60), |ctx| ctx.print("still here")));
//!     let questions = Template::performative(Performative::QueryRef);
//!     ctx.add_behaviour(Cyclic::new(move |ctx| match ctx.receive_matching(&questions) {
//!         Some(question) => {
//!             ctx.reply(&question, Performative::Inform, "42");
//!             Step::Again
//!         }
//!         None => Step::Block,
//!     }));
//! }))?;
//! platform.wait_idle();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod composite;
mod fsm;
mod schedule;
mod simple;
mod step;

pub use composite::{Parallel, Sequential};
pub use fsm::Fsm;
pub(crate) use schedule::Schedule;
pub use simple::{Cyclic, OneShot, Ticker, Waker};
pub use step::{Behaviour, Step};
