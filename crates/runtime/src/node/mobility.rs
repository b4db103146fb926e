//! Moves of agents between this node and others, and between two others: carries out what `platform::mobility`
//! decides. The shards' part is in `shard::hops`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use whimbrel_acl::{Aid, Envelope, Name, Symbol, sym};
use whimbrel_platform::ams::{AgentKind, AgentState, NewAgent, Ties, name_fault};
use whimbrel_platform::durable::{Registration, State};
use whimbrel_platform::limits::{HOP_LIVED_MAX, HOP_MADE_AT_ONCE_BYTES};
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::{
    Crossing, Hop, HopError, HopId, HopMode, HopNews, HopOffer, HopRequest, HopStep, Wish,
};
use whimbrel_platform::policy::{Action, Principal};
use whimbrel_platform::route::{LocalRoute, NodeId, Place, Route, ShardIndex};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::DepartingBody;
use whimbrel_platform::{AgentBody, EndReason, OfferedAgent, PlatformEvent, Time};

use super::Node;
use super::creation::assign_name;
use super::introduction::Introduction;
use crate::loader::CodeFound;
use crate::mobility::{HopCall, HopJob, HopOrder, OnTheWay, PreparedAgent, ShardBarrier};
use crate::node::peers::without_lease;
use crate::panics::caught;
use crate::services::NodeServices;
use crate::shard::{Slot, SlotStatus};
use crate::shard_command::{AgentChange, ShardCommand};
use crate::state_transfer::unpack;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, locked};

impl Node {
    /// Asks for the state of hops and carries out the resulting commands, under one lock.
    pub fn with_transits<T>(&self, ask: impl FnOnce(&mut OnTheWay) -> T) -> T {
        let mut on_the_way = locked(&self.mobility.state);
        let answer = ask(&mut on_the_way);
        while let Some(step) = on_the_way.transits.poll_step() {
            self.take_step(&mut on_the_way, step);
        }
        self.mobility.busy.store(!on_the_way.transits.is_quiet(), Ordering::Release);
        answer
    }

    fn has_transits(&self) -> bool {
        self.mobility.busy.load(Ordering::Acquire)
    }

    fn take_step(&self, on_the_way: &mut OnTheWay, step: HopStep) {
        let order = |shard, order| self.put(shard, ShardCommand::Hop(Box::new(order)));
        match step {
            HopStep::Tell(to, HopNews::Follow(hop)) => self.follow(hop, to),
            HopStep::Tell(to, news) => self.tell_hop(to, news),
            HopStep::Cross(crossing) => self.cross(on_the_way, crossing),
            HopStep::LetGo(hop, shard, to) => order(shard, HopOrder::LetGo(hop, to)),
            HopStep::Stay(hop, shard, why) => order(shard, HopOrder::Stay(hop, why)),
            HopStep::Cloned { hop, entry_shard: shard, clone } => order(shard, HopOrder::Cloned(hop, clone)),
            HopStep::Empty(hop, shard, to) => {
                self.follow_own(hop, to);
                order(shard, HopOrder::Empty(hop, to));
            }
            HopStep::TellBehind(shard, to, news) => order(shard, HopOrder::TellBehind(to, news)),
            HopStep::Own(hop, from, standing, told) => self.own(on_the_way, hop, from, *standing, &told),
            HopStep::Begin(hop, from) => self.begin(on_the_way, hop, from),
            HopStep::Drop { hop, from, lost } => self.drop_prepared(on_the_way, hop, from, lost),
        }
    }

    pub fn tell_hop(&self, to: NodeId, news: HopNews) {
        if let Some(links) = self.linked.links() {
            links.tell(to, News::Hop(news));
        }
    }

    /// Sends a barrier through all shards. Shards that wait for work have nothing in progress, so it has mostly
    /// passed at once.
    fn cross(&self, on_the_way: &mut OnTheWay, crossing: Crossing) {
        let busy: Vec<usize> =
            self.seats.iter().enumerate().filter(|(_, seat)| !seat.inbox.is_done_with()).map(|(i, _)| i).collect();
        if busy.is_empty() {
            return on_the_way.transits.handle_crossed(crossing, |node| self.name_of(node));
        }
        let passage = Arc::new(ShardBarrier { crossing, left: AtomicUsize::new(busy.len()) });
        for shard in busy {
            self.put(shard as ShardIndex, ShardCommand::Cross(Arc::clone(&passage)));
        }
    }

    /// Notes that a barrier has passed one shard. All messages before it are handed over.
    pub fn passed(&self, passage: &ShardBarrier) {
        if passage.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.with_transits(|it| it.transits.handle_crossed(passage.crossing, |node| self.name_of(node)));
        }
    }

    /// Handles another node's news of a hop.
    pub fn hear_hop(self: &Arc<Self>, idle: Option<ShardIndex>, from: NodeId, news: HopNews) {
        match news {
            HopNews::Offer(offer) => self.hear_offer(idle, from, *offer),
            HopNews::Lacks { hop, at } => self.give_code(from, hop, at),
            HopNews::Code(hop, part) => self.hear_code(from, hop, &part),
            HopNews::More { hop, at } => {
                if let Some(shard) = self.with_transits(|it| it.transits.shard_for(from, hop)) {
                    self.put(shard, ShardCommand::Hop(Box::new(HopOrder::More(hop, at, from))));
                }
            }
            HopNews::State(hop, piece) => self.hear_state(idle, from, hop, &piece),
            HopNews::Cancel(hop) => {
                self.with_transits(|it| it.transits.handle_news(from, self.name_of(from), HopNews::Cancel(hop)));
                self.drop_order(from, hop);
                self.drop_luggage(|bearer| bearer.node == from && bearer.hop == hop);
            }
            HopNews::Recall(agent, number) => self.hear_recall(from, agent, number),
            HopNews::Recalled(number, why) => {
                let asked = locked(&self.mobility.recalls).remove(&number).filter(|(node, _)| *node == from);
                if let Some((_, then)) = asked {
                    then(why.map_or(Ok(()), Err));
                }
            }
            HopNews::Departed(hop, to) => self.with_transits(|it| {
                self.hear_departed(from, hop.agent, to);
                it.transits.handle_news(from, self.name_of(from), HopNews::Departed(hop, to));
            }),
            HopNews::Roams(hop, to, topics) => self.hear_roams(from, hop, to, topics),
            HopNews::Settled(hop) => self.with_topics(|topics| topics.handle_settled(hop, from)),
            // Handled under the lock, so that the agent neither arrives nor begins meanwhile.
            HopNews::Clear(hop, topics) => {
                self.with_transits(|it| self.hear_clear(from, hop, topics, it.transits.source_before_commit(hop)));
            }
            HopNews::Follow(hop) => {
                // Messages behind that news do not have to be forwarded by this node.
                self.with_topics(|topics| topics.handle_followed(hop, from));
                self.with_transits(|it| it.transits.handle_news(from, self.name_of(from), HopNews::Follow(hop)));
            }
            news => self.with_transits(|it| it.transits.handle_news(from, self.name_of(from), news)),
        }
    }

    /// Handles a report that an agent moved from one other node to another.
    fn hear_departed(&self, from: NodeId, agent: Symbol, to: Symbol) {
        let to = self.linked.links().and_then(|links| links.node_named(to.as_str()));
        let Some(to) = to else {
            // That node announces its agents as soon as there is a link.
            let reason = EndReason::Failed("it left for an unknown node".to_owned());
            return self.agent_ended_elsewhere(&agent.into(), from, &reason);
        };
        let name = Name::from(agent);
        let entered = self.with_ams(|ams| {
            let (_, kind) = ams.elsewhere(&name).filter(|(there, _)| *there == from)?;
            Some(self.enter_elsewhere(ams, &name, to, kind, true))
        });
        match entered {
            None => {}
            Some(Ok(())) => {
                self.relieved(agent);
                self.hear_gone(&name, to);
            }
            Some(Err(error)) => {
                self.relieved(agent);
                self.note_left_out(to, 1);
                self.agent_ended_elsewhere(&name, from, &EndReason::Failed(error.to_string()));
            }
        }
    }

    fn hear_offer(self: &Arc<Self>, idle: Option<ShardIndex>, from: NodeId, offer: HopOffer) {
        let hop = offer.hop;
        let is_new = self.with_transits(|it| match offer.clone {
            None => it.transits.handle_offer(from, hop),
            Some(_) => it.transits.handle_clone_offer(from, hop),
        });
        if !is_new {
            let why = self.no("an agent of its name is on its way here already");
            return self.tell_hop(from, HopNews::Refuse(hop, why));
        }
        // A thread that waits on this link and is otherwise idle makes the agent itself, without waking another
        // thread.
        let is_small = offer.clone.is_none() && offer.is_whole() && offer.state.len() <= HOP_MADE_AT_ONCE_BYTES;
        match idle.filter(|_| is_small) {
            Some(shard) => self.make_coming(shard, from, offer),
            None => self.have_made(idle, from, offer),
        }
    }

    /// Requests an arriving agent from a shard; its code may be here. The calling thread is the worker of the `idle`
    /// shard, if there is one.
    pub fn have_made(&self, idle: Option<ShardIndex>, from: NodeId, offer: HopOffer) {
        self.put(self.quiet_shard(idle), ShardCommand::Hop(Box::new(HopOrder::Make(offer, from))));
    }

    /// Returns an idle shard, if there is one. This thread's own shard comes first, because no other thread has to
    /// wake.
    fn quiet_shard(&self, idle: Option<ShardIndex>) -> ShardIndex {
        let here = idle.filter(|shard| self.seat(*shard).is_some_and(|seat| seat.inbox.is_done_with()));
        if let Some(shard) = here {
            return shard;
        }
        self.seats.iter().position(|seat| seat.inbox.is_done_with()).unwrap_or_default() as ShardIndex
    }

    pub fn no(&self, reason: &str) -> HopError {
        HopError::Refused { node: self.called(), reason: reason.to_owned() }
    }

    /// Makes an arriving agent, or reports the reason for refusing it.
    pub fn make_coming(self: &Arc<Self>, shard: ShardIndex, from: NodeId, offer: HopOffer) {
        let permitted = self.permit_coming(from, &offer).and_then(|()| self.permit_onward(&offer));
        match permitted.and_then(|()| self.find_code(from, &offer)) {
            Ok(CodeFound::Missing) => return self.order_code(from, offer),
            Ok(CodeFound::Own | CodeFound::Foreign) if !offer.is_whole() => return self.order_rest(from, offer),
            Ok(CodeFound::Own | CodeFound::Foreign) => {}
            Err(why) => return self.refuse_coming(from, &offer, why),
        }
        let hop = offer.hop;
        let admitted = |mut body: Box<dyn AgentBody>| match offer.clone {
            None => {
                self.welcome(shard, from, &offer, hop.agent, &mut *body).map_err(|why| self.no(&why)).map(|()| body)
            }
            // Clones are admitted once their name is known.
            Some(_) => Ok(body),
        };
        match (self.body_of(&offer).and_then(admitted), offer.clone) {
            (Ok(body), None) => self.prepare(shard, from, offer, body),
            // The original may have ended since.
            (Ok(_), Some(_)) if !self.with_transits(|it| it.transits.handle_clone_done(from, hop)) => {}
            (Ok(body), Some(name)) => match self.clone_here(shard, from, &offer, name, body) {
                Ok(clone) => self.tell_hop(from, HopNews::Cloned(hop, clone)),
                Err(why) => self.tell_hop(from, HopNews::Refuse(hop, why)),
            },
            (Err(why), _) => self.refuse_coming(from, &offer, why),
        }
    }

    /// Refuses an arriving agent, with the reason.
    pub fn refuse_coming(&self, from: NodeId, offer: &HopOffer, why: HopError) {
        match offer.clone {
            None => self.with_transits(|it| it.transits.refuse(from, offer.hop, why)),
            Some(_) => {
                if self.with_transits(|it| it.transits.handle_clone_done(from, offer.hop)) {
                    self.tell_hop(from, HopNews::Refuse(offer.hop, why));
                }
            }
        }
    }

    fn permit_coming(&self, from: NodeId, offer: &HopOffer) -> Result<(), HopError> {
        let name = offer.hop.agent;
        if self.stopping.load(Ordering::Acquire) {
            return Err(HopError::Stopping);
        }
        if self.scribe.is_some() {
            return Err(self.no("its society is durable, and this agent is not written down there"));
        }
        if self.with_ams(|ams| ams.node_of(name)) != Some(from) {
            return Err(self.no("the node that it comes from has no such agent"));
        }
        if let Some(fault) = name_fault(name.as_str()) {
            return Err(self.no(&format!("{name:?} is no name for an agent: {fault}")));
        }
        if let Err(full) = self.with_ams(|ams| ams.room_for(offer.root, 1)) {
            return Err(HopError::Busy { node: self.called(), reason: full.to_string() });
        }
        let who = self.traveller(from, offer);
        let object = offer.clone.filter(|clone| *clone != Symbol::default()).unwrap_or(name);
        let action = if offer.clone.is_some() { Action::Create } else { Action::Move };
        let is_kept_out = offer.clone.is_some() && self.forbids(who, Action::Move, object.as_str());
        if !is_kept_out && self.permits(who, action, object.as_str()) {
            return Ok(());
        }
        Err(HopError::Forbidden(self.called()))
    }

    /// Checks that a client of this node would be offered an agent on its way there. Otherwise the agent had better
    /// stay.
    fn permit_onward(&self, offer: &HopOffer) -> Result<(), HopError> {
        if offer.onward == Symbol::default() { Ok(()) } else { self.kept_agents.may_invite(offer.onward) }
    }

    /// Returns the policy's principal for an agent that arrives from that node. An agent that was with a client
    /// counts as an agent of a session, wherever it goes.
    pub fn traveller(&self, from: NodeId, offer: &HopOffer) -> Principal {
        let (name, node) = (offer.hop.agent, self.name_of(from));
        if offer.kind == AgentKind::Session { Principal::Session { name, node } } else { self.bearer(name, node) }
    }

    fn body_of(&self, offer: &HopOffer) -> Result<Box<dyn AgentBody>, HopError> {
        let states = [State::Whole(unpack(offer).map_err(|reason| self.no(&reason))?)];
        let made = caught(|| self.restore(offer.hop.agent, &offer.origin, &states, self.now()));
        made.unwrap_or_else(Err).map_err(|reason| self.no(&reason))
    }

    /// Asks an arriving agent, as restored from its state, whether it can continue here.
    fn welcome(
        self: &Arc<Self>,
        shard: ShardIndex,
        from: NodeId,
        offer: &HopOffer,
        name: Symbol,
        body: &mut dyn AgentBody,
    ) -> Result<(), String> {
        if offer.clone.is_some() {
            self.permit_clone(offer.kind, name, offer.hop.agent)?;
        }
        let services = NodeServices { node: Arc::clone(self), shard, in_turn: false, withheld: None };
        let arrival = OfferedAgent {
            name,
            owner: offer.owner,
            from: self.name_of(from),
            clone_of: offer.clone.map(|_| offer.hop.agent),
            services: &services,
        };
        caught(|| body.admit(&arrival)).unwrap_or_else(Err)
    }

    /// Enters a restored agent that waits for the commit: from now on messages to it wait here.
    fn prepare(self: &Arc<Self>, shard: ShardIndex, from: NodeId, offer: HopOffer, body: Box<dyn AgentBody>) {
        let ties = self.ties_of(&offer);
        let lived = Duration::from_millis(offer.age_ms.min(HOP_LIVED_MAX));
        let handled = offer.handled.min(HOP_LIVED_MAX);
        let HopOffer { hop, kind, owner, root, recalled, onward, .. } = offer;
        // The agent is not told that it begins here, because this node is not its destination.
        let goes_on = onward != Symbol::default();
        let body = if goes_on { self.sent_on(from, hop, onward, body) } else { body };
        self.with_transits(|it| {
            if !it.transits.is_offered(from, hop) {
                return;
            }
            let generation = self.next_generation(1);
            let mut slot = assign_name(Box::new(Slot::new(body)), hop.agent, generation);
            slot.handled = handled;
            let route = LocalRoute { shard, slot: None, generation, crowded: false };
            let mut before = self.routes.look_up(hop.agent);
            while before.place() == Place::Node(from) {
                match self.routes.replace(hop.agent, before, Route::local(route)) {
                    Ok(()) => {
                        it.transits.handle_made(hop);
                        let (offers, recalls) = (false, Vec::new());
                        let doomed = false;
                        let coming = PreparedAgent {
                            slot,
                            kind,
                            owner,
                            root,
                            shard,
                            offers,
                            doomed,
                            ties,
                            lived,
                            recalled,
                            recalls,
                        };
                        it.prepared.insert(hop.agent, coming);
                        // The agent was another node's. Senders that waited because it was crowded do not wait for
                        // that node's report any more.
                        self.relieved(hop.agent);
                        return;
                    }
                    // Its crowded flag may have changed just now.
                    Err(now) => before = now,
                }
            }
            // The agent ended since it was offered.
            it.transits.refuse(from, hop, self.no("it has ended"));
        });
    }

    /// Wraps an agent that continues to a client of this node. Its source node is told the outcome.
    fn sent_on(
        self: &Arc<Self>,
        from: NodeId,
        hop: HopId,
        onward: Symbol,
        body: Box<dyn AgentBody>,
    ) -> Box<dyn AgentBody> {
        let node = Arc::clone(self);
        let tell = move |outcome: Result<(), HopError>| {
            node.tell_hop(from, HopNews::Recalled(hop.number, outcome.err()));
        };
        Box::new(DepartingBody::new(body, onward, Some(Wish::new(onward, Box::new(tell)))))
    }

    /// Notes that an agent leaves for a node from which it continues to a client. That node reports the outcome under
    /// the hop's number.
    pub fn await_onward(&self, hop: HopId, to: NodeId, then: Option<HopCall>) {
        if let Some(then) = then {
            locked(&self.mobility.recalls).insert(hop.number, (to, then));
        }
    }

    /// Cancels that note because the agent did not leave.
    pub fn await_no_more(&self, hop: HopId) -> Option<HopCall> {
        locked(&self.mobility.recalls).remove(&hop.number).map(|(_, then)| then)
    }

    fn clone_here(
        self: &Arc<Self>,
        shard: ShardIndex,
        from: NodeId,
        offer: &HopOffer,
        name: Symbol,
        mut body: Box<dyn AgentBody>,
    ) -> Result<Symbol, HopError> {
        let of = offer.hop.agent;
        let unique = name == Symbol::default();
        let name = if unique { of } else { name };
        body.hopped(&Hop::IsClone { of, from: self.name_of(from) });
        let owner = (offer.owner != Symbol::default()).then(|| Aid::local(offer.owner));
        let who = Introduction { unique, owner, root: offer.root, ..Introduction::new(name, offer.kind) };
        let ties = self.ties_of(offer);
        let made = self.create(shard, who, |name| {
            let admitted = self.welcome(shard, from, offer, name, &mut *body);
            admitted.map_err(|reason| CreateError::BadProgram { name, reason })?;
            Ok(Box::new(Slot::new(body)))
        });
        let made = made.map_err(|error| self.no(&error.to_string()))?;
        self.tie(made, ties);
        Ok(made.name)
    }

    /// Returns the home node and lifetime of an agent that arrives now.
    fn ties_of(&self, offer: &HopOffer) -> Ties {
        let home = if offer.home == self.my_name() { Symbol::default() } else { offer.home };
        let until = offer.lifetime_ms.map_or(Time::NEVER, |ms| self.now() + Duration::from_millis(ms));
        Ties { home, until }
    }

    fn tie(&self, agent: Aid, ties: Ties) {
        // The agent may have ended again.
        let _ = self.with_ams(|ams| ams.tie(agent, ties));
        if ties.until < Time::NEVER {
            self.change(sym::AMS, AgentChange::Wake);
        }
    }

    /// Limits the registration from an agent's source: it may concern no other agent, and forbidden services are
    /// removed.
    fn restrict(&self, agent: Symbol, from: NodeId, standing: &mut Registration) {
        standing.agent = agent;
        standing.entry.take_if(|entry| entry.agent != Some(Aid::local(agent)) || !self.permits_services(from, entry));
    }

    /// Makes an arriving agent an agent of this node. It does not run yet.
    fn own(&self, on_the_way: &mut OnTheWay, hop: HopId, from: NodeId, mut standing: Registration, told: &[Symbol]) {
        let Some(coming) = on_the_way.prepared.get_mut(&hop.agent) else { return };
        let places = std::mem::take(&mut standing.places);
        self.restrict(hop.agent, from, &mut standing);
        let (state, lived, now) = (standing.state, coming.lived, self.now());
        let new = NewAgent { owner: coming.owner, root: coming.root, ..NewAgent::new(hop.agent, coming.kind) };
        self.with_ams(|ams| ams.handle_arrived(new, from, state, now, lived));
        self.count_living();
        let generation = coming.slot.generation;
        self.monitors.moved(hop.agent, None, Some(generation));
        let is_held = matches!(state, AgentState::Suspended | AgentState::Waiting);
        coming.slot.status = if is_held { SlotStatus::LeavingHeld } else { SlotStatus::LeavingQueued };
        self.own_places(hop, from, places, told);
        coming.offers = standing.entry.is_some();
        self.take_over_entry(standing);
    }

    /// Starts an agent that arrived: all messages that were on their way to it elsewhere are in its mailbox.
    fn begin(&self, on_the_way: &mut OnTheWay, hop: HopId, from: NodeId) {
        let Some(coming) = on_the_way.prepared.remove(&hop.agent) else { return };
        let PreparedAgent { mut slot, kind, shard, offers, doomed, ties, recalled, recalls, .. } = coming;
        let source = self.name_of(from);
        let hopped = Hop::Arrived { from: source };
        // Its next turn shows any fault.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if recalled {
                slot.body.recalled();
            }
            slot.body.hopped(&hopped);
        }));
        // The agent may have been killed since it arrived.
        if self.with_ams(|ams| ams.kind(slot.aid()).is_some()) {
            self.tell_of(slot.aid(), kind, offers, from);
            self.tell(PlatformEvent::Came(slot.aid(), source));
        } else if let Some(links) = self.linked.links() {
            // A node that learns of the end before it learns of the hop believes the agent to be here.
            links.tell_all(News::AgentEnded(hop.agent.into(), EndReason::Killed));
        }
        // The lifetime begins only after all nodes know that the agent is here: none may learn of its end first.
        self.tie(slot.aid(), ties);
        self.put(shard, ShardCommand::Arrive(vec![slot]));
        recalls.into_iter().for_each(|then| self.recall_here(hop.agent, then));
        if doomed {
            let _ = self.with_ams(|ams| ams.kill(Aid::local(hop.agent)));
        }
    }

    /// Announces an agent that arrived, because nodes without a link to its source do not know of it. The source
    /// itself let the agent go.
    fn tell_of(&self, agent: Aid, kind: AgentKind, offered: bool, source: NodeId) {
        let Some(links) = self.linked.links() else { return };
        for node in links.nodes().into_iter().filter(|node| *node != source) {
            links.tell(node, News::Agents(vec![(agent.name.into(), kind)]));
        }
        match self.with_df(|df| df.description_of(agent).map(without_lease)) {
            Some(entry) => links.tell_all(News::Service(Box::new(entry))),
            // The entry was withdrawn meanwhile. Nodes that did not know yet that the agent is here ignored that.
            None if offered => links.tell_all(News::NoService(agent.name)),
            None => {}
        }
    }

    /// Drops a restored agent that does not arrive after all.
    fn drop_prepared(&self, on_the_way: &mut OnTheWay, hop: HopId, from: NodeId, lost: bool) {
        let Some(PreparedAgent { slot, shard, recalls, .. }) = on_the_way.prepared.remove(&hop.agent) else { return };
        let (name, generation) = (hop.agent, slot.generation);
        self.leave_all(name);
        self.monitors.moved(name, Some(generation), None);
        let on_its_way = Route::local(LocalRoute { shard, slot: None, generation, crowded: false });
        let is_there = self.with_ams(|ams| {
            let is_there = !lost && ams.node_of(name) == Some(from);
            // The agent may have ended there, and another one of its name may be here.
            let _ = self.routes.replace(name, on_its_way, if is_there { Route::node(from) } else { Route::UNKNOWN });
            is_there
        });
        if let Some(links) = self.linked.links().filter(|_| lost) {
            // Another node may have heard that the agent is here, which is wrong.
            links.tell_all(News::AgentEnded(name.into(), EndReason::Failed("its node is lost".to_owned())));
        }
        self.put(shard, ShardCommand::Hop(Box::new(HopOrder::Return(name))));
        for then in recalls {
            match is_there {
                true => self.recall_at(from, name, then),
                false => then(Err(HopError::NotMovable("its node is lost".to_owned()))),
            }
        }
        let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
    }

    /// Cancels hops from and to a lost node. To be called before that node's agents are forgotten.
    pub fn lose_hops(self: &Arc<Self>, lost: NodeId) {
        // Taken under the lock in any case: an agent may just be offered to that node.
        self.with_transits(|it| it.transits.handle_lost(lost, self.name_of(lost)));
        self.lose_orders(lost);
        let asked: Vec<HopCall> = locked(&self.mobility.recalls)
            .extract_if(|_, (node, _)| *node == lost)
            .map(|(_, (_, then))| then)
            .collect();
        asked.into_iter().for_each(|then| then(Err(HopError::Unreachable(self.name_of(lost)))));
        self.drop_luggage(|bearer| bearer.node == lost);
    }

    /// Cancels all hops because the platform stops. Agents that arrived end like all others; the rest stay at their
    /// sources.
    pub fn stop_hops(&self) {
        self.stop_orders();
        self.refuse_luggage();
        self.with_transits(|it| {
            it.transits.stop();
            for PreparedAgent { slot, shard, .. } in std::mem::take(&mut it.prepared).into_values() {
                if self.with_ams(|ams| ams.kind(slot.aid()).is_some()) {
                    self.put(shard, ShardCommand::Arrive(vec![slot]));
                }
            }
        });
    }

    /// Puts a message that another node forwarded into the mailbox of the agent that arrives from there, before all
    /// messages sent to it here. Returns the message if there is no such agent.
    pub fn keep_forwarded(&self, from: NodeId, envelope: Envelope) -> Option<Envelope> {
        let mut on_the_way = locked(&self.mobility.state);
        let name = envelope.to.name;
        let is_it = on_the_way.transits.comes_from(name) == Some(from);
        match on_the_way.prepared.get_mut(&name).filter(|_| is_it) {
            Some(coming) => {
                coming.slot.mailbox.push(envelope.body);
                None
            }
            None => Some(envelope),
        }
    }

    /// Returns the entry shard through which messages for an agent that is gone are forwarded, and their destination.
    pub fn entry_shard_of(&self, name: Symbol) -> Option<(ShardIndex, NodeId)> {
        if !self.has_transits() {
            return None;
        }
        locked(&self.mobility.state).transits.entry_shard_of(name)
    }

    /// Returns true if an agent is on its way here from that node.
    pub fn comes_from(&self, name: Symbol, node: NodeId) -> bool {
        self.has_transits() && locked(&self.mobility.state).transits.comes_from(name) == Some(node)
    }

    /// Asks which agents are on their way here, while none arrives or begins.
    pub fn with_coming<T>(&self, ask: impl FnOnce(&dyn Fn(Symbol) -> bool) -> T) -> T {
        let on_the_way = locked(&self.mobility.state);
        ask(&|name| on_the_way.transits.comes_from(name).is_some())
    }

    /// Marks an arriving agent to end as soon as it is here. Returns its source node if the agent does not belong to
    /// this node yet.
    pub fn doom_coming(&self, name: Symbol) -> Option<NodeId> {
        if !self.has_transits() {
            return None;
        }
        let mut on_the_way = locked(&self.mobility.state);
        let from = on_the_way.transits.comes_from(name)?;
        let is_here = self.with_ams(|ams| ams.kind(Aid::local(name)).is_some());
        let coming = on_the_way.prepared.get_mut(&name).filter(|_| !is_here)?;
        coming.doomed = true;
        Some(from)
    }

    /// Counts messages in the mailboxes of arriving agents.
    pub fn queued_coming(&self) -> u64 {
        locked(&self.mobility.state).prepared.values().map(|coming| coming.slot.mailbox.len() as u64).sum()
    }

    /// Recalls an agent, wherever it is. `then` is called with the outcome.
    pub fn recall(&self, agent: Symbol, then: HopCall) {
        let Some(then) = self.recall_coming(agent, then) else { return };
        match self.routes.look_up(agent).place() {
            Place::Node(node) => self.recall_at(node, agent, then),
            _ => self.recall_here(agent, then),
        }
    }

    /// Recalls an agent on its way here, as soon as it has arrived. Returns `then` if there is no such agent.
    fn recall_coming(&self, agent: Symbol, then: HopCall) -> Option<HopCall> {
        if !self.has_transits() {
            return Some(then);
        }
        let mut on_the_way = locked(&self.mobility.state);
        match on_the_way.prepared.get_mut(&agent) {
            Some(coming) => {
                coming.recalls.push(then);
                None
            }
            None => Some(then),
        }
    }

    /// Asks another node to recall an agent.
    pub fn recall_at(&self, node: NodeId, agent: Symbol, then: HopCall) {
        let number = self.random();
        locked(&self.mobility.recalls).insert(number, (node, then));
        let is_linked = self.linked.links().is_some_and(|links| links.nodes().contains(&node));
        if is_linked {
            return self.tell_hop(node, HopNews::Recall(agent, number));
        }
        let asked = locked(&self.mobility.recalls).remove(&number);
        if let Some((_, then)) = asked {
            then(Err(HopError::Unreachable(self.name_of(node))));
        }
    }

    /// Handles a job for an agent that has just gone. A recall follows the agent to its present node.
    pub fn recall_gone(&self, agent: Symbol, mut errand: HopJob) {
        if errand.request.mode == HopMode::Recall
            && let Some(then) = errand.then.take()
        {
            self.recall(agent, then);
        }
    }

    fn recall_here(&self, agent: Symbol, then: HopCall) {
        let home = self.with_ams(|ams| ams.ties(Aid::local(agent)).home);
        let to = if home == Symbol::default() { self.called() } else { home };
        let request = HopRequest { to, mode: HopMode::Recall };
        self.send_off(agent, Box::new(HopJob { request, then: Some(then) }));
    }

    /// Handles another node's request to recall an agent.
    fn hear_recall(self: &Arc<Self>, from: NodeId, agent: Symbol, number: u64) {
        if !self.permits_node(from, Action::Move, agent.as_str()) {
            let why = HopError::Forbidden(self.called());
            return self.tell_hop(from, HopNews::Recalled(number, Some(why)));
        }
        let node = Arc::clone(self);
        let answer = move |outcome: Result<(), HopError>| {
            node.tell_hop(from, HopNews::Recalled(number, outcome.err()));
        };
        self.recall(agent, Box::new(answer));
    }

    /// Sends an agent of this node, or a clone of it, to another node.
    pub fn send_off(&self, agent: Symbol, mut errand: Box<HopJob>) {
        if errand.request.mode == HopMode::Move
            && self.is_of_cluster(agent)
            && let Some(then) = errand.then.take()
        {
            return self.convey(agent, errand.request.to, then);
        }
        match self.routes.look_up(agent).place() {
            Place::Local(_) => self.change(agent, AgentChange::Hop(errand)),
            _ => errand.over(Err(HopError::NotMovable("it is not on this node".to_owned()))),
        }
    }
}
