//! Bulk operations: killing, suspending and resuming all agents of a node whose names match a pattern, in one request.

use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_operator::{Answer, BulkOutcome, Reason, Refusal, Request};
use whimbrel_platform::ams::{AgentKind, AgentQuery, LifecycleStep};
use whimbrel_platform::audit::{Act, Auditor, Party, Refused};
use whimbrel_platform::limits::{BULK_NAMED_MAX, KILL_PATIENCE_MS};
use whimbrel_platform::policy::{Action, Principal};
use whimbrel_runtime::KillOutcome;

use super::killing;
use super::operator_service::OperatorService;
use super::remote_query::ask_each;

/// Operation on each of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BulkOperation {
    Kill,
    Step(LifecycleStep),
}

impl BulkOperation {
    /// Returns its name in the audit log.
    fn action(self) -> &'static str {
        let request = match self {
            Self::Kill => Request::Kill { agent: String::new() },
            Self::Step(step) => Request::Step { agent: String::new(), step },
        };
        request.act().map_or("do", |(action, _)| action)
    }
}

/// Returns the pattern and the operation of a bulk request; `None` for other requests. No agent's name is a pattern.
pub(super) fn bulk_of(request: &Request) -> Option<(&str, BulkOperation)> {
    let (name, operation) = match request {
        Request::Kill { agent } => (agent, BulkOperation::Kill),
        Request::Step { agent, step } => (agent, BulkOperation::Step(*step)),
        _ => return None,
    };
    name.contains(['*', '?']).then_some((name.as_str(), operation))
}

/// Carries out the operation on agents of this node.
pub(super) fn here(service: &OperatorService, pattern: &str, operation: BulkOperation) -> Answer {
    answer(pattern, carry_out(service, matching(service, pattern), operation))
}

/// Carries out the operation on agents of all nodes, for a client that cannot ask each node.
pub(super) fn everywhere(
    service: &OperatorService,
    pattern: &str,
    operation: BulkOperation,
    request: &Request,
) -> Answer {
    let mut all = carry_out(service, matching(service, pattern), operation);
    let failed = |text| BulkOutcome { failed: 1, errors: vec![text], ..BulkOutcome::default() };
    let told = ask_each(service, &service.other_nodes(), request, |answer| match answer {
        Answer::Acted(outcome) => Some(outcome),
        Answer::Error(Refusal { reason: Reason::NoSuchAgent, .. }) => Some(BulkOutcome::default()),
        Answer::Error(refusal) => Some(failed(refusal.text)),
        _ => None,
    });
    for part in told {
        let unheard = |node| failed(format!("node {node} sent an unexpected answer instead of its agents' outcomes"));
        all.add(part.unwrap_or_else(unheard), BULK_NAMED_MAX);
    }
    answer(pattern, all)
}

/// Carries out the operation for another node, on agents for which the policy allows it. The audit log gets one entry
/// for all that was allowed, and one for all that was refused.
pub(super) fn for_node(service: &OperatorService, from: Symbol, pattern: &str, operation: BulkOperation) -> Answer {
    let may = |name: &Symbol| service.platform().allows_node(from, Action::Kill, name.as_str());
    let (allowed, refused): (Vec<Symbol>, Vec<Symbol>) = matching(service, pattern).into_iter().partition(may);
    let who = Principal::Node(from).to_string();
    let mut outcome = carry_out(service, allowed, operation);
    if outcome.done > 0 {
        let (action, detail) = (operation.action(), agents_in_words(outcome.done));
        service.refusals.allowed(&Act { who: Party::named(&who), from: "", action, object: pattern, detail: &detail });
    }
    if let Some(first) = refused.first() {
        let failed = refused.len() as u64;
        service
            .refusals
            .refused(&Refused { detail: &agents_in_words(failed), ..Refused::forbidden(&who, Action::Kill, pattern) });
        let text = format!("the policy of node {} does not let node {from} do that to {first}", service.node());
        outcome.add(BulkOutcome { failed, errors: vec![text], ..BulkOutcome::default() }, BULK_NAMED_MAX);
    }
    answer(pattern, outcome)
}

fn agents_in_words(count: u64) -> String {
    format!("{count} {}", if count == 1 { "agent" } else { "agents" })
}

fn answer(pattern: &str, outcome: BulkOutcome) -> Answer {
    if outcome == BulkOutcome::default() {
        return Answer::Error(Refusal::new(Reason::NoSuchAgent, format!("no agent's name fits {pattern}")));
    }
    Answer::Acted(outcome)
}

/// Returns the agents of this node whose names match, the platform's own excepted.
fn matching(service: &OperatorService, pattern: &str) -> Vec<Symbol> {
    let found = service.platform().search(&AgentQuery::named(pattern));
    let counts = found.into_iter().filter(|agent| agent.kind != AgentKind::Service && !agent.ending);
    counts.map(|agent| agent.aid.name).collect()
}

fn carry_out(service: &OperatorService, agents: Vec<Symbol>, operation: BulkOperation) -> BulkOutcome {
    let failed: FxHashMap<Symbol, String> = match operation {
        BulkOperation::Kill => kill(service, &agents),
        BulkOperation::Step(step) => {
            let failed = service.platform().step_agents(&agents, step);
            failed.into_iter().map(|(name, error)| (name, error.to_string())).collect()
        }
    };
    let succeeded = agents.iter().filter(|name| !failed.contains_key(name));
    BulkOutcome {
        done: (agents.len() - failed.len()) as u64,
        agents: succeeded.take(BULK_NAMED_MAX).map(Symbol::to_string).collect(),
        failed: failed.len() as u64,
        errors: failed.into_values().take(BULK_NAMED_MAX).collect(),
    }
}

/// Kills agents of this node. Returns those of which it is not known that they ended, and why.
fn kill(service: &OperatorService, agents: &[Symbol]) -> FxHashMap<Symbol, String> {
    let missed = service.platform().end_agents(agents, Duration::from_millis(KILL_PATIENCE_MS));
    let failed = missed.into_iter().filter_map(|(name, ended)| match ended {
        KillOutcome::Yes | KillOutcome::NoSuchAgent => None,
        // It moved meanwhile.
        KillOutcome::Elsewhere(_) => Some((name, killing::kill(service, name.as_str()).err()?.text)),
        KillOutcome::Unserved => Some((name, format!("{name}: no node serves its partition"))),
        KillOutcome::Unwritten => Some((name, format!("{name}: its end is not written yet"))),
    });
    failed.collect()
}
