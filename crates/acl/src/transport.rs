//! The envelope a message travels in between platforms (FIPA00067). Inside a platform [`crate::Envelope`] is enough.

use serde::{Deserialize, Serialize};

use crate::{AclMessage, Aid, Symbol, Text, Value};

/// Envelope of a message between two platforms: everything that their agent communication channels need besides the
/// message itself.
//= fipa00067 2.4
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransportEnvelope {
    /// `:to`: receivers of the message.
    pub to: Vec<Aid>,
    /// `:from`: sender of the message.
    pub from: Option<Aid>,
    /// `:comments`, for people.
    pub comments: Option<Text>,
    /// `:acl-representation`: how the payload is written, for instance `fipa.acl.rep.string.std`.
    pub acl_representation: Symbol,
    /// `:payload-length`, in bytes.
    pub payload_length: Option<u64>,
    /// `:payload-encoding`: the payload's character set or transfer encoding.
    pub payload_encoding: Option<Symbol>,
    /// `:date`: when the sender handed it over, in milliseconds since 1970-01-01 UTC.
    pub date_ms: Option<u64>,
    /// `:intended-receiver`: receivers of this copy, if the message to many was split.
    pub intended_receivers: Vec<Aid>,
    /// `:received`: the stations it passed, oldest first.
    pub received: Vec<Received>,
    /// `:transport-behaviour`: requests of the sender for the transport.
    pub transport_behaviour: Option<Value>,
    /// `X-` parameters, kept in their order from end to end.
    pub user: Vec<(Symbol, Value)>,
}

/// A station's stamp on an envelope.
//= fipa00067 2.4
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Received {
    /// `:by`: the station's address (URL).
    pub by: String,
    /// `:from`: the address it came from.
    pub from: Option<String>,
    /// `:date`, in milliseconds since 1970-01-01 UTC.
    pub date_ms: u64,
    /// `:id`: the station's number for it.
    pub id: Option<String>,
    /// `:via`: the transport protocol it came by.
    pub via: Option<String>,
}

impl TransportEnvelope {
    /// Returns the envelope of a message that leaves its platform at this moment, its payload written in this
    /// representation.
    pub fn of(message: &AclMessage, acl_representation: impl Into<Symbol>, date_ms: u64) -> Self {
        Self {
            to: message.receivers.to_vec(),
            from: Some(message.sender),
            acl_representation: acl_representation.into(),
            date_ms: Some(date_ms),
            ..Self::default()
        }
    }

    /// Returns the receivers of this copy: `:intended-receiver`, or `:to` if the message was never split.
    //= fipa00067 2.5
    pub fn receivers(&self) -> &[Aid] {
        if self.intended_receivers.is_empty() { &self.to } else { &self.intended_receivers }
    }

    /// A copy for some of the receivers, the others being reached another way.
    //= fipa00067 2.5
    #[must_use]
    pub fn copy_for(&self, receivers: Vec<Aid>) -> Self {
        Self { intended_receivers: receivers, ..self.clone() }
    }

    /// Checks for a routing loop: the message passed the station with this address before.
    pub fn has_passed(&self, address: &str) -> bool {
        self.received.iter().any(|stamp| stamp.by == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Performative;

    #[test]
    fn envelope_copies_its_message() {
        let (amy, bob, eve) = (Aid::new("amy", "here"), Aid::new("bob", "there"), Aid::new("eve", "there"));
        let message = AclMessage::new(Performative::Inform, amy, bob, 1.0).to(eve);
        let mut envelope = TransportEnvelope::of(&message, "fipa.acl.rep.string.std", 1_700_000_000_000);
        assert_eq!((envelope.from, envelope.receivers()), (Some(amy), [bob, eve].as_slice()));
        let copy = envelope.copy_for(vec![eve]);
        assert_eq!((copy.receivers(), copy.to.len()), ([eve].as_slice(), 2));
        assert!(!envelope.has_passed("http://there/acc"));
        envelope.received.push(Received { by: "http://there/acc".into(), ..Received::default() });
        assert!(envelope.has_passed("http://there/acc"));
    }
}
