//! Variables without a value.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};
use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_bdi::syntax::ast::{Literal, Span, Term, Variable};

use super::is_made;
use crate::society::{LiteralRole, MemberProgram, SocietyText, TreeVisitor, walk_plan, walk_rule};

/// Finds variables whose first use, in the order of evaluation, needs a value: as a goal, as a belief to add, or as the
/// receiver of a message; and variables that are only operands of arithmetic.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    clauses(society, program).into_iter().flat_map(|clause| clause.needed()).collect()
}

/// Finds variables that occur once in their plan, where they are printed.
pub(super) fn printed(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    clauses(society, program).into_iter().flat_map(|clause| clause.printed()).collect()
}

fn clauses(society: &SocietyText, program: &MemberProgram) -> Vec<VariableUses> {
    let plans = program.program.plans.iter().filter(|plan| !is_made(society, plan)).map(|plan| {
        let mut clause = VariableUses::new(&plan.file);
        walk_plan(plan, &mut clause);
        clause
    });
    let rules = program.program.beliefs.iter().filter(|rule| rule.body.is_some()).map(|rule| {
        let mut clause = VariableUses::new(&rule.file);
        walk_rule(rule, &mut clause);
        clause
    });
    plans.chain(rules).collect()
}

/// First use of a variable that needs a value.
#[derive(Clone, Copy)]
enum VariableNeed {
    Operand,
    Step,
    Receiver,
}

/// Variables of a clause.
struct VariableUses {
    file: Text,
    /// Each variable with the number of its occurrences, its first place, and what that needs.
    variables: Vec<(Symbol, usize, Span, Option<VariableNeed>)>,
    places: FxHashMap<Symbol, usize>,
    /// Variables that are arguments of `.print`, with their places.
    printed: Vec<(Symbol, Span)>,
    /// Receivers of messages, by the place of the variable.
    receivers: Vec<Span>,
    quoted: usize,
    is_parallel: bool,
    in_head: bool,
}

impl VariableUses {
    fn new(file: &Text) -> Self {
        Self {
            file: file.clone(),
            variables: Vec::new(),
            places: FxHashMap::default(),
            printed: Vec::new(),
            receivers: Vec::new(),
            quoted: 0,
            is_parallel: false,
            in_head: false,
        }
    }

    fn needed(&self) -> Vec<Diagnostic> {
        // Branches of a fork bind variables for each other, in whichever order.
        if self.is_parallel {
            return Vec::new();
        }
        let warning = |(name, _, span, need): &(Symbol, usize, Span, Option<VariableNeed>)| {
            let (message, label) = match (*need)? {
                VariableNeed::Operand => ("is used in arithmetic and never has a value", "has no value"),
                VariableNeed::Step => ("is carried out before it has a value", "has no value here"),
                VariableNeed::Receiver => ("is sent a message before it has a value", "names no agent here"),
            };
            let warning = Diagnostic::warning(&self.file, *span, format!("`{name}` {message}"), label);
            let help = "bind it first: in the plan's event, its context, or an earlier step";
            Some(warning.with_code("unbound-variable").with_help(help))
        };
        self.variables.iter().filter_map(warning).collect()
    }

    fn printed(&self) -> Vec<Diagnostic> {
        let is_lone = |name: &Symbol| {
            let found = self.places.get(name).and_then(|place| self.variables.get(*place));
            found.is_some_and(|(_, count, ..)| *count == 1)
        };
        let warning = |(name, span): &(Symbol, Span)| {
            let message = format!("`{name}` is printed and has no value in this plan");
            let others = self.variables.iter().map(|(other, ..)| other).filter(|other| *other != name);
            let like = whimbrel_bdi::syntax::nearest(name.as_str(), others.map(|other| other.as_str()));
            let help = match like {
                Some(like) if !like.starts_with('_') => format!("did you mean `{like}`?"),
                _ => "bind it in the plan's event, its context, or an earlier step".to_owned(),
            };
            let warning = Diagnostic::warning(&self.file, *span, message, "has no value");
            warning.with_code("unbound-print").with_help(help)
        };
        self.printed.iter().filter(|(name, _)| is_lone(name)).map(warning).collect()
    }
}

/// Returns true for a variable with a name of its own, which somebody wrote to use it twice.
fn is_named(name: Symbol) -> bool {
    !name.as_str().starts_with('_')
}

impl<'a> TreeVisitor<'a> for VariableUses {
    fn literal(&mut self, literal: &'a Literal, role: LiteralRole) {
        let is_call = role == LiteralRole::Call;
        if !is_call {
            self.in_head = matches!(role, LiteralRole::Trigger(..) | LiteralRole::Head)
                || (self.in_head && role == LiteralRole::Data);
            return;
        }
        let name = literal.functor.as_str();
        let variables = literal.args.iter().filter_map(|term| match term {
            Term::Var(variable) if is_named(variable.name) => Some((variable.name, variable.span)),
            _ => None,
        });
        match name {
            ".fork" => self.is_parallel = true,
            ".print" | ".println" if self.quoted == 0 => self.printed.extend(variables),
            ".send" => {
                if let Some(Term::Var(variable)) = literal.args.first() {
                    self.receivers.push(variable.span);
                }
            }
            _ => {}
        }
    }

    fn variable(&mut self, variable: &'a Variable, role: LiteralRole, is_operand: bool) {
        let name = variable.name;
        if let Some((_, count, _, need)) = self.places.get(&name).and_then(|place| self.variables.get_mut(*place)) {
            *count += 1;
            // Arithmetic without values stays as it is, and is computed once they are there.
            if matches!(need, Some(VariableNeed::Operand)) && !is_operand {
                *need = None;
            }
            return;
        }
        let is_step = matches!(role, LiteralRole::Goal | LiteralRole::Add | LiteralRole::Replace | LiteralRole::Call);
        let need = match is_operand {
            _ if self.quoted > 0 || self.in_head || !is_named(name) => None,
            true => Some(VariableNeed::Operand),
            false if is_step => Some(VariableNeed::Step),
            false if self.receivers.contains(&variable.span) => Some(VariableNeed::Receiver),
            false => None,
        };
        self.places.insert(name, self.variables.len());
        self.variables.push((name, 1, variable.span, need));
    }

    fn namespace(&mut self, name: Symbol) {
        match self.places.get(&name).and_then(|place| self.variables.get_mut(*place)) {
            Some((_, count, ..)) => *count += 1,
            None => {
                self.places.insert(name, self.variables.len());
                self.variables.push((name, 1, Span::default(), None));
            }
        }
    }

    fn condition(&mut self) {
        self.in_head = false;
    }

    fn step(&mut self, _step: &'a whimbrel_bdi::syntax::ast::BodyStep) {
        self.in_head = false;
    }

    fn begin_code(&mut self) {
        self.quoted += 1;
    }

    fn end_code(&mut self) {
        self.quoted = self.quoted.saturating_sub(1);
    }
}
