//! Message counters, and the equation that proves no message was lost.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Numbers of messages, by way. A message to several receivers counts once for each.
///
/// The code that moves messages counts `sent`, `handled` and `dead` as they happen. It measures `queued` by counting
/// the messages in mailboxes and on links. Between any two turns, `sent = handled + dead + queued` holds for a platform
/// of one node, and for the sum of all nodes. For one of several nodes, `sent + came = handled + dead + queued + left`
/// does:
///
/// ```
/// use whimbrel_platform::Counters;
/// let counters = Counters { sent: 10, handled: 7, dead: 1, queued: 2, ..Counters::default() };
/// assert!(counters.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counters {
    /// Messages put on their way, by agents and by the platform itself.
    pub sent: u64,
    /// Messages taken from a mailbox by their receiver.
    pub handled: u64,
    /// Messages that ended as dead letters.
    pub dead: u64,
    /// Messages that wait now, in a mailbox or on a link.
    pub queued: u64,
    /// Messages from other nodes.
    #[serde(default)]
    pub came: u64,
    /// Messages to other nodes, which acknowledged them.
    #[serde(default)]
    pub left: u64,
}

/// Error: messages appeared or disappeared, which is a fault of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("messages do not add up: {0}")]
pub struct CountersError(pub Counters);

impl Counters {
    /// Checks that every message sent, or from another node, is handled, dead, queued or passed to another node.
    ///
    /// # Errors
    /// The numbers do not add up.
    pub fn check(self) -> Result<(), CountersError> {
        let there = self.handled + self.dead + self.queued + self.left;
        if self.sent + self.came == there { Ok(()) } else { Err(CountersError(self)) }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, handled, dead, queued, came, left } = self;
        if (*came, *left) == (0, 0) {
            return write!(f, "sent {sent} = handled {handled} + dead {dead} + queued {queued}");
        }
        write!(f, "sent {sent} + came {came} = handled {handled} + dead {dead} + queued {queued} + left {left}")
    }
}

impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            handled: self.handled + other.handled,
            dead: self.dead + other.dead,
            queued: self.queued + other.queued,
            came: self.came + other.came,
            left: self.left + other.left,
        }
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let one_side = Counters { sent: 5, queued: 1, left: 4, ..Counters::default() };
        let other_side = Counters { came: 4, handled: 4, ..Counters::default() };
        assert!(one_side.check().is_ok() && other_side.check().is_ok());
        assert_eq!(other_side.to_string(), "sent 0 + came 4 = handled 4 + dead 0 + queued 0 + left 0");
        assert!([one_side, other_side].into_iter().sum::<Counters>().check().is_ok());
        let lost = Counters { sent: 3, handled: 1, dead: 1, ..Counters::default() };
        assert_eq!(
            lost.check().map_err(|error| error.to_string()),
            Err("messages do not add up: sent 3 = handled 1 + dead 1 + queued 0".to_owned())
        );
    }
}
