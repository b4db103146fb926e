//! Routes that only look.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::{IntoResponse, Redirect};
use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_platform::ams::AgentState;
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::conversations::Wanted;
use whimbrel_platform::limits::{
    AUDIT_PAGE_MAX, LIVE_AGENTS_MAX, LIVE_LINES_MAX, LIVE_PAIRS_MAX, OUTPUT_ANSWER_LINES_MAX,
};

use super::asked::UrlQuery;
use super::{State, Viewer, answered, json, refused};
use crate::server::ClientAddress;
use crate::{health, metrics};
use whimbrel_operator::{
    AgentOrder, AgentsWanted, Answer, ConversationsFound, LogWanted, OutputWanted, Reason, Refusal, Request,
    ServicesWanted, SniffWanted,
};

/// Number of listed agents, if the query names none.
const AGENTS: usize = 1_000;
/// Number of listed dead letters, if the query names none.
const LETTERS: usize = 100;

pub async fn node(state: State, _: Viewer, UrlQuery(NodeAsked { node }): UrlQuery<NodeAsked>) -> Response<Body> {
    answered(&state.answer(at(node, Request::Node)).await)
}

pub async fn nodes(state: State, _: Viewer) -> Response<Body> {
    answered(&state.answer(Request::Nodes).await)
}

/// Query of the standing searches of a node.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubscriptionsAsked {
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn subscriptions(state: State, _: Viewer, UrlQuery(asked): UrlQuery<SubscriptionsAsked>) -> Response<Body> {
    let limit = asked.limit.unwrap_or(AGENTS).min(LIVE_AGENTS_MAX);
    answered(&state.answer(at(asked.node, Request::Subscriptions { limit })).await)
}

pub async fn topics(state: State, _: Viewer) -> Response<Body> {
    answered(&state.answer(Request::Topics).await)
}

pub async fn links(state: State, _: Viewer) -> Response<Body> {
    answered(&state.answer(Request::Links).await)
}

pub async fn totals(state: State, _: Viewer) -> Response<Body> {
    answered(&state.answer(Request::Totals).await)
}

/// Query of the traffic between agents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrafficAsked {
    limit: Option<usize>,
    /// True to count messages on other nodes, too.
    elsewhere: bool,
}

pub async fn traffic(state: State, _: Viewer, UrlQuery(asked): UrlQuery<TrafficAsked>) -> Response<Body> {
    let limit = asked.limit.unwrap_or(LIVE_PAIRS_MAX).min(LIVE_PAIRS_MAX);
    answered(&state.answer(Request::Traffic { limit, elsewhere: asked.elsewhere }).await)
}

/// Query of agents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsAsked {
    name: String,
    #[schemars(with = "Option<String>")]
    state: Option<AgentState>,
    services: bool,
    sort: AgentOrder,
    limit: Option<usize>,
    /// True to list agents of other nodes, too.
    elsewhere: bool,
}

pub async fn agents(state: State, _: Viewer, UrlQuery(asked): UrlQuery<AgentsAsked>) -> Response<Body> {
    let AgentsAsked { name, state: life, services, sort, limit, elsewhere } = asked;
    let limit = limit.unwrap_or(AGENTS).min(LIVE_AGENTS_MAX);
    let wanted = AgentsWanted { name, state: life, services, sort, limit, elsewhere_but: elsewhere.then(Vec::new) };
    answered(&state.answer(Request::Agents(wanted)).await)
}

pub async fn agent(state: State, _: Viewer, Path(name): Path<String>) -> Response<Body> {
    let wanted = AgentsWanted {
        name: name.clone(),
        state: None,
        services: true,
        sort: AgentOrder::Name,
        limit: 1,
        elsewhere_but: Some(Vec::new()),
    };
    match state.answer(Request::Agents(wanted)).await {
        // A name with stars would stand for others; here it is just a name.
        Answer::Agents(found) => match found.agents.into_iter().find(|agent| agent.name == name) {
            Some(agent) => json(StatusCode::OK, &agent),
            None => refused(&Refusal::new(Reason::NoSuchAgent, format!("there is no agent named {name}"))),
        },
        other => answered(&other),
    }
}

pub async fn mind(state: State, _: Viewer, Path(agent): Path<String>) -> Response<Body> {
    answered(&state.answer(Request::Mind { agent, follow: false }).await)
}

/// Query of devices.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DevicesAsked {
    limit: Option<usize>,
}

pub async fn devices(state: State, _: Viewer, UrlQuery(asked): UrlQuery<DevicesAsked>) -> Response<Body> {
    let limit = asked.limit.unwrap_or(AGENTS).min(LIVE_AGENTS_MAX);
    answered(&state.answer(Request::Devices { limit }).await)
}

/// Query of a node.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NodeAsked {
    /// Name of another node than this one.
    node: Option<String>,
}

/// Returns the request, addressed to another node if one is named.
fn at(node: Option<String>, request: Request) -> Request {
    node.map_or(request.clone(), |node| Request::At { node, ask: Box::new(request) })
}

pub async fn codes(state: State, _: Viewer, UrlQuery(NodeAsked { node }): UrlQuery<NodeAsked>) -> Response<Body> {
    answered(&state.answer(at(node, Request::Codes)).await)
}

pub async fn security(state: State, _: Viewer, UrlQuery(NodeAsked { node }): UrlQuery<NodeAsked>) -> Response<Body> {
    answered(&state.answer(at(node, Request::Security)).await)
}

/// Query of refusals.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RefusalsAsked {
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn refusals(state: State, _: Viewer, UrlQuery(asked): UrlQuery<RefusalsAsked>) -> Response<Body> {
    let limit = asked.limit.unwrap_or(LETTERS).min(LIVE_AGENTS_MAX);
    answered(&state.answer(at(asked.node, Request::Refusals { limit })).await)
}

/// Query of a part of the audit log.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditAsked {
    /// Cursor: the `next` of an earlier answer; the end of the log if missing.
    before: Option<String>,
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn audit(state: State, _: Viewer, UrlQuery(asked): UrlQuery<AuditAsked>) -> Response<Body> {
    let AuditAsked { before, limit, node } = asked;
    let limit = limit.unwrap_or(LETTERS).min(AUDIT_PAGE_MAX);
    answered(&state.answer(at(node, Request::Audit { before, limit })).await)
}

/// Query of quotas.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuotasAsked {
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn quotas(state: State, _: Viewer, UrlQuery(asked): UrlQuery<QuotasAsked>) -> Response<Body> {
    let limit = asked.limit.unwrap_or(AGENTS).min(LIVE_AGENTS_MAX);
    answered(&state.answer(at(asked.node, Request::Quotas { limit })).await)
}

/// Query of services.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServicesAsked {
    service: Option<String>,
    agent: Option<String>,
    name: Option<String>,
    kind: Option<String>,
    ontology: Option<String>,
    protocol: Option<String>,
    language: Option<String>,
    elsewhere: bool,
}

pub async fn services(state: State, _: Viewer, UrlQuery(asked): UrlQuery<ServicesAsked>) -> Response<Body> {
    let ServicesAsked { service, agent, name, kind, ontology, protocol, language, elsewhere } = asked;
    let elsewhere_but = elsewhere.then(Vec::new);
    let properties = Vec::new();
    let wanted = ServicesWanted { service, agent, name, kind, ontology, protocol, language, properties, elsewhere_but };
    answered(&state.answer(Request::Services(wanted)).await)
}

/// Query of dead letters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LettersAsked {
    agent: Option<String>,
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn dead_letters(state: State, _: Viewer, UrlQuery(asked): UrlQuery<LettersAsked>) -> Response<Body> {
    let agents = asked.agent.into_iter().collect();
    let letters = Request::DeadLetters { agents, limit: asked.limit.unwrap_or(LETTERS).min(LIVE_AGENTS_MAX) };
    answered(&state.answer(at(asked.node, letters)).await)
}

/// Query of agents' output.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputAsked {
    since: u64,
    agent: Option<String>,
    /// True for warnings and failures only.
    faults: bool,
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn output(state: State, _: Viewer, UrlQuery(asked): UrlQuery<OutputAsked>) -> Response<Body> {
    let OutputAsked { since, agent, faults, limit, node } = asked;
    let wanted = OutputWanted { since, agents: agent.into_iter().collect(), faults };
    let limit = limit.unwrap_or(LETTERS).min(OUTPUT_ANSWER_LINES_MAX);
    answered(&state.answer(at(node, Request::Output { wanted, limit })).await)
}

/// Query of recent events.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventsAsked {
    /// Cursor: the `next` of an earlier answer; 0 for events from now on.
    since: u64,
    agent: Option<String>,
    conversation: Option<String>,
    performative: Option<String>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn events(state: State, _: Viewer, UrlQuery(asked): UrlQuery<EventsAsked>) -> Response<Body> {
    let EventsAsked { since, agent, conversation, performative, node } = asked;
    let (agents, performatives) = (agent.into_iter().collect(), performative.into_iter().collect());
    let wanted = SniffWanted { agents, conversation, performatives, only_messages: false };
    answered(&state.answer(at(node, Request::Events { since, wanted })).await)
}

/// Answers the programs of the project.
pub async fn programs(state: State, _: Viewer, UrlQuery(NodeAsked { node }): UrlQuery<NodeAsked>) -> Response<Body> {
    answered(&state.answer(at(node, Request::Programs)).await)
}

/// Query of a program's text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramAsked {
    /// Other file of the project than that of the agent's program, as plans name it.
    file: Option<String>,
}

pub async fn program_text(
    state: State,
    _: Viewer,
    Path(agent): Path<String>,
    UrlQuery(ProgramAsked { file }): UrlQuery<ProgramAsked>,
) -> Response<Body> {
    answered(&state.answer(Request::ProgramText { agent, file }).await)
}

/// Query of the log of conversations.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConversationsAsked {
    since: u64,
    since_us: u64,
    conversation: Option<String>,
    performative: Option<String>,
    from: Option<String>,
    to: Option<String>,
    limit: Option<usize>,
    /// Name of another node than this one.
    node: Option<String>,
}

pub async fn conversations(state: State, _: Viewer, UrlQuery(asked): UrlQuery<ConversationsAsked>) -> Response<Body> {
    let ConversationsAsked { since, since_us, conversation, performative, from, to, limit, node } = asked;
    let wanted = Wanted {
        conversation,
        performatives: performative.into_iter().collect(),
        from: from.into_iter().collect(),
        to: to.into_iter().collect(),
        since_us,
    };
    let wanted = LogWanted { since, follow: false, wanted };
    let limit = limit.unwrap_or(LIVE_LINES_MAX).clamp(1, LIVE_AGENTS_MAX);
    if node.is_some() {
        return answered(&state.answer(at(node, Request::Conversations { wanted, limit })).await);
    }
    let Ok(permit) = Arc::clone(&state.logs).try_acquire_owned() else {
        return refused(&Refusal::new(
            Reason::Busy,
            "the log of conversations has too many readers: try again in a moment",
        ));
    };
    let operator = Arc::clone(&state.operator);
    let reading = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut found = ConversationsFound::after(since);
        let read = operator.log(&wanted, &mut |line| found.take(line, limit));
        read.map(|()| found)
    });
    match reading.await {
        Ok(Ok(found)) => json(StatusCode::OK, &found),
        Ok(Err(refusal)) => refused(&refusal),
        Err(_) => refused(&Refusal::new(Reason::Busy, "the log could not be read")),
    }
}

/// Answers the health of the node, for load balancers and people. No token is needed, so the answer says no more.
pub async fn health(state: State) -> Response<Body> {
    let health = health::look(&state).await;
    let status = if health.wrong.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, &health)
}

/// Answers the OpenAPI document of the routes. No token is needed, since the manual says the same.
pub async fn openapi() -> Response<Body> {
    ([(CONTENT_TYPE, "application/json")], super::openapi::document()).into_response()
}

pub async fn metrics(state: State, _: Viewer) -> Response<Body> {
    ([(CONTENT_TYPE, metrics::KIND)], metrics::scrape(&state).await).into_response()
}

/// Redirects `/pages`: links of a page are relative to its own path.
pub async fn to_pages() -> Redirect {
    Redirect::permanent("/pages/")
}

pub async fn home_page(state: State, peer: Extension<ClientAddress>, asked: HeaderMap) -> Response<Body> {
    page(state, peer, Path(String::new()), asked).await
}

pub async fn page(
    state: State,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    Path(path): Path<String>,
    asked: HeaderMap,
) -> Response<Body> {
    let text = match &state.pages {
        Some(pages) => {
            let Some(reader) = state.readers.enter(from.ip()) else {
                state.refuse(RefusalReason::TooMany, from.ip(), "too many pages are being read");
                return refused(&Refusal::new(Reason::Busy, "too many pages are being read: try again in a moment"));
            };
            let pages = Arc::clone(pages);
            let wanted = path.clone();
            let read = tokio::task::spawn_blocking(move || pages.read(&wanted, &asked, reader)).await;
            if let Ok(Some(response)) = read {
                return response;
            }
            format!("there is no page {}", path.chars().take(100).collect::<String>())
        }
        None => "this node has no pages: start it with --pages".to_owned(),
    };
    refused(&Refusal::new(Reason::NoSuchPath, text))
}
