//! Route table: the places of agents by name, readable by every thread without a lock.
//!
//! Names are interned ([`NameKey`]), so the table is an array indexed by the name's number: one load answers. It grows
//! in blocks that never move, each twice the one before, so readers need no protection from growth. An entry is one
//! word, so a reader sees either the old route or the new one, never half of each.
//!
//! The number of a forgotten [`Name`](whimbrel_acl::Name) is given to another one. So the code that gives a name a
//! route must keep the name until it has none any more.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use whimbrel_acl::NameKey;

/// Bits of the first block's size: it holds 2^13 entries, the n-th after it 2^(12 + n), as many as all before it.
const FIRST_BLOCK_BITS: u32 = 13;
const BLOCKS: usize = (u32::BITS - FIRST_BLOCK_BITS + 1) as usize;

/// Number of a scheduler shard of this node, from 0.
pub type ShardIndex = u16;

/// Number of another node of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Local route: an agent's place in its shard. Tells two agents apart that had the same name one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalRoute {
    /// Shard that owns the agent.
    pub shard: ShardIndex,
    /// Slot in the shard; `None` while the agent is on its way there (new, or moving).
    pub slot: Option<u32>,
    /// Generation: number of the agent among those of its name, modulo 2^19.
    pub generation: u32,
    /// Overload: the agent's mailbox is so full that senders should slow down.
    pub crowded: bool,
}

/// Place of an agent, as a [`Route`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Unknown agent.
    Unknown,
    /// Agent of this node.
    Local(LocalRoute),
    /// Agent of another node.
    Node(NodeId),
}

/// Route: an entry of the table, packed into a word: kind (2 bits), crowded (1), generation (19), shard (10), slot
/// (32).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Route(u64);

/// Common part of the routes to all agents of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here(u64);

impl Here {
    /// Returns the common part for this shard.
    pub fn of(shard: ShardIndex) -> Self {
        Self(KIND_LOCAL << KIND_SHIFT | (u64::from(shard) & SHARD_MASK) << SHARD_SHIFT)
    }
}

const KIND_SHIFT: u32 = 62;
const KIND_LOCAL: u64 = 1;
const KIND_NODE: u64 = 2;
const CROWDED_BIT: u64 = 1 << 61;
const GENERATION_SHIFT: u32 = 42;
const GENERATION_MASK: u64 = (1 << 19) - 1;
const SHARD_SHIFT: u32 = 32;
const SHARD_MASK: u64 = (1 << 10) - 1;
const NO_SLOT: u32 = u32::MAX;

impl Route {
    /// Route to an unknown agent.
    pub const UNKNOWN: Self = Self(0);
    /// Number of successive agents of one name that are told apart.
    pub const GENERATIONS: u32 = GENERATION_MASK as u32 + 1;
    /// Number of shards that a node can have.
    pub const SHARDS: usize = SHARD_MASK as usize + 1;

    /// Returns the route to an agent of this node.
    pub fn local(to: LocalRoute) -> Self {
        let crowded = if to.crowded { CROWDED_BIT } else { 0 };
        let generation = (u64::from(to.generation) & GENERATION_MASK) << GENERATION_SHIFT;
        let shard = (u64::from(to.shard) & SHARD_MASK) << SHARD_SHIFT;
        Self(KIND_LOCAL << KIND_SHIFT | crowded | generation | shard | u64::from(to.slot.unwrap_or(NO_SLOT)))
    }

    /// Returns the route to an agent of another node.
    pub fn node(id: NodeId) -> Self {
        Self(KIND_NODE << KIND_SHIFT | u64::from(id.0))
    }

    /// Marks the agent as having too much to do, or not.
    #[must_use]
    pub fn with_crowded(self, crowded: bool) -> Self {
        Self(if crowded { self.0 | CROWDED_BIT } else { self.0 & !CROWDED_BIT })
    }

    /// Returns true if senders should slow down.
    pub fn is_crowded(self) -> bool {
        self.0 & CROWDED_BIT != 0
    }

    /// Returns the place.
    pub fn place(self) -> Place {
        match self.0 >> KIND_SHIFT {
            KIND_LOCAL => {
                let slot = self.0 as u32;
                Place::Local(LocalRoute {
                    shard: ((self.0 >> SHARD_SHIFT) & SHARD_MASK) as ShardIndex,
                    slot: (slot != NO_SLOT).then_some(slot),
                    generation: ((self.0 >> GENERATION_SHIFT) & GENERATION_MASK) as u32,
                    crowded: self.0 & CROWDED_BIT != 0,
                })
            }
            KIND_NODE => Place::Node(NodeId(self.0 as u32)),
            _ => Place::Unknown,
        }
    }

    /// Returns the slot, if the agent is in the shard that is `here`, has arrived there, and is not crowded. One
    /// comparison decides this common case.
    #[inline]
    pub fn slot_at(self, here: Here) -> Option<u32> {
        const MASK: u64 = !(GENERATION_MASK << GENERATION_SHIFT | u32::MAX as u64);
        let slot = self.0 as u32;
        (self.0 & MASK == here.0 && slot != NO_SLOT).then_some(slot)
    }

    /// Returns true if the agent is unknown.
    pub fn is_unknown(self) -> bool {
        self == Self::UNKNOWN
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().fmt(f)
    }
}

/// Route table of a node; see the module.
pub struct RouteTable {
    blocks: [OnceLock<Box<[AtomicU64]>>; BLOCKS],
}

impl Default for RouteTable {
    fn default() -> Self {
        Self { blocks: std::array::from_fn(|_| OnceLock::new()) }
    }
}

/// Returns the block that holds entry `index`, and its place in there.
#[inline]
fn locate(index: u32) -> (usize, usize) {
    const FIRST: u32 = 1 << FIRST_BLOCK_BITS;
    // At least the last bit of the first block's numbers, so that there is always a highest bit.
    let bits = (index | FIRST >> 1).ilog2();
    let start = (1u32 << bits) & !(FIRST - 1);
    ((bits - (FIRST_BLOCK_BITS - 1)) as usize, (index - start) as usize)
}

impl RouteTable {
    /// Returns a table in which every name is unknown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the route of messages to `name`.
    #[inline]
    pub fn look_up<'a>(&self, name: impl Into<NameKey<'a>>) -> Route {
        let (block, offset) = locate(name.into().index());
        let entry = self.blocks.get(block).and_then(OnceLock::get).and_then(|entries| entries.get(offset));
        Route(entry.map_or(0, |entry| entry.load(Ordering::Acquire)))
    }

    /// Sets the route of messages to `name`.
    pub fn set<'a>(&self, name: impl Into<NameKey<'a>>, route: Route) {
        if let Some(entry) = self.entry(name.into()) {
            entry.store(route.0, Ordering::Release);
        }
    }

    /// Replaces the route of messages to `name` if it is still `expected`.
    ///
    /// # Errors
    /// The present route, if it is another one.
    pub fn replace<'a>(&self, name: impl Into<NameKey<'a>>, expected: Route, route: Route) -> Result<(), Route> {
        let Some(entry) = self.entry(name.into()) else { return Err(Route::UNKNOWN) };
        let outcome = entry.compare_exchange(expected.0, route.0, Ordering::AcqRel, Ordering::Acquire);
        outcome.map(drop).map_err(Route)
    }

    /// Forgets the route of messages to `name` if they go to this node, crowded or not.
    pub fn clear<'a>(&self, name: impl Into<NameKey<'a>>, node: NodeId) {
        let Some(entry) = self.entry(name.into()) else { return };
        let there = |route| (Route(route).place() == Place::Node(node)).then_some(Route::UNKNOWN.0);
        let _ = entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, there);
    }

    fn entry(&self, name: NameKey<'_>) -> Option<&AtomicU64> {
        let (block, offset) = locate(name.index());
        let size = 1usize << (FIRST_BLOCK_BITS as usize + block.saturating_sub(1));
        let entries = self.blocks.get(block)?.get_or_init(|| (0..size).map(|_| AtomicU64::new(0)).collect());
        entries.get(offset)
    }
}

impl fmt::Debug for RouteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouteTable").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Name, Symbol};

    use super::*;

    fn here(shard: ShardIndex, slot: Option<u32>) -> LocalRoute {
        LocalRoute { shard, slot, generation: 7, crowded: false }
    }

    #[test]
    fn packed_route_round_trips() {
        for local in [
            here(0, Some(0)),
            here((Route::SHARDS - 1) as ShardIndex, Some(u32::MAX - 1)),
            here(3, None),
            LocalRoute { crowded: true, generation: Route::GENERATIONS - 1, ..here(5, Some(9)) },
        ] {
            assert_eq!(Route::local(local).place(), Place::Local(local));
        }
        let first = Route::local(LocalRoute { generation: 0, ..here(5, Some(9)) });
        assert_eq!(Route::local(LocalRoute { generation: Route::GENERATIONS, ..here(5, Some(9)) }), first);
        assert_eq!(Route::node(NodeId(u32::MAX)).place(), Place::Node(NodeId(u32::MAX)));
        let crowded = Route::node(NodeId(7)).with_crowded(true);
        assert_eq!((crowded.place(), crowded.is_crowded()), (Place::Node(NodeId(7)), true));
        assert_eq!(crowded.with_crowded(false), Route::node(NodeId(7)));
        assert_eq!(Route::UNKNOWN.place(), Place::Unknown);
    }

    #[test]
    fn slot_needs_arrived_uncrowded_agent() {
        assert_eq!(Route::local(here(2, Some(9))).slot_at(Here::of(2)), Some(9));
        assert_eq!(Route::local(here(2, Some(9))).slot_at(Here::of(1)), None);
        assert_eq!(Route::local(here(2, None)).slot_at(Here::of(2)), None);
        assert_eq!(Route::local(LocalRoute { crowded: true, ..here(2, Some(9)) }).slot_at(Here::of(2)), None);
        assert_eq!(Route::UNKNOWN.slot_at(Here::of(0)), None);
    }

    #[test]
    fn every_index_has_own_place() {
        let mut expected = 0;
        for block in 0..3 {
            let size = if block == 0 { 8192 } else { 8192 << (block - 1) };
            for offset in 0..size {
                assert_eq!(locate(expected), (block, offset));
                expected += 1;
            }
        }
        assert_eq!(locate(u32::MAX), (BLOCKS - 1, (1 << 31) - 1));
    }

    #[test]
    fn stale_replace_returns_present_route() {
        let table = RouteTable::new();
        let name = Symbol::new("route-test");
        assert!(table.look_up(name).is_unknown());
        let (old, new) = (Route::local(here(0, Some(1))), Route::local(here(1, None)));
        table.set(name, old);
        assert_eq!(table.replace(name, new, old), Err(old));
        assert_eq!(table.replace(name, old, new), Ok(()));
        assert_eq!(table.look_up(name), new);
    }

    #[test]
    fn clear_affects_that_node_only() {
        let (table, name) = (RouteTable::new(), Name::new("route-to-be-cleared"));
        table.set(&name, Route::node(NodeId(7)).with_crowded(true));
        table.clear(&name, NodeId(8));
        assert_eq!(table.look_up(&name).place(), Place::Node(NodeId(7)));
        table.clear(&name, NodeId(7));
        assert!(table.look_up(&name).is_unknown());
        let local = Route::local(here(0, Some(7)));
        table.set(&name, local);
        table.clear(&name, NodeId(7));
        assert_eq!(table.look_up(&name), local);
    }
}
