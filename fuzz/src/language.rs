//! Properties of the parsers of AgentSpeak and of projects, for any text. The fuzz targets look for violations; a
//! test of `whimbrel-bdi` replays those that were found.
#![allow(dead_code, reason = "each target uses one of these")]

use whimbrel_acl::value::Bare;
use whimbrel_acl::{Symbol, Text, Value, Var};
use whimbrel_bdi::project::{AgentNames, parse_project};
use whimbrel_bdi::syntax::ast::{CodeTerm, Plan, Rule, Term};
use whimbrel_bdi::syntax::quote::{quote, unquote_term};
use whimbrel_bdi::syntax::{
    Diagnostic, NoFiles, parse_body, parse_formula, parse_literal, parse_plan, parse_program, parse_term,
    parse_trigger, render,
};

fn quoted(term: &Term) -> Value {
    quote(term, &mut |name: Symbol| Var { slot: name.index(), name })
}

/// Checks programs: no panic, every diagnostic can be shown, and printed code is the same after it is parsed again.
pub fn asl_parser(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = parse_program(&text, &Text::from("fuzz.asl"), &mut NoFiles);
    show_all(&parsed.diagnostics, &text);
    let strict = is_printable(&text);
    for plan in parsed.program.plans.iter().filter(|plan| plan.sub_plans.is_empty()) {
        plan_comes_back(plan, strict);
    }
    for rule in &parsed.program.beliefs {
        rule_comes_back(rule, strict);
    }
}

/// Projects: nothing panics, every diagnostic can be shown.
pub fn mas2j_parser(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = parse_project(&text, &Text::from("fuzz.mas2j"), &["mars"]);
    show_all(&parsed.diagnostics, &text);
    let mut names = AgentNames::default();
    let agents = parsed.project.agents.iter().filter(|agent| agent.count < 100);
    let all: Vec<Symbol> = agents.flat_map(|agent| names.reserve(agent.name, agent.count as usize, 1_000)).collect();
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), all.len(), "each name is given once");
}

/// Texts that agents meet as they run: nothing panics, and terms come back from text and from data.
pub fn term_parser(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Only that they end matters.
    drop((parse_literal(&text), parse_trigger(&text), parse_body(&text), parse_plan(&text)));
    if let Ok(formula) = parse_formula(&text) {
        term_comes_back(&formula, parse_formula, is_printable(&text));
    }
    match parse_term(&text) {
        Ok(term) => term_comes_back(&term, parse_term, is_printable(&text)),
        Err(problems) => show_all(&problems, &text),
    }
}

/// Checks whether text can be parsed after it is printed. Strings are printed as they are, so those with escaped
/// quotes cannot. Neither can infinite numbers, which look like variables, names of local namespaces, and arithmetic
/// with functions that only the program knows.
fn is_printable(text: &str) -> bool {
    !text.contains(['\\', '\u{fffd}']) && !text.contains("local") && !text.contains("register_function")
}

fn is_finite(printed: &str) -> bool {
    !printed.contains("Infinity") && !printed.contains("NaN")
}

/// Checks that printed code is printed the same after it is parsed again.
fn comes_back<T>(printed: &str, parsed: Result<T, Vec<Diagnostic>>, print: impl Fn(&T) -> String, strict: bool) {
    match parsed {
        Ok(again) if strict && is_finite(printed) => assert_eq!(print(&again), printed),
        Err(problems) if strict => panic!("{printed}\n{problems:#?}"),
        Ok(_) | Err(_) => {}
    }
}

fn show_all(problems: &[Diagnostic], text: &str) {
    for problem in problems.iter().take(3) {
        assert!(!render(problem, text, false).is_empty());
        assert!(problem.span.start as usize <= text.len() && problem.span.end as usize <= text.len(), "{problem:?}");
    }
}

fn term_comes_back(term: &Term, parse: fn(&str) -> Result<Term, Vec<Diagnostic>>, strict: bool) {
    let value = quoted(term);
    let printed = value.to_string();
    comes_back(&printed, parse(&printed), |again| quoted(again).to_string(), strict);
    let back = unquote_term(&value).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert!(quoted(&back) == value, "{printed}\n{}", quoted(&back));
}

fn plan_comes_back(plan: &Plan, strict: bool) {
    let print = |plan: &Plan| format!("{}.", Bare(&quoted(&Term::Code(CodeTerm::Plan(Box::new(plan.clone()))))));
    let printed = print(plan);
    comes_back(&printed, parse_plan(&printed), print, strict);
}

fn rule_comes_back(rule: &Rule, strict: bool) {
    let printed = quoted(&Term::Code(CodeTerm::Rule(Box::new(rule.clone())))).to_string();
    comes_back(&printed, parse_term(&printed), |again| quoted(again).to_string(), strict);
}
