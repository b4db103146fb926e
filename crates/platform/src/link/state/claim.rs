//! Claims to a link: connections that a peer made while the link may have one that works.
//!
//! A node's name is taken as long as the process that has it answers. A second connection by that name waits for the
//! first process to answer a question, and is refused then. If there is no answer, or the first connection ends, the
//! name is the second one's.

use std::time::Duration;

use super::{Hello, Link, LinkError, LinkEvent};
use crate::Time;
use crate::limits::{LINK_CLAIM_MS, LINK_CLAIM_MS_MAX};

/// Decision about a connection that a peer made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The connection is the link's: close the present one, if there is one, and call [`Link::handle_accepted`].
    Granted,
    /// The claim waits while the present peer is asked whether it is there: [`LinkEvent::ClaimGranted`] or
    /// [`LinkEvent::ClaimRefused`] follows. Close an earlier connection that waited.
    Waits,
    /// The connection that this end made is the one: close the other without a word, since its peer is to stay.
    Crossed,
}

/// A claim that waits for the answer of the present connection's peer.
pub(super) struct Contest {
    began: Time,
    /// Error that the claimant is told if the present peer answers.
    refusal: Option<LinkError>,
}

impl Link {
    /// Decides about a connection whose peer sent this hello. The peer was admitted
    /// ([`Speaker::admits`](super::Speaker::admits)), and its name is proven.
    pub fn handle_claim(&mut self, now: Time, hello: &Hello) -> ClaimOutcome {
        let dials_first = self.me.node < hello.node;
        let Some(connection) = &mut self.connection else { return ClaimOutcome::Granted };
        // Of two connections that cross, both ends keep the one that was made by the node whose name sorts first.
        let crosses = connection.dialled && dials_first;
        if !connection.greeted {
            return if crosses { ClaimOutcome::Crossed } else { ClaimOutcome::Granted };
        }
        let is_same = self.session.is_some_and(|session| session.incarnation == hello.incarnation);
        if is_same && hello.to.is_some() && !crosses {
            // The peer itself knows best that it has no connection any more. Its name is not another process's.
            let contest = self.contest.take();
            self.events.extend(contest.map(|contest| LinkEvent::ClaimRefused(contest.refusal)));
            return ClaimOutcome::Granted;
        }
        let refusal = match (is_same, &hello.to) {
            (true, Some(_)) => None,
            (true, None) => Some(LinkError::Linked(hello.node.clone())),
            (false, _) => Some(LinkError::NameTaken(hello.node.clone())),
        };
        // Asked at once, and again in a second.
        connection.asked_at = Time::ZERO;
        let began = self.contest.take().map_or(now, |contest| contest.began);
        self.contest = Some(Contest { began, refusal });
        ClaimOutcome::Waits
    }

    /// Returns true while a claim is undecided.
    pub fn has_claimant(&self) -> bool {
        self.contest.is_some()
    }

    /// Ends a contest because the peer answered a question that was asked at this time.
    pub(super) fn end_contest_answered(&mut self, asked: u64) {
        if let Some(contest) = self.contest.take_if(|contest| asked > 0 && asked >= contest.began.0) {
            self.events.push_back(LinkEvent::ClaimRefused(contest.refusal));
        }
    }

    /// Grants the waiting claim, because the present connection is gone.
    pub(super) fn end_contest_granted(&mut self) {
        if self.contest.take().is_some() {
            self.events.push_back(LinkEvent::ClaimGranted);
        }
    }

    /// Returns when a claim is decided even without the present peer's answer.
    pub(super) fn contest_due(&self) -> Time {
        let (Some(contest), Some(connection)) = (&self.contest, &self.connection) else { return Time::NEVER };
        let silent = contest.began.max(connection.heard_at) + Duration::from_millis(LINK_CLAIM_MS);
        silent.min(contest.began + Duration::from_millis(LINK_CLAIM_MS_MAX))
    }

    /// Decides a claim that is due.
    pub(super) fn settle_contest(&mut self, now: Time) {
        let (Some(contest), Some(connection)) = (&self.contest, &self.connection) else { return };
        if now < self.contest_due() {
            return;
        }
        // Frames without an answer may still be on a long way, but not for longer than this.
        let is_there = connection.heard_at + Duration::from_millis(LINK_CLAIM_MS) > now;
        let refusal = contest.refusal.clone();
        self.contest = None;
        self.events.push_back(if is_there { LinkEvent::ClaimRefused(refusal) } else { LinkEvent::ClaimGranted });
    }
}
