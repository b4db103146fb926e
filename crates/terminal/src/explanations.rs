//! Explanations of error messages and lints: sections of two documents, built into the program.
//!
//! A section of `docs/guide/troubleshooting.md` is found by the words of the message that it explains: its title is
//! the message, with `…` for parts that vary. Titles of one word, or with a capital letter in front, are no messages. A
//! section of `docs/reference/lints.md` is found by the code of its lint.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Documents with explanations.
const DOCUMENTS: [&str; 2] =
    [include_str!("../../../docs/guide/troubleshooting.md"), include_str!("../../../docs/reference/lints.md")];
/// Heading of an explanation.
const TITLE: &str = "### ";
/// Stands for a part of a message that varies.
const VARIES: char = '…';

/// HelpSection of an error message or of a lint.
#[derive(Debug, PartialEq, Eq)]
pub struct HelpSection {
    /// Name, for `whimbrel explain`: the title in lower case, with `-` between its words.
    pub name: String,
    /// Title: the message, the code of the lint, or what goes wrong.
    pub title: &'static str,
    /// Text in Markdown.
    text: &'static str,
}

/// Returns all explanations, in the order of the documents.
pub fn all() -> &'static [HelpSection] {
    static ALL: LazyLock<Vec<HelpSection>> = LazyLock::new(|| DOCUMENTS.into_iter().flat_map(sections).collect());
    &ALL
}

/// Returns the explanation with this name, or else the one of a message with these words.
pub fn find(words: &str) -> Option<&'static HelpSection> {
    let name = name_of(words);
    all().iter().find(|one| one.name == name).or_else(|| of_message(words))
}

/// Returns the explanation of a message: of several, the one with the longest title.
pub fn of_message(message: &str) -> Option<&'static HelpSection> {
    all().iter().filter(|one| one.explains(message)).max_by_key(|one| one.title.len())
}

/// Returns a line that says how to read the explanation of a message or lint, once for each explanation.
pub fn advice(words: &str) -> Option<String> {
    static GIVEN: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let HelpSection { name, .. } = find(words)?;
    let is_new = GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
    is_new.then(|| format!("  explained by: whimbrel explain {name}"))
}

impl HelpSection {
    /// Returns true if the title is this message, up to the parts that vary.
    fn explains(&self, message: &str) -> bool {
        let begins = self.title.starts_with(|first: char| first.is_lowercase() || first == VARIES);
        let is_message = begins && self.title.contains(' ');
        let mut rest = message;
        is_message
            && self.title.split(VARIES).all(|part| match rest.split_once(part) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
    }

    /// Returns the explanation for a terminal: without the marks of Markdown, code indented.
    pub fn plain(&self) -> String {
        let mut lines = Vec::new();
        let mut in_code = false;
        for line in self.text.trim().lines() {
            match line.starts_with("```") {
                true => in_code = !in_code,
                false if in_code && line.is_empty() => lines.push(String::new()),
                false if in_code => lines.push(format!("    {line}")),
                false => lines.push(line.to_owned()),
            }
        }
        without_links(&lines.join("\n"))
    }
}

/// Returns the explanations of a document.
fn sections(document: &'static str) -> Vec<HelpSection> {
    let mut found = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let (mut at, mut in_code) = (0, false);
    for line in document.split_inclusive('\n') {
        let is_heading = !in_code && line.starts_with('#');
        if is_heading && let Some((title, begin)) = open.take() {
            let text = document.get(begin..at).unwrap_or_default();
            found.push(HelpSection { name: name_of(title), title, text });
        }
        in_code ^= line.starts_with("```");
        at += line.len();
        if let Some(title) = line.strip_prefix(TITLE).filter(|_| is_heading) {
            open = Some((title.trim().trim_matches('`'), at));
        }
    }
    found.extend(open.map(|(title, begin)| {
        let text = document.get(begin..).unwrap_or_default();
        HelpSection { name: name_of(title), title, text }
    }));
    found
}

/// Returns a title as a name: letters and digits in lower case, `-` between words.
fn name_of(title: &str) -> String {
    let lower = title.to_lowercase().replace(['\'', '’'], "");
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Replaces links `[text](target)` by their texts.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link = after.split_once("](").and_then(|(shown, after)| {
            let (_, after) = after.split_once(')')?;
            (!shown.contains(['[', ']'])).then_some((shown, after))
        });
        match link {
            Some((shown, after)) => {
                out.push_str(shown);
                rest = after;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(message: &str) -> Option<&str> {
        of_message(message).map(|one| one.name.as_str())
    }

    #[test]
    fn messages_lead_to_their_sections() {
        assert_eq!(name("cannot listen at 127.0.0.1:7001: address already in use (os error 98)"), None);
        assert_eq!(
            name("cannot listen at 127.0.0.1:7001: Address already in use (os error 98)"),
            Some("cannot-listen-at-address-already-in-use")
        );
        assert_eq!(
            name("shop.asl:2: !sell failed: the plan for +!sell/0 is not applicable (shop.asl:3)"),
            Some("the-plan-for-is-not-applicable")
        );
        assert_eq!(name("nothing of the kind"), None);
        // Words in another order are another message.
        assert_eq!(name("Address already in use: cannot listen at"), None);
    }

    #[test]
    fn names_and_codes_are_found() {
        let found = |words| find(words).map(|one| one.title);
        assert_eq!(found("the-society-does-not-end"), Some("The society does not end"));
        assert_eq!(found("The society does not end"), Some("The society does not end"));
        assert_eq!(found("goal-without-plan"), Some("goal-without-plan"));
        assert_eq!(found("error: no society runs here: start one"), Some("no society runs here"));
        assert_eq!(found("something-else"), None);
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = all().iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), all().len(), "{names:?}");
        assert!(all().iter().all(|one| !one.text.trim().is_empty()));
    }

    #[test]
    fn advice_is_given_once() {
        let message = "cannot connect to n7: protocol version 7";
        assert_eq!(advice(message).as_deref(), Some("  explained by: whimbrel explain protocol-version"));
        assert_eq!(advice(message), None);
    }

    #[test]
    fn terminals_show_no_markdown() {
        let text = "See [a page](x.md#y), [b] and `c`:\n\n```sh\nls [a](b)\n\nls\n```\n";
        let one = HelpSection { name: String::new(), title: "", text };
        assert_eq!(one.plain(), "See a page, [b] and `c`:\n\n    ls a\n\n    ls");
    }

    #[test]
    fn headings_in_code_begin_nothing() {
        let found = sections("# Page\n### one\ntext\n```text\n### no heading\n```\n## Part\nelse\n### `two`\nmore");
        let found: Vec<_> = found.iter().map(|one| (one.title, one.text)).collect();
        assert_eq!(found, [("one", "text\n```text\n### no heading\n```\n"), ("two", "more")]);
    }
}
