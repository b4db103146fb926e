//! Belief base: facts and rules by predicate, each predicate's entries in query order, indexed if there are many.

mod changes;
mod index;

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use whimbrel_acl::value::Scale;
use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, Var, sym};

use super::Subject;
use crate::code::{CompiledRule, Expr, Hint, Image, Key};
use crate::logic::{
    Bindings, is_decorated, is_namespaced, is_source, map_annots, match_annots, match_ground_annots, open_slots,
};
use crate::numbering::Numbering;
use crate::syntax::ast;
use crate::syntax::quote::{numbered, quote};
use changes::Noted;
pub(crate) use changes::TableChange;
use index::{ArgumentMatches, BeliefIndex, ENTRIES_LONG};

/// Estimated bytes of an entry's place in a map of the index.
const INDEXED_BYTES: usize = 48;
/// Estimated bytes of an acquired rule.
const RULE_BYTES: usize = 512;
/// Number of entries from which a predicate is indexed.
const INDEXED_FROM: usize = 8;

/// Beliefs and rules of an agent.
#[derive(Clone, Debug, Default)]
pub struct BeliefBase {
    /// Few agents have more than a handful of predicates: a scan of keys is faster than a map.
    tables: Vec<Table>,
    by_key: FxHashMap<Key, u32>,
    version: u64,
    /// Changes since the last save, if the agent is saved at all.
    noted: Option<Box<Noted>>,
    /// Changes since the last test of conditions, if their dependencies are noted.
    #[allow(clippy::box_collection, reason = "most minds have none: that takes 8 bytes, not 24")]
    touched: Option<Box<Vec<Subject>>>,
    /// Number of rules added so far.
    rules_added: u32,
}

/// Number of predicates from which a map finds them.
const MAPPED_FROM: usize = 12;

/// Fact or rule.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A fact. Its variables are numbered from 0.
    Fact(Arc<Structure>),
    /// A rule.
    Rule(RuleRef),
}

/// Rule of the program, or one that the agent acquired.
#[derive(Clone, Debug)]
pub enum RuleRef {
    /// A rule of the program, by its place.
    Image(u32),
    /// A rule of the agent.
    Own(Arc<CompiledRule>),
}

impl RuleRef {
    /// Returns the rule itself.
    #[inline]
    pub fn resolve<'a>(&'a self, image: &'a Image) -> &'a CompiledRule {
        static NOTHING: std::sync::LazyLock<CompiledRule> = std::sync::LazyLock::new(CompiledRule::never);
        match self {
            Self::Image(index) => image.rules.get(*index as usize).map_or(&NOTHING, |(_, rule)| rule),
            Self::Own(rule) => rule,
        }
    }
}

/// Entries of one predicate.
#[derive(Clone, Debug)]
pub struct Table {
    key: Key,
    /// Entries in query order; removed entries leave gaps until these are too many.
    entries: VecDeque<Option<Entry>>,
    /// Number of the first entry: entry `n` is at `n - front`.
    front: i64,
    live: usize,
    rules: usize,
    index: Option<Box<BeliefIndex>>,
    /// True if entries were renumbered since the last save.
    renumbered: bool,
    /// True if some fact had an argument that a plain variable does not match.
    elusive: bool,
}

/// Entries of a predicate that may match a query, in query order.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    table: &'a Table,
    first: Quick,
    source: Positions<'a>,
}

#[derive(Clone, Copy)]
enum Positions<'a> {
    All { next: usize },
    Indexed(ArgumentMatches<'a>),
}

/// Known kind of a query's first argument: enough to skip most entries without unification.
#[derive(Clone, Copy)]
enum Quick {
    Unknown,
    Atom(Symbol),
    Num(f64),
    Str,
    Nil,
    List,
}

impl Quick {
    fn of(value: &Value) -> Self {
        match value {
            Value::Atom(name) => Self::Atom(*name),
            Value::Num(number) => Self::Num(*number),
            Value::Str(_) => Self::Str,
            Value::Nil => Self::Nil,
            Value::List(_) => Self::List,
            _ => Self::Unknown,
        }
    }

    /// Returns true if a first argument may match.
    #[inline]
    fn may_be(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Unknown, _) | (_, Value::Var(_) | Value::Term(_)) => true,
            (Self::Atom(a), Value::Atom(b)) => a == *b,
            (Self::Num(a), Value::Num(b)) => a == *b,
            (Self::Str, Value::Str(_)) | (Self::Nil, Value::Nil) | (Self::List, Value::List(_)) => true,
            _ => false,
        }
    }

    /// Returns true if the first argument of a rule's head may match.
    #[inline]
    fn may_match_head(self, rule: &CompiledRule) -> bool {
        match rule.args.first() {
            Some(Some(Expr::Const(value))) => self.may_be(value),
            Some(Some(Expr::Cons(_))) => matches!(self, Self::List | Self::Unknown),
            _ => true,
        }
    }

    #[inline]
    fn may_match_entry(self, entry: &Entry, image: &Image) -> bool {
        if matches!(self, Self::Unknown) {
            return true;
        }
        match entry {
            Entry::Fact(fact) => fact.args.first().is_none_or(|first| self.may_be(first)),
            Entry::Rule(rule) => self.may_match_head(rule.resolve(image)),
        }
    }
}

impl<'a> Candidates<'a> {
    /// Returns the next entry that may match. Rules are those of this program, or the agent's own.
    #[inline]
    pub fn next(&mut self, image: &Image) -> Option<&'a Entry> {
        self.next_numbered(image).map(|(_, entry)| entry)
    }

    /// Takes the next number, with its entry if there is one.
    #[inline]
    fn take(&mut self) -> Option<(i64, Option<&'a Entry>)> {
        match &mut self.source {
            Positions::All { next } => {
                let (at, entry) = (*next, self.table.entries.get(*next)?);
                *next += 1;
                Some((self.table.front + at as i64, entry.as_ref()))
            }
            Positions::Indexed(found) => {
                let number = found.take()?;
                Some((number, self.table.entry(number)))
            }
        }
    }

    /// Returns the next entry that may match, with its number.
    #[inline]
    fn next_numbered(&mut self, image: &Image) -> Option<(i64, &'a Entry)> {
        loop {
            let (number, entry) = self.take()?;
            if let Some(entry) = entry.filter(|entry| self.first.may_match_entry(entry, image)) {
                return Some((number, entry));
            }
        }
    }

    /// Returns true if the candidates are so many that [narrowing](Self::narrow) pays.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.table.index.is_some() && self.len() > ENTRIES_LONG
    }

    /// Narrows the candidates to those with this argument, if an index finds fewer.
    pub fn narrow(&mut self, place: usize, argument: &Value) {
        let index = self.table.index.as_ref();
        let found = index.and_then(|index| index.by_argument(self.table, place, argument));
        if let Some(found) = found.filter(|found| found.len() < self.len()) {
            self.source = Positions::Indexed(found);
        }
    }

    fn len(&self) -> usize {
        match &self.source {
            Positions::All { next } => self.table.entries.len() - next,
            Positions::Indexed(found) => found.len(),
        }
    }
}

impl Table {
    fn new(key: Key) -> Self {
        Self {
            key,
            entries: VecDeque::new(),
            front: 0,
            live: 0,
            rules: 0,
            index: None,
            renumbered: false,
            elusive: false,
        }
    }

    /// Returns true if a rule is among the entries.
    pub fn has_rules(&self) -> bool {
        self.rules > 0
    }

    /// Returns true if each entry is one solution of a query whose arguments are distinct variables.
    pub fn is_countable(&self) -> bool {
        self.rules == 0 && !self.elusive
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Returns true if no entry is left.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns the number of all facts' sources; `None` if only unification could tell.
    pub fn sources(&self) -> Option<usize> {
        let of_fact = |fact: &Structure| {
            let sources = fact.annots.iter().map(|annot| match annot {
                Annot::Source(_) => Some(1),
                Annot::Term(Value::Atom(_) | Value::Num(_) | Value::Str(_)) => Some(0),
                // This annotation may be a source, too, or become equal to one by evaluation.
                Annot::Term(_) | Annot::Tail(_) => None,
            });
            sources.sum::<Option<usize>>()
        };
        self.iter().map(|entry| if let Entry::Fact(fact) = entry { of_fact(fact) } else { None }).sum()
    }

    fn entry(&self, number: i64) -> Option<&Entry> {
        self.entries.get((number - self.front) as usize)?.as_ref()
    }

    /// Returns the entries that may match a query with this first argument.
    #[inline]
    pub fn candidates(&self, first: &Value) -> Candidates<'_> {
        let index = self.index.as_ref().filter(|_| self.key.arity > 0);
        let source = match index.and_then(|index| index.by_argument(self, 0, first)) {
            Some(found) => Positions::Indexed(found),
            None => Positions::All { next: 0 },
        };
        Candidates { table: self, first: Quick::of(first), source }
    }

    /// Returns the entries that may match a query with these arguments.
    pub fn candidates_of(&self, args: &[Value]) -> Candidates<'_> {
        let mut candidates = self.candidates(args.first().unwrap_or(&Value::Null));
        if candidates.are_many() {
            args.iter().enumerate().skip(1).for_each(|(place, arg)| candidates.narrow(place, arg));
        }
        candidates
    }

    /// Returns the only entry, if there is just one, a ground fact, without gaps around it.
    #[inline]
    pub fn only_fact(&self) -> Option<&Structure> {
        if self.entries.len() != 1 {
            return None;
        }
        match self.entries.front() {
            Some(Some(Entry::Fact(fact))) if fact.is_ground() => Some(fact),
            _ => None,
        }
    }

    /// Iterates over all entries in query order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    fn numbered(&self) -> impl Iterator<Item = (i64, &Entry)> {
        (self.front..).zip(&self.entries).filter_map(|(number, entry)| Some((number, entry.as_ref()?)))
    }

    /// Adds an entry. Returns its number. `hash` is that of a fact's arguments, if it [was
    /// needed](Self::hash_of_args) before.
    fn add(&mut self, entry: Entry, at_end: bool, hash: Option<u64>) -> i64 {
        let number = if at_end { self.front + self.entries.len() as i64 } else { self.front - 1 };
        match &entry {
            Entry::Fact(fact) => self.elusive |= fact.args.iter().any(is_elusive),
            Entry::Rule(_) => self.rules += 1,
        }
        self.live += 1;
        self.enter_index(&entry, number, at_end, hash);
        if at_end {
            self.entries.push_back(Some(entry));
        } else {
            self.entries.push_front(Some(entry));
            self.front -= 1;
        }
        // If the entries cannot be indexed, that is tried again once there are twice as many.
        if self.index.is_none() && self.live >= INDEXED_FROM && self.live.is_power_of_two() {
            self.rebuild_index();
        }
        number
    }

    fn enter_index(&mut self, entry: &Entry, number: i64, at_end: bool, hash: Option<u64>) {
        if self.index.as_mut().is_some_and(|index| !index.enter(entry, number, at_end, hash)) {
            self.index = None;
        }
    }

    fn rebuild_index(&mut self) {
        self.index = BeliefIndex::of(self).map(Box::new);
    }

    /// Removes the only entry, a fact, like [`Self::remove`].
    fn take_only(&mut self) {
        if self.index.is_some() {
            self.remove(self.front);
            return;
        }
        self.entries.pop_front();
        self.front += 1;
        self.live = 0;
    }

    fn remove(&mut self, number: i64) -> Option<Entry> {
        let removed = self.take_out(number);
        self.trim();
        removed
    }

    /// Takes an entry out, leaving a gap.
    fn take_out(&mut self, number: i64) -> Option<Entry> {
        let at = usize::try_from(number - self.front).ok()?;
        let entry = self.entries.get_mut(at)?.take()?;
        self.live -= 1;
        self.rules -= usize::from(matches!(entry, Entry::Rule(_)));
        if let Some(index) = &mut self.index {
            index.leave(&entry, number);
        }
        Some(entry)
    }

    /// Drops gaps: those at either end at once, all when they outnumber the entries.
    fn trim(&mut self) {
        while matches!(self.entries.front(), Some(None)) {
            self.entries.pop_front();
            self.front += 1;
        }
        while matches!(self.entries.back(), Some(None)) {
            self.entries.pop_back();
        }
        if self.entries.len() > 2 * self.live + INDEXED_FROM {
            self.entries.retain(Option::is_some);
            self.front = 0;
            self.renumbered = true;
            if self.index.is_some() {
                self.rebuild_index();
            }
        }
    }

    /// Removes annotations from a fact, which is removed when no source is left. Returns the literal of the event,
    /// and whether the fact stays.
    fn delete_annots(&mut self, number: i64, given: &[Annot]) -> Option<(Structure, bool)> {
        let at = usize::try_from(number - self.front).ok()?;
        let Some(Some(Entry::Fact(fact))) = self.entries.get_mut(at) else { return None };
        let stays = keeps_source(fact, given);
        let event = fact.with_annots(given.iter().cloned().collect());
        if stays {
            Arc::make_mut(fact).remove_annots(given);
        } else {
            self.remove(number);
        }
        Some((event, stays))
    }

    /// Finds the fact with exactly these arguments.
    fn find_same(&self, args: &[Value]) -> Option<i64> {
        self.find_hashed(args, self.hash_of_args(args))
    }

    /// Returns the hash by which the arguments of a fact are found, if the predicate is indexed.
    fn hash_of_args(&self, args: &[Value]) -> Option<u64> {
        self.index.as_ref().map(|_| FxBuildHasher.hash_one(args))
    }

    /// Finds a fact like [`Self::find_same`], given the hash of the arguments.
    fn find_hashed(&self, args: &[Value], hash: Option<u64>) -> Option<i64> {
        let same = |fact: &Structure| fact.args.as_slice() == args;
        if let (Some(index), Some(hash)) = (&self.index, hash) {
            let is_same = |number: &i64| matches!(self.entry(*number), Some(Entry::Fact(fact)) if same(fact));
            return index.by_args(hash).find(is_same);
        }
        let is_same = |entry: &Entry| matches!(entry, Entry::Fact(fact) if same(fact));
        self.numbered().find(|(_, entry)| is_same(entry)).map(|(number, _)| number)
    }
}

/// Result of a change to the belief base: the literal of its event.
pub type Change = Option<Structure>;

impl BeliefBase {
    /// Returns the number of changes so far.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the entries of a predicate.
    #[inline]
    pub fn table(&self, key: &Key) -> Option<&Table> {
        self.tables.get(self.place(key)?)
    }

    /// Returns the entries of a predicate, looked up first at the place where they were last found.
    #[inline]
    pub fn table_at(&self, key: &Key, hint: &Hint) -> Option<&Table> {
        if let Some(table) = self.tables.get(hint.place()).filter(|table| table.key == *key) {
            return Some(table);
        }
        let place = self.place(key)?;
        hint.note(place);
        self.tables.get(place)
    }

    /// Returns the place of a predicate's entries, with the entries. Use this place rather than the hint: agents in
    /// other threads may have changed that since.
    #[inline]
    fn place_at(&mut self, key: &Key, hint: &Hint) -> Option<(usize, &mut Table)> {
        let mut place = hint.place();
        if self.tables.get(place).is_none_or(|table| table.key != *key) {
            place = self.place(key)?;
            hint.note(place);
        }
        Some((place, self.tables.get_mut(place)?))
    }

    fn place(&self, key: &Key) -> Option<usize> {
        if self.tables.len() < MAPPED_FROM {
            return self.tables.iter().position(|table| table.key == *key);
        }
        self.by_key.get(key).map(|place| *place as usize)
    }

    /// Returns the place of a predicate's entries, which is made if necessary.
    fn place_made(&mut self, key: Key) -> usize {
        self.place(&key).unwrap_or_else(|| {
            let place = self.tables.len();
            self.tables.push(Table::new(key));
            if self.tables.len() == MAPPED_FROM {
                self.by_key = self.tables.iter().enumerate().map(|(i, table)| (table.key, i as u32)).collect();
            } else if self.tables.len() > MAPPED_FROM {
                self.by_key.insert(key, place as u32);
            }
            place
        })
    }

    /// Counts a change of an entry, and notes it for the next save. `first` is the first argument of a removed entry.
    #[inline]
    fn changed(&mut self, place: usize, number: i64, first: Option<&Value>) {
        self.version += 1;
        if let Some(noted) = &mut self.noted {
            noted.note(place as u32, number);
        }
        if self.touched.is_some() {
            self.touch(place, number, first);
        }
    }

    /// Notes the subjects of a change: the first arguments of the removed and of the present entry.
    #[inline(never)]
    fn touch(&mut self, place: usize, number: i64, gone: Option<&Value>) {
        let (Some(touched), Some(table)) = (&mut self.touched, self.tables.get(place)) else { return };
        let there = table.entry(number).map(|entry| match entry {
            Entry::Fact(fact) => fact.args.first(),
            Entry::Rule(_) => None,
        });
        if gone.is_some() || there.is_none() {
            touched.push(Subject::of_belief(&table.key, gone));
        }
        touched.extend(there.map(|first| Subject::of_belief(&table.key, first)));
    }

    /// Begins to note subjects of changes, or ends that.
    pub(crate) fn watch(&mut self, on: bool) {
        if on != self.touched.is_some() {
            self.touched = on.then(Box::default);
        }
    }

    /// Takes the notes of changed subjects.
    pub(crate) fn take_touched(&mut self) -> Vec<Subject> {
        self.touched.as_mut().map(|touched| std::mem::take(&mut **touched)).unwrap_or_default()
    }

    /// Returns the number of rules added so far.
    pub(crate) fn rules_added(&self) -> u32 {
        self.rules_added
    }

    /// Iterates over all predicates with their entries.
    pub fn tables(&self) -> impl Iterator<Item = (&Key, &Table)> {
        self.tables.iter().filter(|table| table.live > 0).map(|table| (&table.key, table))
    }

    /// Iterates over all facts, predicate by predicate.
    pub fn facts(&self) -> impl Iterator<Item = &Arc<Structure>> {
        self.tables.iter().flat_map(Table::iter).filter_map(|entry| match entry {
            Entry::Fact(fact) => Some(fact),
            Entry::Rule(_) => None,
        })
    }

    /// Adds the memory of all beliefs and rules.
    pub(super) fn weigh(&self, scale: &mut Scale) {
        for table in &self.tables {
            scale.add(size_of::<Table>() + table.entries.capacity() * size_of::<Option<Entry>>());
            if let Some(index) = &table.index {
                scale.add(table.live * (1 + index.count()) * INDEXED_BYTES);
            }
            for entry in table.iter() {
                match entry {
                    _ if scale.is_full() => return,
                    Entry::Fact(fact) => scale.add_shared(fact),
                    Entry::Rule(RuleRef::Own(_)) => scale.add(RULE_BYTES),
                    Entry::Rule(RuleRef::Image(_)) => {}
                }
            }
        }
    }

    /// Returns the number of facts and rules.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.live).sum()
    }

    /// Returns true if there are no beliefs or rules.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a rule, after the others of its predicate or before them.
    pub fn add_rule(&mut self, key: Key, rule: RuleRef, at_end: bool) {
        let place = self.place_made(key);
        let Some(table) = self.tables.get_mut(place) else { return };
        let number = table.add(Entry::Rule(rule), at_end, None);
        self.rules_added += 1;
        self.changed(place, number, None);
    }

    /// Adds a belief at the front of its predicate, or at the end. An existing belief only gets the annotations that
    /// are new. Returns the literal of the event `+b`, if anything changed.
    pub fn add(&mut self, literal: Structure, at_end: bool) -> Change {
        let place = self.place_made(Key::of(&literal));
        let table = self.tables.get_mut(place)?;
        // Every belief with variables is separate, however similar to others.
        let known = literal.args.iter().all(Value::is_ground);
        let hash = table.hash_of_args(&literal.args);
        if let Some(number) = known.then(|| table.find_hashed(&literal.args, hash)).flatten() {
            let at = (number - table.front) as usize;
            let Some(Some(Entry::Fact(fact))) = table.entries.get_mut(at) else { return None };
            let new: Annots = literal.annots.iter().filter(|annot| !fact.has_annot(annot)).cloned().collect();
            if new.is_empty() {
                return None;
            }
            Arc::make_mut(fact).add_annots(new.iter().cloned());
            self.changed(place, number, None);
            return Some(literal.with_annots(new));
        }
        let number = table.add(Entry::Fact(Arc::new(literal.clone())), at_end, hash);
        self.changed(place, number, None);
        Some(literal)
    }

    /// Adds a belief of the agent's own at the front, when no one needs to know the change.
    pub fn add_own(&mut self, key: &Key, hint: &Hint, args: Args) -> bool {
        let mut fact = Structure::bare(key.namespace, key.negated, key.functor, args);
        fact.annots.push(Annot::Source(sym::SELF));
        let Some((place, table)) = self.place_at(key, hint) else { return self.add(fact, false).is_some() };
        let hash = table.hash_of_args(&fact.args);
        if table.find_hashed(&fact.args, hash).is_some() {
            return self.add(fact, false).is_some();
        }
        let number = table.add(Entry::Fact(Arc::new(fact)), false, hash);
        self.changed(place, number, None);
        true
    }

    /// Deletes the belief with these ground arguments, if only the agent itself is its source. Returns true if there
    /// was one. Returns `None`, and changes nothing, if it has other sources, too.
    pub fn delete_own(&mut self, key: &Key, hint: &Hint, args: &[Value]) -> Option<bool> {
        let Some((place, table)) = self.place_at(key, hint) else { return Some(false) };
        let Some(number) = table.find_same(args) else { return Some(false) };
        if !matches!(table.entry(number), Some(Entry::Fact(fact)) if is_own(fact)) {
            return None;
        }
        match table.entries.len() {
            1 => table.take_only(),
            _ => drop(table.remove(number)),
        }
        self.changed(place, number, args.first());
        Some(true)
    }

    /// Replaces the arguments of the predicate's only belief by these, if only the agent itself is its source, and
    /// the arguments are ground. Returns false, and changes nothing, in any other case.
    #[inline]
    pub fn replace_own(&mut self, key: &Key, hint: &Hint, args: &mut [Value]) -> bool {
        let Some((place, table)) = self.place_at(key, hint) else { return false };
        if table.index.is_some() || table.entries.len() != 1 {
            return false;
        }
        let Some(Some(Entry::Fact(fact))) = table.entries.front_mut() else { return false };
        if !fact.is_ground() || !is_own(fact) {
            return false;
        }
        let fact = Arc::make_mut(fact);
        fact.swap_args(args);
        if !fact.is_ground() {
            fact.swap_args(args);
            return false;
        }
        // Otherwise the fact contains no structures.
        if fact.levels() > 1 {
            table.elusive |= fact.args.iter().any(is_elusive);
        }
        let number = table.front;
        self.changed(place, number, args.first());
        true
    }

    /// Deletes a belief by a pattern (Jason's `-b`). A ground pattern removes its annotations from the equal belief,
    /// if that has all of them. A pattern with variables finds the first matching belief, or rule by its head, and
    /// binds them. The belief is deleted when no source is left. Returns the literal of the event `-b`, whose
    /// variables are those of `bindings`.
    pub fn delete(&mut self, pattern: &Structure, bindings: &mut Bindings, image: &Image) -> Change {
        let place = self.place(&Key::of(pattern))?;
        let table = self.tables.get_mut(place)?;
        let ground = pattern.args.iter().all(Value::is_ground);
        let number =
            if ground { table.find_same(&pattern.args)? } else { find_matching(table, pattern, bindings, image)? };
        match table.entry(number)? {
            Entry::Fact(fact) if ground && !has_annots(pattern, fact, bindings) => return None,
            Entry::Fact(_) => {}
            Entry::Rule(_) => {
                table.remove(number);
                self.changed(place, number, None);
                return Some(resolved(pattern, bindings));
            }
        }
        let given = bindings.resolve_annots(&pattern.annots);
        let (mut event, stays) = table.delete_annots(number, &given)?;
        self.changed(place, number, event.args.first());
        if !event.is_ground() {
            event = resolved(pattern, bindings);
        }
        (!stays || ground).then_some(event)
    }

    /// Deletes the first rule of this predicate that `is_it` accepts. Returns false if there is none.
    pub fn delete_rule(&mut self, key: &Key, is_it: impl Fn(&RuleRef) -> bool) -> bool {
        let Some(place) = self.place(key) else { return false };
        let Some(table) = self.tables.get_mut(place) else { return false };
        let last = table.front + table.entries.len() as i64;
        let is_rule = |number: &i64| matches!(table.entry(*number), Some(Entry::Rule(rule)) if is_it(rule));
        let Some(number) = (table.front..last).find(is_rule) else { return false };
        table.remove(number);
        self.changed(place, number, None);
        true
    }

    /// Deletes as [`Self::delete`] does with a pattern of distinct variables: the first belief of the predicate with
    /// these annotations.
    pub fn delete_first(&mut self, key: Key, annots: &[Annot], image: &Image) -> Change {
        let place = self.place(&key)?;
        let table = self.tables.get_mut(place)?;
        let has_all = |all: &Structure| annots.iter().all(|annot| all.has_annot(annot));
        let last = table.front + table.entries.len() as i64;
        let (number, open) = (table.front..last).find_map(|number| match table.entry(number)? {
            Entry::Fact(fact) => has_all(fact).then_some((number, None)),
            // A fact with variables, as the program states it.
            Entry::Rule(rule) => {
                let rule = rule.resolve(image);
                let head = rule.source.body.is_none().then(|| head_of(rule))?;
                has_all(&head).then_some((number, Some(head)))
            }
        })?;
        let deleted = match open {
            None => table.delete_annots(number, annots),
            Some(head) => table.remove(number).map(|_| (head, false)),
        };
        self.changed(place, number, deleted.as_ref().and_then(|(event, _)| event.args.first()));
        deleted.filter(|(_, stays)| !stays).map(|(event, _)| event)
    }

    /// Removes all beliefs that match the pattern, whatever their sources. Returns them in query order.
    pub fn abolish(&mut self, pattern: &Structure, bindings: &mut Bindings) -> Vec<Arc<Structure>> {
        let Some(place) = self.place(&Key::of(pattern)) else { return Vec::new() };
        let Some(table) = self.tables.get_mut(place) else { return Vec::new() };
        let args: Args = pattern.args.iter().map(|arg| bindings.resolve(arg)).collect();
        let mut candidates = table.candidates_of(&args);
        let facts = std::iter::from_fn(|| candidates.take()).filter_map(|(number, entry)| match entry {
            Some(Entry::Fact(fact)) => Some((number, Arc::clone(fact))),
            _ => None,
        });
        let numbers: Vec<(i64, Arc<Structure>)> = facts.collect();
        let wanted = Value::from(pattern.clone());
        let (mut removed, mut gone) = (Vec::new(), Vec::new());
        for (number, fact) in numbers {
            let mark = bindings.mark();
            if matches_fact(&wanted, &fact, bindings) && table.take_out(number).is_some() {
                removed.push(fact);
                gone.push(number);
            }
            bindings.undo(mark);
        }
        // Only now, because trimming may renumber entries.
        table.trim();
        gone.into_iter().zip(&removed).for_each(|(number, fact)| self.changed(place, number, fact.args.first()));
        removed
    }

    /// Replaces the believed percepts by this full set. Returns the removed and the added beliefs.
    pub fn perceive(&mut self, percepts: &[Structure], image: &Image) -> (Vec<Structure>, Vec<Structure>) {
        #[allow(clippy::mutable_key_type, reason = "nothing changes as long as it is there")]
        let perceived: FxHashSet<(Key, &[Value])> =
            percepts.iter().map(|percept| (Key::of(percept), percept.args.as_slice())).collect();
        let gone: Vec<Structure> = (self.facts())
            .filter(|fact| fact.has_annot(&Annot::Source(sym::PERCEPT)))
            .filter(|fact| !perceived.contains(&(Key::of(fact), fact.args.as_slice())))
            .map(|fact| fact.with_annots(Annots::from_iter([Annot::Source(sym::PERCEPT)])))
            .collect();
        let mut scratch = Bindings::default();
        let gone = gone.into_iter().filter_map(|percept| self.delete(&percept, &mut scratch, image)).collect();
        let came = percepts
            .iter()
            .filter_map(|percept| {
                let mut annots: Annots = percept.annots.iter().filter(|annot| !is_source(annot)).cloned().collect();
                annots.push(Annot::Source(sym::PERCEPT));
                self.add(percept.with_annots(annots), false)
            })
            .collect();
        (gone, came)
    }
}

fn find_matching(table: &Table, pattern: &Structure, bindings: &mut Bindings, image: &Image) -> Option<i64> {
    let args: Args = pattern.args.iter().map(|arg| bindings.resolve(arg)).collect();
    let literal = Value::from(pattern.clone());
    let mut candidates = table.candidates_of(&args);
    while let Some((number, entry)) = candidates.next_numbered(image) {
        let mark = bindings.mark();
        let matches = match entry {
            Entry::Fact(fact) => matches_fact(&literal, fact, bindings),
            Entry::Rule(rule) => matches_head(&literal, rule.resolve(image), bindings),
        };
        if matches {
            return Some(number);
        }
        bindings.undo(mark);
    }
    None
}

/// Matches a pattern with a fact, which has variables of its own.
pub fn matches_fact(pattern: &Value, fact: &Arc<Structure>, bindings: &mut Bindings) -> bool {
    let literal = Value::Term(Arc::clone(fact));
    if fact.is_ground() {
        return bindings.unify(pattern, &literal);
    }
    let base = bindings.extend(open_slots(fact));
    bindings.unify(pattern, &Bindings::rename(&literal, base))
}

/// Returns true if a fact has the pattern's annotations, those that are bound (Jason's `hasSubsetAnnot`).
fn has_annots(pattern: &Structure, fact: &Structure, bindings: &mut Bindings) -> bool {
    if pattern.annots.iter().all(Annot::is_ground) {
        return pattern.annots.iter().all(|annot| fact.has_annot(annot));
    }
    if fact.is_ground() {
        return match_ground_annots(bindings, &pattern.annots, &fact.annots);
    }
    let base = bindings.extend(open_slots(fact));
    let theirs = map_annots(&fact.annots, &mut |var| Value::Var(Var { slot: var.slot + base, name: var.name }));
    match_annots(bindings, &pattern.annots, &theirs)
}

/// Matches a pattern with a rule's head.
fn matches_head(pattern: &Value, rule: &CompiledRule, bindings: &mut Bindings) -> bool {
    let head = head_of(rule);
    let base = bindings.extend(open_slots(&head));
    bindings.unify(pattern, &Bindings::rename(&head.into_value(), base))
}

/// Returns a rule's head, its variables numbered from 0. The agent is its source if it states no other.
fn head_of(rule: &CompiledRule) -> Structure {
    let mut names = Numbering::default();
    let head = quote(&ast::Term::Literal(rule.source.head.clone()), &mut |name| numbered(&mut names, name));
    let key = rule.key;
    let own = [Annot::Source(sym::SELF)];
    let says = head.annots().iter().any(is_source);
    let annots = head.annots().iter().chain(own.iter().filter(|_| !says)).cloned().collect();
    Structure::full(key.namespace, key.negated, key.functor, head.args().iter().cloned().collect(), annots)
}

fn resolved(pattern: &Structure, bindings: &Bindings) -> Structure {
    let args = pattern.args.iter().map(|arg| bindings.resolve(arg)).collect();
    let annots = bindings.resolve_annots(&pattern.annots);
    Structure::full(pattern.namespace, pattern.negated, pattern.functor, args, annots)
}

/// Returns true for an argument that a plain variable does not match.
#[inline]
fn is_elusive(arg: &Value) -> bool {
    is_decorated(arg) || is_namespaced(arg)
}

/// Returns true for a belief of the agent's own, without other annotations.
fn is_own(fact: &Structure) -> bool {
    matches!(fact.annots.as_slice(), [Annot::Source(sym::SELF)])
}

/// Returns true if a fact retains a source when these annotations are removed.
fn keeps_source(fact: &Structure, gone: &[Annot]) -> bool {
    // Sources are mostly adjacent: annotations before them are skipped.
    let first = fact.annots.partition_point(|annot| *annot < Annot::Term(Value::Atom(sym::SOURCE)));
    let (before, rest) = fact.annots.split_at(first);
    rest.iter().chain(before).any(|annot| is_source(annot) && !gone.contains(annot))
}
