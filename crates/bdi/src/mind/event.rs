//! Events that may be of interest to a plan.

use smallvec::SmallVec;
use whimbrel_acl::{Structure, Value};

use super::IntentionId;
use crate::code::{Key, PlanRef, TriggerKey, TriggerKind, TriggerOp};

/// Event that may be of interest to a plan.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement goal or test goal.
    pub kind: TriggerKind,
    /// Literal; its variables are numbered from 0.
    pub literal: Structure,
    /// Number of variables.
    pub open: u32,
    /// Intention that waits for the event to be handled; `None` for an external event.
    pub intention: Option<IntentionId>,
    /// Variables of the literal, each with its slot in the waiting intention; without such an intention, see
    /// [`Event::place`].
    pub caller: SmallVec<[(u32, u32); 2]>,
    /// Number of the intention's frames that stay after a failure event is handled.
    pub keep: Option<u32>,
    /// Result of an early plan selection.
    pub selected: Option<Box<Selected>>,
}

/// Place of a goal in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalPlace {
    /// Initial goal of the program, by number.
    Program(u32),
    /// Line of a plan's body.
    Plan(PlanRef, u32),
}

/// Mark of a goal's place as an initial goal; no plan has this number.
const PROGRAM: u32 = u32::MAX;

/// Result of an early plan selection for an event.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Selected {
    /// A plan (a sub-plan that an external event reached).
    Plan {
        /// Plan.
        plan: PlanRef,
        /// Path to the chosen sub-plan, as places among sub-plans.
        path: SmallVec<[u32; 2]>,
        /// Values of the plan's slots.
        slots: Vec<Value>,
    },
    /// No plan is applicable.
    Nothing {
        /// True if a plan was relevant.
        relevant: bool,
    },
}

impl Event {
    /// Creates an event that no intention waits for.
    pub fn external(op: TriggerOp, kind: TriggerKind, literal: Structure) -> Self {
        Self { op, kind, literal, open: 0, intention: None, caller: SmallVec::new(), keep: None, selected: None }
    }

    /// Returns the goal's place in the program, for an event that no intention waits for.
    pub fn place(&self) -> Option<GoalPlace> {
        let (plan, line) = *self.caller.first().filter(|_| self.intention.is_none())?;
        Some(if plan == PROGRAM { GoalPlace::Program(line) } else { GoalPlace::Plan(PlanRef(plan), line) })
    }

    /// Notes the place of the goal, for an event that no intention waits for.
    pub fn set_place(&mut self, place: GoalPlace) {
        let place = match place {
            GoalPlace::Program(number) => (PROGRAM, number),
            GoalPlace::Plan(plan, line) => (plan.0, line),
        };
        self.caller.clear();
        self.caller.push(place);
    }

    /// Returns the key by which the event's plans are found.
    #[inline]
    pub fn trigger(&self) -> TriggerKey {
        TriggerKey { op: self.op, kind: self.kind, key: Key::of(&self.literal) }
    }

    /// Returns true for an event about a goal, not a belief.
    pub fn is_goal(&self) -> bool {
        self.kind != TriggerKind::Belief
    }

    /// Writes the event as Jason prints it: `+!g(1)[source(self)]`.
    pub fn display(&self) -> String {
        let op = match self.op {
            TriggerOp::Add => "+",
            TriggerOp::Delete => "-",
            TriggerOp::Meta => "^",
        };
        let kind = match self.kind {
            TriggerKind::Belief => "",
            TriggerKind::Achieve => "!",
            TriggerKind::Test => "?",
        };
        format!("{op}{kind}{}", self.literal)
    }
}
