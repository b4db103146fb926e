//! Table of the routes: the router and the OpenAPI document are made of it.

use std::sync::Arc;

use axum::routing::{MethodRouter, delete, get, post, put};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{acts, looks, sockets};
use crate::health::HealthReport;
use crate::shared::GatewayState;
use whimbrel_operator::{AgentInfo, ConversationsFound, EntryWanted, Sending, Spawning};

/// A route.
pub struct HttpRoute {
    pub method: &'static str,
    pub path: &'static str,
    /// Purpose of the route, for people.
    pub about: &'static str,
    pub who: RouteAccess,
    /// Shape of the query.
    pub query: Option<Shape>,
    /// Shape of the body, in JSON.
    pub body: Option<Shape>,
    pub answer: RouteAnswer,
    pub handler: MethodRouter<Arc<GatewayState>>,
}

/// Shape of a JSON value.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// Clients that may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    Anybody,
    Viewer,
    Admin,
    /// Clients that identify themselves in their first message.
    Greeted,
}

/// Kind of answer of a route that succeeds.
#[derive(Clone, Copy)]
pub enum RouteAnswer {
    /// Answers of the node, by their names.
    Answers(&'static [&'static str]),
    /// Another JSON value.
    Json(Shape),
    /// JSON value whose status is 200 if all is well, else 503.
    Judgement(Shape),
    /// Any JSON.
    AnyJson,
    /// File of this media type.
    File(&'static str),
    /// WebSocket with this subprotocol.
    Socket(&'static str),
    /// Redirect.
    Elsewhere,
}

impl HttpRoute {
    fn of(
        method: &'static str,
        path: &'static str,
        handler: MethodRouter<Arc<GatewayState>>,
        about: &'static str,
    ) -> Self {
        let (who, answer) = if method == "get" {
            (RouteAccess::Viewer, RouteAnswer::AnyJson)
        } else {
            (RouteAccess::Admin, RouteAnswer::Answers(&["done"]))
        };
        Self { method, path, about, who, query: None, body: None, answer, handler }
    }

    fn answers(self, names: &'static [&'static str]) -> Self {
        Self { answer: RouteAnswer::Answers(names), ..self }
    }

    fn tells(self, answer: RouteAnswer) -> Self {
        Self { answer, ..self }
    }

    fn for_anybody(self) -> Self {
        Self { who: RouteAccess::Anybody, ..self }
    }

    fn for_greeted(self) -> Self {
        Self { who: RouteAccess::Greeted, ..self }
    }

    fn asks<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }
}

/// Returns the table of all routes.
pub fn routes() -> Vec<HttpRoute> {
    [nodes(), agents(), minds(), traffic(), beside()].into_iter().flatten().collect()
}

fn nodes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::of("get", "/api/v1/node", get(looks::node), "Facts about the node.")
            .asks::<looks::NodeAsked>()
            .answers(&["node"]),
        HttpRoute::of("get", "/api/v1/nodes", get(looks::nodes), "Nodes of the cluster.").answers(&["nodes"]),
        HttpRoute::of("get", "/api/v1/totals", get(looks::totals), "Facts about all nodes, together and each.")
            .answers(&["totals"]),
        HttpRoute::of("get", "/api/v1/traffic", get(looks::traffic), "Counts of messages by pair of agents.")
            .asks::<looks::TrafficAsked>()
            .answers(&["traffic"]),
        HttpRoute::of(
            "post",
            "/api/v1/nodes/{name}/drain",
            post(acts::drain),
            "Drains a node of the cluster, or ends that.",
        )
        .takes::<acts::Draining>(),
        HttpRoute::of(
            "get",
            "/api/v1/devices",
            get(looks::devices),
            "Devices that take part: tabs, phones, volunteers.",
        )
        .asks::<looks::DevicesAsked>()
        .answers(&["devices"]),
        HttpRoute::of("get", "/api/v1/codes", get(looks::codes), "Code of the node, and agents that run it.")
            .asks::<looks::NodeAsked>()
            .answers(&["codes"]),
        HttpRoute::of("get", "/api/v1/quotas", get(looks::quotas), "Quotas of agents and owners, and their use.")
            .asks::<looks::QuotasAsked>()
            .answers(&["quotas"]),
        HttpRoute::of("get", "/api/v1/security", get(looks::security), "Certificates, and counts of refusals.")
            .asks::<looks::NodeAsked>()
            .answers(&["security"]),
        HttpRoute::of("get", "/api/v1/refusals", get(looks::refusals), "Recent refusals.")
            .asks::<looks::RefusalsAsked>()
            .answers(&["refusals"]),
        HttpRoute::of("get", "/api/v1/audit", get(looks::audit), "Entries of the audit log, newest first.")
            .asks::<looks::AuditAsked>()
            .answers(&["audit"]),
        HttpRoute::of("get", "/api/v1/links", get(looks::links), "Links to other nodes.").answers(&["links"]),
        HttpRoute::of("get", "/api/v1/subscriptions", get(looks::subscriptions), "Standing searches in the DF.")
            .asks::<looks::SubscriptionsAsked>()
            .answers(&["subscriptions"]),
        HttpRoute::of("get", "/api/v1/topics", get(looks::topics), "Topics and groups.").answers(&["topics"]),
    ]
}

fn agents() -> Vec<HttpRoute> {
    vec![
        HttpRoute::of("get", "/api/v1/agents", get(looks::agents), "Agents.")
            .asks::<looks::AgentsAsked>()
            .answers(&["agents"]),
        HttpRoute::of(
            "post",
            "/api/v1/agents",
            post(acts::spawn),
            "Creates agents of a program of the project, all or none.",
        )
        .takes::<Spawning>()
        .answers(&["spawned"]),
        HttpRoute::of("get", "/api/v1/agents/{name}", get(looks::agent), "One agent.")
            .tells(RouteAnswer::Json(SchemaGenerator::subschema_for::<AgentInfo>)),
        HttpRoute::of(
            "delete",
            "/api/v1/agents/{name}",
            delete(acts::kill),
            "Kills an agent, or all whose names match a pattern.",
        )
        .answers(&["done", "acted"]),
        HttpRoute::of("post", "/api/v1/agents/{name}/clone", post(acts::clone), "Creates a copy of the agent.")
            .takes::<acts::Copied>(),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/move",
            post(acts::move_to),
            "Moves the agent to another node, or to a device.",
        )
        .takes::<acts::Destination>()
        .answers(&["done", "moved"]),
        HttpRoute::of("post", "/api/v1/agents/{name}/recall", post(acts::recall), "Calls the agent home."),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/{step}",
            post(acts::step),
            "Takes one step of the life cycle, of an agent or of all whose names match a pattern.",
        )
        .answers(&["done", "acted"]),
    ]
}

fn minds() -> Vec<HttpRoute> {
    vec![
        HttpRoute::of("get", "/api/v1/agents/{name}/mind", get(looks::mind), "Inspection of the agent.")
            .answers(&["mind"]),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/debug",
            post(acts::debug),
            "Pauses the agent, or has it continue.",
        )
        .takes::<acts::Ordered>(),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/breakpoints",
            post(acts::set_breakpoint),
            "Sets or removes a breakpoint on a plan.",
        )
        .takes::<acts::Breaking>(),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/line-breakpoints",
            post(acts::set_line_breakpoint),
            "Sets or removes a breakpoint on a line of the program.",
        )
        .takes::<acts::LineBreaking>(),
        HttpRoute::of("get", "/api/v1/programs", get(looks::programs), "Programs of the project.")
            .asks::<looks::NodeAsked>()
            .answers(&["programs"]),
        HttpRoute::of("get", "/api/v1/agents/{name}/program", get(looks::program_text), "Text of the agent's program.")
            .asks::<looks::ProgramAsked>()
            .answers(&["program_text"]),
        HttpRoute::of("post", "/api/v1/agents/{name}/beliefs", post(acts::believe), "Adds a belief, or removes it.")
            .takes::<acts::Believing>(),
        HttpRoute::of("post", "/api/v1/agents/{name}/goals", post(acts::pursue), "Has the agent pursue a goal.")
            .takes::<acts::Pursuing>(),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/query",
            post(acts::query),
            "Finds answers to a formula in the mind of the agent.",
        )
        .takes::<acts::Querying>()
        .answers(&["answers"]),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/perform",
            post(acts::perform),
            "Has the agent perform a plan body, and waits for its end.",
        )
        .takes::<acts::Performing>()
        .answers(&["performed"]),
        HttpRoute::of(
            "post",
            "/api/v1/agents/{name}/program",
            post(acts::load),
            "Loads a program into the agent; beliefs and goals stay.",
        )
        .takes::<acts::NewProgram>()
        .answers(&["loaded"]),
    ]
}

fn traffic() -> Vec<HttpRoute> {
    vec![
        HttpRoute::of("get", "/api/v1/services", get(looks::services), "Directory entries of agents.")
            .asks::<looks::ServicesAsked>()
            .answers(&["services"]),
        HttpRoute::of("post", "/api/v1/services", post(acts::register), "Registers an agent with the DF.")
            .takes::<EntryWanted>(),
        HttpRoute::of("put", "/api/v1/services", put(acts::modify), "Replaces an agent's directory entry.")
            .takes::<EntryWanted>(),
        HttpRoute::of(
            "delete",
            "/api/v1/services/{name}",
            delete(acts::deregister),
            "Removes an agent's directory entry.",
        ),
        HttpRoute::of("get", "/api/v1/dead-letters", get(looks::dead_letters), "Newest dead letters.")
            .asks::<looks::LettersAsked>()
            .answers(&["dead_letters"]),
        HttpRoute::of("get", "/api/v1/conversations", get(looks::conversations), "Entries of the conversation log.")
            .asks::<looks::ConversationsAsked>()
            .tells(RouteAnswer::Json(SchemaGenerator::subschema_for::<ConversationsFound>)),
        HttpRoute::of("get", "/api/v1/output", get(looks::output), "Lines that agents print, and failures.")
            .asks::<looks::OutputAsked>()
            .answers(&["output"]),
        HttpRoute::of("get", "/api/v1/events", get(looks::events), "Recent events, for clients that ask again.")
            .asks::<looks::EventsAsked>()
            .answers(&["events"]),
        HttpRoute::of(
            "post",
            "/api/v1/messages",
            post(acts::send),
            "Sends a message, and waits for a reply if asked to.",
        )
        .takes::<Sending>()
        .answers(&["sent", "reply"]),
    ]
}

fn beside() -> Vec<HttpRoute> {
    vec![
        HttpRoute::of("get", "/api/v1/openapi.json", get(looks::openapi), "This document.").for_anybody(),
        HttpRoute::of("get", "/api/v1/live", get(sockets::live), "Live socket of consoles.")
            .for_greeted()
            .tells(RouteAnswer::Socket(crate::live::SUBPROTOCOL)),
        HttpRoute::of("get", "/session", get(sockets::session), "Session protocol, for programs with agents.")
            .for_greeted()
            .tells(RouteAnswer::Socket(crate::sessions::SUBPROTOCOL)),
        HttpRoute::of("get", "/health", get(looks::health), "Health of the node; 503 if it has faults.")
            .for_anybody()
            .tells(RouteAnswer::Judgement(SchemaGenerator::subschema_for::<HealthReport>)),
        HttpRoute::of("get", "/metrics", get(looks::metrics), "Metrics in the OpenMetrics format.")
            .tells(RouteAnswer::File(crate::metrics::KIND)),
        HttpRoute::of("get", "/pages", get(looks::to_pages), "Redirects to the node's pages.")
            .for_anybody()
            .tells(RouteAnswer::Elsewhere),
        HttpRoute::of("get", "/pages/", get(looks::home_page), "First of the node's pages (`--pages`).")
            .for_anybody()
            .tells(RouteAnswer::File("text/html; charset=utf-8")),
        HttpRoute::of("get", "/pages/{*path}", get(looks::page), "File of the node's pages.")
            .for_anybody()
            .tells(RouteAnswer::File("application/octet-stream")),
    ]
}
