//! Services of agents, and their topics and groups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Filter of directory entries. A member that is not set matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServicesWanted {
    /// Name or type of the service, as a pattern of [`AgentsWanted::name`].
    pub service: Option<String>,
    /// Agent, as such a pattern.
    pub agent: Option<String>,
    /// Name of the service, as such a pattern.
    pub name: Option<String>,
    /// Type of the service, as such a pattern.
    pub kind: Option<String>,
    /// Ontology that the agent or the service knows.
    pub ontology: Option<String>,
    /// Interaction protocol that the agent or the service speaks.
    pub protocol: Option<String>,
    /// Content language that the agent or the service speaks.
    pub language: Option<String>,
    /// Properties of the service, with their printed values; an empty value matches any.
    pub properties: Vec<(String, String)>,
    /// Nodes whose entries are left out of a list over all nodes; `None` to list entries of this node only.
    pub elsewhere_but: Option<Vec<String>>,
}

/// Entries of the directory facilitator, in order of registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServicesFound {
    /// Entries, in order.
    pub entries: Vec<EntryInfo>,
}

/// Directory entry of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryInfo {
    /// Name of the agent.
    pub agent: String,
    /// Node of the agent.
    pub node: String,
    /// Services of the agent; only the matching ones, if the filter is about services.
    pub services: Vec<ServiceInfo>,
    /// Interaction protocols of the agent.
    pub protocols: Vec<String>,
    /// Ontologies of the agent.
    pub ontologies: Vec<String>,
    /// Content languages of the agent.
    pub languages: Vec<String>,
    /// Rest of the entry's lease; `None` for the agent's whole life, or if only its node knows.
    pub lease_left_ms: Option<u64>,
}

/// Directory entry that an operator writes for an agent (FIPA00023 6.1.2). A missing member is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntryWanted {
    /// Local name of the agent.
    pub agent: String,
    /// Services of the agent.
    pub services: Vec<ServiceInfo>,
    /// Interaction protocols of the agent.
    pub protocols: Vec<String>,
    /// Ontologies of the agent.
    pub ontologies: Vec<String>,
    /// Content languages of the agent.
    pub languages: Vec<String>,
    /// Lease of the entry from now on; `None` for the agent's whole life.
    pub lease_ms: Option<u64>,
}

/// Description of a service. A missing member is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceInfo {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: String,
    /// Owner.
    pub owner: Option<String>,
    /// Interaction protocols of the service.
    pub protocols: Vec<String>,
    /// Ontologies of the service.
    pub ontologies: Vec<String>,
    /// Content languages of the service.
    pub languages: Vec<String>,
    /// Further properties, with their printed values.
    pub properties: Vec<(String, String)>,
}

/// Standing search in the DF: a subscriber, and the entries it is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionInfo {
    /// Subscriber.
    pub subscriber: String,
    /// Conversation of a search by FIPA's messages; AgentSpeak's `.df_subscribe` has none.
    pub conversation: Option<String>,
    /// Agent of the entry; any if missing.
    pub agent: Option<String>,
    /// Services of the entry; members that are not set match any.
    pub services: Vec<ServiceInfo>,
    /// Protocols of the entry.
    pub protocols: Vec<String>,
    /// Ontologies of the entry.
    pub ontologies: Vec<String>,
    /// Languages of the entry.
    pub languages: Vec<String>,
}

/// Standing searches, found by [`Request::Subscriptions`](super::Request::Subscriptions).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionsFound {
    /// Standing searches, the oldest first.
    pub subscriptions: Vec<SubscriptionInfo>,
    /// Number of all standing searches.
    pub total: u64,
}

/// Topic or group, as one node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TopicInfo {
    /// Name: `topic:NAME` or `group:NAME`.
    pub name: String,
    /// Name of the node.
    pub node: String,
    /// Number of the node's agents that are subscribers or members.
    pub members: u64,
    /// Number of other nodes with subscribers or members.
    pub other_nodes: u64,
}
