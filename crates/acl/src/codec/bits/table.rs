//! The dynamic code table: words and strings by code, and codes by word or string.
//= fipa00069 2.3

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::TableSize;

/// Content of a table entry, as on the wire. A byte-length-encoded string differs from a word of the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CodeEntry {
    pub is_bytes: bool,
    pub text: Arc<[u8]>,
}

/// Code table of one direction of a link. Both ends do the same in the same order, so they have the same table.
#[derive(Debug)]
pub(super) struct CodeTable {
    size: TableSize,
    /// Entries by code, each with the time of its last use.
    entries: Vec<Option<(CodeEntry, u64)>>,
    codes: FxHashMap<CodeEntry, u16>,
    /// Codes that were in use and are free again.
    free: BinaryHeap<Reverse<u16>>,
    uses: u64,
    bytes: usize,
}

impl CodeTable {
    pub fn new(size: TableSize) -> Self {
        let (entries, codes) = (Vec::new(), FxHashMap::default());
        Self { size, entries, codes, free: BinaryHeap::new(), uses: 0, bytes: 0 }
    }

    /// Bytes of all texts together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if codes take one byte, and false if they take two.
    //= fipa00069 2.4.6
    pub fn has_short_codes(&self) -> bool {
        self.size.entries() == 256
    }

    /// Returns the code of an entry, which counts as its use.
    pub fn code(&mut self, entry: &CodeEntry) -> Option<u16> {
        let code = *self.codes.get(entry)?;
        self.touch(code);
        Some(code)
    }

    /// Returns the entry with this code, which counts as its use.
    pub fn entry(&mut self, code: u16) -> Option<CodeEntry> {
        self.touch(code);
        self.entries.get(usize::from(code))?.as_ref().map(|(entry, _)| entry.clone())
    }

    fn touch(&mut self, code: u16) {
        if let Some(Some((_, used))) = self.entries.get_mut(usize::from(code)) {
            self.uses += 1;
            *used = self.uses;
        }
    }

    /// Gives an entry the smallest free code. A full table first evicts an eighth of its entries: the least recently
    /// used.
    pub fn insert(&mut self, entry: CodeEntry) {
        if self.codes.contains_key(&entry) {
            return;
        }
        if self.free.is_empty() && self.entries.len() >= self.size.entries() {
            self.evict(self.size.entries() >> 3);
        }
        self.uses += 1;
        self.bytes += entry.text.len();
        let filled = Some((entry.clone(), self.uses));
        let code = match self.free.pop() {
            Some(Reverse(code)) => code,
            None => {
                self.entries.push(None);
                // A table has 65536 entries at most.
                (self.entries.len() - 1) as u16
            }
        };
        if let Some(place) = self.entries.get_mut(usize::from(code)) {
            *place = filled;
        }
        self.codes.insert(entry, code);
    }

    fn evict(&mut self, count: usize) {
        let used = |(code, place): (usize, &Option<(CodeEntry, u64)>)| Some((place.as_ref()?.1, code));
        let mut oldest: Vec<(u64, usize)> = self.entries.iter().enumerate().filter_map(used).collect();
        oldest.sort_unstable();
        for (_, code) in oldest.into_iter().take(count) {
            let Some(place) = self.entries.get_mut(code) else { continue };
            if let Some((entry, _)) = place.take() {
                self.bytes -= entry.text.len();
                self.codes.remove(&entry);
                self.free.push(Reverse(code as u16));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> CodeEntry {
        CodeEntry { is_bytes: false, text: text.as_bytes().into() }
    }

    #[test]
    fn evicted_codes_are_given_again() {
        let mut table = CodeTable::new(TableSize::from_bits(8).expect("a size"));
        for n in 0..256 {
            table.insert(entry(&n.to_string()));
        }
        assert_eq!((table.code(&entry("0")), table.code(&entry("255"))), (Some(0), Some(255)));
        table.insert(entry("0"));
        table.insert(entry("new"));
        assert_eq!(table.code(&entry("0")), Some(0), "it was used just now");
        assert_eq!(table.code(&entry("1")), None, "it was not used for longest");
        assert_eq!(table.code(&entry("32")), None, "nor the 31 after it");
        assert_eq!(table.code(&entry("33")), Some(33));
        assert_eq!(table.code(&entry("new")), Some(1), "the smallest free code");
        assert_eq!(table.entry(2), None);
        assert_eq!(table.entry(999), None);
        let texts = (0..256).filter(|n| !(1..=32).contains(n)).map(|n: i32| n.to_string().len()).sum::<usize>();
        assert_eq!(table.bytes(), texts + "new".len());
    }

    #[test]
    fn bytes_and_words_differ() {
        let mut table = CodeTable::new(TableSize::from_bits(9).expect("a size"));
        table.insert(entry("x"));
        assert_eq!(table.code(&CodeEntry { is_bytes: true, text: b"x"[..].into() }), None);
        assert!(!table.has_short_codes());
    }
}
