//! Kept agents of a session: the last saved state of each, and the messages that it received and sent since.
//!
//! A [`Save`] covers the messages up to a number. Later messages are kept, acknowledged or not: they are delivered
//! again to whoever continues from that state. Messages of an agent with `holds` leave with the next save, or never. So
//! the messages that the agent handled, its new state and the messages that it sent are one step.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Numbered, Symbol};

use super::code_name::CodeName;
use super::frames::{CodePart, ErrorCode, ErrorFrame, Keep, OnLeave, Save};
use super::kept_agents::KeptState;
use super::memory_quota::QuotaShare;
use super::persisted::UnsavedChange;
use super::session_agents::Waiting;
use super::state::{Session, SessionEvent};
use super::transmit::Outgoing;
use crate::Time;
use crate::durable::Ticket;
use crate::limits::{
    AGENT_NAME_BYTES_MAX, CODE_BYTES_MAX, SESSION_CODE_BYTES_AT_ONCE, SESSION_HELD_BYTES_MAX,
    SESSION_HELD_DELIVERIES_MAX, SESSION_STATE_BYTES_MAX, SESSION_UNSAVED_BYTES_MAX, SESSION_UNSAVED_MESSAGES_MAX,
};

/// Last saved state of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// Name of the agent's code.
    pub code: Arc<CodeName>,
    /// State.
    pub state: Arc<[u8]>,
}

/// Record of a kept agent while it has a session.
#[derive(Debug, Default)]
pub(super) struct AgentDurability {
    pub on_leave: OnLeave,
    pub holds: bool,
    pub saved: Option<SavedState>,
    /// True if the code came to the client from this node, or to the node from the client.
    pub is_given: bool,
    /// Last message covered by the newest save that arrived.
    upto: u64,
    /// Messages that the agent was given and no state covers.
    unsaved: VecDeque<Unsaved>,
    /// Messages that the agent sent since the newest save that arrived, if it withholds them.
    held: Vec<Waiting>,
    held_bytes: usize,
    held_deliveries: u64,
    held_memory: usize,
    /// Bytes of unsaved and held messages, charged to its client's account.
    unsaved_bytes: usize,
    pub weight: QuotaShare,
    /// Code that the node asked for, as far as it has arrived.
    coming: Option<CodeUpload>,
    /// Question if the node has the agent's code; true once it was asked.
    code_asked: bool,
    /// Code on its way. The client is not told before that its state is safe.
    code_due: bool,
    /// Number of the newest save that is safe, and of the newest that the client was told of.
    safe: u64,
    told: u64,
}

/// Code of an agent on its way to the node.
#[derive(Debug)]
struct CodeUpload {
    code: Arc<CodeName>,
    /// Bytes that arrived.
    there: Vec<u8>,
    /// End of the wait for the next part.
    until: Time,
}

/// Message that an agent was given and no state covers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unsaved {
    /// Number of the message's frame.
    frame: u64,
    message: Arc<AclMessage>,
    bytes: usize,
    /// Number that its sender gave it, if the sender answers for it until a state covers it.
    number: Option<u64>,
}

impl Unsaved {
    fn ticket(&self) -> Option<Ticket> {
        self.number.map(|number| Ticket { sender: self.message.sender.name, number })
    }

    /// Returns the message for the mailbox.
    pub fn into_body(self) -> MessageBody {
        let Self { message, number, .. } = self;
        let body = match number {
            Some(number) => MessageBody::Numbered(Box::new(Numbered {
                number,
                after: 0,
                replay_round: Numbered::AGAIN,
                bulk: 0,
                message,
            })),
            None => MessageBody::Shared(message),
        };
        body.weighed()
    }
}

impl AgentDurability {
    /// Returns the record of an agent that was kept before. The node is asked for its code again: it may be another
    /// node by now.
    pub fn of(kept: KeptState) -> Self {
        let KeptState { on_leave, holds, saved, is_given } = kept;
        Self { on_leave, holds, saved, is_given, ..Self::default() }
    }

    /// Returns the time until which the client is not told that the agent's state is safe, because its code is on the
    /// way.
    pub fn code_due(&self) -> Option<Time> {
        self.coming.as_ref().filter(|_| self.code_due).map(|coming| coming.until)
    }

    /// Returns true if the agent may be given another message.
    pub fn has_room(&self) -> bool {
        self.unsaved.len() < SESSION_UNSAVED_MESSAGES_MAX && self.unsaved_bytes < SESSION_UNSAVED_BYTES_MAX
    }

    /// Notes a message that the agent was given, with its bytes.
    pub fn note_given(&mut self, frame: u64, message: &Arc<AclMessage>, bytes: usize, number: Option<u64>) {
        self.unsaved_bytes += bytes;
        self.weight.add(bytes);
        self.unsaved.push_back(Unsaved { frame, message: Arc::clone(message), bytes, number });
    }

    /// Drops messages that are no longer needed, and returns the tickets of those that have some.
    pub fn forget(&mut self, is_meant: impl Fn(u64) -> bool) -> Vec<Ticket> {
        let tickets = self.unsaved.iter().filter(|unsaved| is_meant(unsaved.frame)).filter_map(Unsaved::ticket);
        let tickets = tickets.collect();
        self.unsaved.retain(|unsaved| !is_meant(unsaved.frame));
        let left = self.unsaved.iter().map(|unsaved| unsaved.bytes).sum();
        self.weight.sub(self.unsaved_bytes - left);
        self.unsaved_bytes = left;
        tickets
    }

    /// Takes the messages that no state covers, in their order.
    pub fn take_unsaved(&mut self) -> Vec<Unsaved> {
        self.weight.sub(std::mem::take(&mut self.unsaved_bytes));
        std::mem::take(&mut self.unsaved).into()
    }

    /// Returns the kept state.
    pub fn kept(&self) -> KeptState {
        KeptState { on_leave: self.on_leave, holds: self.holds, saved: self.saved.clone(), is_given: self.is_given }
    }

    /// Drops the messages that a state covers: those up to this number, and these behind it. Returns their tickets.
    pub fn cover(&mut self, upto: u64, also: &[u64]) -> Vec<Ticket> {
        let also: FxHashSet<u64> = also.iter().copied().collect();
        self.forget(|frame| frame <= upto || also.contains(&frame))
    }

    /// Withholds a message that the agent sends; returns it if there is no room.
    pub fn hold(&mut self, waiting: Waiting) -> Result<(), Waiting> {
        let has_room = self.held_bytes + waiting.bytes() <= SESSION_HELD_BYTES_MAX && self.weight.has_room();
        if self.held_deliveries + waiting.deliveries() > SESSION_HELD_DELIVERIES_MAX || !has_room {
            return Err(waiting);
        }
        self.held_deliveries += waiting.deliveries();
        let memory = waiting.memory();
        self.held_bytes += waiting.bytes();
        self.held_memory += memory;
        self.weight.add(memory);
        self.held.push(waiting);
        Ok(())
    }

    pub fn take_held(&mut self) -> Vec<Waiting> {
        self.weight.sub(std::mem::take(&mut self.held_memory));
        (self.held_bytes, self.held_deliveries) = (0, 0);
        std::mem::take(&mut self.held)
    }
}

impl Session {
    /// Sets if and how an agent is kept.
    pub(super) fn keep(&mut self, keep: Keep) {
        let Keep { number, agent, policy, holds } = keep;
        let (kept_agents, account) = (&self.opening.kept_agents, &self.opening.grant.account);
        let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.ending.is_none()) else {
            return self.refuse(number, ErrorCode::NoAgent, format!("there is no agent {agent}"));
        };
        if lodger.departing.is_some() {
            return self.refuse(number, ErrorCode::NotMovable, format!("agent {agent} is leaving"));
        }
        lodger.change = UnsavedChange::All;
        // An agent that returns was kept before.
        lodger.is_to_end = policy == OnLeave::End && lodger.aid.is_none();
        if policy == OnLeave::End {
            // Before the agent exists, its name may be another agent's.
            if lodger.aid.is_some() {
                kept_agents.strike(lodger.name);
            }
            let keeping = lodger.keeping.take();
            let (held, given) =
                keeping.map(|mut keeping| (keeping.take_held(), keeping.forget(|_| true))).unwrap_or_default();
            held.into_iter().for_each(|waiting| self.queue(agent, waiting));
            self.cover(agent, given);
            return self.wake(agent);
        }
        // An agent that does not exist yet is entered once it does: its name may be another agent's.
        if lodger.aid.is_some()
            && let Err(ErrorFrame { code, text }) = kept_agents.admit(lodger.name, account)
        {
            return self.refuse(number, code, text);
        }
        let keeping = lodger.keeping.get_or_insert_with(|| {
            let mut keeping =
                Box::new(AgentDurability { weight: QuotaShare::on(&self.burden), ..AgentDurability::default() });
            for (index, outgoing) in self.window.iter().enumerate() {
                if let Outgoing::Message { agent: of, message, bytes } = outgoing
                    && *of == agent
                {
                    keeping.note_given(self.first + index as u64, message, *bytes, None);
                }
            }
            keeping
        });
        if policy != keeping.on_leave {
            keeping.code_asked = false;
        }
        keeping.on_leave = policy;
        if keeping.holds && !holds {
            let held = keeping.take_held();
            held.into_iter().for_each(|waiting| self.queue(agent, waiting));
        }
        if let Some(keeping) = self.keeping(agent) {
            keeping.holds = holds;
        }
        self.wake(agent);
    }

    /// Returns true if an existing agent is to be kept.
    pub(super) fn keeps(&self, agent: u32) -> bool {
        self.lodgers.get(&agent).is_some_and(|lodger| lodger.aid.is_some() && lodger.keeping.is_some())
    }

    /// Returns the kept state of an agent, and the change that is not written yet. Returns `None` if the agent does not
    /// exist yet, or its former state is unknown.
    pub(super) fn kept(&mut self, agent: u32) -> Option<(KeptState, &mut UnsavedChange)> {
        let lodger = self.lodgers.get_mut(&agent).filter(|lodger| lodger.aid.is_some())?;
        let kept = lodger.keeping.as_ref().map(|keeping| keeping.kept()).unwrap_or_default();
        Some((kept, &mut lodger.change))
    }

    /// Notes that messages to an agent are handled, and need not be given to it again.
    pub(super) fn cover(&mut self, agent: u32, tickets: Vec<Ticket>) {
        if !tickets.is_empty() {
            self.covered.entry(agent).or_default().extend(tickets);
        }
    }

    /// Takes the tickets that were noted since the last call.
    pub(super) fn take_covered(&mut self, agent: u32) -> Vec<Ticket> {
        self.covered.remove(&agent).unwrap_or_default()
    }

    pub(super) fn keeping(&mut self, agent: u32) -> Option<&mut AgentDurability> {
        self.lodgers.get_mut(&agent)?.keeping.as_deref_mut()
    }

    /// Takes in a state. Messages that the agent sent before it are withheld no longer.
    pub(super) fn save(&mut self, save: Save, bytes: usize) {
        let (number, agent) = (save.number, save.agent);
        if let Err(ErrorFrame { code, text }) = self.check_save(&save) {
            return self.refuse(number, code, text);
        }
        if let Some(to) = &save.to {
            // Symbols are made here, where new names are counted. Nothing is released before it is known that the agent
            // leaves.
            let _ = (Symbol::new(to), save.from.as_deref().map(Symbol::new));
            return self.queue(agent, Waiting::Save { save: Box::new(save), held: Vec::new(), bytes });
        }
        let Some(keeping) = self.keeping(agent) else { return };
        keeping.upto = save.upto;
        let held = keeping.take_held();
        let bytes = bytes + held.iter().map(Waiting::bytes).sum::<usize>();
        self.queue(agent, Waiting::Save { save: Box::new(save), held, bytes });
    }

    fn check_save(&self, save: &Save) -> Result<(), ErrorFrame> {
        let no = |code, text: String| Err(ErrorFrame::new(code, text));
        let agent = save.agent;
        let lodger = self.lodgers.get(&agent).filter(|lodger| lodger.ending.is_none() && lodger.aid.is_some());
        let Some(lodger) = lodger else {
            return no(ErrorCode::NoAgent, format!("there is no agent {agent}"));
        };
        let Some(keeping) = &lodger.keeping else {
            return no(ErrorCode::NotKept, format!("agent {agent} is not to be kept: `keep` says that it is"));
        };
        if lodger.departing.is_some() {
            return no(ErrorCode::NotMovable, format!("agent {agent} is leaving"));
        }
        if save.state.len() > SESSION_STATE_BYTES_MAX {
            let bytes = save.state.len();
            return no(ErrorCode::TooLong, format!("a state of {bytes} bytes: at most {SESSION_STATE_BYTES_MAX}"));
        }
        if save.upto > self.written || save.upto < keeping.upto {
            let (from, to) = (keeping.upto, self.written);
            return no(ErrorCode::BadState, format!("it covers messages up to {}: {from} to {to} may be", save.upto));
        }
        let is_behind = |number: &u64| *number > save.upto && *number <= self.written;
        if save.also.len() > SESSION_UNSAVED_MESSAGES_MAX || !save.also.iter().all(is_behind) {
            return no(ErrorCode::BadState, "it covers messages that it was never given".to_owned());
        }
        if let Err(error) = save.code.parse::<CodeName>() {
            return no(ErrorCode::BadState, error.to_string());
        }
        if save.to.iter().chain(&save.from).any(|place| place.len() > AGENT_NAME_BYTES_MAX) {
            return no(ErrorCode::BadName, format!("no place has a name of more than {AGENT_NAME_BYTES_MAX} bytes"));
        }
        // Last, because this check counts the state; and now, because withheld messages are released with the state.
        self.opening.kept_agents.weigh(lodger.name, save.state.len())
    }

    /// Commits a saved state in the agent's turn.
    pub(super) fn commit(&mut self, agent: u32, save: Save) {
        let Save { upto, code, state, also, .. } = save;
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let (name, Some(keeping)) = (lodger.name, lodger.keeping.as_deref_mut()) else { return };
        let Ok(code) = code.parse::<CodeName>() else { return };
        let covered = keeping.cover(upto, &also);
        let code = match &keeping.saved {
            // Most agents never change their code.
            Some(saved) if *saved.code == code => Arc::clone(&saved.code),
            _ => Arc::new(code),
        };
        let is_new = keeping.saved.as_ref().is_none_or(|saved| !Arc::ptr_eq(&saved.code, &code));
        // Naming code does not entitle a client to it.
        keeping.is_given &= !is_new;
        let is_asked = (is_new || !keeping.code_asked) && keeping.on_leave == OnLeave::GoOn && code.origin().is_some();
        // If the account asks too often, the node is asked with a later save.
        if is_asked && self.opening.kept_agents.count_lookup(&self.opening.grant.account, self.heard_at) {
            self.looking += 1;
            self.events.push_back(SessionEvent::Code { agent, name, code: Arc::clone(&code) });
            (keeping.code_asked, keeping.code_due) = (true, true);
        } else if is_asked {
            keeping.code_asked = false;
        }
        lodger.change =
            if is_new || lodger.change == UnsavedChange::All { UnsavedChange::All } else { UnsavedChange::State };
        keeping.saved = Some(SavedState { code, state: state.into() });
        self.cover(agent, covered);
    }

    /// Notes that the save of this number, and all before it, are safe.
    pub(super) fn handle_safe(&mut self, agent: u32, number: u64) {
        // A later agent may have this number.
        let lodger = self.lodgers.get_mut(&agent).filter(|lodger| lodger.created_by < number);
        if let Some(keeping) = lodger.and_then(|lodger| lodger.keeping.as_deref_mut()) {
            keeping.safe = keeping.safe.max(number);
        }
        self.say_saved(agent);
    }

    /// Notes that no more of an agent's code will arrive than is here.
    pub fn handle_code(&mut self, agent: u32) {
        self.end_lookup();
        self.note_code(agent);
    }

    fn note_code(&mut self, agent: u32) {
        if let Some(keeping) = self.keeping(agent) {
            keeping.code_due = false;
        }
        self.say_saved(agent);
        self.resume_departure(agent);
    }

    fn say_saved(&mut self, agent: u32) {
        let Some(keeping) = self.keeping(agent) else { return };
        if keeping.safe > keeping.told && !keeping.code_due {
            keeping.told = keeping.safe;
            let of = keeping.safe;
            self.window.push_back(Outgoing::Saved { agent, of });
        }
    }

    /// Asks the client for an agent's code. Others that wait for that code get it, too.
    pub fn ask_for_code(&mut self, agent: u32, code: Arc<CodeName>, now: Time) {
        self.end_lookup();
        self.want_code(agent, code, now);
    }

    pub(super) fn want_code(&mut self, agent: u32, code: Arc<CodeName>, now: Time) {
        let until = self.patience(now);
        let Some(keeping) = self.keeping(agent) else { return };
        if let Some(coming) = keeping.coming.as_mut().filter(|coming| coming.code == code) {
            coming.until = until;
            return;
        }
        let name = code.to_string();
        keeping.coming = Some(CodeUpload { code, there: Vec::new(), until });
        self.window.push_back(Outgoing::Lacks { agent, code: name });
    }

    /// Stops waiting for an agent's code: its client is told that the state is safe. Code that arrives later is still
    /// accepted.
    pub(super) fn wait_no_more(&mut self, agent: u32) {
        if let Some(keeping) = self.keeping(agent) {
            keeping.code_due = false;
        }
        self.say_saved(agent);
    }

    /// Stops waiting for an agent's code: parts that arrive later are too late.
    pub(super) fn forget_coming(&mut self, agent: u32) {
        if let Some(keeping) = self.keeping(agent) {
            (keeping.coming, keeping.code_due) = (None, false);
        }
        self.say_saved(agent);
    }

    /// Takes in a part of an agent's code.
    pub(super) fn take_code(&mut self, now: Time, part: CodePart) {
        let CodePart { number, agent, code, at, of, bytes } = part;
        let Some(lodger) = self.lodgers.get_mut(&agent) else {
            return self.refuse(number, ErrorCode::NoAgent, format!("there is no agent {agent}"));
        };
        let coming = lodger.keeping.as_mut().and_then(|keeping| keeping.coming.take());
        let name = lodger.name;
        let wanted = coming.filter(|coming| coming.code.to_string() == code);
        let Some(CodeUpload { code: wanted, mut there, .. }) = wanted else {
            self.refuse(number, ErrorCode::BadState, format!("nobody asked for {code}"));
            return self.note_code(agent);
        };
        let end = there.len() + bytes.len();
        if at != there.len() as u64 || of > CODE_BYTES_MAX as u64 || end as u64 > of || (bytes.is_empty() && of > 0) {
            self.refuse(number, ErrorCode::BadState, format!("this is not the next part of {code}"));
            return self.note_code(agent);
        }
        let (kept_agents, account) = (&self.opening.kept_agents, &self.opening.grant.account);
        if at == 0 && !kept_agents.count_code(account, of, now) {
            let most = SESSION_CODE_BYTES_AT_ONCE;
            let text =
                format!("clients with one token bring at most {most} bytes of code, and then what comes with time");
            self.refuse(number, ErrorCode::Busy, text);
            self.events.push_back(SessionEvent::TooMuchCode { agent: name, code: wanted });
            return self.note_code(agent);
        }
        there.extend(bytes);
        self.note_code_came(agent, end as u64 == of, now);
        if end as u64 == of {
            self.looking += 1;
            self.events.push_back(SessionEvent::Admit { number, agent, name, code: wanted, bytes: there });
            return;
        }
        let until = self.patience(now);
        if let Some(keeping) = self.keeping(agent) {
            keeping.coming = Some(CodeUpload { code: wanted, there, until });
        }
    }

    /// Takes in the success of a [`SessionEvent::Admit`](super::SessionEvent::Admit): the code is here now.
    pub fn note_brought(&mut self, agent: u32, code: &CodeName) {
        if let Some(keeping) = self.keeping(agent) {
            keeping.is_given |= keeping.saved.as_ref().is_some_and(|saved| *saved.code == *code);
        }
    }

    /// Takes in the failure of a [`SessionEvent::Admit`](super::SessionEvent::Admit).
    pub fn handle_inadmissible(&mut self, number: u64, why: String) {
        self.refuse(number, ErrorCode::NotMovable, why);
    }

    /// Takes in that the agent of a [`SessionEvent::Create`](super::SessionEvent::Create) was kept, and continues in
    /// this session.
    pub(super) fn handle_returned(&mut self, agent: u32, aid: Aid, kept: KeptState) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let mut keeping = AgentDurability { weight: QuotaShare::on(&self.burden), ..AgentDurability::of(kept) };
        // Newer requests of the client count.
        if let Some(said) = lodger.keeping.take() {
            keeping = AgentDurability { saved: keeping.saved, is_given: keeping.is_given, ..*said };
        }
        let (saved, from) = (keeping.saved.clone(), lodger.arrived);
        lodger.keeping = Some(Box::new(keeping));
        if lodger.is_to_end {
            lodger.keeping = None;
            self.opening.kept_agents.strike(lodger.name);
        }
        if let Some(saved) = saved {
            self.window.push_back(Outgoing::State { agent, saved, from });
        }
        self.handle_created(agent, Ok(aid));
    }
}
