//! Properties of A2A requests, for any bytes. The fuzz target looks for violations; a test of `whimbrel-interop`
//! replays those that were found.

use std::collections::HashSet;

use whimbrel_acl::{AclMessage, Aid, NameAllowance, Performative};
use whimbrel_interop::a2a::acl::{self, AclExtension};
use whimbrel_interop::a2a::{
    A2aMessage, Moment, Operation, SendParams, SentMessage, ServerOutput, TaskIds, TaskParties, TaskServer, TaskUpdate,
    read_rest, read_rpc, shape03, version_of,
};
use whimbrel_platform::Time;

/// Decodes the bytes after the first, which selects the form: JSON-RPC, or REST as `METHOD PATH?QUERY`, a line end and
/// a body. A message that is read becomes a task, which its agent answers.
pub fn a2a_requests(bytes: &[u8]) {
    let Some((what, request)) = bytes.split_first() else { return };
    let _names = NameAllowance::new(4_096);
    let operation = if what % 2 == 0 {
        read_rpc(request, [None, Some("1.0"), Some("0.3")][usize::from(what / 2 % 3)]).operation
    } else {
        let end = request.iter().position(|byte| *byte == b'\n').unwrap_or(request.len());
        let (line, body) = request.split_at(end);
        let Ok(line) = std::str::from_utf8(line) else { return };
        let _ = version_of(Some(line));
        let (method, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        read_rest(method, path, Some(query), body.get(1..).unwrap_or_default())
    };
    match operation {
        Ok(Operation::Send { params, streams }) => sent(*params, streams),
        Ok(_) => {}
        Err(error) => assert!(error.to_rpc()["code"].is_i64() && error.to_rest()["error"]["code"].is_u64()),
    }
}

/// Checks that a message is the same after another round, and lives a task's life with it.
fn sent(params: SendParams, streams: bool) {
    let written = serde_json::to_vec(&params.message).expect("it is written");
    let again: A2aMessage = serde_json::from_slice(&written).expect("it is read");
    assert_eq!(serde_json::to_vec(&again).ok(), Some(written));
    shape03::read_message(shape03::message(&params.message)).expect("version 0.3 has it, too");
    let Ok(read) = acl::read(&params.message) else { return };
    let mut server = TaskServer::default();
    let sender = TaskParties { client: server.client(""), agent: Aid::local("bob") };
    let ids = TaskIds { task: 1, context: 2 };
    let at = Moment { now: Time::ZERO, wall_ms: 1_795_697_170_383 };
    let extension = AclExtension::Whole;
    let message = SentMessage { sender, params, read, extension, streams, ids };
    if server.handle_send(message, at, &mut |_, _| Ok(Aid::local("a2a_1"))).is_err() {
        return;
    }
    let mut open = HashSet::new();
    let requests = outputs(&mut server, &mut open);
    assert_eq!(requests.len(), 1);
    for request in requests {
        assert_eq!(request.receivers.as_slice(), [Aid::local("bob")]);
        for performative in [Performative::Agree, Performative::QueryRef, Performative::Inform] {
            let reply = request.make_reply(Aid::local("bob"), performative).with_content(request.content.clone());
            server.handle_message(0, &reply, at);
            outputs(&mut server, &mut open);
        }
    }
    assert_eq!(server.counts().1, 0, "the task is over");
    assert_eq!(server.poll_timeout(), None);
}

/// Takes all outputs, and checks that no watch has more after its last.
fn outputs(server: &mut TaskServer, over: &mut HashSet<String>) -> Vec<AclMessage> {
    let mut messages = Vec::new();
    while let Some(output) = server.poll_output() {
        match output {
            ServerOutput::Acl(message) => messages.push(*message),
            ServerOutput::Update { watch, update, is_last } => {
                let watch = format!("{watch:?}");
                assert!(!over.contains(&watch), "an update after the last");
                if is_last {
                    over.insert(watch);
                }
                let update = update.expect("nothing was cancelled");
                let written = serde_json::to_vec(&*update).expect("it is written");
                let again: TaskUpdate = serde_json::from_slice(&written).expect("it is read");
                assert_eq!(serde_json::to_vec(&again).ok(), Some(written));
                assert!(shape03::update(&update)["kind"].is_string());
            }
        }
    }
    messages
}

/// Seeds: requests in both forms and versions.
pub fn seeds() -> Vec<Vec<u8>> {
    let message = r#"{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"tea"},{"data":{"term":"buy","args":[1]}},{"raw":"dGNr","filename":"a"},{"url":"http://h/"}],"metadata":{"urn:whimbrel:acl:1":{"performative":"query-ref","user":[["X-a",1]]}}}"#;
    let rpc = [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message}}}}}"#),
        r#"{"jsonrpc":"2.0","id":"a","method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"},{"kind":"file","file":{"uri":"http://h/"}},{"kind":"data","data":{"a":[null,true,1.5]}}]}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":3,"pageToken":"7","statusTimestampAfter":"2026-11-26T12:46:10.383Z"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"t"}}"#.to_owned(),
    ];
    let rest = [
        format!("POST message:stream\n{{\"message\":{message},\"configuration\":{{\"historyLength\":2}}}}"),
        "GET tasks?contextId=c&pageSize=2&includeArtifacts=true\n".to_owned(),
        "POST tasks/t%31:subscribe\n".to_owned(),
        "DELETE tasks/t/pushNotificationConfigs/p\n".to_owned(),
    ];
    let with = |what: u8, requests: &[String]| -> Vec<Vec<u8>> {
        requests.iter().map(|request| [&[what], request.as_bytes()].concat()).collect()
    };
    [with(0, &rpc), with(1, &rest)].concat()
}
