//! Inherent implementations: a reader finds a type's methods in the file of the type or in its folder. The folder of
//! `a.rs` is `a/`, the folder of `a/mod.rs` and `a/b.rs` is `a/`.

use std::collections::BTreeMap;

use super::modules::crates;
use super::{Figure, Finding, Tenths};
use crate::mask::line_of;
use crate::repo::Repo;
use crate::tidy::{declared, ships, without_tests, word, words};

pub fn figure(repo: &Repo) -> Figure {
    let mut places = Vec::new();
    for folder in crates(repo) {
        let sources = format!("{folder}/src/");
        let files = || repo.rust().filter(|(file, ..)| file.starts_with(&sources) && ships(file));
        let mut types: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (file, _, code) in files() {
            for keyword in ["struct", "enum", "union"] {
                declared(without_tests(code), keyword).for_each(|(_, name)| types.entry(name).or_default().push(file));
            }
        }
        for (file, _, code) in files() {
            for (at, name) in inherent_impls(without_tests(code)) {
                let Some(homes) = types.get(name) else { continue };
                if !homes.iter().any(|home| is_at_home(&sources, home, file)) {
                    let home = homes.first().copied().unwrap_or_default();
                    places.push(Finding::new(file, line_of(code, at), format!("methods of {name}, a type of {home}")));
                }
            }
        }
    }
    Figure {
        name: "distant_impls",
        title: "inherent impls outside the file and folder of their type",
        advice: "move the methods to the type, or make a trait or a type of them",
        target: Tenths(0),
        now: Tenths::whole(places.len()),
        places,
    }
}

/// True if methods may stand in `file` for a type of the file `home`.
fn is_at_home(sources: &str, home: &str, file: &str) -> bool {
    let stem = home.strip_suffix(".rs").unwrap_or(home);
    let (folder, _) = home.rsplit_once('/').unwrap_or_default();
    let is_root = sources.trim_end_matches('/') == folder;
    let is_in = |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    file == home || is_in(stem) || (!is_root && is_in(folder))
}

/// Returns each inherent implementation: its place and the name of its type.
fn inherent_impls(code: &str) -> Vec<(usize, &str)> {
    let inherent = |at: usize| {
        let line_start = code.get(..at)?.rsplit('\n').next()?;
        // `-> impl Trait` begins no implementation.
        line_start.trim().is_empty().then_some(())?;
        let head = code.get(at + "impl".len()..)?.split('{').next()?;
        let head = head.split(" where").next()?.split("\nwhere").next()?;
        let head = without_generics(head.trim());
        (!head.contains(" for ")).then(|| word(head.rsplit("::").next().unwrap_or_default().trim()))
    };
    let named = words(code, "impl").filter_map(|at| inherent(at).map(|name| (at, name)));
    named.filter(|(_, name)| !name.is_empty()).collect()
}

/// Returns the head of an implementation without its leading parameters, `<T: A<B>>`, and what follows the type's name.
fn without_generics(head: &str) -> &str {
    let mut depth = 0_i32;
    let mut before = ' ';
    for (at, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let start = if head.starts_with('<') { at + 1 } else { 0 };
            let rest = head.get(start..).unwrap_or_default();
            return if rest.contains(" for ") { rest } else { rest.split('<').next().unwrap_or_default() };
        }
        before = c;
    }
    head
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn distant_methods_are_found() {
        let files = [
            ("crates/x/src/lib.rs", "pub struct Root;\n"),
            ("crates/x/src/a.rs", "pub struct A<T>(T);\nimpl<T: Into<u8>> A<T> {}\nimpl Root {}\n"),
            ("crates/x/src/a/b.rs", "impl<'a> A<&'a str>\nwhere A<u8>: Clone {}\nstruct B;\n"),
            ("crates/x/src/a/c.rs", "impl super::b::B {}\nimpl<T> Clone for A<T> {}\nimpl Elsewhere {}\n"),
            ("crates/x/src/d.rs", "impl A<u8> {}\nfn f() -> impl Root {}\n"),
        ];
        let places = [
            "crates/x/src/a.rs:3: methods of Root, a type of crates/x/src/lib.rs",
            "crates/x/src/d.rs:1: methods of A, a type of crates/x/src/a.rs",
        ];
        expect(figure, &files, "2", &places);
    }
}
