//! Application of records to a mind.

use std::sync::Arc;

use whimbrel_acl::Value;

use super::SnapshotError;
use super::record::{
    Acquired, EntryData, PlanData, Record, SAVED_LIBRARIES, SavedPlans, SavedProgram, SavedQueue, SavedRareParts,
    TableData, move_times,
};
use crate::code::compile::{body_of_value, compile_acquired, compile_acquired_rule};
use crate::code::{CompiledPlan, Image, PlanRef};
use crate::load::library_plans;
use crate::mind::{Entry, Intention, Mind, PlanChange, RuleRef, TableChange};
use crate::syntax::quote;

/// Applies a record: the mind becomes the record's, or changes accordingly. Returns the agent's initial beliefs and
/// goals, if the record contains them.
///
/// # Errors
/// Returns an error if the record makes no sense; the mind is useless then.
pub(super) fn apply(
    mind: &mut Mind,
    record: Record<'static>,
    image: &Image,
) -> Result<Option<Option<super::record::First>>, SnapshotError> {
    let mut plans_then = image.plans.len() as u32;
    if let Some(program) = record.whole {
        plans_then = program.plans;
        check_program(&program, image)?;
        *mind = Mind { source: program.name.into_owned(), ..Mind::default() };
    }
    move_times(mind, record.ahead);
    for table in record.beliefs {
        change_beliefs(mind, table, image)?;
    }
    match record.plans {
        Some(SavedPlans::All(mut acquired)) => {
            let later = (plans_then..image.plans.len() as u32).map(PlanRef);
            let new: Vec<PlanRef> = later.filter(|place| !acquired.order.contains(place)).collect();
            acquired.order.extend(new);
            restore_plans(mind, acquired, image)?;
        }
        Some(SavedPlans::Done(changes)) => redo(mind, changes, image)?,
        None => {}
    }
    mind.events.change(record.events.gone, record.events.new.into_iter().map(std::borrow::Cow::into_owned));
    for place in record.ended {
        end_intention(mind, place);
    }
    for intention in record.intentions {
        restore_intention(mind, intention.into_owned(), image)?;
    }
    let SavedQueue { gone, new } = record.ready;
    mind.ready.remove_first(gone as usize);
    mind.ready.extend(new);
    record.timers_gone.into_iter().for_each(|key| mind.timers.remove(key));
    record.timers.into_iter().for_each(|timer| mind.timers.set(timer.into_owned()));
    mind.intentions.last_number = record.numbers.last_intention;
    (mind.serial, mind.messages) = (record.numbers.serial, record.numbers.messages);
    mind.random.set(record.numbers.random);
    (mind.atomic, mind.sleeping) = (record.numbers.atomic, record.numbers.sleeping);
    // The restored beliefs count their changes anew; whether the last ones were tested is retained.
    mind.tested_version = if record.numbers.tested { mind.beliefs.version() } else { u64::MAX };
    Ok(record.rare.map(|rare| restore_rare(mind, rare)))
}

fn check_program(program: &SavedProgram<'_>, image: &Image) -> Result<(), SnapshotError> {
    // Earlier releases had fewer library plans; those that they had are in the same places.
    let earlier = |programs| image.source.plans.len() + library_plans(programs);
    if [image.plans.len(), earlier(1), earlier(SAVED_LIBRARIES)].contains(&(program.plans as usize)) {
        return Ok(());
    }
    let (snapshot, plans) = (program.name.clone().into_owned(), program.plans);
    Err(SnapshotError::OtherProgram { snapshot, plans, given: image.name.clone() })
}

fn restore_rare(mind: &mut Mind, rare: SavedRareParts<'static>) -> Option<super::record::First> {
    mind.options = rare.options.into_owned();
    mind.atomic_event = rare.atomic_event.map(|event| Box::new(event.into_owned()));
    mind.suspended_events = rare.suspended_events.into_iter().map(std::borrow::Cow::into_owned).collect();
    mind.deferred = rare.deferred.into_iter().map(std::borrow::Cow::into_owned).collect();
    mind.namespace_properties = rare.namespace_properties.into_owned();
    mind.feedback = rare.feedback.into_iter().map(std::borrow::Cow::into_owned).collect();
    mind.forks = rare.forks.into_owned();
    mind.environment = rare.environment;
    mind.has_meta_plans = rare.has_meta_plans;
    mind.tells_idleness = rare.tells_idleness;
    mind.handles_messages = rare.handles_messages;
    rare.first.map(std::borrow::Cow::into_owned)
}

fn change_beliefs(mind: &mut Mind, table: TableData<'static>, image: &Image) -> Result<(), SnapshotError> {
    let TableData { key, whole, front, numbers, entries } = table;
    let mut restored = Vec::with_capacity(entries.len());
    for (distance, entry) in entries {
        let entry = match entry {
            None => None,
            Some(EntryData::Fact(fact)) => Some(Entry::Fact(Arc::new(fact.into_fact(key)))),
            Some(EntryData::ProgramRule(place)) => Some(Entry::Rule(RuleRef::Image(place))),
            Some(EntryData::OwnRule(code)) => Some(Entry::Rule(RuleRef::Own(own_rule(&code, image)?))),
        };
        restored.push((front.saturating_add(i64::from(distance)), entry));
    }
    let change = TableChange { key, whole, front, numbers, entries: restored };
    if mind.beliefs.change(change) { Ok(()) } else { Err(SnapshotError::Inconsistent("beliefs without an order")) }
}

/// Compiles the rule in the code.
pub(super) fn own_rule(code: &Value, image: &Image) -> Result<Arc<crate::code::CompiledRule>, SnapshotError> {
    let rule = quote::unquote_rule(code).map_err(|e| SnapshotError::BadCode(e.to_string()))?;
    Ok(Arc::new(compile_acquired_rule(&rule, image)))
}

fn own_plan(label: Value, code: &Value, image: &Image) -> Result<Arc<CompiledPlan>, SnapshotError> {
    let plan = quote::unquote_plan(code).map_err(|e| SnapshotError::BadCode(e.to_string()))?;
    let mut plan = compile_acquired(&plan, label.functor().unwrap_or_default(), image);
    plan.label = label;
    Ok(Arc::new(plan))
}

fn restore_plans(mind: &mut Mind, acquired: Acquired, image: &Image) -> Result<(), SnapshotError> {
    let plans = acquired.plans.into_iter();
    let own = plans.map(|plan| plan.map(|(label, code)| own_plan(label, &code, image)).transpose());
    let own = own.collect::<Result<_, _>>()?;
    mind.plans.restore(image, acquired.order, own, acquired.labels);
    Ok(())
}

fn redo(mind: &mut Mind, changes: Vec<PlanData<'static>>, image: &Image) -> Result<(), SnapshotError> {
    for change in changes {
        let change = match change {
            PlanData::Add(label, code, before) => PlanChange::Add(own_plan(label.into_owned(), &code, image)?, before),
            PlanData::Replace(place, label, code) => {
                PlanChange::Replace(place, own_plan(label.into_owned(), &code, image)?)
            }
            PlanData::Remove(place, in_use) => PlanChange::Remove(place, in_use),
            PlanData::Labels(labels) => PlanChange::Labels(labels),
        };
        mind.plans.redo(image, change);
    }
    Ok(())
}

fn end_intention(mind: &mut Mind, place: u32) {
    let Some(id) = mind.intentions.id_at(place) else { return };
    if let Some(intention) = mind.intentions.find(id).cloned() {
        mind.uncount_waits(&intention);
    }
    mind.intentions.end(id);
}

fn restore_intention(mind: &mut Mind, mut intention: Intention, image: &Image) -> Result<(), SnapshotError> {
    if intention.id.index >= super::INTENTIONS_MAX {
        return Err(SnapshotError::Inconsistent("too many intentions"));
    }
    restore_code(&mut intention, image)?;
    end_intention(mind, intention.id.index);
    mind.count_waits(&intention);
    mind.intentions.restore(intention);
    Ok(())
}

/// Recompiles the code that ran in place of variables.
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
