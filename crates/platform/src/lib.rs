//! FIPA agent platform as sans-I/O state machines: no socket, no file, no clock, no randomness. Time comes in as
//! [`Time`], everything else through the port traits that bodies, stores and links implement.
#![forbid(unsafe_code)]

pub mod advice;
pub mod agent_management;
pub mod ams;
pub mod audit;
pub mod backoff;
pub mod body;
pub mod capabilities;
pub mod cluster;
pub mod connection_limit;
pub mod conversations;
mod counters;
pub mod dead_letters;
pub mod devices;
pub mod df;
mod directory;
pub mod durable;
pub mod duration;
mod end_reason;
pub mod environment;
pub mod events;
pub mod foreign_actions;
pub mod growth;
pub mod inspection;
pub mod limits;
pub mod link;
pub mod links;
pub mod local;
pub mod mailbox;
pub mod mobility;
mod outbox;
pub mod output_log;
pub mod plain_text;
pub mod policy;
pub mod protocols;
pub mod python_frames;
mod rate;
pub mod route;
pub mod services;
pub mod session;
pub mod storage;
pub mod store;
mod time;
pub mod topics;

pub use body::{AgentBody, BadDelta, Next, OfferedAgent, Turn};
pub use counters::{Counters, CountersError};
pub use directory::Directory;
pub use end_reason::EndReason;
pub use events::{Observer, PlatformEvent};
pub use links::{LinkGauge, Links, NewsExchange, SocketIo, Station};
pub use mailbox::Mailbox;
pub use outbox::Outbox;
pub use services::Services;
pub use time::Time;
