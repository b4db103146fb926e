//! Building values from expressions, and matching expressions against values.

use std::sync::Arc;

use whimbrel_acl::{Annot, Annots, Args, Cons, Structure, Symbol, Value, Var, sym};

use super::Solver;
use crate::code::{ArithExpr, ChainExpr, Expr, FunctionExpr, TermExpr};
use crate::logic::{Bindings, arith, levels, match_annots};

/// Builds the value of an expression in the frame at `base`; unbound variables stay variables. `names` are the
/// frame's.
#[inline(always)]
pub fn build(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], expr: &Expr) -> Value {
    // Most arguments are plain values, built in place; the rest takes a call.
    plain_value(bindings, base, expr).unwrap_or_else(|| build_compound(solver, bindings, base, names, expr))
}

/// Returns the value of an expression that is immediately an atom or a number, as most are.
#[inline(always)]
pub fn plain_value(bindings: &Bindings, base: u32, expr: &Expr) -> Option<Value> {
    let value = match expr {
        Expr::Const(value) => value,
        Expr::Slot(slot) => bindings.slot(base + slot),
        Expr::Arith(arith) => return computed(bindings, base, arith).map(Value::Num),
        Expr::Chain(chain) => return computed_chain(bindings, base, chain).map(Value::Num),
        _ => return None,
    };
    match value {
        Value::Num(n) => Some(Value::Num(*n)),
        Value::Atom(name) => Some(Value::Atom(*name)),
        Value::Var(_) => followed(bindings, value),
        _ => None,
    }
}

/// Returns the value of a variable, if that is a number, an atom, or unbound.
#[inline]
fn followed(bindings: &Bindings, value: &Value) -> Option<Value> {
    match bindings.deref(value) {
        value @ (Value::Num(_) | Value::Atom(_) | Value::Var(_)) => Some(value.clone()),
        _ => None,
    }
}

/// Pushes the value of a plain expression onto the bindings. Returns false for any other expression.
#[inline(always)]
pub fn push_plain_value(bindings: &mut Bindings, base: u32, expr: &Expr) -> bool {
    match expr {
        Expr::Const(value) => bindings.push_plain(value),
        Expr::Slot(slot) => bindings.push_slot(base + slot),
        Expr::Arith(arith) => match computed(bindings, base, arith) {
            Some(number) => {
                bindings.push_number(number);
                true
            }
            None => false,
        },
        Expr::Chain(chain) => match computed_chain(bindings, base, chain) {
            Some(number) => {
                bindings.push_number(number);
                true
            }
            None => false,
        },
        _ => false,
    }
}

/// Returns the atom that an expression immediately is.
#[inline(always)]
pub fn plain_atom(bindings: &Bindings, base: u32, expr: &Expr) -> Option<Symbol> {
    let value = match expr {
        Expr::Const(value) => value,
        Expr::Slot(slot) => bindings.slot(base + slot),
        _ => return None,
    };
    if let Value::Atom(name) = value { Some(*name) } else { None }
}

fn build_variable(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], slot: u32) -> Value {
    match bindings.slot(base + slot) {
        Value::Null => {
            let name = names.get(slot as usize).copied().unwrap_or(sym::ANY);
            Value::Var(Var { slot: base + slot, name })
        }
        value if value.is_ground() => value.clone(),
        value => {
            let resolved = bindings.resolve(value);
            solver.compute(bindings, resolved)
        }
    }
}

fn build_compound(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], expr: &Expr) -> Value {
    match expr {
        Expr::Arith(arith) => build_arith(solver, bindings, base, names, arith),
        Expr::Chain(chain) => build_whole_chain(solver, bindings, base, names, chain),
        Expr::LongList(list) => build_long_list(solver, bindings, base, names, list),
        Expr::Term(term) => build_term(solver, bindings, base, names, term),
        Expr::Cons(cell) => build_list(solver, bindings, base, names, cell),
        Expr::Function(call) => build_function(solver, bindings, base, names, call),
        Expr::Operation(operation) => {
            let (op, args) = &**operation;
            operation_value(*op, build_args(solver, bindings, base, names, args))
        }
        Expr::Quote(value) => {
            let resolved = bindings.resolve(&Bindings::rename(value, base));
            solver.compute(bindings, resolved)
        }
        Expr::Const(value) => value.clone(),
        Expr::Slot(slot) => build_variable(solver, bindings, base, names, *slot),
    }
}

/// Returns true if an expression certainly has a value without function calls. Judged at a glance: false if in doubt.
pub fn calls_nothing(bindings: &Bindings, base: u32, expr: &Expr) -> bool {
    let nothing = |expr: &Expr| calls_nothing(bindings, base, expr);
    match expr {
        Expr::Const(_) => true,
        // Calls in a value that was built before they could be computed are computed once its variables are bound.
        Expr::Slot(slot) => {
            let value = bindings.deref(bindings.slot(base + slot));
            value.is_ground() || matches!(value, Value::Var(_))
        }
        Expr::Arith(arith) => nothing(&arith.left) && arith.right.as_ref().is_none_or(nothing),
        Expr::Term(term) => term.has_no_annots() && term.args.iter().all(nothing),
        Expr::Cons(cell) => nothing(&cell.0) && nothing(&cell.1),
        Expr::Chain(chain) => nothing(&chain.first) && chain.rest.iter().all(|(_, operand)| nothing(operand)),
        Expr::LongList(list) => list.0.iter().all(nothing) && nothing(&list.1),
        Expr::Function(_) | Expr::Operation(_) | Expr::Quote(_) => false,
    }
}

/// Computes an expression of numbers, bound variables and operations.
#[inline(always)]
pub fn number(bindings: &Bindings, base: u32, expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Arith(operation) => computed(bindings, base, operation),
        Expr::Chain(chain) => computed_chain(bindings, base, chain),
        other => leaf(bindings, base, other),
    }
}

/// Returns the number of an expression that is no operation.
#[inline(always)]
fn leaf(bindings: &Bindings, base: u32, expr: &Expr) -> Option<f64> {
    let value = match expr {
        Expr::Const(value) => value,
        Expr::Slot(slot) => bindings.slot(base + slot),
        _ => return None,
    };
    match value {
        Value::Num(n) => Some(*n),
        Value::Var(_) => match bindings.deref(value) {
            Value::Num(n) => Some(*n),
            _ => None,
        },
        _ => None,
    }
}

/// Computes an operation on numbers. Operations on variables and constants, as most are, are computed in place.
#[inline]
fn computed(bindings: &Bindings, base: u32, operation: &ArithExpr) -> Option<f64> {
    match (leaf(bindings, base, &operation.left), operation.right.as_ref().and_then(|it| leaf(bindings, base, it))) {
        (Some(left), Some(right)) => arith::binary(operation.op, left, right),
        _ => computed_deeply(bindings, base, operation),
    }
}

fn computed_deeply(bindings: &Bindings, base: u32, operation: &ArithExpr) -> Option<f64> {
    let left = number(bindings, base, &operation.left)?;
    match &operation.right {
        Some(right) => arith::binary(operation.op, left, number(bindings, base, right)?),
        None => Some(-left),
    }
}

/// Computes a chain of operations on numbers. Returns `None` if an operand is no number.
fn computed_chain(bindings: &Bindings, base: u32, chain: &ChainExpr) -> Option<f64> {
    let first = number(bindings, base, &chain.first)?;
    chain.rest.iter().try_fold(first, |left, (op, right)| arith::binary(*op, left, number(bindings, base, right)?))
}

/// Builds a logical operation as data: more operands than two are nested at the right.
fn operation_value(op: Symbol, mut args: Args) -> Value {
    if args.len() <= 2 {
        return Structure::new(op, args).into();
    }
    let last = args.pop().unwrap_or_default();
    let nested = |right: Value, left: Value| Structure::new(op, [left, right].into_iter().collect()).into();
    levels::checked(args.into_iter().rev().fold(last, nested))
}

/// Builds a long list.
fn build_long_list(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    list: &(Vec<Expr>, Expr),
) -> Value {
    let items: Vec<Value> = list.0.iter().map(|item| build(solver, bindings, base, names, item)).collect();
    let tail = build(solver, bindings, base, names, &list.1);
    levels::checked(Value::list_with_tail(items, tail))
}

/// Builds the value of a whole chain, as [`build_arith`] does for one operation.
fn build_whole_chain(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    chain: &ChainExpr,
) -> Value {
    let whole = levels::checked(build_chain(solver, bindings, base, names, chain));
    match bindings.resolve(&whole) {
        Value::Num(n) => Value::Num(n),
        _ => whole,
    }
}

fn build_chain(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], chain: &ChainExpr) -> Value {
    let mut left = build_operand(solver, bindings, base, names, &chain.first);
    let mut has_variables = chain.first.is_no_number();
    for (op, operand) in &chain.rest {
        has_variables |= operand.is_no_number();
        let right = build_operand(solver, bindings, base, names, operand);
        left = combined(*op, [left, right].into_iter().collect(), has_variables);
    }
    left
}

/// Builds the values of several expressions.
#[inline]
pub fn build_args(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], exprs: &[Expr]) -> Args {
    let mut args = Args::with_capacity(exprs.len());
    for expr in exprs {
        args.push(build(solver, bindings, base, names, expr));
    }
    args
}

/// Builds arithmetic that is not all literal numbers. It is computed if all its other operands are numbers, and
/// otherwise left as written.
fn build_arith(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], expr: &ArithExpr) -> Value {
    let whole = build_operation(solver, bindings, base, names, expr);
    match bindings.resolve(&whole) {
        Value::Num(n) => Value::Num(n),
        _ => whole,
    }
}

fn build_operation(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    expr: &ArithExpr,
) -> Value {
    let operands = [Some(&expr.left), expr.right.as_ref()];
    let args: Args =
        (operands.into_iter().flatten()).map(|operand| build_operand(solver, bindings, base, names, operand)).collect();
    combined(expr.op, args, expr.has_variables())
}

/// Builds an operand of arithmetic, which is computed only as part of the whole.
fn build_operand(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], operand: &Expr) -> Value {
    match operand {
        Expr::Arith(inner) => build_operation(solver, bindings, base, names, inner),
        Expr::Chain(inner) => build_chain(solver, bindings, base, names, inner),
        other => build(solver, bindings, base, names, other),
    }
}

/// Combines values in an operation: computed if they are numbers that were not all written literally.
fn combined(op: Symbol, args: Args, has_variables: bool) -> Value {
    match arith::evaluate(op, &args) {
        Some(n) if args.iter().all(|arg| matches!(arg, Value::Num(_))) && has_variables => Value::Num(n),
        _ => Structure::new(op, args).into(),
    }
}

fn build_term(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], term: &TermExpr) -> Value {
    let args = build_args(solver, bindings, base, names, &term.args);
    let key = term.key;
    if term.annots.is_empty() && term.annots_tail.is_none() && !args.is_empty() {
        return levels::checked(Value::Term(Arc::new(Structure::bare(key.namespace, key.negated, key.functor, args))));
    }
    let annots = build_annots(solver, bindings, base, names, term);
    levels::checked(Structure::full(key.namespace, key.negated, key.functor, args, annots).into_value())
}

/// Builds the annotations of a structure.
pub fn build_annots(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    term: &TermExpr,
) -> Annots {
    if term.annots.is_empty() && term.annots_tail.is_none() {
        return Annots::new();
    }
    let mut annots: Annots =
        term.annots.iter().map(|annot| Annot::new(build(solver, bindings, base, names, annot))).collect();
    if let Some(tail) = &term.annots_tail {
        match build(solver, bindings, base, names, tail) {
            Value::Var(var) => annots.push(Annot::Tail(var)),
            list => annots.extend(list.items().map(|item| Annot::new(item.clone()))),
        }
    }
    annots
}

fn build_list(solver: &Solver<'_>, bindings: &mut Bindings, base: u32, names: &[Symbol], cell: &(Expr, Expr)) -> Value {
    let (head, tail) = cell;
    let head = build(solver, bindings, base, names, head);
    let tail = build(solver, bindings, base, names, tail);
    levels::checked(Value::List(Arc::new(Cons::new(head, tail))))
}

fn build_function(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    call: &FunctionExpr,
) -> Value {
    let args = build_args(solver, bindings, base, names, &call.args);
    solver.function(bindings, call, &args).unwrap_or_else(|| Value::term(call.name, args))
}

/// Matches an expression (a plan's trigger, a rule's head, a query) on the left side against a value. Binds variables
/// of the expression or of the value.
#[inline]
pub fn match_expr(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    expr: &Expr,
    value: &Value,
) -> bool {
    match expr {
        Expr::Slot(slot) => match_slot(bindings, base, names, *slot, value),
        Expr::Const(constant) => match (constant, value) {
            (Value::Atom(a), Value::Atom(b)) => a == b,
            (Value::Num(a), Value::Num(b)) => a == b,
            _ => bindings.unify(constant, value),
        },
        Expr::Term(term) => match_term(solver, bindings, base, names, term, value),
        Expr::Cons(cell) => match_list(solver, bindings, base, names, cell, value),
        _ => {
            let built = build(solver, bindings, base, names, expr);
            bindings.unify(&built, value)
        }
    }
}

/// Matches a variable, as [`match_expr`] does.
#[inline]
pub fn match_slot(bindings: &mut Bindings, base: u32, names: &[Symbol], slot: u32, value: &Value) -> bool {
    let name = names.get(slot as usize).copied();
    let slot = base + slot;
    let known = bindings.slot(slot);
    if !matches!(known, Value::Null) {
        match (known, value) {
            (Value::Atom(a), Value::Atom(b)) => return a == b,
            (Value::Num(a), Value::Num(b)) => return a == b,
            _ => {}
        }
        let var = Value::Var(Var { slot, name: name.unwrap_or(sym::ANY) });
        return bindings.unify(&var, value);
    }
    match bindings.deref(value) {
        Value::Var(var) if var.slot == slot => true,
        Value::Var(_) | Value::Term(_) => {
            let var = Value::Var(Var { slot, name: name.unwrap_or(sym::ANY) });
            bindings.unify(&var, value)
        }
        other if other.is_ground() => {
            let other = other.clone();
            bindings.bind_value(slot, other)
        }
        _ => {
            let var = Value::Var(Var { slot, name: name.unwrap_or(sym::ANY) });
            bindings.unify(&var, value)
        }
    }
}

fn match_term(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    term: &TermExpr,
    value: &Value,
) -> bool {
    match bindings.deref(value) {
        Value::Term(other) if other.functor == term.key.functor && other.args.len() == term.args.len() => {
            if other.negated != term.key.negated || other.namespace != term.key.namespace {
                return false;
            }
            let other = Arc::clone(other);
            let args = term.args.iter().zip(&other.args);
            let mut matched = true;
            for (arg, value) in args {
                if !match_expr(solver, bindings, base, names, arg, value) {
                    matched = false;
                    break;
                }
            }
            matched && (no_annots(term) || match_built_annots(solver, bindings, base, names, term, &other.annots))
        }
        Value::Num(_) | Value::Str(_) | Value::List(_) | Value::Nil => false,
        _ => {
            let built = build_term(solver, bindings, base, names, term);
            bindings.unify(&built, value)
        }
    }
}

fn no_annots(term: &TermExpr) -> bool {
    term.annots.is_empty() && term.annots_tail.is_none()
}

fn match_built_annots(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    term: &TermExpr,
    other: &[Annot],
) -> bool {
    let annots = build_annots(solver, bindings, base, names, term);
    match_annots(bindings, &annots, other)
}

fn match_list(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    cell: &(Expr, Expr),
    value: &Value,
) -> bool {
    if let Value::List(other) = value {
        return match_expr(solver, bindings, base, names, &cell.0, &other.head)
            && match_expr(solver, bindings, base, names, &cell.1, &other.tail);
    }
    match bindings.deref(value) {
        Value::List(other) => {
            let other = Arc::clone(other);
            match_expr(solver, bindings, base, names, &cell.0, &other.head)
                && match_expr(solver, bindings, base, names, &cell.1, &other.tail)
        }
        Value::Var(var) => {
            let slot = var.slot;
            let built = build_list(solver, bindings, base, names, cell);
            // A function in the built value may have bound the variable.
            match bindings.slot(slot) {
                Value::Null => !bindings.occurs(slot, &built) && bindings.bind_value(slot, built),
                _ => bindings.unify(&built, value),
            }
        }
        _ => false,
    }
}
