//! Remote queries: an operator's requests to another node, which go over the link and are answered by its service.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Symbol, sym};
use whimbrel_operator::{AgentsFound, AgentsWanted, Answer, EntryWanted, Reason, Refusal, Request};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::{DENIALS_KEPT_MS, QUESTION_ANSWER_BYTES_MAX, QUESTION_PATIENCE_MS};
use whimbrel_platform::policy::Action;
use whimbrel_runtime::QuestionError;

use super::operator_service::{OperatorService, merge};
use super::{MOVE_PATIENCE, bulk, killing};

/// Longest time for another node's answer to a look.
const PATIENCE: Duration = Duration::from_millis(QUESTION_PATIENCE_MS);

/// Asks another node.
pub fn ask(service: &OperatorService, node: &str, request: &Request) -> Answer {
    if node == service.node() {
        // This node would have to answer itself, which the caller could have asked directly.
        return service.answer(request.clone(), &|| false);
    }
    if let Some(refusal) = service.denials.of(node, request) {
        return Answer::Error(refusal);
    }
    let patience = if request.takes_long() { MOVE_PATIENCE } else { PATIENCE };
    ask_within(service, node, request, patience)
}

/// Asks another node, and waits this long for its answer.
pub(super) fn ask_within(service: &OperatorService, node: &str, request: &Request, patience: Duration) -> Answer {
    let question = match serde_json::to_vec(request) {
        Ok(question) => question,
        Err(error) => return refused(Reason::BadRequest, &error.to_string()),
    };
    match service.platform().ask_node(node, question, patience) {
        Ok(answer) => {
            let answer = serde_json::from_slice(&answer).unwrap_or_else(|_| {
                refused(Reason::NoAnswer, &format!("node {node} sent an answer that this node cannot read"))
            });
            service.denials.note(node, request, &answer);
            answer
        }
        Err(error @ QuestionError::NoSuchNode(_)) => refused(Reason::NoSuchNode, &error.to_string()),
        Err(error @ QuestionError::Busy(_)) => refused(Reason::Busy, &error.to_string()),
        Err(error @ QuestionError::TooLong(_)) => refused(Reason::BadRequest, &error.to_string()),
        Err(error) => refused(Reason::NoAnswer, &error.to_string()),
    }
}

fn refused(reason: Reason, text: &str) -> Answer {
    Answer::Error(Refusal::new(reason, text))
}

/// Refusals by node and by subject, each with its time.
type Denied = FxHashMap<(String, &'static str), (Instant, Refusal)>;

/// Recent refusals of other nodes. A console does not repeat refused queries, since each is written to the other node's
/// audit log.
#[derive(Debug, Default)]
pub struct Denials(Mutex<Denied>);

impl Denials {
    /// Returns the kind of a query about a whole node; `None` for others.
    fn kind(request: &Request) -> Option<&'static str> {
        match request {
            Request::DeadLetters { .. } => Some("dead_letters"),
            Request::Conversations { .. } => Some("conversations"),
            Request::Output { .. } => Some("output"),
            Request::Events { .. } => Some("events"),
            _ => None,
        }
    }

    fn of(&self, node: &str, request: &Request) -> Option<Refusal> {
        let key = (node.to_owned(), Self::kind(request)?);
        let denied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, refusal) = denied.get(&key)?;
        (at.elapsed() < Duration::from_millis(DENIALS_KEPT_MS)).then(|| refusal.clone())
    }

    fn note(&self, node: &str, request: &Request, answer: &Answer) {
        let Some(kind) = Self::kind(request) else { return };
        let (key, mut denied) = ((node.to_owned(), kind), self.0.lock().unwrap_or_else(PoisonError::into_inner));
        match answer {
            Answer::Error(refusal) if refusal.reason == Reason::NotAllowed => {
                denied.retain(|_, (at, _)| at.elapsed() < Duration::from_millis(DENIALS_KEPT_MS));
                denied.insert(key, (Instant::now(), refusal.clone()));
            }
            _ => drop(denied.remove(&key)),
        }
    }
}

/// Returns the agents of all nodes, each as its own node describes it. Of nodes that do not answer, only the names of
/// agents are known.
pub fn agents(service: &OperatorService, wanted: &AgentsWanted) -> AgentsFound {
    let but = wanted.elsewhere_but.clone().unwrap_or_default();
    let others: Vec<(String, bool)> =
        service.other_nodes().into_iter().filter(|(node, _)| !but.contains(node)).collect();
    let there = Request::Agents(AgentsWanted { elsewhere_but: None, ..wanted.clone() });
    let told = ask_each(service, &others, &there, |answer| match answer {
        Answer::Agents(found) => Some(found),
        _ => None,
    });
    let silent: Vec<String> = told.iter().filter_map(|told| told.as_ref().err().cloned()).collect();
    let heard = others.into_iter().map(|(node, _)| node).filter(|node| !silent.contains(node));
    let here = AgentsWanted { elsewhere_but: Some(but.into_iter().chain(heard).collect()), ..wanted.clone() };
    let mut parts = vec![service.agents(&here)];
    parts.extend(told.into_iter().flatten());
    distinct(&mut parts);
    let mut found = merge(parts, wanted.sort, wanted.limit);
    // Devices connected to other nodes are known where the agent `devices` is.
    let places = service.roll.places();
    for agent in found.agents.iter_mut().filter(|agent| agent.kind == AgentKind::Session && agent.device.is_none()) {
        agent.device = Symbol::known(&agent.name).and_then(|name| places.get(&name)).map(Symbol::to_string);
    }
    AgentsFound { silent, ..found }
}

/// Asks all these nodes at once, and returns for each the result of `take`, or the name of a node that did not answer.
/// Nodes that are not up are left out.
pub fn ask_each<T: Send>(
    service: &OperatorService,
    nodes: &[(String, bool)],
    request: &Request,
    take: impl Fn(Answer) -> Option<T> + Sync,
) -> Vec<Result<T, String>> {
    let ask_one = |node: &str, up: bool| {
        let answer = up.then(|| ask(service, node, request));
        answer.and_then(&take).ok_or_else(|| node.to_owned())
    };
    let ask_one = &ask_one;
    std::thread::scope(|scope| {
        let asked: Vec<_> = nodes.iter().map(|(node, up)| scope.spawn(move || ask_one(node, *up))).collect();
        asked.into_iter().filter_map(|one| one.join().ok()).collect()
    })
}

/// Removes duplicates: an agent on its way between two nodes may be reported twice, or at its old node.
fn distinct(parts: &mut [AgentsFound]) {
    let mut seen = FxHashSet::default();
    for part in parts {
        let before = part.agents.len();
        part.agents.retain(|agent| seen.insert(agent.name.clone()));
        part.total -= (before - part.agents.len()) as u64;
    }
}

/// Has the service answer what other nodes ask.
pub fn listen(service: &Arc<OperatorService>) {
    let weak: Weak<OperatorService> = Arc::downgrade(service);
    let answerer = move |from: Symbol, question: &[u8]| {
        let answer = weak.upgrade().map(|service| answer(&service, from, question));
        let answer = answer.unwrap_or_else(|| refused(Reason::NoAnswer, "the node ends"));
        let bytes = serde_json::to_vec(&answer).unwrap_or_default();
        if bytes.len() <= QUESTION_ANSWER_BYTES_MAX {
            return bytes;
        }
        let text = format!("the answer is longer than {QUESTION_ANSWER_BYTES_MAX} bytes: ask for less");
        serde_json::to_vec(&refused(Reason::BadRequest, &text)).unwrap_or_default()
    };
    service.platform().answer_with(Arc::new(answerer));
}

fn answer(service: &OperatorService, from: Symbol, question: &[u8]) -> Answer {
    let request = match serde_json::from_slice::<Request>(question) {
        Ok(request) => request,
        Err(error) => {
            return refused(Reason::BadRequest, &format!("node {} does not know this: {error}", service.node()));
        }
    };
    if let Some((pattern, operation)) = bulk::bulk_of(&request) {
        return bulk::for_node(service, from, pattern, operation);
    }
    match permit(service, from, &request) {
        Ok(()) => match request {
            // Two nodes that each take the other one for its agent's would ask each other for ever.
            Request::Kill { agent } => {
                killing::kill_here(service, &agent).map_or_else(Answer::Error, |()| Answer::Done)
            }
            request => service.answer(request, &|| false),
        },
        Err(refusal) => Answer::Error(refusal),
    }
}

/// Checks another node's permission to query. Permission to end an agent includes looking into it and steering it.
/// Permission to end the platform includes reading messages.
fn permit(service: &OperatorService, from: Symbol, request: &Request) -> Result<(), Refusal> {
    let (action, object) = match request {
        // That is whole messages, to and from whomever, and what agents print.
        Request::DeadLetters { .. }
        | Request::Conversations { .. }
        | Request::Output { .. }
        | Request::Events { .. }
        | Request::ProgramText { .. }
        | Request::StepLines => (Action::Kill, sym::AMS.as_str()),
        Request::Mind { agent, .. }
        | Request::Step { agent, .. }
        | Request::Kill { agent }
        | Request::Deregister { agent }
        | Request::Debug { agent, .. }
        | Request::Breakpoint { agent, .. }
        | Request::LineBreakpoint { agent, .. }
        | Request::Believe { agent, .. }
        | Request::Pursue { agent, .. }
        | Request::Query { agent, .. }
        | Request::Perform { agent, .. } => (Action::Kill, agent.as_str()),
        Request::Load(loading) => (Action::Kill, loading.agent.as_str()),
        Request::Register(entry) | Request::Modify(entry) => return permit_entry(service, from, entry),
        Request::Move { agent, .. } | Request::Recall { agent } => (Action::Move, agent.as_str()),
        Request::Clone { name, .. } => (Action::Create, name.as_str()),
        Request::At { .. } | Request::Totals | Request::Traffic { elsewhere: true, .. } => {
            return Err(Refusal::new(Reason::BadRequest, "ask that node itself"));
        }
        looks if looks.only_looks() => return Ok(()),
        _ => return Err(Refusal::new(Reason::NotAllowed, "this is done at the node that one is connected to")),
    };
    require(service, from, action, object)
}

/// Checks another node's permission to register an agent: it must be allowed to end the agent, and to register each of
/// the services.
fn permit_entry(service: &OperatorService, from: Symbol, entry: &EntryWanted) -> Result<(), Refusal> {
    require(service, from, Action::Kill, &entry.agent)?;
    entry.services.iter().try_for_each(|offer| require(service, from, Action::Register, &offer.name))
}

fn require(service: &OperatorService, from: Symbol, action: Action, object: &str) -> Result<(), Refusal> {
    if service.platform().permits_node(from, action, object) {
        return Ok(());
    }
    let text = format!("the policy of node {} does not let node {from} do that to {object}", service.node());
    Err(Refusal::new(Reason::NotAllowed, text))
}
