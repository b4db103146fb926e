//! Agents created and ended, the platform stopped, services in the DF.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{Aid, Annots, Structure, Symbol, Value, sym};
use whimbrel_platform::df::ServiceDescription;
use whimbrel_platform::duration;
use whimbrel_platform::environment::ActError;
use whimbrel_platform::policy::{Action, Principal};
use whimbrel_platform::services::{AgentSource, CreateAgent};

use super::name_of;
use crate::agent::{Agent, AgentConfig};
use crate::code::{Image, TriggerKind, TriggerOp};
use crate::load::is_library;
use crate::mind::{Entry, TimerWhat};
use crate::prover::Failure;
use crate::reason::{Cycle, StepCall, StepProgress, step_event_of, with_own_source};
use crate::syntax::{ast, quote};

/// `.create_agent(Name [, Source [, Options]])`: a variable as name proposes its own name, and gets the agent's.
pub fn create_agent(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let name = match call.arg(0) {
        Value::Var(var) => lower_first(var.name.as_str()),
        other => name_of(other),
    };
    let mut options = match call.args.get(2) {
        None => Vec::new(),
        Some(list) if list.is_list() => options(list),
        Some(_) => return Err(Failure::wrong_argument(call.call, "third argument must be a list")),
    };
    let lifetime = lifetime(call, &mut options)?;
    let source = match call.args.get(1) {
        None => AgentSource::Body(Box::new(Agent::new(AgentConfig::new(Arc::new(Image::default()))))),
        Some(Value::Str(path)) => AgentSource::Program { path: path.to_string(), options },
        Some(_) => return Err(Failure::wrong_argument(call.call, "second argument must be a string")),
    };
    let owner = Some(call.cycle.aid);
    let request = CreateAgent { name: Symbol::new(&name), unique: true, owner, source };
    let services = call.cycle.services;
    let created = services.create(request).map_err(|e| Failure::new("internal_action", e.to_string()))?;
    if let Some(lifetime) = lifetime
        && !services.set_lifetime(created, lifetime)
    {
        services.kill(created);
        return Err(Failure::new("internal_action", "an agent of a society that is kept has no lifetime"));
    }
    match call.arg(0) {
        Value::Var(_) => call.unify(0, &Value::from(created.name.as_str())),
        _ => Ok(StepProgress::Done),
    }
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// `.act(Environment, Request [, Answer])`: acts on an environment of the node.
pub fn act(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let environment = name_of(call.arg(0));
    let answer = call.cycle.services.act(call.cycle.aid, &environment, call.arg(1)).map_err(|error| {
        let kind = if matches!(error, ActError::Denied(_)) { "forbidden" } else { "action_failed" };
        Failure::new(kind, error.to_string())
    })?;
    let answer = call.cycle.admit(answer, &environment);
    if call.args.len() > 2 { call.unify(2, &answer) } else { Ok(StepProgress::Done) }
}

/// Returns options such as `beliefs("b(1)")`, by name.
fn options(list: &Value) -> Vec<(Symbol, Value)> {
    let option = |item: &Value| Some((item.functor()?, item.args().first().cloned().unwrap_or(Value::Bool(true))));
    list.items().filter_map(option).collect()
}

/// Returns the lifetime in an agent's options, if there is one: milliseconds, or a text such as `"10m"`.
fn lifetime(call: &StepCall<'_, '_>, options: &mut Vec<(Symbol, Value)>) -> Result<Option<Duration>, Failure> {
    let Some(at) = options.iter().position(|(key, _)| key.as_str() == "lifetime") else { return Ok(None) };
    let (_, value) = options.remove(at);
    let read = match (&value, value.as_f64()) {
        (Value::Str(text), _) => duration::parse(text),
        (_, Some(ms)) if ms >= 0.0 => Ok(Duration::from_millis(ms as u64)),
        _ => Err(format!("{value} is none")),
    };
    read.map(Some).map_err(|why| Failure::wrong_argument(call.call, &format!("lifetime: {why}")))
}

/// `.kill_agent(Name [, ms])`: with a delay the agent is warned first.
pub fn kill_agent(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let agent = call.cycle.agent_named(Symbol::new(&name_of(call.arg(0))));
    let delay = call.args.get(1).and_then(Value::as_f64).unwrap_or(0.0);
    match may_end(call, agent.name.as_str()) {
        None => return Ok(StepProgress::Done),
        Some(false) => return Err(Failure::new("forbidden", format!("the policy forbids to end {agent}"))),
        Some(true) => {}
    }
    if delay < 1.0 {
        return if call.cycle.services.kill(agent) { Ok(StepProgress::Done) } else { Err(Failure::said_no()) };
    }
    if !call.cycle.services.exists(agent) {
        return Err(Failure::said_no());
    }
    tell_shut_down(call.cycle, agent, delay);
    let due = call.cycle.now + Duration::from_millis(delay as u64);
    call.cycle.mind.set_timer(due, TimerWhat::Kill(agent));
    Ok(StepProgress::Done)
}

/// Returns the permission to end an agent, or the platform under the AMS's name. Returns `None` if the asking agent
/// has ended already and this is its last turn, as when the platform stops. The asking agent is looked up once, since
/// it may end at any moment.
fn may_end(call: &StepCall<'_, '_>, whom: &str) -> Option<bool> {
    let services = call.cycle.services;
    let who = services.principal(call.cycle.aid);
    (who != Principal::Stranger).then(|| services.permits(who, Action::Kill, whom))
}

/// Warns an agent that it has this many milliseconds left: `+jag_shutting_down(ms)`.
fn tell_shut_down(cycle: &mut Cycle<'_>, agent: Aid, ms: f64) {
    let content = Value::term("jag_shutting_down", [Value::Num(ms.trunc())]);
    if agent != cycle.aid {
        cycle.send(agent, sym::SIGNAL, content, None, None);
        return;
    }
    let mut literal = Structure::new(Symbol::new("jag_shutting_down"), content.args().iter().cloned().collect());
    with_own_source(&mut literal);
    cycle.add_event(step_event_of(TriggerOp::Add, literal, TriggerKind::Belief));
}

/// `.clone(Name)`: creates an agent with the same beliefs, plans, events and intentions except the current one.
pub fn clone_agent(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let nameless = || Failure::new("unknown", "the first argument must be the new agent's name");
    let unsaved = || Failure::new("unknown", "the agent's mind cannot be copied");
    let name = call.args.first().map(name_of).ok_or_else(nameless)?;
    let cycle = &mut *call.cycle;
    let copy = crate::snapshot::copy_without(cycle.mind, call.intention, cycle.program, cycle.now);
    let source = AgentSource::Body(Box::new(copy.ok_or_else(unsaved)?));
    let request = CreateAgent { name: Symbol::new(&name), unique: false, owner: Some(cycle.aid), source };
    cycle.services.create(request).map_err(|e| Failure::new("internal_action", e.to_string()))?;
    Ok(StepProgress::Done)
}

/// `.stopMAS([ms [, exit code]])`: with a delay all agents are warned first.
pub fn stop(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    match may_end(call, sym::AMS.as_str()) {
        None => return Ok(StepProgress::Done),
        Some(false) => return Err(Failure::new("forbidden", "the policy forbids to stop the platform")),
        Some(true) => {}
    }
    let delay = call.args.first().and_then(Value::as_f64).unwrap_or(0.0).max(0.0);
    let code = call.args.get(1).and_then(Value::as_f64).unwrap_or(0.0);
    if delay >= 1.0 {
        for agent in call.cycle.services.agents() {
            tell_shut_down(call.cycle, agent, delay);
        }
    }
    call.cycle.services.stop(delay as u64, code as i32);
    Ok(StepProgress::Done)
}

/// Type of services that are registered without one.
const DEFAULT_SERVICE_TYPE: &str = "jason-type";

/// Returns the service and type in the arguments; `default` is the type if none is given.
fn service(call: &StepCall<'_, '_>, default: &str) -> (String, String) {
    let kind = match call.args.get(1) {
        None | Some(Value::Var(_)) => default.to_owned(),
        Some(kind) => name_of(kind),
    };
    (name_of(call.arg(0)), kind)
}

/// `.df_register(Service [, Type [, Properties]])`: properties are terms as `price(5)`.
pub fn df_register(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let (service, kind) = service(call, DEFAULT_SERVICE_TYPE);
    let (services, agent) = (call.cycle.services, call.cycle.aid);
    // A refusal is in the node's log. Jason refuses no agent, so plans do not expect it.
    let _ = match call.args.get(2) {
        None => services.df_register(agent, &service, &kind),
        Some(list) if list.is_list() => {
            let properties: Option<Vec<_>> = list.items().map(property).collect();
            let wrong = || Failure::wrong_argument(call.call, "properties are terms with one value, as price(5)");
            let properties = properties.ok_or_else(wrong)?;
            services.df_offer(agent, ServiceDescription { properties, ..ServiceDescription::new(&*service, &*kind) })
        }
        Some(_) => return Err(Failure::wrong_argument(call.call, "third argument must be a list of properties")),
    };
    Ok(StepProgress::Done)
}

/// Returns a property of a service: `price(5)`, or `fast`, which is true.
fn property(term: &Value) -> Option<(Symbol, Value)> {
    match term.args() {
        [] => Some((term.functor()?, Value::Bool(true))),
        [value] => Some((term.functor()?, value.clone())),
        _ => None,
    }
}

/// `.df_deregister(Service [, Type])`.
pub fn df_deregister(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let (service, kind) = service(call, DEFAULT_SERVICE_TYPE);
    call.cycle.services.df_deregister(call.cycle.aid, &service, &kind);
    Ok(StepProgress::Done)
}

/// `.df_subscribe(Service [, Type])`: adds a belief `provider(Agent, Service)` for each provider, present and future.
pub fn df_subscribe(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let (service, kind) = service(call, "");
    call.cycle.services.df_subscribe(call.cycle.aid, &service, &kind);
    Ok(StepProgress::Done)
}

/// `.verbose(Level)`: 0, 1 or 2.
pub fn verbose(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let level = call.arg(0).as_f64().ok_or_else(|| {
        let what = format!("the level must be 0, 1 or 2, not {}", call.arg(0));
        Failure::new("unknown", what)
    })?;
    call.cycle.mind.options.verbose = level.clamp(0.0, 2.0) as u8;
    Ok(StepProgress::Done)
}

/// `.save_agent(File [, Goals])`: writes the agent's beliefs, rules and plans as a program, with these initial goals.
pub fn save_agent(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let file = name_of(call.arg(0));
    let goals: Vec<Value> = call.arg(1).items().cloned().collect();
    let text = program_text(call.cycle, &goals);
    let written = call.cycle.services.write_file(&file, &text);
    written.map(|()| StepProgress::Done).map_err(|reason| Failure::new("unknown", reason))
}

fn program_text(cycle: &Cycle<'_>, goals: &[Value]) -> String {
    let mut text = String::from("// beliefs and rules\n");
    let mut line = |what: &dyn std::fmt::Display| {
        let written = writeln!(text, "{what}");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    };
    for (_, table) in cycle.mind.beliefs.tables() {
        for entry in table.iter() {
            match entry {
                Entry::Fact(fact) => line(&format_args!("{}.", without_own_source(fact))),
                Entry::Rule(rule) => line(&format_args!("{}.", rule_text(&rule.resolve(cycle.image).source))),
            }
        }
    }
    line(&"\n\n// initial goals");
    goals.iter().for_each(|goal| line(&format_args!("!{goal}.")));
    line(&"\n\n// plans");
    let plans = cycle.mind.plans.all(cycle.image).into_iter();
    for (_, plan) in plans.filter(|(_, plan)| !is_library(&plan.source.file)) {
        line(&format_args!("{}.", plan_text(&plan)));
    }
    text
}

fn without_own_source(fact: &Structure) -> Value {
    let annots: Annots = fact.annots.iter().filter(|annot| !is_own_source(annot)).cloned().collect();
    fact.with_annots(annots).into_value()
}

fn is_own_source(annot: &whimbrel_acl::Annot) -> bool {
    matches!(annot, whimbrel_acl::Annot::Source(sym::SELF))
}

fn by_name(name: Symbol) -> whimbrel_acl::Var {
    whimbrel_acl::Var { slot: name.index(), name }
}

fn rule_text(rule: &ast::Rule) -> String {
    without_braces(&quote::quote_rule(rule, &mut by_name))
}

fn plan_text(plan: &crate::code::CompiledPlan) -> String {
    without_braces(&quote::quote_plan(&plan.source, &mut by_name))
}

/// Returns code as in a program: without the braces of a term.
fn without_braces(code: &Value) -> String {
    let text = code.to_string();
    text.strip_prefix("{ ").and_then(|text| text.strip_suffix(" }")).unwrap_or(&text).to_owned()
}
