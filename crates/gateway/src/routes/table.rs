//! Table of the routes: the router and the OpenAPI document are made of it.

use std::sync::Arc;

use axum::routing::{MethodRouter, delete, get, post, put};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{acts, looks, sockets};
use crate::health::Health;
use crate::shared::Shared;
use whimbrel_operator::{AgentInfo, ConversationsFound, EntryWanted, Sending, Spawning};

/// A route.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    /// Purpose of the route, for people.
    pub about: &'static str,
    pub who: Who,
    /// Shape of the query.
    pub query: Option<Shape>,
    /// Shape of the body, in JSON.
    pub body: Option<Shape>,
    pub answer: Told,
    pub handler: MethodRouter<Arc<Shared>>,
}

/// Shape of a JSON value.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// Clients that may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Anybody,
    Viewer,
    Admin,
    /// Clients that identify themselves in their first message.
    Greeted,
}

/// Kind of answer of a route that succeeds.
#[derive(Clone, Copy)]
pub enum Told {
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

impl Route {
    fn of(method: &'static str, path: &'static str, handler: MethodRouter<Arc<Shared>>, about: &'static str) -> Self {
        let (who, answer) =
            if method == "get" { (Who::Viewer, Told::AnyJson) } else { (Who::Admin, Told::Answers(&["done"])) };
        Self { method, path, about, who, query: None, body: None, answer, handler }
    }

    fn answers(self, names: &'static [&'static str]) -> Self {
        Self { answer: Told::Answers(names), ..self }
    }

    fn tells(self, answer: Told) -> Self {
        Self { answer, ..self }
    }

    fn for_anybody(self) -> Self {
        Self { who: Who::Anybody, ..self }
    }

    fn for_greeted(self) -> Self {
        Self { who: Who::Greeted, ..self }
    }

    fn asks<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }
}

/// Table of all routes.
pub fn routes() -> Vec<Route> {
    [nodes(), agents(), minds(), traffic(), beside()].into_iter().flatten().collect()
}

fn nodes() -> Vec<Route> {
    vec![
        Route::of("get", "/api/v1/node", get(looks::node), "The node, and how it is doing.")
            .asks::<looks::NodeAsked>()
            .answers(&["node"]),
        Route::of("get", "/api/v1/nodes", get(looks::nodes), "The nodes of its cluster.").answers(&["nodes"]),
        Route::of("get", "/api/v1/totals", get(looks::totals), "How all nodes are doing, together and each.")
            .answers(&["totals"]),
        Route::of("get", "/api/v1/traffic", get(looks::traffic), "Who wrote to whom since somebody began to ask.")
            .asks::<looks::TrafficAsked>()
            .answers(&["traffic"]),
        Route::of(
            "post",
            "/api/v1/nodes/{name}/drain",
            post(acts::drain),
            "Has a node of the cluster hand over all, or take its share again.",
        )
        .takes::<acts::Draining>(),
        Route::of(
            "get",
            "/api/v1/devices",
            get(looks::devices),
            "The devices that take part: tabs, phones, volunteers.",
        )
        .asks::<looks::DevicesAsked>()
        .answers(&["devices"]),
        Route::of("get", "/api/v1/codes", get(looks::codes), "The code that it has, and how many agents run it.")
            .asks::<looks::NodeAsked>()
            .answers(&["codes"]),
        Route::of("get", "/api/v1/quotas", get(looks::quotas), "What agents and their owners use of what they may.")
            .asks::<looks::QuotasAsked>()
            .answers(&["quotas"]),
        Route::of("get", "/api/v1/security", get(looks::security), "Its certificates, and what it refused by reason.")
            .asks::<looks::NodeAsked>()
            .answers(&["security"]),
        Route::of("get", "/api/v1/refusals", get(looks::refusals), "What it refused lately.")
            .asks::<looks::RefusalsAsked>()
            .answers(&["refusals"]),
        Route::of("get", "/api/v1/audit", get(looks::audit), "What its audit log holds, from its end.")
            .asks::<looks::AuditAsked>()
            .answers(&["audit"]),
        Route::of("get", "/api/v1/links", get(looks::links), "Its links to other nodes.").answers(&["links"]),
        Route::of("get", "/api/v1/subscriptions", get(looks::subscriptions), "Standing searches in the DF.")
            .asks::<looks::SubscriptionsAsked>()
            .answers(&["subscriptions"]),
        Route::of("get", "/api/v1/topics", get(looks::topics), "Topics and groups.").answers(&["topics"]),
    ]
}

fn agents() -> Vec<Route> {
    vec![
        Route::of("get", "/api/v1/agents", get(looks::agents), "Agents.")
            .asks::<looks::AgentsAsked>()
            .answers(&["agents"]),
        Route::of(
            "post",
            "/api/v1/agents",
            post(acts::spawn),
            "Makes agents of a program of the project, all or none.",
        )
        .takes::<Spawning>()
        .answers(&["spawned"]),
        Route::of("get", "/api/v1/agents/{name}", get(looks::agent), "One agent.")
            .tells(Told::Json(SchemaGenerator::subschema_for::<AgentInfo>)),
        Route::of(
            "delete",
            "/api/v1/agents/{name}",
            delete(acts::kill),
            "Ends an agent, or all whose names fit a pattern.",
        )
        .answers(&["done", "acted"]),
        Route::of(
            "post",
            "/api/v1/agents/{name}/clone",
            post(acts::clone),
            "Makes an agent that goes on as this one does.",
        )
        .takes::<acts::Copied>(),
        Route::of(
            "post",
            "/api/v1/agents/{name}/move",
            post(acts::move_to),
            "Has it go on on another node, or on a device.",
        )
        .takes::<acts::Destination>()
        .answers(&["done", "moved"]),
        Route::of("post", "/api/v1/agents/{name}/recall", post(acts::recall), "Calls it home."),
        Route::of(
            "post",
            "/api/v1/agents/{name}/{step}",
            post(acts::step),
            "Takes it a step through its life, or all whose names fit a pattern.",
        )
        .answers(&["done", "acted"]),
    ]
}

fn minds() -> Vec<Route> {
    vec![
        Route::of("get", "/api/v1/agents/{name}/mind", get(looks::mind), "What is in it.").answers(&["mind"]),
        Route::of("post", "/api/v1/agents/{name}/debug", post(acts::debug), "Has it pause, go on, or take a step.")
            .takes::<acts::Ordered>(),
        Route::of(
            "post",
            "/api/v1/agents/{name}/breakpoints",
            post(acts::set_breakpoint),
            "Has it pause when a plan is chosen.",
        )
        .takes::<acts::Breaking>(),
        Route::of(
            "post",
            "/api/v1/agents/{name}/beliefs",
            post(acts::believe),
            "Has it believe something, or no more.",
        )
        .takes::<acts::Believing>(),
        Route::of("post", "/api/v1/agents/{name}/goals", post(acts::pursue), "Has it pursue a goal.")
            .takes::<acts::Pursuing>(),
    ]
}

fn traffic() -> Vec<Route> {
    vec![
        Route::of("get", "/api/v1/services", get(looks::services), "Entries of the directory facilitator.")
            .asks::<looks::ServicesAsked>()
            .answers(&["services"]),
        Route::of("post", "/api/v1/services", post(acts::register), "Registers an agent with the DF, whoever it is.")
            .takes::<EntryWanted>(),
        Route::of(
            "put",
            "/api/v1/services",
            put(acts::modify),
            "Puts this in the place of what an agent's entry says.",
        )
        .takes::<EntryWanted>(),
        Route::of(
            "delete",
            "/api/v1/services/{name}",
            delete(acts::deregister),
            "Takes an agent's entry out of the DF.",
        ),
        Route::of("get", "/api/v1/dead-letters", get(looks::dead_letters), "The newest messages that reached nobody.")
            .asks::<looks::LettersAsked>()
            .answers(&["dead_letters"]),
        Route::of("get", "/api/v1/conversations", get(looks::conversations), "What the log of conversations holds.")
            .asks::<looks::ConversationsAsked>()
            .tells(Told::Json(SchemaGenerator::subschema_for::<ConversationsFound>)),
        Route::of(
            "post",
            "/api/v1/messages",
            post(acts::send),
            "Sends a message, and waits for the answer if that is wanted.",
        )
        .takes::<Sending>()
        .answers(&["sent", "reply"]),
    ]
}

fn beside() -> Vec<Route> {
    vec![
        Route::of("get", "/api/v1/openapi.json", get(looks::openapi), "This document.").for_anybody(),
        Route::of("get", "/api/v1/live", get(sockets::live), "The live socket of consoles.")
            .for_greeted()
            .tells(Told::Socket(crate::live::SUBPROTOCOL)),
        Route::of("get", "/session", get(sockets::session), "The session protocol, for programs that have agents.")
            .for_greeted()
            .tells(Told::Socket(crate::sessions::SUBPROTOCOL)),
        Route::of("get", "/health", get(looks::health), "How the node was a moment ago; 503 if something is wrong.")
            .for_anybody()
            .tells(Told::Judgement(SchemaGenerator::subschema_for::<Health>)),
        Route::of("get", "/metrics", get(looks::metrics), "Figures in OpenMetrics.")
            .tells(Told::File(crate::metrics::KIND)),
        Route::of("get", "/pages", get(looks::to_pages), "Leads to the pages that the node serves.")
            .for_anybody()
            .tells(Told::Elsewhere),
        Route::of("get", "/pages/", get(looks::home_page), "The first of the pages that the node serves (`--pages`).")
            .for_anybody()
            .tells(Told::File("text/html; charset=utf-8")),
        Route::of("get", "/pages/{*path}", get(looks::page), "A file of those pages.")
            .for_anybody()
            .tells(Told::File("application/octet-stream")),
    ]
}
