//! Sessions: agents whose code is no part of any node. A program in any language connects to a node's agent port,
//! speaks the session protocol, and its agents are agents like all others.
//!
//! This module has everything but sockets. It has the frames in their two forms, the node's end as a state machine, and
//! the body of a session's agent in its slot. `docs/design/session-protocol.md` specifies the protocol.

mod body;
mod code_name;
mod departing;
mod durability;
mod frames;
mod framing;
mod grant;
mod invitation;
mod kept_agents;
mod kept_body;
mod leaving;
mod memory_quota;
mod moves;
mod octets;
mod open_messages;
mod oversize;
mod persisted;
mod port;
mod rollback;
mod session_agents;
mod state;
mod transmit;
mod uploads;

pub use body::{SessionBody, SharedSession};
pub use code_name::{CodeName, NoCodeName, ScriptLanguage};
pub use departing::DepartingBody;
pub use durability::SavedState;
pub use frames::{
    AckFrame, CertifiedFrame, Certify, Challenge, CodePart, Create, Created, EndFrame, EndedFrame, ErrorCode,
    ErrorFrame, HelloFrame, Keep, Lacks, MessageFrame, OfferFrame, OnLeave, OpenFrame, PASSED, ProofFrame,
    RefusedFrame, Resume, SESSION_VERSION, Save, SavedFrame, SessionFrame, StateFrame, Stays, Welcome, Yield,
};
pub use framing::{FrameReader, FrameWriteError, FrameWriter, Framing, ReadError};
pub use grant::{SessionGrant, SessionLimits};
pub use kept_agents::KeptAgents;
pub use port::{Exchange, SessionHost, SessionMobility, Whereabouts};
pub use state::{Opening, Session, SessionEvent, check_version};
