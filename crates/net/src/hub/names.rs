//! Names of a hub's peers: each name has one peer, whether this node dials the peer or waits for it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::mpsc;
use whimbrel_platform::link::Link;
use whimbrel_platform::route::NodeId;

use super::HubState;
use crate::peer::Peer;
use crate::task;

impl HubState {
    pub(super) fn names(&self) -> MutexGuard<'_, FxHashMap<String, NodeId>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn peer_of(&self, name: &str) -> Option<Arc<Peer>> {
        let id = self.names().get(name).copied()?;
        self.peer(id)
    }

    /// Returns the peer of this name, made if it is new.
    pub(super) fn peer_named(self: &Arc<Self>, name: &str, dials: bool) -> Arc<Peer> {
        let mut names = self.names();
        if let Some(peer) = names.get(name).and_then(|id| self.peer(*id)) {
            return peer;
        }
        let peer = self.add(Some(name), None, dials);
        names.insert(name.to_owned(), peer.id);
        peer
    }

    /// Sets the name of a peer that was dialled. False if a peer of this name is present already, or the name is this
    /// node's.
    pub fn assign_name(&self, peer: &Peer, name: &str) -> bool {
        if peer.name.get().is_some_and(|known| known == name) {
            return true;
        }
        let mut names = self.names();
        if name == self.me.node || names.contains_key(name) || peer.name.set(name.to_owned()).is_err() {
            return false;
        }
        names.insert(name.to_owned(), peer.id);
        true
    }

    /// Connects to an address, unless the node is known already.
    pub(super) fn dial(self: &Arc<Self>, address: &str, name: Option<&str>) -> NodeId {
        let is_it = |peer: &Peer| peer.name.get().is_none_or(|known| name.is_none_or(|name| name == known));
        let is_there = |peer: &Peer| {
            !peer.ended.load(Ordering::Acquire) && is_it(peer) && peer.address().is_some_and(|known| known == address)
        };
        let known = self.peers.known().there().find(|peer| is_there(peer)).map(|peer| peer.id);
        if let Some(peer) = known {
            return peer;
        }
        match name {
            None => self.add(None, Some(address), true).id,
            Some(name) => {
                let mut names = self.names();
                if let Some(peer) = names.get(name).and_then(|id| self.peer(*id)) {
                    peer.dial(address);
                    return peer.id;
                }
                let peer = self.add(Some(name), Some(address), true);
                names.insert(name.to_owned(), peer.id);
                peer.id
            }
        }
    }

    fn add(self: &Arc<Self>, name: Option<&str>, address: Option<&str>, dials: bool) -> Arc<Peer> {
        let (accepting, accepted) = mpsc::unbounded_channel();
        let peer = self.peers.add(|id| Peer::new(id, dials, accepting));
        // The peer is known before its task connects: a connection names its peer.
        if let Some(name) = name {
            let _ = peer.name.set(name.to_owned());
        }
        if let Some(address) = address {
            peer.listens_at(address.to_owned());
        }
        let seed = self.me.incarnation.rotate_left(17) ^ u64::from(peer.id.0);
        // Whether this end dials is in `Peer::dials`, since it may change.
        let mut link = Link::new(self.me.clone(), self.encoding, false, seed, self.station.now());
        link.set_patience(self.patience);
        link.set_name_bytes_max(self.name_bytes_max);
        if let Some(driver) = self.driver_of(peer.id) {
            driver.spawn(task::run(Arc::clone(self), Arc::clone(&peer), link, accepted));
        }
        peer
    }

    pub(super) fn peer(&self, id: NodeId) -> Option<Arc<Peer>> {
        self.peers.get(id)
    }

    /// Frees the name of a peer that is gone for good.
    pub fn strike_out(&self, peer: &Peer) {
        let mut names = self.names();
        if let Some(name) = peer.name.get().filter(|name| names.get(*name) == Some(&peer.id)) {
            if let Some(signing) = &self.signing {
                signing.verifier.forget_node(name);
            }
            names.remove(name);
        }
    }
}
