//! Outcomes of beginning and ceasing to serve partitions.

use super::{ClusterAction, PAUSE, Participant, list};
use crate::cluster::local::{AdoptError, YIELD_PATIENCE, YieldFailure};
use crate::cluster::member::{Trouble, TroubleKind};
use crate::limits::{TROUBLE_REASON_CHARS_MAX, TROUBLE_REASONS_MAX};
use crate::store::{Epoch, Partition};
use crate::time::Time;

impl Participant {
    /// Takes in the outcome of [`ClusterAction::Adopt`]: these partitions failed, all others are served.
    pub fn adopted(&mut self, partitions: &[(Partition, Epoch)], failed: Vec<(Partition, AdoptError)>, now: Time) {
        self.is_due = true;
        let has_failed = |partition: &Partition| failed.iter().any(|(other, _)| other == partition);
        let served: Vec<_> = partitions.iter().filter(|(partition, _)| !has_failed(partition)).copied().collect();
        self.holdings.adopted(&served);
        let mut unreadable = Vec::new();
        for (partition, error) in failed {
            match error {
                AdoptError::Unreadable(why) => {
                    self.holdings.unreadable(partition);
                    unreadable.push((partition, why));
                }
                AdoptError::Fenced { by } => {
                    self.not_adopted(partition, now);
                    self.raise(partition, by);
                }
                AdoptError::Store(_) => self.not_adopted(partition, now),
            }
        }
        self.cannot_read(unreadable, now);
    }

    fn not_adopted(&mut self, partition: Partition, now: Time) {
        self.holdings.not_adopted(partition);
        self.not_before = now + PAUSE;
    }

    /// Handles partitions that cannot be resumed here. Other nodes are to try. If this node serves nothing else, and no
    /// other node failed on them, the fault is this node's, and it ends.
    fn cannot_read(&mut self, unreadable: Vec<(Partition, String)>, now: Time) {
        let Some((_, why)) = unreadable.first().cloned() else { return };
        let others_fail = self.others(now).any(|(_, member)| {
            member.unreadable().any(|partition| unreadable.iter().any(|(unreadable, _)| *unreadable == partition))
        });
        let serves = self.holdings.served().next().is_some();
        if self.terms.alone || !serves && !others_fail {
            return self.fail(format!("cannot continue the stored society: {why}"));
        }
        let partitions: Vec<Partition> = unreadable.iter().map(|(partition, _)| *partition).collect();
        self.to_do.push_back(ClusterAction::Note(format!(
            "cannot serve {}: its agents wait until another node can; nothing is lost: {why}",
            list(&partitions)
        )));
        for (partition, why) in unreadable {
            self.trouble(partition, TroubleKind::Unreadable, why);
        }
    }

    /// Takes in the outcome of [`ClusterAction::Yield`]: these partitions are still served, all others are not.
    pub fn yielded(&mut self, partitions: &[Partition], stuck: Vec<(Partition, YieldFailure)>, now: Time) {
        self.is_due = true;
        let is_stuck = |partition: &Partition| stuck.iter().any(|(other, _)| other == partition);
        let free: Vec<Partition> = partitions.iter().filter(|partition| !is_stuck(partition)).copied().collect();
        self.holdings.yielded(&free);
        let was_stuck = |trouble: &Trouble| {
            trouble.kind == TroubleKind::Stuck && free.iter().any(|partition| partition.0 == trouble.partition)
        };
        if self.me.troubles.iter().any(was_stuck) {
            self.me.troubles.retain(|trouble| !was_stuck(trouble));
            self.beat_at = None;
        }
        for (partition, YieldFailure(why)) in stuck {
            self.holdings.not_yielded(partition);
            self.not_before = now + PAUSE;
            if self.trouble(partition, TroubleKind::Stuck, why.clone()) {
                let which = list(&[partition]);
                let text = format!(
                    "cannot hand over {which} after {} s, and continues to try: {why}",
                    YIELD_PATIENCE.as_secs()
                );
                self.to_do.push_back(ClusterAction::Note(text));
            }
        }
    }

    /// Publishes a partition error to the other nodes. Returns true if it is new.
    fn trouble(&mut self, partition: Partition, kind: TroubleKind, why: String) -> bool {
        let has_room = self.me.troubles.iter().filter(|trouble| !trouble.why.is_empty()).count() < TROUBLE_REASONS_MAX;
        let why: String = why.chars().take(if has_room { TROUBLE_REASON_CHARS_MAX } else { 0 }).collect();
        let known = self.me.troubles.iter().any(|trouble| (trouble.partition, trouble.kind) == (partition.0, kind));
        if !known {
            self.me.troubles.push(Trouble { partition: partition.0, kind, why });
            self.beat_at = None;
        }
        !known
    }
}
