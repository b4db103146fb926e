//! World of simulated agents: the platform that they reach during a turn.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::{AgentKind, Ams, LifecycleStep, NewAgent};
use whimbrel_platform::df::Df;
use whimbrel_platform::environment::{NodeEnvironment, NodeEnvironments};
use whimbrel_platform::policy::{Action, Policy};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel, OfferError};
use whimbrel_platform::storage::Shelves;
use whimbrel_platform::topics::{Cast, TopicError, Topics};
use whimbrel_platform::{AgentBody, Directory, EndReason, Services, Time};

use crate::Random;
use crate::simulation::ProgramLoader;

/// The simulated wall clock at the simulation's start: 2023-11-14 22:13:20 UTC.
const START_WALL_MS: u64 = 1_700_000_000_000;

/// Part of a simulation that agents reach during their turns.
pub(crate) struct SimulatedWorld {
    pub ams: Mutex<Ams>,
    pub df: Mutex<Df>,
    pub topics: Mutex<Topics>,
    pub output: Mutex<Vec<String>>,
    pub log: Mutex<Vec<String>>,
    pub files: Mutex<BTreeMap<String, String>>,
    /// Bodies of agents that the AMS knows already, in order of creation.
    pub newcomers: Mutex<VecDeque<(Symbol, Box<dyn AgentBody>)>>,
    /// Time at which the platform stops, and its exit code.
    pub stop: Mutex<Option<(Time, i32)>>,
    pub loader: Mutex<Box<ProgramLoader>>,
    pub policy: OnceLock<Policy>,
    pub environments: OnceLock<NodeEnvironments>,
    pub storage: Shelves,
    /// Agent that sees in its turns that it is being ended.
    pub doomed: Mutex<Option<Symbol>>,
    random: Mutex<Random>,
    now: AtomicU64,
}

/// Locks a mutex, even if a thread that held it panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimulatedWorld {
    pub fn new(platform: &str, random: Random) -> Self {
        Self {
            ams: Mutex::new(Ams::new(platform)),
            df: Mutex::new(Df::new(platform)),
            topics: Mutex::default(),
            output: Mutex::default(),
            log: Mutex::default(),
            files: Mutex::default(),
            newcomers: Mutex::default(),
            stop: Mutex::default(),
            loader: Mutex::new(Box::new(|_, path, _| Err(format!("no loader for {path}")))),
            policy: OnceLock::new(),
            environments: OnceLock::new(),
            storage: Shelves::default(),
            doomed: Mutex::default(),
            random: Mutex::new(random),
            now: AtomicU64::new(0),
        }
    }

    pub fn set_now(&self, now: Time) {
        self.now.store(now.0, Ordering::Relaxed);
    }

    /// Registers an agent, and has the simulation take its body in.
    pub fn create_with(
        &self,
        new: NewAgent,
        body: impl FnOnce(Symbol) -> Result<Box<dyn AgentBody>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let aid = locked(&self.ams).create(new, self.now())?;
        match body(aid.name) {
            Ok(body) => {
                locked(&self.newcomers).push_back((aid.name, body));
                let _ = locked(&self.ams).step(aid, LifecycleStep::Start);
                Ok(aid)
            }
            Err(error) => {
                locked(&self.ams).handle_ended(aid, EndReason::Failed(error.to_string()));
                Err(error)
            }
        }
    }
}

impl Directory for SimulatedWorld {
    fn ams(&self, work: &mut dyn FnMut(&mut Ams)) {
        work(&mut locked(&self.ams));
    }

    fn df(&self, work: &mut dyn FnMut(&mut Df)) {
        work(&mut locked(&self.df));
    }
}

impl Services for SimulatedWorld {
    fn platform(&self) -> Symbol {
        locked(&self.ams).platform()
    }

    fn environment(&self, name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        self.environments.get()?.named(name)
    }

    fn print(&self, agent: Aid, text: &str) {
        locked(&self.output).push(format!("[{agent}] {text}"));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        locked(&self.log).push(format!("{level:?} [{agent}] {text}"));
    }

    fn wall_clock_ms(&self) -> u64 {
        START_WALL_MS + self.now().as_ms()
    }

    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        locked(&self.random).next_u64()
    }

    fn agents(&self) -> Vec<Aid> {
        locked(&self.ams).agents().collect()
    }

    fn exists(&self, aid: Aid) -> bool {
        match Cast::of(aid.name) {
            None => locked(&self.ams).exists(aid),
            Some(Cast::Broadcast) => true,
            Some(_) => locked(&self.topics).audience(aid.name).is_some(),
        }
    }

    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError> {
        let CreateAgent { name, unique, owner, source } = request;
        let owner = owner.map(|owner| owner.name).unwrap_or_default();
        let new = |kind| NewAgent { unique, owner, ..NewAgent::new(name, kind) };
        match source {
            AgentSource::Body(body) => self.create_with(new(AgentKind::Native), |_| Ok(body)),
            AgentSource::Program { path, options } => self.create_with(new(AgentKind::AgentSpeak), |name| {
                let loaded = locked(&self.loader)(name, &path, &options);
                loaded.map_err(|reason| CreateError::BadProgram { name, reason })
            }),
        }
    }

    fn kill(&self, agent: Aid) -> bool {
        locked(&self.ams).kill(agent).is_ok()
    }

    fn is_ending(&self, agent: Aid) -> bool {
        *locked(&self.doomed) == Some(agent.name) || !self.exists(agent)
    }

    fn stop(&self, delay_ms: u64, code: i32) {
        let at = self.now() + std::time::Duration::from_millis(delay_ms);
        locked(&self.stop).get_or_insert((at, code));
    }

    fn df_register(&self, agent: Aid, service: &str, kind: &str) -> Result<(), OfferError> {
        if !self.policy().allows(self.principal(agent), Action::Register, service) {
            return Err(OfferError::Forbidden(service.to_owned()));
        }
        Ok(locked(&self.df).add_service(agent, service, kind, self.now())?)
    }

    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) -> bool {
        locked(&self.df).remove_service(agent, service, kind, self.now())
    }

    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid> {
        locked(&self.df).providers(service, kind, self.now())
    }

    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str) {
        let _ = locked(&self.df).subscribe_providers(agent, service, kind, self.now());
    }

    fn join(&self, agent: Aid, to: Aid) -> Result<(), TopicError> {
        if !locked(&self.ams).exists(agent) {
            return Err(TopicError::NoSuchAgent(agent));
        }
        locked(&self.topics).join(agent.name, to.name, false).map(drop)
    }

    fn leave(&self, agent: Aid, from: Aid) -> bool {
        locked(&self.topics).leave(agent.name, from.name)
    }

    fn may_teach(&self, teacher: Aid, pupil: Aid) -> bool {
        self.policy().allows(self.principal(teacher), Action::Teach, pupil.name.as_str())
    }

    fn members(&self, group: Aid) -> Vec<Aid> {
        locked(&self.topics).members(group.name).into_iter().map(Aid::local).collect()
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn storage(&self) -> Option<&Shelves> {
        Some(&self.storage)
    }

    fn policy(&self) -> &Policy {
        self.policy.get_or_init(Policy::default)
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
}
