//! Connection to an XMPP server as a component (XEP-0114): the component's domain is the platform. So agents of SPADE
//! on that server, and on those that it knows, reach each agent here as `NAME@DOMAIN`, and are reached as
//! `NAME@SERVER`.

mod component;
mod element;
mod jid;
mod message;
mod moment;
mod presence;
mod stream;

pub use self::component::{ComponentEvent, ComponentState, Residents, XmppComponent, XmppEnd};
pub use self::element::{StanzaError, XmlElement};
pub use self::jid::{Jid, NotAJid};
pub use self::message::{read as read_message, write as write_message};
pub use self::stream::{StanzaReader, StreamItem};
