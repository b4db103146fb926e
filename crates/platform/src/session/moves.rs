//! Agents that go from a client to another place, and come to one: a session's part.
//!
//! An agent leaves by a [`Save`] that says where to. Until it is known whether it can go there it stays as it was: nothing of the save is taken, what it
//! holds stays held. Then all of that is one step, in the agent's turn.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::Symbol;

use super::code_name::CodeName;
use super::frames::{Code, Lacks, Save, Stays};
use super::invitation::Invitation;
use super::keeping::Unsaved;
use super::lodgers::{Lodger, Waiting};
use super::shelf::Kept;
use super::state::{Session, SessionEvent};
use super::transmit::Outgoing;
use crate::Time;
use crate::limits::{
    SESSION_ANSWER_BYTES_MAX, SESSION_CODE_LOOKUPS_PER_S, SESSION_CODE_PART_BYTES, SESSION_OFFER_MS, SESSION_OFFERS_MAX,
};
use crate::mobility::{HopError, Wish};

/// What a session knows of moves.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Its client knows of them.
    pub known: bool,
    /// Agents that are offered to it.
    offers: Vec<Arc<Invitation>>,
    /// When the client was silent for too long of the first of its agents that are wanted elsewhere, or wait for their code.
    due: Option<Time>,
    /// Agents that left, of which it is not safe yet that they did.
    departed: Vec<Gone>,
}

impl Moves {
    pub fn due(&self) -> Time {
        self.due.unwrap_or(Time::NEVER)
    }
}

/// An agent that left.
#[derive(Debug)]
struct Gone {
    agent: u32,
    /// The number of the frame that says so.
    by: u64,
    /// That frame was a save.
    is_saved: bool,
    /// Why it is here no more.
    reason: String,
}

/// How far an agent is that leaves its client.
#[derive(Debug)]
pub(super) enum Departure {
    /// It goes in its next turn, if it can. Whether its client was asked for its code.
    Ready(Box<Save>, bool),
    /// It is its turn, and it goes or is refused before that is over: whatever comes meanwhile comes too late.
    Going,
    /// Its code is on the way: until when more of it must have come.
    Code(Box<Save>, Time),
    /// It is offered to another client.
    Offered(Box<Save>),
    /// It came, and its client cannot have it: by which frame it says so, and why.
    Back(u64, String),
}

impl Departure {
    fn into_save(self) -> Option<Box<Save>> {
        match self {
            Self::Ready(save, _) | Self::Code(save, _) | Self::Offered(save) => Some(save),
            Self::Going | Self::Back(..) => None,
        }
    }
}

/// An agent that left its client.
pub(super) struct Departed {
    /// The number of the save by which it left.
    pub save: u64,
    /// What it said and held.
    pub held: Vec<Waiting>,
    /// Messages that its state does not cover.
    pub unsaved: Vec<Unsaved>,
    /// Who wanted it elsewhere.
    pub wish: Option<Wish>,
}

impl Session {
    /// Somebody wants an agent elsewhere.
    pub(super) fn ask_to_yield(&mut self, agent: u32, wish: Wish, now: Time) {
        let (known, over) = (self.moves.known, self.over.is_some());
        let Some(lodger) = self.lodgers.get_mut(&agent).filter(|lodger| lodger.ending.is_none() && !over) else {
            return;
        };
        let why = match () {
            () if !known => "its client does not let agents go",
            () if lodger.keeping.is_none() => "its client does not say what it is",
            () if lodger.wish.is_some() || lodger.departing.is_some() => "it is leaving already",
            () => "",
        };
        if !why.is_empty() {
            return wish.over(Err(HopError::NotMovable(why.to_owned())));
        }
        let until = self.patience(now);
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        self.window.push_back(Outgoing::Yield { agent, to: wish.to });
        lodger.wish = Some((wish, until));
    }

    /// Until when a client can answer what it is asked now.
    pub(super) fn patience(&mut self, now: Time) -> Time {
        let until = now + Duration::from_millis(SESSION_OFFER_MS);
        self.moves.due = Some(self.moves.due().min(until));
        until
    }

    /// Tells those who wait too long for an agent, and has those stay who wait too long for their code.
    pub(super) fn give_up_waiting(&mut self, now: Time) {
        if now < self.moves.due() {
            return;
        }
        let (mut due, mut late, mut without_code) = (None, Vec::new(), Vec::new());
        for (agent, lodger) in &mut self.lodgers {
            if let Some((wish, _)) = lodger.wish.take_if(|(_, until)| *until <= now && lodger.departing.is_none()) {
                wish.over(Err(HopError::NotMovable(format!("its client did not answer within {SESSION_OFFER_MS} ms"))));
            }
            let until = match &lodger.departing {
                None => lodger.wish.as_ref().map(|(_, until)| *until),
                Some(Departure::Code(_, until)) => Some(*until),
                Some(_) => None,
            };
            late.extend(until.filter(|until| *until <= now).map(|_| *agent));
            let code_due = lodger.keeping.as_ref().and_then(|keeping| keeping.code_due());
            without_code.extend(code_due.filter(|until| *until <= now).map(|_| *agent));
            due = due.into_iter().chain(until).chain(code_due).filter(|until| *until > now).min();
        }
        self.moves.due = due;
        without_code.into_iter().for_each(|agent| self.wait_no_more(agent));
        for agent in late {
            let text = format!("its code did not come: nothing of it was heard for {SESSION_OFFER_MS} ms");
            self.forget_coming(agent);
            self.refuse_departure(agent, None, HopError::NotMovable(text));
        }
    }

    /// More of an agent's code came, or all: if it waits for that, it waits on.
    pub(super) fn note_code_came(&mut self, agent: u32, is_all: bool, now: Time) {
        let later = if is_all { Time::NEVER } else { self.patience(now) };
        if let Some(Departure::Code(_, until)) =
            self.lodgers.get_mut(&agent).and_then(|lodger| lodger.departing.as_mut())
        {
            *until = later;
        }
    }

    /// Whether an agent could be offered to the client, for which `to` stands.
    ///
    /// # Errors
    /// It could not: why.
    pub(super) fn takes_agents(&self, to: Symbol) -> Result<(), HopError> {
        if !self.moves.known {
            return Err(HopError::Refused { node: to, reason: "that client takes no agents".to_owned() });
        }
        if self.over.is_some() {
            return Err(HopError::Unreachable(to));
        }
        if self.moves.offers.len() >= SESSION_OFFERS_MAX {
            return Err(HopError::Busy { node: to, reason: "too many agents are offered to that client".to_owned() });
        }
        Ok(())
    }

    /// An agent is offered to the client, for which `to` stands.
    ///
    /// # Errors
    /// It is not for this client, or not now: why.
    pub(super) fn offer(&mut self, invitation: &Arc<Invitation>, to: Symbol) -> Result<(), HopError> {
        self.takes_agents(to)?;
        let (name, code) = (invitation.name, Arc::clone(&invitation.saved.code));
        self.moves.offers.push(Arc::clone(invitation));
        self.window.push_back(Outgoing::Offer { name, code });
        Ok(())
    }

    /// Whether an agent of this name is offered to this client, in this session or another.
    pub(super) fn may_take(&self, name: &str) -> bool {
        let (shelf, account) = (&self.opening.shelf, &self.opening.grant.account);
        Symbol::known(name).is_some_and(|name| shelf.offered_to(name, account).is_some())
    }

    pub(super) fn take_offer(&mut self, name: &str) -> Option<Arc<Invitation>> {
        let at = self.moves.offers.iter().position(|offer| offer.name.as_str() == name)?;
        Some(self.moves.offers.remove(at))
    }

    /// An agent that was offered is not to be had any more.
    pub(super) fn withdraw(&mut self, offer: &Arc<Invitation>) {
        self.moves.offers.retain(|other| !Arc::ptr_eq(other, offer));
    }

    /// The client does not take an agent that was offered to it.
    pub(super) fn decline(&mut self, offer: &Invitation, why: &str) {
        offer.decline(why);
        self.events.push_back(SessionEvent::Wake(whimbrel_acl::Aid::local(offer.name)));
    }

    pub(super) fn decline_all(&mut self) {
        for offer in std::mem::take(&mut self.moves.offers) {
            self.decline(&offer, "its session is over");
        }
    }

    /// An agent neither comes nor goes, says the client.
    pub(super) fn stay(&mut self, stays: Stays) {
        let Stays { number, name, text } = stays;
        if let Some(offer) = self.take_offer(&name) {
            return self.decline(&offer, &text);
        }
        let wanted =
            self.lodgers.values_mut().find(|lodger| lodger.name.as_str() == name && lodger.departing.is_none());
        if let Some((wish, _)) = wanted.and_then(|lodger| lodger.wish.take()) {
            return wish.over(Err(HopError::NotMovable(text)));
        }
        let may_go_back = |lodger: &Lodger| {
            let is_here = lodger.aid.is_some() && lodger.ending.is_none() && lodger.departing.is_none();
            lodger.arrived.is_some() && lodger.keeping.is_some() && is_here
        };
        let came = self.lodgers.iter_mut().find(|(_, lodger)| lodger.name.as_str() == name && may_go_back(lodger));
        let Some((agent, lodger)) = came else {
            return self.refuse(number, Code::NoAgent, format!("nobody wants {name}, and it is offered to nobody"));
        };
        lodger.departing = Some(Departure::Back(number, text));
        let agent = *agent;
        self.wake(agent);
    }

    /// An agent came from there that was offered to the client: it goes back if that says so.
    pub(super) fn note_arrived(&mut self, agent: u32, from: Symbol) {
        if let Some(lodger) = self.lodgers.get_mut(&agent) {
            lodger.arrived = Some(from);
        }
    }

    /// In an agent's turn: by which frame its client says that it is to go back, and why, if it does.
    pub(super) fn take_return(&mut self, agent: u32) -> Option<(u64, String)> {
        let departing = &mut self.lodgers.get_mut(&agent)?.departing;
        match departing.take_if(|it| matches!(it, Departure::Back(..)))? {
            Departure::Back(number, why) => {
                *departing = Some(Departure::Going);
                Some((number, why))
            }
            _ => None,
        }
    }

    /// An agent goes back where it was: messages that no state of it covers.
    pub(super) fn turn_back(&mut self, agent: u32, by: u64, why: &str) -> Option<Vec<Unsaved>> {
        let lodger = self.depart_as(agent, by, false, format!("it went back: {why}"))?;
        // What it held is said by nobody: as it is now, it never said that.
        Some(lodger.keeping.map(|mut keeping| keeping.take_unsaved()).unwrap_or_default())
    }

    /// The client has not got the code of an agent that it was given.
    pub(super) fn lack(&mut self, lacks: Lacks) {
        let Lacks { number, agent, code } = lacks;
        let Some(lodger) = self.lodgers.get(&agent).filter(|lodger| lodger.ending.is_none()) else {
            return self.refuse(number, Code::NoAgent, format!("there is no agent {agent}"));
        };
        let saved = lodger.keeping.as_ref().and_then(|keeping| keeping.saved.as_ref());
        let Some(saved) = saved.filter(|saved| saved.code.to_string() == code) else {
            return self.refuse(number, Code::BadState, format!("that is not the code of agent {agent}"));
        };
        let (name, code) = (lodger.name, Arc::clone(&saved.code));
        let is_given = lodger.keeping.as_ref().is_some_and(|keeping| keeping.is_given);
        if !self.begin_lookup() {
            let most = SESSION_CODE_LOOKUPS_PER_S;
            let text = format!("code is looked for {most} times a second for clients with one token");
            return self.refuse(number, Code::Busy, text);
        }
        self.events.push_back(SessionEvent::Lack { number, agent, name, code, is_given });
    }

    /// Code is to be looked for: false if that is too often for now.
    pub(super) fn begin_lookup(&mut self) -> bool {
        let may = self.opening.shelf.count_lookup(&self.opening.grant.account, self.heard_at);
        self.looking += u64::from(may);
        may
    }

    pub(super) fn end_lookup(&mut self) {
        self.looking = self.looking.saturating_sub(1);
    }

    /// What [`SessionEvent::Lack`] came to, if the client may not have that code.
    pub fn deny_code(&mut self, number: u64, code: &CodeName) {
        self.end_lookup();
        self.refuse(number, Code::NotAllowed, format!("{code} was neither offered to this client nor brought by it"));
    }

    /// What [`SessionEvent::Lack`] came to: the code as it travels, if it is here.
    pub fn give_code(&mut self, number: u64, agent: u32, code: &Arc<CodeName>, bytes: Option<&Arc<[u8]>>) {
        self.end_lookup();
        let Some(bytes) = bytes else {
            return self.refuse(number, Code::NotMovable, format!("{code} is not at this node"));
        };
        let mut at = 0;
        loop {
            let (code, bytes) = (Arc::clone(code), Arc::clone(bytes));
            let end = bytes.len().min(at + SESSION_CODE_PART_BYTES);
            let is_last = end == bytes.len();
            self.window.push_back(Outgoing::Code { agent, code, bytes, part: at..end });
            at = end;
            if is_last {
                return;
            }
        }
    }

    /// In an agent's turn: the save by which it leaves, if that is due; and whether its client was asked for its code.
    pub(super) fn take_departure(&mut self, agent: u32) -> Option<(Box<Save>, bool)> {
        let departing = self.lodgers.get_mut(&agent)?.departing.as_mut()?;
        match std::mem::replace(departing, Departure::Going) {
            Departure::Ready(save, asked) => Some((save, asked)),
            other => {
                *departing = other;
                None
            }
        }
    }

    /// An agent is offered to another client, and leaves when that has it.
    pub(super) fn depart_when_taken(&mut self, agent: u32, save: Box<Save>) {
        if let Some(lodger) = self.lodgers.get_mut(&agent) {
            lodger.departing = Some(Departure::Offered(save));
        }
    }

    /// An agent leaves when its code is here: its client is asked for that. Without one it is kept as it is.
    pub(super) fn depart_with_code(&mut self, agent: u32, save: Box<Save>, code: Arc<CodeName>, now: Time) {
        let until = self.patience(now);
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        if self.over.is_some() {
            lodger.departing = None;
            return self.keep_departing(agent, *save);
        }
        lodger.departing = Some(Departure::Code(save, until));
        self.want_code(agent, code, now);
    }

    /// What is kept of an agent that leaves, as of this save.
    pub(super) fn kept_by(&self, agent: u32, save: &Save) -> Option<(Symbol, Kept)> {
        let lodger = self.lodgers.get(&agent)?;
        let keeping = lodger.keeping.as_ref()?;
        let saved = super::keeping::SavedState {
            code: Arc::new(save.code.parse().ok()?),
            state: Arc::from(save.state.as_slice()),
        };
        let is_given = keeping.is_given && keeping.saved.as_ref().is_some_and(|before| before.code == saved.code);
        Some((lodger.name, Kept { on_leave: keeping.on_leave, holds: keeping.holds, saved: Some(saved), is_given }))
    }

    /// An agent leaves by this save, or by that by which it was offered: it is none of this session's any more.
    pub(super) fn depart(&mut self, agent: u32, save: Option<Box<Save>>, to: Symbol) -> Option<Departed> {
        let save = save.or_else(|| self.lodgers.get_mut(&agent)?.departing.take().and_then(Departure::into_save))?;
        let lodger = self.depart_as(agent, save.number, true, format!("it moved to {to}"))?;
        let (held, unsaved, covered) = lodger.keeping.map_or_else(Default::default, |mut keeping| {
            let covered = keeping.cover(save.upto, &save.also);
            (keeping.take_held(), keeping.take_unsaved(), covered)
        });
        self.cover(agent, covered);
        Some(Departed { save: save.number, held, unsaved, wish: lodger.wish.map(|(wish, _)| wish) })
    }

    /// An agent is none of this session's any more, because of the frame of this number.
    fn depart_as(&mut self, agent: u32, by: u64, is_saved: bool, reason: String) -> Option<Lodger> {
        let mut lodger = self.lodgers.remove(&agent)?;
        let queued = std::mem::take(&mut lodger.to_send);
        self.refuse_unsent(Vec::new(), queued, &format!("agent {agent}: {reason}"));
        self.write_off(agent, if is_saved { "it moved" } else { "it went back" });
        self.moves.departed.push(Gone { agent, by, is_saved, reason });
        Some(*lodger)
    }

    /// An agent that left cannot go on where it came from: its client hears that, too.
    pub(super) fn note_stranded(&mut self, agent: u32, why: &str) {
        if let Some(gone) = self.moves.departed.iter_mut().rfind(|gone| gone.agent == agent) {
            gone.reason = format!("{}; it {why}", gone.reason);
            gone.reason.truncate(gone.reason.floor_char_boundary(SESSION_ANSWER_BYTES_MAX));
        }
    }

    /// That an agent left is safe: its client is told of it.
    pub(super) fn handle_departed(&mut self, agent: u32, by: u64) {
        let departed = self.moves.departed.extract_if(.., |gone| (gone.agent, gone.by) == (agent, by));
        for Gone { agent, by, is_saved, reason } in departed.collect::<Vec<_>>() {
            if is_saved {
                self.window.push_back(Outgoing::Saved { agent, of: by });
            }
            self.window.push_back(Outgoing::Ended { agent, reason });
        }
    }

    /// An agent does not leave: it goes on as if its client had not said so. If that is gone, what it said last is kept.
    pub(super) fn refuse_departure(&mut self, agent: u32, save: Option<Box<Save>>, why: HopError) {
        let is_over = self.over.is_some();
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        let departing = lodger.departing.take().and_then(Departure::into_save);
        let Some(save) = save.or(departing) else { return };
        if let Some((wish, _)) = lodger.wish.take() {
            wish.over(Err(why.clone()));
        }
        if is_over {
            self.keep_departing(agent, *save);
        } else {
            self.refuse(save.number, code_of(&why), format!("{}: {why}", why.code()));
        }
        self.wake(agent);
    }

    /// The session is over before an agent could leave: its save is one as any other.
    pub(super) fn keep_departing(&mut self, agent: u32, save: Save) {
        let held = self.keeping(agent).map(|keeping| keeping.take_held()).unwrap_or_default();
        let bytes = held.iter().map(Waiting::bytes).sum();
        let save = Box::new(Save { to: None, ..save });
        self.queue(agent, Waiting::Save { save, held, bytes });
    }

    /// Those who wait for their code when the session is over are kept as they are.
    pub(super) fn keep_those_departing(&mut self) {
        let waits = |departure: &mut Departure| matches!(departure, Departure::Code(..));
        let waiting = self
            .lodgers
            .iter_mut()
            .filter_map(|(agent, lodger)| Some((*agent, lodger.departing.take_if(waits)?.into_save()?)));
        let waiting: Vec<(u32, Box<Save>)> = waiting.collect();
        waiting.into_iter().for_each(|(agent, save)| self.keep_departing(agent, *save));
    }

    /// An agent's code is here, or does not come: if it waits for that, it goes in its next turn.
    pub(super) fn resume_departure(&mut self, agent: u32) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        if let Some(Departure::Code(save, _)) = lodger.departing.take_if(|it| matches!(it, Departure::Code(..))) {
            lodger.departing = Some(Departure::Ready(save, true));
            self.wake(agent);
        }
    }
}

/// Why an agent stays, as its client is told in one word of the protocol's; the text begins with that of [`HopError::code`].
fn code_of(why: &HopError) -> Code {
    match why {
        HopError::Forbidden(_) => Code::NotAllowed,
        HopError::Busy { .. } => Code::Busy,
        HopError::TooLarge { .. } => Code::TooLong,
        _ => Code::NotMovable,
    }
}
