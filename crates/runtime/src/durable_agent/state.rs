//! Encoding of a durable agent.
//!
//! ```text
//! whole    1 (the layout) | MessagePack: [started, [timer ...], destination] | MessagePack: the agent, by field names
//! delta    front: u32 | back: u32 | bytes    bytes of the whole retained at both ends, and the new bytes between them
//! ```
//!
//! Numbers are little-endian. A delta belongs to the layout of the whole before it.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whimbrel_acl::Symbol;
use whimbrel_platform::durable::State;
use whimbrel_platform::limits::{DURABLE_STATE_BYTES_MAX, INSPECTION_TEXT_BYTES_MAX};

use super::timers::AgentTimers;
use crate::panics::panic_text;

/// Layout that this release writes, the only one so far.
const LAYOUT: u8 = 1;
/// Bytes of a delta before its new bytes.
const DELTA_HEAD_BYTES: usize = 8;

/// Part of the state beside the agent itself.
#[derive(Serialize)]
struct Preface<'a> {
    started: bool,
    timers: &'a AgentTimers,
    /// Destination node; left out if the agent is where it wants to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    wants: Option<&'a str>,
}

#[derive(Deserialize)]
struct ReadPreface {
    started: bool,
    timers: AgentTimers,
    #[serde(default)]
    wants: Option<String>,
}

/// Decoded agent.
#[derive(Debug, PartialEq)]
pub(super) struct DecodedAgent<A> {
    pub agent: A,
    pub started: bool,
    pub timers: AgentTimers,
    /// Destination node, until the agent is told whether it arrived.
    pub wants: Option<Symbol>,
}

/// Encodes an agent.
///
/// # Errors
/// Returns the reason if the agent cannot be encoded, or takes more than [`DURABLE_STATE_BYTES_MAX`].
pub(super) fn encode<A: Serialize>(
    agent: &A,
    started: bool,
    timers: &AgentTimers,
    wants: Option<Symbol>,
) -> Result<Vec<u8>, String> {
    // Serialisation runs the agent's own code.
    let written = catch_unwind(AssertUnwindSafe(|| {
        let mut bytes = vec![LAYOUT];
        rmp_serde::encode::write(&mut bytes, &Preface { started, timers, wants: wants.map(Symbol::as_str) })?;
        rmp_serde::encode::write_named(&mut bytes, agent)?;
        Ok::<_, rmp_serde::encode::Error>(bytes)
    }));
    let bytes = written
        .map_err(|panic| panic_text(&*panic))
        .and_then(|written| written.map_err(|error| error.to_string()))
        .map_err(|why| format!("its state cannot be written: {why}"))?;
    if bytes.len() > DURABLE_STATE_BYTES_MAX {
        let size = bytes.len();
        return Err(format!("its state takes {size} bytes: at most {DURABLE_STATE_BYTES_MAX} can be kept"));
    }
    Ok(bytes)
}

/// Describes an agent for people: JSON, cut to the shown length.
///
/// # Errors
/// Returns the reason if the agent cannot be described so.
pub(super) fn describe<A: Serialize>(agent: &A) -> Result<String, String> {
    let mut shown = CappedWriter(Vec::new());
    let written = catch_unwind(AssertUnwindSafe(|| serde_json::to_writer(&mut shown, agent)));
    match written {
        Err(panic) => Err(panic_text(&*panic)),
        Ok(Err(error)) if !error.is_io() => Err(error.to_string()),
        Ok(_) => Ok(String::from_utf8_lossy(&shown.0).into_owned()),
    }
}

/// Writer that accepts little more than is shown.
struct CappedWriter(Vec<u8>);

impl std::io::Write for CappedWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = (INSPECTION_TEXT_BYTES_MAX + 1).saturating_sub(self.0.len());
        let taken = bytes.len().min(room);
        self.0.extend(bytes.iter().take(taken));
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Decodes an agent.
///
/// # Errors
/// Returns the reason if the bytes encode no agent of this type.
pub(super) fn decode<A: DeserializeOwned>(bytes: &[u8]) -> Result<DecodedAgent<A>, String> {
    let body = match bytes.split_first() {
        Some((&LAYOUT, body)) => body,
        Some((layout, _)) => return Err(format!("its state has layout {layout}, this release reads layout {LAYOUT}")),
        None => return Err("its state is empty".to_owned()),
    };
    let mut input = rmp_serde::Deserializer::new(Cursor::new(body));
    let read = catch_unwind(AssertUnwindSafe(|| {
        let ReadPreface { started, timers, wants } = ReadPreface::deserialize(&mut input)?;
        let wants = wants.as_deref().map(Symbol::new);
        Ok::<_, rmp_serde::decode::Error>(DecodedAgent { agent: A::deserialize(&mut input)?, started, timers, wants })
    }));
    let kept = read
        .map_err(|panic| panic_text(&*panic))
        .and_then(|read| read.map_err(|error| error.to_string()))
        .map_err(|why| format!("its state cannot be read: {why}"))?;
    if input.position() < body.len() as u64 {
        return Err("its state cannot be read: something follows it".to_owned());
    }
    Ok(kept)
}

/// Appends the delta that turns `before` into `after`.
pub(super) fn write_delta(before: &[u8], after: &[u8], out: &mut Vec<u8>) {
    let alike = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(a, b)| a == b).count();
    let front = alike(&mut before.iter().zip(after));
    let rest = before.len().min(after.len()) - front;
    let back = alike(&mut before.iter().rev().zip(after.iter().rev()).take(rest));
    // Both fit, because a state is far shorter.
    out.extend((front as u32).to_le_bytes());
    out.extend((back as u32).to_le_bytes());
    out.extend(after.get(front..after.len() - back).unwrap_or_default());
}

/// Applies a delta to `before`. Returns `None` if it does not fit.
pub(super) fn apply_delta(before: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let (head, between) = delta.split_at_checked(DELTA_HEAD_BYTES)?;
    let (front, back) = head.split_at_checked(DELTA_HEAD_BYTES / 2)?;
    let count = |bytes: &[u8]| bytes.try_into().ok().map(|bytes| u32::from_le_bytes(bytes) as usize);
    let (front, back) = (count(front)?, count(back)?);
    let rest = before.len().checked_sub(front)?.checked_sub(back)?;
    Some([before.get(..front)?, between, before.get(front + rest..)?].concat())
}

/// Returns the last state, from a complete state and the changes after it.
///
/// # Errors
/// Returns the reason if there is no complete state, or if a change does not fit.
pub(super) fn latest(states: &[State]) -> Result<Vec<u8>, String> {
    let Some((State::Whole(whole), changes)) = states.split_first() else {
        return Err("its state was not kept whole".to_owned());
    };
    let mut bytes = whole.clone();
    for change in changes {
        if let State::Delta(delta) = change {
            bytes = apply_delta(&bytes, delta).ok_or("a change of its state is not one of what was before")?;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use whimbrel_platform::Time;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Notary {
        name: String,
        open: BTreeMap<u32, Option<String>>,
        last: Option<f64>,
    }

    fn clerk(open: u32) -> Notary {
        let open = (0..open).map(|number| (number, (number % 2 == 0).then(|| format!("case {number}"))));
        Notary { name: "ann".to_owned(), open: open.collect(), last: Some(0.5) }
    }

    #[test]
    fn encoding_round_trips() {
        let mut timers = AgentTimers::default();
        timers.set("close", Duration::from_secs(60), Time::ZERO, 1_000);
        let bytes = encode(&clerk(9), true, &timers, None).unwrap();
        let DecodedAgent { agent, started, timers: read, .. } = decode::<Notary>(&bytes).unwrap();
        assert_eq!((agent, started, read.next()), (clerk(9), true, Some(Time::NEVER)));
        assert_eq!(encode(&clerk(0), false, &AgentTimers::default(), None).unwrap().len(), 1 + 3 + 30);
    }

    #[test]
    fn bad_state_is_refused() {
        let good = encode(&clerk(3), true, &AgentTimers::default(), None).unwrap();
        let told = |bytes: &[u8]| decode::<Notary>(bytes).unwrap_err();
        for end in 0..good.len() {
            told(&good[..end]);
        }
        assert_eq!(told(&[&good[..], &[0]].concat()), "its state cannot be read: something follows it");
        assert_eq!(told(&[9, 1]), "its state has layout 9, this release reads layout 1");
        assert!(decode::<BTreeMap<String, u8>>(&good).unwrap_err().starts_with("its state cannot be read: "));
    }

    #[test]
    fn oversized_state_is_refused() {
        let big = vec![0_u64; DURABLE_STATE_BYTES_MAX];
        let told = encode(&big, true, &AgentTimers::default(), None).unwrap_err();
        assert_eq!(told, "its state takes 524297 bytes: at most 524288 can be kept");
        struct Broken;
        impl Serialize for Broken {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                panic!("out of order")
            }
        }
        let told = encode(&Broken, true, &AgentTimers::default(), None).unwrap_err();
        assert_eq!(told, "its state cannot be written: panicked: out of order");
    }

    /// Pins this layout for ever, and tests a type that has changed since.
    #[test]
    fn states_of_earlier_types_are_read() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Later {
            #[serde(alias = "name")]
            called: String,
            #[serde(default)]
            note: Option<String>,
            open: BTreeMap<u32, Option<String>>,
        }
        let mut timers = AgentTimers::default();
        timers.set("close", Duration::from_secs(60), Time::ZERO, 1_000);
        let written = b"\x01\x92\xc3\x91\x93\xa5close\xcd\xee\x48\xcd\xea\x60\x83\xa4name\xa3ann\xa4open\x82\x00\xa6case 0\x01\xc0\xa4last\xcb\x3f\xe0\0\0\0\0\0\0";
        assert_eq!(encode(&clerk(2), true, &timers, None).unwrap(), written);
        let DecodedAgent { agent, .. } = decode::<Later>(written).unwrap();
        assert_eq!(agent, Later { called: "ann".to_owned(), note: None, open: clerk(2).open });
    }

    #[test]
    fn deltas_rebuild_the_later_state() {
        let states: Vec<Vec<u8>> =
            [0, 1, 2, 9, 9, 3, 0].map(|open| encode(&clerk(open), true, &AgentTimers::default(), None).unwrap()).into();
        let mut kept = vec![State::Whole(states[0].clone())];
        for pair in states.windows(2) {
            let mut delta = Vec::new();
            write_delta(&pair[0], &pair[1], &mut delta);
            assert!(delta.len() <= DELTA_HEAD_BYTES + pair[1].len());
            kept.push(State::Delta(delta));
            assert_eq!(latest(&kept).unwrap(), pair[1]);
        }
        assert_eq!(kept[4].len(), DELTA_HEAD_BYTES, "nothing changed");
        assert!(latest(&kept[1..]).is_err());
        for delta in [&[][..], &[0; 7], &[200, 0, 0, 0, 0, 0, 0, 0], &[0xff; 9]] {
            assert_eq!(apply_delta(&states[0], delta), None);
        }
    }
}
