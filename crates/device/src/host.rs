//! Host of a society's platform: files, events, and messages to agents elsewhere.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;
use whimbrel_acl::codec::json;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, Value, sym};
use whimbrel_bdi::project::options;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::limits::DEVICE_SAID_BYTES;
use whimbrel_platform::local::{HostRoute, LocalHost, LocalRegistry};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{AgentBody, EndReason, PlatformEvent, Time};

use crate::SourceFiles;
use crate::events::{SocietyEvent, SocietyEvents};

/// Clock and random numbers of the host.
pub trait DeviceHost: Send + Sync {
    /// Microseconds since the society began; never less than before.
    fn now(&self) -> Time;

    /// Milliseconds since 1970-01-01 UTC.
    fn wall_clock_ms(&self) -> u64;

    /// Returns a random number, uniform over all 64 bits: seeds, never secrets.
    fn random(&self) -> u64;
}

/// Destination of a move, and the size of the agent's state once it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeavingAgent {
    pub to: Symbol,
    pub bytes: u64,
}

/// Host of a society's platform. The locks are for what changes within turns.
pub(crate) struct SocietyHost {
    device: Box<dyn DeviceHost>,
    files: Mutex<SourceFiles>,
    events: Mutex<SocietyEvents>,
    /// Agent that is the environment of a project's agents.
    pub environment: Option<Aid>,
    /// Platform to which the society is attached, if it is. Agents that are not here may then be there.
    pub attached: Option<Symbol>,
    /// Name of this place on that platform; empty if it has no name.
    pub place: Symbol,
    /// True while messages between agents are reported.
    pub listens: bool,
    /// True while a message from outside is delivered to its receiver.
    pub from_outside: bool,
    /// Agents that the platform keeps, with the origins of their waiting messages: true for each that came from
    /// outside. Messages between these agents and others go by way of the platform.
    pub kept: FxHashMap<Symbol, VecDeque<bool>>,
    /// Moves of agents. They have no turns until they have left, or stay.
    pub leaving: FxHashMap<Symbol, LeavingAgent>,
    /// Kept agents that had turns since the last report.
    pub worked: BTreeSet<Symbol>,
}

/// Locks a mutex, also after a panic: no change here is left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SocietyHost {
    pub fn new(device: Box<dyn DeviceHost>) -> Self {
        Self {
            device,
            files: Mutex::default(),
            events: Mutex::default(),
            environment: None,
            attached: None,
            place: sym::EMPTY,
            listens: false,
            from_outside: false,
            kept: FxHashMap::default(),
            leaving: FxHashMap::default(),
            worked: BTreeSet::new(),
        }
    }

    pub fn files(&self) -> MutexGuard<'_, SourceFiles> {
        locked(&self.files)
    }

    pub fn events(&self) -> MutexGuard<'_, SocietyEvents> {
        locked(&self.events)
    }

    pub fn tell(&self, event: SocietyEvent) {
        self.events().add(event);
    }

    /// Reports the kept agents that had turns, with their numbers of unhandled messages from outside.
    pub fn tell_worked(&mut self) {
        for name in std::mem::take(&mut self.worked) {
            if let Some(origins) = self.kept.get(&name) {
                let waiting = origins.iter().filter(|from_outside| **from_outside).count();
                self.tell(SocietyEvent::Worked { agent: name.to_string(), waiting });
            }
        }
    }

    /// Forgets an agent that is here no longer.
    pub fn forget(&mut self, name: Symbol) {
        self.kept.remove(&name);
        self.leaving.remove(&name);
    }

    /// Creates an agent of the program at `path`, with these options by the keys of `.mas2j`.
    pub fn load_agent(&self, path: &str, options: &[(Symbol, Value)]) -> Result<Agent, String> {
        let compiled = self.files().compile(path);
        let (image, _) = compiled.map_err(|diagnostics| {
            diagnostics.first().map_or_else(|| format!("{path} has errors"), ToString::to_string)
        })?;
        let mut config = AgentConfig::new(image);
        config.environment = self.environment;
        for (key, value) in options {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            options::apply(&mut config, *key, &text)?;
        }
        Ok(Agent::new(config))
    }

    fn tell_printed(&self, agent: Aid, text: &str, bare: bool) {
        self.tell(SocietyEvent::Printed { agent: agent.name.to_string(), text: text.to_owned(), bare });
    }

    /// Checks whether a message between these agents goes out to the platform.
    fn is_outside(&self, from: Aid, to: Aid, registry: &LocalRegistry) -> bool {
        if self.attached.is_none() {
            return false;
        }
        let is_theirs = to.name == sym::AMS || to.name == sym::DF || !registry.ams().exists(to);
        let is_kept = |agent: Aid| self.kept.contains_key(&agent.name);
        // The AMS and DF of the society are not known to the platform.
        is_theirs || (from.name != sym::AMS && from.name != sym::DF && (is_kept(from) || is_kept(to)))
    }

    /// Sends a message out of the society. Each receiver gets a copy of its own.
    fn send_out(&mut self, envelope: &Envelope) -> HostRoute {
        let to = envelope.to;
        let mut message = (*envelope.body).clone();
        message.receivers = std::iter::once(to).collect();
        let agent = message.sender.name.to_string();
        match raw(&message) {
            Some(message) => {
                self.report(envelope, None);
                self.tell(SocietyEvent::Sent { agent, message });
                HostRoute::Elsewhere
            }
            None => {
                let body = MessageBody::Owned(Box::new(message));
                HostRoute::Nowhere(Envelope { to, body }, DeadReason::Unsendable)
            }
        }
    }

    /// Reports a message, if the host listens.
    fn report(&self, envelope: &Envelope, dead: Option<DeadReason>) {
        if !self.listens {
            return;
        }
        let message = &*envelope.body;
        let mut content = message.content.to_string();
        if content.len() > DEVICE_SAID_BYTES {
            let end = (0..=DEVICE_SAID_BYTES).rev().find(|end| content.is_char_boundary(*end)).unwrap_or(0);
            content.truncate(end);
            content.push('…');
        }
        self.tell(SocietyEvent::Said {
            from: message.sender.name.to_string(),
            to: envelope.to.to_string(),
            performative: message.performative.to_string(),
            content,
            dead: dead.map(|reason| reason.to_string()),
        });
    }
}

impl LocalHost for SocietyHost {
    fn now(&self) -> Time {
        self.device.now()
    }

    fn wall_clock_ms(&self) -> u64 {
        self.device.wall_clock_ms()
    }

    fn random(&self) -> u64 {
        self.device.random()
    }

    fn print(&self, agent: Aid, text: &str) {
        self.tell_printed(agent, text, false);
    }

    fn print_bare(&self, agent: Aid, text: &str) {
        self.tell_printed(agent, text, true);
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

    fn load(&self, _name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        Ok(Box::new(self.load_agent(path, options)?))
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        let mut files = self.files();
        let found = files.find(path, "");
        files.read(&found).map(ToOwned::to_owned)
    }

    fn list_files(&self, folder: &str) -> Vec<String> {
        self.files().list(folder)
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        self.files().put(path, text)
    }

    fn place(&self) -> Symbol {
        self.place
    }

    fn reaches(&self, agent: Aid, registry: &LocalRegistry) -> bool {
        self.attached.is_some() || registry.ams().exists(agent)
    }

    /// Agents from outside may not teach: a page has no policy.
    fn lets_teach(&self, teacher: Aid, registry: &LocalRegistry) -> bool {
        registry.ams().exists(teacher)
    }

    fn created(&self, agent: Aid) {
        self.tell(SocietyEvent::Created { agent: agent.name.to_string() });
    }

    fn offered(&self, agent: Aid, service: &str, kind: &str, offered: bool) {
        let (agent, service, kind) = (agent.name.to_string(), service.to_owned(), kind.to_owned());
        self.tell(SocietyEvent::Offered { agent, service, kind, offered });
    }

    fn turn_ended(&mut self, agent: Aid, waiting: usize) {
        if let Some(origins) = self.kept.get_mut(&agent.name) {
            let handled = origins.len().saturating_sub(waiting);
            origins.drain(..handled);
            self.worked.insert(agent.name);
        }
    }

    fn ended(&mut self, agent: Aid, reason: &EndReason) {
        self.forget(agent.name);
        self.tell(SocietyEvent::Ended { agent: agent.name.to_string(), reason: reason.to_string() });
    }

    fn note(&mut self, event: PlatformEvent<'_>) {
        match event {
            PlatformEvent::Delivered(envelope) => {
                self.report(envelope, None);
                if let Some(origins) = self.kept.get_mut(&envelope.to.name) {
                    origins.push_back(self.from_outside);
                }
            }
            PlatformEvent::Died(envelope, reason) => self.report(envelope, Some(reason)),
            _ => {}
        }
    }

    fn route(&mut self, envelope: Envelope, cast: Option<Cast>, registry: &LocalRegistry) -> HostRoute {
        if cast.is_none() && self.is_outside(envelope.body.sender, envelope.to, registry) {
            return self.send_out(&envelope);
        }
        if envelope.to.platform != sym::EMPTY {
            return HostRoute::Nowhere(envelope, DeadReason::UnknownAgent);
        }
        HostRoute::Here(envelope)
    }
}

/// Encodes a message in JSON; `None` if it nests too deep.
pub(crate) fn raw(message: &AclMessage) -> Option<Box<RawValue>> {
    let bytes = json::encode(message).ok()?;
    RawValue::from_string(String::from_utf8(bytes).ok()?).ok()
}
