//! State transfer of moving agents: collects the pieces of a large state, so that other messages can use the link.

use whimbrel_platform::limits::{HOP_ARRIVING_BYTES_MAX, HOP_STATE_BYTES_MAX};
use whimbrel_platform::mobility::{HopError, HopId, HopNews, HopOffer, InboundHop, Part};
use whimbrel_platform::route::{NodeId, ShardIndex};

use super::Node;
use crate::sync::locked;

impl Node {
    /// Prepares for the rest of an agent's state.
    pub fn order_rest(&self, from: NodeId, offer: HopOffer) {
        let bearer = InboundHop { node: from, hop: offer.hop };
        if offer.of > HOP_STATE_BYTES_MAX as u64 || offer.state.is_empty() || offer.state.len() as u64 > offer.of {
            return self.refuse_coming(from, &offer, self.no("its state is none that could come"));
        }
        let at = offer.state.len() as u64;
        let mut arriving = locked(&self.luggage.0);
        let its = arriving.iter().filter(|(other, _)| other.node == from);
        let takes = |offer: &HopOffer| offer.of.saturating_add((offer.footprint() - offer.state.len()) as u64);
        let bytes = its.fold(0, |bytes: u64, (_, other)| bytes.saturating_add(takes(other)));
        if bytes > 0 && bytes.saturating_add(takes(&offer)) > HOP_ARRIVING_BYTES_MAX as u64 {
            drop(arriving);
            return self.refuse_coming(from, &offer, self.no("too many large agents are on their way there"));
        }
        // The hop may have been cancelled, or its node lost, before this entry was made.
        if !self.with_transits(|it| it.transits.is_offered(from, offer.hop)) {
            return;
        }
        arriving.insert(bearer, offer);
        self.tell_hop(from, HopNews::More { hop: bearer.hop, at });
    }

    /// Handles a piece of an agent's state.
    pub fn hear_state(&self, idle: Option<ShardIndex>, from: NodeId, hop: HopId, piece: &Part) {
        let bearer = InboundHop { node: from, hop };
        let mut arriving = locked(&self.luggage.0);
        let Some(offer) = arriving.get_mut(&bearer) else { return };
        let fits = offer.take_piece(piece);
        if fits && !offer.is_whole() {
            return self.tell_hop(from, HopNews::More { hop, at: offer.state.len() as u64 });
        }
        let Some(offer) = arriving.remove(&bearer) else { return };
        drop(arriving);
        if fits {
            self.have_made(idle, from, offer);
        } else {
            self.refuse_coming(from, &offer, self.no("its state came in pieces that do not fit together"));
        }
    }

    /// Drops the states of agents that do not arrive any more.
    pub fn drop_luggage(&self, is_gone: impl Fn(&InboundHop) -> bool) {
        locked(&self.luggage.0).retain(|bearer, _| !is_gone(bearer));
    }

    /// Refuses all agents whose states are incomplete, because the platform stops.
    pub fn refuse_luggage(&self) {
        let arriving = std::mem::take(&mut *locked(&self.luggage.0));
        arriving.into_iter().for_each(|(bearer, offer)| self.refuse_coming(bearer.node, &offer, HopError::Stopping));
    }
}
