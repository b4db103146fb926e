//! Properties of MCP's messages and of services' schemas, for any bytes. The fuzz target looks for violations; a test
//! of `whimbrel-interop` replays those that were found.

use serde_json::{Value as Json, json};
use whimbrel_acl::{Aid, Value};
use whimbrel_interop::json::{json_of, value_of};
use whimbrel_interop::mcp::{
    CallOutcome, McpEra, McpHeaders, McpOffer, RpcMessage, check_modern, era_of, read_message, read_request, results,
};
use whimbrel_platform::df::{DfDescription, ServiceDescription};

/// Reads the bytes after the first, which selects the reader: of messages, or of a service's schema with arguments.
pub fn mcp_messages(bytes: &[u8]) {
    let Some((what, text)) = bytes.split_first() else { return };
    match what % 2 {
        0 => message(text),
        _ => schema(text),
    }
}

fn message(text: &[u8]) {
    let (method, params) = match read_message(text) {
        Ok(RpcMessage::Request { method, params, .. } | RpcMessage::Notification { method, params }) => {
            (method, params)
        }
        Ok(RpcMessage::Response { .. }) => return,
        Err(refused) => {
            assert!(refused.error.code < 0 && refused.error.status >= 400);
            assert!(refused.error.to_json(refused.id.as_ref()).get("error").is_some());
            return;
        }
    };
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Json::as_str);
    let version = params.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
    let version = version.and_then(Json::as_str);
    let headers = McpHeaders { version, method: Some(&method), name, session: None };
    let checked = check_modern(Some(headers), &method, &params);
    // Headers that repeat the body are no reason to refuse it.
    assert_eq!(checked.is_ok(), check_modern(None, &method, &params).is_ok() && fits(name, &method));
    for era in [era_of(headers, &method, &params), McpEra::Modern, McpEra::Legacy] {
        let _ = read_request(era, &method, &params);
    }
    let params = Json::Object(params);
    assert_eq!(json_of(&value_of(&params)).is_object(), params.is_object());
}

/// Returns true if the header of a name is not read as base64.
fn fits(name: Option<&str>, method: &str) -> bool {
    let has_name = matches!(method, "tools/call" | "prompts/get" | "resources/read");
    !has_name || name.is_some_and(|name| name.trim() == name && !name.starts_with("=?base64?"))
}

fn schema(text: &[u8]) {
    let Ok(Json::Object(mut members)) = serde_json::from_slice(text) else { return };
    let mut service = ServiceDescription::new("work", "tool");
    let arguments = members.remove("arguments");
    for (name, value) in members {
        let value = if value.is_object() { Value::from(value.to_string().as_str()) } else { value_of(&value) };
        service.properties.push((name.as_str().into(), value));
    }
    let entry = DfDescription::of(Aid::local("agent")).with(service);
    let offer = McpOffer::of(&[entry], &|_| true);
    assert_eq!(offer.changes(&offer), [false; 3]);
    let Some(tool) = offer.tools().last().and_then(|tool| tool.get("name")?.as_str().map(str::to_owned)) else {
        return;
    };
    let Some(tool) = offer.tool(&tool) else { return };
    let arguments = arguments.and_then(|arguments| arguments.as_object().cloned()).unwrap_or_default();
    if let Ok(goal) = tool.goal(&arguments) {
        assert_eq!(goal.functor().map(|functor| functor.as_str()), Some("work"));
        let told = results::called(McpEra::Modern, tool, "", CallOutcome::Told(goal)).expect("tools have results");
        assert_eq!(
            told.contains_key("structuredContent"),
            told.get("isError") == Some(&json!(false)) && tool.is_typed()
        );
    }
}

/// Seeds: messages and services.
pub fn seeds() -> Vec<Vec<u8>> {
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a","result":{"action":"accept","content":{"answer":"x"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a.b","arguments":{"x":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"progressToken":1}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    ];
    let services = [
        r#"{"input":["item","count"],"arguments":{"item":"tea","count":"2"}}"#,
        r#"{"input":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"arguments":{"n":1}}"#,
        r#"{"input":[],"output":["euros"],"tool":"price","requires":["sampling"],"about":"text"}"#,
        r#"{"uri_template":"shop://items/{id}/data"}"#,
    ];
    let with = |what: u8, lines: &[&str]| -> Vec<Vec<u8>> {
        lines.iter().map(|line| [&[what], line.as_bytes()].concat()).collect()
    };
    [with(0, &messages), with(1, &services)].concat()
}
