//! Agents: minds and their programs as bodies on the platform.

mod body;
mod memory;
mod operator;
mod passive;

pub use body::{Agent, AgentConfig};
