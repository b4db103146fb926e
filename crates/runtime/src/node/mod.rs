//! Node: the state that all its shards share, and in its modules what it does.
//!
//! A module of this folder is called like the file beside this folder that has its part of the state. It adds methods
//! to [`Node`]; no file of the state imports it.

mod advice;
mod agent_stats;
pub(crate) mod arrivals;
mod closing;
pub(crate) mod cluster;
mod codes;
pub(crate) mod creation;
mod durable;
mod families;
mod guard;
mod health;
pub(crate) mod introduction;
pub(crate) mod latency;
mod location_claims;
mod mobility;
mod moving_subscribers;
mod name_conflicts;
pub(crate) mod observers;
mod operate;
pub(crate) mod peers;
mod questions;
pub(crate) mod sessions;
mod state_transfer;
mod throttle;
mod topics;
mod transport;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, sym};
use whimbrel_platform::ams::{Ams, AmsChange, AmsCommand, Ties};
use whimbrel_platform::dead_letters::DeadLetters;
use whimbrel_platform::df::Df;
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_platform::limits::{
    MAILBOX_HARD_BYTES, MAILBOX_HARD_MESSAGES, MAILBOX_SOFT_BYTES, MAILBOX_SOFT_MESSAGES, OFFLOAD_THREADS_MAX,
};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{LocalRoute, Place, Route, RouteTable, ShardIndex};
use whimbrel_platform::session::KeptAgents;
use whimbrel_platform::storage::NodeStorage;
use whimbrel_platform::{EndReason, Links, Mailbox, Observer, PlatformEvent, Time};

use crate::activity::Activity;
use crate::advice::Advisor;
use crate::clock::PlatformClock;
use crate::cluster::{PartitionServer, PartitionTable};
use crate::codes::Codes;
use crate::durable::journal_writer::JournalWriter;
use crate::durable_agent::Kinds;
use crate::ending::{Remains, RequestedEnd};
use crate::families::Condemned;
use crate::guard::Guard;
use crate::health::HealthRecords;
use crate::inbox::{InboxContent, OwnerWait};
use crate::latency::LatencySamples;
use crate::loader::ProgramLoader;
use crate::mobility::NodeHops;
use crate::monitors::Monitors;
use crate::observers::Observers;
use crate::output::{Output, RecordedOutput};
use crate::peers::PeerNodes;
use crate::pool::Pool;
use crate::questions::Questions;
use crate::shard::Incarnation;
use crate::shard_command::{AgentChange, Newcomer, ShardCommand};
use crate::shard_handle::{ShardFigures, ShardHandle};
use crate::state_transfer::StateTransfer;
use crate::sync::{Arc, Mutex, locked};
use crate::throttle::Throttles;
use crate::topics::Forum;

/// State of a node; see the module.
pub(crate) struct Node {
    pub name: Symbol,
    pub seats: Box<[ShardHandle]>,
    pub routes: RouteTable,
    pub activity: Activity,
    pub clock: PlatformClock,
    pub output: RecordedOutput,
    pub loader: Box<dyn ProgramLoader>,
    /// Types of durable agents.
    pub kinds: Kinds,
    /// Environments on which agents of this node can act.
    pub environments: NodeEnvironments,
    pub storage: Arc<NodeStorage>,
    /// Idle time after which a durable agent leaves memory; `None` if it stays.
    pub passivate_after: Option<Duration>,
    pub ending: RequestedEnd,
    pub monitors: Monitors,
    pub pool: Arc<Pool>,
    /// Set when the platform stops and its agents end.
    pub stopping: AtomicBool,
    /// Number of dead letters since then: their receivers ended before they read them.
    pub unread: AtomicU64,
    /// Set when all agents ended: workers leave.
    pub closing: AtomicBool,
    /// Remains of the society, once its agents are ended.
    pub remains: OnceLock<Remains>,
    /// Result of [`Node::close`], once it has begun.
    closed: Mutex<Option<bool>>,
    pub observers: Observers,
    pub latency: LatencySamples,
    pub mailbox_limits: MailboxLimits,
    pub dead_letters: Mutex<DeadLetters>,
    pub linked: PeerNodes,
    pub mobility: NodeHops,
    pub codes: Codes,
    pub luggage: StateTransfer,
    pub advisor: Advisor,
    pub questions: Questions,
    pub guard: Guard,
    pub health: HealthRecords,
    pub throttles: Throttles,
    pub forum: Forum,
    /// Journal writer, if durable agents exist.
    pub scribe: Option<JournalWriter>,
    /// Partition servers, if this node shares its journal with others.
    pub cluster: Option<PartitionTable>,
    /// Sessions of this node, and their retained agents.
    pub kept_agents: Arc<KeptAgents>,
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

/// Components of a node that its builder chooses.
pub(crate) struct NodeParts {
    pub name: Symbol,
    pub workers: usize,
    pub clock: PlatformClock,
    pub seed: u64,
    pub output: Box<dyn Output>,
    pub loader: Box<dyn ProgramLoader>,
    pub kinds: Kinds,
    pub environments: NodeEnvironments,
    pub storage: Arc<NodeStorage>,
    pub passivate_after: Option<Duration>,
    pub observer: Option<Arc<dyn Observer>>,
    pub mailbox_limits: MailboxLimits,
    pub guard: Guard,
    pub scribe: Option<JournalWriter>,
    pub cluster: Option<PartitionTable>,
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
            output: RecordedOutput::new(output, clock),
            loader,
            kinds,
            environments: parts.environments,
            storage: parts.storage,
            passivate_after: parts.passivate_after,
            ending: RequestedEnd::new(),
            monitors: Monitors::default(),
            pool: Arc::new(Pool::of(OFFLOAD_THREADS_MAX)),
            stopping: AtomicBool::new(false),
            unread: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            remains: OnceLock::new(),
            closed: Mutex::new(None),
            observers,
            latency: LatencySamples::default(),
            mailbox_limits,
            dead_letters: Mutex::new(DeadLetters::new()),
            linked: PeerNodes::default(),
            mobility: NodeHops::default(),
            codes: Codes::default(),
            luggage: StateTransfer::default(),
            advisor: Advisor::default(),
            questions: Questions::default(),
            guard,
            health: HealthRecords::default(),
            throttles: Throttles::default(),
            forum: Forum::default(),
            scribe,
            cluster,
            kept_agents: Arc::default(),
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
    pub fn fill(&self, shard: ShardIndex, fill: impl FnOnce(&mut InboxContent<ShardCommand, Newcomer>)) {
        let Some(seat) = self.seat(shard) else { return };
        seat.inbox.put(fill, |worker_waits| {
            self.activity.begin();
            if worker_waits == OwnerWait::Elsewhere
                && let Some(io) = self.linked.io()
            {
                io.recall(shard);
            }
        });
    }

    /// Sends a message from outside any agent's turn through `shard`. Messages through the same shard arrive in
    /// order.
    pub fn post(&self, shard: ShardIndex, message: Box<AclMessage>) {
        let mut commands = Vec::new();
        Envelope::for_each_receiver(message, |envelope| {
            self.tell(PlatformEvent::Sent(&envelope));
            self.tell(PlatformEvent::Routed(&envelope, self.routes.look_up(envelope.to.name).place()));
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
        changes.iter().for_each(|change| self.tell(PlatformEvent::Agent(change)));
        self.push_agents(ams, &changes);
    }

    /// Limits the lifetime of an agent of this node. Returns false if there is no such agent, or if its journal does
    /// not record lifetimes.
    pub fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        let until = self.now() + lifetime;
        let set =
            self.scribe.is_none() && self.with_ams(|ams| ams.tie(agent, Ties { until, ..ams.ties(agent) }).is_ok());
        if set {
            self.change(sym::AMS, AgentChange::Wake);
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
            self.tell(PlatformEvent::Directory(&change));
            self.push_entry(&df, &change);
        }
        answer
    }

    /// Gives the agent `df` a turn, in which it sends the notices that are due. One agent sends all of them, so that
    /// they arrive in order.
    pub fn wake_df(&self) {
        self.change(sym::DF, AgentChange::Wake);
    }

    /// Returns true if shards have to look at each message, for observers or for the policy.
    #[inline]
    pub fn is_watched(&self, now: Time) -> bool {
        self.guard.restricts_sending || self.observers.want_messages(now)
    }

    /// Notifies the observers, if there are any.
    pub fn tell(&self, event: PlatformEvent<'_>) {
        if self.observers.any() {
            self.observers.tell(self.now(), event);
        }
    }

    fn carry_out(&self, ams: &mut Ams, command: AmsCommand) {
        match command {
            AmsCommand::Run(aid) => self.change(aid.name, AgentChange::Run),
            AmsCommand::Hold(aid) => self.change(aid.name, AgentChange::Hold),
            AmsCommand::End(aid) => self.retire(ams, aid.name, EndReason::Killed),
            AmsCommand::Expire(aid) => self.retire(ams, aid.name, EndReason::Expired),
            AmsCommand::Copy { original, copy } => {
                let generation = self.next_generation(1);
                let Place::Local(LocalRoute { shard, .. }) = self.routes.look_up(original.name).place() else {
                    ams.handle_ended(copy, EndReason::Failed("the original ended".into()));
                    return;
                };
                self.expect(copy.name, shard, generation);
                self.change(original.name, AgentChange::Copy { copy, shard, generation });
            }
            _ => {}
        }
    }

    /// Changes an agent of this node, in whichever shard it is.
    pub fn change(&self, name: Symbol, change: AgentChange) {
        if let Place::Local(LocalRoute { generation, .. }) = self.routes.look_up(name).place() {
            // All changes go through one shard, like messages from outside, so they stay in order.
            self.put(0, ShardCommand::PostedChange(Incarnation { name, generation }, change));
        }
    }

    /// Gives an agent of this node a turn. Turns do not change the agent, so they need no order with changes, nor the
    /// way through one shard.
    pub fn wake(&self, name: Symbol) {
        if let Place::Local(LocalRoute { generation, shard, .. }) = self.routes.look_up(name).place() {
            self.put(shard, ShardCommand::PostedChange(Incarnation { name, generation }, AgentChange::Wake));
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

    pub fn now(&self) -> Time {
        self.clock.now()
    }
}

/// Returns the number of messages that are neither handled, dead nor gone to other nodes. The counts are read one after
/// the other, so one of them may be ahead of the others, and that of messages gone below zero for a moment.
pub fn unhandled(arrived: u64, finished: [u64; 3]) -> u64 {
    let finished = finished.into_iter().fold(0, u64::wrapping_add);
    u64::try_from(arrived.wrapping_sub(finished) as i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::unhandled;

    #[test]
    fn counts_ahead_leave_nothing_unhandled() {
        assert_eq!(unhandled(10, [5, 2, 1]), 2);
        assert_eq!(unhandled(10, [9, 2, 1]), 0);
        assert_eq!(unhandled(10, [5, 2, 1_u64.wrapping_neg()]), 4);
        assert_eq!(unhandled(0, [0, 1, 1_u64.wrapping_neg()]), 0);
    }
}
