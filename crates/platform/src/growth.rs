//! Allocation counts: bytes of memory that a thread has allocated so far. A program's allocator notes them, and a quota
//! compares the counts before and after. Freed memory is not subtracted. Other threads allocate an agent's messages, so
//! these are noted when the agent takes them in ([`take_in`]).

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of memory of the process at the last look.
static RESIDENT: AtomicU64 = AtomicU64::new(0);
/// Bytes that agents may fill, if no policy says otherwise.
static BOUND: AtomicU64 = AtomicU64::new(u64::MAX);
/// Memory shortage: the process has more than some agent may fill.
static SHORT: AtomicBool = AtomicBool::new(false);

/// Notes the memory of the process, and the part of it that agents may fill if no policy says otherwise. The last
/// argument is true if the process has more than some agent may fill.
pub fn note_process(resident: u64, bound: u64, is_short: bool) {
    RESIDENT.store(resident, Ordering::Relaxed);
    BOUND.store(bound, Ordering::Relaxed);
    SHORT.store(is_short, Ordering::Relaxed);
}

/// Returns true if the process has more memory than some agent may fill.
#[inline(always)]
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

/// Returns the bytes that agents may fill, if the process has more: `bound`, or the default limit.
pub fn exceeded(bound: Option<u64>) -> Option<u64> {
    let bound = bound.unwrap_or_else(|| BOUND.load(Ordering::Relaxed));
    (is_short() && RESIDENT.load(Ordering::Relaxed) > bound).then_some(bound)
}

/// Returns freed memory to the system.
static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Sets how the program's allocator returns freed memory to the system. The first setting counts.
pub fn set_give_back(give_back: fn()) {
    let _ = GIVE_BACK.set(give_back);
}

/// Has the program's allocator return freed memory to the system. An allocator may keep memory that a thread had which
/// ended since, until somebody asks.
pub fn give_back() {
    if let Some(give_back) = GIVE_BACK.get() {
        give_back();
    }
}

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Notes that this thread asked for this many bytes.
#[inline(always)]
pub fn note(bytes: usize) {
    TAKEN.set(TAKEN.get().wrapping_add(bytes as u64));
}

/// Notes bytes that became part of an agent and that others asked for: those of a message. Does nothing in a program
/// whose allocator does not note its allocations.
#[inline]
pub fn take_in(bytes: usize) {
    if taken() > 0 {
        note(bytes);
    }
}

/// Returns the bytes that this thread has asked for or taken in; always 0 in a program whose allocator does not note
/// them.
#[inline(always)]
pub fn taken() -> u64 {
    TAKEN.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_allocator_gives_memory_back() {
        static GIVEN_BACK: AtomicU64 = AtomicU64::new(0);
        set_give_back(|| {
            GIVEN_BACK.fetch_add(1, Ordering::Relaxed);
        });
        set_give_back(|| unreachable!("the first setting counts"));
        give_back();
        assert_eq!(GIVEN_BACK.load(Ordering::Relaxed), 1);
    }
}
