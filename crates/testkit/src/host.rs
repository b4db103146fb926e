//! Host of a simulated platform: virtual clock, seeded random numbers, files, output, and the network between agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use whimbrel_acl::{Aid, Envelope, Symbol, Value};
use whimbrel_platform::environment::{NodeEnvironment, NodeEnvironments};
use whimbrel_platform::local::{HostRoute, LocalHost, LocalRegistry};
use whimbrel_platform::policy::Policy;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{AgentBody, EndReason, Observer, PlatformEvent, Time};

use crate::{Network, Random};

/// The simulated wall clock at the simulation's start: 2023-11-14 22:13:20 UTC.
const START_WALL_MS: u64 = 1_700_000_000_000;

/// Makes the body of an agent from its name, the path of its program, and options.
pub type ProgramLoader = dyn Fn(Symbol, &str, &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> + Send;

/// Host of a simulated platform. The locks are for what changes within turns.
pub(crate) struct SimulatedHost {
    pub now: Time,
    /// Random numbers of the simulation itself: order and length of turns, delays of messages.
    pub random: Random,
    pub network: Network,
    pub observers: Vec<Arc<dyn Observer>>,
    /// Ends of agents, in their order.
    pub ends: Vec<(Symbol, EndReason)>,
    pub policy: Policy,
    pub environments: NodeEnvironments,
    /// Agent that sees in its turns that it is being ended.
    pub doomed: Option<Symbol>,
    pub output: Mutex<Vec<String>>,
    pub log: Mutex<Vec<String>>,
    pub files: Mutex<BTreeMap<String, String>>,
    pub loader: Mutex<Box<ProgramLoader>>,
    /// Random numbers of agents.
    agents_random: Mutex<Random>,
}

/// Locks a mutex, even if a thread that held it panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimulatedHost {
    pub fn new(mut random: Random) -> Self {
        let agents_random = Mutex::new(Random::new(random.next_u64()));
        Self {
            now: Time::ZERO,
            random,
            network: Network::default(),
            observers: Vec::new(),
            ends: Vec::new(),
            policy: Policy::default(),
            environments: NodeEnvironments::default(),
            doomed: None,
            output: Mutex::default(),
            log: Mutex::default(),
            files: Mutex::default(),
            loader: Mutex::new(Box::new(|_, path, _| Err(format!("no loader for {path}")))),
            agents_random,
        }
    }

    /// Tells the observers of an event.
    pub fn observe(&self, event: PlatformEvent<'_>) {
        self.observers.iter().for_each(|observer| observer.observe(self.now, event));
    }

    /// Takes the messages that partitions no longer hold back and that arrive at once.
    pub fn release(&mut self) -> Vec<Envelope> {
        self.network.release(self.now, &mut self.random)
    }
}

impl LocalHost for SimulatedHost {
    fn now(&self) -> Time {
        self.now
    }

    fn wall_clock_ms(&self) -> u64 {
        START_WALL_MS + self.now.as_ms()
    }

    fn random(&self) -> u64 {
        locked(&self.agents_random).next_u64()
    }

    fn print(&self, agent: Aid, text: &str) {
        locked(&self.output).push(format!("[{agent}] {text}"));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        locked(&self.log).push(format!("{level:?} [{agent}] {text}"));
    }

    fn load(&self, name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        locked(&self.loader)(name, path, options)
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        locked(&self.files).get(path).cloned().ok_or_else(|| format!("no file {path}"))
    }

    fn list_files(&self, folder: &str) -> Vec<String> {
        let within = format!("{}/", folder.trim_end_matches('/'));
        locked(&self.files).keys().filter(|path| path.starts_with(&within)).cloned().collect()
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        locked(&self.files).insert(path.to_owned(), text.to_owned());
        Ok(())
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn environment(&self, name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        self.environments.named(name)
    }

    fn is_ending(&self, agent: Aid) -> bool {
        self.doomed == Some(agent.name)
    }

    fn ended(&mut self, agent: Aid, reason: &EndReason) {
        self.ends.push((agent.name, reason.clone()));
    }

    fn note(&mut self, event: PlatformEvent<'_>) {
        self.observe(event);
    }

    fn route(&mut self, envelope: Envelope, _cast: Option<Cast>, _registry: &LocalRegistry) -> HostRoute {
        let arrived = self.network.send(envelope, self.now, &mut self.random);
        arrived.map_or(HostRoute::Later, HostRoute::Here)
    }
}
