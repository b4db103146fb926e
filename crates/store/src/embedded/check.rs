//! Check of a store: reads all of it, and reports its content and damage.

use std::ops::ControlFlow;
use std::path::Path;

use whimbrel_platform::store::{Epoch, Lsn, Partition, StoreError};

use super::OpenOptions;
use super::blobs::BlobFiles;
use super::files::{Progress, StoreFiles};
use super::folder::OpenStoreError;
use super::recover::{Damage, PartitionFrames};

/// Report on a store.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of partitions.
    pub partitions: u16,
    /// Partitions that were ever opened.
    pub opened: Vec<PartitionReport>,
    /// Number of the journal's files.
    pub segments: usize,
    /// Bytes of the journal's files.
    pub journal_bytes: u64,
    /// Number of keys.
    pub keys: usize,
    /// Number of blobs.
    pub blobs: usize,
    /// Bytes of the blobs.
    pub blob_bytes: u64,
    /// Bytes of the batch that was being written when the store was last left. It was never acknowledged.
    pub torn_bytes: usize,
    /// Acknowledged records that are damaged.
    pub damage: Vec<Damage>,
    /// The store cannot be opened: acknowledged frames may be missing at the end of any partition.
    pub in_doubt: bool,
}

/// Report on a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionReport {
    /// Number of the partition.
    pub partition: Partition,
    /// The epoch it was last opened in.
    pub epoch: Epoch,
    /// The first frame that is kept.
    pub first: Lsn,
    /// The last frame.
    pub last: Lsn,
    /// Number of frames that are kept.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
}

/// Reads every byte of a store that no process has open, and changes nothing.
///
/// # Errors
/// There is no store, a process has it open, or it cannot be read. Damage is no error: it is in the report.
pub fn check(folder: &Path, progress: &mut Progress<'_>) -> Result<Report, OpenStoreError> {
    let files = StoreFiles::lock(folder, &OpenOptions { create: false, ..OpenOptions::default() })?;
    let mut recovered = files.recover(true, progress)?;
    let journal = files.journal();
    let numbers = super::segment::list(&journal).unwrap_or_default();
    let sizes = numbers
        .iter()
        .map(|number| std::fs::metadata(journal.join(super::segment::file_name(*number))).map_or(0, |file| file.len()));
    let mut report = Report {
        partitions: files.description.partitions,
        opened: recovered.partitions.iter().enumerate().filter_map(of_partition).collect(),
        segments: numbers.len(),
        journal_bytes: sizes.sum(),
        keys: recovered.keys.len(),
        torn_bytes: recovered.torn_bytes,
        damage: std::mem::take(&mut recovered.damage),
        in_doubt: recovered.in_doubt,
        ..Report::default()
    };
    check_blobs(&files, &mut report, progress)?;
    Ok(report)
}

fn of_partition((partition, frames): (usize, &PartitionFrames)) -> Option<PartitionReport> {
    let kept = frames.slots.iter().filter(|slot| slot.segment != 0);
    (frames.owned.epoch > 0).then(|| PartitionReport {
        // There are fewer partitions than that.
        partition: Partition(partition as u16),
        epoch: Epoch(frames.owned.epoch),
        first: Lsn(frames.owned.trimmed + 1),
        last: Lsn(frames.owned.last),
        frames: kept.clone().count() as u64,
        bytes: kept.map(|slot| u64::from(slot.bytes)).sum(),
    })
}

fn check_blobs(files: &StoreFiles, report: &mut Report, progress: &mut Progress<'_>) -> Result<(), OpenStoreError> {
    let folder = match files.blobs() {
        Err(OpenStoreError::Incomplete { what, .. }) => {
            report.damage.push(Damage { partition: None, first: Lsn(0), last: Lsn(0), what });
            return Ok(());
        }
        folder => folder?,
    };
    let failed = |error: StoreError| OpenStoreError::Io { path: folder.clone(), error: std::io::Error::other(error) };
    let blobs = BlobFiles::new(folder.clone());
    let hashes = blobs.list().map_err(failed)?;
    for (index, hash) in hashes.iter().enumerate() {
        match blobs.fetch(*hash) {
            Ok(bytes) => {
                report.blobs += 1;
                report.blob_bytes += bytes.map_or(0, |bytes| bytes.len() as u64);
            }
            Err(StoreError::Damaged(what)) => {
                report.damage.push(Damage { partition: None, first: Lsn(0), last: Lsn(0), what });
            }
            Err(error) => return Err(failed(error)),
        }
        if let ControlFlow::Break(()) = progress(index as u64 + 1, hashes.len() as u64) {
            return Err(OpenStoreError::Io { path: folder, error: std::io::ErrorKind::Interrupted.into() });
        }
    }
    Ok(())
}
