//! Selection of a plan for an event, and its intention.

use whimbrel_acl::{Annot, Structure, Symbol, Value, Var, sym};
use whimbrel_platform::limits;
use whimbrel_platform::services::LogLevel;

use super::cycle::{Handled, is_scoped};
use super::literals::anonymous;
use super::step_outcome::{At, NOBODY};
use super::{Cycle, solver};
use crate::code::{CompiledPlan, Expr, Formula, Head, PlanRef, TriggerKind, TriggerOp};
use crate::logic::{Bindings, close_gap, levels, match_annots, shift};
use crate::mind::{BeliefBase, Event, Frame, FrameExtra, IntentionId, PlanHold, Selected};
use crate::prover::{Solver, build_annots, match_expr};

type Path = smallvec::SmallVec<[u32; 2]>;

/// Plan chosen for an event; its slots are on top of the bindings.
pub(super) struct PlanChoice<'m> {
    pub(super) plan: PlanHold<'m>,
    pub(super) place: PlanRef,
    pub(super) path: Path,
    pub(super) base: u32,
}

impl<'m> Cycle<'m> {
    pub(super) fn handle_event(&mut self, event: Event) -> Handled {
        if self.mind.scoped_frames > 0 && event.intention.is_none() && event.kind == TriggerKind::Belief {
            self.offer_to_sub_plans(&event);
        }
        self.take_up(event.intention);
        let (choice, relevant) = match event.selected.as_deref() {
            Some(selected) => self.selected(selected),
            None if self.image.asks_desires || !self.mind.plans.is_original() => {
                self.mind.selected_event = Some(Box::new(event.clone()));
                let found = self.find_plan(&event);
                self.mind.selected_event = None;
                found
            }
            None => self.find_plan(&event),
        };
        match choice {
            Some(choice) => {
                if event.intention.is_some() || !self.run_first_step(&choice) {
                    self.intend(event, choice);
                } else if choice.plan.body.is_last(0) {
                    // A plan of one step that is done: it never needed an intention.
                    self.top = 0;
                    self.bindings.truncate(0);
                    self.put_down(None);
                } else {
                    self.intend_at(event, choice, 1);
                }
                Handled::Yes
            }
            None => {
                self.put_down(event.intention);
                self.no_plan(event, relevant)
            }
        }
    }

    /// Makes the intention's variables current; fresh ones if there is no intention.
    pub(crate) fn take_up(&mut self, id: Option<IntentionId>) {
        let slots = match id.and_then(|id| self.mind.intentions.find_mut(id)) {
            Some(intention) => std::mem::take(&mut intention.slots),
            None => {
                self.scratch.clear();
                std::mem::take(self.scratch)
            }
        };
        self.top = slots.len() as u32;
        self.bindings.resume(slots);
    }

    /// Puts the current variables back, with new bindings.
    pub(crate) fn put_down(&mut self, id: Option<IntentionId>) {
        self.settle();
        let slots = self.bindings.suspend();
        match id.and_then(|id| self.mind.intentions.find_mut(id)) {
            Some(intention) => intention.slots = slots,
            None => *self.scratch = slots,
        }
    }

    /// Drops the variables that proofs added, after renumbering those that the intention's variables refer to.
    pub(super) fn settle(&mut self) {
        settle(self.bindings, self.top);
    }

    /// Drops variables like [`Self::settle`]; those left belong to the intention.
    #[inline]
    pub(super) fn settle_all(&mut self) {
        self.settle();
        self.top = self.bindings.len();
    }

    fn find_plan(&mut self, event: &Event) -> (Option<PlanChoice<'m>>, bool) {
        self.context_steps = limits::PROOF_STEPS_MAX;
        let mut relevant = false;
        if self.mind.scoped_frames > 0
            && let Some(id) = event.intention
        {
            let (found, any) = self.find_sub_plan(event, id);
            relevant |= any;
            if found.is_some() {
                return (found, true);
            }
        }
        let trigger = event.trigger();
        let candidates = self.mind.plans.candidates_held(self.image, &trigger);
        let base = self.bindings.len();
        let closed = event.open == 0;
        if closed {
            event.literal.args.iter().for_each(|arg| self.bindings.push(arg.clone()));
        }
        relevant |= !candidates.all().is_empty();
        for place in candidates.for_args(&event.literal.args).iter().copied() {
            let Some(plan) = self.mind.plans.plan(self.image, place) else { continue };
            if plan.rejects(&event.literal.args) {
                continue;
            }
            let found = match &plan.head {
                Head::Literal { .. } if closed => self.applies(&plan, base, &[], &event.literal.annots).then_some(base),
                _ => self.try_plan(&plan, event, None),
            };
            if let Some(base) = found {
                return (Some(PlanChoice { plan, place, path: Path::new(), base }), true);
            }
        }
        self.bindings.truncate(base);
        (None, relevant)
    }

    /// Finds a sub-plan in the plan of the event's intention, then in the plans around it.
    fn find_sub_plan(&mut self, event: &Event, id: IntentionId) -> (Option<PlanChoice<'m>>, bool) {
        let Some(frame) = self.mind.intentions.find(id).and_then(|i| i.frames.last()) else { return (None, false) };
        let (place, mut path) = (frame.plan, frame.path.clone());
        let (trigger, mut relevant) = (event.trigger(), false);
        loop {
            if let Some(scope) = self.mind.plans.plan_at(self.image, place, &path) {
                for (number, plan) in scope.sub_plans.iter().enumerate() {
                    if !plan.has_trigger(&trigger) {
                        continue;
                    }
                    relevant = true;
                    let mut path = path.clone();
                    path.push(number as u32);
                    let plan = self.mind.plans.plan_at(self.image, place, &path);
                    let Some(plan) = plan else { continue };
                    let outer = self.outer_slots(id, place, &path);
                    if let Some(base) = self.try_plan(&plan, event, outer.as_deref()) {
                        return (Some(PlanChoice { plan, place, path, base }), true);
                    }
                }
            }
            if path.pop().is_none() {
                return (None, relevant);
            }
        }
    }

    /// Returns the slots of the frame that a sub-plan at `path` belongs to, as they were when its plan was chosen.
    pub(super) fn outer_slots(&self, id: IntentionId, place: PlanRef, path: &[u32]) -> Option<Vec<Value>> {
        let (_, outer) = path.split_last()?;
        let intention = self.mind.intentions.find(id)?;
        let frame =
            intention.frames.iter().rev().find(|frame| frame.plan == place && frame.path.as_slice() == outer)?;
        frame.extra.as_ref().map(|extra| extra.chosen_slots.clone())
    }

    /// Tests a plan for relevance and applicability. Returns the first of its slots on top of the bindings; `None`,
    /// with the bindings as before, if it does not apply.
    pub(super) fn try_plan(&mut self, plan: &CompiledPlan, event: &Event, outer: Option<&[Value]>) -> Option<u32> {
        let mark = self.bindings.mark();
        let base = self.bindings.extend(plan.slots);
        self.bindings.extend(event.open);
        if let Some(outer) = outer {
            for (own, theirs) in &plan.shared {
                if let Some(value) = outer.get(*theirs as usize).filter(|value| value.is_ground()) {
                    self.bindings.set(base + own, value.clone());
                }
            }
        }
        let solver = solver!(self).within(self.context_steps);
        let applicable = is_relevant(&solver, self.bindings, plan, event, base, outer.is_some())
            && solver.first(&plan.context, self.bindings, base, &plan.names)
            && !levels::noted();
        if !applicable {
            if levels::noted() {
                self.tell_no_plan_for_depth(plan);
                levels::take();
            }
            self.bindings.undo(mark);
            return None;
        }
        settle(self.bindings, base + plan.slots + event.open);
        Some(base)
    }

    fn selected(&mut self, selected: &Selected) -> (Option<PlanChoice<'m>>, bool) {
        let (place, path, slots) = match selected {
            Selected::Plan { plan, path, slots } => (*plan, path, slots),
            Selected::Nothing { relevant } => return (None, *relevant),
        };
        let base = self.bindings.len();
        slots.iter().for_each(|value| self.bindings.push(value.clone()));
        let plan = self.mind.plans.plan_at(self.image, place, path);
        (plan.map(|plan| PlanChoice { plan, place, path: path.clone(), base }), true)
    }

    /// Executes the first step of a plan for an external event at once, if this cycle would execute it anyway and it
    /// needs no intention.
    fn run_first_step(&mut self, choice: &PlanChoice<'m>) -> bool {
        let mind = &*self.mind;
        let next_anyway = mind.ready.is_empty() && mind.feedback.is_empty() && mind.atomic.is_none();
        // The program may look for the intention.
        let asked_for = mind.has_meta_plans || self.image.asks_intentions;
        if !next_anyway || asked_for || self.bindings.has_effects() || mind.scoped_frames > 0 || choice.plan.atomic {
            return false;
        }
        let Some(op) = choice.plan.body.ops.first() else { return false };
        if choice.plan.goal_condition.is_some() || !choice.plan.sub_plans.is_empty() {
            return false;
        }
        self.top = self.bindings.len();
        let at = At { id: NOBODY, base: choice.base, names: &choice.plan.names };
        let done = self.execute_ahead(op, false, at).is_some();
        self.acted = done;
        done
    }

    fn intend(&mut self, event: Event, choice: PlanChoice<'m>) {
        self.intend_at(event, choice, 0);
    }

    /// Adds a plan to the intentions, beginning with the operation at `pc`.
    pub(super) fn intend_at(&mut self, event: Event, choice: PlanChoice<'m>, pc: u32) {
        if self.mind.has_meta_plans {
            self.tell_executing(&event);
        }
        let id = match event.intention {
            Some(id) => id,
            None => self.begin_intention(),
        };
        let (external, atomic) = (event.intention.is_none(), choice.plan.atomic);
        let may_replace = !external && self.mind.options.tail_calls && event.op == TriggerOp::Add;
        let mut frame = self.frame(event, &choice);
        frame.pc = choice.plan.body.skip_jumps(pc);
        let slots = self.bindings.suspend();
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        let spare = std::mem::replace(&mut intention.slots, slots);
        if external {
            *self.scratch = spare;
        } else if may_replace {
            self.replace_tail_call(id, &mut frame);
        }
        self.push_frame(id, frame, atomic);
        self.make_ready(id);
        if self.bindings.has_effects() {
            self.mind.awaits_effects = Some(id);
        }
    }

    pub(super) fn begin_intention(&mut self) -> IntentionId {
        self.mind.intentions.begin()
    }

    fn push_frame(&mut self, id: IntentionId, frame: Frame, atomic: bool) {
        if is_scoped(&frame) {
            self.mind.scoped_frames += 1;
        }
        if let Some(intention) = self.mind.intentions.find_mut(id) {
            intention.atomic_frames += u32::from(atomic);
            if intention.frames.capacity() == 0 {
                intention.frames.reserve_exact(1);
            }
            intention.frames.push(frame);
        }
    }

    fn frame(&self, mut event: Event, choice: &PlanChoice<'m>) -> Frame {
        let plan = &choice.plan;
        let scoped = plan.goal_condition.is_some() || !plan.sub_plans.is_empty();
        let trigger = event.trigger();
        let literal = matches!(plan.head, Head::Any(_)).then(|| event.literal.clone());
        let extra = (scoped || literal.is_some()).then(|| {
            let chosen_slots = if scoped { self.bindings.from(choice.base).to_vec() } else { Vec::new() };
            Box::new(FrameExtra { literal, scoped, chosen_slots, ..FrameExtra::default() })
        });
        Frame {
            plan: choice.place,
            path: choice.path.clone(),
            pc: 0,
            base: choice.base,
            slots: plan.slots,
            open: event.open,
            bound: self.bindings.known(choice.base + plan.slots, event.open),
            trigger,
            annots: std::mem::take(&mut event.literal.annots),
            caller: if event.intention.is_some() { event.caller } else { Default::default() },
            keep: event.keep,
            extra,
        }
    }

    /// Replaces a plan's frame by that of its last goal, if both are for the same predicate (tail-call optimisation).
    fn replace_tail_call(&mut self, id: IntentionId, frame: &mut Frame) {
        let Some(top) = self.mind.intentions.find(id).map(|i| i.frames.len().wrapping_sub(1)) else { return };
        let Some(plan) = self.plan_of(id, top) else { return };
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        let Some(below) = intention.frames.last() else { return };
        let same_goal = below.trigger.is_same_goal(&frame.trigger);
        let last_step = below.extra.as_ref().is_none_or(|extra| extra.loops.is_empty() && extra.splices.is_empty())
            && plan.body.is_last(below.pc);
        let forked = intention.forks.last().is_some_and(|mark| mark.frames as usize >= intention.frames.len());
        if !same_goal || !last_step || forked || is_scoped(below) {
            return;
        }
        if !below.caller.is_empty() && !pass_on_results(intention, frame) {
            return;
        }
        let Some(below) = intention.frames.pop() else { return };
        intention.atomic_frames -= u32::from(plan.atomic);
        if below.caller.is_empty() {
            frame.caller.clear();
        }
        close_gap(&mut intention.slots, below.base, frame.base);
        if let Some(extra) = &mut frame.extra {
            shift(&mut extra.chosen_slots, below.base, frame.base);
        }
        frame.base = below.base;
        if self.mind.has_meta_plans {
            self.tell_finished_tail(&below, id);
        }
    }

    /// Handles an event without a plan: a goal fails; a belief's event is of no interest.
    fn no_plan(&mut self, event: Event, relevant: bool) -> Handled {
        if event.is_goal() && event.op != TriggerOp::Meta {
            self.goal_without_plan(event, relevant);
            return Handled::Yes;
        }
        match event.intention {
            Some(id) => {
                self.finish_step_quietly(id);
                Handled::Yes
            }
            None if self.mind.options.requeue && event.op != TriggerOp::Meta => {
                self.mind.events.push(event);
                Handled::Yes
            }
            None => Handled::Dropped,
        }
    }

    pub(super) fn goal_without_plan(&mut self, event: Event, relevant: bool) {
        let kind = if relevant { "applicable" } else { "relevant" };
        let goal = event.display();
        let message = format!("Found a goal for which there is no {kind} plan: {goal}");
        let annots = super::failure::error_annots(&format!("no_{kind}"), Value::from(message));
        let is_alone = event.intention.is_none() && event.op == TriggerOp::Add;
        if self.failure_note.is_wanted() && event.op == TriggerOp::Add {
            // Within an intention, its other plans may handle the failure: that is noted then.
            let (handled, report) = (self.has_plan_for_failure(&event), self.goal_report(&event, relevant));
            self.note_failure(event.intention, handled, &report);
        }
        let report = (is_alone && !self.has_plan_for_failure(&event)).then(|| self.goal_report(&event, relevant));
        if !self.fail_event(event, annots, &format!("no_{kind}_plan"))
            && let Some(report) = report
        {
            self.log(LogLevel::Severe, &report);
        }
    }
}

/// Returns true if a plan is certainly not applicable, without binding anything. Its context begins with a belief, and
/// there is none, or only one with another constant. That pays where another plan is tried next.
pub(super) fn is_out_of_place(plan: &CompiledPlan, beliefs: &BeliefBase) -> bool {
    let first = match &plan.context {
        Formula::And(formulas) => formulas.first(),
        formula => Some(formula),
    };
    let Some(Formula::Query(term)) = first else { return false };
    let Some(table) = beliefs.table_at(&term.key, &term.hint) else { return true };
    // Arguments behind a call, which may print, are checked after it.
    let is_plain = |(expr, _): &(&Expr, &Value)| matches!(expr, Expr::Const(_) | Expr::Slot(_));
    let is_other_than = |fact: &Structure| {
        term.args.iter().zip(&fact.args).take_while(is_plain).any(|(expr, value)| expr.is_other(value))
    };
    table.is_empty() || table.only_fact().is_some_and(is_other_than)
}

/// Matches a plan's trigger with an event. The plan's slots begin at `base`, the event's variables follow them.
fn is_relevant(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    plan: &CompiledPlan,
    event: &Event,
    base: u32,
    inherits: bool,
) -> bool {
    let event_base = base + plan.slots;
    match &plan.head {
        Head::Any(expr) => {
            let literal = Bindings::rename(&event.literal.clone().into_value(), event_base);
            match_expr(solver, bindings, base, &plan.names, expr, &literal)
        }
        Head::Literal { args, annots, annots_tail, .. } => {
            for (place, arg) in event.literal.args.iter().enumerate() {
                let slot = base + place as u32;
                let value = match arg {
                    Value::Num(n) => Value::Num(*n),
                    Value::Atom(name) => Value::Atom(*name),
                    Value::Var(var) => {
                        let name = plan.name_of_argument(place as u32).unwrap_or_else(|| anonymous(var.slot));
                        Value::Var(Var { slot: event_base + var.slot, name })
                    }
                    arg if event.open > 0 => Bindings::rename(arg, event_base),
                    arg => arg.clone(),
                };
                if inherits && !matches!(bindings.slot(slot), Value::Null) {
                    let var = Value::Var(Var { slot, name: sym::ANY });
                    if !bindings.unify(&var, &value) {
                        return false;
                    }
                } else {
                    bindings.set(slot, value);
                }
            }
            let fits = args.iter().enumerate().all(|(place, pattern)| {
                let Some(pattern) = pattern else { return true };
                let value = bindings.slot(base + place as u32).clone();
                match_expr(solver, bindings, base, &plan.names, pattern, &value)
            });
            if !fits || (annots.is_empty() && annots_tail.is_none()) {
                return fits;
            }
            head_annots(solver, bindings, plan, event, base)
        }
    }
}

/// Matches the trigger of a plan with a goal and its annotations. The plan's slots begin at `base`, with the goal's
/// arguments in the first ones. Arguments that [`CompiledPlan::rejects`] checks are known to match.
pub(super) fn matches_head(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    plan: &CompiledPlan,
    theirs: &[Annot],
    base: u32,
) -> bool {
    let Head::Literal { args, annots, annots_tail, .. } = &plan.head else { return false };
    for (place, pattern) in args.iter().enumerate() {
        let Some(pattern) = pattern else { continue };
        let value = bindings.slot(base + place as u32);
        if matches!(
            (pattern, value),
            (Expr::Const(Value::Num(_)), Value::Num(_)) | (Expr::Const(Value::Atom(_)), Value::Atom(_))
        ) {
            continue;
        }
        let value = value.clone();
        if !match_expr(solver, bindings, base, &plan.names, pattern, &value) {
            return false;
        }
    }
    if annots.is_empty() && annots_tail.is_none() {
        return true;
    }
    if let Some(fits) = match_source(bindings, plan, theirs, base) {
        return fits;
    }
    let wanted = head_pattern(solver, bindings, plan, base);
    match_annots(bindings, &wanted, theirs)
}

/// Matches `[source(V)]` without building it; `None` if the plan has other annotations.
#[inline]
fn match_source(bindings: &mut Bindings, plan: &CompiledPlan, theirs: &[Annot], base: u32) -> Option<bool> {
    let Head::Literal { source: Some(slot), .. } = &plan.head else { return None };
    let [Annot::Source(name)] = theirs else { return None };
    match bindings.slot(base + slot) {
        Value::Null => {
            bindings.bind_ground(base + slot, Value::Atom(*name));
            Some(true)
        }
        Value::Atom(known) => Some(known == name),
        _ => None,
    }
}

/// Builds the annotations of a plan's trigger.
fn head_pattern(solver: &Solver<'_>, bindings: &mut Bindings, plan: &CompiledPlan, base: u32) -> whimbrel_acl::Annots {
    let Head::Literal { key, annots, annots_tail, .. } = &plan.head else { return whimbrel_acl::Annots::new() };
    let (annots, annots_tail) = (annots.clone(), annots_tail.clone());
    let pattern = crate::code::TermExpr { key: *key, args: Vec::new(), annots, annots_tail, hint: Default::default() };
    build_annots(solver, bindings, base, &plan.names, &pattern)
}

fn head_annots(solver: &Solver<'_>, bindings: &mut Bindings, plan: &CompiledPlan, event: &Event, base: u32) -> bool {
    if event.open == 0
        && let Some(fits) = match_source(bindings, plan, &event.literal.annots, base)
    {
        return fits;
    }
    let wanted = head_pattern(solver, bindings, plan, base);
    if event.open == 0 {
        return match_annots(bindings, &wanted, &event.literal.annots);
    }
    let event_base = base + plan.slots;
    let theirs = crate::logic::map_annots(&event.literal.annots, &mut |var| {
        Value::Var(Var { slot: var.slot + event_base, name: var.name })
    });
    match_annots(bindings, &wanted, &theirs)
}

/// Drops the variables above `top`; those that a retained variable's value refers to get places just above `top`.
#[inline]
pub(super) fn settle(bindings: &mut Bindings, top: u32) {
    if bindings.len() == top {
        bindings.forget_trail();
    } else {
        drop_above(bindings, top);
    }
}

fn drop_above(bindings: &mut Bindings, top: u32) {
    if bindings.is_trail_ground(top) {
        bindings.truncate(top);
        bindings.forget_trail();
        return;
    }
    let mut kept = crate::numbering::Numbering::default();
    let trail = bindings.take_trail();
    for slot in trail.iter().copied() {
        if slot >= top || bindings.slot(slot).is_ground() {
            continue;
        }
        let value = bindings.resolve(bindings.slot(slot));
        let value = crate::logic::map_vars(&value, &mut |var| {
            if var.slot < top {
                return Value::Var(var);
            }
            let place = kept.number(var.slot);
            Value::Var(Var { slot: top + place, name: var.name })
        });
        bindings.set(slot, value);
    }
    bindings.truncate(top);
    bindings.extend(kept.len() as u32);
    bindings.return_trail(trail);
}

/// Passes on the results that the frame below waits for, before a tail call replaces a frame. Each is either known
/// and given now, or one of the new frame's variables and comes from there. Returns false if one is neither.
fn pass_on_results(intention: &mut crate::mind::Intention, frame: &mut Frame) -> bool {
    let Some(top) = intention.frames.last() else { return false };
    let mut bindings = Bindings::default();
    bindings.resume(std::mem::take(&mut intention.slots));
    let mut passed = smallvec::SmallVec::<[(u32, u32); 2]>::new();
    let mut known = Vec::new();
    let mut possible = true;
    for (var, caller_slot) in &top.caller {
        let slot = top.base + top.slots + var;
        match bindings.resolve(&Value::Var(Var { slot, name: sym::ANY })) {
            Value::Var(unbound) => {
                let same = frame.caller.iter().find(|(_, slot)| {
                    let theirs = Value::Var(Var { slot: *slot, name: sym::ANY });
                    matches!(bindings.deref(&theirs), Value::Var(other) if other.slot == unbound.slot)
                });
                if let Some((own, _)) = same {
                    passed.push((*own, *caller_slot));
                }
            }
            value if value.is_ground() => known.push((*caller_slot, value)),
            _ => possible = false,
        }
    }
    if possible {
        for (slot, value) in known {
            bindings.set(slot, value);
        }
        frame.caller = passed;
    }
    intention.slots = bindings.suspend();
    possible
}

/// Returns the name of an error as a symbol.
pub(super) fn name(text: &str) -> Symbol {
    Symbol::new(text)
}
