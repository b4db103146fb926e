//! Links of a hub, as the scheduler uses them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use whimbrel_acl::Envelope;
use whimbrel_platform::ams::is_everywhere;
use whimbrel_platform::link::{Measured, News};
use whimbrel_platform::mobility::HopNews;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::{LinkGauge, Links, SocketIo};

use super::HubState;
use crate::driver::SocketDriver;
use crate::drivers::SocketDrivers;
use crate::peer::Peer;
use crate::signing::Signing;

impl HubState {
    pub(super) fn driver_of(&self, peer: NodeId) -> Option<&Arc<SocketDriver>> {
        self.drivers.of(peer.0 as usize)
    }

    /// Notes an arrival from this peer.
    pub fn note_came(&self, peer: &Peer) {
        if let Some(driver) = self.driver_of(peer.id) {
            driver.note_came();
        }
    }

    fn tell_peer(&self, peer: &Arc<Peer>, news: News) {
        if peer.tell(news) {
            self.wake(peer);
        }
    }

    /// Wakes the task of a link for new messages.
    fn wake(&self, peer: &Arc<Peer>) {
        match self.driver_of(peer.id) {
            Some(driver) => driver.wake(&peer.wake),
            None => peer.wake.notify_one(),
        }
    }

    /// Signs messages and hands them to the link. Messages that cannot be signed do not leave.
    #[cold]
    fn send_signed(&self, signing: &Signing, peer: &Peer, batch: &mut Vec<Envelope>) -> bool {
        // The platform's own agents send from every shard, and their numbers must leave in order.
        let common = batch.iter().any(|envelope| is_everywhere(envelope.body.sender.name));
        let _turn = common.then(|| signing.turn());
        let mut signed = signing.signer.sign(batch, |news| self.tell_all(news));
        let unsigned = std::mem::take(&mut signed.unsigned);
        if !unsigned.is_empty() {
            self.guard.say(&format!("{} messages not sent: they cannot be signed", unsigned.len()));
            self.station.refuse_unsigned(unsigned);
        }
        peer.send(batch, |taken| signing.signer.record(&signed, taken))
    }
}

impl Links for HubState {
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, from: ShardIndex) -> usize {
        let Some(peer) = self.peer(to) else { return usize::MAX };
        let (taken, driver) = match &self.signing {
            None => (peer.send(batch, |_| ()), self.driver_of(to)),
            Some(signing) => (self.send_signed(signing, &peer, batch), None),
        };
        if !taken {
            return usize::MAX;
        }
        // Write at once, if this thread can: a woken thread has farther to go.
        if !driver.is_some_and(|driver| driver.poll_io(|| peer.wake.notify_one(), 1)) {
            peer.wake.notify_one();
        }
        // Written messages take no room any more.
        peer.room_for(from)
    }

    fn go_on(&self) {
        for peer in self.peers.known().there() {
            if peer.no_room.swap(false, Ordering::AcqRel) {
                peer.wake.notify_one();
            }
        }
    }

    fn tell_all(&self, news: News) {
        if let (News::AgentEnded(name, _), Some(signing)) = (&news, &self.signing) {
            name.known().into_iter().for_each(|name| signing.signer.end(name));
        }
        for peer in self.peers.known().there() {
            self.tell_peer(peer, news.clone());
        }
    }

    fn tell(&self, to: NodeId, news: News) {
        if let (News::Hop(HopNews::Commit { hop, .. }), Some(signing)) = (&news, &self.signing) {
            signing.signer.forget(hop.agent);
        }
        if let Some(peer) = self.peer(to) {
            self.tell_peer(&peer, news);
        }
    }

    fn forward(&self, to: NodeId, batch: &mut Vec<Envelope>) {
        if let Some(peer) = self.peer(to) {
            peer.forward(batch);
            self.wake(&peer);
        }
    }

    fn node_named(&self, name: &str) -> Option<NodeId> {
        self.peer_of(name).filter(|peer| peer.is_there()).map(|peer| peer.id)
    }

    fn nodes(&self) -> Vec<NodeId> {
        self.peers.known().there().filter(|peer| peer.is_there()).map(|peer| peer.id).collect()
    }

    fn waiting(&self) -> u64 {
        self.peers.known().there().map(|peer| peer.waiting() as u64).sum()
    }

    fn me(&self) -> String {
        self.me.node.clone()
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        self.peer(node)?.name.get().cloned()
    }

    fn io(self: Arc<Self>) -> Option<Arc<dyn SocketIo>> {
        Some(Arc::<SocketDrivers>::clone(&self.drivers))
    }

    fn gauge(&self) -> Option<&dyn LinkGauge> {
        Some(self)
    }
}

impl LinkGauge for HubState {
    fn measured(&self, node: NodeId) -> Measured {
        self.peer(node).map(|peer| peer.measured()).unwrap_or_default()
    }

    fn measure(&self, node: NodeId) {
        if let Some(peer) = self.peer(node) {
            peer.to_measure.store(true, Ordering::Release);
            peer.wake.notify_one();
        }
    }

    fn round_trip(&self, node: NodeId) -> Option<Duration> {
        let us = self.peer(node)?.figures.round_trip_us.load(Ordering::Relaxed);
        (us > 0).then(|| Duration::from_micros(us))
    }
}
