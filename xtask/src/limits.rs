//! `cargo xtask limits`: the reference of all limits, made of the constants and their documentation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::repo::Repo;

/// The page that is made.
pub const PAGE: &str = "docs/reference/limits.md";
/// Folder of the platform's limits, a file for each layer.
pub const FOLDER: &str = "crates/platform/src/limits/";
/// Limits of encoded messages.
pub const ENCODINGS: &str = "crates/acl/src/limits.rs";

/// Characters of a line of the page.
const CHARACTERS_MAX: usize = 120;

/// One constant.
struct Limit {
    name: String,
    value: String,
    text: String,
}

/// Returns the page as the sources have it.
pub fn page(repo: &Repo) -> String {
    let files: Vec<(&str, &str)> = repo
        .ending(".rs")
        .filter(|(path, _)| *path == ENCODINGS || (path.starts_with(FOLDER) && !path.ends_with("/mod.rs")))
        .collect();
    let limits: Vec<(&str, Vec<Limit>)> = files.iter().map(|(_, source)| (title(source), constants(source))).collect();
    let values: BTreeMap<&str, &str> = limits
        .iter()
        .flat_map(|(_, limits)| limits.iter().map(|limit| (limit.name.as_str(), limit.value.as_str())))
        .collect();
    let mut page = String::from(
        "# Limits\n\nEvery bound of Whimbrel has a name. `cargo xtask limits` makes this page of the constants in\n\
         `crates/acl/src/limits.rs` and `crates/platform/src/limits`; options and policies change some of them.\n",
    );
    for (title, limits) in &limits {
        let _ = write!(page, "\n## {title}\n\n");
        for Limit { name, value, text } in limits {
            let shown = evaluate(value, &values).map_or_else(|| format!("`{value}`"), |value| shown(name, value));
            page.push_str(&list_item(&format!("**`{name}`** ({shown}): {text}")));
        }
    }
    page
}

/// Returns an item of a list, broken between words into lines of at most [`CHARACTERS_MAX`].
fn list_item(text: &str) -> String {
    let (mut item, mut line) = (String::new(), String::from("-"));
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > CHARACTERS_MAX {
            item.push_str(&line);
            item.push('\n');
            line = String::from(" ");
        }
        line.push(' ');
        line.push_str(word);
    }
    item.push_str(&line);
    item.push('\n');
    item
}

/// Writes the page.
pub fn write(repo: &Repo) -> Result<(), String> {
    repo.write(PAGE, &page(repo))
}

/// Returns the first line of a file's documentation, without its beginning and end.
fn title(source: &str) -> &str {
    let line = source.lines().next().unwrap_or_default().trim_start_matches("//! ").trim_end_matches('.');
    line.split([':', '.']).next().unwrap_or(line)
}

fn constants(source: &str) -> Vec<Limit> {
    let (mut limits, mut text) = (Vec::new(), Vec::new());
    // A long declaration continues in the next line.
    for line in source.replace("=\n    ", "= ").lines() {
        if let Some(words) = line.strip_prefix("///") {
            text.push(words.trim().to_owned());
        } else if let Some((name, rest)) = line.strip_prefix("pub const ").and_then(|line| line.split_once(':')) {
            let value = rest.split_once('=').map_or("", |(_, value)| value).trim().trim_end_matches(';');
            let text = std::mem::take(&mut text).join(" ").replace("[`", "`").replace("`]", "`");
            limits.push(Limit { name: name.to_owned(), value: value.to_owned(), text });
        }
    }
    limits
}

/// Returns a value as people read it, in the unit that a name ends with.
fn shown(name: &str, value: u64) -> String {
    let is_bytes = name.split('_').any(|word| word == "BYTES");
    let unit = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        .into_iter()
        .find(|(_, shift)| is_bytes && value >= 1 << shift && value.is_multiple_of(1 << shift));
    match unit {
        Some((unit, shift)) => format!("{} {unit}", value >> shift),
        None if is_bytes => format!("{} bytes", grouped(value)),
        None if name.split('_').any(|word| word == "MS") => format!("{} ms", grouped(value)),
        None => grouped(value),
    }
}

fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Evaluates an expression of numbers, other limits, `+`, `-`, `*`, `/` and `<<`, as Rust does.
fn evaluate(expression: &str, values: &BTreeMap<&str, &str>) -> Option<u64> {
    let expression = expression.trim();
    if let Some((left, right)) = expression.split_once("<<") {
        return evaluate(left, values)?.checked_shl(u32::try_from(evaluate(right, values)?).ok()?);
    }
    for operator in ['+', '-', '*', '/'] {
        if let Some((left, right)) = expression.rsplit_once(operator) {
            let (left, right) = (evaluate(left, values)?, evaluate(right, values)?);
            return match operator {
                '+' => left.checked_add(right),
                '-' => left.checked_sub(right),
                '*' => left.checked_mul(right),
                _ => left.checked_div(right),
            };
        }
    }
    let plain = expression.split(" as ").next().unwrap_or_default().trim();
    match values.get(plain) {
        Some(value) => evaluate(value, values),
        None => plain.replace('_', "").parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_shows_values_and_units() {
        let source = "//! Limits of links between nodes.\n\n/// Bytes of a frame.\npub const FRAME_BYTES_MAX: usize = 1 << 20;\n\
                      /// Wait.\npub const WAIT_MS: u64 = 2 * 1_000;\n/// Half.\npub const HALF: usize = FRAME_BYTES_MAX / 2;\n";
        let repo = Repo::of([("crates/platform/src/limits/links.rs", source)]);
        let page = page(&repo);
        assert!(page.contains("\n## Limits of links between nodes\n"), "{page}");
        assert!(page.contains("- **`FRAME_BYTES_MAX`** (1 MiB): Bytes of a frame.\n"), "{page}");
        assert!(page.contains("- **`WAIT_MS`** (2,000 ms): Wait.\n- **`HALF`** (524,288): Half.\n"), "{page}");
    }

    #[test]
    fn long_item_is_broken_between_words() {
        let (long, rest) = ("x".repeat(117), "y".repeat(3));
        assert_eq!(list_item(&format!("{long} {rest}")), format!("- {long}\n  {rest}\n"));
        assert_eq!(list_item(&format!("{long}x a")), format!("- {long}x\n  a\n"));
        assert_eq!(list_item("a\nb"), "- a b\n");
    }
}
