//! Connection limits: counts of connections, all together and from each address, so that one address leaves room for
//! others.

// Addresses are data; sockets are not.
use core::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// Connection limit, in all and from each address; see the module.
#[derive(Debug)]
pub struct ConnectionLimit {
    all_max: usize,
    each_max: usize,
    there: Mutex<There>,
}

#[derive(Debug, Default)]
struct There {
    all: usize,
    by_address: FxHashMap<IpAddr, usize>,
}

/// Place of one connection, released on drop.
#[derive(Debug)]
pub struct ConnectionPlace {
    crowd: Arc<ConnectionLimit>,
    address: IpAddr,
}

impl ConnectionLimit {
    /// Returns a limit on all connections, and on those from one address.
    pub fn of(all_max: usize, each_max: usize) -> Arc<Self> {
        Arc::new(Self { all_max, each_max, there: Mutex::default() })
    }

    /// Takes a place for a connection from this address, if there is room.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Option<ConnectionPlace> {
        let address = household(from);
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let here = there.by_address.get(&address).copied().unwrap_or_default();
        if there.all >= self.all_max || here >= self.each_max {
            return None;
        }
        there.all += 1;
        there.by_address.insert(address, here + 1);
        Some(ConnectionPlace { crowd: Arc::clone(self), address })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut there = self.crowd.there.lock().unwrap_or_else(PoisonError::into_inner);
        there.all = there.all.saturating_sub(1);
        let left = there.by_address.get_mut(&self.address).map_or(0, |here| {
            *here = here.saturating_sub(1);
            *here
        });
        if left == 0 {
            there.by_address.remove(&self.address);
        }
    }
}

/// Returns the part of an address that counts as one. For IPv6, this is the network of 64 bits, because its holder has
/// all of it (RFC 4291 2.5.4).
pub fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_room_for_others() {
        let crowd = ConnectionLimit::of(5, 3);
        let (one, other): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut there: Vec<ConnectionPlace> = (0..3).map(|_| crowd.enter(one).expect("there is room")).collect();
        assert!(crowd.enter(one).is_none());
        there.extend(crowd.enter(other));
        there.extend(crowd.enter(other));
        assert_eq!(there.len(), 5);
        assert!(crowd.enter([10, 0, 0, 3].into()).is_none(), "there are as many as may be");
        there.clear();
        assert!(crowd.enter(one).is_some());
        assert!(crowd.there.lock().expect("nobody panicked").by_address.is_empty(), "nothing is kept of who left");
    }

    #[test]
    fn ipv6_network_counts_as_one() {
        let of = |text: &str| household(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
