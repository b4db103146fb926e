//! Limits of all layers, by name: one file for each layer, all reachable as `limits::NAME`. Those of encoded input are
//! in `whimbrel_acl::limits`. `cargo xtask limits` writes docs/reference/limits.md from all these files.

mod a2a;
mod agentspeak;
mod clusters;
mod devices;
mod directory;
mod documents;
mod editors;
mod guests;
mod links;
mod mcp;
mod mobility;
mod mtp;
mod operators;
mod protocols;
mod python;
mod scheduler;
mod security;
mod sessions;
mod stores;
mod xmpp;

pub use self::a2a::*;
pub use self::agentspeak::*;
pub use self::clusters::*;
pub use self::devices::*;
pub use self::directory::*;
pub use self::documents::*;
pub use self::editors::*;
pub use self::guests::*;
pub use self::links::*;
pub use self::mcp::*;
pub use self::mobility::*;
pub use self::mtp::*;
pub use self::operators::*;
pub use self::protocols::*;
pub use self::python::*;
pub use self::scheduler::*;
pub use self::security::*;
pub use self::sessions::*;
pub use self::stores::*;
pub use self::xmpp::*;
