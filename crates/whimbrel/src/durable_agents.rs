//! Agents written in Rust that outlive their process.
//!
//! A type that implements [`DurableAgent`] has its state written by serde, so a program with durable agents also
//! depends on `serde` with the feature `derive`. [`kept_in`] opens the folder of the store.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use whimbrel::durable_agents::{durable, kept_in};
//! use whimbrel::prelude::*;
//!
//! #[derive(Default, Serialize, Deserialize)]
//! struct Counter {
//!     total: i64,
//! }
//!
//! impl DurableAgent for Counter {
//!     const KIND: &'static str = "counter";
//!
//!     fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
//!         self.total += 1;
//!         ctx.reply(&message, Performative::Inform, self.total);
//!     }
//! }
//!
//! # let folder = std::env::temp_dir().join(format!("whimbrel-doc-{}", std::process::id()));
//! let platform = Platform::builder().kind::<Counter>().durable(kept_in(&folder)?).build();
//! let counter = platform.spawn_together([durable("counter", Counter::default())])?.remove(0);
//! // The first process counts 1, the next one 2.
//! assert_eq!(platform.ask(counter, Performative::Request, "count")?.content, Value::from(1));
//! # platform.stop();
//! # let _ = std::fs::remove_dir_all(&folder);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/guide/durability.md` has the guarantees. Other stores are in [`store`](crate::store); societies of several
//! machines are in [`node::durability`](crate::node::durability).

pub use crate::durable_folder::{KeepError, kept_in};
#[doc(inline)]
pub use whimbrel_runtime::{
    DurableAgent, DurableContext, Founder, KeptTimers, RecoverError, RecoveredJournal, durable, erase, recover,
    volatile,
};
