//! Plans acquired and removed; files included.

use whimbrel_acl::{Text, Value, sym};
use whimbrel_platform::Services;
use whimbrel_platform::services::LogLevel;

use super::name_of;
use crate::prover::Failure;
use crate::reason::{StepCall, StepProgress, label_in, parse_plan};
use crate::shared_library;
use crate::syntax::{self, LoadError, Loader, Severity, SourceText, quote};

fn source(agent: &Value) -> Value {
    Value::term(sym::SOURCE, [agent.clone()])
}

/// `.add_plan(Plans [, Source [, begin | end]])`.
pub fn add(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let source = source(call.args.get(1).unwrap_or(&Value::Atom(sym::SELF)));
    let before = call.args.get(2).is_some_and(|position| name_of(position) == "begin");
    let plans = call.arg(0).clone();
    if plans.is_list() {
        for plan in plans.items() {
            add_one(call, plan, &source, before)?;
        }
    } else {
        add_one(call, &plans, &source, before)?;
    }
    Ok(StepProgress::Done)
}

fn add_one(call: &mut StepCall<'_, '_>, plan: &Value, source: &Value, before: bool) -> Result<(), Failure> {
    if let Value::Str(text) = plan {
        call.cycle.add_plan(parse_plan(text)?, source, before)?;
        return Ok(());
    }
    if quote::is_plan(plan) {
        call.cycle.add_plan_value(plan, source, before)?;
        return Ok(());
    }
    let kind = kind_of(plan);
    let what = format!("The term '{plan}' ({kind}) can not be used as a plan for .add_plan.");
    Err(Failure::wrong_argument(call.call, &what))
}

/// Returns Jason's name for a term that is no plan.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Num(_) | Value::Int(_) => "NumberTermImpl",
        Value::Var(_) => "VarTerm",
        Value::Atom(_) | Value::Bool(_) => "Atom",
        code if quote::is_trigger(code) => "Trigger",
        code if quote::is_body(code) => "PlanBodyImpl",
        code if quote::is_rule(code) => "Rule",
        _ => "LiteralImpl",
    }
}

/// `.remove_plan(Plans [, Source])`: removes the source from plans, given by their labels or as terms. A plan without
/// a source is removed.
pub fn remove(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let source = source(call.args.get(1).unwrap_or(&Value::Atom(sym::SELF)));
    let plans = call.arg(0).clone();
    if plans.is_list() {
        for plan in plans.items() {
            remove_one(call, plan, &source)?;
        }
    } else {
        remove_one(call, &plans, &source)?;
    }
    Ok(StepProgress::Done)
}

fn remove_one(call: &mut StepCall<'_, '_>, plan: &Value, source: &Value) -> Result<(), Failure> {
    let label = label_in(plan)?;
    match label.functor() {
        Some(sym::NO_LABEL) => {
            call.cycle.remove_plan_value(plan);
        }
        Some(_) => {
            call.cycle.remove_plan_source(&label, source);
        }
        None => return Err(Failure::new("unknown", format!("{plan} is neither a plan's label nor a plan"))),
    }
    Ok(())
}

/// Loader of files that a program names while it runs.
struct SourceLoader<'s>(&'s dyn Services);

impl Loader for SourceLoader<'_> {
    fn load(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        Ok((Text::from(path), self.0.read_source(path)?.into()))
    }
}

/// `.include(File [, Namespace])`: adds the beliefs, goals and plans of a file. A variable as namespace gets a new
/// one.
pub fn include(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let Value::Str(file) = call.arg(0).clone() else {
        return Err(Failure::wrong_argument(call.call, "first argument must be a string."));
    };
    let namespace = match call.args.get(1) {
        None => None,
        Some(Value::Atom(name)) => Some(name.to_string()),
        Some(Value::Var(_)) => Some(format!("ns{}", call.cycle.mind.next_serial())),
        Some(_) => {
            let what = "second argument (the namespace) must be an atom or a variable.";
            return Err(Failure::wrong_argument(call.call, what));
        }
    };
    let services = call.cycle.services;
    let is_readable = match shared_library::contains(&file) {
        true => shared_library::load(&file).map(drop).map_err(|error| error.to_string()),
        false => services.read_source(&file).map(drop),
    };
    if let Err(reason) = is_readable {
        let text = format!("The included file '{file}' was not found! {reason}");
        call.cycle.log(LogLevel::Severe, &text);
        return Ok(StepProgress::Done);
    }
    let quoted = file.replace('"', "\\\"");
    let directive = match &namespace {
        Some(namespace) => format!("{{ include(\"{quoted}\", {namespace}) }}"),
        None => format!("{{ include(\"{quoted}\") }}"),
    };
    let name = call.cycle.mind.source.clone();
    let parsed = syntax::parse_program(&directive, &name, &mut SourceLoader(services));
    for wrong in &parsed.diagnostics {
        let level = if wrong.severity == Severity::Error { LogLevel::Severe } else { LogLevel::Warning };
        call.cycle.log(level, &wrong.to_string());
    }
    call.cycle.import(parsed.program);
    match namespace {
        Some(namespace) => call.unify(1, &Value::atom(&*namespace)),
        None => Ok(StepProgress::Done),
    }
}
