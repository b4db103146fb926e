//! Calls of tools, prompts and resources: from the request to the answer, or to a stream that ends with it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};
use futures_util::stream;
use serde_json::Value as Json;
use tokio::sync::{mpsc, watch};
use whimbrel_acl::{Aid, Performative, Symbol, Value};
use whimbrel_interop::json::{JsonMembers, term_or_value_of};
use whimbrel_interop::kqml::fipa_of;
use whimbrel_interop::mcp::{
    CallEvent, CallId, McpEra, McpError, NamedCall, NewCall, OfferedKind, OfferedService, PendingQuestion, RequestMeta,
    SEARCH_TOOL, SEND_TOOL, results,
};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::{MCP_KEEPALIVE_MS, MCP_OFFERED_MAX, MCP_QUESTION_PATIENCE_MS};
use whimbrel_platform::policy::{Action, Verdict};

use super::McpDoor;
use super::belief_resources::{BeliefAddress, MEDIA_TYPE};
use super::post::McpAsker;
use super::seal::BadState;
use crate::access::Role;
use crate::doors::event_stream::{STILL_HERE, event, event_stream, json_answer, ms};
use crate::server::closed;

/// Kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Tool,
    Prompt,
    Resource,
}

/// Rendering of a call's events for its request.
struct CallView {
    door: Arc<McpDoor>,
    era: McpEra,
    id: Json,
    meta: RequestMeta,
    /// Offered service; `None` for the tool `send`.
    service: Option<Arc<OfferedService>>,
    agent: Aid,
    /// URI of a resource.
    uri: String,
    client: String,
    session: Option<String>,
}

/// Event of a call as messages of MCP.
enum Rendered {
    Nothing,
    Messages(Vec<Json>),
    /// Answer to the request.
    Last(Json, StatusCode),
}

/// Message to an agent that a request asks for.
struct WantedCall {
    agent: Aid,
    performative: Performative,
    content: Value,
    ontology: Option<Symbol>,
    service: Option<Arc<OfferedService>>,
    uri: String,
}

/// Call of a request; it is called off when it is dropped before it is over.
struct CallGuard {
    door: Arc<McpDoor>,
    call: CallId,
    is_over: bool,
    /// Session and request, if the session remembers the call.
    remembered: Option<(String, String, String)>,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if let Some((session, client, request)) = self.remembered.take() {
            let now = self.door.society.services().now();
            if let Ok(session) = self.door.sessions().get(&session, &client, now) {
                session.calls.remove(&request);
            }
        }
        if !self.is_over {
            self.door.act(|desk, _| {
                desk.sinks.remove(&self.call);
                desk.server.handle_cancel(self.call);
            });
        }
    }
}

impl McpAsker<'_> {
    /// Carries out a call.
    pub(super) async fn call(
        &self,
        called: CallKind,
        named: NamedCall,
        id: Json,
        meta: RequestMeta,
    ) -> Result<Response<Body>, McpError> {
        if called == CallKind::Resource
            && let Some(address) = BeliefAddress::read(&named.name)
        {
            return self.read_beliefs(&address, &named.name, &id).await;
        }
        self.may_act()?;
        if called == CallKind::Tool && named.name == SEARCH_TOOL {
            return Ok(self.answer(&id, self.search(&named.arguments)));
        }
        let wanted = match self.wanted(called, &named, &meta)? {
            Ok(wanted) => wanted,
            // Faults of arguments are for the model, which can do better.
            Err(fault) => return Ok(self.answer(&id, results::failed(&fault))),
        };
        self.check_policy(wanted.agent)?;
        let question = named.state.as_deref().map(|state| self.open_state(state)).transpose()?;
        let NamedCall { name, arguments, answers, .. } = named;
        let view = CallView {
            door: Arc::clone(self.door),
            era: self.era,
            id,
            service: wanted.service.clone(),
            agent: wanted.agent,
            uri: wanted.uri.clone(),
            client: self.client.name.clone(),
            session: self.session.clone(),
            meta,
        };
        let is_one_way = is_statement(wanted.performative);
        let (guard, events) = self.begin(wanted, (name, arguments), answers, question, &view)?;
        if is_one_way {
            let call = guard.call;
            self.door.act(|desk, _| desk.server.handle_sent(call));
            return Ok(self.answer(&view.id, results::sent(whimbrel_interop::mcp::CallOutcome::Told("sent".into()))));
        }
        self.follow(view, guard, events).await
    }

    /// Begins or continues a call.
    fn begin(
        &self,
        wanted: WantedCall,
        asked: (String, JsonMembers),
        answers: JsonMembers,
        question: Option<PendingQuestion>,
        view: &CallView,
    ) -> Result<(CallGuard, mpsc::Receiver<CallEvent>), McpError> {
        let conversation = self.door.number()?;
        let door = self.door;
        let (call, events) = door
            .act(|desk, at| {
                let caller = desk.server.caller(&self.client.name);
                let call = match question {
                    Some(question) => {
                        desk.server.handle_resumed(question, caller, &asked, answers, at)?;
                        question.call
                    }
                    None => {
                        let new = NewCall {
                            caller,
                            agent: wanted.agent,
                            performative: wanted.performative,
                            content: wanted.content,
                            ontology: wanted.ontology,
                            asked,
                            capabilities: view.meta.capabilities,
                            answers,
                            conversation,
                            parks: self.era == McpEra::Modern,
                        };
                        desk.server.handle_call(new, at, &mut |proxy, client| door.start_proxy(proxy, client))?
                    }
                };
                Ok((call, desk.sink(call)))
            })
            .inspect_err(|error: &McpError| {
                if question.is_some() {
                    self.state.refuse(RefusalReason::Replayed, self.from, &format!("mcp requestState: {error}"));
                }
            })?;
        let mut guard = CallGuard { door: Arc::clone(door), call, is_over: false, remembered: None };
        if let Some(session) = &self.session {
            let request = view.id.to_string();
            let now = door.society.services().now();
            door.sessions().get(session, &self.client.name, now)?.note_call(request.clone(), call);
            guard.remembered = Some((session.clone(), self.client.name.clone(), request));
        }
        Ok((guard, events))
    }

    /// Waits for the answer, or for the first event, which begins a stream.
    async fn follow(
        &self,
        view: CallView,
        mut guard: CallGuard,
        mut events: mpsc::Receiver<CallEvent>,
    ) -> Result<Response<Body>, McpError> {
        let mut closing = self.state.closing.subscribe();
        loop {
            let came = tokio::select! {
                came = events.recv() => came,
                () = closed(&mut closing) => return Err(McpError::internal("the node is closing")),
            };
            let Some(came) = came else {
                guard.is_over = true;
                return Err(McpError::internal("the call was called off"));
            };
            match view.render(came) {
                Rendered::Nothing => {}
                Rendered::Last(answer, status) => {
                    guard.is_over = true;
                    return Ok(json_answer(status, serde_json::to_vec(&answer).unwrap_or_default()));
                }
                Rendered::Messages(messages) => {
                    let place = self.place()?;
                    let messages = messages.into();
                    let source = CallSource { view, guard, events, closing, messages, is_last: false, _place: place };
                    return Ok(event_stream(stream::unfold(Some(source), next_event)));
                }
            }
        }
    }

    /// Returns the message to an agent that a request asks for; a fault of a tool's arguments is an answer.
    fn wanted(
        &self,
        called: CallKind,
        named: &NamedCall,
        meta: &RequestMeta,
    ) -> Result<Result<WantedCall, String>, McpError> {
        if called == CallKind::Tool && named.name == SEND_TOOL {
            return Ok(self.wanted_message(&named.arguments));
        }
        let found = self.find(called, &named.name);
        let Some((service, variables)) = found else {
            return Err(match called {
                CallKind::Tool => McpError::invalid_params(format!("there is no tool {}", short(&named.name))),
                CallKind::Prompt => McpError::invalid_params(format!("there is no prompt {}", short(&named.name))),
                CallKind::Resource => McpError::no_resource(&named.name),
            });
        };
        let lacks = service.lacks(|name| meta.capabilities.has(name));
        if !lacks.is_empty() {
            return Err(McpError::missing_capabilities(&lacks));
        }
        let arguments = if called == CallKind::Resource { &variables } else { &named.arguments };
        let content = match self.door.with_names(|| service.goal(arguments)) {
            Ok(content) => content,
            Err(fault) if service.kind == OfferedKind::Tool => return Ok(Err(fault)),
            Err(fault) => return Err(McpError::invalid_params(fault)),
        };
        let agent = service.agent;
        let uri = if called == CallKind::Resource { named.name.clone() } else { String::new() };
        let performative = Performative::Request;
        Ok(Ok(WantedCall { agent, performative, content, ontology: None, service: Some(service), uri }))
    }

    fn find(&self, called: CallKind, name: &str) -> Option<(Arc<OfferedService>, JsonMembers)> {
        let none = JsonMembers::new;
        let look = |offer: &whimbrel_interop::mcp::McpOffer| match called {
            CallKind::Tool => Some((Arc::clone(offer.tool(name)?), none())),
            CallKind::Prompt => Some((Arc::clone(offer.prompt(name)?), none())),
            CallKind::Resource => offer.resource(name).map(|(service, values)| (Arc::clone(service), values)),
        };
        // It may have been registered a moment ago.
        look(&self.door.offer()).or_else(|| look(&self.door.newest_offer()))
    }

    /// Reads the arguments of `send`.
    fn wanted_message(&self, arguments: &JsonMembers) -> Result<WantedCall, String> {
        let text = |name: &str| match arguments.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("argument `{name}` is no text")),
        };
        let name = text("agent")?.ok_or("argument `agent` is missing")?;
        let agent = Symbol::known(name).map(Aid::local).filter(|aid| self.door.society.services().exists(*aid));
        let agent = agent.filter(|_| self.door.is_offered(name));
        let agent = agent.ok_or_else(|| format!("there is no agent {} here: see df_search", short(name)))?;
        let performative = match text("performative")? {
            None => Performative::Request,
            Some(name) => name.to_ascii_lowercase().parse().map_err(|_| {
                format!("{} is no performative of FIPA, for example request, query-ref or inform", short(name))
            })?,
        };
        let content = arguments.get("content").ok_or("argument `content` is missing")?;
        let (content, ontology) = self.door.with_names(|| {
            let content = term_or_value_of(content).map_err(|error| format!("argument `content`: {error}"))?;
            let ontology = text("ontology")?.map(Symbol::new);
            if whimbrel_acl::NameAllowance::is_refused() {
                return Err("the message has more new names than this node keeps for clients".to_owned());
            }
            Ok((content, ontology))
        })?;
        Ok(WantedCall { agent, performative, content, ontology, service: None, uri: String::new() })
    }

    /// Searches the DF among what is offered.
    fn search(&self, arguments: &JsonMembers) -> JsonMembers {
        let text = |name: &str| arguments.get(name).and_then(Json::as_str).unwrap_or_default();
        let (service, kind) = (text("service"), text("type"));
        let services = self.door.society.services();
        let now = services.now();
        let found = services.directory().and_then(|directory| {
            directory.with_df(|df| {
                df.handle_timeout(now);
                df.entries_from(0, now).map(|(_, entry)| entry.clone()).collect::<Vec<_>>()
            })
        });
        let mut agents = Vec::new();
        for entry in found.unwrap_or_default() {
            let Some(agent) = entry.agent.map(|agent| agent.name) else { continue };
            let is_whole = self.door.is_offered(agent.as_str());
            let is_meant = |offered: &&whimbrel_platform::df::ServiceDescription| {
                (service.is_empty() || offered.name.as_str() == service)
                    && (kind.is_empty() || offered.kind.as_str() == kind)
                    && (is_whole || self.door.is_offered(&format!("{agent}.{}", offered.name)))
            };
            let offered: Vec<Json> = entry
                .services
                .iter()
                .filter(is_meant)
                .map(|it| serde_json::json!({"name": it.name.as_str(), "type": it.kind.as_str()}))
                .collect();
            if !offered.is_empty() && agents.len() < MCP_OFFERED_MAX {
                agents.push(serde_json::json!({"agent": agent.as_str(), "services": offered}));
            }
        }
        results::told(&serde_json::json!({"agents": agents}))
    }

    async fn read_beliefs(&self, address: &BeliefAddress, uri: &str, id: &Json) -> Result<Response<Body>, McpError> {
        if self.client.role.is_none() {
            self.state.refuse(RefusalReason::Forbidden, self.from, &format!("mcp {}", short(uri)));
            return Err(McpError::no_resource(uri));
        }
        let text = self.door.beliefs(self.state, address, uri).await?;
        Ok(self.answer(id, results::read(self.era, uri, MEDIA_TYPE, &text)))
    }

    /// Refuses viewers: calls make agents act.
    fn may_act(&self) -> Result<(), McpError> {
        if self.client.role == Some(Role::Viewer) {
            self.state.refuse_viewer(self.from, "mcp call");
            return Err(McpError::forbidden("viewer's token: calls need an administrator's, or one of --mcp-token"));
        }
        Ok(())
    }

    fn check_policy(&self, agent: Aid) -> Result<(), McpError> {
        let (services, name) = (self.door.society.services(), agent.name.as_str());
        if services.verdict(self.client.principal, Action::Send, name) == Verdict::Denied {
            self.state.refuse(RefusalReason::Forbidden, self.from, &format!("mcp send {name}"));
            return Err(McpError::forbidden(format!("the policy forbids to write to {name}")));
        }
        Ok(())
    }

    fn open_state(&self, state: &str) -> Result<PendingQuestion, McpError> {
        let now_ms = self.door.society.services().wall_clock_ms();
        self.door.seal.open(&self.client.name, state, now_ms).map_err(|bad| {
            let (reason, why) = match bad {
                BadState::Forged => (RefusalReason::Forged, "is not one of this node's for this client"),
                BadState::Expired => (RefusalReason::Expired, "is too old"),
            };
            self.state.refuse(reason, self.from, &format!("mcp requestState {why}"));
            McpError::invalid_params(format!("`requestState` {why}: call again without it"))
        })
    }

    /// Takes a place for a stream.
    pub(super) fn place(&self) -> Result<ConnectionPlace, McpError> {
        self.door.streams.enter(self.from).ok_or_else(|| {
            let text = "too many streams are open: close some";
            self.state.refuse(RefusalReason::TooMany, self.from, text);
            McpError::too_many(text)
        })
    }
}

/// Returns true for a performative that no agent answers.
fn is_statement(performative: Performative) -> bool {
    use Performative as P;
    matches!(
        fipa_of(performative),
        P::Inform
            | P::Confirm
            | P::Disconfirm
            | P::Agree
            | P::Refuse
            | P::Failure
            | P::NotUnderstood
            | P::Cancel
            | P::AcceptProposal
            | P::RejectProposal
    )
}

fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

impl CallView {
    fn render(&self, event: CallEvent) -> Rendered {
        let one = |message| Rendered::Messages(vec![message]);
        match event {
            CallEvent::Progress { progress, total, message } => match &self.meta.progress_token {
                Some(token) => one(results::progress(token, progress, total, &message)),
                None => Rendered::Nothing,
            },
            CallEvent::Log { level, data } => match self.meta.log_level {
                Some(lowest) if level >= lowest => one(results::logged(level, self.agent.name.as_str(), &data)),
                _ => Rendered::Nothing,
            },
            CallEvent::Asked { question, requests } => match self.era {
                McpEra::Modern => {
                    let expires_ms = self.door.society.services().wall_clock_ms() + MCP_QUESTION_PATIENCE_MS;
                    match self.door.seal.seal(&self.client, question, expires_ms) {
                        Ok(state) => self.answered(Ok(results::input_required(&requests, &state))),
                        Err(_) => self.answered(Err(McpError::internal("the system has no random numbers"))),
                    }
                }
                McpEra::Legacy => self.ask(question, &requests),
            },
            CallEvent::Done(outcome) => self.answered(match &self.service {
                Some(service) => results::called(self.era, service, &self.uri, outcome),
                None => Ok(results::sent(outcome)),
            }),
        }
    }

    /// Asks a client of the legacy era.
    fn ask(&self, question: PendingQuestion, requests: &[whimbrel_interop::mcp::InputRequest]) -> Rendered {
        let now = self.door.society.services().now();
        let mut sessions = self.door.sessions();
        let Some(Ok(session)) = self.session.as_ref().map(|id| sessions.get(id, &self.client, now)) else {
            return self.answered(Err(McpError::no_session()));
        };
        let ask = |request| results::question(&session.ask(question, &request_key(request)), request);
        Rendered::Messages(requests.iter().map(ask).collect())
    }

    fn answered(&self, result: Result<JsonMembers, McpError>) -> Rendered {
        match result {
            Ok(result) => Rendered::Last(self.door.identity.answer(self.era, &self.id, result), StatusCode::OK),
            Err(error) => {
                let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::OK);
                Rendered::Last(error.to_json(Some(&self.id)), status)
            }
        }
    }
}

fn request_key(request: &whimbrel_interop::mcp::InputRequest) -> String {
    request.key.clone()
}

/// Events of a call for its stream. The call ends with it.
struct CallSource {
    view: CallView,
    guard: CallGuard,
    events: mpsc::Receiver<CallEvent>,
    closing: watch::Receiver<bool>,
    messages: VecDeque<Json>,
    is_last: bool,
    _place: ConnectionPlace,
}

async fn next_event(source: Option<CallSource>) -> Option<(Result<Bytes, Infallible>, Option<CallSource>)> {
    let mut source = source?;
    loop {
        if let Some(message) = source.messages.pop_front() {
            let is_end = source.is_last && source.messages.is_empty();
            return Some((Ok(event(&message)), (!is_end).then_some(source)));
        }
        let came = tokio::select! {
            came = source.events.recv() => came,
            () = tokio::time::sleep(ms(MCP_KEEPALIVE_MS)) => return Some((Ok(STILL_HERE), Some(source))),
            () = closed(&mut source.closing) => return None,
        };
        match came.map(|came| source.view.render(came)) {
            None => return None,
            Some(Rendered::Nothing) => {}
            Some(Rendered::Messages(messages)) => source.messages.extend(messages),
            Some(Rendered::Last(answer, _)) => {
                source.guard.is_over = true;
                source.is_last = true;
                source.messages.push_back(answer);
            }
        }
    }
}
