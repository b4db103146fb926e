//! Flush mark: a file with the last acknowledged batch of the journal, so that a journal that ends before it is known
//! to be damaged (docs/design/store.md draws it).
//!
//! The mark is written after each flush, and flushed with every [`SYNC_BATCHES`]th. A killed process loses nothing of
//! it. After a power cut it may say less than was flushed, never more.

use std::fs::File;
use std::io;
use std::path::Path;

use crc32c::crc32c_append;

use super::system_files::write_all_at;

/// The file's name in a store's folder.
pub const FLUSHED: &str = "flushed";
/// Bytes of a slot: its checksum, the segment, the batch, the byte and the frames.
const SLOT: usize = 32;
/// Offsets of the slots: they are written in turns, and are further apart than the sectors of disks, which write a
/// sector whole. So a power cut garbles one at most.
const SLOT_OFFSETS: [u64; 2] = [0, 4_096];
/// Offset of the second slot in files that were written before this.
const FORMER_OFFSET: u64 = 512;
/// Number of batches after which the file is flushed.
const SYNC_BATCHES: u64 = 256;

/// Last batch that was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushMark {
    /// Segment of the batch.
    pub segment: u32,
    /// Number of the batch.
    pub batch: u64,
    /// Byte of the segment after the batch.
    pub end: u64,
    /// Frames ever appended up to the batch, in all partitions together.
    pub frames: u64,
}

impl FlushMark {
    fn write(&self, store: u64) -> [u8; SLOT] {
        let mut bytes = [0; SLOT];
        let (crc, body) = bytes.split_at_mut(4);
        let fields = [
            &self.segment.to_le_bytes()[..],
            &self.batch.to_le_bytes(),
            &self.end.to_le_bytes(),
            &self.frames.to_le_bytes(),
        ];
        for (to, from) in body.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        crc.copy_from_slice(&checksum(body, store).to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8], store: u64) -> Option<Self> {
        let (crc, body) = bytes.split_first_chunk::<4>()?;
        let (segment, rest) = body.split_first_chunk::<4>()?;
        let (batch, rest) = rest.split_first_chunk::<8>()?;
        let (end, rest) = rest.split_first_chunk::<8>()?;
        let (frames, _) = rest.split_first_chunk::<8>()?;
        let mark = Self {
            segment: u32::from_le_bytes(*segment),
            batch: u64::from_le_bytes(*batch),
            end: u64::from_le_bytes(*end),
            frames: u64::from_le_bytes(*frames),
        };
        (u32::from_le_bytes(*crc) == checksum(body.get(..SLOT - 4)?, store)).then_some(mark)
    }
}

fn checksum(body: &[u8], store: u64) -> u32 {
    crc32c_append(crc32c::crc32c(&store.to_le_bytes()), body)
}

/// Content of the flush mark in a store's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// The journal is flushed up to this batch.
    Upto(FlushMark),
    /// The file is missing.
    Missing,
    /// The file cannot be read as one of this store.
    Unreadable,
}

/// Reads the mark in a store's folder.
///
/// # Errors
/// The disk fails.
pub fn read(folder: &Path, store: u64) -> io::Result<Flushed> {
    let bytes = match std::fs::read(folder.join(FLUSHED)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Flushed::Missing),
        bytes => bytes?,
    };
    let offsets = SLOT_OFFSETS.into_iter().chain([FORMER_OFFSET]);
    let slots = offsets.filter_map(|at| FlushMark::read(bytes.get(at as usize..)?, store));
    Ok(slots.max_by_key(|mark| mark.batch).map_or(Flushed::Unreadable, Flushed::Upto))
}

/// The open file of a mark.
#[derive(Debug)]
pub struct MarkFile {
    file: File,
    store: u64,
    /// The batch that was flushed last.
    synced: u64,
}

impl MarkFile {
    /// Opens or creates the file, and writes this mark, flushed.
    pub fn begin(folder: &Path, store: u64, mark: FlushMark) -> io::Result<Self> {
        let path = folder.join(FLUSHED);
        let made = !path.exists();
        let mut this = Self { file: whimbrel_files::open_or_create(&path)?, store, synced: 0 };
        let [first, second] = SLOT_OFFSETS;
        write_all_at(&this.file, &mark.write(store), second)?;
        this.sync(mark.batch)?;
        write_all_at(&this.file, &mark.write(store), first)?;
        // A remaining second slot would be taken for the newer one once the journal is repaired.
        write_all_at(&this.file, &[0; SLOT], FORMER_OFFSET)?;
        this.sync(mark.batch)?;
        if made {
            whimbrel_files::sync_folder(folder)?;
        }
        Ok(this)
    }

    /// Notes that a batch was flushed. A mark that cannot be written says less than was flushed, which harms only if
    /// more is lost.
    pub fn set(&mut self, mark: FlushMark) {
        let slot = SLOT_OFFSETS.get((mark.batch % 2) as usize).copied().unwrap_or_default();
        let written = write_all_at(&self.file, &mark.write(self.store), slot);
        if written.is_ok() && mark.batch.saturating_sub(self.synced) >= SYNC_BATCHES {
            let _ = self.sync(mark.batch);
        }
    }

    /// Flushes the mark that was written last.
    pub fn sync(&mut self, batch: u64) -> io::Result<()> {
        self.synced = batch;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sector of most disks.
    const SECTOR: usize = 4_096;

    struct MarkScratch(std::path::PathBuf);

    impl MarkScratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("whimbrel-mark-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for MarkScratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn mark(batch: u64) -> FlushMark {
        FlushMark { segment: 3, batch, end: 100 * batch, frames: batch }
    }

    #[test]
    fn garbled_sector_leaves_earlier_mark() {
        let folder = MarkScratch::new("sector");
        let mut file = MarkFile::begin(&folder.0, 9, mark(1)).unwrap();
        for batch in 2..6 {
            let path = folder.0.join(FLUSHED);
            let before = std::fs::read(&path).unwrap();
            file.set(mark(batch));
            let whole = std::fs::read(&path).unwrap();
            assert_eq!(read(&folder.0, 9).unwrap(), Flushed::Upto(mark(batch)));
            let changed = whole.iter().zip(&before).position(|(a, b)| a != b).unwrap() / SECTOR;
            // The power is cut while the disk writes the sector.
            let mut cut = whole.clone();
            cut.iter_mut().skip(changed * SECTOR).take(SECTOR).for_each(|byte| *byte = 0xA5);
            std::fs::write(&path, &cut).unwrap();
            assert_eq!(read(&folder.0, 9).unwrap(), Flushed::Upto(mark(batch - 1)));
            std::fs::write(&path, &whole).unwrap();
        }
    }

    #[test]
    fn earlier_releases_mark_is_read_once() {
        let folder = MarkScratch::new("former");
        let path = folder.0.join(FLUSHED);
        let mut former = vec![0; FORMER_OFFSET as usize + SLOT];
        former[..SLOT].copy_from_slice(&mark(6).write(9));
        former[FORMER_OFFSET as usize..].copy_from_slice(&mark(7).write(9));
        std::fs::write(&path, &former).unwrap();
        assert_eq!(read(&folder.0, 9).unwrap(), Flushed::Upto(mark(7)));
        // The journal was repaired and is shorter.
        let file = MarkFile::begin(&folder.0, 9, mark(5)).unwrap();
        assert_eq!(read(&folder.0, 9).unwrap(), Flushed::Upto(mark(5)));
        drop(file);
    }

    #[test]
    fn garbled_mark_is_refused() {
        let mark = FlushMark { segment: 3, batch: 41, end: 4_096, frames: 77 };
        let bytes = mark.write(9);
        assert_eq!(FlushMark::read(&bytes, 9), Some(mark));
        assert_eq!(FlushMark::read(&bytes, 8), None);
        assert_eq!(FlushMark::read(&bytes[..SLOT - 1], 9), None);
        assert_eq!(FlushMark::read(&[0; SLOT], 9), None);
        for bit in 0..SLOT * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FlushMark::read(&changed, 9), None, "bit {bit}");
        }
    }
}
