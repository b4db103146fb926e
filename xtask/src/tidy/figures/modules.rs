//! Modules of a crate: their files, the names that they declare and import, and the module that a path leads to.

use std::collections::{BTreeMap, BTreeSet};

use crate::mask::line_of;
use crate::repo::Repo;
use crate::tidy::functions::block_length;
use crate::tidy::{declared, ships, without_tests, word, words};

/// Imports that are followed from one to the next before a path counts as one that leads nowhere.
const HOPS_MAX: usize = 8;

/// Modules of one crate, by their paths: `` for the root, `a::b`.
pub struct Modules<'a> {
    by_path: BTreeMap<String, CrateModule<'a>>,
}

/// Module of a crate, in a file of its own or inside another module's.
pub struct CrateModule<'a> {
    /// File that the module is in.
    pub file: &'a str,
    /// Names declared in the file.
    declares: BTreeSet<&'a str>,
    /// Paths that the module imports or names.
    pub paths: Vec<Named<'a>>,
}

/// Path in a module's code.
pub struct Named<'a> {
    /// Line of the path.
    pub line: usize,
    /// Segments: `crate`, `a`, `B`.
    pub segments: Vec<&'a str>,
    /// Name that an import gives to the path's end; none for a glob and for a path outside imports.
    binds: Option<&'a str>,
    /// True for `use a::*`.
    is_glob: bool,
}

/// Returns the folders of all crates whose modules are looked at.
pub fn crates(repo: &Repo) -> Vec<String> {
    let crates = repo.folders("crates").into_iter().map(|name| format!("crates/{name}"));
    crates.chain(["xtask".to_owned()]).collect()
}

/// Returns the path of a file's module in the crate of `folder`; `None` for files of other crates and other programs.
pub fn module_path(folder: &str, file: &str) -> Option<String> {
    let inside = file.strip_prefix(folder)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    let path = match inside {
        "lib" => "",
        "main" if folder == "xtask" => "",
        "main" => return None,
        path if path.starts_with("bin/") => return None,
        path => path.strip_suffix("/mod").unwrap_or(path),
    };
    Some(path.replace('/', "::"))
}

impl<'a> Modules<'a> {
    /// Reads the modules of the crate in `folder`, tests left out.
    pub fn of(repo: &'a Repo, folder: &str) -> Self {
        let mut modules = Self { by_path: BTreeMap::new() };
        for (file, _, code) in repo.rust().filter(|(file, ..)| ships(file)) {
            if let Some(path) = module_path(folder, file) {
                modules.read(&path, file, without_tests(code));
            }
        }
        modules
    }

    /// Returns all modules with their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CrateModule<'a>)> {
        self.by_path.iter().map(|(path, module)| (path.as_str(), module))
    }

    fn read(&mut self, path: &str, file: &'a str, code: &'a str) {
        let inner = inner_modules(code);
        let path_at = |at: usize| {
            let around = inner.iter().filter(|(_, block)| block.contains(&at)).map(|(name, _)| *name);
            around.fold(path.to_owned(), join_owned)
        };
        let declares: BTreeSet<&str> =
            ["struct", "enum", "union", "trait", "fn", "type", "const", "static", "macro_rules!"]
                .iter()
                .flat_map(|keyword| declared(code, keyword))
                .map(|(_, name)| name)
                .collect();
        let module = || CrateModule { file, declares: declares.clone(), paths: Vec::new() };
        self.by_path.insert(path.to_owned(), module());
        for (_, block) in &inner {
            self.by_path.entry(path_at(block.start)).or_insert_with(module);
        }
        for (at, named) in named_paths(code) {
            self.by_path.entry(path_at(at)).or_insert_with(module).paths.push(named);
        }
    }

    /// Returns the module in which the end of a path is declared, imports followed. `None` if that is in another crate.
    pub fn resolve(&self, from: &str, segments: &[&str]) -> Option<&CrateModule<'a>> {
        self.by_path.get(&self.walk(from, segments, 0)?.0)
    }

    /// Returns the module that a path leads to, and true if the path's end is that module, not an item in it.
    fn walk(&self, from: &str, segments: &[&str], hops: usize) -> Option<(String, bool)> {
        let (first, rest) = segments.split_first()?;
        let (mut at, mut rest) = match *first {
            "crate" => (String::new(), rest),
            "self" => (from.to_owned(), rest),
            "super" => (parent(from)?.to_owned(), rest),
            name if self.by_path.contains_key(&join(from, name)) => (from.to_owned(), segments),
            name => {
                let import = self.import(from, name, hops)?;
                if !import.1 {
                    return Some(import);
                }
                (import.0, rest)
            }
        };
        while let Some((segment, after)) = rest.split_first() {
            rest = after;
            let child = join(&at, segment);
            if *segment == "super" {
                at = parent(&at)?.to_owned();
            } else if self.by_path.contains_key(&child) {
                at = child;
            } else if self.by_path.get(&at)?.declares.contains(segment) {
                return Some((at, false));
            } else {
                match self.import(&at, segment, hops) {
                    Some((module, true)) => at = module,
                    Some(item) => return Some(item),
                    None => return Some((at, false)),
                }
            }
        }
        Some((at, true))
    }

    /// Returns the module that an imported name comes from.
    fn import(&self, at: &str, name: &str, hops: usize) -> Option<(String, bool)> {
        if hops == HOPS_MAX {
            return None;
        }
        let module = self.by_path.get(at)?;
        let is_other = |named: &&Named<'_>| named.segments.first() != Some(&name);
        if let Some(named) = module.paths.iter().filter(is_other).find(|named| named.binds == Some(name)) {
            return self.walk(at, &named.segments, hops + 1);
        }
        let globs = module.paths.iter().filter(|named| named.is_glob);
        globs.filter_map(|glob| self.walk(at, &glob.segments, hops + 1)).find_map(|(target, _)| {
            let child = join(&target, name);
            if self.by_path.contains_key(&child) {
                return Some((child, true));
            }
            self.by_path.get(&target)?.declares.contains(name).then_some((target, false))
        })
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") }
}

fn join_owned(path: String, name: &str) -> String {
    join(&path, name)
}

fn parent(path: &str) -> Option<&str> {
    if path.is_empty() { None } else { Some(path.rsplit_once("::").map_or("", |(parent, _)| parent)) }
}

/// Returns the modules inside a file, outer ones first: the name, and the range of the block.
fn inner_modules(code: &str) -> Vec<(&str, std::ops::Range<usize>)> {
    declared(code, "mod")
        .filter_map(|(at, name)| {
            let start = at + "mod ".len() + name.len();
            let rest = code.get(start..)?;
            let block = rest.trim_start().strip_prefix('{').map(|_| start + rest.find('{').unwrap_or(0))?;
            Some((name, block..block + block_length(code.get(block..)?)))
        })
        .collect()
}

/// Returns the paths that code imports, and those outside imports that begin with `crate`, `self` or `super`.
fn named_paths(code: &str) -> Vec<(usize, Named<'_>)> {
    let mut found = Vec::new();
    let mut imports = Vec::new();
    for at in words(code, "use") {
        let Some(rest) = code.get(at + "use".len()..).filter(|rest| rest.starts_with(char::is_whitespace)) else {
            continue;
        };
        let tree = rest.split(';').next().unwrap_or_default();
        imports.push(at..at + "use".len() + tree.len());
        flatten(&[], tree, line_of(code, at), &mut |named| found.push((at, named)));
    }
    for start in ["crate", "self", "super"] {
        for at in words(code, start).filter(|at| !imports.iter().any(|import| import.contains(at))) {
            let before = code.get(..at).unwrap_or_default().trim_end();
            let rest = code.get(at..).unwrap_or_default();
            // `pub(in crate::a)` says who may import, and `super::super::a` is read from its beginning.
            if before.ends_with("(in")
                || before.ends_with("::")
                || !rest.get(start.len()..).unwrap_or_default().starts_with("::")
            {
                continue;
            }
            let segments = path_segments(rest);
            found.push((at, Named { line: line_of(code, at), segments, binds: None, is_glob: false }));
        }
    }
    found
}

/// Returns the segments of the path that `text` begins with.
fn path_segments(text: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut rest = text;
    loop {
        let segment = word(rest);
        if segment.is_empty() {
            return segments;
        }
        segments.push(segment);
        let Some(after) = rest.get(segment.len()..).and_then(|after| after.strip_prefix("::")) else { return segments };
        rest = after;
    }
}

/// Takes a tree of imports apart: `a::{b, c::{self, d as e}}`.
fn flatten<'a>(prefix: &[&'a str], tree: &'a str, line: usize, found: &mut dyn FnMut(Named<'a>)) {
    for part in top_level_parts(tree) {
        let (head, group) = match part.split_once('{') {
            Some((head, group)) => (head, Some(group.trim_end().strip_suffix('}').unwrap_or(group))),
            None => (part, None),
        };
        let (head, alias) = head.split_once(" as ").map_or((head, None), |(head, alias)| (head, Some(alias.trim())));
        let mut segments = prefix.to_vec();
        segments.extend(head.split("::").map(str::trim).filter(|segment| !segment.is_empty()));
        if let Some(group) = group {
            flatten(&segments, group, line, found);
            continue;
        }
        let is_glob = segments.last() == Some(&"*");
        if is_glob || (segments.len() > 1 && segments.last() == Some(&"self")) {
            segments.pop();
        }
        let binds = if is_glob { None } else { alias.or(segments.last().copied()) };
        if !segments.is_empty() {
            found(Named { line, segments, binds, is_glob });
        }
    }
}

/// Returns the parts between the commas outside braces.
fn top_level_parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], from: &str, path: &str, expected: Option<&str>) {
        let repo = Repo::of(files.iter().copied());
        let modules = Modules::of(&repo, "crates/a");
        let segments: Vec<&str> = path.split("::").collect();
        assert_eq!(modules.resolve(from, &segments).map(|module| module.file), expected, "{path} in {from}");
    }

    const LIB: (&str, &str) =
        ("crates/a/src/lib.rs", "mod b;\nmod c;\npub use b::{Thing, deep::*};\npub use c as d;\n");
    const B: (&str, &str) = ("crates/a/src/b/mod.rs", "mod deep;\npub struct Thing;\nuse std::fmt;\n");
    const DEEP: (&str, &str) = ("crates/a/src/b/deep.rs", "pub enum Deep { A }\nmod inner { pub fn f() {} }\n");
    const C: (&str, &str) = ("crates/a/src/c.rs", "pub(crate) use super::b::Thing as Other;\npub fn run() {}\n");

    #[test]
    fn paths_lead_to_declarations() {
        let files = &[LIB, B, DEEP, C];
        check(files, "", "crate::b::Thing", Some("crates/a/src/b/mod.rs"));
        check(files, "b::deep", "super::Thing", Some("crates/a/src/b/mod.rs"));
        check(files, "b::deep", "super::super::c::run", Some("crates/a/src/c.rs"));
        check(files, "b", "deep::inner::f", Some("crates/a/src/b/deep.rs"));
        check(files, "b::deep::inner", "super::Deep", Some("crates/a/src/b/deep.rs"));
    }

    #[test]
    fn imports_are_followed() {
        let files = &[LIB, B, DEEP, C];
        check(files, "c", "crate::Thing", Some("crates/a/src/b/mod.rs"));
        check(files, "c", "crate::Deep::A", Some("crates/a/src/b/deep.rs"));
        check(files, "b", "crate::d::run", Some("crates/a/src/c.rs"));
        check(files, "b", "crate::c::Other", Some("crates/a/src/b/mod.rs"));
        check(files, "b", "fmt::Display", None);
        check(files, "b", "std::fmt", None);
    }

    #[test]
    fn import_trees_are_flattened() {
        let code = "use a::{b, c::{self, d as e}, f::*};\nfn g() { crate::h::i(super::super::j::K) }\npub(in crate::x) fn y() -> impl T + use<'a> {}\n";
        let paths = named_paths(code).into_iter().map(|(_, named)| {
            (named.line, named.segments.join("::"), named.binds.unwrap_or(if named.is_glob { "*" } else { "-" }))
        });
        let found: Vec<String> = paths.map(|(line, path, binds)| format!("{line} {path} {binds}")).collect();
        assert_eq!(
            found,
            ["1 a::b b", "1 a::c c", "1 a::c::d e", "1 a::f *", "2 crate::h::i -", "2 super::super::j::K -"]
        );
    }
}
