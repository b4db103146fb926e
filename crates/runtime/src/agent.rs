//! Agents written in Rust.

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError};
use whimbrel_platform::{AgentBody, EndReason, Next, Services, Time, Turn};

use crate::shard::Slot;

/// An agent written in Rust.
pub trait Agent: Send + 'static {
    /// Called once, before the first message.
    fn on_start(&mut self, _ctx: &mut Context<'_, '_>) {}

    /// Called for each message, in the order of their arrival.
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody);

    /// Called once, when the agent is made to end by another, or by the platform's stopping.
    fn on_stop(&mut self, _ctx: &mut Context<'_, '_>) {}
}

/// What an agent sees and can do while it handles something.
pub struct Context<'a, 't> {
    turn: &'a mut Turn<'t>,
    ended: bool,
}

impl Context<'_, '_> {
    /// This agent.
    pub fn aid(&self) -> Aid {
        self.turn.aid
    }

    /// The time at the start of this turn.
    pub fn now(&self) -> Time {
        self.turn.now
    }

    /// Sends a message to each of its receivers. Its sender is this agent, whatever it says.
    pub fn send(&mut self, message: impl Into<Box<AclMessage>>) {
        let mut message = message.into();
        message.sender = self.turn.aid;
        self.turn.outbox.send(message);
    }

    /// Answers a message: to its sender, in its conversation.
    pub fn reply(&mut self, to: &AclMessage, performative: Performative, content: impl Into<Value>) {
        let mut answer = to.make_reply(self.turn.aid, performative);
        answer.content = content.into();
        self.turn.outbox.send(answer);
    }

    /// Creates an agent.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
    pub fn spawn(&mut self, name: &str, agent: impl Agent) -> Result<Aid, CreateError> {
        let source = AgentSource::Body(NativeBody::boxed(agent));
        let owner = Some(self.turn.aid);
        self.turn.services.create(CreateAgent { name: name.into(), unique: false, owner, source })
    }

    /// Prints a line.
    pub fn print(&self, text: &str) {
        self.turn.services.print(self.turn.aid, text);
    }

    /// Ends this agent when the message at hand is handled.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The platform.
    pub fn services(&self) -> &dyn Services {
        self.turn.services
    }
}

/// An [`Agent`] in a slot.
pub(crate) struct NativeBody<A> {
    agent: A,
    started: bool,
}

impl<A: Agent> NativeBody<A> {
    /// The agent in one piece of memory with its slot.
    pub fn slot(agent: A) -> Box<Slot> {
        Box::new(Slot::new(Self { agent, started: false }))
    }

    pub fn boxed(agent: A) -> Box<dyn AgentBody> {
        Box::new(Self { agent, started: false })
    }
}

impl<A: Agent> AgentBody for NativeBody<A> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let budget = turn.budget;
        let mut ctx = Context { turn, ended: false };
        if !self.started {
            self.started = true;
            self.agent.on_start(&mut ctx);
        }
        for _ in 0..budget {
            if ctx.ended {
                return Next::End(EndReason::Finished);
            }
            let Some(message) = ctx.turn.mailbox.take() else { return Next::Wait };
            self.agent.on_message(&mut ctx, message);
        }
        if ctx.ended { Next::End(EndReason::Finished) } else { Next::Ready }
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        self.agent.on_stop(&mut Context { turn, ended: false });
    }
}
