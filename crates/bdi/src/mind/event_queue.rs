//! Event queue: events that are not handled yet.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;
use whimbrel_acl::{AclMessage, Annot, Annots, Structure, Symbol, Value};

use super::goal_index::predicate;
use super::{Event, Indexed, IntentionId, PlacedQueue};
use crate::code::{Key, TriggerKind, TriggerOp};
use crate::logic::constant_hash;

/// Waiting events, oldest first. The newest may be requests of other agents in their original form. Most requests
/// find the agent idle at their turn, and never need to be written out as events.
#[derive(Debug, Default)]
pub struct EventQueue {
    events: PlacedQueue<Event>,
    /// Requests, all younger than `events`.
    requests: VecDeque<GoalRequest>,
    /// Number of events taken since the last save.
    taken: u32,
    /// True if the queue was changed since the last save other than by taking the oldest and adding behind the
    /// newest.
    disturbed: bool,
}

/// Change of a queue since the last save: the number of oldest events removed, and the events added behind the
/// others.
pub struct QueueChange<I> {
    /// Number of oldest events removed.
    pub gone: u32,
    /// Events added.
    pub new: I,
}

/// Message that requests a goal, which is a ground literal without annotations.
#[derive(Clone, Debug)]
pub struct GoalRequest {
    /// Requesting agent, as the program knows it.
    pub sender: Symbol,
    /// Requested goal.
    pub goal: Arc<Structure>,
    /// Message without its content.
    pub message: Box<AclMessage>,
}

impl GoalRequest {
    /// Returns the request as an event.
    pub fn event(&self) -> Event {
        let literal = self.goal.with_annots(Annots::from_buf([Annot::Source(self.sender)]));
        Event::external(TriggerOp::Add, TriggerKind::Achieve, literal)
    }

    /// Returns the message as it came.
    pub fn into_message(mut self) -> Box<AclMessage> {
        self.message.content = Value::Term(self.goal);
        self.message
    }
}

/// Waiting event.
#[derive(Clone, Copy, Debug)]
pub enum Pending<'a> {
    /// An event that is written out.
    Written(&'a Event),
    /// A request.
    Asked(&'a GoalRequest),
}

impl<'a> Pending<'a> {
    /// Returns the event.
    pub fn event(self) -> Cow<'a, Event> {
        match self {
            Self::Written(event) => Cow::Borrowed(event),
            Self::Asked(request) => Cow::Owned(request.event()),
        }
    }

    /// Returns true for an achievement goal that no intention waits for.
    pub fn is_new_goal(self) -> bool {
        match self {
            Self::Written(event) => {
                event.op == TriggerOp::Add && event.kind == TriggerKind::Achieve && event.intention.is_none()
            }
            Self::Asked(_) => true,
        }
    }
}

impl EventQueue {
    /// Returns true if no event waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.requests.is_empty()
    }

    /// Returns true if an event other than a request waits.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Puts an event behind all others.
    pub fn push(&mut self, event: Event) {
        self.write_out();
        self.events.push_back(event);
    }

    /// Puts a meta-event before all events of other kinds.
    pub fn push_meta(&mut self, event: Event) {
        self.disturbed = true;
        self.write_out();
        let metas = self.events.iter().take_while(|event| event.op == TriggerOp::Meta).count();
        self.events.insert(metas, event);
    }

    /// Puts a request behind all others, which is possible only if no event waits.
    ///
    /// # Errors
    /// Returns the request if an event waits.
    pub fn push_request(&mut self, request: GoalRequest) -> Result<(), GoalRequest> {
        if !self.events.is_empty() {
            return Err(request);
        }
        self.requests.push_back(request);
        Ok(())
    }

    /// Takes the oldest event; `None` if a request is the oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        self.taken = self.taken.saturating_add(u32::from(!self.events.is_empty()));
        self.events.pop_front()
    }

    /// Takes the oldest request; `None` if an event is the oldest.
    #[inline]
    pub fn pop_request(&mut self) -> Option<GoalRequest> {
        if !self.events.is_empty() || self.requests.is_empty() {
            return None;
        }
        self.taken = self.taken.saturating_add(1);
        self.requests.pop_front()
    }

    /// Iterates over all events, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, Event>> {
        self.pending().map(Pending::event)
    }

    /// Iterates over all events, oldest first, as they wait: counting them writes none out.
    pub fn pending(&self) -> impl Iterator<Item = Pending<'_>> {
        self.events.iter().map(Pending::Written).chain(self.requests.iter().map(Pending::Asked))
    }

    /// Iterates over the events that are written out, oldest first, which include all that an intention waits for.
    pub fn of_intentions(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// Takes all events, oldest first.
    pub fn take_all(&mut self) -> impl Iterator<Item = Event> + use<> {
        self.write_out();
        self.disturbed = true;
        self.events.take_all()
    }

    /// Returns the places of the events that may be for a goal, and perhaps of others, oldest first.
    pub fn for_goal(&mut self, goal: &Value) -> Vec<u64> {
        self.write_out();
        self.events.close_gaps();
        self.events.for_goal(goal)
    }

    /// Iterates over the events that may be for a goal, and perhaps others, oldest first.
    pub fn pending_for_goal(&self, goal: &Value) -> impl Iterator<Item = Pending<'_>> {
        let places = self.events.for_goal(goal).into_iter();
        let written = places.filter_map(|place| self.events.get(place)).map(Pending::Written);
        written.chain(self.requests.iter().map(Pending::Asked))
    }

    /// Returns the place of the event that an intention waits for.
    pub fn place_of(&self, intention: IntentionId) -> Option<u64> {
        self.events.place_of(intention)
    }

    /// Returns the event in a place.
    pub fn get(&self, place: u64) -> Option<&Event> {
        self.events.get(place)
    }

    /// Takes the event in a place.
    pub fn take(&mut self, place: u64) -> Option<Event> {
        self.disturbed = true;
        self.events.take(place)
    }

    /// Puts an event in the place from which another one was taken.
    pub fn put_back(&mut self, place: u64, event: Event) {
        self.events.put_back(place, event);
    }

    /// Returns the memory of the event index in bytes, roughly.
    pub fn index_bytes(&self) -> usize {
        self.events.index_bytes()
    }

    /// Closes the gaps among the events if they are many. Places that a caller holds would be wrong afterwards.
    #[inline]
    pub fn close_gaps(&mut self) {
        self.events.close_gaps();
    }

    /// Drops the event that an intention waits for. Returns false if there is none.
    pub fn withdraw(&mut self, intention: IntentionId) -> bool {
        let place = self.events.place_of(intention);
        self.disturbed |= place.is_some();
        place.and_then(|place| self.events.take(place)).is_some()
    }

    /// Returns the number of waiting events.
    pub fn len(&self) -> usize {
        self.events.len() + self.requests.len()
    }

    /// Starts to count changes.
    pub(crate) fn mark_saved(&mut self) {
        (self.taken, self.disturbed) = (0, false);
    }

    /// Returns the changes since the last save, at which `saved` events waited.
    pub(crate) fn changes(&self, saved: u32) -> QueueChange<impl Iterator<Item = Cow<'_, Event>>> {
        let gone = if self.disturbed { saved } else { saved.min(self.taken) };
        QueueChange { gone, new: self.iter().skip((saved - gone) as usize) }
    }

    /// Applies a change that was noted elsewhere.
    pub(crate) fn change(&mut self, gone: u32, new: impl IntoIterator<Item = Event>) {
        self.write_out();
        self.events.remove_first(gone as usize);
        self.events.extend(new);
    }

    fn write_out(&mut self) {
        self.events.extend(self.requests.drain(..).map(|request| request.event()));
    }
}

/// Key of the event index.
#[derive(Hash)]
enum EventKey {
    /// Intention that waits for the event.
    Intention(IntentionId),
    /// Goal of this predicate.
    Goal(Key),
    /// Goal with this constant as its first argument.
    First(Key, u64),
    /// Goal without a constant as its first argument.
    Open(Key),
}

impl EventKey {
    fn hash(self) -> u64 {
        FxBuildHasher.hash_one(self)
    }
}

impl Indexed for Event {
    fn hashes(&self, each: &mut dyn FnMut(u64)) {
        if let Some(id) = self.intention {
            each(EventKey::Intention(id).hash());
        }
        if self.op == TriggerOp::Add && self.kind == TriggerKind::Achieve {
            let key = Key::of(&self.literal);
            let first = self.literal.args.first().and_then(constant_hash);
            each(EventKey::Goal(key).hash());
            each(first.map_or(EventKey::Open(key), |first| EventKey::First(key, first)).hash());
        }
    }
}

impl PlacedQueue<Event> {
    /// Returns the places of the events that may be for a goal, and perhaps of others, oldest first.
    pub fn for_goal(&self, goal: &Value) -> Vec<u64> {
        let Some(key) = predicate(goal) else { return self.about(None) };
        match goal.args().first().and_then(constant_hash) {
            Some(first) => self.about(Some(&[EventKey::First(key, first).hash(), EventKey::Open(key).hash()])),
            None => self.about(Some(&[EventKey::Goal(key).hash()])),
        }
    }

    /// Returns the place of the event that an intention waits for.
    pub fn place_of(&self, intention: IntentionId) -> Option<u64> {
        let mut places = self.about(Some(&[EventKey::Intention(intention).hash()])).into_iter();
        places.find(|place| self.get(*place).is_some_and(|event| event.intention == Some(intention)))
    }
}

impl Indexed for IntentionId {
    fn hashes(&self, each: &mut dyn FnMut(u64)) {
        each(FxBuildHasher.hash_one(self));
    }
}

impl PlacedQueue<IntentionId> {
    /// Returns the place of an intention.
    pub fn place_of(&self, id: IntentionId) -> Option<u64> {
        let mut places = self.about(Some(&[FxBuildHasher.hash_one(id)])).into_iter();
        places.find(|place| self.get(*place) == Some(&id))
    }
}

impl FromIterator<Event> for EventQueue {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self { events: events.into_iter().collect(), requests: VecDeque::new(), taken: 0, disturbed: true }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Aid, Args, Performative, sym};

    use super::*;

    fn goal(name: &str) -> Structure {
        Structure::new(Symbol::new(name), Args::from_iter([Value::Num(1.0)]))
    }

    fn event(name: &str) -> Event {
        Event::external(TriggerOp::Add, TriggerKind::Achieve, goal(name))
    }

    fn request(name: &str) -> GoalRequest {
        let aid = Aid::local("queue-test");
        let message = Box::new(AclMessage::new(Performative::Request, aid, aid, Value::Null));
        GoalRequest { sender: sym::SELF, goal: Arc::new(goal(name)), message }
    }

    fn names(queue: &EventQueue) -> Vec<String> {
        queue.iter().map(|event| event.literal.functor.to_string()).collect()
    }

    #[test]
    fn requests_are_events_in_order() {
        let mut queue = EventQueue::default();
        assert!(queue.push_request(request("a")).is_ok() && queue.push_request(request("b")).is_ok());
        assert_eq!((names(&queue), queue.is_empty()), (vec!["a".to_owned(), "b".to_owned()], false));
        assert!(queue.pop().is_none() && queue.pop_request().is_some());
        queue.push(event("c"));
        assert!(queue.push_request(request("d")).is_err(), "an event waits");
        queue.push_meta(event("e"));
        assert_eq!(names(&queue), ["e", "b", "c"]);
        assert!(queue.pop_request().is_none());
        let first = queue.pop().map(|event| event.literal.functor.to_string());
        assert_eq!((first.as_deref(), queue.take_all().count(), queue.is_empty()), (Some("e"), 2, true));
    }

    #[test]
    fn request_has_sender_as_source() {
        let event = request("a").event();
        assert_eq!(event.display(), "+!a(1)[source(self)]");
        assert_eq!(request("a").into_message().content, goal("a").into_value());
    }
}
