//! Routes that change something.

use axum::body::Body;
use axum::extract::Path;
use axum::http::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_platform::ams::LifecycleStep;
use whimbrel_platform::inspection::DebugOrder;
use whimbrel_platform::limits::{HTTP_WAIT_MS_MAX, QUERY_ANSWERS_MAX, QUERY_PATIENCE_MS};

use super::asked::Json;
use super::{Admin, State, answered, refused};
use whimbrel_operator::{EntryWanted, Loading, ProgramSource, Reason, Refusal, Request, Sending, Spawning};

/// Destination of a move.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Destination {
    to: String,
}

/// Name of a clone.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Copied {
    name: String,
}

/// Drain state that a node is to have.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Draining {
    drains: bool,
}

/// Order to an agent that is being debugged.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Ordered {
    #[schemars(with = "String")]
    order: DebugOrder,
}

/// Breakpoint at a plan.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Breaking {
    plan: String,
    on: bool,
}

/// Breakpoint at a line of a program.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct LineBreaking {
    file: String,
    line: u32,
    on: bool,
}

/// Belief to add to an agent, or to remove.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Believing {
    belief: String,
    add: bool,
}

/// Goal that an agent is to pursue.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Pursuing {
    goal: String,
}

/// Formula to find answers to.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Querying {
    formula: String,
    /// Maximal number of answers.
    #[serde(default = "answers_max")]
    limit: usize,
}

fn answers_max() -> usize {
    QUERY_ANSWERS_MAX
}

/// Plan body to perform.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Performing {
    body: String,
    /// Longest time to wait for the end of the body, in milliseconds.
    #[serde(default = "wait_default")]
    wait_ms: u64,
}

fn wait_default() -> u64 {
    QUERY_PATIENCE_MS
}

/// Program to load into an agent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NewProgram {
    /// File of the program, as the society's project names it. With `source`, only a name.
    program: String,
    /// Text of the program, instead of a file of the project.
    source: Option<ProgramSource>,
    /// True to pursue the initial goals of the program.
    #[serde(default)]
    goals: bool,
}

pub async fn send(state: State, by: Admin, Json(mut sending): Json<Sending>) -> Response<Body> {
    sending.wait_ms = sending.wait_ms.map(|wait| wait.min(HTTP_WAIT_MS_MAX));
    answered(&state.act(by, Request::Send(Box::new(sending))).await)
}

pub async fn register(state: State, by: Admin, Json(entry): Json<EntryWanted>) -> Response<Body> {
    answered(&state.act(by, Request::Register(Box::new(entry))).await)
}

pub async fn modify(state: State, by: Admin, Json(entry): Json<EntryWanted>) -> Response<Body> {
    answered(&state.act(by, Request::Modify(Box::new(entry))).await)
}

pub async fn deregister(state: State, by: Admin, Path(agent): Path<String>) -> Response<Body> {
    answered(&state.act(by, Request::Deregister { agent }).await)
}

pub async fn step(state: State, by: Admin, Path((agent, step)): Path<(String, String)>) -> Response<Body> {
    match serde_json::from_value::<LifecycleStep>(serde_json::Value::String(step.clone())) {
        Ok(step) => answered(&state.act(by, Request::Step { agent, step }).await),
        Err(_) => refused(&Refusal::new(Reason::NoSuchPath, format!("unknown life-cycle step {step}"))),
    }
}

pub async fn spawn(state: State, by: Admin, Json(spawning): Json<Spawning>) -> Response<Body> {
    answered(&state.act(by, Request::Spawn(Box::new(spawning))).await)
}

pub async fn clone(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Copied { name }): Json<Copied>,
) -> Response<Body> {
    answered(&state.act(by, Request::Clone { agent, name }).await)
}

pub async fn kill(state: State, by: Admin, Path(agent): Path<String>) -> Response<Body> {
    answered(&state.act(by, Request::Kill { agent }).await)
}

pub async fn move_to(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Destination { to }): Json<Destination>,
) -> Response<Body> {
    answered(&state.act(by, Request::Move { agent, to }).await)
}

pub async fn drain(
    state: State,
    by: Admin,
    Path(node): Path<String>,
    Json(Draining { drains }): Json<Draining>,
) -> Response<Body> {
    answered(&state.act(by, Request::Drain { node, drains }).await)
}

pub async fn recall(state: State, by: Admin, Path(agent): Path<String>) -> Response<Body> {
    answered(&state.act(by, Request::Recall { agent }).await)
}

pub async fn debug(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Ordered { order }): Json<Ordered>,
) -> Response<Body> {
    answered(&state.act(by, Request::Debug { agent, order }).await)
}

pub async fn set_breakpoint(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Breaking { plan, on }): Json<Breaking>,
) -> Response<Body> {
    answered(&state.act(by, Request::Breakpoint { agent, plan, on }).await)
}

pub async fn set_line_breakpoint(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(LineBreaking { file, line, on }): Json<LineBreaking>,
) -> Response<Body> {
    answered(&state.act(by, Request::LineBreakpoint { agent, file, line, on }).await)
}

pub async fn believe(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Believing { belief, add }): Json<Believing>,
) -> Response<Body> {
    answered(&state.act(by, Request::Believe { agent, belief, add }).await)
}

pub async fn pursue(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Pursuing { goal }): Json<Pursuing>,
) -> Response<Body> {
    answered(&state.act(by, Request::Pursue { agent, goal }).await)
}

pub async fn query(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Querying { formula, limit }): Json<Querying>,
) -> Response<Body> {
    answered(&state.act(by, Request::Query { agent, formula, limit }).await)
}

pub async fn perform(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(Performing { body, wait_ms }): Json<Performing>,
) -> Response<Body> {
    let wait_ms = wait_ms.min(HTTP_WAIT_MS_MAX);
    answered(&state.act(by, Request::Perform { agent, body, wait_ms }).await)
}

pub async fn load(
    state: State,
    by: Admin,
    Path(agent): Path<String>,
    Json(NewProgram { program, source, goals }): Json<NewProgram>,
) -> Response<Body> {
    answered(&state.act(by, Request::Load(Box::new(Loading { agent, program, source, goals }))).await)
}
