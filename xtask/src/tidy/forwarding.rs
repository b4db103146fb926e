//! Forwarding of traits by boxes, references and shared pointers. A method that such an implementation leaves out would
//! silently fall back to the trait's default, so it must forward all of them. To stay readable, such a trait has at
//! most 12 methods, and so has each capability that it returns as `&mut dyn Capability`.

use std::collections::BTreeMap;

use super::functions::block_length;
use super::{Finding, ships, word, words};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

pub(super) const METHODS_MAX: usize = 12;

pub fn check(repo: &Repo) -> Vec<Finding> {
    let sources: Vec<(&str, String)> =
        repo.ending(".rs").filter(|(path, _)| ships(path)).map(|(path, source)| (path, mask(source))).collect();
    let mut traits = BTreeMap::new();
    for (path, masked) in &sources {
        for declared in words(masked, "trait").filter_map(|at| declared(path, masked, at)) {
            traits.insert(declared.name, declared);
        }
    }
    let mut findings = Vec::new();
    for (path, masked) in &sources {
        for forwarding in words(masked, "impl").filter_map(|at| forwarding(masked, at)) {
            let Some(declared) = traits.get(forwarding.of) else { continue };
            findings.extend(unforwarded(path, declared, &forwarding));
            findings.extend(wide(declared));
            let capabilities = declared.capabilities.iter().filter_map(|name| traits.get(name));
            findings.extend(capabilities.filter_map(wide));
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

fn unforwarded(path: &str, declared: &Declared<'_>, forwarding: &Forwarding<'_>) -> Option<Finding> {
    let missing: Vec<&str> =
        declared.methods.iter().copied().filter(|method| !forwarding.methods.contains(method)).collect();
    if missing.is_empty() {
        return None;
    }
    let Forwarding { of, to, .. } = forwarding;
    let message = format!("{of} for {to} falls back to the default of {}: hand it through", missing.join(", "));
    Some(Finding::new(path, forwarding.line, message))
}

fn wide(declared: &Declared<'_>) -> Option<Finding> {
    let count = declared.methods.len();
    let message = format!(
        "trait {} is handed through and has {count} methods; {METHODS_MAX} are enough: make some a capability",
        declared.name
    );
    (count > METHODS_MAX).then(|| Finding::new(declared.path, declared.line, message))
}

/// Trait with its methods.
pub(super) struct Declared<'a> {
    pub path: &'a str,
    pub line: usize,
    pub name: &'a str,
    pub methods: Vec<&'a str>,
    /// Traits that the trait returns as `&mut dyn`.
    capabilities: Vec<&'a str>,
}

pub(super) fn declared<'a>(path: &'a str, masked: &'a str, at: usize) -> Option<Declared<'a>> {
    let rest = masked.get(at..)?;
    let name = word(rest.strip_prefix("trait ")?);
    let block = block(rest)?;
    // For a type behind a pointer, as codecs have it, a sized trait knows the pointer's own form.
    if rest.get(..rest.find('{')?)?.contains("Sized") {
        return None;
    }
    let capabilities = block.match_indices("Option<&mut dyn ").map(|(at, found)| word(&block[at + found.len()..]));
    Some(Declared {
        path,
        line: line_of(masked, at),
        name,
        methods: methods(block),
        capabilities: capabilities.collect(),
    })
}

/// Implementation of a trait for a pointer to an implementor.
struct Forwarding<'a> {
    line: usize,
    of: &'a str,
    to: &'a str,
    methods: Vec<&'a str>,
}

fn forwarding(masked: &str, at: usize) -> Option<Forwarding<'_>> {
    let rest = masked.get(at..)?;
    let (of, to) = rest.get(..rest.find('{')?)?.split_once(" for ")?;
    let of = word(of.rsplit([' ', ':']).next()?);
    let pointers = ["Box<", "Arc<", "Rc<", "&"];
    let inner = pointers.iter().find_map(|pointer| to.strip_prefix(pointer))?;
    // Pointers to text or bytes forward nothing.
    let is_other = inner.contains("dyn ") || inner.trim_start_matches("mut ").starts_with(|c: char| c.is_uppercase());
    is_other.then(|| Forwarding {
        line: line_of(masked, at),
        of,
        to: to.trim(),
        methods: block(rest).map(methods).unwrap_or_default(),
    })
}

pub(super) fn block(rest: &str) -> Option<&str> {
    let begin = rest.find('{')?;
    let block = rest.get(begin..)?;
    block.get(..block_length(block))
}

/// Returns the names of a block's methods, without those of nested blocks.
pub(super) fn methods(block: &str) -> Vec<&str> {
    words(block, "fn")
        .filter(|at| {
            let before = block.get(..*at).unwrap_or_default();
            before.matches('{').count() == before.matches('}').count() + 1
        })
        .filter_map(|at| block.get(at + 3..).map(word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    const PATH: &str = "crates/acl/src/a.rs";
    const BODY: &str = "pub trait Body {\n    fn turn(&mut self);\n    fn stop(&mut self) {}\n}\n";

    #[test]
    fn unforwarded_methods_are_found() {
        let of = |methods: &str| format!("{BODY}impl<B: Body + ?Sized> Body for Box<B> {{\n{methods}}}\n");
        let half = of("    fn turn(&mut self) { fn stop() {} }\n");
        let message = "crates/acl/src/a.rs:5: Body for Box<B> falls back to the default of stop: hand it through";
        expect(check, &[(PATH, &half)], &[message]);
        expect(check, &[(PATH, &of("    fn turn(&mut self) {}\n    fn stop(&mut self) {}\n"))], &[]);
        let reference = format!("{BODY}impl Body for &mut dyn Body {{\n    fn turn(&mut self) {{}}\n}}\n");
        let message =
            "crates/acl/src/a.rs:5: Body for &mut dyn Body falls back to the default of stop: hand it through";
        expect(check, &[(PATH, &reference)], &[message]);
        let sized = reference.replace("Body {\n    fn turn(&mut self);", "Body: Sized {\n    fn turn(&mut self);");
        expect(check, &[(PATH, &sized)], &[]);
        expect(check, &[(PATH, &format!("{BODY}impl Body for Mine {{\n    fn turn(&mut self) {{}}\n}}\n"))], &[]);
    }

    #[test]
    fn wide_traits_are_found() {
        let methods: String = (0..13).map(|n| format!("    fn f{n}(&self);\n")).collect();
        let wide = format!("trait Wide {{\n{methods}}}\n");
        expect(check, &[(PATH, &wide)], &[]);
        let message = "crates/acl/src/a.rs:1: trait Wide is handed through and has 13 methods; 12 are enough: make some a capability";
        let boxed = format!("{wide}impl Wide for Box<dyn Wide> {{\n{methods}}}\n");
        expect(check, &[(PATH, &boxed)], &[message]);
        let core = "trait Core {\n    fn wide(&mut self) -> Option<&mut dyn Wide>;\n}\nimpl<C: Core> Core for Box<C> {\n    fn wide(&mut self) -> Option<&mut dyn Wide> { (**self).wide() }\n}\n";
        expect(check, &[(PATH, &format!("{wide}{core}"))], &[message]);
    }
}
