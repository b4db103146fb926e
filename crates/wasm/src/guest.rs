//! What belongs to one guest while it is in memory, as its imports see it.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wasmtime::{Memory, ResourceLimiter};
use whimbrel_acl::Symbol;
use whimbrel_platform::limits::{
    GUEST_CALL_BYTES_MAX, GUEST_ENDING_CPU_MS, GUEST_NAME_BYTES_FEW, GUESTS_NAME_BYTES_END, GUESTS_NAME_BYTES_MAX,
};
use whimbrel_platform::mobility::HopRequest;
use whimbrel_platform::policy::Terms;
use whimbrel_platform::storage::{Holder, StorageError};
use whimbrel_platform::{Time, Turn};

use crate::abi::code;
use crate::affairs::{Affairs, Wait};
use crate::cpu::{Meter, ran};
use crate::lately::{Lately, Tally};
use crate::owners::{Share, Window};

/// How long a call goes on whose agent is ended meanwhile; also what an agent has to say in `whim_stop`.
const ENDING_CALL_MAX: Duration = Duration::from_millis(GUEST_ENDING_CPU_MS as u64);

/// What a guest does that ends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breach {
    /// It named an address that is not in its memory.
    #[error("it passed an address outside its memory")]
    OutsideMemory,
    /// It did not come back from a call for too long.
    #[error("a call took more than {0} ms of processor time (quota call_cpu_ms)")]
    CallTime(u32),
    /// It took too much processor time.
    #[error("it took more than {0} ms of processor time within a second (quota cpu_ms_per_s)")]
    CpuTime(u32),
    /// It wants more memory than it may have.
    #[error("it wants {wanted} bytes of memory: {max} are the most (quota memory_bytes)")]
    MemoryBytes {
        /// All that it would have.
        wanted: usize,
        /// What it may have.
        max: usize,
    },
    /// It sent too many messages, or printed too many lines.
    #[error("it sent or printed more than {0} messages within a second (quota messages_per_s)")]
    MessageRate(u32),
    /// It sends a message, or prints a line, that is too long.
    #[error("it sends or prints {bytes} bytes at once: {max} are the most (quota message_bytes)")]
    MessageBytes {
        /// How long it is.
        bytes: usize,
        /// How long one may be.
        max: usize,
    },
    /// It would keep too much on this node, by itself or with all agents of its owner.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// All agents of its owner took too much processor time, and it was the one with which they did.
    #[error(
        "the agents of {owner} took more than {max} ms of processor time within a second (quota owner_cpu_ms_per_s)"
    )]
    OwnerCpuTime {
        /// Who owns it, and on which node.
        owner: String,
        /// What they may take.
        max: u32,
    },
    /// All agents of its owner sent too many messages, and it was the one with which they did.
    #[error(
        "the agents of {owner} sent or printed more than {max} messages within a second (quota owner_messages_per_s)"
    )]
    OwnerMessageRate {
        /// Who owns it, and on which node.
        owner: String,
        /// What they may send.
        max: u32,
    },
    /// It sends a message, or prints a line, that is too long for agents of its owner.
    #[error(
        "it sends or prints {bytes} bytes at once: {max} are the most of agents of {owner} (quota owner_message_bytes)"
    )]
    OwnerMessageBytes {
        /// Who owns it, and on which node.
        owner: String,
        /// How long it is.
        bytes: usize,
        /// How long one may be.
        max: usize,
    },
    /// Agents of its owner have been here for long enough.
    #[error("the {seconds} s of the agents of {owner} on this node are over (quota owner_lifetime_s)")]
    OwnerLifetime {
        /// Who owns it, and on which node.
        owner: String,
        /// How long they may be here.
        seconds: u64,
    },
    /// All agents of its owner would have more memory than they may have.
    #[error("the agents of {owner} want {wanted} bytes of memory: {max} are the most (quota owner_memory_bytes)")]
    OwnerMemoryBytes {
        /// Who owns it, and on which node.
        owner: String,
        /// All that they would have.
        wanted: u64,
        /// What they may have.
        max: u64,
    },
    /// It is a clone, and its owner has enough of them.
    #[error("{max} clones among the agents of {owner} are the most here (quota owner_clones)")]
    OwnerClones {
        /// Who owns it, and on which node.
        owner: String,
        /// What he may have.
        max: u32,
    },
    /// It made up too many names.
    #[error("it made up more than {0} bytes of names, which its node keeps: use names again")]
    Names(u64),
    /// All guests of this node together did.
    #[error(
        "the agents of this node made up more than {0} bytes of names, which it keeps: use names again, or restart the node"
    )]
    NamesOfAll(u64),
    /// It has been here for long enough.
    #[error("its {0} s on this node are over (quota lifetime_s)")]
    Lifetime(u64),
    /// Somebody ends it, and it did not come back from its call.
    #[error("it was ended in the middle of a call")]
    Ended,
    /// It suspends where it cannot be suspended.
    #[error("it cannot be suspended here: {0}")]
    Suspension(&'static str),
    /// It answered with something that is no answer.
    #[error("{0}")]
    Nonsense(&'static str),
}

/// What a guest asks for during a call, that is done when the call is over.
#[derive(Default)]
pub(crate) struct Requests {
    pub hop: Option<HopRequest>,
    pub stop: bool,
    /// What need not travel: addresses and lengths.
    pub discard: Vec<(u32, u32)>,
    /// Messages, lines, and bytes of both, of this call.
    pub sent: u32,
    pub lines: u32,
    pub bytes: usize,
}

/// How a call goes on when it comes to an import that waits.
#[derive(Debug, Default)]
pub(crate) enum Course {
    /// As any other.
    #[default]
    Straight,
    /// It unwinds, and waits for this.
    Unwinding(Wait),
    /// It rewinds, to get this answer.
    Rewinding(i32),
}

/// The turn that a guest has, for the time of a call.
#[derive(Default)]
pub(crate) struct TurnAccess(Option<NonNull<Turn<'static>>>);

// SAFETY: the pointer is set only while `TurnAccess::during` runs, on the thread that holds the turn, which the guest is called
// on. At any other time there is none.
unsafe impl Send for TurnAccess {}
// SAFETY: as above; and it is reached only through `&mut`.
unsafe impl Sync for TurnAccess {}

impl TurnAccess {
    /// Does something with the turn; `None` if the guest has none now.
    pub fn with<R>(&mut self, work: impl for<'t> FnOnce(&mut Turn<'t>) -> R) -> Option<R> {
        // SAFETY: it is set, so `during` is running with this turn, which it holds by `&mut` and does not touch until it
        // takes the pointer back. The reference ends with `work`, and `&mut self` keeps it the only one.
        self.0.map(|mut turn| work(unsafe { turn.as_mut() }))
    }

    /// Does `call` with what `guest_of` finds a guest in, while that guest has the turn.
    pub fn during<T, R>(
        owner: &mut T,
        guest_of: fn(&mut T) -> &mut Guest,
        turn: &mut Turn<'_>,
        call: impl FnOnce(&mut T) -> R,
    ) -> R {
        guest_of(owner).turn.0 = Some(NonNull::from(turn).cast());
        let lent = Lent { owner, guest_of };
        call(&mut *lent.owner)
    }
}

/// Takes the turn back, also if the call panics.
struct Lent<'a, T> {
    owner: &'a mut T,
    guest_of: fn(&mut T) -> &mut Guest,
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        (self.guest_of)(self.owner).turn.0 = None;
    }
}

/// What a guest has used on this node, of what it may use.
#[derive(Default)]
pub(crate) struct Used {
    pub messages: Window,
    /// Microseconds of processor time.
    pub cpu: Window,
    /// Bytes of names that nobody knew before.
    pub names: u32,
    /// Whose it is.
    name: Symbol,
    beside: Option<Box<Beside>>,
}

/// What few guests have, so that the others pay for a pointer only.
struct Beside {
    share: Option<Box<Share>>,
    holder: Option<Box<Holder>>,
}

impl Used {
    /// Of a guest that comes, or is back soon.
    pub fn of(name: Symbol, before: Option<Tally>, share: Option<Box<Share>>, holder: Option<Box<Holder>>) -> Self {
        let beside = (share.is_some() || holder.is_some()).then(|| Box::new(Beside { share, holder }));
        let Tally { messages, cpu, names, .. } = before.unwrap_or_default();
        Self { messages, cpu, names, name, beside }
    }

    /// It is about to leave, having come then.
    pub fn leaves(&self, since: Time, lately: &Lately) {
        let &Self { messages, cpu, names, name, .. } = self;
        if name != Symbol::default() {
            lately.leaves(name, Tally { since, messages, cpu, names });
        }
    }

    /// Its part of what its owner's agents use, if that is limited.
    pub fn share(&mut self) -> Option<&mut Share> {
        self.beside.as_mut()?.share.as_deref_mut()
    }

    /// Under whose name it keeps something here, if that is granted.
    pub fn holder(&self) -> Option<&Holder> {
        self.beside.as_ref()?.holder.as_deref()
    }

    /// When the time of its owner's agents here is over, if that is limited.
    pub fn owner_until(&self) -> Time {
        let share = self.beside.as_ref().and_then(|beside| beside.share.as_ref());
        share.map_or(Time::NEVER, |share| share.until)
    }

    /// That its time here is over: its owner's, or else its own.
    pub fn over(&mut self, now: Time, terms: &Terms) -> Breach {
        let of_owner = self.share().and_then(|share| share.over(now, &terms.owner));
        of_owner.unwrap_or_else(|| Breach::Lifetime(terms.lifetime.map_or(0, |lifetime| lifetime.as_secs())))
    }
}

/// See the module.
pub(crate) struct Guest {
    pub turn: TurnAccess,
    pub memory: Option<Memory>,
    pub affairs: Affairs,
    pub requests: Requests,
    pub course: Course,
    /// Whether the call that it is in can wait in its middle.
    pub may_suspend: bool,
    pub terms: Arc<Terms>,
    /// Why it was answered with a negative number last.
    pub reason: String,
    pub used: Used,
    /// When its time on this node is over.
    pub until: Time,
    pub meter: Meter,
    /// Bytes of names that all guests of the node made up.
    names: Arc<AtomicU64>,
}

impl Guest {
    pub fn new(affairs: Affairs, terms: Arc<Terms>, names: Arc<AtomicU64>) -> Self {
        Self {
            turn: TurnAccess::default(),
            memory: None,
            affairs,
            requests: Requests::default(),
            course: Course::Straight,
            may_suspend: false,
            terms,
            reason: String::new(),
            used: Used::default(),
            until: Time::NEVER,
            meter: Meter::default(),
            names,
        }
    }

    /// Answers that something was not done, and keeps why.
    pub fn refuse(&mut self, code: i32, reason: impl Into<String>) -> i32 {
        self.reason = reason.into();
        code
    }

    pub fn deny(&mut self, what: &str) -> i32 {
        self.refuse(code::DENIED, format!("the policy does not grant {what}"))
    }

    /// Keeps bytes for the guest to fetch; their length.
    pub fn hold(&mut self, bytes: Vec<u8>) -> i32 {
        self.affairs.held = bytes;
        i32::try_from(self.affairs.held.len()).unwrap_or(i32::MAX)
    }

    /// Counts bytes that it sends or prints; false if there were too many in this call.
    pub fn may_say(&mut self, bytes: usize) -> bool {
        self.requests.bytes = self.requests.bytes.saturating_add(bytes);
        self.requests.bytes <= GUEST_CALL_BYTES_MAX
    }

    /// Makes names of what a guest wrote, and counts those that are new.
    pub fn naming<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> Result<R, Breach> {
        let before = Symbol::bytes_made_here();
        let done = work(self);
        let made = Symbol::bytes_made_here() - before;
        if made == 0 {
            return Ok(done);
        }
        self.used.names = self.used.names.saturating_add(u32::try_from(made).unwrap_or(u32::MAX));
        let all = self.names.fetch_add(made, Ordering::Relaxed) + made;
        let (its, most) = (u64::from(self.used.names), self.terms.name_bytes);
        match () {
            () if its > most => Err(Breach::Names(most)),
            () if all > GUESTS_NAME_BYTES_END => Err(Breach::NamesOfAll(GUESTS_NAME_BYTES_END)),
            () if all > GUESTS_NAME_BYTES_MAX && its > GUEST_NAME_BYTES_FEW => {
                Err(Breach::NamesOfAll(GUESTS_NAME_BYTES_MAX))
            }
            () => Ok(done),
        }
    }

    /// It sends or prints so many bytes at once.
    pub fn check_length(&mut self, bytes: usize) -> Result<(), Breach> {
        let max = self.terms.message_bytes;
        if bytes > max {
            return Err(Breach::MessageBytes { bytes, max });
        }
        match self.used.share() {
            Some(share) => share.check_length(bytes, &self.terms.owner),
            None => Ok(()),
        }
    }

    /// Counts messages or lines within the second.
    pub fn count_said(&mut self, count: u32) -> Result<(), Breach> {
        // A turn may be long, and began before.
        let now = self.turn.with(|turn| turn.services.now()).unwrap_or_default();
        if let Some(most) = self.terms.messages_per_s
            && self.used.messages.add(u64::from(count), now) > u64::from(most)
        {
            return Err(Breach::MessageRate(most));
        }
        match self.used.share() {
            Some(share) => share.add_messages(count, now, &self.terms.owner),
            None => Ok(()),
        }
    }

    /// Counts the processor time that it took since it was counted last.
    pub fn count_cpu(&mut self, ran: Duration, now: Time) -> Result<(), Breach> {
        let took = self.meter.took(ran).as_micros() as u64;
        if took == 0 {
            return Ok(());
        }
        if let Some(most) = self.terms.cpu_ms_per_s
            && self.used.cpu.add(took, now) > u64::from(most) * 1_000
        {
            return Err(Breach::CpuTime(most));
        }
        match self.used.share() {
            Some(share) => share.add_cpu(took, now, &self.terms.owner),
            None => Ok(()),
        }
    }

    /// The clock ticks while it is in a call.
    pub fn tick(&mut self) -> Result<(), Breach> {
        let ran = ran();
        let now = self.turn.with(|turn| turn.services.now());
        // While it is instantiated it has no turn, and nothing but the time of the call counts.
        if let Some(now) = now {
            if now >= self.until {
                return Err(self.used.over(now, &self.terms));
            }
            self.count_cpu(ran, now)?;
        }
        let (most, in_call) = (self.terms.call_cpu_ms, self.meter.call(ran));
        if in_call >= ENDING_CALL_MAX && self.is_ending() {
            return Err(Breach::Ended);
        }
        if in_call < Duration::from_millis(u64::from(most)) { Ok(()) } else { Err(Breach::CallTime(most)) }
    }

    /// Whether somebody ends it.
    fn is_ending(&mut self) -> bool {
        self.turn.with(|turn| turn.services.is_ending(turn.aid)).unwrap_or_default()
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, _current: usize, wanted: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let max = self.terms.memory_bytes;
        if wanted > max {
            return Err(wasmtime::Error::new(Breach::MemoryBytes { wanted, max }));
        }
        if let Some(share) = self.used.share() {
            share.grow(wanted as u64, &self.terms.owner).map_err(wasmtime::Error::new)?;
        }
        Ok(maximum.is_none_or(|maximum| wanted <= maximum))
    }

    fn table_growing(&mut self, _current: usize, _wanted: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // Modules whose tables change are not admitted.
        Ok(true)
    }
}
