//! A platform in this process: building it, talking to it from outside, ending it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Name, Performative, Symbol, Value, sym};
use whimbrel_platform::advice::{Advice, AdviseError, Job};
use whimbrel_platform::agent_management::{AmsAgent, DfAgent};
use whimbrel_platform::ams::{AgentDescription, AgentKind, AgentQuery, CloneError, LifecycleError, LifecycleStep};
use whimbrel_platform::audit::Auditor;
use whimbrel_platform::cluster::{Mover, Work};
use whimbrel_platform::dead_letters::DeadLetter;
use whimbrel_platform::df::Df;
use whimbrel_platform::durable::Layout;
use whimbrel_platform::environment::Environments;
use whimbrel_platform::inspection::{Inspection, Instruction, Look, Upkeep};
use whimbrel_platform::mobility::{HopError, HopMode, HopRequest};
use whimbrel_platform::policy::{Action, Policy, Principal};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError};
use whimbrel_platform::session::Host;
use whimbrel_platform::storage::Shelves;
use whimbrel_platform::store::{Epoch, Journal, Partition};
use whimbrel_platform::{AgentBody, Counters, EndReason, Links, Observer, Services, Station, Time};

use crate::agent::{Agent, NativeBody};
use crate::census::AgentFigures;
use crate::clock::Clock;
use crate::cluster::{AdoptError, Adopted, Cluster, Ended, YieldError};
use crate::durable::scribe::{Orders, Scribe};
use crate::durable::{Entrant, Kept};
use crate::durable_agent::{DurableAgent, DurableBody, Envoy, Founder, Kinds, Minion};
use crate::guard::Guard;
use crate::health::NodeHealth;
use crate::latency::LatencyWatch;
use crate::linked::NodeStation;
use crate::loader::{NoPrograms, ProgramLoader};
use crate::mobility::Errand;
use crate::node::{Introduction, MailboxLimits, Node, Parts};
use crate::observers::Observation;
use crate::operate::OperateError;
use crate::output::{Console, Output};
use crate::parcel::Change;
use crate::questions::{Answerer, QuestionError};
use crate::reception::{AskError, Reception};
use crate::services::NodeServices;
use crate::sessions::NodeHost;
use crate::shard::{Shard, Slot};
use crate::supervision::Supervisor;
use crate::sync::locked;
use crate::watchdog;

/// How long the end waits for turns that do not end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);
/// Agents that workers are asked about at once: so many cost them less than a turn may.
const CENSUS_AGENTS: usize = 1_024;
/// How long workers may take to tell of them.
const CENSUS_PATIENCE: Duration = Duration::from_secs(1);

/// A running platform. Clones are handles to the same one; it ends when [`Platform::stop`] is called or the last handle
/// is dropped.
#[derive(Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

struct Inner {
    services: NodeServices,
    reception: OnceLock<Reception>,
}

/// What a platform is to be; see [`Platform::builder`].
pub struct PlatformBuilder {
    name: Symbol,
    workers: usize,
    seed: Option<u64>,
    output: Box<dyn Output>,
    loader: Box<dyn ProgramLoader>,
    kinds: Kinds,
    environments: Environments,
    storage: Arc<Shelves>,
    passivate_after: Option<Duration>,
    observer: Option<Arc<dyn Observer>>,
    mailbox_limits: MailboxLimits,
    policy: Policy,
    auditor: Option<Arc<dyn Auditor>>,
    kept: Option<Kept>,
    shared: Option<(Arc<dyn Journal>, Arc<Layout>)>,
}

impl PlatformBuilder {
    /// The platform's name, the part of agents' names after `@`.
    #[must_use]
    pub fn name(mut self, name: impl Into<Symbol>) -> Self {
        self.name = name.into();
        self
    }

    /// How many threads give turns. As many as there are cores if not set.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.clamp(1, whimbrel_platform::route::Route::SHARDS);
        self
    }

    /// Where random numbers start, for runs that are to repeat.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Where the lines go that agents print. Standard output if not set.
    #[must_use]
    pub fn output(mut self, output: impl Output + 'static) -> Self {
        self.output = Box::new(output);
        self
    }

    /// What makes agents of program files.
    #[must_use]
    pub fn loader(mut self, loader: impl ProgramLoader + 'static) -> Self {
        self.loader = Box::new(loader);
        self
    }

    /// A type of durable agents that this platform can make again of what was kept of them. All nodes of a platform should
    /// have the same.
    ///
    /// # Panics
    /// Another type has its name.
    #[must_use]
    pub fn kind<A: DurableAgent>(mut self) -> Self {
        self.kinds.add::<A>();
        self
    }

    /// A type of minions that agents of this platform [send](crate::DurableContext::dispatch) and take in.
    #[must_use]
    pub fn minion<M: Minion>(mut self) -> Self {
        self.kinds.add::<Envoy<M>>();
        self
    }

    /// How long a durable agent has nothing to do before it leaves memory, if it does not say so itself; they stay if not set.
    /// Its next message or timer brings it back.
    #[must_use]
    pub fn passivate_after(mut self, idle: Duration) -> Self {
        self.passivate_after = Some(idle);
        self
    }

    /// Who is told of everything that happens, from the first. Costs time; nothing if there is none. Others may come and
    /// go while the platform runs: [`Platform::observe`].
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// How many messages a mailbox holds before its senders' turns come later (`soft`), and before further messages are
    /// answered `failure` (`hard`).
    #[must_use]
    pub fn mailbox_limits(mut self, soft: usize, hard: usize) -> Self {
        (self.mailbox_limits.soft, self.mailbox_limits.hard) = (soft.max(1), hard.max(soft));
        self
    }

    /// The same of bytes of memory that bulky messages take, those of other nodes, of clients and of guests
    /// ([`MessageBody::weighed`]): 16 MiB and 64 MiB if nothing is said.
    #[must_use]
    pub fn mailbox_bytes(mut self, soft: usize, hard: usize) -> Self {
        (self.mailbox_limits.soft_bytes, self.mailbox_limits.hard_bytes) = (soft.max(1), hard.max(soft));
        self
    }

    /// Who may do what. Agents of the platform may do anything if not set.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// What agents can act on at this node, as far as the policy grants it to them.
    #[must_use]
    pub fn environments(mut self, environments: Environments) -> Self {
        self.environments = environments;
        self
    }

    /// Where WebAssembly agents to which the policy grants it keep what they leave on this node: whoever hands it over may have filled it
    /// before, and writes what [changes](Shelves::take_changed). In memory only if not set.
    #[must_use]
    pub fn storage(mut self, storage: Arc<Shelves>) -> Self {
        self.storage = storage;
        self
    }

    /// Who keeps a record of what was refused.
    #[must_use]
    pub fn auditor(mut self, auditor: Arc<dyn Auditor>) -> Self {
        self.auditor = Some(auditor);
        self
    }

    /// Has agents outlive this process, if their kind can be written out ([`AgentBody::origin`]): what they do is written
    /// to the journal that `kept` was [recovered](crate::recover) from, and those that are in it go on when the first
    /// agents are [spawned together](Platform::spawn_together).
    #[must_use]
    pub fn durable(mut self, kept: Kept) -> Self {
        self.kept = Some(kept);
        self
    }

    /// As [`PlatformBuilder::durable`], for a node of several that share a journal: which of its partitions this one serves is
    /// said by [`Platform::adopt`] and [`Platform::yield_up`].
    #[must_use]
    pub fn clustered(self, journal: Arc<dyn Journal>) -> Self {
        let layout = Layout::from(journal.partitions());
        self.clustered_by(journal, layout)
    }

    /// As [`PlatformBuilder::clustered`], of a society whose agents are in these partitions: as many as the journal has, and all
    /// nodes say the same.
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
        let clock = Clock::Real(Instant::now());
        let Self { name, workers, output, loader, kinds, observer, mailbox_limits, .. } = self;
        let (policy, auditor, kept, shared) = (self.policy, self.auditor, self.kept, self.shared);
        let cluster = shared.as_ref().map(|(_, layout)| Cluster::new(Arc::clone(layout)));
        let idle = shared.map(|(journal, layout)| Scribe::idle(journal, &layout));
        let (scribe, orders) = idle.or(kept.map(Scribe::new)).unzip();
        let guard = Guard::new(policy, auditor);
        let parts = Parts {
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
        let mut unserved = Vec::new();
        for index in 0..workers {
            node.activity.begin();
            unserved.extend(watchdog::start(&node, Box::new(Shard::new(index as u16, Arc::clone(&node)))));
        }
        watchdog::start_watching(&node, unserved);
        if let Some(orders) = orders {
            Orders::start(orders, &node);
        }
        let platform = Platform {
            inner: Arc::new(Inner {
                services: NodeServices { node, shard: 0, in_turn: false },
                reception: OnceLock::new(),
            }),
        };
        // Their names are free: there are no other agents yet.
        let _ = platform.spawn_kind(sym::AMS, AgentKind::Service, Box::new(AmsAgent));
        let _ = platform.spawn_kind(sym::DF, AgentKind::Service, Box::new(DfAgent));
        platform
    }
}

impl Platform {
    /// A platform to be: named `whimbrel`, a worker per core, printing to standard output.
    pub fn builder() -> PlatformBuilder {
        PlatformBuilder {
            name: "whimbrel".into(),
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            seed: None,
            output: Box::new(Console),
            loader: Box::new(NoPrograms),
            kinds: Kinds::default(),
            environments: Environments::default(),
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
    /// The name is taken or no name, or the platform is stopping.
    pub fn spawn(&self, name: impl Into<Symbol>, agent: impl Agent) -> Result<Aid, CreateError> {
        self.spawn_slot(name.into(), AgentKind::Native, NativeBody::slot(agent))
    }

    /// Creates the agent `name`, which outlives this process if what the platform does is [kept](PlatformBuilder::durable); on
    /// the node that serves its name. Those that a society begins with are [spawned together](Platform::spawn_together).
    ///
    /// # Errors
    /// The name is taken or no name, the platform is stopping, the type is not [registered](PlatformBuilder::kind), or its
    /// state cannot be written.
    pub fn spawn_durable(&self, name: impl Into<Symbol>, agent: impl DurableAgent) -> Result<Aid, CreateError> {
        let name = name.into();
        let source = AgentSource::Body(DurableBody::checked(name, agent)?);
        self.services().create(CreateAgent { name, unique: false, owner: None, source })
    }

    /// Creates the agent `name` as one of the platform's own, which is not counted among the society's agents.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
    pub fn spawn_service(&self, name: impl Into<Symbol>, agent: impl Agent) -> Result<Aid, CreateError> {
        self.spawn_slot(name.into(), AgentKind::Service, NativeBody::slot(agent))
    }

    /// Creates the agent `name` of any kind.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
    pub fn spawn_body(&self, name: impl Into<Symbol>, body: Box<dyn AgentBody>) -> Result<Aid, CreateError> {
        self.spawn_kind(name, AgentKind::Native, body)
    }

    /// Creates the agent `name`, recorded as of this kind.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
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
    /// One of the names is taken or no name, or the platform is stopping; then none is created.
    pub fn spawn_population<A: Agent>(
        &self,
        name: impl Into<Symbol>,
        count: usize,
        mut agent: impl FnMut(usize) -> A,
    ) -> Result<Vec<Aid>, CreateError> {
        self.node().create_population(0, name.into(), count, AgentKind::Native, |i| NativeBody::slot(agent(i)))
    }

    /// Creates `count` agents `name1`, `name2`, ... of any kind.
    ///
    /// # Errors
    /// One of the names is taken or no name, or the platform is stopping; then none is created.
    pub fn spawn_bodies(
        &self,
        name: impl Into<Symbol>,
        kind: AgentKind,
        count: usize,
        mut body: impl FnMut(usize) -> Box<dyn AgentBody>,
    ) -> Result<Vec<Aid>, CreateError> {
        self.node().create_population(0, name.into(), count, kind, |i| Box::new(Slot::new(body(i))))
    }

    /// Creates a whole society: every agent exists before the first one has its first turn. If the platform is
    /// [durable](PlatformBuilder::durable), those whose state was kept go on with it, those that had ended stay away, and
    /// those that had been created while it ran come back, too.
    ///
    /// # Errors
    /// One of the names is taken or no name, or the platform is stopping; the agents before it are registered then, and
    /// the platform should be stopped.
    pub fn spawn_together(&self, agents: impl IntoIterator<Item = Founder>) -> Result<Vec<Aid>, CreateError> {
        self.spawn_together_for(agents, |_| None)
    }

    /// The same, for agents some of which live no longer than `lifetime` says ([`Platform::set_lifetime`]): in societies that are not
    /// kept.
    ///
    /// # Errors
    /// As [`Platform::spawn_together`].
    pub fn spawn_together_for(
        &self,
        agents: impl IntoIterator<Item = Founder>,
        lifetime: impl Fn(Symbol) -> Option<Duration>,
    ) -> Result<Vec<Aid>, CreateError> {
        let agents = agents.into_iter().map(Entrant::founder);
        let agents = self.inner.services.node.with_resumed(agents.collect())?;
        self.node().create_together(0, agents, lifetime)
    }

    /// Serves these partitions of the shared journal from now on, in these epochs: brings back their agents, begins those of
    /// `founders`, the agents of these partitions that the society begins with, that never were, and tells all other
    /// nodes. Waits for the journal. A partition that another node has taken over in a higher epoch, that cannot be read, or
    /// that holds an agent that cannot be brought back is left alone, and named.
    ///
    /// # Errors
    /// An agent had ended the society, or the platform ends: nothing is served then that was not before.
    pub fn adopt(&self, partitions: &[(Partition, Epoch)], founders: Vec<Founder>) -> Result<Adopted, AdoptError> {
        self.node().adopt(partitions, founders)
    }

    /// Stops serving partitions: their agents stop between two turns, and all they did is written; messages to them wait, on
    /// all nodes, until somebody serves them. Returns when that is so, or after `at_most`, with those of which it is not, and why:
    /// what is sent to these waits, too, and they are to be yielded again until they are.
    pub fn yield_up(&self, partitions: &[Partition], at_most: Duration) -> Vec<(Partition, YieldError)> {
        self.node().yield_up(partitions, at_most)
    }

    /// The partition of an agent, if this is a node of several that share a journal.
    pub fn partition_of(&self, agent: impl Into<Name>) -> Option<Partition> {
        self.node().cluster.as_ref().map(|cluster| cluster.partition_of(agent))
    }

    /// The name of the node that messages to the agents of a partition go to, if one serves it as far as this node knows.
    pub fn server_of(&self, partition: Partition) -> Option<Symbol> {
        self.node().server_named(partition)
    }

    /// Says what has partitions served by other nodes when agents want to be there, if this is a node of several that share a
    /// journal. Once; without it they stay.
    pub fn moved_by(&self, mover: Arc<dyn Mover>) {
        self.node().be_moved_by(mover);
    }

    /// What its workers have done since it began, and with agents of which partitions, if it is one of several that share a
    /// journal: from samples that are taken ten times a second.
    pub fn work(&self) -> Work {
        self.node().work()
    }

    /// Sends a message, from outside any agent. Messages sent here arrive in the order they were sent.
    pub fn send(&self, message: impl Into<Box<AclMessage>>) {
        self.node().post(0, message.into());
    }

    /// What agents can ask of the platform, for those outside.
    pub fn services(&self) -> &dyn Services {
        &self.inner.services
    }

    /// Sends a message that is to be answered, and waits for the answer, half a minute at most.
    ///
    /// # Errors
    /// There is no such agent, or no answer came in time.
    pub fn ask(&self, to: Aid, performative: Performative, content: impl Into<Value>) -> Result<MessageBody, AskError> {
        self.ask_within(Duration::from_secs(30), AclMessage::new(performative, to, to, content))
    }

    /// Sends a message to its first receiver, and waits for the answer for this long at most.
    ///
    /// # Errors
    /// There is no such agent, or no answer came in time.
    pub fn ask_within(&self, at_most: Duration, question: impl Into<Box<AclMessage>>) -> Result<MessageBody, AskError> {
        let desk = self.inner.reception.get_or_init(|| Reception::open(self));
        desk.ask(self, at_most, question.into())
    }

    /// Calls `then` when `agent` ends, with the reason; at once if there is no such agent. On a worker's thread: be quick.
    pub fn when_ended(&self, agent: Aid, then: impl FnOnce(Option<&EndReason>) + Send + 'static) {
        let away = self.node().is_away(agent.name);
        self.node().monitors.call(&self.node().routes, agent.name, Box::new(then), away);
    }

    /// Creates an agent that looks after others: it creates them, and restarts them when they fail.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
    pub fn supervise(&self, name: impl Into<Symbol>, supervisor: Supervisor) -> Result<Aid, CreateError> {
        let slot = supervisor.into_slot(&self.inner.services.node);
        self.spawn_slot(name.into(), AgentKind::Native, slot)
    }

    /// Ends an agent; false if there is none of that name.
    pub fn kill(&self, agent: Aid) -> bool {
        self.services().kill(agent)
    }

    /// Ends an agent of this node, and waits until that outlives the node, if the agent does.
    pub fn end(&self, agent: Aid, at_most: Duration) -> Ended {
        self.node().end_here(agent.name, at_most)
    }

    /// Ends agents of this node, in batches so that others have their turns meanwhile. Waits until the ends of durable
    /// agents are written. Returns the agents that have not ended here, and what is known of them.
    pub fn end_agents(&self, agents: &[Symbol], at_most: Duration) -> Vec<(Symbol, Ended)> {
        self.node().end_agents(agents, at_most)
    }

    /// Takes agents of this node one step through their lives. Returns the agents for which that failed, and why.
    pub fn step_agents(&self, agents: &[Symbol], step: LifecycleStep) -> Vec<(Symbol, LifecycleError)> {
        self.node().step_agents(agents, step)
    }

    /// Takes an agent one step through its life: suspends, resumes it and so on.
    ///
    /// # Errors
    /// There is no such agent, or the step does not lead from its state.
    pub fn step(&self, agent: Aid, step: LifecycleStep) -> Result<(), LifecycleError> {
        self.node().with_ams(|ams| ams.step(agent, step))
    }

    /// Gives an agent no turns until it is resumed; its messages wait.
    ///
    /// # Errors
    /// There is no such agent, or it is not active.
    pub fn suspend(&self, agent: Aid) -> Result<(), LifecycleError> {
        self.step(agent, LifecycleStep::Suspend)
    }

    /// Gives a suspended agent turns again.
    ///
    /// # Errors
    /// There is no such agent, or it is not suspended.
    pub fn resume(&self, agent: Aid) -> Result<(), LifecycleError> {
        self.step(agent, LifecycleStep::Resume)
    }

    /// Creates the agent `copy` with the code and state of `original`, between two turns of it.
    ///
    /// # Errors
    /// There is no original, or the copy's name is taken.
    pub fn clone_agent(&self, original: Aid, copy: impl Into<Symbol>) -> Result<Aid, CloneError> {
        let now = self.node().now();
        let cloned = self.node().with_ams(|ams| ams.clone_agent(original, copy.into(), now));
        if matches!(cloned, Err(CloneError::Copy(_))) {
            self.inner.services.node.end_condemned();
        }
        cloned
    }

    /// Asks for an agent to be moved to another worker (from 0). The platform places agents by itself; this is for those
    /// who know better. Nothing happens if the agent's worker is just moving others.
    pub fn move_to_worker(&self, agent: Aid, worker: usize) {
        let workers = self.node().seats.len();
        self.node().change(agent.name, Change::MoveTo((worker % workers) as u16));
    }

    /// Has an agent of this node go on on another one, in the middle of what it does; `then` hears what came of it, on some other
    /// thread. If it is durable, and this is a node of several that share a journal, all agents of its
    /// [partition](Platform::partition_of) go there.
    pub fn move_agent(
        &self,
        agent: Aid,
        to: impl Into<Symbol>,
        then: impl FnOnce(Result<(), HopError>) + Send + 'static,
    ) {
        let request = HopRequest { to: to.into(), mode: HopMode::Move };
        self.node().send_off(agent.name, Box::new(Errand { request, then: Some(Box::new(then)) }));
    }

    /// Calls an agent home to the node that it was created on, wherever it is: a journey that it is on is over. `then` hears what
    /// came of it, on a worker's thread. If it cannot get there it stays where it is, and its journey is over all the same.
    pub fn recall_agent(&self, agent: Aid, then: impl FnOnce(Result<(), HopError>) + Send + 'static) {
        self.node().recall(agent.name, Box::new(then));
    }

    /// Has an agent of this node end when it has lived for so long from now on, wherever it is then; its owner is told by the AMS
    /// (an `inform` whose content is `ended(Name, expired)`). False if there is no such agent here, or the society is durable.
    pub fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        self.node().set_lifetime(agent, lifetime)
    }

    /// Advice about a job on that node: to `agent` of this node, or to one of which nothing is known but what the job says. Measures what
    /// is to be known, so it waits, up to [`ADVICE_PATIENCE_MS`](whimbrel_platform::limits::ADVICE_PATIENCE_MS); agents ask by
    /// [`Context::advise`](crate::Context::advise).
    ///
    /// # Errors
    /// The job is none, or there is no such node, or this is it.
    pub fn advise(&self, agent: Option<Aid>, node: impl Into<Symbol>, job: &Job) -> Result<Advice, AdviseError> {
        self.inner.services.node.advise(agent, node.into(), Ok(job.clone()))
    }

    /// What the AMS knows of the agents that fit.
    pub fn search(&self, query: &AgentQuery) -> Vec<AgentDescription> {
        self.node().with_ams(|ams| ams.search(query))
    }

    /// Waits until nothing is left to do before a timer goes off or a message comes from outside.
    pub fn wait_idle(&self) {
        self.node().activity.wait_still(None);
    }

    /// As [`Platform::wait_idle`], but not longer than this; false if there is still something to do.
    pub fn wait_idle_for(&self, at_most: Duration) -> bool {
        self.node().activity.wait_still(Some(at_most))
    }

    /// Messages by what became of them; exact when all is still.
    pub fn counters(&self) -> Counters {
        let queued = self.node().queued();
        self.wait_idle_for(Duration::from_millis(100));
        let (sent, handled, dead) = self.node().figures();
        let (came, left, waiting) = self.node().linked.figures();
        let unserved = self.node().cluster.as_ref().map_or(0, Cluster::waiting);
        Counters { sent, handled, dead, queued: queued + waiting + unserved, came, left }
    }

    /// Messages by what became of them so far, while agents work: of messages on their way just now a few may count
    /// twice, or not yet. Waits for nothing.
    pub fn counters_now(&self) -> Counters {
        let (sent, handled, dead) = self.node().figures();
        let (came, left, _) = self.node().linked.figures();
        let queued = (sent + came).saturating_sub(handled + dead + left);
        Counters { sent, handled, dead, queued, came, left }
    }

    /// Returns the node's health: late turns, waits for turns, full mailboxes, ends by quotas, agents.
    pub fn health(&self) -> NodeHealth {
        self.node().health()
    }

    /// How these agents are doing: those of them that are here, in no order. Asks the workers, between two turns.
    pub fn figures_of(&self, agents: &[Symbol]) -> Vec<AgentFigures> {
        agents.chunks(CENSUS_AGENTS).flat_map(|some| self.node().census(some, CENSUS_PATIENCE)).collect()
    }

    /// Has what operators of other nodes ask of this one answered so. False if somebody does that already.
    pub fn answer_with(&self, answerer: Answerer) -> bool {
        self.node().answer_with(answerer)
    }

    /// What another node answers: [`Platform::answer_with`] there. Waits for it, so long at most.
    ///
    /// # Errors
    /// There is no such node, or it does not answer.
    pub fn ask_node(
        &self,
        node: impl Into<Symbol>,
        question: Vec<u8>,
        at_most: Duration,
    ) -> Result<Vec<u8>, QuestionError> {
        self.node().ask(node.into(), question, at_most)
    }

    /// Whether a node may do this here, by the policy; what it may not is recorded.
    pub fn permits_node(&self, node: Symbol, action: Action, object: &str) -> bool {
        self.node().permits(Principal::Node(node), action, object)
    }

    /// True if the policy allows an act to a node. Nothing is recorded.
    pub fn allows_node(&self, node: Symbol, action: Action, object: &str) -> bool {
        self.node().guard.policy.allows(Principal::Node(node), action, object)
    }

    /// What these agents of this node run and use, asked of their workers; what is not told in time is left out.
    pub fn upkeep_of(&self, agents: &[Symbol]) -> Vec<(Symbol, Upkeep)> {
        agents.chunks(CENSUS_AGENTS).flat_map(|some| self.node().upkeep(some, CENSUS_PATIENCE)).collect()
    }

    /// What agents of this node keep there beside their memory.
    pub fn storage(&self) -> &Shelves {
        &self.node().storage
    }

    /// What is in an agent of this node, asked between two of its turns; it goes on as if nobody had looked. Waits for its worker.
    ///
    /// # Errors
    /// It is not here, in a turn that does not end, or its worker does not answer in time.
    pub fn inspect(&self, agent: Aid, look: Look) -> Result<Inspection, OperateError> {
        self.node().inspect(agent.name, look)
    }

    /// Has an agent of this node do what an operator wants, between two of its turns: at once, or in the turn that follows. Waits for
    /// its worker.
    ///
    /// # Errors
    /// It is not here, in a turn that does not end, its worker does not answer in time, or it cannot be done.
    pub fn instruct(&self, agent: Aid, instruction: Instruction) -> Result<(), OperateError> {
        self.node().instruct(agent.name, instruction)
    }

    /// Has the directory facilitator do something with the entry of an agent of this node. Subscribers are told, and of a durable agent it is
    /// written, as if the agent had done it.
    pub fn with_df<T>(&self, agent: Aid, work: impl FnOnce(&mut Df, Time) -> T) -> T {
        let now = self.services().now();
        let outcome = self.node().with_df(|df| work(df, now));
        self.services().note_standing(agent);
        self.node().wake_df();
        outcome
    }

    /// The topics and groups that somebody is in, by name: each with how many agents of this node are, and how many other
    /// nodes have some.
    pub fn topics(&self) -> Vec<(Symbol, usize, usize)> {
        self.node().with_topics(|topics| topics.list())
    }

    /// Has `observer` told of everything that happens from now on, until what is returned is dropped.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> Observation {
        Observation::begin(&self.inner.services.node, observer)
    }

    /// Has it measured how long messages wait in mailboxes, of some of them, until what is returned is dropped.
    pub fn measure_latency(&self) -> LatencyWatch {
        LatencyWatch::begin(&self.inner.services.node)
    }

    /// Makes this platform a node among others, with these links. False if it has links already.
    pub fn link_with(&self, links: Arc<dyn Links>) -> bool {
        self.node().attach(links)
    }

    /// Whether another node has told of all its agents.
    pub fn knows_all_of(&self, node: whimbrel_platform::route::NodeId) -> bool {
        self.node().has_introduced(node)
    }

    /// Where agents of these names are already, of those that exist: each with its node, which is empty if it is this one.
    pub fn namesakes(&self, names: impl IntoIterator<Item = Symbol>) -> Vec<(Symbol, Symbol)> {
        let node = self.node();
        let known = node.with_ams(|ams| {
            let taken = names.into_iter().filter(|name| ams.exists(Aid::local(*name)));
            taken.map(|name| (name, ams.node_of(name))).collect::<Vec<_>>()
        });
        known.into_iter().map(|(name, at)| (name, at.map_or_else(Symbol::default, |at| node.name_of(at)))).collect()
    }

    /// This platform as its links to other nodes see it.
    pub fn station(&self) -> Arc<dyn Station> {
        Arc::new(NodeStation(Arc::clone(&self.inner.services.node)))
    }

    /// This platform as the sessions of external agents see it.
    pub fn host(&self) -> Arc<dyn Host> {
        Arc::new(NodeHost(Arc::clone(&self.inner.services.node)))
    }

    /// Messages handled so far. Waits for nothing, so it can be read while agents work: for progress and for monitoring.
    pub fn handled(&self) -> u64 {
        self.node().figures().1
    }

    /// The newest messages that could not reach their receivers, newest first.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        locked(&self.node().dead_letters).iter().cloned().collect()
    }

    /// Runs until an agent or [`Platform::stop_with`] ends the platform; then ends the agents and tells the exit code.
    pub fn run_until_stopped(&self) -> i32 {
        let code = self.wait_until_stopped();
        self.stop();
        code
    }

    /// Waits until an agent or [`Platform::stop_with`] ends the platform, and returns the exit code. Agents continue until
    /// [`Platform::stop`].
    pub fn wait_until_stopped(&self) -> i32 {
        self.node().ending.wait()
    }

    /// Whether an agent of a [durable](PlatformBuilder::durable) society ended it: there is nothing to go on with. Ended by
    /// anything else, it is only interrupted.
    pub fn has_concluded(&self) -> bool {
        self.node().scribe.as_ref().is_some_and(|scribe| scribe.concluded.load(Ordering::Acquire))
    }

    /// Has [`Platform::run_until_stopped`] end the platform with this exit code.
    pub fn stop_with(&self, code: i32) {
        self.services().stop(0, code);
    }

    /// As [`Platform::stop_with`], but other nodes of the platform go on.
    pub fn leave_with(&self, code: i32) {
        self.node().ending.ask(Duration::ZERO, code);
    }

    /// Ends all agents, in order of creation, each told by `on_stop`, then the platform. False if some agent's turn
    /// does not end within 5 s. A second call returns what the first one did.
    pub fn stop(&self) -> bool {
        self.stop_within(CLOSE_PATIENCE)
    }

    /// Ends all agents as [`Platform::stop`] does. Waits for so long, and as long again at most while one agent after
    /// the other ends; turns that have not ended then are left behind.
    pub fn stop_within(&self, patience: Duration) -> bool {
        self.node().close(patience)
    }

    fn node(&self) -> &Node {
        &self.inner.services.node
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.services.node.close(CLOSE_PATIENCE);
    }
}
