//! Printing.

use std::fmt::Write;

use whimbrel_acl::{Symbol, Value, Var};
use whimbrel_platform::services::LogLevel;

use super::{Outcome, format, is_variable, nonsense, text_of};
use crate::prover::{ActionCall, QueryAnswer};

/// `.print(..)`: the arguments one after another, strings without quotes.
pub fn print(call: &mut ActionCall<'_, '_>) -> Outcome {
    Ok(write_out(call, &joined(call.args), ""))
}

/// `.println(..)`: like `.print`.
pub fn println(call: &mut ActionCall<'_, '_>) -> Outcome {
    Ok(write_out(call, &joined(call.args), "\n"))
}

/// Writes a line of the agent; bare text, ended by `end`, if the agent is quiet.
fn write_out(call: &ActionCall<'_, '_>, text: &str, end: &str) -> QueryAnswer {
    if is_quiet(call) {
        call.solver.known.services.print_bare(call.solver.known.aid, &format!("{text}{end}"));
        return QueryAnswer::Yes;
    }
    say(call, text)
}

/// Returns true if the agent has `verbose=0`.
fn is_quiet(call: &ActionCall<'_, '_>) -> bool {
    call.solver.known.mind.options.verbose == 0
}

/// Writes a line unless the agent is quiet.
fn say(call: &ActionCall<'_, '_>, line: &str) -> QueryAnswer {
    if !is_quiet(call) {
        call.solver.known.services.print(call.solver.known.aid, line);
    }
    QueryAnswer::Yes
}

fn joined(args: &[Value]) -> String {
    let mut line = String::new();
    for arg in args {
        write_plainly(&mut line, arg);
    }
    line
}

/// Writes a value as `.print` shows it: strings without quotes, an unbound variable with a note.
pub fn write_plainly(line: &mut String, value: &Value) {
    let written = match value {
        Value::Str(text) => line.write_str(text),
        open if is_variable(open) => write!(line, "{value}<no-value>"),
        other => write!(line, "{other}"),
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// `.printf(Format, ..)`
pub fn printf(call: &mut ActionCall<'_, '_>) -> Outcome {
    let Some((Value::Str(format), args)) = call.args.split_first() else {
        return Err(nonsense(format!("the first argument must be a format in quotes, not {}", call.arg(0))));
    };
    let line = format::format(format, args).map_err(nonsense)?;
    Ok(write_out(call, &line, "\n"))
}

/// `.puts("..#{X}..")`: a string with the values of variables inserted; a second argument, if it is a variable, gets
/// the string.
pub fn puts(call: &mut ActionCall<'_, '_>) -> Outcome {
    let Value::Str(text) = call.arg(0) else { return Err(call.wrong("first argument must be a string")) };
    let filled = fill(call, text);
    match call.args.get(1) {
        None => Ok(say(call, &filled)),
        Some(Value::Str(more)) => {
            let line = filled + &fill(call, more);
            Ok(say(call, &line))
        }
        Some(_) => call.unify(1, &Value::from(filled)),
    }
}

fn fill(call: &ActionCall<'_, '_>, text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("#{") {
        filled.push_str(before);
        let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        match name {
            Some(name) => {
                filled.push_str(&text_of(&value_of(call, name)));
                rest = after.get(name.len() + 1..).unwrap_or_default();
            }
            None => {
                filled.push_str("#{");
                rest = after;
            }
        }
    }
    filled + rest
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the value of the caller's variable of that name; an atom of that name if there is none.
fn value_of(call: &ActionCall<'_, '_>, name: &str) -> Value {
    match call.names.iter().position(|known| known.as_str() == name) {
        Some(place) => {
            let var = Var { slot: call.base + place as u32, name: Symbol::new(name) };
            call.bindings.resolve(&Value::Var(var))
        }
        None => Value::atom(name),
    }
}

/// `.log(Level, ..)`: like `.print`, but text below `info` appears only in the platform's log.
pub fn log(call: &mut ActionCall<'_, '_>) -> Outcome {
    let Some((Value::Atom(level), args)) = call.args.split_first() else {
        return Err(nonsense(format!(
            "the first argument must be a level such as info or warning, not {}",
            call.arg(0)
        )));
    };
    let line = joined(args);
    if matches!(level.as_str(), "warning" | "severe") {
        call.solver.known.services.print(call.solver.known.aid, &line);
        return Ok(QueryAnswer::Yes);
    }
    if matches!(level.as_str(), "fine" | "finer" | "finest" | "config" | "off" | "debug") {
        call.solver.known.services.log(call.solver.known.aid, LogLevel::Debug, &line);
        return Ok(QueryAnswer::Yes);
    }
    Ok(say(call, &line))
}

/// `.print_unifier`: the caller's variables and their values.
pub fn print_unifier(call: &mut ActionCall<'_, '_>) -> Outcome {
    for (slot, name) in (call.base..).zip(call.names) {
        let value = call.bindings.resolve(&Value::Var(Var { slot, name: *name }));
        if !is_variable(&value) && !name.as_str().starts_with('_') {
            say(call, &format!("{name}={value}"));
        }
    }
    Ok(say(call, "done"))
}
