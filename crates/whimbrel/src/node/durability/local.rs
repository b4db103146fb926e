//! Partitions that this node serves, with the society's agents on its platform.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use whimbrel_platform::cluster::{AdoptError, LocalNode, WorkTotals, YIELD_PATIENCE, YieldFailure};
use whimbrel_platform::store::{Epoch, OpenError, Partition, StoreError};
use whimbrel_runtime::{Adopted, NotAdopted, Platform, RecoverError};

use super::super::Notes;
use super::super::membership::Dialler;
use crate::Society;
use crate::cluster::DEPOSED;
use crate::figures::counted;

/// Platform of a node, as its cluster sees it.
pub struct SocietyNode {
    platform: Platform,
    society: Mutex<Society>,
    links: Option<Dialler>,
    place: String,
    /// True once the continuation was announced, or if it must not be.
    told: AtomicBool,
    notes: Notes,
    /// The society had ended before this process began.
    over: Arc<AtomicBool>,
}

impl SocietyNode {
    /// Serves this society's agents; `over` becomes true if the society proves to have ended.
    pub fn new(
        platform: &Platform,
        society: Society,
        links: Option<Dialler>,
        place: &str,
        notes: &Notes,
        over: &Arc<AtomicBool>,
    ) -> Self {
        let (platform, society) = (platform.clone(), Mutex::new(society));
        Self {
            platform,
            society,
            links,
            place: super::shown(place),
            told: AtomicBool::new(notes.is_quiet()),
            notes: notes.clone(),
            over: Arc::clone(over),
        }
    }

    /// Says, the first time, that nothing begins anew.
    fn tell(&self, adopted: &Adopted) {
        let Adopted { kept, messages, .. } = adopted;
        if !self.told.swap(true, Ordering::AcqRel) && *kept + *messages > 0 {
            self.notes.warning(&format!(
                "continuing with {} and {} from {} (--fresh begins anew)",
                counted(*kept, "agent"),
                counted(*messages, "undelivered message"),
                self.place
            ));
        }
    }

    /// Converts the reason why a partition is not served for the cluster.
    fn reason(error: NotAdopted) -> AdoptError {
        match error {
            NotAdopted::Recover(RecoverError::Open(OpenError::Fenced { by, .. })) => AdoptError::Fenced { by },
            NotAdopted::Recover(RecoverError::Open(OpenError::Store(error @ StoreError::Away(_)))) => error.into(),
            NotAdopted::Recover(RecoverError::Store(error @ StoreError::Away(_))) => error.into(),
            other => AdoptError::Unreadable(other.to_string()),
        }
    }
}

impl LocalNode for SocietyNode {
    fn adopt(&self, partitions: &[(Partition, Epoch)]) -> Vec<(Partition, AdoptError)> {
        let is_theirs = |name| {
            let partition = self.platform.partition_of(name);
            partitions.iter().any(|(theirs, _)| partition == Some(*theirs))
        };
        let founders = self.society.lock().unwrap_or_else(PoisonError::into_inner).some(is_theirs);
        let why = match self.platform.adopt(partitions, founders) {
            Ok(adopted) => {
                self.tell(&adopted);
                return adopted.failed.into_iter().map(|(partition, why)| (partition, Self::reason(why))).collect();
            }
            Err(whimbrel_runtime::ServeError::Ended(code)) => {
                self.notes.warning("the society had ended: its stored state is deleted, and the society begins anew");
                self.over.store(true, Ordering::Release);
                self.platform.leave_with(code);
                "the society has ended".to_owned()
            }
            Err(error) => error.to_string(),
        };
        let again = |(partition, _): &(Partition, Epoch)| (*partition, StoreError::Away(why.clone()).into());
        partitions.iter().map(again).collect()
    }

    fn yield_up(&self, partitions: &[Partition]) -> Vec<(Partition, YieldFailure)> {
        let stuck = self.platform.yield_up(partitions, YIELD_PATIENCE);
        stuck.into_iter().map(|(partition, why)| (partition, YieldFailure(why.to_string()))).collect()
    }

    fn link_with(&self, members: &[(String, String)]) {
        if let Some(links) = &self.links {
            links.dial(members);
        }
    }

    fn server_of(&self, partition: Partition) -> Option<String> {
        self.platform.server_of(partition).map(|name| name.to_string())
    }

    fn agents(&self) -> u64 {
        let services = self.platform.services();
        let count = services.directory().and_then(|directory| directory.with_ams(|ams| ams.agents().count() as u64));
        count.unwrap_or_default()
    }

    fn work(&self) -> WorkTotals {
        self.platform.work()
    }

    fn deposed(&self) {
        self.platform.leave_with(DEPOSED);
    }

    fn concluded(&self) {
        self.platform.leave_with(0);
    }

    fn failed(&self, why: &str) {
        self.notes.failure(why);
        self.platform.leave_with(1);
    }
}
