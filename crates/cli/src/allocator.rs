//! The allocator: mimalloc. Agents come and go by the million, on all cores at once, which mimalloc is made for.
//!
//! The crate `mimalloc` asks for aligned memory whatever the alignment. That takes two and a half times as many
//! instructions as plain memory, which has the alignment that nearly everything needs.
//!
//! Allocated bytes are counted per thread (`platform::growth`), so that agents' memory is known as it grows.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU32, Ordering};

use whimbrel_platform::growth;

/// Default alignment of memory: a word. Blocks of 16 bytes and more are aligned to 16.
const ALIGNED: usize = align_of::<usize>();

/// Number of calls that return memory of which one is forced.
const FORCED_EVERY: u32 = 600;

/// See the module.
pub(crate) struct Allocator;

unsafe extern "C" {
    /// Frees memory of this thread that other threads freed, and memory of ended threads. Returns memory to the system
    /// that has been free for a while; if forced, all free memory.
    safe fn mi_collect(force: bool);
}

/// Returns memory to the system that has been free for a while.
///
/// Mimalloc leaves the memory of an ended thread to threads that ask for more. If none does, nothing of that memory is
/// returned, though other threads free all of it. Memory that is free as a whole is returned 100 ms later, but only
/// when something else is freed then.
///
/// Mimalloc notes a time at which it returns memory. Threads that free memory while another one returns some can lose
/// that time (`mi_arena_schedule_purge` of 2.3 sets it before it marks the memory), and then nothing is returned any
/// more. A forced return, which is dear, needs no time: it comes with one call of many.
pub(crate) fn give_back() {
    static CALLS: AtomicU32 = AtomicU32::new(1);
    let is_forced = CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORCED_EVERY);
    mi_collect(is_forced);
}

// SAFETY: mimalloc returns memory as the trait requires: of the requested size, aligned to a word or as requested.
// Memory that is given back to it came from it.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        growth::note(layout.size());
        // SAFETY: any size and any power of two will do.
        let memory = unsafe {
            match layout.align() {
                ..=ALIGNED => libmimalloc_sys::mi_malloc(layout.size()),
                align => libmimalloc_sys::mi_malloc_aligned(layout.size(), align),
            }
        };
        memory.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        growth::note(layout.size());
        // SAFETY: as above.
        let memory = unsafe {
            match layout.align() {
                ..=ALIGNED => libmimalloc_sys::mi_zalloc(layout.size()),
                align => libmimalloc_sys::mi_zalloc_aligned(layout.size(), align),
            }
        };
        memory.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: the caller promises that it came from here.
        unsafe { libmimalloc_sys::mi_free(memory.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        growth::note(size.saturating_sub(layout.size()));
        // SAFETY: the caller promises that it came from here.
        let memory = unsafe {
            match layout.align() {
                ..=ALIGNED => libmimalloc_sys::mi_realloc(memory.cast(), size),
                align => libmimalloc_sys::mi_realloc_aligned(memory.cast(), size, align),
            }
        };
        memory.cast()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    /// Checks that memory has this size and alignment and can be written; fills it with 7.
    fn is_good(memory: *mut u8, layout: Layout) -> bool {
        // SAFETY: what is tested is whether it was given out as the layout says.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory, layout.size()) };
        bytes.fill(7);
        memory.addr().is_multiple_of(layout.align())
    }

    #[test]
    fn memory_has_requested_size_and_alignment() {
        for (size, align_bits) in
            (1..300).chain([1_024, 1_025, 70_000, 1 << 20]).flat_map(|size| (0..13).map(move |bits| (size, bits)))
        {
            let layout = Layout::from_size_align(size, 1 << align_bits).expect("small");
            // SAFETY: the size is not 0, and all is given back as it was asked for.
            unsafe {
                let zeroed = Allocator.alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(zeroed, size).iter().all(|byte| *byte == 0), "{layout:?}");
                let memory = Allocator.alloc(layout);
                assert!(is_good(zeroed, layout) && is_good(memory, layout), "{layout:?}");
                let larger = Layout::from_size_align(2 * size + 1, layout.align()).expect("small");
                let moved = Allocator.realloc(memory, layout, larger.size());
                assert!(std::slice::from_raw_parts(moved, size).iter().all(|byte| *byte == 7), "{layout:?}");
                assert!(is_good(moved, larger), "{layout:?}");
                Allocator.dealloc(moved, larger);
                Allocator.dealloc(zeroed, layout);
            }
        }
    }

    /// Bytes of memory that this process takes, where the system tells.
    fn resident_bytes() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    }

    /// A thread asks for memory and ends, and another one frees it: as readers of a journal do, and shards.
    ///
    /// The test has a process of its own. Threads of other tests could take the memory of the ended one over, and an
    /// idle thread returns nothing.
    #[test]
    fn ended_threads_memory_is_returned() {
        const BLOCKS: usize = 500_000;
        const ALONE: &str = "TEST_IS_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let mut alone = Command::new(std::env::current_exe().expect("a test is a program"));
            alone.args(["--exact", "allocator::tests::ended_threads_memory_is_returned"]).env(ALONE, "yes");
            let said = alone.output().expect("it starts");
            let text = String::from_utf8_lossy(&said.stdout);
            assert!(said.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let Some(before) = resident_bytes() else { return };
        let ask = || (0..BLOCKS).map(|_| Box::new([7_u8; 200])).collect::<Vec<Box<[u8; 200]>>>();
        let blocks = std::thread::spawn(ask).join().expect("it ends");
        let most = resident_bytes().unwrap_or_default();
        assert!(most > before + BLOCKS as u64 * 200, "{before} {most}");
        drop(blocks);
        let until = Instant::now() + Duration::from_secs(60);
        let is_returned = || resident_bytes().is_some_and(|now| now < before + (most - before) / 4);
        while !is_returned() {
            assert!(Instant::now() < until, "of {most} bytes, {before} at first, there are {:?}", resident_bytes());
            give_back();
            std::thread::yield_now();
        }
    }
}
