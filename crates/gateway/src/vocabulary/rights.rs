//! Which requests change something, and which take long.

use super::requests::Request;

impl Request {
    /// Whether it only looks: whoever may look may ask it.
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Node
            | Self::Agents(_)
            | Self::Devices { .. }
            | Self::Codes
            | Self::Quotas { .. }
            | Self::Security
            | Self::Refusals { .. }
            | Self::Audit { .. }
            | Self::Services(_)
            | Self::Subscriptions { .. }
            | Self::Topics
            | Self::DeadLetters { .. }
            | Self::Links
            | Self::Doors
            | Self::Nodes
            | Self::Totals
            | Self::Traffic { .. }
            | Self::Sniff(_)
            | Self::Log(_)
            | Self::Conversations { .. }
            | Self::Mind { .. }
            | Self::Advise { .. } => true,
            Self::At { ask, .. } => ask.only_looks(),
            Self::Drain { .. }
            | Self::Register(_)
            | Self::Modify(_)
            | Self::Deregister { .. }
            | Self::Send(_)
            | Self::Step { .. }
            | Self::Spawn(_)
            | Self::Clone { .. }
            | Self::Kill { .. }
            | Self::Move { .. }
            | Self::Recall { .. }
            | Self::Debug { .. }
            | Self::Breakpoint { .. }
            | Self::Believe { .. }
            | Self::Pursue { .. }
            | Self::Stop { .. } => false,
        }
    }

    /// Whether its answer may take longer than a look: it waits for an agent, or for another node.
    pub fn takes_long(&self) -> bool {
        if let Self::At { ask, .. } = self {
            return ask.takes_long();
        }
        matches!(
            self,
            Self::Send(_)
                | Self::Spawn(_)
                | Self::Kill { .. }
                | Self::Move { .. }
                | Self::Recall { .. }
                | Self::Advise { .. }
        )
    }

    /// Whether other nodes are asked, which may not answer.
    pub fn asks_elsewhere(&self) -> bool {
        match self {
            Self::At { .. } | Self::Totals | Self::Traffic { elsewhere: true, .. } => true,
            Self::Agents(wanted) => wanted.elsewhere_but.is_some(),
            Self::Services(wanted) => wanted.elsewhere_but.is_some(),
            _ => false,
        }
    }
}
