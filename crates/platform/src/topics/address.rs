//! Addresses of several agents: `topic:NAME`, `group:NAME`, `any:NAME`.

use std::fmt;

use whimbrel_acl::{AclMessage, Aid, Envelope, Symbol};

use crate::limits::TOPIC_NAME_BYTES_MAX;

/// Kinds of delivery to such an address. No agent can have a name that begins with one of the prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cast {
    /// Delivery to every subscriber of a topic (`topic:NAME`), and to none if there are none.
    Broadcast,
    /// Delivery to every member of a group (`group:NAME`).
    Multicast,
    /// Delivery to one member of a group (`any:NAME`).
    Anycast,
}

impl Cast {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Broadcast, Self::Multicast, Self::Anycast];

    /// Returns the prefix of the names.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Broadcast => "topic:",
            Self::Multicast => "group:",
            Self::Anycast => "any:",
        }
    }

    /// Returns the kind of delivery to this local name; `None` if it can only be an agent's.
    ///
    /// ```
    /// use whimbrel_platform::topics::Cast;
    /// assert_eq!(Cast::of("topic:weather".into()), Some(Cast::Broadcast));
    /// assert_eq!(Cast::of("weather".into()), None);
    /// ```
    pub fn of(name: Symbol) -> Option<Self> {
        Self::split(name).map(|(cast, _)| cast)
    }

    /// Returns the kind of delivery, and the name of the topic or group.
    pub fn split(name: Symbol) -> Option<(Self, &'static str)> {
        Self::split_text(name.as_str())
    }

    /// Splits a name as [`Self::split`] does, from a text that is no [`Symbol`] yet.
    pub fn split_text(name: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|cast| Some((cast, name.strip_prefix(cast.prefix())?)))
    }

    /// Returns the topic or group by which this copy of a message goes to its receiver, and the kind of delivery.
    /// `None` if the copy's receiver is named in the message itself.
    pub fn behind(copy: &Envelope) -> Option<(Self, Aid)> {
        Self::behind_copy(&copy.body, copy.to)
    }

    /// Returns the same for a copy of this message for `to`.
    pub fn behind_copy(message: &AclMessage, to: Aid) -> Option<(Self, Aid)> {
        if message.receivers.contains(&to) {
            return Self::of(to.name).map(|cast| (cast, to));
        }
        message.receivers.iter().find_map(|receiver| Some((Self::of(receiver.name)?, *receiver)))
    }

    /// Returns true if a topic or group may have this name.
    pub(super) fn allows(name: &str) -> bool {
        (1..=TOPIC_NAME_BYTES_MAX).contains(&name.len()) && !name.contains('@')
    }

    fn address(self, name: &str) -> Result<Aid, TopicError> {
        if !Self::allows(name) {
            return Err(TopicError::BadName(name.to_owned()));
        }
        Ok(Aid::local(format!("{}{name}", self.prefix()).as_str()))
    }
}

impl fmt::Display for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broadcast => "broadcast",
            Self::Multicast => "multicast",
            Self::Anycast => "anycast",
        })
    }
}

/// Returns the topic of this name, as a receiver of messages: `topic:NAME`.
///
/// # Errors
/// The text is no name.
pub fn topic(name: &str) -> Result<Aid, TopicError> {
    Cast::Broadcast.address(name)
}

/// Returns the group of this name, all its members, as a receiver of messages: `group:NAME`.
///
/// # Errors
/// The text is no name.
pub fn group(name: &str) -> Result<Aid, TopicError> {
    Cast::Multicast.address(name)
}

/// Returns one member of the group of this name, as a receiver of messages: `any:NAME`.
///
/// # Errors
/// The text is no name.
pub fn any_member(name: &str) -> Result<Aid, TopicError> {
    Cast::Anycast.address(name)
}

/// Returns the group behind `any:NAME`: the name `group:NAME`.
pub(super) fn group_of(any: Symbol) -> Symbol {
    let name = Cast::split(any).map_or("", |(_, name)| name);
    Symbol::new(&format!("{}{name}", Cast::Multicast.prefix()))
}

/// Reason why an agent did not subscribe to a topic or join a group, or cannot write to one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// Name that is empty, too long, or has an `@` in it.
    #[error("{0:?} cannot name a topic or a group: expected 1 to {TOPIC_NAME_BYTES_MAX} bytes without `@`")]
    BadName(String),
    /// Name that is neither `topic:NAME` nor `group:NAME` of this platform.
    #[error(
        "{0} is no topic and no group: expected `topic:NAME` or `group:NAME`, with a name of 1 to \
         {TOPIC_NAME_BYTES_MAX} bytes"
    )]
    NotJoinable(Aid),
    /// Agent that is not on this node: it may have ended.
    #[error("there is no agent named {0}")]
    NoSuchAgent(Aid),
    /// Agent in as many topics and groups as it may be.
    #[error("agent {agent} is in {most} topics and groups already")]
    TooManyOfAgent {
        /// Agent.
        agent: Symbol,
        /// Number of topics and groups that the agent may be in.
        most: usize,
    },
    /// Too many topics and groups.
    #[error("there are {0} topics and groups already")]
    TooMany(usize),
    /// Topic or group with as many subscribers or members of this node as it may have.
    #[error("{name} has {most} subscribers or members already")]
    Full {
        /// Topic or group.
        name: Symbol,
        /// Number that the topic or group may have.
        most: usize,
    },
    /// Policy that does not let the agent subscribe.
    #[error("the policy forbids {agent} to subscribe to {to}")]
    Forbidden {
        /// Agent.
        agent: Aid,
        /// Topic or group.
        to: Aid,
    },
    /// Platform without topics and groups.
    #[error("this platform has no topics and no groups")]
    Unsupported,
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{MessageBody, Performative};

    use super::*;
    use crate::topics::Topics;

    #[test]
    fn names_are_checked() {
        assert_eq!(topic("weather").unwrap().to_string(), "topic:weather");
        assert_eq!(group("workers").unwrap().to_string(), "group:workers");
        assert_eq!(group_of(any_member("workers").unwrap().name), group("workers").unwrap().name);
        for bad in ["", "a@b", &"x".repeat(TOPIC_NAME_BYTES_MAX + 1)] {
            assert_eq!(topic(bad), Err(TopicError::BadName(bad.to_owned())));
        }
        assert!(topic(&"x".repeat(TOPIC_NAME_BYTES_MAX)).is_ok());
    }

    #[test]
    fn joined_names_are_checked() {
        let mut topics = Topics::new();
        for bad in ["topic:".to_owned(), format!("group:{}", "é".repeat(TOPIC_NAME_BYTES_MAX / 2 + 1))] {
            let refused = TopicError::NotJoinable(Aid::local(bad.as_str()));
            assert_eq!(topics.join("amy".into(), bad.as_str().into(), false), Err(refused));
        }
        let longest = group(&"é".repeat(TOPIC_NAME_BYTES_MAX / 2)).unwrap();
        assert_eq!(topics.join("amy".into(), longest.name, false), Ok(true));
    }

    #[test]
    fn copy_tells_its_topic() {
        let (amy, bob, weather) = (Aid::local("amy"), Aid::local("bob"), topic("weather").unwrap());
        let copy = |to: Aid, receiver: Aid| {
            let message = AclMessage::new(Performative::Inform, amy, receiver, "rain");
            Cast::behind(&Envelope { to, body: MessageBody::Owned(Box::new(message)) })
        };
        assert_eq!(copy(bob, bob), None);
        assert_eq!(copy(bob, weather), Some((Cast::Broadcast, weather)));
        assert_eq!(copy(weather, weather), Some((Cast::Broadcast, weather)));
        assert_eq!(copy(bob, amy), None);
    }
}
