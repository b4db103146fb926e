//! One line at the prompt: a question, a plan body, or a verb with its arguments.

use whimbrel_bdi::syntax::{self, Diagnostic};

/// Verbs of the prompt with their arguments and purpose, in the order of the help.
pub const VERBS: &[(&str, &str, &str)] = &[
    ("agents", "[PATTERN]", "list agents"),
    ("as", "[AGENT]", "act as this agent, or as the prompt's own again"),
    ("tell", "AGENT BELIEF", "send a belief"),
    ("untell", "AGENT BELIEF", "take a belief back"),
    ("achieve", "AGENT GOAL", "send a goal"),
    ("ask", "AGENT QUESTION", "send a question, and print the answers"),
    ("create", "NAME PROGRAM", "create an agent of a program"),
    ("clone", "AGENT NAME", "clone an agent with its mind"),
    ("load", "AGENT PROGRAM", "exchange the plans and rules of an agent"),
    ("suspend", "AGENT", "suspend an agent"),
    ("resume", "AGENT", "resume a suspended agent"),
    ("kill", "AGENT", "stop an agent for good"),
    ("mind", "[AGENT]", "show a mind"),
    ("beliefs", "[AGENT]", "show beliefs and rules"),
    ("goals", "[AGENT]", "show goals"),
    ("intentions", "[AGENT]", "show intentions with their current steps"),
    ("plans", "[AGENT]", "show plans"),
    ("watch", "[AGENT]", "show messages of an agent above the prompt"),
    ("unwatch", "[AGENT]", "show them no more"),
    ("pause", "[AGENT]", "pause an agent, to step it"),
    ("step", "[AGENT]", "run one reasoning cycle"),
    ("break", "PLAN [AGENT]", "pause an agent when it chooses a plan"),
    ("unbreak", "PLAN [AGENT]", "remove such a breakpoint"),
    ("continue", "[AGENT]", "continue a paused agent"),
    ("end", "[AGENT]", "end debugging"),
    ("help", "", "show this list"),
    ("quit", "", "leave the prompt, as Ctrl-D does"),
];

/// Meaning of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedLine {
    /// Nothing, or a comment.
    Empty,
    /// Formula of a question.
    Question(String),
    /// Belief to remove, whatever its sources.
    Removal(String),
    /// Plan body.
    Body(String),
    /// Verb with its arguments; the last takes the rest of the line.
    Verb { name: &'static str, arguments: Vec<String> },
}

/// Fault of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum LineFault {
    /// Faults of the part that begins at this byte.
    Syntax(usize, Vec<Diagnostic>),
    /// Other fault, for people.
    Other(String),
}

/// Reads a line.
///
/// # Errors
/// Returns what is wrong with it.
pub fn read(line: &str) -> Result<TypedLine, LineFault> {
    let text = line.trim();
    if text.is_empty() || text.starts_with("//") || text.starts_with('#') {
        return Ok(TypedLine::Empty);
    }
    let begin = line.len() - line.trim_start().len();
    let full_stop = |text: &str| text.strip_suffix('.').unwrap_or(text).trim_end().to_owned();
    if let Some(formula) = text.strip_prefix('?') {
        let formula = full_stop(formula);
        syntax::parse_formula(&formula).map_err(|faults| LineFault::Syntax(begin + 1, faults))?;
        return Ok(TypedLine::Question(formula));
    }
    if let Some(verb) = verb(text) {
        return verb;
    }
    let body = full_stop(text);
    if let Some(belief) = body.strip_prefix('-').filter(|rest| !rest.starts_with(['+', '-']))
        && syntax::parse_literal(belief).is_ok()
    {
        return Ok(TypedLine::Removal(belief.to_owned()));
    }
    match syntax::parse_body(&body) {
        Ok(_) if is_word(&body) => Err(unknown(&body)),
        Ok(_) => Ok(TypedLine::Body(body)),
        Err(_) if is_word(body.split_whitespace().next().unwrap_or_default()) && body.contains(' ') => {
            let word = body.split_whitespace().next().unwrap_or_default();
            Err(unknown(word))
        }
        Err(faults) => Err(LineFault::Syntax(begin, faults)),
    }
}

/// Returns true for a bare word in small letters.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn unknown(word: &str) -> LineFault {
    let near = VERBS.iter().map(|(name, ..)| (*name, strsim::jaro_winkler(word, name)));
    let near = near.max_by(|(_, one), (_, other)| one.total_cmp(other)).filter(|(_, alike)| *alike > 0.8);
    let hint = near.map(|(name, _)| format!("; did you mean {name}?")).unwrap_or_default();
    LineFault::Other(format!(
        "{word} is no verb{hint} (help lists the verbs; a question begins with ?, a goal with !, a belief with +)"
    ))
}

/// Reads a line that begins with a verb; `None` for others.
fn verb(text: &str) -> Option<Result<TypedLine, LineFault>> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (name, signature, _) = VERBS.iter().find(|(name, ..)| *name == word || (word == "exit" && *name == "quit"))?;
    let wanted: Vec<&str> = signature.split_whitespace().collect();
    let needed = wanted.iter().filter(|argument| !argument.starts_with('[')).count();
    let mut arguments = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() && arguments.len() < wanted.len() {
        let is_last = arguments.len() + 1 == wanted.len();
        let (argument, others) = match is_last {
            true => (rest, ""),
            false => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        arguments.push(argument.trim().to_owned());
        rest = others.trim();
    }
    if arguments.len() < needed || !rest.is_empty() {
        let usage = format!("{name} {signature}");
        return Some(Err(LineFault::Other(format!("expected `{}`", usage.trim_end()))));
    }
    Some(Ok(TypedLine::Verb { name, arguments }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb(name: &'static str, arguments: &[&str]) -> TypedLine {
        TypedLine::Verb { name, arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect() }
    }

    #[test]
    fn lines_have_their_meaning() {
        let body = |text: &str| TypedLine::Body(text.to_owned());
        for (line, expected) in [
            ("", TypedLine::Empty),
            ("  // nothing", TypedLine::Empty),
            ("?stock(X, N) & N > 3.", TypedLine::Question("stock(X, N) & N > 3".to_owned())),
            ("+price(tea, 3)", body("+price(tea, 3)")),
            ("-price(_, _)", TypedLine::Removal("price(_, _)".to_owned())),
            ("-+price(tea, 4)", body("-+price(tea, 4)")),
            ("!sell(tea); .print(done).", body("!sell(tea); .print(done)")),
            (".print(\"hello, \", you)", body(".print(\"hello, \", you)")),
            ("move(north)", body("move(north)")),
            ("agents", verb("agents", &[])),
            ("exit", verb("quit", &[])),
            ("tell bob price(tea, 3)", verb("tell", &["bob", "price(tea, 3)"])),
            ("break tick bob", verb("break", &["tick", "bob"])),
        ] {
            assert_eq!(read(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn wrong_lines_are_explained() {
        let fault = |line: &str| match read(line) {
            Err(LineFault::Other(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        assert!(fault("agnts").contains("did you mean agents?"));
        assert!(fault("frobnicate bob").starts_with("frobnicate is no verb (help"));
        assert_eq!(fault("tell bob"), "expected `tell AGENT BELIEF`");
        assert_eq!(fault("help me"), "expected `help`");
        assert!(matches!(read(" ?stock("), Err(LineFault::Syntax(2, faults)) if !faults.is_empty()));
        assert!(matches!(read("!sell(tea"), Err(LineFault::Syntax(0, _))));
    }
}
