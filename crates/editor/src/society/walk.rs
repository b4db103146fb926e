//! Walk over the syntax tree of a program, with the role of each literal and variable.

use whimbrel_acl::Symbol;
use whimbrel_bdi::code::formula_place;
use whimbrel_bdi::syntax::ast::{
    Annotations, BodyStep, CodeTerm, ELIF, Literal, Namespace, Op, Plan, PlanBody, Program, Rule, StepKind, Term,
    Trigger, Variable,
};
use whimbrel_bdi::syntax::is_internal_action;

use super::LiteralRole;

/// Receiver of what a walk meets, in the order of evaluation.
pub trait TreeVisitor<'a> {
    /// Takes a literal; its arguments follow.
    fn literal(&mut self, literal: &'a Literal, role: LiteralRole);

    /// Takes a variable. `is_operand` is true for an operand of arithmetic.
    fn variable(&mut self, _variable: &'a Variable, _role: LiteralRole, _is_operand: bool) {}

    /// Takes the variable that a namespace is: `NS::p`.
    fn namespace(&mut self, _name: Symbol) {}

    /// Takes a string.
    fn string(&mut self, _text: &'a str) {}

    /// Takes a step; its operand follows.
    fn step(&mut self, _step: &'a BodyStep) {}

    /// Begins the context of a plan or the condition of a rule.
    fn condition(&mut self) {}

    /// Begins code that is data: it may run later, elsewhere, or never.
    fn begin_code(&mut self) {}

    /// Ends what [`TreeVisitor::begin_code`] began.
    fn end_code(&mut self) {}
}

/// Walks over all clauses of a program.
pub fn walk_program<'a>(program: &'a Program, visitor: &mut dyn TreeVisitor<'a>) {
    program.beliefs.iter().for_each(|rule| walk_rule(rule, visitor));
    for goal in &program.goals {
        TreeWalk { visitor }.literal(&goal.literal, LiteralRole::Goal);
    }
    program.plans.iter().for_each(|plan| walk_plan(plan, visitor));
}

/// Walks over a fact or a rule.
pub fn walk_rule<'a>(rule: &'a Rule, visitor: &mut dyn TreeVisitor<'a>) {
    TreeWalk { visitor }.rule(rule);
}

/// Walks over a plan: its trigger, context, body and sub-plans.
pub fn walk_plan<'a>(plan: &'a Plan, visitor: &mut dyn TreeVisitor<'a>) {
    TreeWalk { visitor }.plan(plan);
}

struct TreeWalk<'v, 'a> {
    visitor: &'v mut dyn TreeVisitor<'a>,
}

/// Returns true for the actions that control structures stand for: they run code among their arguments.
fn is_control(name: &str) -> bool {
    matches!(name, ".if_then_else" | ".loop" | ".foreach" | ".fork" | ELIF)
}

fn is_arithmetic(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IntDiv | Op::Mod | Op::Pow | Op::Neg)
}

impl<'a> TreeWalk<'_, 'a> {
    fn rule(&mut self, rule: &'a Rule) {
        self.literal(&rule.head, if rule.body.is_some() { LiteralRole::Head } else { LiteralRole::Fact });
        if let Some(body) = &rule.body {
            self.visitor.condition();
            self.formula(body);
        }
    }

    fn plan(&mut self, plan: &'a Plan) {
        if let Some(label) = &plan.label {
            self.literal(label, LiteralRole::Label);
        }
        if let Some(label) = &plan.label_variable {
            self.variable(label, LiteralRole::Data, false);
        }
        self.trigger(&plan.trigger);
        self.visitor.condition();
        for formula in plan.context.iter().chain(&plan.goal_condition) {
            self.formula(formula);
        }
        self.body(&plan.body);
        plan.sub_plans.iter().for_each(|plan| self.plan(plan));
    }

    fn trigger(&mut self, trigger: &'a Trigger) {
        let role = LiteralRole::Trigger(trigger.op, trigger.kind);
        match &trigger.term {
            Term::Literal(literal) => self.literal(literal, role),
            Term::Var(variable) => self.variable(variable, role, false),
            term => self.data(term),
        }
    }

    fn body(&mut self, body: &'a PlanBody) {
        for step in &body.steps {
            self.visitor.step(step);
            let role = match step.kind {
                StepKind::Achieve | StepKind::AchieveNewFocus => LiteralRole::Goal,
                StepKind::Test if matches!(step.term, Term::Literal(_)) => LiteralRole::Test,
                StepKind::Test | StepKind::Constraint => {
                    self.formula(&step.term);
                    continue;
                }
                StepKind::Add | StepKind::AddNewFocus | StepKind::AddFront | StepKind::AddEnd => LiteralRole::Add,
                StepKind::Replace => LiteralRole::Replace,
                StepKind::Delete | StepKind::DeleteNewFocus => LiteralRole::Delete,
                StepKind::Action => LiteralRole::Action,
                StepKind::InternalAction | StepKind::Variable => LiteralRole::Call,
            };
            match &step.term {
                Term::Literal(literal) => self.literal(literal, role),
                Term::Var(variable) => self.variable(variable, role, false),
                term => self.data(term),
            }
        }
    }

    fn formula(&mut self, formula: &'a Term) {
        match formula {
            Term::Op(Op::And | Op::Or | Op::Not, operands) => operands.iter().for_each(|term| self.formula(term)),
            Term::Literal(literal) => self.literal(literal, LiteralRole::Query),
            Term::Var(variable) => self.variable(variable, LiteralRole::Query, false),
            term => self.data(term),
        }
    }

    fn literal(&mut self, literal: &'a Literal, role: LiteralRole) {
        let name = literal.functor.as_str();
        let is_call = is_internal_action(literal.functor) || name == ELIF;
        let role = match role {
            LiteralRole::Label => role,
            _ if is_call => LiteralRole::Call,
            role => role,
        };
        if let Some(Namespace::Var(name)) = &literal.namespace {
            self.visitor.namespace(*name);
        }
        self.visitor.literal(literal, role);
        if is_call && is_control(name) {
            return self.control(literal);
        }
        let formula = if is_call { formula_place(name, literal.args.len()) } else { None };
        // The formula comes first: the other arguments are what its solutions fill in.
        if let Some(term) = formula.and_then(|place| literal.args.get(place)) {
            match term {
                Term::Code(_) => self.data(term),
                term => self.formula(term),
            }
        }
        let others = literal.args.iter().enumerate().filter(|(place, _)| formula != Some(*place));
        others.for_each(|(_, term)| self.data(term));
        self.annotations(literal.annots.as_ref());
    }

    /// Walks over a control structure: conditions are formulas, code runs in place.
    fn control(&mut self, literal: &'a Literal) {
        for (place, argument) in literal.args.iter().enumerate() {
            match argument {
                // The kind of the fork: `and`, `or`.
                term if place == 0 && literal.functor.as_str() == ".fork" => self.data(term),
                Term::Code(CodeTerm::Body(body)) => self.body(body),
                term @ Term::Code(_) => self.data(term),
                term => self.formula(term),
            }
        }
    }

    fn annotations(&mut self, annotations: Option<&'a Annotations>) {
        let Some(annotations) = annotations else { return };
        annotations.items.iter().for_each(|term| self.data(term));
        if let Some(tail) = &annotations.tail {
            self.data(tail);
        }
    }

    fn variable(&mut self, variable: &'a Variable, role: LiteralRole, is_operand: bool) {
        if let Some(Namespace::Var(name)) = &variable.namespace {
            self.visitor.namespace(*name);
        }
        self.visitor.variable(variable, role, is_operand);
        self.annotations(variable.annots.as_ref());
    }

    /// Walks over a term that is data.
    fn data(&mut self, term: &'a Term) {
        match term {
            Term::Num(_) | Term::Data(_) => {}
            Term::Str(text) => self.visitor.string(text),
            Term::Var(variable) => self.variable(variable, LiteralRole::Data, false),
            Term::Literal(literal) => self.literal(literal, LiteralRole::Data),
            Term::List { items, tail } => {
                items.iter().for_each(|item| self.data(item));
                if let Some(tail) = tail {
                    self.data(tail);
                }
            }
            Term::Op(op, operands) => operands.iter().for_each(|operand| self.operand(operand, is_arithmetic(*op))),
            Term::Chain(first, rest) => {
                self.operand(first, true);
                rest.iter().for_each(|(_, operand)| self.operand(operand, true));
            }
            Term::Code(code) => {
                self.visitor.begin_code();
                self.code(code);
                self.visitor.end_code();
            }
        }
    }

    fn operand(&mut self, term: &'a Term, is_arithmetic: bool) {
        match term {
            Term::Var(variable) if is_arithmetic => self.variable(variable, LiteralRole::Data, true),
            term => self.data(term),
        }
    }

    fn code(&mut self, code: &'a CodeTerm) {
        match code {
            CodeTerm::Plan(plan) => self.plan(plan),
            CodeTerm::Trigger(trigger) => self.trigger(trigger),
            CodeTerm::Body(body) => self.body(body),
            CodeTerm::Rule(rule) => self.rule(rule),
        }
    }
}
