//! Queue whose items are found by hashes, and taken from anywhere, in time that does not grow with its length.
//!
//! Each item has a place: a number that stays. An item taken from between others leaves a gap. The index is made when
//! an item is looked for among many. A queue from which items are only taken in their order has neither.

use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Number of items from which they are found by an index.
const INDEXED_FROM: usize = 32;

/// Gaps, and outdated entries of the index, that are kept beside as many as there are items.
const OUTDATED_MAX: usize = 256;

/// Place of the first item at first: others may come before it.
const FIRST_PLACE: u64 = 1 << 32;

/// Bytes of an entry of the index, roughly.
const ENTRY_BYTES: usize = 48;

/// Item of a [`PlacedQueue`] that is found by hashes.
pub trait Indexed {
    /// Calls `each` with each hash by which the item is found.
    fn hashes(&self, each: &mut dyn FnMut(u64));
}

/// Queue whose items are found by hashes; see the module.
#[derive(Debug)]
pub struct PlacedQueue<T> {
    /// Items, and gaps between them. The first one is no gap.
    items: VecDeque<Option<T>>,
    /// Places of the items, made when an item is looked for.
    places: OnceCell<Box<QueuePlaces>>,
}

/// Places of a queue's items.
#[derive(Debug)]
struct QueuePlaces {
    /// Place of the first item.
    first: u64,
    gaps: usize,
    index: RefCell<HashIndex>,
}

#[derive(Debug, Default)]
struct HashIndex {
    by_hash: FxHashMap<u64, SmallVec<[u64; 1]>>,
    entries: usize,
    /// Place of the first item that is not entered yet.
    next: u64,
}

impl Default for QueuePlaces {
    fn default() -> Self {
        Self { first: FIRST_PLACE, gaps: 0, index: RefCell::default() }
    }
}

impl<T> Default for PlacedQueue<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), places: OnceCell::new() }
    }
}

impl<T> PlacedQueue<T> {
    /// Returns true if the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len() - self.places.get().map_or(0, |places| places.gaps)
    }

    /// Puts an item behind all others.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        if self.items.capacity() == 0 {
            // Most agents hold one item at a time: room for one, not the usual four.
            self.items.reserve_exact(1);
        }
        self.items.push_back(Some(item));
    }

    /// Takes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = self.items.pop_front()??;
        if self.places.get().is_some() {
            self.first_is_gone();
        }
        Some(item)
    }

    /// Takes the last item.
    pub fn pop_back(&mut self) -> Option<T> {
        let item = self.items.pop_back()??;
        self.trim();
        Some(item)
    }

    /// Returns the first item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.items.front()?.as_ref()
    }

    /// Returns the last item.
    pub fn back(&self) -> Option<&T> {
        self.items.back()?.as_ref()
    }

    /// Iterates over all items, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().flatten()
    }

    /// Takes all items.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.places.take();
        std::mem::take(&mut self.items).into_iter().flatten()
    }

    /// Takes the first items, this many at most.
    pub fn remove_first(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.pop_front()));
    }

    /// Returns the item in a place.
    pub fn get(&self, place: u64) -> Option<&T> {
        self.items.get(self.number(place)?)?.as_ref()
    }

    /// Takes the item in a place.
    pub fn take(&mut self, place: u64) -> Option<T> {
        let number = self.number(place)?;
        let places = self.places.get_mut()?;
        let item = self.items.get_mut(number)?.take()?;
        places.gaps += 1;
        self.trim();
        Some(item)
    }

    /// Returns the memory of the index in bytes, roughly.
    pub fn index_bytes(&self) -> usize {
        self.places.get().map_or(0, |places| {
            size_of::<QueuePlaces>()
                + places.gaps * size_of::<Option<T>>()
                + places.index.borrow().entries * ENTRY_BYTES
        })
    }

    fn number(&self, place: u64) -> Option<usize> {
        Some(place.checked_sub(self.places.get()?.first)? as usize)
    }

    #[cold]
    fn first_is_gone(&mut self) {
        if let Some(places) = self.places.get_mut() {
            places.first += 1;
        }
        self.trim();
    }

    /// Drops gaps before the first item and behind the last one, and the index if there are no items.
    fn trim(&mut self) {
        let Some(places) = self.places.get_mut() else { return };
        while let Some(None) = self.items.front() {
            self.items.pop_front();
            places.first += 1;
            places.gaps -= 1;
        }
        while let Some(None) = self.items.back() {
            self.items.pop_back();
            places.gaps -= 1;
        }
        if self.items.is_empty() {
            self.places.take();
        } else {
            // An item in a place of one that is gone is to be entered.
            let index = places.index.get_mut();
            index.next = index.next.min(places.first + self.items.len() as u64);
        }
    }

    /// Closes the gaps if they are many. The items have other places then, so no caller may hold one.
    #[inline(always)]
    pub fn close_gaps(&mut self) {
        if self.places.get().is_some_and(|places| places.gaps > self.len() + OUTDATED_MAX) {
            self.move_together();
        }
    }

    #[cold]
    #[inline(never)]
    fn move_together(&mut self) {
        self.items = self.take_all().map(Some).collect();
    }
}

impl<T: Indexed> PlacedQueue<T> {
    /// Puts an item before the one that `number` others are before.
    pub fn insert(&mut self, number: usize, item: T) {
        if number == 0
            && let Some(places) = self.places.get_mut()
        {
            places.first -= 1;
            places.enter(places.first, &item);
            self.items.push_front(Some(item));
            return;
        }
        if self.places.take().is_some() {
            self.items.retain(Option::is_some);
        }
        self.items.insert(number.min(self.items.len()), Some(item));
    }

    /// Puts an item in the place from which another one was [taken](Self::take), or before what is there now.
    pub fn put_back(&mut self, place: u64, item: T) {
        let number = self.places.get().and_then(|places| place.checked_sub(places.first));
        let (Some(number), Some(places)) = (number, self.places.get_mut()) else { return self.insert(0, item) };
        match self.items.get_mut(number as usize) {
            None => self.items.push_back(Some(item)),
            Some(gap) if gap.is_none() => {
                places.enter(place, &item);
                places.gaps -= 1;
                *gap = Some(item);
            }
            Some(_) => {
                self.places.take();
                self.items.insert(number as usize, Some(item));
                self.items.retain(Option::is_some);
            }
        }
    }

    /// Returns the places of the items that may have one of these hashes, the first one first. Returns the places of
    /// all items if there are few, or no hashes are known.
    pub fn about(&self, hashes: Option<&[u64]>) -> Vec<u64> {
        if self.items.is_empty() {
            return Vec::new();
        }
        let places = self.places.get_or_init(Box::default);
        let all =
            || (places.first..).zip(&self.items).filter_map(|(place, item)| item.as_ref().map(|_| place)).collect();
        let Some(hashes) = hashes.filter(|_| self.items.len() >= INDEXED_FROM) else { return all() };
        let mut index = places.index.borrow_mut();
        if index.entries > 4 * self.len() + OUTDATED_MAX {
            *index = HashIndex::default();
        }
        let from = index.next.max(places.first);
        let index = &mut *index;
        let entered = ((from - places.first) as usize).min(self.items.len());
        for (place, item) in (from..).zip(self.items.range(entered..)) {
            if let Some(item) = item {
                index.enter(place, item);
            }
        }
        index.next = places.first + self.items.len() as u64;
        let mut found = Vec::new();
        for hash in hashes {
            let Some(entries) = index.by_hash.get_mut(hash) else { continue };
            let before = entries.len();
            entries.retain(|place| self.get(*place).is_some());
            index.entries -= before - entries.len();
            found.extend_from_slice(entries);
            if entries.is_empty() {
                index.by_hash.remove(hash);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl QueuePlaces {
    /// Enters an item in a place that the index has come past.
    fn enter(&mut self, place: u64, item: &impl Indexed) {
        let index = self.index.get_mut();
        if place < index.next {
            index.enter(place, item);
        }
    }
}

impl HashIndex {
    fn enter(&mut self, place: u64, item: &impl Indexed) {
        item.hashes(&mut |hash| {
            self.by_hash.entry(hash).or_default().push(place);
            self.entries += 1;
        });
    }
}

impl<T> FromIterator<T> for PlacedQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { items: items.into_iter().map(Some).collect(), places: OnceCell::new() }
    }
}

impl<T> Extend<T> for PlacedQueue<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.items.extend(items.into_iter().map(Some));
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    impl Indexed for (u64, u32) {
        fn hashes(&self, each: &mut dyn FnMut(u64)) {
            each(self.0);
        }
    }

    proptest! {
        #[test]
        fn found_items_equal_scan(
            steps in proptest::collection::vec((0..12_u8, 0..9_u64, 0..400_usize), 1..900),
        ) {
            let mut queue: PlacedQueue<(u64, u32)> = PlacedQueue::default();
            let mut model: VecDeque<(u64, u32)> = VecDeque::new();
            for (number, (step, about, which)) in (0..).zip(steps) {
                let item = (about, number);
                match step {
                    0..6 => {
                        queue.push_back(item);
                        model.push_back(item);
                    }
                    6 => prop_assert_eq!(queue.pop_front(), model.pop_front()),
                    7 => prop_assert_eq!(queue.pop_back(), model.pop_back()),
                    8 => {
                        queue.insert(which % (model.len() + 1), item);
                        model.insert(which % (model.len() + 1), item);
                    }
                    9 if !model.is_empty() => {
                        // One in the middle is replaced.
                        let at = which % model.len();
                        let place = queue.about(None)[at];
                        let taken = queue.take(place);
                        prop_assert_eq!(taken, Some(model[at]));
                        queue.push_back(item);
                        queue.pop_back();
                        queue.put_back(place, item);
                        model[at] = item;
                    }
                    _ => {
                        queue.close_gaps();
                        let found = queue.about(Some(&[about]));
                        let found: Vec<_> = found.into_iter().filter_map(|place| queue.take(place)).collect();
                        let is_about = |item: &&(u64, u32)| item.0 == about;
                        let few = model.len() < INDEXED_FROM;
                        let expected: Vec<_> = model.iter().filter(is_about).collect();
                        prop_assert_eq!(found.iter().filter(is_about).collect::<Vec<_>>(), expected);
                        model.retain(|item| !found.contains(item));
                        if few {
                            queue = model.iter().copied().collect();
                        }
                    }
                }
                prop_assert_eq!(queue.iter().collect::<Vec<_>>(), model.iter().collect::<Vec<_>>());
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!((queue.front(), queue.back()), (model.front(), model.back()));
            }
        }
    }

    #[test]
    fn index_finds_items_before_its_end() {
        let mut queue: PlacedQueue<(u64, u32)> = (0..64).map(|number| (number, 0)).collect();
        let middle = queue.about(Some(&[40]));
        assert_eq!(queue.take(middle[0]), Some((40, 0)));
        queue.put_back(middle[0], (140, 0));
        queue.insert(0, (141, 0));
        let first = queue.about(None)[0];
        assert_eq!(queue.about(Some(&[140, 141])), [first, middle[0]]);
    }

    #[test]
    fn outdated_entries_are_given_up() {
        let mut queue: PlacedQueue<(u64, u32)> = (0..64).map(|number| (number, 0)).collect();
        for number in 0..10_000 {
            queue.push_back((1_000_000 + number, 0));
            queue.close_gaps();
            assert_eq!(queue.about(Some(&[1_000_000 + number])).len(), 1);
            let last = queue.about(Some(&[1_000_000 + number]));
            assert!(queue.take(last[0]).is_some());
        }
        assert_eq!(queue.len(), 64);
        assert!(queue.index_bytes() < 64 * 1_024, "{}", queue.index_bytes());
    }
}
