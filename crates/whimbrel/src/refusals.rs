//! Recent refusals and acts of a node, for its operators; each is also passed to the audit log.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use whimbrel_operator::{Feed, Happening, NodeEvent};
use whimbrel_platform::Time;
use whimbrel_platform::audit::{
    Act, AuditEntry, Auditor, Folded, Folding, Outcome, PerStanding, RefusalCounts, Refused, WordedEntry,
};
use whimbrel_platform::limits::{REFUSALS_KEPT_MAX, SNIFFED_NAME_CHARS_MAX};

use crate::control::wall_us;

/// See the module.
pub struct Refusals {
    /// Auditor that records refusals.
    record: Option<Arc<dyn Auditor>>,
    /// The file of that.
    file: Option<PathBuf>,
    began: Instant,
    recent: Mutex<RecentRefusals>,
    counts: RefusalCounts,
}

/// Newest refusals and acts. Equal ones are folded, and each standing of parties has room of its own.
#[derive(Default)]
struct RecentRefusals {
    folding: Folding,
    kept: PerStanding<VecDeque<KeptRefusal>>,
    /// Number of the next one.
    next: u64,
}

struct KeptRefusal {
    number: u64,
    at_us: u64,
    what: Happening,
}

impl RecentRefusals {
    fn note(&mut self, entry: &AuditEntry<'_>, now: Time) {
        self.fold(now);
        if let Some(first) = self.folding.note(entry, now) {
            self.keep(first);
        }
    }

    /// Keeps the counts that are due.
    fn fold(&mut self, now: Time) {
        self.folding.due(now).into_iter().for_each(|folded| self.keep(folded));
    }

    fn keep(&mut self, folded: Folded) {
        let kept = &mut self.kept[folded.standing];
        if kept.len() >= REFUSALS_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(KeptRefusal { number: self.next, at_us: wall_us(), what: happening(folded) });
        self.next += 1;
    }

    /// Returns all from this number on, the oldest first.
    fn since(&self, number: u64) -> Vec<&KeptRefusal> {
        let mut all: Vec<&KeptRefusal> = self.kept.iter().flatten().filter(|kept| kept.number >= number).collect();
        all.sort_unstable_by_key(|kept| kept.number);
        all
    }
}

fn happening(folded: Folded) -> Happening {
    let cut = |text: String| text.chars().take(SNIFFED_NAME_CHARS_MAX).collect::<String>();
    let sentence = WordedEntry::from(&folded).sentence();
    let Folded { outcome, who, from, action, object, detail, count, .. } = folded;
    let (who, object, text) = (cut(who), cut(object), cut(detail));
    match outcome {
        Outcome::Allowed => Happening::Allowed { who, from: cut(from), action, object, text, sentence, count },
        Outcome::Refused(reason) => {
            let action = Some(action).filter(|action| !action.is_empty());
            Happening::Refused { reason: reason.as_str().to_owned(), who, action, object, text, sentence, count }
        }
    }
}

impl Default for Refusals {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Refusals {
    /// Adds the recorder of refusals, if there is one.
    pub fn new(record: Option<Arc<dyn Auditor>>) -> Self {
        Self { record, file: None, began: Instant::now(), recent: Mutex::default(), counts: RefusalCounts::default() }
    }

    /// Sets the file that records refusals.
    #[must_use]
    pub fn in_file(self, file: Option<PathBuf>) -> Self {
        Self { file, ..self }
    }

    /// Returns the file that records refusals, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the newest entries, the oldest of them first.
    pub fn newest(&self, node: &str, most: usize) -> Vec<NodeEvent> {
        let mut recent = self.recent();
        recent.fold(self.now());
        let kept = recent.since(0);
        let event =
            |kept: &&KeptRefusal| NodeEvent { at_us: kept.at_us, node: node.to_owned(), what: kept.what.clone() };
        kept.iter().skip(kept.len().saturating_sub(most)).map(event).collect()
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn recent(&self) -> MutexGuard<'_, RecentRefusals> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of refusals by reason.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.all().map(|(reason, count)| (reason.as_str(), count)).collect()
    }

    /// Returns a feed of stored and new refusals.
    pub fn watch(self: &Arc<Self>, node: &str) -> RefusalFeed {
        let recent = self.recent();
        let read = recent.since(0).first().map_or(recent.next, |kept| kept.number);
        drop(recent);
        RefusalFeed { refusals: Arc::clone(self), node: node.to_owned(), read }
    }
}

impl Auditor for Refusals {
    fn refused(&self, what: &Refused<'_>) {
        self.counts.count(what.reason);
        if let Some(record) = &self.record {
            record.refused(what);
        }
        self.recent().note(&AuditEntry::from(what), self.now());
    }

    fn allowed(&self, what: &Act<'_>) {
        if let Some(record) = &self.record {
            record.allowed(what);
        }
        self.recent().note(&AuditEntry::from(what), self.now());
    }
}

/// Feed of refusals and acts since the last look.
pub struct RefusalFeed {
    refusals: Arc<Refusals>,
    node: String,
    /// Number of the first that was not seen.
    read: u64,
}

impl Feed for RefusalFeed {
    fn take(&mut self) -> Vec<NodeEvent> {
        let mut recent = self.refusals.recent();
        recent.fold(self.refusals.now());
        let new: Vec<(u64, Happening)> =
            recent.since(self.read).into_iter().map(|kept| (kept.at_us, kept.what.clone())).collect();
        let missed = recent.next - self.read - new.len() as u64;
        self.read = recent.next;
        let skipped = (missed > 0).then(|| (wall_us(), Happening::Skipped { count: missed }));
        let event = |(at_us, what): (u64, Happening)| NodeEvent { at_us, node: self.node.clone(), what };
        skipped.into_iter().chain(new).map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_platform::audit::{Party, RefusalReason};

    use super::*;

    /// So many refusals of one principal each.
    fn refuse(refusals: &Refusals, from: usize, count: usize) {
        for number in from..from + count {
            refusals.refused(&Refused::somebody(RefusalReason::Forged, &format!("node:n{number}"), "x"));
        }
    }

    #[test]
    fn late_watcher_sees_newest_and_count() {
        let refusals = Arc::new(Refusals::new(None));
        let folding = Folding::default;
        refuse(&refusals, 0, 3);
        let mut feed = refusals.watch("n1");
        assert_eq!(feed.take().len(), 3, "those before it came");
        assert_eq!((refusals.newest("n1", 2).len(), refusals.newest("n1", 9).len()), (2, 3));
        assert_eq!(feed.take(), vec![]);
        for _ in 0..REFUSALS_KEPT_MAX + 2 {
            // The refusals are not folded, as if they were far apart in time.
            refusals.recent().folding = folding();
            refuse(&refusals, 0, 1);
        }
        let seen = feed.take();
        assert_eq!(seen.len(), REFUSALS_KEPT_MAX + 1);
        assert_eq!(seen.first().map(|event| &event.what), Some(&Happening::Skipped { count: 2 }));
    }

    #[test]
    fn strangers_displace_no_principals() {
        let refusals = Arc::new(Refusals::new(None));
        refuse(&refusals, 0, 1);
        let act = Act { who: Party::Operator("token:admin"), from: "http", action: "kill", object: "bob", detail: "" };
        refusals.allowed(&act);
        for number in 0..4_000_u32 {
            let stranger = Refused::stranger(RefusalReason::BadToken, number.to_be_bytes().into(), "x");
            refusals.refused(&stranger);
            refusals.recent().folding = Folding::default();
        }
        let newest = refusals.newest("n1", usize::MAX);
        assert_eq!(newest.len(), REFUSALS_KEPT_MAX + 2);
        assert!(matches!(&newest[1].what, Happening::Allowed { action, .. } if action == "kill"), "{:?}", newest[1]);
    }
}
