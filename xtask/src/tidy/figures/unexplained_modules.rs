//! Modules without an entry in the glossary. A module is called after a concept, and the glossary explains it: one of
//! its words in bold is the module's name, in the singular or the plural.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{crates, module_path};
use super::{Figure, Finding, Tenths};
use crate::repo::Repo;
use crate::tidy::ships;

const GLOSSARY: &str = "docs/reference/glossary.md";

pub fn figure(repo: &Repo) -> Figure {
    let explained: BTreeSet<String> = headwords(repo.text(GLOSSARY).unwrap_or_default()).collect();
    let mut unexplained: BTreeMap<String, &str> = BTreeMap::new();
    for folder in crates(repo) {
        for (file, ..) in repo.rust().filter(|(file, ..)| ships(file)) {
            let Some(path) = module_path(&folder, file).filter(|path| !path.is_empty()) else { continue };
            let name = path.rsplit("::").next().unwrap_or_default();
            if !explained.contains(&plain(name)) {
                unexplained.entry(name.to_owned()).or_insert(file);
            }
        }
    }
    let places = unexplained.into_iter().map(|(name, file)| Finding::new(file, 0, format!("module {name}")));
    let places: Vec<Finding> = places.collect();
    Figure {
        name: "unexplained_modules",
        title: "module names without a glossary entry",
        advice: "explain the name in docs/reference/glossary.md, or use one that is there",
        target: Tenths(0),
        now: Tenths::whole(places.len()),
        places,
    }
}

/// Returns the words in bold of a glossary's entries.
fn headwords(glossary: &str) -> impl Iterator<Item = String> {
    // Each second part stands between two marks.
    glossary.split("**").skip(1).step_by(2).map(plain)
}

/// Returns a name without case, hyphens and the ending of a plural.
fn plain(name: &str) -> String {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    match (letters.strip_suffix("ies"), letters.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) if !stem.ends_with('s') => stem.to_owned(),
        _ => letters,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn modules_need_headwords() {
        let glossary = "- **Mailbox**: messages.\n- **Dead letter**, **Family**: its **root agent**.\n";
        let files = [
            (GLOSSARY, glossary),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/mailboxes.rs", ""),
            ("crates/a/src/mailbox/mod.rs", ""),
            ("crates/a/src/mailbox/dead_letters.rs", ""),
            ("crates/b/src/mailbox/families.rs", ""),
            ("crates/b/src/seat.rs", ""),
            ("crates/b/src/x/seat.rs", ""),
            ("crates/b/tests/it/whatever.rs", ""),
        ];
        let places = ["crates/a/src/mailboxes.rs: module mailboxes", "crates/b/src/seat.rs: module seat"];
        expect(figure, &files, "2", &places);
    }
}
