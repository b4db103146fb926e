//! The files of the journal.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use whimbrel_files::sync_folder;

use super::layout::{RECORD_HEADER, RecordHeader, SegmentHeader};
use super::recover::FrameSlot;
use super::system_files::{read_exact_at, reserve, write_all_at};

/// Bytes of a segment that are allocated at a time, at least and at most; between these, the allocation doubles.
const STEP_BYTES_MIN: u64 = 256 << 10;
const STEP_BYTES_MAX: u64 = 16 << 20;

/// A file of the journal.
#[derive(Debug)]
pub struct Segment {
    /// Number of the segment.
    pub number: u32,
    /// Path of the file.
    pub path: PathBuf,
    file: File,
    #[cfg(test)]
    pub failing: std::sync::atomic::AtomicU32,
}

/// Returns the name of a segment's file.
pub fn file_name(number: u32) -> String {
    format!("{number:010}.log")
}

/// Returns the numbers of the segments in a folder, in their order.
pub fn list(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".log")).and_then(|number| number.parse().ok());
        numbers.extend(number.filter(|number| name.to_str() == Some(&file_name(*number))));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

impl Segment {
    /// Opens one that is there.
    pub fn open(folder: &Path, number: u32) -> io::Result<Self> {
        let path = folder.join(file_name(number));
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Self::of(file, number, path))
    }

    fn of(file: File, number: u32, path: PathBuf) -> Self {
        Self {
            number,
            path,
            file,
            #[cfg(test)]
            failing: std::sync::atomic::AtomicU32::new(0),
        }
    }

    /// Makes one that begins with these bytes. It is there, whole, or it is not.
    pub fn create(folder: &Path, header: SegmentHeader, first: &[u8]) -> io::Result<Self> {
        let (draft, path) = (folder.join("draft"), folder.join(file_name(header.segment)));
        let file = whimbrel_files::create(&draft)?;
        let made = write_all_at(&file, &header.write(), 0)
            .and_then(|()| write_all_at(&file, first, super::layout::SEGMENT_HEADER as u64))
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&draft, &path))
            .and_then(|()| sync_folder(folder));
        if let Err(error) = made {
            // Full disks are to have room again.
            let _ = file.set_len(0);
            let _ = std::fs::remove_file(&draft);
            return Err(error);
        }
        Ok(Self::of(file, header.segment, path))
    }

    /// Returns the size of the file.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Makes room up to `needed` bytes, and if there is some, for more. How much there is now.
    pub fn allocate(&self, needed: u64) -> io::Result<u64> {
        let more = needed + needed.clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
        let reserve = |bytes| reserve(&self.file, bytes).map(|()| bytes);
        match reserve(more).or_else(|_| reserve(needed)) {
            // Not all file systems can: then a write says that the disk is full.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.file.set_len(more).map(|()| more),
            reserved => reserved,
        }
    }

    /// Writes bytes, and returns when they are safe.
    pub fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.fail(1)?;
        write_all_at(&self.file, bytes, offset)?;
        self.fail(2)?;
        self.file.sync_data()
    }

    /// Ends it here, for good.
    pub fn cut(&self, bytes: u64) -> io::Result<()> {
        self.fail(4)?;
        self.file.set_len(bytes)?;
        self.file.sync_all()
    }

    #[cfg(test)]
    fn fail(&self, which: u32) -> io::Result<()> {
        match self.failing.load(std::sync::atomic::Ordering::Relaxed) & which {
            0 => Ok(()),
            _ => Err(io::Error::other(format!("fault {which}"))),
        }
    }

    #[cfg(not(test))]
    fn fail(&self, _which: u32) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if a frame can be read and is damaged.
    pub fn is_damaged(&self, slot: FrameSlot, store: u64, buffer: &mut Vec<u8>) -> bool {
        buffer.resize(RECORD_HEADER + slot.bytes as usize, 0);
        let is_read = read_exact_at(&self.file, buffer, u64::from(slot.offset)).is_ok();
        let payload = buffer.get(RECORD_HEADER..).unwrap_or_default();
        is_read && RecordHeader::read(buffer, store).is_none_or(|header| !header.is_of(payload))
    }

    /// Reads a frame into `buffer`, after its header.
    ///
    /// # Errors
    /// The frame is damaged; the text says how.
    pub fn read<'a>(
        &self,
        slot: FrameSlot,
        store: u64,
        buffer: &'a mut Vec<u8>,
    ) -> Result<(RecordHeader, &'a [u8]), String> {
        buffer.resize(RECORD_HEADER + slot.bytes as usize, 0);
        let place = || format!("{} at byte {}", self.path.display(), slot.offset);
        read_exact_at(&self.file, buffer, u64::from(slot.offset))
            .map_err(|error| format!("{} cannot be read: {error}", place()))?;
        let header = RecordHeader::read(buffer, store);
        let payload = buffer.get(RECORD_HEADER..).unwrap_or_default();
        match header.filter(|header| header.is_of(payload)) {
            Some(header) => Ok((header, payload)),
            None => Err(format!("{}: it is damaged", place())),
        }
    }
}
