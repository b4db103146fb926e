//! Import cycles. The files of a cycle can only be understood, and moved to another crate, together.
//!
//! A file imports another one of its crate if its code, tests left out, has a `use` of something that is declared
//! there, or a path to it that begins with `crate`, `super` or `self`. Re-exports are followed to the declaration, so
//! that a `mod.rs` that only re-exports is in no cycle. The figure is the size of the largest set of files of a crate
//! each of which imports each other one, directly or not (a strongly connected component).

use std::collections::BTreeMap;

use super::modules::{Modules, crates};
use super::{Figure, Finding, Tenths};
use crate::repo::Repo;

/// Imports of one file: the other file, and the line of the first import.
type Imports<'a> = BTreeMap<&'a str, usize>;

pub fn figure(repo: &Repo) -> Figure {
    let graphs = crates(repo).into_iter().map(|folder| imports(repo, &folder));
    let largest = graphs.map(|graph| (largest_cycle(&graph), graph)).max_by_key(|(cycle, _)| cycle.len());
    let (cycle, graph) = largest.unwrap_or_default();
    let mut places = Vec::new();
    for file in &cycle {
        let inside = graph.get(file).into_iter().flatten().filter(|(other, _)| cycle.contains(other));
        let mut inside: Vec<(&str, usize)> = inside.map(|(other, line)| (*other, *line)).collect();
        let others = inside.len() - 1;
        inside.sort_by_key(|(_, line)| *line);
        let Some((other, line)) = inside.first() else { continue };
        let message = match others {
            0 => format!("imports {other}, and nothing else of the cycle"),
            others => format!("imports {other} and {others} more of the cycle"),
        };
        places.push((others, Finding::new(file, *line, message)));
    }
    // Files with few imports inside the cycle are the easiest to take out.
    places.sort();
    Figure {
        name: "files_in_import_cycle",
        title: "files in the largest import cycle of a crate",
        advice: "move what both need into a file that imports neither",
        target: Tenths::whole(20),
        now: Tenths::whole(cycle.len()),
        places: places.into_iter().map(|(_, place)| place).collect(),
    }
}

/// Returns the imports of each file of a crate.
fn imports<'a>(repo: &'a Repo, folder: &str) -> BTreeMap<&'a str, Imports<'a>> {
    let modules = Modules::of(repo, folder);
    let mut graph: BTreeMap<&str, Imports<'_>> = BTreeMap::new();
    for (path, module) in modules.iter() {
        let imports = graph.entry(module.file).or_default();
        for named in &module.paths {
            let Some(target) = modules.resolve(path, &named.segments) else { continue };
            if target.file != module.file {
                imports.entry(target.file).or_insert(named.line);
            }
        }
    }
    graph
}

/// Returns the largest set of files that reach each other; none if no file reaches itself.
fn largest_cycle<'a>(graph: &BTreeMap<&'a str, Imports<'a>>) -> Vec<&'a str> {
    let reached: BTreeMap<&str, Vec<&str>> = graph.keys().map(|file| (*file, reachable(graph, file))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(&to));
    let cycle = |file: &&'a str| -> Vec<&'a str> {
        graph.keys().copied().filter(|other| reaches(file, other) && reaches(other, file)).collect()
    };
    // Of cycles of one length the first one is taken, so that the figure's places stay the same.
    graph.keys().map(cycle).rev().max_by_key(Vec::len).unwrap_or_default()
}

/// Returns the files that imports lead to from `file`, in their order.
fn reachable<'a>(graph: &BTreeMap<&'a str, Imports<'a>>, file: &str) -> Vec<&'a str> {
    let (mut found, mut open) = (std::collections::BTreeSet::new(), vec![file]);
    while let Some(file) = open.pop() {
        for other in graph.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*other) {
                open.push(other);
            }
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    const LIB: (&str, &str) = ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;\n");

    #[test]
    fn files_that_reach_each_other_are_counted() {
        let files = [
            LIB,
            ("crates/x/src/a.rs", "use crate::b::B;\npub struct A;\n"),
            ("crates/x/src/b.rs", "#[cfg(test)]\nmod tests;\npub struct B(super::c::C);\nuse crate::d;\n"),
            ("crates/x/src/b/tests.rs", "use crate::A;\n"),
            ("crates/x/src/c.rs", "use crate::A;\npub struct C;\n"),
            ("crates/x/src/d.rs", "pub fn d() {}\n#[cfg(test)]\nmod tests { use crate::A; }\n"),
        ];
        let places = [
            "crates/x/src/a.rs:1: imports crates/x/src/b.rs, and nothing else of the cycle",
            "crates/x/src/b.rs:3: imports crates/x/src/c.rs, and nothing else of the cycle",
            "crates/x/src/c.rs:1: imports crates/x/src/a.rs, and nothing else of the cycle",
        ];
        expect(figure, &files, "3", &places);
    }

    #[test]
    fn crates_without_cycles_have_none() {
        let files = [LIB, ("crates/x/src/a.rs", "pub struct A;\n"), ("crates/x/src/b.rs", "use crate::A;\n")];
        expect(figure, &files, "0", &[]);
    }
}
