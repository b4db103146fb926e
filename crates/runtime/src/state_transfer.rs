//! State transfer of moving agents: packed states, and offers whose states are not complete here yet.

use rustc_hash::FxHashMap;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{HOP_COMPRESSED_FROM_BYTES, HOP_PIECE_BYTES, HOP_STATE_BYTES_MAX};
use whimbrel_platform::mobility::{HopOffer, InboundHop};

use crate::sync::Mutex;

/// Largest factor by which LZ4 expands a byte.
const LZ4_FACTOR_MAX: usize = 255;

/// State of an agent that is ready to leave.
pub(crate) struct PackedState {
    pub bytes: Vec<u8>,
    /// See [`HopOffer::unpacked`].
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
pub(crate) fn unpack(offer: &HopOffer) -> Result<Vec<u8>, String> {
    let bytes = usize::try_from(offer.unpacked).unwrap_or(usize::MAX);
    if bytes == 0 {
        return Ok(offer.state.clone());
    }
    if bytes > HOP_STATE_BYTES_MAX {
        return Err(format!("its state has {bytes} bytes: at most {HOP_STATE_BYTES_MAX}"));
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
pub(crate) struct StateTransfer(pub Mutex<FxHashMap<InboundHop, HopOffer>>);

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
