//! The first of many in an order, without putting all in order.

use std::cmp::Ordering;

/// Keeps the first `limit` items in this order. Where there are more, the others are not put in order.
pub fn keep_first<T>(items: &mut Vec<T>, limit: usize, order: impl Fn(&T, &T) -> Ordering) {
    if limit < items.len() {
        items.select_nth_unstable_by(limit, &order);
        items.truncate(limit);
    }
    items.sort_by(order);
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn first_items_match_full_sort(items: Vec<u8>, limit in 0..20_usize) {
            let (mut kept, mut sorted) = (items.clone(), items);
            keep_first(&mut kept, limit, Ord::cmp);
            sorted.sort_unstable();
            sorted.truncate(limit);
            prop_assert_eq!(kept, sorted);
        }
    }
}
