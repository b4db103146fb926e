//! Societies of agents, embedded in a Rust program.

pub mod files;
mod options;
pub mod society;

pub use whimbrel_acl as acl;
pub use whimbrel_bdi as bdi;
pub use whimbrel_platform as platform;
pub use whimbrel_runtime as runtime;

pub use society::Society;
pub use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Template, Value};
pub use whimbrel_runtime::{Agent, Context, Output, Platform, PlatformBuilder};
