//! Programs loaded into an agent that runs: plans and rules are exchanged, beliefs and goals stay.
//!
//! An intention holds the places of its plans, and a removed plan that is in use keeps its place. So an intention
//! finishes the plans that it has begun. It chooses plans for its next subgoals, and for failures, among the new ones.

use rustc_hash::FxHashSet;
use whimbrel_acl::{Symbol, Text, Value, Var, sym};

use super::plan_terms::own_label;
use super::{Cycle, JOURNEYS};
use crate::code::{Key, PlanRef};
use crate::logic::Bindings;
use crate::mind::RuleRef;
use crate::numbering::Numbering;
use crate::syntax::{ast, quote};

/// Annotation of the labels of loaded plans: `file("bidder.asl")`.
const FILE: &str = "file";
/// Property of the namespace of the platform that holds the loaded rules.
const LOADED_RULES: &str = "loaded_rules";
/// Property that holds the name of the loaded file.
const LOADED_FILE: &str = "loaded_file";

/// Returns the name of the program that was loaded last into an agent with these properties, if one was.
pub(crate) fn loaded_file(properties: &[(Symbol, Symbol, Value)]) -> Option<&str> {
    let is_it =
        |(namespace, key, _): &&(Symbol, Symbol, Value)| namespace.as_str() == JOURNEYS && key.as_str() == LOADED_FILE;
    properties.iter().find(is_it)?.2.as_str()
}

impl Cycle<'_> {
    /// Exchanges the plans and rules of the agent's program, or of the program that was loaded last, for those of
    /// another program. Plans that the agent acquired otherwise stay. An initial belief is added if the agent believes
    /// nothing of its name and number of arguments. Returns `loaded(PlansRemoved, PlansAdded, Rules, Beliefs)`.
    ///
    /// # Errors
    /// Returns the reason why nothing was changed.
    pub(super) fn load_program(&mut self, name: &Text, program: ast::Program, begin: bool) -> Result<Value, String> {
        if let Some(function) = program.functions.first() {
            return Err(format!(
                "{name} registers the function {}: only a new agent can have functions of its own",
                function.name
            ));
        }
        let old = self.plans_of_files();
        self.check_labels(&program, &old)?;
        old.iter().for_each(|place| self.remove_plan(*place));
        let annots = [Value::term("source", [Value::Atom(sym::SELF)]), Value::term(FILE, [Value::from(&**name)])];
        let mut added = 0;
        // Plans of programs come before those of the library.
        for plan in program.plans.iter().rev() {
            added += u32::from(self.add_new_plan(plan, &annots, true).is_ok());
        }
        let (rules, facts): (Vec<&ast::Rule>, Vec<&ast::Rule>) = program.beliefs.iter().partition(|rule| is_rule(rule));
        self.exchange_rules(&rules);
        let believed = self.add_missing_beliefs(&facts);
        self.set_property(LOADED_FILE, Value::from(&**name));
        for goal in program.goals.iter().filter(|_| begin) {
            let goal = quote::quote(&ast::Term::Literal(goal.literal.clone()), &mut by_name);
            self.add_initial_goal(goal);
        }
        let counts = [old.len() as u32, added, rules.len() as u32, believed];
        Ok(Value::term("loaded", counts.map(|count| Value::Num(f64::from(count)))))
    }

    /// Returns the agent's plans that came from the file of a program.
    fn plans_of_files(&self) -> Vec<PlanRef> {
        let own = self.image.source.plans.len() as u32;
        let is_loaded = |label: &Value| label.annots().iter().any(|annot| is_file(&annot.to_value()));
        let plans = self.mind.plans.all(self.image);
        let from_files = plans.into_iter().filter(|(place, plan)| place.0 < own || is_loaded(&plan.label));
        from_files.map(|(place, _)| place).collect()
    }

    /// Refuses a program with a label that a plan has which stays.
    fn check_labels(&self, program: &ast::Program, old: &[PlanRef]) -> Result<(), String> {
        let mut labels = FxHashSet::default();
        for (name, label) in program.plans.iter().filter_map(own_label) {
            let other = self.mind.plans.labelled(self.image, &label).filter(|(place, _)| !old.contains(place));
            if other.is_some() {
                return Err(format!("the agent acquired another plan with the label {name}: rename or remove one"));
            }
            if !labels.insert(label.to_string()) {
                return Err(format!("two plans have the label {name}"));
            }
        }
        Ok(())
    }

    fn exchange_rules(&mut self, rules: &[&ast::Rule]) {
        let image = self.image;
        for (number, (_, rule)) in (0..).zip(&image.rules) {
            let is_it = |rule: &RuleRef| matches!(rule, RuleRef::Image(place) if *place == number);
            self.mind.beliefs.delete_rule(&rule.key, is_it);
        }
        for rule in self.property(LOADED_RULES).unwrap_or(Value::Nil).items() {
            self.remove_plan_value(rule);
        }
        for rule in rules.iter().rev() {
            self.add_rule(rule, false);
        }
        let quoted = |rule: &&ast::Rule| {
            let mut names = Numbering::default();
            quote::quote_rule(rule, &mut |name| quote::numbered(&mut names, name))
        };
        let quoted: Vec<Value> = rules.iter().map(quoted).collect();
        self.set_property(LOADED_RULES, Value::list(quoted));
    }

    /// Adds initial beliefs of predicates of which the agent believes nothing. Returns their number.
    fn add_missing_beliefs(&mut self, facts: &[&ast::Rule]) -> u32 {
        let literal = |fact: &&ast::Rule| {
            let literal = quote::quote(&ast::Term::Literal(fact.head.clone()), &mut by_name);
            super::structure(Bindings::default().resolve(&literal))
        };
        let literals: Vec<_> = facts.iter().filter_map(literal).collect();
        let is_missing = |key: &Key| self.mind.beliefs.table(key).is_none_or(|table| table.is_empty());
        let missing: FxHashSet<Key> = literals.iter().map(Key::of).filter(is_missing).collect();
        let mut added = 0;
        for literal in literals.into_iter().rev().filter(|literal| missing.contains(&Key::of(literal))) {
            self.add_initial_belief(&literal.into_value());
            added += 1;
        }
        added
    }

    fn property(&self, key: &str) -> Option<Value> {
        let is_it =
            |(namespace, name, _): &&(Symbol, Symbol, Value)| namespace.as_str() == JOURNEYS && name.as_str() == key;
        self.mind.namespace_properties.iter().find(is_it).map(|(_, _, value)| value.clone())
    }

    fn set_property(&mut self, key: &str, value: Value) {
        let properties = &mut self.mind.namespace_properties;
        properties.retain(|(namespace, name, _)| namespace.as_str() != JOURNEYS || name.as_str() != key);
        properties.push((Symbol::new(JOURNEYS), Symbol::new(key), value));
    }
}

fn by_name(name: Symbol) -> Var {
    Var { slot: name.index(), name }
}

/// Returns true for a rule, and for a belief with variables, which is kept as a rule.
fn is_rule(rule: &ast::Rule) -> bool {
    let head = quote::quote(&ast::Term::Literal(rule.head.clone()), &mut by_name);
    rule.body.is_some() || !Bindings::default().resolve(&head).is_ground()
}

fn is_file(annot: &Value) -> bool {
    annot.functor().is_some_and(|functor| functor.as_str() == FILE) && annot.args().len() == 1
}
