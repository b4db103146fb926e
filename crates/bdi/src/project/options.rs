//! Options of an agent, in project files and in `.create_agent`.

use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::duration;

use crate::AgentConfig;
use crate::numbering::Numbering;
use crate::syntax::ast::Term;
use crate::syntax::parse_term;
use crate::syntax::quote::{numbered, quote};

/// Applies one option.
///
/// # Errors
/// Returns an error if the option cannot have this value.
pub fn apply(config: &mut AgentConfig, key: Symbol, text: &str) -> Result<(), String> {
    let options = &mut config.options;
    let one_of = |allowed: &str| format!("{key} is `{text}`; expected {allowed}");
    match key.as_str() {
        "beliefs" => config.beliefs.extend(literals(text)?),
        "goals" => config.goals.extend(literals(text)?),
        "events" => match text {
            "discard" | "retrieve" => options.requeue = false,
            "requeue" => options.requeue = true,
            _ => return Err(one_of("discard, requeue or retrieve")),
        },
        "intBels" => match text {
            "sameFocus" => options.same_focus = true,
            "newFocus" => options.same_focus = false,
            _ => return Err(one_of("sameFocus or newFocus")),
        },
        "tro" => options.tail_calls = text.parse().map_err(|_| one_of("true or false"))?,
        "nrcbp" => options.perceive_every = text.parse().map_err(|_| one_of("a whole number"))?,
        "verbose" => options.verbose = text.parse().map_err(|_| one_of("0, 1 or 2"))?,
        "durability" if !matches!(text, "volatile" | "local") => return Err(one_of("volatile or local")),
        "passivate" => options.user.push((key, Value::Int(passivate(text).map_err(|why| format!("{key}: {why}"))?))),
        _ => options.user.push((key, Value::from(text))),
    }
    Ok(())
}

/// Parses an idle time, in milliseconds, after which an agent leaves memory; the greatest number means never.
fn passivate(text: &str) -> Result<i64, String> {
    if text == "never" {
        return Ok(i64::MAX);
    }
    let time = duration::parse(text).map_err(|why| format!("{why}; or `never`"))?;
    Ok(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// Builds a term as a value, its variables numbered in the order of their appearance.
pub fn value_of(term: &Term) -> Value {
    let mut names = Numbering::default();
    quote(term, &mut |name| numbered(&mut names, name))
}

/// Parses the literals of a list without brackets: `b(1), c`.
fn literals(text: &str) -> Result<Vec<Value>, String> {
    let list = parse_term(&format!("[{text}]")).map_err(|problems| {
        let first = problems.first().map_or("it has errors", |problem| problem.message.as_str());
        // The bracket is not the user's.
        format!("{}, in `{text}`", first.replace("found `]`", "found the end"))
    })?;
    let found: Vec<Value> = value_of(&list).items().cloned().collect();
    match found.iter().find(|value| value.functor().is_none()) {
        Some(other) => Err(format!("`{other}` is no literal, in `{text}`: expected such as `price(tea, 3), open`")),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[track_caller]
    fn check(key: &str, text: &str, expected: Result<(), &str>) -> AgentConfig {
        let mut config = AgentConfig::new(Arc::default());
        let applied = apply(&mut config, Symbol::new(key), text);
        assert_eq!(applied.as_ref().map_err(String::as_str).copied(), expected);
        config
    }

    #[test]
    fn options_are_applied() {
        assert!(!check("intBels", "newFocus", Ok(())).options.same_focus);
        assert!(check("events", "requeue", Ok(())).options.requeue);
        assert!(check("durability", "volatile", Ok(())).options.is_volatile());
        assert!(!check("durability", "local", Ok(())).options.is_volatile());
        let passivate_after = |text| check("passivate", text, Ok(())).options.passivate_after();
        assert_eq!(passivate_after("10m"), Some(Duration::from_secs(600)));
        assert_eq!(passivate_after("never"), Some(Duration::MAX));
        assert_eq!(AgentConfig::new(Arc::default()).options.passivate_after(), None);
        assert_eq!(check("color", "blue", Ok(())).options.user.len(), 1);
        let config = check("beliefs", "price(fence, 10), ~rainy[source(radio)], name(\"x, y\")", Ok(()));
        let shown: Vec<String> = config.beliefs.iter().map(Value::to_string).collect();
        assert_eq!(shown, ["price(fence,10)", "~rainy[source(radio)]", "name(\"x, y\")"]);
    }

    #[test]
    fn wrong_values_are_reported() {
        check("events", "forget", Err("events is `forget`; expected discard, requeue or retrieve"));
        check("durability", "none", Err("durability is `none`; expected volatile or local"));
        let told = "passivate: `soon` is no unit of time: use ms, s, m or h, as in `10s`; or `never`";
        check("passivate", "soon", Err(told));
        check("beliefs", "p(", Err("expected a term, found the end, in `p(`"));
        let told = "`3` is no literal, in `open, 3`: expected such as `price(tea, 3), open`";
        check("beliefs", "open, 3", Err(told));
        assert!(apply(&mut AgentConfig::new(Arc::default()), Symbol::new("goals"), "Go").is_err());
        check("nrcbp", "often", Err("nrcbp is `often`; expected a whole number"));
    }
}
