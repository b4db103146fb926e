//! Context of a Rust agent in its turn.

mod behaviours;
mod spawn;

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Performative, Template, Text, Value, sym};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::topics::{TopicError, any_member, group, topic};
use whimbrel_platform::{Services, Time, Turn};

use crate::behaviour::Schedule;

/// Context of an agent while it handles a message or event. `Own` adds the abilities that only some agents have:
/// behaviours, or, in a [`DurableContext`](crate::DurableContext), durable timers.
pub struct Context<'a, 't, Own = Behaviours<'a>> {
    pub(crate) turn: &'a mut Turn<'t>,
    pub(crate) ended: bool,
    pub(crate) own: Own,
}

/// Behaviours of an agent in its turn.
pub struct Behaviours<'a> {
    /// Schedule of the behaviours; while they take steps, only those added meanwhile.
    pub(crate) schedule: &'a mut Option<Box<Schedule>>,
    pub(crate) arrivals: u32,
    /// The clock at the last lap.
    pub(crate) clock: Time,
}

impl<Own> Context<'_, '_, Own> {
    /// Returns this agent's identifier.
    pub fn aid(&self) -> Aid {
        self.turn.aid
    }

    /// Returns the time at the start of this turn.
    pub fn now(&self) -> Time {
        self.turn.now
    }

    /// Returns the platform's services.
    pub fn services(&self) -> &dyn Services {
        self.turn.services
    }

    /// Sends a message to each of its receivers. The platform sets its sender to this agent.
    #[inline]
    pub fn send(&mut self, message: impl Into<Box<AclMessage>>) {
        let mut message = message.into();
        message.sender = self.turn.aid;
        self.turn.outbox.send(message);
    }

    /// Sends `content` to `to`.
    pub fn tell(&mut self, to: Aid, performative: Performative, content: impl Into<Value>) {
        self.turn.outbox.send(AclMessage::new(performative, self.turn.aid, to, content));
    }

    /// Replies to a message: to its sender, in its conversation.
    pub fn reply(&mut self, to: &AclMessage, performative: Performative, content: impl Into<Value>) {
        let mut answer = to.make_reply(self.turn.aid, performative);
        answer.content = content.into();
        self.turn.outbox.send(answer);
    }

    /// Sends a message that expects an answer. Returns a template for the answers.
    pub fn ask(&mut self, to: Aid, performative: Performative, content: impl Into<Value>) -> Template {
        let ticket = self.ticket();
        let mut question = AclMessage::new(performative, self.turn.aid, to, content);
        question.extras_mut().reply_with = Some(ticket.clone());
        self.turn.outbox.send(question);
        Template::in_reply_to(ticket)
    }

    /// Sets the remaining lifetime of an agent of this node that this agent has just created. The agent ends then,
    /// wherever it is, and the AMS tells its owner: an `inform` whose content is `ended(Name, expired)`. Returns
    /// false if there is no such agent here, or if the society is durable.
    pub fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        self.turn.services.set_lifetime(agent, lifetime)
    }

    /// Recalls an agent to the node that it was created on, wherever it is; its journey is over. The AMS reports the
    /// outcome: an `inform` whose content is `recalled(Name)`, or `not_recalled(Name, Error, Why)` if the agent stays
    /// where it is. Returns false if there is no such agent, or if the policy forbids it.
    pub fn recall(&self, agent: Aid) -> bool {
        self.turn.services.recall(self.turn.aid, agent)
    }

    /// Asks the AMS whether to go to a node for a job, or to do it by messages. The answer comes when everything is
    /// measured. It is an `inform` from the AMS or a `failure`. In the content of the `inform`,
    /// [`Advice::choice_in`](whimbrel_platform::advice::Advice::choice_in) finds the choice
    /// (`advice(go, Go_ms, Ask_ms, Why)`). `job` is a list such as `[documents(60), bytes(4096), pass(0.05)]`
    /// ([`Job`](whimbrel_platform::advice::Job)). Returns a template for the answer.
    pub fn advise(&mut self, node: &str, job: Value) -> Template {
        self.ask(Aid::local(sym::AMS), Performative::QueryRef, Value::term("advise", [Value::from(node), job]))
    }

    /// Notifies this agent when `agent` ends: an `inform` from the AMS whose content is `ended(Name, Reason)`. The
    /// notification comes at once if there is no such agent.
    pub fn monitor(&mut self, agent: Aid) {
        self.turn.services.monitor(self.turn.aid, agent);
    }

    /// Subscribes this agent to a topic. It gets every message sent to the topic, its own included, until it ends or
    /// unsubscribes; the messages' receiver is the topic. Publications of another node arrive as soon as that node
    /// knows of the subscription: at the latest when it gets the next message that this agent sends.
    ///
    /// ```
    /// # use whimbrel_runtime::facade as whimbrel;
    /// use whimbrel::prelude::*;
    /// use whimbrel::topics::topic;
    ///
    /// struct Display;
    ///
    /// impl Agent for Display {
    ///     fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
    ///         ctx.subscribe("weather").expect("that is a name");
    ///     }
    ///
    ///     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
    ///         assert_eq!(Ok(message.receivers[0]), topic("weather"));
    ///         ctx.print(&message.content.to_string());
    ///     }
    /// }
    ///
    /// let platform = Platform::builder().workers(2).build();
    /// let displays = platform.spawn_population("display", 3, |_| Display)?;
    /// platform.wait_idle();
    /// platform.send(AclMessage::new(Performative::Inform, displays[0], topic("weather")?, "rain"));
    /// platform.wait_idle();
    /// assert_eq!(platform.handled(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name is invalid, the policy forbids the subscription, or a limit is reached.
    pub fn subscribe(&mut self, name: &str) -> Result<(), TopicError> {
        self.turn.services.join(self.turn.aid, topic(name)?)
    }

    /// Ends a subscription. Returns false if there was none. Messages on their way still arrive.
    pub fn unsubscribe(&mut self, name: &str) -> bool {
        topic(name).is_ok_and(|topic| self.turn.services.leave(self.turn.aid, topic))
    }

    /// Sends `content` to all subscribers of a topic.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn publish(
        &mut self,
        name: &str,
        performative: Performative,
        content: impl Into<Value>,
    ) -> Result<(), TopicError> {
        self.tell(topic(name)?, performative, content);
        Ok(())
    }

    /// Makes this agent a member of a group until it ends or leaves.
    ///
    /// # Errors
    /// Returns an error if the name is invalid, or if a limit is reached.
    pub fn join(&mut self, name: &str) -> Result<(), TopicError> {
        self.turn.services.join(self.turn.aid, group(name)?)
    }

    /// Ends a membership. Returns false if there was none. Messages on their way still arrive.
    pub fn leave(&mut self, name: &str) -> bool {
        group(name).is_ok_and(|group| self.turn.services.leave(self.turn.aid, group))
    }

    /// Sends `content` to all members of a group. Without members, a `failure` comes back.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn multicast(
        &mut self,
        name: &str,
        performative: Performative,
        content: impl Into<Value>,
    ) -> Result<(), TopicError> {
        self.tell(group(name)?, performative, content);
        Ok(())
    }

    /// Sends `content` to one member of a group. Members take turns; crowded members are skipped while another is not
    /// crowded. Without members, a `failure` comes back.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn anycast(
        &mut self,
        name: &str,
        performative: Performative,
        content: impl Into<Value>,
    ) -> Result<(), TopicError> {
        self.tell(any_member(name)?, performative, content);
        Ok(())
    }

    /// Prints a line.
    pub fn print(&self, text: &str) {
        self.turn.services.print(self.turn.aid, text);
    }

    /// Logs a line for the operator of this agent.
    pub fn log(&self, level: LogLevel, text: &str) {
        self.turn.services.log(self.turn.aid, level, text);
    }

    /// Ends this agent after the current turn.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns a unique conversation identifier for answers.
    pub(crate) fn ticket(&self) -> Text {
        Text::from(format!("{:016x}", self.turn.services.random()))
    }
}
