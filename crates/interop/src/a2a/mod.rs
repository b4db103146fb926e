//! A2A 1.0 and 0.3, server side: any agent that is published works on the tasks of HTTP clients.
//!
//! [`read_rpc`] and [`read_rest`] make an [`Operation`] of a request. [`TaskServer`] keeps the tasks; its documentation
//! says in which order to call it. A [`ProxyBody`] stands for the client of a context among the agents. [`acl`] maps
//! messages, [`card`] describes agents, [`shape03`] writes the JSON of version 0.3.

pub mod acl;
pub mod card;
mod error;
mod moment;
mod object;
mod proxy;
mod request;
mod rest;
pub mod shape03;
mod tasks;

pub use error::{A2aError, A2aErrorKind};
pub use moment::{http_date, timestamp};
pub use object::{
    A2aArtifact, A2aMessage, A2aPart, A2aTask, ArtifactUpdate, JsonObject, MessageRole, PartContent, StatusUpdate,
    TaskState, TaskStatus, TaskUpdate,
};
pub use proxy::{ProxyBody, ProxyPort};
pub use request::{Dialect, Operation, RpcCall, SendConfiguration, SendParams, TaskFilter, read_rpc, version_of};
pub use rest::read_rest;
pub use tasks::{
    Answering, CancelOutcome, ClientId, Moment, SentMessage, ServerOutput, TaskIds, TaskPage, TaskParties, TaskServer,
    WatchId,
};
