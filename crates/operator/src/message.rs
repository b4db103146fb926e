//! Shape of a message in its JSON encoding, for the OpenAPI document. The codec itself is `acl::codec::json`;
//! docs/reference/acl-encodings.md has its rules.

use schemars::JsonSchema;

/// An ACL message (FIPA00061) in its JSON encoding.
#[derive(JsonSchema)]
#[schemars(rename = "Message", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is wanted")]
pub(crate) struct MessageShape {
    /// Communicative act: one of FIPA's (`inform`, `request`, `cfp`, ...), or another one (`tell`, `askOne`, ...).
    performative: String,
    /// Sender.
    sender: Option<AgentShape>,
    /// Receivers.
    receivers: Option<Vec<AgentShape>>,
    /// Content: numbers, text, booleans, lists and null as in JSON, other values as `{"atom": ..}`,
    /// `{"term": .., "args": [..]}` and the like.
    content: Option<serde_json::Value>,
    /// Receivers of replies, instead of the sender.
    reply_to: Option<Vec<AgentShape>>,
    /// Language of the content.
    language: Option<String>,
    /// Encoding of the content.
    encoding: Option<String>,
    /// Ontology of the content: gives its words meaning.
    ontology: Option<String>,
    /// Interaction protocol.
    protocol: Option<String>,
    /// Conversation of the message.
    conversation_id: Option<String>,
    /// Text that a reply must quote as `in_reply_to`.
    reply_with: Option<String>,
    /// Quote of the `reply_with` of the answered message.
    in_reply_to: Option<String>,
    /// Deadline for replies, in milliseconds since 1970.
    reply_by_ms: Option<i64>,
    /// Further parameters, each with its name and value.
    user: Option<Vec<(String, serde_json::Value)>>,
}

/// Agent identifier: a name (`amy`, `amy@home`), or an object with more members.
#[derive(JsonSchema)]
#[schemars(rename = "Agent", untagged)]
#[expect(dead_code, reason = "only its shape is wanted")]
enum AgentShape {
    /// Name.
    Name(String),
    /// Name and addresses.
    Whole {
        /// Name; without the platform if that is a member of its own.
        name: String,
        /// Platform, if the name alone would be read as another's.
        platform: Option<String>,
        /// Addresses, the best first.
        addresses: Option<Vec<String>>,
        /// Agents that can resolve the name to addresses.
        resolvers: Option<Vec<AgentShape>>,
        /// Further members, each with its name and value.
        user: Option<Vec<(String, serde_json::Value)>>,
    },
}
