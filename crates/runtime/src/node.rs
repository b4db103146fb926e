//! State of a node that all its shards share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, sym};
use whimbrel_platform::ams::{AgentKind, Ams, AmsChange, AmsCommand, LifecycleStep, NewAgent, Ties};
use whimbrel_platform::dead_letters::DeadLetters;
use whimbrel_platform::df::Df;
use whimbrel_platform::durable::{Born, Origin};
use whimbrel_platform::environment::Environments;
use whimbrel_platform::limits::{
    MAILBOX_HARD_BYTES, MAILBOX_HARD_MESSAGES, MAILBOX_SOFT_BYTES, MAILBOX_SOFT_MESSAGES, OFFLOAD_THREADS_MAX,
};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{LocalRoute, Place, Route, RouteTable, ShardIndex};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::session::Shelf;
use whimbrel_platform::storage::Shelves;
use whimbrel_platform::{AgentBody, Arrival, EndReason, Event, Links, Mailbox, Observer, Time};

use crate::activity::Activity;
use crate::advice::Advisor;
use crate::clock::PlatformClock;
use crate::cluster::{Cluster, PartitionServer};
use crate::codes::Codes;
use crate::durable::journal_writer::JournalWriter;
use crate::durable::{Effect, Entrant, Unwritten};
use crate::durable_agent::Kinds;
use crate::ending::Ending;
use crate::families::Condemned;
use crate::guard::Guard;
use crate::health::Health;
use crate::inbox::{Content, Waits};
use crate::latency::LatencySamples;
use crate::loader::ProgramLoader;
use crate::mobility::Mobility;
use crate::monitors::Monitors;
use crate::observers::Observers;
use crate::output::Output;
use crate::peers::PeerNodes;
use crate::pool::Pool;
use crate::questions::Questions;
use crate::services::NodeServices;
use crate::shard::Slot;
use crate::shard_command::{Bearer, Change, Newcomer, ShardCommand};
use crate::shard_handle::{ShardFigures, ShardHandle};
use crate::state_transfer::StateTransfer;
use crate::sync::{Arc, Mutex, locked};
use crate::throttle::Throttles;
use crate::topics::Forum;
use crate::turn::caught;

/// Time for which late turns may still send when the platform stops.
const LAST_TURNS: Duration = Duration::from_secs(1);
/// Wait for the next agent to end, once the patience of the platform's end is over.
const NEXT_END: Duration = Duration::from_millis(100);

/// State of a node; see the module.
pub(crate) struct Node {
    pub name: Symbol,
    pub seats: Box<[ShardHandle]>,
    pub routes: RouteTable,
    pub activity: Activity,
    pub clock: PlatformClock,
    pub output: Box<dyn Output>,
    pub loader: Box<dyn ProgramLoader>,
    /// Types of durable agents.
    pub kinds: Kinds,
    /// Environments on which agents of this node can act.
    pub environments: Environments,
    pub storage: Arc<Shelves>,
    /// Idle time after which a durable agent leaves memory; `None` if it stays.
    pub passivate_after: Option<Duration>,
    pub ending: Ending,
    pub monitors: Monitors,
    pub pool: Arc<Pool>,
    /// Set when the platform stops and its agents end.
    pub stopping: AtomicBool,
    /// Set when all agents ended: workers leave.
    pub closing: AtomicBool,
    /// Result of [`Node::close`], once it has begun.
    closed: Mutex<Option<bool>>,
    pub observers: Observers,
    pub latency: LatencySamples,
    pub mailbox_limits: MailboxLimits,
    pub dead_letters: Mutex<DeadLetters>,
    pub linked: PeerNodes,
    pub mobility: Mobility,
    pub codes: Codes,
    pub luggage: StateTransfer,
    pub advisor: Advisor,
    pub questions: Questions,
    pub guard: Guard,
    pub health: Health,
    pub throttles: Throttles,
    pub forum: Forum,
    /// Journal writer, if durable agents exist.
    pub scribe: Option<JournalWriter>,
    /// Partition servers, if this node shares its journal with others.
    pub cluster: Option<Cluster>,
    /// Sessions of this node, and their retained agents.
    pub shelf: Arc<Shelf>,
    ams: Mutex<Ams>,
    /// Families that are being ended.
    pub families: Mutex<Condemned>,
    df: Mutex<Df>,
    generations: AtomicU32,
    /// Number of agents that have a slot, or are on their way to one.
    living: AtomicUsize,
    random: AtomicU64,
    outside: ShardFigures,
}

/// Limits of a mailbox in messages, and in bytes of bulky ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MailboxLimits {
    /// Number of messages from which senders are slowed down.
    pub soft: usize,
    /// Number of messages from which further ones are answered `failure`.
    pub hard: usize,
    /// Bytes of bulky messages from which senders are slowed down.
    pub soft_bytes: usize,
    /// Bytes of bulky messages from which further ones are answered `failure`.
    pub hard_bytes: usize,
}

impl MailboxLimits {
    /// Returns true if so much waits that senders have to slow down.
    pub fn are_used(&self, mailbox: &Mailbox) -> bool {
        mailbox.len() >= self.soft || mailbox.bulk() >= self.soft_bytes
    }

    /// Returns true if so little waits that senders may speed up again.
    pub fn are_half_used(&self, mailbox: &Mailbox) -> bool {
        mailbox.len() <= self.soft / 2 && mailbox.bulk() <= self.soft_bytes / 2
    }

    /// Returns true if the mailbox has no room for this message.
    pub fn refuse(&self, mailbox: &Mailbox, message: &MessageBody) -> bool {
        let bulk = message.bulk();
        mailbox.len() >= self.hard || bulk > 0 && mailbox.bulk() + bulk > self.hard_bytes
    }
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self {
            soft: MAILBOX_SOFT_MESSAGES,
            hard: MAILBOX_HARD_MESSAGES,
            soft_bytes: MAILBOX_SOFT_BYTES,
            hard_bytes: MAILBOX_HARD_BYTES,
        }
    }
}

/// Registration of a new agent with the AMS.
pub(crate) struct Introduction {
    pub name: Symbol,
    pub unique: bool,
    pub kind: AgentKind,
    pub owner: Option<Aid>,
    /// True if the owner creates the agent in a turn of its own on this node. The creation is refused if the owner
    /// was ended meanwhile.
    pub in_turn: bool,
    /// Agent that decides when this one fails; empty if none.
    pub supervisor: Symbol,
    /// Root agent of the family, where known; empty if the owner's family applies.
    pub root: Symbol,
    /// True if the family's quotas allowed the creation before.
    pub is_paid: bool,
}

impl Introduction {
    pub fn new(name: Symbol, kind: AgentKind) -> Self {
        let (root, supervisor) = (Symbol::default(), Symbol::default());
        Self { name, unique: false, kind, owner: None, in_turn: false, supervisor, root, is_paid: false }
    }

    /// Returns the agent's description for the AMS.
    pub fn entry(&self) -> NewAgent {
        let Self { name, unique, kind, root, .. } = *self;
        let owner = self.owner.map_or_else(Symbol::default, |owner| owner.name);
        NewAgent { name, unique, kind, owner, root, started: true }
    }
}

/// Components of a node that its builder chooses.
pub(crate) struct NodeParts {
    pub name: Symbol,
    pub workers: usize,
    pub clock: PlatformClock,
    pub seed: u64,
    pub output: Box<dyn Output>,
    pub loader: Box<dyn ProgramLoader>,
    pub kinds: Kinds,
    pub environments: Environments,
    pub storage: Arc<Shelves>,
    pub passivate_after: Option<Duration>,
    pub observer: Option<Arc<dyn Observer>>,
    pub mailbox_limits: MailboxLimits,
    pub guard: Guard,
    pub scribe: Option<JournalWriter>,
    pub cluster: Option<Cluster>,
}

impl Node {
    pub fn new(parts: NodeParts) -> Self {
        let NodeParts { name, workers, clock, seed, output, loader, kinds, observer, mailbox_limits, .. } = parts;
        let (guard, scribe, cluster) = (parts.guard, parts.scribe, parts.cluster);
        let (mut ams, mut df) = (Ams::new(name), Df::new(name));
        let observers = Observers::of(observer);
        ams.observe(observers.any());
        ams.govern(guard.policy.clone(), Symbol::new(whimbrel_platform::links::ONLY_NODE));
        df.observe(observers.any());
        Self {
            name,
            seats: (0..workers).map(|_| ShardHandle::new()).collect(),
            routes: RouteTable::new(),
            activity: Activity::new(),
            clock,
            output,
            loader,
            kinds,
            environments: parts.environments,
            storage: parts.storage,
            passivate_after: parts.passivate_after,
            ending: Ending::new(),
            monitors: Monitors::default(),
            pool: Arc::new(Pool::of(OFFLOAD_THREADS_MAX)),
            stopping: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            closed: Mutex::new(None),
            observers,
            latency: LatencySamples::default(),
            mailbox_limits,
            dead_letters: Mutex::new(DeadLetters::new()),
            linked: PeerNodes::default(),
            mobility: Mobility::default(),
            codes: Codes::default(),
            luggage: StateTransfer::default(),
            advisor: Advisor::default(),
            questions: Questions::default(),
            guard,
            health: Health::default(),
            throttles: Throttles::default(),
            forum: Forum::default(),
            scribe,
            cluster,
            shelf: Arc::default(),
            ams: Mutex::new(ams),
            families: Mutex::default(),
            df: Mutex::new(df),
            generations: AtomicU32::new(1),
            living: AtomicUsize::new(0),
            random: AtomicU64::new(seed),
            outside: ShardFigures::default(),
        }
    }

    pub fn seat(&self, shard: ShardIndex) -> Option<&ShardHandle> {
        self.seats.get(usize::from(shard))
    }

    /// Puts a command into a shard's inbox.
    pub fn put(&self, shard: ShardIndex, command: ShardCommand) {
        self.fill(shard, |content| content.commands.push(command));
    }

    /// Puts content into a shard's inbox, and wakes its worker.
    pub fn fill(&self, shard: ShardIndex, fill: impl FnOnce(&mut Content<ShardCommand, Newcomer>)) {
        let Some(seat) = self.seat(shard) else { return };
        seat.inbox.put(fill, |worker_waits| {
            self.activity.begin();
            if worker_waits == Waits::Elsewhere
                && let Some(links) = self.linked.links()
            {
                links.recall(shard);
            }
        });
    }

    /// Sends a message from outside any agent's turn through `shard`. Messages through the same shard arrive in
    /// order.
    pub fn post(&self, shard: ShardIndex, message: Box<AclMessage>) {
        let mut commands = Vec::new();
        Envelope::for_each_receiver(message, |envelope| {
            self.tell(Event::Sent(&envelope));
            self.tell(Event::Routed(&envelope, self.routes.look_up(envelope.to.name).place()));
            commands.push(ShardCommand::Posted(envelope));
        });
        self.outside.sent.fetch_add(commands.len() as u64, Ordering::Relaxed);
        self.fill(shard, |content| content.commands.append(&mut commands));
    }

    /// Notifies all shards that an agent is not crowded any more, so that waiting senders continue.
    pub fn relieved(&self, name: Symbol) {
        (0..self.seats.len()).for_each(|shard| self.put(shard as ShardIndex, ShardCommand::Relieved(name)));
    }

    /// Asks the AMS, and carries out its commands.
    pub fn with_ams<T>(&self, ask: impl FnOnce(&mut Ams) -> T) -> T {
        let mut ams = locked(&self.ams);
        let answer = ask(&mut ams);
        // Carried out under the lock, so that commands about one agent keep their order.
        while let Some(command) = ams.poll_command() {
            self.carry_out(&mut ams, command);
        }
        if let Some(change) = ams.poll_change() {
            self.agents_changed(&mut ams, change);
        }
        answer
    }

    #[cold]
    fn agents_changed(&self, ams: &mut Ams, first: AmsChange) {
        let mut changes = vec![first];
        changes.extend(std::iter::from_fn(|| ams.poll_change()));
        changes.iter().for_each(|change| self.tell(Event::Agent(change)));
        self.push_agents(ams, &changes);
    }

    /// Limits the lifetime of an agent of this node. Returns false if there is no such agent, or if its journal does
    /// not record lifetimes.
    pub fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        let until = self.now() + lifetime;
        let set =
            self.scribe.is_none() && self.with_ams(|ams| ams.tie(agent, Ties { until, ..ams.ties(agent) }).is_ok());
        if set {
            self.change(sym::AMS, Change::Wake);
        }
        set
    }

    /// Ends the platform, on all its nodes.
    pub fn end_all(&self, delay_ms: u64, code: i32) {
        self.ending.ask(Duration::from_millis(delay_ms), code);
        if let Some(links) = self.linked.links() {
            links.tell_all(News::Stop { delay_ms, code });
        }
    }

    /// Attaches the node's links; all changes are announced to other nodes from now on.
    pub fn attach(&self, links: Arc<dyn Links>) -> bool {
        let attached = self.linked.attach(links);
        self.with_ams(|ams| ams.govern(self.guard.policy.clone(), self.called()));
        self.note_observers();
        attached
    }

    /// Makes the directories record their changes while any observer or link needs them.
    pub fn note_observers(&self) {
        let wanted = || self.observers.any() || self.linked.links().is_some();
        self.with_ams(|ams| ams.observe(wanted()));
        self.with_df(|df| df.observe(wanted()));
    }

    /// Asks the DF. Its notices are sent by the agent `df`; see [`Node::wake_df`].
    pub fn with_df<T>(&self, ask: impl FnOnce(&mut Df) -> T) -> T {
        let mut df = locked(&self.df);
        let answer = ask(&mut df);
        while let Some(change) = df.poll_change() {
            self.tell(Event::Directory(&change));
            self.push_entry(&df, &change);
        }
        answer
    }

    /// Gives the agent `df` a turn, in which it sends the notices that are due. One agent sends all of them, so that
    /// they arrive in order.
    pub fn wake_df(&self) {
        self.change(sym::DF, Change::Wake);
    }

    /// Returns true if shards have to look at each message, for observers or for the policy.
    #[inline]
    pub fn is_watched(&self, now: Time) -> bool {
        self.guard.restricts_sending || self.observers.want_messages(now)
    }

    /// Notifies the observers, if there are any.
    pub fn tell(&self, event: Event<'_>) {
        if self.observers.any() {
            self.observers.tell(self.now(), event);
        }
    }

    fn carry_out(&self, ams: &mut Ams, command: AmsCommand) {
        match command {
            AmsCommand::Run(aid) => self.change(aid.name, Change::Run),
            AmsCommand::Hold(aid) => self.change(aid.name, Change::Hold),
            AmsCommand::End(aid) => self.retire(ams, aid.name, EndReason::Killed),
            AmsCommand::Expire(aid) => self.retire(ams, aid.name, EndReason::Expired),
            AmsCommand::Copy { original, copy } => {
                let generation = self.next_generation(1);
                let Place::Local(LocalRoute { shard, .. }) = self.routes.look_up(original.name).place() else {
                    ams.handle_ended(copy, EndReason::Failed("the original ended".into()));
                    return;
                };
                self.expect(copy.name, shard, generation);
                self.change(original.name, Change::Copy { copy, shard, generation });
            }
            _ => {}
        }
    }

    /// Changes an agent of this node, in whichever shard it is.
    pub fn change(&self, name: Symbol, change: Change) {
        if let Place::Local(LocalRoute { generation, .. }) = self.routes.look_up(name).place() {
            // All changes go through one shard, like messages from outside, so they stay in order.
            self.put(0, ShardCommand::PostedChange(Bearer { name, generation }, change));
        }
    }

    /// Removes an agent's name at once, and ends the agent after its turn.
    fn retire(&self, ams: &mut Ams, name: Symbol, reason: EndReason) {
        loop {
            let route = self.routes.look_up(name);
            let Place::Local(place) = route.place() else { break };
            if self.routes.replace(name, route, Route::UNKNOWN).is_err() {
                // The agent just arrived, moved, or ended.
                continue;
            }
            if let Some(slot) = place.slot {
                self.put(
                    place.shard,
                    ShardCommand::Retire { slot, generation: place.generation, reason: reason.clone() },
                );
            }
            break;
        }
        self.note_retired(name);
        ams.handle_ended(Aid::local(name), reason);
        self.with_df(|df| df.handle_agent_ended(Aid::local(name)));
        self.leave_all(name);
    }

    /// Notes that a name is about to become free.
    fn note_retired(&self, name: Symbol) {
        if let Some(scribe) = &self.scribe {
            scribe.retire(name);
        }
    }

    /// Handles the end of an agent that ended by itself; its route is gone already.
    pub fn ended(&self, name: Symbol, reason: &EndReason) {
        self.note_retired(name);
        self.with_ams(|ams| ams.handle_ended(Aid::local(name), reason.clone()));
        self.with_df(|df| df.handle_agent_ended(Aid::local(name)));
        self.leave_all(name);
    }

    /// Counts a slot that is vacant now.
    pub fn gone(&self) {
        self.living.fetch_sub(1, Ordering::AcqRel);
    }

    /// Counts an agent that comes from another node.
    pub fn count_living(&self) {
        self.living.fetch_add(1, Ordering::AcqRel);
    }

    pub fn living(&self) -> usize {
        self.living.load(Ordering::Acquire)
    }

    /// Creates an agent in `shard`. Ends the creator's family if this was one refusal too many.
    pub fn create(
        self: &Arc<Self>,
        shard: ShardIndex,
        who: Introduction,
        body: impl FnOnce(Symbol) -> Result<Box<Slot>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let created = self.create_here(shard, who, body);
        self.end_condemned_after(&created);
        created
    }

    /// Creates an agent like [`Node::create`], for callers that hold locks: they end condemned families once they
    /// hold none.
    pub fn create_here(
        &self,
        shard: ShardIndex,
        who: Introduction,
        body: impl FnOnce(Symbol) -> Result<Box<Slot>, CreateError>,
    ) -> Result<Aid, CreateError> {
        let new = who.entry();
        let now = self.clock.now();
        let (aid, due) = self.with_ams(|ams| {
            self.check_creator(&who)?;
            let created = if who.is_paid { ams.create_again(new, now) } else { ams.create(new, now) };
            created.map(|aid| (aid, ams.creation_due(aid.name, now)))
        })?;
        let generation = self.next_generation(1);
        self.expect(aid.name, shard, generation);
        match body(aid.name) {
            Ok(mut slot) => {
                slot.supervisor = who.supervisor;
                if let (Some(due), Some(owner)) = (due, who.owner) {
                    self.delay_creation(&mut slot, due, owner.name);
                }
                self.make_durable(&mut slot, who.kind, aid.name, who.owner.map(|owner| owner.name));
                self.bring(shard, vec![assign_name(slot, aid.name, generation)]);
                Ok(aid)
            }
            Err(error) => {
                self.call_off(aid.name, shard, generation, &error.to_string());
                Err(error)
            }
        }
    }

    /// Refuses an agent of a creator that was ended in its turn. Such a creator loses its route under the lock of the
    /// AMS, which is held, so its family does not begin anew.
    pub fn check_creator(&self, who: &Introduction) -> Result<(), CreateError> {
        match who.owner.filter(|owner| who.in_turn && self.routes.look_up(owner.name).is_unknown()) {
            Some(owner) => Err(CreateError::CreatorEnded(owner.name)),
            None => Ok(()),
        }
    }

    /// Makes a clone and its original wait, if their family creates too fast.
    fn pace(&self, slot: &mut Slot, name: Symbol, creator: Symbol) {
        let now = self.clock.now();
        if let Some(due) = self.with_ams(|ams| ams.creation_due(name, now)) {
            self.delay_creation(slot, due, creator);
        }
    }

    /// Makes a creator wait for what another node is to create, if their family creates too fast.
    fn pace_creator(&self, name: Symbol, creator: Symbol) {
        let now = self.clock.now();
        if let Some(due) = self.with_ams(|ams| ams.creation_due(name, now)) {
            self.change(creator, Change::Delay(due));
        }
    }

    fn delay_creation(&self, slot: &mut Slot, due: Time, creator: Symbol) {
        slot.wake_at = due;
        self.change(creator, Change::Delay(due));
    }

    /// Creates agents that know of each other from their first turns on: all are registered before any begins.
    pub fn create_together(
        &self,
        shard: ShardIndex,
        agents: Vec<Entrant>,
        lifetime: impl Fn(Symbol) -> Option<Duration>,
    ) -> Result<Vec<Aid>, CreateError> {
        let mut newcomers = Vec::with_capacity(agents.len());
        let mut aids = Vec::with_capacity(agents.len());
        let now = self.clock.now();
        for agent in agents {
            let new = agent.entry();
            let aid = self.with_ams(|ams| ams.create_again(new, now))?;
            let Entrant { kind, slot, .. } = agent;
            if let Some(lifetime) = lifetime(aid.name) {
                self.set_lifetime(aid, lifetime);
            }
            let generation = self.next_generation(1);
            self.expect(aid.name, shard, generation);
            self.shelf.note_life(aid.name, generation);
            let mut slot = assign_name(slot, aid.name, generation);
            self.make_durable(&mut slot, kind, aid.name, None);
            newcomers.push(slot);
            aids.push(aid);
        }
        if let Some(scribe) = &self.scribe {
            let standings = std::mem::take(&mut locked(&scribe.pending).standings);
            self.restore_standings(standings);
        }
        if let Some(scribe) = &self.scribe {
            scribe.awaited.store(false, Ordering::Release);
        }
        self.post_kept();
        self.bring(shard, newcomers);
        Ok(aids)
    }

    /// Creates agents `name1`, `name2`, ... in `shard`.
    pub fn create_population(
        &self,
        shard: ShardIndex,
        name: Symbol,
        count: usize,
        kind: AgentKind,
        mut body: impl FnMut(usize) -> Box<Slot>,
    ) -> Result<Vec<Aid>, CreateError> {
        let new = NewAgent { started: true, ..NewAgent::new(name, kind) };
        let now = self.clock.now();
        let aids = self.with_ams(|ams| ams.create_population(new, count, now))?;
        let first = self.next_generation(count as u32);
        let mut newcomers = Vec::with_capacity(count);
        for (i, aid) in aids.iter().enumerate() {
            let generation = first.wrapping_add(i as u32) % Route::GENERATIONS;
            self.expect(aid.name, shard, generation);
            let mut slot = assign_name(body(i), aid.name, generation);
            self.make_durable(&mut slot, kind, aid.name, None);
            newcomers.push(slot);
        }
        self.bring(shard, newcomers);
        Ok(aids)
    }

    /// Reserves `count` generations. Returns the first.
    pub fn next_generation(&self, count: u32) -> u32 {
        self.generations.fetch_add(count, Ordering::Relaxed) % Route::GENERATIONS
    }

    /// Makes messages to `name` wait for the agent in `shard`.
    pub fn expect(&self, name: Symbol, shard: ShardIndex, generation: u32) {
        self.living.fetch_add(1, Ordering::AcqRel);
        self.routes.set(name, Route::local(LocalRoute { shard, slot: None, generation, crowded: false }));
    }

    /// Withdraws an expected agent that will not come.
    pub fn call_off(&self, name: Symbol, shard: ShardIndex, generation: u32, why: &str) {
        let expected = LocalRoute { shard, slot: None, generation, crowded: false };
        if self.routes.replace(name, Route::local(expected), Route::UNKNOWN).is_ok() {
            self.ended(name, &EndReason::Failed(why.to_owned()));
        }
        self.living.fetch_sub(1, Ordering::AcqRel);
        self.put(shard, ShardCommand::NeverComes(name));
    }

    /// Installs agents that are [expected](Node::expect).
    pub fn bring(&self, shard: ShardIndex, mut newcomers: Vec<Newcomer>) {
        self.fill(shard, |content| {
            if content.newcomers.is_empty() {
                content.newcomers = newcomers;
            } else {
                content.newcomers.append(&mut newcomers);
            }
        });
    }

    /// Makes a new agent durable, if this node has a journal and the agent's kind can be restored. Founders of the
    /// society have no owner.
    pub fn make_durable(&self, slot: &mut Slot, kind: AgentKind, name: Symbol, owner: Option<Symbol>) {
        let Some(scribe) = &self.scribe else { return };
        if slot.unwritten.is_some() || kind == AgentKind::Service {
            return;
        }
        if let Some(origin) = slot.body.origin() {
            let founder = owner.is_none();
            let root = owner.and_then(|owner| self.root_beside(name, owner));
            let owner = owner.unwrap_or_default();
            let after = scribe.numbers_for(name);
            if self.cluster.is_some() {
                slot.mailbox.take_each_once(0, []);
            }
            slot.unwritten =
                Some(Box::new(Unwritten::of(Born { agent: name, kind, owner, root, origin, founder, after })));
        }
    }

    /// Returns the root agent of this agent's family, if that is neither the owner nor the agent itself.
    pub fn root_beside(&self, name: Symbol, owner: Symbol) -> Option<Symbol> {
        let root = self.with_ams(|ams| ams.root_of(name));
        (root != owner && root != name).then_some(root)
    }

    /// Records an agent that continues as another body: to the journal it begins anew with its next step.
    pub fn write_as(&self, slot: &mut Slot, origin: Origin) {
        let Some(scribe) = &self.scribe else { return };
        let name = slot.name;
        if slot.unwritten.is_some() {
            scribe.retire(name);
        } else if self.cluster.is_some() {
            slot.mailbox.take_each_once(0, []);
        }
        let (kind, owner, after) = (AgentKind::Session, Symbol::default(), scribe.numbers_for(name));
        let root = self.root_beside(name, owner);
        let born = Born { agent: name, kind, owner, root, origin, founder: false, after };
        let unwritten = slot.unwritten.get_or_insert_with(|| Box::new(Unwritten::after(after)));
        (unwritten.born, unwritten.last) = (Some(Box::new(born)), after);
        (unwritten.whole_bytes, unwritten.delta_bytes) = (0, 0);
        // Its registration is recorded with the new agent, or not at all.
        unwritten.effects.push(Effect::Registration);
    }

    /// Sends the messages that were on their way at the last write to the journal.
    fn post_kept(&self) {
        let Some(scribe) = &self.scribe else { return };
        let letters = std::mem::take(&mut locked(&scribe.pending).letters);
        let commands: Vec<ShardCommand> = scribe.envelopes(letters, 0).into_iter().map(ShardCommand::Posted).collect();
        self.count_posted(commands.len() as u64);
        commands.into_iter().for_each(|command| self.put(0, command));
    }

    /// Handles the copy of an agent that the AMS commanded: made, or failed.
    pub fn copied(
        self: &Arc<Self>,
        original: Symbol,
        (copy, shard, generation): (Aid, ShardIndex, u32),
        body: Option<Box<dyn AgentBody>>,
    ) {
        let server = self.cluster.as_ref().map(|cluster| cluster.server_of(copy.name));
        let is_here = server.is_none_or(|server| server == PartitionServer::Here);
        let described = self.with_ams(|ams| ams.describe(copy));
        let (kind, owner) = described.map_or((AgentKind::Native, Symbol::default()), |copy| (copy.kind, copy.owner));
        match body.map(|body| self.admit_copy(original, copy.name, owner, shard, body)) {
            Some(Ok(body)) if !is_here && body.origin().is_some() => {
                // The copy belongs on another node, like any agent of its name.
                let root = self.with_ams(|ams| ams.root_of(copy.name));
                self.call_off(copy.name, shard, generation, "it is made on another node");
                let owner = Some(Aid::local(owner)).filter(|owner| owner.name != Symbol::default());
                let who = Introduction { owner, root, is_paid: true, ..Introduction::new(copy.name, kind) };
                match self.create_somewhere(shard, who, |_| Ok(body)) {
                    Ok(copy) => self.pace_creator(copy.name, original),
                    Err(error) => self.output.log(copy, LogLevel::Severe, &format!("cannot be cloned: {error}")),
                }
            }
            Some(Ok(body)) => {
                let _ = self.with_ams(|ams| ams.step(copy, LifecycleStep::Start));
                let mut slot: Box<Slot> = Box::new(Slot::new(body));
                self.make_durable(&mut slot, kind, copy.name, Some(owner));
                self.pace(&mut slot, copy.name, original);
                self.bring(shard, vec![assign_name(slot, copy.name, generation)]);
            }
            Some(Err(why)) => {
                self.output.log(copy, LogLevel::Warning, &format!("cannot be cloned: {why}"));
                self.call_off(copy.name, shard, generation, &why);
            }
            None => {
                self.call_off(copy.name, shard, generation, "this kind of agent cannot be copied");
            }
        }
    }

    /// Asks a copy of an agent whether it can be here, like any clone that arrives.
    fn admit_copy(
        self: &Arc<Self>,
        original: Symbol,
        name: Symbol,
        owner: Symbol,
        shard: ShardIndex,
        mut body: Box<dyn AgentBody>,
    ) -> Result<Box<dyn AgentBody>, String> {
        let kind = self.with_ams(|ams| ams.kind_anywhere(Aid::local(original))).unwrap_or(AgentKind::Native);
        self.permit_clone(kind, name, original)?;
        let services = NodeServices { node: Arc::clone(self), shard, in_turn: false };
        let arrival = Arrival { name, owner, from: self.called(), clone_of: Some(original), services: &services };
        caught(|| body.admit(&arrival)).unwrap_or_else(Err).map(|()| body)
    }

    /// Returns true if messages to `aid` have a destination.
    pub fn knows(&self, aid: Aid) -> bool {
        let ours = aid.platform == Symbol::default() || aid.platform == self.name;
        ours && (!self.routes.look_up(aid.name).is_unknown() || self.takes_in(aid.name) || self.is_unserved(aid.name))
    }

    /// Returns true if this agent is on no node just now, because its partition is passing from one to another.
    pub fn is_away(&self, name: Symbol) -> bool {
        self.cluster.is_some() && self.with_ams(|ams| ams.node_of(name).is_some())
    }

    /// Returns true if no node serves this agent's partition just now. The next server knows whether the agent
    /// exists.
    fn is_unserved(&self, name: Symbol) -> bool {
        let server = self.cluster.as_ref().map(|cluster| cluster.server_of(name));
        match server {
            None => false,
            Some(PartitionServer::Nobody | PartitionServer::HereSoon) => true,
            // The agent may be about to be made.
            Some(_) => self.with_ams(|ams| ams.exists(Aid::local(name))),
        }
    }

    /// Counts messages that are sent from outside any agent's turn.
    pub fn count_posted(&self, count: u64) {
        self.outside.sent.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts copies of messages to many that links brought: those beyond the messages that came, and those without a
    /// receiver.
    pub fn count_copies(&self, more: u64, for_nobody: u64) {
        self.outside.sent.fetch_add(more, Ordering::Relaxed);
        self.outside.handled.fetch_add(for_nobody, Ordering::Relaxed);
    }

    /// Returns a random number (splitmix64).
    pub fn random(&self) -> u64 {
        let mut z = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns the counts of messages sent, handled and dead so far.
    pub fn figures(&self) -> (u64, u64, u64) {
        let all = || self.seats.iter().map(|seat| &*seat.figures).chain([&self.outside]);
        let sum = |figure: fn(&ShardFigures) -> &AtomicU64| all().map(|f| figure(f).load(Ordering::Relaxed)).sum();
        (sum(|f| &f.sent), sum(|f| &f.handled), sum(|f| &f.dead))
    }

    /// Counts messages that wait in mailboxes. To be called when the platform is idle.
    pub fn queued(&self) -> u64 {
        if self.closing.load(Ordering::Acquire) {
            // The workers have left, and no agent is there whose messages could wait.
            return 0;
        }
        let (answer, answers) = std::sync::mpsc::channel();
        (0..self.seats.len())
            .for_each(|shard| self.put(shard as ShardIndex, ShardCommand::CountQueued(answer.clone())));
        drop(answer);
        answers.iter().sum::<u64>() + self.queued_coming()
    }

    /// Waits until each shard was between two turns and all late turns are over. By then, the last messages of the
    /// agent that stops the platform are on their way. Other nodes accept nothing from an agent after the report of
    /// its end.
    fn let_turns_end(&self, until: Instant) {
        let (answer, answers) = std::sync::mpsc::channel::<()>();
        (0..self.seats.len()).for_each(|shard| self.put(shard as ShardIndex, ShardCommand::TurnsEnd(answer.clone())));
        drop(answer);
        while answers.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    }

    /// Ends all agents: the society's first, in order of creation, then the platform's own; then the workers leave.
    /// Returns false if some agent's turn did not end in time. A second call returns the result of the first.
    pub fn close(&self, patience: Duration) -> bool {
        let mut closed = locked(&self.closed);
        *closed.get_or_insert_with(|| self.wind_up(patience))
    }

    fn wind_up(&self, patience: Duration) -> bool {
        let began = Instant::now();
        let (until, latest) = (began + patience, began + 2 * patience);
        self.stopping.store(true, Ordering::Release);
        if let Some(scribe) = &self.scribe {
            // Steps so far are persisted or were never visible. The end of the process is not the end of its durable
            // agents.
            scribe.suspended.store(true, Ordering::Release);
        }
        if self.linked.links().is_some() {
            self.let_turns_end(until.min(began + LAST_TURNS));
        }
        self.stop_hops();
        self.with_ams(Ams::stop);
        self.let_agents_end(until, latest);
        for shard in 0..self.seats.len() {
            self.put(shard as ShardIndex, ShardCommand::EndAll);
        }
        let still = self.let_agents_end(until, latest);
        self.report_left_out();
        self.closing.store(true, Ordering::Release);
        for shard in 0..self.seats.len() {
            self.fill(shard as ShardIndex, |_| ());
        }
        if let Some(scribe) = &self.scribe {
            scribe.end();
        }
        still && self.living() == 0
    }

    /// Waits until the platform is idle: until the first of the two times, and beyond it while agents keep ending.
    /// Returns false if turns are left that do not end.
    fn let_agents_end(&self, until: Instant, latest: Instant) -> bool {
        loop {
            let (living, left) = (self.living(), until.saturating_duration_since(Instant::now()));
            if self.activity.wait_still(Some(left.max(NEXT_END))) {
                return true;
            }
            if self.living() >= living || Instant::now() >= latest {
                return false;
            }
        }
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }
}

/// Assigns a name to a new agent.
pub(crate) fn assign_name(mut slot: Box<Slot>, name: Symbol, generation: u32) -> Newcomer {
    slot.name = name;
    slot.generation = generation;
    slot
}
