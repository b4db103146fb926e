//! Records of snapshots.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Structure, Symbol, Text, Value};
use whimbrel_platform::Time;

use crate::code::{Key, PlanRef};
use crate::mind::{
    Deferred, Event, Feedback, Fork, Intention, IntentionId, IntentionPlace, Mind, ReasoningOptions, Timer,
};

/// Library programs whose plans count in the number of plans that a snapshot names.
pub(super) const SAVED_LIBRARIES: usize = 2;

/// Beliefs and goals that an agent begins with.
pub(crate) type First = (Vec<Value>, Vec<Value>);

/// Complete mind, or its changes since the last save.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record<'a> {
    pub(super) layout: u16,
    /// Program, for a complete mind.
    pub(super) whole: Option<SavedProgram<'a>>,
    /// Number of the save.
    pub(super) number: u64,
    /// Time on the clock of all times in the record.
    pub(super) now: Time,
    /// Microseconds by which that clock is ahead of the last save's.
    pub(super) ahead: i64,
    pub(super) beliefs: Vec<TableData<'a>>,
    pub(super) plans: Option<SavedPlans<'a>>,
    pub(super) events: SavedQueue<Cow<'a, Event>>,
    pub(super) intentions: Vec<Cow<'a, Intention>>,
    /// Places without an intention now.
    pub(super) ended: Vec<u32>,
    pub(super) ready: SavedQueue<IntentionId>,
    pub(super) timers: Vec<Cow<'a, Timer>>,
    pub(super) timers_gone: Vec<(Time, u64)>,
    pub(super) numbers: SavedNumbers,
    /// Rare parts, if they changed.
    pub(super) rare: Option<SavedRareParts<'a>>,
}

/// Program of a mind.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedProgram<'a> {
    pub(super) name: Cow<'a, Text>,
    pub(super) plans: u32,
}

/// Change of a predicate; see [`crate::mind::TableChange`].
#[derive(Serialize, Deserialize)]
pub(super) struct TableData<'a> {
    pub(super) key: Key,
    pub(super) whole: bool,
    pub(super) front: i64,
    pub(super) numbers: u32,
    /// Entries by distance from `front`.
    pub(super) entries: Vec<(u32, Option<EntryData<'a>>)>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum EntryData<'a> {
    Fact(FactData<'a>),
    ProgramRule(u32),
    OwnRule(Value),
}

/// Fact, whose key is its predicate's.
#[derive(Serialize, Deserialize)]
pub(super) struct FactData<'a> {
    pub(super) args: Cow<'a, [Value]>,
    pub(super) annots: Cow<'a, [whimbrel_acl::Annot]>,
}

/// Plans of the agent, if they are not the program's, or their changes.
#[derive(Serialize, Deserialize)]
pub(super) enum SavedPlans<'a> {
    All(Acquired),
    Done(Vec<PlanData<'a>>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct Acquired {
    pub(super) order: Vec<PlanRef>,
    /// Label and code of each plan.
    pub(super) plans: Vec<Option<(Value, Value)>>,
    /// Number of generated labels.
    pub(super) labels: u32,
}

/// Change of the plan library.
#[derive(Serialize, Deserialize)]
pub(super) enum PlanData<'a> {
    /// Label and code, and true if the plan goes before all others.
    Add(Cow<'a, Value>, Value, bool),
    /// Replaced plan, label and code.
    Replace(PlanRef, Cow<'a, Value>, Value),
    Remove(PlanRef, bool),
    Labels(u32),
}

/// Change of a queue: the number of oldest items removed, and the items added.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct SavedQueue<T> {
    pub(super) gone: u32,
    pub(super) new: Vec<T>,
}

/// Numbers written in each record.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedNumbers {
    pub(super) last_intention: u32,
    pub(super) serial: u64,
    pub(super) messages: u64,
    pub(super) random: u64,
    pub(super) atomic: Option<IntentionId>,
    pub(super) sleeping: bool,
    /// True if waits for conditions have been tested with the present beliefs.
    pub(super) tested: bool,
}

/// Parts that few turns change.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedRareParts<'a> {
    pub(super) options: Cow<'a, ReasoningOptions>,
    pub(super) atomic_event: Option<Cow<'a, Event>>,
    pub(super) suspended_events: Vec<Cow<'a, Event>>,
    pub(super) deferred: Vec<Cow<'a, Deferred>>,
    pub(super) namespace_properties: Cow<'a, [(Symbol, Symbol, Value)]>,
    pub(super) feedback: Vec<Cow<'a, Feedback>>,
    pub(super) forks: Cow<'a, [Option<Fork>]>,
    pub(super) environment: Option<Aid>,
    pub(super) has_meta_plans: bool,
    pub(super) tells_idleness: bool,
    pub(super) handles_messages: bool,
    pub(super) first: Option<Cow<'a, First>>,
}

impl Record<'_> {
    pub(super) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    pub(super) fn leave_out(&mut self, left_out: IntentionId) {
        self.intentions.retain(|intention| intention.id != left_out);
        self.ready.new.retain(|ready| *ready != left_out);
        self.numbers.atomic = self.numbers.atomic.filter(|atomic| *atomic != left_out);
    }
}

impl FactData<'_> {
    pub(super) fn into_fact(self, key: Key) -> Structure {
        let args = self.args.into_owned().into();
        Structure::full(key.namespace, key.negated, key.functor, args, self.annots.into_owned().into())
    }
}

/// Shift of times from the writer's clock to the reader's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(super) from: Time,
    pub(super) to: Time,
}

impl Clock {
    /// Returns the microseconds by which the reader's clock is ahead of the writer's.
    pub(crate) fn ahead(self) -> i64 {
        self.to.0.wrapping_sub(self.from.0).cast_signed()
    }

    /// Returns the time on the writer's clock when it is `now` on the reader's.
    pub(crate) fn back(self, now: Time) -> Time {
        Time(now.0.wrapping_sub(self.ahead().cast_unsigned()))
    }
}

/// Moves all times of a mind to a clock that is `ahead` microseconds of theirs.
pub(crate) fn move_times(mind: &mut Mind, ahead: i64) {
    if ahead == 0 {
        return;
    }
    let shift = |time: &mut Time| {
        if *time != Time::NEVER {
            time.0 = time.0.saturating_add_signed(ahead);
        }
    };
    mind.timers.shift(shift);
    for intention in mind.intentions.all_mut() {
        if let IntentionPlace::Waiting(wait) = &mut intention.place {
            shift(&mut wait.since);
            wait.deadline.iter_mut().for_each(shift);
        }
    }
}
