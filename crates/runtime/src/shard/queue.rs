//! Queue of agents that wait for their turns.

/// First-in-first-out queue of places. Its capacity is a power of two, so that wrapping costs one instruction.
pub(super) struct RunQueue {
    ring: Box<[u32]>,
    /// Number of places taken out so far.
    head: usize,
    /// Number of places put in so far.
    tail: usize,
    /// Value of `tail` at the last mark.
    mark: usize,
}

const ROOM_MIN: usize = 64;

impl Default for RunQueue {
    fn default() -> Self {
        Self { ring: vec![0; ROOM_MIN].into_boxed_slice(), head: 0, tail: 0, mark: 0 }
    }
}

impl RunQueue {
    #[inline]
    pub fn push(&mut self, place: u32) {
        if self.len() == self.ring.len() {
            self.grow();
        }
        let at = self.tail & (self.ring.len() - 1);
        if let Some(entry) = self.ring.get_mut(at) {
            *entry = place;
            self.tail = self.tail.wrapping_add(1);
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        if self.head == self.tail {
            return None;
        }
        let place = self.ring.get(self.head & (self.ring.len() - 1)).copied();
        self.head = self.head.wrapping_add(1);
        place
    }

    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Marks the last place.
    pub fn mark(&mut self) {
        self.mark = self.tail;
    }

    /// Returns true if the marked place was taken out.
    pub fn has_passed_mark(&self) -> bool {
        self.len() <= self.tail.wrapping_sub(self.mark)
    }

    /// Iterates over the places, first in first.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let mask = self.ring.len() - 1;
        (0..self.len()).filter_map(move |i| self.ring.get(self.head.wrapping_add(i) & mask).copied())
    }

    /// Frees memory that a burst needed.
    pub fn shrink(&mut self) {
        if self.ring.len() > 16 * ROOM_MIN && self.len() < self.ring.len() / 16 {
            self.resize(self.ring.len() / 8);
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.resize(self.ring.len() * 2);
    }

    fn resize(&mut self, room: usize) {
        let mut ring: Vec<u32> = self.iter().collect();
        let behind_mark = self.tail.wrapping_sub(self.mark);
        (self.head, self.tail) = (0, ring.len());
        self.mark = self.tail.saturating_sub(behind_mark);
        ring.resize(room, 0);
        self.ring = ring.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn marked_place_is_passed() {
        let mut queue = RunQueue::default();
        (0..3).for_each(|place| queue.push(place));
        queue.mark();
        (3..500).for_each(|place| queue.push(place));
        for taken in 0..3 {
            assert!(!queue.has_passed_mark(), "{taken}");
            queue.pop();
        }
        assert!(queue.has_passed_mark());
        (0..5_000).for_each(|place| queue.push(place));
        assert!(queue.has_passed_mark(), "it has grown");
        queue.mark();
        while queue.len() > 1 {
            queue.pop();
        }
        queue.shrink();
        assert!(!queue.has_passed_mark());
        queue.pop();
        assert!(queue.has_passed_mark());
    }

    #[test]
    fn queue_works_at_any_size() {
        let (mut queue, mut model) = (RunQueue::default(), VecDeque::new());
        let mut state = 7u64;
        for i in 0..200_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Grows for a while, then shrinks.
            let pushes = if (i / 20_000) % 2 == 0 { 3 } else { 1 };
            if state >> 62 < pushes {
                queue.push(i);
                model.push_back(i);
            } else {
                assert_eq!(queue.pop(), model.pop_front());
            }
            if i % 1000 == 0 {
                queue.shrink();
                assert!(queue.iter().eq(model.iter().copied()));
            }
            assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
        }
    }
}
