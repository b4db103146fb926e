//! Errors of requests: codes of JSON-RPC and MCP, and the HTTP status of each.

use serde_json::{Value as Json, json};

use super::VERSIONS;

/// Longest text of a client that an error repeats.
const REPEATED_CHARS_MAX: usize = 100;

/// Error of a request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct McpError {
    /// Code of JSON-RPC or MCP.
    pub code: i32,
    /// HTTP status.
    pub status: u16,
    /// Text for people: the failure, its reason, and a way out.
    pub message: String,
    /// Facts for programs.
    pub data: Option<Json>,
}

impl McpError {
    fn new(code: i32, status: u16, message: impl Into<String>) -> Self {
        Self { code, status, message: message.into(), data: None }
    }

    /// Body that is no JSON.
    pub fn unreadable(why: impl std::fmt::Display) -> Self {
        Self::new(-32700, 400, format!("the body is no JSON: {why}"))
    }

    /// Message that is no request of JSON-RPC, or comes at a wrong place.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, 400, message)
    }

    /// Request without the metadata that each request has.
    pub fn no_metadata(member: &str) -> Self {
        let message = format!("`params._meta` lacks `{member}`: each request of version 2026-07-28 has it");
        Self::new(-32602, 400, message)
    }

    /// Unknown method.
    pub fn no_method(method: &str) -> Self {
        Self::new(-32601, 404, format!("there is no method {}", repeated(method)))
    }

    /// Parameters that do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, 200, message)
    }

    /// Unknown resource.
    pub fn no_resource(uri: &str) -> Self {
        let error = Self::new(-32602, 200, format!("there is no resource {}", repeated(uri)));
        Self { data: Some(json!({"uri": repeated(uri)})), ..error }
    }

    /// Fault of an agent or of this node.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, 200, message)
    }

    /// Header that differs from the body, or is missing.
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32020, 400, message)
    }

    /// Capabilities of the client that a request needs and the client did not declare.
    pub fn missing_capabilities(names: &[&str]) -> Self {
        let needed: serde_json::Map<String, Json> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let error = Self::new(-32021, 400, format!("this needs clients that declare {}", names.join(", ")));
        Self { data: Some(json!({"requiredCapabilities": needed})), ..error }
    }

    /// Version that this server does not speak.
    pub fn unsupported_version(requested: &str) -> Self {
        let message = format!("version {} is not supported: use {}", repeated(requested), VERSIONS.join(" or "));
        Self {
            data: Some(json!({"supported": VERSIONS, "requested": repeated(requested)})),
            ..Self::new(-32022, 400, message)
        }
    }

    /// Answer types that the client does not take.
    pub fn not_acceptable() -> Self {
        Self::new(-32600, 406, "send Accept: application/json, text/event-stream")
    }

    /// Body of another media type.
    pub fn not_json() -> Self {
        Self::new(-32600, 415, "send Content-Type: application/json")
    }

    /// Method of HTTP that this endpoint does not have.
    pub fn no_http_method() -> Self {
        Self::new(-32600, 405, "use POST")
    }

    /// Session that is over or unknown.
    pub fn no_session() -> Self {
        Self::new(-32001, 404, "there is no such session: send `initialize` without Mcp-Session-Id")
    }

    /// Request without a token that is accepted.
    pub fn unauthenticated() -> Self {
        Self::new(-32001, 401, "missing or unknown token: send Authorization: Bearer TOKEN")
    }

    /// Request that the policy forbids.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(-32001, 403, message)
    }

    /// Limit that is reached.
    pub fn too_many(message: impl Into<String>) -> Self {
        Self::new(-32001, 429, message)
    }

    /// Door that is closed.
    pub fn no_door() -> Self {
        Self::new(-32601, 404, "no agent is offered here: see --mcp")
    }

    /// Returns the answer of JSON-RPC to the request of this identifier.
    pub fn to_json(&self, id: Option<&Json>) -> Json {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".to_owned(), data.clone());
        }
        match id {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => json!({"jsonrpc": "2.0", "error": error}),
        }
    }
}

/// Returns the beginning of a client's text.
pub(super) fn repeated(text: &str) -> String {
    text.chars().take(REPEATED_CHARS_MAX).collect()
}
