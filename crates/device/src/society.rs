//! Society of one thread: its agents, and the delivery of their messages.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use whimbrel_acl::codec::json;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, Value, sym};
use whimbrel_bdi::Agent;
use whimbrel_platform::agent_management::{AmsAgent, DfAgent};
use whimbrel_platform::ams::{AgentKind, AgentModification, AgentState, AmsCommand, LifecycleStep, NewAgent};
use whimbrel_platform::capabilities::Mobile;
use whimbrel_platform::dead_letters::{DeadLetters, DeadReason};
use whimbrel_platform::inspection::{Inspection, Instructed, Instruction, Look, Texts};
use whimbrel_platform::limits::{
    DEVICE_MAILBOX_MESSAGES, DEVICE_SAID_BYTES, DEVICE_TURNS_MAX, SESSION_STATE_BYTES_MAX, TURN_STEPS,
};
use whimbrel_platform::mobility::{Hop, HopError, HopMode, HopRequest};
use whimbrel_platform::route::{NodeId, Route};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{AgentBody, Counters, EndReason, Next, Outbox, Services, Time, Turn};

use crate::events::SocietyEvent;
use crate::services::{DeviceHost, SocietyServices, locked};
use crate::slots::{AgentSlots, LeavingAgent};

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

/// Platform of one thread; see the [crate]. Inputs are the methods. After each, call [`DeviceSociety::run`] until it
/// returns no [`NextRun::Now`], and [`DeviceSociety::poll_event`] until it returns `None`.
pub struct DeviceSociety {
    world: Arc<SocietyServices>,
    slots: AgentSlots,
    dead_letters: DeadLetters,
    counters: Counters,
    exit_code: Option<i32>,
    /// Kept agents that had turns since the last report.
    worked: BTreeSet<Symbol>,
}

impl DeviceSociety {
    /// Creates a society whose only agents are `ams` and `df`.
    pub fn new(platform: &str, host: Box<dyn DeviceHost>) -> Self {
        let mut society = Self {
            world: Arc::new(SocietyServices::new(platform, host)),
            slots: AgentSlots::default(),
            dead_letters: DeadLetters::new(),
            counters: Counters::default(),
            exit_code: None,
            worked: BTreeSet::new(),
        };
        let service = |name| NewAgent::new(name, AgentKind::Service);
        let _ = society.world.create_with(service(sym::AMS), |_| Ok(Box::new(AmsAgent)));
        let _ = society.world.create_with(service(sym::DF), |_| Ok(Box::new(DfAgent)));
        society.settle();
        society
    }

    /// Attaches the society to this platform. From now on, messages to agents elsewhere, to `ams` and to `df` come
    /// out as [`SocietyEvent::Sent`]. `place` is the name of this place for agents; empty if it has none.
    pub fn attach(&mut self, platform: Option<&str>, place: &str) {
        *locked(&self.world.attached) = platform.map(Symbol::new);
        *locked(&self.world.place) = Symbol::new(place);
    }

    /// Starts or ends reports of messages as [`SocietyEvent::Said`].
    pub fn listen(&mut self, on: bool) {
        *locked(&self.world.listened) = on;
    }

    /// Adds a file, or replaces it.
    ///
    /// # Errors
    /// The file is too long.
    pub fn put_file(&mut self, path: &str, text: &str) -> Result<(), String> {
        locked(&self.world.files).put(path, text)
    }

    pub(crate) fn world(&self) -> &SocietyServices {
        &self.world
    }

    // ---- Agents

    /// Creates an agent of the program at `path`, with these options by the keys of `.mas2j`. It has its first turn
    /// when the society runs.
    ///
    /// # Errors
    /// The name is taken or invalid, or the program has errors.
    pub fn spawn(&mut self, name: &str, path: &str, options: &[(Symbol, Value)]) -> Result<Aid, SpawnError> {
        let agent = self.world.load(path, options);
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
        let compiled = locked(&self.world.files).compile(path);
        let first = |diagnostics: Vec<whimbrel_bdi::syntax::Diagnostic>| {
            bad(diagnostics.first().map_or_else(|| format!("{path} has errors"), ToString::to_string))
        };
        let (image, _) = compiled.map_err(first)?;
        let agent = Agent::restore(snapshot, image, self.world.now());
        let mut agent = agent.map_err(|error| bad(error.to_string()))?;
        if let Some(from) = from {
            agent.hopped(&Hop::Arrived { from: Symbol::new(from) });
        }
        self.introduce(name, agent)
    }

    pub(crate) fn introduce(&mut self, name: &str, agent: Agent) -> Result<Aid, SpawnError> {
        let made = self.world.create_with(NewAgent::new(name, AgentKind::AgentSpeak), |_| Ok(Box::new(agent)));
        self.settle();
        made
    }

    /// Writes an agent's whole state, in the format of nodes.
    ///
    /// # Errors
    /// There is no agent of this name, or it cannot be written.
    pub fn snapshot(&mut self, name: &str) -> Result<Vec<u8>, AgentSnapshotError> {
        let now = self.world.now();
        let slot = self.slots.find(Symbol::new(name)).ok_or(AgentSnapshotError::NoSuchAgent)?;
        slot.body.snapshot(now).ok_or(AgentSnapshotError::Impossible)
    }

    /// Writes an agent's state for its continuation elsewhere: the step that moves it is done. The agent has no turns
    /// until it [departs](Society::depart) or [stays](Society::stay).
    ///
    /// # Errors
    /// As [`DeviceSociety::snapshot`]; or the agent is being debugged.
    pub fn leave(&mut self, name: &str) -> Result<Vec<u8>, AgentSnapshotError> {
        let (now, from) = (self.world.now(), *locked(&self.world.place));
        let slot = self.slots.find(Symbol::new(name)).ok_or(AgentSnapshotError::NoSuchAgent)?;
        if slot.leaving.is_none() && slot.body.stays().is_some() {
            return Err(AgentSnapshotError::Held);
        }
        // The agent may stay, and is told so then. So its arrival is recorded in a copy.
        let mut there = slot.body.duplicate(now).ok_or(AgentSnapshotError::Impossible)?;
        there.hopped(&Hop::Arrived { from });
        let state = there.snapshot(now).ok_or(AgentSnapshotError::Impossible)?;
        let to = slot.leaving.map_or(sym::EMPTY, |leaving| leaving.to);
        slot.leaving = Some(LeavingAgent { to, bytes: state.len() as u64 });
        Ok(state)
    }

    /// Cancels the move of a leaving agent. Its step fails with this code of [`HopError::code`], which `text`
    /// explains. Returns false if there is no agent of this name.
    pub fn stay(&mut self, name: &str, why: &str, text: &str) -> bool {
        let name = Symbol::new(name);
        let Some(slot) = self.slots.find(name) else { return false };
        let LeavingAgent { to, bytes } = slot.leaving.take().unwrap_or(LeavingAgent { to: sym::EMPTY, bytes: 0 });
        self.tell_stayed(name, to, hop_error(why, text, to, bytes));
        true
    }

    /// Removes an agent that continues elsewhere, and frees its name. Returns its state and its waiting messages in
    /// JSON. The end of the agent is not reported.
    ///
    /// # Errors
    /// As [`DeviceSociety::snapshot`]; then the agent stays.
    pub fn depart(&mut self, name: &str) -> Result<(Vec<u8>, Vec<Box<RawValue>>), AgentSnapshotError> {
        let state = self.snapshot(name)?;
        let agent = Aid::local(name);
        let mut slot = self.slots.remove(agent.name).ok_or(AgentSnapshotError::NoSuchAgent)?;
        locked(&self.world.kept).remove(&agent.name);
        locked(&self.world.ams).handle_ended(agent, EndReason::Finished);
        locked(&self.world.df).handle_agent_ended(agent);
        locked(&self.world.topics).handle_agent_ended(agent.name);
        let waiting = slot.mailbox.take_all();
        self.counters.left += waiting.len() as u64;
        Ok((state, waiting.iter().filter_map(|body| raw(body)).collect()))
    }

    /// Starts or ends the keeping of an agent by the platform. All messages between a kept agent and others here go
    /// by way of the platform, so that the platform sees them. Turns of the agent are reported. Returns false if
    /// there is no agent of this name.
    pub fn set_kept(&mut self, name: &str, kept: bool) -> bool {
        let name = Symbol::new(name);
        let Some(slot) = self.slots.find(name) else { return false };
        slot.kept = kept.then(|| std::iter::repeat_n(false, slot.mailbox.len()).collect());
        let mut all = locked(&self.world.kept);
        if kept {
            all.insert(name);
            self.worked.insert(name);
        } else {
            all.remove(&name);
        }
        true
    }

    /// Reports the kept agents that had turns.
    pub(crate) fn tell_worked(&mut self) {
        for name in std::mem::take(&mut self.worked) {
            let Some(waiting) = self.slots.find(name).filter(|slot| slot.kept.is_some()) else { continue };
            let (agent, waiting) = (name.to_string(), waiting.waiting_from_outside());
            self.world.tell(SocietyEvent::Worked { agent, waiting });
        }
    }

    /// Ends an agent. Returns false if there is no agent of this name.
    pub fn kill(&mut self, name: &str) -> bool {
        let killed = self.world.kill(Aid::local(name));
        self.settle();
        killed
    }

    /// Suspends an agent, or resumes it.
    ///
    /// # Errors
    /// There is no such agent, or it is in another state; the text says which.
    pub fn set_suspended(&mut self, name: &str, suspended: bool) -> Result<(), String> {
        let state = Some(if suspended { AgentState::Suspended } else { AgentState::Active });
        let modification = AgentModification { state, ..AgentModification::default() };
        let modified = locked(&self.world.ams).modify(Aid::local(name), modification);
        self.settle();
        modified.map_err(|error| error.to_string())
    }

    /// Inspects an agent and its mailbox; `None` if there is no such agent.
    pub fn inspect(&mut self, name: &str, look: Look) -> Option<Inspection> {
        let now = self.world.now();
        let slot = self.slots.find(Symbol::new(name))?;
        let mut seen = slot.body.inspect(look, now);
        seen.look_at(&slot.mailbox, &mut Texts::default());
        Some(seen)
    }

    /// Carries out an instruction of an agent's inspector.
    ///
    /// # Errors
    /// There is no such agent, or the instruction is refused; the text says why.
    pub fn instruct(&mut self, name: &str, instruction: &Instruction) -> Result<(), String> {
        let (name, now) = (Symbol::new(name), self.world.now());
        let slot = self.slots.find(name).ok_or_else(|| format!("there is no agent {name}"))?;
        match slot.body.instruct(instruction, now) {
            Instructed::Done => self.slots.make_due(name),
            Instructed::Refused(why) => return Err(why),
            Instructed::Later => return Err("it has left memory".to_owned()),
        }
        Ok(())
    }

    /// Lists the agents with their states, without `ams` and `df`.
    pub fn agents(&self) -> Vec<(Symbol, AgentState)> {
        let ams = locked(&self.world.ams);
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
            if Cast::of(envelope.to.name).is_none() && !self.has_place(envelope.to) {
                missing.push(envelope.to);
                continue;
            }
            self.counters.came += 1;
            match Cast::of(envelope.to.name) {
                None => self.arrive(envelope, true),
                Some(cast) => self.cast(cast, envelope),
            }
        }
        missing
    }

    fn has_place(&mut self, agent: Aid) -> bool {
        let slot = self.slots.find(agent.name).filter(|_| agent.platform == sym::EMPTY);
        slot.is_some_and(|slot| slot.mailbox.len() < DEVICE_MAILBOX_MESSAGES)
    }

    /// Strips the platform from the identifiers of its own agents: a society knows these by their local names.
    fn at_home(&self, mut message: AclMessage) -> AclMessage {
        let platform = (*locked(&self.world.attached)).unwrap_or_else(|| self.world.platform());
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
        Counters { queued: self.slots.waiting() as u64, ..self.counters }
    }

    // ---- Turns

    /// Gives up to `turns` turns, and returns the time of the next call. No agent has a turn while the queue of
    /// events is full.
    pub fn run(&mut self, turns: u32) -> NextRun {
        self.pass_time();
        for _ in 0..turns.min(DEVICE_TURNS_MAX) {
            if self.exit_code.is_some() || locked(&self.world.events).is_full() {
                break;
            }
            let Some(name) = self.slots.next() else { break };
            self.give_turn(name);
            self.settle();
        }
        self.outlook()
    }

    /// Takes the oldest event from the queue.
    pub fn poll_event(&mut self) -> Option<SocietyEvent> {
        locked(&self.world.events).take()
    }

    /// Returns the number of reports that were lost because the host did not poll.
    pub fn lost_events(&self) -> u64 {
        locked(&self.world.events).lost()
    }

    /// Returns the exit code, if an agent stopped the society.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    pub(crate) fn outlook(&mut self) -> NextRun {
        if self.exit_code.is_some() {
            return NextRun::Over;
        }
        if self.slots.has_next() {
            return NextRun::Now;
        }
        let stop = locked(&self.world.stop).map(|(at, _)| at);
        let lease = locked(&self.world.df).poll_timeout();
        let end = Some(locked(&self.world.ams).next_end()).filter(|end| *end < Time::NEVER);
        let next = [self.slots.next_timer(), stop, lease, end].into_iter().flatten().min();
        next.map_or(NextRun::Idle, NextRun::At)
    }

    fn pass_time(&mut self) {
        let now = self.world.now();
        self.slots.fire_timers(now);
        locked(&self.world.df).handle_timeout(now);
        let expired = locked(&self.world.ams).expire(now);
        for (agent, owner) in expired {
            if owner != sym::EMPTY {
                let content = Value::term("ended", [Value::atom(agent.name), Value::atom("expired")]);
                let ams = Aid::local(sym::AMS);
                let news = AclMessage::new(whimbrel_acl::Performative::Inform, ams, Aid::local(owner), content);
                locked(&self.world.news).push_back(news);
            }
        }
        self.settle();
        let stop = *locked(&self.world.stop);
        if let Some((_, code)) = stop.filter(|(at, _)| *at <= now && self.exit_code.is_none()) {
            locked(&self.world.ams).stop();
            self.settle();
            self.exit_code = Some(code);
            self.world.tell(SocietyEvent::Stopped { code });
        }
    }

    /// Carries out everything that turns, inputs and time asked for, until no work is left.
    fn settle(&mut self) {
        loop {
            let newcomer = locked(&self.world.newcomers).pop_front();
            if let Some((name, body)) = newcomer {
                self.slots.add(name, body);
                continue;
            }
            let command = locked(&self.world.ams).poll_command();
            if let Some(command) = command {
                self.carry_out(command);
                continue;
            }
            let told = locked(&self.world.df).poll_message().or_else(|| locked(&self.world.news).pop_front());
            match told {
                Some(message) => self.post(message),
                None => return,
            }
        }
    }

    fn carry_out(&mut self, command: AmsCommand) {
        match command {
            AmsCommand::Run(agent) => self.slots.set_held(agent.name, false),
            AmsCommand::Hold(agent) => self.slots.set_held(agent.name, true),
            AmsCommand::End(agent) => self.stop(agent, EndReason::Killed),
            AmsCommand::Expire(agent) => self.stop(agent, EndReason::Expired),
            AmsCommand::Copy { original, copy } => {
                let now = self.world.now();
                let body = self.slots.find(original.name).and_then(|slot| slot.body.duplicate(now));
                match body {
                    Some(body) => {
                        self.slots.add(copy.name, body);
                        let _ = locked(&self.world.ams).step(copy, LifecycleStep::Start);
                        self.world.tell(SocietyEvent::Created { agent: copy.name.to_string() });
                    }
                    None => {
                        let why = EndReason::Failed("cannot be cloned".to_owned());
                        locked(&self.world.ams).handle_ended(copy, why);
                    }
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, agent: Aid, reason: EndReason) {
        self.with_turn(agent.name, 0, |body, turn| body.stopping(turn));
        self.end(agent, reason);
    }

    fn give_turn(&mut self, name: Symbol) {
        match self.with_turn(name, TURN_STEPS, |body, turn| body.turn(turn)) {
            None | Some(Next::Wait) => {}
            Some(Next::WaitUntil(at)) if at > self.world.now() => self.slots.set_timer(name, at),
            // Only sessions refuse messages for later, and there are none here.
            Some(Next::WaitUntil(_) | Next::Refuse(_) | Next::Ready) => self.slots.make_due(name),
            Some(Next::Activate) => self.activate(name),
            Some(Next::Hop(request)) => self.hop(name, &request),
            Some(Next::End(reason)) => self.end(Aid::local(name), reason),
        }
    }

    fn activate(&mut self, name: Symbol) {
        let Some(slot) = self.slots.find(name) else { return };
        match slot.body.activate() {
            Ok(body) => {
                slot.body = body;
                self.slots.make_due(name);
            }
            Err(why) => self.end(Aid::local(name), EndReason::Failed(why)),
        }
    }

    /// Moves an agent. A kept agent moves by way of the platform; other agents have no other place, unless their host
    /// moves them ([`DeviceSociety::depart`]).
    fn hop(&mut self, name: Symbol, request: &HopRequest) {
        let (to, is_attached) = (request.to, locked(&self.world.attached).is_some());
        let place = *locked(&self.world.place);
        let Some(slot) = self.slots.find(name) else { return };
        let why = if !is_attached || request.mode != HopMode::Move {
            HopError::OneNode
        } else if to == place {
            HopError::AlreadyThere(to)
        } else if slot.kept.is_none() {
            HopError::NotMovable("its platform does not keep it".to_owned())
        } else {
            slot.leaving = Some(LeavingAgent { to, bytes: 0 });
            // The platform must know the handled messages before it writes the state.
            self.tell_worked();
            return self.world.tell(SocietyEvent::Leaving { agent: name.to_string(), to: to.to_string() });
        };
        self.tell_stayed(name, to, why);
    }

    fn tell_stayed(&mut self, name: Symbol, to: Symbol, why: HopError) {
        if let Some(slot) = self.slots.find(name) {
            slot.body.hopped(&Hop::Stayed { to, why });
            self.slots.make_due(name);
        }
    }

    /// Calls `work` on an agent as its turn, and sends the messages of that turn. `None` if the agent ended.
    fn with_turn<R>(
        &mut self,
        name: Symbol,
        budget: u32,
        work: impl FnOnce(&mut dyn AgentBody, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let (world, mut outbox) = (Arc::clone(&self.world), Outbox::default());
        let slot = self.slots.find(name)?;
        let (mailbox, now) = (&mut slot.mailbox, world.now());
        let mut turn = Turn { aid: Aid::local(name), now, mailbox, outbox: &mut outbox, budget, services: &*world };
        let result = work(&mut *slot.body, &mut turn);
        self.counters.handled = self.counters.handled.wrapping_add_signed(slot.mailbox.count_taken().into());
        slot.note_handled();
        if slot.kept.is_some() {
            self.worked.insert(name);
        }
        outbox.drain().for_each(|envelope| self.send(envelope));
        Some(result)
    }

    fn end(&mut self, agent: Aid, reason: EndReason) {
        let Some(mut slot) = self.slots.remove(agent.name) else { return };
        locked(&self.world.kept).remove(&agent.name);
        self.world.tell(SocietyEvent::Ended { agent: agent.name.to_string(), reason: reason.to_string() });
        locked(&self.world.ams).handle_ended(agent, reason);
        locked(&self.world.df).handle_agent_ended(agent);
        locked(&self.world.topics).handle_agent_ended(agent.name);
        for body in slot.mailbox.take_all() {
            self.bury(Envelope { to: agent, body }, DeadReason::AgentEnded);
        }
    }

    fn post(&mut self, message: AclMessage) {
        let mut envelopes = Vec::new();
        Envelope::for_each_receiver(Box::new(message), |envelope| envelopes.push(envelope));
        envelopes.into_iter().for_each(|envelope| self.send(envelope));
    }

    fn send(&mut self, envelope: Envelope) {
        self.counters.sent += 1;
        match Cast::of(envelope.to.name) {
            None => self.route(envelope),
            Some(cast) => self.cast(cast, envelope),
        }
    }

    fn route(&mut self, envelope: Envelope) {
        let is_outside = self.world.is_outside(envelope.body.sender, envelope.to);
        if is_outside { self.send_out(&envelope) } else { self.arrive(envelope, false) }
    }

    /// Sends a message out of the society. Each receiver gets a copy of its own.
    fn send_out(&mut self, envelope: &Envelope) {
        let message = &*envelope.body;
        let mut message = message.clone();
        message.receivers = std::iter::once(envelope.to).collect();
        let agent = message.sender.name.to_string();
        match raw(&message) {
            Some(message) => {
                self.counters.left += 1;
                report(&self.world, envelope, None);
                self.world.tell(SocietyEvent::Sent { agent, message });
            }
            None => self.bury(
                Envelope { to: envelope.to, body: MessageBody::Owned(Box::new(message)) },
                DeadReason::Unsendable,
            ),
        }
    }

    /// Sends a message to the members of a topic or group, or to one of them.
    fn cast(&mut self, cast: Cast, envelope: Envelope) {
        let audience = locked(&self.world.topics).audience(envelope.to.name);
        let Some(audience) = audience else {
            if cast == Cast::Broadcast {
                self.counters.handled += 1;
                return;
            }
            return self.bury(envelope, DeadReason::NoMember);
        };
        let route = |_| Route::node(NodeId(0));
        let chosen = if cast == Cast::Anycast { audience.choose(route).map(|(member, _)| member) } else { None };
        let receivers = chosen.as_ref().map_or(&*audience.local, std::slice::from_ref);
        self.counters.handled += 1;
        self.counters.sent += receivers.len() as u64;
        let shared = envelope.body.into_shared();
        for name in receivers {
            self.arrive(Envelope { to: Aid::local(*name), body: MessageBody::Shared(Arc::clone(&shared)) }, false);
        }
    }

    fn arrive(&mut self, envelope: Envelope, is_from_outside: bool) {
        // New agents have a name before they have a slot.
        while let Some((name, body)) = locked(&self.world.newcomers).pop_front() {
            self.slots.add(name, body);
        }
        let to = envelope.to;
        match self.slots.find(to.name).filter(|_| to.platform == sym::EMPTY) {
            Some(slot) if slot.mailbox.len() < DEVICE_MAILBOX_MESSAGES => {
                report(&self.world, &envelope, None);
                slot.take_in(envelope.body, is_from_outside);
                self.slots.make_due(to.name);
            }
            Some(_) => self.bury(envelope, DeadReason::MailboxFull),
            None => self.bury(envelope, DeadReason::UnknownAgent),
        }
    }

    fn bury(&mut self, envelope: Envelope, reason: DeadReason) {
        self.counters.dead += 1;
        report(&self.world, &envelope, Some(reason));
        if let Some(failure) = self.dead_letters.bury(self.world.now(), envelope, reason) {
            self.post(failure);
        }
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

/// Reports a message, if the host listens.
fn report(world: &SocietyServices, envelope: &Envelope, dead: Option<DeadReason>) {
    if !*locked(&world.listened) {
        return;
    }
    let message = &*envelope.body;
    let mut content = message.content.to_string();
    if content.len() > DEVICE_SAID_BYTES {
        let end = (0..=DEVICE_SAID_BYTES).rev().find(|end| content.is_char_boundary(*end)).unwrap_or(0);
        content.truncate(end);
        content.push('…');
    }
    world.tell(SocietyEvent::Said {
        from: message.sender.name.to_string(),
        to: envelope.to.to_string(),
        performative: message.performative.to_string(),
        content,
        dead: dead.map(|reason| reason.to_string()),
    });
}

/// Encodes a message in JSON; `None` if it nests too deep.
fn raw(message: &AclMessage) -> Option<Box<RawValue>> {
    let bytes = json::encode(message).ok()?;
    RawValue::from_string(String::from_utf8(bytes).ok()?).ok()
}
