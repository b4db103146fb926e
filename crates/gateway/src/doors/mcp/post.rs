//! Requests to `/mcp`: who asks, in which era, and what.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use serde_json::Value as Json;
use whimbrel_interop::json::JsonMembers;
use whimbrel_interop::mcp::{
    LEGACY_VERSIONS, ListenFilter, McpEra, McpError, McpHeaders, McpRequest, RequestMeta, RpcMessage, check_modern,
    era_of, legacy_meta, read_message, read_request, results,
};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::limits::{MCP_BODY_BYTES_MAX, MCP_BODY_PATIENCE_MS};

use super::McpDoor;
use super::call::CallKind;
use super::sessions::session_id;
use crate::doors::door_clients::DoorClient;
use crate::doors::event_stream::{json_answer, ms};
use crate::routes::State;
use crate::server::{ClientAddress, TokenRole};
use crate::shared::GatewayState;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const JSON_TYPE: &str = "application/json";
const EVENTS_TYPE: &str = "text/event-stream";

/// Client of a request, and its era.
pub(super) struct McpAsker<'a> {
    pub state: &'a GatewayState,
    pub door: &'a Arc<McpDoor>,
    pub client: DoorClient,
    pub from: IpAddr,
    pub era: McpEra,
    /// Session, in the legacy era.
    pub session: Option<String>,
}

/// Answers a request to `/mcp`.
pub(super) async fn serve(
    state: State,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    Extension(TokenRole(role)): Extension<TokenRole>,
    request: Request,
) -> Response<Body> {
    let Some(door) = &state.mcp else { return refusal(&McpError::no_door(), None) };
    let (parts, body) = request.into_parts();
    let Some(client) = door.tokens.client(&parts.headers, role, from.ip()) else {
        return unauthenticated(&state, from.ip()).await;
    };
    let session = text(&parts.headers, &SESSION).map(str::to_owned);
    let mut asker = McpAsker { state: &state, door, client, from: from.ip(), era: McpEra::Legacy, session };
    match parts.method {
        Method::POST => match read_body(body, &parts.headers).await {
            Ok(body) => asker.post(&state.0, &parts.headers, &body).await,
            Err(error) => refusal(&error, None),
        },
        Method::GET => asker.get(&state.0, &parts.headers).unwrap_or_else(|error| refusal(&error, None)),
        Method::DELETE => asker.delete().unwrap_or_else(|error| refusal(&error, None)),
        _ => refusal(&McpError::no_http_method(), None),
    }
}

/// Returns an error as an answer.
fn refusal(error: &McpError, id: Option<&Json>) -> Response<Body> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = json_answer(status, serde_json::to_vec(&error.to_json(id)).unwrap_or_default());
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

/// Refuses a request without an accepted token, after a pause that grows with each.
async fn unauthenticated(state: &GatewayState, from: IpAddr) -> Response<Body> {
    state.refuse(RefusalReason::BadToken, from, "mcp");
    tokio::time::sleep(state.wait_of_wrong_token(from)).await;
    let mut response = refusal(&McpError::unauthenticated(), None);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Returns true if the client takes both forms of answers.
fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let accepted: Vec<String> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|part| part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .collect();
    let has = |wanted: &str| {
        let family = wanted.split('/').next().map(|family| format!("{family}/*"));
        accepted.iter().any(|it| it == wanted || it == "*/*" || Some(it) == family.as_ref())
    };
    types.iter().all(|wanted| has(wanted))
}

/// Reads a body of JSON.
async fn read_body(body: Body, headers: &HeaderMap) -> Result<Bytes, McpError> {
    if !accepts(headers, &[JSON_TYPE, EVENTS_TYPE]) {
        return Err(McpError::not_acceptable());
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON_TYPE) {
        return Err(McpError::not_json());
    }
    let late = |_| McpError::invalid_request("the body did not arrive in time");
    let long = |_| {
        McpError::invalid_request(format!("the body is too long, or broke off: at most {MCP_BODY_BYTES_MAX} bytes"))
    };
    let patience = ms(MCP_BODY_PATIENCE_MS);
    tokio::time::timeout(patience, to_bytes(body, MCP_BODY_BYTES_MAX)).await.map_err(late)?.map_err(long)
}

impl McpAsker<'_> {
    /// Answers a message.
    async fn post(&mut self, state: &Arc<GatewayState>, headers: &HeaderMap, body: &[u8]) -> Response<Body> {
        let message = match read_message(body) {
            Ok(message) => message,
            Err(refused) => {
                self.state.refuse(RefusalReason::Malformed, self.from, &format!("mcp: {}", refused.error));
                return refusal(&refused.error, refused.id.as_ref());
            }
        };
        let read = McpHeaders {
            version: text(headers, &VERSION),
            method: text(headers, &METHOD),
            name: text(headers, &NAME),
            session: self.session.as_deref(),
        };
        let id = results::id_of(&message).cloned();
        let answered = match message {
            RpcMessage::Request { id, method, params } => {
                self.era = era_of(read, &method, &params);
                let meta = match self.era {
                    McpEra::Modern => check_modern(Some(read), &method, &params),
                    McpEra::Legacy => self.check_legacy(read.version, &method, &params),
                };
                match meta.and_then(|meta| Ok((read_request(self.era, &method, &params)?, meta))) {
                    Ok((request, meta)) => self.carry_out(state, request, id, meta).await,
                    Err(error) => Err(error),
                }
            }
            RpcMessage::Notification { method, params } => self.notified(&method, &params),
            RpcMessage::Response { id, result } => self.responded(&id, result.ok()),
        };
        answered.unwrap_or_else(|error| refusal(&error, id.as_ref()))
    }

    /// Checks the version and the session of a request of the legacy era.
    fn check_legacy(&self, version: Option<&str>, method: &str, params: &JsonMembers) -> Result<RequestMeta, McpError> {
        if let Some(version) = version.filter(|version| !LEGACY_VERSIONS.contains(version)) {
            return Err(McpError::unsupported_version(version));
        }
        if method == "initialize" {
            return Ok(RequestMeta::default());
        }
        let now = self.door.society.services().now();
        let Some(id) = &self.session else {
            return Err(McpError::invalid_request("header Mcp-Session-Id is missing: send `initialize` first"));
        };
        let mut sessions = self.door.sessions();
        let session = sessions.get(id, &self.client.name, now)?;
        Ok(legacy_meta(session.capabilities, session.log_level, params))
    }

    async fn carry_out(
        &self,
        state: &Arc<GatewayState>,
        request: McpRequest,
        id: Json,
        meta: RequestMeta,
    ) -> Result<Response<Body>, McpError> {
        let (door, era) = (self.door, self.era);
        let list = |key, items| Ok(self.answer(&id, results::listed(era, key, items)));
        match request {
            McpRequest::Discover => Ok(self.answer(&id, door.identity.discovered())),
            McpRequest::Initialize { version, capabilities } => self.initialize(&id, version, capabilities),
            McpRequest::Ping => Ok(self.answer(&id, JsonMembers::new())),
            McpRequest::ListTools => list("tools", door.newest_offer().tools()),
            McpRequest::ListPrompts => list("prompts", door.newest_offer().prompts()),
            McpRequest::ListResources => {
                let mut resources = door.newest_offer().resources();
                if self.client.role.is_some() {
                    resources.extend(door.belief_resources());
                }
                list("resources", resources)
            }
            McpRequest::ListTemplates => {
                let mut templates = door.newest_offer().templates();
                if self.client.role.is_some() {
                    templates.push(McpDoor::belief_template());
                }
                list("resourceTemplates", templates)
            }
            McpRequest::CallTool(named) => self.call(CallKind::Tool, named, id, meta).await,
            McpRequest::GetPrompt(named) => self.call(CallKind::Prompt, named, id, meta).await,
            McpRequest::ReadResource(named) => self.call(CallKind::Resource, named, id, meta).await,
            McpRequest::Complete => Ok(self.answer(&id, results::completed())),
            McpRequest::Listen(filter) => self.listen(state, filter, Some(id)),
            McpRequest::SetLevel(level) => self.with_session(&id, |session| {
                session.log_level = level;
                Ok(())
            }),
            McpRequest::Subscribe(uri) => self.with_session(&id, |session| session.subscribe(&uri)),
            McpRequest::Unsubscribe(uri) => self.with_session(&id, |session| {
                session.uris.retain(|known| *known != uri);
                Ok(())
            }),
        }
    }

    /// Returns the answer to a request.
    pub(super) fn answer(&self, id: &Json, result: JsonMembers) -> Response<Body> {
        let answer = self.door.identity.answer(self.era, id, result);
        json_answer(StatusCode::OK, serde_json::to_vec(&answer).unwrap_or_default())
    }

    fn initialize(
        &self,
        id: &Json,
        version: &str,
        capabilities: whimbrel_interop::mcp::ClientCapabilities,
    ) -> Result<Response<Body>, McpError> {
        let session = session_id(self.door.number()?, capabilities);
        let now = self.door.society.services().now();
        self.door.sessions().open(session.clone(), &self.client.name, capabilities, now)?;
        let mut response = self.answer(id, self.door.identity.initialized(version));
        if let Ok(session) = HeaderValue::try_from(session) {
            response.headers_mut().insert(SESSION, session);
        }
        Ok(response)
    }

    fn with_session(
        &self,
        id: &Json,
        work: impl FnOnce(&mut super::sessions::McpSession) -> Result<(), McpError>,
    ) -> Result<Response<Body>, McpError> {
        let now = self.door.society.services().now();
        let session = self.session.as_deref().ok_or_else(McpError::no_session)?;
        work(self.door.sessions().get(session, &self.client.name, now)?)?;
        Ok(self.answer(id, JsonMembers::new()))
    }

    /// Takes a notification.
    fn notified(&self, method: &str, params: &JsonMembers) -> Result<Response<Body>, McpError> {
        let now = self.door.society.services().now();
        if let (Some(session), "notifications/cancelled", Some(request)) =
            (&self.session, method, params.get("requestId"))
        {
            let call = self.door.sessions().get(session, &self.client.name, now)?.calls.remove(&request.to_string());
            if let Some(call) = call {
                self.door.act(|desk, _| {
                    desk.sinks.remove(&call);
                    desk.server.handle_cancel(call);
                });
            }
        }
        Ok(accepted())
    }

    /// Takes a client's answer to a question.
    fn responded(&self, id: &Json, answer: Option<Json>) -> Result<Response<Body>, McpError> {
        let Some(session) = &self.session else {
            return Err(McpError::invalid_request("clients of this version send no responses"));
        };
        let now = self.door.society.services().now();
        let text = id.as_str().unwrap_or_default();
        let asked = self.door.sessions().get(session, &self.client.name, now)?.answered(text);
        let Some((question, key)) = asked else {
            return Err(McpError::invalid_request("there is no open request of this identifier"));
        };
        self.door.act(|desk, at| desk.server.handle_answer(question, &key, answer, at));
        Ok(accepted())
    }

    /// Opens the stream of a session.
    fn get(&self, state: &Arc<GatewayState>, headers: &HeaderMap) -> Result<Response<Body>, McpError> {
        let Some(session) = &self.session else { return Err(McpError::no_http_method()) };
        if !accepts(headers, &[EVENTS_TYPE]) {
            return Err(McpError::not_acceptable());
        }
        self.door.sessions().get(session, &self.client.name, self.door.society.services().now())?;
        let filter = ListenFilter { tools: true, prompts: true, resources: true, uris: Vec::new() };
        self.listen(state, filter, None)
    }

    /// Ends a session, and its calls.
    fn delete(&self) -> Result<Response<Body>, McpError> {
        let Some(session) = &self.session else { return Err(McpError::no_http_method()) };
        let now = self.door.society.services().now();
        let calls = self.door.sessions().end(session, &self.client.name, now)?;
        self.door.act(|desk, _| {
            for call in calls {
                desk.sinks.remove(&call);
                desk.server.handle_cancel(call);
            }
        });
        Ok(json_answer(StatusCode::OK, Vec::new()))
    }
}

/// Returns the answer to a message that has none.
fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_must_be_accepted() {
        let accepted = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::try_from(text).expect("a header"));
            accepts(&headers, &[JSON_TYPE, EVENTS_TYPE])
        };
        assert!(accepted("application/json, text/event-stream") && accepted("*/*"));
        assert!(accepted("text/event-stream;q=0.5, application/*"));
        assert!(!accepted("application/json") && !accepted("text/html"));
    }
}
