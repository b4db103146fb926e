//! Code that agents bring along: what `platform::mobility::Fetches` says, carried out.

use rustc_hash::FxHashMap;
use whimbrel_platform::Time;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{CODE_PART_BYTES, CODE_WAITING_BYTES_MAX};
use whimbrel_platform::mobility::{Bearer, FetchError, FetchStep, Fetches, HopError, HopId, HopNews, Offer, Part};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::NodeId;

use crate::loader::CodeFound;
use crate::node::Node;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Condvar, Mutex, locked, wait_timeout};
use crate::turn::caught;

/// What a node knows of code that comes.
#[derive(Default)]
pub(crate) struct Codes {
    state: Mutex<OnOrder>,
    /// Nobody waits any more.
    over: Condvar,
}

/// See [`Fetches`]; and the agents that wait.
#[derive(Default)]
struct OnOrder {
    fetches: Fetches,
    offers: FxHashMap<Bearer, Offer>,
    /// A thread waits for what is late.
    is_watched: bool,
}

impl Node {
    /// Whether the code of an agent that comes is here, and it may bring it if it is another node's. What is missing may yet be found
    /// among this node's own files.
    pub fn find_code(&self, from: NodeId, offer: &Offer) -> Result<CodeFound, HopError> {
        let found = caught(|| self.loader.find_code(&offer.origin)).map_err(|panic| self.no(&panic))?;
        match found {
            CodeFound::Foreign => self.permit_code(from, offer).map(|()| found),
            CodeFound::Missing if offer.origin.code().is_none() => Err(self.no("its program is not there")),
            _ => Ok(found),
        }
    }

    fn permit_code(&self, from: NodeId, offer: &Offer) -> Result<(), HopError> {
        let Some(object) = offer.origin.code_object() else { return Ok(()) };
        if self.permits(self.traveller(from, offer), Action::Code, &object) {
            return Ok(());
        }
        Err(self.no(&format!(
            "its program is not there, and the policy there takes none from elsewhere (code = \"{object}\")"
        )))
    }

    /// An agent came whose code is not here.
    pub fn order_code(self: &Arc<Self>, from: NodeId, offer: Offer) {
        let (bearer, Some(code)) = (Bearer { node: from, hop: offer.hop }, offer.origin.code()) else { return };
        let waits = self.with_fetches(|it| {
            // Whoever has it stay, or hears that its node is lost, looks here afterwards.
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

    /// Asks what is known of code that comes, and does what follows: before anybody else asks.
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
                    self.have_made(bearer.node, offer);
                }
            }
            FetchStep::Refuse(bearer, why) => {
                if let Some(offer) = on_order.offers.remove(&bearer) {
                    self.refuse_coming(bearer.node, &offer, self.no(&why.to_string()));
                }
            }
        }
    }

    /// Has something done that takes long.
    pub fn at_leisure(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let node = Arc::clone(self);
        self.activity.begin();
        self.pool.run(Box::new(move || {
            work(&node);
            node.activity.end();
        }));
    }

    fn admit(&self, origin: Option<Origin>, bytes: Vec<u8>) -> Result<(), FetchError> {
        // Its agents are all gone: what came is of no use.
        let origin = origin.ok_or(FetchError::Late)?;
        let admitted = caught(|| self.loader.admit_code(&origin, bytes));
        admitted.unwrap_or_else(|panic| Err(FetchError::Inadmissible(panic)))
    }

    /// Waits for what is late, as long as anything is to come.
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

    /// A part of an agent's code came.
    pub fn hear_code(self: &Arc<Self>, from: NodeId, hop: HopId, part: &Part) {
        self.with_fetches(|it| it.fetches.handle_part(Bearer { node: from, hop }, part, self.now()));
    }

    /// The node to which an agent is offered lacks its code.
    pub fn give_code(&self, to: NodeId, hop: HopId, at: u64) {
        // Nobody gets code but that of an agent that is about to go there.
        let Some(code) = self.with_transits(|it| it.transits.code_for(to, hop, at)) else { return };
        let part = self.loader.code(code).map_or_else(|| Part::none(at), |bytes| Part::of(&bytes, at, CODE_PART_BYTES));
        let next = at.saturating_add(part.bytes.len() as u64);
        self.with_transits(|it| it.transits.handle_code_given(to, hop, next));
        self.tell_hop(to, HopNews::Code(hop, part));
    }

    /// An agent does not come any more.
    pub fn drop_order(self: &Arc<Self>, from: NodeId, hop: HopId) {
        let bearer = Bearer { node: from, hop };
        self.with_fetches(|it| {
            it.offers.remove(&bearer);
            it.fetches.handle_cancelled(bearer);
        });
    }

    /// A node is lost.
    pub fn lose_orders(self: &Arc<Self>, lost: NodeId) {
        self.with_fetches(|it| {
            it.offers.retain(|bearer, _| bearer.node != lost);
            it.fetches.handle_lost(lost);
        });
    }

    /// The platform stops: nobody comes any more.
    pub fn stop_orders(&self) {
        let mut on_order = locked(&self.codes.state);
        on_order.fetches.stop();
        let offers = std::mem::take(&mut on_order.offers);
        drop(on_order);
        self.codes.over.notify_all();
        offers.into_iter().for_each(|(bearer, offer)| self.refuse_coming(bearer.node, &offer, HopError::Stopping));
    }
}
