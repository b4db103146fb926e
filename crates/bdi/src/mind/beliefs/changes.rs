//! Which beliefs changed since the last save. Entries have numbers that stay the same as long as they are there, so a
//! copy of a predicate follows by being told what is at the numbers that changed.

use super::{BeliefBase, Entry, INDEXED_FROM, Table, is_elusive};
use crate::code::Key;

/// Notes are put in order, and doubles dropped, once there are this many, and then whenever they have doubled.
const NOTES_SORTED_FROM: usize = 256;

/// Numbers of entries are less than this, either way.
const NUMBERS_MAX: i64 = 1 << 53;

/// The entries that changed: the place of the predicate, and the entry's number.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted {
    all: Vec<(u32, i64)>,
    /// How many were left when doubles were dropped last.
    distinct: usize,
}

impl Noted {
    pub(super) fn note(&mut self, place: u32, number: i64) {
        if self.all.last() == Some(&(place, number)) {
            return;
        }
        self.all.push((place, number));
        if self.all.len() >= NOTES_SORTED_FROM.max(2 * self.distinct) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.all.sort_unstable();
        self.all.dedup();
        self.distinct = self.all.len();
    }
}

/// What changed in a predicate.
#[derive(Debug)]
pub(crate) struct TableChange<E> {
    /// The predicate.
    pub(crate) key: Key,
    /// Whether `entries` are all there are, whatever was there before.
    pub(crate) whole: bool,
    /// The number of the first entry now.
    pub(crate) front: i64,
    /// How many numbers there are now, those without an entry among them. What had other numbers is gone.
    pub(crate) numbers: u32,
    /// What is at some of the numbers now.
    pub(crate) entries: Vec<(i64, Option<E>)>,
}

impl BeliefBase {
    /// Notes changes from now on.
    pub(crate) fn mark_saved(&mut self) {
        match &mut self.noted {
            Some(noted) => {
                for (place, _) in noted.all.drain(..) {
                    if let Some(table) = self.tables.get_mut(place as usize) {
                        table.renumbered = false;
                    }
                }
                noted.distinct = 0;
            }
            None => {
                self.tables.iter_mut().for_each(|table| table.renumbered = false);
                self.noted = Some(Box::default());
            }
        }
    }

    /// All predicates whole, also those without entries: they keep their place in the order.
    pub(crate) fn whole(&self) -> Vec<TableChange<&Entry>> {
        self.tables.iter().map(Table::whole).collect()
    }

    /// Puts the notes in order.
    pub(crate) fn sort_notes(&mut self) {
        if let Some(noted) = &mut self.noted {
            noted.sort();
        }
    }

    /// What changed since the last save, the notes being in order.
    pub(crate) fn changes(&self) -> Vec<TableChange<&Entry>> {
        let Some(noted) = &self.noted else { return Vec::new() };
        let tables = &self.tables;
        let of_one_predicate = noted.all.chunk_by(|(one, _), (other, _)| one == other);
        let change = |notes: &[(u32, i64)]| {
            let table = tables.get(notes.first()?.0 as usize)?;
            Some(if table.renumbered { table.whole() } else { table.changes(notes.iter().map(|(_, number)| *number)) })
        };
        of_one_predicate.filter_map(change).collect()
    }

    /// Makes a change that was noted elsewhere. False if it cannot be one: nothing is changed then.
    #[must_use]
    pub(crate) fn change(&mut self, change: TableChange<Entry>) -> bool {
        let known = self.table(&change.key).map_or(0, |table| if change.whole { 0 } else { table.live });
        let numbers_max = 2 * (known + change.entries.len()) + INDEXED_FROM;
        let front_fits = (-NUMBERS_MAX..NUMBERS_MAX).contains(&change.front);
        if change.numbers as usize > numbers_max || !front_fits {
            return false;
        }
        let place = self.place_made(change.key);
        if let Some(table) = self.tables.get_mut(place) {
            table.change(change);
        }
        self.version += 1;
        true
    }

    /// Makes the indexes anew that changes from elsewhere have dropped.
    pub(crate) fn index_again(&mut self) {
        let dropped = self.tables.iter_mut().filter(|table| table.index.is_none() && table.live >= INDEXED_FROM);
        dropped.for_each(Table::rebuild_index);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fact,
    Rule,
}

fn kind(entry: &Entry) -> Kind {
    if matches!(entry, Entry::Rule(_)) { Kind::Rule } else { Kind::Fact }
}

impl Table {
    fn end(&self) -> i64 {
        self.front + self.entries.len() as i64
    }

    fn whole(&self) -> TableChange<&Entry> {
        let there = |(at, entry)| Some((self.front + at as i64, Some(Option::as_ref(entry)?)));
        let entries = self.entries.iter().enumerate().filter_map(there).collect();
        TableChange { key: self.key, whole: true, front: self.front, numbers: self.entries.len() as u32, entries }
    }

    fn changes(&self, numbers: impl Iterator<Item = i64>) -> TableChange<&Entry> {
        let entries = numbers.filter(|number| (self.front..self.end()).contains(number));
        let entries = entries.map(|number| (number, self.entry(number))).collect();
        TableChange { key: self.key, whole: false, front: self.front, numbers: self.entries.len() as u32, entries }
    }

    /// Counts an entry that came or went.
    fn count(&mut self, entry: Option<Kind>, came: bool) {
        let Some(kind) = entry else { return };
        let count = |number: &mut usize| *number = if came { *number + 1 } else { number.saturating_sub(1) };
        count(&mut self.live);
        if kind == Kind::Rule {
            count(&mut self.rules);
        }
    }

    fn change(&mut self, change: TableChange<Entry>) {
        self.index = None;
        if change.whole {
            *self = Self { front: change.front, ..Self::new(self.key) };
        }
        self.cut(change.front, change.numbers);
        for (number, entry) in change.entries {
            let at = usize::try_from(number.wrapping_sub(self.front)).ok();
            if let Some(place) = at.and_then(|at| self.entries.get_mut(at)) {
                let came = entry.as_ref().map(kind);
                if let Some(Entry::Fact(fact)) = &entry {
                    self.elusive |= fact.args.iter().any(is_elusive);
                }
                let went = std::mem::replace(place, entry).as_ref().map(kind);
                self.count(came, true);
                self.count(went, false);
            }
        }
    }

    /// Has just these numbers, without an entry where there was none.
    fn cut(&mut self, front: i64, numbers: u32) {
        while self.end() > front + i64::from(numbers)
            && let Some(entry) = self.entries.pop_back()
        {
            self.count(entry.as_ref().map(kind), false);
        }
        while self.front < front
            && let Some(entry) = self.entries.pop_front()
        {
            self.count(entry.as_ref().map(kind), false);
            self.front += 1;
        }
        let before = if self.entries.is_empty() { 0 } else { (self.front - front) as usize };
        self.entries.reserve(numbers as usize - self.entries.len());
        (0..before).for_each(|_| self.entries.push_front(None));
        self.front = front;
        self.entries.resize_with(numbers as usize, || None);
    }
}
