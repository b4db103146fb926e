//! Mind of an AgentSpeak agent as plain data: beliefs, plans, events, intentions, waits. It refers to nothing
//! outside, so that it can be written between two steps and continue in another process.

mod beliefs;
mod event;
mod event_queue;
mod goal_index;
mod intentions;
mod literals;
mod memory;
mod options;
mod placed_queue;
mod plans;
mod rare_queue;
mod timers;
mod wait_index;

use std::cell::Cell;

use whimbrel_acl::{Aid, Symbol, Text, Value};
use whimbrel_platform::Time;

pub(crate) use beliefs::TableChange;
pub use beliefs::{BeliefBase, Candidates, Change, Entry, RuleRef, Table, matches_fact};
pub use event::{Event, GoalPlace, Selected};
pub use event_queue::{EventQueue, GoalRequest, Pending, QueueChange};
pub use intentions::{
    Fork, ForkMark, Frame, FrameExtra, Intention, IntentionId, IntentionPlace, Intentions, Loop, Resumption, Splice,
    Wait, WaitFor,
};
pub(crate) use literals::{called_literal, current_literal};
pub use options::ReasoningOptions;
pub use placed_queue::{Indexed, PlacedQueue};
pub(crate) use plans::PlanChange;
pub use plans::{PlanHold, PlanLibrary, PlansHeld};
pub use rare_queue::RareQueue;
pub use timers::{Timer, TimerWhat, Timers};
pub use wait_index::{Subject, Subjects, WaitIndex};

/// Work that is deferred to the next selection of an event.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Deferred {
    /// The end of an intention's wait.
    Resume(IntentionId, Resumption),
    /// A meta-event, placed before ordinary events.
    Meta(Event),
    /// An event that was due at a time (`.at`).
    Event(Event),
}

/// Result of an action on the environment.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Feedback {
    /// Intention that acted.
    pub intention: IntentionId,
    /// Success of the action, or the reason for its failure.
    pub result: Result<(), Vec<Value>>,
}

/// Mind of an agent; see the module.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Mind {
    // The fields that each message touches come first, close together: processors fetch memory in lines.
    /// Waiting events, oldest first.
    pub events: EventQueue,
    /// Intentions that are ready, in the order of their turns.
    pub ready: PlacedQueue<IntentionId>,
    /// Atomic intention: while there is one no other runs.
    pub atomic: Option<IntentionId>,
    /// Number of frames that have a goal condition or sub-plans.
    pub scoped_frames: u32,
    /// Intentions that wait for an event or a condition. Conditions with internal actions are tested in every cycle.
    pub waits: Option<Box<WaitIndex>>,
    /// Work that is done when the next event is selected.
    pub deferred: RareQueue<Deferred>,
    /// Results of actions.
    pub feedback: RareQueue<Feedback>,
    /// Timers: work that is due later.
    pub timers: Timers,
    /// True if some plan reacts to meta-events.
    pub has_meta_plans: bool,
    /// True if a plan of the user's handles messages.
    pub handles_messages: bool,
    /// True if `+jag_sleeping` was raised and `+jag_awaking` not yet.
    pub sleeping: bool,
    /// True if some plan reacts to the agent falling idle or waking.
    pub tells_idleness: bool,
    /// Plan library.
    pub plans: PlanLibrary,
    /// Belief base.
    pub beliefs: BeliefBase,
    /// Reasoning options.
    pub options: ReasoningOptions,
    /// Intentions.
    pub intentions: Intentions,
    /// Event of the atomic intention; it goes before all others.
    pub atomic_event: Option<Box<Event>>,
    /// Event that a plan is being selected for, if the program queries such events.
    pub selected_event: Option<Box<Event>>,
    /// Events of suspended intentions.
    pub suspended_events: PlacedQueue<Event>,
    /// Properties of namespaces: namespace, key, value.
    pub namespace_properties: Vec<(Symbol, Symbol, Value)>,
    /// Forks in progress.
    pub forks: Vec<Option<Fork>>,
    /// Environment to act on.
    pub environment: Option<Aid>,
    /// File of the program, as the project names it.
    pub source: Text,
    /// Counter of actions, waits and timers.
    pub serial: u64,
    /// Counter of messages that have an identifier.
    pub messages: u64,
    /// Cycles that left messages in the mailbox since one was taken in, because the backlog was too long.
    pub unheard_cycles: usize,
    /// State of the random numbers.
    pub random: Cell<u64>,
    /// Version of the beliefs at the last test of conditions.
    pub tested_version: u64,
    /// Intention that continues when the step actions that formulas requested are done.
    pub awaits_effects: Option<IntentionId>,
}

impl Mind {
    /// Returns a number that is new in this mind.
    pub fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Drops all current and pending activities: only beliefs and plans remain.
    pub(crate) fn keep_knowledge(&mut self) {
        let before = std::mem::take(self);
        *self = Self {
            beliefs: before.beliefs,
            plans: before.plans,
            namespace_properties: before.namespace_properties,
            environment: before.environment,
            options: before.options,
            source: before.source,
            serial: before.serial,
            messages: before.messages,
            random: before.random,
            has_meta_plans: before.has_meta_plans,
            tells_idleness: before.tells_idleness,
            handles_messages: before.handles_messages,
            ..Self::default()
        };
    }

    /// Sets a timer.
    pub fn set_timer(&mut self, due: Time, what: TimerWhat) {
        let serial = self.next_serial();
        self.timers.set(Timer { due, serial, what });
    }

    /// Returns the time of the next timer.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.next_due()
    }

    /// Counts an intention that was restored.
    pub(crate) fn count_waits(&mut self, intention: &Intention) {
        let scoped = |frame: &&Frame| frame.extra.as_ref().is_some_and(|extra| extra.scoped);
        self.scoped_frames += intention.frames.iter().filter(scoped).count() as u32;
        if let IntentionPlace::Waiting(wait) = &intention.place {
            self.wait_begins(intention.id, &wait.until);
        }
    }

    /// Starts to note changes for the next save.
    pub(crate) fn mark_saved(&mut self) {
        self.beliefs.mark_saved();
        self.plans.mark_saved();
        self.events.mark_saved();
        self.intentions.mark_saved();
        self.timers.mark_saved();
    }

    /// Sorts the notes since the last save.
    pub(crate) fn sort_notes(&mut self) {
        self.beliefs.sort_notes();
        self.intentions.sort_notes();
        self.timers.sort_notes();
    }

    /// Stops counting an intention.
    pub(crate) fn uncount_waits(&mut self, intention: &Intention) {
        let scoped = |frame: &&Frame| frame.extra.as_ref().is_some_and(|extra| extra.scoped);
        self.scoped_frames = self.scoped_frames.saturating_sub(intention.frames.iter().filter(scoped).count() as u32);
        if let IntentionPlace::Waiting(wait) = &intention.place {
            self.wait_ends(intention.id, &wait.until);
        }
    }

    /// Returns true if an intention waits for an event.
    #[inline]
    pub fn waits_for_events(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.has_events())
    }

    /// Returns true if an intention waits for a condition.
    #[inline]
    pub fn waits_for_conditions(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.has_conditions())
    }

    /// Enters a wait that begins.
    pub(crate) fn wait_begins(&mut self, id: IntentionId, until: &WaitFor) {
        let volatile = match until {
            WaitFor::Event(..) => false,
            WaitFor::Condition(formula) => asks_actions(formula),
            _ => return,
        };
        self.waits.get_or_insert_default().begin(id, until, volatile);
    }

    /// Drops a wait that ends.
    pub(crate) fn wait_ends(&mut self, id: IntentionId, until: &WaitFor) {
        if let (WaitFor::Event(..) | WaitFor::Condition(_), Some(waits)) = (until, &mut self.waits) {
            waits.end(id, until);
            self.beliefs.watch(waits.is_watching());
        }
    }

    /// Ends a wait without a result; the intention is in no place then.
    pub(crate) fn cancel_wait(&mut self, id: IntentionId) -> Option<Wait> {
        let intention = self.intentions.find_mut(id)?;
        if !matches!(intention.place, IntentionPlace::Waiting(_)) {
            return None;
        }
        let IntentionPlace::Waiting(wait) = std::mem::replace(&mut intention.place, IntentionPlace::InEvent) else {
            return None;
        };
        self.wait_ends(id, &wait.until);
        Some(*wait)
    }

    /// Closes the gaps among events and ready intentions if they are many. To be called between turns: operations on
    /// goals hold places while they continue.
    #[inline]
    pub(crate) fn close_gaps(&mut self) {
        self.events.close_gaps();
        self.ready.close_gaps();
    }

    /// Takes an intention out of the ready ones. Returns its place among them.
    pub(crate) fn leave_ready(&mut self, id: IntentionId) -> Option<u64> {
        let turn = self.ready.place_of(id)?;
        self.ready.take(turn);
        Some(turn)
    }

    /// Takes the event that an intention waits for out of the suspended ones.
    pub(crate) fn leave_suspended_events(&mut self, id: IntentionId) {
        if let Some(place) = self.suspended_events.place_of(id) {
            self.suspended_events.take(place);
        }
    }

    /// Returns a random number, uniform in [0, 1).
    pub fn random(&self) -> f64 {
        let (high, low) = (self.next_random(26), self.next_random(27));
        ((high << 27) + low) as f64 / (1u64 << 53) as f64
    }

    /// Seeds the random numbers, which then continue as Java's: programs written for Jason may rely on them.
    pub fn seed_random(&self, seed: u64) {
        self.random.set((seed ^ JAVA_MULTIPLIER) & JAVA_MASK);
    }

    /// Returns random bits as `java.util.Random` does: the state is one number, easily saved.
    fn next_random(&self, bits: u32) -> u64 {
        let state = self.random.get().wrapping_mul(JAVA_MULTIPLIER).wrapping_add(0xb) & JAVA_MASK;
        self.random.set(state);
        state >> (48 - bits)
    }
}

/// Multiplier of `java.util.Random`, and mask of its state.
const JAVA_MULTIPLIER: u64 = 0x5_deec_e66d;
const JAVA_MASK: u64 = (1 << 48) - 1;

/// Returns true if a formula as data contains an internal action: it may become true without a change of beliefs.
fn asks_actions(formula: &Value) -> bool {
    let own = formula.functor().is_some_and(crate::syntax::is_internal_action);
    own || formula.args().iter().any(asks_actions)
}
