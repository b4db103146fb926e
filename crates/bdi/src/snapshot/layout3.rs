//! Layout 3: complete minds only, each belief with its predicate's name.

use std::borrow::Cow;

use serde::Deserialize;
use whimbrel_acl::{Aid, Structure, Symbol, Text, Value};
use whimbrel_platform::Time;

use super::SnapshotError;
use super::apply::own_rule;
use super::record::{
    Acquired, EntryData, FactData, Record, SavedNumbers, SavedPlans, SavedProgram, SavedQueue, SavedRareParts,
    TableData,
};
use crate::code::{Image, Key};
use crate::mind::{Deferred, Event, Feedback, Fork, Intention, IntentionId, ReasoningOptions, Timer};

pub(super) const LAYOUT: u16 = 3;

#[derive(Deserialize)]
pub(super) struct Snapshot {
    #[allow(dead_code, reason = "it was looked at before")]
    layout: u16,
    now: Time,
    program: Text,
    program_plans: u32,
    options: ReasoningOptions,
    beliefs: Vec<Belief>,
    acquired: Option<Acquired>,
    events: Vec<Event>,
    atomic_event: Option<Box<Event>>,
    suspended_events: Vec<Event>,
    intentions: Vec<Intention>,
    last_number: u32,
    ready: Vec<IntentionId>,
    atomic: Option<IntentionId>,
    deferred: Vec<Deferred>,
    namespace_properties: Vec<(Symbol, Symbol, Value)>,
    timers: Vec<Timer>,
    feedback: Vec<Feedback>,
    forks: Vec<Option<Fork>>,
    environment: Option<Aid>,
    serial: u64,
    messages: u64,
    random: u64,
    sleeping: bool,
    tested_version_is_current: bool,
    has_meta_plans: bool,
    tells_idleness: bool,
    handles_messages: bool,
    first: Option<(Vec<Value>, Vec<Value>)>,
}

/// Beliefs, predicate by predicate, each in query order.
#[derive(Deserialize)]
enum Belief {
    Fact(Structure),
    ProgramRule(Key, u32),
    OwnRule(Value),
}

impl Snapshot {
    /// Converts a snapshot to a current record.
    pub(super) fn into_record(self, image: &Image) -> Result<Record<'static>, SnapshotError> {
        let rare = SavedRareParts {
            options: Cow::Owned(self.options),
            atomic_event: self.atomic_event.map(|event| Cow::Owned(*event)),
            suspended_events: self.suspended_events.into_iter().map(Cow::Owned).collect(),
            deferred: self.deferred.into_iter().map(Cow::Owned).collect(),
            namespace_properties: Cow::Owned(self.namespace_properties),
            feedback: self.feedback.into_iter().map(Cow::Owned).collect(),
            forks: Cow::Owned(self.forks),
            environment: self.environment,
            has_meta_plans: self.has_meta_plans,
            tells_idleness: self.tells_idleness,
            handles_messages: self.handles_messages,
            first: self.first.map(Cow::Owned),
        };
        let numbers = SavedNumbers {
            last_intention: self.last_number,
            serial: self.serial,
            messages: self.messages,
            random: self.random,
            atomic: self.atomic,
            sleeping: self.sleeping,
            tested: self.tested_version_is_current,
        };
        Ok(Record {
            layout: super::LAYOUT,
            whole: Some(SavedProgram { name: Cow::Owned(self.program), plans: self.program_plans }),
            number: 0,
            now: self.now,
            ahead: 0,
            beliefs: tables(self.beliefs, image)?,
            plans: self.acquired.map(SavedPlans::All),
            events: SavedQueue { gone: 0, new: self.events.into_iter().map(Cow::Owned).collect() },
            intentions: self.intentions.into_iter().map(Cow::Owned).collect(),
            ended: Vec::new(),
            ready: SavedQueue { gone: 0, new: self.ready },
            timers: self.timers.into_iter().map(Cow::Owned).collect(),
            timers_gone: Vec::new(),
            numbers,
            rare: Some(rare),
        })
    }
}

fn tables(beliefs: Vec<Belief>, image: &Image) -> Result<Vec<TableData<'static>>, SnapshotError> {
    let mut tables: Vec<TableData<'static>> = Vec::new();
    for belief in beliefs {
        let (key, entry) = match belief {
            Belief::Fact(fact) => {
                let args = Cow::Owned(fact.args.to_vec());
                let data = FactData { args, annots: Cow::Owned(fact.annots.to_vec()) };
                (Key::of(&fact), EntryData::Fact(data))
            }
            Belief::ProgramRule(key, place) => (key, EntryData::ProgramRule(place)),
            Belief::OwnRule(code) => (own_rule(&code, image)?.key, EntryData::OwnRule(code)),
        };
        match tables.last_mut().filter(|table| table.key == key) {
            Some(table) => {
                table.entries.push((table.numbers, Some(entry)));
                table.numbers += 1;
            }
            None => tables.push(TableData { key, whole: true, front: 0, numbers: 1, entries: vec![(0, Some(entry))] }),
        }
    }
    Ok(tables)
}
