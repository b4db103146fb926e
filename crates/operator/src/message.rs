//! How a message looks in its JSON encoding, for documents: what reads and writes it is `acl::codec::json`, and
//! docs/reference/acl-encodings.md has its rules.

use schemars::JsonSchema;

/// An ACL message (FIPA00061) in its JSON encoding.
#[derive(JsonSchema)]
#[schemars(rename = "Message", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is wanted")]
pub(crate) struct MessageShape {
    /// One of FIPA's communicative acts (`inform`, `request`, `cfp`, ...), or another one (`tell`, `askOne`, ...).
    performative: String,
    /// Who says it.
    sender: Option<AgentShape>,
    /// To whom.
    receivers: Option<Vec<AgentShape>>,
    /// What is said: numbers, text, booleans, lists and null as in JSON, other values as `{"atom": ..}`, `{"term": .., "args": [..]}` and the like.
    content: Option<serde_json::Value>,
    /// Who is to get the answer, if not the sender.
    reply_to: Option<Vec<AgentShape>>,
    /// The language of the content.
    language: Option<String>,
    /// How the content is encoded.
    encoding: Option<String>,
    /// What the words of the content mean.
    ontology: Option<String>,
    /// The interaction protocol.
    protocol: Option<String>,
    /// The conversation that it belongs to.
    conversation_id: Option<String>,
    /// What the answer is to quote as `in_reply_to`.
    reply_with: Option<String>,
    /// What it answers: the `reply_with` of that.
    in_reply_to: Option<String>,
    /// Until when an answer is wanted, in milliseconds since 1970.
    reply_by_ms: Option<i64>,
    /// Further parameters, each with its name and value.
    user: Option<Vec<(String, serde_json::Value)>>,
}

/// An agent: its name (`amy`, `amy@home`), or an object if there is more to say.
#[derive(JsonSchema)]
#[schemars(rename = "Agent", untagged)]
#[expect(dead_code, reason = "only its shape is wanted")]
enum AgentShape {
    /// Its name.
    Name(String),
    /// Its name and where it can be reached.
    Whole {
        /// Its name; without its platform if that is said apart.
        name: String,
        /// Its platform, if its name alone would be read as another's.
        platform: Option<String>,
        /// Where it can be reached, the best first.
        addresses: Option<Vec<String>>,
        /// Who knows where it can be reached.
        resolvers: Option<Vec<AgentShape>>,
        /// What else is said of it, each with its name and value.
        user: Option<Vec<(String, serde_json::Value)>>,
    },
}
