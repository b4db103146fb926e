//! Reason of an agent's end, as monitors, supervisors, other nodes and people learn it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};

/// Reason of an agent's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[non_exhaustive]
pub enum EndReason {
    /// End by the agent's own choice.
    Finished,
    /// End by order, or with the platform.
    Killed,
    /// Failure (a panic or an error that ended the agent), for this reason.
    Failed(String),
    /// End of the agent's lifetime.
    Expired,
    /// End of a session's lease: its page or program was silent for too long.
    LeaseOver {
        /// Lease, in milliseconds.
        lease_ms: u64,
    },
}

impl EndReason {
    /// Returns the reason of a failure, for monitors, supervisors and clients, which decide by it.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(why) => Some(why),
            Self::LeaseOver { .. } => Some("its lease is over"),
            Self::Finished | Self::Killed | Self::Expired => None,
        }
    }

    /// Returns the reason for people. A closed page is no fault to look into.
    pub fn in_words(&self) -> String {
        match self {
            Self::LeaseOver { lease_ms } => {
                let seconds = Duration::from_millis(*lease_ms).as_secs_f64();
                let what = "its page or program, closed or out of reach, was not heard of for";
                format!("{what} {seconds} s; nothing is wrong with the agent")
            }
            reason => reason.to_string(),
        }
    }
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self, self.failure()) {
            (_, Some(why)) => write!(f, "failed: {why}"),
            (Self::Killed, _) => f.write_str("killed"),
            (Self::Expired, _) => f.write_str("its time to live is over"),
            _ => f.write_str("finished"),
        }
    }
}
