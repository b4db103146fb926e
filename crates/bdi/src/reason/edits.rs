//! Changes of a mind by its operator.

use whimbrel_acl::{Annot, Annots, Performative, Structure, Symbol, Text, Value, Var, sym};
use whimbrel_platform::inspection::ReportTo;
use whimbrel_platform::limits::QUERY_VALUES_BYTES_MAX;

use super::failure::excess;
use super::{Cycle, JOURNEYS, solver, step_event_of};
use crate::code::compile::formula_of_value;
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::{is_source, levels};
use crate::mind::Event;
use crate::prover::SearchDecision;
use crate::syntax::ast;

/// Change of a mind by an operator.
#[derive(Debug)]
pub(crate) enum Edit {
    Add(Structure),
    /// A belief to remove, with its number of variables.
    Remove(Structure, u32),
    Pursue(Structure),
    Query(MindQuery),
    /// A plan body to perform, its variables with names, and the receiver of the outcome.
    Perform(Value, Vec<Var>, ReportTo),
    Load(Box<ProgramLoad>),
}

/// Question of an operator about a mind.
#[derive(Debug)]
pub(crate) struct MindQuery {
    pub formula: Value,
    /// All variables of the formula; their slots are counted from 0.
    pub variables: Vec<Var>,
    /// Maximal number of answers.
    pub limit: usize,
    pub report: ReportTo,
}

/// Program that an operator loads into an agent.
#[derive(Debug)]
pub(crate) struct ProgramLoad {
    pub name: Text,
    pub program: ast::Program,
    /// True to pursue its initial goals.
    pub begin: bool,
    pub report: ReportTo,
}

impl Cycle<'_> {
    /// Changes the mind for an operator: as a plan's `+b` and `!!g` would.
    pub(crate) fn carry_out(&mut self, edit: Edit) {
        match edit {
            Edit::Add(literal) => {
                let event = step_event_of(TriggerOp::Add, literal, TriggerKind::Belief);
                if let Some(changed) = self.mind.beliefs.add(event.literal.clone(), false) {
                    self.add_event(Event { literal: changed, ..event });
                }
            }
            Edit::Remove(literal, variables) => self.disbelieve(&literal, variables),
            Edit::Pursue(literal) => self.add_initial_goal(literal.into_value()),
            Edit::Query(query) => self.answer_query(&query),
            Edit::Perform(body, variables, report) => self.perform(body, &variables, &report),
            Edit::Load(load) => {
                let outcome = self.load_program(&load.name, load.program, load.begin);
                self.report(&load.report, outcome);
            }
        }
    }

    /// Reports an outcome, or a failure, to an operator's agent.
    fn report(&mut self, report: &ReportTo, outcome: Result<Value, String>) {
        let (performative, content) = match outcome {
            Ok(content) => (Performative::Inform, content),
            Err(why) => {
                let args = [Value::atom("refused"), Value::from(why), Value::from(""), Value::Num(0.0)];
                (Performative::Failure, Value::term("failed", args))
            }
        };
        let performative = Symbol::new(performative.as_str());
        self.send(report.who, performative, content, None, Some(report.ticket.clone()));
    }

    /// Finds the answers to a question, and reports them: `answers([[binding("X", "3"), ...], ...], More)`.
    fn answer_query(&mut self, query: &MindQuery) {
        self.take_up(None);
        self.bindings.extend(query.variables.len() as u32);
        let formula = formula_of_value(&query.formula, self.image);
        let names: Vec<Symbol> = query.variables.iter().map(|variable| variable.name).collect();
        let (mut answers, mut more, mut room) = (Vec::new(), false, QUERY_VALUES_BYTES_MAX);
        let solver = solver!(self);
        solver.each(&formula, self.bindings, 0, &names, &mut |bindings| {
            let shown = query.variables.iter().filter(|variable| has_name(variable)).filter_map(|variable| {
                let value = bindings.closed(&Value::Var(*variable));
                (!matches!(value, Value::Var(_))).then_some((variable.name, value))
            });
            let answer: Vec<(Symbol, Value)> = shown.collect();
            let bytes: usize = answer.iter().map(|(name, value)| name.as_str().len() + value.to_string().len()).sum();
            more = answers.len() >= query.limit || bytes > room;
            if more {
                return SearchDecision::Enough;
            }
            room -= bytes;
            answers.push(Value::list(answer.into_iter().map(|(name, value)| binding(name, value))));
            SearchDecision::More
        });
        self.top = 0;
        self.bindings.truncate(0);
        self.put_down(None);
        let outcome = match levels::noted() {
            true => Err(excess()),
            false => Ok(Value::term("answers", [Value::list(answers), Value::Bool(more)])),
        };
        levels::take();
        self.report(&query.report, outcome);
    }

    /// Begins an intention that performs a body and then reports the values of its variables (library/operator.asl).
    fn perform(&mut self, body: Value, variables: &[Var], report: &ReportTo) {
        let shown = variables.iter().filter(|variable| has_name(variable));
        let values = Value::list(shown.map(|variable| binding(variable.name, Value::Var(*variable))));
        let args = [body, values, Value::Atom(report.who.name), Value::Str(report.ticket.clone())];
        let goal = Structure::full(
            Symbol::new(JOURNEYS),
            false,
            Symbol::new("perform"),
            args.into_iter().collect(),
            Annots::default(),
        );
        self.add_initial_goal(goal.into_value());
    }

    /// Removes matching beliefs: without a source in the pattern all, whatever their sources; with one, as in a plan.
    fn disbelieve(&mut self, literal: &Structure, variables: u32) {
        self.take_up(None);
        self.bindings.extend(variables);
        let changed = if literal.annots.iter().any(is_source) {
            self.mind.beliefs.delete(literal, self.bindings, self.image).into_iter().collect()
        } else {
            let gone = self.mind.beliefs.abolish(literal, self.bindings);
            gone.iter().map(|gone| gone.with_annots(only_self())).collect::<Vec<_>>()
        };
        self.top = 0;
        self.bindings.truncate(0);
        self.put_down(None);
        for changed in changed {
            self.add_event(step_event_of(TriggerOp::Delete, changed, TriggerKind::Belief));
        }
    }
}

fn only_self() -> Annots {
    [Annot::Source(sym::SELF)].into_iter().collect()
}

/// Returns true for a variable that a person named.
fn has_name(variable: &Var) -> bool {
    !variable.name.as_str().starts_with('_')
}

fn binding(name: Symbol, value: Value) -> Value {
    Value::term("binding", [Value::from(name.as_str()), value])
}
