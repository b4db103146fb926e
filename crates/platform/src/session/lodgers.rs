//! A session's agents: what they send, what is for them, how they come and go.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol, sym};

use super::frames::{Code, Fault};
use super::state::{Session, SessionEvent};
use super::transmit::Outgoing;
use crate::dead_letters::{DeadReason, failure_for};
use crate::limits::{AGENT_NAME_BYTES_MAX, SESSION_CERTIFICATES_PER_S};
use crate::{EndReason, Time};

/// An agent of a session.
#[derive(Debug)]
pub(super) struct Lodger {
    name: Symbol,
    /// The number of the frame that created it.
    created_by: u64,
    /// None until the scheduler has it.
    aid: Option<Aid>,
    to_send: VecDeque<Waiting>,
    /// Messages wait in its mailbox for room in the window.
    waits: bool,
    /// It was woken, and had no turn since.
    woken: bool,
    ending: Option<EndReason>,
    /// Its body was there and is not any more, for this reason.
    gone: Option<EndReason>,
}

/// A message that its agent is to send.
#[derive(Debug)]
struct Waiting {
    number: u64,
    message: Box<AclMessage>,
    /// Of the frame.
    bytes: usize,
}

/// How an agent of a session goes on after its turn.
#[derive(Debug, PartialEq)]
pub(super) enum Outlook {
    /// As before.
    Stay,
    /// It has more to send.
    More,
    /// It ends; these are messages that the client did not acknowledge, each for this agent.
    End(EndReason, Vec<Arc<AclMessage>>),
}

impl Session {
    /// Its agents by their numbers, those that are being created left out.
    pub fn agents(&self) -> impl Iterator<Item = (u32, Aid)> + '_ {
        self.lodgers.iter().filter_map(|(agent, lodger)| Some((*agent, lodger.aid?)))
    }

    pub(super) fn create(&mut self, number: u64, agent: u32, name: &str) {
        let agents_max = self.opening.grant.agents;
        let (code, text) = if agent >= agents_max || self.lodgers.contains_key(&agent) || self.over.is_some() {
            (Code::TooManyAgents, format!("the number of an agent must be new, and below {agents_max}"))
        } else if name.is_empty() || name.len() > AGENT_NAME_BYTES_MAX || name.contains('@') {
            (Code::BadName, format!("a local agent name has 1 to {AGENT_NAME_BYTES_MAX} bytes, and no `@`"))
        } else if !self.opening.grant.allows(name) {
            (Code::NotAllowed, format!("{} may have no agent called {name}", self.opening.grant.principal))
        } else {
            let name = Symbol::new(name);
            let to_send = VecDeque::new();
            let (created_by, aid, ending, gone) = (number, None, None, None);
            let lodger = Lodger { name, created_by, aid, to_send, waits: false, woken: false, ending, gone };
            self.lodgers.insert(agent, lodger);
            return self.events.push_back(SessionEvent::Create { agent, name });
        };
        self.refuse(number, code, text);
    }

    /// The agent that [`SessionEvent::Create`] asked for exists; or does not, and why.
    pub fn handle_created(&mut self, agent: u32, outcome: Result<Aid, Fault>) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        match outcome {
            Ok(aid) => {
                lodger.aid = Some(aid);
                let name = aid.at(self.opening.platform).to_string();
                self.window.push_back(Outgoing::Created { agent, name });
                match lodger.gone.clone() {
                    Some(reason) => {
                        self.handle_agent_gone(agent, &reason);
                        self.handle_agent_left(agent);
                    }
                    // Its first turns may have been before.
                    None => self.wake(agent),
                }
            }
            Err(Fault { code, text }) => {
                let Some(lodger) = self.lodgers.remove(&agent) else { return };
                self.refuse(lodger.created_by, code, text);
                for waiting in lodger.to_send {
                    self.unqueue(waiting.bytes);
                    self.refuse(waiting.number, Code::NoAgent, format!("there is no agent {agent}"));
                }
            }
        }
    }

    pub(super) fn certify(&mut self, now: Time, number: u64, agent: u32, request: String) {
        let lodger = self.lodgers.get(&agent).filter(|lodger| lodger.aid.is_some() && lodger.ending.is_none());
        let Some(name) = lodger.map(|lodger| lodger.name) else {
            return self.refuse(number, Code::NoAgent, format!("there is no agent {agent}"));
        };
        if self.certificates.take(1, now) == 0 {
            let text = format!("{SESSION_CERTIFICATES_PER_S} certificate a second is the most");
            return self.refuse(number, Code::Busy, text);
        }
        self.events.push_back(SessionEvent::Certify { number, agent, name, request });
    }

    /// What [`SessionEvent::Certify`] came to: the certificates as PEM, or why there are none.
    pub fn handle_certified(&mut self, number: u64, agent: u32, outcome: Result<String, Fault>) {
        match outcome {
            Ok(certificates) => self.window.push_back(Outgoing::Certified { agent, certificates }),
            Err(Fault { code, text }) => self.refuse(number, code, text),
        }
    }

    pub(super) fn end_agent(&mut self, number: u64, agent: u32) {
        match self.lodgers.get_mut(&agent) {
            Some(lodger) => {
                lodger.ending.get_or_insert(EndReason::Finished);
                self.wake(agent);
            }
            None => self.refuse(number, Code::NoAgent, format!("there is no agent {agent}")),
        }
    }

    pub(super) fn end_all(&mut self) {
        let reason = self.over.clone().unwrap_or(EndReason::Finished);
        let agents: Vec<u32> = self.lodgers.keys().copied().collect();
        for agent in agents {
            if let Some(lodger) = self.lodgers.get_mut(&agent) {
                lodger.ending.get_or_insert(reason.clone());
            }
            self.wake(agent);
        }
    }

    /// A message came that an agent of the session is to send.
    pub(super) fn accept(&mut self, number: u64, agent: u32, mut message: Box<AclMessage>, bytes: usize) {
        let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.ending.is_none()) else {
            return self.refuse(number, Code::NoAgent, format!("there is no agent {agent}"));
        };
        let (name, said) = (lodger.name, message.sender);
        let ours = said.platform == sym::EMPTY || said.platform == self.opening.platform;
        if said != Aid::NOBODY && !(said.name == name && ours) {
            self.events.push_back(SessionEvent::Forged { agent: name, sender: said });
            return self.refuse(number, Code::ForgedSender, format!("agent {agent} is {name}, not {said}"));
        }
        if message.receivers.is_empty() {
            return self.refuse(number, Code::NoReceiver, "the message has no receiver".to_owned());
        }
        message.sender = Aid::local(name);
        lodger.to_send.push_back(Waiting { number, message, bytes });
        self.queued += 1;
        self.queued_bytes += bytes;
        self.wake(agent);
    }

    pub(super) fn refuse(&mut self, of: u64, code: Code, text: String) {
        self.window.push_back(Outgoing::Refused { of, code, text });
    }

    fn unqueue(&mut self, bytes: usize) {
        self.queued = self.queued.saturating_sub(1);
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
    }

    fn wake(&mut self, agent: u32) {
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

    /// Whether messages can be taken from mailboxes.
    fn has_window(&self) -> bool {
        self.window.len() < self.opening.grant.window as usize
    }

    /// An agent's turn begins.
    pub(super) fn begin_turn(&mut self, agent: u32) {
        if let Some(lodger) = self.lodgers.get_mut(&agent) {
            lodger.woken = false;
            lodger.waits = false;
        }
    }

    /// The next message that the agent is to send, and the number of its frame; 0 if it is the platform's own.
    pub(super) fn next_to_send(&mut self, agent: u32) -> Option<(u64, Box<AclMessage>)> {
        let lodger = self.lodgers.get_mut(&agent).filter(|lodger| lodger.aid.is_some())?;
        let Waiting { number, message, bytes } = lodger.to_send.pop_front()?;
        self.unqueue(bytes);
        Some((number, message))
    }

    /// The policy does not let an agent write to this one, as the frame of this number wanted.
    pub(super) fn handle_forbidden(&mut self, number: u64, receiver: Aid) {
        self.refuse(number, Code::NotAllowed, format!("the policy forbids to write to {receiver}"));
    }

    /// Whether the agent may hand over a message from its mailbox; if not, it is woken when it may.
    pub(super) fn may_deliver(&mut self, agent: u32) -> bool {
        let room = self.has_window() && self.over.is_none();
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return false };
        let may = room && lodger.aid.is_some() && lodger.ending.is_none();
        lodger.waits = !may;
        may
    }

    /// A message from the agent's mailbox is for the client.
    pub(super) fn deliver(&mut self, agent: u32, message: MessageBody) {
        let message = match message {
            MessageBody::Shared(message) => message,
            owned => Arc::from(owned.into_message()),
        };
        self.window.push_back(Outgoing::Message { agent, message });
    }

    /// The agent's turn ends.
    pub(super) fn end_turn(&mut self, agent: u32) -> Outlook {
        let Some(lodger) = self.lodgers.get(&agent) else {
            return Outlook::End(EndReason::Finished, Vec::new());
        };
        if !lodger.to_send.is_empty() && lodger.aid.is_some() {
            return Outlook::More;
        }
        match lodger.ending.clone() {
            Some(reason) if lodger.aid.is_some() => {
                let undelivered = self.handle_agent_gone(agent, &reason);
                Outlook::End(reason, undelivered)
            }
            _ => Outlook::Stay,
        }
    }

    /// An agent is no more. Messages for it that the client did not acknowledge, each as if it had but this receiver.
    pub(super) fn handle_agent_gone(&mut self, agent: u32, reason: &EndReason) -> Vec<Arc<AclMessage>> {
        if let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.aid.is_none()) {
            // Whether it ever was is told later.
            lodger.gone = Some(reason.clone());
            return Vec::new();
        }
        let Some(lodger) = self.lodgers.remove(&agent) else { return Vec::new() };
        lodger.to_send.iter().for_each(|waiting| self.unqueue(waiting.bytes));
        let mut undelivered = Vec::new();
        for outgoing in &mut self.window {
            if let Outgoing::Message { agent: of, message } = outgoing
                && *of == agent
            {
                undelivered.push(Arc::clone(message));
                let text = format!("agent {agent} ended before this message was acknowledged");
                *outgoing = Outgoing::Refused { of: 0, code: Code::NoAgent, text };
            }
        }
        self.parting.push((agent, reason.to_string()));
        undelivered
    }

    /// An agent that is no more has left its slot: its name is free, and so the client may have another of that name. Only now it is told
    /// of the end.
    pub(super) fn handle_agent_left(&mut self, agent: u32) {
        if let Some(at) = self.parting.iter().position(|(parting, _)| *parting == agent) {
            let (agent, reason) = self.parting.remove(at);
            self.window.push_back(Outgoing::Ended { agent, reason });
        }
    }

    /// The message of this number cannot be written for the client: its sender is to hear of that.
    pub fn handle_unwritable(&mut self, number: u64, code: Code, why: &str) {
        let Some(index) = number.checked_sub(self.first).map(|index| index as usize) else { return };
        let Some(place @ Outgoing::Message { .. }) = self.window.get_mut(index) else { return };
        if let Some(connection) = &mut self.connection {
            connection.sent = index;
        }
        let refusal = Outgoing::Refused { of: 0, code, text: format!("a message could not be handed over: {why}") };
        let Outgoing::Message { agent, message } = std::mem::replace(place, refusal) else { return };
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let envelope = Envelope { to: Aid::local(lodger.name), body: MessageBody::Shared(message) };
        if let Some(failure) = failure_for(&envelope, DeadReason::Unreachable) {
            lodger.to_send.push_back(Waiting { number: 0, message: Box::new(failure), bytes: 0 });
            self.queued += 1;
            self.wake(agent);
        }
    }
}
