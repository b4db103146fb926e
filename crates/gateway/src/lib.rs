//! Everything HTTP of a node: the console and what it asks, watches and has done; sessions of programs outside over WebSocket;
//! health. And the words in which a node is asked and answers ([`vocabulary`]).
//!
//! The gateway knows the node through a port, [`Operator`], and whoever holds sessions through another, [`sessions::Sessions`].
//! docs/design/gateway.md has what is where, and what is refused.
#![forbid(unsafe_code)]

mod access;
mod console;
mod health;
mod live;
mod looks;
mod metrics;
mod operator;
mod pages;
mod patient;
mod preflight;
mod routes;
mod server;
pub mod sessions;
mod shared;
mod sockets;
mod visitors;
pub mod vocabulary;

pub use self::access::{Access, Role};
pub use self::operator::{Counted, Feed, Latency, Operator, Pair, Traffic, Waits, Watched};
pub use self::server::{Gateway, GatewayConfig};
