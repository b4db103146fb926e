//! Performatives that no receiver understands.

use whimbrel_acl::{Performative, Symbol};
use whimbrel_bdi::syntax::ast::{Plan, Term};
use whimbrel_bdi::syntax::{Diagnostic, nearest};

use crate::society::{CalledAction, MemberProgram, SocietyText, name_of};

/// Performatives of KQML that every agent in AgentSpeak understands.
pub(crate) const KQML: [&str; 10] =
    ["tell", "untell", "achieve", "unachieve", "askOne", "askAll", "askHow", "tellHow", "untellHow", "signal"];

/// Performative with which environments tell agents what they perceive.
const PERCEPT: &str = "percept";

/// Finds messages whose performative is neither FIPA's nor KQML's, and that no plan of the society receives. If others
/// may receive them, only those are reported that look like a slip.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    let sent = program.occurrences.calls_of(&[".send", ".broadcast", ".publish", ".multicast", ".anycast"]);
    sent.filter_map(|call| warning(society, call)).collect()
}

fn warning(society: &SocietyText, call: &CalledAction) -> Option<Diagnostic> {
    let is_broadcast = call.name.as_str().ends_with(".broadcast");
    let term = call.args.get(usize::from(!is_broadcast))?;
    let name = name_of(term)?;
    let text = name.as_str().trim_matches('\'');
    if is_performative(text) || is_received(society, name) {
        return None;
    }
    let like = nearest(text, KQML.into_iter().chain(Performative::FIPA.map(Performative::as_str)));
    let like = like.or_else(|| KQML.into_iter().find(|known| known.eq_ignore_ascii_case(text)));
    if like.is_none() && !society.is_complete {
        return None;
    }
    let span = match term {
        Term::Literal(literal) => literal.span,
        _ => call.span,
    };
    let help = match like {
        Some(like) => format!("did you mean `{}`?", like.replace('-', "_")),
        None => {
            format!("use one of {}; or write a plan `+!kqml_received(Sender, {text}, Content, Id)`", KQML.join(", "))
        }
    };
    let message = format!("no agent understands the performative `{text}`");
    let warning = Diagnostic::warning(&call.file, span, message, "not a performative");
    Some(warning.with_code("unknown-performative").with_help(help))
}

fn is_performative(name: &str) -> bool {
    KQML.contains(&name) || name == PERCEPT || name.replace('_', "-").parse::<Performative>().is_ok()
}

/// Returns true if a plan may receive messages of this performative: it names it, or takes any.
fn is_received(society: &SocietyText, name: Symbol) -> bool {
    society.programs.iter().flat_map(|program| &program.program.plans).any(|plan| receives(plan, name))
        || society.programs.iter().any(|program| program.has_unknown_parts)
}

fn receives(plan: &Plan, name: Symbol) -> bool {
    let Term::Literal(event) = &plan.trigger.term else { return true };
    if event.functor.as_str() != "kqml_received" {
        return false;
    }
    match event.args.get(1) {
        Some(Term::Literal(performative)) => performative.functor == name,
        _ => true,
    }
}
