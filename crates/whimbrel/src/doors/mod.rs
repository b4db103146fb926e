//! Doors to other agent platforms: options of a node, and the platform as the doors see it.

pub mod a2a;
pub mod mcp;
pub mod mtp;
mod platform_society;
pub mod xmpp;

use std::sync::Arc;

use whimbrel_acl::{Aid, Envelope};
use whimbrel_gateway::doors::mtp::MtpDoor;
use whimbrel_gateway::doors::xmpp::XmppDoor;
use whimbrel_interop::MessagePort;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::{MessageTransport, Services};
use whimbrel_runtime::Platform;

use crate::node::Notes;
use mtp::MtpOptions;
use xmpp::XmppOptions;

/// Doors that the user asked for.
#[derive(Clone, Debug, Default)]
pub struct DoorOptions {
    /// Message transport to FIPA platforms.
    pub mtp: MtpOptions,
    /// Connection to an XMPP server.
    pub xmpp: XmppOptions,
}

/// Open doors of a node.
#[derive(Default)]
pub struct Doors {
    mtp: Option<MtpDoor>,
    xmpp: Option<XmppDoor>,
}

impl Doors {
    /// Opens the doors that the user asked for, and connects the platform to them.
    ///
    /// # Errors
    /// An address is not to be had, or other platforms could not reach it.
    pub fn open(options: &DoorOptions, platform: &Platform, notes: &Notes) -> anyhow::Result<Self> {
        let doors =
            Self { mtp: mtp::open(&options.mtp, platform, notes)?, xmpp: xmpp::open(&options.xmpp, platform, notes)? };
        let (mtp, xmpp) = (doors.mtp.as_ref().map(MtpDoor::transport), doors.xmpp.as_ref().map(XmppDoor::transport));
        let transport = match (mtp, xmpp) {
            (Some(mtp), Some(xmpp)) => Arc::new(TwoTransports { mtp, xmpp }),
            (mtp, xmpp) => match mtp.or(xmpp) {
                Some(only) => only,
                None => return Ok(doors),
            },
        };
        platform.transport_with(transport);
        Ok(doors)
    }

    /// Returns the address of the message transport's port, if it is open.
    pub fn mtp_address(&self) -> Option<std::net::SocketAddr> {
        self.mtp.as_ref().map(MtpDoor::address)
    }

    /// Closes the doors: messages that wait may still leave.
    pub fn close(self) {
        mtp::close(self.mtp);
        xmpp::close(self.xmpp);
    }
}

/// Node, as its message transports see it.
struct NodePort(Platform);

impl MessagePort for NodePort {
    fn take_in(&self, message: Envelope) {
        self.0.take_in_foreign(message);
    }

    fn has_room(&self) -> bool {
        self.0.has_room()
    }

    fn give_up(&self, messages: Vec<Envelope>, why: DeadReason) {
        self.0.give_up_foreign(messages, why);
    }

    fn services(&self) -> &dyn Services {
        self.0.services()
    }
}

/// Both transports of a node. An agent with an address of XMPP is reached by XMPP, and so is every other one that the
/// message transport of FIPA knows no address of.
struct TwoTransports {
    mtp: Arc<dyn MessageTransport>,
    xmpp: Arc<dyn MessageTransport>,
}

impl TwoTransports {
    fn to(&self, agent: Aid) -> &dyn MessageTransport {
        let is_of_xmpp = agent.contact().addresses.iter().any(|address| address.starts_with("xmpp:"));
        if is_of_xmpp || !self.mtp.reaches(agent) { &*self.xmpp } else { &*self.mtp }
    }
}

impl MessageTransport for TwoTransports {
    fn send(&self, message: Envelope) -> bool {
        self.to(message.to).send(message)
    }

    fn waiting(&self) -> u64 {
        self.mtp.waiting() + self.xmpp.waiting()
    }

    fn reaches(&self, agent: Aid) -> bool {
        self.to(agent).reaches(agent)
    }

    fn addresses(&self) -> Vec<String> {
        [self.mtp.addresses(), self.xmpp.addresses()].concat()
    }
}
