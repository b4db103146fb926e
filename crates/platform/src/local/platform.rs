//! Turns and messages of a platform of one thread.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Symbol, Value, sym};

use super::host::{HostRoute, LocalHost};
use super::registry::LocalRegistry;
use super::services::LocalServices;
use super::slots::{LocalSlot, LocalSlots};
use crate::agent_management::{AmsAgent, DfAgent};
use crate::ams::{AgentKind, AmsCommand, LifecycleStep, NewAgent};
use crate::dead_letters::{DeadLetters, DeadReason};
use crate::limits::MAILBOX_HARD_MESSAGES;
use crate::mobility::{Hop, HopError, HopRequest};
use crate::route::{NodeId, Route};
use crate::services::CreateError;
use crate::topics::Cast;
use crate::{AgentBody, Counters, EndReason, Next, Outbox, PlatformEvent, Services, Time, Turn};

/// Platform of one thread: slots and mailboxes of agents, their timers, an AMS, a DF, topics, and dead letters.
///
/// Inputs are agents ([`spawn`](Self::spawn)), messages ([`send`](Self::send), [`receive`](Self::receive)) and orders
/// ([`kill`](Self::kill), or anything asked of the [`registry`](Self::registry)). Outputs go to the [`LocalHost`] as
/// they happen. It also tells the time, and chooses the route of each message. To drive the platform:
///
/// 1. Call [`pass_time`](Self::pass_time) at the latest at [`poll_timeout`](Self::poll_timeout), then
///    [`settle`](Self::settle), then [`stop_when_due`](Self::stop_when_due).
/// 2. Take an agent that is due: the first one ([`next_due`](Self::next_due)) or any ([`take_due`](Self::take_due)).
///    Call [`give_turn`](Self::give_turn), then `settle`. Repeat.
/// 3. Call `settle` after each other input, too. Until then its effects are pending.
///
/// A turn may end with the request to move the agent, which `give_turn` returns. Answer it with [`stay`](Self::stay),
/// or with [`begin_move`](Self::begin_move) and later either `stay` or [`depart`](Self::depart).
pub struct LocalPlatform<H> {
    services: LocalServices<H>,
    slots: LocalSlots,
    dead_letters: DeadLetters,
    counters: Counters,
    mailbox_max: usize,
    /// Messages of the AMS that are not sent yet.
    news: VecDeque<AclMessage>,
    exit_code: Option<i32>,
}

impl<H: LocalHost> LocalPlatform<H> {
    /// Returns a platform of this name whose only agents are `ams` and `df`.
    pub fn new(name: &str, host: H) -> Self {
        let mut platform = Self {
            services: LocalServices { host, registry: LocalRegistry::new(name) },
            slots: LocalSlots::default(),
            dead_letters: DeadLetters::new(),
            counters: Counters::default(),
            mailbox_max: MAILBOX_HARD_MESSAGES,
            news: VecDeque::new(),
            exit_code: None,
        };
        let _ = platform.spawn(NewAgent::new(sym::AMS, AgentKind::Service), Box::new(AmsAgent));
        let _ = platform.spawn(NewAgent::new(sym::DF, AgentKind::Service), Box::new(DfAgent));
        platform
    }

    /// Sets the maximum number of messages in a mailbox; [`MAILBOX_HARD_MESSAGES`] by default.
    pub fn set_mailbox_max(&mut self, messages: usize) {
        self.mailbox_max = messages;
    }

    /// Returns the host.
    pub fn host(&self) -> &H {
        &self.services.host
    }

    /// Returns the host, to change it between two turns.
    pub fn host_mut(&mut self) -> &mut H {
        &mut self.services.host
    }

    /// Returns the platform as agents see it.
    pub fn services(&self) -> &LocalServices<H> {
        &self.services
    }

    /// Returns the AMS, the DF and the topics.
    pub fn registry(&self) -> &LocalRegistry {
        &self.services.registry
    }

    // ---- Agents

    /// Creates an agent. It has its first turn when it is [taken](Self::next_due) from the queue.
    ///
    /// # Errors
    /// The name is taken or invalid.
    pub fn spawn(&mut self, new: NewAgent, body: Box<dyn AgentBody>) -> Result<Aid, CreateError> {
        let created = self.services.create_with(new, |_| Ok(body));
        self.settle();
        created
    }

    /// Ends an agent. Returns false if there is no agent of this name.
    pub fn kill(&mut self, agent: Aid) -> bool {
        let killed = self.services.kill(agent);
        self.settle();
        killed
    }

    /// Returns the slot of an agent, between two turns.
    pub fn slot(&mut self, name: Symbol) -> Option<&mut LocalSlot> {
        self.slots.find(name)
    }

    /// Queues an agent for a turn, whether it has messages or not.
    pub fn wake(&mut self, name: Symbol) {
        self.slots.make_due(name);
    }

    /// Gives an agent no turns from now on, because it is about to move. Returns false if there is no such agent.
    pub fn begin_move(&mut self, name: Symbol) -> bool {
        self.slots.find(name).map(|slot| slot.moving = true).is_some()
    }

    /// Tells an agent that it stays, for this reason. A turn follows.
    pub fn stay(&mut self, name: Symbol, to: Symbol, why: HopError) {
        if let Some(slot) = self.slots.find(name) {
            slot.moving = false;
            slot.body.hopped(&Hop::Stayed { to, why });
            self.slots.make_due(name);
        }
    }

    /// Removes an agent that continues elsewhere, and frees its name. Returns its waiting messages; `None` if there is
    /// no such agent. The host is not told of an end.
    pub fn depart(&mut self, name: Symbol) -> Option<Vec<MessageBody>> {
        let mut slot = self.slots.remove(name)?;
        self.services.registry.remove(Aid::local(name), EndReason::Finished);
        let waiting = slot.mailbox.take_all();
        self.counters.left += waiting.len() as u64;
        Some(waiting)
    }

    /// Returns the number of agents, `ams` and `df` included.
    pub fn agent_count(&self) -> usize {
        self.slots.len() + self.services.registry.newcomer_count()
    }

    // ---- Messages

    /// Sends a message to each of its receivers.
    pub fn send(&mut self, message: AclMessage) {
        let mut envelopes = Vec::new();
        Envelope::for_each_receiver(Box::new(message), |envelope| envelopes.push(envelope));
        envelopes.into_iter().for_each(|envelope| self.dispatch(envelope));
    }

    /// Delivers a message from another platform to an agent here, or to the members of a topic or group.
    pub fn receive(&mut self, envelope: Envelope) {
        self.counters.came += 1;
        match Cast::of(envelope.to.name) {
            None => self.arrive(envelope),
            Some(cast) => self.cast(cast, envelope),
        }
    }

    /// Delivers a message of this platform that the host has [held](HostRoute::Later).
    pub fn arrive(&mut self, envelope: Envelope) {
        // New agents have a name before they have a slot.
        while self.add_newcomer() {}
        let to = envelope.to;
        let LocalServices { host, registry } = &mut self.services;
        let is_here = to.platform == sym::EMPTY || to.platform == registry.platform();
        match self.slots.find(to.name) {
            _ if !is_here => self.bury(envelope, DeadReason::Unreachable),
            None => self.bury(envelope, DeadReason::UnknownAgent),
            Some(slot) if slot.mailbox.len() >= self.mailbox_max => self.bury(envelope, DeadReason::MailboxFull),
            Some(slot) => {
                host.note(PlatformEvent::Delivered(&envelope));
                slot.mailbox.push(envelope.body);
                self.slots.make_due(to.name);
            }
        }
    }

    /// Returns true if the agent is here and its mailbox is not full.
    pub fn has_room(&mut self, agent: Aid) -> bool {
        let slot = self.slots.find(agent.name).filter(|_| agent.platform == sym::EMPTY);
        slot.is_some_and(|slot| slot.mailbox.len() < self.mailbox_max)
    }

    /// Returns the counters of messages by outcome. They add up between any two calls, with the messages that the host
    /// holds.
    pub fn counters(&self) -> Counters {
        Counters { queued: self.slots.waiting() as u64, ..self.counters }
    }

    /// Returns the dead letters.
    pub fn dead_letters(&self) -> &DeadLetters {
        &self.dead_letters
    }

    fn dispatch(&mut self, envelope: Envelope) {
        self.counters.sent += 1;
        self.services.host.note(PlatformEvent::Sent(&envelope));
        match Cast::of(envelope.to.name) {
            None => self.route(envelope, None),
            Some(cast) => self.cast(cast, envelope),
        }
    }

    fn route(&mut self, envelope: Envelope, cast: Option<Cast>) {
        let LocalServices { host, registry } = &mut self.services;
        match host.route(envelope, cast, registry) {
            HostRoute::Here(envelope) => self.arrive(envelope),
            HostRoute::Later => {}
            HostRoute::Elsewhere => self.counters.left += 1,
            HostRoute::Nowhere(envelope, reason) => self.bury(envelope, reason),
        }
    }

    /// Sends a message, counted once so far, to the members of a topic or group, or to one of them.
    fn cast(&mut self, cast: Cast, envelope: Envelope) {
        let audience = self.services.registry.topics().audience(envelope.to.name);
        let Some(audience) = audience else {
            if cast == Cast::Broadcast {
                // The topic itself accepts the message.
                self.counters.handled += 1;
                return;
            }
            return self.bury(envelope, DeadReason::NoMember);
        };
        // All are agents of this process, and none is known to be crowded.
        let route = |_| Route::node(NodeId(0));
        let chosen = if cast == Cast::Anycast { audience.choose(route).map(|(member, _)| member) } else { None };
        let receivers = chosen.as_ref().map_or(&*audience.local, std::slice::from_ref);
        self.counters.sent += (receivers.len() as u64).saturating_sub(1);
        let shared = envelope.body.into_shared();
        for name in receivers {
            let copy = Envelope { to: Aid::local(*name), body: MessageBody::Shared(Arc::clone(&shared)) };
            self.route(copy, Some(cast));
        }
    }

    fn bury(&mut self, envelope: Envelope, reason: DeadReason) {
        self.counters.dead += 1;
        self.services.host.note(PlatformEvent::Died(&envelope, reason));
        if let Some(failure) = self.dead_letters.bury(self.services.host.now(), envelope, reason) {
            self.send(failure);
        }
    }

    // ---- Time

    /// Fires the timers, ends leases of DF entries, and orders the end of agents whose lifetime is over.
    pub fn pass_time(&mut self) {
        let now = self.services.host.now();
        self.slots.fire_timers(now);
        self.registry().df().handle_timeout(now);
        let expired = self.registry().ams().expire(now);
        for (agent, owner) in expired.into_iter().filter(|(_, owner)| *owner != sym::EMPTY) {
            let content = Value::term("ended", [Value::atom(agent.name), Value::atom("expired")]);
            let (ams, owner) = (Aid::local(sym::AMS), Aid::local(owner));
            self.news.push_back(AclMessage::new(Performative::Inform, ams, owner, content));
        }
    }

    /// Returns the time of the next event that comes by itself.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        let registry = &self.services.registry;
        let stop = registry.stop().map(|(at, _)| at);
        let lease = registry.df().poll_timeout();
        let end = Some(registry.ams().next_end()).filter(|end| *end < Time::NEVER);
        [self.slots.next_timer(), stop, lease, end].into_iter().flatten().min()
    }

    /// Ends all agents if one of them stopped the platform and the time for it has come. Returns the exit code then.
    pub fn stop_when_due(&mut self) -> Option<i32> {
        let now = self.services.host.now();
        let (_, code) = self.registry().stop().filter(|(at, _)| *at <= now && self.exit_code.is_none())?;
        self.registry().ams().stop();
        self.settle();
        self.exit_code = Some(code);
        self.exit_code
    }

    /// Returns the exit code if the platform has stopped.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    // ---- Turns

    /// Returns the number of queued agents.
    pub fn due_count(&self) -> usize {
        self.slots.queued()
    }

    /// Takes the agent from the queue that became due first.
    pub fn next_due(&mut self) -> Option<Symbol> {
        self.slots.next()
    }

    /// Takes the agent at this place in the queue. The last one takes its place. Returns `None` if the place is empty,
    /// or if its agent has nothing to do any more.
    pub fn take_due(&mut self, place: usize) -> Option<Symbol> {
        self.slots.take(place)
    }

    /// Gives a turn of at most `budget` steps to an agent that was taken from the queue. Returns its request to move.
    pub fn give_turn(&mut self, name: Symbol, budget: u32) -> Option<Box<HopRequest>> {
        match self.with_turn(name, budget, |body, turn| body.turn(turn))? {
            Next::Wait => {}
            Next::WaitUntil(at) | Next::Refuse(at) if at > self.services.host.now() => self.slots.set_timer(name, at),
            Next::WaitUntil(_) | Next::Refuse(_) | Next::Ready => self.slots.make_due(name),
            Next::Activate => self.activate(name),
            Next::Hop(request) => return Some(request),
            Next::End(reason) => self.end(Aid::local(name), reason),
        }
        None
    }

    /// Carries out everything that turns, inputs and time asked for, until no work is left.
    pub fn settle(&mut self) {
        loop {
            if self.add_newcomer() {
                continue;
            }
            let command = self.registry().ams().poll_command();
            if let Some(command) = command {
                self.carry_out(command);
                continue;
            }
            let message = self.registry().df().poll_message();
            match message.or_else(|| self.news.pop_front()) {
                Some(message) => self.send(message),
                None => return,
            }
        }
    }

    fn add_newcomer(&mut self) -> bool {
        let newcomer = self.services.registry.next_newcomer();
        newcomer.map(|(name, body)| self.slots.add(name, body)).is_some()
    }

    fn carry_out(&mut self, command: AmsCommand) {
        match command {
            AmsCommand::Run(agent) => self.slots.set_held(agent.name, false),
            AmsCommand::Hold(agent) => self.slots.set_held(agent.name, true),
            AmsCommand::End(agent) => self.stop(agent, EndReason::Killed),
            AmsCommand::Expire(agent) => self.stop(agent, EndReason::Expired),
            AmsCommand::Copy { original, copy } => self.copy(original, copy),
        }
    }

    fn copy(&mut self, original: Aid, copy: Aid) {
        let LocalServices { host, registry } = &self.services;
        let now = host.now();
        match self.slots.find(original.name).and_then(|slot| slot.body.duplicate(now)) {
            Some(body) => {
                self.slots.add(copy.name, body);
                let _ = registry.ams().step(copy, LifecycleStep::Start);
                host.created(copy);
            }
            None => drop(registry.ams().handle_ended(copy, EndReason::Failed("cannot be cloned".to_owned()))),
        }
    }

    fn activate(&mut self, name: Symbol) {
        let Some(slot) = self.slots.find(name) else { return };
        match slot.body.activate() {
            Ok(body) => {
                slot.body = body;
                self.slots.make_due(name);
            }
            Err(why) => self.end(Aid::local(name), EndReason::Failed(why)),
        }
    }

    /// Calls `work` on an agent as its turn, and sends the messages of that turn. `None` if the agent ended.
    fn with_turn<R>(
        &mut self,
        name: Symbol,
        budget: u32,
        work: impl FnOnce(&mut dyn AgentBody, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let (aid, mut outbox) = (Aid::local(name), Outbox::default());
        let slot = self.slots.find(name)?;
        let (mailbox, now) = (&mut slot.mailbox, self.services.host.now());
        let mut turn = Turn { aid, now, mailbox, outbox: &mut outbox, budget, services: &self.services };
        let result = work(&mut *slot.body, &mut turn);
        let aside = slot.mailbox.take_aside();
        // Less than nothing, if the agent gave back more than it took.
        let handled = slot.mailbox.count_taken();
        self.counters.handled = self.counters.handled.wrapping_add_signed(handled.into());
        if let Ok(handled) = usize::try_from(handled)
            && handled > 0
        {
            self.services.host.note(PlatformEvent::Handled(aid, handled));
        }
        self.services.host.turn_ended(aid, slot.mailbox.len());
        outbox.drain().for_each(|envelope| self.dispatch(envelope));
        aside.into_iter().for_each(|body| self.bury(Envelope { to: aid, body }, DeadReason::MailboxFull));
        Some(result)
    }

    fn stop(&mut self, agent: Aid, reason: EndReason) {
        self.with_turn(agent.name, 0, |body, turn| body.stopping(turn));
        self.end(agent, reason);
    }

    fn end(&mut self, agent: Aid, reason: EndReason) {
        let Some(mut slot) = self.slots.remove(agent.name) else { return };
        self.services.host.ended(agent, &reason);
        self.services.registry.remove(agent, reason);
        for body in slot.mailbox.take_all() {
            self.bury(Envelope { to: agent, body }, DeadReason::AgentEnded);
        }
    }
}
