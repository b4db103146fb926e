//! Lists as cons cells.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Value;
use super::drop::{Pile, free, take_nested};

/// Cell of a list: an element and the rest.
#[derive(Clone, Debug)]
pub struct Cons {
    /// Element.
    pub head: Value,
    /// The rest: a list, or a variable.
    pub tail: Value,
    ground: bool,
    foreign: bool,
    levels: u32,
}

impl Cons {
    /// Returns the list of `head` followed by `tail`.
    pub fn new(head: Value, tail: Value) -> Self {
        let ground = head.is_ground() && tail.is_ground();
        // A list is as deep as its deepest element, however long.
        let levels = (head.levels() + 1).max(tail.levels());
        let foreign = head.has_foreign() || tail.has_foreign();
        Self { head, tail, ground, foreign, levels }
    }

    /// Returns the levels to which the list nests; 1 if it contains only constants.
    #[inline]
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// Returns true if the list contains no variable.
    pub fn is_ground(&self) -> bool {
        self.ground
    }

    /// Returns true if the list contains an integer or a null, which are no terms.
    #[inline]
    pub fn has_foreign(&self) -> bool {
        self.foreign
    }
}

impl Drop for Cons {
    fn drop(&mut self) {
        let mut pile = Pile::new();
        take_nested(&mut self.head, &mut pile);
        take_nested(&mut self.tail, &mut pile);
        free(pile);
    }
}

/// The elements of a list, in order.
#[derive(Clone)]
pub struct Items<'a> {
    rest: &'a Value,
}

impl<'a> Items<'a> {
    pub(super) fn new(rest: &'a Value) -> Self {
        Self { rest }
    }

    /// Returns the rest of the list: [`Value::Nil`] or a variable once all elements are taken.
    pub fn tail(&self) -> &'a Value {
        self.rest
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        let Value::List(cell) = self.rest else { return None };
        self.rest = &cell.tail;
        Some(&cell.head)
    }
}

/// Written flat, as elements and tail: a list may be longer than the stack is deep.
impl Serialize for Cons {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = Items { rest: &self.tail };
        let mut all = vec![&self.head];
        all.extend(items.by_ref());
        (all, items.tail()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cons {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut items, tail): (Vec<Value>, Value) = Deserialize::deserialize(deserializer)?;
        if items.is_empty() {
            return Err(D::Error::custom("a cons cell without an element"));
        }
        let head = items.remove(0);
        Ok(Cons::new(head, Value::list_with_tail(items, tail)))
    }
}
