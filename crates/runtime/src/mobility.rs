//! Agents that go from this node to another, come from one, or go from one to another without this one: what
//! `platform::mobility` says, carried out. What a shard does of it is in `shard::hops`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Envelope, Symbol, sym};
use whimbrel_platform::ams::{AgentKind, AgentState, NewAgent, Ties, name_fault};
use whimbrel_platform::durable::{Standing, State};
use whimbrel_platform::limits::{HOP_LIVED_MAX, HOP_MADE_AT_ONCE_BYTES};
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::{
    Crossing, Hop, HopError, HopId, HopMode, HopNews, HopRequest, Offer, Step, Transits, Wish,
};
use whimbrel_platform::policy::{Action, Principal};
use whimbrel_platform::route::{LocalRoute, NodeId, Place, Route, ShardIndex};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::DepartingBody;
use whimbrel_platform::{AgentBody, Arrival, EndReason, Event, Time};

use crate::linked::without_lease;
use crate::loader::CodeFound;
use crate::luggage::unpack;
use crate::node::{Introduction, Node, christen};
use crate::parcel::{Bearer, Change, Parcel};
use crate::services::NodeServices;
use crate::shard::{Slot, Status};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, locked};
use crate::turn::caught;
use crate::worker::attending;

/// What a node knows of agents on their way.
#[derive(Default)]
pub(crate) struct Mobility {
    state: Mutex<OnTheWay>,
    /// Whether any is: looked at without the lock.
    busy: AtomicBool,
    /// Agents that somebody here called home, on other nodes, or sent on to a client of another node: by a number, which node was asked, and who
    /// is told.
    recalls: Mutex<FxHashMap<u64, (NodeId, HopCall)>>,
}

/// See [`Transits`]; and the agents that are made here and do not run yet.
#[derive(Default)]
pub(crate) struct OnTheWay {
    pub transits: Transits,
    prepared: FxHashMap<Symbol, Prepared>,
}

/// An agent that comes.
struct Prepared {
    slot: Box<Slot>,
    kind: AgentKind,
    owner: Symbol,
    /// Root agent of its family.
    root: Symbol,
    shard: ShardIndex,
    /// It offered something when it came.
    offers: bool,
    /// It was to end before it was an agent of this node.
    doomed: bool,
    /// What binds it.
    ties: Ties,
    /// How long it had lived when it was offered.
    lived: Duration,
    /// It was called home.
    recalled: bool,
    /// Who calls it home while it comes.
    recalls: Vec<HopCall>,
}

/// That an agent is to go somewhere, and who is told what became of it.
pub(crate) struct Errand {
    pub request: HopRequest,
    pub then: Option<HopCall>,
}

/// Called with what became of a hop.
pub(crate) type HopCall = Box<dyn FnOnce(Result<(), HopError>) + Send>;

impl Errand {
    /// What the agent itself asked for.
    pub fn of(request: HopRequest) -> Box<Self> {
        Box::new(Self { request, then: None })
    }

    /// What the agent asked for, perhaps because somebody wants that.
    pub fn wanted(request: HopRequest, wish: Option<Wish>) -> Box<Self> {
        Box::new(Self { request, then: wish.map(Wish::into_call) })
    }

    pub fn over(&mut self, outcome: Result<(), HopError>) {
        if let Some(then) = self.then.take() {
            then(outcome);
        }
    }
}

impl Drop for Errand {
    /// Whoever it was for is not here any more. Nobody waits for ever to hear of that.
    fn drop(&mut self) {
        self.over(Err(HopError::NotMovable("it is not here any more".to_owned())));
    }
}

/// What a shard is to do for a hop.
pub(crate) enum HopOrder {
    /// Make an agent that comes from there.
    Make(Offer, NodeId),
    /// Let it go there, if it is still alive.
    LetGo(HopId, NodeId),
    /// The destination wants more of its state, from this byte on.
    More(HopId, u64, NodeId),
    /// It stays.
    Stay(HopId, HopError),
    /// It has a clone of this name.
    Cloned(HopId, Symbol),
    /// It is gone, and nothing comes from this node any more: pass on what waited for it.
    Empty(HopId, NodeId),
    /// Tell this node behind what was passed on.
    TellBehind(NodeId, HopNews),
    /// A message for an agent that is gone to this node. When it is at the door, all that comes for it may be.
    Late(Envelope, NodeId),
    /// An agent does not come: what waited for it goes where it is.
    Return(Symbol),
    /// An agent was called home when it had not heard yet what became of its last hop: call it again.
    CallAgain(Symbol, u32),
    /// A durable agent's partition does not go where it wants to be.
    Unmoved(Bearer, HopError),
}

/// Something that passes through shards.
pub(crate) struct Passage {
    crossing: Crossing,
    left: AtomicUsize,
}

impl Node {
    /// Asks what is known of agents on their way, and does what follows: before anybody else asks.
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

    fn take_step(&self, on_the_way: &mut OnTheWay, step: Step) {
        let order = |door, order| self.put(door, Parcel::Hop(Box::new(order)));
        match step {
            Step::Tell(to, HopNews::Follow(hop)) => self.follow(hop, to),
            Step::Tell(to, news) => self.tell_hop(to, news),
            Step::Cross(crossing) => self.cross(on_the_way, crossing),
            Step::LetGo(hop, door, to) => order(door, HopOrder::LetGo(hop, to)),
            Step::Stay(hop, door, why) => order(door, HopOrder::Stay(hop, why)),
            Step::Cloned { hop, door, clone } => order(door, HopOrder::Cloned(hop, clone)),
            Step::Empty(hop, door, to) => {
                self.follow_own(hop, to);
                order(door, HopOrder::Empty(hop, to));
            }
            Step::TellBehind(door, to, news) => order(door, HopOrder::TellBehind(to, news)),
            Step::Own(hop, from, standing, told) => self.own(on_the_way, hop, from, *standing, &told),
            Step::Begin(hop, from) => self.begin(on_the_way, hop, from),
            Step::Drop { hop, from, lost } => self.drop_prepared(on_the_way, hop, from, lost),
        }
    }

    pub fn tell_hop(&self, to: NodeId, news: HopNews) {
        if let Some(links) = self.linked.links() {
            links.tell(to, News::Hop(news));
        }
    }

    /// Has something pass through all shards. Who waits for work has nothing under way, so mostly it has passed at once.
    fn cross(&self, on_the_way: &mut OnTheWay, crossing: Crossing) {
        let busy: Vec<usize> =
            self.seats.iter().enumerate().filter(|(_, seat)| !seat.inbox.is_done_with()).map(|(i, _)| i).collect();
        if busy.is_empty() {
            return on_the_way.transits.handle_crossed(crossing, |node| self.name_of(node));
        }
        let passage = Arc::new(Passage { crossing, left: AtomicUsize::new(busy.len()) });
        for shard in busy {
            self.put(shard as ShardIndex, Parcel::Cross(Arc::clone(&passage)));
        }
    }

    /// One shard less: what came before is handed over.
    pub fn passed(&self, passage: &Passage) {
        if passage.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.with_transits(|it| it.transits.handle_crossed(passage.crossing, |node| self.name_of(node)));
        }
    }

    /// Another node has news of an agent on its way.
    pub fn hear_hop(self: &Arc<Self>, from: NodeId, news: HopNews) {
        match news {
            HopNews::Offer(offer) => self.hear_offer(from, *offer),
            HopNews::Lacks { hop, at } => self.give_code(from, hop, at),
            HopNews::Code(hop, part) => self.hear_code(from, hop, &part),
            HopNews::More { hop, at } => {
                if let Some(door) = self.with_transits(|it| it.transits.door_for(from, hop)) {
                    self.put(door, Parcel::Hop(Box::new(HopOrder::More(hop, at, from))));
                }
            }
            HopNews::State(hop, piece) => self.hear_state(from, hop, &piece),
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
            // While it neither comes nor begins.
            HopNews::Clear(hop, topics) => {
                self.with_transits(|it| self.hear_clear(from, hop, topics, it.transits.source_before_commit(hop)));
            }
            HopNews::Follow(hop) => {
                // What comes behind that is none of this node's to pass on.
                self.with_topics(|topics| topics.handle_followed(hop, from));
                self.with_transits(|it| it.transits.handle_news(from, self.name_of(from), HopNews::Follow(hop)));
            }
            news => self.with_transits(|it| it.transits.handle_news(from, self.name_of(from), news)),
        }
    }

    /// An agent of one other node is at another one from now on.
    fn hear_departed(&self, from: NodeId, agent: Symbol, to: Symbol) {
        let to = self.linked.links().and_then(|links| links.node_named(to.as_str()));
        let Some(to) = to else {
            // As soon as there is a link, that node tells of its agents.
            let reason = EndReason::Failed("it left for an unknown node".to_owned());
            return self.agent_ended_elsewhere(&agent.into(), from, &reason);
        };
        let moved = self.with_ams(|ams| {
            let kind = ams.kind_anywhere(Aid::local(agent)).filter(|_| ams.node_of(agent) == Some(from));
            kind.is_some_and(|kind| ams.handle_elsewhere(agent, to, kind))
        });
        if moved {
            self.routes.set(agent, Route::node(to));
            self.relieved(agent);
            self.hear_gone(agent, to);
        }
    }

    fn hear_offer(self: &Arc<Self>, from: NodeId, offer: Offer) {
        let hop = offer.hop;
        let is_new = self.with_transits(|it| match offer.clone {
            None => it.transits.handle_offer(from, hop),
            Some(_) => it.transits.handle_clone_offer(from, hop),
        });
        if !is_new {
            let why = self.no("an agent of its name is on its way here already");
            return self.tell_hop(from, HopNews::Refuse(hop, why));
        }
        // Who waits on this link with nothing else to do makes it without being called for that.
        let is_small = offer.clone.is_none() && offer.is_whole() && offer.state.len() <= HOP_MADE_AT_ONCE_BYTES;
        match attending().filter(|_| is_small) {
            Some(shard) => self.make_coming(shard, from, offer),
            None => self.have_made(from, offer),
        }
    }

    /// Has an agent made that comes, whose code may be here.
    pub fn have_made(&self, from: NodeId, offer: Offer) {
        self.put(self.quiet_shard(), Parcel::Hop(Box::new(HopOrder::Make(offer, from))));
    }

    /// A shard that has nothing to do, if there is one: best that of the worker which this thread is, as none has to be woken then.
    fn quiet_shard(&self) -> ShardIndex {
        let here = attending().filter(|shard| self.seat(*shard).is_some_and(|seat| seat.inbox.is_done_with()));
        if let Some(shard) = here {
            return shard;
        }
        self.seats.iter().position(|seat| seat.inbox.is_done_with()).unwrap_or_default() as ShardIndex
    }

    pub fn no(&self, reason: &str) -> HopError {
        HopError::Refused { node: self.called(), reason: reason.to_owned() }
    }

    /// Makes an agent that comes, or says why not.
    pub fn make_coming(self: &Arc<Self>, shard: ShardIndex, from: NodeId, offer: Offer) {
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
            // When it is known what it is called.
            Some(_) => Ok(body),
        };
        match (self.body_of(&offer).and_then(admitted), offer.clone) {
            (Ok(body), None) => self.prepare(shard, from, offer, body),
            // Its original may have ended since.
            (Ok(_), Some(_)) if !self.with_transits(|it| it.transits.handle_clone_done(from, hop)) => {}
            (Ok(body), Some(name)) => match self.clone_here(shard, from, &offer, name, body) {
                Ok(clone) => self.tell_hop(from, HopNews::Cloned(hop, clone)),
                Err(why) => self.tell_hop(from, HopNews::Refuse(hop, why)),
            },
            (Err(why), _) => self.refuse_coming(from, &offer, why),
        }
    }

    /// An agent cannot come: why.
    pub fn refuse_coming(&self, from: NodeId, offer: &Offer, why: HopError) {
        match offer.clone {
            None => self.with_transits(|it| it.transits.refuse(from, offer.hop, why)),
            Some(_) => {
                if self.with_transits(|it| it.transits.handle_clone_done(from, offer.hop)) {
                    self.tell_hop(from, HopNews::Refuse(offer.hop, why));
                }
            }
        }
    }

    fn permit_coming(&self, from: NodeId, offer: &Offer) -> Result<(), HopError> {
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

    /// Whether an agent that is on its way to a client of this node would be offered to it: if not it had better stay where it is.
    fn permit_onward(&self, offer: &Offer) -> Result<(), HopError> {
        if offer.onward == Symbol::default() { Ok(()) } else { self.shelf.may_invite(offer.onward) }
    }

    /// Who an agent is to the policy that comes from there. One that was with a client is what agents of sessions are, wherever it goes.
    pub fn traveller(&self, from: NodeId, offer: &Offer) -> Principal {
        let (name, node) = (offer.hop.agent, self.name_of(from));
        if offer.kind == AgentKind::Session { Principal::Session { name, node } } else { self.bearer(name, node) }
    }

    fn body_of(&self, offer: &Offer) -> Result<Box<dyn AgentBody>, HopError> {
        let states = [State::Whole(unpack(offer).map_err(|reason| self.no(&reason))?)];
        let made = caught(|| self.restore(offer.hop.agent, &offer.origin, &states, self.now()));
        made.unwrap_or_else(Err).map_err(|reason| self.no(&reason))
    }

    /// Asks an agent that comes, as it was made from its state, whether it can go on here.
    fn welcome(
        self: &Arc<Self>,
        shard: ShardIndex,
        from: NodeId,
        offer: &Offer,
        name: Symbol,
        body: &mut dyn AgentBody,
    ) -> Result<(), String> {
        if offer.clone.is_some() {
            self.permit_clone(offer.kind, name, offer.hop.agent)?;
        }
        let services = NodeServices { node: Arc::clone(self), shard, in_turn: false };
        let arrival = Arrival {
            name,
            owner: offer.owner,
            from: self.name_of(from),
            clone_of: offer.clone.map(|_| offer.hop.agent),
            services: &services,
        };
        caught(|| body.admit(&arrival)).unwrap_or_else(Err)
    }

    /// The agent is made: from now on what is sent to it here waits.
    fn prepare(self: &Arc<Self>, shard: ShardIndex, from: NodeId, offer: Offer, body: Box<dyn AgentBody>) {
        let ties = self.ties_of(&offer);
        let lived = Duration::from_millis(offer.age_ms.min(HOP_LIVED_MAX));
        let handled = offer.handled.min(HOP_LIVED_MAX);
        let Offer { hop, kind, owner, root, recalled, onward, .. } = offer;
        // What is told when it begins here is kept from it: it is not where it goes yet.
        let goes_on = onward != Symbol::default();
        let body = if goes_on { self.sent_on(from, hop, onward, body) } else { body };
        self.with_transits(|it| {
            if !it.transits.is_offered(from, hop) {
                return;
            }
            let generation = self.next_generation(1);
            let mut slot = christen(Box::new(Slot::new(body)), hop.agent, generation);
            slot.handled = handled;
            let route = LocalRoute { shard, slot: None, generation, crowded: false };
            let mut before = self.routes.look_up(hop.agent);
            while before.place() == Place::Node(from) {
                match self.routes.replace(hop.agent, before, Route::local(route)) {
                    Ok(()) => {
                        it.transits.handle_made(hop);
                        let (offers, recalls) = (false, Vec::new());
                        let doomed = false;
                        let coming =
                            Prepared { slot, kind, owner, root, shard, offers, doomed, ties, lived, recalled, recalls };
                        it.prepared.insert(hop.agent, coming);
                        // It was another node's, and who waited because it was crowded waits for that node's word no more.
                        self.relieved(hop.agent);
                        return;
                    }
                    // It may be as crowded as it was not a moment ago.
                    Err(now) => before = now,
                }
            }
            // It ended since it was offered.
            it.transits.refuse(from, hop, self.no("it has ended"));
        });
    }

    /// An agent that is to go on to a client of this node. The node that it comes from hears what became of that.
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

    /// An agent leaves for a node from which it is to go on to a client: that node says what becomes of it, under the hop's number.
    pub fn await_onward(&self, hop: HopId, to: NodeId, then: Option<HopCall>) {
        if let Some(then) = then {
            locked(&self.mobility.recalls).insert(hop.number, (to, then));
        }
    }

    /// It did not leave after all.
    pub fn await_no_more(&self, hop: HopId) -> Option<HopCall> {
        locked(&self.mobility.recalls).remove(&hop.number).map(|(_, then)| then)
    }

    fn clone_here(
        self: &Arc<Self>,
        shard: ShardIndex,
        from: NodeId,
        offer: &Offer,
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

    /// What binds an agent that comes now.
    fn ties_of(&self, offer: &Offer) -> Ties {
        let home = if offer.home == self.my_name() { Symbol::default() } else { offer.home };
        let until = offer.lifetime_ms.map_or(Time::NEVER, |ms| self.now() + Duration::from_millis(ms));
        Ties { home, until }
    }

    fn tie(&self, agent: Aid, ties: Ties) {
        // It may have ended again.
        let _ = self.with_ams(|ams| ams.tie(agent, ties));
        if ties.until < Time::NEVER {
            self.change(sym::AMS, Change::Wake);
        }
    }

    /// What its source says of an agent that comes is about no other one, and what the policy of this node forbids does not come along.
    fn restrict(&self, agent: Symbol, from: NodeId, standing: &mut Standing) {
        standing.agent = agent;
        standing.entry.take_if(|entry| entry.agent != Some(Aid::local(agent)) || !self.permits_services(from, entry));
    }

    /// An agent that comes is one of this node from now on. It does not run yet.
    fn own(&self, on_the_way: &mut OnTheWay, hop: HopId, from: NodeId, mut standing: Standing, told: &[Symbol]) {
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
        coming.slot.status = if is_held { Status::LeavingHeld } else { Status::LeavingQueued };
        self.own_places(hop, from, places, told);
        coming.offers = standing.entry.is_some();
        self.take_over_entry(standing);
    }

    /// An agent that came begins: all that was on its way to it elsewhere is in its mailbox.
    fn begin(&self, on_the_way: &mut OnTheWay, hop: HopId, from: NodeId) {
        let Some(coming) = on_the_way.prepared.remove(&hop.agent) else { return };
        let Prepared { mut slot, kind, shard, offers, doomed, ties, recalled, recalls, .. } = coming;
        let source = self.name_of(from);
        let hopped = Hop::Arrived { from: source };
        // What is wrong with it shows in its next turn.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if recalled {
                slot.body.recalled();
            }
            slot.body.hopped(&hopped);
        }));
        // It may have been killed since it is here.
        if self.with_ams(|ams| ams.kind(slot.aid()).is_some()) {
            self.tell_of(slot.aid(), kind, offers, from);
            self.tell(Event::Came(slot.aid(), source));
        } else if let Some(links) = self.linked.links() {
            // Who heard of that before it heard of the hop believes it to be here.
            links.tell_all(News::AgentEnded(hop.agent.into(), EndReason::Killed));
        }
        // Not before all nodes know that it is here: none is to hear of its end first.
        self.tie(slot.aid(), ties);
        self.put(shard, Parcel::Arrive(vec![slot]));
        recalls.into_iter().for_each(|then| self.recall_here(hop.agent, then));
        if doomed {
            let _ = self.with_ams(|ams| ams.kill(Aid::local(hop.agent)));
        }
    }

    /// Tells all nodes of an agent that came: those that had no link to its source do not know of it. The source does: it let it go.
    fn tell_of(&self, agent: Aid, kind: AgentKind, offered: bool, source: NodeId) {
        let Some(links) = self.linked.links() else { return };
        for node in links.nodes().into_iter().filter(|node| *node != source) {
            links.tell(node, News::Agents(vec![(agent.name.into(), kind)]));
        }
        match self.with_df(|df| df.description_of(agent).map(without_lease)) {
            Some(entry) => links.tell_all(News::Service(Box::new(entry))),
            // It was taken back meanwhile, which nobody believed who did not know yet that it is here.
            None if offered => links.tell_all(News::NoService(agent.name)),
            None => {}
        }
    }

    /// An agent does not come after all.
    fn drop_prepared(&self, on_the_way: &mut OnTheWay, hop: HopId, from: NodeId, lost: bool) {
        let Some(Prepared { slot, shard, recalls, .. }) = on_the_way.prepared.remove(&hop.agent) else { return };
        let (name, generation) = (hop.agent, slot.generation);
        self.leave_all(name);
        self.monitors.moved(name, Some(generation), None);
        let is_there = !lost && self.with_ams(|ams| ams.node_of(name)) == Some(from);
        let on_its_way = Route::local(LocalRoute { shard, slot: None, generation, crowded: false });
        // It may have ended there, and another one of its name be here.
        let _ = self.routes.replace(name, on_its_way, if is_there { Route::node(from) } else { Route::UNKNOWN });
        if let Some(links) = self.linked.links().filter(|_| lost) {
            // Should another node have heard that it is here, it is not.
            links.tell_all(News::AgentEnded(name.into(), EndReason::Failed("its node is lost".to_owned())));
        }
        self.put(shard, Parcel::Hop(Box::new(HopOrder::Return(name))));
        for then in recalls {
            match is_there {
                true => self.recall_at(from, name, then),
                false => then(Err(HopError::NotMovable("its node is lost".to_owned()))),
            }
        }
        let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
    }

    /// Another node is lost. To be called before its agents are forgotten.
    pub fn lose_hops(self: &Arc<Self>, lost: NodeId) {
        // Under the lock in any case: an agent may just be offered to that node.
        self.with_transits(|it| it.transits.handle_lost(lost, self.name_of(lost)));
        self.lose_orders(lost);
        let asked: Vec<HopCall> = locked(&self.mobility.recalls)
            .extract_if(|_, (node, _)| *node == lost)
            .map(|(_, (_, then))| then)
            .collect();
        asked.into_iter().for_each(|then| then(Err(HopError::Unreachable(self.name_of(lost)))));
        self.drop_luggage(|bearer| bearer.node == lost);
    }

    /// The platform stops: who comes ends as all others, or stays where it is.
    pub fn stop_hops(&self) {
        self.stop_orders();
        self.refuse_luggage();
        self.with_transits(|it| {
            it.transits.stop();
            for Prepared { slot, shard, .. } in std::mem::take(&mut it.prepared).into_values() {
                if self.with_ams(|ams| ams.kind(slot.aid()).is_some()) {
                    self.put(shard, Parcel::Arrive(vec![slot]));
                }
            }
        });
    }

    /// A message that another node passed on: into the mailbox of the agent that comes from there, before all that was sent
    /// here. Comes back if there is none.
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

    /// By which shard what comes for an agent that is gone is passed on, and where.
    pub fn door_of(&self, name: Symbol) -> Option<(ShardIndex, NodeId)> {
        if !self.has_transits() {
            return None;
        }
        locked(&self.mobility.state).transits.door_of(name)
    }

    /// Whether an agent is on its way here from that node.
    pub fn comes_from(&self, name: Symbol, node: NodeId) -> bool {
        self.has_transits() && locked(&self.mobility.state).transits.comes_from(name) == Some(node)
    }

    /// Asks which agents are on their way here, while none comes or begins.
    pub fn with_coming<T>(&self, ask: impl FnOnce(&dyn Fn(Symbol) -> bool) -> T) -> T {
        let on_the_way = locked(&self.mobility.state);
        ask(&|name| on_the_way.transits.comes_from(name).is_some())
    }

    /// An agent that comes is to end as soon as it is here. The node that it leaves, if it is not an agent of this one yet.
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

    /// Messages in the mailboxes of agents that come.
    pub fn queued_coming(&self) -> u64 {
        locked(&self.mobility.state).prepared.values().map(|coming| coming.slot.mailbox.len() as u64).sum()
    }

    /// Calls an agent home, wherever it is; `then` hears what came of it.
    pub fn recall(&self, agent: Symbol, then: HopCall) {
        let Some(then) = self.recall_coming(agent, then) else { return };
        match self.routes.look_up(agent).place() {
            Place::Node(node) => self.recall_at(node, agent, then),
            _ => self.recall_here(agent, then),
        }
    }

    /// Calls an agent home that is on its way here: as soon as it is there. `None` if there is such an agent.
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

    /// Has another node call an agent home.
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

    /// Somebody wants something of an agent that has just gone: if it was called home, it is called where it is now.
    pub fn recall_gone(&self, agent: Symbol, mut errand: Errand) {
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
        self.send_off(agent, Box::new(Errand { request, then: Some(then) }));
    }

    /// Another node wants an agent to come home.
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

    /// Has an agent of this node go to another one, or a clone of it.
    pub fn send_off(&self, agent: Symbol, mut errand: Box<Errand>) {
        if errand.request.mode == HopMode::Move
            && self.is_of_cluster(agent)
            && let Some(then) = errand.then.take()
        {
            return self.convey(agent, errand.request.to, then);
        }
        match self.routes.look_up(agent).place() {
            Place::Local(_) => self.change(agent, Change::Hop(errand)),
            _ => errand.over(Err(HopError::NotMovable("it is not on this node".to_owned()))),
        }
    }
}
