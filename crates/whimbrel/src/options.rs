//! Options of an agent, as project files and `.create_agent` give them.

use whimbrel_acl::{Symbol, Value, Var};
use whimbrel_bdi::AgentConfig;
use whimbrel_bdi::syntax::quote::quote;
use whimbrel_bdi::syntax::{Diagnostic, parse_term};

/// Applies one option.
///
/// # Errors
/// The value is not one that the option can have.
pub fn apply(config: &mut AgentConfig, key: Symbol, value: &Value) -> Result<(), String> {
    let options = &mut config.options;
    let text = value.as_str().map(ToOwned::to_owned).unwrap_or_else(|| value.to_string());
    let one_of = |allowed: &str| format!("{key} is `{text}`; expected {allowed}");
    match key.as_str() {
        "beliefs" => config.beliefs.extend(terms(&text)?),
        "goals" => config.goals.extend(terms(&text)?),
        "events" => match text.as_str() {
            "discard" | "retrieve" => options.requeue = false,
            "requeue" => options.requeue = true,
            _ => return Err(one_of("discard, requeue or retrieve")),
        },
        "intBels" => match text.as_str() {
            "sameFocus" => options.same_focus = true,
            "newFocus" => options.same_focus = false,
            _ => return Err(one_of("sameFocus or newFocus")),
        },
        "tro" => options.tail_calls = text.parse().map_err(|_| one_of("true or false"))?,
        "nrcbp" => options.perceive_every = text.parse().map_err(|_| one_of("a whole number"))?,
        "verbose" => options.verbose = text.parse().map_err(|_| one_of("0, 1 or 2"))?,
        _ => options.user.push((key, value.clone())),
    }
    Ok(())
}

/// The terms of a list without its brackets: `b(1), c`.
fn terms(text: &str) -> Result<Vec<Value>, String> {
    let mut names = Vec::new();
    let mut var = |name: Symbol| {
        let slot = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        Var { slot: slot as u32, name }
    };
    let list = parse_term(&format!("[{text}]")).map_err(|problems| {
        let first = problems.first().map_or_else(String::new, |problem: &Diagnostic| problem.message.clone());
        format!("{first} in \"{text}\"")
    })?;
    Ok(quote(&list, &mut var).items().cloned().collect())
}
