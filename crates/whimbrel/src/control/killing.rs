//! Ending of agents for an operator. The answer is certain: that the agent has ended, when that outlives any node, or
//! that its end is not known.

use std::thread::sleep;
use std::time::{Duration, Instant};

use whimbrel_acl::{Aid, Symbol};
use whimbrel_operator::{Answer, Reason, Refusal, Request};
use whimbrel_platform::limits::{KILL_PATIENCE_MS, QUESTION_PATIENCE_MS};
use whimbrel_runtime::KillOutcome;

use super::operator_service::OperatorService;
use super::remote_query;

/// Pause before the agent is searched for again.
const PAUSE: Duration = Duration::from_millis(50);

/// Ends an agent, wherever it is. If its node dies before the end is written, the node that continues the agent is
/// asked.
pub(super) fn kill(service: &OperatorService, agent: &str) -> Result<(), Refusal> {
    service.not_ours(agent)?;
    let known = service.known(agent)?;
    let until = Instant::now() + Duration::from_millis(KILL_PATIENCE_MS);
    // An earlier request may have ended it without an answer.
    let mut asked = false;
    loop {
        let server = match service.platform().end(known, until.saturating_duration_since(Instant::now())) {
            KillOutcome::Yes => return Ok(()),
            KillOutcome::NoSuchAgent if !asked => return Err(service.nobody(agent)),
            KillOutcome::NoSuchAgent => match service.platform().partition_of(known.name) {
                Some(partition) => service.platform().server_of(partition),
                None => return Ok(()),
            },
            KillOutcome::Elsewhere(node) => Some(node),
            KillOutcome::Unserved | KillOutcome::Unwritten => None,
        };
        match server {
            // It is served here, and gone.
            Some(node) if node.as_str() == service.node() => return Ok(()),
            Some(node) if ask(service, &node, agent, asked)? => return Ok(()),
            _ => asked = true,
        }
        if Instant::now() >= until {
            let text = format!(
                "it is not known whether {agent} has ended: its node does not say so, and no other node runs it so far"
            );
            return Err(Refusal::new(Reason::NoAnswer, text));
        }
        sleep(PAUSE);
    }
}

/// Asks the node that serves an agent to end it. Returns false if the outcome is unknown.
fn ask(service: &OperatorService, node: &Symbol, agent: &str, asked: bool) -> Result<bool, Refusal> {
    let patience = Duration::from_millis(QUESTION_PATIENCE_MS);
    match remote_query::ask_within(service, node.as_str(), &Request::Kill { agent: agent.to_owned() }, patience) {
        Answer::Done => Ok(true),
        Answer::Error(Refusal { reason: Reason::NoSuchAgent, .. }) => Ok(asked),
        Answer::Error(refusal) => match refusal.reason {
            Reason::Elsewhere | Reason::NoAnswer | Reason::NoSuchNode | Reason::Busy => Ok(false),
            _ => Err(refusal),
        },
        _ => Ok(false),
    }
}

/// Ends an agent of this node for another one, which looks further itself if it is not here.
pub(super) fn kill_here(service: &OperatorService, agent: &str) -> Result<(), Refusal> {
    service.not_ours(agent)?;
    let known = Symbol::known(agent).map(Aid::local).ok_or_else(|| service.nobody(agent))?;
    let at_most = Duration::from_millis(QUESTION_PATIENCE_MS * 3 / 4);
    let unknown = |text: &str| Refusal::new(Reason::NoAnswer, format!("{agent}: {text}"));
    match service.platform().end(known, at_most) {
        KillOutcome::Yes => Ok(()),
        KillOutcome::NoSuchAgent => Err(service.nobody(agent)),
        KillOutcome::Elsewhere(node) => {
            let text = format!("agent {agent} lives on node {node}");
            Err(Refusal { reason: Reason::Elsewhere, text, node: Some(node.to_string()) })
        }
        KillOutcome::Unserved => Err(unknown("nobody serves its partition")),
        KillOutcome::Unwritten => Err(unknown("its end is not written yet")),
    }
}
