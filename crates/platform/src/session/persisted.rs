//! Kept agents in the journal: see [`crate::durable`].
//!
//! A piece is a tag byte and its data. The data is everything, or the state alone if nothing else changed (the usual
//! case), or the note that the agent waits from now on. A state is written as it is, so a save costs little more than
//! its own bytes.

use std::sync::Arc;

use whimbrel_acl::compact::{self, Decode, Encode, Limits};

use super::durability::SavedState;
use super::frames::OnLeave;
use super::kept_agents::KeptState;
use crate::durable::State;
use crate::limits::SESSION_MESSAGE_BUDGET_BYTES;

const ALL: u8 = 1;
const STATE: u8 = 2;
const WAITS: u8 = 3;

/// Change of a kept agent that is not written yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UnsavedChange {
    /// Any part of the agent: nothing may be written yet.
    #[default]
    All,
    /// State alone.
    State,
    /// Start of the wait for the agent's client.
    Waits,
    /// No change.
    None,
}

/// Kept state of an agent, as written.
#[derive(Encode, Decode)]
#[compact(name = "Form")]
struct StoredAgent {
    on_leave: OnLeave,
    holds: bool,
    /// Name of the agent's code; `None` if the agent never saved a state.
    code: Option<String>,
    state: Vec<u8>,
    /// True if the code came to the client from this node, or to the node from the client.
    is_given: bool,
    /// True if the agent waits for its client.
    waits: bool,
}

/// Appends the change of an agent that waits or does not. Returns false if it cannot be written.
pub(super) fn write(kept: &KeptState, waits: bool, change: UnsavedChange, out: &mut Vec<u8>) -> bool {
    match (change, &kept.saved) {
        (UnsavedChange::None, _) => true,
        (UnsavedChange::Waits, _) => {
            out.push(WAITS);
            true
        }
        (UnsavedChange::State, Some(saved)) => {
            out.push(STATE);
            out.extend_from_slice(&saved.state);
            true
        }
        (_, saved) => {
            let code = saved.as_ref().map(|saved| saved.code.to_string());
            let state = saved.as_ref().map(|saved| saved.state.to_vec()).unwrap_or_default();
            out.push(ALL);
            let KeptState { on_leave, holds, is_given, .. } = *kept;
            let form = StoredAgent { on_leave, holds, code, state, is_given, waits };
            compact::encode_body_of(&form, out).is_ok()
        }
    }
}

/// Reads the kept state of an agent from its pieces: the whole, then its changes, in order. Returns true with it if the
/// agent waited for its client.
///
/// # Errors
/// The reason why the pieces are malformed.
pub(super) fn read(states: &[State]) -> Result<(KeptState, bool), String> {
    let mut kept = None;
    for state in states {
        let (State::Whole(piece) | State::Delta(piece)) = state else { continue };
        match (piece.split_first(), &mut kept) {
            (Some((&ALL, form)), kept) => *kept = Some(read_all(form)?),
            (Some((&STATE, state)), Some((KeptState { saved: Some(saved), .. }, waits))) => {
                (saved.state, *waits) = (state.into(), false);
            }
            (Some((&WAITS, [])), Some((_, waits))) => *waits = true,
            _ => return Err("what was written of it is of another release".to_owned()),
        }
    }
    kept.ok_or_else(|| "nothing was written of it".to_owned())
}

fn read_all(form: &[u8]) -> Result<(KeptState, bool), String> {
    let limits = Limits::MESSAGE.with_budget_bytes(SESSION_MESSAGE_BUDGET_BYTES);
    let form: StoredAgent = compact::decode_body_as(form, limits).map_err(|error| error.to_string())?;
    let StoredAgent { on_leave, holds, code, state, is_given, waits } = form;
    let code = code.map(|code| code.parse().map(Arc::new)).transpose();
    let saved = code.map_err(|error| format!("{error}"))?.map(|code| SavedState { code, state: state.into() });
    Ok((KeptState { on_leave, holds, saved, is_given }, waits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(state: &[u8]) -> KeptState {
        let code = Arc::new("ts:counter".parse().unwrap());
        let saved = Some(SavedState { code, state: state.into() });
        KeptState { on_leave: OnLeave::GoOn, holds: true, saved, is_given: true }
    }

    fn written(kept: &KeptState, change: UnsavedChange) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(write(kept, false, change, &mut bytes));
        bytes
    }

    #[test]
    fn kept_agent_round_trips() {
        let never = KeptState { saved: None, ..kept(b"") };
        let all = State::Whole(written(&never, UnsavedChange::State));
        assert_eq!(read(std::slice::from_ref(&all)), Ok((never.clone(), false)));
        let states = [
            all,
            State::Delta(written(&kept(b"one"), UnsavedChange::All)),
            State::Delta(written(&kept(b"two"), UnsavedChange::State)),
            State::Same,
            State::Delta(written(&kept(b""), UnsavedChange::State)),
            State::Delta(written(&kept(b"three"), UnsavedChange::State)),
        ];
        assert_eq!(read(&states), Ok((kept(b"three"), false)));
        let waits = State::Delta(written(&never, UnsavedChange::Waits));
        assert_eq!(read(&[states.to_vec(), vec![waits.clone()]].concat()), Ok((kept(b"three"), true)));
        let last = State::Delta(written(&kept(b"four"), UnsavedChange::State));
        let back = [states.to_vec(), vec![waits, last]].concat();
        assert_eq!(read(&back), Ok((kept(b"four"), false)), "its client was there again");
        let mut gone = Vec::new();
        assert!(write(&kept(b"five"), true, UnsavedChange::All, &mut gone));
        assert_eq!(read(&[State::Whole(gone)]), Ok((kept(b"five"), true)));
        assert!(written(&never, UnsavedChange::None).is_empty());
    }

    #[test]
    fn written_form_stays_readable() {
        let hex: String = written(&kept(b"one"), UnsavedChange::All).iter().map(|byte| format!("{byte:02x}")).collect();
        let golden = "01e3fa023109466f726d116f6e5f6c656176650b686f6c647309636f64650b73746174651169735f676976656e0b776169747323476f4f6e5374733a636f756e74657290a0c261cb076f6e65c2c1";
        assert_eq!(hex, golden);
        let bytes = (0..golden.len()).step_by(2).map(|at| u8::from_str_radix(&golden[at..at + 2], 16).unwrap());
        assert_eq!(read(&[State::Whole(bytes.collect())]), Ok((kept(b"one"), false)));
    }

    #[test]
    fn save_costs_one_extra_byte() {
        assert_eq!(written(&kept(&[7; 256]), UnsavedChange::State).len(), 257);
    }

    #[test]
    fn malformed_pieces_are_refused() {
        let whole = written(&kept(b"one"), UnsavedChange::All);
        let state = written(&kept(b"one"), UnsavedChange::State);
        for states in [vec![], vec![State::Whole(state.clone())], vec![State::Whole(whole[..whole.len() - 3].to_vec())]]
        {
            assert!(read(&states).is_err(), "{states:?}");
        }
        assert!(read(&[State::Whole(whole.clone()), State::Delta(vec![])]).is_err());
        assert!(read(&[State::Whole(whole), State::Delta(vec![9, 9])]).is_err());
    }
}
