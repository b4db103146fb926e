//! Protocols of other agent platforms, as data and as state machines without I/O, clock and sockets. The shells around
//! them are in `whimbrel-gateway`.
#![forbid(unsafe_code)]

/// A2A: agents as HTTP services that work on tasks.
pub mod a2a;
/// JSON of other protocols as values, and back.
pub mod json;
/// Performatives of KQML.
pub mod kqml;
/// MCP: services of agents as tools, resources and prompts of language models.
pub mod mcp;
/// FIPA's message transport over HTTP, as JADE speaks it.
pub mod mtp;
/// Port to the society whose agents the protocols reach.
pub mod society;
/// XMPP, as SPADE's agents speak it.
pub mod xmpp;

mod port;

pub use port::MessagePort;
