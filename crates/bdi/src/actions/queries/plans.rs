//! Plans as terms, and the source of code.

use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, Var, sym};

use super::{Outcome, is_variable, nonsense, open};
use crate::code::{CompiledPlan, Key, TriggerKey, TriggerKind, TriggerOp};
use crate::load::is_library;
use crate::logic::{Bindings, is_source};
use crate::mind::PlanHold;
use crate::numbering::Numbering;
use crate::prover::{ActionCall, Failure, QueryAnswer};
use crate::syntax::{self, ast, quote};

/// Returns the annotation of plans and rules for their file.
fn url(file: &str) -> Option<Value> {
    match file {
        "" => None,
        file if is_library(file) => Some(Value::from(file)),
        file => Some(Value::from(format!("file:{file}"))),
    }
}

/// Returns a plan's label with its sources and its place.
pub fn label(plan: &CompiledPlan) -> Value {
    let mut annots: Annots = plan.label.annots().iter().cloned().collect();
    if !annots.iter().any(is_source) {
        annots.push(Annot::Source(sym::SELF));
    }
    if let Some(url) = url(&plan.source.file) {
        annots.push(Annot::new(Value::term("url", [url])));
    }
    annotated(&plan.label, annots)
}

fn annotated(literal: &Value, annots: Annots) -> Value {
    let (namespace, negated) = match literal {
        Value::Term(term) => (term.namespace, term.negated),
        _ => (sym::DEFAULT, false),
    };
    let args: Args = literal.args().iter().cloned().collect();
    Structure::full(namespace, negated, literal.functor().unwrap_or_default(), args, annots).into_value()
}

/// Builds a plan as a term, its variables numbered from 0, with their own names or without.
fn plan_term(plan: &CompiledPlan, named: bool) -> Value {
    let mut numbered = Numbering::default();
    let mut var = |name: Symbol| Var { slot: numbered.number(name), name: if named { name } else { sym::ANY } };
    let code = quote::quote_plan(&plan.source, &mut var);
    let label = crate::logic::map_vars(&label(plan), &mut |label_var| Value::Var(var(label_var.name)));
    let args = std::iter::once(label).chain(code.args().iter().skip(1).cloned()).collect();
    Structure::new(code.functor().unwrap_or_default(), args).into_value()
}

/// Writes a plan as the library shows it.
fn plan_text(plan: &CompiledPlan) -> String {
    let term = plan_term(plan, true).to_string();
    let bare = term.strip_prefix("{ ").and_then(|term| term.strip_suffix(" }")).unwrap_or(&term);
    format!("{bare}.")
}

fn all<'c>(call: &ActionCall<'c, '_>) -> impl Iterator<Item = PlanHold<'c>> {
    let known = call.solver.known;
    known.mind.plans.all(known.image).into_iter().map(|(_, plan)| plan)
}

/// `.plan_label(Plan, Label)`: the plan of a label, the label of a plan, or all plans with their labels.
pub fn plan_label(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (plan, wanted) = (call.arg(0), call.arg(1));
    if !is_variable(plan) {
        return match plan.args() {
            [label, ..] if quote::is_plan(plan) => {
                let label = label.clone();
                call.unify(1, &label)
            }
            _ => Err(nonsense(format!("{plan} is no plan"))),
        };
    }
    if is_variable(wanted) {
        let target = Value::list([plan.clone(), wanted.clone()]);
        let plans: Vec<Value> = all(call).map(|plan| Value::list([plan_term(&plan, false), label(&plan)])).collect();
        return Ok(QueryAnswer::Each(target, Box::new(plans.into_iter())));
    }
    let known = call.solver.known;
    match known.mind.plans.labelled(known.image, wanted) {
        Some((_, plan)) => {
            let term = open(call.bindings, &plan_term(&plan, false));
            call.unify(0, &term)
        }
        None => Ok(QueryAnswer::No),
    }
}

/// Returns argument 0 as a trigger.
fn trigger(call: &mut ActionCall<'_, '_>) -> Result<(TriggerOp, TriggerKind, Value), Failure> {
    let arg = call.arg(0).clone();
    let parts = match &arg {
        Value::Str(text) => syntax::parse_trigger(text).ok().map(|trigger| {
            let literal = super::strings::with_fresh_variables(call, &trigger.term);
            (trigger.op, trigger.kind, literal)
        }),
        code => quote::trigger_parts(code),
    };
    parts.ok_or_else(|| call.wrong(&format!("first argument '{arg}' must follow the syntax of a trigger.")))
}

/// Plan whose trigger unifies with a literal.
struct Relevant<'m> {
    plan: PlanHold<'m>,
    /// Literal and plan after unification, variables numbered from 0.
    instance: Value,
}

/// Returns the plans whose trigger is of this kind and unifies with the literal.
fn relevant<'c>(call: &mut ActionCall<'c, '_>, op: TriggerOp, kind: TriggerKind, literal: &Value) -> Vec<Relevant<'c>> {
    let known = call.solver.known;
    let candidates: Vec<PlanHold<'c>> = match Key::of_value(literal) {
        Some(key) => {
            let places = known.mind.plans.candidates(known.image, &TriggerKey { op, kind, key });
            places
                .for_args(literal.args())
                .iter()
                .filter_map(|place| known.mind.plans.plan(known.image, *place))
                .collect()
        }
        None => all(call).filter(|plan| plan.op == op && plan.kind == kind).collect(),
    };
    let mut relevant = Vec::new();
    for plan in candidates {
        let mark = call.bindings.mark();
        let term = open(call.bindings, &plan_term(&plan, true));
        let head = term.args().get(1).and_then(quote::trigger_parts).map(|(_, _, head)| head);
        if head.is_some_and(|head| call.bindings.unify(&head, literal)) {
            let instance = call.bindings.closed(&Value::list([literal.clone(), term]));
            relevant.push(Relevant { plan, instance });
        }
        call.bindings.undo(mark);
    }
    relevant
}

/// Adds some source to the literal, so that plans for a certain source are relevant too.
fn from_anyone(call: &mut ActionCall<'_, '_>, literal: Value) -> Value {
    if is_variable(&literal) || literal.annots().iter().any(crate::logic::is_source) {
        return literal;
    }
    let source = Value::Var(Var { slot: call.bindings.extend(1), name: sym::ANY });
    let annots = literal.annots().iter().cloned().chain([Annot::new(Value::term(sym::SOURCE, [source]))]).collect();
    annotated(&literal, annots)
}

/// `.relevant_plans(Trigger, Plans [, Labels])`
pub fn relevant_plans(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (op, kind, literal) = trigger(call)?;
    let literal = from_anyone(call, literal);
    let plans = relevant(call, op, kind, &literal);
    let labels = Value::list(plans.iter().map(|found| label(&found.plan)).collect::<Vec<_>>());
    let terms: Vec<Value> = plans.iter().map(|found| open(call.bindings, &plan_term(&found.plan, false))).collect();
    if !matches!(call.unify(1, &Value::list(terms))?, QueryAnswer::Yes) {
        return Ok(QueryAnswer::No);
    }
    if call.args.len() > 2 { call.unify(2, &labels) } else { Ok(QueryAnswer::Yes) }
}

/// `.relevant_plan(Trigger, Plan)`: each in turn; for a given plan, its trigger.
pub fn relevant_plan(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (wanted, plan) = (call.arg(0).clone(), call.arg(1).clone());
    if is_variable(&wanted) && quote::is_plan(&plan) {
        return match plan.args().get(1) {
            Some(trigger) => call.unify(0, trigger),
            None => Ok(QueryAnswer::No),
        };
    }
    let (op, kind, literal) = trigger(call)?;
    let plans = relevant(call, op, kind, &literal);
    let target = Value::list([literal, plan]);
    Ok(QueryAnswer::Each(
        target,
        Box::new(plans.into_iter().map(|found| found.instance).collect::<Vec<_>>().into_iter()),
    ))
}

/// `.list_plans [({Trigger})]`: prints plans; without a trigger those of the program and those acquired.
pub fn list_plans(call: &mut ActionCall<'_, '_>) -> Outcome {
    let services = call.solver.known.services;
    let aid = call.solver.known.aid;
    if call.args.is_empty() {
        let mut text = String::new();
        let mut last: Option<String> = None;
        for plan in all(call).filter(|plan| !is_library(&plan.source.file)) {
            let from =
                url(&plan.source.file).map_or_else(|| "none".to_owned(), |url| super::text_of(&url).into_owned());
            if last.as_ref() != Some(&from) {
                text.push_str(&format!("\n\n// plans from {from}\n\n"));
                last = Some(from);
            }
            text.push_str(&plan_text(&plan));
            text.push('\n');
        }
        services.print(aid, &(text + "\n"));
        return Ok(QueryAnswer::Yes);
    }
    let (op, kind, literal) = trigger(call)?;
    for found in relevant(call, op, kind, &literal) {
        services.print(aid, &plan_text(&found.plan));
    }
    Ok(QueryAnswer::Yes)
}

/// `.get_src_info(Term, R)`: the literal, or a body's first one, annotated with the line and file of that step in the
/// program. Unchanged if the program has no such step.
pub fn src_info(call: &mut ActionCall<'_, '_>) -> Outcome {
    let term = match (call.arg(0), call.arg(0).args()) {
        (body, [step, ..]) if quote::is_body(body) => match step.args() {
            [_, term] if quote::is_body(step) => term,
            _ => step,
        },
        (other, _) => other,
    };
    if !term.is_literal() || is_variable(term) {
        return Ok(QueryAnswer::No);
    }
    let wanted = call.bindings.closed(term);
    let place = all(call).find_map(|plan| {
        let line = line_of(&plan.source.body, &wanted)?;
        Some((line, url(&plan.source.file)?))
    });
    let annots = place.into_iter().flat_map(|(line, file)| {
        [Value::term(sym::CODE_LINE, [Value::Num(f64::from(line))]), Value::term(sym::CODE_SRC, [file])]
    });
    let annots = term.annots().iter().cloned().chain(annots.map(Annot::new)).collect();
    let informed = annotated(term, annots);
    call.unify(1, &informed)
}

/// Returns the line of the first step that equals `wanted` except for the names of variables.
fn line_of(body: &ast::PlanBody, wanted: &Value) -> Option<u32> {
    body.steps.iter().find_map(|step| {
        let mut numbered = Numbering::default();
        let term = quote::quote(&step.term, &mut |name| Var { slot: numbered.number(name), name });
        if Bindings::default().closed(&term).to_string() == wanted.to_string() {
            return Some(step.span.line);
        }
        let ast::Term::Literal(literal) = &step.term else { return None };
        literal.args.iter().find_map(|arg| match arg {
            ast::Term::Code(ast::CodeTerm::Body(inner)) => line_of(inner, wanted),
            _ => None,
        })
    })
}
