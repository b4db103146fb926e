//! Occurrences of names in a program: every literal with its role and its clause, every string, every call.

use whimbrel_acl::{Symbol, Text};
use whimbrel_bdi::syntax::ast::{
    BodyStep, Goal, Literal, Program, Rule, Span, StepKind, Term, TriggerKind, TriggerOp, Variable,
};

use whimbrel_platform::foreign_actions::is_foreign;

use super::walk::{TreeVisitor, walk_plan, walk_rule};
use super::{CreatedProgram, PlannedAgent};

/// Role of a literal in its clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralRole {
    /// Triggering event of a plan.
    Trigger(TriggerOp, TriggerKind),
    /// Label of a plan.
    Label,
    /// Goal to achieve: an initial one, `!g` or `!!g`.
    Goal,
    /// Test goal `?g`.
    Test,
    /// Query of a formula: in a context, a rule's body or a condition.
    Query,
    /// Belief that is added.
    Add,
    /// Belief that replaces others: `-+b`.
    Replace,
    /// Belief that is deleted.
    Delete,
    /// Fact of the program.
    Fact,
    /// Head of a rule.
    Head,
    /// Action on the environment.
    Action,
    /// Internal action or function.
    Call,
    /// Term within another one.
    Data,
}

/// Clause that a name occurs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccurrenceOwner {
    /// Plan, by its place in the program.
    Plan(usize),
    /// Belief, rule or goal.
    Other,
}

/// Occurrence of a literal.
#[derive(Clone, Debug)]
pub struct NameOccurrence {
    /// Name.
    pub functor: Symbol,
    /// Number of arguments.
    pub arity: usize,
    /// Role in the clause.
    pub role: LiteralRole,
    /// True within code that is data.
    pub is_quoted: bool,
    /// Clause.
    pub owner: OccurrenceOwner,
    /// Place in the source.
    pub span: Span,
    /// Source file.
    pub file: Text,
}

/// Call of an internal action or function.
#[derive(Clone, Debug)]
pub struct CalledAction {
    /// Name, dots included.
    pub name: Symbol,
    /// Arguments.
    pub args: Vec<Term>,
    /// True within code that is data.
    pub is_quoted: bool,
    /// Place in the source.
    pub span: Span,
    /// Source file.
    pub file: Text,
}

/// All occurrences in a program.
#[derive(Debug, Default)]
pub struct NameOccurrences {
    /// Literals, in order.
    pub literals: Vec<NameOccurrence>,
    /// Calls, in order.
    pub calls: Vec<CalledAction>,
    /// Strings, in order.
    pub strings: Vec<Text>,
    /// True if a step adds or deletes a plan.
    pub changes_plans: bool,
    /// True if a plan's trigger is a variable, which stands for any event.
    pub has_open_triggers: bool,
}

impl NameOccurrences {
    /// Collects the occurrences in a program.
    pub fn of(program: &Program) -> Self {
        let mut collector = OccurrenceCollector::default();
        for rule in &program.beliefs {
            collector.enter(&rule.file, OccurrenceOwner::Other);
            walk_rule(rule, &mut collector);
        }
        for goal in &program.goals {
            collector.enter(&goal.file, OccurrenceOwner::Other);
            collector.goal(goal);
        }
        for (place, plan) in program.plans.iter().enumerate() {
            collector.enter(&plan.file, OccurrenceOwner::Plan(place));
            walk_plan(plan, &mut collector);
        }
        for function in &program.functions {
            // A function asks a rule: its name stands for a query.
            collector.found.strings.push(Text::from(function.rule.as_str()));
        }
        collector.found
    }

    /// Adds beliefs and goals that a project gives to agents.
    pub fn add_options(&mut self, beliefs: &[Rule], goals: &[Goal]) {
        let mut collector = OccurrenceCollector { found: std::mem::take(self), ..OccurrenceCollector::default() };
        for rule in beliefs {
            collector.enter(&rule.file, OccurrenceOwner::Other);
            walk_rule(rule, &mut collector);
        }
        for goal in goals {
            collector.enter(&goal.file, OccurrenceOwner::Other);
            collector.goal(goal);
        }
        *self = collector.found;
    }

    /// Returns the calls of internal actions with one of these names.
    pub fn calls_of<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a CalledAction> {
        self.calls.iter().filter(|call| names.contains(&bare(call.name)))
    }

    /// Returns the calls of foreign actions, outside of code that is data.
    pub fn foreign_calls(&self) -> impl Iterator<Item = &CalledAction> {
        self.calls.iter().filter(|call| !call.is_quoted && is_foreign(call.name.as_str()))
    }

    /// Returns true if an action of a package is called, which is a class in Java: it may do anything.
    pub fn calls_package(&self) -> bool {
        let is_known = |call: &CalledAction| {
            let name = bare(call.name);
            name.starts_with('.') || is_foreign(name) || whimbrel_bdi::syntax::function_arity(name).is_some()
        };
        !self.calls.iter().all(is_known)
    }

    /// Returns the agents that the program creates.
    pub(crate) fn created(&self) -> Vec<PlannedAgent> {
        let created = |call: &CalledAction| {
            let name = call.args.first().and_then(name_of);
            let program = match (call.args.get(1), name) {
                (Some(Term::Str(file)), _) => CreatedProgram::File(file.clone()),
                (None, Some(name)) => CreatedProgram::File(Text::from(format!("{name}.asl"))),
                _ => CreatedProgram::Unknown,
            };
            PlannedAgent { name, program }
        };
        let cloned = self.calls_of(&[".clone", ".clone_to", ".minion", ".dispatch"]).map(|call| PlannedAgent {
            name: call.args.first().filter(|_| bare(call.name) == ".clone").and_then(name_of),
            program: CreatedProgram::Same,
        });
        self.calls_of(&[".create_agent"]).map(created).chain(cloned).collect()
    }
}

/// Returns the name of an internal action without the package of Jason's library.
pub(crate) fn bare(name: Symbol) -> &'static str {
    let name = name.as_str();
    name.strip_prefix("jason.stdlib").unwrap_or(name)
}

/// Returns the name that an atom or a string is.
pub(crate) fn name_of(term: &Term) -> Option<Symbol> {
    match term {
        Term::Literal(literal) if literal.args.is_empty() && !literal.functor.as_str().contains('.') => {
            Some(literal.functor)
        }
        Term::Str(text) => Some(Symbol::new(text)),
        _ => None,
    }
}

#[derive(Default)]
struct OccurrenceCollector {
    found: NameOccurrences,
    file: Text,
    owner: Option<OccurrenceOwner>,
    quoted: usize,
}

impl OccurrenceCollector {
    fn enter(&mut self, file: &Text, owner: OccurrenceOwner) {
        (self.file, self.owner) = (file.clone(), Some(owner));
    }

    fn goal(&mut self, goal: &Goal) {
        let mut program = Program::default();
        program.goals.push(goal.clone());
        super::walk_program(&program, &mut Adopting(self));
    }
}

/// Collector of a tree that does not last.
struct Adopting<'c>(&'c mut OccurrenceCollector);

impl<'a> TreeVisitor<'a> for Adopting<'_> {
    fn literal(&mut self, literal: &'a Literal, role: LiteralRole) {
        self.0.literal(literal, role);
    }

    fn string(&mut self, text: &'a str) {
        self.0.string(text);
    }

    fn begin_code(&mut self) {
        TreeVisitor::begin_code(self.0);
    }

    fn end_code(&mut self) {
        TreeVisitor::end_code(self.0);
    }
}

impl<'a> TreeVisitor<'a> for OccurrenceCollector {
    fn literal(&mut self, literal: &'a Literal, role: LiteralRole) {
        let (file, is_quoted) = (self.file.clone(), self.quoted > 0);
        if role == LiteralRole::Call {
            let args = literal.args.clone();
            self.found.calls.push(CalledAction { name: literal.functor, args, is_quoted, span: literal.span, file });
            return;
        }
        self.found.literals.push(NameOccurrence {
            functor: literal.functor,
            arity: literal.args.len(),
            role,
            is_quoted,
            owner: self.owner.unwrap_or(OccurrenceOwner::Other),
            span: literal.span,
            file,
        });
    }

    fn variable(&mut self, _variable: &'a Variable, role: LiteralRole, _is_operand: bool) {
        self.found.has_open_triggers |= matches!(role, LiteralRole::Trigger(..));
    }

    fn string(&mut self, text: &'a str) {
        self.found.strings.push(Text::from(text));
    }

    fn step(&mut self, step: &'a BodyStep) {
        let is_update = !matches!(step.kind, StepKind::Achieve | StepKind::AchieveNewFocus | StepKind::Test);
        self.found.changes_plans |= is_update && matches!(step.term, Term::Code(_));
    }

    fn begin_code(&mut self) {
        self.quoted += 1;
    }

    fn end_code(&mut self) {
        self.quoted = self.quoted.saturating_sub(1);
    }
}
