//! What agents in Rust see and can do in their turns.

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Performative, Template, Text, Value, sym};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel};
use whimbrel_platform::topics::{TopicError, any_member, group, topic};
use whimbrel_platform::{Services, Time, Turn};

use crate::agent::{Agent, Behaviours, NativeBody};
use crate::durable_agent::{DurableAgent, DurableBody};

/// What an agent sees and can do while it handles something. What only some agents can is in `Own`: behaviours, or, in a
/// [`DurableContext`](crate::DurableContext), timers that are kept.
pub struct Context<'a, 't, Own = Behaviours<'a>> {
    pub(crate) turn: &'a mut Turn<'t>,
    pub(crate) ended: bool,
    pub(crate) own: Own,
}

impl<Own> Context<'_, '_, Own> {
    /// This agent.
    pub fn aid(&self) -> Aid {
        self.turn.aid
    }

    /// The time at the start of this turn.
    pub fn now(&self) -> Time {
        self.turn.now
    }

    /// The platform.
    pub fn services(&self) -> &dyn Services {
        self.turn.services
    }

    /// Sends a message to each of its receivers. Its sender is this agent, whatever it says.
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

    /// Answers a message: to its sender, in its conversation.
    pub fn reply(&mut self, to: &AclMessage, performative: Performative, content: impl Into<Value>) {
        let mut answer = to.make_reply(self.turn.aid, performative);
        answer.content = content.into();
        self.turn.outbox.send(answer);
    }

    /// Sends a message that is to be answered. What is returned fits the answers.
    pub fn ask(&mut self, to: Aid, performative: Performative, content: impl Into<Value>) -> Template {
        let ticket = self.ticket();
        let mut question = AclMessage::new(performative, self.turn.aid, to, content);
        question.extras_mut().reply_with = Some(ticket.clone());
        self.turn.outbox.send(question);
        Template::in_reply_to(ticket)
    }

    /// Creates an agent.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
    pub fn spawn(&mut self, name: &str, agent: impl Agent) -> Result<Aid, CreateError> {
        self.create(name, AgentSource::Body(NativeBody::boxed(agent)))
    }

    /// Creates an agent that outlives its process, if what this platform does is kept; on the node that serves its name.
    ///
    /// # Errors
    /// As [`Context::spawn`]; or its kind is not [registered](crate::PlatformBuilder::kind), or its state cannot be written.
    pub fn spawn_durable(&mut self, name: &str, agent: impl DurableAgent) -> Result<Aid, CreateError> {
        self.create(name, AgentSource::Body(DurableBody::checked(name.into(), agent)?))
    }

    fn create(&mut self, name: &str, source: AgentSource) -> Result<Aid, CreateError> {
        let owner = Some(self.turn.aid);
        self.turn.services.create(CreateAgent { name: name.into(), unique: false, owner, source })
    }

    /// Has an agent of this node (one that this agent has just created) end when it has lived for so long from now on, wherever it is
    /// then. Its owner is told by the AMS: an `inform` whose content is `ended(Name, expired)`. False if there is no such agent here,
    /// or the society is durable.
    pub fn set_lifetime(&self, agent: Aid, lifetime: Duration) -> bool {
        self.turn.services.set_lifetime(agent, lifetime)
    }

    /// Calls an agent home to the node that it was created on, wherever it is: a journey that it is on is over. The AMS says what came
    /// of that: an `inform` whose content is `recalled(Name)`, or `not_recalled(Name, Error, Why)` if it stays where it is. False if
    /// there is no such agent, or the policy forbids it.
    pub fn recall(&self, agent: Aid) -> bool {
        self.turn.services.recall(self.turn.aid, agent)
    }

    /// Asks whether to go to that node for a job, or to ask there. The answer comes when all that can be measured is: an `inform` from
    /// the AMS, in whose content [`Advice::choice_in`](whimbrel_platform::advice::Advice::choice_in) finds the choice
    /// (`advice(go, Go_ms, Ask_ms, Why)`), or a `failure`. `job` is a list such as `[documents(60), bytes(4096), pass(0.05)]`
    /// ([`Job`](whimbrel_platform::advice::Job)). What is returned fits the answer.
    pub fn advise(&mut self, node: &str, job: Value) -> Template {
        self.ask(Aid::local(sym::AMS), Performative::QueryRef, Value::term("advise", [Value::from(node), job]))
    }

    /// Has this agent told when `agent` ends: an `inform` from the AMS whose content is `ended(Name, Reason)`. At once
    /// if there is no such agent.
    pub fn monitor(&mut self, agent: Aid) {
        self.turn.services.monitor(self.turn.aid, agent);
    }

    /// Subscribes to the topic of this name: from now on this agent gets every message sent to it, its own included, until
    /// it ends or unsubscribes. The messages' receiver is the topic. Publications of other nodes come as soon as these have
    /// heard of it: at the latest when they get what this agent sends after this.
    ///
    /// ```
    /// use whimbrel_acl::{AclMessage, MessageBody, Performative};
    /// use whimbrel_platform::topics::topic;
    /// use whimbrel_runtime::{Agent, Context, Platform};
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
    /// It is no name, the policy forbids it, or there are too many of something.
    pub fn subscribe(&mut self, name: &str) -> Result<(), TopicError> {
        self.turn.services.join(self.turn.aid, topic(name)?)
    }

    /// Ends a subscription; false if there was none. What is on its way still comes.
    pub fn unsubscribe(&mut self, name: &str) -> bool {
        topic(name).is_ok_and(|topic| self.turn.services.leave(self.turn.aid, topic))
    }

    /// Sends `content` to all who subscribe to the topic of this name, if anybody does.
    ///
    /// # Errors
    /// It is no name.
    pub fn publish(
        &mut self,
        name: &str,
        performative: Performative,
        content: impl Into<Value>,
    ) -> Result<(), TopicError> {
        self.tell(topic(name)?, performative, content);
        Ok(())
    }

    /// Makes this agent a member of the group of this name until it ends or leaves it.
    ///
    /// # Errors
    /// It is no name, or there are too many of something.
    pub fn join(&mut self, name: &str) -> Result<(), TopicError> {
        self.turn.services.join(self.turn.aid, group(name)?)
    }

    /// Ends a membership; false if there was none. What is on its way still comes.
    pub fn leave(&mut self, name: &str) -> bool {
        group(name).is_ok_and(|group| self.turn.services.leave(self.turn.aid, group))
    }

    /// Sends `content` to all members of the group of this name. If there is none, a `failure` comes back.
    ///
    /// # Errors
    /// It is no name.
    pub fn multicast(
        &mut self,
        name: &str,
        performative: Performative,
        content: impl Into<Value>,
    ) -> Result<(), TopicError> {
        self.tell(group(name)?, performative, content);
        Ok(())
    }

    /// Sends `content` to one member of the group of this name: each in its turn, but none that has too much to do while
    /// another has not. If there is none, a `failure` comes back.
    ///
    /// # Errors
    /// It is no name.
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

    /// Notes something for whoever operates this agent.
    pub fn log(&self, level: LogLevel, text: &str) {
        self.turn.services.log(self.turn.aid, level, text);
    }

    /// Ends this agent when what is at hand is done.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// A name for an answer, unlike any other.
    pub(crate) fn ticket(&self) -> Text {
        Text::from(format!("{:016x}", self.turn.services.random()))
    }
}
