//! State of a guest, in memory or written out.

use std::sync::{Arc, Mutex};

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::inspection::Detail;
use whimbrel_platform::limits::GUEST_STATE_BYTES_MAX;
use whimbrel_platform::policy::Terms;

use crate::bytes::{BadBytes, StateReader, put_varint};
use crate::call_state::CallState;
use crate::live_guest::{GuestImage, Live, LiveError};
use crate::module::Module;
use crate::packing::{PackedChanges, pack};
use crate::provenance::Provenance;

/// Version of the layout of states.
const LAYOUT: u8 = 4;
/// Bytes by which a state may grow when its times are rebased, before it is reallocated.
const SLACK: usize = 16;
/// Time from which the times of a written-out guest count on its own node.
const EPOCH: Time = Time(0);

/// State of a guest; see the module.
pub(crate) enum GuestState {
    /// The guest had no call yet.
    New,
    /// The guest is written out; its times count from [`EPOCH`].
    Frozen(Box<[u8]>),
    /// The guest is in memory.
    Live {
        live: Box<Live>,
        /// True if the guest was called since it was last considered for eviction.
        recent: bool,
        module: Arc<Module>,
    },
    /// The guest failed.
    Gone,
}

impl GuestState {
    /// Creates a guest whose first call gets these options: a value, or nothing.
    pub fn new(options: Vec<u8>) -> Self {
        if options.is_empty() {
            return Self::New;
        }
        let call_state = CallState { options, ..CallState::default() };
        Self::Frozen(state_of(&call_state, EPOCH, &GuestImage::default()).into_boxed_slice())
    }

    /// Writes the guest out if it had no call since this was last asked. Returns false if it stays in memory.
    pub fn give_way(&mut self) -> bool {
        match self {
            Self::Live { recent: recent @ true, .. } => {
                *recent = false;
                false
            }
            Self::Live { live, .. } => {
                let frozen = write(live, EPOCH).into_boxed_slice();
                *self = Self::Frozen(frozen);
                true
            }
            _ => true,
        }
    }

    /// Returns the state; `None` if the guest failed.
    pub fn snapshot(&mut self, now: Time) -> Option<Vec<u8>> {
        match self {
            Self::New => Some(Vec::new()),
            Self::Live { live, .. } => Some(write(live, now)),
            Self::Frozen(frozen) => rebase(frozen, EPOCH, now).ok(),
            Self::Gone => None,
        }
    }

    /// Describes the guest for people.
    pub fn describe(&self, now: Time) -> Vec<Detail> {
        let bytes = |bytes: u64| format!("{} KiB", bytes.div_ceil(1 << 10));
        match self {
            Self::New => vec![Detail::new("at", "its beginning, before any call")],
            Self::Frozen(state) => vec![
                Detail::new("at", "rest, as bytes: its next call brings it back to memory"),
                Detail::new("state", bytes(state.len() as u64)),
            ],
            Self::Live { live, .. } => {
                let call_state = &live.store.data().call_state;
                let at = call_state.suspended.as_ref().map_or("rest".to_owned(), |suspended| suspended.describe(now));
                let timers = call_state.timers.len();
                let mut details = vec![Detail::new("at", at), Detail::new("memory", bytes(live.memory_bytes()))];
                details.extend((timers > 0).then(|| Detail::new("timers", timers.to_string())));
                details
            }
            Self::Gone => vec![Detail::new("at", "its end: it failed")],
        }
    }

    /// Returns the destination of a hop whose outcome the guest has not been told.
    pub fn wants(&self) -> Option<Symbol> {
        match self {
            Self::Live { live, .. } => live.store.data().call_state.wants,
            Self::Frozen(state) => read_call_state(&mut StateReader::new(state), EPOCH).ok()?.wants,
            Self::New | Self::Gone => None,
        }
    }

    /// Forgets the wanted destination when the guest hops: the destination tells it the outcome.
    pub fn forget_wants(&mut self) {
        let wants = self.wants().is_some();
        match self {
            Self::Live { live, .. } => live.store.data_mut().call_state.wants = None,
            Self::Frozen(frozen) if wants => {
                let mut input = StateReader::new(frozen);
                // This node wrote the state, so it can be read.
                let Ok(call_state) = read_call_state(&mut input, EPOCH) else { return };
                let mut state = vec![LAYOUT];
                CallState { wants: None, ..call_state }.write(EPOCH, &mut state);
                state.extend_from_slice(input.rest());
                *frozen = state.into_boxed_slice();
            }
            Self::Frozen(_) | Self::New | Self::Gone => {}
        }
    }

    /// Creates a guest from the state of another node or a journal. Also returns the outline that is needed before
    /// the guest is in memory.
    pub fn from_snapshot(state: &[u8], now: Time) -> Result<(Self, Outline), BadBytes> {
        if state.is_empty() {
            return Ok((Self::New, Outline::default()));
        }
        let outline = Outline::of(state, now)?;
        Ok((Self::Frozen(rebase(state, now, EPOCH)?.into_boxed_slice()), outline))
    }

    /// Writes the provenance into the state.
    pub fn note_provenance(&mut self, provenance: &Arc<Provenance>) {
        match self {
            Self::Live { live, .. } => live.store.data_mut().call_state.provenance = Some(Arc::clone(provenance)),
            Self::Frozen(frozen) => {
                let noted = rewrite(frozen, EPOCH, EPOCH, Some(provenance));
                // This node wrote the state, so it can be read.
                *frozen = noted.map_or_else(|_| std::mem::take(frozen), Vec::into_boxed_slice);
            }
            Self::New => {
                let call_state = CallState { provenance: Some(Arc::clone(provenance)), ..CallState::default() };
                *self = Self::Frozen(state_of(&call_state, EPOCH, &GuestImage::default()).into_boxed_slice());
            }
            Self::Gone => {}
        }
    }

    /// Takes the message that is sent if the guest ends otherwise than by its own will: a frame, or nothing. It is
    /// sent once.
    pub fn take_last_words(&mut self) -> Vec<u8> {
        match self {
            Self::Live { live, .. } => std::mem::take(&mut live.store.data_mut().call_state.last_words),
            Self::Frozen(state) => read_call_state(&mut StateReader::new(state), EPOCH)
                .map(|call_state| call_state.last_words)
                .unwrap_or_default(),
            Self::New | Self::Gone => Vec::new(),
        }
    }

    /// Checks whether the guest can be brought into memory, as far as its state tells.
    pub fn check(&self, module: &Module) -> Result<(), BadBytes> {
        match self {
            Self::Frozen(state) => read(state, EPOCH)?.1.check(module),
            Self::New | Self::Live { .. } | Self::Gone => Ok(()),
        }
    }

    /// Brings the guest into memory if necessary, and returns it. `this` is the same state.
    pub fn enter(
        &mut self,
        this: &Arc<Mutex<Self>>,
        module: &Arc<Module>,
        terms: &Arc<Terms>,
    ) -> Result<&mut Live, LiveError> {
        if !matches!(self, Self::Live { .. }) {
            module.host.residency.enter(this);
            let made = match self {
                Self::New => Live::new(module, CallState::default(), Arc::clone(terms)),
                Self::Frozen(state) => read(state, EPOCH)
                    .map_err(LiveError::from)
                    .and_then(|(call_state, image)| Live::restore(module, call_state, &image, Arc::clone(terms))),
                Self::Live { .. } | Self::Gone => Err(LiveError::Trap("it has failed before".to_owned())),
            };
            match made {
                Ok(live) => *self = Self::Live { live: Box::new(live), recent: true, module: Arc::clone(module) },
                Err(error) => {
                    module.host.residency.leave();
                    return Err(error);
                }
            }
        }
        match self {
            Self::Live { live, recent, .. } => {
                *recent = true;
                Ok(live)
            }
            _ => Err(LiveError::Trap("it has failed before".to_owned())),
        }
    }
}

/// Outline of a state before an agent is made of it.
#[derive(Default)]
pub(crate) struct Outline {
    /// Provenance, if the state has one.
    pub provenance: Option<Arc<Provenance>>,
    /// Pages of memory beyond those of the module.
    pub more_pages: u64,
    /// Bytes of the difference from the module, unpacked.
    pub changes_bytes: u64,
}

impl Outline {
    fn of(state: &[u8], now: Time) -> Result<Self, BadBytes> {
        let mut input = StateReader::new(state);
        let provenance = read_call_state(&mut input, now)?.provenance;
        let (more_pages, changes) = (input.varint()?, PackedChanges::read(&mut input)?);
        let changes_bytes = changes.len as u64;
        Ok(Self { provenance, more_pages, changes_bytes })
    }
}

impl Drop for GuestState {
    fn drop(&mut self) {
        if let Self::Live { module, .. } = self {
            module.host.residency.leave();
        }
    }
}

fn write(live: &mut Live, now: Time) -> Vec<u8> {
    let image = live.capture();
    state_of(&live.store.data().call_state, now, &image)
}

/// Writes a state: the call state, the number of pages beyond the module's, then the changes, packed.
fn state_of(call_state: &CallState, now: Time, image: &GuestImage) -> Vec<u8> {
    let mut state = vec![LAYOUT];
    call_state.write(now, &mut state);
    put_varint(image.more_pages, &mut state);
    pack(&image.changes, &mut state);
    // The state may be kept for long.
    state.shrink_to_fit();
    state
}

/// Decodes a state: the call state, with times that count from `from`, and the difference.
fn read(state: &[u8], from: Time) -> Result<(CallState, GuestImage<'_>), BadBytes> {
    let mut input = StateReader::new(state);
    let call_state = read_call_state(&mut input, from)?;
    let (more_pages, changes) = (input.varint()?, PackedChanges::read(&mut input)?);
    if changes.len > GUEST_STATE_BYTES_MAX {
        return Err(BadBytes);
    }
    Ok((call_state, GuestImage { more_pages, changes: changes.unpack()? }))
}

fn read_call_state(input: &mut StateReader<'_>, from: Time) -> Result<CallState, BadBytes> {
    match input.byte()? {
        LAYOUT => CallState::read(input, from),
        _ => Err(BadBytes),
    }
}

/// Rewrites a state so that its times count from another moment.
fn rebase(state: &[u8], from: Time, to: Time) -> Result<Vec<u8>, BadBytes> {
    rewrite(state, from, to, None)
}

/// Rewrites a state with other times, and with this provenance.
fn rewrite(state: &[u8], from: Time, to: Time, provenance: Option<&Arc<Provenance>>) -> Result<Vec<u8>, BadBytes> {
    let mut input = StateReader::new(state);
    let mut call_state = read_call_state(&mut input, from)?;
    call_state.provenance = provenance.cloned().or(call_state.provenance);
    let mut out = Vec::with_capacity(state.len() + SLACK);
    out.push(LAYOUT);
    call_state.write(to, &mut out);
    out.extend_from_slice(input.rest());
    out.shrink_to_fit();
    Ok(out)
}
