//! Requests of MCP, of both eras.

use serde_json::Value as Json;
use whimbrel_platform::limits::MCP_SUBSCRIBED_RESOURCES_MAX;

use super::error::McpError;
use super::headers::{ClientCapabilities, McpEra, McpLogLevel};
use super::{LEGACY_VERSION, LEGACY_VERSIONS};
use crate::json::JsonMembers;

/// Request of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum McpRequest {
    /// Versions and capabilities of this server.
    Discover,
    /// Session of the legacy era.
    Initialize {
        /// Version that both speak.
        version: &'static str,
        /// Capabilities of the client.
        capabilities: ClientCapabilities,
    },
    /// Nothing.
    Ping,
    /// List of tools.
    ListTools,
    /// List of resources.
    ListResources,
    /// List of resource templates.
    ListTemplates,
    /// List of prompts.
    ListPrompts,
    /// Call of a tool.
    CallTool(NamedCall),
    /// Prompt with arguments.
    GetPrompt(NamedCall),
    /// Content of the resource whose URI is the name.
    ReadResource(NamedCall),
    /// Suggestions for an argument; there are none.
    Complete,
    /// Lowest level of log messages, legacy era.
    SetLevel(McpLogLevel),
    /// Notifications about a resource, legacy era.
    Subscribe(String),
    /// End of that.
    Unsubscribe(String),
    /// Stream of notifications.
    Listen(ListenFilter),
}

/// Name, arguments, and answers to questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedCall {
    /// Name of a tool or a prompt, or URI of a resource.
    pub name: String,
    /// Arguments.
    pub arguments: JsonMembers,
    /// Answers to questions of the agent, by their keys.
    pub answers: JsonMembers,
    /// State of an earlier answer that asked for input.
    pub state: Option<String>,
}

/// Notifications that a client wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenFilter {
    /// The list of tools changed.
    pub tools: bool,
    /// The list of prompts changed.
    pub prompts: bool,
    /// The list of resources changed.
    pub resources: bool,
    /// Resources whose content changed, by their URIs.
    pub uris: Vec<String>,
}

/// Reads a request.
///
/// # Errors
/// The era has no such method, or the parameters do not fit it.
pub fn read_request(era: McpEra, method: &str, params: &JsonMembers) -> Result<McpRequest, McpError> {
    Ok(match (method, era) {
        ("tools/list", _) => McpRequest::ListTools,
        ("resources/list", _) => McpRequest::ListResources,
        ("resources/templates/list", _) => McpRequest::ListTemplates,
        ("prompts/list", _) => McpRequest::ListPrompts,
        ("tools/call", _) => McpRequest::CallTool(named_call(params, "name")?),
        ("prompts/get", _) => McpRequest::GetPrompt(named_call(params, "name")?),
        ("resources/read", _) => McpRequest::ReadResource(named_call(params, "uri")?),
        ("completion/complete", _) => McpRequest::Complete,
        ("server/discover", McpEra::Modern) => McpRequest::Discover,
        ("subscriptions/listen", McpEra::Modern) => McpRequest::Listen(filter(params)?),
        ("initialize", McpEra::Legacy) => initialize(params)?,
        ("ping", McpEra::Legacy) => McpRequest::Ping,
        ("logging/setLevel", McpEra::Legacy) => {
            let level = McpLogLevel::named(text(params, "level")?);
            McpRequest::SetLevel(level.ok_or_else(|| McpError::invalid_params("`level` is no level of log messages"))?)
        }
        ("resources/subscribe", McpEra::Legacy) => McpRequest::Subscribe(text(params, "uri")?.to_owned()),
        ("resources/unsubscribe", McpEra::Legacy) => McpRequest::Unsubscribe(text(params, "uri")?.to_owned()),
        _ => return Err(McpError::no_method(method)),
    })
}

fn text<'a>(params: &'a JsonMembers, name: &str) -> Result<&'a str, McpError> {
    let found = params.get(name).and_then(Json::as_str);
    found.ok_or_else(|| McpError::invalid_params(format!("`{name}` is missing, or no text")))
}

/// Returns an object among the parameters; an absent one is empty.
fn members(params: &JsonMembers, name: &str) -> Result<JsonMembers, McpError> {
    match params.get(name) {
        None => Ok(JsonMembers::new()),
        Some(Json::Object(members)) => Ok(members.clone()),
        Some(_) => Err(McpError::invalid_params(format!("`{name}` is no object"))),
    }
}

fn named_call(params: &JsonMembers, name: &str) -> Result<NamedCall, McpError> {
    let state = match params.get("requestState") {
        None => None,
        Some(Json::String(state)) => Some(state.clone()),
        Some(_) => return Err(McpError::invalid_params("`requestState` is no text")),
    };
    let (arguments, answers) = (members(params, "arguments")?, members(params, "inputResponses")?);
    Ok(NamedCall { name: text(params, name)?.to_owned(), arguments, answers, state })
}

fn initialize(params: &JsonMembers) -> Result<McpRequest, McpError> {
    let asked = text(params, "protocolVersion")?;
    let version = LEGACY_VERSIONS.iter().find(|version| **version == asked).unwrap_or(&LEGACY_VERSION);
    let capabilities = ClientCapabilities::read(&members(params, "capabilities")?);
    Ok(McpRequest::Initialize { version, capabilities })
}

fn filter(params: &JsonMembers) -> Result<ListenFilter, McpError> {
    let wanted = members(params, "notifications")?;
    let is_wanted = |name: &str| wanted.get(name).and_then(Json::as_bool) == Some(true);
    let uris = wanted.get("resourceSubscriptions").and_then(Json::as_array).cloned().unwrap_or_default();
    if uris.len() > MCP_SUBSCRIBED_RESOURCES_MAX {
        let message = format!("a stream has at most {MCP_SUBSCRIBED_RESOURCES_MAX} resources: open several");
        return Err(McpError::invalid_params(message));
    }
    Ok(ListenFilter {
        tools: is_wanted("toolsListChanged"),
        prompts: is_wanted("promptsListChanged"),
        resources: is_wanted("resourcesListChanged"),
        uris: uris.iter().filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(era: McpEra, method: &str, params: Json) -> Result<McpRequest, i32> {
        read_request(era, method, params.as_object().expect("an object")).map_err(|error| error.code)
    }

    #[test]
    fn absent_arguments_are_none() {
        let call = NamedCall { name: "t".into(), ..NamedCall::default() };
        assert_eq!(read(McpEra::Modern, "tools/call", json!({"name": "t"})), Ok(McpRequest::CallTool(call)));
        assert_eq!(read(McpEra::Modern, "tools/call", json!({"name": "t", "inputResponses": null})), Err(-32602));
        assert_eq!(read(McpEra::Modern, "tools/call", json!({})), Err(-32602));
    }

    #[test]
    fn each_era_has_its_methods() {
        for legacy in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(read(McpEra::Modern, legacy, json!({})), Err(-32601), "{legacy}");
        }
        assert_eq!(read(McpEra::Legacy, "server/discover", json!({})), Err(-32601));
        let newest = McpRequest::Initialize { version: LEGACY_VERSION, capabilities: ClientCapabilities::default() };
        assert_eq!(read(McpEra::Legacy, "initialize", json!({"protocolVersion": "1999-01-01"})), Ok(newest));
    }
}
