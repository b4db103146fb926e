//! Simulated platform.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Symbol, Value, sym};
use whimbrel_platform::agent_management::{AmsAgent, DfAgent};
use whimbrel_platform::ams::{AgentKind, Ams, AmsCommand, LifecycleStep, NewAgent};
use whimbrel_platform::dead_letters::{DeadLetter, DeadLetters, DeadReason};
use whimbrel_platform::df::Df;
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_platform::limits::{MAILBOX_HARD_MESSAGES, TURN_STEPS};
use whimbrel_platform::mobility::{Hop, HopError};
use whimbrel_platform::policy::Policy;
use whimbrel_platform::route::{NodeId, Route};
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{AgentBody, Counters, EndReason, Next, Observer, Outbox, PlatformEvent, Services, Time, Turn};

use crate::slots::SimulatedSlots;
use crate::world::{SimulatedWorld, locked};
use crate::{Network, Random};

/// Turns one call may take: an agent that is never idle fails its test instead of hanging it.
const TURNS_PER_RUN_MAX: u64 = 50_000_000;

/// Makes the body of an agent from its name, the path of its program, and options.
pub type ProgramLoader = dyn Fn(Symbol, &str, &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> + Send;

/// A platform of one process on a virtual clock; see the [crate].
///
/// The agents `ams` and `df` run as on any platform. Any agent that has something to do may get the next turn, and how
/// long its turn is, is drawn too; but messages from one agent to another keep their order.
pub struct Simulation {
    seed: u64,
    random: Random,
    now: Time,
    world: Arc<SimulatedWorld>,
    slots: SimulatedSlots,
    network: Network,
    dead_letters: DeadLetters,
    counters: Counters,
    mailbox_max: usize,
    observers: Vec<Arc<dyn Observer>>,
    trace: Option<Arc<EventTrace>>,
    ended: Vec<(Symbol, EndReason)>,
    exit_code: Option<i32>,
}

impl Simulation {
    /// A platform named `home`, with the agents `ams` and `df`, whose run depends on this seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let world = Arc::new(SimulatedWorld::new("home", Random::new(random.next_u64())));
        let mut simulation = Self {
            seed,
            random,
            now: Time::ZERO,
            world,
            slots: SimulatedSlots::default(),
            network: Network::default(),
            dead_letters: DeadLetters::new(),
            counters: Counters::default(),
            mailbox_max: MAILBOX_HARD_MESSAGES,
            observers: Vec::new(),
            trace: None,
            ended: Vec::new(),
            exit_code: None,
        };
        simulation.introduce(NewAgent::new(sym::AMS, AgentKind::Service), Box::new(AmsAgent));
        simulation.introduce(NewAgent::new(sym::DF, AgentKind::Service), Box::new(DfAgent));
        simulation
    }

    /// Seed of the simulation.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Random numbers for the test itself, repeated by the seed.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The network between agents.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// The platform as agents see it.
    pub fn services(&self) -> &dyn Services {
        &*self.world
    }

    /// Sets the policy, once and before it is asked.
    pub fn set_policy(&mut self, policy: Policy) {
        assert!(self.world.policy.set(policy).is_ok(), "the policy was asked already");
    }

    /// Sets the environments for agents to act on, once.
    pub fn set_environments(&mut self, environments: NodeEnvironments) {
        assert!(self.world.environments.set(environments).is_ok(), "the environments were set already");
    }

    /// Sets the loader, which makes a body of an [`AgentSource::Program`](whimbrel_platform::services::AgentSource).
    pub fn set_loader(&mut self, loader: Box<ProgramLoader>) {
        *locked(&self.world.loader) = loader;
    }

    /// Adds a file that agents can read.
    pub fn add_file(&mut self, path: &str, text: &str) {
        locked(&self.world.files).insert(path.to_owned(), text.to_owned());
    }

    /// Sets the maximal number of messages in a mailbox.
    pub fn set_mailbox_max(&mut self, messages: usize) {
        self.mailbox_max = messages;
    }

    /// Has `observer` told of all that happens from now on.
    pub fn observe(&mut self, observer: Arc<dyn Observer>) {
        self.observers.push(observer);
        locked(&self.world.ams).observe(true);
        locked(&self.world.df).observe(true);
    }

    /// Records a line for each event from now on, for [`Simulation::trace`].
    pub fn record_trace(&mut self) {
        let trace = Arc::new(EventTrace::default());
        self.trace = Some(Arc::clone(&trace));
        self.observe(trace);
    }

    /// Recorded lines: `12 ms sent amy -> bob: inform hello`.
    pub fn trace(&self) -> Vec<String> {
        self.trace.as_ref().map(|trace| locked(&trace.lines).clone()).unwrap_or_default()
    }

    /// Adds an agent. Its first turn comes when the simulation runs.
    ///
    /// # Panics
    /// The name is taken or is no name.
    pub fn spawn(&mut self, name: &str, body: Box<dyn AgentBody>) -> Aid {
        self.introduce(NewAgent::new(name, AgentKind::Native), body)
    }

    /// Adds an agent of this record.
    ///
    /// # Panics
    /// The name is taken or is no name.
    #[allow(clippy::panic, reason = "a test that cannot be set up has failed")]
    pub fn introduce(&mut self, new: NewAgent, body: Box<dyn AgentBody>) -> Aid {
        match self.world.create_with(new, |_| Ok(body)) {
            Ok(aid) => aid,
            Err(error) => panic!("cannot spawn: {error}"),
        }
    }

    /// Sends a message from outside the platform.
    pub fn send(&mut self, message: AclMessage) {
        self.settle();
        self.post(message);
    }

    /// Sends `content` to an agent as an `inform` of the agent `test`, which does not exist.
    pub fn tell(&mut self, agent: &str, content: impl Into<Value>) {
        self.send(AclMessage::new(Performative::Inform, Aid::local("test"), Aid::local(agent), content));
    }

    /// Gives an agent a turn when the simulation runs, whether it has messages or not.
    pub fn wake(&mut self, agent: Aid) {
        self.settle();
        self.slots.make_due(agent.name);
    }

    /// Ends an agent; false if there is none of that name.
    pub fn kill(&mut self, agent: &str) -> bool {
        let killed = self.world.kill(Aid::local(agent));
        self.settle();
        killed
    }

    /// Makes an agent see in its turns that it is being ended, as if another thread did so meanwhile.
    pub fn doom(&mut self, agent: &str) {
        *locked(&self.world.doomed) = Some(Symbol::new(agent));
    }

    /// Runs `work` on the AMS, and carries out the commands that follow.
    pub fn with_ams<R>(&mut self, work: impl FnOnce(&mut Ams) -> R) -> R {
        let result = work(&mut locked(&self.world.ams));
        self.settle();
        result
    }

    /// Runs `work` on the DF, and sends the messages that follow.
    pub fn with_df<R>(&mut self, work: impl FnOnce(&mut Df) -> R) -> R {
        let result = work(&mut locked(&self.world.df));
        self.settle();
        result
    }

    /// Runs until no agent has anything to do and no message is on its way, or the platform stopped.
    pub fn run_until_idle(&mut self) {
        self.run_until(Time::NEVER);
    }

    /// Runs for so many milliseconds of simulated time, or until the platform stopped.
    pub fn run_for(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        self.run_until(end);
        if self.exit_code.is_none() {
            self.pass_time(end);
        }
    }

    /// Gives one turn to one agent that has something to do now, without letting time pass; false if there is none.
    pub fn step(&mut self) -> bool {
        self.settle();
        match self.slots.draw(&mut self.random) {
            Some(name) => {
                self.give_turn(name);
                self.settle();
                true
            }
            None => false,
        }
    }

    /// Lines that agents printed so far, each as `[agent] text`.
    pub fn output(&self) -> Vec<String> {
        locked(&self.world.output).clone()
    }

    /// Lines that agents logged so far, each as `Level [agent] text`.
    pub fn log(&self) -> Vec<String> {
        locked(&self.world.log).clone()
    }

    /// Counts of messages by their fate. The counts balance between any two turns.
    pub fn counters(&self) -> Counters {
        Counters { queued: (self.slots.queued() + self.network.len()) as u64, ..self.counters }
    }

    /// Recorded dead letters, newest first.
    pub fn dead_letters(&self) -> impl Iterator<Item = &DeadLetter> {
        self.dead_letters.iter()
    }

    /// Number of agents, `ams` and `df` included.
    pub fn agent_count(&self) -> usize {
        self.slots.len() + locked(&self.world.newcomers).len()
    }

    /// Reason of the last end of an agent of this name, if there was one.
    pub fn ended(&self, name: &str) -> Option<EndReason> {
        let ended = self.ended.iter().rev().find(|(agent, _)| agent.as_str() == name);
        ended.map(|(_, reason)| reason.clone())
    }

    /// Body of an agent, between two turns.
    pub fn body(&mut self, name: &str) -> Option<&mut dyn AgentBody> {
        self.slots.find(Symbol::new(name)).map(|slot| &mut *slot.body as &mut dyn AgentBody)
    }

    /// The exit code, if an agent stopped the platform.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn run_until(&mut self, end: Time) {
        let mut turns = 0;
        while self.exit_code.is_none() {
            while self.step() {
                turns += 1;
                assert!(turns < TURNS_PER_RUN_MAX, "{TURNS_PER_RUN_MAX} turns and not idle at {} ms", self.now.as_ms());
            }
            match self.next_moment() {
                Some(next) if next <= end => self.pass_time(next),
                _ => break,
            }
        }
    }

    /// Time of the next event that happens by itself.
    fn next_moment(&mut self) -> Option<Time> {
        let stop = locked(&self.world.stop).map(|(at, _)| at);
        let lease = locked(&self.world.df).poll_timeout();
        [self.slots.next_timer(), self.network.next_arrival(), stop, lease].into_iter().flatten().min()
    }

    fn pass_time(&mut self, to: Time) {
        self.now = self.now.max(to);
        self.world.set_now(self.now);
        self.slots.fire_timers(self.now);
        locked(&self.world.df).handle_timeout(self.now);
        while let Some(envelope) = self.network.arrived(self.now) {
            self.arrive(envelope);
        }
        let stop = *locked(&self.world.stop);
        if let Some((_, code)) = stop.filter(|(at, _)| *at <= self.now) {
            locked(&self.world.ams).stop();
            self.settle();
            self.exit_code = Some(code);
        }
    }

    /// Carries out the effects of turns, inputs and time, until no more follow.
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
            let notice = locked(&self.world.df).poll_message();
            match notice {
                Some(message) => self.post(message),
                None => break,
            }
        }
        for envelope in self.network.release(self.now, &mut self.random) {
            self.arrive(envelope);
        }
        self.report_changes();
    }

    fn carry_out(&mut self, command: AmsCommand) {
        match command {
            AmsCommand::Run(agent) => self.slots.set_held(agent.name, false),
            AmsCommand::Hold(agent) => self.slots.set_held(agent.name, true),
            AmsCommand::End(agent) | AmsCommand::Expire(agent) => {
                self.with_turn(agent.name, 0, |body, turn| body.stopping(turn));
                let expired = matches!(command, AmsCommand::Expire(_));
                self.end(agent, if expired { EndReason::Expired } else { EndReason::Killed });
            }
            AmsCommand::Copy { original, copy } => {
                let body = self.slots.find(original.name).and_then(|slot| slot.body.duplicate(self.now));
                let mut ams = locked(&self.world.ams);
                match body {
                    Some(body) => {
                        self.slots.add(copy.name, body);
                        let _ = ams.step(copy, LifecycleStep::Start);
                    }
                    None => drop(ams.handle_ended(copy, EndReason::Failed("cannot be cloned".to_owned()))),
                }
            }
            _ => {}
        }
    }

    fn give_turn(&mut self, name: Symbol) {
        let budget = self.random.between(1..=u64::from(TURN_STEPS)) as u32;
        match self.with_turn(name, budget, |body, turn| body.turn(turn)) {
            None | Some(Next::Wait) => {}
            Some(Next::WaitUntil(at) | Next::Refuse(at)) if at > self.now => self.slots.set_timer(name, at),
            Some(Next::WaitUntil(_) | Next::Refuse(_) | Next::Ready) => self.slots.make_due(name),
            Some(Next::Activate) => self.activate(name),
            Some(Next::Hop(request)) => self.stay(name, request.to),
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

    /// Tells an agent that it stays, since there is no other node.
    fn stay(&mut self, name: Symbol, to: Symbol) {
        if let Some(slot) = self.slots.find(name) {
            slot.body.hopped(&Hop::Stayed { to, why: HopError::OneNode });
            self.slots.make_due(name);
        }
    }

    /// Runs `work` on an agent, and sends its messages. `None` if the agent ended.
    fn with_turn<R>(
        &mut self,
        name: Symbol,
        budget: u32,
        work: impl FnOnce(&mut dyn AgentBody, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let aid = Aid::local(name);
        let slot = self.slots.find(name)?;
        let (before, mut outbox) = (slot.mailbox.len(), Outbox::default());
        let services: &dyn Services = &*self.world;
        let (mailbox, outbox_of_turn) = (&mut slot.mailbox, &mut outbox);
        let mut turn = Turn { aid, now: self.now, mailbox, outbox: outbox_of_turn, budget, services };
        let result = work(&mut *slot.body, &mut turn);
        let aside = slot.mailbox.take_aside();
        // Less than nothing, if the agent gave back more than it took.
        let handled = before as i64 - (slot.mailbox.len() + aside.len()) as i64;
        self.counters.handled = self.counters.handled.wrapping_add_signed(handled);
        if handled > 0 {
            self.note(PlatformEvent::Handled(aid, handled as usize));
        }
        outbox.drain().for_each(|envelope| self.put_on_its_way(envelope));
        aside.into_iter().for_each(|body| self.bury(Envelope { to: aid, body }, DeadReason::MailboxFull));
        Some(result)
    }

    fn end(&mut self, agent: Aid, reason: EndReason) {
        let Some(mut slot) = self.slots.remove(agent.name) else { return };
        self.ended.push((agent.name, reason.clone()));
        locked(&self.world.ams).handle_ended(agent, reason);
        locked(&self.world.df).handle_agent_ended(agent);
        locked(&self.world.topics).handle_agent_ended(agent.name);
        while let Some(body) = slot.mailbox.take() {
            self.bury(Envelope { to: agent, body }, DeadReason::AgentEnded);
        }
    }

    fn post(&mut self, message: AclMessage) {
        let mut envelopes = Vec::new();
        Envelope::for_each_receiver(Box::new(message), |envelope| envelopes.push(envelope));
        envelopes.into_iter().for_each(|envelope| self.put_on_its_way(envelope));
    }

    fn put_on_its_way(&mut self, envelope: Envelope) {
        self.counters.sent += 1;
        self.note(PlatformEvent::Sent(&envelope));
        match Cast::of(envelope.to.name) {
            None => self.travel(envelope),
            Some(cast) => self.cast(cast, envelope),
        }
    }

    fn travel(&mut self, envelope: Envelope) {
        if let Some(envelope) = self.network.send(envelope, self.now, &mut self.random) {
            self.arrive(envelope);
        }
    }

    /// Sends a message to all members of a topic or group, or to one of them.
    fn cast(&mut self, cast: Cast, envelope: Envelope) {
        let audience = locked(&self.world.topics).audience(envelope.to.name);
        let Some(audience) = audience else {
            if cast == Cast::Broadcast {
                self.counters.handled += 1;
                return;
            }
            return self.bury(envelope, DeadReason::NoMember);
        };
        // All are agents of this process, and none is known to be crowded.
        let route = |_| Route::node(NodeId(0));
        let chosen = if cast == Cast::Anycast { audience.choose(route).map(|(member, _)| member) } else { None };
        let receivers = chosen.as_ref().map_or(&*audience.local, std::slice::from_ref);
        self.counters.sent += receivers.len() as u64 - 1;
        let shared = envelope.body.into_shared();
        for name in receivers {
            self.travel(Envelope { to: Aid::local(*name), body: MessageBody::Shared(Arc::clone(&shared)) });
        }
    }

    fn arrive(&mut self, envelope: Envelope) {
        // Newcomers have a name before they have a slot.
        while let Some((name, body)) = locked(&self.world.newcomers).pop_front() {
            self.slots.add(name, body);
        }
        let here = envelope.to.platform == sym::EMPTY || envelope.to.platform == self.world.platform();
        match self.slots.find(envelope.to.name) {
            _ if !here => self.bury(envelope, DeadReason::Unreachable),
            None => self.bury(envelope, DeadReason::UnknownAgent),
            Some(slot) if slot.mailbox.len() >= self.mailbox_max => self.bury(envelope, DeadReason::MailboxFull),
            Some(_) => {
                self.note(PlatformEvent::Delivered(&envelope));
                if let Some(slot) = self.slots.find(envelope.to.name) {
                    slot.mailbox.push(envelope.body);
                }
                self.slots.make_due(envelope.to.name);
            }
        }
    }

    fn bury(&mut self, envelope: Envelope, reason: DeadReason) {
        self.counters.dead += 1;
        self.note(PlatformEvent::Died(&envelope, reason));
        if let Some(failure) = self.dead_letters.bury(self.now, envelope, reason) {
            self.post(failure);
        }
    }

    fn note(&self, event: PlatformEvent<'_>) {
        self.observers.iter().for_each(|observer| observer.observe(self.now, event));
    }

    fn report_changes(&mut self) {
        if self.observers.is_empty() {
            return;
        }
        while let Some(change) = locked(&self.world.ams).poll_change() {
            self.note(PlatformEvent::Agent(&change));
        }
        while let Some(change) = locked(&self.world.df).poll_change() {
            self.note(PlatformEvent::Directory(&change));
        }
    }
}

/// Observer that records events as lines.
#[derive(Default)]
struct EventTrace {
    lines: Mutex<Vec<String>>,
}

impl Observer for EventTrace {
    fn observe(&self, at: Time, event: PlatformEvent<'_>) {
        locked(&self.lines).push(format!("{} ms {event}", at.as_ms()));
    }
}
