//! Mutable containers, held by reference: AgentSpeak's maps, sets and queues.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Value;
use super::drop::{Pile, free, take_contents};

/// A mutable container. Every holder of a reference sees a change. Written out by [`with_shared_objects`], references
/// to one container come back as references to one container.
#[derive(Debug)]
pub struct Object(Mutex<Contents>);

/// What a container holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Contents {
    /// Values by key.
    Map(BTreeMap<Value, Value>),
    /// Distinct values, in order.
    Set(BTreeSet<Value>),
    /// First in, first out.
    Queue(VecDeque<Value>),
    /// Least first.
    PriorityQueue(Vec<Value>),
}

impl Object {
    /// A container of these contents.
    pub fn new(contents: Contents) -> Self {
        Self(Mutex::new(contents))
    }

    /// The contents, to read or change.
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
    static WRITTEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static READ: RefCell<Vec<Arc<Object>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`, which serialises or deserialises values with serde, so that a container that is met twice is written
/// once and comes back as one.
pub fn with_shared_objects<R>(work: impl FnOnce() -> R) -> R {
    let clear = || {
        WRITTEN.with_borrow_mut(Vec::clear);
        READ.with_borrow_mut(Vec::clear);
    };
    clear();
    let result = work();
    clear();
    result
}

/// Whether a container was met so far, within [`with_shared_objects`].
pub fn shared_objects_met() -> bool {
    WRITTEN.with_borrow(|written| !written.is_empty()) || READ.with_borrow(|read| !read.is_empty())
}

#[derive(Serialize, Deserialize)]
enum Entry {
    New(Contents),
    Seen(usize),
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = std::ptr::from_ref(self) as usize;
        let seen = WRITTEN.with_borrow(|written| written.iter().position(|other| *other == address));
        if let Some(index) = seen {
            return Entry::Seen(index).serialize(serializer);
        }
        WRITTEN.with_borrow_mut(|written| written.push(address));
        Entry::New(self.contents().clone()).serialize(serializer)
    }
}

/// Reads a container, or the reference to one read before.
pub(super) fn deserialize_shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Object>, D::Error> {
    // The place is taken before the contents are read, as it was when writing: containers may hold containers.
    let place = READ.with_borrow_mut(|read| {
        read.push(Arc::new(Object::new(Contents::Queue(VecDeque::new()))));
        read.len() - 1
    });
    match Entry::deserialize(deserializer)? {
        Entry::New(contents) => READ.with_borrow(|read| {
            let object = read.get(place).cloned().ok_or_else(|| serde::de::Error::custom("container out of place"))?;
            *object.contents() = contents;
            Ok(object)
        }),
        Entry::Seen(index) => READ.with_borrow_mut(|read| {
            read.truncate(place);
            read.get(index).cloned().ok_or_else(|| serde::de::Error::custom("reference to an unknown container"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_every_holder() {
        let one = Value::Object(Arc::new(Object::new(Contents::Set(BTreeSet::new()))));
        let other = one.clone();
        let (Value::Object(a), Value::Object(b)) = (&one, &other) else { return };
        if let Contents::Set(items) = &mut *a.contents() {
            items.insert(Value::Num(1.0));
        }
        assert_eq!(b.contents().values().count(), 1);
    }
}
