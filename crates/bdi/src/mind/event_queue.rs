//! Event queue: events that are not handled yet.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_acl::{AclMessage, Annot, Annots, Structure, Symbol, Value};

use super::{Event, IntentionId};
use crate::code::{TriggerKind, TriggerOp};

/// Waiting events, oldest first. The newest may be requests of other agents in their original form. Most requests
/// find the agent idle at their turn, and never need to be written out as events.
#[derive(Debug, Default)]
pub struct EventQueue {
    events: VecDeque<Event>,
    /// Requests, all younger than `events`.
    requests: VecDeque<Request>,
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
pub struct Request {
    /// Requesting agent, as the program knows it.
    pub sender: Symbol,
    /// Requested goal.
    pub goal: Arc<Structure>,
    /// Message without its content.
    pub message: Box<AclMessage>,
}

impl Request {
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
    Asked(&'a Request),
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
        if self.events.capacity() == 0 {
            // Most agents hold one event at a time: room for one, not the usual four.
            self.events.reserve_exact(1);
        }
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
    pub fn push_request(&mut self, request: Request) -> Result<(), Request> {
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
    pub fn pop_request(&mut self) -> Option<Request> {
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
    pub fn take_all(&mut self) -> VecDeque<Event> {
        self.write_out();
        self.disturbed = true;
        std::mem::take(&mut self.events)
    }

    /// Iterates over the intentions that wait for an event to be handled.
    pub fn intentions(&self) -> impl Iterator<Item = IntentionId> + '_ {
        self.events.iter().filter_map(|event| event.intention)
    }

    /// Drops the event that an intention waits for. Returns false if there is none. The search starts at the oldest,
    /// because many events are mostly dropped in order.
    pub fn withdraw(&mut self, intention: IntentionId) -> bool {
        let place = self.events.iter().position(|event| event.intention == Some(intention));
        self.disturbed |= place.is_some();
        place.and_then(|place| self.events.remove(place)).is_some()
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
        self.events.drain(..self.events.len().min(gone as usize));
        self.events.extend(new);
    }

    fn write_out(&mut self) {
        self.events.extend(self.requests.drain(..).map(|request| request.event()));
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

    fn request(name: &str) -> Request {
        let aid = Aid::local("queue-test");
        let message = Box::new(AclMessage::new(Performative::Request, aid, aid, Value::Null));
        Request { sender: sym::SELF, goal: Arc::new(goal(name)), message }
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
        assert_eq!((first.as_deref(), queue.take_all().len(), queue.is_empty()), (Some("e"), 2, true));
    }

    #[test]
    fn request_has_sender_as_source() {
        let event = request("a").event();
        assert_eq!(event.display(), "+!a(1)[source(self)]");
        assert_eq!(request("a").into_message().content, goal("a").into_value());
    }
}
