//! What a module's memory is to begin with, and what of an agent's memory differs from that: only this is kept, and travels.

use std::ops::Range;

use crate::bytes::{BadBytes, Input, put_varint};
use crate::resident::Resident;

/// Bytes that are compared, and kept, together.
const CHUNK: usize = 64;
/// Chunks that are looked at together first.
const BLOCK: usize = 64 * CHUNK;

/// A memory as it is when an instance is new; zeros after the end.
#[derive(Debug)]
pub(crate) struct Image {
    bytes: Vec<u8>,
    /// Its length with the zeros.
    pub len: usize,
}

impl Image {
    pub fn of(memory: &[u8]) -> Self {
        let end = memory.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        // Whole blocks, so that they compare as such.
        let end = end.next_multiple_of(BLOCK).min(memory.len());
        Self { bytes: memory.get(..end).unwrap_or_default().to_vec(), len: memory.len() }
    }

    /// Appends what of `memory` from address `from` on differs from this.
    pub fn write_changes(&self, memory: &[u8], from: usize, resident: &Resident, out: &mut Vec<u8>) {
        let mut runs = Runs { out, end: 0, open: None };
        resident.touched(memory, from, |touched| self.compare(memory, touched, from, &mut runs));
        runs.close(memory);
    }

    /// Adds what of this part differs.
    fn compare(&self, memory: &[u8], part: Range<usize>, from: usize, runs: &mut Runs<'_>) {
        for start in part.step_by(BLOCK) {
            let block = memory.get(start..(start + BLOCK).min(memory.len())).unwrap_or_default();
            if self.is_same(start, block) {
                continue;
            }
            for (index, chunk) in block.chunks(CHUNK).enumerate() {
                let at = start + index * CHUNK;
                if at + chunk.len() > from && !self.is_same(at, chunk) {
                    runs.add(at, memory);
                }
            }
        }
    }

    /// Whether nothing is there at all.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether nothing is there below this address.
    pub fn is_empty_below(&self, address: usize) -> bool {
        self.bytes.iter().take(address).all(|byte| *byte == 0)
    }

    /// Whether these bytes are there, too.
    fn is_same(&self, at: usize, bytes: &[u8]) -> bool {
        match self.bytes.get(at..at + bytes.len()) {
            Some(own) => own == bytes,
            None => is_zero(bytes),
        }
    }

    /// Brings a new memory to what was written by [`Image::write_changes`], to the end of the input.
    pub fn apply_changes(memory: &mut [u8], input: &mut Input<'_>) -> Result<(), BadBytes> {
        let mut at = 0usize;
        while !input.is_done() {
            let (gap, count) = (input.length()?, input.length()?);
            at = at.checked_add(gap).ok_or(BadBytes)?;
            let end = at.checked_add(count).ok_or(BadBytes)?;
            memory.get_mut(at..end).ok_or(BadBytes)?.copy_from_slice(input.take(count)?);
            at = end;
        }
        Ok(())
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; BLOCK] = [0; BLOCK];
    ZEROS.get(..bytes.len()) == Some(bytes)
}

/// Changed chunks, neighbours together.
struct Runs<'a> {
    out: &'a mut Vec<u8>,
    /// Where the last run that is written ended.
    end: usize,
    /// The run that may go on.
    open: Option<(usize, usize)>,
}

impl Runs<'_> {
    fn add(&mut self, at: usize, memory: &[u8]) {
        match &mut self.open {
            Some((_, end)) if *end == at => *end = at + CHUNK,
            _ => {
                self.close(memory);
                self.open = Some((at, at + CHUNK));
            }
        }
    }

    fn close(&mut self, memory: &[u8]) {
        let Some((start, end)) = self.open.take() else { return };
        let run = memory.get(start..end.min(memory.len())).unwrap_or_default();
        put_varint((start - self.end) as u64, self.out);
        put_varint(run.len() as u64, self.out);
        self.out.extend_from_slice(run);
        self.end = start + run.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(initial: &[u8], memory: &[u8]) -> usize {
        let image = Image::of(initial);
        let mut changes = Vec::new();
        image.write_changes(memory, 0, &Resident::new(), &mut changes);
        let mut copy = initial.to_vec();
        copy.resize(memory.len(), 0);
        Image::apply_changes(&mut copy, &mut Input::new(&changes)).unwrap();
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
        fn hostile_changes_are_refused_or_stay_inside(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut memory = vec![0; 1000];
            let _ = Image::apply_changes(&mut memory, &mut Input::new(&bytes));
        }
    }

    #[test]
    fn what_did_not_change_takes_nothing() {
        let initial: Vec<u8> = (0..3 * BLOCK).map(|n| n as u8).collect();
        assert_eq!(round_trip(&initial, &initial), 0);
        let mut memory = initial.clone();
        memory[BLOCK + 5] ^= 1;
        assert_eq!(round_trip(&initial, &memory), CHUNK + 3);
    }

    #[test]
    fn what_is_below_the_stack_pointer_is_left_out() {
        let (image, mut memory) = (Image::of(&[0; BLOCK]), vec![0; BLOCK]);
        memory[..200].fill(7);
        let mut changes = Vec::new();
        image.write_changes(&memory, 192, &Resident::new(), &mut changes);
        assert_eq!(changes.len(), CHUNK + 3);
    }
}
