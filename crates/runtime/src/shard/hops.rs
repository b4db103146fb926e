//! Hops between nodes: a shard's part. `docs/design/mobility.md` describes the protocol.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{HOP_NUMBER_BITS, HOP_PIECE_BYTES, HOP_STATE_BYTES_MAX};
use whimbrel_platform::mobility::{Hop, HopError, HopId, HopMode, HopNews, HopOffer, HopRequest, Part, Whence};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::{NodeId, Place, Route};
use whimbrel_platform::{EndReason, PlatformEvent, Time};

use super::slot::Incarnation;
use super::slot::{Doom, SlotStatus};
use super::{Early, Shard};
use crate::mobility::{HopJob, HopOrder, KEPT_BY_ONE, ShardBarrier};
use crate::panics::panic_text;
use crate::shard_command::{AgentChange, ShardCommand};
use crate::state_transfer::PackedState;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// Agent of this shard that is leaving.
pub(super) struct Hopping {
    hop: HopId,
    index: u32,
    errand: Box<HopJob>,
    /// True once the agent belongs to another node: only its waiting messages are here.
    gone: bool,
    /// Recalls during the hop.
    recalls: Vec<HopJob>,
    /// State as it travels, if it takes more than one piece.
    state: Option<Vec<u8>>,
    /// Start of the next piece of the state.
    state_at: u64,
    /// Time of the offer, and bytes of the state.
    offered: (Time, u64),
    /// True if the agent continues to a client of the destination.
    onward: bool,
}

/// Agent that was offered to its destination.
struct OfferedHop {
    hop: HopId,
    /// State, if it takes more than one piece.
    state: Option<Vec<u8>>,
    /// Bytes of the state.
    bytes: u64,
    /// See [`Hopping::onward`].
    onward: bool,
}

impl Hopping {
    /// Returns true for the agent in this place.
    pub(super) fn is_of(&self, index: u32) -> bool {
        self.index == index
    }
}

impl Shard {
    /// Begins the hop of an agent, or of its clone. If anything prevents it, the agent is told and continues here.
    pub(super) fn begin_hop(&mut self, index: u32, mut errand: Box<HopJob>) {
        if let Some(under_way) = self.hops.values_mut().find(|it| it.index == index) {
            if errand.request.mode == HopMode::Recall {
                match under_way.gone {
                    true => self.node.recall_gone(under_way.hop.agent, *errand),
                    false => under_way.recalls.push(*errand),
                }
                return;
            }
            // The agent is told the outcome of the present hop, and has no turns until then.
            return errand.over(Err(HopError::NotMovable("it is leaving already".to_owned())));
        }
        if self.is_written_down(index) && self.node.cluster.is_some() {
            return self.begin_journey(index, *errand);
        }
        let Some(errand) = self.put_off(index, errand) else { return };
        let node = Arc::clone(&self.node);
        let _gathering = node.cork();
        let bearer = self.slots.at(index).map(|slot| (slot.name, slot.generation));
        let calls = bearer.and_then(|bearer| self.called.remove(&bearer)).unwrap_or_default();
        // The agent has had its turn, and wants to move on. A recall comes first, because otherwise it might never
        // come.
        if calls.is_empty() || errand.request.mode == HopMode::Recall {
            self.set_off(index, errand);
        }
        self.call_home(index, calls);
    }

    fn call_home(&mut self, index: u32, calls: Vec<HopJob>) {
        calls.into_iter().for_each(|errand| self.begin_hop(index, Box::new(errand)));
    }

    /// Postpones the recall of an agent that is not told the outcome of its last hop yet, until it has had a turn.
    fn put_off(&mut self, index: u32, errand: Box<HopJob>) -> Option<Box<HopJob>> {
        let is_recall = errand.request.mode == HopMode::Recall;
        let called = self.slots.at(index).filter(|slot| is_recall && slot.status != SlotStatus::Held);
        match called.and_then(|slot| slot.body.has_news().then_some(slot)) {
            Some(slot) => {
                let (name, generation) = (slot.name, slot.generation);
                self.called.entry((name, generation)).or_default().push(*errand);
                self.node.put(self.index, ShardCommand::Hop(Box::new(HopOrder::CallAgain(name, generation))));
                None
            }
            None => Some(errand),
        }
    }

    /// Repeats postponed recalls, wherever the agent is by now.
    fn call_again(&mut self, name: Symbol, generation: u32) {
        let Some(calls) = self.called.remove(&(name, generation)) else { return };
        for errand in calls {
            self.change(Incarnation { name, generation }, AgentChange::Hop(Box::new(errand)));
        }
    }

    fn set_off(&mut self, index: u32, errand: Box<HopJob>) {
        let Some(errand) = self.ask_client(index, errand).and_then(|errand| self.invite(index, errand)) else {
            return;
        };
        // An agent that an operator paused moves only by its own request, when told to take a step.
        let stays = self.slots.at(index).filter(|_| errand.then.is_some());
        let stays = stays.and_then(|slot| slot.body.stays().map(str::to_owned));
        let offered = stays.map_or_else(|| self.offer(index, &errand.request), |why| Err(HopError::NotMovable(why)));
        match offered {
            Ok(OfferedHop { hop, state, bytes, onward }) => {
                let (offered, state_at) = ((self.node.now(), bytes), HOP_PIECE_BYTES as u64);
                let recalls = Vec::new();
                let hopping = Hopping { hop, index, errand, gone: false, recalls, state, state_at, offered, onward };
                self.hops.insert(hop.agent, hopping);
            }
            Err(why) => self.stay(index, *errand, why),
        }
    }

    /// Ends the hop of an agent that stays, with the reason.
    pub(super) fn stay(&mut self, index: u32, mut errand: HopJob, why: HopError) {
        let HopRequest { to, mode } = errand.request;
        // A recall succeeds if the agent is at home already.
        let is_home = mode == HopMode::Recall && matches!(why, HopError::AlreadyThere(_));
        errand.over(if is_home { Ok(()) } else { Err(why.clone()) });
        self.tell_stayed(index, mode, &Hop::Stayed { to, why });
    }

    /// Tells an agent that it, or its clone, stays; and that it was recalled, if so.
    fn tell_stayed(&mut self, index: u32, mode: HopMode, outcome: &Hop) {
        if mode == HopMode::Recall
            && let Some(slot) = self.slots.at(index)
        {
            // Its next turn shows any fault.
            let _ = catch_unwind(AssertUnwindSafe(|| slot.body.recalled()));
        }
        self.tell_hopped(index, outcome);
    }

    /// Returns an agent's origin and unpacked state. Returns `None` if the agent cannot move or is in a turn.
    pub(crate) fn luggage_of(&mut self, index: u32) -> Option<(Origin, Vec<u8>)> {
        let now = self.now;
        let body = &self.slots.at(index)?.body;
        let written = catch_unwind(AssertUnwindSafe(|| body.origin().zip(body.snapshot(now))));
        written.ok().flatten()
    }

    /// Offers an agent to its destination. From now on the agent has no turns.
    fn offer(&mut self, index: u32, request: &HopRequest) -> Result<OfferedHop, HopError> {
        let (to, onward) = self.may_hop(index, request)?;
        // The agent's messages go before it.
        self.flush();
        let now = self.now;
        let not_movable = |why: &str| HopError::NotMovable(why.to_owned());
        let slot = self.slots.at(index).ok_or_else(|| not_movable("it has its turn"))?;
        let written = catch_unwind(AssertUnwindSafe(|| {
            slot.body.before_hop();
            (slot.body.origin(), slot.body.snapshot(now))
        }));
        let (origin, state) = written.map_err(|panic| {
            // As in a turn, a panic ends the agent.
            slot.doom = Some(Box::new(Doom::End(EndReason::Failed(panic_text(&*panic)))));
            not_movable("it failed")
        })?;
        let origin = origin.ok_or_else(|| not_movable("nobody else could find its code"))?;
        let state = state.ok_or_else(|| not_movable("this kind of agent has no state that can be"))?;
        if state.len() > HOP_STATE_BYTES_MAX {
            return Err(HopError::TooLarge { bytes: state.len() as u64, bytes_max: HOP_STATE_BYTES_MAX as u64 });
        }
        self.delayed -= usize::from(slot.status == SlotStatus::Delayed);
        slot.status = if slot.status == SlotStatus::Held { SlotStatus::LeavingHeld } else { SlotStatus::LeavingQueued };
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
        let packed = PackedState::of(state, &origin);
        let (of, unpacked) = (packed.bytes.len() as u64, packed.unpacked);
        let (state, rest) = packed.split();
        let origin = Whence(origin);
        let offer = HopOffer {
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
            // The destination may be lost meanwhile. If it is lost from now on, the transits learn of it.
            if self.node.way_to(request.to) != Some((to, onward)) {
                return Err(HopError::Unreachable(request.to));
            }
            it.transits.handle_offered(hop, to, self.index, is_clone, code);
            self.node.tell_hop(to, HopNews::Offer(Box::new(offer)));
            Ok(OfferedHop { hop, state: rest, bytes: of, onward: onward != Symbol::default() })
        })
    }

    /// Returns, for an offered agent or its clone, the clone's name, the home node, and the lifetime in milliseconds.
    fn bounds(&self, agent: Aid, mode: HopMode) -> (Option<Symbol>, Symbol, Option<u64>) {
        let (clone, lifetime) = match mode {
            HopMode::Clone(name) => (Some(name), None),
            HopMode::Minion(name, lifetime) => (Some(name), Some(lifetime)),
            HopMode::Move | HopMode::Recall => (None, None),
        };
        let ties = self.node.with_ams(|ams| ams.ties(agent));
        let is_new_here = clone.is_some() || ties.home == Symbol::default();
        let home = if is_new_here { self.node.my_name() } else { ties.home };
        // Cloning does not extend a lifetime.
        let left = (ties.until < Time::NEVER).then(|| ties.until.max(self.now) - self.now);
        let lifetime = left.into_iter().chain(lifetime).min();
        (clone, home, lifetime.map(|left| left.as_millis() as u64))
    }

    /// Checks that an agent may hop. Returns the node, and the agent of a client there to continue to.
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
        // The route is not consulted: while the platform stops, it may be gone already.
        let who = self.node.bearer(aid.name, me);
        // A clone is created there and moves there: a rule for its name concerns both.
        let is_kept_back = match request.mode {
            HopMode::Clone(name) | HopMode::Minion(name, _) => self.node.forbids(who, Action::Move, name.as_str()),
            HopMode::Move | HopMode::Recall => false,
        };
        let may = !is_kept_back && self.node.permits(who, Action::Move, aid.name.as_str());
        if may { Ok(way) } else { Err(HopError::Forbidden(me)) }
    }

    /// Returns the agent in this place if it can leave at all.
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

    /// Tells an agent the outcome of its hop. The agent has a turn then, unless it is held.
    pub(super) fn tell_hopped(&mut self, index: u32, hop: &Hop) {
        let Some(slot) = self.slots.at(index) else { return };
        // Its next turn shows any fault.
        let _ = catch_unwind(AssertUnwindSafe(|| slot.body.hopped(hop)));
        match slot.status {
            SlotStatus::LeavingHeld | SlotStatus::Held => slot.status = SlotStatus::Held,
            SlotStatus::Leaving | SlotStatus::LeavingQueued => {
                slot.status = SlotStatus::Idle;
                self.enqueue(index);
            }
            _ => self.enqueue(index),
        }
    }

    /// Carries out a command in the course of a hop.
    pub(super) fn handle_hop(&mut self, order: HopOrder) {
        match order {
            HopOrder::Make(offer, from) => self.node.make_coming(self.index, from, offer),
            HopOrder::LetGo(hop, to) => self.let_go(hop, to),
            HopOrder::More(hop, at, to) => {
                // Each piece is given once: a request takes no memory, but an answer does until it has left.
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

    /// Commits a hop to a destination that is ready: the agent belongs to it from now on, unless the agent ended just
    /// now.
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
        // Set before any outcome can arrive.
        node.await_onward(hop, to, hopping.and_then(|hopping| hopping.errand.then.take()));
        let gone = node.with_transits(|it| {
            if !it.transits.is_leaving(hop) {
                // The destination was lost just now: the agent is about to hear that it stays.
                return None;
            }
            let others = node.with_ams(|ams| {
                ams.kind(Aid::local(name))?;
                // A node that is introduced from now on learns of the agent from its new node.
                let others = node.linked.links().map(|links| links.nodes()).unwrap_or_default();
                node.with_topics(|topics| topics.handle_leaving(hop, to, others.iter().copied()));
                if !self.redirect(name, index, generation, Route::node(to)) {
                    return None;
                }
                standing.state = ams.state(Aid::local(name)).unwrap_or(standing.state);
                ams.handle_left(name, Some(to));
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

    /// Notes that an agent belongs to another node from now on.
    fn note_left(&mut self, index: u32, generation: u32, crowded: bool, hop: HopId, to: NodeId) {
        let (name, node) = (hop.agent, &self.node);
        node.tell(PlatformEvent::Left(Aid::local(name), node.name_of(to)));
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

    /// Cancels the hop of an agent that is about to end. Returns true if the agent is gone, so that this node does
    /// not end it.
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
            slot.status = SlotStatus::Idle;
            self.enqueue(index);
        }
    }

    /// Forwards what waited for an agent that is gone, now that this node sends nothing more to it.
    fn empty(&mut self, hop: HopId, to: NodeId) {
        let Some(Hopping { index, .. }) = self.take_hopping(hop) else { return };
        let Some(mut slot) = self.slots.vacate(index) else { return };
        let aid = slot.aid();
        let waiting = slot.mailbox.take_all();
        // The destination waits for these messages, not for the slot to be dropped.
        self.departed.push(slot);
        self.node.gone();
        self.pass_on_all(to, waiting.into_iter().map(|body| Envelope { to: aid, body }).collect());
        let node = &self.node;
        node.with_transits(|it| it.transits.handle_emptied(hop, node.my_name(), |other| node.name_of(other)));
    }

    /// Returns true if bodies of agents that are gone are still here.
    pub(crate) fn has_departed(&self) -> bool {
        !self.departed.is_empty()
    }

    /// Drops the remains of agents that are gone.
    pub(crate) fn drop_departed(&mut self) {
        for slot in std::mem::take(&mut self.departed) {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
        }
    }

    /// Forwards messages to their receiver's present node.
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

    /// Forwards a message from another node for an agent that was here when the message was sent.
    fn take_late(&mut self, envelope: Envelope, to: NodeId) {
        match self.leaver(envelope.to.name) {
            Some(index) => self.deliver(index, envelope.body),
            None => self.pass_on_all(to, vec![envelope]),
        }
    }

    /// Routes a message from a link, for an agent that lives on this node or left it a moment ago. The route is
    /// looked up once: if the agent leaves meanwhile, messages that went to its shard before still go along.
    pub(super) fn route_arrived(&mut self, to: Aid, body: MessageBody) {
        let route = self.route_of(to);
        if !matches!(route.place(), Place::Node(_)) || self.node.cluster.is_some() {
            self.route_by(route, to, body);
            return;
        }
        let Some((entry_shard, gone_to)) = self.node.entry_shard_of(to.name) else {
            // The message was for an earlier agent of that name, which has ended. Messages from a link never leave
            // over another.
            return self.undeliverable(to, body, DeadReason::AgentEnded);
        };
        let late = HopOrder::Late(Envelope { to, body }, gone_to);
        if entry_shard == self.index {
            return self.handle_hop(late);
        }
        if let Some(batch) = self.outgoing.get_mut(usize::from(entry_shard)) {
            batch.push(ShardCommand::Hop(Box::new(late)));
        }
    }

    /// Takes in a row of messages from another node for one agent.
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

    /// Returns the slot that holds messages for an agent that is gone.
    pub(super) fn gone_slot(&self, name: Symbol) -> Option<u32> {
        self.hops.get(&name).filter(|hopping| hopping.gone).map(|hopping| hopping.index)
    }

    /// Routes what waited for an agent that does not arrive to wherever it is.
    fn send_back(&mut self, name: Symbol) {
        for early in self.expected.remove(&name).unwrap_or_default() {
            if let Early::Message(body) = early {
                self.route_again(Aid::local(name), body);
            }
        }
    }

    /// Passes a barrier: hands over the results of all commands before it.
    pub(super) fn cross(&mut self, passage: &ShardBarrier) {
        self.flush();
        self.node.passed(passage);
    }
}
