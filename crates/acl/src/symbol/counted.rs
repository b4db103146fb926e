//! Table of counted names, which are forgotten with their last holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hashbrown::HashTable;

use super::{NAMES, NameShard, NameTable, Symbol, spread};

/// A counted name. After its last holder is gone, its text is freed and its number is given again.
pub(crate) struct CountedName {
    /// Number of holders. It rises from 0 only under the lock of the shard.
    holders: AtomicU32,
    id: u32,
    hash: u32,
    /// True if this text has a symbol, so that its number is never given again. Written under the lock of the shard.
    is_kept: AtomicBool,
    text: Box<str>,
}

/// One holder's share of a counted name.
pub(crate) struct NameShare(Arc<CountedName>);

impl NameShare {
    /// Adds a holder. The caller is one already, or has the lock of the shard.
    fn of(counted: &Arc<CountedName>) -> Self {
        counted.holders.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counted))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the symbol of this text, if there is one.
    pub(crate) fn symbol(&self) -> Option<Symbol> {
        // The lock orders this load with a thread that makes the symbol. Either the symbol is seen here, or that
        // thread sees all effects of the caller before this call.
        let _shard = NAMES.shard_of(self.0.hash);
        self.0.is_kept.load(Ordering::Relaxed).then_some(Symbol(self.0.id))
    }
}

impl Clone for NameShare {
    fn clone(&self) -> Self {
        Self::of(&self.0)
    }
}

impl Drop for NameShare {
    fn drop(&mut self) {
        if self.0.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            NAMES.shard_of(self.0.hash).counted.forget(&self.0);
        }
    }
}

/// Returns the symbol of a text, if there is one, else its counted name, made if it is new.
pub(crate) fn count(text: &str) -> Result<Symbol, NameShare> {
    let names: &NameTable = &NAMES;
    let (hash, mut shard) = names.shard(text);
    if let Some(id) = names.find(&shard, hash, text) {
        return Ok(Symbol(id));
    }
    if let Some(counted) = shard.counted.find(hash, text) {
        return Err(NameShare::of(counted));
    }
    let id = names.free_id(&mut shard);
    let shard: &mut NameShard = &mut shard;
    Err(shard.counted.add(id, hash, text))
}

/// A counted name in a shard's table, with its hash: looking up another one does not read this one's text.
struct CountedEntry {
    hash: u32,
    name: Arc<CountedName>,
}

/// The counted names of a shard.
#[derive(Default)]
pub(super) struct CountedNames {
    names: HashTable<CountedEntry>,
    /// Numbers of names that were forgotten.
    free: Vec<u32>,
}

impl CountedNames {
    pub(super) fn contains(&self, hash: u32, text: &str) -> bool {
        self.find(hash, text).is_some()
    }

    fn find(&self, hash: u32, text: &str) -> Option<&Arc<CountedName>> {
        let same = |entry: &CountedEntry| entry.hash == hash && *entry.name.text == *text;
        self.names.find(spread(hash), same).map(|entry| &entry.name)
    }

    fn add(&mut self, id: u32, hash: u32, text: &str) -> NameShare {
        let is_kept = AtomicBool::new(false);
        let name = Arc::new(CountedName { holders: AtomicU32::new(0), id, hash, is_kept, text: text.into() });
        let share = NameShare::of(&name);
        self.names.insert_unique(spread(hash), CountedEntry { hash, name }, |entry| spread(entry.hash));
        share
    }

    /// Takes out the name of this text and returns its number, which is a symbol's from now on.
    pub(super) fn keep(&mut self, hash: u32, text: &str) -> Option<u32> {
        let same = |entry: &CountedEntry| entry.hash == hash && *entry.name.text == *text;
        let (entry, _) = self.names.find_entry(spread(hash), same).ok()?.remove();
        entry.name.is_kept.store(true, Ordering::Relaxed);
        Some(entry.name.id)
    }

    /// Forgets a name whose last holder is gone, unless it was found again, forgotten or made permanent since.
    fn forget(&mut self, counted: &Arc<CountedName>) {
        if counted.holders.load(Ordering::Acquire) > 0 {
            return;
        }
        let same = |entry: &CountedEntry| Arc::ptr_eq(&entry.name, counted);
        if let Ok(entry) = self.names.find_entry(spread(counted.hash), same) {
            entry.remove();
            self.free.push(counted.id);
        }
        if self.names.capacity() > SPARE_PLACES && self.names.len() < self.names.capacity() / 8 {
            self.names.shrink_to(2 * self.names.len(), |entry| spread(entry.hash));
        }
    }

    pub(super) fn free_id(&mut self) -> Option<u32> {
        self.free.pop()
    }
}

/// Places that a shard's table keeps for names to come.
const SPARE_PLACES: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_table_shrinks() {
        let mut table = CountedNames::default();
        let mut shares: Vec<NameShare> =
            (0..10 * SPARE_PLACES as u32).map(|id| table.add(id, id, &format!("sparse-{id}"))).collect();
        let places = table.names.capacity();
        let forget_one = |table: &mut CountedNames, shares: &mut Vec<NameShare>| {
            let counted = Arc::clone(&shares.pop().expect("one is left").0);
            table.forget(&counted);
        };
        while shares.len() >= places / 8 {
            assert_eq!(table.names.capacity(), places, "at {} names: growing again would cost more", shares.len());
            forget_one(&mut table, &mut shares);
        }
        assert!(table.names.capacity() <= places / 2, "{}", table.names.capacity());
        while !shares.is_empty() {
            forget_one(&mut table, &mut shares);
        }
        assert!(table.names.capacity() <= SPARE_PLACES, "{}", table.names.capacity());
        assert_eq!((table.names.len(), table.free.len()), (0, 10 * SPARE_PLACES));
    }
}
