//! Memory of a mind in bytes.

use whimbrel_acl::Value;
use whimbrel_acl::value::Scale;

use super::{
    Deferred, Event, Frame, Intention, IntentionId, IntentionPlace, Mind, Pending, Timer, TimerWhat, Wait, WaitFor,
};

/// Bytes beside each allocation: reference counts, and the allocator's rounding.
const ALLOCATION_BYTES: usize = 32;
/// Estimated bytes of an acquired plan.
const PLAN_BYTES: usize = 1_024;
/// Estimated bytes of a place in the index of waits.
const WAIT_BYTES: usize = 32;

impl Mind {
    /// Returns the mind's bytes of memory, estimated. Counting stops soon after `enough`. Memory that several parts
    /// share counts once.
    pub fn footprint(&self, enough: usize) -> usize {
        let mut scale = Scale::new(enough);
        scale.add(size_of::<Self>() + self.plans.acquired().map_or(0, |(_, own, _)| own.len()) * PLAN_BYTES);
        self.beliefs.weigh(&mut scale);
        for event in self.events.pending() {
            match event {
                Pending::Written(event) => weigh_event(event, &mut scale),
                Pending::Asked(request) => {
                    scale.add(size_of_val(request) + request.message.footprint(enough));
                    scale.add_shared(&request.goal);
                }
            }
        }
        let kept = [&self.atomic_event, &self.selected_event];
        kept.into_iter().flatten().for_each(|event| weigh_event(event, &mut scale));
        self.suspended_events.iter().for_each(|event| weigh_event(event, &mut scale));
        for deferred in self.deferred.iter() {
            match deferred {
                Deferred::Resume(..) => scale.add(size_of::<Deferred>()),
                Deferred::Meta(event) | Deferred::Event(event) => weigh_event(event, &mut scale),
            }
        }
        self.timers.iter().for_each(|timer| weigh_timer(timer, &mut scale));
        self.intentions.iter().for_each(|intention| weigh_intention(intention, &mut scale));
        self.namespace_properties.iter().for_each(|(_, _, value)| weigh(value, &mut scale));
        scale.add(self.waits.as_ref().map_or(0, |waits| waits.count() * WAIT_BYTES));
        let indexes = [self.events.index_bytes(), self.suspended_events.index_bytes(), self.ready.index_bytes()];
        scale.add(self.ready.len() * size_of::<IntentionId>() + indexes.into_iter().sum::<usize>());
        scale.add(self.intentions.index_bytes());
        scale.add(size_of_val(self.forks.as_slice()) + self.feedback.len() * size_of::<super::Feedback>());
        scale.bytes()
    }
}

fn weigh(value: &Value, scale: &mut Scale) {
    scale.add(size_of::<Value>());
    scale.add_value(value);
}

fn weigh_event(event: &Event, scale: &mut Scale) {
    if !scale.is_full() {
        scale.add(size_of::<Event>());
        scale.add_structure(&event.literal);
    }
}

fn weigh_timer(timer: &Timer, scale: &mut Scale) {
    scale.add(size_of::<Timer>());
    match &timer.what {
        TimerWhat::Event(event) => scale.add_structure(&event.literal),
        TimerWhat::Deadline(goal) => scale.add_structure(goal),
        TimerWhat::Wait(..) | TimerWhat::Kill(_) => {}
    }
}

fn weigh_intention(intention: &Intention, scale: &mut Scale) {
    if scale.is_full() {
        return;
    }
    scale.add(ALLOCATION_BYTES + size_of::<Intention>() + intention.frames.len() * size_of::<Frame>());
    scale.add_values(&intention.slots);
    if let IntentionPlace::Waiting(wait) = &intention.place {
        scale.add(ALLOCATION_BYTES + size_of::<Wait>());
        match &wait.until {
            WaitFor::Event(_, _, value) | WaitFor::Condition(value) | WaitFor::Action(_, value) => {
                scale.add_value(value)
            }
            WaitFor::Answer { answers, target, .. } => {
                scale.add_values(answers);
                scale.add_value(target);
            }
            WaitFor::Delay | WaitFor::GoalCondition | WaitFor::Resume => {}
        }
    }
}
