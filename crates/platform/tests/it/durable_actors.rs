//! Agents as the models of durable agents have them: each remembers all its deeds.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::ams::{AgentKind, AgentState};
use whimbrel_platform::durable::{
    AgentStep, Born, Origin, Record, Registration, Resumed, Sent, State, Ticket, encode_frame, numbers_of_life,
};

/// Agent that the society begins with: after its end it is remembered by name.
pub const FOUNDER: &str = "bob";

/// Deed that an agent remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Deed {
    SentTo(String),
    Handled { from: String, life: u64, number: i64 },
}

#[derive(Debug)]
pub struct Actor {
    pub name: Symbol,
    /// Serial number among all agents that ever were: a forgotten life may come again.
    pub serial: u64,
    pub born: Option<Born>,
    /// Number of its deeds that are written; `None` if not even its birth is.
    pub written: Option<usize>,
    pub deeds: Vec<Deed>,
    pub last: u64,
    pub handled: Vec<Ticket>,
    pub sent: Vec<(Symbol, AclMessage)>,
    pub mailbox: VecDeque<(Ticket, AclMessage)>,
}

impl Actor {
    pub fn new(name: &str, life: u64, serial: u64) -> Self {
        let after = numbers_of_life(life);
        let agent = Symbol::new(name);
        let founder = name == FOUNDER;
        let (owner, origin) = (Symbol::default(), Origin::Type(serial.to_string()));
        let born = Born { agent, kind: AgentKind::Native, owner, root: None, origin, founder, after };
        Self { born: Some(born), ..Self::going_on(agent, serial, after, Vec::new()) }
    }

    fn going_on(name: Symbol, serial: u64, last: u64, deeds: Vec<Deed>) -> Self {
        let written = Some(deeds.len());
        let (handled, sent, mailbox) = Default::default();
        Self { name, serial, born: None, written, deeds, last, handled, sent, mailbox }
    }

    /// Returns the actor as its journal leaves it.
    pub fn resumed(resumed: Resumed) -> Self {
        let deeds = deeds_of(&resumed.states);
        let Origin::Type(serial) = &resumed.born.origin else { panic!("{:?}", resumed.born) };
        let serial = serial.parse().unwrap();
        let actor = Self::going_on(resumed.born.agent, serial, resumed.last, deeds);
        let (standing, known) = (actor.standing(), resumed.standing.unwrap());
        assert_eq!((known.agent, known.places), (standing.agent, standing.places), "it is its own, and the last");
        actor
    }

    pub fn send(&mut self, to: Symbol) {
        let number = self.deeds.iter().filter(|deed| **deed == Deed::SentTo(to.to_string())).count() as i64;
        let content = Value::list([Value::Int(self.serial as i64), Value::Int(number)]);
        let message = AclMessage::new(Performative::Inform, Aid::local(self.name), Aid::local(to), content);
        self.deeds.push(Deed::SentTo(to.to_string()));
        self.sent.push((to, message));
    }

    pub fn handle(&mut self) {
        self.handle_at(0);
    }

    /// Handles a message before those that came before it.
    pub fn handle_at(&mut self, place: usize) {
        let Some((ticket, deed)) = self.take(place) else { return };
        self.handled.push(ticket);
        self.deeds.push(deed);
    }

    /// Takes a message. Returns it with the deed that the agent would remember.
    pub fn take(&mut self, place: usize) -> Option<(Ticket, Deed)> {
        let (ticket, message) = self.mailbox.remove(place)?;
        let mut items = message.content.items().map(|item| item.as_i64().unwrap());
        let (life, number) = (items.next().unwrap() as u64, items.next().unwrap());
        Some((ticket, Deed::Handled { from: message.sender.name.to_string(), life, number }))
    }

    /// Returns the actor's step as records, and the messages that leave when they are written.
    pub fn capture(&mut self) -> (Vec<Record>, Vec<(Ticket, Symbol, AclMessage)>) {
        let born = self.born.take();
        let whole = born.is_some() || self.deeds.len().is_multiple_of(5);
        let new = if whole { &self.deeds[..] } else { &self.deeds[self.written.unwrap()..] };
        let bytes: Vec<u8> = new.iter().flat_map(|deed| postcard::to_stdvec(deed).unwrap()).collect();
        let state = if whole { State::Whole(bytes) } else { State::Delta(bytes) };
        self.written = Some(self.deeds.len());
        let first = self.last + 1;
        let sent = std::mem::take(&mut self.sent);
        self.last += sent.len() as u64;
        let written = sent.iter().map(|(to, message)| Sent::of(Aid::local(*to), message).unwrap()).collect();
        let handled = std::mem::take(&mut self.handled);
        let step = Record::Step(AgentStep { agent: self.name, state, handled, first, sent: written });
        let ticket = |number| Ticket { sender: self.name, number };
        let leaves = (first..).zip(sent).map(|(number, (to, message))| (ticket(number), to, message)).collect();
        let standing = Record::Registration(self.standing());
        (born.map(Record::Born).into_iter().chain([step, standing]).collect(), leaves)
    }

    /// Returns registrations that tell which agent it is, and the number of its deeds.
    fn standing(&self) -> Registration {
        let places = vec![Symbol::new(&self.serial.to_string()), Symbol::new(&self.deeds.len().to_string())];
        let (entry, expires_ms, subscriptions) = Default::default();
        let state = AgentState::Active;
        Registration { agent: self.name, last: self.last, entry, expires_ms, subscriptions, places, state }
    }
}

pub fn frame(records: Vec<Record>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_frame(&records, &mut bytes).unwrap();
    bytes
}

fn deeds_of(states: &[State]) -> Vec<Deed> {
    let mut deeds = Vec::new();
    for (place, state) in states.iter().enumerate() {
        let (State::Whole(bytes) | State::Delta(bytes)) = state else { panic!("{state:?}") };
        assert_eq!(matches!(state, State::Whole(_)), place == 0, "the whole comes first, and once");
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (deed, behind) = postcard::take_from_bytes(rest).unwrap();
            deeds.push(deed);
            rest = behind;
        }
    }
    deeds
}
