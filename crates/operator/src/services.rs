//! What agents offer, and the topics and groups they are in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which services are wanted. What is not set matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServicesWanted {
    /// The service's name or type, by a pattern as in [`AgentsWanted::name`].
    pub service: Option<String>,
    /// The agent, by such a pattern.
    pub agent: Option<String>,
    /// The service's name, by such a pattern.
    pub name: Option<String>,
    /// The service's type, by such a pattern.
    pub kind: Option<String>,
    /// An ontology that the agent or the service knows.
    pub ontology: Option<String>,
    /// An interaction protocol that the agent or the service speaks.
    pub protocol: Option<String>,
    /// A content language that the agent or the service speaks.
    pub language: Option<String>,
    /// Properties of the service, with their values as they are printed; an empty value matches any.
    pub properties: Vec<(String, String)>,
    /// Entries of agents of other nodes are wanted as well, except those of these nodes; `None` if none are.
    pub elsewhere_but: Option<Vec<String>>,
}

/// Entries of the directory facilitator, in order of registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServicesFound {
    /// The entries.
    pub entries: Vec<EntryInfo>,
}

/// An agent's entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryInfo {
    /// The agent.
    pub agent: String,
    /// The node where it lives.
    pub node: String,
    /// Its services; of those, when something of services was asked for, only the ones that fit.
    pub services: Vec<ServiceInfo>,
    /// Interaction protocols it speaks.
    pub protocols: Vec<String>,
    /// Ontologies it knows.
    pub ontologies: Vec<String>,
    /// Content languages it speaks.
    pub languages: Vec<String>,
    /// How long the entry lasts yet; `None` for as long as the agent lives, or if only its node knows.
    pub lease_left_ms: Option<u64>,
}

/// What an operator has an agent's entry say (FIPA00023 6.1.2). What is left out is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntryWanted {
    /// The agent's local name.
    pub agent: String,
    /// Its services.
    pub services: Vec<ServiceInfo>,
    /// Interaction protocols it speaks.
    pub protocols: Vec<String>,
    /// Ontologies it knows.
    pub ontologies: Vec<String>,
    /// Content languages it speaks.
    pub languages: Vec<String>,
    /// How long the entry is to last from now on; `None` for as long as the agent lives.
    pub lease_ms: Option<u64>,
}

/// A service. What is left out where one is described is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Who owns it.
    pub owner: Option<String>,
    /// Interaction protocols it speaks.
    pub protocols: Vec<String>,
    /// Ontologies it knows.
    pub ontologies: Vec<String>,
    /// Content languages it speaks.
    pub languages: Vec<String>,
    /// What else tells it from others, as printed.
    pub properties: Vec<(String, String)>,
}

/// A standing search in the DF: who is told of which entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionInfo {
    /// Who is told.
    pub subscriber: String,
    /// In which conversation, if it asked in FIPA's words; AgentSpeak's `.df_subscribe` has none.
    pub conversation: Option<String>,
    /// The agent whose entry it is; any if missing.
    pub agent: Option<String>,
    /// Services that the entry has, as far as something is said of them.
    pub services: Vec<ServiceInfo>,
    /// Protocols that it has.
    pub protocols: Vec<String>,
    /// Ontologies that it has.
    pub ontologies: Vec<String>,
    /// Languages that it has.
    pub languages: Vec<String>,
}

/// What [`Request::Subscriptions`](super::Request::Subscriptions) finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionsFound {
    /// The oldest first.
    pub subscriptions: Vec<SubscriptionInfo>,
    /// How many there are.
    pub total: u64,
}

/// A topic or a group, as one node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TopicInfo {
    /// Its name: `topic:NAME` or `group:NAME`.
    pub name: String,
    /// The node.
    pub node: String,
    /// How many of its agents are subscribers or members.
    pub members: u64,
    /// How many other nodes have some.
    pub other_nodes: u64,
}
