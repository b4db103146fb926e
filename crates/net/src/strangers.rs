//! Places at the link port for connections whose peers have not identified themselves.

use std::net::IpAddr;
use std::sync::Arc;

use whimbrel_platform::connection_limit::{ConnectionLimit, ConnectionPlace};
use whimbrel_platform::limits::{LINK_KNOWN_EACH_MAX, LINK_KNOWN_MAX, LINK_STRANGERS_EACH_MAX, LINK_STRANGERS_MAX};

/// Places of strangers. Strangers take no places of known nodes, unless they connect from an address of one.
pub(crate) struct Strangers {
    anywhere: Arc<ConnectionLimit>,
    /// Places for addresses of nodes that are linked, or were.
    known: Arc<ConnectionLimit>,
}

impl Default for Strangers {
    fn default() -> Self {
        Self {
            anywhere: ConnectionLimit::of(LINK_STRANGERS_MAX, LINK_STRANGERS_EACH_MAX),
            known: ConnectionLimit::of(LINK_KNOWN_MAX, LINK_KNOWN_EACH_MAX),
        }
    }
}

impl Strangers {
    /// Takes a place for a connection from this address, if there is one.
    pub fn enter(&self, from: IpAddr, is_known: bool) -> Option<ConnectionPlace> {
        let own = is_known.then(|| self.known.enter(from)).flatten();
        own.or_else(|| self.anywhere.enter(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_leave_room_for_nodes() {
        let (strangers, mut there) = (Strangers::default(), Vec::new());
        let address = |host: usize| IpAddr::from([10, 1, (host / 256) as u8, (host % 256) as u8]);
        let mut crowd = |host: usize| {
            let before = there.len();
            there.extend(std::iter::from_fn(|| strangers.enter(address(host), false)));
            there.len() - before
        };
        assert_eq!(crowd(0), LINK_STRANGERS_EACH_MAX);
        assert_eq!((1..100).map(&mut crowd).sum::<usize>(), LINK_STRANGERS_MAX - LINK_STRANGERS_EACH_MAX);
        let node = IpAddr::from([10, 2, 0, 1]);
        assert!(strangers.enter(node, false).is_none());
        assert!(strangers.enter(node, true).is_some());
    }
}
