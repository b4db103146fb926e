//! Comments that allow what a lint would report: `// whimbrel: allow(code, code)`. At the end of a line a comment
//! counts for the line; on a line of its own, for the clause or the line below.

use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_bdi::syntax::ast::Span;

use crate::society::SocietyText;

/// Beginning of a comment that allows.
const MARK: &str = "whimbrel: allow(";

/// Returns the warnings that no comment allows.
pub fn without_allowed(found: Vec<Diagnostic>, society: &SocietyText) -> Vec<Diagnostic> {
    let is_allowed = |diagnostic: &Diagnostic| {
        let Some(text) = society.texts.get(&diagnostic.file) else { return false };
        allowed(text, diagnostic, clause_line(society, diagnostic))
    };
    found.into_iter().filter(|diagnostic| !is_allowed(diagnostic)).collect()
}

/// Returns true if a comment in `text` allows the diagnostic, whose clause begins on line `clause`.
pub fn allowed(text: &str, diagnostic: &Diagnostic, clause: u32) -> bool {
    if !text.contains(MARK) {
        return false;
    }
    let lines: Vec<&str> = text.lines().collect();
    let line = |number: u32| (number as usize).checked_sub(1).and_then(|index| lines.get(index)).copied();
    let own = line(diagnostic.span.line).is_some_and(|line| names(line, diagnostic.code));
    own || [diagnostic.span.line, clause].into_iter().any(|below| {
        let above = (1..below).rev().map_while(|number| line(number).filter(|line| is_comment(line)));
        above.into_iter().any(|line| names(line, diagnostic.code))
    })
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Returns true if the line has a comment that allows the code.
fn names(line: &str, code: &str) -> bool {
    let Some((_, comment)) = line.split_once("//") else { return false };
    let Some((_, rest)) = comment.split_once(MARK) else { return false };
    rest.split(')').next().unwrap_or_default().split(',').any(|named| named.trim() == code)
}

/// Returns the line on which the clause around a diagnostic begins.
fn clause_line(society: &SocietyText, diagnostic: &Diagnostic) -> u32 {
    let own = diagnostic.span;
    let is_around = |span: &Span| span.start <= own.start && own.end <= span.end;
    let programs = society.programs.iter().map(|program| &program.program);
    let clauses = programs.flat_map(|program| {
        let plans = program.plans.iter().map(|plan| (&plan.file, plan.span));
        let rules = program.beliefs.iter().map(|rule| (&rule.file, rule.span));
        plans.chain(rules).chain(program.goals.iter().map(|goal| (&goal.file, goal.span)))
    });
    let around = clauses.filter(|(file, span)| **file == diagnostic.file && is_around(span));
    around.map(|(_, span)| span).max_by_key(|span| span.start).map_or(own.line, |span| span.line)
}
