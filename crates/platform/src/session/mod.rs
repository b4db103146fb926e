//! Sessions: agents whose code is no part of any node. A program in any language connects to a node's agent port, speaks
//! the session protocol, and its agents are agents like all others.
//!
//! Here is all of it but sockets: the frames and their two forms, the node's end as a state machine, and the body that an
//! agent of a session has in its slot. `docs/design/session-protocol.md` is the protocol's text.

mod body;
mod frames;
mod framing;
mod grant;
mod lodgers;
mod port;
mod rate;
mod state;
mod transmit;

pub use body::{SessionBody, SharedSession};
pub use frames::{
    Ack, Certified, Certify, Code, Create, Created, End, Ended, Fault, Frame, Hello, MessageFrame, Refused, Resume,
    SESSION_VERSION, Welcome,
};
pub use framing::{FrameReader, FrameWriter, Framing, ReadError, WriteError};
pub use grant::Grant;
pub use port::Host;
pub use state::{Opening, Session, SessionEvent, check_version};
