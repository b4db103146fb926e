//! Message transport between FIPA platforms over HTTP (FIPA00084), as JADE speaks it: the agent communication channel
//! of a platform, without its sockets.
//!
//! - **In**: [`read_post`] makes checked messages of a POST from another platform.
//! - **Out**: [`OutgoingQueues`] order messages to other platforms: by address, with preferences, deadlines and
//!   bounds. [`write_post`] makes the body of a POST of one of them, [`HttpReply`] reads the answer.
//! - **Description**: [`platform_description`] is what a GET of the platform's address returns.
//!
//! [`ContactBook`] remembers the addresses of agents that wrote, so that an answer to a name alone gets there.

mod address;
mod arrival;
mod contacts;
mod departure;
mod description;
mod http_reply;
mod multipart;
mod outgoing;

pub use self::address::{HttpAddress, HttpAddressError};
pub use self::arrival::{ArrivedPost, PostRefusal, read_post};
pub use self::contacts::ContactBook;
pub use self::departure::{PostBody, write_post};
pub use self::description::platform_description;
pub use self::http_reply::{HttpReply, HttpReplyError};
pub use self::multipart::{Multipart, MultipartError, read_multipart, write_multipart};
pub use self::outgoing::{OutgoingQueues, Post, PostOutcome, Undelivered};

use whimbrel_acl::{Aid, Contact, Symbol, sym};
use whimbrel_platform::agent_management::frames::HTTP_TRANSPORT as TRANSPORT;

/// Identity of this platform towards others.
#[derive(Clone, Debug)]
pub struct HomePlatform {
    /// Name of the platform: the part of its agents' names after `@`.
    pub name: Symbol,
    /// Address at which others reach it, `http://HOST:PORT/acc`.
    pub address: String,
    /// Agent of the platform, as others know it.
    pattern: Aid,
}

impl HomePlatform {
    /// Returns the identity of the platform of this name and address.
    pub fn new(name: impl Into<Symbol>, address: impl Into<String>) -> Self {
        let (name, address) = (name.into(), address.into());
        let contact = Contact { addresses: vec![address.clone()], ..Contact::default() };
        Self { name, address, pattern: Aid::new(sym::AMS, name).with_contact(contact) }
    }

    /// Returns true if an agent is one of this platform.
    pub fn has(&self, agent: Aid) -> bool {
        agent.platform == sym::EMPTY || agent.platform == self.name
    }

    /// Returns an agent as other platforms know it: one of this platform gets its platform's name and address.
    pub fn outward(&self, agent: Aid) -> Aid {
        if !self.has(agent) || agent == Aid::NOBODY {
            return agent;
        }
        let known = self.pattern.renamed(agent.name);
        match agent.contact().user.as_slice() {
            [] => known,
            user => known.with_contact(Contact { user: user.to_vec(), ..known.contact().clone() }),
        }
    }
}
