//! A2A: ACL messages come through the extension without loss.

use proptest::prelude::*;
use serde_json::Value as Json;
use whimbrel_acl::{AclMessage, Encoding, Performative, Value};
use whimbrel_interop::a2a::acl::{self, ACL_EXTENSION, AclExtension, MOSAICO_EXTENSION};
use whimbrel_interop::a2a::{A2aMessage, A2aTask, MessageRole, Operation, TaskUpdate, read_rest, read_rpc, shape03};
use whimbrel_testkit::generators;

fn carried(message: &AclMessage, extension: AclExtension) -> A2aMessage {
    let written = acl::write(message, extension);
    A2aMessage {
        message_id: "m".to_owned(),
        context_id: None,
        task_id: None,
        role: MessageRole::User,
        parts: written.parts,
        metadata: written.metadata,
        extensions: written.extensions,
        reference_task_ids: Vec::new(),
    }
}

/// Returns a message as the canonical JSON says it: equal bytes are equal messages, also where 1 equals 1.0.
fn canonical(message: &AclMessage) -> Option<String> {
    Encoding::Json.encode(message).ok().map(|bytes| String::from_utf8(bytes).expect("it is text"))
}

proptest! {
    /// All performatives, parameters and contents come back, in both versions.
    #[test]
    fn extension_loses_nothing(message in generators::message()) {
        let Some(before) = canonical(&message) else { return Ok(()) };
        let sent = carried(&message, AclExtension::Whole);
        let json = serde_json::to_vec(&sent).expect("it is written");
        let came: A2aMessage = serde_json::from_slice(&json).expect("it is read");
        let read = acl::read(&came).expect("it is a message");
        prop_assert_eq!(read.extension, AclExtension::Whole);
        prop_assert_eq!(canonical(&read.message), Some(before));
    }

    /// Any content can be written for clients without the extension.
    #[test]
    fn plain_content_is_readable(content in generators::value()) {
        let message = AclMessage { content, ..AclMessage::new(Performative::Inform, "a".parse()?, "b".parse()?, "") };
        let sent = carried(&message, AclExtension::None);
        prop_assert!(acl::read(&sent).is_ok());
        let old = shape03::message(&sent);
        prop_assert!(shape03::read_message(old).is_ok());
    }
}

#[test]
fn all_performatives_and_parameters_come_back() {
    for performative in Performative::FIPA {
        let text = format!(
            "({performative} :sender (agent-identifier :name a@p :addresses (sequence http://h:1/acc)) :receiver (set \
             (agent-identifier :name b)) :reply-to (set (agent-identifier :name c)) :content \"c\" :language l :encoding \
             e :ontology o :protocol p :conversation-id i :reply-with w :in-reply-to r :reply-by 20261231T235959999Z \
             :X-colour red)"
        );
        let message = Encoding::String.decode(text.as_bytes()).expect("it is a message");
        let read = acl::read(&carried(&message, AclExtension::Whole)).expect("it is read");
        assert_eq!(read.message, message);
        assert_eq!(canonical(&read.message), canonical(&message));
    }
}

#[test]
fn mosaico_carries_performative() {
    let json = serde_json::json!({
        "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "ping"}], "extensions": [MOSAICO_EXTENSION],
        "metadata": {MOSAICO_EXTENSION: {"performative": "achieve", "codec": "atom_codec", "mediaType": "text/plain"}},
    });
    let message: A2aMessage = serde_json::from_value(json).expect("it is a message");
    let read = acl::read(&message).expect("it is read");
    assert_eq!((read.extension, read.message.performative.as_str()), (AclExtension::Mosaico, "achieve"));
    assert_eq!(read.message.content, Value::atom("ping"));
    let back = acl::write(&read.message, AclExtension::Mosaico);
    let performative = back.metadata.expect("there is some")[MOSAICO_EXTENSION]["performative"].clone();
    assert_eq!(performative, "achieve");
}

#[test]
fn new_names_of_clients_are_bounded() {
    let json = serde_json::json!({
        "messageId": "m", "role": "ROLE_USER",
        "parts": [{"data": {"term": "a_name_that_nobody_had_before_this_test", "args": [1]}}],
    });
    let message: A2aMessage = serde_json::from_value(json).expect("it is a message");
    let allowance = whimbrel_acl::NameAllowance::new(0);
    assert!(acl::read(&message).is_err());
    drop(allowance);
    assert!(acl::read(&message).is_ok());
    assert!(ACL_EXTENSION.starts_with("urn:"));
}

/// Says an operation in a few words.
fn named(operation: &Operation) -> String {
    match operation {
        Operation::Send { params, streams } => {
            let verb = if *streams { "stream" } else { "send" };
            let task = params.message.task_id.as_ref().map_or_else(String::new, |task| format!(" to {task}"));
            format!("{verb} {}{task}", params.message.message_id)
        }
        Operation::GetTask { id, .. } => format!("get {id}"),
        Operation::CancelTask { id } => format!("cancel {id}"),
        Operation::Subscribe { id } => format!("subscribe {id}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn exchanges_of_official_sdks_are_read() {
    let text = include_str!("../../../../conformance/a2a/exchanges.json");
    let vectors: Json = serde_json::from_str(text).expect("JSON");
    for request in vectors["requests"].as_array().expect("requests") {
        let (path, version) = (request["path"].as_str().expect("a path"), request["version"].as_str());
        let body = if request["body"].is_null() { Vec::new() } else { request["body"].to_string().into_bytes() };
        let operation = match path {
            "" => read_rpc(&body, version).operation,
            path => read_rest(request["method"].as_str().expect("a method"), path, None, &body),
        };
        let operation = operation.unwrap_or_else(|error| panic!("{error}: {request}"));
        assert_eq!(named(&operation), request["operation"], "{request}");
    }
    for answer in vectors["answers"].as_array().expect("answers") {
        let again = match answer.get("id") {
            Some(_) => serde_json::to_value(serde_json::from_value::<A2aTask>(answer.clone()).expect("a task")),
            None => serde_json::to_value(serde_json::from_value::<TaskUpdate>(answer.clone()).expect("an update")),
        };
        assert_eq!(again.expect("it is written"), *answer);
    }
}
