//! Holdings: the partitions that a node serves, beside those that the table gives it.

use std::collections::BTreeMap;

use super::member::Nonce;
use super::placement::Placement;
use crate::store::{Epoch, Partition};

/// Holdings of one node: the partitions that it serves, is about to serve, or no longer serves.
///
/// Inputs: the table ([`Holdings::duties`]) and the outcomes of what was begun ([`Holdings::adopted`],
/// [`Holdings::yielded`] and their negatives). Outputs: [`Duties`]. Each duty must be begun, and its outcome told,
/// before the same partition gets another duty.
#[derive(Debug, Default)]
pub struct Holdings(BTreeMap<Partition, (Epoch, Holding)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    Adopting,
    Served,
    Yielding,
    /// Partition whose agents were told to stop, and did not all: it cannot be served again, so yielding is retried.
    Stuck,
    /// Partition that is no longer served; the table does not say so yet.
    Yielded,
    /// Partition that cannot be served here: another node may take it.
    Unreadable,
}

/// Duties of a node by a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duties {
    /// Partitions to begin to serve.
    pub adopt: Vec<(Partition, Epoch)>,
    /// Partitions to stop serving.
    pub yield_up: Vec<Partition>,
    /// Partitions that are no longer served, to write into the table ([`Placement::hand_over`]).
    pub hand_over: Vec<Partition>,
    /// True if another node has a partition that this node did not hand over. Others took this node for dead then, and
    /// it must end.
    pub deposed: bool,
}

impl Holdings {
    /// Returns the duties of `me` by a table. A duty that was begun is not repeated until its outcome is told.
    /// Handovers are repeated until the table shows them.
    pub fn duties(&mut self, table: &Placement, me: Nonce) -> Duties {
        let mut duties = Duties::default();
        for (partition, part) in table.iter() {
            let held = self.0.get(&partition).copied();
            let is_mine = part.owner == Some(me);
            match held {
                // The table is older than one that this node has seen.
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

    /// Notes that these partitions are served.
    pub fn adopted(&mut self, partitions: &[(Partition, Epoch)]) {
        for (partition, epoch) in partitions {
            self.0.insert(*partition, (*epoch, Holding::Served));
        }
    }

    /// Notes that a partition could not be served: it is to be adopted again.
    pub fn not_adopted(&mut self, partition: Partition) {
        self.0.remove(&partition);
    }

    /// Notes that a partition can never be served here.
    pub fn unreadable(&mut self, partition: Partition) {
        self.set(&[partition], Holding::Unreadable);
    }

    /// Notes that these partitions are no longer served.
    pub fn yielded(&mut self, partitions: &[Partition]) {
        self.set(partitions, Holding::Yielded);
    }

    /// Notes that a partition's agents did not all stop: it is to be yielded again.
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

    /// Returns the partitions that are served.
    pub fn served(&self) -> impl Iterator<Item = Partition> {
        self.0.iter().filter(|(_, (_, holding))| *holding == Holding::Served).map(|(partition, _)| *partition)
    }

    /// Returns true if no partition is served, about to be served, or still to be handed over.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|(_, holding)| *holding == Holding::Unreadable)
    }
}
