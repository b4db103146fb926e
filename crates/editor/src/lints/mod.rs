//! Lints: warnings about programs that can run and probably do not do what is meant. A lint that cannot be sure stays
//! silent. docs/reference/lints.md has an entry for each.

mod allow;
mod beliefs;
mod goals;
mod performatives;
mod python_actions;
mod receivers;
mod triggers;
mod unbound;
mod unreachable;

use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_bdi::syntax::ast::Plan;

use crate::society::{MemberProgram, SocietyText};

pub use allow::{allowed, without_allowed};
pub(crate) use performatives::KQML;

/// Lint: a kind of warning, and how it is found.
pub struct Lint {
    /// Code, for `// whimbrel: allow(code)`.
    pub code: &'static str,
    /// Description in one sentence.
    pub title: &'static str,
    find: fn(&SocietyText, &MemberProgram) -> Vec<Diagnostic>,
}

/// All lints over programs, by code.
pub const LINTS: [Lint; 9] = [
    Lint { code: "belief-never-added", title: "Query of a belief that nobody ever adds.", find: beliefs::find },
    Lint { code: "goal-without-plan", title: "Goal that no plan of the program achieves.", find: goals::find },
    Lint { code: "plan-never-triggered", title: "Plan whose event nobody ever raises.", find: triggers::find },
    Lint { code: "python-action", title: "Call of a Python function that fails.", find: python_actions::find },
    Lint { code: "unbound-print", title: "Variable that is printed and never has a value.", find: unbound::printed },
    Lint { code: "unbound-variable", title: "Variable that is used before it has a value.", find: unbound::find },
    Lint { code: "unknown-performative", title: "Message that no receiver understands.", find: performatives::find },
    Lint {
        code: "unknown-receiver",
        title: "Message to an agent that the project does not have.",
        find: receivers::find,
    },
    Lint { code: "unreachable-plan", title: "Plan behind another one that always applies.", find: unreachable::find },
];

/// Codes of warnings that come from the parsers of programs and projects, each with its description.
pub const PARSER_CODES: [(&str, &str); 13] = [
    ("action-in-rule", "Internal action in a rule that acts or waits, so that the rule never holds."),
    ("argument-count", "Internal action with a wrong number of arguments."),
    ("encoding", "Source file that is not UTF-8."),
    ("formula-as-step", "Formula that stands where a plan's step is expected."),
    ("function-as-step", "Function that stands where a plan's step is expected."),
    ("java-action", "Internal action that is a class in Java."),
    ("missing-include", "File that cannot be included."),
    ("namespace-scope", "Namespace that is local first and global later."),
    ("project", "Part of a project that is odd or has no effect."),
    ("repeated-agent", "Agent that a project declares twice."),
    ("repeated-include", "File that includes itself."),
    ("unknown-action", "Internal action that does not exist."),
    ("useless-directive", "Directive that changes nothing."),
];

/// Returns the warnings about a society's programs, without those that comments allow; in the order of the programs.
pub fn check(society: &SocietyText) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for program in &society.programs {
        let mut of_program: Vec<Diagnostic> = LINTS.iter().flat_map(|lint| (lint.find)(society, program)).collect();
        of_program.sort_by(|a, b| (&a.file, a.span.start, a.code).cmp(&(&b.file, b.span.start, b.code)));
        for diagnostic in of_program {
            // A file that several programs include is reported once; what Whimbrel's library leaves to programs, never.
            if !found.contains(&diagnostic) && !whimbrel_bdi::is_library_path(&diagnostic.file) {
                found.push(diagnostic);
            }
        }
    }
    without_allowed(found, society)
}

/// Returns the description of a code, if it is one.
pub fn title(code: &str) -> Option<&'static str> {
    let lints = LINTS.iter().map(|lint| (lint.code, lint.title));
    lints.chain(PARSER_CODES).find(|(known, _)| *known == code).map(|(_, title)| title)
}

/// Beliefs and goals that the platform itself adds, whatever programs say.
const FROM_PLATFORM: [&str; 8] = [
    "kqml_received",
    "jag_awaking",
    "jag_shutting_down",
    "jag_sleeping",
    "not_recalled",
    "provider",
    "recalled",
    "percept",
];

fn is_from_platform(name: &str) -> bool {
    FROM_PLATFORM.contains(&name) || name.contains("__")
}

/// Actions that make plans, beliefs or goals of text that only exists when the program runs.
const FROM_TEXT: [&str; 4] = [".add_plan", ".include", ".term2string", ".asserta"];

/// Returns true if all that any agent of the society can believe or pursue is written in its programs.
fn is_closed(society: &SocietyText) -> bool {
    society.is_complete
        && society.programs.iter().all(|program| program.occurrences.calls_of(&FROM_TEXT).next().is_none())
}

/// Returns true for a plan that a goal pattern made: its place is that of the directive.
fn is_made(society: &SocietyText, plan: &Plan) -> bool {
    let text = society.texts.get(&plan.file).map(|text| text.as_bytes());
    text.and_then(|text| text.get(plan.span.start as usize)) == Some(&b'{')
}

/// Returns true if agents of the society may send plans to each other.
fn exchanges_plans(society: &SocietyText) -> bool {
    let words = ["tellHow", "untellHow", "askHow"];
    let is_word = |name: &str| words.contains(&name);
    society.programs.iter().any(|program| {
        let found = &program.occurrences;
        found.literals.iter().any(|found| is_word(found.functor.as_str()))
            || found.strings.iter().any(|text| is_word(text))
    })
}

/// Returns true if the agents of a program may get plans while they run.
fn gets_plans(society: &SocietyText, program: &MemberProgram) -> bool {
    program.has_unknown_parts
        || program.occurrences.changes_plans
        || program.occurrences.has_open_triggers
        || program.occurrences.calls_of(&[".add_plan", ".include"]).next().is_some()
        || exchanges_plans(society)
}
