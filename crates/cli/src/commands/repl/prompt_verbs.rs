//! Verbs of the prompt.

use std::time::Duration;

use anyhow::bail;
use whimbrel::figures::counted;
use whimbrel_acl::Value;
use whimbrel_bdi::syntax;
use whimbrel_operator::{Answer, Request, Spawning};
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::inspection::DebugOrder;
use whimbrel_platform::plain_text::harmless;
use whimbrel_terminal::screen::{PageRoom, terminal_size};

use super::prompt_session::{AfterLine, PromptSession};
use super::typed_line::VERBS;
use crate::commands::agents;
use crate::commands::ask::in_lines;
use crate::commands::create::{cloned, created, loaded, program_of};
use crate::commands::life::local;
use crate::commands::mind::{MindPart, part, standing, whole};
use crate::commands::typed_text::{show_faults, value_in, variables_of};

/// Longest time of an agent for its reply to a question.
const REPLY_MS: u32 = 10_000;
/// Time that a node may take for an order to an agent.
const ORDER_PATIENCE: Duration = Duration::from_secs(30);
/// Variable that takes the reply to a question.
const REPLY: &str = "WhimbrelReply";
/// Column at which the purposes of verbs begin.
const HELP_INDENT: usize = 26;

impl PromptSession {
    /// Performs a verb. The last argument may take the rest of the line.
    pub(super) fn verb(&mut self, line: &str, name: &str, arguments: &[String]) -> anyhow::Result<AfterLine> {
        let first = arguments.first().map(String::as_str);
        let second = arguments.get(1).map(String::as_str);
        let agent = local(first.unwrap_or(self.agent())).to_owned();
        let text = match (name, second) {
            ("as", _) => return self.act_as(first),
            ("quit", _) => return Ok(AfterLine::Leave),
            ("tell" | "untell" | "achieve", Some(literal)) => return self.send(line, name, &agent, literal),
            ("ask", Some(question)) => return self.ask(line, &agent, question),
            ("watch" | "unwatch", _) => return self.watch(name == "watch", first),
            ("help", _) => help(),
            ("agents", _) => agents::listed(self.nodes(), first.unwrap_or_default(), room())?,
            ("create", Some(program)) => self.create(&agent, program)?,
            ("clone", Some(name)) => cloned(self.nodes(), agent, local(name).to_owned())?,
            ("load", Some(program)) => loaded(self.nodes(), &agent, program, false)?,
            ("suspend" | "resume" | "kill", _) => self.change_life(name, agent)?,
            ("mind", _) => whole(&self.look(&agent)?, room()),
            ("beliefs", _) => part(&self.look(&agent)?, MindPart::Beliefs, room()),
            ("goals", _) => part(&self.look(&agent)?, MindPart::Goals, room()),
            ("intentions", _) => part(&self.look(&agent)?, MindPart::Intentions, room()),
            ("plans", _) => part(&self.look(&agent)?, MindPart::Plans, room()),
            ("break" | "unbreak", whom) => self.set_breakpoint(first.unwrap_or_default(), whom, name == "break")?,
            (order, _) => self.debug(order, agent)?,
        };
        self.printer.print(&text);
        Ok(AfterLine::Continue)
    }

    /// Sends a literal as the prompt's agent.
    fn send(&self, line: &str, performative: &str, agent: &str, literal: &str) -> anyhow::Result<AfterLine> {
        if !is_readable(line, literal) {
            return Ok(AfterLine::Failed);
        }
        let body = format!(".send({}, {performative}, {literal})", Value::from(agent));
        Ok(self.body(body)?.map_or(AfterLine::Failed, |_| AfterLine::Continue))
    }

    /// Sends a question as the prompt's agent, and prints the answers.
    fn ask(&self, line: &str, agent: &str, question: &str) -> anyhow::Result<AfterLine> {
        if !is_readable(line, question) {
            return Ok(AfterLine::Failed);
        }
        let body = format!(".send({}, askAll, {question}, {REPLY}, {REPLY_MS})", Value::from(agent));
        let Some(values) = self.body(body)? else { return Ok(AfterLine::Failed) };
        let reply = values.into_iter().find(|value| value.name == REPLY).and_then(|value| value_in(&value.value));
        match (reply, value_in(question)) {
            (Some(reply), Some(question)) if reply.is_list() => {
                let answers: Vec<_> = reply.items().filter_map(|answer| variables_of(&question, answer)).collect();
                self.printer.print(&in_lines(&answers, false));
                Ok(AfterLine::Continue)
            }
            _ => bail!("no answer from {} within {} s", harmless(agent), REPLY_MS / 1_000),
        }
    }

    fn create(&self, name: &str, program: &str) -> anyhow::Result<String> {
        let (program, source) = program_of(program)?;
        let spawning = Spawning { name: name.to_owned(), program, source, count: None, beliefs: None, goals: None };
        Ok(harmless(&format!("{} created", created(self.nodes(), spawning)?.join(", "))))
    }

    fn change_life(&self, name: &str, agent: String) -> anyhow::Result<String> {
        let (request, done) = match name {
            "suspend" => (Request::Step { agent: agent.clone(), step: LifecycleStep::Suspend }, "suspended"),
            "resume" => (Request::Step { agent: agent.clone(), step: LifecycleStep::Resume }, "resumed"),
            _ => (Request::Kill { agent: agent.clone() }, "killed"),
        };
        match self.order(&request, ORDER_PATIENCE)? {
            Some(Answer::Acted(outcome)) => {
                Ok(format!("{} {done}, {} not", counted(outcome.done, "agent"), outcome.failed))
            }
            Some(_) => Ok(harmless(&format!("{agent} {done}"))),
            None => bail!("stopped waiting"),
        }
    }

    fn watch(&mut self, begins: bool, agent: Option<&str>) -> anyhow::Result<AfterLine> {
        let Some(agent) = agent.map(|agent| local(agent).to_owned()) else {
            if !begins {
                self.watching.end_all();
                self.note_shown();
                return Ok(AfterLine::Continue);
            }
            let agents = self.watching.agents().join(", ");
            let text = if agents.is_empty() { "no agent is watched: watch AGENT".to_owned() } else { agents };
            self.printer.print(&harmless(&text));
            return Ok(AfterLine::Continue);
        };
        if begins {
            if !agent.contains(['*', '?']) {
                self.look(&agent)?;
            }
            let (nodes, printer) = (self.nodes().to_vec(), self.printer.clone());
            self.watching.begin(&nodes, &agent, &printer)?;
        } else if !self.watching.end(&agent) {
            bail!("{} is not watched", harmless(&agent));
        }
        self.note_shown();
        Ok(AfterLine::Continue)
    }

    fn set_breakpoint(&self, plan: &str, agent: Option<&str>, on: bool) -> anyhow::Result<String> {
        let agent = local(agent.unwrap_or(self.agent())).to_owned();
        let word = if on { "pauses when" } else { "does not pause when" };
        let text = harmless(&format!("{agent} {word} {plan} is chosen"));
        self.order(&Request::Breakpoint { agent, plan: plan.to_owned(), on }, ORDER_PATIENCE)?;
        Ok(text)
    }

    fn debug(&self, order: &str, agent: String) -> anyhow::Result<String> {
        let order = match order {
            "pause" => DebugOrder::Pause,
            "step" => DebugOrder::Step,
            "end" => DebugOrder::End,
            _ => DebugOrder::Continue,
        };
        self.order(&Request::Debug { agent: agent.clone(), order }, ORDER_PATIENCE)?;
        Ok(match order {
            DebugOrder::Pause | DebugOrder::Step => standing(&self.look(&agent)?),
            DebugOrder::Continue => harmless(&format!("{agent} continues")),
            _ => harmless(&format!("{agent} is not debugged any more")),
        })
    }
}

fn room() -> PageRoom {
    PageRoom { columns: terminal_size().map(|(columns, _)| columns), lines: None }
}

/// Returns true for a literal or a list. Shows what is wrong with it otherwise.
fn is_readable(line: &str, literal: &str) -> bool {
    let begin = line.rfind(literal).unwrap_or_default();
    match syntax::parse_term(literal) {
        Ok(_) => true,
        Err(faults) => {
            show_faults(line, begin, faults);
            false
        }
    }
}

fn help() -> String {
    let mut lines = vec![
        format!("{:HELP_INDENT$}{}", "?FORMULA", "ask the agent's mind: ?stock(X, N) & N > 3"),
        format!("{:HELP_INDENT$}{}", "!GOAL", "pursue a goal, and wait for its end; Ctrl-C ends the wait"),
        format!("{:HELP_INDENT$}{}", "+BELIEF, -BELIEF", "believe, or believe no more"),
        format!("{:HELP_INDENT$}{}", "BODY", "perform any plan body: .print(hi); !sell(X); .wait(100)"),
    ];
    for (name, signature, purpose) in VERBS {
        lines.push(format!("{:HELP_INDENT$}{purpose}", format!("{name} {signature}")));
    }
    lines.join("\n")
}
