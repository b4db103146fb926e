//! Steps about literals without annotations, and messages to agents given by their names: what most steps are. They are executed
//! without an event, a proof or an allocation where that comes to the same, by the values of their arguments alone, which are
//! built on top of the bindings.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Args, Performative, Structure, Symbol, Value, sym};

use super::step::{At, Done, Stepped, own_literal, unfit};
use super::{Cycle, solver};
use crate::code::{
    AddMode, Expr, Key, PlainStep, SendExpr, Site, TriggerKind, TriggerOp, build_args, calls_nothing, plain_value,
};
use crate::logic::levels;
use crate::mind::BeliefBase;

impl Cycle<'_> {
    /// A step about a literal without annotations: at once and without an event if nobody would hear of that.
    pub(super) fn plain(&mut self, step: PlainStep, site: &Site, at: At<'_>) -> Stepped {
        if step == PlainStep::Achieve {
            return self.achieve_plain(site, at);
        }
        if self.hears_nothing(at.id)
            && let Some(done) = self.plain_ahead(step, site, at)
        {
            return if done == Done::Unheard { Stepped::Unheard } else { Stepped::Next };
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

    /// As [`Self::plain`], of a change in beliefs that nobody would hear of if no plan is for it, and that is simple; nothing is done
    /// if not.
    pub(super) fn plain_ahead(&mut self, step: PlainStep, site: &Site, at: At<'_>) -> Option<Done> {
        if !self.has_no_plans(step, site) {
            return None;
        }
        let base = self.bindings.len();
        let fits = self.push_values(&site.args, at) && !levels::noted();
        let args = self.bindings.from_mut(base);
        let done = match fits && args.iter().all(Value::is_ground) {
            true => change_own(&mut self.mind.beliefs, step, site, args),
            false => None,
        };
        self.bindings.truncate(base);
        done
    }

    /// Whether no plan is for a change in beliefs.
    fn has_no_plans(&self, step: PlainStep, site: &Site) -> bool {
        let added = || self.no_plans(&site.on_add, || site.trigger(TriggerOp::Add, TriggerKind::Belief));
        let deleted = || self.no_plans(&site.on_delete, || site.trigger(TriggerOp::Delete, TriggerKind::Belief));
        match step {
            PlainStep::Achieve => false,
            PlainStep::Add => added(),
            PlainStep::Delete => deleted(),
            PlainStep::Replace => added() && deleted(),
        }
    }

    /// Builds the values of expressions on top of the bindings. False if one of them calls functions, which may say something, draw
    /// lots, or leave variables: some values may be there then, but nobody sees that they were built.
    #[inline(always)]
    pub(super) fn push_values(&mut self, exprs: &[Expr], at: At<'_>) -> bool {
        for expr in exprs {
            let value = match plain_value(self.bindings, at.base, expr) {
                Some(value) => value,
                None if calls_nothing(self.bindings, at.base, expr) => self.value(expr, at),
                None => return false,
            };
            self.bindings.push(value);
        }
        true
    }

    pub(super) fn send_message(&mut self, message: &SendExpr, at: At<'_>) -> Stepped {
        if self.send_directly(message, at) || levels::noted() { Stepped::Next } else { self.call(&message.call, at) }
    }

    /// Sends a message to an agent given by its name; false if the receiver is something else, or not there.
    pub(super) fn send_directly(&mut self, message: &SendExpr, at: At<'_>) -> bool {
        let Some(name) = self.receiver_name(&message.to, at) else { return false };
        let mut receiver = Aid::local(name);
        if name == sym::SELF || !self.services.exists(receiver) {
            receiver = self.agent_named(name);
            if !self.services.exists(receiver) {
                return false;
            }
        }
        let content = self.content(&message.content, at);
        if levels::noted() {
            return false;
        }
        let performative = Performative::Other(message.performative);
        let outgoing = match self.spares.message() {
            Some(mut spare) => {
                spare.refill(performative, self.aid, receiver, content);
                spare
            }
            None => Box::new(AclMessage::new(performative, self.aid, receiver, content)),
        };
        self.post(outgoing);
        true
    }

    /// The name that an expression comes to, if it is one and calls no functions.
    #[inline]
    fn receiver_name(&mut self, expr: &Expr, at: At<'_>) -> Option<Symbol> {
        let value = match plain_value(self.bindings, at.base, expr) {
            Some(value) => value,
            None if calls_nothing(self.bindings, at.base, expr) => self.value(expr, at),
            None => return None,
        };
        if let Value::Atom(name) = value { Some(name) } else { None }
    }

    /// What a message says: built where one that came had its content, if nobody else has that.
    fn content(&mut self, expr: &Expr, at: At<'_>) -> Value {
        let Expr::Term(term) = expr else { return self.value(expr, at) };
        let base = self.bindings.len();
        if !term.has_no_annots() || !self.push_values(&term.args, at) {
            self.bindings.truncate(base);
            return self.value(expr, at);
        }
        let (Key { namespace, negated, functor, .. }, args) = (term.key, self.bindings.from_mut(base));
        let mut spare = self.spares.content();
        let content = match spare.as_mut().and_then(Arc::get_mut) {
            Some(structure) => {
                structure.refill(namespace, negated, functor, args);
                spare
            }
            None => Some(Arc::new(Structure::bare(namespace, negated, functor, taken(args)))),
        };
        self.bindings.truncate(base);
        levels::checked(content.map_or(Value::Null, Value::Term))
    }
}

/// Changes a belief of the agent's own, given its ground arguments, which are used up. None if others believe it, too, or it is not
/// the only one to be replaced: nothing is changed then.
fn change_own(beliefs: &mut BeliefBase, step: PlainStep, site: &Site, args: &mut [Value]) -> Option<Done> {
    let unheard = match step {
        PlainStep::Add if !beliefs.add_own(site.key, &site.hint, taken(args)) => return Some(Done::Alone),
        PlainStep::Add => true,
        PlainStep::Delete => beliefs.delete_own(site.key, &site.hint, args),
        PlainStep::Replace => beliefs.replace_own(site.key, &site.hint, args),
        PlainStep::Achieve => false,
    };
    unheard.then_some(Done::Unheard)
}

/// The values, which are null then.
fn taken(values: &mut [Value]) -> Args {
    let mut taken = Args::with_capacity(values.len());
    values.iter_mut().for_each(|value| taken.push(std::mem::take(value)));
    taken
}
