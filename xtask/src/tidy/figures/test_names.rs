//! Names of tests: `thing_condition_result`, in five words or so.

use super::{Figure, Finding, Tenths};
use crate::mask::line_of;
use crate::repo::Repo;
use crate::tidy::declared;

/// Attributes of tests.
const ATTRIBUTES: &[&str] = &["#[test]", "#[tokio::test"];

pub fn figure(repo: &Repo) -> Figure {
    let (mut tests, mut all_words, mut places) = (0, 0, Vec::new());
    for (path, _, code) in repo.rust() {
        for attribute in ATTRIBUTES {
            for (at, _) in code.match_indices(attribute) {
                let Some((after, name)) = code.get(at..).and_then(|rest| declared(rest, "fn").next()) else { continue };
                let count = name.split('_').filter(|word| !word.is_empty()).count();
                tests += 1;
                all_words += count;
                places.push((count, path, line_of(code, at + after), name));
            }
        }
    }
    places.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let place = |(count, path, line, name)| Finding::new(path, line, format!("{name}, {count} words"));
    Figure {
        name: "words_of_test_names",
        title: "words in a test's name, mean",
        advice: "call it thing_condition_result, in five words or so",
        target: Tenths(55),
        now: Tenths::ratio(all_words, tests),
        places: places.into_iter().map(place).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn longest_names_come_first() {
        let source = "#[test]\nfn one_two() {}\n#[test]\n#[ignore = \"x\"]\nfn one_two_three() {}\nfn no_test_at_all() {}\n\
                      #[tokio::test(flavor = \"y\")]\nasync fn one() {}\n";
        let places = ["a.rs:5: one_two_three, 3 words", "a.rs:2: one_two, 2 words", "a.rs:8: one, 1 words"];
        expect(figure, &[("a.rs", source)], "2", &places);
    }
}
