//! The mind of an AgentSpeak agent as plain data: beliefs, plans, events, intentions, waits. Nothing in it refers to
//! the outside, so that it can be written out between two steps and go on in another process.

mod beliefs;
mod event_queue;
mod goal_index;
mod intentions;
mod memory;
mod plan_index;
mod plans;
mod rare_queue;
mod timers;
mod wait_index;

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use smallvec::SmallVec;
use whimbrel_acl::{Aid, Structure, Symbol, Text, Value};
use whimbrel_platform::Time;

use crate::code::{Key, TriggerKind, TriggerOp};
pub(crate) use beliefs::TableChange;
pub use beliefs::{BeliefBase, Candidates, Change, Entry, RuleRef, Table, is_source, matches_fact};
pub use event_queue::{EventQueue, Pending, QueueChange, Request};
pub use intentions::{
    Fork, ForkMark, Frame, FrameExtra, Intention, IntentionId, Intentions, Loop, Place, Resumption, Splice, Wait,
    WaitFor,
};
pub use plan_index::{PlanIndex, PlanList};
pub(crate) use plans::PlanChange;
pub use plans::{ImageNames, PlanHold, PlanLibrary, PlanRef, PlansHeld, TriggerKey, namespace_of};
pub use rare_queue::RareQueue;
pub use timers::{Timer, TimerWhat, Timers};
pub use wait_index::{Subject, Subjects, WaitIndex};

/// How an agent reasons: the options of its project entry.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// `intBels=sameFocus`: a belief change's event belongs to the intention that made it.
    pub same_focus: bool,
    /// `tro`: the last goal of a plan replaces the plan's frame if it is for the same predicate.
    pub tail_calls: bool,
    /// `events=requeue`: external events without a plan are put back instead of dropped.
    pub requeue: bool,
    /// `nrcbp`: cycles between two perceptions.
    pub perceive_every: u32,
    /// `verbose`.
    pub verbose: u8,
    /// Other options, which the program can read.
    pub user: Vec<(Symbol, Value)>,
}

impl Options {
    /// `durability=volatile`: the agent begins anew with its process, also where others are kept.
    pub fn is_volatile(&self) -> bool {
        self.user.iter().any(|(key, value)| key.as_str() == "durability" && value.as_str() == Some("volatile"))
    }

    /// `passivate`: how many milliseconds the agent has nothing to do before it leaves memory, if that is said.
    pub fn passivate_after(&self) -> Option<Duration> {
        let (_, ms) = self.user.iter().find(|(key, _)| key.as_str() == "passivate")?;
        let ms = ms.as_i64().and_then(|ms| u64::try_from(ms).ok())?;
        Some(if ms == i64::MAX as u64 { Duration::MAX } else { Duration::from_millis(ms) })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { same_focus: true, tail_calls: true, requeue: false, perceive_every: 1, verbose: 1, user: Vec::new() }
    }
}

/// Something that happened and may be of interest to a plan.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement goal or test goal.
    pub kind: TriggerKind,
    /// The literal; its variables are numbered from 0.
    pub literal: Structure,
    /// How many variables it has.
    pub open: u32,
    /// The intention that waits for the event to be handled; none for an external event.
    pub intention: Option<IntentionId>,
    /// Variables of the literal, each with its slot in the waiting intention; without such an intention, see
    /// [`Event::place`].
    pub caller: SmallVec<[(u32, u32); 2]>,
    /// For a failure event: how many frames of the intention stay when it is handled.
    pub keep: Option<u32>,
    /// What was found for it before its turn.
    pub selected: Option<Box<Selected>>,
}

/// Place of a goal in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalPlace {
    /// Among the initial goals of the program.
    Program(u32),
    /// In this line of a plan's body.
    Plan(PlanRef, u32),
}

/// Marks a goal's place as one in the program; no plan has this number.
const PROGRAM: u32 = u32::MAX;

/// What was found for an event before its turn.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Selected {
    /// A plan (a sub-plan that an external event reached).
    Plan {
        /// The plan.
        plan: PlanRef,
        /// The sub-plan of it that was chosen, by its place among the sub-plans.
        path: SmallVec<[u32; 2]>,
        /// The values of its slots.
        slots: Vec<Value>,
    },
    /// No plan is applicable.
    Nothing {
        /// Whether one was relevant.
        relevant: bool,
    },
}

impl Event {
    /// An event that no intention waits for.
    pub fn external(op: TriggerOp, kind: TriggerKind, literal: Structure) -> Self {
        Self { op, kind, literal, open: 0, intention: None, caller: SmallVec::new(), keep: None, selected: None }
    }

    /// Returns the goal's place in the program, for an event that no intention waits for.
    pub fn place(&self) -> Option<GoalPlace> {
        let (plan, line) = *self.caller.first().filter(|_| self.intention.is_none())?;
        Some(if plan == PROGRAM { GoalPlace::Program(line) } else { GoalPlace::Plan(PlanRef(plan), line) })
    }

    /// Notes where the goal stands; for events that no intention waits for.
    pub fn set_place(&mut self, place: GoalPlace) {
        let place = match place {
            GoalPlace::Program(number) => (PROGRAM, number),
            GoalPlace::Plan(plan, line) => (plan.0, line),
        };
        self.caller.clear();
        self.caller.push(place);
    }

    /// What its plans are found by.
    #[inline]
    pub fn trigger(&self) -> TriggerKey {
        TriggerKey { op: self.op, kind: self.kind, key: Key::of(&self.literal) }
    }

    /// Whether it is about a goal, not a belief.
    pub fn is_goal(&self) -> bool {
        self.kind != TriggerKind::Belief
    }
}

/// Something to do when the next event is selected.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Deferred {
    /// An intention's wait is over.
    Resume(IntentionId, Resumption),
    /// A meta-event, placed before ordinary events.
    Meta(Event),
    /// An event that was due at a time (`.at`).
    Event(Event),
}

/// The result of an action on the environment.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Feedback {
    /// The intention that acted.
    pub intention: IntentionId,
    /// Whether the action was done, or why not.
    pub result: Result<(), Vec<Value>>,
}

/// The mind; see the module.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Mind {
    // What each message looks at comes first, close together: processors fetch memory in lines.
    /// What happened, oldest first.
    pub events: EventQueue,
    /// Intentions that can go on, in the order of their turns.
    pub ready: VecDeque<IntentionId>,
    /// The atomic intention: while there is one no other runs.
    pub atomic: Option<IntentionId>,
    /// Number of frames that have a goal condition or sub-plans.
    pub scoped_frames: u32,
    /// Intentions that wait for an event or a condition; conditions that ask internal actions are tested in every cycle.
    pub waits: Option<Box<WaitIndex>>,
    /// Work that is done when the next event is selected.
    pub deferred: RareQueue<Deferred>,
    /// Results of actions.
    pub feedback: RareQueue<Feedback>,
    /// Timers: work that is due later.
    pub timers: Timers,
    /// Whether some plan is for meta-events.
    pub has_meta_plans: bool,
    /// Whether a plan of the user's handles messages.
    pub handles_messages: bool,
    /// Whether `+jag_sleeping` was told and `+jag_awaking` not yet.
    pub sleeping: bool,
    /// Whether some plan is for the agent's falling idle or waking.
    pub tells_idleness: bool,
    /// The plans it knows.
    pub plans: PlanLibrary,
    /// What the agent believes.
    pub beliefs: BeliefBase,
    /// How it reasons.
    pub options: Options,
    /// What it is doing.
    pub intentions: Intentions,
    /// The event of the atomic intention; it goes before all others.
    pub atomic_event: Option<Box<Event>>,
    /// The event that a plan is being selected for, if the program asks for such things.
    pub selected_event: Option<Box<Event>>,
    /// Events of suspended intentions.
    pub suspended_events: Vec<Event>,
    /// Properties of namespaces: namespace, key, value.
    pub namespace_properties: Vec<(Symbol, Symbol, Value)>,
    /// Branches under way.
    pub forks: Vec<Option<Fork>>,
    /// The environment to act on.
    pub environment: Option<Aid>,
    /// The file of its program, as the project names it.
    pub source: Text,
    /// Counts actions, waits, timers.
    pub serial: u64,
    /// Counts messages that have an identifier.
    pub messages: u64,
    /// Cycles that left messages in the mailbox since one was taken in, because the backlog was too long.
    pub unheard_cycles: usize,
    /// State of its random numbers.
    pub random: Cell<u64>,
    /// The version of the beliefs at the last test of conditions.
    pub tested_version: u64,
}

impl Mind {
    /// A number not used before in this mind.
    pub fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Drops all that the agent does and is about to do: it keeps what it believes, and the plans that it knows.
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

    /// When the next timer is due.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.next_due()
    }

    /// Counts an intention that was read back.
    pub(crate) fn count_waits(&mut self, intention: &Intention) {
        let scoped = |frame: &&Frame| frame.extra.as_ref().is_some_and(|extra| extra.scoped);
        self.scoped_frames += intention.frames.iter().filter(scoped).count() as u32;
        if let Place::Waiting(wait) = &intention.place {
            self.wait_begins(intention.id, &wait.until);
        }
    }

    /// Notes changes from now on, for the next save.
    pub(crate) fn mark_saved(&mut self) {
        self.beliefs.mark_saved();
        self.plans.mark_saved();
        self.events.mark_saved();
        self.intentions.mark_saved();
        self.timers.mark_saved();
    }

    /// Puts what was noted since the last save in order.
    pub(crate) fn sort_notes(&mut self) {
        self.beliefs.sort_notes();
        self.intentions.sort_notes();
        self.timers.sort_notes();
    }

    /// Counts an intention no longer.
    pub(crate) fn uncount_waits(&mut self, intention: &Intention) {
        let scoped = |frame: &&Frame| frame.extra.as_ref().is_some_and(|extra| extra.scoped);
        self.scoped_frames = self.scoped_frames.saturating_sub(intention.frames.iter().filter(scoped).count() as u32);
        if let Place::Waiting(wait) = &intention.place {
            self.wait_ends(intention.id, &wait.until);
        }
    }

    /// True if an intention waits for an event.
    #[inline]
    pub fn waits_for_events(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.has_events())
    }

    /// True if an intention waits for a condition.
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

    /// A random number, uniform in [0, 1).
    pub fn random(&self) -> f64 {
        let (high, low) = (self.next_random(26), self.next_random(27));
        ((high << 27) + low) as f64 / (1u64 << 53) as f64
    }

    /// Random numbers go on as Java's do after this seed: programs written for Jason may know them.
    pub fn seed_random(&self, seed: u64) {
        self.random.set((seed ^ JAVA_MULTIPLIER) & JAVA_MASK);
    }

    /// Random bits as `java.util.Random` has them: the state is one number, so that it is easily kept.
    fn next_random(&self, bits: u32) -> u64 {
        let state = self.random.get().wrapping_mul(JAVA_MULTIPLIER).wrapping_add(0xb) & JAVA_MASK;
        self.random.set(state);
        state >> (48 - bits)
    }
}

/// What `java.util.Random` multiplies by, and how much of its state counts.
const JAVA_MULTIPLIER: u64 = 0x5_deec_e66d;
const JAVA_MASK: u64 = (1 << 48) - 1;

/// Whether a formula as data asks an internal action: it may come true without a change of beliefs.
fn asks_actions(formula: &Value) -> bool {
    let own = formula.functor().is_some_and(crate::code::compile::is_internal_action);
    own || formula.args().iter().any(asks_actions)
}
