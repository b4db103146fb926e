//! Code as data: the syntax tree as values. [`unquote`](super::unquote) is the reverse.
//!
//! Operations are structures called by their operators' symbols. Code has functors that no program can write
//! ([`reserved`]), with as many arguments as Jason's terms of the same kind have, so that ordinary unification of two
//! code values does what Jason does:
//!
//! | code | value |
//! | --- | --- |
//! | `{ @l +!g : c <- b }` | `$plan(l, Trigger, c, Body)`; `nolabel` without a label, `true` without a context |
//! | `{ +!g <- B }` | `$plan(nolabel, Trigger, true, B)`: a variable alone is the body |
//! | ... with `<:` or sub-plans | `$plan(l, Trigger, c, Body, Condition, [Plan, ..])`, null without a condition |
//! | `{ +!g }` | `$trigger('+!', g)` |
//! | `{ h :- b }` | `$rule(h, b)` |
//! | `{ a; !b }` | `$body($step('', a), $body($step('!', b), $body))`; `{ }` is the atom `$body` |
//! | `{ H; R }` | `$body(H, R)`: a variable alone is a step itself, the last one stands for all that remains |
//! | `{ B }` | `$body(B)`: unifies with any body that has a step, which `B` then is |
//! | `ns::~X[a]` | `$var(X, ns, true, [a])`; namespace null if there is none |
//! | `N::p(1)` | `$var(p(1), N, false, [])` |
//!
//! A step alone, `$step(..)`, is what the pattern `{ H; R }` binds `H` to: it counts as a body of one step. When
//! variables in a body are replaced by what they hold, [`normal_body`] restores the form above.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, Var, sym};

use super::ast::{
    Annotations, BodyStep, CodeTerm, ELIF, Literal, Namespace, Op, Plan, PlanBody, Rule, StepKind, Term, Trigger,
    TriggerKind, TriggerOp, Variable,
};
pub use super::unquote::{
    QuoteError, trigger_parts, unquote_body, unquote_plan, unquote_rule, unquote_term, unquote_trigger,
};
use crate::numbering::Numbering;

/// Functors that no program can write: code and special variables as data.
pub mod reserved {
    use whimbrel_acl::{Symbol, sym};

    /// Decorated variable, or a literal whose namespace is a variable:
    /// `$var(VariableOrLiteral, Namespace, Negated, Annotations)`.
    pub const DECORATED: Symbol = sym::CODE_VAR;
    /// `$plan(Label, Trigger, Context, Body)`, with two more arguments if there are a goal condition or sub-plans.
    pub const PLAN: Symbol = sym::CODE_PLAN;
    /// `$rule(Head, Body)`
    pub const RULE: Symbol = sym::CODE_RULE;
    /// `$trigger(Operator, Literal)`
    pub const TRIGGER: Symbol = sym::CODE_TRIGGER;
    /// `$body(Step, Rest)`, `$body(Variable)`; alone: no steps.
    pub const BODY: Symbol = sym::CODE_BODY;
    /// `$step(Operator, Term)`
    pub const STEP: Symbol = sym::CODE_STEP;
}

/// Assigns slots to variables by name.
type Slots<'a> = &'a mut dyn FnMut(Symbol) -> Var;

fn structure(functor: Symbol, args: impl IntoIterator<Item = Value>) -> Value {
    Structure::new(functor, args.into_iter().collect()).into()
}

/// Returns the variable of that name, numbered in the order of appearance.
pub fn numbered(names: &mut Numbering<Symbol>, name: Symbol) -> Var {
    Var { slot: names.number(name), name }
}

/// Quotes a term as a value; `var` gives the slot of each variable.
pub fn quote(term: &Term, var: &mut dyn FnMut(Symbol) -> Var) -> Value {
    match term {
        Term::Num(n) => Value::Num(*n),
        Term::Data(value) => value.clone(),
        Term::Str(text) => Value::Str(text.clone()),
        Term::Var(variable) => quote_variable(variable, var),
        Term::Literal(literal) => quote_literal(literal, var),
        Term::List { items, tail } => quote_list(items, tail.as_deref(), var),
        Term::Op(op, operands) => quote_operation(*op, operands, var),
        Term::Chain(first, rest) => quote_chain(first, rest, var),
        Term::Code(CodeTerm::Plan(plan)) => quote_plan(plan, var),
        Term::Code(CodeTerm::Trigger(trigger)) => quote_trigger(trigger, var),
        Term::Code(CodeTerm::Body(body)) => quote_body(body, var),
        Term::Code(CodeTerm::Rule(rule)) => quote_rule(rule, var),
    }
}

/// Returns the symbol of an operation as data; negation of numbers is `-` with one operand.
pub fn op_symbol(op: Op) -> Symbol {
    match op {
        Op::And => sym::AND,
        Op::Or => sym::OR,
        Op::Not => sym::NOT,
        Op::Eq => sym::EQ,
        Op::Ne => sym::NE,
        Op::Lt => sym::LT,
        Op::Le => sym::LE,
        Op::Gt => sym::GT,
        Op::Ge => sym::GE,
        Op::Unify => sym::UNIFY,
        Op::Univ => sym::UNIV,
        Op::Add => sym::ADD,
        Op::Sub | Op::Neg => sym::SUB,
        Op::Mul => sym::MUL,
        Op::Div => sym::DIV,
        Op::IntDiv => sym::INTDIV,
        Op::Mod => sym::MOD,
        Op::Pow => sym::POW,
    }
}

/// Quotes an operation; more operands than two are nested at the right.
fn quote_operation(op: Op, operands: &[Term], var: Slots<'_>) -> Value {
    let mut quoted: Vec<Value> = operands.iter().map(|operand| quote(operand, var)).collect();
    let op = op_symbol(op);
    if quoted.len() <= 2 {
        return structure(op, quoted);
    }
    let last = quoted.pop().unwrap_or_default();
    quoted.into_iter().rev().fold(last, |right, left| structure(op, [left, right]))
}

fn quote_chain(first: &Term, rest: &[(Op, Term)], var: Slots<'_>) -> Value {
    let first = quote(first, var);
    rest.iter().fold(first, |left, (op, right)| structure(op_symbol(*op), [left, quote(right, var)]))
}

/// Quotes an `if` with `elif`: each branch is in the code of the one before.
fn quote_branches(args: &[Term], var: Slots<'_>) -> Value {
    let mut quoted: Vec<Value> = args.iter().map(|arg| quote(arg, var)).collect();
    let action = Symbol::new(".if_then_else");
    let mut otherwise = if quoted.len() % 2 == 1 { quoted.pop() } else { None };
    while let (Some(then), Some(condition)) = (quoted.pop(), quoted.pop()) {
        let branch = structure(action, [condition, then].into_iter().chain(otherwise.take()));
        if quoted.is_empty() {
            return branch;
        }
        let step = structure(reserved::STEP, [Value::Atom(step_symbol(StepKind::InternalAction)), branch]);
        otherwise = Some(structure(reserved::BODY, [step, Value::Atom(reserved::BODY)]));
    }
    Value::Null
}

fn quote_list(items: &[Term], tail: Option<&Term>, var: Slots<'_>) -> Value {
    let items: Vec<Value> = items.iter().map(|item| quote(item, var)).collect();
    let tail = tail.map_or(Value::Nil, |tail| quote(tail, var));
    Value::list_with_tail(items, tail)
}

fn quote_annotations(annots: Option<&Annotations>, var: Slots<'_>) -> Annots {
    let Some(annots) = annots else { return Annots::new() };
    let mut quoted: Annots = annots.items.iter().map(|annot| Annot::new(quote(annot, var))).collect();
    if let Some(tail) = &annots.tail
        && let Value::Var(tail) = quote(tail, var)
    {
        quoted.push(Annot::Tail(tail));
    }
    quoted
}

fn quote_namespace(namespace: Option<&Namespace>, var: Slots<'_>) -> Value {
    match namespace {
        None => Value::Null,
        Some(Namespace::Name(name)) => Value::Atom(*name),
        Some(Namespace::Var(name)) => Value::Var(var(*name)),
    }
}

fn quote_variable(variable: &Variable, var: Slots<'_>) -> Value {
    let slot = Value::Var(var(variable.name));
    if variable.namespace.is_none() && !variable.negated && variable.annots.is_none() {
        return slot;
    }
    let namespace = quote_namespace(variable.namespace.as_ref(), var);
    let annots = match &variable.annots {
        Some(annots) => {
            let mut items: Vec<Value> = annots.items.iter().map(|item| quote(item, var)).collect();
            items.sort();
            items.dedup();
            let tail = annots.tail.as_ref().map_or(Value::Nil, |tail| quote(tail, var));
            Value::list_with_tail(items, tail)
        }
        None => Value::Nil,
    };
    structure(reserved::DECORATED, [slot, namespace, Value::Bool(variable.negated), annots])
}

fn quote_literal(literal: &Literal, var: Slots<'_>) -> Value {
    if literal.args.len() > 3 && literal.functor.as_str() == ELIF {
        return quote_branches(&literal.args, var);
    }
    let namespace = match &literal.namespace {
        None => sym::DEFAULT,
        Some(Namespace::Name(name)) => *name,
        Some(Namespace::Var(name)) => {
            let namespace = Value::Var(var(*name));
            let plain = quote_literal(&Literal { namespace: None, ..literal.clone() }, var);
            return structure(reserved::DECORATED, [plain, namespace, Value::Bool(false), Value::Nil]);
        }
    };
    let args: Args = literal.args.iter().map(|arg| quote(arg, var)).collect();
    let annots = quote_annotations(literal.annots.as_ref(), var);
    Structure::full(namespace, literal.negated, literal.functor, args, annots).into_value()
}

/// Quotes a plan as a value.
pub fn quote_plan(plan: &Plan, var: &mut dyn FnMut(Symbol) -> Var) -> Value {
    let label = match (&plan.label, &plan.label_variable) {
        (_, Some(variable)) => quote_variable(variable, var),
        (Some(label), None) if label.functor == sym::EMPTY => {
            quote_literal(&Literal { functor: sym::UNDEFINED, ..label.clone() }, var)
        }
        (Some(label), None) => quote_literal(label, var),
        (None, None) => Value::Atom(sym::NO_LABEL),
    };
    let trigger = quote_trigger(&plan.trigger, var);
    let context = plan.context.as_ref().map_or(Value::Bool(true), |context| quote(context, var));
    let body = match plan.body.steps.as_slice() {
        [only] if only.kind == StepKind::Variable => quote(&only.term, var),
        _ => quote_body(&plan.body, var),
    };
    let mut args: Args = [label, trigger, context, body].into_iter().collect();
    if plan.goal_condition.is_some() || !plan.sub_plans.is_empty() {
        args.push(plan.goal_condition.as_ref().map_or(Value::Null, |condition| quote(condition, var)));
        let sub_plans: Vec<Value> = plan.sub_plans.iter().map(|plan| quote_plan(plan, var)).collect();
        args.push(Value::list(sub_plans));
    }
    Structure::new(reserved::PLAN, args).into()
}

/// Quotes a trigger as a value.
pub fn quote_trigger(trigger: &Trigger, var: &mut dyn FnMut(Symbol) -> Var) -> Value {
    let operator = Value::Atom(trigger_symbol(trigger.op, trigger.kind));
    structure(reserved::TRIGGER, [operator, quote(&trigger.term, var)])
}

/// Quotes a rule as a value.
pub fn quote_rule(rule: &Rule, var: &mut dyn FnMut(Symbol) -> Var) -> Value {
    let head = quote_literal(&rule.head, var);
    let body = rule.body.as_ref().map_or(Value::Bool(true), |body| quote(body, var));
    structure(reserved::RULE, [head, body])
}

/// Quotes a body as a value.
pub fn quote_body(body: &PlanBody, var: &mut dyn FnMut(Symbol) -> Var) -> Value {
    let mut steps: Vec<Value> = body.steps.iter().map(|step| quote_step(step, var)).collect();
    let last_is_variable = matches!(body.steps.last(), Some(last) if last.kind == StepKind::Variable);
    let mut rest = Value::Atom(reserved::BODY);
    if last_is_variable && let Some(variable) = steps.pop() {
        if steps.is_empty() {
            return structure(reserved::BODY, [variable]);
        }
        rest = variable;
    }
    steps.into_iter().rev().fold(rest, |rest, step| structure(reserved::BODY, [step, rest]))
}

fn quote_step(step: &BodyStep, var: Slots<'_>) -> Value {
    if let Some(action) = plan_action(step) {
        return structure(reserved::STEP, [Value::Atom(step_symbol(StepKind::InternalAction)), quote(&action, var)]);
    }
    let term = quote(&step.term, var);
    match step.kind {
        StepKind::Variable => term,
        kind => structure(reserved::STEP, [Value::Atom(step_symbol(kind)), term]),
    }
}

/// Turns steps such as `+{plan}` into internal actions, which they are as data.
fn plan_action(step: &BodyStep) -> Option<Term> {
    let Term::Code(CodeTerm::Plan(_)) = &step.term else { return None };
    let atom = |name: &str| Term::Literal(Literal::bare(Symbol::new(name), step.span));
    let (name, position) = match step.kind {
        StepKind::Add | StepKind::AddFront => (".add_plan", Some("begin")),
        StepKind::AddEnd => (".add_plan", Some("end")),
        StepKind::Delete => (".remove_plan", None),
        _ => return None,
    };
    let mut args = vec![step.term.clone()];
    args.extend(position.into_iter().flat_map(|position| [atom("self"), atom(position)]));
    Some(Term::Literal(Literal { args, ..Literal::bare(Symbol::new(name), step.span) }))
}

/// Operators of steps as data. Steps that add beliefs at the front are the same as those that just add.
const STEPS: [(StepKind, &str); 12] = [
    (StepKind::Action, ""),
    (StepKind::InternalAction, "."),
    (StepKind::Constraint, "="),
    (StepKind::Achieve, "!"),
    (StepKind::AchieveNewFocus, "!!"),
    (StepKind::Test, "?"),
    (StepKind::Add, "+"),
    (StepKind::AddNewFocus, "++"),
    (StepKind::AddEnd, "+>"),
    (StepKind::Delete, "-"),
    (StepKind::DeleteNewFocus, "--"),
    (StepKind::Replace, "-+"),
];

fn step_symbol(kind: StepKind) -> Symbol {
    let kind = if kind == StepKind::AddFront { StepKind::Add } else { kind };
    let text = STEPS.iter().find(|(entry, _)| *entry == kind).map_or("", |(_, text)| text);
    Symbol::new(text)
}

/// Returns the kind of step for an operator as data.
pub(super) fn step_kind(operator: Symbol) -> Option<StepKind> {
    STEPS.iter().find(|(_, text)| *text == operator.as_str()).map(|(kind, _)| *kind)
}

const TRIGGERS: [(TriggerOp, TriggerKind, &str); 9] = [
    (TriggerOp::Add, TriggerKind::Belief, "+"),
    (TriggerOp::Add, TriggerKind::Achieve, "+!"),
    (TriggerOp::Add, TriggerKind::Test, "+?"),
    (TriggerOp::Delete, TriggerKind::Belief, "-"),
    (TriggerOp::Delete, TriggerKind::Achieve, "-!"),
    (TriggerOp::Delete, TriggerKind::Test, "-?"),
    (TriggerOp::Meta, TriggerKind::Belief, "^"),
    (TriggerOp::Meta, TriggerKind::Achieve, "^!"),
    (TriggerOp::Meta, TriggerKind::Test, "^?"),
];

fn trigger_symbol(op: TriggerOp, kind: TriggerKind) -> Symbol {
    let text = TRIGGERS.iter().find(|entry| entry.0 == op && entry.1 == kind).map_or("+", |entry| entry.2);
    Symbol::new(text)
}

/// Returns the operator and kind of a trigger from its operator as data.
pub(super) fn trigger_op(operator: Symbol) -> Option<(TriggerOp, TriggerKind)> {
    TRIGGERS.iter().find(|entry| entry.2 == operator.as_str()).map(|entry| (entry.0, entry.1))
}

fn has_functor(value: &Value, functor: Symbol) -> bool {
    value.functor() == Some(functor)
}

/// Returns true if the value is a plan.
pub fn is_plan(value: &Value) -> bool {
    has_functor(value, reserved::PLAN)
}

/// Returns true if the value is a rule.
pub fn is_rule(value: &Value) -> bool {
    has_functor(value, reserved::RULE)
}

/// Returns true if the value is a trigger.
pub fn is_trigger(value: &Value) -> bool {
    has_functor(value, reserved::TRIGGER)
}

/// Returns true if the value is a body, even one without steps or a step alone.
pub fn is_body(value: &Value) -> bool {
    has_functor(value, reserved::BODY) || has_functor(value, reserved::STEP)
}

/// Returns true if the value is code of any kind.
pub fn is_code(value: &Value) -> bool {
    is_plan(value) || is_rule(value) || is_trigger(value) || is_body(value)
}

/// Returns true if two plans have the same trigger, context and body; labels and places may differ.
pub fn same_plan(a: &Plan, b: &Plan) -> bool {
    essence(a) == essence(b)
}

/// Returns the hash of what [`same_plan`] compares.
pub fn plan_hash(plan: &Plan) -> u64 {
    FxBuildHasher.hash_one(essence(plan))
}

/// Returns the trigger, context and body of a plan.
fn essence(plan: &Plan) -> (Value, Option<Value>, Value) {
    let mut by_name = |name: Symbol| Var { slot: name.index(), name };
    let context = plan.context.as_ref().map(|context| quote(context, &mut by_name));
    (quote_trigger(&plan.trigger, &mut by_name), context, quote_body(&plan.body, &mut by_name))
}

/// Returns true if two rules differ at most in their places and in the names of their variables.
pub fn same_rule(a: &Rule, b: &Rule) -> bool {
    let nameless = |rule: &Rule| {
        let mut names = Numbering::default();
        quote_rule(rule, &mut |name| Var { name: sym::ANY, ..numbered(&mut names, name) })
    };
    nameless(a) == nameless(b)
}

/// Normalises the body `$body(args)` after variables were replaced by their values: bodies among the steps are
/// spliced in, literals become steps. Only the first step and its rest are examined; the rest must be in normal form.
pub fn normal_body(args: &[Value]) -> Value {
    match args {
        [] => Value::Atom(reserved::BODY),
        [only] if is_open(only) => structure(reserved::BODY, [only.clone()]),
        [only] => as_body(only),
        [step, rest, ..] => {
            let rest = match rest {
                Value::Term(term) if term.functor == reserved::BODY && term.args.len() == 1 => {
                    term.args.first().cloned().unwrap_or_default()
                }
                rest if is_open(rest) => rest.clone(),
                rest => as_body(rest),
            };
            if is_open(step) {
                return structure(reserved::BODY, [step.clone(), rest]);
            }
            joined(&as_body(step), rest)
        }
    }
}

/// Returns true for an unbound variable, decorated or not.
fn is_open(value: &Value) -> bool {
    match value {
        Value::Var(_) => true,
        Value::Term(term) => term.functor == reserved::DECORATED && matches!(term.args.first(), Some(Value::Var(_))),
        _ => false,
    }
}

/// Returns a value in the position of steps as a body.
fn as_body(value: &Value) -> Value {
    let end = || Value::Atom(reserved::BODY);
    let Some(functor) = value.functor() else { return structure(reserved::BODY, [step_of(value), end()]) };
    match functor {
        reserved::BODY => value.clone(),
        reserved::STEP => match value.args() {
            // A variable with an operator may turn out to hold a body: the operator is lost then, as in Jason.
            [_, inner] if is_body(inner) => as_body(inner),
            _ => structure(reserved::BODY, [value.clone(), end()]),
        },
        _ => structure(reserved::BODY, [step_of(value), end()]),
    }
}

/// Returns the step that a value means when it stands alone in a body.
fn step_of(value: &Value) -> Value {
    let functor = value.functor().unwrap_or_default();
    let name = functor.as_str();
    let kind = match functor {
        sym::EQ | sym::NE | sym::LT | sym::LE | sym::GT | sym::GE | sym::UNIFY | sym::UNIV => StepKind::Constraint,
        sym::AND | sym::OR | sym::NOT => StepKind::Constraint,
        _ if name.contains('.') && !name.starts_with('\'') => StepKind::InternalAction,
        _ => StepKind::Action,
    };
    structure(reserved::STEP, [Value::Atom(step_symbol(kind)), value.clone()])
}

/// Joins the steps of `first` with those of `rest`.
fn joined(first: &Value, rest: Value) -> Value {
    let mut steps = Vec::new();
    let mut at = first;
    loop {
        match at.args() {
            [step, next] if at.functor() == Some(reserved::BODY) => {
                steps.push(step.clone());
                at = next;
            }
            // As data, nothing can follow an open rest: the rest becomes a step.
            [open] if at.functor() == Some(reserved::BODY) => {
                steps.push(open.clone());
                break;
            }
            _ if is_open(at) => {
                steps.push(at.clone());
                break;
            }
            _ => break,
        }
    }
    let closed =
        |rest: Value| if is_open(&rest) && steps.is_empty() { structure(reserved::BODY, [rest]) } else { rest };
    let rest = closed(rest);
    steps.into_iter().rev().fold(rest, |rest, step| structure(reserved::BODY, [step, rest]))
}
