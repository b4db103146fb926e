//! Peers of a node, by number: those that are there, and the last ones that ended.
//!
//! A peer that ended is kept as long as an operator may ask for it: one of each name, [`NODES_MAX`] of all. So nodes
//! that come and go take no memory for ever.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};

use rustc_hash::FxHashMap;
use whimbrel_platform::connection_limit::household;
use whimbrel_platform::limits::NODES_MAX;
use whimbrel_platform::route::NodeId;

use crate::peer::Peer;

/// Peers of a node.
#[derive(Default)]
pub(crate) struct Peers {
    known: RwLock<PeerTable>,
    /// Number of present peers at each address.
    hosts: Mutex<FxHashMap<IpAddr, usize>>,
    /// Told whenever no peer is left that may come back.
    alone: Mutex<Option<mpsc::Sender<()>>>,
}

/// Peers by their state. Number 0 is this node.
#[derive(Default)]
pub(crate) struct PeerTable {
    last: u32,
    there: BTreeMap<u32, Arc<Peer>>,
    /// Ended peers, the oldest first.
    ended: VecDeque<Arc<Peer>>,
}

impl PeerTable {
    /// Returns the peers that have not ended, by number.
    pub fn there(&self) -> impl Iterator<Item = &Arc<Peer>> {
        self.there.values()
    }

    /// Returns how many peers have not ended.
    pub fn there_count(&self) -> usize {
        self.there.len()
    }

    /// Returns the last peers that ended, the oldest first; one of each name.
    pub fn ended(&self) -> impl Iterator<Item = &Arc<Peer>> {
        self.ended.iter()
    }

    /// Returns all of these.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Peer>> {
        self.there().chain(self.ended())
    }

    /// Returns a peer by its number.
    pub fn get(&self, id: NodeId) -> Option<&Arc<Peer>> {
        self.there.get(&id.0).or_else(|| self.ended.iter().find(|peer| peer.id == id))
    }

    /// Returns true if every peer ever known has left, or refused this node. A peer that was lost, or forgotten, may
    /// come back.
    fn is_alone(&self) -> bool {
        self.there.is_empty() && self.ended.iter().all(|peer| !peer.forgotten.load(Ordering::Acquire))
    }
}

impl Peers {
    /// Returns the peers, to be looked at. Nothing may be added or ended meanwhile.
    pub fn known(&self) -> RwLockReadGuard<'_, PeerTable> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, PeerTable> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a peer by its number.
    pub fn get(&self, id: NodeId) -> Option<Arc<Peer>> {
        self.known().get(id).cloned()
    }

    /// Adds a peer, made with its number.
    pub fn add(&self, make: impl FnOnce(NodeId) -> Peer) -> Arc<Peer> {
        let mut known = self.change();
        known.last += 1;
        let peer = Arc::new(make(NodeId(known.last)));
        known.there.insert(peer.id.0, Arc::clone(&peer));
        peer
    }

    /// Notes where the other end of a present peer's connection is: the peer's, as far as is known at this level of
    /// security.
    pub fn note_host(&self, peer: &Peer, address: IpAddr) {
        let host = household(address);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = peer.set_host(Some(host));
        *hosts.entry(host).or_default() += 1;
        leave(&mut hosts, before);
    }

    /// Returns true if a present peer is at this address, or was when it was last connected.
    pub fn is_known(&self, address: IpAddr) -> bool {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&household(address))
    }

    /// Notes that a peer has ended.
    pub fn end(&self, peer: &Arc<Peer>) {
        leave(&mut self.hosts.lock().unwrap_or_else(PoisonError::into_inner), peer.set_host(None));
        let mut known = self.change();
        known.there.remove(&peer.id.0);
        if let Some(name) = peer.name.get() {
            known.ended.retain(|other| other.name.get() != Some(name));
        }
        known.ended.push_back(Arc::clone(peer));
        if known.ended.len() > NODES_MAX {
            known.ended.pop_front();
        }
        let is_alone = known.is_alone();
        drop(known);
        if is_alone {
            self.tell_alone();
        }
    }

    /// Returns true if no peer is left that may come back.
    pub fn is_alone(&self) -> bool {
        self.known().is_alone()
    }

    /// Tells this channel, in place of the one before, whenever no peer is left that may come back; also if that is so
    /// now.
    pub fn when_alone(&self, tell: Option<mpsc::Sender<()>>) {
        *self.alone.lock().unwrap_or_else(PoisonError::into_inner) = tell;
        if self.is_alone() {
            self.tell_alone();
        }
    }

    fn tell_alone(&self) {
        if let Some(tell) = &*self.alone.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = tell.send(());
        }
    }
}

/// Notes that one peer less is at this address.
fn leave(hosts: &mut FxHashMap<IpAddr, usize>, host: Option<IpAddr>) {
    let Some((host, count)) = host.and_then(|host| hosts.get_mut(&host).map(|count| (host, count))) else { return };
    *count -= 1;
    if *count == 0 {
        hosts.remove(&host);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    fn add(peers: &Peers, name: &str) -> Arc<Peer> {
        let peer = peers.add(|id| Peer::new(id, false, unbounded_channel().0));
        let _ = peer.name.set(name.to_owned());
        peer
    }

    #[test]
    fn ended_peers_are_freed() {
        let peers = Peers::default();
        for number in 0..3 * NODES_MAX {
            let peer = add(&peers, &format!("n{number}"));
            peers.end(&peer);
        }
        assert_eq!((peers.known().there_count(), peers.known().ended().count()), (0, NODES_MAX));
        let again = format!("n{}", 3 * NODES_MAX - 1);
        let ended: Vec<_> = (0..10).map(|_| add(&peers, &again)).inspect(|peer| peers.end(peer)).collect();
        assert_eq!(peers.known().ended().filter(|peer| peer.name.get() == Some(&again)).count(), 1);
        assert!(peers.get(ended[9].id).is_some() && peers.get(ended[8].id).is_none());
        assert_eq!(Arc::strong_count(&ended[8]), 1, "nothing else holds it");
    }

    #[test]
    fn present_peers_addresses_are_known() {
        let (peers, host) = (Peers::default(), IpAddr::from([10, 0, 0, 1]));
        let (one, two) = (add(&peers, "one"), add(&peers, "two"));
        [&one, &two, &one].into_iter().for_each(|peer| peers.note_host(peer, host));
        peers.end(&one);
        assert!(peers.is_known(host) && !peers.is_known([10, 0, 0, 2].into()));
        peers.note_host(&two, [10, 0, 0, 2].into());
        assert!(!peers.is_known(host) && peers.is_known([10, 0, 0, 2].into()));
        peers.end(&two);
        assert!(peers.hosts.lock().unwrap().is_empty());
    }

    #[test]
    fn last_leaving_peer_is_reported() {
        let (peers, (tell, hears)) = (Peers::default(), mpsc::channel());
        let (lost, left) = (add(&peers, "lost"), add(&peers, "left"));
        peers.when_alone(Some(tell));
        lost.forgotten.store(true, Ordering::Release);
        peers.end(&lost);
        peers.end(&left);
        assert!(hears.try_recv().is_err(), "a lost one may come back");
        let back = add(&peers, "lost");
        peers.end(&back);
        assert_eq!(hears.try_recv(), Ok(()));
        peers.when_alone(None);
        assert!(hears.recv().is_err());
    }
}
