//! Exchanges of official clients with a node, as they were on the wire (`conformance/mcp/exchanges.jsonl`): requests
//! are read as they were then.

use serde_json::Value as Json;
use whimbrel_interop::mcp::{McpEra, McpHeaders, RpcMessage, check_modern, era_of, read_message, read_request};

const EXCHANGES: &str = include_str!("../../../../conformance/mcp/exchanges.jsonl");

#[test]
fn requests_of_official_clients_are_read() {
    let mut seen = Vec::new();
    for line in EXCHANGES.lines() {
        let exchange: Json = serde_json::from_str(line).expect("JSON");
        let header = |name: &str| exchange["headers"].get(name).and_then(Json::as_str);
        let headers = McpHeaders {
            version: header("mcp-protocol-version"),
            method: header("mcp-method"),
            name: header("mcp-name"),
            session: header("mcp-session-id"),
        };
        let message = read_message(exchange["body"].to_string().as_bytes()).expect("official clients write JSON-RPC");
        let RpcMessage::Request { method, params, .. } = message else { continue };
        let era = era_of(headers, &method, &params);
        let said = if exchange["era"] == "modern" { McpEra::Modern } else { McpEra::Legacy };
        assert_eq!(era, said, "{line}");
        if era == McpEra::Modern {
            check_modern(Some(headers), &method, &params).expect("official clients repeat the body in headers");
        }
        read_request(era, &method, &params).expect("it is a request of its era");
        seen.push(method);
    }
    for method in ["server/discover", "initialize", "tools/list", "tools/call", "resources/read", "prompts/get"] {
        assert!(seen.iter().any(|known| known == method), "no {method} in {seen:?}");
    }
}
