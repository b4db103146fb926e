//! Bytes of memory that a thread has allocated so far. A program's allocator notes them, and a quota compares the
//! counts before and after, so that no growth is missed. Freed memory is not subtracted.

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
