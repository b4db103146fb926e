//! Names that are not one agent's: `topic:NAME`, `group:NAME`, `any:NAME`.

use std::fmt;

use whimbrel_acl::{AclMessage, Aid, Envelope, Symbol};

use crate::limits::TOPIC_NAME_BYTES_MAX;

/// How a message to such a name is delivered. No agent can have a name that begins with one of the prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cast {
    /// To a topic (`topic:NAME`): every subscriber gets it, and nobody if there is none.
    Broadcast,
    /// To a group (`group:NAME`): every member gets it.
    Multicast,
    /// To a group (`any:NAME`): one member gets it.
    Anycast,
}

impl Cast {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Broadcast, Self::Multicast, Self::Anycast];

    /// What the names begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Broadcast => "topic:",
            Self::Multicast => "group:",
            Self::Anycast => "any:",
        }
    }

    /// How a message to this local name is delivered; `None` if it can only be an agent's.
    ///
    /// ```
    /// use whimbrel_platform::topics::Cast;
    /// assert_eq!(Cast::of("topic:weather".into()), Some(Cast::Broadcast));
    /// assert_eq!(Cast::of("weather".into()), None);
    /// ```
    pub fn of(name: Symbol) -> Option<Self> {
        Self::split(name).map(|(cast, _)| cast)
    }

    /// The same, with the name of the topic or group.
    pub fn split(name: Symbol) -> Option<(Self, &'static str)> {
        Self::split_text(name.as_str())
    }

    /// As [`Self::split`], of a text that is no [`Symbol`] yet.
    pub fn split_text(name: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|cast| Some((cast, name.strip_prefix(cast.prefix())?)))
    }

    /// By which of its receivers, and how, this copy of a message came to go to whom it goes; `None` if it goes to a
    /// receiver itself.
    pub fn behind(copy: &Envelope) -> Option<(Self, Aid)> {
        Self::behind_copy(&copy.body, copy.to)
    }

    /// The same of a copy of this message for `to`.
    pub fn behind_copy(message: &AclMessage, to: Aid) -> Option<(Self, Aid)> {
        if message.receivers.contains(&to) {
            return Self::of(to.name).map(|cast| (cast, to));
        }
        message.receivers.iter().find_map(|receiver| Some((Self::of(receiver.name)?, *receiver)))
    }

    fn address(self, name: &str) -> Result<Aid, TopicError> {
        if name.is_empty() || name.len() > TOPIC_NAME_BYTES_MAX || name.contains('@') {
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

/// The topic of this name, as a receiver of messages: `topic:NAME`.
///
/// # Errors
/// It is no name.
pub fn topic(name: &str) -> Result<Aid, TopicError> {
    Cast::Broadcast.address(name)
}

/// All members of the group of this name, as a receiver of messages: `group:NAME`.
///
/// # Errors
/// It is no name.
pub fn group(name: &str) -> Result<Aid, TopicError> {
    Cast::Multicast.address(name)
}

/// One member of the group of this name, as a receiver of messages: `any:NAME`.
///
/// # Errors
/// It is no name.
pub fn any_member(name: &str) -> Result<Aid, TopicError> {
    Cast::Anycast.address(name)
}

/// The group behind `any:NAME`: the name `group:NAME`.
pub(super) fn group_of(any: Symbol) -> Symbol {
    let name = Cast::split(any).map_or("", |(_, name)| name);
    Symbol::new(&format!("{}{name}", Cast::Multicast.prefix()))
}

/// Why an agent did not subscribe to a topic or join a group, or cannot write to one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The name is empty, too long, or has an `@` in it.
    #[error("{0:?} cannot name a topic or a group: expected 1 to {TOPIC_NAME_BYTES_MAX} bytes without `@`")]
    BadName(String),
    /// What is to be joined is neither `topic:NAME` nor `group:NAME` of this platform.
    #[error("{0} is no topic and no group: expected `topic:NAME` or `group:NAME`")]
    NotJoinable(Aid),
    /// There is no such agent on this node: it may have ended.
    #[error("there is no agent named {0}")]
    NoSuchAgent(Aid),
    /// The agent is in as many topics and groups as it may be.
    #[error("agent {agent} is in {most} topics and groups already")]
    TooManyOfAgent {
        /// The agent.
        agent: Symbol,
        /// How many it may be in.
        most: usize,
    },
    /// There are as many topics and groups as there may be.
    #[error("there are {0} topics and groups already")]
    TooMany(usize),
    /// It has as many subscribers or members of this node as it may have.
    #[error("{name} has {most} subscribers or members already")]
    Full {
        /// The topic or group.
        name: Symbol,
        /// How many it may have.
        most: usize,
    },
    /// The platform's policy does not let the agent do that.
    #[error("the policy forbids {agent} to subscribe to {to}")]
    Forbidden {
        /// The agent.
        agent: Aid,
        /// The topic or group.
        to: Aid,
    },
    /// This platform has no topics and no groups.
    #[error("this platform has no topics and no groups")]
    Unsupported,
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{MessageBody, Performative};

    use super::*;

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
    fn a_copy_tells_what_it_came_by() {
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
