//! Session agents: their messages, their creation and their end.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, sym};

use super::durability::{AgentDurability, Unsaved};
use super::frames::{ErrorCode, ErrorFrame, OnLeave, Save, SessionFrame};
use super::kept_agents::KeptState;
use super::moves::Departure;
use super::oversize;
use super::persisted::UnsavedChange;
use super::state::{Session, SessionEvent};
use super::transmit::Outgoing;
use crate::ams::name_fault;
use crate::dead_letters::{DeadReason, failure_for};
use crate::limits::{
    AGENT_NAME_BYTES_MAX, MESSAGE_RECEIVERS_MAX, SESSION_ANSWER_BYTES_MAX, SESSION_CERTIFICATES_PER_S,
    SESSION_WAITING_COUNTED_BYTES, SESSION_WINDOW_BYTES_MAX,
};
use crate::mobility::Wish;
use crate::{EndReason, Time};

/// Agent of a session.
#[derive(Debug)]
pub(super) struct SessionAgent {
    pub name: Symbol,
    /// Number of the frame that created it.
    pub created_by: u64,
    /// Identifier of the agent; `None` until the scheduler has it.
    pub aid: Option<Aid>,
    pub to_send: VecDeque<Waiting>,
    /// True if messages in its mailbox wait for room in the window.
    waits: bool,
    /// True if the agent was woken, and had no turn since.
    woken: bool,
    pub ending: Option<EndReason>,
    /// Reason of the agent's end, if the body ended before the creation was reported.
    gone: Option<String>,
    /// Record of the kept agent, if it is to be kept.
    pub keeping: Option<Box<AgentDurability>>,
    /// Request of the client not to keep the agent, made before the agent existed.
    pub is_to_end: bool,
    /// Change of the kept state that is not written to the journal yet.
    pub change: UnsavedChange,
    /// End of the agent's session. If the agent is to be kept, it waits from now on.
    parts: bool,
    /// Departure from the client, if the agent is leaving.
    pub departing: Option<Departure>,
    /// Wish that the agent move elsewhere, and the end of the client's time to answer.
    pub wish: Option<(Wish, Time)>,
    /// Former place, if the agent was offered to the client.
    pub arrived: Option<Symbol>,
}

/// Work for the agent's next turn; bytes are those of the frame.
#[derive(Debug)]
pub(super) enum Waiting {
    /// Message to send. The number is 0 for a message of the platform.
    Message { number: u64, message: Box<AclMessage>, bytes: usize },
    /// State to save, with the messages that were withheld before it.
    Save { save: Box<Save>, held: Vec<Waiting>, bytes: usize },
}

impl Waiting {
    pub fn bytes(&self) -> usize {
        match self {
            Self::Message { bytes, .. } | Self::Save { bytes, .. } => *bytes,
        }
    }

    /// Returns the frame's bytes of memory, estimated: JSON of a few bytes may be a large value.
    pub fn memory(&self) -> usize {
        match self {
            Self::Message { message, bytes, .. } => message.footprint(SESSION_WAITING_COUNTED_BYTES).max(*bytes),
            Self::Save { bytes, .. } => *bytes,
        }
    }

    /// Returns the number of deliveries that the frame causes: a message counts once for each receiver; a save counts,
    /// too.
    pub fn deliveries(&self) -> u64 {
        match self {
            Self::Message { message, .. } => message.receivers.len().max(1) as u64,
            Self::Save { held, .. } => 1 + held.iter().map(Self::deliveries).sum::<u64>(),
        }
    }

    pub fn number(&self) -> u64 {
        match self {
            Self::Message { number, .. } => *number,
            Self::Save { save, .. } => save.number,
        }
    }

    /// Returns the numbers of all the client's frames in it.
    fn numbers(&self) -> Vec<u64> {
        let held = if let Self::Save { held, .. } = self { held.as_slice() } else { &[] };
        let all = held.iter().flat_map(Self::numbers).chain([self.number()]);
        all.filter(|number| *number > 0).collect()
    }
}

/// Outlook of a session's agent after its turn.
#[derive(Debug, PartialEq)]
pub(super) enum Outlook {
    /// Nothing more to do.
    Stay,
    /// More messages to send.
    More,
    /// End, with the messages that the client did not acknowledge, each for this agent.
    End(EndReason, Vec<Arc<AclMessage>>),
    /// Wait for the agent's client, with the messages that the kept state does not cover.
    Part(Symbol, KeptState, Vec<Unsaved>),
}

impl Session {
    /// Returns the session's agents by their numbers, without those that are being created.
    pub fn agents(&self) -> impl Iterator<Item = (u32, Aid)> + '_ {
        self.lodgers.iter().filter_map(|(agent, lodger)| Some((*agent, lodger.aid?)))
    }

    pub(super) fn create(&mut self, number: u64, agent: u32, name: &str) {
        let agents_max = self.opening.grant.agents;
        let (code, text) = if agent >= agents_max || self.lodgers.contains_key(&agent) || self.over.is_some() {
            (ErrorCode::TooManyAgents, format!("the number of an agent must be new, and below {agents_max}"))
        } else if let Some(fault) = name_fault(name) {
            let shown = name.get(..name.floor_char_boundary(AGENT_NAME_BYTES_MAX)).unwrap_or_default();
            (ErrorCode::BadName, format!("{shown:?} is no name for an agent: {fault}"))
        } else if !self.opening.grant.allows(name) && !self.may_take(name) {
            (ErrorCode::NotAllowed, self.unallowed(name))
        } else {
            let name = Symbol::new(name);
            let to_send = VecDeque::new();
            let lodger = SessionAgent {
                name,
                created_by: number,
                aid: None,
                to_send,
                waits: false,
                woken: false,
                ending: None,
                gone: None,
                keeping: None,
                is_to_end: false,
                change: UnsavedChange::All,
                parts: false,
                departing: None,
                wish: None,
                arrived: None,
            };
            self.lodgers.insert(agent, Box::new(lodger));
            return self.events.push_back(SessionEvent::Create { agent, name });
        };
        self.refuse(number, code, text);
    }

    fn unallowed(&self, name: &str) -> String {
        format!("{} may have no agent called {name}", self.opening.grant.principal)
    }

    /// Refuses an agent that is to be created and may not be: its offer was taken by another client meanwhile. Returns
    /// true if it was refused.
    pub(super) fn refuse_unallowed(&mut self, agent: u32, name: Symbol) -> bool {
        let is_refused = !self.opening.grant.allows(name.as_str());
        if is_refused {
            let fault = ErrorFrame::new(ErrorCode::NotAllowed, self.unallowed(name.as_str()));
            self.handle_created(agent, Err(fault));
        }
        is_refused
    }

    /// Takes in the outcome of a [`SessionEvent::Create`]: the agent, or the reason why there is none.
    pub fn handle_created(&mut self, agent: u32, outcome: Result<Aid, ErrorFrame>) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        match outcome {
            Ok(aid) => {
                lodger.aid = Some(aid);
                let name = aid.at(self.opening.platform).to_string();
                self.window.push_back(Outgoing::Created { agent, name });
                if lodger.keeping.is_some()
                    && let Err(ErrorFrame { code, text }) =
                        self.opening.kept_agents.admit(lodger.name, &self.opening.grant.account)
                {
                    lodger.keeping = None;
                    // Behind `created`: the agent is there, but is not kept.
                    self.window.push_back(Outgoing::Refused { of: lodger.created_by, code, text });
                }
                match lodger.gone.clone() {
                    Some(reason) => {
                        self.handle_agent_gone(agent, &reason);
                        self.handle_agent_left(agent);
                    }
                    // The agent may have had its first turns before.
                    None => self.wake(agent),
                }
            }
            Err(ErrorFrame { code, text }) => {
                let Some(lodger) = self.lodgers.remove(&agent) else { return };
                if let Some(offer) = self.take_offer(lodger.name.as_str()) {
                    self.decline(&offer, &text);
                }
                self.refuse(lodger.created_by, code, text);
                let held = lodger.keeping.map(|mut keeping| keeping.take_held()).unwrap_or_default();
                self.refuse_unsent(held, lodger.to_send, &format!("there is no agent {agent}"));
            }
        }
    }

    pub(super) fn certify(&mut self, now: Time, number: u64, agent: u32, request: String) {
        let lodger = self.lodgers.get(&agent).filter(|lodger| lodger.aid.is_some() && lodger.ending.is_none());
        let Some(name) = lodger.map(|lodger| lodger.name) else {
            return self.refuse(number, ErrorCode::NoAgent, format!("there is no agent {agent}"));
        };
        if self.certificates.take(1, now) == 0 {
            let text = format!("at most {SESSION_CERTIFICATES_PER_S} certificate a second");
            return self.refuse(number, ErrorCode::Busy, text);
        }
        self.events.push_back(SessionEvent::Certify { number, agent, name, request });
    }

    /// Takes in the outcome of a [`SessionEvent::Certify`]: the certificates as PEM, or the reason why there are none.
    pub fn handle_certified(&mut self, number: u64, agent: u32, outcome: Result<String, ErrorFrame>) {
        match outcome {
            Ok(certificates) => self.window.push_back(Outgoing::Certified { agent, certificates }),
            Err(ErrorFrame { code, text }) => self.refuse(number, code, text),
        }
    }

    pub(super) fn end_agent(&mut self, number: u64, agent: u32) {
        match self.lodgers.get_mut(&agent) {
            Some(lodger) => {
                lodger.ending.get_or_insert(EndReason::Finished);
                self.wake(agent);
            }
            None => self.refuse(number, ErrorCode::NoAgent, format!("there is no agent {agent}")),
        }
    }

    pub(super) fn end_all(&mut self) {
        self.decline_all();
        self.keep_those_departing();
        let reason = self.over.clone().unwrap_or(EndReason::Finished);
        // A session whose right to agents was revoked keeps none.
        let is_trusted =
            !matches!(&self.last, Some(SessionFrame::Error(fault)) if fault.code == ErrorCode::Unauthorised);
        let agents: Vec<u32> = self.lodgers.keys().copied().collect();
        for agent in agents {
            if let Some(lodger) = self.lodgers.get_mut(&agent) {
                // An agent may be kept only once it exists, so the decision is made then.
                lodger.parts = lodger.ending.is_none() && is_trusted;
                lodger.ending.get_or_insert(reason.clone());
            }
            self.wake(agent);
        }
    }

    /// Takes in a message that an agent of the session is to send.
    pub(super) fn accept(&mut self, number: u64, agent: u32, mut message: Box<AclMessage>, bytes: usize) {
        let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.ending.is_none()) else {
            return self.refuse(number, ErrorCode::NoAgent, format!("there is no agent {agent}"));
        };
        let (name, said) = (lodger.name, message.sender);
        let ours = said.platform == sym::EMPTY || said.platform == self.opening.platform;
        if said != Aid::NOBODY && !(said.name == name && ours) {
            self.events.push_back(SessionEvent::Forged { agent: name, sender: said });
            return self.refuse(number, ErrorCode::ForgedSender, format!("agent {agent} is {name}, not {said}"));
        }
        if message.receivers.is_empty() {
            return self.refuse(number, ErrorCode::NoReceiver, "the message has no receiver".to_owned());
        }
        message.name_each_once(self.opening.platform);
        if let Some(count) = message.excess_receivers() {
            let text = format!(
                "the message names {count} receivers: at most {MESSAGE_RECEIVERS_MAX}; send several messages, or one to a topic"
            );
            return self.refuse(number, ErrorCode::TooManyReceivers, text);
        }
        // The frame's credit pays for the first receiver.
        self.rate.charge(message.receivers.len() as u64 - 1);
        message.sender = Aid::local(name);
        let waiting = Waiting::Message { number, message, bytes };
        match lodger.keeping.as_mut().filter(|keeping| keeping.holds) {
            None => self.queue(agent, waiting),
            Some(keeping) => {
                if keeping.hold(waiting).is_err() {
                    let text = "too much is held back that no save covers".to_owned();
                    self.refuse(number, ErrorCode::TooManyKept, text);
                }
            }
        }
    }

    /// Queues work for an agent's next turn.
    pub(super) fn queue(&mut self, agent: u32, waiting: Waiting) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        self.queued += waiting.deliveries();
        self.queued_bytes += waiting.bytes();
        lodger.to_send.push_back(waiting);
        self.wake(agent);
    }

    /// Reports a feature that an agent was created without. `of` is the frame that created it, so that the client can
    /// match the report to the agent.
    pub(super) fn refuse_creation(&mut self, agent: u32, code: ErrorCode, text: String) {
        if let Some(of) = self.lodgers.get(&agent).map(|lodger| lodger.created_by) {
            self.refuse(of, code, text);
        }
    }

    pub(super) fn refuse(&mut self, of: u64, code: ErrorCode, mut text: String) {
        text.truncate(text.floor_char_boundary(SESSION_ANSWER_BYTES_MAX));
        self.window.push_back(Outgoing::Refused { of, code, text });
    }

    /// Refuses the unsent messages of an agent that is gone: those that it withheld, and those that waited for its
    /// turn.
    pub(super) fn refuse_unsent(&mut self, held: Vec<Waiting>, queued: VecDeque<Waiting>, why: &str) {
        queued.iter().for_each(|waiting| self.unqueue(waiting));
        for number in held.iter().chain(&queued).flat_map(Waiting::numbers) {
            self.refuse(number, ErrorCode::NoAgent, why.to_owned());
        }
    }

    pub(super) fn unqueue(&mut self, waiting: &Waiting) {
        self.unqueue_counted(waiting.deliveries(), waiting.bytes());
    }

    fn unqueue_counted(&mut self, deliveries: u64, bytes: usize) {
        self.queued = self.queued.saturating_sub(deliveries);
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
    }

    pub(super) fn wake(&mut self, agent: u32) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        if let Some(aid) = lodger.aid
            && !lodger.woken
        {
            lodger.woken = true;
            self.events.push_back(SessionEvent::Wake(aid));
        }
    }

    /// Wakes agents whose messages waited for room in the window.
    pub(super) fn wake_waiting(&mut self) {
        if !self.has_window() {
            return;
        }
        let waiting: Vec<u32> =
            self.lodgers.iter().filter(|(_, lodger)| lodger.waits).map(|(agent, _)| *agent).collect();
        waiting.into_iter().for_each(|agent| self.wake(agent));
    }

    /// Returns true if messages can be taken from mailboxes.
    fn has_window(&self) -> bool {
        self.window.len() < self.opening.grant.window as usize && self.weight.bytes() < SESSION_WINDOW_BYTES_MAX
    }

    /// Returns true if so much waits for the clients of the account that nothing is taken from mailboxes. No event
    /// tells when that ends.
    pub(super) fn is_overburdened(&self) -> bool {
        !self.burden.has_room()
    }

    /// Begins an agent's turn.
    pub(super) fn begin_turn(&mut self, agent: u32) {
        if let Some(lodger) = self.lodgers.get_mut(&agent) {
            lodger.woken = false;
            lodger.waits = false;
        }
    }

    /// Returns the next work of the agent.
    pub(super) fn next_to_do(&mut self, agent: u32) -> Option<Waiting> {
        let ready = |lodger: &&mut Box<SessionAgent>| lodger.aid.is_some() && lodger.departing.is_none();
        let lodger = self.lodgers.get_mut(&agent).filter(ready)?;
        let waiting = lodger.to_send.pop_front()?;
        let (deliveries, bytes) = (waiting.deliveries(), waiting.bytes());
        let waiting = match waiting {
            Waiting::Save { save, .. } if save.to.is_some() => {
                lodger.departing = Some(Departure::Ready(save, false));
                None
            }
            other => Some(other),
        };
        self.unqueue_counted(deliveries, bytes);
        waiting
    }

    /// Refuses the frame of this number: the policy does not let the agent write to this receiver.
    pub(super) fn handle_forbidden(&mut self, number: u64, receiver: Aid) {
        self.refuse(number, ErrorCode::NotAllowed, format!("the policy forbids to write to {receiver}"));
    }

    /// Returns true if the agent may hand over a message from its mailbox. If not, it is woken when it may.
    pub(super) fn may_deliver(&mut self, agent: u32) -> bool {
        let room = self.has_window() && !self.is_overburdened() && self.over.is_none();
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return false };
        let has_room = lodger.keeping.as_ref().is_none_or(|keeping| keeping.has_room());
        let is_here = lodger.aid.is_some() && lodger.ending.is_none() && lodger.departing.is_none();
        let may = room && has_room && is_here;
        lodger.waits = !may;
        may
    }

    /// Hands a message from the agent's mailbox to the client. `answers` is true if its sender answers for it until it
    /// is handled.
    pub(super) fn deliver(&mut self, agent: u32, message: MessageBody, answers: bool) {
        let number = if let MessageBody::Numbered(numbered) = &message { Some(numbered.number) } else { None };
        let message = message.into_shared();
        let bytes = message.footprint(SESSION_WAITING_COUNTED_BYTES);
        let frame = self.first + self.window.len() as u64;
        if let Some(keeping) = self.keeping(agent) {
            keeping.note_given(frame, &message, bytes, number.filter(|_| answers));
        }
        self.weight.add(bytes);
        self.window.push_back(Outgoing::Message { agent, message, bytes });
    }

    /// Ends the agent's turn.
    pub(super) fn end_turn(&mut self, agent: u32) -> Outlook {
        let Some(lodger) = self.lodgers.get(&agent) else {
            return Outlook::End(EndReason::Finished, Vec::new());
        };
        if !lodger.to_send.is_empty() && lodger.aid.is_some() && lodger.departing.is_none() {
            return Outlook::More;
        }
        match lodger.ending.clone() {
            Some(_) if lodger.aid.is_some() && lodger.parts && lodger.keeping.is_some() => self.part(agent),
            Some(reason) if lodger.aid.is_some() => {
                let undelivered = self.handle_agent_gone(agent, &reason.to_string());
                Outlook::End(reason, undelivered)
            }
            _ => Outlook::Stay,
        }
    }

    /// Parts an agent from its session; the agent is kept.
    fn part(&mut self, agent: u32) -> Outlook {
        let Some(SessionAgent { name, keeping: Some(mut keeping), .. }) =
            self.lodgers.remove(&agent).map(|lodger| *lodger)
        else {
            return Outlook::End(EndReason::Finished, Vec::new());
        };
        self.write_off(agent, "its session is over");
        let reason = if keeping.on_leave == OnLeave::GoOn { "it goes on elsewhere" } else { "it waits for its client" };
        self.parting.push((agent, reason.to_owned()));
        let unsaved = keeping.take_unsaved();
        Outlook::Part(name, keeping.kept(), unsaved)
    }

    /// Takes back the messages of an agent that its client did not acknowledge. Messages that the agent was given and
    /// had not handled come first.
    pub(super) fn write_off(&mut self, agent: u32, why: &str) -> Vec<Arc<AclMessage>> {
        let mut undelivered = self.open.take(agent);
        for outgoing in &mut self.window {
            if let Outgoing::Message { agent: of, message, bytes } = outgoing
                && *of == agent
            {
                self.weight.sub(*bytes);
                undelivered.push(Arc::clone(message));
                let text = format!("agent {agent}: {why} before this message was acknowledged");
                *outgoing = Outgoing::Refused { of: 0, code: ErrorCode::NoAgent, text };
            }
        }
        undelivered
    }

    /// Notes that an agent is gone. Returns the messages for it that the client did not acknowledge, each as if it had
    /// only this receiver.
    pub(super) fn handle_agent_gone(&mut self, agent: u32, reason: &str) -> Vec<Arc<AclMessage>> {
        if let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.aid.is_none()) {
            // The agent's creation may still fail. The outcome is told later.
            lodger.gone = Some(reason.to_owned());
            return Vec::new();
        }
        let Some(lodger) = self.lodgers.remove(&agent) else { return Vec::new() };
        let mut keeping = lodger.keeping;
        let held = keeping.as_mut().map(|keeping| keeping.take_held()).unwrap_or_default();
        self.refuse_unsent(held, lodger.to_send, &format!("agent {agent} ended before it sent this: {reason}"));
        if let Some(mut keeping) = keeping {
            self.opening.kept_agents.strike(lodger.name);
            self.cover(agent, keeping.forget(|_| true));
        }
        let undelivered = self.write_off(agent, "it ended");
        self.parting.push((agent, reason.to_owned()));
        undelivered
    }

    /// Notes that an agent that is gone has left its slot. Its name is free, so the client may have another agent of
    /// that name. Only now the client is told of the end.
    pub(super) fn handle_agent_left(&mut self, agent: u32) {
        self.covered.remove(&agent);
        if let Some(at) = self.parting.iter().position(|(parting, _)| *parting == agent) {
            let (agent, reason) = self.parting.remove(at);
            self.window.push_back(Outgoing::Ended { agent, reason });
        }
    }

    /// Takes in that the message of this number cannot be written for the client: its sender gets `failure`.
    pub fn handle_unwritable(&mut self, number: u64, code: ErrorCode, why: &str) {
        let Some(index) = number.checked_sub(self.first).map(|index| index as usize) else { return };
        let Some(place @ Outgoing::Message { .. }) = self.window.get_mut(index) else { return };
        if let Some(connection) = &mut self.connection {
            connection.sent = index;
        }
        let refusal = Outgoing::Refused { of: 0, code, text: format!("a message could not be handed over: {why}") };
        let Outgoing::Message { agent, message, bytes } = std::mem::replace(place, refusal) else { return };
        self.weight.sub(bytes);
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let given = lodger.keeping.as_mut().map(|keeping| keeping.forget(|frame| frame == number));
        let instead = oversize::answer_instead(&message, Aid::local(lodger.name), self.opening.platform, why);
        let envelope = Envelope { to: Aid::local(lodger.name), body: MessageBody::Shared(message) };
        self.cover(agent, given.unwrap_or_default());
        if let Some(answer) = instead {
            self.deliver(agent, MessageBody::Owned(Box::new(answer)), false);
        }
        if let Some(failure) = failure_for(&envelope, DeadReason::Unreachable) {
            self.queue(agent, Waiting::Message { number: 0, message: Box::new(failure), bytes: 0 });
        }
    }
}
