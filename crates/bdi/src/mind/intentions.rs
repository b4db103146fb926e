//! Intentions: stacks of plans in progress, each with its place in its plan and its variables.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use whimbrel_acl::{Aid, Annot, Annots, Structure, Symbol, Text, Value, sym};
use whimbrel_platform::Time;

use super::goal_index::{ByGoal, INDEXED_FROM, IndexMark, predicate};
use crate::code::{CompiledBody, PlanRef, TriggerKey};

/// Place of an intention in its mind, and a number that distinguishes it from earlier ones in that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntentionId {
    /// Place.
    pub index: u32,
    /// Number of the intention: 1, 2, .. in the order in which they began.
    pub number: u32,
}

/// Stack of plans in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intention {
    /// Identifier.
    pub id: IntentionId,
    /// Plans in progress, the innermost last.
    pub frames: Vec<Frame>,
    /// Variables of all frames.
    pub slots: Vec<Value>,
    /// State in the reasoning cycle.
    pub place: IntentionPlace,
    /// Reason of the suspension (`.suspend`), whatever the state.
    pub suspended: Option<Value>,
    /// Fork branches that the intention is part of, innermost last.
    pub forks: Vec<ForkMark>,
    /// Number of atomic frames.
    pub atomic_frames: u32,
    /// Number of copied frames, for a copy of another intention that was made for an external event. The copy ends
    /// when the event is handled, and only these frames are left.
    pub copied_frames: Option<u32>,
    /// Intention that this one is a copy of.
    pub copied_from: Option<IntentionId>,
    /// True if the intention is unchanged since the last save; false if the agent is not saved.
    #[serde(skip)]
    pub(crate) saved: bool,
    /// True if the goal index has all goals of the intention.
    #[serde(skip)]
    pub(crate) is_indexed: IndexMark,
}

/// State of an intention.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum IntentionPlace {
    /// Ready to continue.
    Ready,
    /// Part of an event that is not handled yet.
    InEvent,
    /// Waiting.
    Waiting(Box<Wait>),
    /// Suspended while ready.
    Parked,
}

/// Wait of an intention.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// Number of the wait, by which an outdated timer is noticed.
    pub serial: u64,
    /// Awaited event or condition.
    pub until: WaitFor,
    /// Start of the wait.
    pub since: Time,
    /// Deadline.
    pub deadline: Option<Time>,
    /// Term that is unified with the elapsed time in milliseconds (`.wait`'s last argument).
    pub elapsed: Option<Value>,
}

/// Event or condition that an intention waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum WaitFor {
    /// Only the deadline.
    Delay,
    /// A matching event: `+`, `-` or `^`; belief or goal; the literal.
    Event(crate::code::TriggerOp, crate::code::TriggerKind, Value),
    /// The condition in the first argument of the current step; here as data, for queries.
    Condition(Value),
    /// Answers to a question.
    Answer {
        /// Identifier of the question.
        id: Text,
        /// True if the question went to several agents, so that the answer is a list.
        many: bool,
        /// Agents that have not answered.
        missing: Vec<Aid>,
        /// Answers so far.
        answers: Vec<Value>,
        /// Term that is unified with the answer.
        target: Value,
        /// True if all answers are wanted, not one (`askAll`).
        all: bool,
    },
    /// The result of an action on the environment: the request's number, and the action.
    Action(u64, Value),
    /// The goal condition of the innermost frame.
    GoalCondition,
    /// `.resume`.
    Resume,
}

/// Result of a wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Resumption {
    /// The awaited event came.
    Done,
    /// The answer to a question came.
    Answered(Text),
    /// The time was over, which is a failure.
    TimedOut,
    /// The wait failed, with these annotations of the error and this reason.
    Failed(Vec<Value>, String),
}

/// Plan in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Plan.
    pub plan: PlanRef,
    /// Path to the sub-plan in progress, as places among sub-plans from the outside in.
    pub path: SmallVec<[u32; 2]>,
    /// Current operation.
    pub pc: u32,
    /// Slot of the first variable.
    pub base: u32,
    /// Number of slots of the plan itself; those of the event's variables follow.
    pub slots: u32,
    /// Number of variables of the event.
    pub open: u32,
    /// Event variables (a bit each, the first 32) that the plan's trigger and context had bound when it was chosen:
    /// they belong to the goal, if it fails.
    pub bound: u32,
    /// Trigger of the plan.
    pub trigger: TriggerKey,
    /// Annotations of the event.
    pub annots: Annots,
    /// Pairs of an event variable and its slot in the frame below.
    pub caller: SmallVec<[(u32, u32); 2]>,
    /// Number of frames that stay when the plan of a failure event ends.
    pub keep: Option<u32>,
    /// Rare parts of a frame.
    pub extra: Option<Box<FrameExtra>>,
}

/// Parts that few frames have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FrameExtra {
    /// Literal of the event, if its arguments are in no slots.
    pub literal: Option<Structure>,
    /// Loops in progress, innermost last.
    pub loops: Vec<Loop>,
    /// Code that runs in place of the plan's own, innermost last.
    pub splices: Vec<Splice>,
    /// True if the plan has a goal condition or sub-plans.
    pub scoped: bool,
    /// Slots at the choice of the plan, for its goal condition and sub-plans.
    pub chosen_slots: Vec<Value>,
}

/// Loop in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Loop {
    /// Operation that began the loop.
    pub pc: u32,
    /// Number of splices around that operation: each has operations of its own.
    pub splices: u32,
    /// Slots of the frame before the loop.
    pub saved: Vec<Value>,
    /// Remaining solutions of `for`, last first: the frame's slots in each.
    pub solutions: Vec<SmallVec<[(u32, Value); 1]>>,
}

/// Splice: running code that was data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Splice {
    /// Code; compiled again when it is restored.
    #[serde(skip)]
    pub body: Arc<CompiledBody>,
    /// Source of the code as a value, for snapshots.
    pub source: Value,
    /// Operation at which the enclosing code continues.
    pub return_to: u32,
}

/// Fork whose branches meet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fork {
    /// Branches in progress.
    pub branches: Vec<IntentionId>,
    /// True if the first one to end wins.
    pub first_wins: bool,
    /// Operation at which the branches meet.
    pub join: u32,
    /// Bindings of the branches that ended.
    pub bound: Vec<(u32, Value)>,
}

/// Mark of a fork branch on an intention.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ForkMark {
    /// Place of the fork in the mind.
    pub fork: u32,
    /// Number of frames that the intention had.
    pub frames: u32,
}

/// All intentions of a mind.
#[derive(Clone, Debug, Default)]
pub struct Intentions {
    all: Vec<Option<Box<Intention>>>,
    free: Vec<u32>,
    /// Number of the last intention begun.
    pub last_number: u32,
    /// Finished intention whose memory is reused.
    spare: Option<Box<Intention>>,
    /// Places of intentions that changed since the last save, if the agent is saved at all; possibly with duplicates.
    noted: Option<Vec<u32>>,
    /// Goal index, made when a goal is looked up among many intentions.
    by_goal: ByGoal,
}

impl Intentions {
    /// Begins an intention.
    pub fn begin(&mut self) -> IntentionId {
        self.last_number += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            if self.all.is_empty() {
                self.all.reserve_exact(1);
            }
            self.all.push(None);
            self.all.len() as u32 - 1
        });
        let id = IntentionId { index, number: self.last_number };
        let intention = match self.spare.take() {
            Some(mut spare) => {
                spare.id = id;
                spare
            }
            None => Box::new(Intention::empty(id)),
        };
        if let Some(place) = self.all.get_mut(index as usize) {
            *place = Some(intention);
        }
        self.note(index);
        if self.by_goal.0.get_mut().is_some() {
            self.note_goals(index);
        }
        id
    }

    /// Notes a place for the next save.
    #[inline]
    fn note(&mut self, index: u32) {
        if let Some(noted) = &mut self.noted {
            noted.push(index);
        }
    }

    /// Notes a place for the goal index.
    #[cold]
    fn note_goals(&mut self, index: u32) {
        let by_goal = self.by_goal.0.get_mut();
        if by_goal.as_mut().is_some_and(|goals| !goals.note(index)) {
            *by_goal = None;
        }
    }

    /// Returns the intentions that may pursue this goal, oldest first, and perhaps others. The variables of an
    /// intention that `is_in_hand` may be elsewhere.
    pub fn pursuing(&self, goal: &Value, is_in_hand: impl Fn(&Intention) -> bool) -> Vec<IntentionId> {
        let is_many = self.all.len() - self.free.len() >= INDEXED_FROM;
        let Some(predicate) = predicate(goal).filter(|_| is_many) else { return self.ids() };
        let mut by_goal = self.by_goal.0.borrow_mut();
        let by_goal = by_goal.get_or_insert_default();
        let mut found = by_goal.refresh(&self.all, is_in_hand);
        found.extend(by_goal.candidates(predicate, goal));
        found.sort_unstable_by_key(|id| id.number);
        found.dedup();
        found.retain(|id| self.find(*id).is_some());
        found
    }

    /// Restores an intention with the number it had elsewhere.
    pub fn restore(&mut self, intention: Intention) {
        let index = intention.id.index as usize;
        while self.all.len() <= index {
            self.free.push(self.all.len() as u32);
            self.all.push(None);
        }
        self.free.retain(|free| *free as usize != index);
        if let Some(place) = self.all.get_mut(index) {
            *place = Some(Box::new(intention));
        }
        *self.by_goal.0.get_mut() = None;
    }

    /// Returns the intention, if it still exists.
    #[inline]
    pub fn find(&self, id: IntentionId) -> Option<&Intention> {
        self.all.get(id.index as usize)?.as_deref().filter(|intention| intention.id == id)
    }

    /// Returns the intention for a change.
    #[inline]
    pub fn find_mut(&mut self, id: IntentionId) -> Option<&mut Intention> {
        let found = self.all.get_mut(id.index as usize)?.as_deref_mut().filter(|intention| intention.id == id)?;
        if found.saved {
            found.saved = false;
            if let Some(noted) = &mut self.noted {
                noted.push(id.index);
            }
        }
        if found.is_indexed.0.replace(false)
            && let Some(goals) = self.by_goal.0.get_mut()
            && !goals.note(id.index)
        {
            *self.by_goal.0.get_mut() = None;
        }
        Some(found)
    }

    /// Returns the intention in hand, which was [found](Self::find_mut) in this turn when it was taken up.
    #[inline]
    pub fn in_hand(&mut self, id: IntentionId) -> Option<&mut Intention> {
        let found = self.all.get_mut(id.index as usize)?.as_deref_mut().filter(|intention| intention.id == id)?;
        debug_assert!(!found.saved && !found.is_indexed.0.get(), "an intention that was not taken up");
        Some(found)
    }

    /// Ends an intention.
    pub fn end(&mut self, id: IntentionId) -> Option<()> {
        let place = self.all.get_mut(id.index as usize)?;
        if place.as_ref()?.id != id {
            return None;
        }
        let mut ended = place.take()?;
        self.free.push(id.index);
        self.note(id.index);
        if self.spare.is_none() && ended.frames.capacity() <= 4 && ended.slots.capacity() <= 16 {
            ended.clear();
            self.spare = Some(ended);
        }
        Some(())
    }

    /// Iterates over all intentions, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Intention> {
        self.all.iter().flatten().map(|intention| &**intention)
    }

    /// Returns the identifiers of all intentions, oldest first.
    pub fn ids(&self) -> Vec<IntentionId> {
        let mut ids: Vec<IntentionId> = self.iter().map(|intention| intention.id).collect();
        ids.sort_by_key(|id| id.number);
        ids
    }

    /// Returns the memory of the goal index in bytes, roughly.
    pub fn index_bytes(&self) -> usize {
        self.by_goal.0.borrow().as_ref().map_or(0, |by_goal| by_goal.bytes())
    }

    /// Returns the number of intentions.
    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Returns true if there is no intention.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Starts to note changes.
    pub(crate) fn mark_saved(&mut self) {
        match &mut self.noted {
            Some(noted) => {
                for index in noted.drain(..) {
                    if let Some(Some(intention)) = self.all.get_mut(index as usize) {
                        intention.saved = true;
                    }
                }
            }
            None => {
                self.all.iter_mut().flatten().for_each(|intention| intention.saved = true);
                self.noted = Some(Vec::new());
            }
        }
    }

    /// Sorts the notes.
    pub(crate) fn sort_notes(&mut self) {
        if let Some(noted) = &mut self.noted {
            noted.sort_unstable();
            noted.dedup();
        }
    }

    /// Returns the places that changed since the last save, each with its present intention. The notes must be
    /// sorted.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (u32, Option<&Intention>)> {
        let noted = self.noted.iter().flat_map(|noted| noted.iter());
        noted.map(|index| (*index, self.all.get(*index as usize).and_then(Option::as_deref)))
    }

    /// Iterates over all intentions, for changes that are not noted.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Intention> {
        self.all.iter_mut().flatten().map(|intention| &mut **intention)
    }

    /// Returns the identifier of the intention in a place.
    pub(crate) fn id_at(&self, index: u32) -> Option<IntentionId> {
        self.all.get(index as usize)?.as_ref().map(|intention| intention.id)
    }
}

impl Intention {
    /// Creates an intention without plans.
    pub fn empty(id: IntentionId) -> Self {
        Self {
            id,
            frames: Vec::new(),
            slots: Vec::new(),
            place: IntentionPlace::InEvent,
            suspended: None,
            forks: Vec::new(),
            atomic_frames: 0,
            copied_frames: None,
            copied_from: None,
            saved: false,
            is_indexed: IndexMark::default(),
        }
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.slots.clear();
        self.place = IntentionPlace::InEvent;
        self.suspended = None;
        self.forks.clear();
        self.atomic_frames = 0;
        self.copied_frames = None;
        self.copied_from = None;
        self.saved = false;
        self.is_indexed.0.set(false);
    }

    /// Returns the reason why the intention does not continue, as the program sees it; `None` if it does.
    pub fn reason(&self) -> Option<Value> {
        let IntentionPlace::Waiting(wait) = &self.place else { return self.suspended.clone() };
        let wait_for = |what: Value| {
            let args = [Value::Num(f64::from(self.id.number))].into_iter().collect();
            let annots = Annots::from_iter([Annot::new(what)]);
            Structure::full(sym::DEFAULT, false, Symbol::new("wait"), args, annots).into_value()
        };
        Some(match &wait.until {
            WaitFor::Delay => {
                let ms = wait.deadline.map_or(0, |deadline| (deadline - wait.since).as_millis());
                wait_for(Value::term("time", [Value::Num(ms as f64)]))
            }
            WaitFor::Event(_, _, literal) => wait_for(literal.clone()),
            WaitFor::Condition(formula) => wait_for(formula.clone()),
            WaitFor::Answer { .. } => Value::atom("waiting_ask"),
            WaitFor::Action(_, action) => Value::term("action", [action.clone()]),
            WaitFor::GoalCondition => Value::atom("wait_goal_condition"),
            WaitFor::Resume => self.suspended.clone()?,
        })
    }

    /// Returns true if a frame of the intention is atomic.
    pub fn is_atomic(&self) -> bool {
        self.atomic_frames > 0
    }
}

impl Frame {
    /// Creates a frame at the beginning of a plan, without variables yet.
    pub fn new(plan: PlanRef, trigger: TriggerKey) -> Self {
        Self {
            plan,
            trigger,
            path: SmallVec::new(),
            pc: 0,
            base: 0,
            slots: 0,
            open: 0,
            bound: 0,
            annots: Annots::new(),
            caller: SmallVec::new(),
            keep: None,
            extra: None,
        }
    }

    /// Returns true for a frame of a library plan, not for a failure, in a usual state.
    pub fn is_plain(&self) -> bool {
        self.extra.is_none() && self.path.is_empty() && self.keep.is_none()
    }

    /// Returns the rare parts of the frame, made if necessary.
    pub fn extra_mut(&mut self) -> &mut FrameExtra {
        self.extra.get_or_insert_default()
    }

    /// Returns true if the loop that begins at `pc` of the current code is in progress, and is the innermost one.
    pub fn in_loop(&self, pc: u32) -> bool {
        let Some(extra) = &self.extra else { return false };
        extra.loops.last().is_some_and(|last| last.pc == pc && last.splices as usize == extra.splices.len())
    }

    /// Returns the slot after the last one.
    pub fn top(&self) -> u32 {
        self.base + self.slots + self.open
    }
}
