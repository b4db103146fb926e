//! Allocator of the agent's memory, by [`Heap`].

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;

use crate::heap::{Heap, PAGE};

/// The first page is the module's own, so that a small agent never asks for more: each instance would have to, again.
#[repr(C, align(65536))]
struct FirstPage(UnsafeCell<[u8; PAGE]>);

// SAFETY: agents have one thread.
unsafe impl Sync for FirstPage {}

static FIRST: FirstPage = FirstPage(UnsafeCell::new([0; PAGE]));

struct AgentHeap(UnsafeCell<Heap>);

// SAFETY: agents have one thread.
unsafe impl Sync for AgentHeap {}

#[global_allocator]
static MEMORY: AgentHeap = AgentHeap(UnsafeCell::new(Heap::new(0, grow)));

fn grow(pages: usize) -> Option<usize> {
    match core::arch::wasm32::memory_grow(0, pages) {
        usize::MAX => None,
        page => Some(page),
    }
}

impl AgentHeap {
    fn heap(&self) -> &mut Heap {
        // SAFETY: agents have one thread, and no call of the heap's leads back here.
        let heap = unsafe { &mut *self.0.get() };
        if heap.is_empty() {
            heap.add(FIRST.0.get().expose_provenance() / PAGE, 1);
        }
        heap
    }
}

// SAFETY: a block is its owner's alone from `take` to `give_back`, and as long and aligned as is wanted.
unsafe impl GlobalAlloc for AgentHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.heap().take(layout.size(), layout.align())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { self.heap().give_back(block, layout.size()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Free memory is zero.
        self.heap().take(layout.size(), layout.align())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, wanted: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe {
            if self.heap().resize(block, layout.size(), wanted) {
                return block;
            }
            let moved = self.heap().take(wanted, layout.align());
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, layout.size().min(wanted));
                self.heap().give_back(block, layout.size());
            }
            moved
        }
    }
}
