//! The bytes of the journal's files (docs/design/store.md draws them). All numbers are little-endian; all checksums are
//! CRC-32C, and begin with something that is this store's, so that a copy of a part of a store, inside a frame for
//! instance, is never taken for a part of it.

use crc32c::crc32c_append;

/// The version of the layout that is written, and the only one that is read.
pub const LAYOUT: u32 = 1;
/// Bytes of the header of a segment.
pub const SEGMENT_HEADER: usize = 64;
/// Bytes of the header of a batch.
pub const BATCH_HEADER: usize = 24;
/// Bytes of the header of a record.
pub const RECORD_HEADER: usize = 40;
/// Batches and records begin at multiples of this.
pub const ALIGN: usize = 8;

const SEGMENT_MAGIC: &[u8; 8] = b"WHIMLOG\n";
const BATCH_MAGIC: [u8; 4] = [0xB5, b'W', b'B', 0x0A];

/// Returns the next multiple of [`ALIGN`].
pub fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGN)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The store's own number, made by chance.
    pub store: u64,
    /// The segment's number, from 1.
    pub segment: u32,
    /// The number of its first batch.
    pub first_batch: u64,
    /// Number of the store's partitions; 0 in segments of the first release, which did not record it.
    pub partitions: u16,
}

impl SegmentHeader {
    /// Encodes the header.
    pub fn write(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        let fields = [
            &SEGMENT_MAGIC[..],
            &LAYOUT.to_le_bytes(),
            &self.segment.to_le_bytes(),
            &self.store.to_le_bytes(),
            &self.first_batch.to_le_bytes(),
            &self.partitions.to_le_bytes(),
        ];
        let (body, crc) = bytes.split_at_mut(SEGMENT_HEADER - 4);
        for (to, from) in body.iter_mut().zip(fields.concat()) {
            *to = from;
        }
        crc.copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
        bytes
    }

    /// Reads it; why it cannot be read, if it cannot.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.iter().take(SEGMENT_HEADER).all(|byte| *byte == 0) {
            return Err("it is empty".to_owned());
        }
        let fields = || {
            let crc = u32::from_le_bytes(array(bytes, SEGMENT_HEADER - 4)?);
            let whole = crc == crc32c::crc32c(bytes.get(..SEGMENT_HEADER - 4)?);
            let layout = u32::from_le_bytes(array(bytes, 8)?);
            let segment = u32::from_le_bytes(array(bytes, 12)?);
            let store = u64::from_le_bytes(array(bytes, 16)?);
            let first_batch = u64::from_le_bytes(array(bytes, 24)?);
            let partitions = u16::from_le_bytes(array(bytes, 32)?);
            Some((whole, layout, Self { store, segment, first_batch, partitions }))
        };
        match fields() {
            _ if !bytes.starts_with(SEGMENT_MAGIC) => Err("it has no segment header".to_owned()),
            None => Err("it ends within its header".to_owned()),
            Some((false, ..)) => Err("its header's checksum is wrong".to_owned()),
            Some((_, LAYOUT, header)) => Ok(header),
            Some((_, other, _)) => Err(format!("its layout is {other}, this release reads {LAYOUT}")),
        }
    }
}

/// Position of a batch: a part of its checksum.
#[derive(Clone, Copy, Debug)]
pub struct BatchPlace {
    /// Number of the store.
    pub store: u64,
    /// Number of the segment.
    pub segment: u32,
    /// Offset in bytes.
    pub offset: u64,
}

/// Header of a batch: the records that became durable with one flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Number of the batch, counted within the store.
    pub batch: u64,
    /// Bytes of the records.
    pub bytes: u32,
    /// Number of records.
    pub records: u32,
}

impl BatchHeader {
    /// Encodes the header.
    pub fn write(&self, place: BatchPlace) -> [u8; BATCH_HEADER] {
        let mut bytes = [0; BATCH_HEADER];
        let (magic, rest) = bytes.split_at_mut(4);
        let (crc, body) = rest.split_at_mut(4);
        magic.copy_from_slice(&BATCH_MAGIC);
        let fields = [&self.batch.to_le_bytes()[..], &self.bytes.to_le_bytes(), &self.records.to_le_bytes()];
        for (to, from) in body.iter_mut().zip(fields.concat()) {
            *to = from;
        }
        crc.copy_from_slice(&Self::checksum(body, place).to_le_bytes());
        bytes
    }

    fn checksum(body: &[u8], place: BatchPlace) -> u32 {
        let seed = crc32c_append(place.segment, &place.store.to_le_bytes());
        crc32c_append(crc32c_append(seed, &place.offset.to_le_bytes()), body)
    }

    /// Reads it, if there is one here.
    pub fn read(bytes: &[u8], place: BatchPlace) -> Option<Self> {
        if array(bytes, 0)? != BATCH_MAGIC {
            return None;
        }
        let crc = u32::from_le_bytes(array(bytes, 4)?);
        let header = Self {
            batch: u64::from_le_bytes(array(bytes, 8)?),
            bytes: u32::from_le_bytes(array(bytes, 16)?),
            records: u32::from_le_bytes(array(bytes, 20)?),
        };
        (crc == Self::checksum(bytes.get(8..BATCH_HEADER)?, place)).then_some(header)
    }
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A frame was appended.
    Frame,
    /// A frame of an older segment, written again so that the segment can go.
    Moved,
    /// A partition was opened in this epoch.
    Opened,
    /// The frames up to this place are forgotten.
    Trimmed,
    /// A key was written; the place is its revision.
    Written,
    /// A key was removed.
    Removed,
    /// State at the beginning of a segment: this many records follow; the place is the last revision.
    Checkpoint,
    /// A partition's epoch, last number and last place; its bytes are the place up to which it is trimmed.
    Owned,
    /// In an export only: a blob.
    Blob,
    /// In an export only: its end; the place is how many records are before it.
    End,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Frame,
        Self::Moved,
        Self::Opened,
        Self::Trimmed,
        Self::Written,
        Self::Removed,
        Self::Checkpoint,
        Self::Owned,
        Self::Blob,
        Self::End,
    ];

    fn code(self) -> u8 {
        self as u8 + 1
    }
}

/// Fields of a record beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRecord {
    /// Kind.
    pub kind: RecordKind,
    /// Partition.
    pub partition: u16,
    /// Epoch.
    pub epoch: u64,
    /// Number of a frame.
    pub number: u64,
    /// Place of a frame, or revision of a key.
    pub lsn: u64,
}

/// Header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Fields.
    pub record: SegmentRecord,
    /// Number of bytes that follow.
    pub bytes: u32,
    crc: u32,
}

impl SegmentRecord {
    /// Appends the record to `out`.
    pub fn write(&self, payload: &[u8], store: u64, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        // Frames are far below 4 GiB: their sizes were checked.
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.partition.to_le_bytes());
        out.extend_from_slice(&[self.kind.code(), 0]);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.lsn.to_le_bytes());
        if let Some(header) = out.get_mut(begin..) {
            let (to, body) = header.split_at_mut(4);
            to.copy_from_slice(&header_checksum(body, store).to_le_bytes());
        }
        out.extend_from_slice(payload);
        out.resize(aligned(out.len()), 0);
    }
}

fn header_checksum(body: &[u8], store: u64) -> u32 {
    crc32c_append(crc32c::crc32c(&store.to_le_bytes()), body)
}

impl RecordHeader {
    /// Reads it, if there is one here.
    pub fn read(bytes: &[u8], store: u64) -> Option<Self> {
        let body = bytes.get(4..RECORD_HEADER)?;
        if u32::from_le_bytes(array(bytes, 0)?) != header_checksum(body, store) {
            return None;
        }
        let code = bytes.get(14)?;
        let record = SegmentRecord {
            kind: RecordKind::ALL.into_iter().find(|kind| kind.code() == *code)?,
            partition: u16::from_le_bytes(array(bytes, 12)?),
            epoch: u64::from_le_bytes(array(bytes, 16)?),
            number: u64::from_le_bytes(array(bytes, 24)?),
            lsn: u64::from_le_bytes(array(bytes, 32)?),
        };
        Some(Self { record, bytes: u32::from_le_bytes(array(bytes, 8)?), crc: u32::from_le_bytes(array(bytes, 4)?) })
    }

    /// Returns the size of the record, with its header and padding.
    pub fn whole_bytes(&self) -> usize {
        RECORD_HEADER + aligned(self.bytes as usize)
    }

    /// Checks `payload` against the length and checksum in the header.
    pub fn is_of(&self, payload: &[u8]) -> bool {
        payload.len() == self.bytes as usize && crc32c::crc32c(payload) == self.crc
    }
}

/// Returns a key and its value, as one record's bytes.
pub fn join_key(key: &str, value: &[u8]) -> Vec<u8> {
    // Keys are far below 64 KiB: their sizes were checked.
    [&(key.len() as u16).to_le_bytes(), key.as_bytes(), value].concat()
}

/// Returns a key and its value.
pub fn split_key(payload: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = payload.split_first_chunk::<2>()?;
    let (key, value) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((std::str::from_utf8(key).ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: u64 = 0x1234_5678_9ABC_DEF0;

    #[test]
    fn header_with_changed_bit_is_refused() {
        let header = SegmentHeader { store: STORE, segment: 7, first_batch: 99, partitions: 256 };
        let bytes = header.write();
        assert_eq!(SegmentHeader::read(&bytes), Ok(header));
        let place = BatchPlace { store: STORE, segment: 7, offset: 640 };
        let batch = BatchHeader { batch: 100, bytes: 4_096, records: 3 };
        let batch_bytes = batch.write(place);
        assert_eq!(BatchHeader::read(&batch_bytes, place), Some(batch));
        assert_eq!(BatchHeader::read(&batch_bytes, BatchPlace { offset: 648, ..place }), None);
        assert_eq!(BatchHeader::read(&batch_bytes, BatchPlace { segment: 8, ..place }), None);
        assert_eq!(BatchHeader::read(&batch_bytes, BatchPlace { store: 1, ..place }), None);
        let record = SegmentRecord { kind: RecordKind::Frame, partition: 300, epoch: 4, number: 5, lsn: 6 };
        let mut record_bytes = Vec::new();
        record.write(b"hello", STORE, &mut record_bytes);
        let read = RecordHeader::read(&record_bytes, STORE).expect("it was written");
        assert_eq!((read.record, read.bytes, read.whole_bytes()), (record, 5, record_bytes.len()));
        assert!(read.is_of(b"hello") && !read.is_of(b"hellp") && !read.is_of(b"hell"));
        for bit in 0..SEGMENT_HEADER * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::read(&changed).is_err(), "bit {bit} of a segment's header");
        }
        for bit in 0..BATCH_HEADER * 8 {
            let mut changed = batch_bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BatchHeader::read(&changed, place), None, "bit {bit} of a batch's header");
        }
        for bit in 0..RECORD_HEADER * 8 {
            let mut changed = record_bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RecordHeader::read(&changed, STORE), None, "bit {bit} of a record's header");
        }
    }

    #[test]
    fn keys_come_back() {
        assert_eq!(split_key(&join_key("node/1", b"here")), Some(("node/1", &b"here"[..])));
        assert_eq!(split_key(&join_key("", b"")), Some(("", &b""[..])));
        assert_eq!(split_key(&[9, 0, b'x']), None);
        assert_eq!(split_key(&[1, 0, 0xFF]), None);
    }
}
