//! Turns of an agent: cycles, one after another, and what comes before the first one.

use whimbrel_acl::Value;
use whimbrel_platform::{Next, growth};

use super::Cycle;
use super::literals::{step_event, structure, with_own_source};
use crate::code::{PlanRef, TriggerKind, TriggerOp};
use crate::mind::{Event, GoalPlace, RuleRef};

impl Cycle<'_> {
    /// Runs cycles until the turn is over.
    #[inline(always)]
    pub(crate) fn run_turn(&mut self) -> Next {
        if self.mind.sleeping && !self.mailbox.is_empty() {
            self.tell_idleness(false);
        }
        while growth::taken() < self.memory_due && self.begins_next() {
            if !self.is_idle() && self.run() {
                continue;
            }
            if self.tell_idleness(true) {
                continue;
            }
            return match self.mind.next_timer() {
                Some(due) => Next::WaitUntil(due),
                None => Next::Wait,
            };
        }
        self.hop.take().map_or(Next::Ready, |request| Next::Hop(Box::new(request)))
    }

    /// Runs the first turn of an agent that queries others' registrations: the turn ends before the query. Agents
    /// that begin with it register in their first turns meanwhile. Cycles are taken one by one, and messages wait.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_first_turn(&mut self) -> Next {
        // As for a watched agent.
        self.mind.scoped_frames += 1;
        while !self.is_about_to_ask() && growth::taken() < self.memory_due && self.begins_next() {
            if !self.run_without_messages() {
                break;
            }
        }
        self.mind.scoped_frames = self.mind.scoped_frames.saturating_sub(1);
        self.hop.take().map_or(Next::Ready, |request| Next::Hop(Box::new(request)))
    }

    /// Returns true if the next cycle may query others' registrations: in the context of a plan, or by its step.
    fn is_about_to_ask(&self) -> bool {
        let (mind, image) = (&*self.mind, self.image);
        let acts_at_once = mind.ready.is_empty() && mind.atomic.is_none();
        let asks = |place: &PlanRef| {
            let Some(plan) = mind.plans.plan(image, *place) else { return false };
            let first = plan.body.ops.get(plan.body.skip_jumps(0) as usize).filter(|_| acts_at_once);
            image.may_ask(&plan.context) || first.is_some_and(|op| image.may_ask_by(op))
        };
        let plans = |event: &Event| mind.plans.candidates(image, &event.trigger());
        let next = mind.events.of_intentions().find(|event| !plans(event).all().is_empty());
        if next.is_some_and(|event| plans(event).all().iter().any(asks)) {
            return true;
        }
        let at_work = mind.atomic.or(mind.ready.front().copied());
        at_work.and_then(|id| self.next_op(id, |op| image.may_ask_by(op))).unwrap_or_default()
    }

    /// Returns true if a cycle would certainly find nothing to do. Judged at a glance: false if in doubt.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.mailbox.is_empty() && self.mind.timers.is_empty() && self.is_at_rest()
    }

    /// Takes up the initial beliefs and goals: the project's beliefs, the program's (last first, so that they are
    /// found in source order), the project's goals, the program's.
    pub(crate) fn begin(&mut self, beliefs: &[Value], goals: &[Value]) {
        if self.mind.random.get() == 0 {
            self.mind.random.set(self.services.random());
        }
        for belief in beliefs {
            let belief = self.admit(belief.clone(), &"its project entry");
            self.add_initial_belief(&belief);
        }
        let image = self.image;
        let mut rules = image.rules.iter().enumerate().rev().peekable();
        for place in (0..=image.facts.len()).rev() {
            while let Some((number, (_, rule))) = rules.next_if(|(_, (before, _))| *before == place) {
                self.mind.beliefs.add_rule(rule.key, RuleRef::Image(number as u32), false);
            }
            if let Some(fact) = place.checked_sub(1).and_then(|place| image.facts.get(place)) {
                self.add_initial_belief(fact);
            }
        }
        for goal in goals {
            let goal = self.admit(goal.clone(), &"its project entry");
            self.add_initial_goal(goal);
        }
        for (number, goal) in (0..).zip(&image.goals) {
            self.add_goal_at(goal.clone(), Some(GoalPlace::Program(number)));
        }
    }

    pub(super) fn add_initial_goal(&mut self, goal: Value) {
        self.add_goal_at(goal, None);
    }

    fn add_goal_at(&mut self, goal: Value, place: Option<GoalPlace>) {
        let Some(mut literal) = structure(goal) else { return };
        with_own_source(&mut literal);
        let mut event = step_event(literal, TriggerKind::Achieve);
        if let Some(place) = place {
            event.set_place(place);
        }
        if self.mind.has_meta_plans {
            self.tell_pending(&event);
        }
        self.add_event(event);
    }

    pub(super) fn add_initial_belief(&mut self, belief: &Value) {
        let Some(mut literal) = structure(belief.clone()) else { return };
        with_own_source(&mut literal);
        if let Some(changed) = self.mind.beliefs.add(literal, false) {
            let event = Event::external(TriggerOp::Add, TriggerKind::Belief, changed);
            if self.has_candidates(&event.trigger()) {
                self.add_event(event);
            }
        }
    }
}
