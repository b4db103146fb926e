//! Mutable containers, held by reference: AgentSpeak's maps, sets and queues.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Value;
use super::drop::{Pile, free, take_contents};

/// A mutable container. Every holder of a reference sees a change. Written out by [`with_shared_objects`], references
/// to one container come back as references to one container.
#[derive(Debug)]
pub struct Object(Mutex<Contents>);

/// Content of a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Contents {
    /// Values by key.
    Map(BTreeMap<Value, Value>),
    /// Distinct values, in order.
    Set(BTreeSet<Value>),
    /// First in, first out.
    Queue(VecDeque<Value>),
    /// Least first.
    PriorityQueue(PriorityQueue),
}

/// Values that leave in their order, the least first. Equal values leave in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct PriorityQueue {
    /// Each value with a number that tells it from its equals.
    items: BTreeSet<(Value, u64)>,
    /// Number of values that have ever come.
    came: u64,
}

impl PriorityQueue {
    /// Puts a value in, behind its equals.
    pub fn push(&mut self, value: Value) {
        self.items.insert((value, self.came));
        self.came += 1;
    }

    /// Takes the least value out.
    pub fn pop(&mut self) -> Option<Value> {
        self.items.pop_first().map(|(value, _)| value)
    }

    /// Returns the least value.
    pub fn first(&self) -> Option<&Value> {
        self.items.first().map(|(value, _)| value)
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there is no value.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Returns the values, the least first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.items.iter().map(|(value, _)| value)
    }
}

impl FromIterator<Value> for PriorityQueue {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut queue = Self::default();
        values.into_iter().for_each(|value| queue.push(value));
        queue
    }
}

impl IntoIterator for PriorityQueue {
    type Item = Value;
    type IntoIter = std::iter::Map<std::collections::btree_set::IntoIter<(Value, u64)>, fn((Value, u64)) -> Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter().map(|(value, _)| value)
    }
}

impl PartialEq for PriorityQueue {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for PriorityQueue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|(value, _)| value))
    }
}

impl<'de> Deserialize<'de> for PriorityQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from_iter)
    }
}

impl Object {
    /// Returns a container of these contents.
    pub fn new(contents: Contents) -> Self {
        Self(Mutex::new(contents))
    }

    /// Returns the contents for reading and changing.
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_contents(&mut self) -> Contents {
        let contents = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(contents, Contents::Queue(VecDeque::new()))
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        if std::ptr::eq(self, other) {
            return Ordering::Equal;
        }
        let (left, right) = (self.contents().clone(), other.contents().clone());
        left.values().cmp(right.values())
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let mut pile = Pile::new();
        take_contents(self.take_contents(), &mut pile);
        free(pile);
    }
}

impl Contents {
    /// Keys (of a map) and values, in order.
    pub fn values(&self) -> Box<dyn Iterator<Item = &Value> + '_> {
        match self {
            Self::Map(pairs) => Box::new(pairs.iter().flat_map(|(key, value)| [key, value])),
            Self::Set(items) => Box::new(items.iter()),
            Self::Queue(items) => Box::new(items.iter()),
            Self::PriorityQueue(items) => Box::new(items.iter()),
        }
    }
}

thread_local! {
    /// The number of each container written so far, by its address.
    static WRITTEN: RefCell<FxHashMap<usize, usize>> = const { RefCell::new(FxHashMap::with_hasher(FxBuildHasher)) };
    static READ: RefCell<Vec<Arc<Object>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`, which serialises or deserialises values with serde, so that a container that is met twice is written
/// once and comes back as one.
pub fn with_shared_objects<R>(work: impl FnOnce() -> R) -> R {
    let clear = || {
        WRITTEN.with_borrow_mut(FxHashMap::clear);
        READ.with_borrow_mut(Vec::clear);
    };
    clear();
    let result = work();
    clear();
    result
}

/// Returns true if a container was met so far, within [`with_shared_objects`].
pub fn shared_objects_met() -> bool {
    WRITTEN.with_borrow(|written| !written.is_empty()) || READ.with_borrow(|read| !read.is_empty())
}

#[derive(Serialize, Deserialize)]
enum ContainerEntry {
    New(Contents),
    Seen(usize),
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = std::ptr::from_ref(self) as usize;
        if let Some(index) = WRITTEN.with_borrow(|written| written.get(&address).copied()) {
            return ContainerEntry::Seen(index).serialize(serializer);
        }
        WRITTEN.with_borrow_mut(|written| written.insert(address, written.len()));
        ContainerEntry::New(self.contents().clone()).serialize(serializer)
    }
}

/// Reads a container, or the reference to one read before.
pub(super) fn deserialize_shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Object>, D::Error> {
    // The place is taken before the contents are read, as it was when writing: containers may hold containers.
    let place = READ.with_borrow_mut(|read| {
        read.push(Arc::new(Object::new(Contents::Queue(VecDeque::new()))));
        read.len() - 1
    });
    match ContainerEntry::deserialize(deserializer)? {
        ContainerEntry::New(contents) => READ.with_borrow(|read| {
            let object = read.get(place).cloned().ok_or_else(|| serde::de::Error::custom("container out of place"))?;
            *object.contents() = contents;
            Ok(object)
        }),
        ContainerEntry::Seen(index) => READ.with_borrow_mut(|read| {
            read.truncate(place);
            read.get(index).cloned().ok_or_else(|| serde::de::Error::custom("reference to an unknown container"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_is_seen_by_all_holders() {
        let one = Value::Object(Arc::new(Object::new(Contents::Set(BTreeSet::new()))));
        let other = one.clone();
        let (Value::Object(a), Value::Object(b)) = (&one, &other) else { return };
        if let Contents::Set(items) = &mut *a.contents() {
            items.insert(Value::Num(1.0));
        }
        assert_eq!(b.contents().values().count(), 1);
    }

    #[test]
    fn equal_priorities_leave_in_order() {
        let named = |name: &str| {
            let annots = [crate::Annot::new(Value::atom(name))].into_iter().collect();
            let mut pair = crate::Structure::new("p".into(), [Value::Num(1.0)].into_iter().collect());
            pair.set_annots(annots);
            pair.into_value()
        };
        let mut queue = PriorityQueue::default();
        for value in [Value::Num(3.0), named("b"), Value::Int(1), Value::Num(1.0), named("a"), Value::Int(3)] {
            queue.push(value);
        }
        let again: PriorityQueue = queue.clone().into_iter().collect();
        assert!(again == queue && queue.len() == 6);
        assert!(matches!(queue.first(), Some(Value::Int(1))));
        let left: Vec<Value> = std::iter::from_fn(|| queue.pop()).collect();
        assert!(matches!(
            left.as_slice(),
            [Value::Int(1), Value::Num(_), Value::Num(_), Value::Int(3), Value::Term(_), Value::Term(_)]
        ));
        assert!(queue.is_empty());
    }
}
