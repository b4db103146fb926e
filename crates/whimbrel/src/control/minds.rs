//! Inspection and control of a node's agents, with queries, plan bodies and programs that operators give to them.
//! Agents report the outcomes of those by messages.

use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Performative, Value};
use whimbrel_operator::{
    Answer, LoadOutcome, Loading, MindInfo, PerformFailure, PerformOutcome, QueryAnswers, Reason, Refusal, Request,
    VariableValue,
};
use whimbrel_platform::ams::{AgentKind, AgentQuery};
use whimbrel_platform::inspection::{DebugOrder, Inspection, Instruction, Look, ReportTo};
use whimbrel_platform::limits::{QUERY_PATIENCE_MS, QUERY_VALUES_BYTES_MAX};
use whimbrel_runtime::OperateError;

use super::operator_service::{OperatorService, answered_elsewhere};
use super::spawning;

/// Longest wait for a step, whose result the operator wants to see.
const STEP_PATIENCE: Duration = Duration::from_secs(1);
/// Longest time in which an agent answers a query, or takes in a program.
const REPORT_PATIENCE: Duration = Duration::from_millis(QUERY_PATIENCE_MS);
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

/// Answers a query, a plan body or a program.
pub(super) fn answer(service: &OperatorService, request: Request, gone: &dyn Fn() -> bool) -> Result<Answer, Refusal> {
    match request {
        Request::Query { agent, formula, limit } => query(service, &agent, formula, limit, gone).map(Answer::Answers),
        Request::Perform { agent, body, wait_ms } => {
            perform(service, &agent, body, Duration::from_millis(wait_ms), gone).map(Answer::Performed)
        }
        Request::Load(loading) => load(service, *loading, gone).map(Answer::Loaded),
        _ => Err(answered_elsewhere()),
    }
}

/// Returns the answers to a formula in the mind of an agent of this node.
fn query(
    service: &OperatorService,
    agent: &str,
    formula: String,
    limit: usize,
    gone: &dyn Fn() -> bool,
) -> Result<QueryAnswers, Refusal> {
    let instruction = |report| Instruction::Query { formula, limit, report };
    let report = report(service, agent, instruction, REPORT_PATIENCE, gone)?;
    succeeded(&report)?;
    let [answers, more] = report.content.args() else { return Err(unreadable(agent)) };
    let answers = answers.items().map(|answer| values(answer).collect()).collect();
    Ok(QueryAnswers { answers, more: *more == Value::Bool(true) })
}

/// Has an agent of this node perform a plan body, and waits until it has.
fn perform(
    service: &OperatorService,
    agent: &str,
    body: String,
    wait: Duration,
    gone: &dyn Fn() -> bool,
) -> Result<PerformOutcome, Refusal> {
    let report = report(service, agent, |report| Instruction::Perform { body, report }, wait, gone)?;
    if let Some(failure) = failure(&report) {
        return Ok(PerformOutcome { values: Vec::new(), failure: Some(failure) });
    }
    let mut room = QUERY_VALUES_BYTES_MAX;
    let fits = |value: &VariableValue| {
        let bytes = value.name.len() + value.value.len();
        let fits = bytes <= room;
        room -= if fits { bytes } else { 0 };
        fits
    };
    let values = report.content.args().first().into_iter().flat_map(values).filter(fits).collect();
    Ok(PerformOutcome { values, failure: None })
}

/// Loads a program into an agent of this node.
fn load(service: &OperatorService, loading: Loading, gone: &dyn Fn() -> bool) -> Result<LoadOutcome, Refusal> {
    let Loading { agent, program, source, goals: begin } = loading;
    let bundle = spawning::bundle(service, &program, source)?;
    let instruction = |report| Instruction::Load { name: program, bundle, begin, report };
    let report = report(service, &agent, instruction, REPORT_PATIENCE, gone)?;
    succeeded(&report)?;
    let counts: Vec<u64> = report.content.args().iter().filter_map(|count| Some(count.as_f64()? as u64)).collect();
    let [removed, added, rules, beliefs] = *counts.as_slice() else { return Err(unreadable(&agent)) };
    Ok(LoadOutcome { removed, added, rules, beliefs })
}

/// Instructs an agent, and waits for its report.
fn report(
    service: &OperatorService,
    agent: &str,
    instruction: impl FnOnce(ReportTo) -> Instruction,
    wait: Duration,
    gone: &dyn Fn() -> bool,
) -> Result<Box<AclMessage>, Refusal> {
    let node = service.hub().map(|_| service.node());
    let begin = |report| instruct(service, agent, instruction(report));
    let report = service.mail().await_report(service.platform(), node, begin, wait, gone);
    report.map_err(|refusal| match refusal.reason {
        Reason::NoAnswer => Refusal { text: format!("{agent}: {}", refusal.text), ..refusal },
        _ => refusal,
    })
}

fn unreadable(agent: &str) -> Refusal {
    Refusal::new(Reason::NoAnswer, format!("{agent} sent a report that this node cannot read"))
}

/// Refuses the report of a failure.
fn succeeded(report: &AclMessage) -> Result<(), Refusal> {
    failure(report).map_or(Ok(()), |failure| Err(Refusal::new(Reason::BadState, failure.text)))
}

/// Returns the failure of a report: `failed(Error, Message, File, Line)`.
fn failure(report: &AclMessage) -> Option<PerformFailure> {
    if report.performative != Performative::Failure {
        return None;
    }
    let args = report.content.args();
    let text =
        |place: usize| args.get(place).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let line = args.get(3).and_then(Value::as_f64).map(|line| line as u32).filter(|line| *line > 0);
    let file = text(2).map(|file| file.strip_prefix("file:").unwrap_or(&file).to_owned());
    Some(PerformFailure {
        error: text(0).unwrap_or_default(),
        text: text(1).unwrap_or_default(),
        file: file.filter(|_| line.is_some()),
        line,
    })
}

/// Returns the values in `[binding("X", 3), ...]`. Values that are no text are written as terms.
fn values(list: &Value) -> impl Iterator<Item = VariableValue> + '_ {
    list.items().filter_map(|binding| match binding.args() {
        [_, Value::Var(_)] => None,
        [name, value] => Some(VariableValue { name: name.as_str()?.to_owned(), value: value.to_string() }),
        _ => None,
    })
}
