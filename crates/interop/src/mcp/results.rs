//! Answers of MCP, of both eras.

use serde_json::{Value as Json, json};
use whimbrel_acl::Value;
use whimbrel_platform::limits::{MCP_ANSWER_BYTES_MAX, MCP_LIST_AGE_MS};

use super::calls::CallOutcome;
use super::content::{blocks_of, contents_of, messages_of};
use super::error::McpError;
use super::headers::{McpEra, McpLogLevel};
use super::offer::{OfferedKind, OfferedService};
use super::question::InputRequest;
use super::request::ListenFilter;
use super::{VERSIONS, message::RpcMessage};
use crate::json::{JsonMembers, json_of, text_of};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Words about this server for the client's model.
const INSTRUCTIONS: &str = "Tools named agent.service are services of agents. `df_search` finds agents, `send` writes to \
    one. An answer that takes long reports progress.";

/// Identity of this server.
#[derive(Clone, Debug)]
pub struct ServerIdentity {
    /// Title for people: the platform's name.
    pub title: String,
    /// Version of the program.
    pub version: &'static str,
}

impl ServerIdentity {
    fn to_json(&self) -> Json {
        json!({"name": "whimbrel", "title": self.title, "version": self.version})
    }

    /// Returns the answer to a request: `result` with what all results of the era have.
    pub fn answer(&self, era: McpEra, id: &Json, mut result: JsonMembers) -> Json {
        if era == McpEra::Modern {
            result.entry("resultType").or_insert_with(|| json!("complete"));
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert(SERVER_INFO.to_owned(), self.to_json());
            }
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    /// Returns the result of `server/discover`.
    pub fn discovered(&self) -> JsonMembers {
        let result = members(json!({
            "supportedVersions": VERSIONS,
            "capabilities": capabilities(McpEra::Modern),
            "instructions": INSTRUCTIONS,
        }));
        cacheable(McpEra::Modern, result, MCP_LIST_AGE_MS)
    }

    /// Returns the result of `initialize`.
    pub fn initialized(&self, version: &str) -> JsonMembers {
        members(json!({
            "protocolVersion": version,
            "capabilities": capabilities(McpEra::Legacy),
            "serverInfo": self.to_json(),
            "instructions": INSTRUCTIONS,
        }))
    }
}

fn capabilities(era: McpEra) -> Json {
    let mut capabilities = json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "completions": {},
    });
    if let (McpEra::Legacy, Some(members)) = (era, capabilities.as_object_mut()) {
        members.insert("logging".to_owned(), json!({}));
    }
    capabilities
}

fn members(json: Json) -> JsonMembers {
    match json {
        Json::Object(members) => members,
        _ => JsonMembers::new(),
    }
}

fn cacheable(era: McpEra, mut result: JsonMembers, age_ms: u64) -> JsonMembers {
    if era == McpEra::Modern {
        result.insert("ttlMs".to_owned(), json!(age_ms));
        // Answers depend on the client's rights.
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    result
}

/// Returns the result of a list: `key` is `tools`, `resources`, `resourceTemplates` or `prompts`.
pub fn listed(era: McpEra, key: &str, items: Vec<Json>) -> JsonMembers {
    let mut result = JsonMembers::new();
    result.insert(key.to_owned(), Json::Array(items));
    cacheable(era, result, MCP_LIST_AGE_MS)
}

/// Returns the result of `completion/complete`: no suggestions.
pub fn completed() -> JsonMembers {
    members(json!({"completion": {"values": [], "total": 0, "hasMore": false}}))
}

/// Returns the result of a call of an agent, or an error.
///
/// # Errors
/// A prompt or a resource that the agent does not give. A tool that fails has a result.
pub fn called(era: McpEra, service: &OfferedService, uri: &str, outcome: CallOutcome) -> Result<JsonMembers, McpError> {
    let result = match (&service.kind, outcome) {
        (OfferedKind::Tool, outcome) => tool_result(service, outcome),
        (_, CallOutcome::Refused(why)) => return Err(McpError::invalid_params(why)),
        (_, CallOutcome::Failed(why)) => return Err(McpError::internal(why)),
        (OfferedKind::Prompt, CallOutcome::Told(content)) => members(json!({"messages": messages_of(&content)})),
        (OfferedKind::Resource(_) | OfferedKind::Template(_), CallOutcome::Told(content)) => {
            let contents = contents_of(&content, uri, service.media_type.as_deref().unwrap_or_default());
            cacheable(era, members(json!({"contents": [contents]})), 0)
        }
    };
    let bytes = size_of(&result);
    if bytes > MCP_ANSWER_BYTES_MAX {
        let why =
            format!("{} answered {bytes} bytes, at most {MCP_ANSWER_BYTES_MAX} are passed on", service.agent.name);
        return if service.kind == OfferedKind::Tool { Ok(failed(&why)) } else { Err(McpError::internal(why)) };
    }
    Ok(result)
}

fn size_of(result: &JsonMembers) -> usize {
    fn size(json: &Json) -> usize {
        match json {
            Json::String(text) => text.len() + 2,
            Json::Array(items) => items.iter().map(size).sum::<usize>() + items.len() + 2,
            Json::Object(members) => size_of(members),
            _ => 8,
        }
    }
    result.iter().map(|(key, value)| key.len() + size(value) + 4).sum()
}

fn tool_result(service: &OfferedService, outcome: CallOutcome) -> JsonMembers {
    let content = match outcome {
        CallOutcome::Told(content) => content,
        CallOutcome::Refused(why) | CallOutcome::Failed(why) => return failed(&why),
    };
    let mut result = members(json!({"content": blocks_of(&content), "isError": false}));
    let structured = match &service.output {
        Some(output) => {
            let structured = output.structured(&content);
            let checked = structured.ok_or("its form").and_then(|it| match output.check(&it) {
                Ok(()) => Ok(it),
                Err(_) => Err("its members"),
            });
            match checked {
                Ok(structured) => Some(structured),
                Err(fault) => {
                    let why = format!(
                        "{} answered {}, which the output schema of {} does not allow: {fault} differ",
                        service.agent.name,
                        text_of(&content).chars().take(200).collect::<String>(),
                        service.name
                    );
                    return failed(&why);
                }
            }
        }
        None => matches!(content, Value::Map(_) | Value::Record(_)).then(|| members(json_of(&content))),
    };
    if let Some(structured) = structured {
        // Clients that know no structured content read it as text.
        let text = Json::Object(structured.clone()).to_string();
        result.insert("content".to_owned(), json!([{"type": "text", "text": text}]));
        result.insert("structuredContent".to_owned(), Json::Object(structured));
    }
    result
}

/// Returns the result of a tool of the node itself.
pub fn told(structured: &Json) -> JsonMembers {
    members(json!({
        "content": [{"type": "text", "text": structured.to_string()}],
        "structuredContent": structured,
        "isError": false,
    }))
}

/// Returns the result of the tool `send`.
pub fn sent(outcome: CallOutcome) -> JsonMembers {
    match outcome {
        CallOutcome::Told(content) => members(json!({"content": blocks_of(&content), "isError": false})),
        CallOutcome::Refused(why) | CallOutcome::Failed(why) => failed(&why),
    }
}

/// Returns the result of a tool that failed.
pub fn failed(why: &str) -> JsonMembers {
    members(json!({"content": [{"type": "text", "text": why}], "isError": true}))
}

/// Returns the result of a read resource that the node itself has.
pub fn read(era: McpEra, uri: &str, media_type: &str, text: &str) -> JsonMembers {
    let contents = json!({"uri": uri, "mimeType": media_type, "text": text});
    cacheable(era, members(json!({"contents": [contents]})), 0)
}

/// Returns the result that asks the client for input.
pub fn input_required(requests: &[InputRequest], state: &str) -> JsonMembers {
    let requests: JsonMembers = requests.iter().map(|request| (request.key.clone(), request.to_json())).collect();
    members(json!({"resultType": "input_required", "inputRequests": requests, "requestState": state}))
}

/// Returns a notification.
pub fn notification(method: &str, params: Json) -> Json {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Returns a progress notification for the request with this token.
pub fn progress(token: &Json, progress: f64, total: Option<f64>, message: &str) -> Json {
    let number = |n: f64| if n.fract() == 0.0 && n.abs() < 1e15 { json!(n as i64) } else { json!(n) };
    let mut params = json!({"progressToken": token, "progress": number(progress)});
    if let Some(members) = params.as_object_mut() {
        total.map(|total| members.insert("total".to_owned(), number(total)));
        if !message.is_empty() {
            members.insert("message".to_owned(), json!(message));
        }
    }
    notification("notifications/progress", params)
}

/// Returns a notification about something that an agent logs.
pub fn logged(level: McpLogLevel, logger: &str, data: &Json) -> Json {
    notification("notifications/message", json!({"level": level.name(), "logger": logger, "data": data}))
}

/// Returns a request to a client of the legacy era.
pub fn question(id: &str, request: &InputRequest) -> Json {
    let mut params = request.params.clone();
    // Versions before 2025-11-25 know no modes.
    if let Some(members) = params.as_object_mut() {
        members.remove("mode");
    }
    json!({"jsonrpc": "2.0", "id": id, "method": request.method.name(), "params": params})
}

/// Returns the first message of a stream of notifications.
pub fn acknowledged(id: &Json, filter: &ListenFilter) -> Json {
    let mut honoured = JsonMembers::new();
    for (name, is_wanted) in [
        ("toolsListChanged", filter.tools),
        ("promptsListChanged", filter.prompts),
        ("resourcesListChanged", filter.resources),
    ] {
        if is_wanted {
            honoured.insert(name.to_owned(), json!(true));
        }
    }
    if !filter.uris.is_empty() {
        honoured.insert("resourceSubscriptions".to_owned(), json!(filter.uris));
    }
    tagged("notifications/subscriptions/acknowledged", id, json!({"notifications": honoured}))
}

/// Returns a notification of a stream that this request opened.
pub fn tagged(method: &str, id: &Json, mut params: Json) -> Json {
    if let Some(members) = params.as_object_mut() {
        // The schema has text here, and identifiers may be numbers.
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        members.insert("_meta".to_owned(), json!({SUBSCRIPTION: id}));
    }
    notification(method, params)
}

/// Returns the identifier of a message that is a request.
pub fn id_of(message: &RpcMessage) -> Option<&Json> {
    match message {
        RpcMessage::Request { id, .. } => Some(id),
        RpcMessage::Notification { .. } | RpcMessage::Response { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Aid;
    use whimbrel_platform::df::{DfDescription, ServiceDescription};

    use super::super::McpOffer;
    use super::*;

    fn tool(properties: &[(&str, Value)]) -> OfferedService {
        let mut service = ServiceDescription::new("price", "tool");
        service.properties = properties.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let entry = DfDescription::of(Aid::local("seller")).with(service);
        McpOffer::of(&[entry], &|_| true).tool("seller.price").expect("it is a tool").as_ref().clone()
    }

    fn result(tool: &OfferedService, content: impl Into<Value>) -> Json {
        let told = CallOutcome::Told(content.into());
        Json::Object(called(McpEra::Modern, tool, "", told).expect("tools have results"))
    }

    #[test]
    fn answers_are_content() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}], "isError": false});
        assert_eq!(result(&tool(&[]), "twelve"), text("twelve"));
        assert_eq!(result(&tool(&[]), Value::term("price", [Value::Int(12)])), text("price(12)"));
        let failure = called(McpEra::Modern, &tool(&[]), "", CallOutcome::Refused("no".into())).expect("a result");
        assert_eq!(failure, failed("no"));
    }

    #[test]
    fn structured_content_matches_schema() {
        let output = Value::list([Value::term("euros", [Value::atom("number")])]);
        let tool = tool(&[("output", output)]);
        let right = result(&tool, Value::term("price", [Value::Int(12)]));
        assert_eq!(right.get("structuredContent"), Some(&json!({"euros": 12})));
        assert_eq!(right.get("content"), Some(&json!([{"type": "text", "text": "{\"euros\":12}"}])));
        for wrong in [Value::from("much"), Value::term("price", [Value::Int(1), Value::Int(2)])] {
            let wrong = result(&tool, wrong);
            assert_eq!(wrong.get("isError"), Some(&json!(true)));
            assert_eq!(wrong.get("structuredContent"), None, "errors have none");
        }
    }

    #[test]
    fn long_answers_are_errors() {
        let long = "x".repeat(MCP_ANSWER_BYTES_MAX + 1);
        assert_eq!(result(&tool(&[]), long.as_str()).get("isError"), Some(&json!(true)));
    }

    #[test]
    fn modern_results_say_more() {
        let identity = ServerIdentity { title: "bees".into(), version: "1.0" };
        let modern = identity.answer(McpEra::Modern, &json!(1), listed(McpEra::Modern, "tools", Vec::new()));
        let result = modern.get("result").expect("a result");
        assert_eq!(result.get("resultType"), Some(&json!("complete")));
        assert_eq!((result.get("ttlMs"), result.get("cacheScope")), (Some(&json!(1_000)), Some(&json!("private"))));
        let legacy = identity.answer(McpEra::Legacy, &json!(1), listed(McpEra::Legacy, "tools", Vec::new()));
        assert_eq!(legacy, json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}));
    }

    #[test]
    fn notifications_name_their_stream() {
        let filter = ListenFilter { tools: true, ..ListenFilter::default() };
        let first = acknowledged(&json!(7), &filter);
        let params = first.get("params").expect("parameters");
        assert_eq!(params.get("notifications"), Some(&json!({"toolsListChanged": true})));
        assert_eq!(params.get("_meta"), Some(&json!({SUBSCRIPTION: "7"})));
    }
}
