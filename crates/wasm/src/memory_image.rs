//! Initial memory of a module, and the difference of an agent's memory from it: only the difference is kept, and
//! travels.

use std::ops::Range;

use crate::bytes::{BadBytes, StateReader, put_varint};
use crate::touched_pages::TouchedPages;

/// Bytes that are compared last, at a time.
const WORD: usize = 8;
/// Bytes that are compared second, at a time.
const CHUNK: usize = 8 * WORD;
/// Bytes that are compared first, at a time.
const BLOCK: usize = 64 * CHUNK;
/// Unchanged bytes between two changes that are written with them. The position of the second change would take as
/// many.
const GAP: usize = 1;
/// Gap before a change, or length of one, from which on half a byte does not suffice.
const LONG: usize = 15;

/// Memory of a new instance; zeros after its end.
#[derive(Debug)]
pub(crate) struct First {
    bytes: Vec<u8>,
    /// Length with the zeros.
    pub len: usize,
}

impl First {
    pub fn of(memory: &[u8]) -> Self {
        let end = memory.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        // The end is rounded up, so that whole blocks compare as such.
        let end = end.next_multiple_of(BLOCK).min(memory.len());
        Self { bytes: memory.get(..end).unwrap_or_default().to_vec(), len: memory.len() }
    }

    /// Appends the difference of `memory` from this one, from address `from` on.
    pub fn write_changes(&self, memory: &[u8], from: usize, touched_pages: &TouchedPages, out: &mut Vec<u8>) {
        let mut runs = Runs { out, end: 0, open: from..from };
        touched_pages.touched(memory, from, |touched| self.compare(memory, touched, from, &mut runs));
        runs.close(memory);
    }

    /// Adds the difference of this part, from address `from` on.
    fn compare(&self, memory: &[u8], part: Range<usize>, from: usize, runs: &mut Runs<'_>) {
        for start in part.step_by(BLOCK) {
            let block = memory.get(start..(start + BLOCK).min(memory.len())).unwrap_or_default();
            if self.is_same(start, block) {
                continue;
            }
            for (at, chunk) in (start..).step_by(CHUNK).zip(block.chunks(CHUNK)) {
                if at + chunk.len() > from && !self.is_same(at, chunk) {
                    self.compare_words(at, chunk, from, memory, runs);
                }
            }
        }
    }

    fn compare_words(&self, start: usize, chunk: &[u8], from: usize, memory: &[u8], runs: &mut Runs<'_>) {
        for (at, word) in (start..).step_by(WORD).zip(chunk.chunks(WORD)) {
            let mut differs = number(word) ^ self.bytes.get(at..at + WORD).map_or(0, number);
            while differs != 0 {
                let first = differs.trailing_zeros() as usize / 8;
                // Number of consecutive bytes that differ.
                let same = (differs >> (8 * first)).to_le_bytes().iter().position(|byte| *byte == 0);
                let end = same.map_or(WORD, |same| first + same);
                runs.add((at + first).max(from)..(at + end).max(from), memory);
                differs =
                    differs.checked_shr(8 * end as u32).and_then(|rest| rest.checked_shl(8 * end as u32)).unwrap_or(0);
            }
        }
    }

    /// Returns true if the memory is all zeros.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Checks whether all bytes below this address are zero.
    pub fn is_empty_below(&self, address: usize) -> bool {
        self.bytes.iter().take(address).all(|byte| *byte == 0)
    }

    /// Checks whether this memory has these bytes at `at`.
    fn is_same(&self, at: usize, bytes: &[u8]) -> bool {
        match self.bytes.get(at..at + bytes.len()) {
            Some(own) => own == bytes,
            None => is_zero(bytes),
        }
    }
}

/// Applies the changes that [`First::write_changes`] wrote to a new memory, to the end of the input.
pub(crate) fn apply_changes(memory: &mut [u8], input: &mut StateReader<'_>) -> Result<(), BadBytes> {
    let mut end = 0;
    while let Some(MemoryChange { place, bytes }) = next_change(end, input)? {
        end = place.end;
        memory.get_mut(place).ok_or(BadBytes)?.copy_from_slice(bytes);
    }
    Ok(())
}

/// Checks whether changes fit a memory of `len` bytes.
pub(crate) fn check_changes(len: usize, input: &mut StateReader<'_>) -> Result<(), BadBytes> {
    let mut end = 0;
    while let Some(change) = next_change(end, input)? {
        end = change.place.end;
    }
    if end <= len { Ok(()) } else { Err(BadBytes) }
}

/// Changed bytes, and their position.
struct MemoryChange<'a> {
    place: Range<usize>,
    bytes: &'a [u8],
}

/// Reads the next change after one that ends at `after`; `None` at the end.
fn next_change<'a>(after: usize, input: &mut StateReader<'a>) -> Result<Option<MemoryChange<'a>>, BadBytes> {
    if input.is_done() {
        return Ok(None);
    }
    let both = usize::from(input.byte()?);
    let (gap, count) = (long(both >> 4, input)?, long(both & LONG, input)?);
    let at = after.checked_add(gap).ok_or(BadBytes)?;
    let end = at.checked_add(count).ok_or(BadBytes)?;
    Ok(Some(MemoryChange { place: at..end, bytes: input.take(count)? }))
}

/// Decodes a number of half a byte, or of the varint that follows.
fn long(half: usize, input: &mut StateReader<'_>) -> Result<usize, BadBytes> {
    if half < LONG { Ok(half) } else { input.length()?.checked_add(LONG).ok_or(BadBytes) }
}

fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; BLOCK] = [0; BLOCK];
    ZEROS.get(..bytes.len()) == Some(bytes)
}

/// Converts a word to a number, the first byte lowest.
fn number(word: &[u8]) -> u64 {
    word.try_into()
        .map_or_else(|_| word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)), u64::from_le_bytes)
}

/// Writer of changed bytes that joins neighbours.
struct Runs<'a> {
    out: &'a mut Vec<u8>,
    /// End of the last run that was written.
    end: usize,
    /// Run that may be extended; empty if there is none.
    open: Range<usize>,
}

impl Runs<'_> {
    fn add(&mut self, changed: Range<usize>, memory: &[u8]) {
        if self.open.is_empty() || changed.start > self.open.end + GAP {
            self.close(memory);
            self.open = changed;
        } else {
            self.open.end = changed.end;
        }
    }

    fn close(&mut self, memory: &[u8]) {
        let open = std::mem::replace(&mut self.open, 0..0);
        let run = memory.get(open.clone()).unwrap_or_default();
        if run.is_empty() {
            return;
        }
        let (gap, count) = (open.start - self.end, run.len());
        self.out.push((gap.min(LONG) << 4 | count.min(LONG)) as u8);
        for number in [gap, count] {
            if number >= LONG {
                put_varint((number - LONG) as u64, self.out);
            }
        }
        self.out.extend_from_slice(run);
        self.end = open.end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(initial: &[u8], memory: &[u8]) -> usize {
        let image = First::of(initial);
        let mut changes = Vec::new();
        image.write_changes(memory, 0, &TouchedPages::new(), &mut changes);
        let mut copy = initial.to_vec();
        copy.resize(memory.len(), 0);
        apply_changes(&mut copy, &mut StateReader::new(&changes)).unwrap();
        assert_eq!(copy, memory);
        changes.len()
    }

    proptest! {
        #[test]
        fn a_memory_comes_back(
            initial in proptest::collection::vec(0u8..3, 4 * BLOCK),
            changes in proptest::collection::vec((0..6 * BLOCK, any::<u8>()), 0..40),
            more in 0..3usize,
        ) {
            let mut memory = initial.clone();
            memory.resize(4 * BLOCK + more * BLOCK, 0);
            for (at, byte) in changes {
                if let Some(place) = memory.get_mut(at) {
                    *place = byte;
                }
            }
            round_trip(&initial, &memory);
        }

        #[test]
        fn hostile_changes_stay_inside_memory(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut memory = vec![0; 1000];
            let checked = check_changes(1000, &mut StateReader::new(&bytes));
            prop_assert_eq!(apply_changes(&mut memory, &mut StateReader::new(&bytes)), checked);
        }
    }

    #[test]
    fn unchanged_memory_takes_nothing() {
        let initial: Vec<u8> = (0..3 * BLOCK).map(|n| n as u8).collect();
        assert_eq!(round_trip(&initial, &initial), 0);
        let mut memory = initial.clone();
        memory[BLOCK + 5] ^= 1;
        assert_eq!(round_trip(&initial, &memory), 4, "a byte for both, two for where, the byte");
        memory[BLOCK + 7] ^= 1;
        assert_eq!(round_trip(&initial, &memory), 6, "what is between them is kept with them");
        memory[BLOCK + 11] ^= 1;
        assert_eq!(round_trip(&initial, &memory), 8);
    }

    #[test]
    fn dead_stack_is_left_out() {
        let (image, mut memory) = (First::of(&[0; BLOCK]), vec![0; BLOCK]);
        memory[..200].fill(7);
        let mut changes = Vec::new();
        image.write_changes(&memory, 195, &TouchedPages::new(), &mut changes);
        assert_eq!(changes, [0xF5, 180 & 0x7F | 0x80, 1, 7, 7, 7, 7, 7]);
    }
}
