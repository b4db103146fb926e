//! Memory that is given back is zero from then on: what an agent has done with does not travel with it.

use std::alloc::{GlobalAlloc, Layout, System};

struct Clean;

#[global_allocator]
static ALLOCATOR: Clean = Clean;

// SAFETY: it is the system's allocator; a block is only written to while it still is its owner's.
unsafe impl GlobalAlloc for Clean {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller says, and the block is his until now.
        unsafe {
            block.write_bytes(0, layout.size());
            System.dealloc(block, layout);
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }
}
