//! Messages of the Debug Adapter Protocol: arguments of the requests that are served, answers and events.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Code of the only kind of error.
const ERROR_ID: u32 = 1;

/// Message of a client.
#[derive(Debug, Deserialize)]
pub struct ClientMessage {
    /// Number of the message.
    #[serde(default)]
    pub seq: i64,
    /// Kind: `request`, or `response` to a request of the adapter, which makes none.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Name of the request.
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    arguments: Value,
}

impl ClientMessage {
    /// Reads the arguments of the request. Some clients send `null` for what they leave out.
    pub fn arguments<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        let mut arguments = if self.arguments.is_null() { json!({}) } else { self.arguments.clone() };
        if let Value::Object(fields) = &mut arguments {
            fields.retain(|_, value| !value.is_null());
        }
        serde_json::from_value(arguments).map_err(|error| {
            anyhow::anyhow!("the arguments of `{}` are not as the protocol has them: {error}", self.command)
        })
    }
}

/// Arguments of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeArguments {
    /// True if the client counts lines from 1.
    pub lines_start_at1: bool,
    /// True if the client counts columns from 1.
    pub columns_start_at1: bool,
}

impl Default for InitializeArguments {
    fn default() -> Self {
        Self { lines_start_at1: true, columns_start_at1: true }
    }
}

/// Arguments of `launch`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub struct LaunchArguments {
    /// Project (.mas2j) or program (.asl).
    pub program: Option<String>,
    /// Further arguments of `whimbrel run`.
    pub args: Vec<String>,
    /// Folder in which the society runs; the present one if missing.
    pub cwd: Option<String>,
    /// Variables of the society's environment.
    pub env: std::collections::BTreeMap<String, String>,
    /// True to run without pauses.
    pub no_debug: bool,
    /// True if each agent pauses before its first step.
    pub stop_on_entry: bool,
}

/// Arguments of `attach`: the options that choose a platform on this machine.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachArguments {
    /// Name of the platform or of its project.
    pub platform: Option<String>,
    /// Name of a node.
    pub node: Option<String>,
    /// Number of a node's process; editors also give it as text.
    pub pid: Option<Value>,
}

/// Arguments of `setBreakpoints`.
#[derive(Debug, Deserialize)]
pub struct SetBreakpointsArguments {
    /// The file.
    pub source: ClientSource,
    /// All breakpoints of the file.
    #[serde(default)]
    pub breakpoints: Vec<WantedBreakpoint>,
}

/// File of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClientSource {
    /// Absolute path.
    pub path: Option<String>,
    /// Name for people.
    pub name: Option<String>,
}

/// Breakpoint that a client wants. Clients send empty texts for what they leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WantedBreakpoint {
    /// Line.
    pub line: i64,
    /// Formula that must hold.
    pub condition: Option<String>,
    /// Visits at which agents pause: `3`, `>= 3`, `% 3`.
    pub hit_condition: Option<String>,
    /// Text to print instead of a pause.
    pub log_message: Option<String>,
}

/// Arguments of `setExceptionBreakpoints`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExceptionArguments {
    /// Chosen filters.
    pub filters: Vec<String>,
}

/// Arguments of requests about one agent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArguments {
    /// Number of the agent's thread.
    pub thread_id: i64,
    /// `instruction` for one reasoning cycle.
    #[serde(default)]
    pub granularity: Option<String>,
    /// First frame that is wanted.
    #[serde(default)]
    pub start_frame: usize,
    /// Number of frames that are wanted; all if 0.
    #[serde(default)]
    pub levels: usize,
}

/// Arguments of `scopes`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopesArguments {
    /// Number of the frame.
    pub frame_id: i64,
}

/// Arguments of `variables`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariablesArguments {
    /// Number of the scope or of the value.
    pub variables_reference: i64,
    /// First variable that is wanted.
    #[serde(default)]
    pub start: usize,
    /// Number of variables that are wanted; all if 0.
    #[serde(default)]
    pub count: usize,
}

/// Arguments of `evaluate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateArguments {
    /// Expression to evaluate.
    pub expression: String,
    /// Frame in which to evaluate it.
    #[serde(default)]
    pub frame_id: Option<i64>,
    /// Place of the expression: `repl`, `watch`, `hover`, `variables`.
    #[serde(default)]
    pub context: Option<String>,
}

/// Arguments of `disconnect`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DisconnectArguments {
    /// True to end the society, too; the default depends on who began it.
    pub terminate_debuggee: Option<bool>,
}

/// Returns what the adapter can do.
pub fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsEvaluateForHovers": true,
        "supportsExceptionInfoRequest": true,
        "supportsSteppingGranularity": true,
        "supportsTerminateRequest": true,
        "supportTerminateDebuggee": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsSingleThreadExecutionRequests": true,
        "exceptionBreakpointFilters": [
            {
                "filter": UNHANDLED, "label": "Failures that no plan handles", "default": true,
                "description": "Pause an agent when a step or goal fails and no plan of its intention handles the failure.",
            },
            {
                "filter": ALL, "label": "All failures of steps and goals", "default": false,
                "description": "Pause an agent when a step or goal fails, also if a plan handles the failure.",
            },
        ],
    })
}

/// Filter of failures that no plan handles.
pub const UNHANDLED: &str = "unhandled";
/// Filter of all failures.
pub const ALL: &str = "all";

/// Returns the response to a request.
pub fn response(request: &ClientMessage, outcome: anyhow::Result<Value>) -> Value {
    let (number, command) = (request.seq, &request.command);
    let base =
        |is_done: bool| json!({ "type": "response", "request_seq": number, "command": command, "success": is_done });
    match outcome {
        Ok(body) => {
            let mut response = base(true);
            if !body.is_null() {
                set(&mut response, "body", body);
            }
            response
        }
        Err(error) => {
            let text = format!("{error:#}");
            let mut response = base(false);
            set(&mut response, "message", json!(text));
            let shown = text.replace(['{', '}'], "");
            let error = json!({ "id": ERROR_ID, "format": shown, "showUser": true });
            set(&mut response, "body", json!({ "error": error }));
            response
        }
    }
}

/// Sets a member of an object.
pub fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}

/// Returns an event.
pub fn event(name: &str, body: Value) -> Value {
    json!({ "type": "event", "event": name, "body": body })
}

/// Returns the event of a text for the debug console.
pub fn output(category: &str, text: &str) -> Value {
    event("output", json!({ "category": category, "output": format!("{text}\n") }))
}
