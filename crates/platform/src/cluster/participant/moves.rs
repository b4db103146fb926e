//! Having a partition served by another node because somebody wants that: an agent that moves, or a person.
//!
//! What is wanted stands in the table ([`Part::wish`](crate::cluster::Part::wish)), and the placer has it handed over as any other
//! partition. So nobody has to remember anything: whoever asked looks what becomes of it, and if its node dies before, the
//! partition still goes there. Where it is then it stays, until somebody takes that back or wants it elsewhere.

use super::levels::LEVEL_WISHES;
use super::{Action, Participant, Phase};
use crate::cluster::member::{Member, MemberState, Nonce};
use crate::durable::Pin;
use crate::mobility::HopError;
use crate::store::Partition;
use crate::time::Time;

/// Somebody here waits for a partition to be on another node.
#[derive(Debug)]
pub(super) struct Ask {
    partition: Partition,
    to: Nonce,
    /// Nobody wanted it there before: whoever asked takes that back if he gives up.
    first: bool,
    /// The table has said that it is wanted there.
    told: bool,
    /// That node serves it, as far as its agents' messages go.
    served: bool,
}

impl Ask {
    fn is(&self, partition: Partition, to: Nonce) -> bool {
        self.partition == partition && self.to == to
    }
}

impl Participant {
    /// Has a partition served by the node of this name. What becomes of that is told by [`Action::Moved`], once.
    ///
    /// # Errors
    /// It cannot be: why.
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

    /// Takes back what somebody wanted of a partition: it may be anywhere again. False if nobody wants it anywhere.
    pub fn ask_to_free(&mut self, partition: Partition) -> bool {
        let is_wished = self.wish_of(partition).is_some() || self.awaited().any(|awaited| awaited == partition);
        // Whoever waits for it hears that, and nobody writes it once more.
        self.asks.iter_mut().filter(|ask| ask.partition == partition).for_each(|ask| ask.told = true);
        if is_wished {
            self.frees.push((partition, None));
        }
        is_wished
    }

    /// Somebody here does not wait any longer for a partition to be on the node of this name. If it was he who wanted it there, and nobody here
    /// waits for that, too, he wants it there no more: what another one wants, here or elsewhere, is none of his.
    pub fn give_up(&mut self, partition: Partition, name: &str) {
        let (roster, asks) = (&self.roster, &self.asks);
        let is_it =
            |ask: &Ask| ask.partition == partition && roster.member(ask.to).is_some_and(|member| member.name == name);
        let his: Vec<usize> = (0..asks.len()).filter(|at| asks.get(*at).is_some_and(is_it)).collect();
        match *his {
            [only] => {
                let Some(ask) = self.asks.get_mut(only).filter(|ask| ask.first) else { return };
                // Nobody writes it once more.
                ask.told = true;
                self.frees.push((partition, Some(ask.to)));
            }
            // Who came first is no more or less than the others now: the last of them takes it back.
            [.., last] => drop(self.asks.remove(last)),
            [] => {}
        }
    }

    /// Partitions that somebody wants on a node, with its name.
    pub fn wishes(&self) -> Vec<(Partition, String)> {
        let Some(table) = &self.table else { return Vec::new() };
        table.value.iter().filter_map(|(partition, part)| Some((partition, self.name_of(part.wish?)))).collect()
    }

    fn wish_of(&self, partition: Partition) -> Option<Nonce> {
        self.table.as_ref()?.value.part(partition)?.wish
    }

    /// Why a partition cannot be on this node, or not go there.
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

    /// Why a node that lives may not have a partition.
    fn why_not(&self, member: &Member, partition: Partition) -> String {
        let bound = |(pin, partitions): &(&Pin, &Vec<Partition>)| partitions.contains(&partition) && !member.suits(pin);
        let pin = self.terms.layout.rules().pins.iter().find(bound).map(|(pin, _)| pin);
        match pin {
            Some(pin) => format!("its partition {} can be served by {pin} only", partition.0),
            None if member.state != MemberState::Running => "it hands over what it has".to_owned(),
            None if member.unreadable().any(|unreadable| unreadable == partition) => {
                format!("it cannot read partition {}", partition.0)
            }
            None => "it stands by, and serves nothing while another node lives".to_owned(),
        }
    }

    /// Partitions that somebody here waits for.
    pub fn awaited(&self) -> impl Iterator<Item = Partition> {
        self.asks.iter().map(|ask| ask.partition)
    }

    /// As far as the agents here know, the node of this name serves a partition.
    pub fn is_served_by(&mut self, partition: Partition, name: &str) {
        for ask in self.asks.iter_mut().filter(|ask| ask.partition == partition) {
            ask.served = self.roster.member(ask.to).is_some_and(|member| member.name == name);
        }
    }

    /// What became of what somebody waits for, if that is known by now.
    pub(super) fn moved(&mut self, now: Time) -> Option<Action> {
        let table = self.table.as_ref().map(|table| &table.value);
        for ask in &mut self.asks {
            let part = table.and_then(|table| table.part(ask.partition));
            ask.told |= part.is_some_and(|part| part.wish == Some(ask.to));
        }
        let (place, outcome) = (0..).zip(&self.asks).find_map(|(place, ask)| Some((place, self.outcome(ask, now)?)))?;
        let Ask { partition, to, .. } = self.asks.remove(place);
        Some(Action::Moved { partition, to, outcome })
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

    /// Writes into the table what is wanted and does not stand there, or is wanted no more and does.
    pub(super) fn write_wishes(&mut self) -> Option<Action> {
        let mut table = self.table.as_ref()?.value.clone();
        // By now somebody else may want it elsewhere.
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
