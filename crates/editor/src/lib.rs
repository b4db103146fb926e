//! Tools for AgentSpeak programs: lints, formatting, answers of a language server. Pure: files come in through
//! [`society::ProjectFiles`].
#![forbid(unsafe_code)]

pub mod format;
pub mod index;
pub mod lints;
pub mod positions;
pub mod reference;
pub mod report;
pub mod server;
pub mod society;
