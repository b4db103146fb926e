//! Registry of a platform of one thread: what agents and the platform know together.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use whimbrel_acl::{Aid, Symbol};

use crate::ams::{Ams, LifecycleStep, Ties};
use crate::df::Df;
use crate::storage::NodeStorage;
use crate::topics::{TopicError, Topics};
use crate::{AgentBody, Directory, EndReason, Time};

/// New agent: its name, which the AMS knows already, and its body.
type UnslottedAgent = (Symbol, Box<dyn AgentBody>);

/// Registry of a [`LocalPlatform`](super::LocalPlatform): its AMS, its DF and its topics. There is one thread. The
/// locks let agents use the same ports as on nodes; hold none of them while an agent has a turn.
pub struct LocalRegistry {
    platform: Symbol,
    ams: Mutex<Ams>,
    df: Mutex<Df>,
    topics: Mutex<Topics>,
    /// Agents without a slot yet, in the order of their creation.
    newcomers: Mutex<VecDeque<UnslottedAgent>>,
    /// Time at which the platform stops, and its exit code.
    stop: Mutex<Option<(Time, i32)>>,
    storage: NodeStorage,
}

/// Locks a mutex, also after a panic: no change here is left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LocalRegistry {
    pub(super) fn new(platform: &str) -> Self {
        Self {
            platform: platform.into(),
            ams: Mutex::new(Ams::new(platform)),
            df: Mutex::new(Df::new(platform)),
            topics: Mutex::default(),
            newcomers: Mutex::default(),
            stop: Mutex::default(),
            storage: NodeStorage::default(),
        }
    }

    /// Returns the platform's name.
    pub fn platform(&self) -> Symbol {
        self.platform
    }

    /// Locks the AMS. [`LocalPlatform::settle`](super::LocalPlatform::settle) carries out its commands.
    pub fn ams(&self) -> MutexGuard<'_, Ams> {
        locked(&self.ams)
    }

    /// Locks the DF. [`LocalPlatform::settle`](super::LocalPlatform::settle) sends its messages.
    pub fn df(&self) -> MutexGuard<'_, Df> {
        locked(&self.df)
    }

    /// Locks the topics and groups.
    pub fn topics(&self) -> MutexGuard<'_, Topics> {
        locked(&self.topics)
    }

    /// Returns the storage of WebAssembly agents.
    pub fn storage(&self) -> &NodeStorage {
        &self.storage
    }

    /// Starts an agent that the AMS has registered.
    pub(super) fn start(&self, agent: Aid, body: Box<dyn AgentBody>) {
        locked(&self.newcomers).push_back((agent.name, body));
        let _ = self.ams().step(agent, LifecycleStep::Start);
    }

    pub(super) fn next_newcomer(&self) -> Option<UnslottedAgent> {
        locked(&self.newcomers).pop_front()
    }

    pub(super) fn newcomer_count(&self) -> usize {
        locked(&self.newcomers).len()
    }

    /// Removes an agent that ended from the AMS, the DF and the topics.
    pub(super) fn remove(&self, agent: Aid, reason: EndReason) {
        self.ams().handle_ended(agent, reason);
        self.df().handle_agent_ended(agent);
        self.topics().handle_agent_ended(agent.name);
    }

    pub(super) fn set_end_of(&self, agent: Aid, until: Time) -> bool {
        let mut ams = self.ams();
        let ties = Ties { until, ..ams.ties(agent) };
        ams.tie(agent, ties).is_ok()
    }

    pub(super) fn join(&self, agent: Aid, to: Aid) -> Result<(), TopicError> {
        if !self.ams().exists(agent) {
            return Err(TopicError::NoSuchAgent(agent));
        }
        self.topics().join(agent.name, to.name, false).map(drop)
    }

    /// Sets the end of the platform, unless it is set already.
    pub(super) fn stop_at(&self, at: Time, code: i32) {
        locked(&self.stop).get_or_insert((at, code));
    }

    pub(super) fn stop(&self) -> Option<(Time, i32)> {
        *locked(&self.stop)
    }
}

impl Directory for LocalRegistry {
    fn ams(&self, work: &mut dyn FnMut(&mut Ams)) {
        work(&mut locked(&self.ams));
    }

    fn df(&self, work: &mut dyn FnMut(&mut Df)) {
        work(&mut locked(&self.df));
    }
}
