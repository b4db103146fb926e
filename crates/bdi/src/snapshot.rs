//! Minds written out between two steps and read back, in this process or another.
//!
//! All of a mind is data: beliefs, acquired plans and rules (as code terms), events, intentions with their place in each
//! plan, waits with the time that is left. The program itself is not part of it: the reader has it, or gets it by name.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use whimbrel_acl::value::with_shared_objects;
use whimbrel_acl::{Aid, Structure, Symbol, Text, Value};
use whimbrel_platform::{AgentBody, Time};

use crate::code::compile::{body_of_value, compile_acquired, compile_acquired_rule};
use crate::code::{Image, Key};
use crate::mind::{
    BeliefBase, Deferred, Entry, Event, Feedback, Fork, Intention, IntentionId, Mind, Options, Place, PlanRef, RuleRef,
    Timer,
};
use crate::reason::Agent;
use crate::syntax::{ast, quote};

/// The layout of a snapshot; a reader takes its own only.
const LAYOUT: u16 = 3;

/// Why a snapshot was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes are no snapshot.
    #[error("not a snapshot of a mind: {0}")]
    Malformed(#[from] postcard::Error),
    /// It was written by a release with another layout.
    #[error("the snapshot has layout {0}, this release reads layout {LAYOUT}")]
    Layout(u16),
    /// The snapshot is of an agent with another program.
    #[error("the snapshot is of an agent of {snapshot} with {plans} plans, the program given is {given}")]
    OtherProgram {
        /// The program it was taken of.
        snapshot: Text,
        /// How many plans that has.
        plans: u32,
        /// The program given.
        given: Text,
    },
    /// A plan or rule in it does not compile.
    #[error("an acquired plan or rule cannot be restored: {0}")]
    BadCode(String),
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    layout: u16,
    now: Time,
    program: Text,
    program_plans: u32,
    options: Options,
    beliefs: Vec<EntryData>,
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

#[derive(Serialize, Deserialize)]
enum EntryData {
    Fact(Structure),
    ProgramRule(Key, u32),
    OwnRule(Value),
}

#[derive(Serialize, Deserialize)]
struct Acquired {
    order: Vec<PlanRef>,
    /// Label and code of each plan.
    plans: Vec<Option<(Value, Value)>>,
    /// How far automatic labels have come.
    labels: u32,
}

/// The mind of `agent` as bytes; what is due at a time is kept relative to `now`.
pub(crate) fn write(agent: &Agent, now: Time) -> Option<Vec<u8>> {
    let image = agent.image()?;
    let snapshot = take(agent.mind(), &image, agent.first().cloned(), now);
    with_shared_objects(|| postcard::to_stdvec(&snapshot)).ok()
}

fn take(mind: &Mind, image: &Image, first: Option<(Vec<Value>, Vec<Value>)>, now: Time) -> Snapshot {
    Snapshot {
        layout: LAYOUT,
        now,
        program: image.name.clone(),
        program_plans: image.plans.len() as u32,
        options: mind.options.clone(),
        beliefs: entries(&mind.beliefs),
        acquired: acquired(mind),
        events: mind.events.iter().map(std::borrow::Cow::into_owned).collect(),
        atomic_event: mind.atomic_event.clone(),
        suspended_events: mind.suspended_events.clone(),
        intentions: mind.intentions.iter().cloned().collect(),
        last_number: mind.intentions.last_number,
        ready: mind.ready.iter().copied().collect(),
        atomic: mind.atomic,
        deferred: mind.deferred.iter().cloned().collect(),
        namespace_properties: mind.namespace_properties.clone(),
        timers: mind.timers.clone(),
        feedback: mind.feedback.iter().cloned().collect(),
        forks: mind.forks.clone(),
        environment: mind.environment,
        serial: mind.serial,
        messages: mind.messages,
        random: mind.random.get(),
        sleeping: mind.sleeping,
        tested_version_is_current: mind.tested_version == mind.beliefs.version(),
        has_meta_plans: mind.has_meta_plans,
        tells_idleness: mind.tells_idleness,
        handles_messages: mind.handles_messages,
        first,
    }
}

fn entries(beliefs: &BeliefBase) -> Vec<EntryData> {
    let mut all = Vec::new();
    for (key, table) in beliefs.tables() {
        all.extend(table.iter().map(|entry| match entry {
            Entry::Fact(fact) => EntryData::Fact(Structure::clone(fact)),
            Entry::Rule(RuleRef::Image(place)) => EntryData::ProgramRule(*key, *place),
            Entry::Rule(RuleRef::Own(rule)) => {
                let rule = ast::Term::Code(ast::Code::Rule(Box::new((*rule.source).clone())));
                EntryData::OwnRule(quoted(&rule))
            }
        }));
    }
    all
}

fn quoted(term: &ast::Term) -> Value {
    let mut names = Vec::new();
    quote::quote(term, &mut |name| {
        let slot = names.iter().position(|other| *other == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        whimbrel_acl::Var { slot: slot as u32, name }
    })
}

fn acquired(mind: &Mind) -> Option<Acquired> {
    let (order, own, labels) = mind.plans.acquired()?;
    let plans = own.iter().map(|plan| {
        let plan = plan.as_ref()?;
        let code = quoted(&ast::Term::Code(ast::Code::Plan(Box::new((*plan.source).clone()))));
        Some((plan.label.clone(), code))
    });
    Some(Acquired { order, plans: plans.collect(), labels })
}

/// The agent whose mind the bytes are, going on at `now`.
pub(crate) fn read(bytes: &[u8], image: Arc<Image>, now: Time) -> Result<Agent, SnapshotError> {
    let snapshot: Snapshot = with_shared_objects(|| postcard::from_bytes(bytes))?;
    if snapshot.layout != LAYOUT {
        return Err(SnapshotError::Layout(snapshot.layout));
    }
    if snapshot.program_plans != image.plans.len() as u32 {
        return Err(SnapshotError::OtherProgram {
            snapshot: snapshot.program,
            plans: snapshot.program_plans,
            given: image.name.clone(),
        });
    }
    let first = snapshot.first.clone();
    let mind = restore(snapshot, &image, now)?;
    Ok(Agent::resumed(image, mind, first))
}

fn restore(snapshot: Snapshot, image: &Image, now: Time) -> Result<Mind, SnapshotError> {
    let clock = Clock { from: snapshot.now, to: now };
    let mut mind = Mind {
        beliefs: restore_beliefs(snapshot.beliefs, image)?,
        events: snapshot.events.into_iter().collect(),
        atomic_event: snapshot.atomic_event,
        suspended_events: snapshot.suspended_events,
        ready: snapshot.ready.into(),
        atomic: snapshot.atomic,
        deferred: snapshot.deferred.into(),
        namespace_properties: snapshot.namespace_properties,
        timers: snapshot.timers,
        feedback: snapshot.feedback.into(),
        forks: snapshot.forks,
        environment: snapshot.environment,
        options: snapshot.options,
        source: snapshot.program,
        serial: snapshot.serial,
        messages: snapshot.messages,
        random: snapshot.random.into(),
        sleeping: snapshot.sleeping,
        has_meta_plans: snapshot.has_meta_plans,
        tells_idleness: snapshot.tells_idleness,
        handles_messages: snapshot.handles_messages,
        ..Mind::default()
    };
    // The restored beliefs count their changes anew; whether the last ones were looked at is kept.
    mind.tested_version = if snapshot.tested_version_is_current { mind.beliefs.version() } else { u64::MAX };
    if let Some(acquired) = snapshot.acquired {
        restore_plans(&mut mind, acquired, image)?;
    }
    mind.timers.iter_mut().for_each(|timer| clock.shift_timer(timer));
    for mut intention in snapshot.intentions {
        restore_code(&mut intention, image)?;
        clock.shift_intention(&mut intention);
        mind.count_waits(&intention);
        mind.intentions.restore(intention);
    }
    mind.intentions.last_number = snapshot.last_number;
    Ok(mind)
}

fn restore_beliefs(entries: Vec<EntryData>, image: &Image) -> Result<BeliefBase, SnapshotError> {
    let mut beliefs = BeliefBase::default();
    for entry in entries {
        match entry {
            EntryData::Fact(fact) => {
                beliefs.add(fact, true);
            }
            EntryData::ProgramRule(key, place) => beliefs.add_rule(key, RuleRef::Image(place), true),
            EntryData::OwnRule(code) => {
                let rule = quote::unquote_rule(&code).map_err(|e| SnapshotError::BadCode(e.to_string()))?;
                let rule = Arc::new(compile_acquired_rule(&rule, image));
                beliefs.add_rule(rule.key, RuleRef::Own(rule), true);
            }
        }
    }
    Ok(beliefs)
}

fn restore_plans(mind: &mut Mind, acquired: Acquired, image: &Image) -> Result<(), SnapshotError> {
    let mut own = Vec::new();
    for plan in acquired.plans {
        let Some((label, code)) = plan else {
            own.push(None);
            continue;
        };
        let plan = quote::unquote_plan(&code).map_err(|e| SnapshotError::BadCode(e.to_string()))?;
        let mut plan = compile_acquired(&plan, label.functor().unwrap_or_default(), image);
        plan.label = label;
        own.push(Some(Arc::new(plan)));
    }
    mind.plans.restore(image, acquired.order, own, acquired.labels);
    Ok(())
}

/// Compiles the code that ran in place of variables again.
fn restore_code(intention: &mut Intention, image: &Image) -> Result<(), SnapshotError> {
    for frame in &mut intention.frames {
        let base = frame.base;
        let splices = frame.extra.iter_mut().flat_map(|extra| extra.splices.iter_mut());
        for splice in splices {
            let body = body_of_value(&splice.source, image, base)
                .ok_or_else(|| SnapshotError::BadCode(splice.source.to_string()))?;
            splice.body = Arc::new(body);
        }
    }
    Ok(())
}

/// Moves times from the writer's clock to the reader's.
struct Clock {
    from: Time,
    to: Time,
}

impl Clock {
    fn shift(&self, time: &mut Time) {
        if *time != Time::NEVER {
            time.0 = (time.0 + self.to.0).saturating_sub(self.from.0);
        }
    }

    fn shift_timer(&self, timer: &mut Timer) {
        self.shift(&mut timer.due);
    }

    fn shift_intention(&self, intention: &mut Intention) {
        if let Place::Waiting(wait) = &mut intention.place {
            self.shift(&mut wait.since);
            wait.deadline.iter_mut().for_each(|deadline| self.shift(deadline));
        }
    }
}

/// A second agent with the same mind.
pub(crate) fn duplicate(agent: &Agent, now: Time) -> Option<Box<dyn AgentBody>> {
    let copy = read(&write(agent, now)?, agent.image()?, now).ok()?;
    Some(Box::new(copy))
}

/// An agent that has the mind of another but for one intention, which is at work.
pub(crate) fn copy_without(mind: &Mind, left_out: IntentionId, image: &Arc<Image>, now: Time) -> Option<Agent> {
    let mut snapshot = take(mind, image, None, now);
    snapshot.intentions.retain(|intention| intention.id != left_out);
    snapshot.ready.retain(|ready| *ready != left_out);
    snapshot.atomic = snapshot.atomic.filter(|atomic| *atomic != left_out);
    let bytes = with_shared_objects(|| postcard::to_stdvec(&snapshot)).ok()?;
    read(&bytes, Arc::clone(image), now).ok()
}
