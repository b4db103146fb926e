//! State of a guest between two calls, beside its memory: timers, the suspended call, provenance. It travels with the
//! agent.

use std::sync::Arc;

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::limits::{GUEST_LAST_WORDS_BYTES_MAX, GUEST_TEMPLATE_BYTES_MAX, GUEST_TIMERS_MAX};

use crate::bytes::{BadBytes, StateReader, put_bytes, put_varint};
use crate::provenance::Provenance;

/// State of a guest between two calls; see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallState {
    /// True after the first call.
    pub started: bool,
    /// Options for the first call, as a value. Empty after that call.
    pub options: Vec<u8>,
    /// Timers with their tags, the earliest first.
    pub timers: Vec<(Time, i64)>,
    /// Bytes that the guest has not fetched yet; it knows their length.
    pub held: Vec<u8>,
    /// Call that waits in its middle.
    pub suspended: Option<Suspended>,
    /// Address of the area to which calls are unwound; 0 if no call ever was.
    pub unwind_at: u32,
    /// Provenance, if the agent has been on another node, or leaves this one.
    pub provenance: Option<Arc<Provenance>>,
    /// Number of recalls.
    pub recalls: u32,
    /// Number that distinguishes the agent from earlier and later ones of its name; 0 if the guest never asked for
    /// it.
    pub life: u64,
    /// Frame of the message that is sent if the agent fails; may be empty.
    pub last_words: Vec<u8>,
    /// Destination of a hop whose outcome the guest has not been told. Kept in saves, but not part of the state that
    /// hops.
    pub wants: Option<Symbol>,
}

/// Call that waits in its middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspended {
    /// Export that was called, with its arguments.
    pub call: SuspendableCall,
    /// Condition under which the call continues.
    pub wait: WaitCondition,
}

impl Suspended {
    /// Describes the condition for people.
    pub fn describe(&self, now: Time) -> String {
        let left = |until: Time| format!("{} ms", (until.max(now) - now).as_millis());
        let what = match &self.wait {
            WaitCondition::Message { until, .. } if *until < Time::NEVER => {
                format!("a message, {} more at most", left(*until))
            }
            WaitCondition::Message { .. } => "a message".to_owned(),
            WaitCondition::Until(until) => format!("{} more", left(*until)),
            WaitCondition::Hop => "the outcome of a hop".to_owned(),
        };
        format!("the middle of a call, waiting for {what}")
    }
}

/// Call of an export that may suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuspendableCall {
    Start { ptr: u32, len: u32 },
    Handle { ptr: u32, len: u32 },
    Timer(i64),
    AfterMove { ptr: u32, len: u32 },
}

/// Condition under which a suspended call continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WaitCondition {
    /// A message matches this template (a frame), or the time is over.
    Message { template: Vec<u8>, until: Time },
    /// The time has come.
    Until(Time),
    /// The outcome of a hop is known.
    Hop,
}

impl CallState {
    /// Sets the timer `tag` to `at`, in place of an earlier time.
    pub fn set_timer(&mut self, at: Time, tag: i64) {
        self.cancel_timer(tag);
        let place = self.timers.partition_point(|(due, _)| *due <= at);
        self.timers.insert(place, (at, tag));
    }

    /// Cancels the timer `tag`. Returns false if it was not set.
    pub fn cancel_timer(&mut self, tag: i64) -> bool {
        let before = self.timers.len();
        self.timers.retain(|(_, set)| *set != tag);
        self.timers.len() < before
    }

    /// Returns the time of the timer `tag`, if it is set.
    pub fn timer(&self, tag: i64) -> Option<Time> {
        self.timers.iter().find(|(_, set)| *set == tag).map(|(due, _)| *due)
    }

    /// Takes the earliest timer that is due, and returns its tag.
    pub fn take_due(&mut self, now: Time) -> Option<i64> {
        let (due, _) = self.timers.first()?;
        (*due <= now).then(|| self.timers.remove(0).1)
    }

    /// Turns the state into that of a clone, which is another agent.
    pub fn be_clone(&mut self) {
        (self.life, self.last_words) = (0, Vec::new());
    }

    /// Returns the time at which the guest has something to do without a message; [`Time::NEVER`] if never.
    pub fn next(&self) -> Time {
        match self.suspended.as_ref().map(|suspended| &suspended.wait) {
            Some(WaitCondition::Message { until, .. } | WaitCondition::Until(until)) => *until,
            Some(WaitCondition::Hop) => Time::NEVER,
            None => self.timers.first().map_or(Time::NEVER, |(due, _)| *due),
        }
    }

    /// Encodes the state. Times are written relative to `now`.
    pub fn write(&self, now: Time, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        // For most agents the flags are one byte, and all of the state.
        let flags = flag(self.started, flag::STARTED)
            | flag(!self.timers.is_empty(), flag::TIMERS)
            | flag(!self.held.is_empty(), flag::HELD)
            | flag(self.suspended.is_some(), flag::SUSPENDED)
            | flag(self.unwind_at != 0, flag::UNWIND)
            | flag(!self.options.is_empty(), flag::OPTIONS)
            | flag(self.provenance.is_some(), flag::PROVENANCE)
            | flag(self.recalls != 0, flag::RECALLS)
            | flag(self.life != 0, flag::LIFE)
            | flag(!self.last_words.is_empty(), flag::LAST_WORDS)
            | flag(self.wants.is_some(), flag::WANTS);
        put_varint(flags, out);
        if let Some(provenance) = &self.provenance {
            provenance.write(out);
        }
        if !self.options.is_empty() {
            put_bytes(&self.options, out);
        }
        if !self.timers.is_empty() {
            put_varint(self.timers.len() as u64, out);
            for (at, tag) in &self.timers {
                put_time(*at, now, out);
                out.extend_from_slice(&tag.to_le_bytes());
            }
        }
        if !self.held.is_empty() {
            put_bytes(&self.held, out);
        }
        if let Some(Suspended { call, wait }) = &self.suspended {
            call.write(out);
            wait.write(now, out);
        }
        if self.unwind_at != 0 {
            put_varint(u64::from(self.unwind_at), out);
        }
        if self.recalls != 0 {
            put_varint(u64::from(self.recalls), out);
        }
        if self.life != 0 {
            out.extend_from_slice(&self.life.to_le_bytes());
        }
        if !self.last_words.is_empty() {
            put_bytes(&self.last_words, out);
        }
        if let Some(node) = self.wants {
            put_bytes(node.as_str().as_bytes(), out);
        }
    }

    /// Decodes a state, with its times relative to `now`.
    pub fn read(input: &mut StateReader<'_>, now: Time) -> Result<Self, BadBytes> {
        let flags = input.varint()?;
        let has = |flag| flags & flag != 0;
        if flags & !flag::ALL != 0 {
            return Err(BadBytes);
        }
        let mut state = Self { started: has(flag::STARTED), ..Self::default() };
        if has(flag::PROVENANCE) {
            state.provenance = Some(Provenance::read(input)?);
        }
        if has(flag::OPTIONS) {
            state.options = input.bytes()?.to_vec();
        }
        if has(flag::TIMERS) {
            let count = input.length()?;
            if count > GUEST_TIMERS_MAX {
                return Err(BadBytes);
            }
            for _ in 0..count {
                let at = time(input, now)?;
                state.set_timer(at, input.u64()? as i64);
            }
        }
        if has(flag::HELD) {
            state.held = input.bytes()?.to_vec();
        }
        if has(flag::SUSPENDED) {
            state.suspended =
                Some(Suspended { call: SuspendableCall::read(input)?, wait: WaitCondition::read(input, now)? });
        }
        if has(flag::UNWIND) {
            state.unwind_at = small(input)?;
        }
        if has(flag::RECALLS) {
            state.recalls = small(input)?;
        }
        if has(flag::LIFE) {
            state.life = input.u64()?;
        }
        if has(flag::LAST_WORDS) {
            let frame = input.bytes()?;
            if frame.len() > GUEST_LAST_WORDS_BYTES_MAX {
                return Err(BadBytes);
            }
            state.last_words = frame.to_vec();
        }
        if has(flag::WANTS) {
            let name = std::str::from_utf8(input.bytes()?).map_err(|_| BadBytes)?;
            state.wants = Some(Symbol::new(name));
        }
        Ok(state)
    }
}

mod flag {
    pub const STARTED: u64 = 1;
    pub const TIMERS: u64 = 2;
    pub const HELD: u64 = 4;
    pub const SUSPENDED: u64 = 8;
    pub const UNWIND: u64 = 16;
    pub const OPTIONS: u64 = 32;
    pub const PROVENANCE: u64 = 64;
    pub const RECALLS: u64 = 128;
    pub const LIFE: u64 = 256;
    pub const LAST_WORDS: u64 = 512;
    pub const WANTS: u64 = 1024;
    pub const ALL: u64 = 2047;
}

/// Writes the time that is left, plus one; 0 stands for never.
fn put_time(at: Time, now: Time, out: &mut Vec<u8>) {
    put_varint(if at == Time::NEVER { 0 } else { at.0.saturating_sub(now.0) + 1 }, out);
}

fn time(input: &mut StateReader<'_>, now: Time) -> Result<Time, BadBytes> {
    Ok(match input.varint()? {
        0 => Time::NEVER,
        left => Time(now.0.saturating_add(left - 1)),
    })
}

fn small(input: &mut StateReader<'_>) -> Result<u32, BadBytes> {
    u32::try_from(input.varint()?).map_err(|_| BadBytes)
}

impl SuspendableCall {
    fn write(self, out: &mut Vec<u8>) {
        let (kind, ptr, len) = match self {
            Self::Start { ptr, len } => (0, ptr, len),
            Self::Handle { ptr, len } => (1, ptr, len),
            Self::AfterMove { ptr, len } => (2, ptr, len),
            Self::Timer(tag) => {
                out.push(3);
                return out.extend_from_slice(&tag.to_le_bytes());
            }
        };
        out.push(kind);
        put_varint(u64::from(ptr), out);
        put_varint(u64::from(len), out);
    }

    fn read(input: &mut StateReader<'_>) -> Result<Self, BadBytes> {
        Ok(match input.byte()? {
            0 => Self::Start { ptr: small(input)?, len: small(input)? },
            1 => Self::Handle { ptr: small(input)?, len: small(input)? },
            2 => Self::AfterMove { ptr: small(input)?, len: small(input)? },
            3 => Self::Timer(input.u64()? as i64),
            _ => return Err(BadBytes),
        })
    }
}

impl WaitCondition {
    fn write(&self, now: Time, out: &mut Vec<u8>) {
        match self {
            Self::Message { template, until } => {
                out.push(0);
                put_bytes(template, out);
                put_time(*until, now, out);
            }
            Self::Until(until) => {
                out.push(1);
                put_time(*until, now, out);
            }
            Self::Hop => out.push(2),
        }
    }

    fn read(input: &mut StateReader<'_>, now: Time) -> Result<Self, BadBytes> {
        Ok(match input.byte()? {
            0 => {
                let template = input.bytes()?;
                if template.len() > GUEST_TEMPLATE_BYTES_MAX {
                    return Err(BadBytes);
                }
                Self::Message { template: template.to_vec(), until: time(input, now)? }
            }
            1 => Self::Until(time(input, now)?),
            2 => Self::Hop,
            _ => return Err(BadBytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn call_state_keeps_remaining_times() {
        let mut state =
            CallState { started: true, held: vec![1, 2], unwind_at: 65536, recalls: 300, ..CallState::default() };
        (state.life, state.last_words, state.wants) = (u64::MAX - 5, vec![6, 5], Some("n2".into()));
        state.provenance = Some(Provenance::of("boss".into(), "n1".into()).of_clone("scout".into()));
        state.set_timer(Time(500), -3);
        state.set_timer(Time(200), 7);
        state.set_timer(Time(50), 8);
        let wait = WaitCondition::Message { template: vec![255], until: Time::NEVER };
        state.suspended = Some(Suspended { call: SuspendableCall::Handle { ptr: 16, len: 300 }, wait });
        let mut bytes = Vec::new();
        state.write(Time(100), &mut bytes);
        let back = CallState::read(&mut StateReader::new(&bytes), Time(1000)).unwrap();
        assert_eq!(back.timers, [(Time(1000), 8), (Time(1100), 7), (Time(1400), -3)]);
        assert_eq!(CallState { timers: Vec::new(), ..back }, CallState { timers: Vec::new(), ..state.clone() });
        for tag in 0..GUEST_TIMERS_MAX as i64 {
            state.set_timer(Time(9), 1000 + tag);
        }
        bytes.clear();
        state.write(Time(100), &mut bytes);
        assert_eq!(CallState::read(&mut StateReader::new(&bytes), Time(1000)), Err(BadBytes), "too many timers");
    }

    #[test]
    fn idle_agent_takes_one_byte() {
        let mut bytes = Vec::new();
        CallState { started: true, ..CallState::default() }.write(Time(9), &mut bytes);
        assert_eq!(bytes.len(), 1);
    }

    proptest! {
        #[test]
        fn hostile_call_state_does_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = CallState::read(&mut StateReader::new(&bytes), Time(5));
        }
    }
}
