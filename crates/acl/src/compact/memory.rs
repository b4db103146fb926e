//! Memory of one direction of a link. The sender's half finds items that it sent before; the receiver's half stores
//! them. The sender alone decides the place of each item; the receiver obeys, within the limits.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::DecodeError;
use super::limits::LinkLimits;

/// Sender's half. A full memory replaces the item that was not used for longest (second chance).
pub(super) struct SenderMemory<K> {
    limits: LinkLimits,
    by_hash: HashTable<(u32, u32)>,
    places: Vec<Option<MemoryPlace<K>>>,
    free: Vec<u32>,
    hand: usize,
}

struct MemoryPlace<K> {
    key: K,
    hash: u32,
    used: bool,
}

/// Result of a look-up in the sender's memory.
pub(super) enum Lookup {
    /// The other end knows the item by this number.
    Known(u32),
    /// The other end is to remember the item by this number.
    Remember(u32),
    /// The item exceeds the limits, and is not remembered.
    Untold,
}

impl<K> SenderMemory<K> {
    pub(super) fn new(limits: LinkLimits) -> Self {
        Self { limits, by_hash: HashTable::new(), places: Vec::new(), free: Vec::new(), hand: 0 }
    }

    /// Returns true if the limits allow no items at all.
    pub(super) fn is_mute(&self) -> bool {
        self.limits.items == 0
    }

    pub(super) fn limits(&self) -> LinkLimits {
        self.limits
    }

    /// Returns the number of the thing for which `same` holds, or one to remember it by.
    #[inline]
    pub(super) fn look_up(
        &mut self,
        hash: u64,
        same: impl Fn(&K) -> bool,
        bytes: impl FnOnce() -> usize,
        key: impl FnOnce() -> K,
    ) -> Lookup {
        if self.is_mute() {
            return Lookup::Untold;
        }
        let hash = fold(hash);
        let places = &mut self.places;
        let found = self.by_hash.find(spread(hash), |entry| {
            let place = places.get(entry.1 as usize).and_then(Option::as_ref);
            entry.0 == hash && place.is_some_and(|place| same(&place.key))
        });
        if let Some(&(_, number)) = found {
            if let Some(Some(place)) = places.get_mut(number as usize) {
                place.used = true;
            }
            return Lookup::Known(number);
        }
        self.remember(hash, bytes(), key)
    }

    fn remember(&mut self, hash: u32, bytes: usize, key: impl FnOnce() -> K) -> Lookup {
        if bytes > self.limits.item_bytes {
            return Lookup::Untold;
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.places.len() < self.limits.items as usize => {
                self.places.push(None);
                self.places.len() as u32 - 1
            }
            None => {
                self.forget_one();
                self.free.pop().unwrap_or_default()
            }
        };
        if let Some(place) = self.places.get_mut(number as usize) {
            *place = Some(MemoryPlace { key: key(), hash, used: false });
            self.by_hash.insert_unique(spread(hash), (hash, number), |entry| spread(entry.0));
        }
        Lookup::Remember(number)
    }

    fn forget_one(&mut self) {
        loop {
            self.hand = if self.hand + 1 < self.places.len() { self.hand + 1 } else { 0 };
            let Some(place) = self.places.get_mut(self.hand) else { return };
            match place {
                Some(kept) if kept.used => kept.used = false,
                Some(_) => break,
                None => {}
            }
        }
        if let Some(Some(gone)) = self.places.get_mut(self.hand).map(Option::take) {
            let number = self.hand as u32;
            self.free.push(number);
            if let Ok(entry) = self.by_hash.find_entry(spread(gone.hash), |entry| entry.1 == number) {
                entry.remove();
            }
        }
    }
}

/// The receiver's half.
pub(super) struct ReceiverMemory<T> {
    limits: LinkLimits,
    places: Vec<Option<T>>,
}

impl<T> ReceiverMemory<T> {
    pub(super) fn new(limits: LinkLimits) -> Self {
        Self { limits, places: Vec::new() }
    }

    /// Returns the item with this number.
    #[inline]
    pub(super) fn recall(&mut self, number: u64, at: usize) -> Result<&mut T, DecodeError> {
        let place =
            usize::try_from(number).ok().and_then(|number| self.places.get_mut(number)).and_then(Option::as_mut);
        place.ok_or(DecodeError::Malformed { at, what: "a number this link never gave" })
    }

    /// Keeps an item of `bytes` bytes by this number.
    pub(super) fn remember(&mut self, number: u64, thing: T, bytes: usize, at: usize) -> Result<(), DecodeError> {
        let number = usize::try_from(number).ok().filter(|number| *number < self.limits.items as usize);
        let number = number.ok_or(DecodeError::Malformed { at, what: "a number beyond what a link remembers" })?;
        if bytes > self.limits.item_bytes {
            return Err(DecodeError::Malformed { at, what: "a longer thing than a link remembers" });
        }
        if number >= self.places.len() {
            self.places.resize_with(number + 1, || None);
        }
        if let Some(place) = self.places.get_mut(number) {
            *place = Some(thing);
        }
        Ok(())
    }
}

pub(super) fn hash_of(thing: &impl std::hash::Hash) -> u64 {
    FxBuildHasher.hash_one(thing)
}

fn fold(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_memory_forgets_unused() {
        const ITEMS: u32 = 8;
        let mut memory = SenderMemory::new(LinkLimits { items: ITEMS, item_bytes: 100 });
        let mut look_up = |number: u64| {
            let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            memory.look_up(hash, |key| *key == number, || 8, || number)
        };
        look_up(0);
        for number in 1..1_000 {
            assert!(matches!(look_up(0), Lookup::Known(_)), "it is used each time, {number} newcomers ago");
            assert!(matches!(look_up(number), Lookup::Remember(place) if place < ITEMS));
        }
        assert_eq!((memory.by_hash.len(), memory.places.len()), (ITEMS as usize, ITEMS as usize));
    }
}
