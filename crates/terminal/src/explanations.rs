//! Explanations of error messages and lints: sections of two documents, built into the program.
//!
//! A section of `docs/guide/troubleshooting.md` is found by the words of the message that it explains: its title is
//! the message, with `…` for parts that vary. Titles of one word are codes; those with a capital letter in front and
//! without `…` are no messages. A section of `docs/reference/lints.md` is found by the code of its lint.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Documents with explanations.
const DOCUMENTS: [&str; 2] =
    [include_str!("../../../docs/guide/troubleshooting.md"), include_str!("../../../docs/reference/lints.md")];
/// Heading of a part of a document.
const PART: &str = "## ";
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
    /// Part of the document that the section is in.
    pub part: &'static str,
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
    /// Returns true if the title is a message, neither a code nor a question.
    pub fn is_message(&self) -> bool {
        self.title.contains(' ') && (self.title.contains(VARIES) || !self.title.starts_with(char::is_uppercase))
    }

    /// Returns true if the title is this message, up to the parts that vary.
    pub fn explains(&self, message: &str) -> bool {
        let mut rest = message;
        self.is_message()
            && self.title.split(VARIES).all(|part| match rest.split_once(part) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
    }

    /// Returns the first sentence of the text, for a list. An example of the message in front of it is left out.
    pub fn summary(&self) -> String {
        let mut in_code = false;
        let prose = self.text.lines().filter(|line| {
            let is_fence = line.starts_with("```");
            in_code ^= is_fence;
            !in_code && !is_fence
        });
        let lines: Vec<&str> = prose.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
        let text = without_links(&lines.join(" "));
        let example = text.strip_prefix("`error").and_then(|rest| rest.split_once("`: "));
        let text = example.map_or(text.as_str(), |(_, rest)| rest);
        let first = text.split_once(". ").map_or(text.trim_end_matches('.'), |(first, _)| first);
        let mut letters = first.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
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
    let mut part = "";
    let (mut at, mut in_code) = (0, false);
    for line in document.split_inclusive('\n') {
        let is_heading = !in_code && line.starts_with('#');
        if is_heading && let Some((title, begin)) = open.take() {
            let text = document.get(begin..at).unwrap_or_default();
            found.push(HelpSection { name: name_of(title), title, part, text });
        }
        in_code ^= line.starts_with("```");
        at += line.len();
        if let Some(title) = line.strip_prefix(PART).filter(|_| is_heading) {
            part = title.trim();
        }
        if let Some(title) = line.strip_prefix(TITLE).filter(|_| is_heading) {
            open = Some((bare(title.trim()), at));
        }
    }
    found.extend(open.map(|(title, begin)| {
        let text = document.get(begin..).unwrap_or_default();
        HelpSection { name: name_of(title), title, part, text }
    }));
    found
}

/// Returns a title without the marks of code around all of it.
fn bare(title: &str) -> &str {
    let inner = title.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(title)
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
        let message = "the peer speaks version 7 of the link protocol, this node version 8";
        assert_eq!(advice(message).as_deref(), Some("  explained by: whimbrel explain speaks-version-of-the-protocol"));
        assert_eq!(advice(message), None);
    }

    #[test]
    fn terminals_show_no_markdown() {
        let text = "See [a page](x.md#y), [b] and `c`:\n\n```sh\nls [a](b)\n\nls\n```\n";
        let one = HelpSection { name: String::new(), title: "", part: "", text };
        assert_eq!(one.plain(), "See a page, [b] and `c`:\n\n    ls a\n\n    ls");
    }

    #[test]
    fn headings_in_code_begin_nothing() {
        let found = sections("# Page\n### one\ntext\n```text\n### no heading\n```\n## Part\nelse\n### `two`\nmore");
        let found: Vec<_> = found.iter().map(|one| (one.part, one.title, one.text)).collect();
        assert_eq!(found, [("", "one", "text\n```text\n### no heading\n```\n"), ("Part", "two", "more")]);
    }

    #[test]
    fn summary_is_the_first_sentence() {
        let summary = |text| HelpSection { name: String::new(), title: "", part: "", text }.summary();
        assert_eq!(summary("\n`error: no x`: type [x](y) in\nfull. Then more.\n"), "Type x in full");
        assert_eq!(summary("\n```text\nerror: no. x\n```\n\n`-x` helps.\n\nMore."), "`-x` helps");
        assert_eq!(summary("`a`: one"), "`a`: one");
    }

    #[test]
    fn titles_with_gaps_are_messages() {
        let found = sections("### Receiver '…' is off\na\n### busy\nb\n### It hangs\nc\n### no `x`…\nd");
        let messages: Vec<_> = found.iter().filter(|one| one.is_message()).map(|one| one.title).collect();
        assert_eq!(messages, ["Receiver '…' is off", "no `x`…"]);
        assert!(found[0].explains("x: Receiver 'bob' is off!") && !found[1].explains("busy"));
    }
}
