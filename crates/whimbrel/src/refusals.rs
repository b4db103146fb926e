//! What was refused lately, for those who look; and told to whoever keeps a record of it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use whimbrel_gateway::Feed;
use whimbrel_gateway::vocabulary::{Event, Happening};
use whimbrel_platform::audit::{Auditor, RefusalCounts, Refused};
use whimbrel_platform::limits::{REFUSALS_KEPT_MAX, SNIFFED_NAME_CHARS_MAX};

use crate::control::wall_us;

/// See the module.
#[derive(Default)]
pub struct Refusals {
    /// Who keeps a record of them.
    record: Option<Arc<dyn Auditor>>,
    /// The file of that.
    file: Option<PathBuf>,
    recent: Mutex<Recent>,
    counts: RefusalCounts,
}

#[derive(Default)]
struct Recent {
    /// When each was, and what.
    kept: VecDeque<(u64, Happening)>,
    /// How many there were before the first that is kept.
    forgotten: u64,
}

impl Refusals {
    /// With somebody who keeps a record, if there is one.
    pub fn new(record: Option<Arc<dyn Auditor>>) -> Self {
        Self { record, ..Self::default() }
    }

    /// The same, whose record is in that file.
    #[must_use]
    pub fn in_file(self, file: Option<PathBuf>) -> Self {
        Self { file, ..self }
    }

    /// The file in which they are recorded, if they are.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The newest so many of those that are kept, the oldest of them first.
    pub fn newest(&self, node: &str, most: usize) -> Vec<Event> {
        let recent = self.recent();
        let skip = recent.kept.len().saturating_sub(most);
        let event =
            |(at_us, what): &(u64, Happening)| Event { at_us: *at_us, node: node.to_owned(), what: what.clone() };
        recent.kept.iter().skip(skip).map(event).collect()
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there were, by reason.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.all().map(|(reason, count)| (reason.as_str(), count)).collect()
    }

    /// Those that are kept, and those that come.
    pub fn watch(self: &Arc<Self>, node: &str) -> RefusalFeed {
        let read = self.recent().forgotten;
        RefusalFeed { refusals: Arc::clone(self), node: node.to_owned(), read }
    }
}

impl Auditor for Refusals {
    fn refused(&self, what: &Refused<'_>) {
        self.counts.count(what.reason);
        if let Some(record) = &self.record {
            record.refused(what);
        }
        let cut = |text: &str| text.chars().take(SNIFFED_NAME_CHARS_MAX).collect::<String>();
        let refused = Happening::Refused {
            reason: what.reason.as_str().to_owned(),
            who: cut(what.who),
            action: what.action.map(|action| action.to_string()),
            object: cut(what.object),
            text: cut(what.detail),
        };
        let mut recent = self.recent();
        if recent.kept.len() >= REFUSALS_KEPT_MAX {
            recent.kept.pop_front();
            recent.forgotten += 1;
        }
        recent.kept.push_back((wall_us(), refused));
    }
}

/// What was refused since somebody looked last.
pub struct RefusalFeed {
    refusals: Arc<Refusals>,
    node: String,
    /// How many were seen, forgotten ones included.
    read: u64,
}

impl Feed for RefusalFeed {
    fn take(&mut self) -> Vec<Event> {
        let recent = self.refusals.recent();
        let missed = recent.forgotten.saturating_sub(self.read);
        let seen = usize::try_from(self.read.saturating_sub(recent.forgotten)).unwrap_or(usize::MAX);
        self.read = recent.forgotten + recent.kept.len() as u64;
        let skipped = (missed > 0).then(|| (wall_us(), Happening::Skipped { count: missed }));
        let event = |(at_us, what): (u64, Happening)| Event { at_us, node: self.node.clone(), what };
        skipped.into_iter().chain(recent.kept.iter().skip(seen).cloned()).map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_platform::audit::RefusalReason;

    use super::*;

    #[test]
    fn whoever_looks_late_sees_the_newest_and_how_many_there_were_before() {
        let refusals = Arc::new(Refusals::new(None));
        let refuse = |count: usize| {
            (0..count).for_each(|_| refusals.refused(&Refused::somebody(RefusalReason::BadToken, "10.0.0.1", "x")));
        };
        refuse(3);
        let mut feed = refusals.watch("n1");
        assert_eq!(feed.take().len(), 3, "those before it came");
        assert_eq!(refusals.newest("n1", 2).len(), 2);
        assert_eq!(refusals.newest("n1", 9).len(), 3);
        assert_eq!(feed.take(), vec![]);
        refuse(REFUSALS_KEPT_MAX + 2);
        let seen = feed.take();
        assert_eq!(seen.len(), REFUSALS_KEPT_MAX + 1);
        assert_eq!(seen.first().map(|event| &event.what), Some(&Happening::Skipped { count: 2 }));
        refuse(1);
        assert_eq!(feed.take().len(), 1);
    }
}
