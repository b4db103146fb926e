//! Behaviours and mailbox of an agent in its turn.

use std::time::Duration;

use whimbrel_acl::{AclMessage, MessageBody, Performative, Template, Value};

use super::Context;
use crate::behaviour::{Behaviour, Waker};

impl Context<'_, '_> {
    /// Takes the oldest message. For behaviours; [`Agent::on_message`](crate::Agent::on_message) is given its messages.
    pub fn receive(&mut self) -> Option<MessageBody> {
        self.turn.mailbox.take()
    }

    /// Takes the oldest message that matches, leaving the others.
    pub fn receive_matching(&mut self, template: &Template) -> Option<MessageBody> {
        self.turn.mailbox.take_matching(template)
    }

    /// Adds a behaviour to this agent.
    pub fn add_behaviour(&mut self, behaviour: impl Behaviour) {
        self.own.schedule.get_or_insert_default().add(Box::new(behaviour));
    }

    /// Runs `action` after a delay.
    pub fn after(&mut self, delay: Duration, action: impl FnMut(&mut Context<'_, '_>) + Send + 'static) {
        self.add_behaviour(Waker::after(delay, action));
    }

    /// Runs work that blocks or takes long on another thread. When the work is done, this agent gets an `inform` from
    /// itself with the result as content, or a `failure` if the work panicked. Returns a template for that message.
    pub fn offload<V: Into<Value>>(&mut self, work: impl FnOnce() -> V + Send + 'static) -> Template {
        let (me, ticket) = (self.turn.aid, self.ticket());
        let in_reply_to = ticket.clone();
        let work = move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work().into()));
            let mut message = match outcome {
                Ok(value) => AclMessage::new(Performative::Inform, me, me, value),
                Err(panic) => AclMessage::new(Performative::Failure, me, me, crate::panics::panic_text(&*panic)),
            };
            message.extras_mut().in_reply_to = Some(in_reply_to);
            message
        };
        if let Err(work) = self.turn.services.offload(Box::new(work)) {
            // No other thread is available.
            self.turn.outbox.send(work());
        }
        Template::in_reply_to(ticket)
    }

    pub(crate) fn arrivals(&self) -> u32 {
        self.own.arrivals
    }

    /// Returns the time since the last call.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = self.turn.services.now();
        now - std::mem::replace(&mut self.own.clock, now)
    }
}
