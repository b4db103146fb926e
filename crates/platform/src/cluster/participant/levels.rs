//! Levels: the forms of what nodes of two releases write for each other while one release replaces the other.
//!
//! A release knows a level: the form of keys, journals and news between nodes. A society is at the level that all its
//! nodes know, and no node writes anything of a higher one. A release that adds to what nodes share increments
//! [`LEVEL`], and withholds the addition until [`Participant::level`] allows it. It accepts societies one level lower,
//! so nodes are replaced one by one.

use super::{ClusterAction, Participant};
use crate::cluster::society::{SocietyState, StoredSociety};
use crate::time::Time;

/// Level that this release knows.
///
/// Level 1: releases before there were levels. Level 2: partitions that moved because of load
/// ([`home`](crate::cluster::PlacementRow::home)) or of a wish ([`wish`](crate::cluster::PlacementRow::wish)); no
/// release had only one of them.
pub const LEVEL: u32 = 2;

/// Level from which partitions move because of load.
pub(super) const LEVEL_LOAD: u32 = 2;

/// Level from which partitions move because of wishes.
pub(super) const LEVEL_WISHES: u32 = 2;

impl Participant {
    /// Returns the level of what this node may write.
    pub fn level(&self) -> u32 {
        let society = self.society.as_ref().map_or(self.terms.level, |society| society.value.level);
        society.min(self.terms.level)
    }

    /// Returns the reason why this node cannot be let in, if its release is too old or too new.
    pub(super) fn objection_to_level(&self, society: &StoredSociety) -> Option<String> {
        let (theirs, ours) = (society.level, self.terms.level);
        if theirs > ours {
            return Some(format!(
                "this release is too old for the society in the store: it knows level {ours} of the stored formats, and that is at \
                 level {theirs}. Use the release that its other nodes have"
            ));
        }
        (theirs.saturating_add(1) < ours).then(|| {
            format!(
                "this release is too new for the society in the store: that is at level {theirs} of the stored formats, and this \
                 release continues levels {} and {ours}. Run a release in between first, on all nodes",
                ours.saturating_sub(1)
            )
        })
    }

    /// Returns the reason why this node must end: others took it for dead, and the society rose to a level that it does
    /// not know.
    pub(super) fn outgrown(&self) -> Option<String> {
        let society = self.society.as_ref().map(|society| &society.value)?;
        self.objection_to_level(society).filter(|_| society.level > self.terms.level)
    }

    /// Raises the society's level when all living nodes know the next one. Only the placer does this.
    pub(super) fn rise(&mut self, now: Time) -> Option<ClusterAction> {
        let society = self.society.as_ref().map(|society| &society.value)?;
        let all_know = self.roster.living(now).map(|(_, member)| member.level).min()?.min(self.terms.level);
        let rises = society.state == SocietyState::Running && all_know > society.level;
        let risen = rises.then(|| StoredSociety { level: all_know, ..society.clone() })?;
        Some(self.write_society(risen))
    }
}
