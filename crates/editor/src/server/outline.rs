//! Outline of a document, and lenses above it.

use std::path::Path;

use serde_json::{Value, json};
use whimbrel_acl::Text;
use whimbrel_bdi::project::{AgentEntry, parse_project};
use whimbrel_bdi::syntax::ast::{Literal, Plan, Program, Span, Term, TriggerKind, TriggerOp};
use whimbrel_platform::limits;

use super::answers::{document, range};
use super::documents::is_project;
use super::{EditorHost, LanguageServer, RequestFault};
use crate::index::{name_span, programs_of};
use crate::positions::TextLines;

/// Kinds of entries in the protocol.
mod kinds {
    pub const MODULE: u32 = 2;
    pub const INTERFACE: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const CONSTANT: u32 = 14;
    pub const EVENT: u32 = 24;
}

/// Entry of an outline.
struct OutlineEntry {
    name: String,
    detail: &'static str,
    kind: u32,
    span: Span,
    name_span: Span,
}

impl<H: EditorHost> LanguageServer<H> {
    pub(super) fn outline(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let path = document(params)?;
        let Some(text) = self.documents.text(&path).map(str::to_owned) else { return Ok(Value::Null) };
        let entries = if is_project(&path) {
            agents(&text, &path)
        } else {
            let Some((file, society)) = self.society_of(&path) else { return Ok(json!([])) };
            let program = programs_of(society, &file).next();
            program.map(|program| clauses(&program.program, &file, &text)).unwrap_or_default()
        };
        let lines = TextLines::of(&text);
        let shown = |entry: &OutlineEntry| {
            json!({
                "name": entry.name, "detail": entry.detail, "kind": entry.kind,
                "range": range(&text, &lines, entry.span),
                "selectionRange": range(&text, &lines, entry.name_span),
            })
        };
        Ok(json!(entries.iter().take(limits::EDITOR_PLACES_MAX).map(shown).collect::<Vec<Value>>()))
    }

    pub(super) fn code_lenses(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let path = document(params)?;
        let Some(text) = self.documents.text(&path).map(str::to_owned) else { return Ok(Value::Null) };
        let what = if is_project(&path) { "society" } else { "agent" };
        let argument = path.to_string_lossy().into_owned();
        let top = range(&text, &TextLines::of(&text), Span { start: 0, end: 0, line: 1 });
        let lens = |title: String, command: &str| json!({ "range": top, "command": { "title": title, "command": command, "arguments": [argument] } });
        let run = lens(format!("▶ Run this {what}"), "whimbrel.run");
        Ok(json!([run, lens(format!("Debug this {what}"), "whimbrel.debug")]))
    }

    /// Returns the program of the agent that a project declares at the position of a request.
    pub(super) fn agent_at(&mut self, path: &Path, params: &Value) -> Value {
        let Some(byte) = self.byte(path, params) else { return Value::Null };
        let Some(text) = self.documents.text(path).map(str::to_owned) else { return Value::Null };
        let project = parse_project(&text, &Text::from(path.to_string_lossy()), &[]).project;
        let is_here = |agent: &&AgentEntry| agent.span.start as usize <= byte && byte <= agent.span.end as usize;
        let Some(agent) = project.agents.iter().find(is_here).cloned() else { return Value::Null };
        let Some((_, society)) = self.society_of(path) else { return Value::Null };
        let first = if agent.count == 1 { agent.name } else { whimbrel_acl::Symbol::new(&format!("{}1", agent.name)) };
        let Some(file) = society.agents.get(&first).filter(|file| !file.is_empty()).cloned() else {
            return Value::Null;
        };
        let start = json!({ "line": 0, "character": 0 });
        let uri = self.documents.uri(Path::new(file.as_str()));
        json!([{ "uri": uri, "range": { "start": start, "end": start } }])
    }
}

fn agents(text: &str, path: &Path) -> Vec<OutlineEntry> {
    let project = parse_project(text, &Text::from(path.to_string_lossy()), &[]).project;
    let entry = |agent: &AgentEntry| {
        let name = agent.name.as_str();
        let name_span = name_span(text, agent.span, name).unwrap_or(agent.span);
        OutlineEntry { name: name.to_owned(), detail: "agent", kind: kinds::MODULE, span: agent.span, name_span }
    };
    project.agents.iter().map(entry).collect()
}

fn clauses(program: &Program, file: &Text, text: &str) -> Vec<OutlineEntry> {
    let entry = |name: String, (detail, kind): (&'static str, u32), span: Span, literal: &Literal| {
        let found = name_span(text, literal.span, literal.functor.as_str()).unwrap_or(literal.span);
        let is_inside = span.start <= found.start && found.end <= span.end;
        OutlineEntry { name, detail, kind, span, name_span: if is_inside { found } else { span } }
    };
    let written = |literal: &Literal| {
        let whole = text.get(literal.span.start as usize..literal.span.end as usize).unwrap_or_default();
        whole.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    let mut entries = Vec::new();
    for rule in program.beliefs.iter().filter(|rule| rule.file == *file) {
        let kind = if rule.body.is_some() { ("rule", kinds::INTERFACE) } else { ("belief", kinds::CONSTANT) };
        entries.push(entry(written(&rule.head), kind, rule.span, &rule.head));
    }
    for goal in program.goals.iter().filter(|goal| goal.file == *file) {
        let name = format!("!{}", written(&goal.literal));
        entries.push(entry(name, ("initial goal", kinds::EVENT), goal.span, &goal.literal));
    }
    for plan in program.plans.iter().filter(|plan| plan.file == *file) {
        if let Term::Literal(event) = &plan.trigger.term {
            let name = format!("{}{}", sign(plan), written(event));
            entries.push(entry(name, ("plan", kinds::FUNCTION), plan.span, event));
        }
    }
    entries.sort_by_key(|entry| (entry.span.start, entry.span.end));
    entries
}

/// Returns the signs of a plan's event.
fn sign(plan: &Plan) -> &'static str {
    match (plan.trigger.op, plan.trigger.kind) {
        (TriggerOp::Add, TriggerKind::Belief) => "+",
        (TriggerOp::Add, TriggerKind::Achieve) => "+!",
        (TriggerOp::Add, TriggerKind::Test) => "+?",
        (TriggerOp::Delete, TriggerKind::Belief) => "-",
        (TriggerOp::Delete, TriggerKind::Achieve) => "-!",
        (TriggerOp::Delete, TriggerKind::Test) => "-?",
        (TriggerOp::Meta, TriggerKind::Belief) => "^",
        (TriggerOp::Meta, TriggerKind::Achieve) => "^!",
        (TriggerOp::Meta, TriggerKind::Test) => "^?",
    }
}
