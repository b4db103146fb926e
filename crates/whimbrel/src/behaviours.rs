//! Behaviours: concurrent activities of one agent, under JADE's names.
//!
//! | behaviour | steps |
//! |---|---|
//! | [`OneShot`] | one |
//! | [`Cyclic`] | as its function says, until the function returns [`Step::Done`] |
//! | [`Ticker`], [`Waker`] | one in each period, one after a delay |
//! | [`Sequential`], [`Parallel`] | those of several behaviours, one after the other or side by side |
//! | [`Fsm`] | those of the present state's behaviour; its outcome chooses the next state |
//!
//! [`behaving`] makes an agent of behaviours alone; [`Context::add_behaviour`](crate::agents::Context::add_behaviour)
//! adds one to any agent.
//!
//! ```
//! use std::time::Duration;
//! use whimbrel::behaviours::{Cyclic, Step, Waker, behaving};
//! use whimbrel::prelude::*;
//!
//! let platform = Platform::builder().build();
//! platform.spawn("oracle", behaving(|ctx| {
//!     let questions = Template::performative(Performative::QueryRef);
//!     ctx.add_behaviour(Cyclic::new(move |ctx| match ctx.receive_matching(&questions) {
//!         Some(question) => {
//!             ctx.reply(&question, Performative::Inform, 42);
//!             Step::Again
//!         }
//!         None => Step::Block,
//!     }));
//!     ctx.add_behaviour(Waker::after(Duration::from_secs(60), |ctx| ctx.end()));
//! }))?;
//! assert_eq!(platform.ask(Aid::local("oracle"), Performative::QueryRef, "why")?.content, Value::from(42));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use whimbrel_runtime::behaviour::{Behaviour, Cyclic, Fsm, OneShot, Parallel, Sequential, Step, Ticker, Waker};
#[doc(inline)]
pub use whimbrel_runtime::{Behaviours, behaving};
