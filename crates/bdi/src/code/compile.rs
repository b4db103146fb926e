//! Compiler from syntax trees to programs.

use std::cell::Cell;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use whimbrel_acl::{Annot, Structure, Symbol, Text, Value, Var, sym};

use super::asking::asks;
use super::{
    AddMode, ArithExpr, BodyOp, CallExpr, ChainExpr, CompiledBody, CompiledPlan, CompiledRule, Expr, Formula, Function,
    FunctionExpr, Head, Hint, Image, InternalAction, Key, PlainStep, PlanRef, RelationExpr, SendExpr, Site, Source,
    TermExpr, formula_place, label_of, next_label,
};
use crate::logic::map_vars;
use crate::numbering::Numbering;
use crate::syntax::ast::{self, StepKind, TriggerOp};
use crate::syntax::quote::{is_code, quote, unquote_body, unquote_term};
use crate::syntax::{function_id, is_internal_action};

/// Context of the compiler: the functions that rules provide.
#[derive(Clone, Copy, Default)]
pub struct Functions<'a> {
    rules: &'a [ast::FunctionRule],
    /// Notes on calls in the program.
    seen: Option<&'a ProgramProperties>,
}

/// Properties of a program that the engine needs to know wherever it runs.
#[derive(Default)]
struct ProgramProperties {
    /// True if the program calls functions.
    functions: Cell<bool>,
    /// True if a formula queries the agent's desires.
    desires: Cell<bool>,
    /// True if a formula queries the agent's intentions.
    intentions: Cell<bool>,
    /// True if a formula or a step queries the platform.
    others: Cell<bool>,
}

impl<'a> Functions<'a> {
    fn of(image: &'a Image) -> Self {
        Self { rules: &image.functions, seen: None }
    }

    fn called(&self) {
        if let Some(seen) = self.seen {
            seen.functions.set(true);
        }
    }

    /// Notes a call of an internal action in a formula.
    fn asks(&self, action: &str) {
        let Some(seen) = self.seen else { return };
        match action {
            ".desire" => seen.desires.set(true),
            ".intend" | ".intention" | ".current_intention" | ".suspended" => seen.intentions.set(true),
            _ => {}
        }
    }

    /// Notes a call of an internal action in a formula or as a step.
    fn calls(&self, action: &str) {
        if let Some(seen) = self.seen {
            seen.others.set(seen.others.get() || asks(action));
        }
    }

    fn rule(&self, name: Symbol, arity: usize) -> Option<Symbol> {
        self.rules.iter().find(|f| f.name == name && f.arity as usize == arity).map(|f| f.rule)
    }
}

/// Variables of one clause and their slots.
#[derive(Default)]
struct ClauseVariables {
    names: Numbering<Symbol>,
    /// Number subtracted from the slot in a variable's name.
    base: u32,
}

/// Prefix of variables' names that state a slot: `$7` is slot 7. No program can write such a name.
const SLOT_PREFIX: char = '$';

/// Returns the slot that a variable's name states, if it is such a name.
pub fn slot_in_name(name: Symbol) -> Option<u32> {
    name.as_str().strip_prefix(SLOT_PREFIX)?.parse().ok()
}

impl ClauseVariables {
    fn slot(&mut self, name: Symbol) -> u32 {
        if let Some(slot) = slot_in_name(name) {
            return slot.saturating_sub(self.base);
        }
        self.names.number(name)
    }

    fn known(&self, name: Symbol) -> bool {
        self.names.find(name).is_some()
    }
}

/// Longest list that is compiled to cells; a longer list of cells would be walked recursively over its length.
const CELLS_MAX: usize = 64;
/// Body without steps.
const NO_STEPS: ast::PlanBody = ast::PlanBody { steps: Vec::new() };

/// Compiler of clauses.
pub struct Compiler<'a> {
    functions: Functions<'a>,
    scope: ClauseVariables,
    file: Text,
}

/// Compiles a program, followed by `library`.
pub fn compile(program: ast::Program, library: &ast::Program, name: Text) -> Image {
    let mut image = Image { name, functions: program.functions.clone(), ..Image::default() };
    let functions = program.functions.clone();
    let seen = ProgramProperties::default();
    let functions = Functions { rules: &functions, seen: Some(&seen) };
    for rule in &program.beliefs {
        add_belief(&mut image, rule, functions);
    }
    for goal in &program.goals {
        let mut compiler = Compiler::new(functions, goal.file.clone());
        image.goals.push(compiler.quoted(&ast::Term::Literal(goal.literal.clone())));
    }
    let labels: FxHashSet<Symbol> =
        program.plans.iter().filter_map(|plan| Some(plan.label.as_ref()?.functor)).collect();
    for (number, plan) in program.plans.iter().chain(&library.plans).enumerate() {
        let label = label_of(plan).unwrap_or_else(|| next_label(&mut image.labels, |label| labels.contains(&label)));
        let plan = Arc::new(compile_plan(plan, label, functions));
        image.has_meta_plans |= plan.op == TriggerOp::Meta;
        image.tells_idleness |= plan.is_for_idleness();
        image.handles_messages |= number < program.plans.len() && plan.is_for_messages();
        image.index.add(&plan, PlanRef(number as u32), false);
        image.plans.push(plan);
    }
    image.source = Arc::new(program);
    image.calls_functions = seen.functions.get();
    image.asks_desires = seen.desires.get();
    image.asks_intentions = seen.intentions.get();
    image.asks_others = seen.others.get();
    if image.asks_desires {
        image.index.hide_ordinary();
    }
    image
}

fn add_belief(image: &mut Image, rule: &ast::Rule, functions: Functions<'_>) {
    let mut compiler = Compiler::new(functions, rule.file.clone());
    if rule.body.is_none()
        && let Expr::Const(value) = compiler.expr(&ast::Term::Literal(rule.head.clone()))
    {
        image.facts.push(value);
        return;
    }
    let rule = Arc::new(compile_rule(rule, functions));
    image.rules.push((image.facts.len(), rule));
}

/// Compiles a rule; a fact is a rule that always holds.
pub fn compile_rule(rule: &ast::Rule, functions: Functions<'_>) -> CompiledRule {
    let mut compiler = Compiler::new(functions, rule.file.clone());
    let args = compiler.rule_args(&rule.head.args);
    let annots = compiler.annots(rule.head.annots.as_ref()).0;
    let body = rule.body.as_ref().map_or(Formula::True, |body| compiler.formula(body));
    CompiledRule {
        key: literal_key(&rule.head),
        args,
        annots,
        body,
        slots: compiler.scope.names.len() as u32,
        names: Arc::from(&*compiler.scope.names),
        source: Arc::new(rule.clone()),
    }
}

impl CompiledRule {
    /// Returns a rule that never holds.
    pub fn never() -> Self {
        let head = ast::Literal {
            namespace: None,
            negated: false,
            functor: sym::FALSE,
            args: Vec::new(),
            annots: None,
            span: ast::Span::default(),
        };
        let source = ast::Rule { head, body: None, span: ast::Span::default(), file: Text::new() };
        let mut rule = compile_rule(&source, Functions::default());
        rule.body = Formula::False;
        rule
    }
}

/// Compiles a plan under this label.
pub fn compile_plan(plan: &ast::Plan, label: Symbol, functions: Functions<'_>) -> CompiledPlan {
    compile_sub_plan(plan, label, functions, &[])
}

/// Compiles a plan that an agent has acquired.
pub fn compile_acquired(plan: &ast::Plan, label: Symbol, image: &Image) -> CompiledPlan {
    compile_plan(plan, label, Functions::of(image))
}

/// Compiles a rule that an agent has acquired.
pub fn compile_acquired_rule(rule: &ast::Rule, image: &Image) -> CompiledRule {
    compile_rule(rule, Functions::of(image))
}

fn compile_sub_plan(plan: &ast::Plan, label: Symbol, functions: Functions<'_>, outer: &[Symbol]) -> CompiledPlan {
    let mut compiler = Compiler::new(functions, plan.file.clone());
    let head = compiler.head(&plan.trigger.term);
    let context = plan.context.as_ref().map_or(Formula::True, |context| compiler.formula(context));
    let goal_condition = plan.goal_condition.as_ref().map(|condition| compiler.formula(condition));
    let body = compiler.body(&plan.body);
    let is_ordinary = goal_condition.is_none() && plan.sub_plans.is_empty() && matches!(head, Head::Literal { .. });
    let label = compiler.label(plan, label);
    if !plan.sub_plans.is_empty() {
        // Plans within this one see the variables of the plans around it too.
        outer.iter().filter(|name| !name.as_str().starts_with('_')).for_each(|name| {
            compiler.scope.slot(*name);
        });
    }
    let atomic = has_annot(&label, "atomic");
    let names: Arc<[Symbol]> = Arc::from(&*compiler.scope.names);
    let shared = shared_slots(&names, outer);
    let sub_plans = plan.sub_plans.iter().enumerate().map(|(number, sub)| {
        let outer = label.functor().unwrap_or_default();
        let label = label_of(sub).unwrap_or_else(|| Symbol::new(&format!("{outer}__{}", number + 1)));
        Arc::new(compile_sub_plan(sub, label, functions, &names))
    });
    CompiledPlan {
        op: plan.trigger.op,
        kind: plan.trigger.kind,
        head,
        context,
        goal_condition,
        body: Arc::new(body),
        slots: names.len() as u32,
        is_ordinary,
        is_plain: is_ordinary && !atomic,
        atomic,
        annots: label.annots().iter().cloned().collect(),
        sub_plans: sub_plans.collect(),
        shared,
        names: Arc::clone(&names),
        label,
        source: Arc::new(plan.clone()),
    }
}

impl CompiledPlan {
    /// Returns true for plans that react to the agent falling idle or waking.
    pub fn is_for_idleness(&self) -> bool {
        matches!(&self.head, Head::Literal { key, .. } if matches!(key.functor, sym::JAG_SLEEPING | sym::JAG_AWAKING))
    }

    /// Returns true for plans that handle messages as such (`+!kqml_received`).
    pub fn is_for_messages(&self) -> bool {
        matches!(&self.head, Head::Literal { key, .. } if key.functor == sym::KQML_RECEIVED)
    }
}

fn shared_slots(names: &[Symbol], outer: &[Symbol]) -> Vec<(u32, u32)> {
    let outer: Numbering<Symbol> = outer.iter().copied().collect();
    let shared = names.iter().enumerate().filter_map(|(own, name)| Some((own as u32, outer.find(*name)?)));
    shared.filter(|(own, _)| names.get(*own as usize).is_some_and(|name| !name.as_str().starts_with('_'))).collect()
}

fn has_annot(label: &Value, name: &str) -> bool {
    let name = Symbol::new(name);
    label.annots().iter().any(|annot| matches!(annot, Annot::Term(value) if value.functor() == Some(name)))
}

impl<'a> Compiler<'a> {
    fn new(functions: Functions<'a>, file: Text) -> Self {
        Self { functions, scope: ClauseVariables::default(), file }
    }

    /// Builds the plan's label, with the annotations of the written one.
    fn label(&mut self, plan: &ast::Plan, functor: Symbol) -> Value {
        let Some(label) = &plan.label else {
            return Structure::new(functor, whimbrel_acl::Args::new()).into_value();
        };
        self.quoted(&ast::Term::Literal(ast::Literal { functor, ..label.clone() }))
    }

    /// Builds the term as a value whose variables are slots of the clause.
    fn quoted(&mut self, term: &ast::Term) -> Value {
        let scope = &mut self.scope;
        quote(term, &mut |name| {
            let slot = scope.slot(name);
            // A name that only states its slot must not appear to the program.
            let name = if name.as_str().starts_with(SLOT_PREFIX) { Symbol::new(&format!("_{slot}")) } else { name };
            Var { slot, name }
        })
    }

    fn head(&mut self, term: &ast::Term) -> Head {
        let ast::Term::Literal(literal) = term else {
            return Head::Any(self.expr(term));
        };
        if matches!(literal.namespace, Some(ast::Namespace::Var(_))) {
            return Head::Any(self.expr(term));
        }
        // Argument `i` of the event is in slot `i`. A plain variable at place `i` is that slot.
        for (place, arg) in literal.args.iter().enumerate() {
            let name = plain_variable(arg).filter(|name| !self.scope.known(*name));
            self.scope.names.push(name.unwrap_or_else(|| Symbol::new(&format!("_arg{place}"))));
        }
        let args = literal.args.iter().enumerate().map(|(place, arg)| {
            let own = plain_variable(arg).is_some_and(|name| self.scope.names.get(place) == Some(&name));
            (!own).then(|| self.expr(arg))
        });
        let mut args: Vec<Option<Expr>> = args.collect();
        if args.iter().all(Option::is_none) {
            args.clear();
        }
        let (annots, annots_tail) = self.annots(literal.annots.as_ref());
        let source = if annots_tail.is_none() { source_slot(&annots) } else { None };
        Head::Literal { key: literal_key(literal), args, annots, annots_tail, source }
    }

    /// Compiles the arguments of a rule's head: see [`CompiledRule::args`].
    fn rule_args(&mut self, args: &[ast::Term]) -> Vec<Option<Expr>> {
        // No program can write such a name.
        let nobodys = |place| Symbol::new(&format!("_{SLOT_PREFIX}{place}"));
        (0..args.len()).map(nobodys).for_each(|name| {
            self.scope.names.push(name);
        });
        let compiled = args.iter().enumerate().map(|(place, arg)| {
            let new = plain_variable(arg).filter(|name| !self.scope.known(*name));
            match new {
                Some(name) => {
                    self.scope.names.replace(place as u32, name);
                    None
                }
                None => Some(self.expr(arg)),
            }
        });
        compiled.collect()
    }

    fn annots(&mut self, annots: Option<&ast::Annotations>) -> (Vec<Expr>, Option<Expr>) {
        let Some(annots) = annots else { return (Vec::new(), None) };
        let items = annots.items.iter().map(|item| self.expr(item)).collect();
        let tail = annots.tail.as_ref().map(|tail| self.expr(tail));
        (items, tail)
    }

    fn term_expr(&mut self, literal: &ast::Literal) -> TermExpr {
        let args = literal.args.iter().map(|arg| self.expr(arg)).collect();
        let (annots, annots_tail) = self.annots(literal.annots.as_ref());
        TermExpr { key: literal_key(literal), args, annots, annots_tail, hint: Hint::default() }
    }

    fn expr(&mut self, term: &ast::Term) -> Expr {
        match term {
            ast::Term::Var(var) => match plain_variable(term) {
                Some(name) => Expr::Slot(self.scope.slot(name)),
                None => Expr::Quote(Box::new(self.quoted(&ast::Term::Var(var.clone())))),
            },
            ast::Term::Literal(literal) => self.literal_expr(literal),
            ast::Term::List { items, tail } => self.list_expr(items, tail.as_deref()),
            ast::Term::Op(op, args) => self.op_expr(*op, args),
            ast::Term::Chain(first, rest) => match constant_number(term) {
                Some(number) => Expr::Const(Value::Num(number)),
                None => self.chain(first, rest),
            },
            ast::Term::Num(_) | ast::Term::Str(_) | ast::Term::Code(_) | ast::Term::Data(_) => {
                self.constant_or(term, |value| Expr::Quote(Box::new(value)))
            }
        }
    }

    fn constant_or(&mut self, term: &ast::Term, otherwise: impl FnOnce(Value) -> Expr) -> Expr {
        let value = self.quoted(term);
        if value.is_ground() { Expr::Const(value) } else { otherwise(value) }
    }

    fn literal_expr(&mut self, literal: &ast::Literal) -> Expr {
        if let Some(function) = self.function(literal) {
            self.functions.called();
            let args = literal.args.iter().map(|arg| self.expr(arg)).collect();
            return Expr::Function(Box::new(FunctionExpr { name: literal.functor, function, args }));
        }
        if matches!(literal.namespace, Some(ast::Namespace::Var(_))) {
            // Calls in the literal are computed once its namespace is known.
            let plain = |expr: Expr| matches!(expr, Expr::Const(_) | Expr::Slot(_));
            if !literal.args.iter().all(|arg| plain(self.expr(arg))) {
                self.functions.called();
            }
            return Expr::Quote(Box::new(self.quoted(&ast::Term::Literal(literal.clone()))));
        }
        let term = self.term_expr(literal);
        constant(&term).map_or_else(|| Expr::Term(Box::new(term)), Expr::Const)
    }

    fn function(&self, literal: &ast::Literal) -> Option<Function> {
        if literal.negated || literal.namespace.is_some() {
            return None;
        }
        let rule = self.functions.rule(literal.functor, literal.args.len()).map(Function::Rule);
        rule.or_else(|| function_id(literal.functor.as_str(), literal.args.len()).map(Function::Native))
    }

    fn list_expr(&mut self, items: &[ast::Term], tail: Option<&ast::Term>) -> Expr {
        let items: Vec<Expr> = items.iter().map(|item| self.expr(item)).collect();
        let tail = tail.map_or(Expr::Const(Value::Nil), |tail| self.expr(tail));
        if items.len() > CELLS_MAX && !items.iter().chain([&tail]).all(|it| matches!(it, Expr::Const(_))) {
            return Expr::LongList(Box::new((items, tail)));
        }
        items.into_iter().rev().fold(tail, |tail, item| match (item, tail) {
            (Expr::Const(item), Expr::Const(tail)) => Expr::Const(Value::list_with_tail([item], tail)),
            (item, tail) => Expr::Cons(Box::new((item, tail))),
        })
    }

    fn op_expr(&mut self, op: ast::Op, args: &[ast::Term]) -> Expr {
        if let Some(number) = constant_operation(op, args) {
            return Expr::Const(Value::Num(number));
        }
        if is_arithmetic(op) {
            return self.arithmetic(op, args);
        }
        Expr::Operation(Box::new((op_symbol(op), args.iter().map(|arg| self.expr(arg)).collect())))
    }

    fn arithmetic(&mut self, op: ast::Op, args: &[ast::Term]) -> Expr {
        let mut built: Vec<Expr> = args.iter().map(|arg| self.operand(arg)).collect();
        let right = if built.len() > 1 { built.pop() } else { None };
        match built.pop() {
            Some(left) => Expr::Arith(Box::new(ArithExpr { op: op_symbol(op), left, right })),
            None => Expr::Const(Value::Null),
        }
    }

    /// Compiles an operand of arithmetic. It is not computed beforehand, so that an expression that cannot be
    /// computed as a whole stays as written.
    fn operand(&mut self, term: &ast::Term) -> Expr {
        match term {
            ast::Term::Op(op, args) if is_arithmetic(*op) => self.arithmetic(*op, args),
            ast::Term::Chain(first, rest) => self.chain(first, rest),
            other => self.expr(other),
        }
    }

    fn chain(&mut self, first: &ast::Term, rest: &[(ast::Op, ast::Term)]) -> Expr {
        let first = self.operand(first);
        let rest = rest.iter().map(|(op, operand)| (op_symbol(*op), self.operand(operand))).collect();
        Expr::Chain(Box::new(ChainExpr { first, rest }))
    }

    fn formula(&mut self, term: &ast::Term) -> Formula {
        match term {
            ast::Term::Op(op, args) => self.op_formula(*op, args),
            ast::Term::Literal(literal) => self.literal_formula(literal),
            ast::Term::Var(_) => Formula::Dynamic(self.expr(term)),
            _ => Formula::Dynamic(self.expr(term)),
        }
    }

    fn op_formula(&mut self, op: ast::Op, args: &[ast::Term]) -> Formula {
        match (op, args) {
            (ast::Op::And, _) => Formula::And(self.flat(ast::Op::And, args)),
            (ast::Op::Or, _) => Formula::Or(self.flat(ast::Op::Or, args)),
            (ast::Op::Not, [inner]) => Formula::Not(Box::new(self.formula(inner))),
            (op, [left, right]) if !is_arithmetic(op) => {
                let (left, right) = (self.expr(left), self.expr(right));
                Formula::Relation(Box::new(RelationExpr { op: op_symbol(op), left, right }))
            }
            _ => Formula::False,
        }
    }

    /// Flattens nested operations of one kind into a list of operands.
    fn flat(&mut self, op: ast::Op, args: &[ast::Term]) -> Vec<Formula> {
        let mut formulas = Vec::new();
        for arg in args {
            match arg {
                ast::Term::Op(inner, args) if *inner == op => formulas.extend(self.flat(op, args)),
                other => formulas.push(self.formula(other)),
            }
        }
        formulas
    }

    fn literal_formula(&mut self, literal: &ast::Literal) -> Formula {
        match literal.functor {
            sym::TRUE if literal.args.is_empty() => return Formula::True,
            sym::FALSE if literal.args.is_empty() => return Formula::False,
            _ => {}
        }
        if is_internal_action(literal.functor) {
            self.functions.asks(literal.functor.as_str());
            return Formula::Call(Box::new(self.call(literal)));
        }
        if matches!(literal.namespace, Some(ast::Namespace::Var(_))) {
            return Formula::Dynamic(Expr::Quote(Box::new(self.quoted(&ast::Term::Literal(literal.clone())))));
        }
        Formula::Query(Box::new(self.term_expr(literal)))
    }

    fn call(&mut self, literal: &ast::Literal) -> CallExpr {
        let (name, count) = (literal.functor, literal.args.len());
        self.functions.calls(name.as_str());
        let action = InternalAction::named(name.as_str(), count);
        let place = formula_place(name.as_str(), count);
        let mut formulas = Vec::new();
        let mut args = Vec::new();
        for (number, arg) in literal.args.iter().enumerate() {
            let formula = (place == Some(number)).then(|| self.formula(arg));
            // A query action does not need the formula as a value.
            let known =
                matches!(action, InternalAction::Query(_)) && !matches!(formula, None | Some(Formula::Dynamic(_)));
            args.push(if known { Expr::Const(Value::Null) } else { self.expr(arg) });
            formulas.push(formula);
        }
        CallExpr { name, action, args, formulas, annots: self.annots(literal.annots.as_ref()).0 }
    }

    fn body(&mut self, body: &ast::PlanBody) -> CompiledBody {
        let mut compiled = CompiledBody { file: self.file.clone(), ..CompiledBody::default() };
        self.steps(body, &mut compiled);
        compiled
    }

    fn steps(&mut self, body: &ast::PlanBody, into: &mut CompiledBody) {
        for step in &body.steps {
            self.step(step, into);
        }
    }

    fn step(&mut self, step: &ast::BodyStep, into: &mut CompiledBody) {
        if step.kind == StepKind::InternalAction
            && let ast::Term::Literal(literal) = &step.term
            && self.control(literal, step, into)
        {
            return;
        }
        let op = self.simple_step(step);
        into.push(op, step);
    }

    fn simple_step(&mut self, step: &ast::BodyStep) -> BodyOp {
        let term = &step.term;
        let variable = matches!(term, ast::Term::Var(_));
        match step.kind {
            StepKind::Constraint => BodyOp::Constraint(self.formula(term)),
            StepKind::Variable => BodyOp::Dynamic(step.kind, self.expr(term)),
            StepKind::InternalAction => match term {
                ast::Term::Literal(literal) => self.action_step(literal),
                _ => BodyOp::Dynamic(StepKind::Variable, self.expr(term)),
            },
            _ if variable => BodyOp::Dynamic(step.kind, self.expr(term)),
            StepKind::Test => {
                let literal = matches!(term, ast::Term::Literal(_)).then(|| self.expr(term));
                BodyOp::Test(self.formula(term), literal)
            }
            StepKind::Achieve => plain(PlainStep::Achieve, self.expr(term), BodyOp::Achieve),
            StepKind::AchieveNewFocus => BodyOp::AchieveNewFocus(self.expr(term)),
            StepKind::Add | StepKind::AddFront => {
                plain(PlainStep::Add, self.expr(term), |expr| BodyOp::Add(expr, AddMode::Front))
            }
            StepKind::AddEnd => BodyOp::Add(self.expr(term), AddMode::End),
            StepKind::AddNewFocus => BodyOp::Add(self.expr(term), AddMode::NewFocus),
            StepKind::Delete => plain(PlainStep::Delete, self.expr(term), |expr| BodyOp::Delete(expr, false)),
            StepKind::DeleteNewFocus => BodyOp::Delete(self.expr(term), true),
            StepKind::Replace => plain(PlainStep::Replace, self.expr(term), BodyOp::Replace),
            StepKind::Action => BodyOp::Act(self.expr(term)),
        }
    }

    fn action_step(&mut self, literal: &ast::Literal) -> BodyOp {
        let call = self.call(literal);
        match (literal.functor.as_str(), call.args.as_slice()) {
            (".send", [to, Expr::Const(Value::Atom(performative)), content])
                if matches!(*performative, sym::TELL | sym::UNTELL | sym::ACHIEVE | sym::UNACHIEVE | sym::SIGNAL) =>
            {
                let (to, performative, content) = (to.clone(), *performative, content.clone());
                BodyOp::Send(Box::new(SendExpr { to, performative, content, call }))
            }
            _ => BodyOp::Call(Box::new(call)),
        }
    }

    /// Compiles a control structure. Returns false if the literal is none, or has code that is only known at run
    /// time.
    fn control(&mut self, literal: &ast::Literal, step: &ast::BodyStep, into: &mut CompiledBody) -> bool {
        match (literal.functor.as_str(), literal.args.as_slice()) {
            (".if_then_else", [condition, then]) => self.compile_if(condition, code(then), None, step, into),
            (".if_then_else", [condition, then, other]) => match code(other) {
                Some(other) => self.compile_if(condition, code(then), Some(other), step, into),
                None => false,
            },
            (ast::ELIF, branches) => self.compile_branches(branches, step, into),
            (".loop", [condition, body]) => self.compile_loop(BodyOp::While, condition, code(body), step, into),
            (".foreach", [condition, body]) => self.compile_loop(BodyOp::For, condition, code(body), step, into),
            (".fork", [kind, branches @ ..]) => self.compile_fork(kind, branches, step, into),
            _ => false,
        }
    }

    fn compile_if(
        &mut self,
        condition: &ast::Term,
        then: Option<&ast::PlanBody>,
        other: Option<&ast::PlanBody>,
        step: &ast::BodyStep,
        into: &mut CompiledBody,
    ) -> bool {
        let Some(then) = then else { return false };
        let condition = self.formula(condition);
        let at = into.push(BodyOp::If(condition, 0), step);
        self.steps(then, into);
        match other {
            None => into.patch(at),
            Some(other) => {
                let jump = into.push(BodyOp::Jump(0), step);
                into.patch(at);
                self.steps(other, into);
                into.patch(jump);
            }
        }
        true
    }

    /// Compiles an `if` with `elif`.
    fn compile_branches(&mut self, branches: &[ast::Term], step: &ast::BodyStep, into: &mut CompiledBody) -> bool {
        let shared = Arc::new(step.clone());
        let mut jumps = Vec::new();
        let count = branches.len().div_ceil(2);
        for (number, branch) in branches.chunks(2).enumerate() {
            match branch {
                [condition, then] => {
                    let line = line_of(condition).unwrap_or(step.span.line);
                    let condition = self.formula(condition);
                    let at = into.push_shared(BodyOp::If(condition, 0), line, &shared);
                    self.steps(code(then).unwrap_or(&NO_STEPS), into);
                    if number + 1 < count {
                        jumps.push(into.push_shared(BodyOp::Jump(0), line, &shared));
                    }
                    into.patch(at);
                }
                [otherwise] => self.steps(code(otherwise).unwrap_or(&NO_STEPS), into),
                _ => {}
            }
        }
        jumps.into_iter().for_each(|jump| into.patch(jump));
        true
    }

    fn compile_loop(
        &mut self,
        op: fn(Formula, u32) -> BodyOp,
        condition: &ast::Term,
        body: Option<&ast::PlanBody>,
        step: &ast::BodyStep,
        into: &mut CompiledBody,
    ) -> bool {
        let Some(body) = body else { return false };
        let condition = self.formula(condition);
        let at = into.push(op(condition, 0), step);
        self.steps(body, into);
        into.push(BodyOp::Jump(at as u32), step);
        into.patch(at);
        true
    }

    fn compile_fork(
        &mut self,
        kind: &ast::Term,
        branches: &[ast::Term],
        step: &ast::BodyStep,
        into: &mut CompiledBody,
    ) -> bool {
        let bodies: Option<Vec<&ast::PlanBody>> = branches.iter().map(code).collect();
        let ast::Term::Literal(kind) = kind else { return false };
        let Some(bodies) = bodies else { return false };
        let first_wins = kind.functor == Symbol::new("or");
        let at = into.push(BodyOp::Fork { first_wins, branches: SmallVec::new(), join: 0 }, step);
        let mut starts: SmallVec<[u32; 4]> = SmallVec::new();
        for body in bodies {
            starts.push(into.ops.len() as u32);
            self.steps(body, into);
            into.push(BodyOp::Join, step);
        }
        let end = into.ops.len() as u32;
        if let Some(BodyOp::Fork { branches, join, .. }) = into.ops.get_mut(at) {
            *branches = starts;
            *join = end;
        }
        true
    }
}

impl CompiledBody {
    fn push(&mut self, op: BodyOp, step: &ast::BodyStep) -> usize {
        self.push_shared(op, step.span.line, &Arc::new(step.clone()))
    }

    fn push_shared(&mut self, op: BodyOp, line: u32, step: &Arc<ast::BodyStep>) -> usize {
        self.ops.push(op);
        self.sources.push(Source { line, step: Arc::clone(step) });
        self.ops.len() - 1
    }

    /// Makes the jump at `at` lead to the end of the code so far.
    fn patch(&mut self, at: usize) {
        let here = self.ops.len() as u32;
        if let Some(BodyOp::If(_, target) | BodyOp::Jump(target) | BodyOp::While(_, target) | BodyOp::For(_, target)) =
            self.ops.get_mut(at)
        {
            *target = here;
        }
    }
}

/// Compiles a step about a literal: a plain step if it has no annotations, otherwise the result of `other`.
fn plain(step: PlainStep, expr: Expr, other: impl FnOnce(Expr) -> BodyOp) -> BodyOp {
    let site = match expr {
        Expr::Term(term) if term.has_no_annots() => Site::new(term.key, term.args),
        Expr::Const(Value::Atom(functor)) => {
            Site::new(Key { functor, namespace: sym::DEFAULT, arity: 0, negated: false }, Vec::new())
        }
        Expr::Const(value) => match &value {
            Value::Term(term) if term.annots.is_empty() && !is_code(&value) => {
                Site::new(Key::of(term), term.args.iter().cloned().map(Expr::Const).collect())
            }
            _ => return other(Expr::Const(value)),
        },
        expr => return other(expr),
    };
    BodyOp::Plain(step, Box::new(site))
}

/// Computes an operation on literal numbers alone.
fn constant_operation(op: ast::Op, args: &[ast::Term]) -> Option<f64> {
    let numbers = args.iter().map(|arg| constant_number(arg).map(Value::Num));
    crate::logic::arith::evaluate(op_symbol(op), &numbers.collect::<Option<Vec<Value>>>()?)
}

/// Computes a term of literal numbers alone.
fn constant_number(term: &ast::Term) -> Option<f64> {
    match term {
        ast::Term::Num(n) => Some(*n),
        ast::Term::Op(op, args) => constant_operation(*op, args),
        ast::Term::Chain(first, rest) => {
            let combined = |left, (op, right): &(ast::Op, ast::Term)| {
                crate::logic::arith::binary(op_symbol(*op), left, constant_number(right)?)
            };
            rest.iter().try_fold(constant_number(first)?, combined)
        }
        _ => None,
    }
}

/// Returns the slot of the variable in `[source(V)]`.
fn source_slot(annots: &[Expr]) -> Option<u32> {
    let [Expr::Term(term)] = annots else { return None };
    match term.args.as_slice() {
        [Expr::Slot(slot)] if term.key.functor == sym::SOURCE && term.annots.is_empty() => Some(*slot),
        _ => None,
    }
}

/// Builds the value of a structure without variables.
fn constant(term: &TermExpr) -> Option<Value> {
    let value = |expr: &Expr| if let Expr::Const(value) = expr { Some(value.clone()) } else { None };
    if term.annots_tail.is_some() {
        return None;
    }
    let args = term.args.iter().map(value).collect::<Option<_>>()?;
    let annots = term.annots.iter().map(|annot| value(annot).map(Annot::new)).collect::<Option<_>>()?;
    let key = term.key;
    Some(Structure::full(key.namespace, key.negated, key.functor, args, annots).into_value())
}

/// Returns the line on which a term begins, if its place is known.
fn line_of(term: &ast::Term) -> Option<u32> {
    match term {
        ast::Term::Literal(literal) => Some(literal.span.line),
        ast::Term::Var(variable) => Some(variable.span.line),
        ast::Term::Op(_, operands) => operands.iter().find_map(line_of),
        _ => None,
    }
}

fn code(term: &ast::Term) -> Option<&ast::PlanBody> {
    match term {
        ast::Term::Code(ast::CodeTerm::Body(body)) => Some(body),
        _ => None,
    }
}

fn plain_variable(term: &ast::Term) -> Option<Symbol> {
    match term {
        ast::Term::Var(var) if var.annots.is_none() && !var.negated && var.namespace.is_none() => Some(var.name),
        _ => None,
    }
}

fn literal_key(literal: &ast::Literal) -> Key {
    let namespace = match literal.namespace {
        Some(ast::Namespace::Name(name)) => name,
        _ => sym::DEFAULT,
    };
    let arity = u16::try_from(literal.args.len()).unwrap_or(u16::MAX);
    Key { functor: literal.functor, namespace, arity, negated: literal.negated }
}

fn is_arithmetic(op: ast::Op) -> bool {
    use ast::Op::{Add, Div, IntDiv, Mod, Mul, Neg, Pow, Sub};
    matches!(op, Add | Sub | Mul | Div | IntDiv | Mod | Pow | Neg)
}

/// Returns the functor of an operation as data.
pub fn op_symbol(op: ast::Op) -> Symbol {
    use ast::Op;
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

/// Compiles a value to a formula. Its variables are slots as they are: the frame's base is 0. A value that is no
/// formula never holds.
pub fn formula_of_value(value: &Value, image: &Image) -> Formula {
    let Ok(term) = unquote_term(&slots_as_names(value)) else { return Formula::False };
    Compiler::new(Functions::of(image), image.name.clone()).formula(&term)
}

/// Compiles a value to a body; its variables are slots of the frame at `base`.
pub fn body_of_value(value: &Value, image: &Image, base: u32) -> Option<CompiledBody> {
    let body = unquote_body(&slots_as_names(value)).ok()?;
    let mut compiler = Compiler::new(Functions::of(image), image.name.clone());
    compiler.scope.base = base;
    Some(compiler.body(&body))
}

/// Compiles a value to one step; its variables are slots of the frame at `base`.
pub fn op_of_literal(kind: StepKind, value: &Value, image: &Image, base: u32) -> Option<BodyOp> {
    let term = unquote_term(&slots_as_names(value)).ok()?;
    let mut compiler = Compiler::new(Functions::of(image), image.name.clone());
    compiler.scope.base = base;
    Some(compiler.simple_step(&ast::BodyStep { kind, term, span: ast::Span::default() }))
}

/// Renames each variable in the value to state its slot, so that variables of the same name stay apart.
fn slots_as_names(value: &Value) -> Value {
    map_vars(value, &mut |var| {
        Value::Var(Var { slot: var.slot, name: Symbol::new(&format!("{SLOT_PREFIX}{}", var.slot)) })
    })
}
