//! Everything HTTP of a node: the console and what it asks, watches and has done; sessions of programs outside over WebSocket;
//! health.
//!
//! The gateway knows the node through a port, [`Operator`](whimbrel_operator::Operator), and whoever holds sessions through another, [`sessions::Sessions`].
//! docs/design/gateway.md has what is where, and what is refused.
#![forbid(unsafe_code)]

mod access;
mod console;
mod health;
mod live;
mod looks;
mod metrics;
mod pages;
mod patient;
mod preflight;
mod routes;
mod server;
pub mod sessions;
mod shared;
mod sockets;
mod visitors;

pub use self::access::{Access, Role};
pub use self::server::{Gateway, GatewayConfig};
