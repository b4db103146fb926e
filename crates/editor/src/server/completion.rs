//! Completion: names that may stand at a place.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use whimbrel_bdi::syntax::ast::{Span, TriggerKind};
use whimbrel_platform::limits;

use super::answers::{document, range};
use super::{EditorHost, LanguageServer, RequestFault};
use crate::lints::KQML;
use crate::positions::TextLines;
use crate::reference;
use crate::society::{LiteralRole, NameOccurrence, SocietyText};

/// Kinds of proposals in the protocol.
mod kinds {
    pub const FUNCTION: u32 = 3;
    pub const VARIABLE: u32 = 6;
    pub const MODULE: u32 = 9;
    pub const KEYWORD: u32 = 14;
    pub const CONSTANT: u32 = 21;
    pub const EVENT: u32 = 23;
}

/// Words of the language that begin a step or a formula.
const WORDS: [&str; 8] = ["if", "elif", "else", "for", "while", "not", "true", "false"];

/// Proposal: kind, and what stands beside it.
type Proposals = BTreeMap<String, (u32, String)>;

impl<H: EditorHost> LanguageServer<H> {
    pub(super) fn completion(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let path = document(params)?;
        let Some(byte) = self.byte(&path, params) else { return Ok(Value::Null) };
        let Some(text) = self.documents.text(&path).map(str::to_owned) else { return Ok(Value::Null) };
        let (start, sign) = word_before(&text, byte);
        let word = text.get(start..byte).unwrap_or_default().to_owned();
        let mut proposals = Proposals::new();
        if word.contains('.') {
            add_actions(&mut proposals);
        } else if let Some((_, society)) = self.society_of(Path::new(&path)) {
            add_names(&mut proposals, society, sign);
            add_variables(&mut proposals, &text, start);
        }
        if sign.is_none() && !word.contains('.') {
            proposals.extend(WORDS.map(|word| (word.to_owned(), (kinds::KEYWORD, String::new()))));
            proposals.extend(KQML.map(|word| (word.to_owned(), (kinds::CONSTANT, "performative".to_owned()))));
        }
        let span = Span { start: start as u32, end: byte as u32, line: 0 };
        let range = range(&text, &TextLines::of(&text), span);
        let lower = word.to_lowercase();
        let fitting = proposals.into_iter().filter(|(name, _)| name.to_lowercase().starts_with(&lower));
        let items: Vec<Value> = fitting
            .take(limits::EDITOR_COMPLETIONS_MAX)
            .map(|(name, (kind, detail))| {
                let edit = json!({ "range": range, "newText": name });
                let mut item = json!({ "label": name, "kind": kind, "detail": detail, "textEdit": edit });
                if let (Some(doc), Some(object)) = (reference::of(&name).next(), item.as_object_mut()) {
                    object.insert("documentation".to_owned(), json!(doc.effect));
                }
                item
            })
            .collect();
        Ok(json!({ "isIncomplete": false, "items": items }))
    }
}

/// Returns where the word before a byte begins, and the sign of a goal, test or belief before it.
fn word_before(text: &str, byte: usize) -> (usize, Option<char>) {
    let before = text.get(..byte).unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let start = before.trim_end_matches(is_part).len();
    let sign = before.get(..start).and_then(|before| before.chars().next_back());
    (start, sign.filter(|sign| matches!(sign, '!' | '?' | '+' | '-')))
}

fn add_actions(proposals: &mut Proposals) {
    for doc in reference::all() {
        proposals.entry(doc.name.to_owned()).or_insert((kinds::FUNCTION, doc.call.to_owned()));
    }
}

/// Adds the names of the society's programs that fit behind a sign.
fn add_names(proposals: &mut Proposals, society: &SocietyText, sign: Option<char>) {
    for program in &society.programs {
        for found in &program.occurrences.literals {
            let Some((kind, what)) = fitting(found, sign) else { continue };
            let name = found.functor.as_str();
            if !name.is_empty() {
                proposals.entry(name.to_owned()).or_insert((kind, format!("{what}, {} arguments", found.arity)));
            }
        }
    }
    if sign.is_none() {
        let agents = society.agents.keys().map(|agent| (agent.to_string(), (kinds::MODULE, "agent".to_owned())));
        proposals.extend(agents.take(limits::EDITOR_COMPLETIONS_MAX));
    }
}

fn fitting(found: &NameOccurrence, sign: Option<char>) -> Option<(u32, &'static str)> {
    let is_goal = match found.role {
        LiteralRole::Goal | LiteralRole::Trigger(_, TriggerKind::Achieve) => true,
        LiteralRole::Fact
        | LiteralRole::Head
        | LiteralRole::Add
        | LiteralRole::Replace
        | LiteralRole::Query
        | LiteralRole::Test => false,
        LiteralRole::Trigger(_, TriggerKind::Belief | TriggerKind::Test) => false,
        _ => return None,
    };
    match (sign, is_goal) {
        (Some('!') | None, true) => Some((kinds::EVENT, "goal")),
        (Some('?' | '+' | '-') | None, false) => Some((kinds::CONSTANT, "belief")),
        _ => None,
    }
}

/// Adds the variables of the clause around a byte: those since the last full stop at an end of a line.
fn add_variables(proposals: &mut Proposals, text: &str, byte: usize) {
    let before = text.get(..byte).unwrap_or_default();
    let clause = before.rsplit(".\n").next().unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = clause.split(|c: char| !is_part(c));
    for word in words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())) {
        proposals.insert(word.to_owned(), (kinds::VARIABLE, "variable".to_owned()));
    }
}
