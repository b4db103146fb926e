//! Agents of a session that are kept: what they were when they said so last, and what they were given and said since.
//!
//! A [`Save`] covers the messages up to a number. Those behind it are kept, acknowledged or not: whoever goes on from that state is given
//! them again. If the agent holds what it says, that leaves with the save behind it, and else never: so what it handled, what it became and what it
//! said are one step.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Numbered, Symbol};

use super::burden::Weight;
use super::code_name::CodeName;
use super::frames::{Code, CodePart, Fault, Keep, OnLeave, Save};
use super::lodgers::Waiting;
use super::shelf::Kept;
use super::state::{Session, SessionEvent};
use super::transmit::Outgoing;
use super::written::Change;
use crate::Time;
use crate::durable::Ticket;
use crate::limits::{
    AGENT_NAME_BYTES_MAX, CODE_BYTES_MAX, SESSION_CODE_BYTES_AT_ONCE, SESSION_HELD_BYTES_MAX,
    SESSION_HELD_DELIVERIES_MAX, SESSION_STATE_BYTES_MAX, SESSION_UNSAVED_BYTES_MAX, SESSION_UNSAVED_MESSAGES_MAX,
};

/// What an agent was when it said so last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// Its code.
    pub code: Arc<CodeName>,
    /// Its state.
    pub state: Arc<[u8]>,
}

/// What is kept of an agent while it has a session.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    pub on_leave: OnLeave,
    pub holds: bool,
    pub saved: Option<SavedState>,
    /// The code of that came to the client from here, or from the client.
    pub is_given: bool,
    /// Up to which number the newest save that came covers the messages.
    upto: u64,
    /// Messages that it was given and no state covers.
    unsaved: VecDeque<Unsaved>,
    /// What it said since the newest save that came, if it holds that.
    held: Vec<Waiting>,
    held_bytes: usize,
    held_deliveries: u64,
    held_memory: usize,
    /// What both take; it counts for its client's account.
    unsaved_bytes: usize,
    pub weight: Weight,
    /// Code that its node asked for, and what came of it.
    coming: Option<Coming>,
    /// Whether its node was asked if the code that it has is here.
    code_asked: bool,
    /// Nobody is told that its state is here before its code is.
    code_due: bool,
    /// The newest save that is safe, and the newest of which the client was told so.
    safe: u64,
    told: u64,
}

/// An agent's code on its way to the node.
#[derive(Debug)]
struct Coming {
    code: Arc<CodeName>,
    /// What came of it.
    there: Vec<u8>,
    /// Until when more of it must have come, so that it is waited for.
    until: Time,
}

/// A message that an agent was given and no state covers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unsaved {
    /// The number of its frame.
    frame: u64,
    message: Arc<AclMessage>,
    bytes: usize,
    /// Its number among its sender's, if that answers for it until a state covers it.
    number: Option<u64>,
}

impl Unsaved {
    fn ticket(&self) -> Option<Ticket> {
        self.number.map(|number| Ticket { sender: self.message.sender.name, number })
    }

    /// As it goes back to the mailbox.
    pub fn into_body(self) -> MessageBody {
        let Self { message, number, .. } = self;
        let body = match number {
            Some(number) => MessageBody::Numbered(Box::new(Numbered {
                number,
                after: 0,
                telling: Numbered::AGAIN,
                bulk: 0,
                message,
            })),
            None => MessageBody::Shared(message),
        };
        body.weighed()
    }
}

impl Keeping {
    /// Of one that was kept before. Whether its code is here is asked anew: it may be another node's by now.
    pub fn of(kept: Kept) -> Self {
        let Kept { on_leave, holds, saved, is_given } = kept;
        Self { on_leave, holds, saved, is_given, ..Self::default() }
    }

    /// Until when its client is not told that its state is here, as its code is on the way.
    pub fn code_due(&self) -> Option<Time> {
        self.coming.as_ref().filter(|_| self.code_due).map(|coming| coming.until)
    }

    /// Whether it may be given another message.
    pub fn has_room(&self) -> bool {
        self.unsaved.len() < SESSION_UNSAVED_MESSAGES_MAX && self.unsaved_bytes < SESSION_UNSAVED_BYTES_MAX
    }

    /// It was given a message of so many bytes.
    pub fn note_given(&mut self, frame: u64, message: &Arc<AclMessage>, bytes: usize, number: Option<u64>) {
        self.unsaved_bytes += bytes;
        self.weight.add(bytes);
        self.unsaved.push_back(Unsaved { frame, message: Arc::clone(message), bytes, number });
    }

    /// Nobody needs these any more: the tickets of those that have some.
    pub fn forget(&mut self, is_meant: impl Fn(u64) -> bool) -> Vec<Ticket> {
        let tickets = self.unsaved.iter().filter(|unsaved| is_meant(unsaved.frame)).filter_map(Unsaved::ticket);
        let tickets = tickets.collect();
        self.unsaved.retain(|unsaved| !is_meant(unsaved.frame));
        let left = self.unsaved.iter().map(|unsaved| unsaved.bytes).sum();
        self.weight.sub(self.unsaved_bytes - left);
        self.unsaved_bytes = left;
        tickets
    }

    /// The messages that no state covers, in their order.
    pub fn take_unsaved(&mut self) -> Vec<Unsaved> {
        self.weight.sub(std::mem::take(&mut self.unsaved_bytes));
        std::mem::take(&mut self.unsaved).into()
    }

    /// What is kept.
    pub fn kept(&self) -> Kept {
        Kept { on_leave: self.on_leave, holds: self.holds, saved: self.saved.clone(), is_given: self.is_given }
    }

    /// A state covers the messages up to this number, and these behind it: their tickets.
    pub fn cover(&mut self, upto: u64, also: &[u64]) -> Vec<Ticket> {
        let also: FxHashSet<u64> = also.iter().copied().collect();
        self.forget(|frame| frame <= upto || also.contains(&frame))
    }

    /// Keeps back what it says; gives it back if there is no place for it.
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
    /// An agent is to be kept, or not any more.
    pub(super) fn keep(&mut self, keep: Keep) {
        let Keep { number, agent, policy, holds } = keep;
        let (shelf, account) = (&self.opening.shelf, &self.opening.grant.account);
        let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.ending.is_none()) else {
            return self.refuse(number, Code::NoAgent, format!("there is no agent {agent}"));
        };
        if lodger.departing.is_some() {
            return self.refuse(number, Code::NotMovable, format!("agent {agent} is leaving"));
        }
        lodger.change = Change::All;
        // Whoever comes back was kept before.
        lodger.is_to_end = policy == OnLeave::End && lodger.aid.is_none();
        if policy == OnLeave::End {
            // Before it is there its name may be somebody else's.
            if lodger.aid.is_some() {
                shelf.strike(lodger.name);
            }
            let keeping = lodger.keeping.take();
            let (held, given) =
                keeping.map(|mut keeping| (keeping.take_held(), keeping.forget(|_| true))).unwrap_or_default();
            held.into_iter().for_each(|waiting| self.queue(agent, waiting));
            self.cover(agent, given);
            return self.wake(agent);
        }
        // Whoever is not there yet is entered when it is: its name may be somebody else's.
        if lodger.aid.is_some()
            && let Err(Fault { code, text }) = shelf.admit(lodger.name, account)
        {
            return self.refuse(number, code, text);
        }
        let keeping = lodger.keeping.get_or_insert_with(|| {
            let mut keeping = Box::new(Keeping { weight: Weight::on(&self.burden), ..Keeping::default() });
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

    /// Whether an agent that is there is to be kept.
    pub(super) fn keeps(&self, agent: u32) -> bool {
        self.lodgers.get(&agent).is_some_and(|lodger| lodger.aid.is_some() && lodger.keeping.is_some())
    }

    /// What is to be kept of an agent, and what of that is not written; nothing if it is not there, or if it is not known yet what it was.
    pub(super) fn kept(&mut self, agent: u32) -> Option<(Kept, &mut Change)> {
        let lodger = self.lodgers.get_mut(&agent).filter(|lodger| lodger.aid.is_some())?;
        let kept = lodger.keeping.as_ref().map(|keeping| keeping.kept()).unwrap_or_default();
        Some((kept, &mut lodger.change))
    }

    /// Messages to an agent are handled, and need not be given to it again.
    pub(super) fn cover(&mut self, agent: u32, tickets: Vec<Ticket>) {
        if !tickets.is_empty() {
            self.covered.entry(agent).or_default().extend(tickets);
        }
    }

    /// Those of which that was said since this was asked last.
    pub(super) fn take_covered(&mut self, agent: u32) -> Vec<Ticket> {
        self.covered.remove(&agent).unwrap_or_default()
    }

    pub(super) fn keeping(&mut self, agent: u32) -> Option<&mut Keeping> {
        self.lodgers.get_mut(&agent)?.keeping.as_deref_mut()
    }

    /// A state came. What the agent said before it is behind it no more.
    pub(super) fn save(&mut self, save: Save, bytes: usize) {
        let (number, agent) = (save.number, save.agent);
        if let Err(Fault { code, text }) = self.check_save(&save) {
            return self.refuse(number, code, text);
        }
        if let Some(to) = &save.to {
            // Made here, where names that come are counted. Nothing is let go before it is known that it goes.
            let _ = (Symbol::new(to), save.from.as_deref().map(Symbol::new));
            return self.queue(agent, Waiting::Save { save: Box::new(save), held: Vec::new(), bytes });
        }
        let Some(keeping) = self.keeping(agent) else { return };
        keeping.upto = save.upto;
        let held = keeping.take_held();
        let bytes = bytes + held.iter().map(Waiting::bytes).sum::<usize>();
        self.queue(agent, Waiting::Save { save: Box::new(save), held, bytes });
    }

    fn check_save(&self, save: &Save) -> Result<(), Fault> {
        let no = |code, text: String| Err(Fault::new(code, text));
        let agent = save.agent;
        let lodger = self.lodgers.get(&agent).filter(|lodger| lodger.ending.is_none() && lodger.aid.is_some());
        let Some(lodger) = lodger else {
            return no(Code::NoAgent, format!("there is no agent {agent}"));
        };
        let Some(keeping) = &lodger.keeping else {
            return no(Code::NotKept, format!("agent {agent} is not to be kept: `keep` says that it is"));
        };
        if lodger.departing.is_some() {
            return no(Code::NotMovable, format!("agent {agent} is leaving"));
        }
        if save.state.len() > SESSION_STATE_BYTES_MAX {
            let bytes = save.state.len();
            return no(Code::TooLong, format!("a state of {bytes} bytes: {SESSION_STATE_BYTES_MAX} are the most"));
        }
        if save.upto > self.written || save.upto < keeping.upto {
            let (from, to) = (keeping.upto, self.written);
            return no(Code::BadState, format!("it covers messages up to {}: {from} to {to} may be", save.upto));
        }
        let is_behind = |number: &u64| *number > save.upto && *number <= self.written;
        if save.also.len() > SESSION_UNSAVED_MESSAGES_MAX || !save.also.iter().all(is_behind) {
            return no(Code::BadState, "it covers messages that it was never given".to_owned());
        }
        if let Err(error) = save.code.parse::<CodeName>() {
            return no(Code::BadState, error.to_string());
        }
        if save.to.iter().chain(&save.from).any(|place| place.len() > AGENT_NAME_BYTES_MAX) {
            return no(Code::BadName, format!("no place has a name of more than {AGENT_NAME_BYTES_MAX} bytes"));
        }
        // Last, as it is counted by that; and now, as what is held is let go when the state is taken.
        self.opening.shelf.weigh(lodger.name, save.state.len())
    }

    /// In an agent's turn: it is what this says from now on.
    pub(super) fn commit(&mut self, agent: u32, save: Save) {
        let Save { upto, code, state, also, .. } = save;
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let (name, Some(keeping)) = (lodger.name, lodger.keeping.as_deref_mut()) else { return };
        let Ok(code) = code.parse::<CodeName>() else { return };
        let covered = keeping.cover(upto, &also);
        let code = match &keeping.saved {
            // Most agents never change it.
            Some(saved) if *saved.code == code => Arc::clone(&saved.code),
            _ => Arc::new(code),
        };
        let is_new = keeping.saved.as_ref().is_none_or(|saved| !Arc::ptr_eq(&saved.code, &code));
        // Whoever names code does not have it for that.
        keeping.is_given &= !is_new;
        let is_asked = (is_new || !keeping.code_asked) && keeping.on_leave == OnLeave::GoOn && code.origin().is_some();
        // If that is too often it is asked with a later save.
        if is_asked && self.opening.shelf.count_lookup(&self.opening.grant.account, self.heard_at) {
            self.looking += 1;
            self.events.push_back(SessionEvent::Code { agent, name, code: Arc::clone(&code) });
            (keeping.code_asked, keeping.code_due) = (true, true);
        } else if is_asked {
            keeping.code_asked = false;
        }
        lodger.change = if is_new || lodger.change == Change::All { Change::All } else { Change::State };
        keeping.saved = Some(SavedState { code, state: state.into() });
        self.cover(agent, covered);
    }

    /// The save of this number, and all before it, cannot be lost any more.
    pub(super) fn handle_safe(&mut self, agent: u32, number: u64) {
        // Another agent of this number came later.
        let lodger = self.lodgers.get_mut(&agent).filter(|lodger| lodger.created_by < number);
        if let Some(keeping) = lodger.and_then(|lodger| lodger.keeping.as_deref_mut()) {
            keeping.safe = keeping.safe.max(number);
        }
        self.say_saved(agent);
    }

    /// Nothing more is to be had of an agent's code than is here.
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

    /// The client is to say what an agent's code is. Whoever else waits for that has what comes, too.
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
        keeping.coming = Some(Coming { code, there: Vec::new(), until });
        self.window.push_back(Outgoing::Lacks { agent, code: name });
    }

    /// An agent's code does not come: its client hears that its state is here. What comes later of the code is taken all the same.
    pub(super) fn wait_no_more(&mut self, agent: u32) {
        if let Some(keeping) = self.keeping(agent) {
            keeping.code_due = false;
        }
        self.say_saved(agent);
    }

    /// What comes of an agent's code comes too late.
    pub(super) fn forget_coming(&mut self, agent: u32) {
        if let Some(keeping) = self.keeping(agent) {
            (keeping.coming, keeping.code_due) = (None, false);
        }
        self.say_saved(agent);
    }

    /// A part of an agent's code came.
    pub(super) fn take_code(&mut self, now: Time, part: CodePart) {
        let CodePart { number, agent, code, at, of, bytes } = part;
        let Some(lodger) = self.lodgers.get_mut(&agent) else {
            return self.refuse(number, Code::NoAgent, format!("there is no agent {agent}"));
        };
        let coming = lodger.keeping.as_mut().and_then(|keeping| keeping.coming.take());
        let name = lodger.name;
        let wanted = coming.filter(|coming| coming.code.to_string() == code);
        let Some(Coming { code: wanted, mut there, .. }) = wanted else {
            self.refuse(number, Code::BadState, format!("nobody asked for {code}"));
            return self.note_code(agent);
        };
        let end = there.len() + bytes.len();
        if at != there.len() as u64 || of > CODE_BYTES_MAX as u64 || end as u64 > of || (bytes.is_empty() && of > 0) {
            self.refuse(number, Code::BadState, format!("this is not the next part of {code}"));
            return self.note_code(agent);
        }
        let (shelf, account) = (&self.opening.shelf, &self.opening.grant.account);
        if at == 0 && !shelf.count_code(account, of, now) {
            let most = SESSION_CODE_BYTES_AT_ONCE;
            let text =
                format!("clients with one token bring {most} bytes of code at most, and then what comes with time");
            self.refuse(number, Code::Busy, text);
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
            keeping.coming = Some(Coming { code: wanted, there, until });
        }
    }

    /// What [`SessionEvent::Admit`](super::SessionEvent::Admit) came to, if the code is here now.
    pub fn note_brought(&mut self, agent: u32, code: &CodeName) {
        if let Some(keeping) = self.keeping(agent) {
            keeping.is_given |= keeping.saved.as_ref().is_some_and(|saved| *saved.code == *code);
        }
    }

    /// What [`SessionEvent::Admit`](super::SessionEvent::Admit) came to, if it came to nothing.
    pub fn handle_inadmissible(&mut self, number: u64, why: String) {
        self.refuse(number, Code::NotMovable, why);
    }

    /// The agent that [`SessionEvent::Create`](super::SessionEvent::Create) asked for was kept, and goes on here.
    pub(super) fn handle_returned(&mut self, agent: u32, aid: Aid, kept: Kept) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let mut keeping = Keeping { weight: Weight::on(&self.burden), ..Keeping::of(kept) };
        // What the client says by now counts.
        if let Some(said) = lodger.keeping.take() {
            keeping = Keeping { saved: keeping.saved, is_given: keeping.is_given, ..*said };
        }
        let (saved, from) = (keeping.saved.clone(), lodger.arrived);
        lodger.keeping = Some(Box::new(keeping));
        if lodger.is_to_end {
            lodger.keeping = None;
            self.opening.shelf.strike(lodger.name);
        }
        if let Some(saved) = saved {
            self.window.push_back(Outgoing::State { agent, saved, from });
        }
        self.handle_created(agent, Ok(aid));
    }
}
