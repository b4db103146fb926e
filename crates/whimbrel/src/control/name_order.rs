//! The order that people expect of names: `bidder2` before `bidder10`.

use std::cmp::Ordering;

/// Compares two names, numbers in them by their values.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (Some((piece_a, tail_a)), Some((piece_b, tail_b))) = (piece(rest_a), piece(rest_b)) else {
            // The same up to leading zeros: then as text, so that equal names only are equal.
            return rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b));
        };
        let order = match (number(piece_a), number(piece_b)) {
            (Some(a), Some(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            _ => piece_a.cmp(piece_b),
        };
        if order != Ordering::Equal {
            return order;
        }
        (rest_a, rest_b) = (tail_a, tail_b);
    }
}

/// Returns the first piece, all digits or none, and the rest.
fn piece(text: &str) -> Option<(&str, &str)> {
    let digits = text.chars().next()?.is_ascii_digit();
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    text.split_at_checked(end)
}

/// Returns the digits of a number, without those that say nothing.
fn number(piece: &str) -> Option<&str> {
    piece.starts_with(|c: char| c.is_ascii_digit()).then(|| piece.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        /// Sorting panics at an order that is none.
        #[test]
        fn it_is_an_order(a in "[a-c0-2é]{0,6}", b in "[a-c0-2é]{0,6}", c in "[a-c0-2é]{0,6}") {
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert_eq!(compare(&a, &b) == Ordering::Equal, a == b);
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                prop_assert!(compare(&a, &c).is_le());
            }
        }
    }

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["b10", "b2", "a", "b", "b02", "b2x1", "é1", "b2x", "", "99999999999999999999999", "7"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, ["", "7", "99999999999999999999999", "a", "b", "b02", "b2", "b2x", "b2x1", "b10", "é1"]);
    }
}
