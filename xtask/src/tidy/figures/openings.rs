//! Openings of doc blocks. The first word of a doc block is the noun that a reader searches for, or a verb; a pronoun
//! or a question word hides the subject.

use super::{Figure, Finding, Tenths};
use crate::mask::{LineTable, comments};
use crate::repo::Repo;
use crate::tidy::word;

const PRONOUNS: &[&str] =
    &["What", "Who", "Whose", "Whom", "Whether", "It", "Its", "Those", "That", "How", "Where", "When", "Why"];

pub fn figure(repo: &Repo) -> Figure {
    let (mut blocks, mut places) = (0, Vec::new());
    for (path, file) in repo.files() {
        let openings = match path.rsplit_once('.') {
            Some((_, "rs")) => in_rust(&file.text),
            Some((_, "ts" | "tsx" | "mts")) => in_typescript(&file.text),
            _ => continue,
        };
        blocks += openings.len();
        let hidden = openings.into_iter().filter(|(_, opening)| PRONOUNS.contains(&word(opening)));
        places.extend(hidden.map(|(line, opening)| Finding::new(path, line, opening)));
    }
    Figure {
        name: "pronoun_openings",
        title: "doc blocks that open with a pronoun, %",
        advice: "name the subject, or begin with a verb",
        target: Tenths(50),
        now: Tenths::per_cent(places.len(), blocks),
        places,
    }
}

/// Returns each doc block of Rust source: its first line's number and text.
fn in_rust(source: &str) -> Vec<(usize, &str)> {
    let (table, mut found, mut before) = (LineTable::of(source), Vec::new(), None);
    for comment in comments(source) {
        let text = source.get(comment.clone()).unwrap_or_default();
        let line = table.line(comment.start);
        let marker = ["///", "//!", "/**"].into_iter().find(|marker| text.starts_with(marker));
        let Some(marker) = marker.filter(|_| !text.starts_with("////")) else { continue };
        if before != Some((marker, line - 1)) {
            let text = text.get(marker.len()..).unwrap_or_default().trim_matches(['*', '/', ' ']);
            found.push((line, text.lines().next().unwrap_or_default()));
        }
        before = Some((marker, line));
    }
    found
}

/// Returns each doc block of TypeScript source: the number and the text of the line with its first word.
fn in_typescript(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut lines = source.lines().map(str::trim).enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(text) = line.strip_prefix("/**") else { continue };
        let text = text.trim_matches(['*', '/', ' ']);
        if !text.is_empty() {
            found.push((index + 1, text));
        } else if let Some((index, line)) = lines.next() {
            found.push((index + 1, line.trim_matches(['*', '/', ' '])));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn pronouns_in_rust_are_found() {
        let source = "//! What this is.\n\n/// Name of it.\n/// That is more.\nfn f() {}\n// Who, here, is free.\n\
                      /// Itself a noun.\nconst A: &str = \"\n/// It\";\n";
        expect(figure, &[("a.rs", source)], "33.4", &["a.rs:1: What this is."]);
    }

    #[test]
    fn pronouns_in_typescript_are_found() {
        let source = "/** Name. */\n/**\n * Where it is.\n * How.\n */\nconst a = 1;\n// What\n";
        expect(figure, &[("a.ts", source)], "50", &["a.ts:3: Where it is."]);
    }
}
