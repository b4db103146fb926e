//! Requested moves: a partition goes to another node because an agent that moves, or a person, asks for it.
//!
//! The wish stands in the table ([`PlacementRow::wish`](crate::cluster::PlacementRow::wish)), and the placer has the
//! partition handed over like any other. So no node has to remember the wish: if the node that asked dies, the
//! partition still moves. The partition stays there until the wish is taken back or replaced.

use super::levels::LEVEL_WISHES;
use super::{ClusterAction, Participant, Phase};
use crate::cluster::member::{Member, MemberPhase, Nonce};
use crate::durable::Pin;
use crate::mobility::HopError;
use crate::store::Partition;
use crate::time::Time;

/// Caller on this node that waits for a partition to move to another node.
#[derive(Debug)]
pub(super) struct Ask {
    partition: Partition,
    to: Nonce,
    /// Ownership of the wish: this caller was the first to want the partition there. If it gives up, the wish is taken
    /// back.
    first: bool,
    /// Appearance of the wish in the table.
    told: bool,
    /// True if that node serves the partition, as far as this node's agents know.
    served: bool,
}

impl Ask {
    fn is(&self, partition: Partition, to: Nonce) -> bool {
        self.partition == partition && self.to == to
    }
}

impl Participant {
    /// Asks for a partition to be served by the node of this name. [`ClusterAction::Moved`] reports the outcome, once.
    ///
    /// # Errors
    /// The reason why the partition cannot move there.
    pub fn ask_to_move(&mut self, partition: Partition, name: &str, now: Time) -> Result<Nonce, HopError> {
        if self.phase != Phase::Serving || self.leaving {
            return Err(HopError::Stopping);
        }
        if self.terms.alone {
            let why = "its society is kept in a folder, by one process; agents move among nodes that share a store (`whimbrel up`)";
            return Err(HopError::NotMovable(why.to_owned()));
        }
        let found = self.roster.living(now).find(|(_, member)| member.name == name && member.takes_part());
        let Some((to, _)) = found else { return Err(HopError::NoSuchNode(name.into())) };
        if let Some(why) = self.objection_to_move(partition, to, now) {
            return Err(why);
        }
        let part = self.table.as_ref().and_then(|table| table.value.part(partition)).copied().unwrap_or_default();
        if part.owner == Some(to) && part.next.is_none() && part.wish.is_none_or(|wish| wish == to) {
            return Err(HopError::AlreadyThere(name.into()));
        }
        self.frees.retain(|(free, _)| *free != partition);
        let first = part.wish != Some(to) && !self.asks.iter().any(|ask| ask.is(partition, to));
        self.asks.push(Ask { partition, to, first, told: false, served: false });
        Ok(to)
    }

    /// Takes back the wish for a partition: it may be anywhere again. Returns false if there is no wish.
    pub fn ask_to_free(&mut self, partition: Partition) -> bool {
        let is_wished = self.wish_of(partition).is_some() || self.awaited().any(|awaited| awaited == partition);
        // Callers that wait learn of it, and the wish is not written again.
        self.asks.iter_mut().filter(|ask| ask.partition == partition).for_each(|ask| ask.told = true);
        if is_wished {
            self.frees.push((partition, None));
        }
        is_wished
    }

    /// Stops waiting for a partition to move to the node of this name. Takes the wish back if this caller made it and
    /// no other caller on this node waits for the same move. Wishes of others stay.
    pub fn give_up(&mut self, partition: Partition, name: &str) {
        let (roster, asks) = (&self.roster, &self.asks);
        let is_it =
            |ask: &Ask| ask.partition == partition && roster.member(ask.to).is_some_and(|member| member.name == name);
        let his: Vec<usize> = (0..asks.len()).filter(|at| asks.get(*at).is_some_and(is_it)).collect();
        match *his {
            [only] => {
                let Some(ask) = self.asks.get_mut(only).filter(|ask| ask.first) else { return };
                // The wish is not written again.
                ask.told = true;
                self.frees.push((partition, Some(ask.to)));
            }
            // The first caller no longer counts more than the others: the last one to give up takes the wish back.
            [.., last] => drop(self.asks.remove(last)),
            [] => {}
        }
    }

    /// Returns the partitions with a wish, and the name of the wished node.
    pub fn wishes(&self) -> Vec<(Partition, String)> {
        let Some(table) = &self.table else { return Vec::new() };
        table.value.iter().filter_map(|(partition, part)| Some((partition, self.name_of(part.wish?)))).collect()
    }

    fn wish_of(&self, partition: Partition) -> Option<Nonce> {
        self.table.as_ref()?.value.part(partition)?.wish
    }

    /// Returns the reason why a partition cannot go to this node, or stay on it.
    fn objection_to_move(&self, partition: Partition, to: Nonce, now: Time) -> Option<HopError> {
        let not_movable = |why: String| Some(HopError::NotMovable(why));
        if self.level() < LEVEL_WISHES {
            return not_movable("a node of an earlier release takes part, which knows nothing of that".to_owned());
        }
        let rules = self.terms.layout.rules();
        if rules.apart.iter().any(|apart| apart.contains(&partition)) {
            return not_movable(format!("its partition {} is kept apart from others", partition.0));
        }
        let node = self.name_of(to).as_str().into();
        let Some(member) = self.roster.member(to).filter(|_| !self.roster.is_dead(to, now)) else {
            return Some(HopError::Unreachable(node));
        };
        let may = self.candidates(now).iter().any(|one| one.node == to && !one.without.contains(&partition));
        (!may).then(|| HopError::Refused { node, reason: self.why_not(member, partition) })
    }

    /// Returns the reason why a living node may not have a partition.
    fn why_not(&self, member: &Member, partition: Partition) -> String {
        let bound = |(pin, partitions): &(&Pin, &Vec<Partition>)| partitions.contains(&partition) && !member.suits(pin);
        let pin = self.terms.layout.rules().pins.iter().find(bound).map(|(pin, _)| pin);
        match pin {
            Some(pin) => format!("its partition {} can be served by {pin} only", partition.0),
            None if member.state != MemberPhase::Running => "it hands over what it has".to_owned(),
            None if member.unreadable().any(|unreadable| unreadable == partition) => {
                format!("it cannot read partition {}", partition.0)
            }
            None => "it stands by, and serves nothing while another node lives".to_owned(),
        }
    }

    /// Returns the partitions whose moves callers on this node wait for.
    pub fn awaited(&self) -> impl Iterator<Item = Partition> {
        self.asks.iter().map(|ask| ask.partition)
    }

    /// Notes that the node of this name serves a partition, by what this node's agents know.
    pub fn is_served_by(&mut self, partition: Partition, name: &str) {
        for ask in self.asks.iter_mut().filter(|ask| ask.partition == partition) {
            ask.served = self.roster.member(ask.to).is_some_and(|member| member.name == name);
        }
    }

    /// Returns the outcome of a move that a caller waits for, if there is one by now.
    pub(super) fn moved(&mut self, now: Time) -> Option<ClusterAction> {
        let table = self.table.as_ref().map(|table| &table.value);
        for ask in &mut self.asks {
            let part = table.and_then(|table| table.part(ask.partition));
            ask.told |= part.is_some_and(|part| part.wish == Some(ask.to));
        }
        let (place, outcome) = (0..).zip(&self.asks).find_map(|(place, ask)| Some((place, self.outcome(ask, now)?)))?;
        let Ask { partition, to, .. } = self.asks.remove(place);
        Some(ClusterAction::Moved { partition, to, outcome })
    }

    fn outcome(&self, ask: &Ask, now: Time) -> Option<Result<(), HopError>> {
        let part = self.table.as_ref()?.value.part(ask.partition)?;
        if part.owner == Some(ask.to) && part.next.is_none() && ask.served {
            return Some(Ok(()));
        }
        if part.wish == Some(ask.to) {
            return None;
        }
        let objection = self.objection_to_move(ask.partition, ask.to, now).map(Err);
        let other = || {
            let (node, reason) = (self.name_of(ask.to).as_str().into(), "nobody wants it there any more".to_owned());
            Err(HopError::Busy { node, reason })
        };
        objection.or_else(|| ask.told.then(other))
    }

    /// Writes new wishes into the table, and removes those that were taken back.
    pub(super) fn write_wishes(&mut self) -> Option<ClusterAction> {
        let mut table = self.table.as_ref()?.value.clone();
        // By now there may be another wish.
        let is_wished = |(partition, to): &(Partition, Option<Nonce>)| {
            let wish = table.part(*partition).and_then(|part| part.wish);
            wish.is_some_and(|wish| to.is_none_or(|to| to == wish))
        };
        self.frees.retain(is_wished);
        self.frees.iter().for_each(|(partition, _)| table.unwish(*partition));
        let untold = self.asks.iter().filter(|ask| !ask.told);
        let count = untold.map(|ask| table.wish(ask.partition, ask.to)).count() + self.frees.len();
        (count > 0).then(|| self.write_table(table))
    }
}
