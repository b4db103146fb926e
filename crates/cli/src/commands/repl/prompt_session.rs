//! Session of a prompt: the society, the agent that the person acts as, and what a typed line does to it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use whimbrel::control::RunningNode;
use whimbrel::figures::counted;
use whimbrel_operator::{
    Answer, PerformFailure, PerformOutcome, ProgramSource, Reason, Refusal, Request, Spawning, VariableValue,
};
use whimbrel_platform::limits::{QUERY_ANSWERS_MAX, QUERY_PATIENCE_MS};
use whimbrel_platform::plain_text::harmless;
use whimbrel_terminal as terminal;

use super::STOPPED;
use super::agent_output::{AgentOutput, ShownAgents};
use super::line_editor::LinePrinter;
use super::new_society::{NewSociety, OWN_AGENT};
use super::typed_line::{LineFault, TypedLine, read};
use super::watching::WatchedAgents;
use crate::arguments::ReplArguments;
use crate::commands::ask::in_lines;
use crate::commands::create::created;
use crate::commands::life::{ask_anywhere, ask_until, local};
use crate::commands::typed_text::show_faults;

/// Number of prompts on one society, each with an agent of its own.
const PROMPTS_MAX: u32 = 100;
/// Longest time for an answer to a question.
const QUERY_PATIENCE: Duration = Duration::from_millis(QUERY_PATIENCE_MS);

/// Step that follows a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLine {
    Continue,
    /// The line failed, and that was said.
    Failed,
    Leave,
}

/// Session of a prompt.
pub struct PromptSession {
    nodes: Vec<RunningNode>,
    /// Agent that the person acts as.
    agent: String,
    /// Agent to return to.
    home: String,
    /// True if the prompt created its agent, which then ends with it.
    is_own: bool,
    wait: Duration,
    pub(super) printer: LinePrinter,
    pub(super) watching: WatchedAgents,
    /// Output to show after each line; on a terminal, a thread shows it as it comes.
    output: Option<AgentOutput>,
    shown: ShownAgents,
}

impl PromptSession {
    /// Begins as the agent that the arguments name, or as one of its own.
    pub fn begin(
        nodes: Vec<RunningNode>,
        arguments: &ReplArguments,
        printer: LinePrinter,
        society: Option<&NewSociety>,
    ) -> anyhow::Result<Self> {
        let wait = arguments.wait;
        let watching = WatchedAgents::default();
        let (agent, is_own) = match &arguments.acts_as {
            Some(agent) => (local(agent).to_owned(), false),
            None if society.is_some_and(NewSociety::is_empty) => (OWN_AGENT.to_owned(), false),
            None => (own_agent(&nodes)?, true),
        };
        let (home, output, shown) = (agent.clone(), None, ShownAgents::default());
        let session = Self { nodes, home, agent, is_own, wait, printer, watching, output, shown };
        session.look(&session.agent)?;
        session.note_shown();
        Ok(session)
    }

    pub fn nodes(&self) -> &[RunningNode] {
        &self.nodes
    }

    /// Returns the name of the agent that the person acts as.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns true if the society still runs.
    pub fn is_running(&self) -> bool {
        self.nodes.iter().any(|node| node.socket().exists())
    }

    /// Shows what the agent, and those that are watched, print from now on.
    pub fn show_output(&mut self, as_it_comes: bool) -> anyhow::Result<()> {
        let output = AgentOutput::from_now(&self.nodes);
        if as_it_comes {
            return output.follow(Arc::clone(&self.shown), self.printer.clone());
        }
        self.output = Some(output);
        Ok(())
    }

    /// Shows what was printed since the last line.
    pub fn show_printed(&mut self) {
        let agents = self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lines = self.output.as_mut().map(|output| output.take(&agents)).unwrap_or_default();
        lines.iter().for_each(|line| self.printer.print(line));
    }

    /// Notes whose output is shown.
    pub(super) fn note_shown(&self) {
        let mut agents = self.watching.agents();
        agents.push(self.agent.clone());
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = agents;
    }

    /// Says where one is.
    pub fn greet(&self, is_new: bool) {
        let Some(node) = self.nodes.first() else { return };
        let (society, agents) = (harmless(&node.info.society), node.info.agents);
        let fate = if is_new { "ends with this prompt" } else { "continues after this prompt" };
        let agent = harmless(&self.agent);
        self.printer.print(&format!(
            "{society}: {} on node {}, process {}; it {fate}. You act as {agent}.\n\
             ?belief(X) asks, !goal pursues, +belief believes, help lists the verbs, Ctrl-D leaves.",
            counted(agents, "agent"),
            node.info.node,
            node.info.pid
        ));
    }

    /// Ends the prompt's own agent.
    pub fn end(&mut self) {
        self.watching.end_all();
        if self.is_own {
            // The society may have ended.
            let _ = ask_anywhere(&self.nodes, &Request::Kill { agent: self.home.clone() }, Duration::ZERO);
        }
    }

    /// Performs a line.
    ///
    /// # Errors
    /// Returns the reason why the society did not do it.
    pub fn perform(&mut self, line: &str) -> anyhow::Result<AfterLine> {
        match read(line) {
            Ok(TypedLine::Empty) => Ok(AfterLine::Continue),
            Ok(TypedLine::Question(formula)) => self.question(formula),
            Ok(TypedLine::Removal(belief)) => {
                let agent = self.agent.clone();
                self.order(&Request::Believe { agent, belief, add: false }, QUERY_PATIENCE)?;
                Ok(AfterLine::Continue)
            }
            Ok(TypedLine::Body(body)) => {
                Ok(self.body(body)?.map_or(AfterLine::Failed, |values| self.print_values(&values)))
            }
            Ok(TypedLine::Verb { name, arguments }) => self.verb(line, name, &arguments),
            Err(LineFault::Syntax(begin, faults)) => {
                show_faults(line, begin, faults);
                Ok(AfterLine::Failed)
            }
            Err(LineFault::Other(text)) => bail!("{}", harmless(&text)),
        }
    }

    /// Acts as another agent, or as the first one again.
    pub(super) fn act_as(&mut self, agent: Option<&str>) -> anyhow::Result<AfterLine> {
        let agent = agent.map_or_else(|| self.home.clone(), |agent| local(agent).to_owned());
        self.look(&agent)?;
        self.agent = agent;
        self.note_shown();
        Ok(AfterLine::Continue)
    }

    fn question(&self, formula: String) -> anyhow::Result<AfterLine> {
        let request = Request::Query { agent: self.agent.clone(), formula, limit: QUERY_ANSWERS_MAX };
        match self.order(&request, QUERY_PATIENCE)? {
            Some(Answer::Answers(found)) => {
                self.printer.print(&in_lines(&found.answers, found.more));
                Ok(AfterLine::Continue)
            }
            Some(_) => bail!("unexpected answer to a question"),
            None => Ok(AfterLine::Failed),
        }
    }

    /// Has the agent perform a plan body. Returns the values of its variables, or nothing if it failed.
    pub(super) fn body(&self, body: String) -> anyhow::Result<Option<Vec<VariableValue>>> {
        let wait_ms = u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX);
        let request = Request::Perform { agent: self.agent.clone(), body, wait_ms };
        match self.order(&request, self.wait) {
            Ok(Some(Answer::Performed(PerformOutcome { failure: Some(failure), .. }))) => {
                terminal::complain(&anyhow::anyhow!("{}", told(&failure)));
                Ok(None)
            }
            Ok(Some(Answer::Performed(outcome))) => Ok(Some(outcome.values)),
            Ok(Some(_)) => bail!("unexpected answer to a plan body"),
            Ok(None) => {
                terminal::note("stopped waiting: the intention continues");
                Ok(None)
            }
            Err(error) if is_unanswered(&error) => Err(error.context("stopped waiting: the intention continues")),
            Err(error) => Err(error),
        }
    }

    pub(super) fn print_values(&self, values: &[VariableValue]) -> AfterLine {
        if !values.is_empty() {
            self.printer.print(&in_lines(&[values.to_vec()], false));
        }
        AfterLine::Continue
    }

    /// Asks the society. Returns nothing if Ctrl-C ended the wait.
    pub(super) fn order(&self, request: &Request, wait: Duration) -> anyhow::Result<Option<Answer>> {
        ask_until(&self.nodes, request, wait, &|| STOPPED.load(Ordering::Relaxed))
    }

    /// Inspects an agent.
    pub(super) fn look(&self, agent: &str) -> anyhow::Result<whimbrel_operator::MindInfo> {
        let request = Request::Mind { agent: agent.to_owned(), follow: false };
        match ask_anywhere(&self.nodes, &request, Duration::ZERO)? {
            Answer::Mind(mind) => Ok(*mind),
            _ => bail!("unexpected answer to a query for the state of {}", harmless(agent)),
        }
    }
}

fn is_unanswered(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::NoAnswer)
}

/// `no_applicable: there is no applicable plan (bob.asl:12)`
fn told(failure: &PerformFailure) -> String {
    let PerformFailure { error, text, file, line } = failure;
    let place = file.as_ref().zip(*line).map(|(file, line)| format!(" ({file}:{line})")).unwrap_or_default();
    let text = if text.is_empty() { error.clone() } else { format!("{error}: {text}") };
    format!("{}{}", harmless(&text), harmless(&place))
}

/// Creates an agent for the prompt, with an empty program.
fn own_agent(nodes: &[RunningNode]) -> anyhow::Result<String> {
    let mut last = None;
    for number in 1..=PROMPTS_MAX {
        let name = if number == 1 { OWN_AGENT.to_owned() } else { format!("{OWN_AGENT}{number}") };
        let spawning = Spawning {
            name,
            program: format!("{OWN_AGENT}.asl"),
            source: Some(ProgramSource { text: String::new(), includes: Vec::new() }),
            count: None,
            beliefs: None,
            goals: None,
        };
        match created(nodes, spawning) {
            Ok(names) => return names.into_iter().next().context("the society created no agent for the prompt"),
            Err(error) if is_taken(&error) => last = Some(error),
            Err(error) => return Err(error.context("cannot create an agent for the prompt: give --as AGENT")),
        }
    }
    Err(last.unwrap_or_else(|| anyhow::anyhow!("no name is free")).context("cannot create an agent for the prompt"))
}

fn is_taken(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::BadState)
}
