//! A guest, whether it is in memory or written out.

use std::sync::{Arc, Mutex};

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::inspection::Detail;
use whimbrel_platform::limits::GUEST_STATE_BYTES_MAX;
use whimbrel_platform::policy::Terms;

use crate::affairs::Affairs;
use crate::bytes::{BadBytes, Input, put_varint};
use crate::line::Line;
use crate::live::{Image, Live, LiveError};
use crate::module::Module;
use crate::packing::{Packed, pack};

/// The layout of states.
const LAYOUT: u8 = 4;
/// Bytes by which a state may grow when its times are counted from another moment; if it grows more, room is made.
const SLACK: usize = 16;
/// Times of a guest that is written out on its own node count from here.
const EPOCH: Time = Time(0);

/// See the module.
pub(crate) enum Mind {
    /// It had no call yet.
    New,
    /// Written out; its times count from [`EPOCH`].
    Frozen(Box<[u8]>),
    /// In memory.
    Live {
        live: Box<Live>,
        /// It was called since somebody looked whether it could give way.
        recent: bool,
        module: Arc<Module>,
    },
    /// It failed.
    Gone,
}

impl Mind {
    /// One whose first call is told these options: a value, or nothing.
    pub fn new(options: Vec<u8>) -> Self {
        if options.is_empty() {
            return Self::New;
        }
        let affairs = Affairs { options, ..Affairs::default() };
        Self::Frozen(state_of(&affairs, EPOCH, &Image::default()).into_boxed_slice())
    }

    /// Leaves memory if it had no call since it was asked last; false if it stays.
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

    /// Its state; `None` if it failed.
    pub fn snapshot(&mut self, now: Time) -> Option<Vec<u8>> {
        match self {
            Self::New => Some(Vec::new()),
            Self::Live { live, .. } => Some(write(live, now)),
            Self::Frozen(frozen) => rebase(frozen, EPOCH, now).ok(),
            Self::Gone => None,
        }
    }

    /// How it is doing, for people.
    pub fn describe(&self, now: Time) -> Vec<Detail> {
        let bytes = |bytes: u64| format!("{} KiB", bytes.div_ceil(1 << 10));
        match self {
            Self::New => vec![Detail::new("at", "its beginning: it had no call yet")],
            Self::Frozen(state) => vec![
                Detail::new("at", "rest, written out: its next call brings it back"),
                Detail::new("state", bytes(state.len() as u64)),
            ],
            Self::Live { live, .. } => {
                let affairs = &live.store.data().affairs;
                let at = affairs.suspended.as_ref().map_or("rest".to_owned(), |suspended| suspended.describe(now));
                let timers = affairs.timers.len();
                let mut details = vec![Detail::new("at", at), Detail::new("memory", bytes(live.memory_bytes()))];
                details.extend((timers > 0).then(|| Detail::new("timers", timers.to_string())));
                details
            }
            Self::Gone => vec![Detail::new("at", "its end: it failed")],
        }
    }

    /// The node where it asked to be, if it was not told yet what became of that.
    pub fn wants(&self) -> Option<Symbol> {
        match self {
            Self::Live { live, .. } => live.store.data().affairs.wants,
            Self::Frozen(state) => read_affairs(&mut Input::new(state), EPOCH).ok()?.wants,
            Self::New | Self::Gone => None,
        }
    }

    /// It leaves by a hop: whoever takes it in tells it what became of that.
    pub fn forget_wants(&mut self) {
        let wants = self.wants().is_some();
        match self {
            Self::Live { live, .. } => live.store.data_mut().affairs.wants = None,
            Self::Frozen(frozen) if wants => {
                let mut input = Input::new(frozen);
                // Its own node wrote it: it can be read.
                let Ok(affairs) = read_affairs(&mut input, EPOCH) else { return };
                let mut state = vec![LAYOUT];
                Affairs { wants: None, ..affairs }.write(EPOCH, &mut state);
                state.extend_from_slice(input.rest());
                *frozen = state.into_boxed_slice();
            }
            Self::Frozen(_) | Self::New | Self::Gone => {}
        }
    }

    /// From a state that another node, or a journal, has; and what is to be known of it before it is in memory.
    pub fn from_snapshot(state: &[u8], now: Time) -> Result<(Self, Outline), BadBytes> {
        if state.is_empty() {
            return Ok((Self::New, Outline::default()));
        }
        let outline = Outline::of(state, now)?;
        Ok((Self::Frozen(rebase(state, now, EPOCH)?.into_boxed_slice()), outline))
    }

    /// Has its state say where it comes from.
    pub fn note_line(&mut self, line: &Arc<Line>) {
        match self {
            Self::Live { live, .. } => live.store.data_mut().affairs.line = Some(Arc::clone(line)),
            Self::Frozen(frozen) => {
                let noted = rewrite(frozen, EPOCH, EPOCH, Some(line));
                // Its own node wrote it: it can be read.
                *frozen = noted.map_or_else(|_| std::mem::take(frozen), Vec::into_boxed_slice);
            }
            Self::New => {
                let affairs = Affairs { line: Some(Arc::clone(line)), ..Affairs::default() };
                *self = Self::Frozen(state_of(&affairs, EPOCH, &Image::default()).into_boxed_slice());
            }
            Self::Gone => {}
        }
    }

    /// What is to be sent because it ends otherwise than by its own will: a frame, or nothing. It is sent once.
    pub fn take_last_words(&mut self) -> Vec<u8> {
        match self {
            Self::Live { live, .. } => std::mem::take(&mut live.store.data_mut().affairs.last_words),
            Self::Frozen(state) => {
                read_affairs(&mut Input::new(state), EPOCH).map(|affairs| affairs.last_words).unwrap_or_default()
            }
            Self::New | Self::Gone => Vec::new(),
        }
    }

    /// Whether it can be brought into memory, as far as that can be told of its state.
    pub fn check(&self, module: &Module) -> Result<(), BadBytes> {
        match self {
            Self::Frozen(state) => read(state, EPOCH)?.1.check(module),
            Self::New | Self::Live { .. } | Self::Gone => Ok(()),
        }
    }

    /// The guest in memory, brought there if it is not. `this` is the same mind.
    pub fn enter(
        &mut self,
        this: &Arc<Mutex<Self>>,
        module: &Arc<Module>,
        terms: &Arc<Terms>,
    ) -> Result<&mut Live, LiveError> {
        if !matches!(self, Self::Live { .. }) {
            module.host.roost.enter(this);
            let made = match self {
                Self::New => Live::new(module, Affairs::default(), Arc::clone(terms)),
                Self::Frozen(state) => read(state, EPOCH)
                    .map_err(LiveError::from)
                    .and_then(|(affairs, image)| Live::restore(module, affairs, &image, Arc::clone(terms))),
                Self::Live { .. } | Self::Gone => Err(LiveError::Trap("it failed before".to_owned())),
            };
            match made {
                Ok(live) => *self = Self::Live { live: Box::new(live), recent: true, module: Arc::clone(module) },
                Err(error) => {
                    module.host.roost.leave();
                    return Err(error);
                }
            }
        }
        match self {
            Self::Live { live, recent, .. } => {
                *recent = true;
                Ok(live)
            }
            _ => Err(LiveError::Trap("it failed before".to_owned())),
        }
    }
}

/// What a state says before an agent is made of it.
#[derive(Default)]
pub(crate) struct Outline {
    /// Where it comes from, if that is said.
    pub line: Option<Arc<Line>>,
    /// Pages of its memory beyond those that the module begins with.
    pub more_pages: u64,
    /// Bytes of what differs from the module, when it is unpacked.
    pub changes_bytes: u64,
}

impl Outline {
    fn of(state: &[u8], now: Time) -> Result<Self, BadBytes> {
        let mut input = Input::new(state);
        let line = read_affairs(&mut input, now)?.line;
        let (more_pages, changes) = (input.varint()?, Packed::read(&mut input)?);
        let changes_bytes = changes.len as u64;
        Ok(Self { line, more_pages, changes_bytes })
    }
}

impl Drop for Mind {
    fn drop(&mut self) {
        if let Self::Live { module, .. } = self {
            module.host.roost.leave();
        }
    }
}

fn write(live: &mut Live, now: Time) -> Vec<u8> {
    let image = live.capture();
    state_of(&live.store.data().affairs, now, &image)
}

/// A state: the affairs, how many pages it has more than the module, then its changes, packed.
fn state_of(affairs: &Affairs, now: Time, image: &Image) -> Vec<u8> {
    let mut state = vec![LAYOUT];
    affairs.write(now, &mut state);
    put_varint(image.more_pages, &mut state);
    pack(&image.changes, &mut state);
    // It may be kept for long.
    state.shrink_to_fit();
    state
}

/// What a state says: the affairs, with times that count from `from`, and the image.
fn read(state: &[u8], from: Time) -> Result<(Affairs, Image<'_>), BadBytes> {
    let mut input = Input::new(state);
    let affairs = read_affairs(&mut input, from)?;
    let (more_pages, changes) = (input.varint()?, Packed::read(&mut input)?);
    if changes.len > GUEST_STATE_BYTES_MAX {
        return Err(BadBytes);
    }
    Ok((affairs, Image { more_pages, changes: changes.unpack()? }))
}

fn read_affairs(input: &mut Input<'_>, from: Time) -> Result<Affairs, BadBytes> {
    match input.byte()? {
        LAYOUT => Affairs::read(input, from),
        _ => Err(BadBytes),
    }
}

/// The same state with its times counted from another moment.
fn rebase(state: &[u8], from: Time, to: Time) -> Result<Vec<u8>, BadBytes> {
    rewrite(state, from, to, None)
}

/// The same, that says where it comes from.
fn rewrite(state: &[u8], from: Time, to: Time, line: Option<&Arc<Line>>) -> Result<Vec<u8>, BadBytes> {
    let mut input = Input::new(state);
    let mut affairs = read_affairs(&mut input, from)?;
    affairs.line = line.cloned().or(affairs.line);
    let mut out = Vec::with_capacity(state.len() + SLACK);
    out.push(LAYOUT);
    affairs.write(to, &mut out);
    out.extend_from_slice(input.rest());
    out.shrink_to_fit();
    Ok(out)
}
