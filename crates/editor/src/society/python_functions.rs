//! Python functions that agents call, as far as the text of a project's `actions.py` shows them without running it.

use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;

/// Functions of a file of actions.
#[derive(Debug, Default)]
pub struct PythonFunctions {
    /// Numbers of arguments of calls, by the function's name; `None` if the text does not show them.
    functions: FxHashMap<String, Option<Arities>>,
    /// True if the file defines no other functions.
    is_complete: bool,
}

/// Numbers of arguments that a call may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arities {
    /// Without results.
    pub inputs: RangeInclusive<usize>,
    /// Numbers of results, in order.
    pub results: Vec<usize>,
}

impl Arities {
    /// Returns true if a call may have `count` arguments.
    pub fn allow(&self, count: usize) -> bool {
        self.results
            .iter()
            .any(|results| count.checked_sub(*results).is_some_and(|inputs| self.inputs.contains(&inputs)))
    }

    /// Returns the smallest and the largest number of arguments.
    pub fn bounds(&self) -> RangeInclusive<usize> {
        let least = self.results.first().copied().unwrap_or_default();
        let most = self.results.last().copied().unwrap_or_default();
        self.inputs.start() + least..=self.inputs.end().saturating_add(most)
    }
}

impl PythonFunctions {
    /// Reads the text of a file.
    pub fn of(text: &str) -> Self {
        let mut found = Self { is_complete: true, ..Self::default() };
        let mut decorators: Vec<String> = Vec::new();
        for statement in statements(text) {
            let statement = statement.trim();
            if let Some(decorator) = statement.strip_prefix('@') {
                decorators.push(decorator.split_whitespace().collect());
            } else {
                found.add(statement, &std::mem::take(&mut decorators));
            }
        }
        // Text that runs as code may define anything.
        found.is_complete &= !["globals(", "exec(", "setattr(", "__all__"].iter().any(|word| text.contains(word));
        found
    }

    fn add(&mut self, statement: &str, decorators: &[String]) {
        let head = statement.strip_prefix("async ").unwrap_or(statement).trim_start();
        if let Some(rest) = head.strip_prefix("def ") {
            let (name, rest) = split_name(rest.trim_start());
            let known = arities(rest, decorators);
            let is_new = !self.functions.contains_key(name);
            self.functions.insert(name.to_owned(), known.filter(|_| is_new));
            return;
        }
        let word = head.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        match word {
            "import" | "class" | "pass" | "assert" | "del" | "" => {}
            "from" => self.is_complete &= !head.contains('*'),
            // What they define depends on what happens.
            "if" | "elif" | "else" | "try" | "except" | "finally" | "for" | "while" | "with" | "match" => {
                self.is_complete = false;
            }
            name => {
                // An assignment may name a function anew; a call may do anything.
                self.functions.insert(name.to_owned(), None);
                self.is_complete &= head.get(name.len()..).is_some_and(|rest| !rest.trim_start().starts_with('('));
                self.is_complete &= !head.contains(',') || head.contains(['(', '[', '{', '"', '\'']);
            }
        }
    }

    /// Returns true if the file surely has no function of this name.
    pub fn lacks(&self, name: &str) -> bool {
        self.is_complete && !self.functions.contains_key(name)
    }

    /// Returns the numbers of arguments that calls may have, if the text shows them.
    pub fn arities(&self, name: &str) -> Option<&Arities> {
        self.functions.get(name)?.as_ref()
    }

    /// Returns the names of the functions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}

/// Returns the name at the beginning of a text, and the rest.
fn split_name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// Returns the statements that begin in the first column: the text up to the end of their first logical line. Comments
/// and the insides of strings are left out.
fn statements(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut depth, mut is_open) = (0_usize, false);
    let mut rest = text;
    let mut is_line_start = true;
    while let Some(first) = rest.chars().next() {
        if is_line_start && depth == 0 && !is_open {
            is_line_start = false;
            if !first.is_whitespace() && first != '#' {
                all.push(String::new());
                is_open = true;
            }
        }
        let taken = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                if is_open && let Some(statement) = all.last_mut() {
                    statement.push('"');
                }
                string_length(rest)
            }
            _ => first.len_utf8(),
        };
        match first {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '\n' if depth == 0 => (is_open, is_line_start) = (false, true),
            // A line that a back-slash continues is not needed for what is read here.
            _ => {}
        }
        if is_open
            && !matches!(first, '#' | '"' | '\'')
            && let Some(statement) = all.last_mut()
        {
            statement.push(first);
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    all
}

/// Returns the number of bytes of the string at the beginning of a text.
fn string_length(text: &str) -> usize {
    let quote = text.get(..1).unwrap_or_default();
    let triple = quote.repeat(3);
    let mark = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = mark.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(mark) {
            return at + mark.len();
        }
        let mut chars = rest.chars();
        let first = chars.next();
        if first == Some('\n') && mark.len() == 1 {
            return at;
        }
        let escaped = if first == Some('\\') { chars.next() } else { None };
        at += [first, escaped].into_iter().flatten().map(char::len_utf8).sum::<usize>();
    }
    text.len()
}

/// Returns the numbers of arguments of a function, whose text begins with its parameters.
fn arities(text: &str, decorators: &[String]) -> Option<Arities> {
    let (parameters, rest) = bracketed(text)?;
    let (mut least, mut most, mut is_open) = (0, 0, false);
    for parameter in parts(parameters) {
        let parameter = parameter.trim();
        match parameter {
            "" | "/" => {}
            _ if parameter.starts_with("**") => {}
            "*" => break,
            _ if parameter.starts_with('*') => {
                is_open = true;
                break;
            }
            _ => {
                most += 1;
                least += usize::from(!has_default(parameter));
            }
        }
    }
    let inputs = least..=if is_open { usize::MAX } else { most };
    let results = results(rest, decorators)?;
    Some(Arities { inputs, results })
}

/// Returns the numbers of results of a function with these decorators; `None` if one of them may change the function.
/// `rest` begins behind the parameters.
fn results(rest: &str, decorators: &[String]) -> Option<Vec<usize>> {
    match decorators {
        [] => {}
        [one] => match one.rsplit('.').next().unwrap_or(one) {
            "procedure" | "relation" => return Some(vec![0]),
            "action" | "action()" => {}
            named => return named.strip_prefix("action(results=")?.strip_suffix(')')?.parse().ok().map(|k| vec![k]),
        },
        _ => return None,
    }
    let annotation =
        rest.trim_start().strip_prefix("->").and_then(|rest| rest.rsplit_once(':')).map(|(it, _)| it.trim());
    let returned = match annotation {
        None => 1,
        // The text of a string is not read.
        Some(quoted) if quoted.contains('"') => return None,
        Some(annotation) => match annotation.strip_prefix("tuple[").and_then(|inner| inner.strip_suffix(']')) {
            Some(inner) if !inner.contains("...") => parts(inner).len(),
            Some(_) => 1,
            // An alias may stand for a tuple.
            None if annotation.starts_with(|c: char| c.is_uppercase()) || annotation.contains('.') => return None,
            None => 1,
        },
    };
    Some(vec![0, returned])
}

fn has_default(parameter: &str) -> bool {
    let mut depth = 0_i32;
    parameter.chars().any(|c| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == '=' && depth == 0
    })
}

/// Returns what stands in the brackets at the beginning of a text, and the rest.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim_start().strip_prefix('(')?;
    let mut depth = 1_usize;
    for (at, c) in inner.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some((inner.get(..at)?, inner.get(at + 1..)?));
        }
    }
    None
}

/// Returns the parts of a text between the commas outside of brackets; none of an empty text.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.extend(text.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(begin..).filter(|last| !last.trim().is_empty()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIONS: &str = r#"
"""Functions: def ghost(x): nothing."""
import os
from math import sqrt

LIMIT = 3  # def hidden(a): pass


def square(x):
    def inner(a, b):
        return a
    return x * x


async def fetch(url: str, timeout=3.0, *, retries=1) -> str:
    text = """
def outside(): pass
"""
    return text


def divide(a: int, b: dict[str, int] = {"x": 1, "y": 2}) -> tuple[int, dict[str, int]]:
    return a, b


def total(*numbers):
    return sum(numbers)


@procedure
def note(
    text,
    # a comment, with a comma
    more="a, b",
):
    print(text)


@relation
def parent(x, y): yield x, y


@whimbrel.actions.action(results=2)
def both(x): return x, x


@functools.cache
def cached(x): return x
"#;

    #[test]
    fn counts_are_those_of_definitions() {
        let found = PythonFunctions::of(ACTIONS);
        let allowed = |name: &str| {
            found.arities(name).map(|arities| (0..6).filter(|count| arities.allow(*count)).collect::<Vec<usize>>())
        };
        assert_eq!(allowed("square"), Some(vec![1, 2]));
        assert_eq!(allowed("fetch"), Some(vec![1, 2, 3]));
        assert_eq!(allowed("divide"), Some(vec![1, 2, 3, 4]));
        assert_eq!(allowed("total"), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(allowed("note"), Some(vec![1, 2]));
        assert_eq!(allowed("parent"), Some(vec![2]));
        assert_eq!(allowed("both"), Some(vec![3]));
        assert_eq!(allowed("cached"), None);
        for name in ["ghost", "hidden", "inner", "outside"] {
            assert!(found.lacks(name), "{name}");
        }
        assert!(!found.lacks("cached") && !found.lacks("LIMIT"));
    }

    #[test]
    fn unclear_files_lack_nothing() {
        for text in [
            "from helpers import *\n",
            "if fast:\n    def go(): pass\n",
            "try:\n    from a import go\nexcept ImportError:\n    def go(): pass\n",
            "__all__ = [\"go\"]\n",
            "go, stop = make()\n",
            "register(\"go\")\n",
            "globals()[\"go\"] = 1\n",
        ] {
            assert!(!PythonFunctions::of(text).lacks("go"), "{text}");
        }
        let twice = PythonFunctions::of("def go(x): pass\ndef go(x, y): pass\n");
        assert_eq!(twice.arities("go"), None);
    }
}
