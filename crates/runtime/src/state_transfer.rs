//! State transfer of moving agents: their states are packed, and split into pieces if they are large, so that other
//! messages can use the link.

use rustc_hash::FxHashMap;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{
    HOP_ARRIVING_BYTES_MAX, HOP_COMPRESSED_FROM_BYTES, HOP_PIECE_BYTES, HOP_STATE_BYTES_MAX,
};
use whimbrel_platform::mobility::{Bearer, HopError, HopId, HopNews, Offer, Part};
use whimbrel_platform::route::NodeId;

use crate::node::Node;
use crate::sync::{Mutex, locked};

/// Largest factor by which LZ4 expands a byte.
const LZ4_FACTOR_MAX: usize = 255;

/// State of an agent that is ready to leave.
pub(crate) struct PackedState {
    pub bytes: Vec<u8>,
    /// See [`Offer::unpacked`].
    pub unpacked: u64,
}

impl PackedState {
    /// Packs a state, if that makes it smaller. Modules' states are packed already.
    pub fn of(state: Vec<u8>, origin: &Origin) -> Self {
        let length = state.len();
        if length >= HOP_COMPRESSED_FROM_BYTES && !matches!(origin, Origin::Module { .. }) {
            let bytes = lz4_flex::block::compress(&state);
            if bytes.len() <= length - length / 8 {
                return Self { bytes, unpacked: length as u64 };
            }
        }
        Self { bytes: state, unpacked: 0 }
    }

    /// Splits the state into the piece that goes with the offer and, if that is not all, the whole for later
    /// requests.
    pub fn split(self) -> (Vec<u8>, Option<Vec<u8>>) {
        match self.bytes.get(..HOP_PIECE_BYTES) {
            Some(first) if self.bytes.len() > HOP_PIECE_BYTES => (first.to_vec(), Some(self.bytes)),
            _ => (self.bytes, None),
        }
    }
}

/// Unpacks the state of an agent that arrives.
pub(crate) fn unpack(offer: &Offer) -> Result<Vec<u8>, String> {
    let bytes = usize::try_from(offer.unpacked).unwrap_or(usize::MAX);
    if bytes == 0 {
        return Ok(offer.state.clone());
    }
    if bytes > HOP_STATE_BYTES_MAX {
        return Err(format!("its state has {bytes} bytes: {HOP_STATE_BYTES_MAX} are the most"));
    }
    // Memory is allocated only for a plausible size. A module's agent packs its own state, because its size limit is
    // known only when it is inspected.
    if matches!(*offer.origin, Origin::Module { .. }) || bytes / LZ4_FACTOR_MAX > offer.state.len() {
        return Err("its state cannot be unpacked".to_owned());
    }
    let state = lz4_flex::block::decompress(&offer.state, bytes).ok().filter(|state| state.len() == bytes);
    state.ok_or_else(|| "its state cannot be unpacked".to_owned())
}

/// Agents whose states have arrived in part.
#[derive(Default)]
pub(crate) struct StateTransfer(Mutex<FxHashMap<Bearer, Offer>>);

impl Node {
    /// Prepares for the rest of an agent's state.
    pub fn order_rest(&self, from: NodeId, offer: Offer) {
        let bearer = Bearer { node: from, hop: offer.hop };
        if offer.of > HOP_STATE_BYTES_MAX as u64 || offer.state.is_empty() || offer.state.len() as u64 > offer.of {
            return self.refuse_coming(from, &offer, self.no("its state is none that could come"));
        }
        let at = offer.state.len() as u64;
        let mut arriving = locked(&self.luggage.0);
        let its = arriving.iter().filter(|(other, _)| other.node == from);
        let takes = |offer: &Offer| offer.of.saturating_add((offer.footprint() - offer.state.len()) as u64);
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
    pub fn hear_state(&self, from: NodeId, hop: HopId, piece: &Part) {
        let bearer = Bearer { node: from, hop };
        let mut arriving = locked(&self.luggage.0);
        let Some(offer) = arriving.get_mut(&bearer) else { return };
        let fits = offer.take_piece(piece);
        if fits && !offer.is_whole() {
            return self.tell_hop(from, HopNews::More { hop, at: offer.state.len() as u64 });
        }
        let Some(offer) = arriving.remove(&bearer) else { return };
        drop(arriving);
        if fits {
            self.have_made(from, offer);
        } else {
            self.refuse_coming(from, &offer, self.no("its state came in pieces that do not fit together"));
        }
    }

    /// Drops the states of agents that do not arrive any more.
    pub fn drop_luggage(&self, is_gone: impl Fn(&Bearer) -> bool) {
        locked(&self.luggage.0).retain(|bearer, _| !is_gone(bearer));
    }

    /// Refuses all agents whose states are incomplete, because the platform stops.
    pub fn refuse_luggage(&self) {
        let arriving = std::mem::take(&mut *locked(&self.luggage.0));
        arriving.into_iter().for_each(|(bearer, offer)| self.refuse_coming(bearer.node, &offer, HopError::Stopping));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin::Type("t".to_owned())
    }

    #[test]
    fn compressible_state_is_packed() {
        let text = b"a plan, and another plan, and another plan. ".repeat(100);
        assert!(PackedState::of(text.clone(), &origin()).bytes.len() < text.len() / 4);
        let short = text[..HOP_COMPRESSED_FROM_BYTES - 1].to_vec();
        assert_eq!(PackedState::of(short.clone(), &origin()).bytes, short);
        let mut random = 1_u64;
        let noise: Vec<u8> = (0..4096)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 56) as u8
            })
            .collect();
        let PackedState { bytes, unpacked } = PackedState::of(noise.clone(), &origin());
        assert_eq!((bytes, unpacked), (noise, 0));
        let module = Origin::Module { path: "m".to_owned(), hash: [0; 32] };
        assert_eq!(PackedState::of(text.clone(), &module).bytes, text);
    }
}
