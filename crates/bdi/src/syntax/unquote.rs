//! Unquoting: from values to the syntax tree. [`quote`](super::quote) is the reverse.

use super::parser::terms::chained;
use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Annot, Structure, Symbol, Text, Value, Var, sym};

use super::ast::{
    Annotations, BodyStep, CodeTerm, Literal, Namespace, Op, Plan, PlanBody, Rule, Span, StepKind, Term, Trigger,
    TriggerKind, TriggerOp, Variable,
};
use super::parse_trigger;
use super::quote::{is_body, quote, reserved, step_kind, trigger_op};

/// Reason why a value is not the expected code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuoteError {
    /// The value is no plan.
    #[error("`{0}` is not a plan")]
    NoPlan(String),
    /// The value is no rule.
    #[error("`{0}` is not a rule")]
    NoRule(String),
    /// The value is no trigger.
    #[error("`{0}` is not an event")]
    NoTrigger(String),
    /// The value is no body.
    #[error("`{0}` is not a body")]
    NoBody(String),
    /// The value cannot stand in code.
    #[error("`{0}` cannot stand in code")]
    NoTerm(String),
}

/// Names for variables: those of different slots stay different.
#[derive(Default)]
struct Names {
    of_slot: FxHashMap<Var, Symbol>,
    taken: FxHashSet<Symbol>,
}

impl Names {
    fn name(&mut self, var: Var) -> Symbol {
        if let Some(name) = self.of_slot.get(&var) {
            return *name;
        }
        let mut name = var.name;
        if name == sym::ANY {
            name = Symbol::new(&format!("_{}", var.slot));
        }
        while !self.taken.insert(name) {
            name = Symbol::new(&format!("_{}{name}", var.slot));
        }
        self.of_slot.insert(var, name);
        name
    }
}

/// Unquotes a plan.
///
/// # Errors
/// Returns an error if the value is no plan, or has a part that cannot stand in code.
pub fn unquote_plan(value: &Value) -> Result<Plan, QuoteError> {
    plan(value, &mut Names::default())
}

/// Unquotes a body; a literal is a body of one step.
///
/// # Errors
/// Returns an error if the value is no body, or has a part that cannot stand in code.
pub fn unquote_body(value: &Value) -> Result<PlanBody, QuoteError> {
    body(value, &mut Names::default())
}

/// Unquotes a rule.
///
/// # Errors
/// Returns an error if the value is no rule, or has a part that cannot stand in code.
pub fn unquote_rule(value: &Value) -> Result<Rule, QuoteError> {
    rule(value, &mut Names::default())
}

/// Unquotes a trigger.
///
/// # Errors
/// Returns an error if the value is no trigger, or has a part that cannot stand in code.
pub fn unquote_trigger(value: &Value) -> Result<Trigger, QuoteError> {
    trigger(value, &mut Names::default())
}

/// Unquotes a term; a variable in it becomes the variable of its name.
///
/// # Errors
/// Returns an error if the value has a part that cannot stand in code.
pub fn unquote_term(value: &Value) -> Result<Term, QuoteError> {
    term(value, &mut Names::default())
}

/// Returns the parts of an event, as internal actions take it. The value is a trigger; a body that adds or deletes
/// one belief, which looks the same; or a text that is a trigger without variables.
pub fn trigger_parts(value: &Value) -> Option<(TriggerOp, TriggerKind, Value)> {
    match value {
        Value::Str(text) => {
            let trigger = parse_trigger(text).ok()?;
            let mut open = false;
            let literal = quote(&trigger.term, &mut |name| {
                open = true;
                Var { slot: 0, name }
            });
            (!open).then_some((trigger.op, trigger.kind, literal))
        }
        Value::Term(code) if code.functor == reserved::TRIGGER => match code.args.as_slice() {
            [Value::Atom(operator), literal] => {
                let (op, kind) = trigger_op(*operator)?;
                Some((op, kind, literal.clone()))
            }
            _ => None,
        },
        Value::Term(code) if code.functor == reserved::BODY => match code.args.as_slice() {
            [step, Value::Atom(_)] => trigger_parts(step),
            _ => None,
        },
        Value::Term(code) if code.functor == reserved::STEP => match code.args.as_slice() {
            [Value::Atom(operator), literal] => match step_kind(*operator)? {
                StepKind::Add => Some((TriggerOp::Add, TriggerKind::Belief, literal.clone())),
                StepKind::Delete => Some((TriggerOp::Delete, TriggerKind::Belief, literal.clone())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

// Functions that call each other are many and small, and not inlined: their frames add up where terms are deep.

fn term(value: &Value, names: &mut Names) -> Result<Term, QuoteError> {
    match value {
        Value::Term(structure) => structure_term(value, structure, names),
        Value::Nil | Value::List(_) => list(value, names),
        _ => leaf(value, names),
    }
}

#[inline(never)]
fn leaf(value: &Value, names: &mut Names) -> Result<Term, QuoteError> {
    Ok(match value {
        Value::Atom(reserved::BODY) => Term::Code(CodeTerm::Body(PlanBody::default())),
        Value::Bool(_) | Value::Atom(_) => {
            Term::Literal(Literal::bare(value.functor().unwrap_or_default(), Span::default()))
        }
        Value::Int(n) => Term::Num(*n as f64),
        Value::Num(n) => Term::Num(*n),
        Value::Str(text) => Term::Str(text.clone()),
        Value::Var(var) => Term::Var(plain(*var, names)),
        Value::Object(_) | Value::Map(_) | Value::Record(_) | Value::Bytes(_) => Term::Data(value.clone()),
        _ => return Err(QuoteError::NoTerm(value.to_string())),
    })
}

fn structure_term(value: &Value, structure: &Structure, names: &mut Names) -> Result<Term, QuoteError> {
    match structure.functor {
        reserved::DECORATED => decorated(value, structure, names),
        reserved::PLAN | reserved::RULE | reserved::TRIGGER | reserved::BODY | reserved::STEP => code(value, names),
        functor => match operation(functor, structure.args.len()) {
            Some(op) => operation_term(op, structure, names),
            None => literal_term(structure, names),
        },
    }
}

#[inline(never)]
fn code(value: &Value, names: &mut Names) -> Result<Term, QuoteError> {
    match value.functor() {
        Some(reserved::PLAN) => plan(value, names).map(|plan| Term::Code(CodeTerm::Plan(Box::new(plan)))),
        Some(reserved::RULE) => rule(value, names).map(|rule| Term::Code(CodeTerm::Rule(Box::new(rule)))),
        Some(reserved::TRIGGER) => {
            trigger(value, names).map(|trigger| Term::Code(CodeTerm::Trigger(Box::new(trigger))))
        }
        _ => body(value, names).map(|body| Term::Code(CodeTerm::Body(body))),
    }
}

#[inline(never)]
fn operation_term(op: Op, structure: &Structure, names: &mut Names) -> Result<Term, QuoteError> {
    match op {
        Op::And | Op::Or => right_chain(op, structure, names),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IntDiv | Op::Mod => left_chain(op, structure, names),
        _ => Ok(Term::Op(op, terms(&structure.args, names)?)),
    }
}

/// Unquotes `a & (b & c)` and longer, without recursion.
fn right_chain(op: Op, structure: &Structure, names: &mut Names) -> Result<Term, QuoteError> {
    let mut operands = Vec::new();
    let mut at = structure;
    while let [left, right] = at.args.as_slice() {
        operands.push(term(left, names)?);
        match right {
            Value::Term(next) if operation(next.functor, next.args.len()) == Some(op) => at = next,
            last => {
                operands.push(term(last, names)?);
                break;
            }
        }
    }
    Ok(Term::Op(op, operands))
}

/// Unquotes `(a + b) - c` and longer, without recursion.
fn left_chain(op: Op, structure: &Structure, names: &mut Names) -> Result<Term, QuoteError> {
    let is_sum = |op| matches!(op, Op::Add | Op::Sub);
    let mut rest = Vec::new();
    let (mut at, mut op) = (structure, op);
    let first = loop {
        let [left, right] = at.args.as_slice() else { return Ok(Term::Op(op, terms(&at.args, names)?)) };
        rest.push((op, right));
        let next = match left {
            Value::Term(next) => operation(next.functor, next.args.len()).map(|op| (next, op)),
            _ => None,
        };
        match next {
            Some((next, inner)) if is_binary(inner) && is_sum(inner) == is_sum(op) => (at, op) = (next, inner),
            _ => break left,
        }
    };
    let first = term(first, names)?;
    let mut operands = Vec::with_capacity(rest.len());
    for (op, right) in rest.into_iter().rev() {
        operands.push((op, term(right, names)?));
    }
    Ok(chained(first, operands))
}

fn is_binary(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IntDiv | Op::Mod)
}

fn literal_term(structure: &Structure, names: &mut Names) -> Result<Term, QuoteError> {
    Ok(Term::Literal(literal(structure, names)?))
}

fn terms(values: &[Value], names: &mut Names) -> Result<Vec<Term>, QuoteError> {
    let mut terms = Vec::with_capacity(values.len());
    for value in values {
        terms.push(term(value, names)?);
    }
    Ok(terms)
}

fn operation(functor: Symbol, arity: usize) -> Option<Op> {
    Some(match (functor, arity) {
        (sym::NOT, 1) => Op::Not,
        (sym::SUB, 1) => Op::Neg,
        (sym::AND, 2) => Op::And,
        (sym::OR, 2) => Op::Or,
        (sym::EQ, 2) => Op::Eq,
        (sym::NE, 2) => Op::Ne,
        (sym::LT, 2) => Op::Lt,
        (sym::LE, 2) => Op::Le,
        (sym::GT, 2) => Op::Gt,
        (sym::GE, 2) => Op::Ge,
        (sym::UNIFY, 2) => Op::Unify,
        (sym::UNIV, 2) => Op::Univ,
        (sym::ADD, 2) => Op::Add,
        (sym::SUB, 2) => Op::Sub,
        (sym::MUL, 2) => Op::Mul,
        (sym::DIV, 2) => Op::Div,
        (sym::INTDIV, 2) => Op::IntDiv,
        (sym::MOD, 2) => Op::Mod,
        (sym::POW, 2) => Op::Pow,
        _ => return None,
    })
}

fn plain(var: Var, names: &mut Names) -> Variable {
    let name = names.name(var);
    Variable { name, namespace: None, negated: false, annots: None, span: Span::default() }
}

fn list_parts(value: &Value, names: &mut Names) -> Result<(Vec<Term>, Option<Box<Term>>), QuoteError> {
    let mut elements = value.items();
    let items: Result<Vec<Term>, QuoteError> = elements.by_ref().map(|item| term(item, names)).collect();
    let tail = match elements.tail() {
        Value::Nil => None,
        tail => Some(Box::new(term(tail, names)?)),
    };
    Ok((items?, tail))
}

#[inline(never)]
fn list(value: &Value, names: &mut Names) -> Result<Term, QuoteError> {
    let (items, tail) = list_parts(value, names)?;
    Ok(Term::List { items, tail })
}

#[inline(never)]
fn literal(structure: &Structure, names: &mut Names) -> Result<Literal, QuoteError> {
    let namespace = (structure.namespace != sym::DEFAULT).then_some(Namespace::Name(structure.namespace));
    let mut annots = Annotations::default();
    for annot in &structure.annots {
        match annot {
            Annot::Tail(var) => annots.tail = Some(Box::new(Term::Var(plain(*var, names)))),
            other => annots.items.push(term(&other.to_value(), names)?),
        }
    }
    let annots = (!structure.annots.is_empty()).then_some(annots);
    let args = terms(&structure.args, names)?;
    let (functor, negated) = (structure.functor, structure.negated);
    Ok(Literal { namespace, negated, functor, args, annots, span: Span::default() })
}

/// Unquotes `ns::~X[a]`, or a literal in a namespace that is a variable.
#[inline(never)]
fn decorated(value: &Value, structure: &Structure, names: &mut Names) -> Result<Term, QuoteError> {
    let [inner, namespace, negated, annots] = structure.args.as_slice() else {
        return Err(QuoteError::NoTerm(value.to_string()));
    };
    let namespace = match namespace {
        Value::Atom(name) if *name != sym::DEFAULT => Some(Namespace::Name(*name)),
        Value::Var(var) => Some(Namespace::Var(names.name(*var))),
        _ => None,
    };
    let negated = *negated == Value::Bool(true);
    let (items, tail) = list_parts(annots, names)?;
    let annots = (!items.is_empty() || tail.is_some()).then_some(Annotations { items, tail });
    Ok(match term(inner, names)? {
        Term::Var(variable) => Term::Var(Variable { namespace, negated, annots, ..variable }),
        Term::Literal(mut literal) => {
            literal.namespace = namespace.or(literal.namespace);
            literal.negated |= negated;
            if let Some(more) = annots {
                let own = literal.annots.get_or_insert_default();
                own.items.extend(more.items);
                own.tail = own.tail.take().or(more.tail);
            }
            Term::Literal(literal)
        }
        other => other,
    })
}

#[inline(never)]
fn plan(value: &Value, names: &mut Names) -> Result<Plan, QuoteError> {
    let [label_value, trigger_value, context, body_value, more @ ..] = value.args() else {
        return Err(QuoteError::NoPlan(value.to_string()));
    };
    if value.functor() != Some(reserved::PLAN) {
        return Err(QuoteError::NoPlan(value.to_string()));
    }
    let (label, label_variable) = label(label_value, names)?;
    let (goal_condition, sub_plans) = match more {
        [condition, plans, ..] => (condition, plans.items().map(|value| plan(value, names)).collect::<Result<_, _>>()?),
        _ => (&Value::Null, Vec::new()),
    };
    Ok(Plan {
        label,
        label_variable,
        trigger: trigger(trigger_value, names)?,
        context: formula(context, names)?,
        goal_condition: formula(goal_condition, names)?,
        body: body(body_value, names)?,
        sub_plans,
        span: Span::default(),
        file: Text::new(),
    })
}

/// Unquotes a formula; `None` if it is absent or `true`. A formula that was data in braces is a body of one step.
fn formula(value: &Value, names: &mut Names) -> Result<Option<Term>, QuoteError> {
    if matches!(value, Value::Null | Value::Bool(true)) {
        return Ok(None);
    }
    if value.functor() == Some(reserved::BODY) || value.functor() == Some(reserved::STEP) {
        let mut steps = body(value, names)?.steps;
        return match (steps.pop(), steps.is_empty()) {
            (Some(step), true) => Ok(Some(step.term)),
            (None, _) => Ok(None),
            _ => Err(QuoteError::NoTerm(value.to_string())),
        };
    }
    term(value, names).map(Some)
}

fn label(value: &Value, names: &mut Names) -> Result<(Option<Literal>, Option<Variable>), QuoteError> {
    if value.functor() == Some(sym::NO_LABEL) && matches!(value, Value::Atom(_)) {
        return Ok((None, None));
    }
    match term(value, names)? {
        Term::Var(variable) => Ok((None, Some(variable))),
        Term::Literal(mut literal) => {
            if literal.functor == sym::UNDEFINED {
                literal.functor = sym::EMPTY;
            }
            Ok((Some(literal), None))
        }
        _ => Err(QuoteError::NoTerm(value.to_string())),
    }
}

#[inline(never)]
fn trigger(value: &Value, names: &mut Names) -> Result<Trigger, QuoteError> {
    let (op, kind, literal) = trigger_parts(value).ok_or_else(|| QuoteError::NoTrigger(value.to_string()))?;
    match term(&literal, names)? {
        term @ (Term::Literal(_) | Term::Var(_)) => Ok(Trigger { op, kind, term }),
        _ => Err(QuoteError::NoTrigger(value.to_string())),
    }
}

#[inline(never)]
fn rule(value: &Value, names: &mut Names) -> Result<Rule, QuoteError> {
    let no_rule = || QuoteError::NoRule(value.to_string());
    match value.args() {
        [head, body] if value.functor() == Some(reserved::RULE) => {
            let Term::Literal(head) = term(head, names)? else { return Err(no_rule()) };
            let body = formula(body, names)?;
            Ok(Rule { head, body, span: Span::default(), file: Text::new() })
        }
        _ => Err(no_rule()),
    }
}

#[inline(never)]
fn body(value: &Value, names: &mut Names) -> Result<PlanBody, QuoteError> {
    let mut steps = Vec::new();
    let mut at = value;
    loop {
        match at.args() {
            [step, rest] if at.functor() == Some(reserved::BODY) => {
                push_step(step, &mut steps, names)?;
                at = rest;
            }
            [only] if at.functor() == Some(reserved::BODY) => at = only,
            [] if at.functor() == Some(reserved::BODY) => return Ok(PlanBody { steps }),
            _ => {
                push_step(at, &mut steps, names)?;
                return Ok(PlanBody { steps });
            }
        }
    }
}

/// Adds one step, or the steps of a body in a step's place.
fn push_step(value: &Value, steps: &mut Vec<BodyStep>, names: &mut Names) -> Result<(), QuoteError> {
    let (kind, term) = match (value.functor(), value.args()) {
        (Some(reserved::BODY), _) => {
            steps.extend(body(value, names)?.steps);
            return Ok(());
        }
        (Some(reserved::STEP), [Value::Atom(operator), inner]) => {
            if is_body(inner) {
                steps.extend(body(inner, names)?.steps);
                return Ok(());
            }
            let kind = step_kind(*operator).ok_or_else(|| QuoteError::NoBody(value.to_string()))?;
            (kind, term(inner, names)?)
        }
        _ => {
            let term = term(value, names)?;
            let kind = plain_kind(&term).ok_or_else(|| QuoteError::NoBody(value.to_string()))?;
            (kind, term)
        }
    };
    steps.push(BodyStep { kind, term, span: Span::default() });
    Ok(())
}

/// Returns the kind of a step that has no operator.
fn plain_kind(term: &Term) -> Option<StepKind> {
    match term {
        Term::Var(_) => Some(StepKind::Variable),
        Term::Literal(literal) => {
            let name = literal.functor.as_str();
            let dotted = name.contains('.') && !name.starts_with('\'');
            Some(if dotted { StepKind::InternalAction } else { StepKind::Action })
        }
        Term::Op(Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IntDiv | Op::Mod | Op::Pow | Op::Neg, _) => None,
        Term::Op(..) => Some(StepKind::Constraint),
        _ => None,
    }
}
