//! Shard: the agents of one worker, with everything that happens among them without a lock or an atomic.
//!
//! A shard works in rounds. It takes in its inbox, wakes the agents whose time has come, and gives a number of turns
//! in strict first-in-first-out order. Then it hands each other shard one batch of messages.

mod agent_stats;
mod backpressure;
mod balance;
mod casts;
mod delivery;
mod hops;
mod lifecycle;
mod move_plan;
mod moves;
mod offers;
mod operate;
mod pace;
mod passivation;
mod pending_move;
mod probes;
mod profile;
mod queue;
mod samples;
pub(crate) mod slot;
mod steps;
mod timers;
mod turns;
mod weighing;
mod yields;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Envelope, MessageBody, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::inspection::{AgentActivity, DebuggerSetup, Upkeep};
use whimbrel_platform::mailbox::SpareQueues;
use whimbrel_platform::mobility::HopRequest;
use whimbrel_platform::route::{Here, ShardIndex};

use self::backpressure::HeldUp;
use self::balance::Balance;
use self::hops::Hopping;
use self::pace::ShardPace;
use self::passivation::IdleChecks;
use self::probes::Probes;
use self::queue::RunQueue;
use self::samples::Samples;
use self::slot::{Away, Slots};
pub(crate) use self::slot::{Incarnation, Slot, SlotStatus};
use self::timers::WakeTimers;
use self::turns::Lateness;
use crate::agent_stats::AgentFigures;
use crate::durable::journal_writer::steps::StepEntry;
use crate::mobility::HopJob;
use crate::node::{MailboxLimits, Node};
use crate::panics::caught;
use crate::shard_command::Yielding;
use crate::shard_command::{AgentChange, ShardCommand};
use crate::shard_handle::ShardFigures;
use crate::sync::atomic::Ordering;
use crate::topics::Audiences;

/// Shard; see the module.
pub(crate) struct Shard {
    pub index: ShardIndex,
    /// Common part of the routes of this shard's agents.
    here: Here,
    pub node: Arc<Node>,
    slots: Slots,
    runnable: RunQueue,
    waits: TurnWaits,
    lateness: Lateness,
    spare_queues: SpareQueues,
    /// Agent of the last turn.
    running: RunningAgent,
    timers: WakeTimers,
    /// Durable agents that may leave memory.
    idle: IdleChecks,
    /// Number of delayed agents.
    delayed: usize,
    held_up: HeldUp,
    /// Steps of durable agents that are not persisted yet.
    steps: Steps,
    pace: ShardPace,
    /// Receivers of messages to topics and groups.
    audiences: Audiences,
    /// Commands for other shards in this round, by shard.
    outgoing: Vec<Vec<ShardCommand>>,
    /// Messages for other nodes, by node.
    linked: Vec<Departing>,
    /// True if some of these should leave after the present turn.
    urgent: bool,
    /// Items for agents that are on their way here.
    expected: FxHashMap<Symbol, Vec<Early>>,
    /// Content of the inbox while it is handled; the vector is reused.
    incoming: Vec<ShardCommand>,
    balance: Balance,
    /// Time of each partition's agents, while requested.
    samples: Option<Samples>,
    /// Agents that are about to move to another shard.
    departure: Option<AwaitedMove>,
    /// Agents that are leaving for other nodes.
    hops: FxHashMap<Symbol, Hopping>,
    /// Durable agents that wait for their partitions to move.
    bound: FxHashMap<Symbol, Bound>,
    /// Remains of agents that are gone, until other nodes know.
    departed: Vec<Box<Slot>>,
    /// Postponed recalls of agents that are not told the outcome of their last hop yet.
    called: FxHashMap<(Symbol, u32), Vec<HopJob>>,
    /// Time at which agents last moved here.
    moved_at: Time,
    /// Callers that wait for a moment without late turns.
    await_turns: Vec<std::sync::mpsc::Sender<()>>,
    /// True if every agent has to end, including those that arrive.
    ending: bool,
    mailbox_limits: MailboxLimits,
    tally: ShardTally,
    /// True if messages of this round need a closer look: for observers, for the policy, or for a latency probe.
    observed: bool,
    /// True if observers wanted no messages when this round began; they are told the number.
    passed_over: bool,
    /// Messages whose latency is measured, while requested.
    probes: Probes,
    /// Setup of the debuggers that are connected to the node, or were last.
    debugger: Option<Arc<DebuggerSetup>>,
    pub now: Time,
}

/// Measurement of waits for turns: of one agent at a time, from the end of the queue to its head.
#[derive(Default)]
struct TurnWaits {
    /// Time since which the observed agent waits.
    since: Option<Time>,
    /// Time of the next observation.
    next: Time,
}

/// Durable agents of a shard with steps to persist.
#[derive(Default)]
pub(crate) struct Steps {
    /// New agents, by place and generation. They come first, so that their creators are in the same batch.
    born: Vec<(u32, u32)>,
    /// Other agents.
    changed: Vec<(u32, u32)>,
    /// Last steps of agents that have ended.
    ended: Vec<StepEntry>,
    /// Agents of the batch that is being written.
    writing: Option<Vec<(u32, u32)>>,
    /// Ended agents of that batch.
    writing_ended: Vec<Symbol>,
}

impl Steps {
    /// Returns those of these agents that have ended without their ends being persisted.
    pub fn ended_of(&self, order: &Yielding) -> impl Iterator<Item = Symbol> {
        let waiting = self.ended.iter().map(|entry| entry.agent);
        waiting.chain(self.writing_ended.iter().copied()).filter(|agent| order.concerns(*agent))
    }
}

/// Agent of this shard that waits for its partition to move.
pub(crate) struct Bound {
    index: u32,
    generation: u32,
    request: HopRequest,
}

/// Move that waits for its acknowledgements.
pub(crate) struct AwaitedMove {
    to: ShardIndex,
    /// Places of the agents that leave.
    leaving: FxHashMap<Symbol, u32>,
    /// Number of shards that may still send here for them.
    awaited: usize,
}

/// Number of messages for one node that wait at most: as many small ones as a socket is given at once. For larger
/// ones the link's room decides.
const LINK_BATCH_MAX: usize = 1_024;
/// Assumed room of a link that has not reported any yet.
const LINK_ROOM_AT_FIRST: usize = 256;

/// Messages to another node that are not handed to its link yet.
pub(crate) struct Departing {
    messages: Vec<Envelope>,
    /// Number of further messages that fit before senders wait.
    room: usize,
    /// True if the link was full and has room again.
    drained: bool,
    /// Time of the last handover.
    left_at: Time,
}

impl Departing {
    fn is_full(&self) -> bool {
        self.messages.len() >= LINK_BATCH_MAX || self.room == 0 || self.drained
    }
}

impl Default for Departing {
    fn default() -> Self {
        Self { messages: Vec::new(), room: LINK_ROOM_AT_FIRST, drained: false, left_at: Time::ZERO }
    }
}

/// Pause between two observations.
const WAIT_LOOKED_AT_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

/// Agent that is in its turn.
#[derive(Clone, Copy, Default)]
struct RunningAgent {
    index: u32,
    name: Symbol,
    generation: u32,
}

/// Item for an agent that has not arrived yet.
enum Early {
    Message(MessageBody),
    Change(u32, AgentChange),
}

/// Figures that are not published yet.
#[derive(Default)]
struct ShardTally {
    sent: u64,
    /// Negative if more messages were put back.
    handled: i64,
    dead: u64,
}

impl Shard {
    pub fn new(index: ShardIndex, node: Arc<Node>) -> Self {
        let mailbox_limits = node.mailbox_limits;
        let observed = node.is_watched(Time::ZERO);
        let (idle, samples) =
            (IdleChecks::new(node.passivate_after), node.cluster.as_ref().map(|_| Samples::default()));
        let outgoing = node.seats.iter().map(|_| Vec::new()).collect();
        Self {
            index,
            here: Here::of(index),
            node,
            slots: Slots::default(),
            runnable: RunQueue::default(),
            waits: TurnWaits::default(),
            lateness: Lateness::default(),
            spare_queues: SpareQueues::default(),
            running: RunningAgent::default(),
            timers: WakeTimers::default(),
            idle,
            delayed: 0,
            held_up: HeldUp::default(),
            steps: Steps::default(),
            pace: ShardPace::default(),
            audiences: Audiences::default(),
            outgoing,
            linked: Vec::new(),
            urgent: false,
            expected: FxHashMap::default(),
            incoming: Vec::new(),
            balance: Balance::default(),
            samples,
            departure: None,
            hops: FxHashMap::default(),
            bound: FxHashMap::default(),
            departed: Vec::new(),
            called: FxHashMap::default(),
            moved_at: Time::ZERO,
            await_turns: Vec::new(),
            ending: false,
            mailbox_limits,
            tally: ShardTally::default(),
            observed,
            passed_over: false,
            probes: Probes::default(),
            debugger: None,
            now: Time::ZERO,
        }
    }

    /// Begins a round: takes in the inbox, and wakes agents whose time has come.
    pub fn begin_round(&mut self, now: Time) {
        if let Some(round_us) = self.pace.round_over(now) {
            self.note_busy(round_us, now);
            self.balance.load.note_round(self.pace.turns(), round_us);
            self.pace.adapt(round_us);
        }
        self.now = now;
        self.observed = self.node.is_watched(now);
        self.passed_over = !self.observed && self.node.observers.any();
        self.pick_probe(now);
        self.pace.round_begins(now);
        if let Some(seat) = self.node.seat(self.index) {
            seat.figures.round_began.store(now.0, Ordering::Relaxed);
        }
        if self.node.seat(self.index).is_some_and(|seat| seat.inbox.is_filled()) {
            self.take_in();
        }
        self.wake_due();
        self.passivate_idle();
        if now.0 >= self.waits.next.0 {
            self.note_wait();
        }
    }

    /// Observes how long an agent waits for its turn.
    #[cold]
    #[inline(never)]
    fn note_wait(&mut self) {
        let Some(figures) = self.node.seat(self.index).map(|seat| &seat.figures) else { return };
        if let Some(since) = self.waits.since {
            if !self.runnable.has_passed_mark() {
                return;
            }
            figures.waited_us.store((self.now - since).as_micros() as u64, Ordering::Relaxed);
            figures.waits_since.store(ShardFigures::IDLE, Ordering::Relaxed);
            self.waits = TurnWaits { since: None, next: self.now + WAIT_LOOKED_AT_EVERY };
        } else if self.has_work() {
            self.runnable.mark();
            figures.waits_since.store(self.now.0, Ordering::Relaxed);
            self.waits.since = Some(self.now);
        }
    }

    /// Ends the last round, when there is nothing to do for now.
    pub fn go_idle(&mut self, now: Time) {
        if let Some(round_us) = self.pace.round_over(now) {
            self.note_busy(round_us, now);
        }
        if let Some(seat) = self.node.seat(self.index) {
            seat.figures.round_began.store(ShardFigures::IDLE, Ordering::Relaxed);
            if self.waits.since.take().is_some() {
                seat.figures.waits_since.store(ShardFigures::IDLE, Ordering::Relaxed);
            }
            seat.figures.waited_us.store(0, Ordering::Relaxed);
        }
    }

    fn note_busy(&mut self, round_us: u64, now: Time) {
        if let Some(seat) = self.node.seat(self.index) {
            ShardFigures::add(&seat.figures.busy_us, round_us);
        }
        self.sample(round_us, now);
    }

    /// Returns the number of turns in this round, at most.
    pub fn turns_per_round(&self) -> u32 {
        self.pace.turns()
    }

    /// Ends a round: hands over the batches for other shards, and for links when due.
    pub fn end_round(&mut self) {
        let ShardTally { sent, handled, dead } = std::mem::take(&mut self.tally);
        self.read_probes();
        if self.passed_over && sent > 0 {
            self.node.observers.pass_over(sent);
        }
        self.balance(sent);
        self.hand_in();
        self.flush_shards();
        self.flush_links_in_time();
        if self.slots.iter_away().next().is_none() {
            self.await_turns.clear();
        }
        if let Some(seat) = self.node.seat(self.index) {
            ShardFigures::add(&seat.figures.sent, sent);
            ShardFigures::add(&seat.figures.handled, handled.cast_unsigned());
            ShardFigures::add(&seat.figures.dead, dead);
            seat.figures.runnable.store(self.runnable.len() as u64, Ordering::Relaxed);
        }
    }

    /// Returns true if an agent waits for its turn.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.runnable.is_empty()
    }

    /// Returns true if an agent has work and is only delayed.
    pub fn has_delayed_work(&self) -> bool {
        self.delayed > 0
    }

    /// Returns the time of the next timer.
    pub fn next_timer(&self) -> Option<Time> {
        [self.timers.next(), self.idle.next()].into_iter().flatten().min()
    }

    fn take_in(&mut self) {
        let mut incoming = std::mem::take(&mut self.incoming);
        let newcomers = self.node.seat(self.index).map(|seat| seat.inbox.take(&mut incoming));
        self.install(newcomers.unwrap_or_default());
        for command in incoming.drain(..) {
            if command.changes_something() {
                // Earlier messages leave first.
                self.flush_links();
            }
            self.accept(command);
        }
        self.incoming = incoming;
        self.node.linked.taken_in();
    }

    fn accept(&mut self, command: ShardCommand) {
        match command {
            ShardCommand::Message(envelope) => self.take_message(envelope),
            ShardCommand::Posted(envelope) => {
                // A repeated message may have been refused when it was first sent.
                let is_numbered = matches!(envelope.body, MessageBody::Numbered(_));
                if is_numbered && self.node.guard.restricts_sending && !self.node.permits_sending(&envelope) {
                    return self.undeliverable(envelope.to, envelope.body, DeadReason::Forbidden);
                }
                self.route(envelope.to, envelope.body);
            }
            ShardCommand::Arrived(envelope) => self.route_arrived(envelope.to, envelope.body),
            ShardCommand::ArrivedRow(to, row) => self.take_row(to, row),
            ShardCommand::Copies(agents, messages) => self.take_copies(&agents, messages),
            ShardCommand::Undeliverable(envelope, why) => self.undeliverable(envelope.to, envelope.body, why),
            ShardCommand::Change(whom, change) => self.take_change(whom, change),
            ShardCommand::PostedChange(whom, change) => self.change(whom, change),
            ShardCommand::Retire { slot, generation, reason } => self.doom(slot, generation, reason),
            ShardCommand::Written(released) => self.release(released),
            ShardCommand::TurnOver(late) => self.finish_late(*late),
            ShardCommand::EndAll => self.doom_all(),
            ShardCommand::NeverComes(name) => self.nobody_comes(name),
            ShardCommand::Fence { from } => self.acknowledge(from),
            ShardCommand::FenceReached => self.fence_reached(),
            ShardCommand::Arrive(agents) => self.arrive(agents),
            ShardCommand::Cross(passage) => self.cross(&passage),
            ShardCommand::Hop(order) => self.handle_hop(*order),
            ShardCommand::AgentStats(census) => self.take_census(&census),
            ShardCommand::Weigh(weighing) => self.weigh(&weighing),
            ShardCommand::Debugger(setup, answer) => {
                self.set_debugger(&setup);
                let _ = answer.send(());
            }
            ShardCommand::Drained(node) => self.drained(node),
            ShardCommand::Relieved(name) => self.relieved(name),
            ShardCommand::Yield(order, answer) => {
                let _ = answer.send(self.yield_agents(&order));
            }
            ShardCommand::TurnsEnd(answer) => self.await_turns.push(answer),
            ShardCommand::CountQueued(answer) => {
                self.runnable.shrink();
                let is_message = |early: &&Early| matches!(early, Early::Message(_));
                let early = self.expected.values().flatten().filter(is_message).count();
                let _ = answer.send((self.slots.queued() + early) as u64);
            }
        }
    }

    /// Returns the mailbox figures of the agent in this place.
    pub fn figures_at(&mut self, index: u32) -> Option<AgentFigures> {
        if let Some(slot) = self.slots.at(index) {
            let is_passive = slot.unwritten.as_ref().is_some_and(|unwritten| unwritten.idleness.is_passive);
            let (waiting, handled) = (slot.mailbox.len() as u64, Some(slot.handled));
            let has_turn = slot.wake_at != Time::NEVER || !matches!(slot.status, SlotStatus::Idle | SlotStatus::Held);
            let work = caught(|| slot.body.workload()).unwrap_or_default();
            let activity = work.activity(has_turn);
            return Some(AgentFigures {
                name: slot.name,
                waiting,
                handled,
                is_passive,
                activity,
                program: work.program,
            });
        }
        let Away { name, mailbox, .. } = self.slots.away(index)?;
        Some(AgentFigures {
            name: *name,
            waiting: mailbox.len() as u64,
            handled: None,
            is_passive: false,
            activity: AgentActivity::Active,
            program: None,
        })
    }

    /// Returns code and resource usage of the agent in this place, unless it is away in a late turn.
    pub fn upkeep_at(&mut self, index: u32) -> Option<(Symbol, Upkeep)> {
        let (now, slot) = (self.now, self.slots.at(index)?);
        Some((slot.name, caught(|| slot.body.upkeep(now)).ok()?))
    }

    /// Hands over batches to other shards and nodes.
    fn flush(&mut self) {
        self.flush_shards();
        self.flush_links();
    }

    /// Hands over batches that should not wait for the end of the round.
    #[inline(never)]
    fn flush_urgent(&mut self) {
        self.flush_shards();
        self.flush_full_links();
    }

    fn flush_shards(&mut self) {
        self.urgent = false;
        for (shard, batch) in self.outgoing.iter_mut().enumerate() {
            if !batch.is_empty() {
                self.node.fill(shard as ShardIndex, |content| content.commands.append(batch));
            }
        }
    }
}
