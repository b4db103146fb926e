//! `whimbrel tell`, `untell`, `achieve` and `ask`: KQML messages whose contents are typed as AgentSpeak.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use whimbrel::control::{RunningNode, choose};
use whimbrel::options::value_of;
use whimbrel_acl::{AclMessage, Aid, Encoding, Performative, Symbol, Value};
use whimbrel_bdi::syntax::ast::Term;
use whimbrel_bdi::syntax::{self, Diagnostic};
use whimbrel_operator::{Answer, Reason, Refusal, Request, Sending, VariableValue};
use whimbrel_platform::plain_text::harmless;
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

use super::typed_text::{show_faults, variables_of};
use crate::arguments::{AskArguments, LiteralArguments};

/// Exit status if there is no answer.
const NONE: u8 = 3;
/// Exit status if the agent does not reply in time.
const UNANSWERED: u8 = 4;

/// Performs `whimbrel tell`, `untell` and `achieve`.
pub fn tell(told: &LiteralArguments, performative: &str) -> anyhow::Result<ExitCode> {
    let content = content(&told.literal)?;
    let nodes = choose(&told.target)?;
    let message = message(&told.agent, told.from.as_deref(), performative, content)?;
    send(&nodes, &message, None)?;
    Ok(ExitCode::SUCCESS)
}

/// Performs `whimbrel ask`.
pub fn ask(arguments: &AskArguments) -> anyhow::Result<ExitCode> {
    let question = literal(&arguments.question)?;
    let nodes = choose(&arguments.target)?;
    let performative = if arguments.one { "askOne" } else { "askAll" };
    let message = message(&arguments.agent, arguments.from.as_deref(), performative, question.clone())?;
    let reply = match send(&nodes, &message, Some(arguments.wait)) {
        Ok(reply) => reply.context("the node sent no reply")?,
        Err(error) if is_unanswered(&error) => {
            terminal::complain(&error);
            return Ok(ExitCode::from(UNANSWERED));
        }
        Err(error) => return Err(error),
    };
    let answers = answers(&question, &reply)?;
    if arguments.json {
        let objects: Vec<serde_json::Map<String, serde_json::Value>> =
            answers.iter().map(|answer| object(answer)).collect();
        print(&serde_json::to_string(&objects)?)?;
    } else {
        print(&in_lines(&answers, false))?;
    }
    Ok(if answers.is_empty() { ExitCode::from(NONE) } else { ExitCode::SUCCESS })
}

fn is_unanswered(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::NoAnswer)
}

fn object(answer: &[VariableValue]) -> serde_json::Map<String, serde_json::Value> {
    answer.iter().map(|value| (value.name.clone(), value.value.clone().into())).collect()
}

/// Returns a line for each answer: `X = apple, N = 3`. An answer without values is `yes`, and no answer is `no`.
pub fn in_lines(answers: &[Vec<VariableValue>], more: bool) -> String {
    let line = |answer: &Vec<VariableValue>| match answer.as_slice() {
        [] => "yes".to_owned(),
        values => {
            let values = values.iter().map(|value| format!("{} = {}", value.name, value.value));
            harmless(&values.collect::<Vec<_>>().join(", "))
        }
    };
    let mut lines: Vec<String> = answers.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("no".to_owned());
    }
    if more {
        lines.push(format!("and more: these are the first {}", answers.len()));
    }
    lines.join("\n")
}

/// Reads a literal, or a list of literals. Shows what is wrong.
fn content(text: &str) -> anyhow::Result<Value> {
    let is_content = |term: &Term| matches!(term, Term::Literal(_) | Term::List { .. });
    read(text, syntax::parse_term(text), is_content, "a literal, such as price(tea, 3), or a list of literals")
}

/// Reads a question. Shows what is wrong.
fn literal(text: &str) -> anyhow::Result<Value> {
    let typed = text.trim();
    let typed = typed.strip_prefix('?').unwrap_or(typed);
    let hint = "one literal, such as stock(X, N): a formula can be asked with `whimbrel repl --as AGENT`, as ?FORMULA";
    read(typed, syntax::parse_term(typed), |term| matches!(term, Term::Literal(_)), hint)
}

fn read(
    text: &str,
    parsed: Result<Term, Vec<Diagnostic>>,
    fits: impl Fn(&Term) -> bool,
    expected: &str,
) -> anyhow::Result<Value> {
    match parsed {
        Ok(term) if fits(&term) => Ok(value_of(&term)),
        Ok(_) => bail!("cannot use `{}`: expected {expected}", harmless(text)),
        Err(faults) => {
            show_faults(text, 0, faults);
            bail!("cannot read `{}`", harmless(text))
        }
    }
}

fn message(agent: &str, from: Option<&str>, performative: &str, content: Value) -> anyhow::Result<AclMessage> {
    let receiver: Aid = agent.parse().map_err(|error| anyhow!("{error}"))?;
    let sender: Aid = from.map_or(Ok(Aid::NOBODY), str::parse).map_err(|error| anyhow!("{error}"))?;
    let performative = performative.parse().unwrap_or_else(|_| Performative::named(Symbol::new(performative)));
    Ok(AclMessage::new(performative, sender, receiver, content))
}

/// Sends a message, and waits for the reply if it is to.
fn send(nodes: &[RunningNode], message: &AclMessage, wait: Option<Duration>) -> anyhow::Result<Option<AclMessage>> {
    let node = nodes.first().context("no society runs here")?;
    let json = Encoding::Json.encode(message).context("the message cannot be sent")?;
    let sending =
        Sending { message: serde_json::from_slice(&json)?, wait_ms: wait.map(|wait| wait.as_millis() as u64) };
    match node.ask(&Request::Send(Box::new(sending)), wait.unwrap_or_default())? {
        Answer::Reply { message } => {
            let bytes = serde_json::to_vec(&message)?;
            Ok(Some(Encoding::Json.decode(&bytes).context("unreadable reply")?))
        }
        _ => Ok(None),
    }
}

/// Returns the values of the question's variables in each answer of a reply.
fn answers(question: &Value, reply: &AclMessage) -> anyhow::Result<Vec<Vec<VariableValue>>> {
    match reply.performative.as_str() {
        "untell" => return Ok(Vec::new()),
        "failure" | "refuse" | "not-understood" => {
            bail!("{} answers {}: {}", reply.sender, reply.performative, reply.content)
        }
        _ => {}
    }
    let found: Vec<&Value> = match reply.content.is_list() {
        true => reply.content.items().collect(),
        false => vec![&reply.content],
    };
    Ok(found.into_iter().filter_map(|answer| variables_of(question, answer)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, value: &str) -> VariableValue {
        VariableValue { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn answers_are_lines() {
        let both = vec![value("X", "apple"), value("N", "3")];
        assert_eq!(in_lines(&[both.clone(), both], false), "X = apple, N = 3\nX = apple, N = 3");
        assert_eq!(in_lines(&[Vec::new()], false), "yes");
        assert_eq!(in_lines(&[], false), "no");
        assert_eq!(in_lines(&[vec![value("X", "1")]], true), "X = 1\nand more: these are the first 1");
    }

    #[test]
    fn reply_binds_variables() {
        let question = literal("stock(X, N)").unwrap();
        let reply = |performative: &str, content: &str| {
            let performative = performative.parse().unwrap_or_else(|_| Performative::named(Symbol::new(performative)));
            let content = value_of(&syntax::parse_term(content).unwrap());
            AclMessage::new(performative, Aid::NOBODY, Aid::NOBODY, content)
        };
        let found = answers(&question, &reply("tell", "[stock(apple, 3)[source(amy)], stock(\"old tea\", f(2))]"));
        let expected =
            vec![vec![value("X", "apple"), value("N", "3")], vec![value("X", "\"old tea\""), value("N", "f(2)")]];
        assert_eq!(found.unwrap(), expected);
        assert_eq!(answers(&question, &reply("untell", "stock(X, N)")).unwrap(), Vec::<Vec<VariableValue>>::new());
        assert!(answers(&question, &reply("refuse", "closed")).is_err());
        assert!(literal("stock(X) & X > 3").is_err() && literal("stock(").is_err() && content("3").is_err());
    }
}
