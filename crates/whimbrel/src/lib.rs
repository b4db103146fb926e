//! Societies of agents, embedded in a Rust program.
//!
//! ```
//! use whimbrel::{Agent, Context, MessageBody, Performative, Platform};
//!
//! struct Greeter;
//!
//! impl Agent for Greeter {
//!     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
//!         ctx.print(&format!("{} says {}", message.sender.name, message.content));
//!         ctx.reply(&message, Performative::Inform, "hello");
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let platform = Platform::builder().name("garden").build();
//! platform.spawn("greeter", Greeter)?;
//! # Ok(())
//! # }
//! ```
//!
//! A society written in AgentSpeak is a [`Society`]: [open](Society::open) its project, [start](Society::start) it on a
//! [`Platform`].

pub mod agent_storage;
pub mod cluster;
pub mod code_cache;
pub mod control;
pub mod documents;
mod durable_folder;
pub mod duration;
pub mod environment;
pub mod figures;
pub mod files;
mod foreign_programs;
pub mod guests;
pub mod node;
pub mod policy;
pub mod programs;
pub mod projects;
pub mod refusals;
pub mod society;
mod web_sessions;

pub use whimbrel_acl as acl;
pub use whimbrel_bdi as bdi;
pub use whimbrel_bdi::project::options;
pub use whimbrel_net as net;
pub use whimbrel_platform as platform;
pub use whimbrel_runtime as runtime;
pub use whimbrel_store as store;

pub use code_cache::CodeCache;
pub use durable_folder::{KeepError, kept_in};
pub use society::Society;
pub use web_sessions::WebSessions;
pub use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Template, Value};
pub use whimbrel_runtime::{
    Agent, Context, DurableAgent, DurableContext, Output, Platform, PlatformBuilder, durable, volatile,
};

/// Version of Whimbrel, with the commit from which it was built if that is known.
pub const VERSION: &str = env!("WHIMBREL_VERSION");

/// Documents whose Rust is compiled and run as tests.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../docs/guide/durability.md")]
    mod durability {}
    #[doc = include_str!("../../../docs/guide/rust-agents.md")]
    mod rust_agents {}
}
