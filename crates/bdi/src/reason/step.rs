//! Step of an intention.

use std::sync::Arc;

use smallvec::SmallVec;
use whimbrel_acl::{Structure, Symbol, Value};

use super::failure::TERM_TOO_DEEP;
use super::hand::Called;
use super::literals::{close_literal, own_literal, step_event_of, structure, with_own_source};
use super::step_outcome::{At, NOBODY, StepEffect, Stepped, unfit};
use super::{Cycle, StepCall, StepProgress, solver};
use crate::code::{
    AddMode, BodyOp, CallExpr, CompiledBody, Expr, Formula, InternalAction, PlainStep, Site, TriggerKind, TriggerOp,
};
use crate::logic::{Bindings, RequestedStep, levels};
use crate::mind::{Event, Frame, GoalPlace, IntentionId, IntentionPlace, Loop, PlanHold, Selected, Splice};
use crate::numbering::Numbering;
use crate::prover::{ActionCall, Failure, QueryAnswer, SearchDecision, build, build_args, calls_nothing, open_value};
use crate::syntax::ast::StepKind;
use crate::syntax::{QueryId, StepId};

/// Current code of an intention.
enum CurrentCode<'m> {
    Plan(PlanHold<'m>),
    Splice(Arc<CompiledBody>),
}

impl CurrentCode<'_> {
    fn body(&self) -> &CompiledBody {
        match self {
            Self::Plan(plan) => &plan.body,
            Self::Splice(body) => body,
        }
    }
}

impl<'m> Cycle<'m> {
    /// Executes the next step of an intention, and further ones as long as it stays in hand.
    pub(super) fn step(&mut self, id: IntentionId) {
        self.tell_excess();
        self.take_up(Some(id));
        self.run_in_hand(id);
    }

    /// Executes steps of the intention in hand as long as it stays there.
    pub(super) fn run_in_hand(&mut self, id: IntentionId) {
        while self.run_frame(id) && self.stays(id) {}
    }

    /// Executes steps of the innermost frame of the intention in hand. Returns true if it is still in hand, and at
    /// another frame.
    fn run_frame(&mut self, id: IntentionId) -> bool {
        let Some(frame) = self.mind.intentions.find(id).and_then(|i| i.frames.last()) else {
            self.end_intention(id);
            return false;
        };
        let (base, pc) = (frame.base, frame.pc);
        let image = self.image;
        if frame.is_plain()
            && let Some(plan) = image.plans.get(frame.plan.0 as usize)
        {
            return self.run_body(&plan.body, pc, At { id, base, names: &plan.names });
        }
        let splice = frame.extra.as_ref().and_then(|extra| extra.splices.last()).map(|s| Arc::clone(&s.body));
        let Some(plan) = self.mind.plans.plan_at(image, frame.plan, &frame.path) else {
            self.end_intention(id);
            return false;
        };
        let code = splice.map_or_else(|| CurrentCode::Plan(plan.clone()), CurrentCode::Splice);
        self.run_body(code.body(), pc, At { id, base, names: &plan.names })
    }

    fn run_body(&mut self, body: &CompiledBody, mut pc: u32, at: At<'_>) -> bool {
        while let Some(op) = body.ops.get(pc as usize) {
            let mut stepped = self.execute(op, at);
            if self.bindings.has_effects() {
                stepped = self.carry_out_in_hand(stepped, at.id);
            }
            let unheard = matches!(stepped, Stepped::Unheard);
            pc = match stepped {
                Stepped::Next | Stepped::Unheard => body.skip_jumps(pc + 1),
                Stepped::Jump(target) => body.skip_jumps(target),
                Stepped::Called => {
                    self.tell_excess();
                    return true;
                }
                Stepped::Moved => {
                    self.fail_for_excess(at.id);
                    return false;
                }
                Stepped::Failed(failure) => return self.fail_in_hand(at.id, failure),
            };
            self.settle_all();
            if levels::noted() {
                return self.fail_in_hand(at.id, Failure::said_no());
            }
            let frame = self.mind.intentions.in_hand(at.id).and_then(|i| i.frames.last_mut());
            let Some(frame) = frame else { return false };
            frame.pc = pc;
            if pc as usize >= body.ops.len() {
                // The plan ends when the event has been handled, which is at the intention's next turn.
                if unheard && !self.stays(at.id) {
                    return false;
                }
                break;
            }
            if !self.stays(at.id) {
                return false;
            }
        }
        // The body has ended, is empty, or its last step was one that waited.
        self.finish_in_hand(at.id)
    }

    /// Returns true if the intention stays in hand for its next step; otherwise it is put back among the ready ones.
    pub(super) fn stays(&mut self, id: IntentionId) -> bool {
        let stays = self.stays_in_hand(id);
        if !stays {
            self.leave_to_its_turn(id);
        }
        stays
    }

    /// Puts the intention in hand among the ready ones.
    pub(super) fn leave_to_its_turn(&mut self, id: IntentionId) {
        if !self.bindings.is_empty() {
            self.put_down(Some(id));
        }
        self.make_ready(id);
    }

    /// Fails the step of the intention in hand: with the excess that `levels` noted, if any, otherwise with
    /// `failure`.
    #[cold]
    fn fail_in_hand(&mut self, id: IntentionId, failure: Failure) -> bool {
        let failure = if levels::noted() { self.excess_failure(id) } else { failure };
        self.put_down(Some(id));
        self.step_failed(id, failure);
        false
    }

    /// Fails the step of an intention that is not in hand any more, if `levels` noted excess. The intention must wait
    /// in that step for a goal, an answer or an action.
    #[inline]
    fn fail_for_excess(&mut self, id: IntentionId) {
        if levels::noted() {
            self.fail_waiting_step(id);
        }
    }

    #[cold]
    fn fail_waiting_step(&mut self, id: IntentionId) {
        let waits = |place: &IntentionPlace| matches!(place, IntentionPlace::InEvent | IntentionPlace::Waiting(_));
        if !self.mind.intentions.find(id).is_some_and(|intention| waits(&intention.place)) {
            return self.tell_excess();
        }
        let failure = self.excess_failure(id);
        self.withdraw(id);
        self.step_failed(id, failure);
    }

    /// Returns the failure of a step in which a term nested too deep or a proof was given up, as `levels` noted.
    pub(super) fn excess_failure(&self, id: IntentionId) -> Failure {
        let error = levels::runaway().map_or(TERM_TOO_DEEP, |runaway| runaway.error);
        let message = self.too_deep_message(Some(id));
        levels::take();
        Failure::new(error, message)
    }

    fn execute(&mut self, op: &BodyOp, at: At<'_>) -> Stepped {
        match op {
            BodyOp::Plain(step, site) => self.plain(*step, site, at),
            BodyOp::Achieve(expr) => self.achieve(expr, at),
            BodyOp::AchieveNewFocus(expr) => self.achieve_new_focus(expr, at),
            BodyOp::Test(formula, literal) => self.test(formula, literal.as_ref(), at),
            BodyOp::Add(expr, mode) => self.add(expr, *mode, at),
            BodyOp::Delete(expr, new_focus) => self.delete(expr, *new_focus, at),
            BodyOp::Replace(expr) => self.replace(expr, at),
            BodyOp::Act(expr) => self.act_on_environment(expr, at),
            BodyOp::Call(call) => self.call(call, at),
            BodyOp::Send(message) => self.send_message(message, at),
            BodyOp::Constraint(formula) => self.constraint(formula, at),
            BodyOp::Dynamic(kind, expr) => self.dynamic(*kind, expr, at),
            BodyOp::If(condition, otherwise) => {
                if self.first(condition, at) {
                    Stepped::Next
                } else {
                    Stepped::Jump(*otherwise)
                }
            }
            BodyOp::Jump(target) => Stepped::Jump(*target),
            BodyOp::While(condition, end) => self.run_while(condition, *end, at),
            BodyOp::For(condition, end) => self.run_for(condition, *end, at),
            BodyOp::Fork { first_wins, branches, join } => {
                self.put_down(Some(at.id));
                self.fork(at.id, *first_wins, branches, *join);
                Stepped::Moved
            }
            BodyOp::Join => {
                self.put_down(Some(at.id));
                self.join(at.id);
                Stepped::Moved
            }
        }
    }

    fn first(&mut self, formula: &Formula, at: At<'_>) -> bool {
        let solver = solver!(self);
        solver.first(formula, self.bindings, at.base, at.names)
    }

    pub(super) fn value(&mut self, expr: &Expr, at: At<'_>) -> Value {
        let solver = solver!(self);
        build(&solver, self.bindings, at.base, at.names, expr)
    }

    /// Builds the literal of an expression, with `source(self)` unless it names a source.
    fn literal(&mut self, expr: &Expr, at: At<'_>) -> Option<Structure> {
        let mut literal = match expr {
            Expr::Term(term) => {
                let solver = solver!(self);
                let args = build_args(&solver, self.bindings, at.base, at.names, &term.args);
                let key = term.key;
                if term.annots.is_empty() && term.annots_tail.is_none() {
                    let mut literal = Structure::bare(key.namespace, key.negated, key.functor, args);
                    literal.annots.push(whimbrel_acl::Annot::Source(whimbrel_acl::sym::SELF));
                    return if levels::noted() { None } else { Some(literal) };
                }
                let annots = crate::prover::build_annots(&solver, self.bindings, at.base, at.names, term);
                Structure::full(key.namespace, key.negated, key.functor, args, annots)
            }
            other => structure(self.value(other, at))?,
        };
        with_own_source(&mut literal);
        if levels::noted() { None } else { Some(literal) }
    }

    /// Makes an event about a literal of the current intention, its variables numbered from 0.
    fn event(&mut self, op: TriggerOp, kind: TriggerKind, literal: Structure) -> Event {
        let mut event = Event::external(op, kind, literal);
        if !event.literal.is_ground() {
            let mut vars = Numbering::default();
            event.literal = close_literal(self.bindings, &event.literal, &mut vars);
            event.open = vars.len() as u32;
            event.caller = vars.iter().enumerate().map(|(number, slot)| (number as u32, *slot)).collect();
        }
        event
    }

    fn achieve(&mut self, expr: &Expr, at: At<'_>) -> Stepped {
        let Some(literal) = self.literal(expr, at) else { return not_a_literal(expr) };
        let event = self.event(TriggerOp::Add, TriggerKind::Achieve, literal);
        self.suspend_with(event, at.id)
    }

    pub(super) fn achieve_plain(&mut self, site: &Site, at: At<'_>) -> Stepped {
        match self.call_in_hand(site, at) {
            Some(Called::Yes) => Stepped::Called,
            Some(Called::NoPlan(args, relevant)) => {
                let mut event = self.event(TriggerOp::Add, TriggerKind::Achieve, own_literal(site.key, args));
                // The goal fails in the next cycle, and other intentions may have their steps before its failure
                // plan.
                event.selected = Some(Box::new(Selected::Nothing { relevant }));
                self.suspend_with(event, at.id)
            }
            None => {
                let solver = solver!(self);
                let args = build_args(&solver, self.bindings, at.base, at.names, &site.args);
                let event = self.event(TriggerOp::Add, TriggerKind::Achieve, own_literal(site.key, args));
                if levels::noted() {
                    return unfit();
                }
                self.suspend_with(event, at.id)
            }
        }
    }

    /// Makes the intention wait in `event` until that is handled.
    fn suspend_with(&mut self, mut event: Event, id: IntentionId) -> Stepped {
        event.intention = Some(id);
        self.put_down_for_event(id, &mut event);
        self.watch_deadline(&event);
        if self.mind.has_meta_plans {
            self.tell_pending(&event);
        }
        self.add_event(event);
        Stepped::Moved
    }

    /// Pursues a goal; the current step is done when it is achieved.
    pub(crate) fn pursue(&mut self, id: IntentionId, mut goal: Structure) -> StepProgress {
        with_own_source(&mut goal);
        let event = self.event(TriggerOp::Add, TriggerKind::Achieve, goal);
        self.suspend_with(event, id);
        StepProgress::Moved
    }

    /// Stores the variables; those in the event's literal may get other places by that.
    fn put_down_for_event(&mut self, id: IntentionId, event: &mut Event) {
        let beyond = event.caller.iter().any(|(_, slot)| *slot >= self.top);
        if beyond {
            self.top = self.bindings.len();
        }
        self.put_down(Some(id));
    }

    fn achieve_new_focus(&mut self, expr: &Expr, at: At<'_>) -> Stepped {
        let Some(literal) = self.literal(expr, at) else { return not_a_literal(expr) };
        let mut event = self.event(TriggerOp::Add, TriggerKind::Achieve, literal);
        event.caller.clear();
        if let Some(place) = self.place_of_step(at.id) {
            event.set_place(place);
        }
        self.watch_deadline(&event);
        if self.mind.has_meta_plans {
            self.tell_pending(&event);
        }
        self.add_event(event);
        Stepped::Next
    }

    fn place_of_step(&self, id: IntentionId) -> Option<GoalPlace> {
        let frame = self.mind.intentions.find(id)?.frames.last()?;
        let line = self.code_of(id)?.body().sources.get(frame.pc as usize)?.line;
        Some(GoalPlace::Plan(frame.plan, line))
    }

    fn test(&mut self, formula: &Formula, literal: Option<&Expr>, at: At<'_>) -> Stepped {
        if self.first(formula, at) {
            return Stepped::Next;
        }
        if let Some(literal) = literal.and_then(|expr| self.literal(expr, at)) {
            let event = self.event(TriggerOp::Add, TriggerKind::Test, literal);
            if self.has_candidates(&event.trigger()) || self.has_scoped_candidates(&event, at.id) {
                return self.suspend_with(event, at.id);
            }
        }
        let tested = self.current_source(at.id).map(|(step, ..)| super::failure::written(&step.term));
        Stepped::Failed(Failure::new("test_goal_failed", format!("Failed to test '{}'", tested.unwrap_or_default())))
    }

    fn add(&mut self, expr: &Expr, mode: AddMode, at: At<'_>) -> Stepped {
        if let Expr::Const(Value::Term(_)) | Expr::Quote(_) = expr
            && let Some(done) = self.add_code(expr, mode, at)
        {
            return done;
        }
        let Some(literal) = self.literal(expr, at) else { return not_a_literal(expr) };
        self.add_literal(literal, mode, at)
    }

    pub(super) fn add_literal(&mut self, literal: Structure, mode: AddMode, at: At<'_>) -> Stepped {
        let Event { literal, open, caller, .. } = self.event(TriggerOp::Add, TriggerKind::Belief, literal);
        let Some(changed) = self.mind.beliefs.add(literal, mode == AddMode::End) else {
            return Stepped::Next;
        };
        let mut event = Event::external(TriggerOp::Add, TriggerKind::Belief, changed);
        (event.open, event.caller) = (open, caller);
        if mode == AddMode::NewFocus || !self.mind.options.same_focus {
            event.caller.clear();
            self.add_event(event);
            return Stepped::Next;
        }
        if self.is_unheard(at.id, &event.trigger()) {
            return Stepped::Unheard;
        }
        event.intention = Some(at.id);
        self.put_down_for_event(at.id, &mut event);
        self.add_event(event);
        Stepped::Moved
    }

    /// Executes `+{plan}` or `+{rule}`.
    fn add_code(&mut self, expr: &Expr, mode: AddMode, at: At<'_>) -> Option<Stepped> {
        let value = self.value(expr, at);
        let source = Value::term("source", [Value::atom("self")]);
        match self.add_plan_value(&value, &source, mode != AddMode::End) {
            Ok(true) => Some(Stepped::Next),
            Ok(false) => None,
            Err(failure) => Some(Stepped::Failed(failure)),
        }
    }

    fn delete(&mut self, expr: &Expr, new_focus: bool, at: At<'_>) -> Stepped {
        if let Expr::Const(Value::Term(_)) | Expr::Quote(_) = expr {
            let value = self.value(expr, at);
            if self.remove_plan_value(&value) {
                return Stepped::Next;
            }
        }
        let Some(literal) = self.literal(expr, at) else { return not_a_literal(expr) };
        self.delete_literal(&literal, new_focus || !self.mind.options.same_focus, at)
    }

    pub(super) fn delete_literal(&mut self, literal: &Structure, new_focus: bool, at: At<'_>) -> Stepped {
        let Some(changed) = self.mind.beliefs.delete(literal, self.bindings, self.image) else { return Stepped::Next };
        let mut event = self.event(TriggerOp::Delete, TriggerKind::Belief, changed);
        if new_focus {
            event.caller.clear();
            self.add_event(event);
            return Stepped::Next;
        }
        if event.open == 0 && self.is_unheard(at.id, &event.trigger()) {
            return Stepped::Unheard;
        }
        event.intention = Some(at.id);
        self.put_down_for_event(at.id, &mut event);
        self.add_event(event);
        Stepped::Moved
    }

    fn replace(&mut self, expr: &Expr, at: At<'_>) -> Stepped {
        let Some(literal) = self.literal(expr, at) else { return not_a_literal(expr) };
        self.replace_literal(literal, at)
    }

    pub(super) fn replace_literal(&mut self, literal: Structure, at: At<'_>) -> Stepped {
        let deleted = self.delete_old(&literal);
        if let Some(deleted) = deleted {
            let event = step_event_of(TriggerOp::Delete, deleted, TriggerKind::Belief);
            if !self.is_unheard(at.id, &event.trigger()) {
                self.add_event(event);
            }
        }
        self.add_literal(literal, AddMode::Front, at)
    }

    /// Deletes the belief that a literal replaces: the first of its predicate, whatever its arguments.
    fn delete_old(&mut self, literal: &Structure) -> Option<Structure> {
        if literal.annots.iter().all(whimbrel_acl::Annot::is_ground) {
            return self.mind.beliefs.delete_first(crate::code::Key::of(literal), &literal.annots, self.image);
        }
        let mark = self.bindings.mark();
        let base = self.bindings.extend(literal.args.len() as u32);
        let anonymous = (0..literal.args.len() as u32)
            .map(|i| Value::Var(whimbrel_acl::Var { slot: base + i, name: whimbrel_acl::sym::ANY }));
        let annots = literal.annots.clone();
        let pattern = Structure::full(literal.namespace, literal.negated, literal.functor, anonymous.collect(), annots);
        let deleted = self.mind.beliefs.delete(&pattern, self.bindings, self.image);
        self.bindings.undo(mark);
        deleted
    }

    fn constraint(&mut self, formula: &Formula, at: At<'_>) -> Stepped {
        if self.first(formula, at) {
            return Stepped::Next;
        }
        let (text, place) = match self.current_source(at.id) {
            Some((step, line, file)) => (super::failure::written(&step.term), format!("file:{file}:{line}")),
            None => Default::default(),
        };
        Stepped::Failed(Failure::new("constraint_failed", format!("Constraint {text} was not satisfied ({place})")))
    }

    fn act_on_environment(&mut self, expr: &Expr, at: At<'_>) -> Stepped {
        let action = self.value(expr, at);
        if levels::noted() { unfit() } else { self.request(action, at) }
    }

    fn request(&mut self, action: Value, at: At<'_>) -> Stepped {
        self.put_down(Some(at.id));
        self.request_action(at.id, action);
        Stepped::Moved
    }

    /// Executes the step that a variable holds.
    fn dynamic(&mut self, kind: StepKind, expr: &Expr, at: At<'_>) -> Stepped {
        let value = self.value(expr, at);
        if levels::noted() {
            return unfit();
        }
        if super::failure::is_unbound(&value) {
            let place = self.current_source(at.id).map(|(_, line, file)| format!("file:{file}:{line}: "));
            let message = format!("{}Variable '{value}' must be ground.", place.unwrap_or_default());
            return Stepped::Failed(Failure::new("body_var_without_value", message));
        }
        if crate::syntax::quote::is_body(&value) {
            if kind != StepKind::Variable && kind != StepKind::Action {
                let message = format!("The operator is lost with the variable unified with a plan body {value}.");
                return Stepped::Failed(Failure::new("body_var_with_op", message));
            }
            return self.splice(value, at);
        }
        if !value.is_literal() && kind != StepKind::Test && kind != StepKind::Constraint {
            let message = format!("Variable must be a Literal and not '{value}'.");
            return Stepped::Failed(Failure::new("body_var_not_literal", message));
        }
        let kind = match kind {
            StepKind::Variable | StepKind::Action => dynamic_kind(&value),
            other => other,
        };
        match crate::code::compile::op_of_literal(kind, &value, self.image, at.base) {
            Some(BodyOp::Dynamic(..)) | None => {
                Stepped::Failed(Failure::new("body_var_not_literal", format!("'{value}' cannot be executed.")))
            }
            Some(op) => self.execute(&op, at),
        }
    }

    /// Continues with a body that was data, then after the variable that held it.
    fn splice(&mut self, value: Value, at: At<'_>) -> Stepped {
        match self.run_code(at.id, value) {
            Ok(()) => Stepped::Moved,
            Err(failure) => Stepped::Failed(failure),
        }
    }

    /// Continues with a value as code, a body or a step in the variables of the innermost frame. The current step is
    /// done when its last step is. The first step is executed now.
    ///
    /// # Errors
    /// Returns an error if the value is no code.
    pub(crate) fn run_code(&mut self, id: IntentionId, value: Value) -> Result<(), Failure> {
        let base = self.mind.intentions.find(id).and_then(|i| i.frames.last()).map_or(0, |frame| frame.base);
        let Some(body) = crate::code::compile::body_of_value(&value, self.image, base) else {
            return Err(Failure::new("body_var_not_literal", format!("'{value}' cannot be executed.")));
        };
        self.put_down(Some(id));
        if let Some(frame) = self.mind.intentions.find_mut(id).and_then(|i| i.frames.last_mut()) {
            let return_to = frame.pc + 1;
            frame.extra_mut().splices.push(Splice { body: Arc::new(body), source: value, return_to });
            frame.pc = 0;
        }
        self.step(id);
        Ok(())
    }

    /// Returns the term of an intention's current step as written, in the variables of the intention.
    pub(crate) fn step_value(&self, id: IntentionId) -> Option<Value> {
        let (step, _, _) = self.current_source(id)?;
        Some(self.term_of_plan(id, &step.term))
    }

    /// Builds a term as a value, with the variables of the current plan that have the same names. Others are in no
    /// slot.
    pub(crate) fn term_of_plan(&self, id: IntentionId, term: &crate::syntax::ast::Term) -> Value {
        let frame = self.mind.intentions.find(id).and_then(|i| i.frames.last());
        let plan = frame.and_then(|frame| self.mind.plans.plan_at(self.image, frame.plan, &frame.path));
        let base = frame.map_or(0, |frame| frame.base);
        let names: Numbering<Symbol> = plan.iter().flat_map(|plan| plan.names.iter().copied()).collect();
        crate::syntax::quote::quote(term, &mut |name| {
            if let Some(slot) = crate::code::compile::slot_in_name(name) {
                return whimbrel_acl::Var { slot, name: Symbol::new(&format!("_{slot}")) };
            }
            whimbrel_acl::Var { slot: names.find(name).map_or(u32::MAX, |place| base + place), name }
        })
    }

    pub(super) fn call(&mut self, call: &CallExpr, at: At<'_>) -> Stepped {
        match call.action {
            InternalAction::Query(id) => self.query_action(id, call, at),
            InternalAction::Step(action) => self.step_action(action, call, at),
            InternalAction::Foreign => self.begin_foreign(call, at),
            InternalAction::WrongCount => Stepped::Failed(Failure::wrong_count(call)),
            InternalAction::Unknown if call.name.as_str().starts_with('.') => {
                Stepped::Failed(Failure::unknown_action(call.name))
            }
            // A call of no internal action is an action on the environment.
            InternalAction::Unknown => {
                let solver = solver!(self);
                let args = build_args(&solver, self.bindings, at.base, at.names, &call.args);
                if levels::noted() { unfit() } else { self.request(Value::term(call.name, args), at) }
            }
        }
    }

    /// Executes a step that needs no intention. Returns `None`, and does nothing, for any other step. Beliefs are
    /// changed if the event would be `unheard` when no plan is for it.
    #[inline(always)]
    pub(super) fn execute_ahead(&mut self, op: &BodyOp, unheard: bool, at: At<'_>) -> Option<StepEffect> {
        let done = match op {
            BodyOp::Send(message) => self.send_directly(message, at).then_some(StepEffect::Alone),
            BodyOp::Constraint(formula) => self.constraint_ahead(formula, at).then_some(StepEffect::Alone),
            BodyOp::Plain(step, site) if unheard && *step != PlainStep::Achieve => self.plain_ahead(*step, site, at),
            _ => None,
        };
        if done.is_none() {
            // If the step fails, which takes an intention, the excess is noted again there.
            levels::take();
        }
        done
    }

    /// Tests a relation. The test has no visible effect, and is repeated if the relation does not hold.
    fn constraint_ahead(&mut self, formula: &Formula, at: At<'_>) -> bool {
        let Formula::Relation(sides) = formula else { return false };
        let calls_nothing = |side| calls_nothing(self.bindings, at.base, side);
        if ![&sides.left, &sides.right].into_iter().all(calls_nothing) {
            return false;
        }
        let mark = self.bindings.mark();
        let holds = self.first(formula, at);
        if levels::noted() {
            self.bindings.undo(mark);
            return false;
        }
        self.settle_all();
        holds
    }

    fn query_action(&mut self, id: QueryId, call: &CallExpr, at: At<'_>) -> Stepped {
        let solver = solver!(self);
        let args = build_args(&solver, self.bindings, at.base, at.names, &call.args);
        if levels::noted() {
            return unfit();
        }
        let mut query =
            ActionCall { solver: &solver, bindings: self.bindings, base: at.base, names: at.names, args: &args, call };
        let Some(action) = self.actions.queries.action(id) else {
            return Stepped::Failed(Failure::unknown_action(call.name));
        };
        let answer = action(&mut query);
        self.mind_memory();
        match answer {
            Ok(QueryAnswer::Yes) => Stepped::Next,
            Ok(QueryAnswer::No) => Stepped::Failed(Failure::said_no()),
            Ok(QueryAnswer::Each(target, mut values)) => {
                either(self.bindings.unify_next(&target, values.as_mut(), open_value))
            }
            Ok(QueryAnswer::Parts(target, mut values)) => {
                either(self.bindings.unify_next(&target, values.as_mut(), |part, _| part))
            }
            Err(failure) => Stepped::Failed(failure),
        }
    }

    fn step_action(&mut self, action: StepId, call: &CallExpr, at: At<'_>) -> Stepped {
        let solver = solver!(self);
        let mut args = SmallVec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(build(&solver, self.bindings, at.base, at.names, arg));
        }
        if levels::noted() {
            return unfit();
        }
        match self.run_step_action(action, args, call, at.id) {
            Ok(true) => Stepped::Next,
            Ok(false) => Stepped::Moved,
            Err(failure) => Stepped::Failed(failure),
        }
    }

    /// Runs an action for an intention in hand. Returns true if it is still there.
    fn run_step_action(
        &mut self,
        action: StepId,
        args: SmallVec<[Value; 4]>,
        call: &CallExpr,
        id: IntentionId,
    ) -> Result<bool, Failure> {
        let run = self.actions.step(action).ok_or_else(|| Failure::unknown_action(call.name))?;
        // Times of an action count from now, not from the beginning of a turn that has lasted a while.
        self.now = self.services.now();
        let result = run(&mut StepCall { cycle: self, intention: id, args, call });
        self.mind_memory();
        let progress = result?;
        let in_hand = progress == StepProgress::Done;
        let left_behind = self.mind.intentions.find(id).is_some_and(|i| i.slots.is_empty());
        if !in_hand && left_behind && !self.bindings.is_empty() {
            self.put_down(Some(id));
        }
        Ok(in_hand)
    }

    /// Executes the effects of a step's formula while the intention is in hand.
    #[cold]
    fn carry_out_in_hand(&mut self, stepped: Stepped, id: IntentionId) -> Stepped {
        if matches!(stepped, Stepped::Moved) {
            // The intention has moved already: see `carry_out_between`.
            return stepped;
        }
        if self.carry_out_effects_of(id) { stepped } else { Stepped::Moved }
    }

    /// Executes effects of formulas that were evaluated while no intention was in hand.
    #[cold]
    pub(super) fn carry_out_between(&mut self) {
        let id = self.mind.awaits_effects.take();
        self.take_up(id);
        if self.carry_out_effects_of(id.unwrap_or(NOBODY)) {
            self.put_down(id);
        }
    }

    /// Executes the effects of formulas. Returns false if the intention is not in hand any more.
    fn carry_out_effects_of(&mut self, id: IntentionId) -> bool {
        let mut in_hand = true;
        self.mind.awaits_effects = None;
        for RequestedStep { action, name, args, slots } in self.bindings.take_effects() {
            if !in_hand {
                self.take_up(None);
            }
            let base = self.bindings.extend(slots);
            let args = args.iter().map(|arg| Bindings::rename(arg, base)).collect();
            let current = if in_hand { id } else { NOBODY };
            let call = CallExpr::bare(name, InternalAction::Step(action));
            match self.run_step_action(action, args, &call, current) {
                Ok(stays) if in_hand => in_hand = stays,
                Ok(_) => self.put_down(None),
                Err(failure) => {
                    let text = format!("{name} in a formula failed: {}", failure.message());
                    self.log(whimbrel_platform::services::LogLevel::Warning, &text);
                }
            }
        }
        in_hand
    }

    fn run_while(&mut self, condition: &Formula, end: u32, at: At<'_>) -> Stepped {
        if !self.in_loop(at) {
            self.enter_loop(at);
        }
        self.next_round(at);
        if self.first(condition, at) {
            return Stepped::Next;
        }
        self.leave_loop(at);
        Stepped::Jump(end)
    }

    fn run_for(&mut self, condition: &Formula, end: u32, at: At<'_>) -> Stepped {
        if !self.in_loop(at) {
            self.enter_loop(at);
            self.collect_solutions(condition, at);
        }
        let Some(solution) = self.next_round(at) else {
            self.leave_loop(at);
            return Stepped::Jump(end);
        };
        let highest = solution.iter().map(|(_, value)| highest_slot(value)).max().unwrap_or(0);
        if highest > self.bindings.len() {
            self.bindings.extend(highest - self.bindings.len());
            self.top = self.bindings.len();
        }
        for (slot, value) in solution {
            self.bindings.set(slot, value);
        }
        Stepped::Next
    }

    fn collect_solutions(&mut self, condition: &Formula, at: At<'_>) {
        let top = self.top;
        let mark = self.bindings.mark();
        let mut solutions = Vec::new();
        let solver = solver!(self);
        solver.each(condition, self.bindings, at.base, at.names, &mut |bindings| {
            let bound = bindings.bound_since(mark).iter().filter(|slot| **slot < top);
            let mut beyond = Numbering::default();
            let solution = bound.map(|slot| (*slot, keep_value(bindings, *slot, top, &mut beyond))).collect();
            solutions.push(solution);
            SearchDecision::More
        });
        self.bindings.undo(mark);
        solutions.reverse();
        let frame = self.mind.intentions.find_mut(at.id).and_then(|i| i.frames.last_mut());
        if let Some(current) = frame.and_then(|frame| frame.extra_mut().loops.last_mut()) {
            current.solutions = solutions;
        }
    }

    fn in_loop(&self, at: At<'_>) -> bool {
        let frame = self.mind.intentions.find(at.id).and_then(|i| i.frames.last());
        frame.is_some_and(|frame| frame.in_loop(frame.pc))
    }

    fn enter_loop(&mut self, at: At<'_>) {
        let saved = self.bindings.from(at.base).to_vec();
        let Some(frame) = self.mind.intentions.find_mut(at.id).and_then(|i| i.frames.last_mut()) else { return };
        let pc = frame.pc;
        let extra = frame.extra_mut();
        let splices = extra.splices.len() as u32;
        extra.loops.push(Loop { pc, splices, saved, solutions: Vec::new() });
    }

    /// Restores the frame's variables to their values before the loop. Returns their values in the next round of a
    /// `for`.
    fn next_round(&mut self, at: At<'_>) -> Option<SmallVec<[(u32, Value); 1]>> {
        let frame = self.mind.intentions.find_mut(at.id).and_then(|i| i.frames.last_mut());
        let current = frame?.extra.as_mut()?.loops.last_mut()?;
        self.bindings.restore(at.base, &current.saved);
        self.top = self.bindings.len();
        current.solutions.pop()
    }

    fn leave_loop(&mut self, at: At<'_>) {
        if self.in_loop(at)
            && let Some(frame) = self.mind.intentions.find_mut(at.id).and_then(|i| i.frames.last_mut())
        {
            frame.extra_mut().loops.pop();
        }
    }

    /// Removes the current step from an intention without executing it, as when an event it waited for is handled.
    pub(crate) fn finish_step_quietly(&mut self, id: IntentionId) {
        self.remove_step(id);
        self.make_ready(id);
    }

    /// Moves an intention past its current step.
    pub(super) fn remove_step(&mut self, id: IntentionId) {
        let Some(code) = self.code_of(id) else { return };
        if let Some(frame) = self.mind.intentions.find_mut(id).and_then(|i| i.frames.last_mut()) {
            frame.pc = code.body().skip_jumps(frame.pc + 1);
        }
    }

    fn code_of(&self, id: IntentionId) -> Option<CurrentCode<'m>> {
        let frame = self.mind.intentions.find(id)?.frames.last()?;
        let splice = frame.extra.as_ref().and_then(|extra| extra.splices.last());
        if let Some(splice) = splice {
            return Some(CurrentCode::Splice(Arc::clone(&splice.body)));
        }
        self.mind.plans.plan_at(self.image, frame.plan, &frame.path).map(CurrentCode::Plan)
    }

    /// Examines the next operation of an intention.
    pub(super) fn next_op<T>(&self, id: IntentionId, look: impl FnOnce(&BodyOp) -> T) -> Option<T> {
        let (code, frame) = (self.code_of(id)?, self.mind.intentions.find(id)?.frames.last()?);
        let body = code.body();
        body.ops.get(body.skip_jumps(frame.pc) as usize).map(look)
    }

    /// Returns true if the innermost frame of an intention has nothing left to do. Code that ran in place of a
    /// variable is left on the way.
    pub(super) fn frame_finished(&mut self, id: IntentionId) -> bool {
        loop {
            let Some(code) = self.code_of(id) else { return true };
            let Some(frame) = self.mind.intentions.find_mut(id).and_then(|i| i.frames.last_mut()) else { return true };
            frame.pc = code.body().skip_jumps(frame.pc);
            if (frame.pc as usize) < code.body().ops.len() {
                return false;
            }
            let Some(splice) = frame.extra.as_mut().and_then(|extra| extra.splices.pop()) else { return true };
            frame.pc = splice.return_to;
        }
    }

    /// Returns the source of an intention's current step, and its line and file, for messages.
    pub(super) fn current_source(
        &self,
        id: IntentionId,
    ) -> Option<(Arc<crate::syntax::ast::BodyStep>, u32, whimbrel_acl::Text)> {
        let code = self.code_of(id)?;
        let frame = self.mind.intentions.find(id)?.frames.last()?;
        let sources = &code.body().sources;
        let source = sources.get(frame.pc as usize)?;
        let relation = source.step.kind == StepKind::Constraint;
        // A relation has no line of its own in Jason: it is reported with that of its body.
        let line = if relation { sources.first().map_or(source.line, |first| first.line) } else { source.line };
        Some((Arc::clone(&source.step), line, code.body().file.clone()))
    }

    /// Examines the formula that an intention waits for: the first argument of its current step.
    pub(super) fn with_wait_condition<R>(
        &self,
        id: IntentionId,
        look: impl FnOnce(&Formula, &Frame, &[Value]) -> R,
    ) -> Option<R> {
        let intention = self.mind.intentions.find(id)?;
        let frame = intention.frames.last()?;
        let code = self.code_of(id)?;
        let BodyOp::Call(call) = code.body().ops.get(frame.pc as usize)? else { return None };
        Some(look(call.formulas.first()?.as_ref()?, frame, &intention.slots))
    }

    /// Tests the formula in the first argument of the current step, for a wait.
    pub(super) fn wait_condition_holds(&mut self, id: IntentionId) -> bool {
        let Some(code) = self.code_of(id) else { return false };
        let Some(frame) = self.mind.intentions.find(id).and_then(|i| i.frames.last()) else { return false };
        let (pc, base) = (frame.pc, frame.base);
        let Some(plan) = self.mind.plans.plan_at(self.image, frame.plan, &frame.path) else { return false };
        let Some(BodyOp::Call(call)) = code.body().ops.get(pc as usize) else { return false };
        let Some(Some(formula)) = call.formulas.first() else { return false };
        self.take_up(Some(id));
        let at = At { id, base, names: &plan.names };
        let holds = self.first(formula, at);
        self.put_down(Some(id));
        holds
    }
}

fn dynamic_kind(value: &Value) -> StepKind {
    match value.functor() {
        Some(functor) if crate::syntax::is_internal_action(functor) => StepKind::InternalAction,
        _ => StepKind::Action,
    }
}

fn either(holds: bool) -> Stepped {
    if holds { Stepped::Next } else { Stepped::Failed(Failure::said_no()) }
}

fn not_a_literal(expr: &Expr) -> Stepped {
    Stepped::Failed(Failure::new("body_var_not_literal", format!("{expr:?} is no literal")))
}

fn highest_slot(value: &Value) -> u32 {
    crate::logic::variables(value).iter().map(|var| var.slot + 1).max().unwrap_or(0)
}

/// Returns the present value of a slot, variables above `top` moved to just above it.
fn keep_value(bindings: &crate::logic::Bindings, slot: u32, top: u32, beyond: &mut Numbering) -> Value {
    let value = bindings.resolve(bindings.slot(slot));
    if value.is_ground() {
        return value;
    }
    crate::logic::map_vars(&value, &mut |var| {
        if var.slot < top {
            return Value::Var(var);
        }
        let place = beyond.number(var.slot);
        Value::Var(whimbrel_acl::Var { slot: top + place, name: var.name })
    })
}
