//! Links between the nodes of a platform: the sockets around [`whimbrel_platform::link::Link`].
//!
//! A [`Hub`] listens, connects, and runs one task per peer. The scheduler hands messages to it through
//! [`Links`](whimbrel_platform::Links), and takes received ones through [`Station`](whimbrel_platform::Station).
#![forbid(unsafe_code)]

pub mod agent_port;
mod alarm;
mod arrived;
mod audit;
mod audit_pages;
pub mod authority;
mod certified;
mod connection;
mod driver;
mod drivers;
pub mod enrolment;
mod faults;
mod hub;
mod peer;
mod peers;
mod port_guard;
mod refusal;
mod secure;
mod security;
pub mod signing;
mod strangers;
mod stream;
mod task;
mod threads;

pub use audit::AuditLog;
pub use audit_pages::{AuditLine, AuditPage, AuditReadError, read_back};
pub use authority::{
    Authority, AuthorityError, EnrolmentToken, Issued, NODE_DAYS, NodeCertificates, NodeKeys, NodeRequest,
    SessionCredentials, Trust,
};
pub use certified::{CertificateOf, CertificateSeen, Certified, RevokedSeen};
pub use hub::{Hub, HubConfig, HubError, HubView, LinkStatus};
pub use security::{Credentials, LinkSecurity, SecurityError, https};
