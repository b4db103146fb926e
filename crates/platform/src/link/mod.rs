//! Links between the nodes of a platform, without their sockets: the bytes on the wire, and the state machine. A link
//! delivers every message once and in order although connections break.
//!
//! `docs/design/links.md` draws the bytes and gives the reasons.

mod batch;
mod codec;
mod flight;
mod gauge;
mod item;
mod name_conflict;
mod news;
mod state;
mod wire;

pub use batch::{BatchError, read_items};
pub use codec::{MessageError, MessageReader, MessageWriter, reader, writer};
pub use gauge::Measured;
pub use item::{ItemSink, LinkItem};
pub use name_conflict::NameConflict;
pub use news::{News, PeerAddress};
pub use state::{ClaimOutcome, Link, LinkError, LinkEvent, Speaker};
pub use wire::{
    Ack, Bye, FrameContent, FrameError, FrameKind, Hello, LINK_VERSION, LinkFrame, Ping, Refuse, Train, write_frame,
};
pub(crate) use wire::{take_number, write_number};
