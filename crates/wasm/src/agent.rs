//! Agent whose body is a guest: its turns, hops, saves and quotas.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use whimbrel_platform::capabilities::{Durable, Inspectable, Mobile, Owned};

use whimbrel_acl::{AclMessage, MessageBody, Symbol, Value};
use whimbrel_platform::audit::{RefusalReason, Refused};
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::inspection::{Detail, Inspection, Look, QuotaSeen, Upkeep};
use whimbrel_platform::mobility::{Hop, HopMode, HopRequest};
use whimbrel_platform::policy::{OwnerTerms, Principal, Terms};
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{AgentBody, EndReason, Next, OfferedAgent, Services, Time, Turn};

use crate::abi::code;
use crate::call_state::{SuspendableCall, Suspended, WaitCondition};
use crate::frame::{GuestFrameWriter, read_message, read_template, write_value};
use crate::guest::{Breach, CallPhase, Requests, Used};
use crate::guest_state::{GuestState, Outline};
use crate::host::Host;
use crate::inbox;
use crate::live_guest::{Live, LiveError, PAGE};
use crate::module::Module;
use crate::processor_time::ran;
use crate::provenance::Provenance;

/// Agent of a WebAssembly module.
pub struct WasmAgent {
    module: Arc<Module>,
    /// Path at which the module was found.
    path: Symbol,
    guest_state: Arc<Mutex<GuestState>>,
    /// Stay on this node: since the first turn here, or since a hop to this node was accepted.
    stay: Option<Box<Stay>>,
    /// Provenance: known as the stay is, or from the state.
    provenance: Option<Arc<Provenance>>,
    /// Size of the state that the agent came with: pages of memory beyond its module's, and bytes that differ.
    more_pages: u32,
    changes_bytes: u64,
    /// Outcome of a hop, which the guest has not been told yet.
    hop: Option<Box<Hop>>,
    /// Number of recalls that the guest has not been told yet.
    recalls: u32,
    /// True once the agent was saved whole.
    saved: bool,
}

/// Stay of an agent on a node.
struct Stay {
    terms: Arc<Terms>,
    /// Start of the stay.
    since: Time,
    used: Used,
}

// There may be a million agents that wait for a message. Allocators serve 64 bytes, and then 80.
const _: () = assert!(size_of::<WasmAgent>() <= 64 && size_of::<Stay>() <= 64);

impl WasmAgent {
    /// Creates an agent of this module, which was found at `path`. Its first call gets the options.
    pub fn new(module: Arc<Module>, path: Symbol, options: Vec<(Symbol, Value)>) -> Self {
        let mut bytes = Vec::new();
        if !options.is_empty() {
            let pairs = options.into_iter().map(|(key, value)| (Value::Str(key.as_str().into()), value));
            // Options that nest too deeply for guests are left out: a project cannot write them.
            write_value(&Value::map(pairs), &mut bytes).unwrap_or_else(|_| bytes.clear());
        }
        Self::of(module, path, GuestState::new(bytes), Outline::default())
    }

    fn of(module: Arc<Module>, path: Symbol, guest_state: GuestState, outline: Outline) -> Self {
        let guest_state = Arc::new(Mutex::new(guest_state));
        let Outline { provenance, more_pages, changes_bytes } = outline;
        // No memory has so many pages: the state is refused later for its size.
        let more_pages = u32::try_from(more_pages).unwrap_or(u32::MAX);
        Self {
            module,
            path,
            guest_state,
            stay: None,
            provenance,
            more_pages,
            changes_bytes,
            hop: None,
            recalls: 0,
            saved: false,
        }
    }

    /// Restores an agent from its saves; the last whole state counts.
    ///
    /// # Errors
    /// There is no whole state, or it is not one of such an agent.
    pub fn restore(module: Arc<Module>, path: Symbol, states: &[State], now: Time) -> Result<Self, String> {
        let last = states.iter().rev().find_map(|state| match state {
            State::Whole(bytes) | State::Delta(bytes) => Some(bytes),
            State::Same => None,
        });
        let last = last.ok_or_else(|| "its stored state is incomplete".to_owned())?;
        let (guest_state, outline) = GuestState::from_snapshot(last, now).map_err(|error| error.to_string())?;
        Ok(Self::of(module, path, guest_state, outline))
    }

    fn guest_state(&self) -> MutexGuard<'_, GuestState> {
        self.guest_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the provenance into the state, if it is known.
    fn note_provenance(&self) {
        if let Some(provenance) = &self.provenance {
            self.guest_state().note_provenance(provenance);
        }
    }

    /// Returns the terms of the agent on this node. Its first turn here begins the stay, unless a hop did.
    fn arrive(&mut self, turn: &Turn<'_>) -> Result<Arc<Terms>, Breach> {
        if let Some(stay) = &self.stay {
            return Ok(Arc::clone(&stay.terms));
        }
        let aid = turn.aid;
        let described = turn.services.directory().and_then(|directory| directory.with_ams(|ams| ams.describe(aid)));
        let owner = described.flatten().map(|described| described.owner).unwrap_or_default();
        let host = &self.module.host;
        let provenance =
            self.provenance.get_or_insert_with(|| host.share_provenance(Provenance::of(owner, turn.services.node())));
        let stay = Stay::begin(host, aid.name, provenance, turn.services)?;
        let terms = Arc::clone(&stay.terms);
        self.stay = Some(Box::new(stay));
        Ok(terms)
    }

    /// Accepts the agent, or its clone, from another node: its stay begins, unless the policy or a quota forbids it.
    fn take_in(&mut self, arrival: &OfferedAgent<'_>) -> Result<(), String> {
        let OfferedAgent { name, owner, from, clone_of, services } = *arrival;
        let provenance = self.provenance.take().unwrap_or_else(|| Provenance::of(owner, from));
        let provenance = clone_of.map_or_else(|| Arc::clone(&provenance), |original| provenance.of_clone(original));
        let first_name = provenance.first_name(name);
        if services.policy().favours(name, first_name, services.node()) {
            return Err(format!("the policy has other rules for the clone {name} than for its original {first_name}"));
        }
        let mut stay =
            Stay::begin(&self.module.host, name, &provenance, services).map_err(|breach| breach.to_string())?;
        let wanted = self.module.image.len as u64 + u64::from(self.more_pages) * PAGE as u64;
        let max = stay.terms.memory_bytes;
        if wanted > max as u64 {
            return Err(format!("it has {wanted} bytes of memory, the limit is {max} (quota memory_bytes)"));
        }
        // The difference is at most the whole memory, and some globals.
        if self.changes_bytes > wanted + PAGE as u64 {
            return Err(format!("its state has {} bytes of changes, for a memory of {wanted}", self.changes_bytes));
        }
        self.guest_state().check(&self.module).map_err(|error| error.to_string())?;
        if let Some(share) = stay.used.share() {
            share.grow(wanted, &stay.terms.owner).map_err(|breach| breach.to_string())?;
        }
        self.stay = Some(Box::new(stay));
        self.provenance = Some(self.module.host.share_provenance(provenance));
        Ok(())
    }

    fn leave_if_over(&mut self, now: Time) -> Result<(), Breach> {
        match &mut self.stay {
            Some(stay) if now >= stay.until() => Err(stay.used.over(now, &stay.terms)),
            _ => Ok(()),
        }
    }

    fn work(&mut self, turn: &mut Turn<'_>) -> Result<Next, LiveError> {
        let terms = self.arrive(turn)?;
        let began = is_metered(&terms).then(ran);
        let guest_state = Arc::clone(&self.guest_state);
        let mut guest_state = guest_state.lock().unwrap_or_else(PoisonError::into_inner);
        let live = guest_state.enter(&self.guest_state, &self.module, &terms)?;
        let (hop, budget) = (self.hop.take(), turn.budget);
        let recalls = std::mem::take(&mut self.recalls);
        let call_state = &mut live.store.data_mut().call_state;
        call_state.recalls = call_state.recalls.wrapping_add(recalls);
        if let Some(Hop::IsClone { .. }) = hop.as_deref() {
            call_state.be_clone();
        }
        let hop = hop.map(|hop| HopResult { hop, is_recalled: recalls > 0 });
        if let Some(stay) = &mut self.stay {
            stay.lend(live, began)?;
        }
        let mut news = hop;
        let next = GuestTurn { live: &mut *live, turn: &mut *turn, budget }.go(&mut news)?;
        if let Some(HopResult { hop, .. }) = news {
            // The first call took the whole turn. The guest is told the outcome in the next one.
            let call_state = &mut live.store.data_mut().call_state;
            call_state.recalls = call_state.recalls.wrapping_sub(recalls);
            (self.hop, self.recalls) = (Some(hop), self.recalls + recalls);
        }
        let wants = &mut live.store.data_mut().call_state.wants;
        *wants = match &next {
            // The node that restores the agent tells it the outcome.
            Next::Hop(request) if request.mode == HopMode::Move => Some(request.to),
            _ => wants.filter(|_| self.hop.is_some()),
        };
        if let Some(stay) = &mut self.stay {
            stay.take_back(live, turn.services.now())?;
        }
        Ok(next)
    }

    fn fail(&mut self, error: &LiveError, turn: &mut Turn<'_>) -> Next {
        let (reason, last_words) = (error.to_string(), self.guest_state().take_last_words());
        *self.guest_state() = GuestState::Gone;
        if matches!(error, LiveError::Breach(Breach::Ended)) {
            // The agent was ended from outside, so it is not at fault.
            say_last_words(&last_words, turn, "it was ended");
            return Next::End(EndReason::Killed);
        }
        if matches!(error, LiveError::Breach(_)) {
            turn.services.audit(&Refused::somebody(RefusalReason::Quota, &principal(turn).to_string(), &reason));
        }
        tell_owner(turn, &reason);
        say_last_words(&last_words, turn, &reason);
        Next::End(EndReason::Failed(reason))
    }

    fn until(&self, next: Next) -> Next {
        let until = self.stay.as_ref().map_or(Time::NEVER, |stay| stay.until());
        match next {
            Next::Wait if until < Time::NEVER => Next::WaitUntil(until),
            Next::WaitUntil(at) => Next::WaitUntil(at.min(until)),
            next => next,
        }
    }
}

impl Stay {
    /// Begins the stay of an agent of this name and provenance.
    fn begin(host: &Host, name: Symbol, provenance: &Provenance, services: &dyn Services) -> Result<Self, Breach> {
        let node = services.node();
        let [who, first] = [name, provenance.first_name(name)].map(|name| Principal::Agent { name, node });
        let terms = services.policy().terms_of_descendant(who, first);
        let now = services.now();
        let is_clone = provenance.ancestor.is_some();
        let share = match is_clone || terms.owner != OwnerTerms::default() {
            true => Some(host.owners.enter(&provenance.owner, is_clone, now, &terms.owner)?),
            false => None,
        };
        let holder = terms.storage.then(|| Box::new(provenance.holder(name)));
        let before = host.recent_usage.comes(name);
        let since = before.map_or(now, |before| before.since.min(now));
        Ok(Self { terms: host.share(terms), since, used: Used::of(name, before, share, holder) })
    }

    /// Returns the end of the stay.
    fn until(&self) -> Time {
        let own = self.terms.lifetime.map_or(Time::NEVER, |lifetime| self.since + lifetime);
        self.used.owner_until().min(own)
    }

    /// Lists the quotas with their use. A quota that is counted only when it is limited is omitted otherwise.
    fn quotas(&self, memory: u64, now: Time) -> Vec<QuotaSeen> {
        let (Terms { messages_per_s, cpu_ms_per_s, .. }, used) = (&*self.terms, &self.used);
        let mut quotas = vec![
            QuotaSeen::of("memory_bytes", memory, Some(self.terms.memory_bytes as u64)),
            QuotaSeen::of("name_bytes", u64::from(used.names), Some(self.terms.name_bytes)),
        ];
        quotas.extend(cpu_ms_per_s.map(|max| QuotaSeen::of("cpu_ms_per_s", used.cpu.now(now) / 1_000, Some(max))));
        quotas.extend(messages_per_s.map(|max| QuotaSeen::of("messages_per_s", used.messages.now(now), Some(max))));
        if let Some(lifetime) = self.terms.lifetime {
            let here = (now.max(self.since) - self.since).as_secs();
            quotas.push(QuotaSeen::of("lifetime_s", here, Some(lifetime.as_secs())));
        }
        quotas
    }

    /// Lends the usage record to the guest for a call. So use on this node adds up, even if the guest left memory in
    /// between.
    fn lend(&mut self, live: &mut Live, began: Option<Duration>) -> Result<(), Breach> {
        if let Some(share) = self.used.share() {
            share.grow(live.memory_bytes(), &self.terms.owner)?;
        }
        let until = self.until();
        let guest = live.store.data_mut();
        guest.used = std::mem::take(&mut self.used);
        guest.until = until;
        if let Some(began) = began {
            guest.meter.begin_turn(began);
        }
        Ok(())
    }

    /// Takes the usage record back after a call.
    fn take_back(&mut self, live: &mut Live, now: Time) -> Result<(), Breach> {
        let guest = live.store.data_mut();
        if is_metered(&self.terms) {
            guest.count_cpu(ran(), now)?;
            guest.meter.end_turn();
        }
        self.used = std::mem::take(&mut guest.used);
        Ok(())
    }
}

/// Checks whether processor time is counted beyond single calls.
fn is_metered(terms: &Terms) -> bool {
    terms.cpu_ms_per_s.or(terms.owner.cpu_ms_per_s).is_some()
}

impl AgentBody for WasmAgent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        match self.work(turn) {
            // All slots are taken for now.
            Err(LiveError::NoRoom) => Next::Ready,
            Err(error) => self.fail(&error, turn),
            Ok(next) => match self.leave_if_over(turn.now) {
                Ok(()) => self.until(next),
                Err(breach) => self.fail(&breach.into(), turn),
            },
        }
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        self.guest_state().snapshot(now)
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin::Module { path: self.path.to_string(), hash: self.module.hash.0 })
    }

    fn duplicate(&self, now: Time) -> Option<Box<dyn AgentBody>> {
        let (guest_state, outline) = GuestState::from_snapshot(&self.snapshot(now)?, now).ok()?;
        let mut copy = Self::of(Arc::clone(&self.module), self.path, guest_state, outline);
        // The provenance of the clone is noted when the clone is admitted.
        copy.provenance = self.provenance.clone();
        Some(Box::new(copy))
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        let last_words = self.guest_state().take_last_words();
        say_last_words(&last_words, turn, "it was ended");
        let Some(export) = self.module.exports.stop else { return };
        let Ok(terms) = self.arrive(turn) else { return };
        let began = is_metered(&terms).then(ran);
        let guest_state = Arc::clone(&self.guest_state);
        let mut guest_state = guest_state.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(live) = guest_state.enter(&self.guest_state, &self.module, &terms) else { return };
        if live.store.data().call_state.suspended.is_some() {
            return;
        }
        live.store.data_mut().requests = Requests::default();
        let lent = self.stay.as_mut().map_or(Ok(()), |stay| stay.lend(live, began));
        let said = lent.map_err(LiveError::from).and_then(|()| {
            live.during(turn, |live| live.call_export::<(), ()>(&export, ()))?;
            Ok(self.stay.as_mut().map_or(Ok(()), |stay| stay.take_back(live, turn.services.now()))?)
        });
        if let Err(error) = said {
            turn.services.log(
                turn.aid,
                whimbrel_platform::services::LogLevel::Warning,
                &format!("in whim_stop: {error}"),
            );
        }
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        Some(self)
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }

    fn owned(&mut self) -> Option<&mut dyn Owned> {
        Some(self)
    }
}

impl Durable for WasmAgent {
    fn save_whole(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        // The state records the provenance: another node may restore the agent and not know it.
        self.note_provenance();
        let Some(state) = self.snapshot(now) else { return false };
        out.extend_from_slice(&state);
        self.saved = true;
        true
    }

    fn save_delta(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        // A state is the difference from the module's first one, so it is short already.
        self.saved && self.save_whole(now, out)
    }
}

impl Mobile for WasmAgent {
    fn before_hop(&mut self) {
        self.note_provenance();
        self.guest_state().forget_wants();
        if let Some(Stay { since, used, .. }) = self.stay.as_deref() {
            used.leaves(*since, &self.module.host.recent_usage);
        }
        if let GuestState::Live { live, .. } = &mut *self.guest_state() {
            for (at, length) in std::mem::take(&mut live.store.data_mut().requests.discard) {
                live.clear(at, length as usize);
            }
        }
    }

    fn has_news(&mut self) -> bool {
        self.hop.is_some()
    }

    fn recalled(&mut self) {
        self.recalls += 1;
    }

    fn awaits_hop(&self) -> Option<HopRequest> {
        let to = self.guest_state().wants().filter(|_| self.hop.is_none())?;
        Some(HopRequest { to, mode: HopMode::Move })
    }

    fn hopped(&mut self, hop: &Hop) {
        self.hop.get_or_insert_with(|| Box::new(hop.clone()));
    }
}

impl Inspectable for WasmAgent {
    fn inspect(&mut self, _look: Look, now: Time) -> Inspection {
        let mut details =
            vec![Detail::new("module", self.path.as_str()), Detail::new("sha-256", self.module.hash.to_string())];
        details.extend(self.guest_state().describe(now));
        if let Some(until) = self.stay.as_ref().map(|stay| stay.until()).filter(|until| *until < Time::NEVER) {
            let left = until.max(now) - now;
            details.push(Detail::new("to live", format!("{} s more", left.as_secs())));
        }
        Inspection { details, ..Inspection::default() }
    }

    fn upkeep(&mut self, made: Upkeep, now: Time) -> Upkeep {
        let Some(stay) = &self.stay else { return made };
        let memory = match &*self.guest_state() {
            GuestState::Live { live, .. } => live.memory_bytes(),
            // Only a guest in memory takes memory of the quota.
            GuestState::New | GuestState::Frozen(_) | GuestState::Gone => 0,
        };
        let owner = self.provenance.as_ref().map(|provenance| provenance.owner.to_string()).unwrap_or_default();
        let Terms { room, .. } = *stay.terms;
        let storage = stay.used.holder().map(|holder| (holder.clone(), room));
        Upkeep { owner, quotas: stay.quotas(memory, now), storage, ..made }
    }
}

impl Owned for WasmAgent {
    fn admit(&mut self, arrival: &OfferedAgent<'_>) -> Result<(), String> {
        self.take_in(arrival).inspect_err(|reason| {
            let who = Principal::Agent { name: arrival.name, node: arrival.from }.to_string();
            arrival.services.audit(&Refused::somebody(RefusalReason::Quota, &who, reason));
        })
    }

    fn disown(&mut self) {
        self.provenance = None;
    }

    fn expired(&mut self) {
        // The end of a lifetime is no failure, so no last words are sent. Any agent that relied on this one has
        // waited as long.
        self.guest_state().take_last_words();
    }
}

/// Returns the agent's principal for a policy, even if the agent was ended meanwhile and the AMS no longer knows it.
fn principal(turn: &Turn<'_>) -> Principal {
    match turn.services.principal(turn.aid) {
        Principal::Stranger => Principal::Agent { name: turn.aid.name, node: turn.services.node() },
        known => known,
    }
}

/// Sends a `failure` with the content `failed(Reason)` to the owner of the agent, if it has one.
fn tell_owner(turn: &mut Turn<'_>, reason: &str) {
    let aid = turn.aid;
    let directory = turn.services.directory();
    let failure = directory.and_then(|directory| directory.with_ams(|ams| ams.failure_to_owner(aid, reason)));
    if let Some(failure) = failure.flatten() {
        turn.outbox.send(failure);
    }
}

/// Sends the message that the agent had prepared for its failure; the reason is the content.
fn say_last_words(frame: &[u8], turn: &mut Turn<'_>, reason: &str) {
    if frame.is_empty() {
        return;
    }
    // The frame came with a state, perhaps from a stranger.
    if let Ok(mut message) = read_message(frame, turn.aid)
        && is_to_agents(&message)
    {
        message.content = Value::Str(reason.into());
        turn.outbox.send(message);
    }
}

/// Checks whether a message goes to agents only. Topics and groups need a grant at the time of sending.
pub(crate) fn is_to_agents(message: &AclMessage) -> bool {
    message.receivers.iter().all(|receiver| Cast::split(receiver.name).is_none())
}

/// Outcome of a hop, for the guest.
struct HopResult {
    hop: Box<Hop>,
    /// True if the outcome is due to a recall.
    is_recalled: bool,
}

/// Turn of a guest.
struct GuestTurn<'a, 't> {
    live: &'a mut Live,
    turn: &'a mut Turn<'t>,
    budget: u32,
}

impl GuestTurn<'_, '_> {
    fn go(&mut self, news: &mut Option<HopResult>) -> Result<Next, LiveError> {
        if !self.live.store.data().call_state.started
            && let Some(next) = self.start()?
        {
            return Ok(next);
        }
        if let Some(news) = news.take()
            && let Some(next) = self.tell(&news)?
        {
            return Ok(next);
        }
        while self.budget > 0 {
            self.budget -= 1;
            let step = if self.is_suspended() { self.resume()? } else { self.step()? };
            match step {
                TurnStep::Done => {}
                TurnStep::Leave(next) => return Ok(next),
                TurnStep::Rest => return Ok(self.rest()),
            }
        }
        Ok(Next::Ready)
    }

    fn start(&mut self) -> Result<Option<Next>, LiveError> {
        let call_state = &mut self.live.store.data_mut().call_state;
        call_state.started = true;
        let options = std::mem::take(&mut call_state.options);
        if options.is_empty() {
            return self.hand(&Value::map([]), |ptr, len| SuspendableCall::Start { ptr, len });
        }
        let (ptr, len) = self.live.hand_over(&options)?;
        self.call(SuspendableCall::Start { ptr, len })
    }

    fn is_suspended(&self) -> bool {
        self.live.store.data().call_state.suspended.is_some()
    }

    fn rest(&self) -> Next {
        match self.live.store.data().call_state.next() {
            Time::NEVER => Next::Wait,
            at => Next::WaitUntil(at),
        }
    }

    /// Handles a due timer or a message, if there is one.
    fn step(&mut self) -> Result<TurnStep, LiveError> {
        let call = if let Some(tag) = self.live.store.data_mut().call_state.take_due(self.turn.now) {
            SuspendableCall::Timer(tag)
        } else if let Some(message) = self.turn.mailbox.take() {
            match self.hand_message(&message)? {
                Some(call) => call,
                None => return Ok(TurnStep::Done),
            }
        } else {
            return Ok(TurnStep::Rest);
        };
        Ok(self.call(call)?.map_or(TurnStep::Done, TurnStep::Leave))
    }

    /// Passes a message to the guest; `None` if the guest cannot read it.
    fn hand_message(&mut self, message: &MessageBody) -> Result<Option<SuspendableCall>, LiveError> {
        let platform = self.turn.services.platform();
        FRAMES.with_borrow_mut(|frames| match frames.write(message, platform) {
            Ok(frame) => {
                let (ptr, len) = self.live.hand_over(frame)?;
                Ok(Some(SuspendableCall::Handle { ptr, len }))
            }
            Err(why) => {
                inbox::refuse(message, why, self.turn);
                Ok(None)
            }
        })
    }

    /// Passes a value to the guest, and calls it.
    fn hand(
        &mut self,
        value: &Value,
        call: impl FnOnce(u32, u32) -> SuspendableCall,
    ) -> Result<Option<Next>, LiveError> {
        let mut bytes = Vec::new();
        write_value(value, &mut bytes).map_err(|why| LiveError::Trap(why.to_string()))?;
        let (ptr, len) = self.live.hand_over(&bytes)?;
        self.call(call(ptr, len))
    }

    /// Tells the guest the outcome of its hop.
    fn tell(&mut self, news: &HopResult) -> Result<Option<Next>, LiveError> {
        if let Some(Suspended { wait: WaitCondition::Hop, .. }) = self.live.store.data().call_state.suspended {
            let answer = match &*news.hop {
                // The guest wanted another destination.
                Hop::Arrived { .. } if news.is_recalled => {
                    self.live.store.data_mut().refuse(code::STAYED, "it was called home")
                }
                Hop::Arrived { .. } | Hop::Cloned { .. } => 0,
                Hop::IsClone { .. } => 1,
                Hop::Stayed { why, .. } => self.live.store.data_mut().refuse(code::STAYED, why.to_string()),
            };
            return self.go_on(answer);
        }
        if self.is_suspended() {
            // The hop was not the guest's own, and it waits for something else: the wait continues.
            return Ok(None);
        }
        let news = news.to_value(self.turn.services.node());
        self.hand(&news, |ptr, len| SuspendableCall::AfterMove { ptr, len })
    }

    /// Continues a suspended call, if its condition is met.
    fn resume(&mut self) -> Result<TurnStep, LiveError> {
        let guest = self.live.store.data_mut();
        let Some(Suspended { wait, .. }) = &guest.call_state.suspended else { return Ok(TurnStep::Done) };
        let answer = match wait {
            // Outcomes of hops are told before this point, so none will come.
            WaitCondition::Hop => Some(guest.refuse(code::STAYED, "the hop was interrupted")),
            WaitCondition::Until(until) => (*until <= self.turn.now).then_some(0),
            WaitCondition::Message { template, until } => {
                let until = *until;
                let template = template.clone();
                // The template came with a state, perhaps from a stranger.
                let template = guest.naming(|_| read_template(&template))?;
                let template = template.map_err(|_| Breach::Nonsense("its template is invalid"))?;
                match inbox::frame_of_next(self.turn, &template) {
                    Some(frame) => Some(guest.hold(frame)),
                    None if until <= self.turn.now => Some(guest.refuse(code::TIMEOUT, "no matching message in time")),
                    None => None,
                }
            }
        };
        match answer {
            Some(answer) => Ok(self.go_on(answer)?.map_or(TurnStep::Done, TurnStep::Leave)),
            None => Ok(TurnStep::Rest),
        }
    }

    /// Continues a suspended call with this answer.
    fn go_on(&mut self, answer: i32) -> Result<Option<Next>, LiveError> {
        let Some(Suspended { call, .. }) = self.live.store.data_mut().call_state.suspended.take() else {
            return Ok(None);
        };
        self.live.start_rewinding()?;
        self.live.store.data_mut().course = CallPhase::Rewinding(answer);
        self.call(call)
    }

    /// Calls the guest. Returns the end of its turn, if the call ends it.
    fn call(&mut self, call: SuspendableCall) -> Result<Option<Next>, LiveError> {
        let guest = self.live.store.data_mut();
        let was_waiting = matches!(guest.course, CallPhase::Rewinding(_));
        (guest.may_suspend, guest.requests) = (true, Requests::default());
        let answer = self.live.during(self.turn, |live| live.call(call));
        self.live.store.data_mut().may_suspend = false;
        let answer = answer?;
        match std::mem::take(&mut self.live.store.data_mut().course) {
            CallPhase::Unwinding(wait) => {
                self.live.stop_unwinding()?;
                self.live.keep_inbox();
                let guest = self.live.store.data_mut();
                if wait != WaitCondition::Hop {
                    // An earlier request to depart is void: its call has not ended.
                    guest.requests.hop = None;
                }
                guest.call_state.suspended = Some(Suspended { call, wait });
            }
            CallPhase::Rewinding(_) => {
                return Err(
                    Breach::Nonsense("it cannot be resumed: it did not return to the import where it waited").into()
                );
            }
            CallPhase::Straight if was_waiting => self.live.clear_unwound(),
            CallPhase::Straight => {}
        }
        if answer != 0 && !self.is_suspended() {
            return Err(LiveError::Answer(answer));
        }
        self.outcome()
    }

    /// Carries out the requests of a call that is over.
    fn outcome(&mut self) -> Result<Option<Next>, LiveError> {
        let requests = &mut self.live.store.data_mut().requests;
        if requests.stop {
            // A stop overrides all other requests of the call.
            return Ok(Some(Next::End(EndReason::Finished)));
        }
        let Some(hop) = requests.hop.take() else { return Ok(None) };
        if let Some(export) = self.live.before_move()
            && !self.is_suspended()
        {
            self.live.during(self.turn, |live| live.call_export::<(), ()>(&export, ()))?;
        }
        Ok(Some(Next::Hop(Box::new(hop))))
    }
}

/// Result of a step.
enum TurnStep {
    /// The guest may have more to do.
    Done,
    /// The turn ends.
    Leave(Next),
    /// The guest has nothing to do.
    Rest,
}

thread_local! {
    /// Buffer in which messages are encoded for guests.
    static FRAMES: RefCell<GuestFrameWriter> = RefCell::default();
}

impl HopResult {
    /// Converts the outcome to the argument of `whim_after_move`.
    fn to_value(&self, here: Symbol) -> Value {
        let text = |text: &str| Value::Str(text.into());
        let (from, to, is_clone) = match &*self.hop {
            Hop::Arrived { from } => (*from, here, false),
            Hop::IsClone { from, .. } => (*from, here, true),
            Hop::Cloned { .. } => (here, here, false),
            Hop::Stayed { to, .. } => (here, *to, false),
        };
        let mut pairs = vec![
            (text("from"), text(from.as_str())),
            (text("to"), text(to.as_str())),
            (text("clone"), Value::Bool(is_clone)),
        ];
        match &*self.hop {
            Hop::Stayed { why, .. } => pairs.push((text("reason"), text(&why.to_string()))),
            Hop::Cloned { clone, .. } => pairs.push((text("name"), text(clone.as_str()))),
            Hop::IsClone { of, .. } => pairs.push((text("of"), text(of.as_str()))),
            Hop::Arrived { .. } => {}
        }
        if self.is_recalled {
            pairs.push((text("recalled"), Value::Bool(true)));
        }
        Value::map(pairs)
    }
}
