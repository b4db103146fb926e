//! Numbers for variables: 0, 1, .. in the order in which they are met.

use std::hash::Hash;
use std::ops::Deref;

use rustc_hash::FxHashMap;

/// Number of items up to which an item is found by looking at each.
const SEARCHED_MAX: usize = 16;

/// Items with numbers: slots, or names of variables.
#[derive(Clone, Debug)]
pub struct Numbering<T = u32> {
    items: Vec<T>,
    /// Numbers by item, once there are more than [`SEARCHED_MAX`]. Of equal items the first one counts.
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Numbering<T> {
    /// Returns the number of an item, which is added if it is new.
    pub fn number(&mut self, item: T) -> u32 {
        self.find(item).unwrap_or_else(|| self.push(item))
    }

    /// Returns the number of an item, if it has one.
    pub fn find(&self, item: T) -> Option<u32> {
        match self.items.len() {
            0..=SEARCHED_MAX => self.items.iter().position(|other| *other == item).map(|number| number as u32),
            _ => self.numbers.get(&item).copied(),
        }
    }

    /// Gives an item the next number, also if it has one already.
    pub fn push(&mut self, item: T) -> u32 {
        let number = self.items.len() as u32;
        self.items.push(item);
        match self.items.len() {
            0..=SEARCHED_MAX => {}
            len if len == SEARCHED_MAX + 1 => self.index(),
            _ => {
                self.numbers.entry(item).or_insert(number);
            }
        }
        number
    }

    /// Gives a number to another item, which has none.
    pub fn replace(&mut self, number: u32, item: T) {
        let Some(place) = self.items.get_mut(number as usize) else { return };
        let before = std::mem::replace(place, item);
        if self.items.len() > SEARCHED_MAX {
            self.numbers.insert(item, number);
            if self.numbers.get(&before) == Some(&number) {
                self.numbers.remove(&before);
            }
        }
    }

    fn index(&mut self) {
        for (number, item) in (0..).zip(&self.items) {
            self.numbers.entry(*item).or_insert(number);
        }
    }
}

impl<T> Deref for Numbering<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T: Copy + Eq + Hash> FromIterator<T> for Numbering<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut numbering = Self { items: items.into_iter().collect(), numbers: FxHashMap::default() };
        if numbering.items.len() > SEARCHED_MAX {
            numbering.index();
        }
        numbering
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_numbers() {
        let mut numbering = Numbering::default();
        for _ in 0..2 {
            let numbers: Vec<u32> = (0..100_u32).map(|slot| numbering.number(slot * 7)).collect();
            assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        }
        assert_eq!((numbering.find(693), numbering.find(694), numbering.len()), (Some(99), None, 100));
        let collected: Numbering = numbering.iter().copied().collect();
        assert!((0..100).all(|number| collected.find(number * 7) == Some(number)));
    }

    #[test]
    fn replaced_items_have_no_number() {
        for count in [3, 30] {
            let mut numbering: Numbering = (0..count).collect();
            numbering.replace(1, 1_000);
            assert_eq!((numbering.find(1), numbering.find(1_000)), (None, Some(1)));
            assert_eq!(numbering.number(2), 2);
            // The first of two equal items counts.
            assert_eq!((numbering.push(2), numbering.find(2)), (count, Some(2)));
        }
    }
}
