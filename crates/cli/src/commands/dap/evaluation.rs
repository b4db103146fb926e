//! Expressions that a client evaluates in an agent: questions, goals, changes of beliefs and plan bodies, as at the
//! prompt of `whimbrel repl`.

use std::time::Duration;

use anyhow::bail;
use whimbrel::control::RunningNode;
use whimbrel_bdi::syntax;
use whimbrel_operator::{Answer, MindInfo, PerformOutcome, Reason, Refusal, Request};
use whimbrel_platform::limits::{QUERY_ANSWERS_MAX, QUERY_PATIENCE_MS};
use whimbrel_platform::plain_text::harmless;

use super::mind_view::ShownFrame;
use crate::commands::ask::in_lines;
use crate::commands::life::{ask_anywhere, local};
use crate::commands::typed_text::value_in;

/// Longest wait for the end of a plan body, which continues without a wait.
const PERFORM_PATIENCE: Duration = Duration::from_secs(60);
/// The same in a paused agent, which does not perform it before it continues.
const PAUSED_PATIENCE: Duration = Duration::from_millis(300);

/// Expression, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluation {
    /// The value is known.
    Known(String),
    /// Order to pause.
    Pause {
        /// Agent.
        agent: String,
    },
    /// Formula of a question.
    Question {
        /// Agent.
        agent: String,
        /// Formula.
        formula: String,
    },
    /// Belief to remove.
    Removal {
        /// Agent.
        agent: String,
        /// Belief.
        belief: String,
    },
    /// Plan body.
    Body {
        /// Agent.
        agent: String,
        /// Body.
        body: String,
        /// True if the agent is paused.
        is_paused: bool,
    },
}

/// Reads an expression. `context` is where it stands in the editor. Without a frame, the agent is named before it, or
/// is the `usual` one.
pub fn read(
    expression: &str,
    context: &str,
    frame: Option<&ShownFrame>,
    usual: Option<&str>,
    is_paused: &dyn Fn(&str) -> bool,
) -> anyhow::Result<Evaluation> {
    let text = expression.trim();
    if let Some(agent) = text.strip_prefix("pause ") {
        return Ok(Evaluation::Pause { agent: local(agent.trim()).to_owned() });
    }
    let (named, text) = with_agent(text);
    let frame = frame.filter(|frame| named.is_none_or(|named| named == frame.agent));
    if let Some(known) = frame.and_then(|frame| known(text, context, frame)) {
        return known.map(Evaluation::Known);
    }
    let agent = named.or(frame.map(|frame| frame.agent.as_str())).or(usual);
    let Some(agent) = agent.map(str::to_owned) else {
        bail!("which agent? Choose a frame of its stack, or write its name first: bob: {text}");
    };
    let text = text.strip_suffix('.').unwrap_or(text).trim_end();
    if let Some(belief) = text.strip_prefix('-').filter(|rest| !rest.starts_with(['+', '-'])) {
        return Ok(Evaluation::Removal { agent, belief: belief.to_owned() });
    }
    let changes = text.starts_with(['!', '+', '-', '^', '.']) || text.contains(';');
    if changes && context != "watch" && context != "hover" {
        let is_paused = is_paused(&agent);
        return Ok(Evaluation::Body { agent, body: text.to_owned(), is_paused });
    }
    let formula = text.strip_prefix('?').unwrap_or(text).trim_start();
    if let Err(faults) = syntax::parse_formula(formula) {
        let why = faults.first().map(|fault| fault.message.clone()).unwrap_or_default();
        bail!("{formula} is no formula: {why}. A goal begins with !, a belief to add with +, an action with a dot");
    }
    Ok(Evaluation::Question { agent, formula: frame.map_or_else(|| formula.to_owned(), |it| bound(formula, it)) })
}

/// Returns the agent that an expression names, and the rest: `bob: stock(X, N)`.
fn with_agent(text: &str) -> (Option<&str>, &str) {
    let named = text.split_once(':').filter(|(name, rest)| {
        let is_name = name.starts_with(|c: char| c.is_lowercase())
            && name.chars().all(|c| c.is_alphanumeric() || "_-.@".contains(c));
        is_name && !rest.starts_with([':', '-'])
    });
    named.map_or((None, text), |(name, rest)| (Some(local(name)), rest.trim()))
}

/// Returns the value of a variable of the plan. Under the mouse, a name is looked up among the beliefs.
fn known(text: &str, context: &str, frame: &ShownFrame) -> Option<anyhow::Result<String>> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_variable = text.starts_with(|c: char| c.is_uppercase() || c == '_');
    if is_name && is_variable {
        let value = frame.variables().iter().find(|(name, _)| name == text).map(|(_, value)| value.clone());
        return Some(value.ok_or_else(|| anyhow::anyhow!("{text} has no value here")));
    }
    (is_name && context == "hover").then(|| beliefs_named(text, frame.mind()))
}

/// Returns the beliefs with this functor.
fn beliefs_named(name: &str, mind: &MindInfo) -> anyhow::Result<String> {
    let is_it = |text: &str| text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('('));
    let found: Vec<&str> =
        mind.inside.beliefs.iter().map(|belief| belief.text.as_str()).filter(|text| is_it(text)).collect();
    if found.is_empty() {
        bail!("{} believes nothing named {name}", mind.agent);
    }
    Ok(found.join("\n"))
}

/// Adds the values of the plan's variables to a formula.
fn bound(formula: &str, frame: &ShownFrame) -> String {
    let is_in = |name: &str| {
        let mut words = formula.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.any(|word| word == name)
    };
    let known = frame.variables().iter().filter(|(name, value)| is_in(name) && value_in(value).is_some());
    let bindings: String = known.map(|(name, value)| format!("{name} = {value} & ")).collect();
    if bindings.is_empty() { formula.to_owned() } else { format!("{bindings}({formula})") }
}

/// Evaluates. This may take long.
///
/// # Errors
/// Returns the reason why there is no value.
pub fn evaluate(evaluation: Evaluation, nodes: &[RunningNode]) -> anyhow::Result<String> {
    let query_patience = Duration::from_millis(QUERY_PATIENCE_MS);
    match evaluation {
        Evaluation::Known(value) => Ok(value),
        Evaluation::Pause { agent } => {
            let text = format!("{agent} is paused");
            let order = whimbrel_platform::inspection::DebugOrder::Pause;
            ask_anywhere(nodes, &Request::Debug { agent, order }, Duration::ZERO)?;
            Ok(harmless(&text))
        }
        Evaluation::Question { agent, formula } => {
            let request = Request::Query { agent, formula, limit: QUERY_ANSWERS_MAX };
            match ask_anywhere(nodes, &request, query_patience)? {
                Answer::Answers(found) => Ok(in_lines(&found.answers, found.more)),
                _ => bail!("unexpected answer to a question"),
            }
        }
        Evaluation::Removal { agent, belief } => {
            ask_anywhere(nodes, &Request::Believe { agent, belief, add: false }, query_patience)?;
            Ok("removed".to_owned())
        }
        Evaluation::Body { agent, body, is_paused } => {
            let wait = if is_paused { PAUSED_PATIENCE } else { PERFORM_PATIENCE };
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let request = Request::Perform { agent: agent.clone(), body, wait_ms };
            performed(&agent, is_paused, ask_anywhere(nodes, &request, wait))
        }
    }
}

fn performed(agent: &str, is_paused: bool, answer: anyhow::Result<Answer>) -> anyhow::Result<String> {
    let is_late = |error: &anyhow::Error| {
        error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::NoAnswer)
    };
    match answer {
        Ok(Answer::Performed(PerformOutcome { failure: Some(failure), .. })) => {
            let place = failure.file.zip(failure.line).map(|(file, line)| format!(" ({file}:{line})"));
            bail!("{}", harmless(&format!("{}: {}{}", failure.error, failure.text, place.unwrap_or_default())))
        }
        Ok(Answer::Performed(outcome)) if outcome.values.is_empty() => Ok("done".to_owned()),
        Ok(Answer::Performed(outcome)) => Ok(in_lines(&[outcome.values], false)),
        Ok(_) => bail!("unexpected answer to a plan body"),
        Err(error) if is_late(&error) && is_paused => {
            Ok(harmless(&format!("{agent} is paused: it performs this when it continues")))
        }
        Err(error) if is_late(&error) => Ok("not done yet: the intention continues".to_owned()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(expression: &str, context: &str, usual: Option<&str>) -> Result<Evaluation, String> {
        read(expression, context, None, usual, &|_| false).map_err(|error| error.to_string())
    }

    #[test]
    fn expressions_have_their_meaning() {
        let agent = || "bob".to_owned();
        let question = |formula: &str| Evaluation::Question { agent: agent(), formula: formula.to_owned() };
        let body = |body: &str| Evaluation::Body { agent: agent(), body: body.to_owned(), is_paused: false };
        for (expression, expected) in [
            ("stock(X, N) & N > 3", question("stock(X, N) & N > 3")),
            ("?stock(X, N).", question("stock(X, N)")),
            ("bob: open", question("open")),
            ("ns::open", question("ns::open")),
            ("!sell(tea)", body("!sell(tea)")),
            ("+open; .print(X)", body("+open; .print(X)")),
            ("-+open", body("-+open")),
            ("-open", Evaluation::Removal { agent: agent(), belief: "open".to_owned() }),
            ("pause bob", Evaluation::Pause { agent: agent() }),
        ] {
            assert_eq!(evaluation(expression, "repl", Some("bob")), Ok(expected), "{expression}");
        }
        assert_eq!(evaluation("amy: open", "repl", None).map(|it| format!("{it:?}").contains("amy")), Ok(true));
    }

    #[test]
    fn wrong_expressions_are_explained() {
        assert!(evaluation("open", "repl", None).unwrap_err().starts_with("which agent?"));
        assert!(evaluation("open(", "repl", Some("bob")).unwrap_err().starts_with("open( is no formula"));
        assert!(evaluation("!go", "watch", Some("bob")).unwrap_err().contains("is no formula"));
    }
}
