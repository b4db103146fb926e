//! Recorder of a node's conversations: a log in a folder, for `whimbrel log`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use whimbrel_platform::store::{Coord, Epoch, Journal, Revision};
use whimbrel_runtime::{Observation, Platform};
use whimbrel_store::{ConversationKeeper, ConversationLog, Embedded, OpenOptions};

use super::Notes;
use crate::control::began_us;

/// The folder beside a project where its log is kept.
const FOLDER: &str = ".whimbrel";
/// Key that counts the writers of a log.
const EPOCH: &str = "epoch";
/// Bytes of a log's files: the oldest goes as a whole.
const SEGMENT_BYTES: u64 = 16 << 20;

/// A log that is being written.
pub struct ConversationRecorder {
    log: ConversationLog,
    keeper: ConversationKeeper,
    observation: Observation,
}

impl ConversationRecorder {
    /// Begins to record the conversations of this node, if requested: in this folder, or in one beside the society's
    /// file. Call it before any agent sends a message.
    ///
    /// # Errors
    /// The folder cannot be written, or another process writes there.
    pub fn begin(
        wanted: Option<&Option<PathBuf>>,
        file: &Path,
        node: &str,
        platform: &Platform,
        notes: &Notes,
    ) -> anyhow::Result<Option<Self>> {
        let Some(folder) = wanted else { return Ok(None) };
        let folder = folder.clone().unwrap_or_else(|| default_folder(file)).join(node);
        let cannot = || format!("cannot log messages in {}", folder.display());
        let store = open(&folder, true, notes).with_context(cannot)?;
        let epoch = next_epoch(&*store).with_context(cannot)?;
        let log = ConversationLog::open(store as Arc<dyn Journal>).with_context(cannot)?;
        let keeper = log.keep(epoch, began_us(platform), warnings(notes)).with_context(cannot)?;
        let observation = platform.observe(keeper.observer());
        Ok(Some(Self { log, keeper, observation }))
    }

    /// Returns the log.
    pub fn log(&self) -> ConversationLog {
        self.log.clone()
    }

    /// Ends the log after its platform. All messages are written before this returns.
    pub fn end(self) {
        let Self { log: _, keeper, observation } = self;
        drop(observation);
        keeper.end();
    }
}

/// Returns what takes warnings about the log.
fn warnings(notes: &Notes) -> impl Fn(&str) + Send + Sync + use<> + 'static {
    let notes = notes.clone();
    move |text| notes.warning(text)
}

/// Returns the default folder of a society's log: beside its file.
fn default_folder(file: &Path) -> PathBuf {
    let name = format!("{}.log", file.file_stem().unwrap_or_default().to_string_lossy());
    file.parent().unwrap_or(Path::new("")).join(FOLDER).join(name)
}

/// Returns the logs of a society's nodes, by the nodes' names.
///
/// # Errors
/// There are none, one cannot be read, or a process is writing it.
pub fn read(folder: &Path, notes: &Notes) -> anyhow::Result<Vec<(String, ConversationLog)>> {
    let cannot = || format!("cannot read the log in {}", folder.display());
    let mut nodes = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.is_dir() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let log = ConversationLog::open(open(&path, false, notes).with_context(cannot)?).with_context(cannot)?;
            nodes.push((name, log));
        }
    }
    if nodes.is_empty() {
        bail!("no log in {}: `whimbrel run --log` keeps one", folder.display());
    }
    nodes.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(nodes)
}

fn open(folder: &Path, create: bool, notes: &Notes) -> anyhow::Result<Arc<Embedded>> {
    let options = OpenOptions { partitions: Some(1), segment_bytes: SEGMENT_BYTES, create };
    let store = Embedded::open(folder, &options)?;
    notes.exposed(store.found().exposed.as_deref());
    Ok(Arc::new(store))
}

/// Returns an epoch later than those of all earlier writers.
fn next_epoch(coord: &dyn Coord) -> anyhow::Result<Epoch> {
    let (revision, last) = match coord.read(EPOCH)? {
        None => (Revision(0), 0),
        Some((revision, bytes)) => (revision, u64::from_le_bytes(bytes.try_into().unwrap_or_default())),
    };
    coord.write(EPOCH, revision, &(last + 1).to_le_bytes())?;
    Ok(Epoch(last + 1))
}
