//! Weighted draws: each place is drawn in proportion to its weight. A tree of sums, so drawing and changing a weight
//! take as many steps as the number of places has bits.

/// Weights by place; see the module.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Sums: the root at 1, the children of `n` at `2n` and `2n + 1`, and the weights themselves in the second half.
    sums: Vec<u64>,
}

impl Weights {
    fn places(&self) -> usize {
        self.sums.len() / 2
    }

    fn at(&self, node: usize) -> u64 {
        self.sums.get(node).copied().unwrap_or_default()
    }

    /// Returns the sum of all weights.
    pub fn total(&self) -> u64 {
        self.at(1)
    }

    /// Returns the weight at this place.
    pub fn weight(&self, place: usize) -> u64 {
        if place < self.places() { self.at(self.places() + place) } else { 0 }
    }

    /// Sets the weight at a place; the tree grows as needed.
    pub fn set(&mut self, place: usize, weight: u32) {
        if place >= self.places() {
            self.grow(place + 1);
        }
        let mut node = self.places() + place;
        let (old, new) = (self.at(node), u64::from(weight));
        while node > 0 {
            if let Some(sum) = self.sums.get_mut(node) {
                *sum = *sum - old + new;
            }
            node /= 2;
        }
    }

    fn grow(&mut self, places: usize) {
        let places = places.next_power_of_two();
        let mut sums = vec![0; 2 * places];
        for (sum, weight) in sums.iter_mut().skip(places).zip(self.sums.iter().skip(self.places())) {
            *sum = *weight;
        }
        self.sums = sums;
        for node in (1..places).rev() {
            let sum = self.at(2 * node) + self.at(2 * node + 1);
            if let Some(place) = self.sums.get_mut(node) {
                *place = sum;
            }
        }
    }

    /// Returns the place for a uniform number below the total.
    pub fn find(&self, mut number: u64) -> Option<usize> {
        if number >= self.total() {
            return None;
        }
        let mut node = 1;
        while node < self.places() {
            let left = self.at(2 * node);
            node *= 2;
            if number >= left {
                number -= left;
                node += 1;
            }
        }
        Some(node - self.places())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_weight_is_never_drawn() {
        let mut weights = Weights::default();
        assert_eq!((weights.total(), weights.find(0), weights.weight(3)), (0, None, 0));
        weights.set(0, 0);
        assert_eq!(weights.find(0), None);
    }

    proptest! {
        #[test]
        fn find_agrees_with_linear_walk(changes in prop::collection::vec((0usize..40, 0u32..5), 1..80)) {
            let (mut weights, mut plain) = (Weights::default(), [0u32; 40]);
            for (place, weight) in changes {
                weights.set(place, weight);
                plain[place] = weight;
            }
            let walk: Vec<usize> = plain.iter().enumerate().flat_map(|(place, weight)| vec![place; *weight as usize]).collect();
            prop_assert_eq!(weights.total(), walk.len() as u64);
            for (number, place) in walk.iter().enumerate() {
                prop_assert_eq!(weights.find(number as u64), Some(*place));
            }
            prop_assert_eq!(weights.find(walk.len() as u64), None);
            for (place, weight) in plain.iter().enumerate() {
                prop_assert_eq!(weights.weight(place), u64::from(*weight));
            }
        }
    }
}
