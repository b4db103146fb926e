//! Plain steps: steps about literals without annotations, and messages to agents given by name, which most steps are.
//! They are executed without an event, a proof or an allocation where the result is the same. Only the values of
//! their arguments are built, on top of the bindings.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Args, Performative, Structure, Symbol, Value, sym};

use super::literals::own_literal;
use super::step_outcome::{At, StepEffect, Stepped, unfit};
use super::{Cycle, solver};
use crate::code::{AddMode, Expr, Key, PlainStep, SendExpr, Site, TriggerKind};
use crate::logic::levels;
use crate::mind::BeliefBase;
use crate::prover::{build_args, calls_nothing, plain_atom, push_plain_value};

impl Cycle<'_> {
    /// Executes a step about a literal without annotations: at once and without an event if no plan would react to
    /// one.
    pub(super) fn plain(&mut self, step: PlainStep, site: &Site, at: At<'_>) -> Stepped {
        if step == PlainStep::Achieve {
            return self.achieve_plain(site, at);
        }
        if self.hears_nothing(at.id)
            && let Some(done) = self.plain_ahead(step, site, at)
        {
            return if done == StepEffect::Unheard { Stepped::Unheard } else { Stepped::Next };
        }
        let solver = solver!(self);
        let args = build_args(&solver, self.bindings, at.base, at.names, &site.args);
        if levels::noted() {
            return unfit();
        }
        let literal = own_literal(site.key, args);
        match step {
            PlainStep::Add => self.add_literal(literal, AddMode::Front, at),
            PlainStep::Delete => self.delete_literal(&literal, !self.mind.options.same_focus, at),
            PlainStep::Replace | PlainStep::Achieve => self.replace_literal(literal, at),
        }
    }

    /// Executes a simple change of beliefs like [`Self::plain`], if no plan reacts to it. Does nothing otherwise.
    pub(super) fn plain_ahead(&mut self, step: PlainStep, site: &Site, at: At<'_>) -> Option<StepEffect> {
        if !self.has_no_plans(step, site) {
            return None;
        }
        let base = self.bindings.len();
        let done = match self.push_values(&site.args, at) {
            true => change_own(&mut self.mind.beliefs, step, site, self.bindings.from_mut(base)),
            false => None,
        };
        self.bindings.truncate(base);
        done
    }

    /// Returns true if no plan reacts to a change of beliefs.
    fn has_no_plans(&self, step: PlainStep, site: &Site) -> bool {
        if self.mind.plans.is_original() {
            return site.is_unheard(step, self.image);
        }
        let heard = |op| self.has_candidates(&site.trigger(op, TriggerKind::Belief));
        step.triggers().iter().all(|op| !heard(*op))
    }

    /// Builds the values of expressions on top of the bindings. Returns false if one of them nests too deep, which is
    /// noted, or calls functions, which may print, draw random numbers, or leave variables. Some values may be there
    /// then, without visible effect.
    #[inline(always)]
    pub(super) fn push_values(&mut self, exprs: &[Expr], at: At<'_>) -> bool {
        for expr in exprs {
            if !push_plain_value(self.bindings, at.base, expr) && !self.push_compound(expr, at) {
                return false;
            }
        }
        true
    }

    fn push_compound(&mut self, expr: &Expr, at: At<'_>) -> bool {
        if !calls_nothing(self.bindings, at.base, expr) {
            return false;
        }
        let value = self.value(expr, at);
        self.bindings.push(value);
        !levels::noted()
    }

    pub(super) fn send_message(&mut self, message: &SendExpr, at: At<'_>) -> Stepped {
        if self.send_directly(message, at) || levels::noted() { Stepped::Next } else { self.call(&message.call, at) }
    }

    /// Sends a message to an agent given by name. Returns false for any other receiver, or if it does not exist.
    pub(super) fn send_directly(&mut self, message: &SendExpr, at: At<'_>) -> bool {
        let Some(name) = self.receiver_name(&message.to, at) else { return false };
        let mut receiver = Aid::local(name);
        if name == sym::SELF || !self.services.exists(receiver) {
            receiver = self.agent_named(name);
            if !self.services.exists(receiver) {
                return false;
            }
        }
        let performative = Performative::Other(message.performative);
        if let Some(structure) = self.structure(&message.content, at) {
            self.dispatch(performative, receiver, Value::Term(structure));
            return true;
        }
        let content = self.content_of_another_kind(&message.content, at);
        content.map(|content| self.dispatch(performative, receiver, content)).is_some()
    }

    #[inline(always)]
    fn dispatch(&mut self, performative: Performative, receiver: Aid, content: Value) {
        let outgoing = match self.spares.message() {
            Some(mut spare) => {
                spare.refill(performative, self.aid, receiver, content);
                spare
            }
            None => Box::new(AclMessage::new(performative, self.aid, receiver, content)),
        };
        self.note_sent_to(receiver);
        self.outbox.send(outgoing);
    }

    /// Returns the name that an expression is, if it calls no functions.
    #[inline]
    fn receiver_name(&mut self, expr: &Expr, at: At<'_>) -> Option<Symbol> {
        plain_atom(self.bindings, at.base, expr).or_else(|| self.built_name(expr, at))
    }

    fn built_name(&mut self, expr: &Expr, at: At<'_>) -> Option<Symbol> {
        if !calls_nothing(self.bindings, at.base, expr) {
            return None;
        }
        if let Value::Atom(name) = self.value(expr, at) { Some(name) } else { None }
    }

    /// Builds a message's content if it is a structure without annotations, reusing the memory of a received content
    /// if possible. Returns `None` for any other content, or if it calls functions or nests too deep.
    #[inline(always)]
    fn structure(&mut self, expr: &Expr, at: At<'_>) -> Option<Arc<Structure>> {
        let Expr::Term(term) = expr else { return None };
        let base = self.bindings.len();
        let built = term.has_no_annots() && self.push_values(&term.args, at);
        let structure = if built { Some(self.structure_of(term.key, base)) } else { None };
        self.bindings.truncate(base);
        structure.filter(|structure| structure.levels() <= levels::TERM_LEVELS_MAX)
    }

    /// Builds a structure of the values on top of the bindings, which are used up.
    #[inline(always)]
    fn structure_of(&mut self, key: Key, base: u32) -> Arc<Structure> {
        let (Key { namespace, negated, functor, .. }, args) = (key, self.bindings.from_mut(base));
        if let Some(mut spare) = self.spares.content()
            && let Some(structure) = Arc::get_mut(&mut spare)
        {
            structure.refill(namespace, negated, functor, args);
            return spare;
        }
        Arc::new(Structure::bare(namespace, negated, functor, taken(args)))
    }

    /// Builds any content of a message. Returns `None` if it nests too deep, which is noted.
    fn content_of_another_kind(&mut self, expr: &Expr, at: At<'_>) -> Option<Value> {
        let mark = self.bindings.mark();
        let value = self.value(expr, at);
        if levels::noted() {
            self.bindings.undo(mark);
            return None;
        }
        self.settle_all();
        Some(value)
    }
}

/// Changes a belief of the agent's own, given its arguments, which are used up. There is an event unless nothing
/// changes. Returns `None`, and changes nothing, if the arguments are not ground, if the belief has other sources, or
/// if a replaced belief is not the only one.
fn change_own(beliefs: &mut BeliefBase, step: PlainStep, site: &Site, args: &mut [Value]) -> Option<StepEffect> {
    let is_ground = |args: &[Value]| args.iter().all(Value::is_ground);
    let changed = match step {
        PlainStep::Add if is_ground(args) => beliefs.add_own(&site.key, &site.hint, taken(args)),
        PlainStep::Delete if is_ground(args) => beliefs.delete_own(&site.key, &site.hint, args)?,
        PlainStep::Replace if beliefs.replace_own(&site.key, &site.hint, args) => true,
        _ => return None,
    };
    Some(if changed { StepEffect::Unheard } else { StepEffect::Alone })
}

/// Takes the values, leaving null.
fn taken(values: &mut [Value]) -> Args {
    let mut taken = Args::with_capacity(values.len());
    values.iter_mut().for_each(|value| taken.push(std::mem::take(value)));
    taken
}
