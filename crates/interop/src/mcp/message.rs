//! Messages of JSON-RPC.

use serde_json::Value as Json;
use whimbrel_platform::limits::{MCP_BODY_BYTES_MAX, MCP_JSON_LEVELS_MAX};

use super::error::McpError;
use crate::json::{JsonMembers, has_few_levels};

/// Message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum RpcMessage {
    /// Request, which is answered.
    Request {
        /// Identifier: text or a number.
        id: Json,
        /// Method.
        method: String,
        /// Parameters.
        params: JsonMembers,
    },
    /// Notification.
    Notification {
        /// Method.
        method: String,
        /// Parameters.
        params: JsonMembers,
    },
    /// Answer to a request of this server.
    Response {
        /// Identifier of the request.
        id: Json,
        /// Result, or the error.
        result: Result<Json, Json>,
    },
}

/// Message that is refused, with the identifier of its answer if it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedMessage {
    /// Identifier of the request.
    pub id: Option<Json>,
    /// Reason of the refusal.
    pub error: McpError,
}

/// Reads a message.
///
/// # Errors
/// The bytes are no JSON, nested too deep, or no message of JSON-RPC 2.0; batches are none.
pub fn read_message(bytes: &[u8]) -> Result<RpcMessage, RefusedMessage> {
    let refused = |error| RefusedMessage { id: None, error };
    if bytes.len() > MCP_BODY_BYTES_MAX {
        let message = format!("a message has at most {MCP_BODY_BYTES_MAX} bytes");
        return Err(refused(McpError::invalid_request(message)));
    }
    if !has_few_levels(bytes, MCP_JSON_LEVELS_MAX) {
        let message = format!("JSON of a message has at most {MCP_JSON_LEVELS_MAX} levels");
        return Err(refused(McpError::invalid_request(message)));
    }
    let json: Json = serde_json::from_slice(bytes).map_err(|error| refused(McpError::unreadable(error)))?;
    let Json::Object(mut members) = json else {
        return Err(refused(McpError::invalid_request("send one message, as an object: batches are not supported")));
    };
    let id = members.remove("id");
    let known = id.clone().filter(|id| id.is_string() || id.is_number());
    let invalid = |text: &str| Err(RefusedMessage { id: known.clone(), error: McpError::invalid_request(text) });
    if members.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return invalid("`jsonrpc` is not \"2.0\"");
    }
    if id.is_some() && known.is_none() {
        return invalid("`id` is neither text nor a number");
    }
    let method = match members.remove("method") {
        Some(Json::String(method)) => method,
        Some(_) => return invalid("`method` is no text"),
        None => {
            let error = members.remove("error").map(Err);
            let result = members.remove("result").map(Ok);
            return match (known.clone(), error.or(result)) {
                (Some(id), Some(result)) => Ok(RpcMessage::Response { id, result }),
                _ => invalid("a message has `method`, or `id` with `result` or `error`"),
            };
        }
    };
    let params = match members.remove("params") {
        None => JsonMembers::new(),
        Some(Json::Object(params)) => params,
        Some(_) => return invalid("`params` is no object"),
    };
    Ok(match known {
        Some(id) => RpcMessage::Request { id, method, params },
        None => RpcMessage::Notification { method, params },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let read = |text: &str| read_message(text.as_bytes());
        let params = JsonMembers::new();
        let ping = RpcMessage::Request { id: json!(1), method: "ping".into(), params: params.clone() };
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Ok(ping));
        let note = RpcMessage::Notification { method: "notifications/initialized".into(), params };
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), Ok(note));
        let answer = RpcMessage::Response { id: json!("q"), result: Ok(json!({})) };
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":"q","result":{}}"#), Ok(answer));
    }

    #[test]
    fn faults_keep_identifiers() {
        let code = |text: &str| read_message(text.as_bytes()).map_err(|refused| (refused.error.code, refused.id));
        assert_eq!(code("{").unwrap_err(), (-32700, None));
        assert_eq!(code("[]").unwrap_err(), (-32600, None));
        assert_eq!(code(r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#).unwrap_err(), (-32600, Some(json!(7))));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#).unwrap_err(), (-32600, None));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":8,"method":"x","params":[]}"#).unwrap_err(), (-32600, Some(json!(8))));
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(code(&deep).unwrap_err().0, -32600);
    }
}
