//! Goals, intentions and events: dropped, ended, suspended, resumed.

use rustc_hash::FxHashSet;
use whimbrel_acl::{Structure, Value};

use crate::logic::is_open_arithmetic;
use crate::mind::{Event, IntentionId, IntentionPlace, PlacedQueue, TimerWhat, WaitFor};
use crate::numbering::Numbering;
use crate::prover::Failure;
use crate::reason::{Cycle, Doomed, StepCall, StepProgress, unify_apart};
use crate::syntax::quote::numbered;
use crate::syntax::{ast, quote};

/// Reason of a suspended intention.
const SUSPENDED: &str = "suspend_ia";

/// Returns the goal in the first argument, with variables of its own.
fn goal(call: &StepCall<'_, '_>) -> Result<Value, Failure> {
    let goal = call.arg(0);
    if !goal.is_literal() || is_open_arithmetic(goal) {
        return Err(Failure::wrong_argument(call.call, "first argument must be a literal"));
    }
    Ok(call.cycle.bindings.closed(goal))
}

/// Returns the goal in the first argument; a variable stands for any goal.
fn goal_or_any(call: &StepCall<'_, '_>) -> Result<Value, Failure> {
    match call.arg(0) {
        Value::Null => Err(Failure::new("unknown", "the goal to drop is missing")),
        Value::Var(_) => Ok(call.cycle.bindings.closed(call.arg(0))),
        other if other.is_literal() && !is_open_arithmetic(other) => goal(call),
        other => {
            let what = format!("first argument '{other}' must be a literal or variable");
            Err(Failure::wrong_argument(call.call, &what))
        }
    }
}

/// Runs `work` on all intentions, including the current one. That one continues if it is still there and was not
/// moved.
fn among_all(
    call: &mut StepCall<'_, '_>,
    work: impl FnOnce(&mut Cycle<'_>, IntentionId) -> StepProgress,
) -> StepProgress {
    call.cycle.put_down(Some(call.intention));
    let progress = work(call.cycle, call.intention);
    if progress == StepProgress::Done {
        call.cycle.take_up(Some(call.intention));
    }
    progress
}

/// `.drop_intention(Goal)`: ends intentions with the goal; without an argument the current one.
pub fn drop_intention(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    if call.args.is_empty() {
        return Ok(among_all(call, drop_current));
    }
    let goal = goal_or_any(call)?;
    Ok(among_all(call, |cycle, current| drop_intentions(cycle, current, &goal)))
}

fn drop_current(cycle: &mut Cycle<'_>, current: IntentionId) -> StepProgress {
    cycle.finish_goal(current, 0, Doomed::Dropped, Vec::new());
    StepProgress::Moved
}

fn drop_intentions(cycle: &mut Cycle<'_>, current: IntentionId, goal: &Value) -> StepProgress {
    let mut progress = StepProgress::Done;
    for id in cycle.mind.intentions.pursuing(goal, |_| false) {
        if let Some(place) = cycle.find_goal(id, goal) {
            cycle.finish_goal(id, place, Doomed::Dropped, Vec::new());
            if id == current {
                progress = StepProgress::Moved;
            }
        }
    }
    progress
}

/// `.drop_desire(Goal)`: like `.drop_intention`, and drops events for the goal.
pub fn drop_desire(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    if call.args.is_empty() {
        return Ok(among_all(call, drop_current));
    }
    let goal = goal_or_any(call)?;
    Ok(among_all(call, |cycle, current| {
        let progress = drop_intentions(cycle, current, &goal);
        drop_goal_events(cycle, &goal);
        progress
    }))
}

/// `.drop_event(Goal)`: drops events for the goal, with the intentions that wait in them.
pub fn drop_event(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let goal = goal_or_any(call)?;
    drop_goal_events(call.cycle, &goal);
    Ok(StepProgress::Done)
}

/// Drops all events for a goal, and ends the intentions that wait in them.
fn drop_goal_events(cycle: &mut Cycle<'_>, goal: &Value) {
    drop_events(cycle, |cycle| take_goal_events(cycle, goal));
}

/// Drops all events that `take` takes out, and ends the intentions that wait in them.
fn drop_events(cycle: &mut Cycle<'_>, take: impl FnOnce(&mut Cycle<'_>) -> Vec<Event>) {
    for event in take(cycle) {
        if let Some(id) = event.intention {
            cycle.is_out_of_event(id);
            cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
        }
    }
}

/// Takes all events for a goal: those of the queue in order, then those of suspended intentions.
fn take_goal_events(cycle: &mut Cycle<'_>, goal: &Value) -> Vec<Event> {
    let mut taken = take_queued_events(cycle, goal, &FxHashSet::default());
    cycle.mind.suspended_events.close_gaps();
    for place in cycle.mind.suspended_events.for_goal(goal) {
        if cycle.mind.suspended_events.get(place).is_some_and(|event| cycle.event_matches(event, goal)) {
            taken.extend(cycle.mind.suspended_events.take(place));
        }
    }
    taken
}

/// Takes all events for a goal from the queue, and those in which one of the `waiting` intentions waits.
fn take_queued_events(cycle: &mut Cycle<'_>, goal: &Value, waiting: &FxHashSet<IntentionId>) -> Vec<Event> {
    let mut taken = Vec::new();
    let mut places = cycle.mind.events.for_goal(goal);
    places.extend(waiting.iter().filter_map(|id| cycle.mind.events.place_of(*id)));
    places.sort_unstable();
    places.dedup();
    let wanted = |cycle: &Cycle<'_>, event: &Event| {
        event.intention.is_some_and(|id| waiting.contains(&id)) || cycle.event_matches(event, goal)
    };
    for place in places {
        if cycle.mind.events.get(place).is_some_and(|event| wanted(cycle, event)) {
            taken.extend(cycle.mind.events.take(place));
        }
    }
    if cycle.mind.atomic_event.as_ref().is_some_and(|event| wanted(cycle, event)) {
        taken.extend(cycle.mind.atomic_event.take().map(|event| *event));
    }
    taken
}

/// Takes all events, or all for goals: those of the queue in order, then those of suspended intentions.
fn take_all_events(cycle: &mut Cycle<'_>, only_goals: bool) -> Vec<Event> {
    let mind = &mut *cycle.mind;
    let (mut taken, mut kept) = (Vec::new(), Vec::new());
    let mut sort = |event: Event, kept: &mut Vec<Event>| match !only_goals || event.is_goal() {
        true => taken.push(event),
        false => kept.push(event),
    };
    mind.events.take_all().for_each(|event| sort(event, &mut kept));
    mind.events = kept.into_iter().collect();
    let mut kept = Vec::new();
    mind.atomic_event.take().into_iter().for_each(|event| sort(*event, &mut kept));
    mind.atomic_event = kept.pop().map(Box::new);
    mind.suspended_events.take_all().for_each(|event| sort(event, &mut kept));
    mind.suspended_events = kept.into_iter().collect();
    taken
}

/// `.drop_all_events`: drops all events, with the intentions that wait in them.
pub fn drop_all_events(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    drop_events(call.cycle, |cycle| take_all_events(cycle, false));
    Ok(StepProgress::Done)
}

/// `.drop_all_intentions`: ends all intentions but the current one, and drops what `.at` has planned.
pub fn drop_all_intentions(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    drop_other_intentions(call.cycle, call.intention);
    Ok(StepProgress::Done)
}

fn drop_other_intentions(cycle: &mut Cycle<'_>, current: IntentionId) {
    for id in cycle.mind.intentions.ids() {
        if id != current {
            cycle.leave_fork(id);
            cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
        }
    }
    cycle.mind.timers.retain(|timer| !matches!(timer.what, TimerWhat::Event(_)));
}

/// `.drop_all_desires`: like `.drop_all_intentions`, and drops events for goals.
pub fn drop_all_desires(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    drop_other_intentions(call.cycle, call.intention);
    drop_events(call.cycle, |cycle| take_all_events(cycle, true));
    call.cycle.mind.suspended_events = PlacedQueue::default();
    Ok(StepProgress::Done)
}

/// `.drop_future_intention(Goal)`: ends intentions whose innermost plan has `!Goal` or `!!Goal` in its body, and
/// drops events for the goal.
pub fn drop_future_intention(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let literal = call.arg(0);
    if !literal.is_literal() || is_open_arithmetic(literal) {
        let what = format!("first argument '{literal}' must be a literal");
        return Err(Failure::wrong_argument(call.call, &what));
    }
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let mut progress = StepProgress::Done;
        for id in cycle.mind.intentions.ids() {
            if will_achieve(cycle, id, &goal) {
                cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
                if id == current {
                    progress = StepProgress::Moved;
                }
            }
        }
        drop_goal_events(cycle, &goal);
        progress
    }))
}

fn will_achieve(cycle: &Cycle<'_>, id: IntentionId, goal: &Value) -> bool {
    let Some(top) = cycle.mind.intentions.find(id).and_then(|i| i.frames.len().checked_sub(1)) else { return false };
    let Some(plan) = cycle.plan_of(id, top) else { return false };
    plan.source.body.steps.iter().any(|step| {
        let achieves = matches!(step.kind, ast::StepKind::Achieve | ast::StepKind::AchieveNewFocus);
        let mut names = Numbering::default();
        achieves && unify_apart(&quote::quote(&step.term, &mut |name| numbered(&mut names, name)), goal)
    })
}

/// `.succeed_goal(Goal)`: makes the goal count as achieved in all intentions.
pub fn succeed_goal(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let progress = finish_goals(cycle, current, &goal, Doomed::Succeeds);
        for event in take_goal_events(cycle, &goal) {
            cycle.event_achieved(&event);
        }
        progress
    }))
}

/// `.fail_goal(Goal)`: makes the goal fail in all intentions.
pub fn fail_goal(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let progress = finish_goals(cycle, current, &goal, Doomed::Fails);
        fail_events(cycle, &goal);
        progress
    }))
}

/// Ends a goal in all intentions: first those that wait in an event, then the ready ones, the current one, and those
/// that wait for something else.
fn finish_goals(cycle: &mut Cycle<'_>, current: IntentionId, goal: &Value, how: Doomed) -> StepProgress {
    let mut ids = cycle.mind.intentions.pursuing(goal, |_| false);
    ids.retain(|id| cycle.find_goal(*id, goal).is_some());
    if ids.len() > 1 {
        ids = in_order_of_ends(cycle, current, ids);
    }
    let mut progress = StepProgress::Done;
    for id in ids {
        if let Some(place) = cycle.find_goal(id, goal) {
            cycle.finish_goal(id, place, how, Vec::new());
            if id == current {
                progress = StepProgress::Moved;
            }
        }
    }
    progress
}

/// Orders intentions as [`finish_goals`] ends their goals.
fn in_order_of_ends(cycle: &Cycle<'_>, current: IntentionId, mut ids: Vec<IntentionId>) -> Vec<IntentionId> {
    let mind = &*cycle.mind;
    ids.sort_by_cached_key(|id| {
        let queues = [mind.events.place_of(*id), mind.suspended_events.place_of(*id), mind.ready.place_of(*id)];
        let place = queues.into_iter().enumerate().find_map(|(rank, place)| Some((rank, place?)));
        place.unwrap_or(if *id == current { (queues.len(), 0) } else { (queues.len() + 1, 0) })
    });
    ids
}

/// Makes goals fail for which no plan was chosen yet: failure events take the places of their events.
fn fail_events(cycle: &mut Cycle<'_>, goal: &Value) {
    for place in cycle.mind.events.for_goal(goal) {
        if cycle.mind.events.get(place).is_some_and(|event| cycle.event_matches(event, goal))
            && let Some(event) = cycle.mind.events.take(place)
            && let Some(event) = cycle.fail_waiting_goal(event)
        {
            cycle.mind.events.put_back(place, event);
        }
    }
    cycle.mind.suspended_events.close_gaps();
    for place in cycle.mind.suspended_events.for_goal(goal) {
        if cycle.mind.suspended_events.get(place).is_some_and(|event| cycle.event_matches(event, goal))
            && let Some(event) = cycle.mind.suspended_events.take(place)
            && let Some(event) = cycle.fail_waiting_goal(event)
        {
            cycle.mind.suspended_events.put_back(place, event);
        }
    }
}

/// `.suspend(Goal)`: stops intentions with the goal until `.resume`; without an argument the current one.
pub fn suspend(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    if call.args.is_empty() {
        return Ok(among_all(call, |cycle, current| {
            suspend_current(cycle, current);
            let top = cycle.mind.intentions.find(current).map_or(0, |i| i.frames.len().saturating_sub(1));
            cycle.tell_state(current, top, "suspended", SUSPENDED);
            StepProgress::Waiting
        }));
    }
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let mut progress = StepProgress::Done;
        let mut stopped = FxHashSet::default();
        for id in cycle.mind.intentions.pursuing(&goal, |_| false) {
            let Some(place) = cycle.find_goal(id, &goal) else { continue };
            stopped.insert(id);
            if id == current {
                suspend_current(cycle, id);
                progress = StepProgress::Waiting;
            } else {
                suspend_other(cycle, id);
            }
            cycle.tell_state(id, place, "suspended", SUSPENDED);
        }
        suspend_events(cycle, &goal, &stopped);
        progress
    }))
}

/// Suspends events for the goal, and those in which the `suspended` intentions wait, until `.resume`.
fn suspend_events(cycle: &mut Cycle<'_>, goal: &Value, suspended: &FxHashSet<IntentionId>) {
    let stopped = take_queued_events(cycle, goal, suspended);
    for event in &stopped {
        cycle.tell_event_state(event, "suspended", SUSPENDED);
        if let Some(intention) = event.intention.and_then(|id| cycle.mind.intentions.find_mut(id)) {
            intention.suspended = Some(Value::atom(SUSPENDED));
        }
    }
    cycle.mind.suspended_events.extend(stopped);
}

/// Suspends the current intention; `.resume` continues it after the step that suspended it.
fn suspend_current(cycle: &mut Cycle<'_>, id: IntentionId) {
    if let Some(intention) = cycle.mind.intentions.find_mut(id) {
        intention.suspended = Some(Value::atom(SUSPENDED));
    }
    cycle.wait_for(id, WaitFor::Resume, None, None);
}

fn suspend_other(cycle: &mut Cycle<'_>, id: IntentionId) {
    let Some(intention) = cycle.mind.intentions.find_mut(id) else { return };
    intention.suspended = Some(Value::atom(SUSPENDED));
    if matches!(intention.place, IntentionPlace::Ready) {
        intention.place = IntentionPlace::Parked;
        cycle.mind.leave_ready(id);
    }
}

/// `.resume(Goal)`: continues what `.suspend` has stopped.
pub fn resume(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let mut goal = goal(call)?;
    Ok(among_all(call, |cycle, _| {
        let mut resumed = FxHashSet::default();
        for id in cycle.mind.intentions.pursuing(&goal, |_| false) {
            let suspended = cycle.mind.intentions.find(id).is_some_and(|i| i.suspended.is_some());
            if let Some(place) = cycle.find_goal(id, &goal).filter(|_| suspended) {
                goal = bound_to(goal, cycle.goal_literal(id, place));
                resume_intention(cycle, id);
                resumed.insert(id);
            }
        }
        resume_events(cycle, &goal, &resumed);
        StepProgress::Done
    }))
}

/// Resumes events for the goal, and those in which the `resumed` intentions wait.
fn resume_events(cycle: &mut Cycle<'_>, goal: &Value, resumed: &FxHashSet<IntentionId>) {
    cycle.mind.suspended_events.close_gaps();
    let mut places = cycle.mind.suspended_events.for_goal(goal);
    places.extend(resumed.iter().filter_map(|id| cycle.mind.suspended_events.place_of(*id)));
    places.sort_unstable();
    places.dedup();
    for place in places {
        let goes_on = cycle.mind.suspended_events.get(place).is_some_and(|event| {
            event.intention.is_some_and(|id| resumed.contains(&id)) || cycle.event_matches(event, goal)
        });
        let Some(event) = goes_on.then(|| cycle.mind.suspended_events.take(place)).flatten() else { continue };
        match event.intention.and_then(|id| cycle.mind.intentions.find(id)).map(|i| (i.id, i.frames.len())) {
            Some((id, depth)) => cycle.tell_state(id, depth.saturating_sub(1), "resumed", "resume_ia"),
            None => cycle.tell_event_state(&event, "resumed", "resume_ia"),
        }
        if let Some(intention) = event.intention.and_then(|id| cycle.mind.intentions.find_mut(id)) {
            intention.suspended = None;
        }
        cycle.tell_pending(&event);
        cycle.add_event(event);
    }
}

/// Binds a goal with variables to the first goal found: it stands for that one and those like it.
fn bound_to(goal: Value, found: Option<Value>) -> Value {
    match found {
        Some(found) if !goal.is_ground() => {
            let annots = goal.annots().iter().cloned().collect();
            let namespace = crate::logic::namespace_of(&found);
            let args = found.args().iter().cloned().collect();
            let functor = found.functor().unwrap_or_default();
            let bound = Structure::full(namespace, false, functor, args, annots).into_value();
            crate::logic::Bindings::default().closed(&bound)
        }
        _ => goal,
    }
}

fn resume_intention(cycle: &mut Cycle<'_>, id: IntentionId) {
    let Some(intention) = cycle.mind.intentions.find_mut(id) else { return };
    intention.suspended = None;
    let top = intention.frames.len().saturating_sub(1);
    let place = match &intention.place {
        IntentionPlace::Waiting(wait) if matches!(wait.until, WaitFor::Resume) => Some(true),
        IntentionPlace::Parked => Some(false),
        _ => None,
    };
    cycle.tell_state(id, top, "resumed", "resume_ia");
    match place {
        Some(true) => {
            cycle.cancel_wait(id);
            cycle.finish_step_quietly(id);
        }
        Some(false) => cycle.make_ready(id),
        None => return cycle.tell_waiting(id),
    }
    cycle.tell_going_on(id, Value::from(""));
}

/// `.done`, `.done(Goal)`: achieves the goal of the enclosing plan in a sub-plan, otherwise the goal of the current
/// plan, or the named one.
pub fn done(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let named = if call.args.is_empty() { None } else { Some(goal(call)?) };
    Ok(among_all(call, |cycle, current| {
        let Some(intention) = cycle.mind.intentions.find(current) else { return StepProgress::Moved };
        match (intention.copied_from, intention.copied_frames) {
            (Some(original), Some(frames)) => {
                let place = match &named {
                    Some(goal) => cycle.find_goal(original, goal),
                    None => lowest_like(cycle, original, (frames as usize).saturating_sub(1)),
                };
                cycle.finish_goal(current, 0, Doomed::Dropped, Vec::new());
                if let Some(place) = place {
                    cycle.finish_goal(original, place, Doomed::Succeeds, Vec::new());
                }
                StepProgress::Moved
            }
            _ => {
                let top = intention.frames.len().saturating_sub(1);
                let place = match &named {
                    Some(goal) => cycle.find_goal(current, goal),
                    None => lowest_like(cycle, current, top),
                };
                let Some(place) = place else { return StepProgress::Done };
                cycle.finish_goal(current, place, Doomed::Succeeds, Vec::new());
                drop_copies(cycle, current);
                StepProgress::Moved
            }
        }
    }))
}

/// Returns the outermost frame with the same goal as the one at `place`.
fn lowest_like(cycle: &Cycle<'_>, id: IntentionId, place: usize) -> Option<usize> {
    let goal = cycle.goal_literal(id, place)?;
    let goal = crate::logic::Bindings::default().closed(&goal);
    cycle.find_goal(id, &goal).or(Some(place))
}

fn drop_copies(cycle: &mut Cycle<'_>, original: IntentionId) {
    for id in cycle.mind.intentions.ids() {
        if cycle.mind.intentions.find(id).is_some_and(|i| i.copied_from == Some(original)) {
            cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
        }
    }
}
