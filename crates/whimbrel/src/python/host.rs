//! Host of a node's Python process: starts it, writes and reads its frames, and answers what it leaves open.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value, sym};
use whimbrel_platform::foreign_actions::{ANSWERER, ForeignFailure, PROTOCOL};
use whimbrel_platform::limits::{
    PYTHON_FRAMES_WAITING_MAX, PYTHON_STARTS_MAX, PYTHON_STARTS_WINDOW_MS, PYTHON_STOP_MS,
};
use whimbrel_platform::python_frames::{FromPython, ToPython, VERSION, decode, frame_length, framed};
use whimbrel_platform::services::LogLevel;
use whimbrel_runtime::PlatformAccess;

use super::interpreter::{interpreter, is_hopeless, start};
use super::terms::{for_python, from_python};

/// Bytes that are written to the process at a time, about.
const WRITTEN_BYTES: usize = 64 << 10;
/// Interval at which the end of the process is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Python parts of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonSetup {
    /// Folder of the project.
    pub folder: PathBuf,
    /// File of the environment and its parameters, if the environment is in Python.
    pub environment: Option<(PathBuf, Vec<Value>)>,
    /// File of the actions, if the project has one.
    pub actions: Option<PathBuf>,
}

/// Request that the process has not answered.
pub(super) enum OpenRequest {
    /// Action on the environment: the answer to be, and the action.
    Act(Box<AclMessage>, Value),
    /// Call of an agent's intention.
    Call {
        /// Agent.
        agent: Aid,
        /// Identifier that the intention waits for.
        ticket: Text,
    },
    /// Call of a formula, whose thread waits.
    Query(SyncSender<Reply>),
}

/// Requests that the process has not answered, by number.
pub(super) type OpenRequests = FxHashMap<u64, OpenRequest>;

/// Answer to a call: solutions, and true if there may be more.
pub(super) type Reply = Result<(Vec<Vec<Value>>, bool), ForeignFailure>;

/// Grid that an environment shows: columns, rows, objects.
pub(super) type Grid = (u32, u32, Value);

#[derive(Default)]
struct HostState {
    /// Frames to the process that runs.
    frames: Option<SyncSender<Vec<u8>>>,
    process: Option<Arc<Mutex<Child>>>,
    /// Number of starts; tells threads of earlier processes from those of the present one.
    start: u64,
    /// Time when the process said that it has started.
    ready: Option<Instant>,
    starts: Vec<Instant>,
    last_id: u64,
    pending: OpenRequests,
    /// Reason why there is no process any more.
    over: Option<String>,
    is_ending: bool,
    /// The environment's agent, once it has begun.
    environment: Option<Aid>,
    /// Agents that the environment knows.
    agents: Vec<Aid>,
    grid: Option<Grid>,
}

pub(super) struct HostCore {
    setup: PythonSetup,
    platform: OnceLock<Box<dyn PlatformAccess>>,
    state: Mutex<HostState>,
}

/// Host of a Python process; see the module.
pub struct PythonHost {
    pub(super) core: Arc<HostCore>,
}

impl PythonHost {
    /// Makes the host of a project's Python parts. Nothing is started yet.
    pub fn new(setup: PythonSetup) -> Self {
        Self { core: Arc::new(HostCore { setup, platform: OnceLock::new(), state: Mutex::default() }) }
    }

    /// Tells the platform whose agents call.
    pub fn attach(&self, platform: Box<dyn PlatformAccess>) {
        // A second platform of the same society would be another process.
        let is_first = self.core.platform.set(platform).is_ok();
        if is_first && self.core.actions().is_some() {
            // No call should wait for Python to start. If it cannot, the first call says why.
            let _ = self.core.process_of(&mut self.core.state());
        }
    }
}

impl std::fmt::Debug for PythonHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonHost").field("setup", &self.core.setup).finish_non_exhaustive()
    }
}

impl Drop for PythonHost {
    fn drop(&mut self) {
        // The platform has ended, and nobody waits.
        drop(self.core.end());
    }
}

impl HostCore {
    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn platform(&self) -> Option<&dyn PlatformAccess> {
        self.platform.get().map(AsRef::as_ref)
    }

    pub fn actions(&self) -> Option<&Path> {
        self.setup.actions.as_deref()
    }

    pub fn folder(&self) -> &Path {
        &self.setup.folder
    }

    /// Returns the agent in whose name the process speaks.
    fn speaker(&self) -> Aid {
        self.state().environment.unwrap_or(Aid::local(ANSWERER))
    }

    pub fn log(&self, level: LogLevel, text: &str) {
        let speaker = self.speaker();
        if let Some(platform) = self.platform() {
            platform.log(speaker, level, text);
        }
    }

    /// Begins the environment, whose agent is `environment`, with these agents.
    pub fn begin_environment(self: &Arc<Self>, environment: Aid, agents: Vec<Aid>) {
        let mut state = self.state();
        (state.environment, state.agents) = (Some(environment), agents);
        let runs = state.frames.is_some();
        let mut started = self.process_of(&mut state).map(drop);
        for frame in self.environment_frames(&state).into_iter().filter(|_| runs) {
            started = started.and_then(|()| self.send(&mut state, &frame));
        }
        drop(state);
        if let Err(why) = started {
            self.log(LogLevel::Severe, &why);
        }
    }

    /// Notes an agent that the environment does not know yet. Returns true if it is new.
    pub fn note_agent(self: &Arc<Self>, agent: Aid) -> bool {
        let mut state = self.state();
        let is_new = !state.agents.contains(&agent);
        if is_new {
            state.agents.push(agent);
            // A process that has just ended is told by the one after it.
            let _ = self.send(&mut state, &ToPython::Agents(vec![agent.to_string()]));
        }
        is_new
    }

    /// Notes that an agent has ended.
    pub fn note_gone(self: &Arc<Self>, name: &str) {
        let mut state = self.state();
        let before = state.agents.len();
        state.agents.retain(|agent| agent.to_string() != name);
        if state.agents.len() < before {
            let _ = self.send(&mut state, &ToPython::Gone(name.to_owned()));
        }
    }

    /// Sends the request that `frame` makes of its number. `pending` is answered once, whatever happens.
    ///
    /// # Errors
    /// The request cannot be sent; contains the reason. Then `pending` is forgotten.
    pub fn request(self: &Arc<Self>, pending: OpenRequest, frame: impl FnOnce(u64) -> ToPython) -> Result<u64, String> {
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        self.send(&mut state, &frame(id))?;
        state.pending.insert(id, pending);
        Ok(id)
    }

    /// Asks for further solutions of a call.
    pub fn continue_call(self: &Arc<Self>, id: u64, pending: OpenRequest, most: u32) -> Result<(), String> {
        let mut state = self.state();
        self.send(&mut state, &ToPython::More { id, most })?;
        state.pending.insert(id, pending);
        Ok(())
    }

    /// Forgets a call; the process may forget it, too.
    pub fn forget_call(self: &Arc<Self>, id: u64) {
        let mut state = self.state();
        state.pending.remove(&id);
        if state.frames.is_some() {
            let _ = self.send(&mut state, &ToPython::Drop(id));
        }
    }

    /// Returns the number of the present process: calls of earlier ones have no further solutions.
    pub fn start_number(&self) -> u64 {
        self.state().start
    }

    /// Returns the time when the present process had started; `None` until then.
    pub fn ready(&self) -> Option<Instant> {
        self.state().ready
    }

    pub fn grid(&self) -> Option<Grid> {
        self.state().grid.clone()
    }

    fn send(self: &Arc<Self>, state: &mut HostState, frame: &ToPython) -> Result<(), String> {
        let bytes = framed(&frame.to_json()?);
        let frames = self.process_of(state)?;
        frames.try_send(bytes).map_err(|error| match error {
            TrySendError::Full(_) => format!("{PYTHON_FRAMES_WAITING_MAX} requests to Python wait already"),
            TrySendError::Disconnected(_) => "the Python process has ended".to_owned(),
        })
    }

    /// Returns the frames to the process, which is started if none runs.
    fn process_of(self: &Arc<Self>, state: &mut HostState) -> Result<SyncSender<Vec<u8>>, String> {
        if let Some(frames) = &state.frames {
            return Ok(frames.clone());
        }
        if let Some(why) = &state.over {
            return Err(why.clone());
        }
        if state.is_ending {
            return Err("the Python process has ended with its environment or node".to_owned());
        }
        let now = Instant::now();
        let window = Duration::from_millis(PYTHON_STARTS_WINDOW_MS);
        state.starts.retain(|start| now.duration_since(*start) < window);
        if state.starts.len() >= PYTHON_STARTS_MAX {
            let why = format!(
                "the Python process has ended {PYTHON_STARTS_MAX} times within {} s: it is not started again",
                window.as_secs()
            );
            state.over = Some(why.clone());
            return Err(why);
        }
        state.starts.push(now);
        self.start_process(state)
    }

    fn start_process(self: &Arc<Self>, state: &mut HostState) -> Result<SyncSender<Vec<u8>>, String> {
        let python = interpreter();
        let mut child = start(&python).inspect_err(|why| state.over = Some(why.clone()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the Python process has no standard input and output".to_owned());
        };
        (state.start, state.ready) = (state.start + 1, None);
        let (number, child) = (state.start, Arc::new(Mutex::new(child)));
        let (frames, waiting) = sync_channel(PYTHON_FRAMES_WAITING_MAX);
        for frame in self.first_frames(state) {
            let bytes = frame.to_json().map(|json| framed(&json))?;
            let _ = frames.try_send(bytes);
        }
        spawn("whimbrel-py-write", move || write_frames(input, &waiting))?;
        let (core, process) = (Arc::clone(self), Arc::clone(&child));
        spawn("whimbrel-py-read", move || core.read_frames(output, number, &process, &python))?;
        // Only now: without its reader, nobody would notice the end of the process.
        (state.frames, state.process) = (Some(frames.clone()), Some(child));
        Ok(frames)
    }

    /// Returns the frames that each process gets first.
    fn first_frames(&self, state: &HostState) -> Vec<ToPython> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // The folder of a file that is named without one is the current one, and has no name.
        let here = if self.setup.folder.as_os_str().is_empty() { Path::new(".") } else { &self.setup.folder };
        let folder = std::path::absolute(here).unwrap_or_else(|_| here.to_owned());
        let mut frames =
            vec![ToPython::Hello { folder: text(&folder), actions: self.setup.actions.as_deref().map(text) }];
        frames.extend(self.environment_frames(state));
        frames
    }

    /// Returns the frames that begin the environment, once its agent has begun.
    fn environment_frames(&self, state: &HostState) -> Vec<ToPython> {
        let (Some((file, args)), Some(_)) = (&self.setup.environment, state.environment) else { return Vec::new() };
        let agents = state.agents.iter().map(|agent| agent.to_string()).collect();
        let (file, args) = (file.to_string_lossy().into_owned(), args.iter().map(for_python).collect());
        vec![ToPython::Agents(agents), ToPython::Environment { file, args }]
    }

    fn read_frames(self: &Arc<Self>, output: impl Read, number: u64, child: &Mutex<Child>, python: &Path) {
        let mut output = BufReader::new(output);
        let fault = loop {
            match read_frame(&mut output) {
                Ok(Some(FromPython::Ready { version, sdk, .. })) if version != VERSION => {
                    break Some(format!(
                        "package whimbrel {sdk} of {} speaks version {version} of the protocol, this node speaks \
                         {VERSION}: pip install --upgrade whimbrel",
                        python.display()
                    ));
                }
                Ok(Some(FromPython::Ready { .. })) => self.became_ready(number),
                Ok(Some(frame)) => self.take(frame),
                Ok(None) => break None,
                Err(error) => break Some(format!("{}: {error}", python.display())),
            }
        };
        let status = reap(child, if fault.is_some() { Duration::ZERO } else { Duration::from_millis(PYTHON_STOP_MS) });
        self.ended(number, status, fault, python);
    }

    fn became_ready(&self, number: u64) {
        let mut state = self.state();
        if state.start == number {
            state.ready = Some(Instant::now());
        }
    }

    /// Takes note that a process has ended: whatever it left open fails, and an environment begins anew.
    fn ended(self: &Arc<Self>, number: u64, status: Option<ExitStatus>, fault: Option<String>, python: &Path) {
        let mut state = self.state();
        if state.start != number {
            return;
        }
        (state.frames, state.process, state.grid) = (None, None, None);
        if state.is_ending {
            return;
        }
        let open = std::mem::take(&mut state.pending);
        let hopeless = fault.or_else(|| is_hopeless(status, python));
        let why = hopeless.clone().unwrap_or_else(|| {
            let how = status.map_or_else(|| "for no known reason".to_owned(), |status| format!("({status})"));
            format!("the Python process has ended {how}")
        });
        state.over = state.over.take().or(hopeless);
        let begins_anew = state.over.is_none() && state.environment.is_some();
        drop(state);
        let next = if begins_anew { ": it is started again, and its state is lost" } else { "" };
        self.log(LogLevel::Severe, &format!("{why}{next}"));
        self.fail(open, why);
        if begins_anew {
            let started = self.process_of(&mut self.state()).err();
            if let Some(why) = started {
                self.log(LogLevel::Severe, &why);
            }
        }
    }

    /// Ends the process: first it is asked to, and killed if it does not end in time. Returns the requests that it left
    /// open.
    pub fn end(&self) -> OpenRequests {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_ending, true) {
            return OpenRequests::default();
        }
        let (frames, process) = (state.frames.take(), state.process.take());
        drop(state);
        if let (Some(frames), Ok(stop)) = (frames, ToPython::Stop.to_json()) {
            let _ = frames.try_send(framed(&stop));
        }
        if let Some(process) = process {
            reap(&process, Duration::from_millis(PYTHON_STOP_MS));
        }
        std::mem::take(&mut self.state().pending)
    }

    fn take(self: &Arc<Self>, frame: FromPython) {
        match frame {
            FromPython::Ready { .. } => {}
            FromPython::Broken(why) => self.log(LogLevel::Severe, &why),
            FromPython::Warn(text) => self.log(LogLevel::Warning, &text),
            FromPython::Print(agent, text) => {
                let speaker = agent.map_or_else(|| self.speaker(), |agent| named(&agent));
                if let Some(platform) = self.platform() {
                    platform.print(speaker, &text);
                }
            }
            FromPython::Percepts { agent, all, added, removed } => self.show(&agent, all, added, removed),
            FromPython::Progress(id, report) => self.report(id, report),
            FromPython::Grid(columns, rows, objects) => self.state().grid = Some((columns, rows, objects)),
            FromPython::Done(id) => self.acted(id, Ok(())),
            FromPython::Failed(id, reason) => self.acted(id, Err(from_python(reason))),
            FromPython::Solved(id, solutions, more) => {
                let terms = |results: Vec<Value>| results.into_iter().map(from_python).collect();
                self.called(id, Ok((solutions.into_iter().map(terms).collect(), more)));
            }
            FromPython::Refused(id, failure) => {
                let annots = failure.annots.into_iter().map(from_python).collect();
                self.called(id, Err(ForeignFailure { annots, ..failure }));
            }
        }
    }

    fn open(&self, id: u64) -> Option<OpenRequest> {
        self.state().pending.remove(&id)
    }

    /// Sends an agent its percepts, or their changes, as the environment.
    fn show(&self, agent: &str, all: bool, added: Value, removed: Value) {
        let Some(environment) = self.state().environment else { return };
        let (added, removed) = (from_python(added), from_python(removed));
        let content = if all { added } else { Value::term(sym::PERCEPTS, [added, removed]) };
        let percept = Performative::Other(Symbol::new("percept"));
        self.post(AclMessage::new(percept, environment, named(agent), content));
    }

    /// Tells an agent how far its action is: an event `+progress(Action, Report)`.
    fn report(&self, id: u64, report: Value) {
        let found = match self.state().pending.get(&id) {
            Some(OpenRequest::Act(answer, action)) => {
                Some((answer.sender, answer.receivers.first().copied(), action.clone()))
            }
            _ => None,
        };
        if let Some((environment, Some(agent), action)) = found {
            let content = Value::term("progress", [action, from_python(report)]);
            self.post(AclMessage::new(Performative::Other(sym::SIGNAL), environment, agent, content));
        }
    }

    fn acted(&self, id: u64, outcome: Result<(), Value>) {
        let Some(OpenRequest::Act(mut answer, _)) = self.open(id) else { return };
        (answer.performative, answer.content) = match outcome {
            Ok(()) => (Performative::Inform, Value::atom("done")),
            Err(reason) => (Performative::Failure, reason),
        };
        self.post(*answer);
    }

    fn called(&self, id: u64, reply: Reply) {
        match self.open(id) {
            Some(OpenRequest::Call { agent, ticket }) => self.answer(agent, ticket, reply),
            Some(OpenRequest::Query(waiting)) => drop(waiting.try_send(reply)),
            Some(OpenRequest::Act(..)) | None => {}
        }
    }

    /// Answers an intention's call.
    pub fn answer(&self, agent: Aid, ticket: Text, reply: Reply) {
        let said_no = || ForeignFailure::new("ia_failed", "it yielded nothing");
        let first = reply.and_then(|(solutions, _)| solutions.into_iter().next().ok_or_else(said_no));
        let (performative, content) = match first {
            Ok(results) => (Performative::Inform, Value::list(results)),
            Err(failure) => (Performative::Failure, failure.to_value()),
        };
        let mut message = AclMessage::new(performative, Aid::local(sym::AMS), agent, content);
        let extras = message.extras_mut();
        (extras.protocol, extras.in_reply_to) = (Some(Symbol::new(PROTOCOL)), Some(ticket));
        self.post(message);
    }

    /// Answers requests that nothing else will answer.
    pub fn fail(&self, open: OpenRequests, why: impl Into<String>) {
        let failure = ForeignFailure::new("action_failed", why);
        for request in open.into_values() {
            match request {
                OpenRequest::Act(mut answer, _) => {
                    let why = Value::from(failure.message.as_str());
                    (answer.performative, answer.content) = (Performative::Failure, why);
                    self.post(*answer);
                }
                OpenRequest::Call { agent, ticket } => self.answer(agent, ticket, Err(failure.clone())),
                OpenRequest::Query(waiting) => drop(waiting.try_send(Err(failure.clone()))),
            }
        }
    }

    fn post(&self, message: AclMessage) {
        if let Some(platform) = self.platform() {
            platform.send(Box::new(message));
        }
    }
}

/// Reads the next frame; `None` at the end of the stream.
///
/// # Errors
/// The stream breaks, or the frame is too long or malformed; contains the reason.
fn read_frame(from: &mut impl Read) -> Result<Option<FromPython>, String> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read.map_err(|error| error.to_string())?,
    }
    let mut bytes = vec![0; frame_length(length).map_err(|error| error.to_string())?];
    from.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    decode(&bytes).map(Some).map_err(|error| error.to_string())
}

fn named(name: &str) -> Aid {
    name.parse().unwrap_or_else(|_| Aid::local(name))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| format!("no thread for Python: {error}"))
}

/// Writes frames until there are no more senders, or the process has ended.
fn write_frames(mut input: ChildStdin, waiting: &Receiver<Vec<u8>>) {
    while let Ok(mut bytes) = waiting.recv() {
        while bytes.len() < WRITTEN_BYTES {
            let Ok(more) = waiting.try_recv() else { break };
            bytes.extend_from_slice(&more);
        }
        if input.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// Waits for the end of a process, and kills it if it does not come in time. Returns its status.
fn reap(child: &Mutex<Child>, patience: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + patience;
    loop {
        let mut process = child.lock().unwrap_or_else(PoisonError::into_inner);
        match process.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => {}
            _ => {
                let _ = process.kill();
                return process.wait().ok();
            }
        }
        drop(process);
        std::thread::sleep(LOOK_EVERY);
    }
}
