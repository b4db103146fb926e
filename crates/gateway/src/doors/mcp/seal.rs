//! Seal of the states that clients return: none can be made or changed elsewhere, or be used by another client.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use whimbrel_interop::mcp::{CallId, PendingQuestion};

/// Bytes of a state: the call, the question, and when the state expires.
const STATE_BYTES: usize = 20;

/// Key of a node's states; it lives as long as the calls do.
pub(super) struct StateSeal {
    key: LessSafeKey,
    random: SystemRandom,
}

/// The system has no random numbers.
#[derive(Debug)]
pub(super) struct NoRandomNumbers;

/// Reason why a state is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadState {
    /// State that was made elsewhere, was changed, or is another client's.
    Forged,
    /// State that is too old.
    Expired,
}

impl StateSeal {
    /// Makes a new key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> Result<Self, NoRandomNumbers> {
        let random = SystemRandom::new();
        let mut bytes = [0; 32];
        random.fill(&mut bytes).map_err(|_| NoRandomNumbers)?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| NoRandomNumbers)?;
        Ok(Self { key: LessSafeKey::new(key), random })
    }

    /// Seals the state of a client's call.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn seal(&self, client: &str, question: PendingQuestion, expires_ms: u64) -> Result<String, NoRandomNumbers> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| NoRandomNumbers)?;
        let mut sealed: Vec<u8> = question.call.0.to_be_bytes().into();
        sealed.extend(question.number.to_be_bytes());
        sealed.extend(expires_ms.to_be_bytes());
        let aad = Aad::from(client.as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(nonce_used, aad, &mut sealed).map_err(|_| NoRandomNumbers)?;
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), sealed.as_slice()].concat()))
    }

    /// Opens the state that a client returned.
    ///
    /// # Errors
    /// The state is forged or too old.
    pub fn open(&self, client: &str, state: &str, now_ms: u64) -> Result<PendingQuestion, BadState> {
        let mut bytes = URL_SAFE_NO_PAD.decode(state).map_err(|_| BadState::Forged)?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN).ok_or(BadState::Forged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| BadState::Forged)?;
        let opened = self.key.open_in_place(nonce, Aad::from(client.as_bytes()), sealed);
        let opened: &[u8] = opened.map_err(|_| BadState::Forged)?;
        let opened: &[u8; STATE_BYTES] = opened.try_into().map_err(|_| BadState::Forged)?;
        let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let (call, rest) = opened.split_at(8);
        let (question, expires_ms) = rest.split_at(4);
        if number(expires_ms) < now_ms {
            return Err(BadState::Expired);
        }
        Ok(PendingQuestion { call: CallId(number(call)), number: number(question) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_bound_to_clients() {
        let seal = StateSeal::new().expect("random numbers");
        let question = PendingQuestion { call: CallId(7), number: 3 };
        let state = seal.seal("alice", question, 1_000).expect("random numbers");
        assert_eq!(seal.open("alice", &state, 1_000), Ok(question));
        assert_eq!(seal.open("mallory", &state, 1_000), Err(BadState::Forged));
        assert_eq!(seal.open("alice", &state, 1_001), Err(BadState::Expired));
        assert_eq!(seal.open("alice", &format!("{state}-TAMPERED"), 0), Err(BadState::Forged));
        assert_eq!(seal.open("alice", "", 0), Err(BadState::Forged));
        let again = seal.seal("alice", question, 1_000).expect("random numbers");
        assert_ne!(state, again, "each seal is another one");
        let elsewhere = StateSeal::new().expect("random numbers");
        assert_eq!(elsewhere.open("alice", &state, 0), Err(BadState::Forged));
    }
}
