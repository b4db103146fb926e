//! Decoders of the store's files on their own, for the fuzz targets (`fuzz/src/store.rs`) and the tests that replay
//! their findings. No part of the interface.

use std::collections::BTreeMap;

use crate::embedded::{
    BatchPlace, ExportReader, RecordKind, RecoveredState, Scan, ScannedItem, SegmentHeader, SegmentRecord, batch_of,
    export_of,
};

pub use crate::embedded::ALIGN as RECORD_ALIGN;

const STORE: u64 = 7;

/// A record, as a target says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPiece {
    /// Kind of the record; any number.
    pub kind: u8,
    /// Partition.
    pub partition: u16,
    /// Epoch, number and place of the record: all have this value.
    pub place: u64,
    /// Bytes of the record.
    pub bytes: Vec<u8>,
}

fn record(piece: &RecordPiece) -> SegmentRecord {
    let kind =
        RecordKind::ALL.get(usize::from(piece.kind) % RecordKind::ALL.len()).copied().unwrap_or(RecordKind::Frame);
    SegmentRecord { kind, partition: piece.partition, epoch: piece.place, number: piece.place, lsn: piece.place }
}

/// Returns a segment with these records, batch by batch.
pub fn segment(batches: &[Vec<RecordPiece>]) -> Vec<u8> {
    let mut bytes = SegmentHeader { store: STORE, segment: 1, first_batch: 1, partitions: 16 }.write().to_vec();
    for (index, pieces) in batches.iter().enumerate() {
        let place = BatchPlace { store: STORE, segment: 1, offset: bytes.len() as u64 };
        let records = pieces.iter().map(|piece| (record(piece), piece.bytes.as_slice()));
        bytes.extend(batch_of(records, index as u64 + 1, place));
    }
    bytes
}

/// Reads a segment: returns each record that is reported as whole, and the bytes that remain after recovery.
pub fn read_segment(bytes: &[u8], sealed: bool) -> Option<(Vec<RecordPiece>, usize)> {
    let header = SegmentHeader::read(bytes).ok()?;
    let mut pieces = Vec::new();
    let end = Scan { bytes, header, sealed, flushed: 0, verify: true }.run(&mut |found| {
        if let ScannedItem::Record { header, payload, whole: true, .. } = found {
            let SegmentRecord { kind, partition, lsn, .. } = header.record;
            pieces.push(RecordPiece { kind: kind as u8, partition, place: lsn, bytes: payload.to_vec() });
        }
    });
    let mut recovered = RecoveredState::new(16, None);
    recovered.add(bytes, header, "segment", sealed, true);
    recovered.finish();
    Some((pieces, end.offset))
}

/// Returns an export with these records.
pub fn export(pieces: &[RecordPiece]) -> Vec<u8> {
    export_of(pieces.iter().map(|piece| (record(piece), piece.bytes.as_slice())), 16)
}

/// Reads an export to its end.
///
/// # Errors
/// The bytes are no export; the text says why.
pub fn read_export(bytes: &[u8]) -> Result<Vec<RecordPiece>, String> {
    let mut reader = ExportReader::new(bytes)?;
    let mut pieces = Vec::new();
    while let Some((SegmentRecord { kind, partition, lsn, .. }, bytes)) = reader.next()? {
        pieces.push(RecordPiece { kind: kind as u8, partition, place: lsn, bytes: bytes.to_vec() });
    }
    Ok(pieces)
}

/// Reads a store's description from any text: partitions and number.
pub fn read_description(text: &str) -> Option<BTreeMap<&'static str, u64>> {
    let (partitions, store) = crate::embedded::read_description(text)?;
    Some(BTreeMap::from([("partitions", u64::from(partitions)), ("store", store)]))
}
