//! Inspection and control of a node's agents.

use std::time::{Duration, Instant};

use whimbrel_operator::{MindInfo, Reason, Refusal};
use whimbrel_platform::ams::{AgentKind, AgentQuery};
use whimbrel_platform::inspection::{DebugOrder, Inspection, Instruction, Look};
use whimbrel_runtime::OperateError;

use super::operator_service::OperatorService;

/// Longest wait for a step, whose result the operator wants to see.
const STEP_PATIENCE: Duration = Duration::from_secs(1);
/// Interval of looks meanwhile.
const LOOK: Duration = Duration::from_millis(2);

/// Returns the state of an agent of this node.
pub(super) fn look(service: &OperatorService, agent: &str, follow: bool) -> Result<MindInfo, Refusal> {
    service.is_here(agent)?;
    let platform = service.platform();
    let known = platform.search(&AgentQuery::named(agent));
    let known =
        known.into_iter().find(|known| known.aid.name.as_str() == agent).ok_or_else(|| service.nobody(agent))?;
    let inside = inspect(service, agent, Look { follow })?;
    let name = known.aid.name;
    let runs_here = if known.kind == AgentKind::Session { service.kinds_here(&[name]).remove(&name) } else { None };
    Ok(MindInfo {
        agent: format!("{agent}@{}", platform.services().platform()),
        kind: runs_here.unwrap_or(known.kind),
        state: known.state,
        node: service.node().to_owned(),
        inside,
    })
}

/// Pauses or continues an agent; waits for a step.
pub(super) fn debug(service: &OperatorService, agent: &str, order: DebugOrder) -> Result<(), Refusal> {
    instruct(service, agent, Instruction::Debug(order))?;
    if order == DebugOrder::Step {
        let until = Instant::now() + STEP_PATIENCE;
        while Instant::now() < until && inspect(service, agent, Look::default()).is_ok_and(|seen| seen.stepping) {
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Gives an agent an order.
pub(super) fn instruct(service: &OperatorService, agent: &str, instruction: Instruction) -> Result<(), Refusal> {
    service.not_ours(agent)?;
    service.is_here(agent)?;
    // A text of the operator may be wrong. Whether an agent is paused depends on its state.
    let reason = if matches!(instruction, Instruction::Debug(_)) { Reason::BadState } else { Reason::BadRequest };
    let known = service.known(agent)?;
    service.platform().instruct(known, instruction).map_err(|error| refusal(service, agent, error, reason))
}

fn inspect(service: &OperatorService, agent: &str, look: Look) -> Result<Inspection, Refusal> {
    let seen = service.platform().inspect(service.known(agent)?, look);
    seen.map_err(|error| refusal(service, agent, error, Reason::BadState))
}

fn refusal(service: &OperatorService, agent: &str, error: OperateError, refused: Reason) -> Refusal {
    let reason = match error {
        OperateError::NotHere(_) => return service.nobody(agent),
        OperateError::Refused(..) => refused,
        OperateError::NoAnswer(_) => Reason::NoAnswer,
        _ => Reason::BadState,
    };
    Refusal { reason, text: error.to_string(), node: None }
}
