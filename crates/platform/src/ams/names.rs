//! Local names of agents: the rules for names of new agents.

use std::fmt;

use crate::limits::AGENT_NAME_BYTES_MAX;
use crate::plain_text::is_harmful;
use crate::topics::Cast;

/// Names of the platform's own agents, and of the sender of messages from the command line.
const RESERVED: [&str; 3] = ["ams", "df", "cli"];

/// Bytes of the longest reserved name.
const RESERVED_BYTES_MAX: usize = 3;

/// Reason why a text is no name for a new agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFault {
    /// Empty name.
    Empty,
    /// Name with too many bytes.
    TooLong,
    /// Name with a character that no name has: `@`, a control character, or an invisible one.
    Character(char),
    /// Name with `*` or `?`, which are wildcards in patterns of names.
    Pattern(char),
    /// Name that begins as those of topics and groups do.
    Cast,
    /// Name that is, or looks like, one of the platform's own.
    Reserved(&'static str),
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty"),
            Self::TooLong => write!(f, "it has more than {AGENT_NAME_BYTES_MAX} bytes"),
            Self::Character('@') => write!(f, "it has an `@`, which separates an agent's name from its platform's"),
            Self::Character(c) => write!(f, "it has the character {}, which is not visible", c.escape_unicode()),
            Self::Pattern(c) => write!(f, "it has a `{c}`, which stands for other names where agents are chosen"),
            Self::Cast => write!(f, "names of topics and groups begin with `topic:`, `group:` and `any:`"),
            Self::Reserved(name) => write!(f, "{name} is the platform's own, and so is what looks like it"),
        }
    }
}

/// Returns the fault of a name for a new agent, if it has one.
pub fn name_fault(name: &str) -> Option<NameFault> {
    let faulty = |c: char| match c {
        '@' => Some(NameFault::Character(c)),
        '*' | '?' => Some(NameFault::Pattern(c)),
        c if is_harmful(c) || is_unseen(c) => Some(NameFault::Character(c)),
        _ => None,
    };
    // Most names pass at a glance.
    if name.len() > RESERVED_BYTES_MAX && name.len() <= AGENT_NAME_BYTES_MAX && name.bytes().all(is_plain) {
        return None;
    }
    if name.is_empty() {
        return Some(NameFault::Empty);
    }
    if name.len() > AGENT_NAME_BYTES_MAX {
        return Some(NameFault::TooLong);
    }
    if let Some(fault) = name.chars().find_map(faulty) {
        return Some(fault);
    }
    if Cast::split_text(name).is_some() {
        return Some(NameFault::Cast);
    }
    RESERVED.into_iter().find(|reserved| looks_like(name, reserved)).map(NameFault::Reserved)
}

/// Returns true for bytes that names may have in every place. No long run of them makes a reserved name or an address
/// of topics.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-' | b'.')
}

/// Returns true if a name is reserved for the platform's own agents.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Returns true for further invisible characters: soft hyphens, and separators and joiners of scripts.
const fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200c}' | '\u{200d}')
}

/// Returns true if people may mistake a name for this reserved one, which is in lower case. A name that ends in a digit
/// is one of several numbered agents, such as `c11`, and is not mistaken.
fn looks_like(name: &str, reserved: &str) -> bool {
    if name.ends_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let mut letters = name.trim().chars().flat_map(char::to_lowercase).map(plain_letter);
    let mut wanted = reserved.chars().map(plain_letter);
    loop {
        match (letters.next(), wanted.next()) {
            (None, None) => return true,
            (Some(letter), Some(wanted)) if letter == wanted => {}
            _ => return false,
        }
    }
}

/// Returns the letter that a character looks like, as far as reserved names need it (Unicode's confusables, by hand).
fn plain_letter(c: char) -> char {
    let c = match c {
        // Full width, and mathematical letters, in alphabets of 52.
        '\u{ff41}'..='\u{ff5a}' => letter(u32::from(c) - 0xff41),
        '\u{1d400}'..='\u{1d6a3}' => letter((u32::from(c) - 0x1d400) % 26),
        'а' | 'ɑ' | 'α' => 'a',
        'м' | 'ⅿ' => 'm',
        'ѕ' | 'ꜱ' | 'ſ' => 's',
        'ԁ' | 'ⅾ' => 'd',
        'ƒ' | 'ꬵ' => 'f',
        'с' | 'ϲ' | 'ⅽ' => 'c',
        'і' | 'ı' | 'ι' | 'ӏ' | 'ⅰ' | 'ⅼ' => 'i',
        other => other,
    };
    // One stroke looks like another.
    if matches!(c, 'l' | '1' | '|') { 'i' } else { c }
}

fn letter(index: u32) -> char {
    char::from_u32(u32::from('a') + index).unwrap_or('a')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_agents_are_mistaken_for_none() {
        for letter in ['a', 'c', 'd'] {
            for number in 0..=1_111 {
                assert_eq!(name_fault(&format!("{letter}{number}")), None, "{letter}{number}");
            }
        }
        assert_eq!(name_fault("cl1"), None);
    }

    #[test]
    fn platform_names_are_reserved() {
        for name in
            ["ams", "AMS", "Df", "dF", "cli", "CLI", "cIi", "c1i", "c1l", " ams", "аms", "ａｍｓ", "𝐚𝐦𝐬", "ԁf", "сli"]
        {
            assert!(matches!(name_fault(name), Some(NameFault::Reserved(_))), "{name}");
        }
        for name in ["amy", "client", "dfs", "amsterdam", "c", "damsel", "bärbel", "茶", "agent 7", "click"] {
            assert_eq!(name_fault(name), None, "{name}");
        }
    }

    #[test]
    fn patterns_and_invisible_characters_are_refused() {
        assert_eq!(name_fault("a*b"), Some(NameFault::Pattern('*')));
        assert_eq!(name_fault("who?"), Some(NameFault::Pattern('?')));
        assert_eq!(name_fault("bob@home"), Some(NameFault::Character('@')));
        for name in ["a\u{1b}[31m", "a\nb", "bo\u{200b}b", "\u{202e}bob", "bob\u{e0041}"] {
            assert!(matches!(name_fault(name), Some(NameFault::Character(_))), "{name:?}");
        }
        assert_eq!((name_fault(""), name_fault(&"x".repeat(256))), (Some(NameFault::Empty), Some(NameFault::TooLong)));
        assert_eq!(name_fault("topic:x"), Some(NameFault::Cast));
    }
}
