//! End of a node's part, and the duties of the last node.

use super::{ClusterAction, MembershipEnd, Participant, Phase};
use crate::cluster::member::MemberPhase;
use crate::cluster::society::{SocietyState, StoredSociety};
use crate::store::StoreError;
use crate::time::Time;

impl Participant {
    /// Ends the society: all other nodes are to end, too. When this node has ended ([`Participant::leave`]), it waits
    /// for the others and erases the society.
    pub fn conclude(&mut self) {
        self.concluding = true;
    }

    /// Notes that this node no longer serves anything.
    pub fn leave(&mut self) {
        if self.phase != Phase::Ended {
            self.phase = Phase::Leaving;
        }
    }

    /// Returns the next action before the end.
    pub(super) fn finish(&mut self, now: Time) -> Option<ClusterAction> {
        if self.concluding {
            let society = self.society.as_ref().map(|society| society.value.clone());
            match society.filter(|society| society.term == self.me.term) {
                Some(society) if society.state == SocietyState::Running => {
                    return Some(self.write_society(StoredSociety { state: SocietyState::Concluded, ..society }));
                }
                Some(_) if self.others_still_end(now) => return None,
                Some(_) if self.forgotten.is_none() => return self.forget(),
                // Another society is there already, or this one was never written.
                _ => {}
            }
        }
        match self.roster.member(self.terms.me).map(|me| me.state) {
            None | Some(MemberPhase::Left) => Some(self.end(MembershipEnd::Left)),
            Some(_) if self.me.state == MemberPhase::Left => None,
            Some(_) => {
                self.me.state = MemberPhase::Left;
                Some(self.beat(now))
            }
        }
    }

    fn others_still_end(&self, now: Time) -> bool {
        self.others(now).any(|(_, member)| member.takes_part() && member.term == self.me.term)
    }

    /// Takes in the outcome of [`ClusterAction::Forget`]. A failed erasure is left to the next node that begins a
    /// society there.
    pub fn forgot(&mut self, outcome: Result<(), StoreError>, now: Time) {
        self.forgetting = false;
        match (outcome, self.phase) {
            (Ok(()), _) => self.forgotten = self.taken,
            (Err(error), Phase::Leaving) => {
                self.concluding = false;
                self.to_do.push_back(ClusterAction::Note(format!("cannot delete the stored society: {error}")));
            }
            (Err(_), _) => self.failed(false, now),
        }
    }
}
