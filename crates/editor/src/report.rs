//! Reports of diagnostics for programs: JSON, and SARIF 2.1.0 for code hosts and editors.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use whimbrel_bdi::syntax::ast::Span;
use whimbrel_bdi::syntax::{Diagnostic, Severity};

use crate::lints;
use crate::positions::TextLines;

/// Text of a file, if it is known.
pub type TextOf<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the diagnostics as JSON: each with its place, code, message and advice. Lines and columns count from 1,
/// columns in UTF-16 units.
pub fn json(diagnostics: &[Diagnostic], text_of: TextOf<'_>) -> Value {
    let mut places = ReportPlaces { text_of, files: BTreeMap::new() };
    let entry = |found: &Diagnostic| {
        let place = places.place(&found.file, found.span);
        let related: Vec<Value> = found
            .related
            .iter()
            .map(|(span, label)| json!({ "place": places.place(&found.file, *span).json(), "message": label }))
            .collect();
        json!({
            "file": found.file.as_str(),
            "place": place.json(),
            "severity": severity(found.severity),
            "code": found.code,
            "message": found.message,
            "label": found.label,
            "help": found.help,
            "related": related,
        })
    };
    json!(diagnostics.iter().map(entry).collect::<Vec<Value>>())
}

/// Returns the diagnostics as a SARIF log of one run by this version of the tool.
pub fn sarif(diagnostics: &[Diagnostic], version: &str, text_of: TextOf<'_>) -> Value {
    let mut places = ReportPlaces { text_of, files: BTreeMap::new() };
    let mut rules: BTreeMap<&str, usize> = diagnostics.iter().map(|found| (found.code, 0)).collect();
    rules.values_mut().enumerate().for_each(|(index, place)| *place = index);
    let described: Vec<Value> = rules
        .keys()
        .map(|code| {
            let title = lints::title(code).unwrap_or("Fault of a program, project or policy.");
            json!({ "id": code, "shortDescription": { "text": title } })
        })
        .collect();
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|found| {
            let help = found.help.iter().map(|help| format!("\nhelp: {help}")).collect::<String>();
            let place = places.place(&found.file, found.span);
            let region = json!({
                "startLine": place.line, "startColumn": place.column,
                "endLine": place.end_line, "endColumn": place.end_column,
            });
            let location = json!({
                "artifactLocation": { "uri": uri(&found.file) },
                "region": region,
            });
            json!({
                "ruleId": found.code,
                "ruleIndex": rules.get(found.code),
                "level": severity(found.severity),
                "message": { "text": format!("{}{help}", found.message) },
                "locations": [{ "physicalLocation": location }],
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "whimbrel", "version": version, "rules": described } },
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Returns a path as part of a URI: relative paths stay relative.
pub(crate) fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Place of a fault, as people count: from 1.
struct ReportPlace {
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

impl ReportPlace {
    fn json(&self) -> Value {
        let Self { line, column, end_line, end_column } = self;
        json!({ "line": line, "column": column, "end_line": end_line, "end_column": end_column })
    }
}

/// Lines of files that were looked up.
struct ReportPlaces<'a> {
    text_of: TextOf<'a>,
    files: BTreeMap<String, Option<(String, TextLines)>>,
}

impl ReportPlaces<'_> {
    fn place(&mut self, file: &str, span: Span) -> ReportPlace {
        let text_of = self.text_of;
        let read = || {
            text_of(file).map(|text| {
                let lines = TextLines::of(&text);
                (text, lines)
            })
        };
        match self.files.entry(file.to_owned()).or_insert_with(read) {
            Some((text, lines)) => {
                let (start, end) = lines.range(text, span);
                ReportPlace {
                    line: start.line + 1,
                    column: start.unit + 1,
                    end_line: end.line + 1,
                    end_column: end.unit + 1,
                }
            }
            None => ReportPlace { line: span.line.max(1), column: 1, end_line: span.line.max(1), end_column: 1 },
        }
    }
}
