//! `cargo xtask public-api`: the names that a Rust program can reach from the crate `whimbrel`.
//!
//! Modules, types, traits, functions, constants; no methods. Read from the sources, so nothing is built. Items that
//! macros make are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::Repo;
use crate::tidy::figures::modules::module_path;
use crate::tidy::{ships, word};

/// Crate that Rust programs depend on.
const FACADE: &str = "whimbrel";
/// Re-exports that are followed from one to the next before a path counts as one that leads nowhere.
const HOPS_MAX: usize = 12;
/// Keywords of items that have a name.
const KINDS: &[&str] = &["mod", "struct", "enum", "union", "trait", "type", "fn", "const", "static"];
/// Words that may stand between `pub` and the keyword of an item.
const QUALIFIERS: &[&str] = &["unsafe", "async", "extern", "const"];

/// Item of a module.
#[derive(Debug, PartialEq, Eq)]
struct Item<'a> {
    reach: Reach,
    is_hidden: bool,
    form: Form<'a>,
}

/// Visibility of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Everywhere,
    Crate,
    /// Module of the crate, and the modules inside.
    Module,
}

/// Form of an item.
#[derive(Debug, PartialEq, Eq)]
enum Form<'a> {
    /// Definition: keyword, name, and the block of an inline module.
    Defined { kind: &'a str, name: &'a str, block: &'a str },
    /// One name of an import.
    Import { path: Vec<&'a str>, name: &'a str },
    /// Import of all public names.
    Glob { path: Vec<&'a str> },
}

/// Module: its crate, and its path in there.
type Module = (String, String);

/// End of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Module(Module),
    Item(String),
}

/// Items of all modules of the project's libraries.
struct Sources<'a> {
    modules: BTreeMap<Module, Vec<Item<'a>>>,
}

/// Returns all names, each with its kind: `struct whimbrel::messages::AclMessage`.
pub fn names(repo: &Repo) -> BTreeSet<String> {
    names_in(repo, FACADE, "")
}

/// Returns the names of a module of one of the crates, as if that module were the crate `whimbrel`.
pub fn names_in(repo: &Repo, crate_name: &str, module: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    Sources::of(repo).list(&(crate_name.to_owned(), module.to_owned()), FACADE, &mut Vec::new(), &mut names);
    names
}

/// Returns the names that two versions of the repository do not share: `-` and `+` before each.
pub fn differences(before: &Repo, now: &Repo) -> Vec<String> {
    let (before, now) = (names(before), names(now));
    let gone = before.difference(&now).map(|name| format!("- {name}"));
    gone.chain(now.difference(&before).map(|name| format!("+ {name}"))).collect()
}

impl<'a> Sources<'a> {
    fn of(repo: &'a Repo) -> Self {
        let mut sources = Self { modules: BTreeMap::new() };
        for folder in repo.folders("crates") {
            let prefix = format!("crates/{folder}");
            for (file, _, code) in repo.rust().filter(|(file, ..)| ships(file)) {
                if let Some(path) = module_path(&prefix, file) {
                    let name = if folder == FACADE { FACADE.to_owned() } else { crate_name(folder) };
                    sources.read((name, path), code);
                }
            }
        }
        sources
    }

    fn read(&mut self, module: Module, code: &'a str) {
        let items = items(code);
        for item in &items {
            if let Form::Defined { kind: "mod", name, block } = item.form
                && !block.is_empty()
            {
                self.read(inside(&module, name), block);
            }
        }
        self.modules.insert(module, items);
    }

    /// Adds the names of a module, which has been reached by `path`.
    fn list(&self, module: &Module, path: &str, above: &mut Vec<Module>, names: &mut BTreeSet<String>) {
        if above.contains(module) {
            return;
        }
        above.push(module.clone());
        for (name, target) in self.exports(module, 0) {
            let path = format!("{path}::{name}");
            match target {
                Target::Module(inner) => {
                    names.insert(format!("mod {path}"));
                    self.list(&inner, &path, above, names);
                }
                Target::Item(kind) => {
                    names.insert(format!("{kind} {path}"));
                }
            }
        }
        above.pop();
    }

    /// Returns the public names of a module.
    fn exports(&self, module: &Module, hops: usize) -> Vec<(&'a str, Target)> {
        let items = self.modules.get(module).into_iter().flatten();
        let public = items.filter(|item| item.reach == Reach::Everywhere && !item.is_hidden && hops < HOPS_MAX);
        public.flat_map(|item| self.meant(module, item, hops)).collect()
    }

    /// Returns what an item gives a name to.
    fn meant(&self, module: &Module, item: &Item<'a>, hops: usize) -> Vec<(&'a str, Target)> {
        match &item.form {
            Form::Defined { kind: "mod", name, .. } => vec![(*name, Target::Module(inside(module, name)))],
            Form::Defined { kind, name, .. } => vec![(*name, Target::Item((*kind).to_owned()))],
            Form::Import { path, name } => {
                let found = self.resolve(module, path, hops + 1);
                found.into_iter().map(|target| (*name, target)).collect()
            }
            Form::Glob { path } => {
                let sources = modules_in(self.resolve(module, path, hops + 1));
                sources.flat_map(|source| self.exports(&source, hops + 1)).collect()
            }
        }
    }

    /// Returns the ends of a path that stands in a module: several if a module and a function have one name.
    fn resolve(&self, module: &Module, path: &[&str], hops: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first().filter(|_| hops < HOPS_MAX) else { return Vec::new() };
        let root = |name: &str| (name.to_owned(), String::new());
        let start = match *first {
            "crate" => root(&module.0),
            "self" => module.clone(),
            "super" => (module.0.clone(), module.1.rsplit_once("::").map_or("", |(outer, _)| outer).to_owned()),
            name if self.modules.contains_key(&root(name)) => root(name),
            name if self.finds(module, name) => return self.walk(module, module.clone(), path, hops),
            // It comes from another project.
            _ => return vec![Target::Item("extern".to_owned())],
        };
        self.walk(module, start, rest, hops)
    }

    fn finds(&self, module: &Module, name: &str) -> bool {
        self.modules.get(module).into_iter().flatten().any(|item| match &item.form {
            Form::Defined { name: defined, .. } => *defined == name,
            Form::Import { name: bound, .. } => *bound == name,
            Form::Glob { .. } => false,
        })
    }

    fn walk(&self, from: &Module, start: Module, path: &[&str], hops: usize) -> Vec<Target> {
        let mut reached = vec![Target::Module(start)];
        for name in path {
            reached = modules_in(reached).flat_map(|module| self.named(from, &module, name, hops)).collect();
        }
        reached
    }

    /// Returns what a name of a module means to another module. What is declared there comes before what a glob brings.
    fn named(&self, from: &Module, module: &Module, name: &str, hops: usize) -> Vec<Target> {
        let is_visible = |reach| match reach {
            Reach::Everywhere => true,
            Reach::Crate => from.0 == module.0,
            Reach::Module => from.0 == module.0 && is_inside(&from.1, &module.1),
        };
        let items = || {
            let all = self.modules.get(module).into_iter().flatten();
            all.filter(move |item| hops < HOPS_MAX && is_visible(item.reach))
        };
        let declared = items().filter(|item| match &item.form {
            Form::Defined { name: other, .. } | Form::Import { name: other, .. } => *other == name,
            Form::Glob { .. } => false,
        });
        let found: Vec<Target> =
            declared.flat_map(|item| self.meant(module, item, hops)).map(|(_, target)| target).collect();
        if !found.is_empty() {
            return found;
        }
        let globs = items().filter_map(|item| if let Form::Glob { path } = &item.form { Some(path) } else { None });
        let sources = globs.flat_map(|path| modules_in(self.resolve(module, path, hops + 1)));
        sources.flat_map(|source| self.named(from, &source, name, hops + 1)).collect()
    }
}

/// Keeps the modules among the ends of a path.
fn modules_in(targets: Vec<Target>) -> impl Iterator<Item = Module> {
    targets.into_iter().filter_map(|target| if let Target::Module(module) = target { Some(module) } else { None })
}

/// True for the path of a module, and of modules inside it.
fn is_inside(path: &str, outer: &str) -> bool {
    outer.is_empty() || path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn crate_name(folder: &str) -> String {
    format!("{FACADE}_{}", folder.replace('-', "_"))
}

fn inside(module: &Module, name: &str) -> Module {
    let path = if module.1.is_empty() { name.to_owned() } else { format!("{}::{name}", module.1) };
    (module.0.clone(), path)
}

/// Returns the items of a module's code, in which comments and literals are blanked out.
fn items(code: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut rest = code;
    while let Some((statement, after)) = statement(rest) {
        items.extend(read(statement));
        rest = after;
    }
    items
}

/// Splits off the first statement: up to a semicolon, or to the end of a block outside an import or a value.
fn statement(code: &str) -> Option<(&str, &str)> {
    let code = code.trim_start();
    let mut depth = 0_usize;
    for (at, next) in code.char_indices() {
        match next {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = match next {
            ';' => true,
            '}' => !matches!(keyword(without_attributes(code).0), "use" | "const" | "static" | "type"),
            _ => false,
        };
        if ends && depth == 0 {
            return code.split_at_checked(at + 1);
        }
    }
    None
}

/// Splits off attributes. Returns the code after them, and the attributes.
fn without_attributes(code: &str) -> (&str, &str) {
    let mut rest = code.trim_start();
    while rest.starts_with("#[") || rest.starts_with("#![") {
        let mut depth = 0_usize;
        let end = rest.char_indices().find(|(_, next)| {
            depth = if *next == '[' { depth + 1 } else { depth.saturating_sub(usize::from(*next == ']')) };
            *next == ']' && depth == 0
        });
        rest = end.and_then(|(at, _)| rest.get(at + 1..)).unwrap_or_default().trim_start();
    }
    (rest, code.get(..code.len() - rest.len()).unwrap_or_default())
}

/// Splits off the visibility.
fn visibility(code: &str) -> (Reach, &str) {
    let rest = code.strip_prefix("pub").filter(|rest| rest.starts_with([' ', '(']));
    let Some(rest) = rest else { return (Reach::Module, code) };
    match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => (Reach::Crate, rest.trim_start()),
        None => (Reach::Everywhere, rest.trim_start()),
    }
}

/// Returns the keyword of an item: `fn` of `pub const unsafe fn`.
fn keyword(code: &str) -> &str {
    let code = visibility(code).1;
    let first = word(code);
    let second = code.get(first.len()..).map_or("", |rest| word(rest.trim_start()));
    if QUALIFIERS.contains(&first) && (second == "fn" || second == "trait" || QUALIFIERS.contains(&second)) {
        return keyword(code.get(first.len()..).unwrap_or_default().trim_start());
    }
    first
}

fn read(statement: &str) -> Vec<Item<'_>> {
    let (code, attributes) = without_attributes(statement);
    let (reach, code) = visibility(code);
    if attributes.contains("cfg(test)") || attributes.contains("cfg(doctest)") {
        return Vec::new();
    }
    let is_hidden = attributes.contains("doc(hidden)");
    let kind = keyword(code);
    if kind == "use" {
        let tree = code.trim_start_matches("use").trim_end_matches(';');
        let mut forms = Vec::new();
        imports(tree, &[], &mut forms);
        return forms.into_iter().map(|form| Item { reach, is_hidden, form }).collect();
    }
    let known = KINDS.iter().find(|known| **known == kind);
    let Some((kind, (_, rest))) = known.and_then(|kind| Some((*kind, code.split_once(&format!("{kind} "))?))) else {
        return Vec::new();
    };
    let name = word(rest.trim_start());
    let block = if kind == "mod" { rest.split_once('{').map_or("", |(_, block)| block) } else { "" };
    let block = block.strip_suffix('}').unwrap_or(block);
    vec![Item { reach, is_hidden, form: Form::Defined { kind, name, block } }]
}

/// Reads an import: `a::{b, c as d, e::*}`.
fn imports<'a>(tree: &'a str, before: &[&'a str], forms: &mut Vec<Form<'a>>) {
    let tree = tree.trim();
    let mut path = before.to_vec();
    if let Some((head, group)) = tree.split_once('{') {
        path.extend(head.split("::").map(str::trim).filter(|part| !part.is_empty()));
        for part in parts(group.trim_end().strip_suffix('}').unwrap_or(group)) {
            imports(part, &path, forms);
        }
        return;
    }
    let (tree, alias) = tree.split_once(" as ").map_or((tree, None), |(tree, alias)| (tree, Some(alias.trim())));
    path.extend(tree.split("::").map(str::trim).filter(|part| !part.is_empty()));
    if path.last() == Some(&"self") && path.len() > 1 {
        path.pop();
    }
    match path.last() {
        Some(&"*") => {
            path.pop();
            forms.push(Form::Glob { path });
        }
        Some(last) => forms.push(Form::Import { name: alias.unwrap_or(last), path }),
        None => {}
    }
}

/// Splits a group of imports at the commas that are not in a group inside.
fn parts(group: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let at_comma = |next: char| {
        match next {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        next == ',' && depth == 0
    };
    group.split(at_comma).map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: &str = "
#[cfg(test)]
mod tests;
mod hidden;
pub mod shown { pub struct Inner; pub(crate) struct Local; }
pub use hidden::{Deep, deep, other::*};
pub const fn made() -> [u8; 2] { [1, 2] }
pub const LIMIT: usize = { 3 };
#[doc(hidden)]
pub fn secret() {}
fn private() {}
";
    const HIDDEN: &str = "
mod deep { pub struct Unreachable; pub fn deep() {} }
pub use deep::deep;
pub struct Deep { field: u8 }
pub mod other { pub enum Far { A } }
pub use serde::Serialize;
";
    const FACADE_TEXT: &str = "
pub mod prelude { pub use crate::parts::Deep; pub use whimbrel_low::made as make; }
mod parts;
pub use whimbrel_low as low;
";

    fn repo() -> Repo {
        Repo::of([
            ("crates/low/src/lib.rs", LOW),
            ("crates/low/src/hidden.rs", HIDDEN),
            ("crates/whimbrel/src/lib.rs", FACADE_TEXT),
            ("crates/whimbrel/src/parts.rs", "pub use whimbrel_low::{Deep, shown};"),
        ])
    }

    #[test]
    fn reachable_names_are_listed() {
        let expected = [
            "const whimbrel::low::LIMIT",
            "enum whimbrel::low::Far",
            "fn whimbrel::low::deep",
            "fn whimbrel::low::made",
            "fn whimbrel::prelude::make",
            "mod whimbrel::low",
            "mod whimbrel::low::shown",
            "mod whimbrel::prelude",
            "struct whimbrel::low::Deep",
            "struct whimbrel::low::shown::Inner",
            "struct whimbrel::prelude::Deep",
        ];
        assert_eq!(names(&repo()).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn vanished_names_are_told() {
        let now = Repo::of([("crates/whimbrel/src/lib.rs", "pub mod prelude {}\npub struct New;")]);
        let told = differences(&repo(), &now);
        assert!(told.contains(&"- mod whimbrel::low".to_owned()), "{told:?}");
        assert!(told.contains(&"+ struct whimbrel::New".to_owned()), "{told:?}");
        assert!(!told.iter().any(|name| name.ends_with("mod whimbrel::prelude")), "{told:?}");
    }
}
