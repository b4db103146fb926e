//! Answers: JSON of both versions, in JSON-RPC and REST, and streams of events.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use futures_util::stream;
use serde::Serialize;
use serde_json::Value as Json;
use tokio::sync::{mpsc, watch};
use whimbrel_interop::a2a::{A2aError, A2aErrorKind, A2aTask, Dialect, TaskPage, TaskUpdate, WatchId, shape03};
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::A2A_KEEPALIVE_MS;

use super::{A2aDoor, Told};
use crate::server::closed;

/// Result of an operation.
pub(super) enum OperationResult {
    /// Answer to a message.
    Update(Arc<TaskUpdate>),
    /// Task.
    Task(A2aTask),
    /// Tasks.
    Page(TaskPage),
    /// Events.
    Stream(EventSource),
}

/// Form of an answer: the protocol, the version, and the identifier of the call.
#[derive(Clone, Debug)]
pub(super) enum AnswerForm {
    /// JSON-RPC.
    Rpc(Dialect, Json),
    /// REST.
    Rest,
}

/// Updates of a task for a stream. The watch ends with it.
pub(super) struct EventSource {
    pub updates: mpsc::Receiver<(Told, bool)>,
    pub closing: watch::Receiver<bool>,
    pub _guard: TaskWatch,
    pub _place: ConnectionPlace,
}

/// Watch of a client; it ends when it is dropped.
pub(super) struct TaskWatch {
    pub door: Weak<A2aDoor>,
    pub watch: WatchId,
}

impl Drop for TaskWatch {
    fn drop(&mut self) {
        if let Some(door) = self.door.upgrade() {
            let mut desk = door.desk();
            if desk.watchers.remove(&self.watch).is_some() {
                desk.server.unwatch(self.watch);
            }
        }
    }
}

#[derive(Serialize)]
struct RpcResult<'a, T> {
    jsonrpc: &'static str,
    id: &'a Json,
    result: T,
}

impl AnswerForm {
    /// Returns the answer to an operation.
    pub fn answer(self, answered: Result<OperationResult, A2aError>) -> Response<Body> {
        match answered {
            Ok(OperationResult::Stream(source)) => self.stream(source),
            Ok(answered) => json(StatusCode::OK, self.encode(&answered)),
            Err(error) => self.refusal(&error),
        }
    }

    /// Returns an error as an answer.
    pub fn refusal(&self, error: &A2aError) -> Response<Body> {
        let status = StatusCode::from_u16(error.kind.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
        let status = match (self, error.kind) {
            // Before the call was read, or about the connection, HTTP says what is wrong.
            (_, A2aErrorKind::Unauthenticated | A2aErrorKind::Forbidden | A2aErrorKind::AgentNotFound) => status,
            (_, A2aErrorKind::TooMany) | (Self::Rest, _) => status,
            (Self::Rpc(..), _) => StatusCode::OK,
        };
        json(status, self.error(error))
    }

    fn error(&self, error: &A2aError) -> Vec<u8> {
        let json = match self {
            Self::Rpc(_, id) => serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error.to_rpc()}),
            Self::Rest => error.to_rest(),
        };
        serde_json::to_vec(&json).unwrap_or_default()
    }

    fn encode(&self, answered: &OperationResult) -> Vec<u8> {
        match (self, answered) {
            (Self::Rpc(Dialect::V03, _), OperationResult::Update(update)) => self.result(&shape03::update(update)),
            (Self::Rpc(Dialect::V03, _), OperationResult::Task(task)) => self.result(&shape03::task(task)),
            (_, OperationResult::Update(update)) => self.result(&**update),
            (_, OperationResult::Task(task)) => self.result(task),
            (_, OperationResult::Page(page)) => self.result(page),
            (_, OperationResult::Stream(_)) => Vec::new(),
        }
    }

    fn result(&self, result: &impl Serialize) -> Vec<u8> {
        let written = match self {
            Self::Rpc(_, id) => serde_json::to_vec(&RpcResult { jsonrpc: "2.0", id, result }),
            Self::Rest => serde_json::to_vec(result),
        };
        written.unwrap_or_default()
    }

    fn event(&self, told: &Told) -> Bytes {
        let data = match told {
            Ok(update) => self.encode(&OperationResult::Update(Arc::clone(update))),
            Err(error) => self.error(error),
        };
        [b"data: ", data.as_slice(), b"\n\n"].concat().into()
    }

    fn stream(self, source: EventSource) -> Response<Body> {
        let events = stream::unfold(Some((self, source)), |state| async move {
            let (form, mut source) = state?;
            let keepalive = Duration::from_millis(A2A_KEEPALIVE_MS);
            let came = tokio::select! {
                came = source.updates.recv() => came?,
                () = tokio::time::sleep(keepalive) => {
                    return Some((Ok::<_, Infallible>(Bytes::from_static(b": still here\n\n")), Some((form, source))));
                }
                () = closed(&mut source.closing) => return None,
            };
            let (told, is_last) = came;
            let event = form.event(&told);
            Some((Ok(event), (!is_last).then_some((form, source))))
        });
        let mut response = Response::new(Body::from_stream(events));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// Returns JSON as an answer.
pub(super) fn json(status: StatusCode, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
