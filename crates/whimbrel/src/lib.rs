//! Societies of agents, embedded in a Rust program. `whimbrel` is the only crate of Whimbrel to depend on.
//!
//! ```
//! use whimbrel::prelude::*;
//!
//! /// Agent that answers greetings.
//! struct Greeter;
//!
//! impl Agent for Greeter {
//!     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
//!         ctx.reply(&message, Performative::Inform, format!("hello, {}", message.sender.name));
//!     }
//! }
//!
//! /// Agent that greets another one, prints the answer, and ends the platform.
//! struct Visitor {
//!     host: Aid,
//! }
//!
//! impl Agent for Visitor {
//!     fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
//!         ctx.tell(self.host, Performative::Request, "greet me");
//!     }
//!
//!     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
//!         ctx.print(&format!("{} says {}", message.sender.name, message.content));
//!         ctx.services().stop(0, 0);
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let platform = Platform::builder().name("garden").build();
//!     let host = platform.spawn("greeter", Greeter)?;
//!     platform.spawn("ada", Visitor { host })?;
//!     let code = platform.run_until_stopped(); // prints: [ada] greeter says "hello, ada"
//! #   assert_eq!(code, 0);
//!     Ok(())
//! }
//! ```
//!
//! The dependency in `Cargo.toml`, here without NATS and WebAssembly, which take longest to build:
//!
//! ```toml
//! whimbrel = { path = "whimbrel/crates/whimbrel", default-features = false }
//! ```
//!
//! # Modules
//!
//! | to | look at |
//! |---|---|
//! | begin | [`prelude`]: the names that nearly every program needs |
//! | write agents | [`agents`], [`behaviours`], [`durable_agents`] |
//! | talk | [`messages`], [`protocols`], [`topics`] |
//! | find agents and services | [`directory`] |
//! | move agents between nodes | [`mobility`] |
//! | run AgentSpeak projects | [`society`]; below it [`projects`], [`programs`], [`guests`], [`files`] |
//! | give agents things to act on | [`environment`], [`documents`], [`python`] |
//! | watch a platform | [`observation`] |
//! | make a node with links, stores, ports | [`node`], [`policy`], [`refusals`], [`agent_storage`], [`code_cache`] |
//! | make a node of a cluster | [`cluster`] |
//! | operate nodes as `whimbrel ps` and the console do | [`control`] |
//! | write commands | [`duration`], [`figures`], [`options`] |
//!
//! # Layers
//!
//! The modules above have what programs need. Whimbrel's own crates are here whole, for programs that go deeper: their
//! own agent bodies, stores, links or tools.
//!
//! | layer | subject |
//! |---|---|
//! | [`acl`] | messages, values, encodings, SL |
//! | [`platform`] | state machines without I/O, the ports between crates, all limits |
//! | [`runtime`] | scheduler |
//! | [`bdi`] | AgentSpeak |
//! | [`net`], [`store`] | sockets and certificates; journals in folders, in memory and in NATS |
//! | [`operator`], [`gateway`] | requests of operators; HTTP |
//! | `wasm` (feature `wasm`) | WebAssembly agents |

pub mod agent_storage;
pub mod agents;
pub mod behaviours;
pub mod build_parts;
pub mod cluster;
pub mod code_cache;
pub mod control;
pub mod directory;
pub mod documents;
pub mod doors;
pub mod durable_agents;
mod durable_folder;
pub mod duration;
pub mod environment;
pub mod figures;
pub mod files;
mod foreign_programs;
pub mod guests;
pub mod messages;
pub mod mobility;
pub mod node;
pub mod observation;
pub mod policy;
pub mod prelude;
pub mod programs;
pub mod projects;
pub mod python;
pub mod refusals;
pub mod society;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;
pub mod topics;
mod web_sessions;

pub use whimbrel_acl as acl;
pub use whimbrel_bdi as bdi;
pub use whimbrel_bdi::project::options;
pub use whimbrel_gateway as gateway;
pub use whimbrel_net as net;
pub use whimbrel_operator as operator;
pub use whimbrel_platform as platform;
pub use whimbrel_platform::protocols;
pub use whimbrel_runtime as runtime;
pub use whimbrel_store as store;
#[cfg(feature = "wasm")]
pub use whimbrel_wasm as wasm;

#[doc(no_inline)]
pub use agents::{Agent, Context, Output, Platform, PlatformBuilder};
pub use code_cache::CodeCache;
#[doc(no_inline)]
pub use durable_agents::{DurableAgent, DurableContext, KeepError, durable, kept_in, volatile};
#[doc(no_inline)]
pub use messages::{AclMessage, Aid, MessageBody, Performative, Symbol, Template, Value};
#[doc(no_inline)]
pub use society::Society;
pub use web_sessions::WebSessions;

/// Version of Whimbrel, with the commit from which it was built if that is known.
pub const VERSION: &str = env!("WHIMBREL_VERSION");

/// Documents whose Rust is compiled, and run unless it says `no_run`. Programs of the guest SDK are tested there
/// (`guest/rust`), and ignored here.
#[cfg(doctest)]
// Words after a block's language are for the site.
#[allow(rustdoc::invalid_codeblock_attributes)]
mod guides {
    #[doc = include_str!("../../../docs/guide/durability.md")]
    mod durability {}
    #[doc = include_str!("../../../docs/reference/environments.md")]
    mod environments {}
    #[doc = include_str!("../../../docs/guide/mobility.md")]
    mod mobility {}
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/guide/rust-agents.md")]
    mod rust_agents {}
    #[doc = include_str!("../../../docs/guide/topics-and-groups.md")]
    mod topics_and_groups {}
}
