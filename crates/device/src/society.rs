//! Society of one thread: its agents, and the delivery of their messages.

use std::time::Duration;

use serde_json::value::RawValue;
use whimbrel_acl::{AclMessage, Aid, Envelope, Symbol, Text, Value, sym};
use whimbrel_bdi::Agent;
use whimbrel_bdi::syntax::ast::Span;
use whimbrel_bdi::syntax::{Diagnostic, Severity};
use whimbrel_platform::ams::{AgentKind, AgentModification, AgentState, NewAgent};
use whimbrel_platform::capabilities::Mobile;
use whimbrel_platform::inspection::{Inspection, Instructed, Instruction, Look, Texts};
use whimbrel_platform::limits::{DEVICE_MAILBOX_MESSAGES, DEVICE_TURNS_MAX, SESSION_STATE_BYTES_MAX, TURN_STEPS};
use whimbrel_platform::local::{LocalHost, LocalPlatform};
use whimbrel_platform::mobility::{Hop, HopError, HopMode, HopRequest};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{Counters, Services, Time};

use crate::events::SocietyEvent;
use crate::host::{DeviceHost, LeavingAgent, SocietyHost, raw};
use crate::project::{ProjectAgent, ProjectOpenError, ProjectReader, problem};

/// Time of the next call of [`DeviceSociety::run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// Now.
    Now,
    /// At this time, unless something happens before.
    At(Time),
    /// Not before something happens.
    Idle,
    /// Never: the society was stopped.
    Over,
}

/// Error of creating an agent.
pub type SpawnError = CreateError;

/// Error of writing a snapshot of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentSnapshotError {
    /// There is no agent of this name.
    NoSuchAgent,
    /// This kind of agent has no snapshots.
    Impossible,
    /// The agent is being debugged.
    Held,
}

impl std::fmt::Display for AgentSnapshotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoSuchAgent => "there is no such agent",
            Self::Impossible => "this kind of agent has no snapshots",
            Self::Held => "the agent is being debugged",
        })
    }
}

impl std::error::Error for AgentSnapshotError {}

/// Society of one thread; see the [crate]. Inputs are the methods. After each, call [`DeviceSociety::run`] until it
/// returns no [`NextRun::Now`], and [`DeviceSociety::poll_event`] until it returns `None`.
pub struct DeviceSociety {
    platform: LocalPlatform<SocietyHost>,
}

impl DeviceSociety {
    /// Creates a society whose only agents are `ams` and `df`.
    pub fn new(platform: &str, host: Box<dyn DeviceHost>) -> Self {
        let mut platform = LocalPlatform::new(platform, SocietyHost::new(host));
        platform.set_mailbox_max(DEVICE_MAILBOX_MESSAGES);
        Self { platform }
    }

    /// Attaches the society to this platform. From now on, messages to agents elsewhere, to `ams` and to `df` come
    /// out as [`SocietyEvent::Sent`]. `place` is the name of this place for agents; empty if it has none.
    pub fn attach(&mut self, platform: Option<&str>, place: &str) {
        let host = self.host_mut();
        host.attached = platform.map(Symbol::new);
        host.place = Symbol::new(place);
    }

    /// Starts or ends reports of messages as [`SocietyEvent::Said`].
    pub fn listen(&mut self, on: bool) {
        self.host_mut().listens = on;
    }

    /// Adds a file, or replaces it.
    ///
    /// # Errors
    /// The file is too long.
    pub fn put_file(&mut self, path: &str, text: &str) -> Result<(), String> {
        self.host().files().put(path, text)
    }

    pub(crate) fn host(&self) -> &SocietyHost {
        self.platform.host()
    }

    pub(crate) fn host_mut(&mut self) -> &mut SocietyHost {
        self.platform.host_mut()
    }

    // ---- Projects

    /// Creates the agents of a project (`.mas2j`), or one agent of a program, named after its file. All agents exist
    /// before the first has its first turn. Returns the agents, and warnings.
    ///
    /// # Errors
    /// Files are missing or have errors, all of which are listed; then no agent is created.
    pub fn open(&mut self, path: &str) -> Result<(Vec<Aid>, Vec<Diagnostic>), ProjectOpenError> {
        let (seats, diagnostics) = ProjectReader::read(self.host_mut(), path);
        if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(ProjectOpenError(diagnostics));
        }
        let mut agents = Vec::new();
        let mut problems = diagnostics;
        for ProjectAgent { name, config, lifetime } in seats {
            match self.introduce(&name, Agent::new(config)) {
                Ok(agent) => {
                    if let Some(lifetime) = lifetime {
                        self.set_lifetime(agent, lifetime);
                    }
                    agents.push(agent);
                }
                Err(error) => problems.push(problem(&Text::from(path), Span::default(), error.to_string())),
            }
        }
        if problems.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            for agent in agents {
                self.kill(agent.name.as_str());
            }
            return Err(ProjectOpenError(problems));
        }
        Ok((agents, problems))
    }

    /// Lists the diagnostics of a project or a program, and of all programs that it names. Creates no agents.
    pub fn check(&mut self, path: &str) -> Vec<Diagnostic> {
        let before = self.host().environment;
        let diagnostics = ProjectReader::read(self.host_mut(), path).1;
        self.host_mut().environment = before;
        diagnostics
    }

    // ---- Agents

    /// Creates an agent of the program at `path`, with these options by the keys of `.mas2j`. It has its first turn
    /// when the society runs.
    ///
    /// # Errors
    /// The name is taken or invalid, or the program has errors.
    pub fn spawn(&mut self, name: &str, path: &str, options: &[(Symbol, Value)]) -> Result<Aid, SpawnError> {
        let agent = self.host().load_agent(path, options);
        let bad = |reason| CreateError::BadProgram { name: Symbol::new(name), reason };
        self.introduce(name, agent.map_err(bad)?)
    }

    /// Creates an agent from a snapshot, of the program at `path`. If `from` names a place, the agent moved here: the
    /// step that moved it is done.
    ///
    /// # Errors
    /// As [`DeviceSociety::spawn`]; or the bytes are no snapshot of an agent of this program.
    pub fn restore(&mut self, name: &str, path: &str, snapshot: &[u8], from: Option<&str>) -> Result<Aid, SpawnError> {
        let bad = |reason| CreateError::BadProgram { name: Symbol::new(name), reason };
        let compiled = self.host().files().compile(path);
        let first = |diagnostics: Vec<Diagnostic>| {
            bad(diagnostics.first().map_or_else(|| format!("{path} has errors"), ToString::to_string))
        };
        let (image, _) = compiled.map_err(first)?;
        let agent = Agent::restore(snapshot, image, self.host().now());
        let mut agent = agent.map_err(|error| bad(error.to_string()))?;
        if let Some(from) = from {
            agent.hopped(&Hop::Arrived { from: Symbol::new(from) });
        }
        self.introduce(name, agent)
    }

    fn introduce(&mut self, name: &str, agent: Agent) -> Result<Aid, SpawnError> {
        self.platform.spawn(NewAgent::new(name, AgentKind::AgentSpeak), Box::new(agent))
    }

    fn set_lifetime(&mut self, agent: Aid, lifetime: Duration) {
        self.platform.services().set_lifetime(agent, lifetime);
    }

    /// Writes an agent's whole state, in the format of nodes.
    ///
    /// # Errors
    /// There is no agent of this name, or it cannot be written.
    pub fn snapshot(&mut self, name: &str) -> Result<Vec<u8>, AgentSnapshotError> {
        let now = self.host().now();
        let slot = self.platform.slot(Symbol::new(name)).ok_or(AgentSnapshotError::NoSuchAgent)?;
        slot.body.snapshot(now).ok_or(AgentSnapshotError::Impossible)
    }

    /// Writes an agent's state for its continuation elsewhere: the step that moves it is done. The agent has no turns
    /// until it [departs](Society::depart) or [stays](Society::stay).
    ///
    /// # Errors
    /// As [`DeviceSociety::snapshot`]; or the agent is being debugged.
    pub fn leave(&mut self, name: &str) -> Result<Vec<u8>, AgentSnapshotError> {
        let (name, host) = (Symbol::new(name), self.host());
        let (now, from, leaving) = (host.now(), host.place, host.leaving.get(&name).copied());
        let slot = self.platform.slot(name).ok_or(AgentSnapshotError::NoSuchAgent)?;
        if leaving.is_none() && slot.body.stays().is_some() {
            return Err(AgentSnapshotError::Held);
        }
        // The agent may stay, and is told so then. So its arrival is recorded in a copy.
        let mut there = slot.body.duplicate(now).ok_or(AgentSnapshotError::Impossible)?;
        there.hopped(&Hop::Arrived { from });
        let state = there.snapshot(now).ok_or(AgentSnapshotError::Impossible)?;
        self.begin_move(name, leaving.map_or(sym::EMPTY, |leaving| leaving.to), state.len() as u64);
        Ok(state)
    }

    fn begin_move(&mut self, name: Symbol, to: Symbol, bytes: u64) {
        if self.platform.begin_move(name) {
            self.host_mut().leaving.insert(name, LeavingAgent { to, bytes });
        }
    }

    /// Cancels the move of a leaving agent. Its step fails with this code of [`HopError::code`], which `text`
    /// explains. Returns false if there is no agent of this name.
    pub fn stay(&mut self, name: &str, why: &str, text: &str) -> bool {
        let name = Symbol::new(name);
        if self.platform.slot(name).is_none() {
            return false;
        }
        let leaving = self.host_mut().leaving.remove(&name);
        let LeavingAgent { to, bytes } = leaving.unwrap_or(LeavingAgent { to: sym::EMPTY, bytes: 0 });
        self.platform.stay(name, to, hop_error(why, text, to, bytes));
        true
    }

    /// Removes an agent that continues elsewhere, and frees its name. Returns its state and its waiting messages in
    /// JSON. The end of the agent is not reported.
    ///
    /// # Errors
    /// As [`DeviceSociety::snapshot`]; then the agent stays.
    pub fn depart(&mut self, name: &str) -> Result<(Vec<u8>, Vec<Box<RawValue>>), AgentSnapshotError> {
        let state = self.snapshot(name)?;
        let name = Symbol::new(name);
        let waiting = self.platform.depart(name).ok_or(AgentSnapshotError::NoSuchAgent)?;
        self.host_mut().forget(name);
        Ok((state, waiting.iter().filter_map(|body| raw(body)).collect()))
    }

    /// Starts or ends the keeping of an agent by the platform. All messages between a kept agent and others here go
    /// by way of the platform, so that the platform sees them. Turns of the agent are reported. Returns false if
    /// there is no agent of this name.
    pub fn set_kept(&mut self, name: &str, kept: bool) -> bool {
        let name = Symbol::new(name);
        let Some(slot) = self.platform.slot(name) else { return false };
        let origins = std::iter::repeat_n(false, slot.mailbox.len()).collect();
        let host = self.host_mut();
        if kept {
            host.kept.insert(name, origins);
            host.worked.insert(name);
        } else {
            host.kept.remove(&name);
        }
        true
    }

    /// Ends an agent. Returns false if there is no agent of this name.
    pub fn kill(&mut self, name: &str) -> bool {
        self.platform.kill(Aid::local(name))
    }

    /// Suspends an agent, or resumes it.
    ///
    /// # Errors
    /// There is no such agent, or it is in another state; the text says which.
    pub fn set_suspended(&mut self, name: &str, suspended: bool) -> Result<(), String> {
        let state = Some(if suspended { AgentState::Suspended } else { AgentState::Active });
        let modification = AgentModification { state, ..AgentModification::default() };
        let modified = self.platform.registry().ams().modify(Aid::local(name), modification);
        self.platform.settle();
        modified.map_err(|error| error.to_string())
    }

    /// Inspects an agent and its mailbox; `None` if there is no such agent.
    pub fn inspect(&mut self, name: &str, look: Look) -> Option<Inspection> {
        let now = self.host().now();
        let slot = self.platform.slot(Symbol::new(name))?;
        let mut seen = slot.body.inspect(look, now);
        seen.look_at(&slot.mailbox, &mut Texts::default());
        Some(seen)
    }

    /// Carries out an instruction of an agent's inspector.
    ///
    /// # Errors
    /// There is no such agent, or the instruction is refused; the text says why.
    pub fn instruct(&mut self, name: &str, instruction: &Instruction) -> Result<(), String> {
        let (name, now) = (Symbol::new(name), self.host().now());
        let slot = self.platform.slot(name).ok_or_else(|| format!("there is no agent {name}"))?;
        match slot.body.instruct(instruction, now) {
            Instructed::Done => self.platform.wake(name),
            Instructed::Refused(why) => return Err(why),
            Instructed::Later => return Err("it has left memory".to_owned()),
        }
        Ok(())
    }

    /// Lists the agents with their states, without `ams` and `df`.
    pub fn agents(&self) -> Vec<(Symbol, AgentState)> {
        let ams = self.platform.registry().ams();
        ams.agents().filter_map(|agent| Some((agent.name, ams.state(agent)?))).collect()
    }

    // ---- Messages

    /// Delivers a message from outside to its receivers here. Returns the receivers that are absent, or whose
    /// mailboxes are full.
    pub fn deliver(&mut self, message: AclMessage) -> Vec<Aid> {
        let mut missing = Vec::new();
        let mut envelopes = Vec::new();
        Envelope::for_each_receiver(Box::new(self.at_home(message)), |envelope| envelopes.push(envelope));
        for envelope in envelopes {
            let is_cast = Cast::of(envelope.to.name).is_some();
            if !is_cast && !self.platform.has_room(envelope.to) {
                missing.push(envelope.to);
                continue;
            }
            self.host_mut().from_outside = !is_cast;
            self.platform.receive(envelope);
            self.host_mut().from_outside = false;
        }
        missing
    }

    /// Strips the platform from the identifiers of its own agents: a society knows these by their local names.
    fn at_home(&self, mut message: AclMessage) -> AclMessage {
        let platform = self.host().attached.unwrap_or_else(|| self.platform.registry().platform());
        let local = |agent: Aid| if agent.platform == platform { agent.at(sym::EMPTY) } else { agent };
        message.sender = local(message.sender);
        message.receivers.iter_mut().for_each(|receiver| *receiver = local(*receiver));
        if !message.extras().reply_to.is_empty() {
            message.extras_mut().reply_to.iter_mut().for_each(|agent| *agent = local(*agent));
        }
        message
    }

    /// Counters of messages by outcome. They add up between any two calls.
    pub fn counters(&self) -> Counters {
        self.platform.counters()
    }

    // ---- Turns

    /// Gives up to `turns` turns, and returns the time of the next call. No agent has a turn while the queue of
    /// events is full.
    pub fn run(&mut self, turns: u32) -> NextRun {
        self.platform.pass_time();
        self.platform.settle();
        if let Some(code) = self.platform.stop_when_due() {
            self.host().tell(SocietyEvent::Stopped { code });
        }
        for _ in 0..turns.min(DEVICE_TURNS_MAX) {
            if self.exit_code().is_some() || self.host().events().is_full() {
                break;
            }
            let Some(name) = self.platform.next_due() else { break };
            if let Some(request) = self.platform.give_turn(name, TURN_STEPS) {
                self.hop(name, &request);
            }
            self.platform.settle();
        }
        self.outlook()
    }

    /// Takes the oldest event from the queue.
    pub fn poll_event(&mut self) -> Option<SocietyEvent> {
        self.host().events().take()
    }

    /// Returns the number of reports that were lost because the host did not poll.
    pub fn lost_events(&self) -> u64 {
        self.host().events().lost()
    }

    /// Returns the exit code, if an agent stopped the society.
    pub fn exit_code(&self) -> Option<i32> {
        self.platform.exit_code()
    }

    pub(crate) fn outlook(&mut self) -> NextRun {
        if self.exit_code().is_some() {
            return NextRun::Over;
        }
        if self.platform.due_count() > 0 {
            return NextRun::Now;
        }
        self.platform.poll_timeout().map_or(NextRun::Idle, NextRun::At)
    }

    /// Moves an agent. A kept agent moves by way of the platform; other agents have no other place, unless their host
    /// moves them ([`DeviceSociety::depart`]).
    fn hop(&mut self, name: Symbol, request: &HopRequest) {
        let (to, host) = (request.to, self.host());
        let why = if host.attached.is_none() || request.mode != HopMode::Move {
            HopError::OneNode
        } else if to == host.place {
            HopError::AlreadyThere(to)
        } else if !host.kept.contains_key(&name) {
            HopError::NotMovable("its platform does not keep it".to_owned())
        } else {
            self.begin_move(name, to, 0);
            let host = self.host_mut();
            // The platform must know the handled messages before it writes the state.
            host.tell_worked();
            return host.tell(SocietyEvent::Leaving { agent: name.to_string(), to: to.to_string() });
        };
        self.platform.stay(name, to, why);
    }
}

/// Converts the answer of the platform to the error of a move.
fn hop_error(why: &str, text: &str, to: Symbol, bytes: u64) -> HopError {
    match why {
        "no_such_node" => HopError::NoSuchNode(to),
        "already_there" => HopError::AlreadyThere(to),
        "forbidden" => HopError::Forbidden(to),
        "refused" => HopError::Refused { node: to, reason: text.to_owned() },
        "busy" => HopError::Busy { node: to, reason: text.to_owned() },
        "too_large" => HopError::TooLarge { bytes, bytes_max: SESSION_STATE_BYTES_MAX as u64 },
        "unreachable" => HopError::Unreachable(to),
        "stopping" => HopError::Stopping,
        _ => HopError::NotMovable(text.to_owned()),
    }
}
