//! Services of a society that agents use during a turn.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashSet;
use whimbrel_acl::{AclMessage, Aid, Symbol, Value, sym};
use whimbrel_bdi::project::options;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::ams::{AgentKind, Ams, LifecycleStep, NewAgent, Ties};
use whimbrel_platform::df::Df;
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel, OfferError};
use whimbrel_platform::storage::Shelves;
use whimbrel_platform::topics::{Cast, TopicError, Topics};
use whimbrel_platform::{AgentBody, Directory, EndReason, Services, Time};

use crate::SourceFiles;
use crate::events::{SocietyEvent, SocietyEvents};

/// Clock and random numbers of the host.
pub trait DeviceHost: Send + Sync {
    /// Microseconds since the society began; never less than before.
    fn now(&self) -> Time;

    /// Milliseconds since 1970-01-01 UTC.
    fn wall_clock_ms(&self) -> u64;

    /// A random number, uniform over all 64 bits: seeds, never secrets.
    fn random(&self) -> u64;
}

/// Part of a society that agents reach during their turns. There is one thread; the locks let agents use the same
/// port as on nodes.
pub(crate) struct SocietyServices {
    pub ams: Mutex<Ams>,
    pub df: Mutex<Df>,
    pub topics: Mutex<Topics>,
    pub files: Mutex<SourceFiles>,
    pub events: Mutex<SocietyEvents>,
    /// Bodies of agents that the AMS knows already, in the order of their creation.
    pub newcomers: Mutex<VecDeque<(Symbol, Box<dyn AgentBody>)>>,
    /// Messages of the AMS that are not sent yet.
    pub news: Mutex<VecDeque<AclMessage>>,
    /// Time at which the society stops, and its exit code.
    pub stop: Mutex<Option<(Time, i32)>>,
    /// Agent that is the environment of a project's agents.
    pub environment: Mutex<Option<Aid>>,
    /// Platform to which the society is attached, if it is. Agents that are not here may then be there.
    pub attached: Mutex<Option<Symbol>>,
    /// Name of this place on that platform; empty if it has no name.
    pub place: Mutex<Symbol>,
    /// True while messages between agents are reported.
    pub listened: Mutex<bool>,
    /// Agents that the platform keeps. Messages between them and others go by way of the platform.
    pub kept: Mutex<FxHashSet<Symbol>>,
    storage: Shelves,
    pub host: Box<dyn DeviceHost>,
}

/// Locks a mutex, also after a panic: no change here is left half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SocietyServices {
    pub fn new(platform: &str, host: Box<dyn DeviceHost>) -> Self {
        Self {
            ams: Mutex::new(Ams::new(platform)),
            df: Mutex::new(Df::new(platform)),
            topics: Mutex::default(),
            files: Mutex::default(),
            events: Mutex::default(),
            newcomers: Mutex::default(),
            news: Mutex::default(),
            stop: Mutex::default(),
            environment: Mutex::default(),
            attached: Mutex::default(),
            place: Mutex::default(),
            listened: Mutex::default(),
            kept: Mutex::default(),
            storage: Shelves::default(),
            host,
        }
    }

    /// Registers an agent, and queues its body for the society.
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
                if new.kind != AgentKind::Service {
                    self.tell(SocietyEvent::Created { agent: aid.name.to_string() });
                }
                Ok(aid)
            }
            Err(error) => {
                locked(&self.ams).handle_ended(aid, EndReason::Failed(error.to_string()));
                Err(error)
            }
        }
    }

    /// Creates an agent of the program at `path`, with these options by the keys of `.mas2j`.
    pub fn load(&self, path: &str, options: &[(Symbol, Value)]) -> Result<Agent, String> {
        let compiled = locked(&self.files).compile(path);
        let (image, _) = compiled.map_err(|diagnostics| {
            diagnostics.first().map_or_else(|| format!("{path} has errors"), ToString::to_string)
        })?;
        let mut config = AgentConfig::new(image);
        config.environment = *locked(&self.environment);
        for (key, value) in options {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            options::apply(&mut config, *key, &text)?;
        }
        Ok(Agent::new(config))
    }

    pub fn tell(&self, event: SocietyEvent) {
        locked(&self.events).add(event);
    }

    /// Checks whether a message between these agents goes out to the platform.
    pub fn is_outside(&self, from: Aid, to: Aid) -> bool {
        if locked(&self.attached).is_none() {
            return false;
        }
        let is_theirs = to.name == sym::AMS || to.name == sym::DF || !locked(&self.ams).exists(to);
        let kept = locked(&self.kept);
        // The AMS and DF of the society are not known to the platform.
        is_theirs
            || (from.name != sym::AMS && from.name != sym::DF && (kept.contains(&from.name) || kept.contains(&to.name)))
    }

    fn offer(&self, agent: Aid, service: &str, kind: &str, offered: bool) {
        let (agent, service, kind) = (agent.name.to_string(), service.to_owned(), kind.to_owned());
        self.tell(SocietyEvent::Offered { agent, service, kind, offered });
    }
}

impl Directory for SocietyServices {
    fn ams(&self, work: &mut dyn FnMut(&mut Ams)) {
        work(&mut locked(&self.ams));
    }

    fn df(&self, work: &mut dyn FnMut(&mut Df)) {
        work(&mut locked(&self.df));
    }
}

impl Services for SocietyServices {
    fn platform(&self) -> Symbol {
        locked(&self.ams).platform()
    }

    fn print(&self, agent: Aid, text: &str) {
        self.tell(SocietyEvent::Printed { agent: agent.name.to_string(), text: text.to_owned(), bare: false });
    }

    fn print_bare(&self, agent: Aid, text: &str) {
        self.tell(SocietyEvent::Printed { agent: agent.name.to_string(), text: text.to_owned(), bare: true });
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        let level = match level {
            LogLevel::Debug => "debug",
            LogLevel::Info | LogLevel::Notice => "info",
            LogLevel::Warning => "warning",
            LogLevel::Severe => "severe",
        };
        self.tell(SocietyEvent::Noted { agent: agent.name.to_string(), level, text: text.to_owned() });
    }

    fn wall_clock_ms(&self) -> u64 {
        self.host.wall_clock_ms()
    }

    fn now(&self) -> Time {
        self.host.now()
    }

    fn random(&self) -> u64 {
        self.host.random()
    }

    fn agents(&self) -> Vec<Aid> {
        locked(&self.ams).agents().collect()
    }

    /// Agents from outside may not teach: a page has no policy.
    fn may_teach(&self, teacher: Aid, _pupil: Aid) -> bool {
        locked(&self.ams).exists(teacher)
    }

    fn exists(&self, aid: Aid) -> bool {
        match Cast::of(aid.name) {
            None => locked(&self.ams).exists(aid) || self.is_outside(Aid::NOBODY, aid),
            Some(Cast::Broadcast) => true,
            Some(_) => locked(&self.topics).audience(aid.name).is_some(),
        }
    }

    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError> {
        let CreateAgent { name, unique, owner, source } = request;
        let owner = owner.map(|owner| owner.name).unwrap_or_default();
        let new = |kind| NewAgent { unique, owner, ..NewAgent::new(name, kind) };
        match source {
            AgentSource::Body(body) => self.create_with(new(AgentKind::AgentSpeak), |_| Ok(body)),
            AgentSource::Program { path, options } => self.create_with(new(AgentKind::AgentSpeak), |name| {
                let loaded = self.load(&path, &options);
                let agent = loaded.map_err(|reason| CreateError::BadProgram { name, reason })?;
                Ok(Box::new(agent))
            }),
        }
    }

    fn kill(&self, agent: Aid) -> bool {
        locked(&self.ams).kill(agent).is_ok()
    }

    fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        let until = self.now() + lifetime;
        let mut ams = locked(&self.ams);
        let ties = Ties { until, ..ams.ties(agent) };
        ams.tie(agent, ties).is_ok()
    }

    fn stop(&self, delay_ms: u64, code: i32) {
        let at = self.now() + Duration::from_millis(delay_ms);
        locked(&self.stop).get_or_insert((at, code));
    }

    fn df_register(&self, agent: Aid, service: &str, kind: &str) -> Result<(), OfferError> {
        locked(&self.df).add_service(agent, service, kind, self.now())?;
        self.offer(agent, service, kind, true);
        Ok(())
    }

    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) -> bool {
        let offered = locked(&self.df).remove_service(agent, service, kind, self.now());
        self.offer(agent, service, kind, false);
        offered
    }

    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid> {
        locked(&self.df).providers(service, kind, self.now())
    }

    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str) {
        let subscribed = locked(&self.df).subscribe_providers(agent, service, kind, self.now());
        if let Err(error) = subscribed {
            self.log(agent, LogLevel::Warning, &error.to_string());
        }
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

    fn members(&self, group: Aid) -> Vec<Aid> {
        locked(&self.topics).members(group.name).into_iter().map(Aid::local).collect()
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn storage(&self) -> Option<&Shelves> {
        Some(&self.storage)
    }

    fn node(&self) -> Symbol {
        *locked(&self.place)
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        let mut files = locked(&self.files);
        let found = files.find(path, "");
        files.read(&found).map(ToOwned::to_owned)
    }

    fn list_files(&self, folder: &str) -> Vec<String> {
        locked(&self.files).list(folder)
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        locked(&self.files).put(path, text)
    }
}
