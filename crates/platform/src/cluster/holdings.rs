//! What this node serves, beside what the table says that it should.

use std::collections::BTreeMap;

use super::member::Nonce;
use super::placement::Placement;
use crate::store::{Epoch, Partition};

/// The partitions of one node: which it serves, is about to serve, or serves no longer.
///
/// [`Holdings::duties`] says what is to be begun; whoever does that tells what came of it.
#[derive(Debug, Default)]
pub struct Holdings(BTreeMap<Partition, (Epoch, Holding)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    Adopting,
    Served,
    Yielding,
    /// Its agents were told to stop, and some did not: there is no way back, but it is to be tried again.
    Stuck,
    /// Served no longer; the table does not say so yet.
    Yielded,
    /// It cannot be served here: another node may have it, if one is to.
    Unreadable,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duties {
    /// To serve.
    pub adopt: Vec<(Partition, Epoch)>,
    /// To serve no longer.
    pub yield_up: Vec<Partition>,
    /// Served no longer: the table is to say so ([`Placement::hand_over`]).
    pub hand_over: Vec<Partition>,
    /// Another node has one that this node did not hand over: it was taken for dead, and must end.
    pub deposed: bool,
}

impl Holdings {
    /// What `me` is to do, by a table. What is begun is not told again, until it is told what came of it; what is to be handed over
    /// is told until the table says so.
    pub fn duties(&mut self, table: &Placement, me: Nonce) -> Duties {
        let mut duties = Duties::default();
        for (partition, part) in table.iter() {
            let held = self.0.get(&partition).copied();
            let is_mine = part.owner == Some(me);
            match held {
                // An old table: this node has seen a newer one.
                Some((epoch, _)) if part.epoch < epoch => {}
                Some((epoch, holding)) if is_mine && part.epoch == epoch => match holding {
                    Holding::Yielded => duties.hand_over.push(partition),
                    Holding::Stuck => duties.yield_up.push(partition),
                    Holding::Served if part.next.is_some_and(|next| next != me) => duties.yield_up.push(partition),
                    Holding::Unreadable if part.next.is_some_and(|next| next != me) => duties.hand_over.push(partition),
                    Holding::Served | Holding::Adopting | Holding::Yielding | Holding::Unreadable => {}
                },
                Some((_, Holding::Yielded | Holding::Unreadable)) | None => {
                    self.0.remove(&partition);
                    if is_mine {
                        duties.adopt.push((partition, part.epoch));
                    }
                }
                Some(_) => duties.deposed = true,
            }
        }
        for (partition, epoch) in &duties.adopt {
            self.0.insert(*partition, (*epoch, Holding::Adopting));
        }
        self.set(&duties.yield_up, Holding::Yielding);
        duties
    }

    /// These are served.
    pub fn adopted(&mut self, partitions: &[(Partition, Epoch)]) {
        for (partition, epoch) in partitions {
            self.0.insert(*partition, (*epoch, Holding::Served));
        }
    }

    /// This one could not be served: it is to be adopted again.
    pub fn not_adopted(&mut self, partition: Partition) {
        self.0.remove(&partition);
    }

    /// This one cannot be served here, whatever is tried.
    pub fn unreadable(&mut self, partition: Partition) {
        self.set(&[partition], Holding::Unreadable);
    }

    /// These are served no longer.
    pub fn yielded(&mut self, partitions: &[Partition]) {
        self.set(partitions, Holding::Yielded);
    }

    /// This one's agents did not all stop: it is to be yielded again.
    pub fn not_yielded(&mut self, partition: Partition) {
        self.set(&[partition], Holding::Stuck);
    }

    fn set(&mut self, partitions: &[Partition], to: Holding) {
        for partition in partitions {
            if let Some((_, holding)) = self.0.get_mut(partition) {
                *holding = to;
            }
        }
    }

    /// What is served.
    pub fn served(&self) -> impl Iterator<Item = Partition> {
        self.0.iter().filter(|(_, (_, holding))| *holding == Holding::Served).map(|(partition, _)| *partition)
    }

    /// Whether nothing is served, nor about to be, nor to be handed over still.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|(_, holding)| *holding == Holding::Unreadable)
    }
}
