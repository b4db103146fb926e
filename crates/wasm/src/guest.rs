//! Data of a guest in memory, as its imports see them.

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
use crate::call_state::{CallState, WaitCondition};
use crate::owner_usage::{OwnerShare, Window};
use crate::processor_time::{ProcessorMeter, ran};
use crate::recent_usage::{GuestUsage, RecentUsage};

/// Processor time that a call still has when its agent is ended; also the time for `whim_stop`.
const ENDING_CALL_MAX: Duration = Duration::from_millis(GUEST_ENDING_CPU_MS as u64);

/// Violation for which a guest is ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breach {
    /// The guest passed an address outside its memory.
    #[error("it passed an address outside its memory")]
    OutsideMemory,
    /// A call took too long.
    #[error("a call took more than {0} ms of processor time (quota call_cpu_ms)")]
    CallTime(u32),
    /// The guest took too much processor time.
    #[error("it took more than {0} ms of processor time within a second (quota cpu_ms_per_s)")]
    CpuTime(u32),
    /// The guest wants more memory than it may have.
    #[error("it needs {wanted} bytes of memory, the limit is {max} (quota memory_bytes)")]
    MemoryBytes {
        /// Memory that the guest would have.
        wanted: usize,
        /// Limit.
        max: usize,
    },
    /// The guest sent too many messages, or printed too many lines.
    #[error("it sent or printed more than {0} messages within a second (quota messages_per_s)")]
    MessageRate(u32),
    /// The guest sends a message, or prints a line, that is too long.
    #[error("it sends or prints {bytes} bytes at once, the limit is {max} (quota message_bytes)")]
    MessageBytes {
        /// Length of the message or line.
        bytes: usize,
        /// Limit.
        max: usize,
    },
    /// The guest would store too much on this node, by itself or together with all agents of its owner.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The agents of the guest's owner took too much processor time, and this guest exceeded the limit.
    #[error(
        "the agents of {owner} took more than {max} ms of processor time within a second (quota owner_cpu_ms_per_s)"
    )]
    OwnerCpuTime {
        /// Owner, with the owner's node.
        owner: String,
        /// Limit in milliseconds.
        max: u32,
    },
    /// The agents of the guest's owner sent too many messages, and this guest exceeded the limit.
    #[error(
        "the agents of {owner} sent or printed more than {max} messages within a second (quota owner_messages_per_s)"
    )]
    OwnerMessageRate {
        /// Owner, with the owner's node.
        owner: String,
        /// Limit.
        max: u32,
    },
    /// The guest sends a message, or prints a line, that is too long for agents of its owner.
    #[error(
        "it sends or prints {bytes} bytes at once, the limit is {max} for agents of {owner} (quota owner_message_bytes)"
    )]
    OwnerMessageBytes {
        /// Owner, with the owner's node.
        owner: String,
        /// Length of the message or line.
        bytes: usize,
        /// Limit.
        max: usize,
    },
    /// The lifetime of the owner's agents on this node is over.
    #[error("the lifetime of the agents of {owner} on this node is over: {seconds} s (quota owner_lifetime_s)")]
    OwnerLifetime {
        /// Owner, with the owner's node.
        owner: String,
        /// Lifetime in seconds.
        seconds: u64,
    },
    /// The agents of the guest's owner would have more memory than they may have.
    #[error("the agents of {owner} need {wanted} bytes of memory, the limit is {max} (quota owner_memory_bytes)")]
    OwnerMemoryBytes {
        /// Owner, with the owner's node.
        owner: String,
        /// Memory that the agents would have.
        wanted: u64,
        /// Limit.
        max: u64,
    },
    /// The guest is a clone, and its owner has the most clones here already.
    #[error("too many clones among the agents of {owner}: the limit is {max} (quota owner_clones)")]
    OwnerClones {
        /// Owner, with the owner's node.
        owner: String,
        /// Limit.
        max: u32,
    },
    /// The guest created too many names.
    #[error("it created more than {0} bytes of names, which its node keeps: reuse names")]
    Names(u64),
    /// All guests of this node together created too many names.
    #[error(
        "the agents of this node created more than {0} bytes of names, which it keeps: reuse names, or restart the node"
    )]
    NamesOfAll(u64),
    /// The lifetime of the guest on this node is over.
    #[error("its lifetime on this node is over: {0} s (quota lifetime_s)")]
    Lifetime(u64),
    /// The guest was ended, and did not return from its call.
    #[error("it was ended in the middle of a call")]
    Ended,
    /// The guest suspends where it cannot be suspended.
    #[error("it cannot be suspended here: {0}")]
    Suspension(&'static str),
    /// The guest gave an invalid answer.
    #[error("{0}")]
    Nonsense(&'static str),
}

/// Requests of a guest during a call, carried out when the call is over.
#[derive(Default)]
pub(crate) struct Requests {
    pub hop: Option<HopRequest>,
    pub stop: bool,
    /// Regions that need not travel: addresses and lengths.
    pub discard: Vec<(u32, u32)>,
    /// Messages, lines, and bytes of both, in this call.
    pub sent: u32,
    pub lines: u32,
    pub bytes: usize,
}

/// State of a call with respect to suspension.
#[derive(Debug, Default)]
pub(crate) enum CallPhase {
    /// The call runs as any other.
    #[default]
    Straight,
    /// The call unwinds, and will wait for this.
    Unwinding(WaitCondition),
    /// The call rewinds, and will get this answer.
    Rewinding(i32),
}

/// Access to the turn, for the time of a call.
#[derive(Default)]
pub(crate) struct TurnAccess(Option<NonNull<Turn<'static>>>);

// SAFETY: the pointer is set only while `TurnAccess::during` runs, on the thread that holds the turn and calls the
// guest. At any other time there is none.
unsafe impl Send for TurnAccess {}
// SAFETY: as above; and it is reached only through `&mut`.
unsafe impl Sync for TurnAccess {}

impl TurnAccess {
    /// Calls `work` with the turn; `None` if the guest has no turn now.
    pub fn with<R>(&mut self, work: impl for<'t> FnOnce(&mut Turn<'t>) -> R) -> Option<R> {
        // SAFETY: the pointer is set, so `during` is running with this turn. It holds the turn by `&mut` and does not
        // touch it until it takes the pointer back. The reference ends with `work`, and `&mut self` keeps it the only
        // one.
        self.0.map(|mut turn| work(unsafe { turn.as_mut() }))
    }

    /// Runs `call` while the guest that `guest_of` finds has the turn.
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

/// Guard that takes the turn back, also if the call panics.
struct Lent<'a, T> {
    owner: &'a mut T,
    guest_of: fn(&mut T) -> &mut Guest,
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        (self.guest_of)(self.owner).turn.0 = None;
    }
}

/// Usage of a guest on this node.
#[derive(Default)]
pub(crate) struct Used {
    pub messages: Window,
    /// Microseconds of processor time.
    pub cpu: Window,
    /// Bytes of names that the guest created.
    pub names: u32,
    /// Name of the agent.
    name: Symbol,
    beside: Option<Box<Beside>>,
}

/// Rarely used parts, boxed so that other guests pay for a pointer only.
struct Beside {
    share: Option<Box<OwnerShare>>,
    holder: Option<Box<Holder>>,
}

impl Used {
    /// Creates the record of a guest that arrives, with its usage before if it is back soon.
    pub fn of(
        name: Symbol,
        before: Option<GuestUsage>,
        share: Option<Box<OwnerShare>>,
        holder: Option<Box<Holder>>,
    ) -> Self {
        let beside = (share.is_some() || holder.is_some()).then(|| Box::new(Beside { share, holder }));
        let GuestUsage { messages, cpu, names, .. } = before.unwrap_or_default();
        Self { messages, cpu, names, name, beside }
    }

    /// Records the usage of a guest that leaves, whose stay began at `since`.
    pub fn leaves(&self, since: Time, recent_usage: &RecentUsage) {
        let &Self { messages, cpu, names, name, .. } = self;
        if name != Symbol::default() {
            recent_usage.leaves(name, GuestUsage { since, messages, cpu, names });
        }
    }

    /// Returns the guest's share of its owner's usage, if that is limited.
    pub fn share(&mut self) -> Option<&mut OwnerShare> {
        self.beside.as_mut()?.share.as_deref_mut()
    }

    /// Returns the holder of the guest's storage, if storage is granted.
    pub fn holder(&self) -> Option<&Holder> {
        self.beside.as_ref()?.holder.as_deref()
    }

    /// Returns the end of the owner's lifetime here, if that is limited.
    pub fn owner_until(&self) -> Time {
        let share = self.beside.as_ref().and_then(|beside| beside.share.as_ref());
        share.map_or(Time::NEVER, |share| share.until)
    }

    /// Returns the violation at the end of the lifetime: the owner's if it is over, or else the guest's.
    pub fn over(&mut self, now: Time, terms: &Terms) -> Breach {
        let of_owner = self.share().and_then(|share| share.over(now, &terms.owner));
        of_owner.unwrap_or_else(|| Breach::Lifetime(terms.lifetime.map_or(0, |lifetime| lifetime.as_secs())))
    }
}

/// Data of a guest; see the module.
pub(crate) struct Guest {
    pub turn: TurnAccess,
    pub memory: Option<Memory>,
    pub call_state: CallState,
    pub requests: Requests,
    pub course: CallPhase,
    /// True if the current call can be suspended.
    pub may_suspend: bool,
    pub terms: Arc<Terms>,
    /// Reason for the last negative answer.
    pub reason: String,
    pub used: Used,
    /// End of the stay on this node.
    pub until: Time,
    pub meter: ProcessorMeter,
    /// Bytes of names that all guests of the node created.
    names: Arc<AtomicU64>,
}

impl Guest {
    pub fn new(call_state: CallState, terms: Arc<Terms>, names: Arc<AtomicU64>) -> Self {
        Self {
            turn: TurnAccess::default(),
            memory: None,
            call_state,
            requests: Requests::default(),
            course: CallPhase::Straight,
            may_suspend: false,
            terms,
            reason: String::new(),
            used: Used::default(),
            until: Time::NEVER,
            meter: ProcessorMeter::default(),
            names,
        }
    }

    /// Returns `code`, and keeps the reason for the guest to fetch.
    pub fn refuse(&mut self, code: i32, reason: impl Into<String>) -> i32 {
        self.reason = reason.into();
        code
    }

    pub fn deny(&mut self, what: &str) -> i32 {
        self.refuse(code::DENIED, format!("the policy does not grant {what}"))
    }

    /// Keeps bytes for the guest to fetch, and returns their length.
    pub fn hold(&mut self, bytes: Vec<u8>) -> i32 {
        self.call_state.held = bytes;
        i32::try_from(self.call_state.held.len()).unwrap_or(i32::MAX)
    }

    /// Counts bytes that the guest sends or prints. Returns false if this call has too many.
    pub fn may_say(&mut self, bytes: usize) -> bool {
        self.requests.bytes = self.requests.bytes.saturating_add(bytes);
        self.requests.bytes <= GUEST_CALL_BYTES_MAX
    }

    /// Runs `work`, which may create names, and counts those that are new.
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

    /// Checks the length of a message or line.
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

    /// Counts messages or lines against the quota per second.
    pub fn count_said(&mut self, count: u32) -> Result<(), Breach> {
        // The turn may have begun long before.
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

    /// Counts the processor time since the last count.
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

    /// Checks the quotas of time; called at each tick during a call.
    pub fn tick(&mut self) -> Result<(), Breach> {
        let ran = ran();
        let now = self.turn.with(|turn| turn.services.now());
        // Instantiation has no turn, so only the time of the call counts.
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

    /// Checks whether the agent is being ended.
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
