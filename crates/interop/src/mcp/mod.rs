//! MCP 2026-07-28 and its versions before, server side: services of agents are tools, resources and prompts.
//!
//! A shell reads a message ([`read_message`]), finds its era ([`era_of`]), checks headers and metadata
//! ([`check_modern`]), and reads the request ([`read_request`]). [`McpOffer`] says what agents offer. [`CallServer`]
//! keeps the calls; its documentation says in which order to call it. A [`CallProxyBody`] stands for the client of a
//! call among the agents. [`results`] writes answers.

mod calls;
mod content;
mod error;
mod headers;
pub mod lines;
mod message;
mod offer;
mod proxy;
mod question;
mod request;
pub mod results;
mod schema;

pub use calls::{
    CallEvent, CallId, CallMoment, CallOutcome, CallOutput, CallServer, CallerId, NewCall, PendingQuestion,
    StartCallProxy,
};
pub use error::McpError;
pub use headers::{
    ClientCapabilities, McpEra, McpHeaders, McpLogLevel, RequestMeta, check_modern, era_of, legacy_meta,
};
pub use message::{RefusedMessage, RpcMessage, read_message};
pub use offer::{McpOffer, OfferedKind, OfferedService, SEARCH_TOOL, SEND_TOOL};
pub use proxy::{CallProxyBody, CallProxyPort};
pub use question::{InputMethod, InputRequest};
pub use request::{ListenFilter, McpRequest, NamedCall, read_request};

/// Version of the modern era.
pub const VERSION: &str = "2026-07-28";
/// Versions of the modern era.
pub const VERSIONS: &[&str] = &[VERSION];
/// Newest version of the legacy era.
pub const LEGACY_VERSION: &str = "2025-11-25";
/// Versions of the legacy era.
pub const LEGACY_VERSIONS: &[&str] = &[LEGACY_VERSION, "2025-06-18", "2025-03-26"];
