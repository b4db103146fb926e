//! News of peers: those about links are handled here, the others go to the scheduler.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use whimbrel_platform::Links;
use whimbrel_platform::audit::{RefusalReason, Refused};
use whimbrel_platform::link::{News, PeerAddress};
use whimbrel_platform::mobility::HopNews;
use whimbrel_platform::route::NodeId;

use super::HubState;
use crate::peer::Peer;
use crate::signing::AgentCertificateError;

impl HubState {
    /// Handles news from a peer: about links, or for the scheduler.
    pub fn hear(self: &Arc<Self>, from: NodeId, news: News) {
        match news {
            News::Members(members) => {
                // Addresses that this node knows already are better than those in the news.
                let is_known = |node: &str| self.peer_of(node).is_some_and(|peer| peer.address().is_some());
                for PeerAddress { node, address } in members {
                    if node != self.me.node && !is_known(&node) {
                        self.dial(&address, Some(&node));
                    }
                }
            }
            News::Certificates { node, agents } => self.learn(from, &node, &agents),
            News::AgentEnded(name, reason) => {
                if let (Some(signing), Some(node)) = (&self.signing, self.name_of(from)) {
                    signing.verifier.end(&node, name.as_str());
                }
                self.station.hear(from, News::AgentEnded(name, reason));
            }
            News::Hop(HopNews::Departed(hop, to)) => {
                // From now on its new node certifies it.
                if let (Some(signing), Some(node)) = (&self.signing, self.name_of(from)) {
                    signing.verifier.forget(&node, hop.agent);
                }
                self.station.hear(from, News::Hop(HopNews::Departed(hop, to)));
            }
            news => match self.driver_of(from).and_then(|driver| driver.attendant()) {
                Some(shard) => self.station.hear_on_worker(shard, from, news),
                None => self.station.hear(from, news),
            },
        }
    }

    /// Takes the certificates of a node's agents, or logs why not.
    fn learn(&self, from: NodeId, node: &[u8], agents: &[Vec<u8>]) {
        let (Some(signing), Some(name)) = (&self.signing, self.name_of(from)) else { return };
        if let Err(error) = signing.verifier.learn(&name, node, agents) {
            let reason = match error {
                AgentCertificateError::TooMany(_) => RefusalReason::TooMany,
                _ => RefusalReason::BadCertificate,
            };
            let (who, why) = (format!("node:{name}"), error.to_string());
            let line = || format!("refused a certificate of an agent of {name}: {why}");
            self.guard.refuse_and_say(&Refused::somebody(reason, &who, &why), line);
        }
    }

    /// Counts `peer` as present. Returns the peers that it should link with: all that were present before. So of any
    /// two nodes, the later one connects.
    pub fn enlist(&self, peer: &Peer) -> News {
        let _one_at_a_time = self.names();
        let known = self.peers.known();
        let others = known.there().filter(|other| other.id != peer.id);
        let there = others.filter(|other| other.up.load(Ordering::Acquire));
        let member =
            |other: &Arc<Peer>| Some(PeerAddress { node: other.name.get()?.clone(), address: other.address()? });
        let members = News::Members(there.filter_map(member).collect());
        peer.up.store(true, Ordering::Release);
        members
    }
}
