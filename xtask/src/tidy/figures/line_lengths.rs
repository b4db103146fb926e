//! Lengths of lines that people read: comments of Rust and TypeScript, and Markdown. Lines with an address and code
//! blocks are exempt. A row of a Markdown table cannot be broken, so it may be longer.

use std::collections::BTreeSet;

use super::{Figure, Finding, Tenths};
use crate::mask::{LineTable, comments};
use crate::repo::Repo;

const CHARACTERS_MAX: usize = 120;
const TABLE_ROW_CHARACTERS_MAX: usize = 180;

pub fn figure(repo: &Repo) -> Figure {
    let mut places = Vec::new();
    for (path, file) in repo.files() {
        let read = match path.rsplit_once('.') {
            Some((_, "rs")) => in_rust(&file.text),
            Some((_, "ts" | "tsx" | "mts" | "mjs" | "js")) => in_typescript(&file.text),
            Some((_, "md")) => in_markdown(&file.text),
            _ => continue,
        };
        let is_document = path.ends_with(".md");
        let long = read.into_iter().filter(|(_, line)| is_long(line, is_document) && !line.contains("://"));
        places.extend(
            long.map(|(number, line)| Finding::new(path, number, format!("{} characters", line.chars().count()))),
        );
    }
    Figure {
        name: "long_lines",
        title: "comment and Markdown lines over 120 characters",
        advice: "break the line",
        target: Tenths(0),
        now: Tenths::whole(places.len()),
        places,
    }
}

fn is_long(line: &str, is_document: bool) -> bool {
    let is_row = is_document && line.starts_with("| ");
    line.chars().count() > if is_row { TABLE_ROW_CHARACTERS_MAX } else { CHARACTERS_MAX }
}

/// Returns the numbered lines of a Rust file that have a comment.
fn in_rust(source: &str) -> Vec<(usize, &str)> {
    let table = LineTable::of(source);
    let numbers: BTreeSet<usize> =
        comments(source).into_iter().flat_map(|at| table.line(at.start)..=table.line(at.end)).collect();
    numbered(source).filter(|(number, _)| numbers.contains(number)).collect()
}

/// Returns the numbered lines of a TypeScript file that begin as comments do.
fn in_typescript(source: &str) -> Vec<(usize, &str)> {
    let is_comment = |line: &str| ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start));
    numbered(source).filter(|(_, line)| is_comment(line)).collect()
}

/// Returns the numbered lines of a Markdown file outside code blocks.
fn in_markdown(source: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let is_text = |(_, line): &(usize, &str)| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code
    };
    numbered(source).filter(is_text).collect()
}

fn numbered(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn long_comments_are_found() {
        let (just, long) = ("ä".repeat(117), "ä".repeat(118));
        let source = format!("// {just}\n// {long}\nlet a = \"// {long}\";\n/* a\n{long}123 */\n// http://{long}\n");
        expect(figure, &[("a.rs", &source)], "2", &["a.rs:2: 121 characters", "a.rs:5: 124 characters"]);
        let source = format!("// {long}\nconst a = '{long}';\n");
        expect(figure, &[("a.ts", &source)], "1", &["a.ts:1: 121 characters"]);
    }

    #[test]
    fn code_blocks_are_exempt() {
        let long = "x".repeat(130);
        let text = format!("{long}\n```text\n{long}\n```\n- {long}\n");
        expect(figure, &[("a.md", &text)], "2", &["a.md:1: 130 characters", "a.md:5: 132 characters"]);
    }

    #[test]
    fn table_rows_may_be_longer() {
        let (just, long) = ("x".repeat(176), "x".repeat(177));
        let text = format!("| {just} |\n| {long} |\n");
        expect(figure, &[("a.md", &text)], "1", &["a.md:2: 181 characters"]);
    }
}
