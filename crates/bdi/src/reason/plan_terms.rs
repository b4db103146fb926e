//! Plans and rules as data: acquired, removed.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use whimbrel_acl::{Annot, Annots, Structure, Symbol, Value, Var};
use whimbrel_platform::services::LogLevel;

use super::Cycle;
use crate::code::compile::{compile_acquired, compile_acquired_rule};
use crate::code::{CompiledPlan, PlanRef, is_made_label, label_of};
use crate::logic::namespace_of;
use crate::mind::{PlanHold, RuleRef};
use crate::prover::Failure;
use crate::syntax::{ast, quote};

impl<'m> Cycle<'m> {
    /// Acquires a plan or rule from a term. Returns false for any other value.
    ///
    /// # Errors
    /// Returns an error if the term is no well-formed plan.
    pub fn add_plan_value(&mut self, value: &Value, source: &Value, before: bool) -> Result<bool, Failure> {
        if quote::is_rule(value) {
            let rule = quote::unquote_rule(value).map_err(|e| Failure::new("internal_action", e.to_string()))?;
            self.add_rule(&rule, !before);
            return Ok(true);
        }
        if !quote::is_plan(value) {
            return Ok(false);
        }
        let plan = quote::unquote_plan(value).map_err(|e| Failure::new("internal_action", e.to_string()))?;
        self.add_plan(plan, source, before)?;
        Ok(true)
    }

    /// Acquires a rule.
    pub fn add_rule(&mut self, rule: &ast::Rule, at_end: bool) {
        let rule = Arc::new(compile_acquired_rule(rule, self.image));
        self.mind.beliefs.add_rule(rule.key, RuleRef::Own(rule), at_end);
    }

    /// Acquires a plan from `source`, a term such as `source(bob)`. If a plan with the same trigger, context and body
    /// is known, it only gets the source. Labels of unnamed plans are counted in each agent: if such a label is
    /// taken, the plan gets the next one.
    ///
    /// # Errors
    /// Returns an error if another plan has the same label.
    pub fn add_plan(&mut self, plan: ast::Plan, source: &Value, before: bool) -> Result<PlanRef, Failure> {
        if let Some((place, known)) = self.mind.plans.alike(self.image, &plan) {
            let mut renewed = (*known).clone();
            renewed.label = add_source(&renewed.label, source);
            return Ok(self.replace_plan(place, renewed));
        }
        self.add_new_plan(&plan, std::slice::from_ref(source), before)
    }

    /// Acquires a plan, whatever others are known. Its label gets these annotations, of which the first is its source.
    ///
    /// # Errors
    /// Returns an error if another plan has the same label.
    pub(super) fn add_new_plan(
        &mut self,
        plan: &ast::Plan,
        annots: &[Value],
        before: bool,
    ) -> Result<PlanRef, Failure> {
        let label = self.label_for(plan, annots.first().unwrap_or(&Value::Null))?;
        let mut compiled = compile_acquired(plan, label, self.image);
        compiled.label = annots.iter().fold(compiled.label, |label, annot| add_source(&label, annot));
        self.mind.has_meta_plans |= compiled.op == crate::code::TriggerOp::Meta;
        self.mind.tells_idleness |= compiled.is_for_idleness();
        self.mind.handles_messages |= compiled.is_for_messages();
        Ok(self.mind.plans.add(self.image, Arc::new(compiled), before))
    }

    /// Returns the label for a plan that is acquired from `source`: its own if that is not taken.
    fn label_for(&mut self, plan: &ast::Plan, source: &Value) -> Result<Symbol, Failure> {
        if let Some((name, label)) = written_label(plan) {
            if self.mind.plans.labelled(self.image, &label).is_none() {
                return Ok(name);
            }
            if !is_made_label(name) {
                let message = format!("There already is a plan with label {}", add_source(&label, source));
                return Err(Failure::new("internal_action", message));
            }
        }
        Ok(self.mind.plans.fresh_label(self.image))
    }

    /// Acquires plans that an agent teaches. Returns false, and acquires none, if one of them cannot be acquired.
    pub(super) fn learn(&mut self, plans: Vec<ast::Plan>, teacher: Symbol) -> bool {
        let mut names = FxHashSet::default();
        let has_place = |plan: &ast::Plan| match own_label(plan) {
            Some((name, label)) => {
                let is_free = self.mind.plans.labelled(self.image, &label).is_none();
                names.insert(name) && (is_free || self.mind.plans.alike(self.image, plan).is_some())
            }
            None => true,
        };
        if !plans.iter().all(has_place) {
            return false;
        }
        let source = Value::term("source", [Value::Atom(teacher)]);
        plans.into_iter().all(|plan| self.add_plan(plan, &source, false).is_ok())
    }

    /// Takes in the beliefs, goals and plans of a program, as at the agent's start. Its registered functions are left
    /// out, because calls of functions are compiled for the whole program at once.
    pub fn import(&mut self, program: ast::Program) {
        let mut by_name = |name: Symbol| Var { slot: name.index(), name };
        for rule in program.beliefs.iter().rev() {
            let head = quote::quote(&ast::Term::Literal(rule.head.clone()), &mut by_name);
            let head = crate::logic::Bindings::default().resolve(&head);
            if rule.body.is_none() && head.is_ground() {
                self.add_initial_belief(&head);
            } else {
                self.add_rule(rule, false);
            }
        }
        let source = Value::term("source", [Value::atom("self")]);
        for plan in program.plans {
            if let Err(failure) = self.add_plan(plan, &source, false) {
                self.log(LogLevel::Severe, &failure.message());
            }
        }
        for goal in &program.goals {
            let goal = quote::quote(&ast::Term::Literal(goal.literal.clone()), &mut by_name);
            self.add_initial_goal(goal);
        }
    }

    fn replace_plan(&mut self, place: PlanRef, plan: crate::code::CompiledPlan) -> PlanRef {
        self.mind.plans.replace(self.image, place, Arc::new(plan))
    }

    /// Removes a plan or rule given as a term. Returns false for any other value.
    pub fn remove_plan_value(&mut self, value: &Value) -> bool {
        if let Ok(wanted) = quote::unquote_rule(value) {
            let key = compile_acquired_rule(&wanted, self.image).key;
            let image = self.image;
            self.mind.beliefs.delete_rule(&key, |rule| quote::same_rule(&rule.resolve(image).source, &wanted));
            return true;
        }
        let Ok(wanted) = quote::unquote_plan(value) else { return false };
        if let Some((place, _)) = self.mind.plans.alike(self.image, &wanted) {
            self.remove_plan(place);
        }
        true
    }

    /// Removes a plan.
    pub fn remove_plan(&mut self, place: PlanRef) {
        let in_use = self.mind.intentions.iter().any(|i| i.frames.iter().any(|frame| frame.plan == place));
        self.mind.plans.remove(self.image, place, in_use);
    }

    /// Removes one source from a plan, which is removed without sources. Returns false if the plan does not have that
    /// source.
    pub fn remove_plan_source(&mut self, label: &Value, source: &Value) -> bool {
        let gone = Annot::new(source.clone());
        let Some((place, plan)) = self.plan_from(label, &gone) else { return false };
        let mut annots: Annots = plan.label.annots().iter().cloned().collect();
        if !annots.iter().any(crate::logic::is_source) {
            // The program's plans are the agent's own.
            annots.push(Annot::Source(whimbrel_acl::sym::SELF));
        }
        let left: Annots = annots.iter().filter(|annot| **annot != gone).cloned().collect();
        if left.len() == annots.len() {
            return false;
        }
        if left.iter().any(crate::logic::is_source) {
            let mut renewed = (*plan).clone();
            renewed.label = with_annots(&renewed.label, left);
            self.replace_plan(place, renewed);
        } else {
            self.remove_plan(place);
        }
        true
    }

    /// Returns the plan with a label. A bare generated label is the one that the plan had at its source: here it may
    /// have another.
    fn plan_from(&self, label: &Value, source: &Annot) -> Option<(PlanRef, PlanHold<'m>)> {
        let own = *source == Annot::Source(whimbrel_acl::sym::SELF);
        let made = label.functor().filter(|name| is_made_label(*name));
        if let Some(name) = made.filter(|_| !own && label.annots().is_empty()) {
            let came_so = |plan: &CompiledPlan| {
                label_of(&plan.source) == Some(name) && plan.label.annots().iter().any(|annot| annot == source)
            };
            let known = self.mind.plans.all(self.image).into_iter().find(|(_, plan)| came_so(plan));
            if known.is_some() {
                return known;
            }
        }
        self.mind.plans.labelled(self.image, label)
    }
}

/// Returns the label that a plan came with, and its name.
fn written_label(plan: &ast::Plan) -> Option<(Symbol, Value)> {
    let (name, label) = (label_of(plan)?, plan.label.as_ref()?);
    Some((name, quote::quote(&ast::Term::Literal(label.clone()), &mut |name| Var { slot: name.index(), name })))
}

/// Returns the label that the plan's author gave it, and its name: the plan must have that label.
pub(super) fn own_label(plan: &ast::Plan) -> Option<(Symbol, Value)> {
    written_label(plan).filter(|(name, _)| !is_made_label(*name))
}

fn add_source(label: &Value, source: &Value) -> Value {
    let mut annots: Annots = label.annots().iter().cloned().collect();
    annots.push(Annot::new(source.clone()));
    with_annots(label, annots)
}

fn with_annots(label: &Value, annots: Annots) -> Value {
    let functor = label.functor().unwrap_or_default();
    Structure::full(namespace_of(label), false, functor, whimbrel_acl::Args::new(), annots).into_value()
}
