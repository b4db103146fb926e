//! Agents written in Rust.

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Template, Text, Value};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel};
use whimbrel_platform::topics::{TopicError, any_member, group, topic};
use whimbrel_platform::{AgentBody, EndReason, Next, Services, Time, Turn};

use crate::behaviour::{Behaviour, Schedule, Waker};
use crate::shard::Slot;

/// An agent written in Rust.
///
/// ```
/// use whimbrel_acl::{MessageBody, Performative};
/// use whimbrel_runtime::{Agent, Context, Platform};
///
/// struct Greeter {
///     greeted: u32,
/// }
///
/// impl Agent for Greeter {
///     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
///         self.greeted += 1;
///         ctx.reply(&message, Performative::Inform, format!("hello, number {}", self.greeted));
///     }
/// }
///
/// let platform = Platform::builder().name("home").workers(2).build();
/// let amy = platform.spawn("amy", Greeter { greeted: 0 })?;
/// let answer = platform.ask(amy, Performative::Request, "greet me")?;
/// assert_eq!(answer.content.to_string(), r#""hello, number 1""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Agent: Send + 'static {
    /// Whether messages that no behaviour takes wait in the mailbox until one does, instead of being handed to
    /// [`Agent::on_message`].
    const BEHAVIOURS_ONLY: bool = false;

    /// Called once, before the first message.
    fn on_start(&mut self, _ctx: &mut Context<'_, '_>) {}

    /// Called for each message that no behaviour took, in the order of their arrival.
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody);

    /// Called once, when the agent is made to end by another, or by the platform's stopping.
    fn on_stop(&mut self, _ctx: &mut Context<'_, '_>) {}
}

/// An agent that is what its behaviours do: `set_up` adds the first of them.
pub fn behaving<F: FnOnce(&mut Context<'_, '_>) + Send + 'static>(set_up: F) -> impl Agent {
    Behaving { set_up: Some(set_up) }
}

struct Behaving<F> {
    set_up: Option<F>,
}

impl<F: FnOnce(&mut Context<'_, '_>) + Send + 'static> Agent for Behaving<F> {
    const BEHAVIOURS_ONLY: bool = true;

    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        if let Some(set_up) = self.set_up.take() {
            set_up(ctx);
        }
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {}
}

/// What an agent sees and can do while it handles something.
pub struct Context<'a, 't> {
    turn: &'a mut Turn<'t>,
    /// The agent's behaviours; while they take steps, those that come in addition.
    behaviours: &'a mut Option<Box<Schedule>>,
    arrivals: u32,
    /// The clock at the last lap.
    clock: Time,
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

    /// Takes the oldest message. For behaviours; [`Agent::on_message`] is given its messages.
    pub fn receive(&mut self) -> Option<MessageBody> {
        self.turn.mailbox.take()
    }

    /// Takes the oldest message that fits, leaving the others.
    pub fn receive_matching(&mut self, template: &Template) -> Option<MessageBody> {
        self.turn.mailbox.take_matching(template)
    }

    /// Does this, too, from now on.
    pub fn add_behaviour(&mut self, behaviour: impl Behaviour) {
        self.behaviours.get_or_insert_default().add(Box::new(behaviour));
    }

    /// Does something later.
    pub fn after(&mut self, delay: Duration, action: impl FnMut(&mut Context<'_, '_>) + Send + 'static) {
        self.add_behaviour(Waker::after(delay, action));
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

    /// Has work that blocks or takes long done elsewhere. When it is done, this agent gets an `inform` from itself with
    /// what it returned as content, or a `failure` if it panicked. What is returned here fits that message.
    pub fn offload<V: Into<Value>>(&mut self, work: impl FnOnce() -> V + Send + 'static) -> Template {
        let (me, ticket) = (self.turn.aid, self.ticket());
        let in_reply_to = ticket.clone();
        let work = move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work().into()));
            let mut message = match outcome {
                Ok(value) => AclMessage::new(Performative::Inform, me, me, value),
                Err(panic) => AclMessage::new(Performative::Failure, me, me, crate::turn::panic_text(&*panic)),
            };
            message.extras_mut().in_reply_to = Some(in_reply_to);
            message
        };
        if let Err(work) = self.turn.services.offload(Box::new(work)) {
            // Nowhere else to do it.
            self.turn.outbox.send(work());
        }
        Template::in_reply_to(ticket)
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
    fn ticket(&self) -> Text {
        Text::from(format!("{:016x}", self.turn.services.random()))
    }

    pub(crate) fn arrivals(&self) -> u32 {
        self.arrivals
    }

    /// The time since this was asked last.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = self.turn.services.now();
        now - std::mem::replace(&mut self.clock, now)
    }
}

/// How long a turn may be in which behaviours take steps.
const LONG_TURN: Duration = Duration::from_micros(50);

/// One step in so many goes to a long task, even if messages wait.
const LONG_SHARE: u32 = 8;

/// An [`Agent`] in a slot.
pub(crate) struct NativeBody<A> {
    agent: A,
    behaviours: Option<Box<Schedule>>,
    mail: Mail,
    started: bool,
}

/// What an agent with behaviours remembers of its mailbox.
#[derive(Default)]
struct Mail {
    /// Messages left in it by the last turn.
    left: u32,
    /// Turns before which messages came.
    arrivals: u32,
}

impl Mail {
    /// A turn begins with so many messages: how often some came so far.
    fn look(&mut self, waiting: usize) -> u32 {
        self.arrivals = self.arrivals.wrapping_add(u32::from(waiting as u32 > self.left));
        self.arrivals
    }
}

impl<A: Agent> NativeBody<A> {
    fn new(agent: A) -> Self {
        Self { agent, behaviours: None, mail: Mail::default(), started: false }
    }

    /// The agent in one piece of memory with its slot.
    pub fn slot(agent: A) -> Box<Slot> {
        Box::new(Slot::new(Self::new(agent)))
    }

    pub fn boxed(agent: A) -> Box<dyn AgentBody> {
        Box::new(Self::new(agent))
    }

    fn parts<'a, 't>(&'a mut self, turn: &'a mut Turn<'t>) -> (&'a mut A, &'a mut Mail, Context<'a, 't>) {
        let Self { agent, behaviours, mail, .. } = self;
        let context = Context { clock: turn.now, turn, behaviours, arrivals: 0, ended: false };
        (agent, mail, context)
    }
}

/// Handles messages as long as there are no behaviours. How much of the budget is left.
#[inline]
fn handle_messages<A: Agent>(agent: &mut A, ctx: &mut Context<'_, '_>, mut budget: u32) -> u32 {
    while budget > 0
        && !ctx.ended
        && ctx.behaviours.is_none()
        && let Some(message) = ctx.turn.mailbox.take()
    {
        budget -= 1;
        agent.on_message(ctx, message);
    }
    budget
}

/// Has behaviours take steps, and hands over the messages that none took.
fn behave<A: Agent>(agent: &mut A, mail: &mut Mail, ctx: &mut Context<'_, '_>, mut budget: u32) -> Next {
    let mut schedule = ctx.behaviours.take().unwrap_or_default();
    ctx.lap();
    let began = ctx.clock;
    ctx.arrivals = mail.look(ctx.turn.mailbox.len());
    let next = loop {
        if budget == 0 || ctx.clock - began > LONG_TURN {
            break Next::Ready;
        }
        budget -= 1;
        schedule.wake(ctx.arrivals, ctx.turn.now);
        // Short steps come first: they may choose among the messages. Long tasks give way to messages, mostly.
        let turn_of_long = schedule.is_ready() && budget.is_multiple_of(LONG_SHARE);
        let mine = !(A::BEHAVIOURS_ONLY || schedule.is_quick() || turn_of_long);
        if mine && let Some(message) = ctx.turn.mailbox.take() {
            agent.on_message(ctx, message);
        } else if schedule.is_ready() {
            schedule.step(ctx);
        } else {
            break schedule.next_time().map_or(Next::Wait, Next::WaitUntil);
        }
        if let Some(more) = ctx.behaviours.take() {
            schedule.join(*more);
        }
        if ctx.ended {
            break Next::Wait;
        }
    };
    mail.left = ctx.turn.mailbox.len() as u32;
    if !schedule.is_empty() {
        *ctx.behaviours = Some(schedule);
    }
    next
}

impl<A: Agent> AgentBody for NativeBody<A> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let budget = turn.budget;
        let starts = !std::mem::replace(&mut self.started, true);
        let (agent, mail, mut ctx) = self.parts(turn);
        if starts {
            agent.on_start(&mut ctx);
        }
        let budget = if A::BEHAVIOURS_ONLY { budget } else { handle_messages(agent, &mut ctx, budget) };
        let next = match budget {
            0 => Next::Ready,
            _ if ctx.behaviours.is_none() || ctx.ended => Next::Wait,
            _ => behave(agent, mail, &mut ctx, budget),
        };
        if ctx.ended { Next::End(EndReason::Finished) } else { next }
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        let (agent, _, mut ctx) = self.parts(turn);
        agent.on_stop(&mut ctx);
    }
}
