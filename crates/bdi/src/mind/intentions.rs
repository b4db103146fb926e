//! Intentions: stacks of plans in progress, each with its place in its plan and its variables.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use whimbrel_acl::{Aid, Annot, Annots, Structure, Symbol, Text, Value, sym};
use whimbrel_platform::Time;

use super::goal_index::{ByGoal, INDEXED_FROM, IndexMark, predicate};
use super::{PlanRef, TriggerKey};
use crate::code::Body;

/// An intention's place in its mind, and a number that tells it from earlier ones in that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntentionId {
    /// The place.
    pub index: u32,
    /// The intention's number: 1, 2, .. in the order they were begun.
    pub number: u32,
}

/// A stack of plans in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intention {
    /// Which one it is.
    pub id: IntentionId,
    /// The plans in progress, the innermost last.
    pub frames: Vec<Frame>,
    /// The variables of all frames.
    pub slots: Vec<Value>,
    /// Where it is in the reasoning cycle.
    pub place: Place,
    /// Whether it is suspended (`.suspend`), wherever it is.
    pub suspended: Option<Value>,
    /// The branches it is part of, innermost last.
    pub forks: Vec<ForkMark>,
    /// How many of its frames are atomic.
    pub atomic_frames: u32,
    /// For the copy of another, made for an external event: how many frames were copied. It ends when the event is
    /// handled, and only these are left.
    pub copied_frames: Option<u32>,
    /// The intention it is a copy of.
    pub copied_from: Option<IntentionId>,
    /// Whether it is as it was at the last save; false if nobody saves the agent.
    #[serde(skip)]
    pub(crate) saved: bool,
    /// True if the index of goals has all that it pursues.
    #[serde(skip)]
    pub(crate) is_indexed: IndexMark,
}

/// Where an intention is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Place {
    /// Among those that can go on.
    Ready,
    /// Part of an event that has not been handled.
    InEvent,
    /// Waiting.
    Waiting(Box<Wait>),
    /// Suspended while it could go on.
    Parked,
}

/// A wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// Which wait this is, so that an outdated timer is noticed.
    pub serial: u64,
    /// For what.
    pub until: WaitFor,
    /// Since when.
    pub since: Time,
    /// Until when at the latest.
    pub deadline: Option<Time>,
    /// What gets the time that passed, in milliseconds (`.wait`'s last argument).
    pub elapsed: Option<Value>,
}

/// What an intention waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum WaitFor {
    /// The deadline only.
    Delay,
    /// An event that matches: `+`, `-` or `^`; belief or goal; the literal.
    Event(crate::code::TriggerOp, crate::code::TriggerKind, Value),
    /// The condition that is the first argument of the current step; here as data, for whoever asks.
    Condition(Value),
    /// Answers to a question.
    Answer {
        /// Its identifier.
        id: Text,
        /// Whether the question went to several agents, so that the answer is a list.
        many: bool,
        /// Who has not answered.
        missing: Vec<Aid>,
        /// The answers so far.
        answers: Vec<Value>,
        /// What the answer is unified with.
        target: Value,
        /// Whether all answers are wanted, not one (`askAll`).
        all: bool,
    },
    /// The environment's word on an action: the request's number, and the action.
    Action(u64, Value),
    /// The goal condition of the innermost frame.
    GoalCondition,
    /// `.resume`.
    Resume,
}

/// How a wait ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Resumption {
    /// What was waited for came.
    Done,
    /// The answer to a question came.
    Answered(Text),
    /// The time was up, which is a failure.
    TimedOut,
    /// It failed, with these annotations of the error and this reason.
    Failed(Vec<Value>, String),
}

/// A plan in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// The plan.
    pub plan: PlanRef,
    /// The sub-plan of it that is in progress, as places among sub-plans from the outside in.
    pub path: SmallVec<[u32; 2]>,
    /// The operation it is at.
    pub pc: u32,
    /// The slot of its first variable.
    pub base: u32,
    /// How many slots of the plan itself there are; those of the event's variables follow.
    pub slots: u32,
    /// How many variables the event had.
    pub open: u32,
    /// Which of them (a bit each, the first 32) the plan's trigger and context had bound when it was chosen: they belong
    /// to what the goal was, if it fails.
    pub bound: u32,
    /// What triggered it.
    pub trigger: TriggerKey,
    /// The annotations of the event.
    pub annots: Annots,
    /// Which variable of the event is which slot of the frame below.
    pub caller: SmallVec<[(u32, u32); 2]>,
    /// For the plan of a failure event: how many frames stay when it ends.
    pub keep: Option<u32>,
    /// What few frames have.
    pub extra: Option<Box<FrameExtra>>,
}

/// What few frames have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FrameExtra {
    /// The event's literal, if its arguments are in no slots.
    pub literal: Option<Structure>,
    /// Loops in progress, innermost last.
    pub loops: Vec<Loop>,
    /// Code that runs in place of the plan's own, innermost last.
    pub splices: Vec<Splice>,
    /// Whether the plan has a goal condition or sub-plans.
    pub scoped: bool,
    /// The slots as they were when the plan was chosen, for its goal condition and sub-plans.
    pub chosen_slots: Vec<Value>,
}

/// A loop in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Loop {
    /// The operation that began it.
    pub pc: u32,
    /// How many splices enclose that operation: each has operations of its own.
    pub splices: u32,
    /// The frame's slots before it.
    pub saved: Vec<Value>,
    /// The solutions of `for` that are left, last first: the frame's slots in each.
    pub solutions: Vec<SmallVec<[(u32, Value); 1]>>,
}

/// Code that was data, in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Splice {
    /// The code; compiled again when it is read back.
    #[serde(skip)]
    pub body: Arc<Body>,
    /// Its source as a value, to write it out.
    pub source: Value,
    /// Where the enclosing code goes on.
    pub return_to: u32,
}

/// Branches that meet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fork {
    /// The branches under way.
    pub branches: Vec<IntentionId>,
    /// Whether the first one to end wins.
    pub first_wins: bool,
    /// Where they meet.
    pub join: u32,
    /// What the branches that ended have bound.
    pub bound: Vec<(u32, Value)>,
}

/// A fork that an intention is a branch of.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ForkMark {
    /// The fork's place in the mind.
    pub fork: u32,
    /// How many frames the intention had.
    pub frames: u32,
}

/// All intentions of a mind.
#[derive(Clone, Debug, Default)]
pub struct Intentions {
    all: Vec<Option<Box<Intention>>>,
    free: Vec<u32>,
    /// The number of the last intention begun.
    pub last_number: u32,
    /// One finished intention, kept to be used again.
    spare: Option<Box<Intention>>,
    /// The places of those that are not as they were at the last save, if the agent is saved at all; a place may be
    /// there more than once.
    noted: Option<Vec<u32>>,
    /// Made when somebody asks for a goal among many intentions.
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

    /// Notes a place for the index of goals.
    #[cold]
    fn note_goals(&mut self, index: u32) {
        let by_goal = self.by_goal.0.get_mut();
        if by_goal.as_mut().is_some_and(|goals| !goals.note(index)) {
            *by_goal = None;
        }
    }

    /// Returns the intentions that may pursue this goal, oldest first, and perhaps others. `has_one_in_hand`: the
    /// variables of one may be elsewhere.
    pub fn pursuing(&self, goal: &Value, has_one_in_hand: bool) -> Vec<IntentionId> {
        let is_many = self.all.len() - self.free.len() >= INDEXED_FROM;
        let Some(predicate) = predicate(goal).filter(|_| is_many) else { return self.ids() };
        let mut by_goal = self.by_goal.0.borrow_mut();
        let by_goal = by_goal.get_or_insert_default();
        let mut found = by_goal.refresh(&self.all, has_one_in_hand);
        found.extend(by_goal.candidates(predicate, goal));
        found.sort_unstable_by_key(|id| id.number);
        found.dedup();
        found.retain(|id| self.find(*id).is_some());
        found
    }

    /// Takes up an intention with the number it had elsewhere.
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

    /// The intention, if it is still there.
    #[inline]
    pub fn find(&self, id: IntentionId) -> Option<&Intention> {
        self.all.get(id.index as usize)?.as_deref().filter(|intention| intention.id == id)
    }

    /// The intention, to change it.
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

    /// The intention in hand: what takes it up has [found](Self::find_mut) it in this turn.
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

    /// All intentions, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Intention> {
        self.all.iter().flatten().map(|intention| &**intention)
    }

    /// The identifiers of all intentions, oldest first.
    pub fn ids(&self) -> Vec<IntentionId> {
        let mut ids: Vec<IntentionId> = self.iter().map(|intention| intention.id).collect();
        ids.sort_by_key(|id| id.number);
        ids
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Notes changes from now on.
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

    /// Puts the notes in order.
    pub(crate) fn sort_notes(&mut self) {
        if let Some(noted) = &mut self.noted {
            noted.sort_unstable();
            noted.dedup();
        }
    }

    /// The places that are not as they were at the last save, each with what is there now, the notes being in order.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (u32, Option<&Intention>)> {
        let noted = self.noted.iter().flat_map(|noted| noted.iter());
        noted.map(|index| (*index, self.all.get(*index as usize).and_then(Option::as_deref)))
    }

    /// All intentions, to change what is not noted as a change.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Intention> {
        self.all.iter_mut().flatten().map(|intention| &mut **intention)
    }

    /// The identifier of the intention in a place.
    pub(crate) fn id_at(&self, index: u32) -> Option<IntentionId> {
        self.all.get(index as usize)?.as_ref().map(|intention| intention.id)
    }
}

impl Intention {
    /// An intention with nothing to do.
    pub fn empty(id: IntentionId) -> Self {
        Self {
            id,
            frames: Vec::new(),
            slots: Vec::new(),
            place: Place::InEvent,
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
        self.place = Place::InEvent;
        self.suspended = None;
        self.forks.clear();
        self.atomic_frames = 0;
        self.copied_frames = None;
        self.copied_from = None;
        self.saved = false;
        self.is_indexed.0.set(false);
    }

    /// Why it does not go on, as the program sees it; none if it does.
    pub fn reason(&self) -> Option<Value> {
        let Place::Waiting(wait) = &self.place else { return self.suspended.clone() };
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

    /// Whether a frame of it is atomic.
    pub fn is_atomic(&self) -> bool {
        self.atomic_frames > 0
    }
}

impl Frame {
    /// A frame at the beginning of a plan that has no variables yet.
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

    /// Whether it is for a plan of the library, not for a failure, and nothing unusual is going on in it.
    pub fn is_plain(&self) -> bool {
        self.extra.is_none() && self.path.is_empty() && self.keep.is_none()
    }

    /// What few frames have, made if it was not there.
    pub fn extra_mut(&mut self) -> &mut FrameExtra {
        self.extra.get_or_insert_default()
    }

    /// Whether the loop that begins at `pc` of the code at work is in progress, and is the innermost one.
    pub fn in_loop(&self, pc: u32) -> bool {
        let Some(extra) = &self.extra else { return false };
        extra.loops.last().is_some_and(|last| last.pc == pc && last.splices as usize == extra.splices.len())
    }

    /// The slot after its last one.
    pub fn top(&self) -> u32 {
        self.base + self.slots + self.open
    }
}
