//! ACL messages, their parts, and their encodings.
//!
//! An [`AclMessage`] has a [`Performative`], a sender, receivers ([`Aid`]) and content ([`Value`]), and all other
//! parameters of FIPA00061 ([`Extras`]). A [`Template`] selects messages:
//!
//! ```
//! use whimbrel::prelude::*;
//!
//! let ada = Aid::local("ada");
//! let call = AclMessage::new(Performative::Cfp, ada, Aid::local("bob"), Value::term("paint", [Value::from("wall")]))
//!     .with_protocol("fipa-contract-net")
//!     .with_reply_with("cfp-1");
//! let bid = call.make_reply(Aid::local("bob"), Performative::Propose).with_content(80);
//!
//! let bids = Template::performative(Performative::Propose) & Template::in_reply_to("cfp-1");
//! assert!(bids.matches(&bid) && !bids.matches(&call));
//! assert_eq!(bid.receivers.as_slice(), [ada]);
//! ```
//!
//! [`Encoding`] reads and writes messages as bytes. [`acl`](crate::acl) has the content language SL, and the codecs.

#[doc(inline)]
pub use whimbrel_acl::{
    AclMessage, Aid, AidParseError, Annot, Annots, Args, Bytes, Cons, Contact, DecodeError, EncodeError, Encoding,
    Extras, MessageBody, Performative, Record, Structure, Symbol, Template, Text, UnknownPerformative, Value, Var,
};
