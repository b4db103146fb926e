//! Pages of a guest's memory that were ever touched, as the kernel tells. Other pages have their initial content, and
//! to read them would bring them into memory.

#[cfg(target_os = "linux")]
use self::linux::PageMap;
#[cfg(not(target_os = "linux"))]
use self::unknown::NoPageMap as PageMap;

/// Bytes of the kernel's pages on supported machines; with another size, all pages count as touched.
const PAGE: usize = 4096;
/// Bits of an entry of `/proc/self/pagemap`: present, or swapped out.
const TOUCHED: u64 = 0b11 << 62;
/// Pages of one request to the kernel.
const PAGES_AT_ONCE: usize = 512;

/// Access to the kernel's page map; see the module.
pub(crate) struct TouchedPages {
    pagemap: Option<PageMap>,
}

impl TouchedPages {
    pub fn new() -> Self {
        Self { pagemap: PageMap::open() }
    }

    /// Calls `work` with each touched range of this memory; with the whole memory, if the kernel does not tell.
    pub fn touched(&self, memory: &[u8], from: usize, mut work: impl FnMut(std::ops::Range<usize>)) {
        let pagemap = self.pagemap.as_ref().filter(|_| (memory.as_ptr() as usize).is_multiple_of(PAGE));
        let mut open: Option<std::ops::Range<usize>> = None;
        for start in (from / PAGE * PAGE..memory.len()).step_by(PAGES_AT_ONCE * PAGE) {
            let mut entries = [0u8; PAGES_AT_ONCE * 8];
            let pages = (memory.len() - start).div_ceil(PAGE).min(PAGES_AT_ONCE);
            let at = ((memory.as_ptr() as usize + start) / PAGE * 8) as u64;
            let wanted = entries.get_mut(..pages * 8).unwrap_or_default();
            let is_known = pagemap.is_some_and(|pagemap| pagemap.read(wanted, at));
            for page in 0..pages {
                let entry = entries.get(page * 8..page * 8 + 8).and_then(|entry| entry.try_into().ok());
                let is_touched = !is_known || entry.is_none_or(|entry| u64::from_le_bytes(entry) & TOUCHED != 0);
                let begin = start + page * PAGE;
                match &mut open {
                    Some(run) if is_touched => run.end = begin + PAGE,
                    Some(_) => open.take().into_iter().for_each(&mut work),
                    None if is_touched => open = Some(begin..begin + PAGE),
                    None => {}
                }
            }
        }
        if let Some(run) = open {
            work(run.start..run.end.min(memory.len()));
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// The kernel's page map of this process.
    pub struct PageMap(File);

    impl PageMap {
        /// Opens the page map, if the kernel has one for pages of the usual size.
        pub fn open() -> Option<Self> {
            let is_usual = rustix::param::page_size() == super::PAGE;
            is_usual.then(|| File::open("/proc/self/pagemap").ok()).flatten().map(Self)
        }

        /// Reads entries at a byte of the page map; returns false if that fails.
        pub fn read(&self, entries: &mut [u8], at: u64) -> bool {
            self.0.read_exact_at(entries, at).is_ok()
        }
    }
}

/// Other systems have no page map.
#[cfg(not(target_os = "linux"))]
mod unknown {
    use std::convert::Infallible;

    pub struct NoPageMap(Infallible);

    impl NoPageMap {
        pub fn open() -> Option<Self> {
            None
        }

        pub fn read(&self, _entries: &mut [u8], _at: u64) -> bool {
            match self.0 {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_was_touched() {
        let touched_pages = TouchedPages::new();
        let mut memory = vec![0u8; 64 * PAGE];
        let first = memory.as_ptr().align_offset(PAGE);
        let memory = &mut memory[first..first + 62 * PAGE];
        memory[5 * PAGE + 7] = 1;
        memory[9 * PAGE] = 1;
        memory[10 * PAGE] = 1;
        let mut runs = Vec::new();
        touched_pages.touched(memory, 0, |run| runs.push(run));
        let has =
            |page: usize| runs.iter().any(|run| run.contains(&(page * PAGE)) && run.contains(&((page + 1) * PAGE - 1)));
        assert!(has(5) && has(9) && has(10), "{runs:?}");
        assert!(runs.iter().all(|run| run.end <= memory.len()));
    }
}
