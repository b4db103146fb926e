//! Regular expressions, and replacements in Java's notation.

use std::cell::RefCell;

use regex_lite::{Captures, Regex};

/// Number of compiled expressions that a thread caches.
const KEPT_MAX: usize = 32;

thread_local! {
    /// Expressions used last, the newest at the end: programs use few of them repeatedly.
    static COMPILED: RefCell<Vec<Regex>> = const { RefCell::new(Vec::new()) };
}

fn compile(pattern: &str) -> Option<Regex> {
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(place) = compiled.iter().position(|regex| regex.as_str() == pattern) {
            return compiled.get(place).cloned();
        }
        let regex = Regex::new(pattern).ok()?;
        if compiled.len() >= KEPT_MAX {
            compiled.remove(0);
        }
        compiled.push(regex.clone());
        Some(regex)
    })
}

/// Returns true if the whole text matches; `None` if the pattern is malformed.
pub fn matches(text: &str, pattern: &str) -> Option<bool> {
    Some(compile(&format!("^(?:{pattern})$"))?.is_match(text))
}

/// Piece of a replacement.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Group(usize),
}

/// Replaces all matches of the pattern; `None` if the pattern or the replacement is malformed.
pub fn replace_all(text: &str, pattern: &str, replacement: &str) -> Option<String> {
    let regex = compile(pattern)?;
    let pieces = pieces(replacement, &regex);
    if pieces.is_none() && regex.is_match(text) {
        return None;
    }
    let pieces = pieces.unwrap_or_default();
    let replaced = regex.replace_all(text, |captures: &Captures<'_>| {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Group(number) => captures.get(*number).map_or("", |group| group.as_str()).to_owned(),
        };
        pieces.iter().map(piece).collect::<String>()
    });
    Some(replaced.into_owned())
}

/// Parses the pieces of a replacement: `$1` and `${name}` are groups, `\` takes the next character literally.
fn pieces(replacement: &str, regex: &Regex) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut letters = replacement.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(letters.next()?),
            '$' => {
                let group = match letters.next()? {
                    '{' => {
                        let name: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
                        regex.capture_names().position(|other| other == Some(name.as_str()))?
                    }
                    digit => {
                        let mut group = digit.to_digit(10)? as usize;
                        // Takes as many digits as form the number of an existing group.
                        while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
                            let longer = group * 10 + digit as usize;
                            if longer >= regex.captures_len() {
                                break;
                            }
                            group = longer;
                            letters.next();
                        }
                        group
                    }
                };
                if group >= regex.captures_len() {
                    return None;
                }
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Group(group));
            }
            other => text.push(other),
        }
    }
    pieces.push(Piece::Text(text));
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_as_in_java() {
        let cases = [
            ("a.b", "[.]", "$0$0", Some("a..b")),
            ("abab", "(a)(b)", "$2$1", Some("baba")),
            ("abab", "(a)(b)", "$10", Some("a0a0")),
            ("abab", "(?<n>a)", "${n}x", Some("axbaxb")),
            ("abc", "", ",", Some(",a,b,c,")),
            ("abc", "b", "\\$1", Some("a$1c")),
            ("abc", "b", "$9", None),
            ("abc", "z", "$9", Some("abc")),
            ("abc", "(b", "x", None),
            ("abc", "b", "\\", None),
        ];
        for (text, pattern, replacement, expected) in cases {
            assert_eq!(replace_all(text, pattern, replacement).as_deref(), expected, "{pattern} {replacement}");
        }
    }
}
