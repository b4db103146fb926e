//! Durable agents of a platform, kept in a folder.

use std::path::Path;
use std::sync::Arc;

use whimbrel_platform::store::{Epoch, Journal, OpenError, Partition};
use whimbrel_runtime::{RecoverError, RecoveredJournal, erase, recover};
use whimbrel_store::{Embedded, OpenOptions, OpenStoreError};

/// Reasons why a platform's agents cannot be kept in a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The folder cannot be used: another process has it, or the disk fails.
    #[error(transparent)]
    Open(#[from] OpenStoreError),
    /// The stored society cannot be recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
}

/// Returns the agents that an earlier process kept in this folder, for
/// [`PlatformBuilder::durable`](crate::PlatformBuilder::durable). The folder is made if it does not exist. It belongs
/// to this process alone until the platform has ended. If an agent had ended its whole society, nothing is left of
/// that.
///
/// ```no_run
/// use whimbrel::durable_agents::kept_in;
/// use whimbrel::prelude::*;
///
/// let platform = Platform::builder().durable(kept_in("garden.store")?).build();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Another process has the folder, or it cannot be read or written.
pub fn kept_in(folder: impl AsRef<Path>) -> Result<RecoveredJournal, KeepError> {
    let journal: Arc<dyn Journal> = Arc::new(Embedded::open(folder, &OpenOptions::default())?);
    let epoch = next_epoch(&*journal)?;
    let kept = recover(Arc::clone(&journal), epoch)?;
    if kept.stopped().is_none() {
        return Ok(kept);
    }
    erase(&*journal, epoch)?;
    Ok(recover(journal, epoch)?)
}

/// Returns an epoch that is new to all partitions. No other process opens partitions meanwhile: the folder is locked.
fn next_epoch(journal: &dyn Journal) -> Result<Epoch, RecoverError> {
    let mut highest = Epoch(0);
    for partition in (0..journal.partitions()).map(Partition) {
        match journal.open(partition, Epoch(0)) {
            Ok(_) => {}
            Err(OpenError::Fenced { by, .. }) => highest = highest.max(by),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Epoch(highest.0 + 1))
}
