//! Queue that is empty in most minds. It takes 8 bytes then: the fields that each message touches are close together.

use std::collections::VecDeque;

/// Queue that is empty in most minds.
#[derive(Clone, Debug)]
#[allow(clippy::box_collection, reason = "most minds have none: that takes 8 bytes, not 32")]
pub struct RareQueue<T>(Option<Box<VecDeque<T>>>);

impl<T> Default for RareQueue<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> RareQueue<T> {
    /// Returns true if the queue is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|queue| queue.is_empty())
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |queue| queue.len())
    }

    /// Puts an item behind all others.
    pub fn push_back(&mut self, item: T) {
        self.0.get_or_insert_default().push_back(item);
    }

    /// Takes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.0.as_mut()?.pop_front()
    }

    /// Returns the items in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(|queue| queue.iter())
    }

    /// Retains only some items.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        if let Some(queue) = &mut self.0 {
            queue.retain(keep);
        }
    }

    /// Removes the first item that `is_it` accepts. Returns false if there is none.
    pub fn remove_first(&mut self, is_it: impl FnMut(&T) -> bool) -> bool {
        let Some(queue) = &mut self.0 else { return false };
        let place = queue.iter().position(is_it);
        place.is_some_and(|place| queue.remove(place).is_some())
    }
}

impl<T> FromIterator<T> for RareQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let queue: VecDeque<T> = items.into_iter().collect();
        Self(if queue.is_empty() { None } else { Some(Box::new(queue)) })
    }
}
