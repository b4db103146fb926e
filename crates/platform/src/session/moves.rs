//! Moves of agents from a client to another place, and to a client: the session's part.
//!
//! An agent leaves by a [`Save`] with a destination. Until it is known if it can go there, it stays as it was: the save
//! is not taken, and withheld messages stay withheld. Then all of that is one step, in the agent's turn.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::Symbol;

use super::code_name::CodeName;
use super::durability::Unsaved;
use super::frames::{ErrorCode, Lacks, Save, Stays};
use super::invitation::Invitation;
use super::kept_agents::KeptState;
use super::session_agents::{SessionAgent, Waiting};
use super::state::{Session, SessionEvent};
use super::transmit::Outgoing;
use crate::Time;
use crate::limits::{
    SESSION_ANSWER_BYTES_MAX, SESSION_CODE_LOOKUPS_PER_S, SESSION_CODE_PART_BYTES, SESSION_OFFER_MS, SESSION_OFFERS_MAX,
};
use crate::mobility::{HopError, Wish};

/// State of a session's moves.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Support for moves by the client.
    pub known: bool,
    /// Agents that are offered to the client.
    offers: Vec<Arc<Invitation>>,
    /// Time when the first wait for the client ends: for an answer to a wish, or for code.
    due: Option<Time>,
    /// Agents that left, before their departure is safe.
    departed: Vec<Gone>,
}

impl Moves {
    pub fn due(&self) -> Time {
        self.due.unwrap_or(Time::NEVER)
    }
}

/// Agent that left.
#[derive(Debug)]
struct Gone {
    agent: u32,
    /// Number of the frame by which it left.
    by: u64,
    /// True if that frame was a save.
    is_saved: bool,
    /// Reason, for its client.
    reason: String,
}

/// Progress of an agent that leaves its client.
#[derive(Debug)]
pub(super) enum Departure {
    /// Ready: the agent leaves in its next turn, if it can. True if its client was asked for its code.
    Ready(Box<Save>, bool),
    /// Leaving in its present turn: frames that arrive meanwhile are too late.
    Going,
    /// Waiting for the agent's code, until this time for the next part.
    Code(Box<Save>, Time),
    /// Offered to another client.
    Offered(Box<Save>),
    /// Returning, because its client cannot have it: the number of the client's frame, and the reason.
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

/// Agent that left its client.
pub(super) struct Departed {
    /// Number of the save by which the agent left.
    pub save: u64,
    /// Messages that the agent had withheld.
    pub held: Vec<Waiting>,
    /// Messages that its state does not cover.
    pub unsaved: Vec<Unsaved>,
    /// Wish that the agent move, if there was one.
    pub wish: Option<Wish>,
}

impl Session {
    /// Asks the client to let an agent move.
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

    /// Returns the end of the client's time to answer a question that is asked now.
    pub(super) fn patience(&mut self, now: Time) -> Time {
        let until = now + Duration::from_millis(SESSION_OFFER_MS);
        self.moves.due = Some(self.moves.due().min(until));
        until
    }

    /// Ends waits for the client that took too long: wishes fail, and agents that wait for their code stay.
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
            let text = format!("its code did not come: no part of it arrived for {SESSION_OFFER_MS} ms");
            self.forget_coming(agent);
            self.refuse_departure(agent, None, HopError::NotMovable(text));
        }
    }

    /// Takes in that more of an agent's code arrived, or all: an agent that waits for it waits on.
    pub(super) fn note_code_came(&mut self, agent: u32, is_all: bool, now: Time) {
        let later = if is_all { Time::NEVER } else { self.patience(now) };
        if let Some(Departure::Code(_, until)) =
            self.lodgers.get_mut(&agent).and_then(|lodger| lodger.departing.as_mut())
        {
            *until = later;
        }
    }

    /// Checks if an agent could be offered to the client, which `to` stands for.
    ///
    /// # Errors
    /// The reason why it could not.
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

    /// Offers an agent to the client, which `to` stands for.
    ///
    /// # Errors
    /// The reason why it is not for this client, or not now.
    pub(super) fn offer(&mut self, invitation: &Arc<Invitation>, to: Symbol) -> Result<(), HopError> {
        self.takes_agents(to)?;
        let (name, code) = (invitation.name, Arc::clone(&invitation.saved.code));
        self.moves.offers.push(Arc::clone(invitation));
        self.window.push_back(Outgoing::Offer { name, code });
        Ok(())
    }

    /// Returns true if an agent of this name is offered to this client, in this session or another.
    pub(super) fn may_take(&self, name: &str) -> bool {
        let (kept_agents, account) = (&self.opening.kept_agents, &self.opening.grant.account);
        Symbol::known(name).is_some_and(|name| kept_agents.offered_to(name, account).is_some())
    }

    pub(super) fn take_offer(&mut self, name: &str) -> Option<Arc<Invitation>> {
        let at = self.moves.offers.iter().position(|offer| offer.name.as_str() == name)?;
        Some(self.moves.offers.remove(at))
    }

    /// Withdraws an offer.
    pub(super) fn withdraw(&mut self, offer: &Arc<Invitation>) {
        self.moves.offers.retain(|other| !Arc::ptr_eq(other, offer));
    }

    /// Declines an offer, for the client.
    pub(super) fn decline(&mut self, offer: &Invitation, why: &str) {
        offer.decline(why);
        self.events.push_back(SessionEvent::Wake(whimbrel_acl::Aid::local(offer.name)));
    }

    pub(super) fn decline_all(&mut self) {
        for offer in std::mem::take(&mut self.moves.offers) {
            self.decline(&offer, "its session is over");
        }
    }

    /// Takes in the client's answer that an agent stays where it is.
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
        let may_go_back = |lodger: &SessionAgent| {
            let is_here = lodger.aid.is_some() && lodger.ending.is_none() && lodger.departing.is_none();
            lodger.arrived.is_some() && lodger.keeping.is_some() && is_here
        };
        let came = self.lodgers.iter_mut().find(|(_, lodger)| lodger.name.as_str() == name && may_go_back(lodger));
        let Some((agent, lodger)) = came else {
            return self.refuse(
                number,
                ErrorCode::NoAgent,
                format!("{name} is neither wanted elsewhere nor offered to a client"),
            );
        };
        lodger.departing = Some(Departure::Back(number, text));
        let agent = *agent;
        self.wake(agent);
    }

    /// Notes the former place of an agent that was offered to the client: it returns there if the client says so.
    pub(super) fn note_arrived(&mut self, agent: u32, from: Symbol) {
        if let Some(lodger) = self.lodgers.get_mut(&agent) {
            lodger.arrived = Some(from);
        }
    }

    /// Takes the return that the client asked for, in the agent's turn: the number of its frame, and the reason.
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

    /// Lets an agent return to its former place. Returns the messages that no state covers.
    pub(super) fn turn_back(&mut self, agent: u32, by: u64, why: &str) -> Option<Vec<Unsaved>> {
        let lodger = self.depart_as(agent, by, false, format!("it went back: {why}"))?;
        // Withheld messages are dropped: in its former state the agent never sent them.
        Some(lodger.keeping.map(|mut keeping| keeping.take_unsaved()).unwrap_or_default())
    }

    /// Takes in that the client lacks the code of an agent that it was given.
    pub(super) fn lack(&mut self, lacks: Lacks) {
        let Lacks { number, agent, code } = lacks;
        let Some(lodger) = self.lodgers.get(&agent).filter(|lodger| lodger.ending.is_none()) else {
            return self.refuse(number, ErrorCode::NoAgent, format!("there is no agent {agent}"));
        };
        let saved = lodger.keeping.as_ref().and_then(|keeping| keeping.saved.as_ref());
        let Some(saved) = saved.filter(|saved| saved.code.to_string() == code) else {
            return self.refuse(number, ErrorCode::BadState, format!("that is not the code of agent {agent}"));
        };
        let (name, code) = (lodger.name, Arc::clone(&saved.code));
        let is_given = lodger.keeping.as_ref().is_some_and(|keeping| keeping.is_given);
        if !self.begin_lookup() {
            let most = SESSION_CODE_LOOKUPS_PER_S;
            let text = format!("code is looked for {most} times a second for clients with one token");
            return self.refuse(number, ErrorCode::Busy, text);
        }
        self.events.push_back(SessionEvent::Lack { number, agent, name, code, is_given });
    }

    /// Begins a search for code. Returns false if there are too many now.
    pub(super) fn begin_lookup(&mut self) -> bool {
        let may = self.opening.kept_agents.count_lookup(&self.opening.grant.account, self.heard_at);
        self.looking += u64::from(may);
        may
    }

    pub(super) fn end_lookup(&mut self) {
        self.looking = self.looking.saturating_sub(1);
    }

    /// Takes in the outcome of a [`SessionEvent::Lack`]: the client may not have that code.
    pub fn deny_code(&mut self, number: u64, code: &CodeName) {
        self.end_lookup();
        self.refuse(
            number,
            ErrorCode::NotAllowed,
            format!("{code} was neither offered to this client nor brought by it"),
        );
    }

    /// Takes in the outcome of a [`SessionEvent::Lack`]: the code as it travels, if it is here.
    pub fn give_code(&mut self, number: u64, agent: u32, code: &Arc<CodeName>, bytes: Option<&Arc<[u8]>>) {
        self.end_lookup();
        let Some(bytes) = bytes else {
            return self.refuse(number, ErrorCode::NotMovable, format!("{code} is not at this node"));
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

    /// Takes the save by which an agent leaves, in its turn, if that is due. Returns true with it if its client was
    /// asked for its code.
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

    /// Notes that an agent is offered to another client, and leaves when that client takes it.
    pub(super) fn depart_when_taken(&mut self, agent: u32, save: Box<Save>) {
        if let Some(lodger) = self.lodgers.get_mut(&agent) {
            lodger.departing = Some(Departure::Offered(save));
        }
    }

    /// Lets an agent leave once its code is here: its client is asked for it. An agent without a client is kept as it
    /// is.
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

    /// Returns the kept state of an agent that leaves, as of this save.
    pub(super) fn kept_by(&self, agent: u32, save: &Save) -> Option<(Symbol, KeptState)> {
        let lodger = self.lodgers.get(&agent)?;
        let keeping = lodger.keeping.as_ref()?;
        let saved = super::durability::SavedState {
            code: Arc::new(save.code.parse().ok()?),
            state: Arc::from(save.state.as_slice()),
        };
        let is_given = keeping.is_given && keeping.saved.as_ref().is_some_and(|before| before.code == saved.code);
        Some((
            lodger.name,
            KeptState { on_leave: keeping.on_leave, holds: keeping.holds, saved: Some(saved), is_given },
        ))
    }

    /// Takes an agent out of the session, by this save or by the one by which it was offered.
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

    /// Takes an agent out of the session because of the frame of this number.
    fn depart_as(&mut self, agent: u32, by: u64, is_saved: bool, reason: String) -> Option<SessionAgent> {
        let mut lodger = self.lodgers.remove(&agent)?;
        let queued = std::mem::take(&mut lodger.to_send);
        self.refuse_unsent(Vec::new(), queued, &format!("agent {agent}: {reason}"));
        self.write_off(agent, if is_saved { "it moved" } else { "it went back" });
        self.moves.departed.push(Gone { agent, by, is_saved, reason });
        Some(*lodger)
    }

    /// Notes that an agent that left cannot continue where it came from: its client learns of that, too.
    pub(super) fn note_stranded(&mut self, agent: u32, why: &str) {
        if let Some(gone) = self.moves.departed.iter_mut().rfind(|gone| gone.agent == agent) {
            gone.reason = format!("{}; it {why}", gone.reason);
            gone.reason.truncate(gone.reason.floor_char_boundary(SESSION_ANSWER_BYTES_MAX));
        }
    }

    /// Tells the client that an agent left, now that its departure is safe.
    pub(super) fn handle_departed(&mut self, agent: u32, by: u64) {
        let departed = self.moves.departed.extract_if(.., |gone| (gone.agent, gone.by) == (agent, by));
        for Gone { agent, by, is_saved, reason } in departed.collect::<Vec<_>>() {
            if is_saved {
                self.window.push_back(Outgoing::Saved { agent, of: by });
            }
            self.window.push_back(Outgoing::Ended { agent, reason });
        }
    }

    /// Refuses a departure: the agent continues as if its client had not asked. If the client is gone, its last saved
    /// state is kept.
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

    /// Keeps an agent whose session ended before it could leave: its save counts like any other.
    pub(super) fn keep_departing(&mut self, agent: u32, save: Save) {
        let held = self.keeping(agent).map(|keeping| keeping.take_held()).unwrap_or_default();
        let bytes = held.iter().map(Waiting::bytes).sum();
        let save = Box::new(Save { to: None, ..save });
        self.queue(agent, Waiting::Save { save, held, bytes });
    }

    /// Keeps agents that wait for their code when the session ends.
    pub(super) fn keep_those_departing(&mut self) {
        let waits = |departure: &mut Departure| matches!(departure, Departure::Code(..));
        let waiting = self
            .lodgers
            .iter_mut()
            .filter_map(|(agent, lodger)| Some((*agent, lodger.departing.take_if(waits)?.into_save()?)));
        let waiting: Vec<(u32, Box<Save>)> = waiting.collect();
        waiting.into_iter().for_each(|(agent, save)| self.keep_departing(agent, *save));
    }

    /// Resumes a departure that waited for the agent's code: the agent leaves in its next turn, with or without it.
    pub(super) fn resume_departure(&mut self, agent: u32) {
        let Some(lodger) = self.lodgers.get_mut(&agent) else { return };
        if let Some(Departure::Code(save, _)) = lodger.departing.take_if(|it| matches!(it, Departure::Code(..))) {
            lodger.departing = Some(Departure::Ready(save, true));
            self.wake(agent);
        }
    }
}

/// Returns the protocol's error code for an agent that stays; its text begins with [`HopError::code`].
fn code_of(why: &HopError) -> ErrorCode {
    match why {
        HopError::Forbidden(_) => ErrorCode::NotAllowed,
        HopError::Busy { .. } => ErrorCode::Busy,
        HopError::TooLarge { .. } => ErrorCode::TooLong,
        _ => ErrorCode::NotMovable,
    }
}
