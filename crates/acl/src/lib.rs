//! FIPA agent communication as plain data: agent identifiers, performatives, ACL messages, typed content values,
//! templates for selective receive. No I/O, no clock, no randomness; builds for wasm32.
//!
//! Names are interned ([`Symbol`]), so that an [`Aid`] and an atom are a few bytes, compare in one instruction and cost
//! nothing to copy. Compound values are immutable and shared, so that a message crosses agents and threads without
//! being copied or encoded.
#![forbid(unsafe_code)]

mod aid;
pub mod codec;
pub mod compact;
pub mod limits;
mod message;
mod name;
mod performative;
pub mod sl;
mod symbol;
mod template;
mod text;
mod tokens;
mod transport;
pub mod value;

pub use aid::{Aid, AidParseError, Contact};
pub use codec::{DecodeError, DecodeErrorKind, EncodeError, Encoding};
pub use message::{AclMessage, Bulky, Envelope, Extras, MessageBody, Numbered};
pub use name::{Name, NameKey};
pub use performative::{Performative, UnknownPerformative};
pub use symbol::{NameAllowance, Symbol, sym};
pub use template::Template;
pub use text::Text;
pub use transport::{Received, TransportEnvelope};
pub use value::{Annot, Annots, Args, Bytes, Cons, Object, Record, Structure, Value, Var};
