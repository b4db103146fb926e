//! HTTP interface of a node: the console and its requests, sessions of programs outside over WebSocket, health.
//!
//! The gateway reaches the node through the port [`Operator`](whimbrel_operator::Operator), and the sessions through
//! the port [`sessions::Sessions`]. docs/design/gateway.md lists the routes, and the reasons of refusals.
#![forbid(unsafe_code)]

mod access;
mod console;
pub mod doors;
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
pub use self::console::sdk_files;
pub use self::server::{Gateway, GatewayConfig};
