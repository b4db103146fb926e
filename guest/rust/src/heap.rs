//! Heap of an agent, made for travelling: the state of an agent is the content of its memory.
//!
//! Free memory is zero, without headers, lists or marks in it. A bit for each 16 bytes, in front of each page, says
//! which parts are taken. So an agent's former data leaves nothing behind that would travel, and its present data lies
//! close together. Callers give the length of a block that they return, as Rust's allocators require, so no block
//! stores its length.

/// Bytes of a page of memory.
pub const PAGE: usize = 64 << 10;
/// Bytes that a bit stands for; all blocks begin at a multiple of it.
const GRANULE: usize = 16;
/// Granules of a page.
const GRANULES: usize = PAGE / GRANULE;
/// Words of a page's map.
const WORDS: usize = GRANULES / 64;
/// Granules that a page's header takes.
const HEADER: usize = size_of::<Header>() / GRANULE;
/// Granules of the largest block that shares a page with others.
const SMALL_MAX: usize = GRANULES / 2;
/// Pages that a heap may have: 64 MiB, as much memory as nodes give an agent at most.
const PAGES_MAX: usize = 1024;

/// Header of a page that blocks share.
#[repr(C, align(16))]
struct Header {
    /// Bit for each taken granule, except those of the header itself: zeros do not travel.
    taken: [u64; WORDS],
    /// Number of taken granules.
    used: u64,
    /// First granule that may be free. (The field also fills the last granule: all of it is zero where a page is given
    /// back.)
    first: u64,
}

/// Use of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Use {
    /// The page does not belong to the heap.
    None = 0,
    /// The whole page is free, and zero.
    Free,
    /// Blocks share the page.
    Shared,
    /// A block has the page, alone or with the following ones.
    Whole,
}

/// Function that gets so many more zero pages. Returns the number of the first one.
type Grow = fn(usize) -> Option<usize>;

/// Heap of an agent.
pub struct Heap {
    /// Address of page 0.
    base: usize,
    grow: Grow,
    uses: [Use; PAGES_MAX],
    /// Least number of granules for which a shared page has had no room since a part of it was given back; 0 if there
    /// always was room. With it, pages are not searched in vain again.
    lacks: [u16; PAGES_MAX],
    /// First shared page that may have room.
    first: usize,
    /// End of the heap's pages.
    end: usize,
}

impl Heap {
    /// Makes a heap without a page.
    pub const fn new(base: usize, grow: Grow) -> Self {
        Self { base, grow, uses: [Use::None; PAGES_MAX], lacks: [0; PAGES_MAX], first: 0, end: 0 }
    }

    /// Returns true if the heap has no page.
    #[cfg(target_arch = "wasm32")]
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Adds pages, which must be zero.
    pub fn add(&mut self, page: usize, count: usize) -> bool {
        let Some(uses) = self.uses.get_mut(page..page + count) else { return false };
        uses.fill(Use::Free);
        self.end = self.end.max(page + count);
        true
    }

    /// Takes a block of so many zero bytes at a multiple of `align` (a power of two, at most a page). Null if there is
    /// no room.
    pub fn take(&mut self, bytes: usize, align: usize) -> *mut u8 {
        let granules = bytes.div_ceil(GRANULE).max(1);
        let step = align.div_ceil(GRANULE).max(1);
        if align > PAGE {
            return std::ptr::null_mut();
        }
        if granules > SMALL_MAX || step > SMALL_MAX {
            return self.take_pages(bytes.div_ceil(PAGE).max(1)).map_or(std::ptr::null_mut(), |page| self.at(page, 0));
        }
        self.take_shared(granules, step).map_or(std::ptr::null_mut(), |(page, at)| self.at(page, at))
    }

    /// Takes a block back, and zeroes it.
    ///
    /// # Safety
    /// [`Heap::take`] returned the block, or [`Heap::resize`] made it so long, and nobody uses it any more.
    pub unsafe fn give_back(&mut self, block: *mut u8, bytes: usize) {
        let (page, at) = self.place(block);
        match self.uses.get(page) {
            Some(Use::Shared) => self.free(page, at, bytes.div_ceil(GRANULE).max(1)),
            _ => self.free_pages(page, bytes.div_ceil(PAGE).max(1)),
        }
    }

    /// Resizes a block in place, if possible.
    ///
    /// # Safety
    /// As for [`Heap::give_back`], except that the remaining block still belongs to its owner.
    pub unsafe fn resize(&mut self, block: *mut u8, bytes: usize, wanted: usize) -> bool {
        let (page, at) = self.place(block);
        if self.uses.get(page) != Some(&Use::Shared) {
            let is_whole =
                wanted > SMALL_MAX * GRANULE && self.resize_pages(page, bytes.div_ceil(PAGE), wanted.div_ceil(PAGE));
            if is_whole && wanted < bytes {
                // The dropped end on the last kept page; the pages behind it are zero already.
                let left = bytes.min(wanted.next_multiple_of(PAGE)) - wanted;
                // SAFETY: the block is so long, and its owner does without its end.
                unsafe { block.add(wanted).write_bytes(0, left) };
            }
            return is_whole;
        }
        let (has, wanted) = (bytes.div_ceil(GRANULE).max(1), wanted.div_ceil(GRANULE).max(1));
        if wanted <= has {
            if wanted < has {
                self.free(page, at + wanted, has - wanted);
            }
            return true;
        }
        let header = self.header(page);
        let (end, wanted_end) = (at + has, at + wanted);
        let is_free = wanted <= SMALL_MAX && wanted_end <= GRANULES && header.next_taken(end, wanted_end).is_none();
        if is_free {
            header.mark(end, wanted - has, true);
        }
        is_free
    }

    fn resize_pages(&mut self, page: usize, has: usize, wanted: usize) -> bool {
        if wanted <= has {
            self.free_pages(page + wanted, has - wanted);
            return true;
        }
        if page + has == self.end {
            // The new pages may be elsewhere: then other blocks use them.
            let Some(more) = (self.grow)(wanted - has) else { return false };
            self.add(more, wanted - has);
        }
        let Some(more) = self.uses.get_mut(page + has..page + wanted) else { return false };
        let are_free = more.iter().all(|what| *what == Use::Free);
        if are_free {
            more.fill(Use::Whole);
        }
        are_free
    }

    fn take_shared(&mut self, granules: usize, step: usize) -> Option<(usize, usize)> {
        for page in self.first..self.end {
            if let Some(at) = self.take_of(page, granules, step) {
                return Some((page, at));
            }
            let is_full = self.uses.get(page) != Some(&Use::Shared) || self.lacks.get(page) == Some(&1);
            if is_full && page == self.first {
                self.first += 1;
            }
        }
        let page = self.take_pages(1)?;
        self.first = self.first.min(page);
        if let Some(what) = self.uses.get_mut(page) {
            *what = Use::Shared;
        }
        let header = self.header(page);
        header.first = HEADER as u64;
        self.take_of(page, granules, step).map(|at| (page, at))
    }

    /// Takes so many granules of a page, if it is shared and has them.
    fn take_of(&mut self, page: usize, granules: usize, step: usize) -> Option<usize> {
        let lacks = usize::from(*self.lacks.get(page)?);
        if self.uses.get(page) != Some(&Use::Shared) || (lacks != 0 && granules >= lacks) {
            return None;
        }
        let header = self.header(page);
        let found = header.find(granules, step);
        match found {
            Some(at) => header.mark(at, granules, true),
            // There may be room that does not begin at a multiple of `step`.
            None if step > 1 => {}
            None => self.note_lack(page, granules as u16),
        }
        found
    }

    fn note_lack(&mut self, page: usize, granules: u16) {
        if let Some(lacks) = self.lacks.get_mut(page) {
            *lacks = granules;
        }
    }

    fn take_pages(&mut self, count: usize) -> Option<usize> {
        let mut run = 0;
        let free = (0..self.end).find(|page| {
            run = if self.uses.get(*page) == Some(&Use::Free) { run + 1 } else { 0 };
            run == count
        });
        let page = match free {
            Some(last) => last + 1 - count,
            None => {
                let page = (self.grow)(count)?;
                self.add(page, count).then_some(page)?
            }
        };
        self.uses.get_mut(page..page + count)?.fill(Use::Whole);
        Some(page)
    }

    fn free(&mut self, page: usize, at: usize, granules: usize) {
        let block = self.at(page, at);
        // SAFETY: these granules are of a block that whoever calls gives back.
        unsafe { block.write_bytes(0, granules * GRANULE) };
        let header = self.header(page);
        header.mark(at, granules, false);
        let is_empty = header.used == 0;
        if is_empty {
            *header = Header { taken: [0; WORDS], used: 0, first: 0 };
        }
        self.note_lack(page, 0);
        match self.uses.get_mut(page) {
            Some(what) if is_empty => *what = Use::Free,
            _ => self.first = self.first.min(page),
        }
    }

    fn free_pages(&mut self, page: usize, count: usize) {
        let block = self.at(page, 0);
        // SAFETY: these pages are a block's that whoever calls gives back.
        unsafe { block.write_bytes(0, count * PAGE) };
        if let Some(uses) = self.uses.get_mut(page..page + count) {
            uses.fill(Use::Free);
        }
    }

    fn at(&self, page: usize, granule: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.base + page * PAGE + granule * GRANULE)
    }

    fn place(&self, block: *mut u8) -> (usize, usize) {
        let offset = block.addr() - self.base;
        (offset / PAGE, offset % PAGE / GRANULE)
    }

    fn header(&mut self, page: usize) -> &mut Header {
        // SAFETY: callers pass pages of the heap only, in front of which nothing else lies; all zeros are a valid
        // header.
        unsafe { &mut *self.at(page, 0).cast::<Header>() }
    }
}

impl Header {
    /// Returns the first of so many free granules, at a multiple of `step`, a power of two.
    fn find(&self, granules: usize, step: usize) -> Option<usize> {
        let up = |at: usize| (at + step - 1) & !(step - 1);
        let mut at = up(self.first as usize);
        while at + granules <= GRANULES {
            match self.next_taken(at, at + granules) {
                None => return Some(at),
                Some(taken) => at = up(self.next_free(taken + 1)?),
            }
        }
        None
    }

    /// Returns the first taken granule in a range.
    fn next_taken(&self, from: usize, to: usize) -> Option<usize> {
        self.next(from, to, |word| word)
    }

    fn next_free(&self, from: usize) -> Option<usize> {
        self.next(from, GRANULES, |word| !word)
    }

    /// Returns the first bit in a range that is set in a function of the map. Later bits are not searched.
    fn next(&self, from: usize, to: usize, of: impl Fn(u64) -> u64) -> Option<usize> {
        let mut index = from / 64;
        let mut bits = of(*self.taken.get(index)?) & (u64::MAX << (from % 64));
        while bits == 0 {
            index += 1;
            if index * 64 >= to {
                return None;
            }
            bits = of(*self.taken.get(index)?);
        }
        Some(index * 64 + bits.trailing_zeros() as usize).filter(|found| *found < to)
    }

    fn mark(&mut self, from: usize, granules: usize, taken: bool) {
        let (mut at, end) = (from, from + granules);
        if !taken {
            self.first = self.first.min(from as u64);
        } else if self.first == from as u64 {
            self.first = end as u64;
        }
        while at < end {
            let count = (end - at).min(64 - at % 64);
            let bits = (u64::MAX >> (64 - count)) << (at % 64);
            if let Some(word) = self.taken.get_mut(at / 64) {
                *word = if taken { *word | bits } else { *word & !bits };
            }
            at += count;
        }
        let granules = granules as u64;
        self.used = if taken { self.used + granules } else { self.used - granules };
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    use proptest::prelude::*;

    use super::*;

    /// Number of pages that heaps in tests may have.
    const PAGES: usize = 12;

    thread_local! {
        static GROWN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    /// As in WebAssembly, other code takes every third page.
    fn grow(count: usize) -> Option<usize> {
        GROWN.with(|grown| {
            let page = grown.get() + usize::from(grown.get() % 3 == 2);
            (page + count <= PAGES).then(|| {
                grown.set(page + count);
                page
            })
        })
    }

    struct TestMemory(*mut u8);

    impl TestMemory {
        const LAYOUT: Layout = match Layout::from_size_align(PAGES * PAGE, PAGE) {
            Ok(layout) => layout,
            Err(_) => panic!("no such layout"),
        };

        fn new() -> Self {
            GROWN.set(0);
            // SAFETY: it has a size.
            Self(unsafe { alloc_zeroed(Self::LAYOUT) })
        }

        fn bytes(&self) -> &[u8] {
            // SAFETY: it is that long, and was zeroed.
            unsafe { std::slice::from_raw_parts(self.0, PAGES * PAGE) }
        }
    }

    impl Drop for TestMemory {
        fn drop(&mut self) {
            // SAFETY: it is from there.
            unsafe { dealloc(self.0, Self::LAYOUT) };
        }
    }

    #[derive(Clone, Debug)]
    enum HeapStep {
        Take { bytes: usize, align: usize },
        GiveBack(usize),
        Resize(usize, usize),
    }

    fn bytes() -> impl Strategy<Value = usize> {
        prop_oneof![8 => 0usize..200, 2 => 0usize..5000, 1 => 30_000usize..200_000]
    }

    fn act() -> impl Strategy<Value = HeapStep> {
        prop_oneof![
            5 => (bytes(), 0u32..8).prop_map(|(bytes, align)| HeapStep::Take { bytes, align: 1 << align }),
            4 => any::<usize>().prop_map(HeapStep::GiveBack),
            3 => (any::<usize>(), bytes()).prop_map(|(which, bytes)| HeapStep::Resize(which, bytes)),
        ]
    }

    /// Block, its length, and its fill byte.
    type Block = (*mut u8, usize, u8);

    fn fill((block, bytes, mark): Block) {
        // SAFETY: the heap gave it.
        unsafe { block.write_bytes(mark, bytes) };
    }

    fn is_whole((block, bytes, mark): Block) -> bool {
        // SAFETY: the heap gave it, and it was filled.
        unsafe { std::slice::from_raw_parts(block, bytes) }.iter().all(|byte| *byte == mark)
    }

    proptest! {
        #[test]
        fn blocks_are_separate_and_zeroed(acts in prop::collection::vec(act(), 1..120)) {
            let memory = TestMemory::new();
            let mut heap = Heap::new(memory.0.expose_provenance(), grow);
            let mut blocks: Vec<Block> = Vec::new();
            for (index, act) in acts.into_iter().enumerate() {
                let mark = index as u8 | 1;
                match act {
                    HeapStep::Take { bytes, align } => {
                        let block = heap.take(bytes, align);
                        if block.is_null() { continue }
                        prop_assert!(block.addr().is_multiple_of(align));
                        prop_assert!(is_whole((block, bytes, 0)), "what is given is zero");
                        fill((block, bytes, mark));
                        blocks.push((block, bytes, mark));
                    }
                    HeapStep::GiveBack(which) if !blocks.is_empty() => {
                        let (block, bytes, _) = blocks.swap_remove(which % blocks.len());
                        // SAFETY: it was taken.
                        unsafe { heap.give_back(block, bytes) };
                    }
                    HeapStep::Resize(which, wanted) if !blocks.is_empty() => {
                        let which = which % blocks.len();
                        let (block, bytes, _) = blocks[which];
                        // SAFETY: it was taken.
                        if unsafe { heap.resize(block, bytes, wanted) } {
                            let kept = (block, bytes.min(wanted), blocks[which].2);
                            prop_assert!(is_whole(kept));
                            blocks[which] = (block, wanted, mark);
                            fill(blocks[which]);
                        }
                    }
                    _ => {}
                }
                prop_assert!(blocks.iter().all(|block| is_whole(*block)));
            }
            for (block, bytes, _) in blocks {
                // SAFETY: it was taken.
                unsafe { heap.give_back(block, bytes) };
            }
            prop_assert!(memory.bytes().iter().all(|byte| *byte == 0), "nothing is left of them, nor of the maps");
        }
    }

    #[test]
    fn page_takes_blocks_until_full() {
        let memory = TestMemory::new();
        let mut heap = Heap::new(memory.0.expose_provenance(), grow);
        let blocks: Vec<*mut u8> = (0..GRANULES - HEADER).map(|_| heap.take(GRANULE, 1)).collect();
        assert_eq!(blocks.iter().map(|block| heap.place(*block).0).max(), Some(0));
        let next = heap.take(1, 1);
        assert_eq!(heap.place(next), (1, HEADER));
        // SAFETY: it was taken.
        unsafe { heap.give_back(blocks[7], GRANULE) };
        assert_eq!(heap.take(GRANULE, 1), blocks[7]);
    }

    #[test]
    fn large_blocks_resize_in_place() {
        let memory = TestMemory::new();
        let mut heap = Heap::new(memory.0.expose_provenance(), grow);
        let block = heap.take(PAGE, 1);
        fill((block, PAGE, 7));
        // SAFETY: it was taken, and is so long.
        unsafe {
            assert!(heap.resize(block, PAGE, 2 * PAGE), "the page behind it comes");
            assert!(!heap.resize(block, 2 * PAGE, 4 * PAGE), "the one behind that is somebody else's");
            assert!(heap.resize(block, 2 * PAGE, PAGE - 100));
        }
        assert_eq!(heap.take_pages(1), Some(1), "what it gave back");
        assert!(is_whole((block, PAGE - 100, 7)));
        assert!(memory.bytes()[PAGE - 100..2 * PAGE].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn full_pages_are_skipped() {
        let memory = TestMemory::new();
        let mut heap = Heap::new(memory.0.expose_provenance(), grow);
        let blocks: Vec<*mut u8> = (0..GRANULES - HEADER).map(|_| heap.take(GRANULE, 1)).collect();
        for block in blocks.iter().step_by(2) {
            // SAFETY: it was taken.
            unsafe { heap.give_back(*block, GRANULE) };
        }
        let larger = heap.take(2 * GRANULE, 1);
        assert_eq!(heap.place(larger).0, 1);
        assert_eq!((heap.lacks[0], heap.first), (2, 0));
        assert_eq!(heap.take(GRANULE, 1), blocks[0], "there is room for less");
        // SAFETY: it was taken.
        unsafe { heap.give_back(blocks[1], GRANULE) };
        assert_eq!(heap.take(2 * GRANULE, 1), blocks[1], "two beside each other");
    }

    #[test]
    fn oversized_block_is_refused() {
        let memory = TestMemory::new();
        let mut heap = Heap::new(memory.0.expose_provenance(), grow);
        assert!(heap.take((PAGES + 1) * PAGE, 1).is_null());
        assert!(heap.take(usize::MAX - GRANULE, 1).is_null());
        assert!(heap.take(1, 2 * PAGE).is_null());
        assert!(!heap.take(1, PAGE).is_null(), "a page begins at its multiple");
    }
}
