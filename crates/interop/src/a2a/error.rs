//! Errors of A2A, with their codes in JSON-RPC and HTTP.

use serde_json::{Value as Json, json};

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum A2aErrorKind {
    /// Body that is no JSON.
    Parse,
    /// JSON that is no request.
    InvalidRequest,
    /// Unknown operation.
    MethodNotFound,
    /// Invalid parameters.
    InvalidParams,
    /// Failure of the server.
    Internal,
    /// Unknown task, or another client's.
    TaskNotFound,
    /// Task that cannot be cancelled.
    TaskNotCancelable,
    /// Push notifications, which the agent does not send.
    PushNotSupported,
    /// Operation that the agent does not support, or not in this state.
    UnsupportedOperation,
    /// Media type that the agent does not take.
    ContentTypeNotSupported,
    /// Card for known clients, which the agent does not have.
    NoExtendedCard,
    /// Version of the protocol that is not spoken here.
    VersionNotSupported,
    /// Missing or unknown token.
    Unauthenticated,
    /// Act that the policy forbids.
    Forbidden,
    /// Unknown agent.
    AgentNotFound,
    /// Too many tasks or streams.
    TooMany,
}

/// Codes of an error: JSON-RPC code, HTTP status, its name in gRPC, reason.
type Codes = (i32, u16, &'static str, &'static str);

impl A2aErrorKind {
    const fn codes(self) -> Codes {
        match self {
            Self::Parse => (-32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR"),
            Self::InvalidRequest => (-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
            Self::MethodNotFound => (-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
            Self::InvalidParams => (-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
            Self::Internal => (-32603, 500, "INTERNAL", "INTERNAL"),
            Self::TaskNotFound => (-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => (-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
            Self::PushNotSupported => (-32003, 400, "UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            Self::UnsupportedOperation => (-32004, 400, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"),
            Self::ContentTypeNotSupported => (-32005, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::NoExtendedCard => (-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
            Self::VersionNotSupported => (-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
            Self::Unauthenticated => (-32600, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
            Self::Forbidden => (-32600, 403, "PERMISSION_DENIED", "FORBIDDEN"),
            Self::AgentNotFound => (-32600, 404, "NOT_FOUND", "AGENT_NOT_FOUND"),
            Self::TooMany => (-32603, 429, "RESOURCE_EXHAUSTED", "TOO_MANY"),
        }
    }

    /// Returns the HTTP status of REST answers.
    pub const fn http_status(self) -> u16 {
        self.codes().1
    }

    /// Returns the code of JSON-RPC.
    pub const fn code(self) -> i32 {
        self.codes().0
    }
}

/// Error: the kind, and what is wrong in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct A2aError {
    /// Kind of the error.
    pub kind: A2aErrorKind,
    /// Fault, and its remedy.
    pub text: String,
}

impl A2aError {
    /// Makes an error of this kind.
    pub fn new(kind: A2aErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// Makes the error about a task that is unknown, or that another client has.
    pub(super) fn no_task(id: &str) -> Self {
        Self::new(A2aErrorKind::TaskNotFound, format!("there is no task {}", shortened(id)))
    }

    /// Makes the error about an invalid parameter.
    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Self::new(A2aErrorKind::InvalidParams, text)
    }

    fn details(&self) -> Json {
        let (.., reason) = self.kind.codes();
        json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "a2a-protocol.org",
        }])
    }

    /// Returns the error of a JSON-RPC answer.
    pub fn to_rpc(&self) -> Json {
        let (code, ..) = self.kind.codes();
        json!({"code": code, "message": self.text, "data": self.details()})
    }

    /// Returns the body of a REST answer.
    pub fn to_rest(&self) -> Json {
        let (_, status, name, _) = self.kind.codes();
        json!({"error": {"code": status, "status": name, "message": self.text, "details": self.details()}})
    }
}

/// Shortens a text of a client for an error.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
