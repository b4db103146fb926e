//! Agents for Whimbrel in Rust that run as WebAssembly.
//!
//! An agent is one module with a memory of its own. All its state is in that memory. So a node can stop it between two
//! instructions, store it as bytes, and let it continue elsewhere. There are three ways to write an agent:
//!
//! - as an `async` function: it waits anywhere, and moves to another node in the middle of a loop;
//! - as an implementation of [`Agent`]: it has a handler for each kind of event;
//! - as a plain function that waits by [`blocking`]: it waits, and moves, in the middle of any call.
//!
//! ```
//! use std::time::Duration;
//! use whimbrel_guest::{Context, Error, Message, agent};
//!
//! #[agent]
//! async fn patrol(ctx: Context) -> Result<(), Error> {
//!     for node in ["n1", "n2", "n3"] {
//!         ctx.move_to(node).await?;
//!         ctx.send(&Message::inform("guard", format!("all is quiet on {}", ctx.node())))?;
//!         ctx.sleep(Duration::from_secs(60)).await;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `whimbrel agent build` makes the module of a crate of the type `cdylib`. `cargo test` runs its tests natively;
//! [`testing`] takes the node's place.

mod advice;
mod agent;
#[cfg(target_arch = "wasm32")]
mod allocator;
pub mod blocking;
#[doc(hidden)]
pub mod calls;
mod context;
mod documents;
mod error;
mod frame;
#[cfg(any(test, target_arch = "wasm32"))]
mod heap;
mod host;
mod message;
mod patterns;
mod storage;
mod tasks;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod value;

pub use advice::{Choice, Job};
pub use agent::{Agent, Arrival, Failure};
pub use context::{Context, Level};
pub use documents::{Document, Documents};
pub use error::{Error, ErrorKind};
pub use frame::{DEPTH_MAX, DecodeError};
pub use message::{Message, Performative, Template};
pub use patterns::{IntoAnswer, Itinerary, Leg, Missed, TourEnd};
pub use storage::Storage;
pub use tasks::{IntoOutcome, Receive, Sleep};
pub use value::{Record, Term, Value};
/// Makes a function or an implementation of [`Agent`] the agent of this module: see the crate.
pub use whimbrel_guest_macro::agent;

#[doc(hidden)]
pub use agent::Handlers;
#[doc(hidden)]
pub use tasks::{Body, boxed, task};

/// Version of the interface between agent and node: docs/design/wasm-agents.md.
pub const ABI: i32 = 1;

/// Documents whose Rust is compiled as tests.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../docs/guide/documents.md")]
    mod documents {}
    #[doc = include_str!("../../../docs/guide/wasm-agents.md")]
    mod wasm_agents {}
}
