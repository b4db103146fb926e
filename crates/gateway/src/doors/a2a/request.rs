//! Requests of A2A clients: cards, JSON-RPC and REST.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, HOST, HeaderName, IF_NONE_MATCH, LAST_MODIFIED, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use bytes::Bytes;
use ring::digest::{SHA256, digest};
use serde_json::Value as Json;
use whimbrel_acl::Aid;
use whimbrel_interop::a2a::acl::{self, AclExtension};
use whimbrel_interop::a2a::card::{self, CardFacts};
use whimbrel_interop::a2a::{
    A2aError, A2aErrorKind, Answering, Dialect, Operation, SendParams, SentMessage, TaskParties, TaskUpdate, WatchId,
    http_date, read_rest, read_rpc, version_of,
};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::df::DfDescription;
use whimbrel_platform::limits::{A2A_BODY_BYTES_MAX, A2A_BODY_PATIENCE_MS, A2A_CARD_AGE_S};
use whimbrel_platform::policy::{Action, Verdict};

use super::A2aDoor;
use super::answer::{AnswerForm, EventSource, OperationResult, TaskWatch, json};
use crate::access::Role;
use crate::doors::door_clients::DoorClient;
use crate::routes::State;
use crate::server::{ClientAddress, TokenRole};
use crate::shared::GatewayState;

const CARD_PATH: &str = ".well-known/agent-card.json";
/// Path of the card before version 0.3.
const OLD_CARD_PATH: &str = ".well-known/agent.json";
/// Beginning of paths whose card has members of version 1.0 only.
const STRICT: &str = "v1.0";
/// Agent that stands for the host.
const HOST_AGENT: &str = "df";
const VERSION: HeaderName = HeaderName::from_static("a2a-version");
const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
const OLD_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const BODY_PATIENCE: Duration = Duration::from_millis(A2A_BODY_PATIENCE_MS);

/// Client of a request, and the agent that it is about.
struct ClientRequest<'a> {
    state: &'a GatewayState,
    door: &'a Arc<A2aDoor>,
    client: DoorClient,
    agent: Aid,
    from: IpAddr,
    /// Extension that a header names.
    extension: AclExtension,
}

/// Answers a request below `/a2a/`.
pub(super) async fn serve(
    state: State,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    Extension(TokenRole(role)): Extension<TokenRole>,
    request: Request,
) -> Response<Body> {
    let Some(door) = &state.a2a else { return AnswerForm::Rest.refusal(&nothing()) };
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().strip_prefix("/a2a/").unwrap_or_default();
    let (name, rest) = match path {
        CARD_PATH | OLD_CARD_PATH => (HOST_AGENT, path),
        _ => path.split_once('/').unwrap_or((path, "")),
    };
    let (rest, is_strict) =
        rest.strip_prefix(STRICT).map_or((rest, false), |rest| (rest.trim_start_matches('/'), true));
    let version = parts.headers.get(VERSION).map(|version| version.to_str().unwrap_or("?"));
    let Some(agent) = door.agent(name) else { return AnswerForm::Rest.refusal(&nothing()) };
    if matches!(rest, CARD_PATH | OLD_CARD_PATH) && parts.method == Method::GET {
        let is_strict = is_strict || version_of(version).is_ok_and(|version| version == Some(Dialect::V1));
        return door.card(&state, agent, &parts.headers, !is_strict);
    }
    // Who may only look may not have agents work.
    let client = door.tokens.client(&parts.headers, role, from.ip());
    let Some(client) = client.filter(|client| client.role != Some(Role::Viewer)) else {
        return unauthenticated(&state, from.ip(), path).await;
    };
    let extension = extension_of(&parts.headers);
    let asked = ClientRequest { state: &state, door, client, agent, from: from.ip(), extension };
    let is_rpc = rest.is_empty() && parts.method == Method::POST;
    let form = if is_rpc { AnswerForm::Rpc(Dialect::V1, Json::Null) } else { AnswerForm::Rest };
    let body = match read_body(body, &parts.headers).await {
        Ok(body) => body,
        Err(error) => return form.refusal(&error),
    };
    let mut response = if is_rpc {
        let call = read_rpc(&body, version);
        let answered = asked.carry_out(call.operation).await;
        AnswerForm::Rpc(call.dialect, call.id).answer(answered)
    } else {
        let version = version_of(version).map(drop);
        let operation = version.and_then(|()| read_rest(parts.method.as_str(), rest, parts.uri.query(), &body));
        form.answer(asked.carry_out(operation).await)
    };
    if let Some(uri) = extension.uri() {
        response.headers_mut().insert(EXTENSIONS, HeaderValue::from_static(uri));
    }
    response
}

/// Answers with the card at the usual place of a host: that of the only published agent, or of the host.
pub(super) async fn root_card(state: State, headers: HeaderMap) -> Response<Body> {
    let agent = state.a2a.as_ref().and_then(|door| Some((door, door.agent(door.only_agent().unwrap_or(HOST_AGENT))?)));
    let Some((door, agent)) = agent else { return AnswerForm::Rest.refusal(&nothing()) };
    let version = headers.get(VERSION).and_then(|version| version.to_str().ok());
    door.card(&state, agent, &headers, version_of(version) != Ok(Some(Dialect::V1)))
}

fn nothing() -> A2aError {
    A2aError::new(A2aErrorKind::AgentNotFound, "no agent is published here: see --a2a")
}

/// Refuses a request without an accepted token, after a pause that grows with each.
async fn unauthenticated(state: &GatewayState, from: IpAddr, path: &str) -> Response<Body> {
    state.refuse(RefusalReason::BadToken, from, &format!("a2a {}", path.chars().take(100).collect::<String>()));
    tokio::time::sleep(state.wait_of_wrong_token(from)).await;
    let text = "missing or unknown token: send Authorization: Bearer TOKEN";
    let mut response = AnswerForm::Rest.refusal(&A2aError::new(A2aErrorKind::Unauthenticated, text));
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn extension_of(headers: &HeaderMap) -> AclExtension {
    let lists = headers.get_all(EXTENSIONS).iter().chain(headers.get_all(OLD_EXTENSIONS));
    AclExtension::of(lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(',')))
}

/// Reads a body of JSON.
async fn read_body(body: Body, headers: &HeaderMap) -> Result<Bytes, A2aError> {
    let late = |_| A2aError::new(A2aErrorKind::InvalidRequest, "the body did not arrive in time");
    let long = |_| {
        let text = format!("the body is too long, or broke off: at most {A2A_BODY_BYTES_MAX} bytes");
        A2aError::new(A2aErrorKind::InvalidRequest, text)
    };
    let bytes = tokio::time::timeout(BODY_PATIENCE, to_bytes(body, A2A_BODY_BYTES_MAX)).await.map_err(late)?;
    let bytes = bytes.map_err(long)?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let bare = kind.split(';').next().unwrap_or_default().trim();
    let is_json = ["application/json", "application/a2a+json"].iter().any(|json| bare.eq_ignore_ascii_case(json));
    if !bytes.is_empty() && !is_json {
        let text = "send Content-Type: application/json";
        return Err(A2aError::new(A2aErrorKind::ContentTypeNotSupported, text));
    }
    Ok(bytes)
}

impl ClientRequest<'_> {
    /// Carries out an operation.
    async fn carry_out(&self, operation: Result<Operation, A2aError>) -> Result<OperationResult, A2aError> {
        let kind = |kind, text: &str| Err(A2aError::new(kind, text));
        match operation? {
            Operation::Send { params, streams } => self.send(*params, streams).await,
            Operation::GetTask { id, history_length } => {
                let task = self.read(|door, sender| door.desk().server.get(sender, &id).cloned())?;
                Ok(OperationResult::Task(task.with_history(history_length)))
            }
            Operation::ListTasks(filter) => {
                self.read(|door, sender| door.desk().server.list(sender, &filter)).map(OperationResult::Page)
            }
            Operation::CancelTask { id } => self.cancel(&id).await,
            Operation::Subscribe { id } => self.subscribe(&id),
            Operation::Push => kind(A2aErrorKind::PushNotSupported, "this agent sends no push notifications"),
            Operation::ExtendedCard => kind(A2aErrorKind::NoExtendedCard, "this agent has no extended card"),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&A2aDoor, TaskParties) -> T) -> T {
        let client = self.door.desk().server.client(&self.client.name);
        look(self.door, TaskParties { client, agent: self.agent })
    }

    async fn send(&self, params: SendParams, streams: bool) -> Result<OperationResult, A2aError> {
        self.check(&params)?;
        let history_length = params.configuration.history_length;
        let read = self.door.with_names(|| acl::read(&params.message))?;
        let ids = self.door.ids()?;
        let place = if streams { Some(self.place()?) } else { None };
        let (door, agent, extension) = (self.door, self.agent, self.extension);
        let answering = door.act(|desk, at| {
            let sender = TaskParties { client: desk.server.client(&self.client.name), agent };
            let sent = SentMessage { sender, params, read, extension, streams, ids };
            let answering = desk.server.handle_send(sent, at, &mut |proxy, client| door.start_proxy(proxy, client))?;
            Ok(match answering {
                Answering::Now(update) => (None, Some(update)),
                Answering::Watch(watch) => (Some((desk.watcher(watch), watch)), None),
            })
        })?;
        let (mut updates, watch) = match answering {
            (Some(watched), _) => watched,
            (None, Some(update)) => return Ok(OperationResult::Update(Arc::new(trimmed(update, history_length)))),
            (None, None) => return Err(A2aError::new(A2aErrorKind::Internal, "no answer")),
        };
        let guard = self.guard(watch);
        if let Some(place) = place {
            let closing = self.state.closing.subscribe();
            return Ok(OperationResult::Stream(EventSource { updates, closing, _guard: guard, _place: place }));
        }
        let update = updates.recv().await.map_or_else(|| Err(closing()), |(told, _)| told)?;
        Ok(OperationResult::Update(match history_length {
            None => update,
            Some(_) => Arc::new(trimmed(Arc::unwrap_or_clone(update), history_length)),
        }))
    }

    /// Checks what a message asks for, before anything is done.
    fn check(&self, params: &SendParams) -> Result<(), A2aError> {
        if params.configuration.push_notification_config.is_some() {
            return Err(A2aError::new(A2aErrorKind::PushNotSupported, "this agent sends no push notifications"));
        }
        let mut entry = None;
        for media_type in params.message.parts.iter().filter_map(|part| part.media_type.as_deref()) {
            let entry = entry.get_or_insert_with(|| self.door.entry(self.agent));
            if !card::takes(entry.as_ref(), media_type) {
                let text = format!("{} takes no {}", self.agent, media_type.chars().take(80).collect::<String>());
                return Err(A2aError::new(A2aErrorKind::ContentTypeNotSupported, text));
            }
        }
        let (services, name) = (self.door.society.services(), self.agent.name.as_str());
        if services.verdict(self.client.principal, Action::Send, name) == Verdict::Denied {
            let text = format!("the policy forbids to write to {name}");
            return Err(A2aError::new(A2aErrorKind::Forbidden, text));
        }
        Ok(())
    }

    async fn cancel(&self, id: &str) -> Result<OperationResult, A2aError> {
        let ids = self.door.ids()?;
        let (mut updates, watch) = self.door.act(|desk, at| {
            let sender = TaskParties { client: desk.server.client(&self.client.name), agent: self.agent };
            let watch = desk.server.handle_cancel(sender, id, ids, at)?;
            Ok((desk.watcher(watch), watch))
        })?;
        let _guard = self.guard(watch);
        let update = updates.recv().await.map_or_else(|| Err(closing()), |(told, _)| told)?;
        match Arc::unwrap_or_clone(update) {
            TaskUpdate::Task(task) => Ok(OperationResult::Task(task)),
            _ => Err(closing()),
        }
    }

    fn subscribe(&self, id: &str) -> Result<OperationResult, A2aError> {
        let place = self.place()?;
        let (updates, watch) = self.door.act(|desk, at| {
            let sender = TaskParties { client: desk.server.client(&self.client.name), agent: self.agent };
            let watch = desk.server.handle_subscribe(sender, id, at)?;
            Ok((desk.watcher(watch), watch))
        })?;
        let closing = self.state.closing.subscribe();
        Ok(OperationResult::Stream(EventSource { updates, closing, _guard: self.guard(watch), _place: place }))
    }

    /// Takes a place for a stream.
    fn place(&self) -> Result<whimbrel_platform::connection_limit::ConnectionPlace, A2aError> {
        self.door.streams.enter(self.from).ok_or_else(|| {
            let text = "too many streams are open: close some, or read tasks";
            self.state.refuse(RefusalReason::TooMany, self.from, text);
            A2aError::new(A2aErrorKind::TooMany, text)
        })
    }

    fn guard(&self, watch: WatchId) -> TaskWatch {
        TaskWatch { door: Arc::downgrade(self.door), watch }
    }
}

/// Error for clients that wait while the node ends.
fn closing() -> A2aError {
    A2aError::new(A2aErrorKind::Internal, "the node is closing")
}

fn trimmed(update: TaskUpdate, history_length: Option<usize>) -> TaskUpdate {
    match update {
        TaskUpdate::Task(task) => TaskUpdate::Task(task.with_history(history_length)),
        other => other,
    }
}

impl A2aDoor {
    /// Returns the entry of an agent in the DF.
    fn entry(&self, agent: Aid) -> Option<DfDescription> {
        let directory = self.society.services().directory()?;
        directory.with_df(|df| df.description_of(agent).cloned())?
    }

    /// Returns an agent's card; the host's is the DF's.
    fn card(&self, state: &GatewayState, agent: Aid, headers: &HeaderMap, all_versions: bool) -> Response<Body> {
        let name = agent.name.as_str();
        let of = if name == HOST_AGENT { self.published_agents() } else { vec![agent] };
        let entries: Vec<DfDescription> = of.into_iter().filter_map(|agent| self.entry(agent)).collect();
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        let scheme = if self.is_encrypted || state.access.is_secure_name(&host) { "https" } else { "http" };
        let facts = CardFacts {
            name,
            platform: self.society.services().platform().as_str(),
            url: &format!("{scheme}://{host}/a2a/{name}"),
            version: env!("CARGO_PKG_VERSION"),
            needs_token: self.tokens.are_needed(),
        };
        let bytes = serde_json::to_vec(&card::card(&facts, &entries, all_versions)).unwrap_or_default();
        let tag: String = digest(&SHA256, &bytes).as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let tag = format!("\"{tag}\"");
        let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut response = match is_known {
            true => json(StatusCode::NOT_MODIFIED, Vec::new()),
            false => json(StatusCode::OK, bytes),
        };
        let lease_ms = entries.iter().filter_map(|entry| entry.lease_ms).min();
        let age_s = lease_ms.map_or(A2A_CARD_AGE_S, |ms| A2A_CARD_AGE_S.min(ms / 1_000));
        let modified = http_date(self.began_ms);
        for (name, value) in
            [(ETAG, tag), (CACHE_CONTROL, format!("public, max-age={age_s}")), (LAST_MODIFIED, modified)]
        {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response.headers_mut().insert(VARY, HeaderValue::from_static("host, a2a-version"));
        response
    }
}
