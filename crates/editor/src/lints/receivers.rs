//! Receivers of messages that no agent of the project is.

use whimbrel_bdi::syntax::ast::Term;
use whimbrel_bdi::syntax::{Diagnostic, nearest};

use crate::society::{CalledAction, MemberProgram, SocietyText, name_of};

/// Agents that every platform has, and words that stand for agents.
const ALWAYS: [&str; 4] = ["ams", "devices", "df", "self"];

/// Finds messages to a name that no agent of the project has.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    if !society.is_complete || !society.knows_names {
        return Vec::new();
    }
    let sent = program.occurrences.calls_of(&[".send"]);
    sent.flat_map(|call| receivers(call).into_iter().filter_map(|to| warning(society, call, to))).collect()
}

fn receivers(call: &CalledAction) -> Vec<&Term> {
    match call.args.first() {
        Some(Term::List { items, .. }) => items.iter().collect(),
        Some(term) => vec![term],
        None => Vec::new(),
    }
}

fn warning(society: &SocietyText, call: &CalledAction, to: &Term) -> Option<Diagnostic> {
    let name = name_of(to)?;
    let text = name.as_str();
    let is_known = society.agents.contains_key(&name) || ALWAYS.contains(&text) || text.contains([':', '@', '\'']);
    if is_known {
        return None;
    }
    let span = match to {
        Term::Literal(literal) => literal.span,
        _ => call.span,
    };
    let help = match nearest(text, society.agents.keys().map(|agent| agent.as_str())) {
        Some(like) => format!("did you mean `{like}`?"),
        None => "declare it in the project, or allow it if it comes from elsewhere".to_owned(),
    };
    let message = format!("no agent of the project is called `{text}`");
    let warning = Diagnostic::warning(&call.file, span, message, "the message fails");
    Some(warning.with_code("unknown-receiver").with_help(help))
}
