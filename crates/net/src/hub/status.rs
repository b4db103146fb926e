//! State of a hub's links, for operators.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use rustc_hash::FxHashSet;
use rustls::pki_types::CertificateDer;
use whimbrel_acl::Symbol;
use whimbrel_platform::Links;

use super::HubState;
use crate::certified::Certified;
use crate::drivers::SocketDrivers;
use crate::peer::Peer;
use crate::security::LinkSecurity;

/// State of a link, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Name of the peer, once it has connected.
    pub node: Option<String>,
    /// Address at which the peer listens, if it is known.
    pub address: Option<String>,
    /// True while the link is connected.
    pub up: bool,
    /// True if the peer left in good order: no message waits for it.
    pub left: bool,
    /// Number of connections so far.
    pub connections: u64,
    /// Number of messages that wait, unacknowledged ones included.
    pub waiting: u64,
    /// Number of received messages and updates, repeated ones included.
    pub items_in: u64,
    /// Number of sent messages and updates, repeated ones included.
    pub items_out: u64,
    /// Number of received bytes.
    pub bytes_in: u64,
    /// Number of sent bytes.
    pub bytes_out: u64,
    /// Smoothed round-trip time in microseconds, if it is known.
    pub round_trip_us: Option<u64>,
    /// Counts of faults that ended connections, by [`LinkError::reason`].
    pub faults: Vec<(&'static str, u64)>,
}

/// View of a hub for operators. It may outlive the hub: then its links are down.
#[derive(Clone)]
pub struct HubView(pub(super) Arc<HubState>);

impl HubView {
    /// Returns the name of this node.
    pub fn node(&self) -> &str {
        &self.0.me.node
    }

    /// Address at which this node listens, if it does.
    pub fn address(&self) -> Option<&str> {
        self.0.me.address.as_deref()
    }

    /// Takes the certificate of an agent of this node that keeps its own key, in a connected program. At the level
    /// `signed`, other nodes learn of the certificate, and messages that the agent signed leave unchanged.
    pub fn adopt(&self, agent: Symbol, certificate: &CertificateDer<'static>, node: &CertificateDer<'static>) {
        let Some(signing) = &self.0.signing else { return };
        if let Some(news) = signing.signer.adopt(agent, certificate, node) {
            self.0.tell_all(news);
        }
    }

    /// Returns the drivers of the node's sockets.
    pub(crate) fn drivers(&self) -> &Arc<SocketDrivers> {
        &self.0.drivers
    }

    /// Certificates that this node has and trusts, and those of at most this many of its agents.
    pub fn certified(&self, agents_max: usize) -> Certified {
        let mut certified = self.0.certified.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(signing) = &self.0.signing {
            signing.signer.tell_certificates(&mut certified, agents_max);
        }
        certified
    }

    /// Returns the security level of links.
    pub fn level(&self) -> LinkSecurity {
        self.0.level
    }

    /// States of all links.
    pub fn status(&self) -> Vec<LinkStatus> {
        self.0.status()
    }
}

impl HubState {
    pub(super) fn status(&self) -> Vec<LinkStatus> {
        let known = self.peers.known();
        let names: FxHashSet<&String> = known.there().filter_map(|peer| peer.name.get()).collect();
        // Of ended peers, show those that said good-bye and did not come back.
        let is_shown = |peer: &Peer| {
            peer.left.load(Ordering::Acquire) && peer.name.get().is_some_and(|name| !names.contains(name))
        };
        let mut shown: Vec<&Arc<Peer>> = known.there().collect();
        shown.retain(|peer| !peer.ended.load(Ordering::Acquire) || peer.left.load(Ordering::Acquire));
        shown.extend(known.ended().filter(|peer| is_shown(peer)));
        shown.sort_unstable_by_key(|peer| peer.id);
        shown.into_iter().map(|peer| status_of(peer)).collect()
    }
}

fn status_of(peer: &Peer) -> LinkStatus {
    let figure = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
    let figures = &peer.figures;
    LinkStatus {
        node: peer.name.get().cloned(),
        address: peer.address(),
        up: peer.up.load(Ordering::Acquire),
        left: peer.left.load(Ordering::Acquire),
        connections: figure(&figures.connections),
        waiting: peer.waiting() as u64,
        items_in: figure(&figures.items_in),
        items_out: figure(&figures.items_out),
        bytes_in: figure(&figures.bytes_in),
        bytes_out: figure(&figures.bytes_out),
        round_trip_us: Some(figure(&figures.round_trip_us)).filter(|us| *us > 0),
        faults: peer.faults.counts(),
    }
}
