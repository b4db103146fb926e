//! Code transfer: fetches the code of agents that arrive, as `platform::mobility::Fetches` decides.

use whimbrel_platform::Time;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{CODE_PART_BYTES, CODE_WAITING_BYTES_MAX};
use whimbrel_platform::mobility::{FetchError, FetchStep, HopError, HopId, HopNews, HopOffer, InboundHop, Part};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::NodeId;

use super::Node;
use crate::codes::OnOrder;
use crate::loader::CodeFound;
use crate::panics::caught;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, locked, wait_timeout};

impl Node {
    /// Looks for the code of an agent that arrives, and checks that another node's agent may bring it. Missing code
    /// may still be found among this node's own files.
    pub fn find_code(&self, from: NodeId, offer: &HopOffer) -> Result<CodeFound, HopError> {
        let found = caught(|| self.loader.find_code(&offer.origin)).map_err(|panic| self.no(&panic))?;
        match found {
            CodeFound::Foreign => self.permit_code(from, offer).map(|()| found),
            CodeFound::Missing if offer.origin.code().is_none() => Err(self.no("its program is not there")),
            _ => Ok(found),
        }
    }

    fn permit_code(&self, from: NodeId, offer: &HopOffer) -> Result<(), HopError> {
        let Some(object) = offer.origin.code_object() else { return Ok(()) };
        if self.permits(self.traveller(from, offer), Action::Code, &object) {
            return Ok(());
        }
        Err(self.no(&format!(
            "its program is not there, and the policy there takes none from elsewhere (code = \"{object}\")"
        )))
    }

    /// Fetches the code of an agent that arrives without it.
    pub fn order_code(self: &Arc<Self>, from: NodeId, offer: HopOffer) {
        let (bearer, Some(code)) = (InboundHop { node: from, hop: offer.hop }, offer.origin.code()) else { return };
        let waits = self.with_fetches(|it| {
            // The hop may have been cancelled, or its node lost, before this entry was made.
            if !self.with_transits(|it| it.transits.is_offered(from, offer.hop)) {
                return true;
            }
            let its = it.offers.iter().filter(|(other, _)| other.node == from);
            let bytes: usize = its.map(|(_, waiting)| waiting.footprint()).sum();
            let has_room = bytes == 0 || bytes + offer.footprint() <= CODE_WAITING_BYTES_MAX;
            if has_room {
                it.offers.insert(bearer, offer.clone());
                it.fetches.handle_wanted(code, bearer);
            }
            has_room
        });
        if !waits {
            self.refuse_coming(from, &offer, self.no("too many agents wait for their code there"));
        }
    }

    /// Asks for the state of fetches and carries out the resulting commands, under one lock.
    fn with_fetches<T>(self: &Arc<Self>, ask: impl FnOnce(&mut OnOrder) -> T) -> T {
        let mut on_order = locked(&self.codes.state);
        let answer = ask(&mut on_order);
        while let Some(step) = on_order.fetches.poll_step() {
            self.take_fetch_step(&mut on_order, step);
        }
        if on_order.fetches.is_quiet() {
            self.codes.over.notify_all();
        } else if on_order.fetches.poll_timeout() < Time::NEVER && !std::mem::replace(&mut on_order.is_watched, true) {
            let node = Arc::clone(self);
            self.pool.run(Box::new(move || node.watch_fetches()));
        }
        answer
    }

    fn take_fetch_step(self: &Arc<Self>, on_order: &mut OnOrder, step: FetchStep) {
        let origin = |bearer| on_order.offers.get(&bearer).map(|offer| offer.origin.0.clone());
        match step {
            FetchStep::Look(code, bearer) => {
                let origin = origin(bearer);
                self.at_leisure(move |node| {
                    let is_found = origin.is_some_and(|origin| caught(|| node.loader.recall_code(&origin)) == Ok(true));
                    node.with_fetches(|it| it.fetches.handle_looked(code, is_found, node.now()));
                });
            }
            FetchStep::Ask(bearer, at) => {
                let Some(offer) = on_order.offers.get(&bearer) else { return };
                match self.permit_code(bearer.node, offer) {
                    Ok(()) => self.tell_hop(bearer.node, HopNews::Lacks { hop: bearer.hop, at }),
                    Err(why) => {
                        on_order.fetches.handle_cancelled(bearer);
                        if let Some(offer) = on_order.offers.remove(&bearer) {
                            self.refuse_coming(bearer.node, &offer, why);
                        }
                    }
                }
            }
            FetchStep::Admit(code, bearer, bytes) => {
                let origin = origin(bearer);
                self.at_leisure(move |node| {
                    let outcome = node.admit(origin, bytes);
                    node.with_fetches(|it| it.fetches.handle_admitted(code, outcome));
                });
            }
            FetchStep::Go(bearer) => {
                if let Some(offer) = on_order.offers.remove(&bearer) {
                    self.have_made(None, bearer.node, offer);
                }
            }
            FetchStep::Refuse(bearer, why) => {
                if let Some(offer) = on_order.offers.remove(&bearer) {
                    self.refuse_coming(bearer.node, &offer, self.no(&why.to_string()));
                }
            }
        }
    }

    /// Runs work that takes long on another thread.
    pub fn at_leisure(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let node = Arc::clone(self);
        self.activity.begin();
        self.pool.run(Box::new(move || {
            work(&node);
            node.activity.end();
        }));
    }

    fn admit(&self, origin: Option<Origin>, bytes: Vec<u8>) -> Result<(), FetchError> {
        // All agents that need the code are gone, so it is useless.
        let origin = origin.ok_or(FetchError::Late)?;
        let admitted = caught(|| self.loader.admit_code(&origin, bytes));
        admitted.unwrap_or_else(|panic| Err(FetchError::Inadmissible(panic)))
    }

    /// Waits for late parts as long as any are pending.
    fn watch_fetches(self: &Arc<Self>) {
        let mut on_order = locked(&self.codes.state);
        loop {
            let (due, now) = (on_order.fetches.poll_timeout(), self.now());
            if due == Time::NEVER || self.closing.load(Ordering::Acquire) {
                on_order.is_watched = false;
                return;
            }
            if now < due {
                on_order = wait_timeout(&self.codes.over, on_order, due - now).0;
                continue;
            }
            drop(on_order);
            self.with_fetches(|it| it.fetches.handle_timeout(now));
            on_order = locked(&self.codes.state);
        }
    }

    /// Handles a part of an agent's code.
    pub fn hear_code(self: &Arc<Self>, from: NodeId, hop: HopId, part: &Part) {
        self.with_fetches(|it| it.fetches.handle_part(InboundHop { node: from, hop }, part, self.now()));
    }

    /// Sends a part of an agent's code to the node that the agent is offered to.
    pub fn give_code(&self, to: NodeId, hop: HopId, at: u64) {
        // Only the code of an agent that is about to go to that node is given away.
        let Some(code) = self.with_transits(|it| it.transits.code_for(to, hop, at)) else { return };
        let part = self.loader.code(code).map_or_else(|| Part::none(at), |bytes| Part::of(&bytes, at, CODE_PART_BYTES));
        let next = at.saturating_add(part.bytes.len() as u64);
        self.with_transits(|it| it.transits.handle_code_given(to, hop, next));
        self.tell_hop(to, HopNews::Code(hop, part));
    }

    /// Cancels the fetch for an agent that does not arrive any more.
    pub fn drop_order(self: &Arc<Self>, from: NodeId, hop: HopId) {
        let bearer = InboundHop { node: from, hop };
        self.with_fetches(|it| {
            it.offers.remove(&bearer);
            it.fetches.handle_cancelled(bearer);
        });
    }

    /// Cancels all fetches from a lost node.
    pub fn lose_orders(self: &Arc<Self>, lost: NodeId) {
        self.with_fetches(|it| {
            it.offers.retain(|bearer, _| bearer.node != lost);
            it.fetches.handle_lost(lost);
        });
    }

    /// Cancels all fetches because the platform stops.
    pub fn stop_orders(&self) {
        let mut on_order = locked(&self.codes.state);
        on_order.fetches.stop();
        let offers = std::mem::take(&mut on_order.offers);
        drop(on_order);
        self.codes.over.notify_all();
        offers.into_iter().for_each(|(bearer, offer)| self.refuse_coming(bearer.node, &offer, HopError::Stopping));
    }
}
