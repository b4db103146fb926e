//! Audit vocabulary: refusals with their reasons, and allowed acts. The counters, the audit log and the tests share it.

mod folding;
mod wording;

use core::net::IpAddr;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::policy::Action;

pub use folding::{AuditEntry, Folded, Folding, Outcome};
pub use wording::WordedEntry;

/// Reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum RefusalReason {
    /// Act that the policy does not permit.
    Forbidden,
    /// Message whose sender is no agent of the node, or session, that it comes from.
    Forged,
    /// Signature that is missing, not the sender's, or does not match the message.
    BadSignature,
    /// Certificate that is missing, unreadable, or of an authority that is not the platform's.
    BadCertificate,
    /// Revoked certificate.
    Revoked,
    /// Certificate that is no longer, or not yet, valid.
    Expired,
    /// Certificate that is not for the address that it came from.
    WrongAddress,
    /// Certificate that does not name the node or agent that shows it.
    Impostor,
    /// Wrong secret, or a token that is invalid, used, or too old.
    BadToken,
    /// Attempt to speak at a lower level of security than this node's.
    Downgrade,
    /// Frames that came before, or are not those that are due.
    Replayed,
    /// Malformed bytes.
    Malformed,
    /// Too many at once.
    TooMany,
    /// Guest agent that exceeded a quota, or did what no guest may.
    Quota,
    /// Foreign page that asks in its visitor's name, or a name that is not this node's.
    WrongOrigin,
}

impl RefusalReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Forbidden,
        Self::Forged,
        Self::BadSignature,
        Self::BadCertificate,
        Self::Revoked,
        Self::Expired,
        Self::WrongAddress,
        Self::Impostor,
        Self::BadToken,
        Self::Downgrade,
        Self::Replayed,
        Self::Malformed,
        Self::TooMany,
        Self::Quota,
        Self::WrongOrigin,
    ];

    /// Returns the reason as it is written in the audit log: `forbidden`, `bad_certificate` and so on.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Forged => "forged",
            Self::BadSignature => "bad_signature",
            Self::BadCertificate => "bad_certificate",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::WrongAddress => "wrong_address",
            Self::Impostor => "impostor",
            Self::BadToken => "bad_token",
            Self::Downgrade => "downgrade",
            Self::Replayed => "replayed",
            Self::Malformed => "malformed",
            Self::TooMany => "too_many",
            Self::Quota => "quota",
            Self::WrongOrigin => "wrong_origin",
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Party of an audit entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party<'a> {
    /// Stranger who has proved nothing yet: only the address is certain.
    Stranger(IpAddr),
    /// Holder of a token that many may have: a session, or a viewer of the console.
    Holder(&'a str),
    /// Agent or node of the platform, as the policy writes it.
    Member(&'a str),
    /// Operator of a node: an administrator, or a user of the machine.
    Operator(&'a str),
}

impl<'a> Party<'a> {
    /// Returns the party of a principal, as the policy writes it.
    pub fn named(name: &'a str) -> Self {
        let is_member = name.starts_with("agent:") || name.starts_with("node:");
        if is_member { Self::Member(name) } else { Self::Holder(name) }
    }

    /// Returns the standing of the party at the platform.
    pub const fn standing(self) -> Standing {
        match self {
            Self::Stranger(_) | Self::Holder(_) => Standing::Outside,
            Self::Member(_) => Standing::Member,
            Self::Operator(_) => Standing::Operator,
        }
    }

    /// Returns the party's name, if it has one.
    pub const fn name(self) -> Option<&'a str> {
        match self {
            Self::Stranger(_) => None,
            Self::Holder(name) | Self::Member(name) | Self::Operator(name) => Some(name),
        }
    }
}

impl fmt::Display for Party<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stranger(address) => address.fmt(f),
            Self::Holder(name) | Self::Member(name) | Self::Operator(name) => f.write_str(name),
        }
    }
}

/// Standing of a party at the platform. Each standing has room of its own in every record, so that no party displaces
/// acts of another standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Standing {
    /// Operators of nodes.
    Operator,
    /// Agents and nodes of the platform.
    Member,
    /// Strangers, and holders of tokens that many may have.
    Outside,
}

impl Standing {
    /// All standings, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Operator, Self::Member, Self::Outside];
}

/// Table of values, one for each standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerStanding<T>([T; Standing::ALL.len()]);

impl<T> PerStanding<T> {
    /// Returns a table of the values that `make` returns.
    pub fn of(make: impl FnMut(Standing) -> T) -> Self {
        Self(Standing::ALL.map(make))
    }

    /// Returns a table of the values that `make` returns, unless it fails.
    ///
    /// # Errors
    /// The first error of `make`.
    pub fn try_of<E>(mut make: impl FnMut(Standing) -> Result<T, E>) -> Result<PerStanding<T>, E> {
        let [operator, member, outside] = Standing::ALL;
        Ok(Self([make(operator)?, make(member)?, make(outside)?]))
    }

    /// Iterates over the values of all standings.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// Iterates over the values of all standings, mutably.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> core::ops::Index<Standing> for PerStanding<T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "there is one for each standing")]
    fn index(&self, standing: Standing) -> &T {
        &self.0[standing as usize]
    }
}

impl<T> core::ops::IndexMut<Standing> for PerStanding<T> {
    #[expect(clippy::indexing_slicing, reason = "there is one for each standing")]
    fn index_mut(&mut self, standing: Standing) -> &mut T {
        &mut self.0[standing as usize]
    }
}

/// Refusal.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// Reason.
    pub reason: RefusalReason,
    /// Party that was refused.
    pub who: Party<'a>,
    /// Action that the party wanted, if known.
    pub action: Option<Action>,
    /// Object of the action; empty if unknown.
    pub object: &'a str,
    /// Further details, in words; may be empty.
    pub detail: &'a str,
}

impl<'a> Refused<'a> {
    /// Returns a refusal of an act that the policy does not permit.
    pub fn forbidden(who: &'a str, action: Action, object: &'a str) -> Self {
        Self { reason: RefusalReason::Forbidden, who: Party::named(who), action: Some(action), object, detail: "" }
    }

    /// Returns a refusal of a principal altogether.
    pub fn somebody(reason: RefusalReason, who: &'a str, detail: &'a str) -> Self {
        Self { reason, who: Party::named(who), action: None, object: "", detail }
    }

    /// Returns a refusal of a stranger at this address. A name that was only claimed belongs into `detail`.
    pub const fn stranger(reason: RefusalReason, from: IpAddr, detail: &'a str) -> Self {
        Self { reason, who: Party::Stranger(from), action: None, object: "", detail }
    }
}

/// Act that was allowed, and carried out.
#[derive(Clone, Copy, Debug)]
pub struct Act<'a> {
    /// Party that acted.
    pub who: Party<'a>,
    /// Way of the request: `http 192.0.2.7`, `control socket`; empty if the party says it.
    pub from: &'a str,
    /// Action: `kill`, `move`, `spawn` and so on.
    pub action: &'a str,
    /// Agent or thing that the action was about.
    pub object: &'a str,
    /// Reason why the action failed, or the process that asked; may be empty.
    pub detail: &'a str,
}

/// Receiver of refusals and allowed acts. It is called on the threads that do the work, so it must be quick and never
/// block.
pub trait Auditor: Send + Sync {
    /// Takes in a refusal.
    fn refused(&self, what: &Refused<'_>);

    /// Takes in an allowed act.
    fn allowed(&self, what: &Act<'_>);
}

/// Numbers of refusals, by reason.
#[derive(Debug, Default)]
pub struct RefusalCounts([AtomicU64; RefusalReason::ALL.len()]);

impl RefusalCounts {
    /// Counts a refusal.
    pub fn count(&self, reason: RefusalReason) {
        if let Some(count) = self.0.get(reason as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of refusals with this reason.
    pub fn of(&self, reason: RefusalReason) -> u64 {
        self.0.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Returns the reasons with at least one refusal, and the numbers.
    pub fn all(&self) -> impl Iterator<Item = (RefusalReason, u64)> + '_ {
        RefusalReason::ALL.into_iter().map(|reason| (reason, self.of(reason))).filter(|(_, count)| *count > 0)
    }
}

/// Counts refusals: the least that an auditor does.
impl Auditor for RefusalCounts {
    fn refused(&self, what: &Refused<'_>) {
        self.count(what.reason);
    }

    fn allowed(&self, _what: &Act<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_by_name() {
        let counts = RefusalCounts::default();
        for (times, reason) in RefusalReason::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| counts.count(reason));
        }
        let all: Vec<(&str, u64)> = counts.all().map(|(reason, count)| (reason.as_str(), count)).collect();
        assert_eq!(all.len(), RefusalReason::ALL.len() - 1);
        assert_eq!(all.first(), Some(&("forged", 1)));
        let last = RefusalReason::ALL.last().map(|reason| counts.of(*reason));
        assert_eq!(last, Some(RefusalReason::ALL.len() as u64 - 1));
    }
}
