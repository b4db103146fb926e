//! Services of a platform of one thread, which agents use during their turns.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{Aid, Symbol};

use super::host::LocalHost;
use super::registry::LocalRegistry;
use crate::ams::{AgentKind, NewAgent};
use crate::df::ServiceDescription;
use crate::environment::NodeEnvironment;
use crate::policy::{Action, Policy};
use crate::services::{AgentSource, CreateAgent, CreateError, LogLevel, OfferError};
use crate::storage::NodeStorage;
use crate::topics::{Cast, TopicError};
use crate::{AgentBody, Directory, EndReason, Services, Time};

/// Services of a [`LocalPlatform`](super::LocalPlatform): the registry's answers, and the host's to all that is not of
/// the platform.
pub struct LocalServices<H> {
    pub(super) host: H,
    pub(super) registry: LocalRegistry,
}

impl<H: LocalHost> LocalServices<H> {
    /// Registers an agent, and queues the body that `body` makes for its name.
    pub(super) fn create_with(
        &self,
        new: NewAgent,
        body: impl FnOnce(Symbol) -> Result<Box<dyn AgentBody>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let agent = self.registry.ams().create(new, self.host.now())?;
        match body(agent.name) {
            Ok(body) => {
                self.registry.start(agent, body);
                if new.kind != AgentKind::Service {
                    self.host.created(agent);
                }
                Ok(agent)
            }
            Err(error) => {
                self.registry.ams().handle_ended(agent, EndReason::Failed(error.to_string()));
                Err(error)
            }
        }
    }
}

impl<H: LocalHost> Services for LocalServices<H> {
    fn platform(&self) -> Symbol {
        self.registry.platform()
    }

    fn print(&self, agent: Aid, text: &str) {
        self.host.print(agent, text);
    }

    fn print_bare(&self, agent: Aid, text: &str) {
        self.host.print_bare(agent, text);
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        self.host.log(agent, level, text);
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
        self.registry.ams().agents().collect()
    }

    fn exists(&self, aid: Aid) -> bool {
        match Cast::of(aid.name) {
            None => self.host.reaches(aid, &self.registry),
            Some(Cast::Broadcast) => true,
            Some(_) => self.registry.topics().audience(aid.name).is_some(),
        }
    }

    fn may_teach(&self, teacher: Aid, pupil: Aid) -> bool {
        self.policy().allows(self.principal(teacher), Action::Teach, pupil.name.as_str())
            && self.host.lets_teach(teacher, &self.registry)
    }

    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError> {
        let CreateAgent { name, unique, owner, source } = request;
        let owner = owner.map(|owner| owner.name).unwrap_or_default();
        let new = |kind| NewAgent { unique, owner, ..NewAgent::new(name, kind) };
        match source {
            AgentSource::Body(body) => self.create_with(new(AgentKind::Native), |_| Ok(body)),
            AgentSource::Program { path, options } => self.create_with(new(AgentKind::AgentSpeak), |name| {
                let loaded = self.host.load(name, &path, &options);
                loaded.map_err(|reason| CreateError::BadProgram { name, reason })
            }),
        }
    }

    fn kill(&self, agent: Aid) -> bool {
        self.registry.ams().kill(agent).is_ok()
    }

    fn is_ending(&self, agent: Aid) -> bool {
        self.host.is_ending(agent) || !self.exists(agent)
    }

    fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        self.registry.set_end_of(agent, self.now() + lifetime)
    }

    fn stop(&self, delay_ms: u64, code: i32) {
        self.registry.stop_at(self.now() + Duration::from_millis(delay_ms), code);
    }

    fn df_register(&self, agent: Aid, service: &str, kind: &str) -> Result<(), OfferError> {
        if !self.policy().allows(self.principal(agent), Action::Register, service) {
            return Err(OfferError::Forbidden(service.to_owned()));
        }
        self.registry.df().add_service(agent, service, kind, self.now())?;
        self.host.offered(agent, service, kind, true);
        Ok(())
    }

    fn df_offer(&self, agent: Aid, service: ServiceDescription) -> Result<(), OfferError> {
        let (name, kind) = (service.name, service.kind);
        if !self.policy().allows(self.principal(agent), Action::Register, name.as_str()) {
            return Err(OfferError::Forbidden(name.to_string()));
        }
        self.registry.df().offer_service(agent, service, self.now())?;
        self.host.offered(agent, name.as_str(), kind.as_str(), true);
        Ok(())
    }

    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) -> bool {
        let was_offered = self.registry.df().remove_service(agent, service, kind, self.now());
        self.host.offered(agent, service, kind, false);
        was_offered
    }

    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid> {
        self.registry.df().providers(service, kind, self.now())
    }

    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str) {
        let subscribed = self.registry.df().subscribe_providers(agent, service, kind, self.now());
        if let Err(error) = subscribed {
            self.log(agent, LogLevel::Warning, &error.to_string());
        }
    }

    fn join(&self, agent: Aid, to: Aid) -> Result<(), TopicError> {
        self.registry.join(agent, to)
    }

    fn leave(&self, agent: Aid, from: Aid) -> bool {
        self.registry.topics().leave(agent.name, from.name)
    }

    fn members(&self, group: Aid) -> Vec<Aid> {
        self.registry.topics().members(group.name).into_iter().map(Aid::local).collect()
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(&self.registry)
    }

    fn policy(&self) -> &Policy {
        self.host.policy()
    }

    fn environment(&self, name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        self.host.environment(name)
    }

    fn storage(&self) -> Option<&NodeStorage> {
        Some(self.registry.storage())
    }

    fn node(&self) -> Symbol {
        self.host.place()
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        self.host.read_source(path)
    }

    fn list_files(&self, folder: &str) -> Vec<String> {
        self.host.list_files(folder)
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        self.host.write_file(path, text)
    }
}
