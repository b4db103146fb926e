//! Body of a session's agent: it only connects the agent's slot with its client.

use crate::capabilities::{Durable, Inspectable, Mobile};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Symbol};

use super::code_name::CodeName;
use super::durability::{AgentDurability, SavedState, Unsaved};
use super::frames::{ErrorCode, ErrorFrame, PASSED};
use super::invitation::Invitation;
use super::kept_agents::{KeptAgents, KeptState};
use super::kept_body::KeptBody;
use super::memory_quota::Backlog;
use super::persisted::{self, UnsavedChange};
use super::rollback::Rollback;
use super::session_agents::{Outlook, Waiting};
use super::state::{Session, SessionEvent};
use crate::durable::Origin;
use crate::inspection::{Detail, Inspection, Look};
use crate::limits::{MAILBOX_HARD_BYTES, SESSION_ROOM_MS, SESSION_STATE_BYTES_MAX};
use crate::mobility::{HopError, Wish};
use crate::policy::{Principal, act_of_sending};
use crate::topics::Cast;
use crate::{AgentBody, EndReason, Mailbox, Next, Time, Turn};

/// Session that its driver and the bodies of its agents share.
pub struct SharedSession {
    session: Mutex<Session>,
    /// Wakes the driver of the session.
    pub(super) notify: Box<dyn Fn() + Send + Sync>,
}

impl SharedSession {
    /// Returns a shared session; `notify` tells its driver that there is work.
    pub fn new(session: Session, notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self { session: Mutex::new(session), notify: Box::new(notify) }
    }

    /// Claims a kept agent of this name and account for a session's agent, if one waits or runs on the node. The agent
    /// is created then, perhaps later. If an offered agent is no longer available, and the session may not give its
    /// name, the agent is created with a refusal.
    pub fn claim(self: &Arc<Self>, agent: u32, name: Symbol) -> bool {
        let (kept_agents, account) = {
            let session = self.lock();
            (Arc::clone(&session.opening.kept_agents), session.grant().account.clone())
        };
        if self.take_up(agent, name, &kept_agents, &account) {
            return true;
        }
        if let Some((kept, stranded)) = kept_agents.claim(name, &account, self, agent) {
            let mut session = self.lock();
            session.handle_returned(agent, Aid::local(name), kept);
            if let Some(why) = stranded {
                let text = format!("{name} cannot continue at this node while its client is away: {why}");
                session.refuse_creation(agent, ErrorCode::NotMovable, text);
            }
            return true;
        }
        let Some(((life, kept), host)) = kept_agents.went_on(name, &account).zip(kept_agents.host()) else {
            return self.lock().refuse_unallowed(agent, name);
        };
        let Some(mobility) = host.mobility() else { return self.lock().refuse_unallowed(agent, name) };
        let session = Arc::clone(self);
        mobility.exchange(
            name,
            life,
            Box::new(move |written| {
                let body = session.fetch(agent, name, life, kept, written);
                (session.notify)();
                body
            }),
        );
        true
    }

    /// Takes up an agent of this name that is offered to the session, or to another session of its account, if there is
    /// one.
    fn take_up(self: &Arc<Self>, agent: u32, name: Symbol, kept_agents: &KeptAgents, account: &str) -> bool {
        let Some(offered) = kept_agents.offered_to(name, account) else { return false };
        let Some(offer) = offered.lock().take_offer(name.as_str()) else { return false };
        let taken = offer.take(|| {
            let before = kept_agents.adopt(name, account, offer.saved.state.len())?;
            Ok((SessionBody::new(Arc::clone(self), agent), before))
        });
        // An offer that was taken too late has an agent of that name.
        let Some(taken) = taken else { return false };
        match taken {
            Ok(kept) => {
                if let Some(mobility) = kept_agents.host().as_ref().and_then(|host| host.mobility()) {
                    mobility.handle_lodged(name);
                }
                let mut session = self.lock();
                session.note_arrived(agent, offer.from);
                session.handle_returned(agent, Aid::local(name), kept);
            }
            Err(fault) => {
                let mut session = self.lock();
                session.decline(&offer, &fault.text);
                session.handle_created(agent, Err(fault));
            }
        }
        true
    }

    /// Offers an agent to this session's client.
    ///
    /// # Errors
    /// The reason why the agent is not for this client, or not now.
    pub(super) fn invite(self: &Arc<Self>, invitation: &Arc<Invitation>, to: Symbol) -> Result<(), HopError> {
        let (kept_agents, account) = {
            let mut session = self.lock();
            session.offer(invitation, to)?;
            (Arc::clone(&session.opening.kept_agents), session.grant().account.clone())
        };
        kept_agents.list_offer(invitation, self, account);
        (self.notify)();
        Ok(())
    }

    /// Withdraws an offer to this session's client.
    pub(super) fn withdraw(&self, offer: &Arc<Invitation>) {
        let mut session = self.lock();
        session.withdraw(offer);
        session.opening.kept_agents.strike_offer(offer);
    }

    /// Fetches an agent that continued on the node for this session. If that fails, the agent continues on the node and
    /// may be fetched again; if it is gone, another agent is created.
    fn fetch(
        self: &Arc<Self>,
        agent: u32,
        name: Symbol,
        life: u32,
        kept: KeptState,
        written: Option<(Origin, Vec<u8>)>,
    ) -> Option<Box<dyn AgentBody>> {
        let saved = written.and_then(|(origin, state)| {
            let code = Arc::new(CodeName::of(&origin)?);
            (state.len() <= SESSION_STATE_BYTES_MAX).then(|| SavedState { code, state: state.into() })
        });
        let mut session = self.lock();
        let (kept_agents, account) = (Arc::clone(&session.opening.kept_agents), session.grant().account.clone());
        let refusal = match &saved {
            _ if session.over.is_some() => Err(ErrorFrame::new(ErrorCode::SessionGone, "the session is over")),
            Some(saved) => kept_agents.take_back(name, life, saved.state.len()),
            None if kept_agents.went_on(name, &account).is_some() => {
                let text = format!("{name} runs at the node, and cannot be written out now");
                Err(ErrorFrame::new(ErrorCode::NotYet, text))
            }
            None => {
                session.events.push_back(SessionEvent::Create { agent, name });
                return None;
            }
        };
        if let Err(fault) = refusal {
            session.handle_created(agent, Err(fault));
            return None;
        }
        // The node ran this code, so it may run it again.
        session.handle_returned(agent, Aid::local(name), KeptState { saved, is_given: true, ..kept });
        drop(session);
        let written = self.origin_of(name);
        Some(Box::new(SessionBody::written_as(written, Arc::clone(self), agent)))
    }

    /// Returns the origin under which a kept agent of the session is written to the journal, if it is.
    fn origin_of(&self, name: Symbol) -> Option<Origin> {
        let (kept_agents, account) = {
            let session = self.lock();
            (Arc::clone(&session.opening.kept_agents), session.grant().account.clone())
        };
        kept_agents.host()?.writes_down(name).then_some(Origin::Kept { account })
    }

    /// Locks the session. Locks must be short, because agents wait for them in their turns.
    pub fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Body of an agent whose code is at the other end of a session.
pub struct SessionBody {
    pub(super) session: Arc<SharedSession>,
    pub(super) agent: u32,
    /// True once the session knows that the body ended.
    pub(super) ended: bool,
    /// Origin under which the agent is written to the journal from its next turn on, if it is.
    pub(super) written: Option<Origin>,
    /// Body that replaces this one, if the agent is kept or leaves.
    pub(super) next: Option<Box<dyn AgentBody>>,
    /// Name under which other agents find its client, once it is listed, and whether agents can move there.
    listed: Option<(Symbol, bool)>,
    /// True once another body replaces this one.
    pub(super) passed_on: bool,
    /// Rollback of the agent's arrival, if it came from elsewhere.
    pub(super) back: Option<Box<Rollback>>,
    /// Backlog: messages that its client has not taken from the mailbox.
    backlog: Backlog,
    /// True if the agent must be written to the journal here, or end because another node is to have it.
    is_home: bool,
}

impl SessionBody {
    /// Returns the body of the agent with this number in the session's frames.
    pub fn new(session: Arc<SharedSession>, agent: u32) -> Self {
        Self::written_as(None, session, agent)
    }

    fn written_as(written: Option<Origin>, session: Arc<SharedSession>, agent: u32) -> Self {
        let backlog = Backlog::new(MAILBOX_HARD_BYTES);
        let (next, listed, back) = (None, None, None);
        Self { session, agent, ended: false, written, next, listed, passed_on: false, back, backlog, is_home: false }
    }

    /// Returns the body of an agent whose partition this node serves. If the partition moves before anything of the
    /// agent is written, the agent ends, and its client gets it at the new place. Otherwise states that the client was
    /// told to be safe would be in this node's memory only.
    #[must_use]
    pub fn at_home(mut self, is_home: bool) -> Self {
        self.is_home = is_home;
        self
    }

    /// Passes the agent on to a new body in another place.
    pub(super) fn pass_on(&mut self) -> Box<Self> {
        self.passed_on = true;
        let mut body = Self::written_as(self.written.clone(), Arc::clone(&self.session), self.agent);
        (body.listed, body.back) = (self.listed.take(), self.back.take());
        Box::new(body)
    }

    /// Returns true if the agent may have to be written to the journal from now on.
    fn may_begin_to_be_written(&self, session: &Session) -> bool {
        self.written.is_none() && session.opening.kept_agents.has_journal() && session.keeps(self.agent)
    }

    /// Begins to write the agent to the journal, in its turn. Returns `None` if it is not to be written.
    fn begin_to_be_written(&mut self, turn: &mut Turn<'_>) -> Option<Next> {
        let Some(origin) = self.session.origin_of(turn.aid.name) else {
            return self.is_home.then(|| self.end_unwritten(turn));
        };
        self.written = Some(origin);
        self.next = Some(self.pass_on());
        // The body that stays behind was not written.
        self.written = None;
        Some(Next::Activate)
    }

    /// Sends a message of the client, as far as the policy permits it.
    pub(super) fn say(
        session: &mut Session,
        message: Box<AclMessage>,
        (number, bytes): (u64, usize),
        turn: &mut Turn<'_>,
    ) {
        match forbidden(&message, turn) {
            Some(receiver) if number > 0 => session.handle_forbidden(number, receiver),
            _ => turn.outbox.send_of(message, bytes),
        }
    }

    /// Carries out the client's frames. Returns the saves among them.
    fn obey(&self, session: &mut Session, turn: &mut Turn<'_>, budget: &mut u32) -> Vec<u64> {
        let mut saves = Vec::new();
        while *budget > 0
            && let Some(waiting) = session.next_to_do(self.agent)
        {
            *budget = budget.saturating_sub(u32::try_from(waiting.deliveries()).unwrap_or(u32::MAX));
            let (said, save) = match waiting {
                Waiting::Save { save, held, .. } => (held, Some(save)),
                message @ Waiting::Message { .. } => (vec![message], None),
            };
            for waiting in said {
                if let Waiting::Message { number, message, bytes } = waiting {
                    Self::say(session, message, (number, bytes), turn);
                }
            }
            if let Some(save) = save {
                saves.push(save.number);
                session.commit(self.agent, *save);
            }
        }
        saves
    }

    /// Delivers messages from the mailbox to the client, as far as it keeps up.
    fn deliver(&mut self, session: &mut Session, turn: &mut Turn<'_>, budget: &mut u32) {
        while *budget > 0
            && !turn.mailbox.is_empty()
            && session.may_deliver(self.agent)
            && let Some(message) = turn.mailbox.take()
        {
            *budget -= 1;
            self.backlog.note_taken();
            session.deliver(self.agent, message, self.written.is_some());
        }
        // Messages to a kept agent count as handled when a state covers them.
        if session.keeps(self.agent) {
            drop(turn.mailbox.take_tickets());
        }
    }

    /// Weighs the messages that the client has not taken. Returns true if some are refused, and the time to check for
    /// room again.
    fn weigh_backlog(&mut self, session: &Session, turn: &mut Turn<'_>) -> (bool, Option<Time>) {
        self.backlog.begin(|| Some(Arc::clone(&session.burden)));
        let refuses = self.backlog.weigh(turn.mailbox);
        let again = turn.now + Duration::from_millis(SESSION_ROOM_MS);
        (refuses, session.is_overburdened().then_some(again))
    }

    /// Confirms these saves to the client once they are written.
    fn confirm(&self, saves: Vec<u64>, turn: &Turn<'_>) {
        if saves.is_empty() {
            return;
        }
        let (session, agent) = (Arc::clone(&self.session), self.agent);
        turn.services.once_written(Box::new(move || {
            let mut open = session.lock();
            saves.into_iter().for_each(|save| open.handle_safe(agent, save));
            drop(open);
            (session.notify)();
        }));
    }

    /// Ends the agent: its partition moved before it was written.
    fn end_unwritten(&mut self, turn: &mut Turn<'_>) -> Next {
        let reason = EndReason::Failed("another node has its partition by now".to_owned());
        self.ended = true;
        let undelivered = self.session.lock().handle_agent_gone(self.agent, PASSED);
        Self::return_to_senders(turn, undelivered);
        Next::End(reason)
    }

    /// Sends back messages that the client did not acknowledge, so that their senders get `failure`.
    fn return_to_senders(turn: &mut Turn<'_>, undelivered: Vec<Arc<AclMessage>>) {
        for message in undelivered {
            if let Some((Cast::Broadcast | Cast::Multicast, _)) = Cast::behind_copy(&message, turn.aid) {
                // A sender to many does not learn of each missing receiver.
                continue;
            }
            let mut message = Arc::unwrap_or_clone(message);
            message.receivers = [turn.aid].into_iter().collect();
            turn.outbox.send(message);
        }
    }
}

impl SessionBody {
    /// Lists the client under the agent's name, by which other agents find it from now on.
    fn list_client(&mut self, session: &Session, agent: Symbol) {
        let listed = Some((agent, session.moves.known));
        if self.listed != listed {
            session.opening.kept_agents.list_client(agent, &self.session, session.moves.known);
            self.listed = listed;
        }
    }

    /// Appends the kept state of the agent, or its change, if the agent is to be written.
    fn write(&self, all: Option<UnsavedChange>, out: &mut Vec<u8>) -> bool {
        let mut session = self.session.lock();
        match session.kept(self.agent).filter(|_| self.written.is_some()) {
            Some((kept, change)) => {
                let changed = std::mem::replace(change, UnsavedChange::None);
                persisted::write(&kept, false, all.unwrap_or(changed), out)
            }
            // The state is about to exist, or about to vanish: nothing changed.
            None => all.is_none() && self.written.is_some(),
        }
    }
}

/// Returns a receiver of the message to which the policy does not let the agent write.
fn forbidden(message: &AclMessage, turn: &Turn<'_>) -> Option<Aid> {
    let who = Principal::Session { name: turn.aid.name, node: turn.services.node() };
    let may = |receiver: &&Aid| {
        let (action, object) = act_of_sending(receiver.name);
        turn.services.permits(who, action, &object)
    };
    message.receivers.iter().find(|receiver| !may(receiver)).copied()
}

impl AgentBody for SessionBody {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let shared = Arc::clone(&self.session);
        let mut session = shared.lock();
        if self.may_begin_to_be_written(&session) {
            drop(session);
            if let Some(next) = self.begin_to_be_written(turn) {
                return next;
            }
            session = shared.lock();
        }
        let mut budget = turn.budget;
        session.begin_turn(self.agent);
        self.list_client(&session, turn.aid.name);
        let saves = self.obey(&mut session, turn, &mut budget);
        let (was_heard, returns) = (budget < turn.budget, session.take_return(self.agent));
        if let Some((number, why)) = returns {
            drop(session);
            self.confirm(saves, turn);
            self.go_back(number, &why, turn);
            turn.mailbox.note_handled(self.session.lock().take_covered(self.agent));
            (self.session.notify)();
            return Next::Activate;
        }
        if let Some((save, asked)) = session.take_departure(self.agent) {
            drop(session);
            self.note_came(true, turn.now);
            self.confirm(saves, turn);
            let leaves = self.set_off(save, asked, turn);
            turn.mailbox.note_handled(self.session.lock().take_covered(self.agent));
            (self.session.notify)();
            // If the agent stays, it continues in its next turn.
            return if leaves { Next::Activate } else { Next::Ready };
        }
        self.deliver(&mut session, turn, &mut budget);
        let outlook = session.end_turn(self.agent);
        // The mailbox also waits for an agent that has more to say: answers such as `failure` are not bounded by its
        // client's reading.
        let waits = matches!(outlook, Outlook::Stay | Outlook::More) && !turn.mailbox.is_empty();
        let (refuses, again) = if waits { self.weigh_backlog(&session, turn) } else { (false, None) };
        turn.mailbox.note_handled(session.take_covered(self.agent));
        let (kept_agents, has_more) =
            (Arc::clone(&session.opening.kept_agents), budget == 0 || outlook == Outlook::More);
        drop(session);
        let came = self.note_came(was_heard, turn.now);
        self.confirm(saves, turn);
        (self.session.notify)();
        match outlook {
            Outlook::End(reason, undelivered) => {
                self.ended = true;
                Self::return_to_senders(turn, undelivered);
                Next::End(reason)
            }
            Outlook::Part(name, kept, unsaved) => {
                self.ended = true;
                self.note_client_gone();
                turn.mailbox.put_back(unsaved.into_iter().map(Unsaved::into_body));
                self.next = Some(Box::new(KeptBody::new(name, kept, kept_agents, self.written.clone())));
                Next::Activate
            }
            Outlook::Stay | Outlook::More if refuses && has_more => Next::Refuse(turn.now),
            Outlook::Stay | Outlook::More if has_more => Next::Ready,
            Outlook::Stay if refuses => Next::Refuse(came.into_iter().chain(again).min().unwrap_or(Time::NEVER)),
            Outlook::Stay | Outlook::More => came.into_iter().chain(again).min().map_or(Next::Wait, Next::WaitUntil),
        }
    }

    fn yielded(&mut self, mailbox: &mut Mailbox) {
        self.ended = true;
        let mut session = self.session.lock();
        // The node that serves the partition by then sends them once more: numbered ones again from the sender's
        // journal, others passed on.
        let unsaved = session.keeping(self.agent).map(AgentDurability::take_unsaved).unwrap_or_default();
        drop(session.handle_agent_gone(self.agent, PASSED));
        mailbox.put_back(unsaved.into_iter().map(Unsaved::into_body));
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        self.next.take().ok_or_else(|| "it has its session".to_owned())
    }

    fn origin(&self) -> Option<Origin> {
        self.written.clone()
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        self.ended = true;
        let mut session = self.session.lock();
        let undelivered = session.handle_agent_gone(self.agent, &EndReason::Killed.to_string());
        turn.mailbox.note_handled(session.take_covered(self.agent));
        drop(session);
        Self::return_to_senders(turn, undelivered);
        (self.session.notify)();
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
}

impl Durable for SessionBody {
    fn save_whole(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        self.write(Some(UnsavedChange::All), out)
    }

    fn save_delta(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        self.write(None, out)
    }
}

impl Mobile for SessionBody {
    fn yields(&mut self, wish: Wish, now: Time) -> Option<Wish> {
        self.session.lock().ask_to_yield(self.agent, wish, now);
        (self.session.notify)();
        None
    }
}

impl Inspectable for SessionBody {
    fn inspect(&mut self, _look: Look, _now: Time) -> Inspection {
        let session = self.session.lock();
        let connected = if session.is_connected() { "yes" } else { "no: what is for it waits" };
        let details = vec![
            Detail::new("session", session.name()),
            Detail::new("connected", connected),
            Detail::new("not acknowledged", format!("{} messages of the session", session.unacknowledged())),
        ];
        Inspection { details, ..Inspection::default() }
    }
}

impl Drop for SessionBody {
    fn drop(&mut self) {
        if self.passed_on {
            return;
        }
        let mut session = self.session.lock();
        if !self.ended {
            drop(session.handle_agent_gone(self.agent, &EndReason::Killed.to_string()));
        }
        session.handle_agent_left(self.agent);
        let kept_agents = Arc::clone(&session.opening.kept_agents);
        drop(session);
        if let Some((name, _)) = self.listed {
            kept_agents.strike_client(name, &self.session);
        }
        (self.session.notify)();
    }
}
