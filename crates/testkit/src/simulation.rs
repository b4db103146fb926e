//! Simulated platform.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::ams::{AgentKind, Ams, NewAgent};
use whimbrel_platform::dead_letters::DeadLetter;
use whimbrel_platform::df::Df;
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_platform::limits::TURN_STEPS;
use whimbrel_platform::local::LocalPlatform;
use whimbrel_platform::mobility::HopError;
use whimbrel_platform::policy::Policy;
use whimbrel_platform::{AgentBody, Counters, EndReason, Observer, PlatformEvent, Services, Time};

use crate::host::{ProgramLoader, SimulatedHost, locked};
use crate::{Network, Random};

/// Turns one call may take: an agent that is never idle fails its test instead of hanging it.
const TURNS_PER_RUN_MAX: u64 = 50_000_000;

/// A platform of one process on a virtual clock; see the [crate].
///
/// The agents `ams` and `df` run as on any platform. Any agent that has something to do may get the next turn, and how
/// long its turn is, is drawn too; but messages from one agent to another keep their order.
pub struct Simulation {
    seed: u64,
    platform: LocalPlatform<SimulatedHost>,
    trace: Option<Arc<EventTrace>>,
}

impl Simulation {
    /// Returns a platform named `home`, with the agents `ams` and `df`, whose run depends on this seed.
    pub fn new(seed: u64) -> Self {
        let platform = LocalPlatform::new("home", SimulatedHost::new(Random::new(seed)));
        Self { seed, platform, trace: None }
    }

    /// Returns the seed of the simulation.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Time {
        self.host().now
    }

    /// Returns the random numbers for the test itself, repeated by the seed.
    pub fn random(&mut self) -> &mut Random {
        &mut self.platform.host_mut().random
    }

    /// Returns the network between agents.
    pub fn network(&mut self) -> &mut Network {
        &mut self.platform.host_mut().network
    }

    /// Returns the platform as agents see it.
    pub fn services(&self) -> &dyn Services {
        self.platform.services()
    }

    /// Sets the policy.
    pub fn set_policy(&mut self, policy: Policy) {
        self.platform.host_mut().policy = policy;
    }

    /// Sets the environments for agents to act on.
    pub fn set_environments(&mut self, environments: NodeEnvironments) {
        self.platform.host_mut().environments = environments;
    }

    /// Sets the loader, which makes a body of an [`AgentSource::Program`](whimbrel_platform::services::AgentSource).
    pub fn set_loader(&mut self, loader: Box<ProgramLoader>) {
        *locked(&self.host().loader) = loader;
    }

    /// Adds a file that agents can read.
    pub fn add_file(&mut self, path: &str, text: &str) {
        locked(&self.host().files).insert(path.to_owned(), text.to_owned());
    }

    /// Sets the maximal number of messages in a mailbox.
    pub fn set_mailbox_max(&mut self, messages: usize) {
        self.platform.set_mailbox_max(messages);
    }

    /// Has `observer` told of all that happens from now on.
    pub fn observe(&mut self, observer: Arc<dyn Observer>) {
        self.platform.host_mut().observers.push(observer);
        self.platform.registry().ams().observe(true);
        self.platform.registry().df().observe(true);
    }

    /// Records a line for each event from now on, for [`Simulation::trace`].
    pub fn record_trace(&mut self) {
        let trace = Arc::new(EventTrace::default());
        self.trace = Some(Arc::clone(&trace));
        self.observe(trace);
    }

    /// Returns the recorded lines: `12 ms sent amy -> bob: inform hello`.
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
        match self.platform.spawn(new, body) {
            Ok(aid) => aid,
            Err(error) => panic!("cannot spawn: {error}"),
        }
    }

    /// Sends a message from outside the platform.
    pub fn send(&mut self, message: AclMessage) {
        self.settle();
        self.platform.send(message);
    }

    /// Sends `content` to an agent as an `inform` of the agent `test`, which does not exist.
    pub fn tell(&mut self, agent: &str, content: impl Into<Value>) {
        self.send(AclMessage::new(Performative::Inform, Aid::local("test"), Aid::local(agent), content));
    }

    /// Gives an agent a turn when the simulation runs, whether it has messages or not.
    pub fn wake(&mut self, agent: Aid) {
        self.settle();
        self.platform.wake(agent.name);
    }

    /// Ends an agent; false if there is none of that name.
    pub fn kill(&mut self, agent: &str) -> bool {
        let killed = self.platform.kill(Aid::local(agent));
        self.settle();
        killed
    }

    /// Makes an agent see in its turns that it is being ended, as if another thread did so meanwhile.
    pub fn doom(&mut self, agent: &str) {
        self.platform.host_mut().doomed = Some(Symbol::new(agent));
    }

    /// Runs `work` on the AMS, and carries out the commands that follow.
    pub fn with_ams<R>(&mut self, work: impl FnOnce(&mut Ams) -> R) -> R {
        let result = work(&mut self.platform.registry().ams());
        self.settle();
        result
    }

    /// Runs `work` on the DF, and sends the messages that follow.
    pub fn with_df<R>(&mut self, work: impl FnOnce(&mut Df) -> R) -> R {
        let result = work(&mut self.platform.registry().df());
        self.settle();
        result
    }

    /// Runs until no agent has anything to do and no message is on its way, or the platform stopped.
    pub fn run_until_idle(&mut self) {
        self.run_until(Time::NEVER);
    }

    /// Runs for this many milliseconds of simulated time, or until the platform stopped.
    pub fn run_for(&mut self, ms: u64) {
        let end = self.now() + Duration::from_millis(ms);
        self.run_until(end);
        if self.exit_code().is_none() {
            self.pass_time(end);
        }
    }

    /// Gives one turn to one agent that has something to do now, without letting time pass; false if there is none.
    pub fn step(&mut self) -> bool {
        self.settle();
        let Some(name) = self.draw() else { return false };
        let budget = self.random().between(1..=u64::from(TURN_STEPS)) as u32;
        if let Some(request) = self.platform.give_turn(name, budget) {
            self.platform.stay(name, request.to, HopError::OneNode);
        }
        self.settle();
        true
    }

    /// Lines that agents printed so far, each as `[agent] text`.
    pub fn output(&self) -> Vec<String> {
        locked(&self.host().output).clone()
    }

    /// Lines that agents logged so far, each as `Level [agent] text`.
    pub fn log(&self) -> Vec<String> {
        locked(&self.host().log).clone()
    }

    /// Counts of messages by their fate. The counts balance between any two turns.
    pub fn counters(&self) -> Counters {
        let counters = self.platform.counters();
        Counters { queued: counters.queued + self.host().network.len() as u64, ..counters }
    }

    /// Returns the recorded dead letters, the newest first.
    pub fn dead_letters(&self) -> impl Iterator<Item = &DeadLetter> {
        self.platform.dead_letters().iter()
    }

    /// Returns the number of agents, `ams` and `df` included.
    pub fn agent_count(&self) -> usize {
        self.platform.agent_count()
    }

    /// Returns the reason of the last end of an agent of this name, if there was one.
    pub fn ended(&self, name: &str) -> Option<EndReason> {
        let ended = self.host().ends.iter().rev().find(|(agent, _)| agent.as_str() == name);
        ended.map(|(_, reason)| reason.clone())
    }

    /// Returns the body of an agent, between two turns.
    pub fn body(&mut self, name: &str) -> Option<&mut dyn AgentBody> {
        self.platform.slot(Symbol::new(name)).map(|slot| &mut *slot.body as &mut dyn AgentBody)
    }

    /// Returns the exit code, if an agent stopped the platform.
    pub fn exit_code(&self) -> Option<i32> {
        self.platform.exit_code()
    }

    fn host(&self) -> &SimulatedHost {
        self.platform.host()
    }

    fn run_until(&mut self, end: Time) {
        let mut turns = 0;
        while self.exit_code().is_none() {
            while self.step() {
                turns += 1;
                let ms = self.now().as_ms();
                assert!(turns < TURNS_PER_RUN_MAX, "{TURNS_PER_RUN_MAX} turns and not idle at {ms} ms");
            }
            match self.next_moment() {
                Some(next) if next <= end => self.pass_time(next),
                _ => break,
            }
        }
    }

    /// Takes one of the agents that have something to do, drawn at random.
    fn draw(&mut self) -> Option<Symbol> {
        while let Some(last) = self.platform.due_count().checked_sub(1) {
            let place = self.random().between(0..=last as u64) as usize;
            if let Some(name) = self.platform.take_due(place) {
                return Some(name);
            }
        }
        None
    }

    /// Returns the time of the next event that happens by itself.
    fn next_moment(&mut self) -> Option<Time> {
        [self.platform.poll_timeout(), self.host().network.next_arrival()].into_iter().flatten().min()
    }

    fn pass_time(&mut self, to: Time) {
        let now = self.now().max(to);
        self.platform.host_mut().now = now;
        self.platform.pass_time();
        while let Some(envelope) = self.platform.host_mut().network.arrived(now) {
            self.platform.arrive(envelope);
        }
        if self.platform.stop_when_due().is_some() {
            self.settle();
        }
    }

    /// Carries out the effects of turns, inputs and time, until no more follow.
    fn settle(&mut self) {
        self.platform.settle();
        for envelope in self.platform.host_mut().release() {
            self.platform.arrive(envelope);
        }
        self.report_changes();
    }

    fn report_changes(&self) {
        let (host, registry) = (self.host(), self.platform.registry());
        if host.observers.is_empty() {
            return;
        }
        while let Some(change) = registry.ams().poll_change() {
            host.observe(PlatformEvent::Agent(&change));
        }
        while let Some(change) = registry.df().poll_change() {
            host.observe(PlatformEvent::Directory(&change));
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
