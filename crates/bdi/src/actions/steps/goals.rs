//! Goals, intentions and events: dropped, ended, suspended, resumed.

use rustc_hash::FxHashSet;
use whimbrel_acl::{Structure, Symbol, Value};

use crate::actions::{Failure, Progress, StepCall, is_open_arithmetic};
use crate::mind::{Event, IntentionId, Place, TimerWhat, WaitFor};
use crate::reason::{Cycle, Doomed, unify_apart};
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
    Ok(call.cycle.bindings.close(goal, &mut Vec::new()))
}

/// Returns the goal in the first argument; a variable stands for any goal.
fn goal_or_any(call: &StepCall<'_, '_>) -> Result<Value, Failure> {
    match call.arg(0) {
        Value::Null => Err(Failure::new("unknown", "the goal to drop is missing")),
        Value::Var(_) => Ok(call.cycle.bindings.close(call.arg(0), &mut Vec::new())),
        other if other.is_literal() && !is_open_arithmetic(other) => goal(call),
        other => {
            let what = format!("first argument '{other}' must be a literal or variable");
            Err(Failure::wrong_argument(call.call, &what))
        }
    }
}

/// Runs `work` on all intentions, including the current one. That one continues if it is still there and was not
/// moved.
fn among_all(call: &mut StepCall<'_, '_>, work: impl FnOnce(&mut Cycle<'_>, IntentionId) -> Progress) -> Progress {
    call.cycle.put_down(Some(call.intention));
    let progress = work(call.cycle, call.intention);
    if progress == Progress::Done {
        call.cycle.take_up(Some(call.intention));
    }
    progress
}

/// `.drop_intention(Goal)`: ends intentions with the goal; without an argument the current one.
pub fn drop_intention(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    if call.args.is_empty() {
        return Ok(among_all(call, drop_current));
    }
    let goal = goal_or_any(call)?;
    Ok(among_all(call, |cycle, current| drop_intentions(cycle, current, &goal)))
}

fn drop_current(cycle: &mut Cycle<'_>, current: IntentionId) -> Progress {
    cycle.finish_goal(current, 0, Doomed::Dropped, Vec::new());
    Progress::Moved
}

fn drop_intentions(cycle: &mut Cycle<'_>, current: IntentionId, goal: &Value) -> Progress {
    let mut progress = Progress::Done;
    for id in cycle.mind.intentions.pursuing(goal, false) {
        if let Some(place) = cycle.find_goal(id, goal) {
            cycle.finish_goal(id, place, Doomed::Dropped, Vec::new());
            if id == current {
                progress = Progress::Moved;
            }
        }
    }
    progress
}

/// `.drop_desire(Goal)`: like `.drop_intention`, and drops events for the goal.
pub fn drop_desire(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
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
pub fn drop_event(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    let goal = goal_or_any(call)?;
    drop_goal_events(call.cycle, &goal);
    Ok(Progress::Done)
}

fn drop_goal_events(cycle: &mut Cycle<'_>, goal: &Value) {
    drop_events(cycle, |cycle, event| cycle.event_matches(event, goal));
}

/// Takes out all events that `wanted` picks, and ends the intentions that wait in them.
fn drop_events(cycle: &mut Cycle<'_>, wanted: impl Fn(&Cycle<'_>, &Event) -> bool) {
    for event in take_events(cycle, wanted) {
        if let Some(id) = event.intention {
            cycle.is_out_of_event(id);
            cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
        }
    }
}

/// Takes out all events that `wanted` picks: those of the queue in its order, then those of suspended intentions.
fn take_events(cycle: &mut Cycle<'_>, wanted: impl Fn(&Cycle<'_>, &Event) -> bool) -> Vec<Event> {
    let mut taken = Vec::new();
    if !has_event(cycle, &wanted) {
        return taken;
    }
    let mut pick = |cycle: &Cycle<'_>, event: Event| {
        if wanted(cycle, &event) {
            taken.push(event);
            None
        } else {
            Some(event)
        }
    };
    let events = cycle.mind.events.take_all();
    let kept = events.into_iter().filter_map(|event| pick(cycle, event)).collect();
    cycle.mind.events = kept;
    let atomic = cycle.mind.atomic_event.take().and_then(|event| pick(cycle, *event));
    cycle.mind.atomic_event = atomic.map(Box::new);
    let suspended = std::mem::take(&mut cycle.mind.suspended_events);
    let kept = suspended.into_iter().filter_map(|event| pick(cycle, event)).collect();
    cycle.mind.suspended_events = kept;
    taken
}

/// Returns true if `wanted` picks any event. Mostly it picks none, and all may stay where they are.
fn has_event(cycle: &Cycle<'_>, wanted: &impl Fn(&Cycle<'_>, &Event) -> bool) -> bool {
    let mind = &cycle.mind;
    mind.events.iter().any(|event| wanted(cycle, &event))
        || mind.atomic_event.iter().any(|event| wanted(cycle, event))
        || mind.suspended_events.iter().any(|event| wanted(cycle, event))
}

/// `.drop_all_events`: drops all events, with the intentions that wait in them.
pub fn drop_all_events(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    drop_events(call.cycle, |_, _| true);
    Ok(Progress::Done)
}

/// `.drop_all_intentions`: ends all intentions but the current one, and drops what `.at` has planned.
pub fn drop_all_intentions(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    drop_other_intentions(call.cycle, call.intention);
    Ok(Progress::Done)
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
pub fn drop_all_desires(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    drop_other_intentions(call.cycle, call.intention);
    drop_events(call.cycle, |_, event| event.is_goal());
    call.cycle.mind.suspended_events.clear();
    Ok(Progress::Done)
}

/// `.drop_future_intention(Goal)`: ends intentions whose innermost plan has `!Goal` or `!!Goal` in its body, and
/// drops events for the goal.
pub fn drop_future_intention(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    let literal = call.arg(0);
    if !literal.is_literal() || is_open_arithmetic(literal) {
        let what = format!("first argument '{literal}' must be a literal");
        return Err(Failure::wrong_argument(call.call, &what));
    }
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let mut progress = Progress::Done;
        for id in cycle.mind.intentions.ids() {
            if will_achieve(cycle, id, &goal) {
                cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
                if id == current {
                    progress = Progress::Moved;
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
        let mut names: Vec<Symbol> = Vec::new();
        achieves && unify_apart(&quote::quote(&step.term, &mut |name| numbered(&mut names, name)), goal)
    })
}

/// `.succeed_goal(Goal)`: makes the goal count as achieved in all intentions.
pub fn succeed_goal(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let progress = finish_goals(cycle, current, &goal, Doomed::Succeeds);
        for event in take_events(cycle, |cycle, event| cycle.event_matches(event, &goal)) {
            cycle.event_achieved(&event);
        }
        progress
    }))
}

/// `.fail_goal(Goal)`: makes the goal fail in all intentions.
pub fn fail_goal(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let progress = finish_goals(cycle, current, &goal, Doomed::Fails);
        fail_events(cycle, &goal);
        progress
    }))
}

/// Ends a goal in all intentions: first those that wait in an event, then the ready ones, the current one, and those
/// that wait for something else.
fn finish_goals(cycle: &mut Cycle<'_>, current: IntentionId, goal: &Value, how: Doomed) -> Progress {
    let mut ids = cycle.mind.intentions.pursuing(goal, false);
    ids.retain(|id| cycle.find_goal(*id, goal).is_some());
    if ids.len() > 1 {
        ids = in_order_of_ends(cycle, current, &ids);
    }
    let mut progress = Progress::Done;
    for id in ids {
        if let Some(place) = cycle.find_goal(id, goal) {
            cycle.finish_goal(id, place, how, Vec::new());
            if id == current {
                progress = Progress::Moved;
            }
        }
    }
    progress
}

/// Orders intentions as [`finish_goals`] ends their goals.
fn in_order_of_ends(cycle: &Cycle<'_>, current: IntentionId, ids: &[IntentionId]) -> Vec<IntentionId> {
    let mut left: FxHashSet<IntentionId> = ids.iter().copied().collect();
    let suspended = cycle.mind.suspended_events.iter().filter_map(|event| event.intention);
    let first = cycle.mind.events.intentions().chain(suspended).chain(cycle.mind.ready.iter().copied());
    let all = first.chain([current]).chain(ids.iter().copied());
    all.filter(|id| left.remove(id)).collect()
}

/// Makes goals fail for which no plan was chosen yet: failure events take the places of their events.
fn fail_events(cycle: &mut Cycle<'_>, goal: &Value) {
    if !has_event(cycle, &|cycle, event| cycle.event_matches(event, goal)) {
        return;
    }
    let fail = |cycle: &mut Cycle<'_>, event: Event| {
        if cycle.event_matches(&event, goal) { cycle.fail_waiting_goal(event) } else { Some(event) }
    };
    for event in cycle.mind.events.take_all() {
        if let Some(event) = fail(cycle, event) {
            cycle.mind.events.push(event);
        }
    }
    let suspended = std::mem::take(&mut cycle.mind.suspended_events);
    let kept: Vec<Event> = suspended.into_iter().filter_map(|event| fail(cycle, event)).collect();
    cycle.mind.suspended_events.extend(kept);
}

/// `.suspend(Goal)`: stops intentions with the goal until `.resume`; without an argument the current one.
pub fn suspend(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    if call.args.is_empty() {
        return Ok(among_all(call, |cycle, current| {
            suspend_current(cycle, current);
            let top = cycle.mind.intentions.find(current).map_or(0, |i| i.frames.len().saturating_sub(1));
            cycle.tell_state(current, top, "suspended", SUSPENDED);
            Progress::Waiting
        }));
    }
    let goal = goal(call)?;
    Ok(among_all(call, |cycle, current| {
        let mut progress = Progress::Done;
        for id in cycle.mind.intentions.pursuing(&goal, false) {
            let Some(place) = cycle.find_goal(id, &goal) else { continue };
            if id == current {
                suspend_current(cycle, id);
                progress = Progress::Waiting;
            } else {
                suspend_other(cycle, id);
            }
            cycle.tell_state(id, place, "suspended", SUSPENDED);
        }
        suspend_events(cycle, &goal);
        progress
    }))
}

/// Suspends events for the goal, and those in which suspended intentions wait, until `.resume`.
fn suspend_events(cycle: &mut Cycle<'_>, goal: &Value) {
    let already = std::mem::take(&mut cycle.mind.suspended_events);
    let stopped = take_events(cycle, |cycle, event| {
        let intention = event.intention.and_then(|id| cycle.mind.intentions.find(id));
        intention.is_some_and(|intention| intention.suspended.is_some()) || cycle.event_matches(event, goal)
    });
    for event in &stopped {
        cycle.tell_event_state(event, "suspended", SUSPENDED);
        if let Some(intention) = event.intention.and_then(|id| cycle.mind.intentions.find_mut(id)) {
            intention.suspended = Some(Value::atom(SUSPENDED));
        }
    }
    cycle.mind.suspended_events = already;
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
    if matches!(intention.place, Place::Ready) {
        intention.place = Place::Parked;
        cycle.mind.leave_ready(id);
    }
}

/// `.resume(Goal)`: continues what `.suspend` has stopped.
pub fn resume(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    let mut goal = goal(call)?;
    Ok(among_all(call, |cycle, _| {
        for id in cycle.mind.intentions.pursuing(&goal, false) {
            let suspended = cycle.mind.intentions.find(id).is_some_and(|i| i.suspended.is_some());
            if let Some(place) = cycle.find_goal(id, &goal).filter(|_| suspended) {
                goal = bound_to(goal, cycle.goal_literal(id, place));
                resume_intention(cycle, id);
            }
        }
        let waiting = std::mem::take(&mut cycle.mind.suspended_events);
        for event in waiting {
            let resumed = match event.intention.and_then(|id| cycle.mind.intentions.find(id)) {
                Some(intention) => intention.suspended.is_none() || cycle.event_matches(&event, &goal),
                None => cycle.event_matches(&event, &goal),
            };
            if resumed {
                match event.intention.and_then(|id| cycle.mind.intentions.find(id)).map(|i| (i.id, i.frames.len())) {
                    Some((id, depth)) => cycle.tell_state(id, depth.saturating_sub(1), "resumed", "resume_ia"),
                    None => cycle.tell_event_state(&event, "resumed", "resume_ia"),
                }
                if let Some(intention) = event.intention.and_then(|id| cycle.mind.intentions.find_mut(id)) {
                    intention.suspended = None;
                }
                cycle.tell_pending(&event);
                cycle.add_event(event);
            } else {
                cycle.mind.suspended_events.push(event);
            }
        }
        Progress::Done
    }))
}

/// Binds a goal with variables to the first goal found: it stands for that one and those like it.
fn bound_to(goal: Value, found: Option<Value>) -> Value {
    match found {
        Some(found) if !goal.is_ground() => {
            let annots = goal.annots().iter().cloned().collect();
            let namespace = crate::mind::namespace_of(&found);
            let args = found.args().iter().cloned().collect();
            let functor = found.functor().unwrap_or_default();
            let bound = Structure::full(namespace, false, functor, args, annots).into_value();
            crate::logic::Bindings::default().close(&bound, &mut Vec::new())
        }
        _ => goal,
    }
}

fn resume_intention(cycle: &mut Cycle<'_>, id: IntentionId) {
    let Some(intention) = cycle.mind.intentions.find_mut(id) else { return };
    intention.suspended = None;
    let top = intention.frames.len().saturating_sub(1);
    let place = match &intention.place {
        Place::Waiting(wait) if matches!(wait.until, WaitFor::Resume) => Some(true),
        Place::Parked => Some(false),
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
pub fn done(call: &mut StepCall<'_, '_>) -> Result<Progress, Failure> {
    let named = if call.args.is_empty() { None } else { Some(goal(call)?) };
    Ok(among_all(call, |cycle, current| {
        let Some(intention) = cycle.mind.intentions.find(current) else { return Progress::Moved };
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
                Progress::Moved
            }
            _ => {
                let top = intention.frames.len().saturating_sub(1);
                let place = match &named {
                    Some(goal) => cycle.find_goal(current, goal),
                    None => lowest_like(cycle, current, top),
                };
                let Some(place) = place else { return Progress::Done };
                cycle.finish_goal(current, place, Doomed::Succeeds, Vec::new());
                drop_copies(cycle, current);
                Progress::Moved
            }
        }
    }))
}

/// Returns the outermost frame with the same goal as the one at `place`.
fn lowest_like(cycle: &Cycle<'_>, id: IntentionId, place: usize) -> Option<usize> {
    let goal = cycle.goal_literal(id, place)?;
    let goal = crate::logic::Bindings::default().close(&goal, &mut Vec::new());
    cycle.find_goal(id, &goal).or(Some(place))
}

fn drop_copies(cycle: &mut Cycle<'_>, original: IntentionId) {
    for id in cycle.mind.intentions.ids() {
        if cycle.mind.intentions.find(id).is_some_and(|i| i.copied_from == Some(original)) {
            cycle.finish_goal(id, 0, Doomed::Dropped, Vec::new());
        }
    }
}
