//! Repair of a store whose journal is whole, but not something beside it: its description, its flush mark, its folder
//! of blobs, or the names of its segments.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use whimbrel_files::sync_folder;

use super::files::{Progress, StoreFiles};
use super::folder::{
    BLOBS, DESCRIPTION, JOURNAL, OpenStoreError, StoreDescription, at, describe, lock, refuse_remains,
};
use super::layout::{SEGMENT_HEADER, SegmentHeader};
use super::mark::{self, FLUSHED, Flushed, MarkFile};
use super::segment::file_name;

/// Report of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Repairs made, a sentence each; empty if the store was whole.
    pub done: Vec<String>,
    /// Frames that the store holds.
    pub frames: u64,
}

/// Repairs a store with missing parts, if its journal is not damaged. `partitions` is for stores whose segments do not
/// record that number, as those of the first release.
///
/// # Errors
/// Another process has the store open, or there is none. The journal is damaged: then only its segments get their names
/// back.
pub fn repair(folder: &Path, partitions: Option<u16>, progress: &mut Progress<'_>) -> Result<Repaired, OpenStoreError> {
    if !folder.is_dir() {
        return Err(OpenStoreError::NoStore(folder.to_owned()));
    }
    let description = match describe(folder) {
        Err(OpenStoreError::Incomplete { .. }) => None,
        description => description?,
    };
    let segments = at(&folder.join(JOURNAL), segments(&folder.join(JOURNAL)))?;
    let stores: BTreeSet<u64> = segments.iter().map(|(_, header)| header.store).collect();
    let store = match (description, stores.len()) {
        (None, 0) if refuse_remains(folder).is_ok() => return Err(OpenStoreError::NoStore(folder.to_owned())),
        (None, 0) => return Err(damaged(folder, "no segment of its journal can be read")),
        (Some(description), _) => description.store,
        (None, 1) => stores.first().copied().unwrap_or_default(),
        (None, _) => {
            return Err(damaged(
                folder,
                "its journal has segments of several stores, and it is not known of which it is",
            ));
        }
    };
    let segments: Vec<(PathBuf, SegmentHeader)> =
        segments.into_iter().filter(|(_, header)| header.store == store).collect();
    let lock = lock(folder)?;
    let mut done = Vec::new();
    rename_segments(folder, &segments, &mut done)?;
    let known =
        description.map_or_else(|| partitions_of(folder, &segments, partitions), |known| Ok(known.partitions))?;
    let found = StoreDescription { partitions: known, store, marked: description.is_some_and(|known| known.marked) };
    if partitions.is_some_and(|wanted| wanted != known) {
        let (folder, wanted) = (folder.to_owned(), partitions.unwrap_or_default());
        return Err(OpenStoreError::Partitions { folder, found: known, wanted });
    }
    let files = StoreFiles { folder: folder.to_owned(), description: found, lock };
    let flushed = at(&folder.join(FLUSHED), mark::read(folder, store))?;
    let recovered = files.recover_upto(flushed, true, progress)?;
    if recovered.in_doubt {
        let what = recovered.damage.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        return Err(OpenStoreError::Damaged { folder: files.folder, what });
    }
    if !folder.join(BLOBS).is_dir() {
        at(&folder.join(BLOBS), whimbrel_files::create_folder(&folder.join(BLOBS)))?;
        done.push(format!("the folder `{BLOBS}` was missing, and is there again, empty: its blobs are lost"));
    }
    if !matches!(flushed, Flushed::Upto(_)) {
        // A torn tail counts once the store is opened.
        let mut reached = recovered.reached();
        if let Some(torn) = recovered.torn.filter(|torn| torn.kept.is_some()) {
            (reached.batch, reached.end) = (reached.batch.saturating_sub(1), torn.batch_offset as u64);
        }
        at(&folder.join(FLUSHED), MarkFile::begin(folder, store, reached))?;
        done.push(format!(
            "the file `{FLUSHED}` is written again, up to batch {}: if later batches are missing, only the lost file could tell",
            reached.batch
        ));
    }
    if description.is_none_or(|known| !known.marked) {
        files.description.write(folder)?;
        done.push(format!("the file `{DESCRIPTION}` is written again: {known} partitions, number {store:016x}"));
    }
    let frames = recovered.partitions.iter().map(|frames| frames.slots.len() as u64).sum();
    Ok(Repaired { done, frames })
}

/// Returns all files of a folder that begin as segments do, whatever their names.
fn segments(journal: &Path) -> std::io::Result<Vec<(PathBuf, SegmentHeader)>> {
    let entries = match std::fs::read_dir(journal) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let mut begin = Vec::new();
        if path.is_file() {
            File::open(&path)?.take(SEGMENT_HEADER as u64).read_to_end(&mut begin)?;
        }
        found.extend(SegmentHeader::read(&begin).ok().map(|header| (path, header)));
    }
    found.sort_by_key(|(_, header)| header.segment);
    Ok(found)
}

/// Gives segments their names back.
fn rename_segments(
    folder: &Path,
    segments: &[(PathBuf, SegmentHeader)],
    done: &mut Vec<String>,
) -> Result<(), OpenStoreError> {
    let journal = folder.join(JOURNAL);
    // Two may have each other's names.
    let mut misnamed: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (path, header) in segments {
        let right = journal.join(file_name(header.segment));
        let is_draft = path.file_name().is_some_and(|name| name == "draft");
        if *path != right && !is_draft {
            misnamed.push((path.clone(), right));
        }
    }
    let moving: BTreeSet<&PathBuf> = misnamed.iter().map(|(path, _)| path).collect();
    let rights: BTreeSet<&PathBuf> = misnamed.iter().map(|(_, right)| right).collect();
    if rights.len() < misnamed.len() || misnamed.iter().any(|(_, right)| right.exists() && !moving.contains(right)) {
        return Err(damaged(folder, "its journal has two files of one segment: move away the one that is not needed"));
    }
    let aside = |path: &Path| path.with_extension("repaired");
    for (path, right) in &misnamed {
        at(path, std::fs::rename(path, aside(right)))?;
    }
    for (path, right) in &misnamed {
        at(right, std::fs::rename(aside(right), right))?;
        let names = [path, right].map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        done.push(format!("{} is {} again", names[0], names[1]));
    }
    match misnamed.is_empty() {
        true => Ok(()),
        false => at(&journal, sync_folder(&journal)),
    }
}

/// Returns the number of partitions of a store whose description is lost.
fn partitions_of(
    folder: &Path,
    segments: &[(PathBuf, SegmentHeader)],
    given: Option<u16>,
) -> Result<u16, OpenStoreError> {
    let said = segments.iter().map(|(_, header)| header.partitions).find(|partitions| *partitions > 0);
    said.or(given).ok_or_else(|| {
        damaged(
            folder,
            "its segments are of the first release, and do not say how many partitions it has: repair it with --partitions 256 \
             (what `run` makes), or 1 if it is a log",
        )
    })
}

fn damaged(folder: &Path, what: &str) -> OpenStoreError {
    OpenStoreError::Damaged { folder: folder.to_owned(), what: what.to_owned() }
}
