//! Changes of beliefs since the last save. The number of an entry stays the same as long as the entry exists, so a
//! copy of a predicate follows from the entries at the changed numbers.

use super::{BeliefBase, Entry, INDEXED_FROM, Table, is_elusive};
use crate::code::Key;

/// Number of notes from which they are sorted and deduplicated, and again whenever they have doubled.
const NOTES_SORTED_FROM: usize = 256;

/// Limit of entry numbers, in both directions.
const NUMBERS_MAX: i64 = 1 << 53;

/// Changed entries: the place of the predicate, and the entry's number.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted {
    all: Vec<(u32, i64)>,
    /// Number of notes after the last deduplication.
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

/// Change of a predicate.
#[derive(Debug)]
pub(crate) struct TableChange<E> {
    /// Predicate.
    pub(crate) key: Key,
    /// True if `entries` are all there are, whatever was there before.
    pub(crate) whole: bool,
    /// Number of the first entry now.
    pub(crate) front: i64,
    /// Count of numbers now, including those without an entry. Entries with other numbers are gone.
    pub(crate) numbers: u32,
    /// Present entries at some of the numbers.
    pub(crate) entries: Vec<(i64, Option<E>)>,
}

impl BeliefBase {
    /// Starts to note changes.
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

    /// Returns all predicates completely, also those without entries: these keep their place in the order.
    pub(crate) fn whole(&self) -> Vec<TableChange<&Entry>> {
        self.tables.iter().map(Table::whole).collect()
    }

    /// Sorts the notes.
    pub(crate) fn sort_notes(&mut self) {
        if let Some(noted) = &mut self.noted {
            noted.sort();
        }
    }

    /// Returns the changes since the last save. The notes must be sorted.
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

    /// Applies a change that was noted elsewhere. Returns false, and changes nothing, if it is impossible.
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

    /// Rebuilds the indexes that applied changes have dropped.
    pub(crate) fn index_again(&mut self) {
        let dropped = self.tables.iter_mut().filter(|table| table.index.is_none() && table.live >= INDEXED_FROM);
        dropped.for_each(Table::rebuild_index);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Fact,
    Rule,
}

fn kind(entry: &Entry) -> EntryKind {
    if matches!(entry, Entry::Rule(_)) { EntryKind::Rule } else { EntryKind::Fact }
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

    /// Counts an entry that was added or removed.
    fn count(&mut self, entry: Option<EntryKind>, came: bool) {
        let Some(kind) = entry else { return };
        let count = |number: &mut usize| *number = if came { *number + 1 } else { number.saturating_sub(1) };
        count(&mut self.live);
        if kind == EntryKind::Rule {
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

    /// Limits the table to these numbers, with gaps where there were none.
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
