//! Map of recent entries.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Map that forgets the entries that were not inserted for the longest time. It keeps the maximal number of entries, or
/// at least half of it.
pub(super) struct RecentMap<K, V> {
    new: FxHashMap<K, V>,
    old: FxHashMap<K, V>,
    entries_max: usize,
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    pub fn new(entries_max: usize) -> Self {
        Self { new: FxHashMap::default(), old: FxHashMap::default(), entries_max }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.new.get(key).or_else(|| self.old.get(key))
    }

    /// Inserts an entry. Returns true if others were forgotten for it.
    pub fn insert(&mut self, key: K, value: V) -> bool {
        let full = self.new.len() >= self.entries_max / 2 && !self.new.contains_key(&key);
        let forgets = full && !self.old.is_empty();
        if full {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(key, value);
        forgets
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.new.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_entries_stay_within_limit() {
        let mut recent = RecentMap::new(8);
        let mut forgot = 0;
        for number in 0..1_000 {
            forgot += usize::from(recent.insert(number, number));
            recent.insert(0, number);
            assert!(recent.len() <= 8);
            assert_eq!(recent.get(&0), Some(&number));
            assert!(recent.get(&number).is_some());
        }
        assert!(forgot > 100 && recent.get(&1).is_none());
    }
}
