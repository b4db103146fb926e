//! Agents go to other nodes, and come from there: a shard's part. `docs/design/mobility.md` has the whole.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{HOP_NUMBER_BITS, HOP_PIECE_BYTES, HOP_STATE_BYTES_MAX};
use whimbrel_platform::mobility::{Hop, HopError, HopId, HopMode, HopNews, HopRequest, Offer, Part, Whence};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::{NodeId, Place, Route};
use whimbrel_platform::{EndReason, Event, Time};

use super::slot::{Doom, Status};
use super::{Early, Shard};
use crate::luggage::Packed;
use crate::mobility::{Errand, HopOrder, Passage};
use crate::parcel::{Bearer, Change, Parcel};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::turn::panic_text;

/// Why an agent of a society that one node keeps does not go to another one.
pub(crate) const KEPT_BY_ONE: &str = "its society is kept by this node alone, and would lose what left it";

/// An agent of this shard that is leaving.
pub(super) struct Hopping {
    hop: HopId,
    index: u32,
    errand: Box<Errand>,
    /// It is another node's: only what waited for it is here.
    gone: bool,
    /// Who calls it home meanwhile.
    recalls: Vec<Errand>,
    /// Its state as it travels, if that takes more than one piece.
    state: Option<Vec<u8>>,
    /// Where the piece of it begins that is due.
    state_at: u64,
    /// When it was offered, and how many bytes its state has.
    offered: (Time, u64),
    /// It goes on to a client from there.
    onward: bool,
}

/// An agent that was offered.
struct Offered {
    hop: HopId,
    /// Its state, if there is more of that than can be sent at once.
    state: Option<Vec<u8>>,
    /// How many bytes that is.
    bytes: u64,
    /// See [`Hopping::onward`].
    onward: bool,
}

impl Hopping {
    /// Whether it is the agent in this place.
    pub(super) fn is_of(&self, index: u32) -> bool {
        self.index == index
    }
}

impl Shard {
    /// Has an agent go to another node, or a clone of it. Whatever stands in the way, it is told and goes on here.
    pub(super) fn begin_hop(&mut self, index: u32, mut errand: Box<Errand>) {
        if let Some(under_way) = self.hops.values_mut().find(|it| it.index == index) {
            if errand.request.mode == HopMode::Recall {
                match under_way.gone {
                    true => self.node.recall_gone(under_way.hop.agent, *errand),
                    false => under_way.recalls.push(*errand),
                }
                return;
            }
            // It is told of the hop that is under way, and has no turns until then.
            return errand.over(Err(HopError::NotMovable("it is leaving already".to_owned())));
        }
        if self.is_written_down(index) && self.node.cluster.is_some() {
            return self.begin_journey(index, *errand);
        }
        let Some(errand) = self.put_off(index, errand) else { return };
        let node = Arc::clone(&self.node);
        let _gathering = node.gather();
        let bearer = self.slots.at(index).map(|slot| (slot.name, slot.generation));
        let calls = bearer.and_then(|bearer| self.called.remove(&bearer)).unwrap_or_default();
        // It has had its turn, and wants to go on to somewhere else: whoever calls it home comes first, or might call for ever.
        if calls.is_empty() || errand.request.mode == HopMode::Recall {
            self.set_off(index, errand);
        }
        self.call_home(index, calls);
    }

    fn call_home(&mut self, index: u32, calls: Vec<Errand>) {
        calls.into_iter().for_each(|errand| self.begin_hop(index, Box::new(errand)));
    }

    /// Who has not heard yet what became of its last hop, and is called home, is called again when it has had a turn.
    fn put_off(&mut self, index: u32, errand: Box<Errand>) -> Option<Box<Errand>> {
        let is_recall = errand.request.mode == HopMode::Recall;
        let called = self.slots.at(index).filter(|slot| is_recall && slot.status != Status::Held);
        match called.and_then(|slot| slot.body.has_news().then_some(slot)) {
            Some(slot) => {
                let (name, generation) = (slot.name, slot.generation);
                self.called.entry((name, generation)).or_default().push(*errand);
                self.node.put(self.index, Parcel::Hop(Box::new(HopOrder::CallAgain(name, generation))));
                None
            }
            None => Some(errand),
        }
    }

    /// Calls those home again that were put off, wherever they are by now.
    fn call_again(&mut self, name: Symbol, generation: u32) {
        let Some(calls) = self.called.remove(&(name, generation)) else { return };
        for errand in calls {
            self.change(Bearer { name, generation }, Change::Hop(Box::new(errand)));
        }
    }

    fn set_off(&mut self, index: u32, errand: Box<Errand>) {
        let Some(errand) = self.ask_client(index, errand).and_then(|errand| self.invite(index, errand)) else {
            return;
        };
        // Who is paused by an operator goes nowhere but by his own will, when told to take a step.
        let stays = self.slots.at(index).filter(|_| errand.then.is_some());
        let stays = stays.and_then(|slot| slot.body.stays().map(str::to_owned));
        let offered = stays.map_or_else(|| self.offer(index, &errand.request), |why| Err(HopError::NotMovable(why)));
        match offered {
            Ok(Offered { hop, state, bytes, onward }) => {
                let (offered, state_at) = ((self.node.now(), bytes), HOP_PIECE_BYTES as u64);
                let recalls = Vec::new();
                let hopping = Hopping { hop, index, errand, gone: false, recalls, state, state_at, offered, onward };
                self.hops.insert(hop.agent, hopping);
            }
            Err(why) => self.stay(index, *errand, why),
        }
    }

    /// An agent does not set off.
    pub(super) fn stay(&mut self, index: u32, mut errand: Errand, why: HopError) {
        let HopRequest { to, mode } = errand.request;
        // Who is home when called home came home.
        let is_home = mode == HopMode::Recall && matches!(why, HopError::AlreadyThere(_));
        errand.over(if is_home { Ok(()) } else { Err(why.clone()) });
        self.tell_stayed(index, mode, &Hop::Stayed { to, why });
    }

    /// Tells an agent that it, or its clone, stays: and if it was called home, that too.
    fn tell_stayed(&mut self, index: u32, mode: HopMode, outcome: &Hop) {
        if mode == HopMode::Recall
            && let Some(slot) = self.slots.at(index)
        {
            // What is wrong with it shows in its next turn.
            let _ = catch_unwind(AssertUnwindSafe(|| slot.body.recalled()));
        }
        self.tell_hopped(index, outcome);
    }

    /// Where an agent's code is, and its state before it is packed; `None` if it does not travel, or has its turn.
    pub(crate) fn luggage_of(&mut self, index: u32) -> Option<(Origin, Vec<u8>)> {
        let now = self.now;
        let body = &self.slots.at(index)?.body;
        let written = catch_unwind(AssertUnwindSafe(|| body.origin().zip(body.snapshot(now))));
        written.ok().flatten()
    }

    /// Offers an agent to the node where it is to be. From now on it has no turns.
    fn offer(&mut self, index: u32, request: &HopRequest) -> Result<Offered, HopError> {
        let (to, onward) = self.may_hop(index, request)?;
        // What it sent comes before it.
        self.flush();
        let now = self.now;
        let not_movable = |why: &str| HopError::NotMovable(why.to_owned());
        let slot = self.slots.at(index).ok_or_else(|| not_movable("it has its turn"))?;
        let written = catch_unwind(AssertUnwindSafe(|| {
            slot.body.before_hop();
            (slot.body.origin(), slot.body.snapshot(now))
        }));
        let (origin, state) = written.map_err(|panic| {
            // As in a turn: it is over with it.
            slot.doom = Some(Box::new(Doom::End(EndReason::Failed(panic_text(&*panic)))));
            not_movable("it failed")
        })?;
        let origin = origin.ok_or_else(|| not_movable("nobody else could find its code"))?;
        let state = state.ok_or_else(|| not_movable("this kind of agent has no state that can be"))?;
        if state.len() > HOP_STATE_BYTES_MAX {
            return Err(HopError::TooLarge { bytes: state.len() as u64, bytes_max: HOP_STATE_BYTES_MAX as u64 });
        }
        self.delayed -= usize::from(slot.status == Status::Delayed);
        slot.status = if slot.status == Status::Held { Status::LeavingHeld } else { Status::LeavingQueued };
        let hop = HopId { agent: slot.name, number: self.node.random() >> (u64::BITS - HOP_NUMBER_BITS) };
        let aid = slot.aid();
        let handled = slot.handled;
        let (known, root) = self.node.with_ams(|ams| (ams.describe(aid), ams.root_of(aid.name)));
        let (kind, owner) = known.map_or((AgentKind::Native, Symbol::default()), |known| (known.kind, known.owner));
        let recalled = request.mode == HopMode::Recall;
        let (clone, home, lifetime_ms) = self.bounds(aid, request.mode);
        let is_clone = clone.is_some();
        let age = known.map(|known| known.age(self.node.now())).unwrap_or_default();
        // A clone is a new agent.
        let (age_ms, handled) = if is_clone { (0, 0) } else { (age.as_millis() as u64, handled) };
        let code = origin.code();
        let packed = Packed::of(state, &origin);
        let (of, unpacked) = (packed.bytes.len() as u64, packed.unpacked);
        let (state, rest) = packed.split();
        let origin = Whence(origin);
        let offer = Offer {
            hop,
            kind,
            owner,
            root,
            origin,
            state,
            of,
            unpacked,
            clone,
            home,
            lifetime_ms,
            age_ms,
            handled,
            recalled,
            onward,
        };
        self.node.with_transits(|it| {
            // It may be lost meanwhile. If it is from now on, the transits hear of that.
            if self.node.way_to(request.to) != Some((to, onward)) {
                return Err(HopError::Unreachable(request.to));
            }
            it.transits.handle_offered(hop, to, self.index, is_clone, code);
            self.node.tell_hop(to, HopNews::Offer(Box::new(offer)));
            Ok(Offered { hop, state: rest, bytes: of, onward: onward != Symbol::default() })
        })
    }

    /// Of an agent that is offered, or its clone: the clone's name, the node it is at home on, and how many milliseconds it may live.
    fn bounds(&self, agent: Aid, mode: HopMode) -> (Option<Symbol>, Symbol, Option<u64>) {
        let (clone, lifetime) = match mode {
            HopMode::Clone(name) => (Some(name), None),
            HopMode::Minion(name, lifetime) => (Some(name), Some(lifetime)),
            HopMode::Move | HopMode::Recall => (None, None),
        };
        let ties = self.node.with_ams(|ams| ams.ties(agent));
        let is_new_here = clone.is_some() || ties.home == Symbol::default();
        let home = if is_new_here { self.node.my_name() } else { ties.home };
        // Nobody lives longer for being cloned.
        let left = (ties.until < Time::NEVER).then(|| ties.until.max(self.now) - self.now);
        let lifetime = left.into_iter().chain(lifetime).min();
        (clone, home, lifetime.map(|left| left.as_millis() as u64))
    }

    /// The node where an agent may go, if it may and can; and the agent of a client there to which it goes on.
    fn may_hop(&mut self, index: u32, request: &HopRequest) -> Result<(NodeId, Symbol), HopError> {
        if request.to == self.node.called() {
            return Err(HopError::AlreadyThere(request.to));
        }
        if self.node.linked.links().is_none() {
            return Err(HopError::OneNode);
        }
        let (aid, me) = (self.may_leave(index)?, self.node.called());
        let way = self.node.way_to(request.to).ok_or(HopError::NoSuchNode(request.to))?;
        if way.1 != Symbol::default() && !matches!(request.mode, HopMode::Move | HopMode::Recall) {
            return Err(HopError::NotMovable("clones do not go to clients".to_owned()));
        }
        // Not by its route: while the platform stops, that may be gone already.
        let who = self.node.bearer(aid.name, me);
        // A clone is created there, and moves there: a rule for its name is about both.
        let is_kept_back = match request.mode {
            HopMode::Clone(name) | HopMode::Minion(name, _) => self.node.forbids(who, Action::Move, name.as_str()),
            HopMode::Move | HopMode::Recall => false,
        };
        let may = !is_kept_back && self.node.permits(who, Action::Move, aid.name.as_str());
        if may { Ok(way) } else { Err(HopError::Forbidden(me)) }
    }

    /// The agent in this place, if it can leave at all.
    pub(super) fn may_leave(&mut self, index: u32) -> Result<Aid, HopError> {
        let not_movable = |why: &str| Err(HopError::NotMovable(why.to_owned()));
        let is_off = self.slots.at(index).map(|slot| slot.name).is_some_and(|name| self.is_off(name));
        let Some(slot) = self.slots.at(index) else { return not_movable("it has its turn") };
        let aid = slot.aid();
        if slot.doom.is_some() || self.ending {
            return Err(HopError::Stopping);
        }
        if is_off {
            return not_movable("it is leaving already");
        }
        if slot.body.has_news() {
            return not_movable("it has not heard yet what became of its last hop");
        }
        if self.node.scribe.is_some() {
            let one = self.node.cluster.is_none();
            return not_movable(if one {
                KEPT_BY_ONE
            } else {
                "its society is kept, and it is not: it lives where it began"
            });
        }
        if slot.supervisor != Symbol::default() {
            return not_movable("it is supervised");
        }
        Ok(aid)
    }

    /// Tells an agent what became of its hop. It has a turn then, unless it is held.
    pub(super) fn tell_hopped(&mut self, index: u32, hop: &Hop) {
        let Some(slot) = self.slots.at(index) else { return };
        // What is wrong with it shows in its next turn.
        let _ = catch_unwind(AssertUnwindSafe(|| slot.body.hopped(hop)));
        match slot.status {
            Status::LeavingHeld | Status::Held => slot.status = Status::Held,
            Status::Leaving | Status::LeavingQueued => {
                slot.status = Status::Idle;
                self.enqueue(index);
            }
            _ => self.enqueue(index),
        }
    }

    /// Does what is to be done for a hop.
    pub(super) fn handle_hop(&mut self, order: HopOrder) {
        match order {
            HopOrder::Make(offer, from) => self.node.make_coming(self.index, from, offer),
            HopOrder::LetGo(hop, to) => self.let_go(hop, to),
            HopOrder::More(hop, at, to) => {
                // Each is given once: to ask takes no memory, and what is given does until it has left.
                let is_due = |hopping: &&mut Hopping| hopping.hop == hop && hopping.state_at == at;
                let hopping = self.hops.get_mut(&hop.agent).filter(is_due);
                if let Some(Hopping { state: Some(state), state_at, .. }) = hopping {
                    *state_at += HOP_PIECE_BYTES as u64;
                    self.node.tell_hop(to, HopNews::State(hop, Part::of(state, at, HOP_PIECE_BYTES)));
                }
            }
            HopOrder::Stay(hop, why) => {
                let Some(Hopping { index, mut errand, recalls, .. }) = self.take_hopping(hop) else { return };
                let HopRequest { to, mode } = errand.request;
                errand.over(Err(why.clone()));
                self.tell_stayed(index, mode, &Hop::Stayed { to, why });
                recalls.into_iter().for_each(|errand| self.begin_hop(index, Box::new(errand)));
            }
            HopOrder::Cloned(hop, clone) => {
                let Some(Hopping { index, mut errand, recalls, .. }) = self.take_hopping(hop) else { return };
                errand.over(Ok(()));
                self.tell_hopped(index, &Hop::Cloned { clone, to: errand.request.to });
                recalls.into_iter().for_each(|errand| self.begin_hop(index, Box::new(errand)));
            }
            HopOrder::Empty(hop, to) => self.empty(hop, to),
            HopOrder::TellBehind(to, news) => self.node.tell_hop(to, news),
            HopOrder::Late(envelope, to) => self.take_late(envelope, to),
            HopOrder::Return(name) => self.send_back(name),
            HopOrder::CallAgain(name, generation) => self.call_again(name, generation),
            HopOrder::Unmoved(bearer, why) => self.unmoved(bearer, why),
        }
    }

    fn take_hopping(&mut self, hop: HopId) -> Option<Hopping> {
        let is_it = self.hops.get(&hop.agent).is_some_and(|hopping| hopping.hop == hop);
        if is_it { self.hops.remove(&hop.agent) } else { None }
    }

    /// The destination is ready: from now on the agent is its, unless it ended just now.
    fn let_go(&mut self, hop: HopId, to: NodeId) {
        let name = hop.agent;
        let Some((index, offered)) =
            self.hops.get(&name).filter(|it| it.hop == hop && !it.gone).map(|it| (it.index, it.offered))
        else {
            return;
        };
        self.node.note_hop(to, self.node.now() - offered.0, offered.1);
        let Some(slot) = self.slots.at(index) else { return };
        let (generation, crowded) = (slot.generation, slot.crowded);
        let mut standing = Box::new(self.node.standing_of(name, 0));
        let node = &self.node;
        let hopping = self.hops.get_mut(&name).filter(|hopping| hopping.onward);
        // Before anybody can say what became of it.
        node.await_onward(hop, to, hopping.and_then(|hopping| hopping.errand.then.take()));
        let gone = node.with_transits(|it| {
            if !it.transits.is_leaving(hop) {
                // Its destination was lost just now: it is about to hear that it stays.
                return None;
            }
            let others = node.with_ams(|ams| {
                let kind = ams.kind(Aid::local(name))?;
                // Who is introduced from now on hears of it from its new node.
                let others = node.linked.links().map(|links| links.nodes()).unwrap_or_default();
                node.with_topics(|topics| topics.handle_leaving(hop, to, others.iter().copied()));
                if !self.redirect(name, index, generation, Route::node(to)) {
                    return None;
                }
                standing.state = ams.state(Aid::local(name)).unwrap_or(standing.state);
                ams.handle_left(name);
                ams.handle_elsewhere(name, to, kind);
                Some(others)
            });
            match others {
                Some(others) => {
                    let named: Vec<_> = others.into_iter().map(|other| (other, node.name_of(other))).collect();
                    it.transits.handle_gone(hop, node.name_of(to), standing, &named);
                    Some(true)
                }
                None => Some(!it.transits.cancel(name)),
            }
        });
        if gone != Some(true)
            && let Some(hopping) = self.hops.get_mut(&name).filter(|hopping| hopping.onward)
        {
            hopping.errand.then = node.await_no_more(hop);
        }
        match gone {
            Some(true) => self.note_left(index, generation, crowded, hop, to),
            Some(false) => self.called_off(index),
            None => {}
        }
    }

    /// An agent is another node's from now on.
    fn note_left(&mut self, index: u32, generation: u32, crowded: bool, hop: HopId, to: NodeId) {
        let (name, node) = (hop.agent, &self.node);
        node.tell(Event::Left(Aid::local(name), node.name_of(to)));
        node.monitors.moved(name, Some(generation), None);
        node.with_df(|df| df.handle_left(Aid::local(name)));
        if crowded {
            node.push_crowded(name, false);
            node.relieved(name);
        }
        if let Some(hopping) = self.hops.get_mut(&name) {
            hopping.gone = true;
            hopping.state = None;
            hopping.errand.over(Ok(()));
            for errand in std::mem::take(&mut hopping.recalls) {
                self.node.recall_gone(name, errand);
            }
        }
        if let Some(slot) = self.slots.at(index) {
            slot.crowded = false;
        }
    }

    /// An agent that was leaving is about to end: it does not leave. True if it is gone, and its end is none of this node's.
    pub(super) fn call_off_hop(&mut self, index: u32) -> bool {
        let Some((name, gone)) = self.hops.values().find(|it| it.index == index).map(|it| (it.hop.agent, it.gone))
        else {
            return false;
        };
        if !gone && self.node.with_transits(|it| it.transits.cancel(name)) {
            self.called_off(index);
        }
        gone
    }

    fn called_off(&mut self, index: u32) {
        let name = self.hops.values().find(|it| it.index == index).map(|it| it.hop.agent);
        if let Some(mut hopping) = name.and_then(|name| self.hops.remove(&name)) {
            hopping.errand.over(Err(HopError::NotMovable("it is ending".to_owned())));
        }
        if let Some(slot) = self.slots.at(index) {
            slot.status = Status::Idle;
            self.enqueue(index);
        }
    }

    /// Nothing comes any more from this node for an agent that is gone: what waited for it follows it.
    fn empty(&mut self, hop: HopId, to: NodeId) {
        let Some(Hopping { index, .. }) = self.take_hopping(hop) else { return };
        let Some(mut slot) = self.slots.vacate(index) else { return };
        let aid = slot.aid();
        let waiting = slot.mailbox.take_all();
        // Its destination waits for what follows, and not for that.
        self.departed.push(slot);
        self.node.gone();
        self.pass_on_all(to, waiting.into_iter().map(|body| Envelope { to: aid, body }).collect());
        let node = &self.node;
        node.with_transits(|it| it.transits.handle_emptied(hop, node.my_name(), |other| node.name_of(other)));
    }

    /// Whether agents are gone whose bodies are still here.
    pub(crate) fn has_departed(&self) -> bool {
        !self.departed.is_empty()
    }

    /// Does away with what is left of agents that are gone.
    pub(crate) fn drop_departed(&mut self) {
        for slot in std::mem::take(&mut self.departed) {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
        }
    }

    /// Passes messages on to the node where their receiver is now.
    fn pass_on_all(&mut self, to: NodeId, mut messages: Vec<Envelope>) {
        let count = messages.len();
        if let Some(links) = self.node.linked.links() {
            links.forward(to, &mut messages);
        }
        self.node.linked.handed.fetch_add((count - messages.len()) as u64, Ordering::Relaxed);
        for Envelope { to, body } in messages {
            self.undeliverable(to, body, DeadReason::Unreachable);
        }
    }

    /// A message from another node, for an agent that was here when it was sent, and went there.
    fn take_late(&mut self, envelope: Envelope, to: NodeId) {
        match self.leaver(envelope.to.name) {
            Some(index) => self.deliver(index, envelope.body),
            None => self.pass_on_all(to, vec![envelope]),
        }
    }

    /// Routes a message that came over a link, which is for an agent of this node, or of another one since a moment ago. Its
    /// route is looked up once: should the agent leave meanwhile, what went to its shard before still goes along.
    pub(super) fn route_arrived(&mut self, to: Aid, body: MessageBody) {
        let route = self.route_of(to);
        if !matches!(route.place(), Place::Node(_)) || self.node.cluster.is_some() {
            self.route_by(route, to, body);
            return;
        }
        let Some((door, gone_to)) = self.node.door_of(to.name) else {
            // It was for another one of that name, which has ended: nothing that came over a link leaves over another one.
            return self.undeliverable(to, body, DeadReason::AgentEnded);
        };
        let late = HopOrder::Late(Envelope { to, body }, gone_to);
        if door == self.index {
            return self.handle_hop(late);
        }
        if let Some(batch) = self.outgoing.get_mut(usize::from(door)) {
            batch.push(Parcel::Hop(Box::new(late)));
        }
    }

    /// Takes in messages that came in a row from another node for one agent.
    pub(super) fn take_row(&mut self, to: Aid, row: Vec<MessageBody>) {
        let count = row.len();
        match self.slot_here(to).filter(|_| !self.observed) {
            Some(slot) => self.deliver_row(slot, row.into_iter()),
            None => row.into_iter().for_each(|body| self.route_arrived(to, body)),
        }
        if let Some(seat) = self.node.seat(self.index) {
            seat.copies.fetch_sub(count, Ordering::Relaxed);
        }
    }

    /// The slot that keeps what comes for an agent that is gone.
    pub(super) fn gone_slot(&self, name: Symbol) -> Option<u32> {
        self.hops.get(&name).filter(|hopping| hopping.gone).map(|hopping| hopping.index)
    }

    /// What waited for an agent that does not come goes where it is.
    fn send_back(&mut self, name: Symbol) {
        for early in self.expected.remove(&name).unwrap_or_default() {
            if let Early::Message(body) = early {
                self.route_again(Aid::local(name), body);
            }
        }
    }

    /// What was put in before this is taken in: hands over what came of it.
    pub(super) fn cross(&mut self, passage: &Passage) {
        self.flush();
        self.node.passed(passage);
    }
}
