//! Bytes of memory that a thread has asked for so far. The allocator of a program notes them, and whoever bounds what
//! something takes reads them before and after: nothing that grows is missed, whatever it is. What is given back does
//! not count.

use std::cell::Cell;

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Notes that this thread asked for so many bytes.
#[inline(always)]
pub fn note(bytes: usize) {
    TAKEN.set(TAKEN.get().wrapping_add(bytes as u64));
}

/// Bytes that this thread has asked for; always 0 in a program whose allocator does not note them.
#[inline(always)]
pub fn taken() -> u64 {
    TAKEN.get()
}
