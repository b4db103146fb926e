//! Names of types. A name that several types share says little, and a search for it finds too much.

use std::collections::BTreeMap;

use super::{Figure, Finding, Tenths};
use crate::mask::line_of;
use crate::repo::Repo;
use crate::tidy::declared;

pub fn figure(repo: &Repo) -> Figure {
    let mut types: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, _, code) in repo.rust() {
        for keyword in ["struct", "enum", "union", "trait"] {
            for (at, name) in declared(code, keyword) {
                types.entry(name).or_default().push((path, line_of(code, at)));
            }
        }
    }
    let mut shared: Vec<(&str, Vec<(&str, usize)>)> =
        types.into_iter().filter(|(_, places)| places.len() > 1).collect();
    shared.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    let count = shared.len();
    let places = shared.into_iter().flat_map(|(name, places)| {
        let times = places.len();
        places.into_iter().map(move |(path, line)| Finding::new(path, line, format!("{name}, one of {times}")))
    });
    Figure {
        name: "shared_type_names",
        title: "type names defined more than once",
        advice: "give each type a name of its own",
        target: Tenths::whole(80),
        now: Tenths::whole(count),
        places: places.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn shared_names_are_counted_once() {
        let files = [
            ("a.rs", "pub struct Place;\nenum Other {}\n// struct Other\n"),
            ("b.rs", "struct Place<T>(T);\nstruct Own;\nfn f() -> Own { a.union(b) }\n"),
            ("c.rs", "trait Place {}\n"),
        ];
        let places = ["a.rs:1: Place, one of 3", "b.rs:1: Place, one of 3", "c.rs:1: Place, one of 3"];
        expect(figure, &files, "1", &places);
    }
}
