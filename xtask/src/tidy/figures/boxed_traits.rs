//! Traits that are boxed. Whoever implements one reads all of its methods, so there are at most 12. A wrapper, which
//! hands calls to a body inside, hands each method through: one that it leaves out silently falls back to the default.

use std::collections::{BTreeMap, BTreeSet};

use super::{Figure, Finding, Tenths};
use crate::mask::line_of;
use crate::repo::Repo;
use crate::tidy::forwarding::{Declared, METHODS_MAX, block, declared, methods};
use crate::tidy::functions::block_length;
use crate::tidy::{ships, without_tests, word, words};

/// Methods that an implementation hands through, from which on it counts as a wrapper.
const HANDED_MIN: usize = 2;

pub fn figure(repo: &Repo) -> Figure {
    let sources: Vec<(&str, &str)> =
        repo.rust().filter(|(path, ..)| ships(path)).map(|(path, _, code)| (path, without_tests(code))).collect();
    let boxed: BTreeSet<&str> = sources.iter().flat_map(|(_, code)| boxed(code)).collect();
    let mut traits: BTreeMap<&str, Vec<Declared<'_>>> = BTreeMap::new();
    for (path, code) in &sources {
        for found in words(code, "trait").filter_map(|at| declared(path, code, at)) {
            if boxed.contains(found.name) {
                traits.entry(found.name).or_default().push(found);
            }
        }
    }
    let wide = traits.values().flatten().filter(|found| found.methods.len() > METHODS_MAX);
    let mut places: Vec<Finding> = wide
        .map(|wide| Finding::new(wide.path, wide.line, format!("trait {}, {} methods", wide.name, wide.methods.len())))
        .collect();
    for (path, code) in &sources {
        places.extend(words(code, "impl").filter_map(|at| leaky_wrapper(path, code, at, &traits)));
    }
    Figure {
        name: "wide_or_leaky_boxed_traits",
        title: "boxed traits over 12 methods, and wrappers that leave one out",
        advice: "make some methods a capability; hand all methods through",
        target: Tenths(0),
        now: Tenths::whole(places.len()),
        places,
    }
}

/// Returns the traits that code has behind owning pointers.
fn boxed(code: &str) -> impl Iterator<Item = &str> {
    let after = move |pointer: &'static str| {
        code.match_indices(pointer).filter_map(move |(at, _)| code.get(at + pointer.len()..))
    };
    ["Box<dyn ", "Arc<dyn ", "Rc<dyn "].into_iter().flat_map(after).map(|rest| {
        let path = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next().unwrap_or_default();
        path.rsplit(':').next().unwrap_or_default()
    })
}

/// Returns a wrapper that hands some methods through and leaves others out.
fn leaky_wrapper(path: &str, code: &str, at: usize, traits: &BTreeMap<&str, Vec<Declared<'_>>>) -> Option<Finding> {
    let rest = code.get(at..)?;
    let (of, to) = rest.get(..rest.find('{')?)?.split_once(" for ")?;
    let of = of.rsplit([' ', ':']).next()?;
    // Pointers are a rule of their own.
    if to.starts_with(['&']) || ["Box<", "Arc<", "Rc<"].iter().any(|pointer| to.starts_with(pointer)) {
        return None;
    }
    let body = block(rest)?;
    let here = methods(body);
    let handed = here.iter().filter(|method| hands_through(body, method)).count();
    if handed < HANDED_MIN || handed * 2 < here.len() {
        return None;
    }
    // Of traits of one name the implementation is of the one that has all its methods.
    let all = |found: &&Declared<'_>| here.iter().all(|method| found.methods.contains(method));
    let declared = traits.get(word(of))?.iter().find(all)?;
    let missing: Vec<&str> = declared.methods.iter().copied().filter(|method| !here.contains(method)).collect();
    let message = format!("{} of wrapper {} leaves out {}", declared.name, word(to), missing.join(", "));
    (!missing.is_empty()).then(|| Finding::new(path, line_of(code, at), message))
}

/// True if a method calls the method of the same name on a part of itself.
fn hands_through(body: &str, method: &str) -> bool {
    let function = body.find(&format!("fn {method}(")).or_else(|| body.find(&format!("fn {method}<")));
    let Some(rest) = function.and_then(|at| body.get(at..)) else { return false };
    let Some(start) = rest.find('{') else { return false };
    let inside = rest.get(start..).map(|block| block.get(..block_length(block)).unwrap_or(block)).unwrap_or_default();
    let call = format!(".{method}(");
    inside.match_indices(&call).any(|(at, _)| {
        let before = inside.get(..at).unwrap_or_default();
        let part = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '{' | '*' | '&')).next();
        part.is_some_and(|part| part.starts_with("self."))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    const PATH: &str = "crates/acl/src/a.rs";

    #[test]
    fn wide_boxed_traits_are_found() {
        let methods: String = (0..13).map(|n| format!("    fn f{n}(&self);\n")).collect();
        let wide = format!("trait Wide {{\n{methods}}}\n");
        expect(figure, &[(PATH, &wide)], "0", &[]);
        let boxed = format!("{wide}struct S(Box<dyn super::Wide + Send>);\n");
        expect(figure, &[(PATH, &boxed)], "1", &["crates/acl/src/a.rs:1: trait Wide, 13 methods"]);
    }

    #[test]
    fn leaky_wrappers_are_found() {
        let body = "trait Body { fn a(&mut self); fn b(&self) -> u8; fn c(&self) {} }\ntype B = Box<dyn Body>;\n";
        let wrapper = |rest: &str| {
            format!(
                "{body}impl<T: Body> Body for Wrapper<T> {{ fn a(&mut self) {{ self.0.a(); }} fn b(&self) -> u8 {{ self.inner.b() }} {rest} }}\n"
            )
        };
        expect(figure, &[(PATH, &wrapper(""))], "1", &["crates/acl/src/a.rs:3: Body of wrapper Wrapper leaves out c"]);
        expect(figure, &[(PATH, &wrapper("fn c(&self) { self.0.c() }"))], "0", &[]);
        let own = format!(
            "{body}impl Body for Own {{ fn a(&mut self) {{ self.list.push(1) }} fn b(&self) -> u8 {{ 1 }} }}\n"
        );
        expect(figure, &[(PATH, &own)], "0", &[]);
    }
}
