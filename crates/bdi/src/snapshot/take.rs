//! Writing of snapshots.

use std::borrow::Cow;

use whimbrel_acl::Value;
use whimbrel_acl::value::{shared_objects_met, with_shared_objects};
use whimbrel_platform::Time;

use super::record::{
    Acquired, EntryData, FactData, PlanData, Record, SAVED_LIBRARIES, SavedNumbers, SavedPlans, SavedProgram,
    SavedQueue, SavedRareParts, TableData,
};
use super::{Begin, LAYOUT};
use crate::code::{CompiledPlan, Image};
use crate::load::library_plans;
use crate::mind::{Entry, IntentionId, Mind, PlanChange, RuleRef, TableChange};
use crate::numbering::Numbering;
use crate::syntax::{ast, quote};

/// State of an agent's last save.
#[derive(Debug, Default)]
pub(crate) struct Saves {
    /// Number of the save.
    number: u64,
    /// Number of waiting events.
    events: u32,
    /// Ready intentions.
    ready: Vec<IntentionId>,
    /// Last number given to a timer.
    serial: u64,
    /// Rare parts as written.
    rare: Vec<u8>,
    /// Present rare parts; retained for their memory.
    rare_now: Vec<u8>,
    /// True if the save contained mutable containers.
    objects: bool,
    /// Microseconds by which the clock is ahead of the save's.
    ahead: i64,
}

/// Agent to be written.
#[derive(Clone, Copy)]
pub(crate) struct SnapshotSubject<'a> {
    pub(crate) image: &'a Image,
    pub(crate) begin: Option<&'a Begin>,
    /// Time on the clock of the mind's times.
    pub(crate) now: Time,
}

impl Saves {
    /// Starts to note changes: the mind is in the state of the save that the agent was restored from.
    pub(crate) fn go_on(mind: &mut Mind, subject: SnapshotSubject<'_>) -> Self {
        let number = subject.begin.map_or(0, |begin| begin.save);
        let mut saves = Self { objects: subject.begin.is_some_and(|begin| begin.objects), ..Self::default() };
        saves.note(mind, subject, number);
        saves
    }

    fn note(&mut self, mind: &mut Mind, subject: SnapshotSubject<'_>, number: u64) {
        self.number = number;
        self.events = mind.events.len() as u32;
        self.ready.clear();
        self.ready.extend(mind.ready.iter());
        self.serial = mind.serial;
        self.ahead = 0;
        mind.mark_saved();
        self.look_at_rare(mind, subject);
        std::mem::swap(&mut self.rare, &mut self.rare_now);
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn look_at_rare(&mut self, mind: &Mind, subject: SnapshotSubject<'_>) {
        self.rare_now.clear();
        with_shared_objects(|| append(&rare(mind, subject.begin), &mut self.rare_now));
    }

    /// Notes that the clock of all times was replaced by one that is this much ahead.
    pub(crate) fn clock_changed(&mut self, ahead: i64) {
        self.ahead = self.ahead.saturating_add(ahead);
    }

    /// Writes the complete mind.
    pub(crate) fn whole(&mut self, mind: &mut Mind, subject: SnapshotSubject<'_>, out: &mut Vec<u8>) -> bool {
        let number = self.number + 1;
        let Some(objects) = encode(&whole(mind, subject, number), out) else { return false };
        self.objects = objects;
        self.note(mind, subject, number);
        true
    }

    /// Writes the changes.
    pub(crate) fn delta(&mut self, mind: &mut Mind, subject: SnapshotSubject<'_>, out: &mut Vec<u8>) -> bool {
        if self.objects {
            return self.whole(mind, subject, out);
        }
        let start = out.len();
        mind.sort_notes();
        self.look_at_rare(mind, subject);
        match encode(&self.changes(mind, subject), out) {
            Some(false) => {
                self.note(mind, subject, self.number + 1);
                true
            }
            // A container came in, whose changes the mind does not notice.
            Some(true) => {
                out.truncate(start);
                self.whole(mind, subject, out)
            }
            None => false,
        }
    }

    fn changes<'a>(&self, mind: &'a Mind, subject: SnapshotSubject<'a>) -> Record<'a> {
        let (mut timers, mut timers_gone) = (Vec::new(), Vec::new());
        for (key, timer) in mind.timers.changes() {
            match timer {
                Some(timer) => timers.push(Cow::Borrowed(timer)),
                // Timers that were set and removed since were never saved.
                None if key.1 <= self.serial => timers_gone.push(key),
                None => {}
            }
        }
        let (mut intentions, mut ended) = (Vec::new(), Vec::new());
        for (place, intention) in mind.intentions.changes() {
            match intention {
                Some(intention) => intentions.push(Cow::Borrowed(intention)),
                None => ended.push(place),
            }
        }
        let plans = mind.plans.changes();
        let events = mind.events.changes(self.events);
        Record {
            layout: LAYOUT,
            whole: None,
            number: self.number + 1,
            now: subject.now,
            ahead: self.ahead,
            beliefs: mind.beliefs.changes().into_iter().map(table_data).collect(),
            plans: (!plans.is_empty()).then(|| SavedPlans::Done(plans.iter().map(plan_data).collect())),
            events: SavedQueue { gone: events.gone, new: events.new.collect() },
            intentions,
            ended,
            ready: moved(&self.ready, mind),
            timers,
            timers_gone,
            numbers: numbers(mind),
            rare: (self.rare != self.rare_now).then(|| rare(mind, subject.begin)),
        }
    }
}

/// Returns the number of plans of a program that a snapshot names: without the plans for operators, which nodes of
/// earlier releases lack. Such nodes can then read the snapshot.
fn plans_told(image: &Image) -> u32 {
    image.plans.len().min(image.source.plans.len() + library_plans(SAVED_LIBRARIES)) as u32
}

/// Builds the record of the complete mind as save `number`.
pub(super) fn whole<'a>(mind: &'a Mind, subject: SnapshotSubject<'a>, number: u64) -> Record<'a> {
    let SnapshotSubject { image, begin, now } = subject;
    Record {
        layout: LAYOUT,
        whole: Some(SavedProgram { name: Cow::Borrowed(&image.name), plans: plans_told(image) }),
        number,
        now,
        ahead: 0,
        beliefs: mind.beliefs.whole().into_iter().map(table_data).collect(),
        plans: acquired(mind).map(SavedPlans::All),
        events: SavedQueue { gone: 0, new: mind.events.iter().collect() },
        intentions: mind.intentions.iter().map(Cow::Borrowed).collect(),
        ended: Vec::new(),
        ready: SavedQueue { gone: 0, new: mind.ready.iter().copied().collect() },
        timers: mind.timers.iter().map(Cow::Borrowed).collect(),
        timers_gone: Vec::new(),
        numbers: numbers(mind),
        rare: Some(rare(mind, begin)),
    }
}

/// Appends a record. Returns whether it contains containers; `None` if it cannot be written.
pub(super) fn encode(record: &Record<'_>, out: &mut Vec<u8>) -> Option<bool> {
    if record.intentions.iter().any(|intention| intention.id.index >= super::INTENTIONS_MAX) {
        return None;
    }
    with_shared_objects(|| append(record, out).then(shared_objects_met))
}

fn append<T: serde::Serialize>(value: &T, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    match postcard::to_extend(value, std::mem::take(out)) {
        Ok(bytes) => {
            *out = bytes;
            true
        }
        Err(_) => {
            out.truncate(start);
            false
        }
    }
}

fn numbers(mind: &Mind) -> SavedNumbers {
    SavedNumbers {
        last_intention: mind.intentions.last_number,
        serial: mind.serial,
        messages: mind.messages,
        random: mind.random.get(),
        atomic: mind.atomic,
        sleeping: mind.sleeping,
        tested: mind.tested_version == mind.beliefs.version(),
    }
}

fn rare<'a>(mind: &'a Mind, begin: Option<&'a Begin>) -> SavedRareParts<'a> {
    SavedRareParts {
        options: Cow::Borrowed(&mind.options),
        atomic_event: mind.atomic_event.as_deref().map(Cow::Borrowed),
        suspended_events: mind.suspended_events.iter().map(Cow::Borrowed).collect(),
        deferred: mind.deferred.iter().map(Cow::Borrowed).collect(),
        namespace_properties: Cow::Borrowed(&mind.namespace_properties),
        feedback: mind.feedback.iter().map(Cow::Borrowed).collect(),
        forks: Cow::Borrowed(&mind.forks),
        environment: mind.environment,
        has_meta_plans: mind.has_meta_plans,
        tells_idleness: mind.tells_idleness,
        handles_messages: mind.handles_messages,
        first: begin.and_then(|begin| begin.first.as_ref()).map(Cow::Borrowed),
    }
}

/// Returns the changes of the queue of ready intentions since it was `before`.
fn moved(before: &[IntentionId], mind: &Mind) -> SavedQueue<IntentionId> {
    let first = mind.ready.front();
    let gone = before.iter().position(|id| Some(id) == first).unwrap_or(before.len());
    let stayed = before.get(gone..).unwrap_or_default();
    if stayed.len() <= mind.ready.len() && stayed.iter().eq(mind.ready.iter().take(stayed.len())) {
        return SavedQueue { gone: gone as u32, new: mind.ready.iter().skip(stayed.len()).copied().collect() };
    }
    SavedQueue { gone: before.len() as u32, new: mind.ready.iter().copied().collect() }
}

fn table_data(change: TableChange<&Entry>) -> TableData<'_> {
    let TableChange { key, whole, front, numbers, entries } = change;
    let data = |(number, entry): (i64, Option<_>)| ((number - front) as u32, entry.map(entry_data));
    TableData { key, whole, front, numbers, entries: entries.into_iter().map(data).collect() }
}

fn entry_data(entry: &Entry) -> EntryData<'_> {
    match entry {
        Entry::Fact(fact) => {
            EntryData::Fact(FactData { args: Cow::Borrowed(&fact.args), annots: Cow::Borrowed(&fact.annots) })
        }
        Entry::Rule(RuleRef::Image(place)) => EntryData::ProgramRule(*place),
        Entry::Rule(RuleRef::Own(rule)) => {
            let rule = ast::Term::Code(ast::CodeTerm::Rule(Box::new((*rule.source).clone())));
            EntryData::OwnRule(quoted(&rule))
        }
    }
}

fn quoted(term: &ast::Term) -> Value {
    let mut names = Numbering::default();
    quote::quote(term, &mut |name| quote::numbered(&mut names, name))
}

fn plan_code(plan: &CompiledPlan) -> Value {
    quoted(&ast::Term::Code(ast::CodeTerm::Plan(Box::new((*plan.source).clone()))))
}

fn plan_data(change: &PlanChange) -> PlanData<'_> {
    match change {
        PlanChange::Add(plan, before) => PlanData::Add(Cow::Borrowed(&plan.label), plan_code(plan), *before),
        PlanChange::Replace(place, plan) => PlanData::Replace(*place, Cow::Borrowed(&plan.label), plan_code(plan)),
        PlanChange::Remove(place, in_use) => PlanData::Remove(*place, *in_use),
        PlanChange::Labels(labels) => PlanData::Labels(*labels),
    }
}

fn acquired(mind: &Mind) -> Option<Acquired> {
    let (order, own, labels) = mind.plans.acquired()?;
    let plans = own.iter().map(|plan| {
        let plan = plan.as_ref()?;
        Some((plan.label.clone(), plan_code(plan)))
    });
    Some(Acquired { order, plans: plans.collect(), labels })
}
