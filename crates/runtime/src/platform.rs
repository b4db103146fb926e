//! Platform in this process: building it, talking to it from outside, ending it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Name, Performative, Symbol, Value, sym};
use whimbrel_platform::advice::{Advice, AdviseError, DocumentJob};
use whimbrel_platform::agent_management::{AmsAgent, DfAgent};
use whimbrel_platform::ams::{AgentDescription, AgentKind, AgentQuery, CloneError, LifecycleError, LifecycleStep};
use whimbrel_platform::audit::Auditor;
use whimbrel_platform::cluster::{Mover, WorkTotals};
use whimbrel_platform::dead_letters::{DeadLetter, DeadReason};
use whimbrel_platform::df::Df;
use whimbrel_platform::durable::Layout;
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_platform::inspection::{DebuggerSetup, Inspection, Instruction, Look, Upkeep};
use whimbrel_platform::mobility::{HopError, HopMode, HopRequest};
use whimbrel_platform::output_log::{OutputLine, OutputPage};
use whimbrel_platform::policy::{Action, Policy, Principal};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel};
use whimbrel_platform::session::SessionHost;
use whimbrel_platform::storage::NodeStorage;
use whimbrel_platform::store::{Epoch, Journal, Partition};
use whimbrel_platform::{
    AgentBody, Counters, EndReason, Links, MessageTransport, Observer, Services, SocketIo, Station, Time,
};

use crate::agent::Agent;
use crate::agent_stats::AgentFigures;
use crate::clock::PlatformClock;
use crate::cluster::PartitionTable;
use crate::durable::journal_writer::{JournalWriter, Orders};
use crate::durable::{Entrant, RecoveredJournal};
use crate::durable_agent::{DurableAgent, DurableBody, Envoy, Founder, Kinds, Minion};
use crate::ending::Remains;
use crate::external_calls::{AskError, ExternalCalls};
use crate::guard::Guard;
use crate::health::NodeHealth;
use crate::loader::{NoPrograms, PlatformAccess, ProgramLoader};
use crate::mobility::HopJob;
use crate::native_body::NativeBody;
use crate::node::cluster::{Adopted, KillOutcome, NotYielded, ServeError};
use crate::node::introduction::Introduction;
use crate::node::latency::LatencyWatch;
use crate::node::observers::Observation;
use crate::node::peers::NodeStation;
use crate::node::sessions::NodeHost;
use crate::node::{MailboxLimits, Node, NodeParts, unhandled};
use crate::operate::OperateError;
use crate::output::{Console, Output};
use crate::questions::{Answerer, QuestionError};
use crate::services::NodeServices;
use crate::shard::{Shard, Slot};
use crate::shard_command::AgentChange;
use crate::supervision::Supervisor;
use crate::sync::locked;
use crate::watchdog;
use crate::worker::ShardHolders;

/// Time for which the end waits for turns that do not end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);
/// Number of agents in one request for statistics; a request costs workers less than a turn may.
const CENSUS_AGENTS: usize = 1_024;
/// Time within which workers have to answer a request for statistics.
const CENSUS_PATIENCE: Duration = Duration::from_secs(1);

/// Running platform. Clones are handles to the same one. It ends when [`Platform::stop`] is called or the last handle
/// is dropped.
#[derive(Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

/// Handle that does not keep a platform running.
struct WeakPlatform {
    inner: Weak<Inner>,
}

impl WeakPlatform {
    fn with(&self, work: impl FnOnce(&Platform)) {
        if let Some(inner) = self.inner.upgrade() {
            work(&Platform { inner });
        }
    }
}

impl PlatformAccess for WeakPlatform {
    fn send(&self, message: Box<AclMessage>) {
        self.with(|platform| platform.send(message));
    }

    fn print(&self, agent: Aid, text: &str) {
        self.with(|platform| platform.services().print(agent, text));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        self.with(|platform| platform.services().log(agent, level, text));
    }
}

struct Inner {
    services: NodeServices,
    external_calls: OnceLock<ExternalCalls>,
}

/// Builder of a platform; see [`Platform::builder`].
pub struct PlatformBuilder {
    name: Symbol,
    workers: usize,
    seed: Option<u64>,
    output: Box<dyn Output>,
    loader: Box<dyn ProgramLoader>,
    kinds: Kinds,
    environments: NodeEnvironments,
    storage: Arc<NodeStorage>,
    passivate_after: Option<Duration>,
    observer: Option<Arc<dyn Observer>>,
    mailbox_limits: MailboxLimits,
    policy: Policy,
    auditor: Option<Arc<dyn Auditor>>,
    kept: Option<RecoveredJournal>,
    shared: Option<(Arc<dyn Journal>, Arc<Layout>)>,
}

impl PlatformBuilder {
    /// Sets the platform's name, the part of agents' names after `@`.
    #[must_use]
    pub fn name(mut self, name: impl Into<Symbol>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of threads that give turns. The default is the number of cores.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.clamp(1, whimbrel_platform::route::Route::SHARDS);
        self
    }

    /// Sets the seed of random numbers, for reproducible runs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the output for lines that agents print. The default is standard output.
    #[must_use]
    pub fn output(mut self, output: impl Output + 'static) -> Self {
        self.output = Box::new(output);
        self
    }

    /// Sets the loader that makes agents of program files.
    #[must_use]
    pub fn loader(mut self, loader: impl ProgramLoader + 'static) -> Self {
        self.loader = Box::new(loader);
        self
    }

    /// Registers a type of durable agents that this platform can restore. All nodes of a platform should register the
    /// same.
    ///
    /// # Panics
    /// Panics if another type has its name.
    #[must_use]
    pub fn kind<A: DurableAgent>(mut self) -> Self {
        self.kinds.add::<A>();
        self
    }

    /// Registers a type of minions that agents of this platform [send](crate::DurableContext::dispatch) and receive.
    #[must_use]
    pub fn minion<M: Minion>(mut self) -> Self {
        self.kinds.add::<Envoy<M>>();
        self
    }

    /// Sets the idle time after which a durable agent leaves memory, unless the agent chooses another. By default
    /// agents stay. The next message or timer brings an agent back.
    #[must_use]
    pub fn passivate_after(mut self, idle: Duration) -> Self {
        self.passivate_after = Some(idle);
        self
    }

    /// Sets an observer of all events, from the first. Observation costs time; without observers there is no cost.
    /// Others may come and go while the platform runs: [`Platform::observe`].
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the number of messages in a mailbox from which senders get later turns (`soft`), and the number from
    /// which further messages are answered `failure` (`hard`).
    #[must_use]
    pub fn mailbox_limits(mut self, soft: usize, hard: usize) -> Self {
        (self.mailbox_limits.soft, self.mailbox_limits.hard) = (soft.max(1), hard.max(soft));
        self
    }

    /// Sets the same limits in bytes of bulky messages: those of other nodes, clients and guests
    /// ([`MessageBody::weighed`]). The defaults are 16 MiB and 64 MiB.
    #[must_use]
    pub fn mailbox_bytes(mut self, soft: usize, hard: usize) -> Self {
        (self.mailbox_limits.soft_bytes, self.mailbox_limits.hard_bytes) = (soft.max(1), hard.max(soft));
        self
    }

    /// Sets the policy. By default agents of the platform may do anything.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the environments on which agents can act at this node, if the policy allows them to.
    #[must_use]
    pub fn environments(mut self, environments: NodeEnvironments) -> Self {
        self.environments = environments;
        self
    }

    /// Sets the storage of WebAssembly agents on this node, for agents to which the policy grants it. The caller may
    /// have filled it before, and persists [changes](NodeStorage::take_changed). The default is memory only.
    #[must_use]
    pub fn storage(mut self, storage: Arc<NodeStorage>) -> Self {
        self.storage = storage;
        self
    }

    /// Sets the auditor that records refusals.
    #[must_use]
    pub fn auditor(mut self, auditor: Arc<dyn Auditor>) -> Self {
        self.auditor = Some(auditor);
        self
    }

    /// Makes agents durable if their kind can be restored ([`AgentBody::origin`]). Their steps are persisted in the
    /// journal that `kept` was [recovered](crate::recover) from. Recovered agents continue when the first agents are
    /// [spawned together](Platform::spawn_together).
    #[must_use]
    pub fn durable(mut self, kept: RecoveredJournal) -> Self {
        self.kept = Some(kept);
        self
    }

    /// Makes agents durable on one of several nodes that share a journal. [`Platform::adopt`] and
    /// [`Platform::yield_up`] choose the partitions that this node serves.
    #[must_use]
    pub fn clustered(self, journal: Arc<dyn Journal>) -> Self {
        let layout = Layout::from(journal.partitions());
        self.clustered_by(journal, layout)
    }

    /// Makes agents durable like [`PlatformBuilder::clustered`], with the society's layout: as many partitions as the
    /// journal has, the same on all nodes.
    #[must_use]
    pub fn clustered_by(mut self, journal: Arc<dyn Journal>, layout: Layout) -> Self {
        self.shared = Some((journal, Arc::new(layout)));
        self
    }

    /// Starts the platform, with no agents but its own: `ams` and `df`.
    #[must_use]
    pub fn build(self) -> Platform {
        let seed = self.seed.unwrap_or_else(|| {
            use std::hash::{BuildHasher, Hasher};
            std::collections::hash_map::RandomState::new().build_hasher().finish()
        });
        let clock = PlatformClock::Real(Instant::now());
        let Self { name, workers, output, loader, kinds, observer, mailbox_limits, .. } = self;
        let (policy, auditor, kept, shared) = (self.policy, self.auditor, self.kept, self.shared);
        let cluster = shared.as_ref().map(|(_, layout)| PartitionTable::new(Arc::clone(layout)));
        let idle = shared.map(|(journal, layout)| JournalWriter::idle(journal, &layout));
        let (scribe, orders) = idle.or(kept.map(JournalWriter::new)).unzip();
        let guard = Guard::new(policy, auditor);
        let parts = NodeParts {
            name,
            workers,
            clock,
            seed,
            output,
            loader,
            kinds,
            environments: self.environments,
            storage: self.storage,
            passivate_after: self.passivate_after,
            observer,
            mailbox_limits,
            guard,
            scribe,
            cluster,
        };
        let node = Arc::new(Node::new(parts));
        let holders = Arc::new(ShardHolders::new(workers));
        let mut unserved = Vec::new();
        for index in 0..workers {
            node.activity.begin();
            let shard = Box::new(Shard::new(index as u16, Arc::clone(&node)));
            unserved.extend(watchdog::start(&node, &holders, shard));
        }
        watchdog::start_watching(&node, holders, unserved);
        if let Some(orders) = orders {
            Orders::start(orders, &node);
        }
        let platform = Platform {
            inner: Arc::new(Inner {
                services: NodeServices { node, shard: 0, in_turn: false, withheld: None },
                external_calls: OnceLock::new(),
            }),
        };
        platform.node().loader.attach(Box::new(WeakPlatform { inner: Arc::downgrade(&platform.inner) }));
        // Their names are free: there are no other agents yet.
        let _ = platform.spawn_kind(sym::AMS, AgentKind::Service, Box::new(AmsAgent));
        let _ = platform.spawn_kind(sym::DF, AgentKind::Service, Box::new(DfAgent));
        platform
    }
}

impl Platform {
    /// Returns a builder with defaults: named `whimbrel`, a worker per core, printing to standard output.
    pub fn builder() -> PlatformBuilder {
        PlatformBuilder {
            name: "whimbrel".into(),
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            seed: None,
            output: Box::new(Console),
            loader: Box::new(NoPrograms),
            kinds: Kinds::default(),
            environments: NodeEnvironments::default(),
            storage: Arc::default(),
            passivate_after: None,
            observer: None,
            mailbox_limits: MailboxLimits::default(),
            policy: Policy::DEFAULT,
            auditor: None,
            kept: None,
            shared: None,
        }
    }

    /// Creates the agent `name`.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the platform is stopping.
    pub fn spawn(&self, name: impl Into<Symbol>, agent: impl Agent) -> Result<Aid, CreateError> {
        self.spawn_slot(name.into(), AgentKind::Native, NativeBody::slot(agent))
    }

    /// Creates the agent `name`, on the node that serves its name. The agent outlives this process if the platform is
    /// [durable](PlatformBuilder::durable). Founders of a society are [spawned together](Platform::spawn_together)
    /// instead.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, the platform is stopping, the type is not
    /// [registered](PlatformBuilder::kind), or the agent's state cannot be written.
    pub fn spawn_durable(&self, name: impl Into<Symbol>, agent: impl DurableAgent) -> Result<Aid, CreateError> {
        let name = name.into();
        let source = AgentSource::Body(DurableBody::checked(name, agent)?);
        self.services().create(CreateAgent { name, unique: false, owner: None, source })
    }

    /// Creates the agent `name` as one of the platform's own, which does not count among the society's agents.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the platform is stopping.
    pub fn spawn_service(&self, name: impl Into<Symbol>, agent: impl Agent) -> Result<Aid, CreateError> {
        self.spawn_slot(name.into(), AgentKind::Service, NativeBody::slot(agent))
    }

    /// Creates the agent `name` from any body.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the platform is stopping.
    pub fn spawn_body(&self, name: impl Into<Symbol>, body: Box<dyn AgentBody>) -> Result<Aid, CreateError> {
        self.spawn_kind(name, AgentKind::Native, body)
    }

    /// Creates the agent `name`, listed as of this kind.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the platform is stopping.
    pub fn spawn_kind(
        &self,
        name: impl Into<Symbol>,
        kind: AgentKind,
        body: Box<dyn AgentBody>,
    ) -> Result<Aid, CreateError> {
        self.spawn_slot(name.into(), kind, Box::new(Slot::new(body)))
    }

    fn spawn_slot(&self, name: Symbol, kind: AgentKind, slot: Box<Slot>) -> Result<Aid, CreateError> {
        let who = Introduction::new(name, kind);
        self.inner.services.node.create(0, who, |_| Ok(slot))
    }

    /// Creates `count` agents `name1`, `name2`, ... The i-th (from 0) is what `agent(i)` returns.
    ///
    /// # Errors
    /// Returns an error if one of the names is taken or invalid, or if the platform is stopping; then none is
    /// created.
    pub fn spawn_population<A: Agent>(
        &self,
        name: impl Into<Symbol>,
        count: usize,
        mut agent: impl FnMut(usize) -> A,
    ) -> Result<Vec<Aid>, CreateError> {
        self.node().create_population(0, name.into(), count, AgentKind::Native, |i| NativeBody::slot(agent(i)))
    }

    /// Creates `count` agents `name1`, `name2`, ... from any bodies.
    ///
    /// # Errors
    /// Returns an error if one of the names is taken or invalid, or if the platform is stopping; then none is
    /// created.
    pub fn spawn_bodies(
        &self,
        name: impl Into<Symbol>,
        kind: AgentKind,
        count: usize,
        mut body: impl FnMut(usize) -> Box<dyn AgentBody>,
    ) -> Result<Vec<Aid>, CreateError> {
        self.node().create_population(0, name.into(), count, kind, |i| Box::new(Slot::new(body(i))))
    }

    /// Creates a whole society: every agent exists before the first one has its first turn. On a
    /// [durable](PlatformBuilder::durable) platform, recovered agents continue with their state, founders that had
    /// ended stay away, and agents created later come back, too.
    ///
    /// # Errors
    /// Returns an error if one of the names is taken or invalid, or if the platform is stopping. The agents before it
    /// are registered then, and the platform should be stopped.
    pub fn spawn_together(&self, agents: impl IntoIterator<Item = Founder>) -> Result<Vec<Aid>, CreateError> {
        self.spawn_together_for(agents, |_| None)
    }

    /// Creates a whole society like [`Platform::spawn_together`], with [lifetimes](Platform::set_lifetime) for some
    /// agents. Only for societies that are not durable.
    ///
    /// # Errors
    /// Returns an error as [`Platform::spawn_together`] does.
    pub fn spawn_together_for(
        &self,
        agents: impl IntoIterator<Item = Founder>,
        lifetime: impl Fn(Symbol) -> Option<Duration>,
    ) -> Result<Vec<Aid>, CreateError> {
        let agents = agents.into_iter().map(Entrant::founder);
        let agents = self.inner.services.node.with_resumed(agents.collect())?;
        self.node().create_together(0, agents, lifetime)
    }

    /// Serves partitions of the shared journal from now on, in these epochs. Restores their agents, starts those of
    /// `founders` that never began, and tells all other nodes. Waits for the journal.
    ///
    /// A partition that another node has taken over in a higher epoch is left alone and reported. So is one that
    /// cannot be read, or one of whose agents cannot be restored. `founders` are the agents of these partitions that
    /// the society begins with.
    ///
    /// # Errors
    /// Returns an error if an agent had ended the society, or if the platform is ending; then no further partition is
    /// served.
    pub fn adopt(&self, partitions: &[(Partition, Epoch)], founders: Vec<Founder>) -> Result<Adopted, ServeError> {
        self.node().adopt(partitions, founders)
    }

    /// Stops serving partitions. Their agents stop between two turns, and their steps are persisted. Messages to them
    /// wait, on all nodes, until some node serves them. Returns when that is done, or after `at_most`, with the
    /// partitions for which it failed and the reason. Messages to these wait, too; yield them again until that
    /// succeeds.
    pub fn yield_up(&self, partitions: &[Partition], at_most: Duration) -> Vec<(Partition, NotYielded)> {
        self.node().yield_up(partitions, at_most)
    }

    /// Returns an agent's partition, if this node shares its journal with others.
    pub fn partition_of(&self, agent: impl Into<Name>) -> Option<Partition> {
        self.node().cluster.as_ref().map(|cluster| cluster.partition_of(agent))
    }

    /// Returns the name of the node that serves a partition, as far as this node knows.
    pub fn server_of(&self, partition: Partition) -> Option<Symbol> {
        self.node().server_named(partition)
    }

    /// Sets the port that moves partitions when agents want to move, if this node shares its journal with others.
    /// Works once; without a mover, agents stay.
    pub fn moved_by(&self, mover: Arc<dyn Mover>) {
        self.node().be_moved_by(mover);
    }

    /// Returns the work of this node's workers since it began, by partition if this node shares its journal with
    /// others. The figures come from samples, ten a second.
    pub fn work(&self) -> WorkTotals {
        self.node().work()
    }

    /// Sends a message from outside any agent. Messages sent this way arrive in the order in which they were sent.
    pub fn send(&self, message: impl Into<Box<AclMessage>>) {
        self.node().post(0, message.into());
    }

    /// Returns the services that agents use, for callers outside.
    pub fn services(&self) -> &dyn Services {
        &self.inner.services
    }

    /// Sends a message and waits for the answer, for half a minute at most.
    ///
    /// # Errors
    /// Returns an error if there is no such agent, or if no answer came in time.
    pub fn ask(&self, to: Aid, performative: Performative, content: impl Into<Value>) -> Result<MessageBody, AskError> {
        self.ask_within(Duration::from_secs(30), AclMessage::new(performative, to, to, content))
    }

    /// Sends a message to its first receiver, and waits for the answer for this long at most.
    ///
    /// # Errors
    /// Returns an error if there is no such agent, or if no answer came in time.
    pub fn ask_within(&self, at_most: Duration, question: impl Into<Box<AclMessage>>) -> Result<MessageBody, AskError> {
        let desk = self.inner.external_calls.get_or_init(|| ExternalCalls::open(self));
        desk.ask(self, at_most, question.into())
    }

    /// Calls `then` with the reason when `agent` ends, or at once if there is no such agent. `then` runs on a
    /// worker's thread, so it has to be quick.
    pub fn when_ended(&self, agent: Aid, then: impl FnOnce(Option<&EndReason>) + Send + 'static) {
        let away = self.node().is_away(agent.name);
        self.node().monitors.call(&self.node().routes, agent.name, Box::new(then), away);
    }

    /// Creates a supervisor: an agent that creates others, and restarts them when they fail.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the platform is stopping.
    pub fn supervise(&self, name: impl Into<Symbol>, supervisor: Supervisor) -> Result<Aid, CreateError> {
        let slot = supervisor.into_slot(&self.inner.services.node);
        self.spawn_slot(name.into(), AgentKind::Native, slot)
    }

    /// Ends an agent. Returns false if no agent has that name.
    pub fn kill(&self, agent: Aid) -> bool {
        self.services().kill(agent)
    }

    /// Ends an agent of this node. For a durable agent, waits until its end is persisted.
    pub fn end(&self, agent: Aid, at_most: Duration) -> KillOutcome {
        self.node().end_here(agent.name, at_most)
    }

    /// Ends agents of this node, in batches so that others have their turns meanwhile. Waits until the ends of
    /// durable agents are persisted. Returns the agents that have not ended here, each with its outcome.
    pub fn end_agents(&self, agents: &[Symbol], at_most: Duration) -> Vec<(Symbol, KillOutcome)> {
        self.node().end_agents(agents, at_most)
    }

    /// Takes agents of this node one step through their life cycle. Returns the failures, with their reasons.
    pub fn step_agents(&self, agents: &[Symbol], step: LifecycleStep) -> Vec<(Symbol, LifecycleError)> {
        self.node().step_agents(agents, step)
    }

    /// Takes an agent one step through its life cycle: suspends or resumes it, for example.
    ///
    /// # Errors
    /// Returns an error if there is no such agent, or if the step does not lead from its state.
    pub fn step(&self, agent: Aid, step: LifecycleStep) -> Result<(), LifecycleError> {
        self.node().with_ams(|ams| ams.step(agent, step))
    }

    /// Suspends an agent: it gets no turns until it is resumed, and its messages wait.
    ///
    /// # Errors
    /// Returns an error if there is no such agent, or if it is not active.
    pub fn suspend(&self, agent: Aid) -> Result<(), LifecycleError> {
        self.step(agent, LifecycleStep::Suspend)
    }

    /// Resumes a suspended agent.
    ///
    /// # Errors
    /// Returns an error if there is no such agent, or if it is not suspended.
    pub fn resume(&self, agent: Aid) -> Result<(), LifecycleError> {
        self.step(agent, LifecycleStep::Resume)
    }

    /// Creates the agent `copy` with the code and state of `original`, between two of the original's turns.
    ///
    /// # Errors
    /// Returns an error if there is no original, or if the copy's name is taken.
    pub fn clone_agent(&self, original: Aid, copy: impl Into<Symbol>) -> Result<Aid, CloneError> {
        let now = self.node().now();
        let cloned = self.node().with_ams(|ams| ams.clone_agent(original, copy.into(), now));
        if matches!(cloned, Err(CloneError::Copy(_))) {
            self.inner.services.node.end_condemned();
        }
        cloned
    }

    /// Asks for an agent to be moved to another worker (from 0). The platform places agents by itself; this is for
    /// callers who know better. Does nothing if the agent's worker is just moving others.
    pub fn move_to_worker(&self, agent: Aid, worker: usize) {
        let workers = self.node().seats.len();
        self.node().change(agent.name, AgentChange::MoveTo((worker % workers) as u16));
    }

    /// Moves an agent of this node to another one, in the middle of its work. `then` is called with the outcome on
    /// another thread. If the agent is durable and this node shares its journal with others, its whole
    /// [partition](Platform::partition_of) moves.
    pub fn move_agent(
        &self,
        agent: Aid,
        to: impl Into<Symbol>,
        then: impl FnOnce(Result<(), HopError>) + Send + 'static,
    ) {
        let request = HopRequest { to: to.into(), mode: HopMode::Move };
        self.node().send_off(agent.name, Box::new(HopJob { request, then: Some(Box::new(then)) }));
    }

    /// Recalls an agent to the node that it was created on, wherever it is; its journey is over. `then` is called
    /// with the outcome on a worker's thread. If the agent cannot get there it stays where it is, and its journey is
    /// over all the same.
    pub fn recall_agent(&self, agent: Aid, then: impl FnOnce(Result<(), HopError>) + Send + 'static) {
        self.node().recall(agent.name, Box::new(then));
    }

    /// Sets the remaining lifetime of an agent of this node. The agent ends then, wherever it is, and the AMS tells
    /// its owner (an `inform` whose content is `ended(Name, expired)`). Returns false if there is no such agent here,
    /// or if the society is durable.
    pub fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        self.node().set_lifetime(agent, lifetime)
    }

    /// Advises an agent of this node, or a hypothetical one that only the job describes, about a job on that node.
    /// Measures what is unknown, so it waits, up to
    /// [`ADVICE_PATIENCE_MS`](whimbrel_platform::limits::ADVICE_PATIENCE_MS). Agents ask by
    /// [`Context::advise`](crate::Context::advise).
    ///
    /// # Errors
    /// Returns an error if the job is invalid, if there is no such node, or if it is this one.
    pub fn advise(
        &self,
        agent: Option<Aid>,
        node: impl Into<Symbol>,
        job: &DocumentJob,
    ) -> Result<Advice, AdviseError> {
        self.inner.services.node.advise(agent, node.into(), Ok(job.clone()))
    }

    /// Returns the AMS's descriptions of the agents that match.
    pub fn search(&self, query: &AgentQuery) -> Vec<AgentDescription> {
        self.node().with_ams(|ams| ams.search(query))
    }

    /// Waits until the platform is idle: nothing happens before a timer goes off or a message comes from outside.
    pub fn wait_idle(&self) {
        self.node().activity.wait_still(None);
    }

    /// Waits as [`Platform::wait_idle`] does, for this long at most. Returns false if the platform is still busy.
    pub fn wait_idle_for(&self, at_most: Duration) -> bool {
        self.node().activity.wait_still(Some(at_most))
    }

    /// Counts messages by their fate. Exact when the platform is idle.
    pub fn counters(&self) -> Counters {
        let queued = self.node().queued();
        self.wait_idle_for(Duration::from_millis(100));
        let (sent, handled, dead) = self.node().figures();
        let (came, left, waiting) = self.node().linked.figures();
        let unserved = self.node().cluster.as_ref().map_or(0, PartitionTable::waiting);
        Counters { sent, handled, dead, queued: queued + waiting + unserved, came, left }
    }

    /// Counts messages by their fate so far, without waiting. While agents work, a few messages on their way may
    /// count twice, or not yet.
    pub fn counters_now(&self) -> Counters {
        let (sent, handled, dead) = self.node().figures();
        let (came, left, _) = self.node().linked.figures();
        let queued = unhandled(sent + came, [handled, dead, left]);
        Counters { sent, handled, dead, queued, came, left }
    }

    /// Returns the number of messages that the end of the platform left unread. [`Platform::counters`] counts them as
    /// dead.
    pub fn unread(&self) -> u64 {
        self.node().unread.load(Ordering::Relaxed)
    }

    /// Returns the node's health: late turns, waits for turns, full mailboxes, ends by quotas, agents.
    pub fn health(&self) -> NodeHealth {
        self.node().health()
    }

    /// Returns the number of agents that began or arrived here so far, without the platform's own.
    pub fn agents_added(&self) -> u64 {
        self.node().with_ams(|ams| ams.agents_added())
    }

    /// Returns the statistics of these agents, of those that are here, in no order. Asks the workers, between two
    /// turns.
    pub fn figures_of(&self, agents: &[Symbol]) -> Vec<AgentFigures> {
        agents.chunks(CENSUS_AGENTS).flat_map(|some| self.node().census(some, CENSUS_PATIENCE)).collect()
    }

    /// Returns the newest lines of agents' output after a number that `is_wanted`, this many at most.
    pub fn output_page(&self, after: u64, lines_max: usize, is_wanted: impl FnMut(&OutputLine) -> bool) -> OutputPage {
        self.node().output.kept().page(after, lines_max, is_wanted)
    }

    /// Returns the numbers of printed lines, and of warnings and failures, so far.
    pub fn output_counts(&self) -> (u64, u64) {
        let log = self.node().output.kept();
        (log.printed(), log.faults())
    }

    /// Returns the remains of the society, once the platform has begun to end its agents.
    pub fn remains(&self) -> Option<Remains> {
        self.node().remains.get().copied()
    }

    /// Sets the function that answers questions of other nodes' operators. Returns false if one is set already.
    pub fn answer_with(&self, answerer: Answerer) -> bool {
        self.node().answer_with(answerer)
    }

    /// Asks another node a question, which [`Platform::answer_with`] answers there. Waits this long at most.
    ///
    /// # Errors
    /// Returns an error if there is no such node, or if it does not answer.
    pub fn ask_node(
        &self,
        node: impl Into<Symbol>,
        question: Vec<u8>,
        at_most: Duration,
    ) -> Result<Vec<u8>, QuestionError> {
        self.node().ask(node.into(), question, at_most)
    }

    /// Returns true if the policy allows an act to a node. A refusal is recorded.
    pub fn permits_node(&self, node: Symbol, action: Action, object: &str) -> bool {
        self.node().permits(Principal::Node(node), action, object)
    }

    /// Returns true if the policy allows an act to a node. Nothing is recorded.
    pub fn allows_node(&self, node: Symbol, action: Action, object: &str) -> bool {
        self.node().guard.policy.allows(Principal::Node(node), action, object)
    }

    /// Returns code and resource usage of these agents of this node. Answers that do not come in time are left out.
    pub fn upkeep_of(&self, agents: &[Symbol]) -> Vec<(Symbol, Upkeep)> {
        agents.chunks(CENSUS_AGENTS).flat_map(|some| self.node().upkeep(some, CENSUS_PATIENCE)).collect()
    }

    /// Returns the storage of this node's agents beside their memory.
    pub fn storage(&self) -> &NodeStorage {
        &self.node().storage
    }

    /// Inspects an agent of this node between two of its turns, without effect on the agent. Waits for its worker.
    ///
    /// # Errors
    /// Returns an error if the agent is not here, is in a turn that does not end, or if its worker does not answer in
    /// time.
    pub fn inspect(&self, agent: Aid, look: Look) -> Result<Inspection, OperateError> {
        self.node().inspect(agent.name, look)
    }

    /// Instructs an agent of this node between two of its turns. It acts at once, or in the turn that follows. Waits
    /// for its worker.
    ///
    /// # Errors
    /// Returns an error if the agent is not here or in a turn that does not end, if its worker does not answer in
    /// time, or if the agent refuses.
    pub fn instruct(&self, agent: Aid, instruction: Instruction) -> Result<(), OperateError> {
        self.node().instruct(agent.name, instruction)
    }

    /// Has all AgentSpeak agents of this node pause as the connected debuggers want it, also those that come later.
    /// Replaces an earlier setup.
    pub fn set_debugger(&self, setup: DebuggerSetup) {
        self.node().set_debugger(setup);
    }

    /// Changes the DF entry of an agent of this node. Subscribers are notified, and for a durable agent the change is
    /// persisted, as if the agent had made it.
    pub fn with_df<T>(&self, agent: Aid, work: impl FnOnce(&mut Df, Time) -> T) -> T {
        let now = self.services().now();
        let outcome = self.node().with_df(|df| work(df, now));
        self.services().note_standing(agent);
        self.node().wake_df();
        outcome
    }

    /// Returns the topics and groups that have members, by name: each with the number of this node's agents in it,
    /// and of other nodes with some.
    pub fn topics(&self) -> Vec<(Symbol, usize, usize)> {
        self.node().with_topics(|topics| topics.list())
    }

    /// Subscribes `observer` to all events from now on, until the returned handle is dropped.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> Observation {
        Observation::begin(&self.inner.services.node, observer)
    }

    /// Samples the latency of messages, until the returned handle is dropped.
    pub fn measure_latency(&self) -> LatencyWatch {
        LatencyWatch::begin(&self.inner.services.node)
    }

    /// Links this platform to other nodes. Returns false if it has links already.
    pub fn link_with(&self, links: Arc<dyn Links>) -> bool {
        self.node().attach(links)
    }

    /// Sets the message transport to other platforms. Returns false if the platform has one already.
    pub fn transport_with(&self, transport: Arc<dyn MessageTransport>) -> bool {
        self.node().transport_with(transport)
    }

    /// Takes in a message of another platform's agent, a stranger, if the policy permits it; else the stranger gets a
    /// `failure`.
    pub fn take_in_foreign(&self, message: Envelope) {
        self.node().take_in_foreign(message);
    }

    /// Takes back messages from the message transport that it could not deliver; their senders get a `failure`.
    pub fn give_up_foreign(&self, messages: Vec<Envelope>, why: DeadReason) {
        self.node().give_up_foreign(messages, why);
    }

    /// Returns true if more messages from outside can be dealt with now.
    pub fn has_room(&self) -> bool {
        self.node().has_room()
    }

    /// Has workers serve the sockets of a node without links, while they are idle and now and then. Returns false if
    /// they serve others already: those of its links.
    pub fn serve(&self, sockets: Arc<dyn SocketIo>) -> bool {
        self.node().linked.attach_io(sockets)
    }

    /// Returns true if another node has announced all its agents.
    pub fn knows_all_of(&self, node: whimbrel_platform::route::NodeId) -> bool {
        self.node().has_introduced(node)
    }

    /// Returns the location of each existing agent among these names: its node, empty if it is this one.
    pub fn namesakes(&self, names: impl IntoIterator<Item = Symbol>) -> Vec<(Symbol, Symbol)> {
        let node = self.node();
        let known = node.with_ams(|ams| {
            let taken = names.into_iter().filter(|name| ams.exists(Aid::local(*name)));
            taken.map(|name| (name, ams.node_of(name))).collect::<Vec<_>>()
        });
        known.into_iter().map(|(name, at)| (name, at.map_or_else(Symbol::default, |at| node.name_of(at)))).collect()
    }

    /// Returns this platform as its links to other nodes see it.
    pub fn station(&self) -> Arc<dyn Station> {
        Arc::new(NodeStation(Arc::clone(&self.inner.services.node)))
    }

    /// Returns this platform as the sessions of external agents see it.
    pub fn host(&self) -> Arc<dyn SessionHost> {
        Arc::new(NodeHost(Arc::clone(&self.inner.services.node)))
    }

    /// Returns the number of messages handled so far, without waiting: for progress and for monitoring.
    pub fn handled(&self) -> u64 {
        self.node().figures().1
    }

    /// Returns the newest messages that could not reach their receivers, newest first.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        locked(&self.node().dead_letters).iter().cloned().collect()
    }

    /// Runs until an agent or [`Platform::stop_with`] ends the platform; then ends the agents. Returns the exit code.
    pub fn run_until_stopped(&self) -> i32 {
        let code = self.wait_until_stopped();
        self.stop();
        code
    }

    /// Waits until an agent or [`Platform::stop_with`] ends the platform. Returns the exit code. Agents continue
    /// until [`Platform::stop`].
    pub fn wait_until_stopped(&self) -> i32 {
        self.node().ending.wait()
    }

    /// Returns true if an agent of a [durable](PlatformBuilder::durable) society ended it, so nothing is left to
    /// recover. After any other end, the society is only interrupted.
    pub fn has_concluded(&self) -> bool {
        self.node().scribe.as_ref().is_some_and(|scribe| scribe.concluded.load(Ordering::Acquire))
    }

    /// Makes [`Platform::run_until_stopped`] end the platform with this exit code.
    pub fn stop_with(&self, code: i32) {
        self.services().stop(0, code);
    }

    /// Ends this node as [`Platform::stop_with`] does; other nodes of the platform continue.
    pub fn leave_with(&self, code: i32) {
        self.node().ending.ask(Duration::ZERO, code);
    }

    /// Ends this node because all other nodes have left: with the code of the platform's end if they left for that,
    /// else with 0.
    pub fn leave_after_others(&self) {
        self.node().ending.hasten();
    }

    /// Ends all agents, in order of creation, each told by `on_stop`, then the platform. Returns false if some
    /// agent's turn does not end within 5 s. A second call returns the result of the first. Afterwards the platform
    /// has no journal, so the folder of its durable agents can be opened again.
    pub fn stop(&self) -> bool {
        self.stop_within(CLOSE_PATIENCE)
    }

    /// Ends all agents as [`Platform::stop`] does. Waits for `patience`, and as long again at most while agents keep
    /// ending; turns that have not ended then are left behind.
    pub fn stop_within(&self, patience: Duration) -> bool {
        self.node().close(patience)
    }

    pub(crate) fn node(&self) -> &Node {
        &self.inner.services.node
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.services.node.close(CLOSE_PATIENCE);
    }
}
