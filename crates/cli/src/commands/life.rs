//! `whimbrel kill`, `move`, `recall`, `suspend`, `resume` and `stop`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use whimbrel_operator::{AgentOrder, AgentsWanted, Answer, BulkOutcome, Reason, Refusal, Request};
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::limits::{BULK_NAMED_MAX, SEARCH_RESULTS_MAX};
use whimbrel_platform::plain_text::harmless;

use crate::arguments::TargetArguments;
use crate::arguments::{MoveArguments, StopArguments, Whom};
use whimbrel::control::{ANYWHERE, KILL_PATIENCE, MOVE_PATIENCE, RunningNode, choose, name_order};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

/// Time that a node may take for an operation on all agents whose names match a pattern.
const MANY_PATIENCE: Duration = Duration::from_secs(120);
/// Longest time for a platform to end.
const END_PATIENCE: Duration = Duration::from_secs(20);

/// Ends agents.
pub fn kill(whom: &Whom) -> anyhow::Result<ExitCode> {
    order(whom, "killed", |agent| Request::Kill { agent })
}

/// Has agents go to another node.
pub fn move_to(order: &MoveArguments) -> anyhow::Result<ExitCode> {
    let to = &order.to;
    let done = if to == ANYWHERE { "may be on any node".to_owned() } else { format!("moved to {}", harmless(to)) };
    let whom = std::slice::from_ref(&order.agent);
    act(whom, &order.target, &done, Some(to), |agent| Request::Move { agent, to: to.clone() })
}

/// Calls agents home.
pub fn recall(whom: &Whom) -> anyhow::Result<ExitCode> {
    act(&whom.agents, &whom.target, "is home", None, |agent| Request::Recall { agent })
}

/// Takes agents' turns away.
pub fn suspend(whom: &Whom) -> anyhow::Result<ExitCode> {
    order(whom, "suspended", |agent| Request::Step { agent, step: LifecycleStep::Suspend })
}

/// Gives agents turns again.
pub fn resume(whom: &Whom) -> anyhow::Result<ExitCode> {
    order(whom, "resumed", |agent| Request::Step { agent, step: LifecycleStep::Resume })
}

/// Orders an operation on agents by name, and one request for all whose names match a pattern. A failure for one agent
/// does not stop it for others.
fn order(whom: &Whom, done: &str, request: impl Fn(String) -> Request) -> anyhow::Result<ExitCode> {
    let nodes = choose(&whom.target)?;
    let mut code = ExitCode::SUCCESS;
    let mut fail = |error: &anyhow::Error| {
        terminal::complain(error);
        code = ExitCode::FAILURE;
    };
    for name in &whom.agents {
        if name.contains(['*', '?']) {
            let outcome = order_all(&nodes, name, &request(name.clone()));
            print_outcome(&outcome, done);
            outcome.errors.iter().for_each(|error| fail(&anyhow!("{error}")));
            let unnamed = outcome.failed.saturating_sub(outcome.errors.len() as u64);
            if unnamed > 0 {
                fail(&anyhow!("{unnamed} further agents are not {done}"));
            }
            continue;
        }
        match ask(&nodes, None, &request(local(name).to_owned())) {
            // Nobody may be reading.
            Ok(_) => drop(print(&format!("{} {done}", harmless(local(name))))),
            Err(error) => fail(&error),
        }
    }
    Ok(code)
}

/// Asks each node to do it to its agents whose names match. A node that fails does not stop it for the others.
fn order_all(nodes: &[RunningNode], pattern: &str, request: &Request) -> BulkOutcome {
    let failed = |text| BulkOutcome { failed: 1, errors: vec![text], ..BulkOutcome::default() };
    let mut all = BulkOutcome::default();
    for node in nodes {
        let outcome = match node.ask(request, MANY_PATIENCE) {
            Ok(Answer::Acted(outcome)) => outcome,
            Ok(answer) => failed(format!("node {} answers something else: {answer:?}", node.info.node)),
            Err(error) if is_nobody(&error) => continue,
            Err(error) => failed(format!("node {}: {error:#}", node.info.node)),
        };
        all.add(outcome, BULK_NAMED_MAX);
    }
    if all == BulkOutcome::default() {
        return failed(format!("no agent's name fits {pattern}"));
    }
    all.agents.sort_by(|one, other| name_order::compare(one, other));
    all
}

fn is_nobody(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::NoSuchAgent)
}

/// Prints the agents for which it succeeded.
fn print_outcome(outcome: &BulkOutcome, done: &str) {
    let mut text: Vec<String> = outcome.agents.iter().map(|agent| format!("{} {done}", harmless(agent))).collect();
    let unnamed = outcome.done.saturating_sub(outcome.agents.len() as u64);
    if unnamed > 0 {
        text.push(format!("and {unnamed} more {done}: {} in all", outcome.done));
    }
    if !text.is_empty() {
        let _ = print(&text.join("\n"));
    }
}

/// Does something to each of the agents; what cannot be done to one does not keep it from the others. Of those whose
/// names fit a pattern, who is on the node `there` already needs nothing.
fn act(
    whom: &[String],
    target: &TargetArguments,
    done: &str,
    there: Option<&str>,
    request: impl Fn(String) -> Request,
) -> anyhow::Result<ExitCode> {
    let nodes = choose(target)?;
    let mut code = ExitCode::SUCCESS;
    for (agent, node) in agents(whom, &nodes)? {
        if let Some(node) = node.as_deref().filter(|node| Some(*node) == there) {
            let _ = print(&format!("{} is on {} already", harmless(&agent), harmless(node)));
            continue;
        }
        match ask(&nodes, node.as_deref(), &request(agent.clone())) {
            Ok(answer) => {
                // Nobody may be reading.
                let _ = print(&format!("{} {done}{}", harmless(&agent), together(&answer)));
            }
            // It went with another one.
            Err(error) if there.is_some() && elsewhere(&error) == there => {
                let _ = print(&format!("{} is on {} already", harmless(&agent), there.unwrap_or_default()));
            }
            Err(error) => {
                terminal::complain(&error);
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Returns what moved along with an agent: its partition, and the number of its agents.
fn together(answer: &Answer) -> String {
    match answer {
        Answer::Moved { partition, agents: 1 } => format!(", with partition {partition}"),
        Answer::Moved { partition, agents } => format!(", with partition {partition} and its {agents} agents"),
        _ => String::new(),
    }
}

/// Returns the node where an agent lives, if that is why something is not done.
fn elsewhere(error: &anyhow::Error) -> Option<&str> {
    error.downcast_ref::<Refusal>().filter(|refusal| refusal.reason == Reason::Elsewhere)?.node.as_deref()
}

/// Returns the agents by name, and the node that is known to have each.
fn agents(whom: &[String], nodes: &[RunningNode]) -> anyhow::Result<Vec<(String, Option<String>)>> {
    let mut all = Vec::new();
    for name in whom {
        if !name.contains(['*', '?']) {
            all.push((local(name).to_owned(), None));
            continue;
        }
        let before = all.len();
        for node in nodes {
            let wanted = AgentsWanted {
                name: name.clone(),
                state: None,
                services: false,
                sort: AgentOrder::Name,
                limit: SEARCH_RESULTS_MAX,
                elsewhere_but: None,
            };
            if let Answer::Agents(found) = node.ask(&Request::Agents(wanted), Duration::ZERO)? {
                all.extend(found.agents.into_iter().map(|agent| (agent.name, Some(agent.node))));
            }
        }
        if let Some(found) = all.get_mut(before..) {
            found.sort_by(|(one, _), (other, _)| name_order::compare(one, other));
        }
        if all.len() == before {
            bail!("no agent matches {name}");
        }
    }
    Ok(all)
}

/// Returns an agent's name without its platform's.
pub(super) fn local(name: &str) -> &str {
    name.split_once('@').map_or(name, |(local, _)| local)
}

/// Asks the node that has the agent; if that is not known, one that knows which it is.
pub(super) fn ask(nodes: &[RunningNode], node: Option<&str>, request: &Request) -> anyhow::Result<Answer> {
    let named = |name: &str| nodes.iter().find(|found| found.info.node == name);
    let first = node.and_then(named).or(nodes.first()).context("no society runs here")?;
    let patience = match request {
        Request::Move { .. } | Request::Recall { .. } => MOVE_PATIENCE,
        Request::Kill { .. } => KILL_PATIENCE,
        _ => Duration::ZERO,
    };
    let error = match first.ask(request, patience) {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    // The agent may have reached its destination since the search.
    let is_there = |other: &str| node.is_some() && matches!(request, Request::Move { to, .. } if to == other);
    match elsewhere(&error).filter(|other| !is_there(other)).and_then(named) {
        Some(other) => other.ask(request, patience),
        None => Err(error),
    }
}

/// Asks the node that has the agent, on whichever machine it is.
pub(super) fn ask_anywhere(nodes: &[RunningNode], request: &Request, wait: Duration) -> anyhow::Result<Answer> {
    ask_until(nodes, request, wait, &|| false)?.context("no answer")
}

/// Asks the node that has the agent, on whichever machine it is, until `stopped` returns true.
pub(super) fn ask_until(
    nodes: &[RunningNode],
    request: &Request,
    wait: Duration,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Option<Answer>> {
    let first = nodes.first().context("no society runs here")?;
    let error = match first.ask_until(request, wait, stopped) {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    let Some(node) = elsewhere(&error) else { return Err(error) };
    if let Some(other) = nodes.iter().find(|found| found.info.node == node) {
        return other.ask_until(request, wait, stopped);
    }
    let there = Request::At { node: node.to_owned(), ask: Box::new(request.clone()) };
    first.ask_until(&there, wait.max(MOVE_PATIENCE), stopped)
}

/// Ends a platform.
pub fn stop(arguments: &StopArguments) -> anyhow::Result<ExitCode> {
    let nodes = choose(&arguments.target)?;
    let first = nodes.first().context("no society runs here")?;
    first.ask(&Request::Stop { code: arguments.code }, Duration::ZERO)?;
    let until = Instant::now() + END_PATIENCE;
    for node in &nodes {
        while node.socket().exists() {
            if Instant::now() > until {
                bail!("node {} (process {}) has not ended yet", node.info.node, node.info.pid);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = print(&format!("{} ended (process {})", node.info.node, node.info.pid));
    }
    Ok(ExitCode::SUCCESS)
}
