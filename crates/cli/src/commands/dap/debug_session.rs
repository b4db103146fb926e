//! Session of a client: its requests, and what it is told about the society.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use whimbrel_operator::{DebuggerWanted, MindInfo, Reason, Refusal, Request};
use whimbrel_platform::inspection::{DebugOrder, FailureStops, FrameSeen, PAUSED_BY_ENTRY, PAUSED_BY_STEP};
use whimbrel_platform::limits::DEBUGGER_THREADS_MAX;

use super::AdapterInput;
use super::agent_threads::{AgentThreads, listed};
use super::debug_target::DebugTarget;
use super::evaluation;
use super::mind_view::MindViews;
use super::output_backlog::OutputBacklog;
use super::protocol::{
    self, AttachArguments, ClientMessage, DisconnectArguments, EvaluateArguments, ExceptionArguments,
    InitializeArguments, LaunchArguments, ScopesArguments, SetBreakpointsArguments, ThreadArguments,
    VariablesArguments, WantedBreakpoint,
};
use super::source_breakpoints::SourceBreakpoints;

/// Paused agents that a client is told of in one look.
const STOPS_AT_ONCE: usize = 50;
/// Interval at which new agents and programs are looked for.
const NEWCOMERS_EVERY: Duration = Duration::from_secs(1);

/// Mark by which a pause is told from the next one, that another client may have brought about.
#[derive(Clone, Debug, PartialEq)]
struct PauseMark {
    cycle: Option<u64>,
    by: Option<String>,
    place: Option<(String, Option<u32>)>,
}

impl PauseMark {
    fn of(mind: &MindInfo) -> Self {
        let place = next_frame(mind).map(|frame| (frame.file.clone(), frame.step_line));
        Self { cycle: mind.inside.cycle, by: mind.inside.paused_by.clone(), place }
    }
}

/// Session of a client. Call [`DebugSession::take`] with each input and [`DebugSession::look`] now and then, send
/// [`DebugSession::messages`], and end when [`DebugSession::is_over`].
pub struct DebugSession {
    inputs: Sender<AdapterInput>,
    outgoing: Vec<Value>,
    /// Lines of the society that wait for the client.
    printed: Arc<OutputBacklog>,
    is_initialized: bool,
    /// Number that is added to a line for the client.
    offset: i64,
    target: Option<DebugTarget>,
    /// True once agents pause for this session.
    is_configured: bool,
    no_debug: bool,
    /// True if agents pause before their first step: until the client has one continue.
    stops_on_entry: bool,
    failures: FailureStops,
    breakpoints: SourceBreakpoints,
    views: MindViews,
    threads: AgentThreads,
    /// Agents that the client knows to be paused, each with the pause.
    paused: FxHashMap<String, PauseMark>,
    /// Agents of the last list of threads.
    listed: Vec<String>,
    newcomers_at: Instant,
    is_ended: bool,
    is_over: bool,
}

impl DebugSession {
    /// Begins a session, which sends itself inputs.
    pub fn new(inputs: Sender<AdapterInput>) -> Self {
        Self {
            inputs,
            outgoing: Vec::new(),
            printed: Arc::default(),
            is_initialized: false,
            offset: 0,
            target: None,
            is_configured: false,
            no_debug: false,
            stops_on_entry: false,
            failures: FailureStops::Never,
            breakpoints: SourceBreakpoints::default(),
            views: MindViews::default(),
            threads: AgentThreads::default(),
            paused: FxHashMap::default(),
            listed: Vec::new(),
            newcomers_at: Instant::now(),
            is_ended: false,
            is_over: false,
        }
    }

    /// Returns the messages to send.
    pub fn messages(&mut self) -> Vec<Value> {
        let mut messages = self.printed.take();
        messages.append(&mut self.outgoing);
        messages
    }

    /// Returns true once the client has left.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns true if the client knows that the society has ended: nothing is left to ask.
    pub fn has_ended(&self) -> bool {
        self.is_ended
    }

    /// Ends the society if the session began it. Agents of others continue.
    pub fn end(&mut self) {
        if let Some(target) = &mut self.target {
            target.end(target.is_own());
        }
    }

    /// Takes an input.
    pub fn take(&mut self, input: AdapterInput) {
        match input {
            AdapterInput::Message(message) => match serde_json::from_value::<ClientMessage>(message) {
                Ok(request) if request.kind == "request" => self.serve(request),
                // The adapter asks nothing.
                Ok(response) if response.kind == "response" => {}
                _ => self.outgoing.push(protocol::output("important", "a message has no `type` and `command`")),
            },
            AdapterInput::Evaluated { request, agent, outcome } => {
                let body = outcome.map(|text| {
                    let (value, reference) = match &agent {
                        Some(agent) => self.views.value(agent, &text),
                        None => (text, 0),
                    };
                    json!({ "result": value, "variablesReference": reference })
                });
                self.outgoing.push(protocol::response(&request, body));
            }
            AdapterInput::Printed | AdapterInput::Closed(_) => {}
        }
    }

    fn serve(&mut self, request: ClientMessage) {
        let outcome = match request.command.as_str() {
            "initialize" => self.initialize(&request),
            _ if !self.is_initialized => Err(anyhow::anyhow!("the first request must be `initialize`")),
            "evaluate" => return self.evaluate(request),
            "launch" | "attach" => self.begin(&request),
            "disconnect" | "terminate" => self.leave(&request),
            _ if self.target.is_none() => {
                let command = &request.command;
                Err(anyhow::anyhow!("`{command}` needs a society: `launch` or `attach` comes first, and succeeds"))
            }
            "setBreakpoints" => self.set_breakpoints(&request),
            "setExceptionBreakpoints" => self.set_failures(&request),
            "configurationDone" => self.configured(),
            "threads" => self.list_threads(),
            "stackTrace" => self.stack(&request),
            "scopes" => request.arguments::<ScopesArguments>().and_then(|it| self.views.scopes(it.frame_id)),
            "variables" => request
                .arguments::<VariablesArguments>()
                .and_then(|it| self.views.variables(it.variables_reference, it.start, it.count)),
            "exceptionInfo" => self.failure(&request),
            "continue" => self.order(&request, DebugOrder::Continue),
            "next" => self.order(&request, DebugOrder::Over),
            "stepIn" => self.order(&request, DebugOrder::Into),
            "stepOut" => self.order(&request, DebugOrder::Out),
            "pause" => self.order(&request, DebugOrder::Pause),
            other => Err(anyhow::anyhow!("there is no request `{other}`")),
        };
        let has_begun = outcome.is_ok() && matches!(request.command.as_str(), "launch" | "attach");
        self.outgoing.push(protocol::response(&request, outcome));
        if has_begun {
            self.outgoing.push(protocol::event("initialized", json!({})));
        }
        self.is_over |= request.command == "disconnect";
    }

    fn initialize(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        let InitializeArguments { lines_start_at1, .. } = request.arguments()?;
        self.offset = if lines_start_at1 { 0 } else { -1 };
        self.is_initialized = true;
        Ok(protocol::capabilities())
    }

    fn begin(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        if self.target.is_some() {
            bail!("this session has a society already");
        }
        let (target, method) = if request.command == "launch" {
            let arguments: LaunchArguments = request.arguments()?;
            (self.no_debug, self.stops_on_entry) = (arguments.no_debug, arguments.stop_on_entry);
            (DebugTarget::launch(&arguments, &self.inputs, &self.printed)?, "launch")
        } else {
            (DebugTarget::attach(&request.arguments::<AttachArguments>()?)?, "attach")
        };
        self.breakpoints.set_files(target.files());
        let process = target.nodes().first().map(|node| node.info.pid);
        let body = json!({
            "name": target.name(), "systemProcessId": process, "isLocalProcess": true, "startMethod": method,
        });
        self.outgoing.push(protocol::event("process", body));
        self.target = Some(target);
        Ok(Value::Null)
    }

    fn target(&self) -> anyhow::Result<&DebugTarget> {
        self.target.as_ref().context("there is no society")
    }

    fn set_breakpoints(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        let SetBreakpointsArguments { source, breakpoints } = request.arguments()?;
        let path = source.path.or(source.name).context("`source` has no path")?;
        let line = |wanted: &WantedBreakpoint| u32::try_from(wanted.line - self.offset).unwrap_or(0);
        let wanted = breakpoints.into_iter().map(|wanted| (line(&wanted), wanted));
        let set = self.breakpoints.set(Path::new(&path), &wanted.collect::<Vec<_>>());
        self.pause_at()?;
        let shown: Vec<Value> = set.iter().map(|it| self.breakpoints.shown(it, self.offset)).collect();
        Ok(json!({ "breakpoints": shown }))
    }

    fn set_failures(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        let ExceptionArguments { filters } = request.arguments()?;
        let mut failures = FailureStops::Never;
        for filter in &filters {
            failures = failures.max(match filter.as_str() {
                protocol::UNHANDLED => FailureStops::Unhandled,
                protocol::ALL => FailureStops::All,
                other => bail!("there is no filter `{other}`: {} and {} are", protocol::UNHANDLED, protocol::ALL),
            });
        }
        self.failures = failures;
        self.pause_at()?;
        Ok(Value::Null)
    }

    /// Has agents pause as the client wants it, once it has said so.
    fn pause_at(&mut self) -> anyhow::Result<()> {
        if !self.is_configured || self.no_debug {
            return Ok(());
        }
        let (lines, failures, entry) = (self.breakpoints.lines(), self.failures, self.stops_on_entry);
        let wanted = DebuggerWanted { lines, failures, entry };
        self.target.as_mut().map_or(Ok(()), |target| target.pause_at(&wanted))
    }

    fn configured(&mut self) -> anyhow::Result<Value> {
        if !std::mem::replace(&mut self.is_configured, true) {
            self.pause_at()?;
            let no_debug = self.no_debug;
            self.target.as_mut().filter(|_| !no_debug).map_or(Ok(()), DebugTarget::begin)?;
        }
        Ok(Value::Null)
    }

    fn sorted_paused(&self) -> Vec<String> {
        let mut paused: Vec<String> = self.paused.keys().cloned().collect();
        paused.sort_unstable();
        paused
    }

    fn list_threads(&mut self) -> anyhow::Result<Value> {
        let (agents, total) = self.target()?.agents(DEBUGGER_THREADS_MAX);
        self.listed = listed(agents, total, &self.sorted_paused());
        let threads = &mut self.threads;
        let shown = self.listed.iter().map(|name| json!({ "id": threads.number(name), "name": name }));
        Ok(json!({ "threads": shown.collect::<Vec<Value>>() }))
    }

    /// Returns the state of an agent that is to be paused.
    fn paused_mind(&self, agent: &str) -> anyhow::Result<MindInfo> {
        let mind = self.target()?.mind(agent)?;
        if !mind.inside.paused {
            bail!("{agent} is running: pause it first");
        }
        Ok(mind)
    }

    fn stack(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        let ThreadArguments { thread_id, start_frame, levels, .. } = request.arguments()?;
        let agent = self.threads.agent(thread_id)?;
        let mind = self.paused_mind(&agent)?;
        let stack = self.views.stack(&agent, mind, &self.breakpoints, self.offset);
        let total = stack.len();
        let levels = if levels == 0 { total } else { levels };
        let frames: Vec<Value> = stack.into_iter().skip(start_frame).take(levels).collect();
        Ok(json!({ "stackFrames": frames, "totalFrames": total }))
    }

    fn failure(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        let ThreadArguments { thread_id, .. } = request.arguments()?;
        let agent = self.threads.agent(thread_id)?;
        let failed = self.paused_mind(&agent)?.inside.failed;
        let failed = failed.with_context(|| format!("{agent} did not pause at a failure"))?;
        let mode = if failed.handled { "always" } else { "unhandled" };
        Ok(json!({ "exceptionId": "failure", "description": failed.text, "breakMode": mode }))
    }

    fn order(&mut self, request: &ClientMessage, order: DebugOrder) -> anyhow::Result<Value> {
        let ThreadArguments { thread_id, granularity, .. } = request.arguments()?;
        let agent = self.threads.agent(thread_id)?;
        let is_step = matches!(order, DebugOrder::Over | DebugOrder::Into | DebugOrder::Out);
        let is_cycle = is_step && granularity.as_deref() == Some("instruction");
        let order = if is_cycle { DebugOrder::Step } else { order };
        self.target()?.ask(&Request::Debug { agent: agent.clone(), order })?;
        if order == DebugOrder::Pause {
            return Ok(Value::Null);
        }
        if std::mem::take(&mut self.stops_on_entry) {
            self.pause_at()?;
        }
        // The next look finds it paused again, or running.
        self.paused.remove(&agent);
        self.views.forget(&agent);
        Ok(if order == DebugOrder::Continue { json!({ "allThreadsContinued": false }) } else { Value::Null })
    }

    /// Evaluates on a thread of its own: a goal may stop at a breakpoint.
    fn evaluate(&mut self, request: ClientMessage) {
        match self.evaluation(&request) {
            Ok((evaluation, nodes, agent)) => {
                let inputs = self.inputs.clone();
                std::thread::spawn(move || {
                    let outcome = evaluation::evaluate(evaluation, &nodes);
                    // The client may have left.
                    let _ = inputs.send(AdapterInput::Evaluated { request, agent, outcome });
                });
            }
            Err(error) => self.outgoing.push(protocol::response(&request, Err(error))),
        }
    }

    #[allow(clippy::type_complexity, reason = "what one thread needs")]
    fn evaluation(
        &self,
        request: &ClientMessage,
    ) -> anyhow::Result<(evaluation::Evaluation, Vec<whimbrel::control::RunningNode>, Option<String>)> {
        let EvaluateArguments { expression, frame_id, context } = request.arguments()?;
        let target = self.target.as_ref().context("`evaluate` needs a society: `launch` or `attach` comes first")?;
        let frame = frame_id.map(|number| self.views.frame(number)).transpose()?;
        let only = match (frame, self.sorted_paused().as_slice()) {
            (None, [only]) => Some(only.clone()),
            (None, []) => match target.agents(2) {
                (names, 1) => names.into_iter().next(),
                _ => None,
            },
            _ => None,
        };
        let is_paused = |agent: &str| self.paused.contains_key(agent);
        let context = context.unwrap_or_default();
        let evaluation = evaluation::read(&expression, &context, frame, only.as_deref(), &is_paused)?;
        let agent = frame.filter(|_| matches!(evaluation, evaluation::Evaluation::Known(_)));
        Ok((evaluation, target.nodes(), agent.map(|frame| frame.agent.clone())))
    }

    fn leave(&mut self, request: &ClientMessage) -> anyhow::Result<Value> {
        let DisconnectArguments { terminate_debuggee } = request.arguments()?;
        let is_terminate = request.command == "terminate";
        if let Some(target) = &mut self.target {
            target.end(target.is_own() || is_terminate || terminate_debuggee == Some(true));
        }
        Ok(Value::Null)
    }

    /// Looks at the society, and tells the client what is new.
    pub fn look(&mut self) {
        if self.is_ended || self.target.is_none() {
            return;
        }
        let printed = Arc::clone(&self.printed);
        self.target.iter_mut().for_each(|target| target.look_at_output(&printed));
        let ended = self.target.as_mut().and_then(DebugTarget::ended);
        if let Some(code) = ended {
            self.tell_end(code);
            return;
        }
        if !self.is_configured || self.no_debug {
            return;
        }
        if let Some(paused) = self.target.as_ref().and_then(DebugTarget::paused) {
            self.tell_running(&paused);
            self.tell_stops(&paused);
        }
        if self.newcomers_at.elapsed() >= NEWCOMERS_EVERY {
            self.newcomers_at = Instant::now();
            self.tell_newcomers();
        }
    }

    fn tell_end(&mut self, code: Option<i32>) {
        self.is_ended = true;
        self.outgoing.push(protocol::event("exited", json!({ "exitCode": code.unwrap_or_default() })));
        self.outgoing.push(protocol::event("terminated", json!({})));
    }

    /// Tells of agents that were paused and are not any more.
    fn tell_running(&mut self, paused: &FxHashSet<String>) {
        let gone: Vec<String> = self.paused.keys().filter(|name| !paused.contains(*name)).cloned().collect();
        for agent in gone {
            self.paused.remove(&agent);
            self.views.forget(&agent);
            let number = self.threads.number(&agent);
            let state = self.target.as_ref().map(|target| target.mind(&agent));
            let is_gone = |error: &anyhow::Error| {
                error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::NoSuchAgent)
            };
            self.outgoing.push(match state {
                Some(Err(error)) if is_gone(&error) => {
                    protocol::event("thread", json!({ "reason": "exited", "threadId": number }))
                }
                _ => protocol::event("continued", json!({ "threadId": number, "allThreadsContinued": false })),
            });
        }
    }

    /// Tells of agents that have paused.
    fn tell_stops(&mut self, paused: &FxHashSet<String>) {
        let mut new: Vec<&String> = paused.iter().filter(|name| !self.paused.contains_key(*name)).collect();
        new.sort_unstable();
        new.into_iter().take(STOPS_AT_ONCE).for_each(|agent| self.tell_stop(agent));
    }

    /// Tells of an agent that has paused, unless the client knows that.
    fn tell_stop(&mut self, agent: &str) {
        let mind = self.target.as_ref().and_then(|target| target.mind(agent).ok());
        let Some(mind) = mind.filter(|mind| mind.inside.paused) else { return };
        let mark = PauseMark::of(&mind);
        if self.paused.get(agent) == Some(&mark) {
            return;
        }
        let has_focus = self.paused.keys().any(|other| other != agent);
        self.views.forget(agent);
        self.paused.insert(agent.to_owned(), mark);
        let number = self.threads.number(agent);
        let mut body = stop_of(&mind, &self.breakpoints);
        protocol::set(&mut body, "threadId", json!(number));
        protocol::set(&mut body, "allThreadsStopped", json!(false));
        protocol::set(&mut body, "preserveFocusHint", json!(has_focus));
        self.outgoing.push(protocol::event("stopped", body));
    }

    /// Looks for new agents, for pauses that other clients brought about, and for programs whose breakpoints have no
    /// place yet.
    fn tell_newcomers(&mut self) {
        for agent in self.sorted_paused().into_iter().take(STOPS_AT_ONCE) {
            self.tell_stop(&agent);
        }
        let Some(target) = &self.target else { return };
        let (agents, total) = target.agents(DEBUGGER_THREADS_MAX);
        let now = listed(agents, total, &self.sorted_paused());
        if total <= DEBUGGER_THREADS_MAX as u64 && now != self.listed {
            let changes = |from: &[String], to: &[String]| -> Vec<String> {
                to.iter().filter(|name| !from.contains(name)).cloned().collect()
            };
            let (came, went) = (changes(&self.listed, &now), changes(&now, &self.listed));
            for (reason, names) in [("exited", went), ("started", came)] {
                for name in names {
                    let number = self.threads.number(&name);
                    self.outgoing.push(protocol::event("thread", json!({ "reason": reason, "threadId": number })));
                }
            }
            self.listed = now;
        }
        if !self.breakpoints.has_unplaced() {
            return;
        }
        let files = self.target.as_ref().map(DebugTarget::files).unwrap_or_default();
        let changed = self.breakpoints.set_files(files);
        for breakpoint in &changed {
            let body = json!({ "reason": "changed", "breakpoint": self.breakpoints.shown(breakpoint, self.offset) });
            self.outgoing.push(protocol::event("breakpoint", body));
        }
        if !changed.is_empty()
            && let Err(error) = self.pause_at()
        {
            self.outgoing.push(protocol::output("important", &format!("breakpoints are not set: {error:#}")));
        }
    }
}

/// Returns the reason of a pause as clients know it.
fn stop_of(mind: &MindInfo, breakpoints: &SourceBreakpoints) -> Value {
    let inside = &mind.inside;
    if let Some(failed) = &inside.failed {
        return json!({ "reason": "exception", "description": "Paused at a failure", "text": failed.text });
    }
    let by = inside.paused_by.as_deref().unwrap_or_default();
    let description = format!("Paused by {by}");
    let reason = match by {
        PAUSED_BY_STEP => "step",
        PAUSED_BY_ENTRY => "entry",
        _ if by.starts_with("the breakpoint") => "breakpoint",
        _ => "pause",
    };
    if reason != "breakpoint" {
        return json!({ "reason": reason, "description": description });
    }
    let ids = next_frame(mind).and_then(|frame| Some(breakpoints.ids_at(&frame.file, frame.step_line?)));
    json!({ "reason": reason, "description": description, "hitBreakpointIds": ids.unwrap_or_default() })
}

/// Returns the plan whose step is next.
fn next_frame(mind: &MindInfo) -> Option<&FrameSeen> {
    let current = mind.inside.intentions.iter().find(|intention| mind.inside.current == Some(intention.id));
    current?.frames.first()
}
