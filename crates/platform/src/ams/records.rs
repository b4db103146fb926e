//! Table of the AMS: a record per agent, found by name, kept in order of creation.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Symbol};

use super::{AgentKind, AgentState};
use crate::Time;

/// Record of one agent in the AMS. A million of them are in memory at once: keep it small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentRecord {
    /// Name and addresses, without the name of this platform.
    pub aid: Aid,
    /// Owner; empty if there is none.
    pub owner: Symbol,
    /// Time of creation.
    pub created: Time,
    /// Kind of body.
    pub kind: AgentKind,
    /// State in the life cycle.
    pub state: AgentState,
    /// Pending end: the agent was told to end and has not ended yet.
    pub ending: bool,
}

/// Records by name and in order of creation. A removed record leaves a hole. Holes are closed when they outnumber the
/// records, so every operation takes constant time on average.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Index of each agent's record, by its local name.
    places: FxHashMap<Symbol, u32>,
    in_order: Vec<Option<AgentRecord>>,
    /// Records of the platform's own agents.
    services: usize,
    /// Number of agents added so far, without the platform's own.
    agents_added: u64,
}

impl Records {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of records, without the platform's own agents.
    pub fn agents(&self) -> usize {
        self.places.len() - self.services
    }

    /// Returns the number of agents added so far, without the platform's own.
    pub fn agents_added(&self) -> u64 {
        self.agents_added
    }

    pub fn contains(&self, name: Symbol) -> bool {
        self.places.contains_key(&name)
    }

    pub fn find(&self, name: Symbol) -> Option<&AgentRecord> {
        let place = *self.places.get(&name)?;
        self.in_order.get(place as usize)?.as_ref()
    }

    pub fn find_mut(&mut self, name: Symbol) -> Option<&mut AgentRecord> {
        let place = *self.places.get(&name)?;
        self.in_order.get_mut(place as usize)?.as_mut()
    }

    /// Reserves room for this many more records.
    pub fn reserve(&mut self, count: usize) {
        self.places.reserve(count);
        self.in_order.reserve_exact(count);
    }

    /// Adds a record whose name is free.
    pub fn add(&mut self, record: AgentRecord) {
        let taken = self.places.insert(record.aid.name, self.in_order.len() as u32);
        debug_assert!(taken.is_none(), "{} has a record already", record.aid);
        let is_service = record.kind == AgentKind::Service;
        self.services += usize::from(is_service);
        self.agents_added += u64::from(!is_service);
        self.in_order.push(Some(record));
    }

    pub fn remove(&mut self, name: Symbol) -> Option<AgentRecord> {
        let place = self.places.remove(&name)?;
        let record = self.in_order.get_mut(place as usize)?.take();
        let is_service = record.is_some_and(|record| record.kind == AgentKind::Service);
        self.services -= usize::from(is_service);
        if self.in_order.len() > 64 && self.in_order.len() > 2 * self.places.len() {
            self.close_holes();
        }
        record
    }

    /// Returns all records, in order of creation.
    pub fn iter(&self) -> impl Iterator<Item = &AgentRecord> {
        self.in_order.iter().flatten()
    }

    /// Returns the bytes of the table, index included.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(Symbol, u32)>() + 1;
        // The index keeps one entry in eight free and has a power of two of them.
        let entries = (self.places.capacity() * 8 / 7).next_power_of_two();
        self.in_order.capacity() * size_of::<Option<AgentRecord>>() + entries * entry
    }

    fn close_holes(&mut self) {
        self.in_order.retain(Option::is_some);
        self.in_order.shrink_to(self.places.len() * 2);
        self.places.shrink_to(self.places.len() * 2);
        for (place, record) in self.in_order.iter().flatten().enumerate() {
            self.places.insert(record.aid.name, place as u32);
        }
    }
}

impl FromIterator<AgentRecord> for Records {
    fn from_iter<I: IntoIterator<Item = AgentRecord>>(records: I) -> Self {
        let mut table = Self::default();
        records.into_iter().for_each(|record| table.add(record));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> AgentRecord {
        AgentRecord {
            aid: Aid::local(name),
            owner: Symbol::default(),
            created: Time::ZERO,
            kind: AgentKind::Native,
            state: AgentState::Active,
            ending: false,
        }
    }

    #[test]
    fn order_of_creation_survives_removals() {
        let mut records: Records = (0..1000).map(|i| record(&format!("r{i}"))).collect();
        for i in 0..1000 {
            if i % 10 != 0 {
                assert!(records.remove(Symbol::new(&format!("r{i}"))).is_some());
            }
        }
        let (length, capacity) = (records.in_order.len(), records.in_order.capacity());
        assert!(capacity < 600 && capacity > length, "memory is given back, but for newcomers: {capacity}, {length}");
        records.add(record("r1"));
        let names: Vec<&str> = records.iter().map(|record| record.aid.name.as_str()).collect();
        assert_eq!(names.len(), 101);
        assert_eq!((names[0], names[1], names[99], names[100]), ("r0", "r10", "r990", "r1"));
        assert_eq!((records.agents(), records.agents_added()), (101, 1001));
        assert!(records.in_order.len() < 300, "holes are closed");
        assert_eq!(records.find("r990".into()).map(|record| record.aid), Some(Aid::local("r990")));
        assert_eq!(records.find("r991".into()), None);
    }
}
