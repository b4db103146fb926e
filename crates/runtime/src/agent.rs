//! Agents written in Rust.

use std::time::Duration;
use whimbrel_platform::capabilities::Inspectable;

use whimbrel_acl::{AclMessage, MessageBody, Performative, Template, Value};
use whimbrel_platform::inspection::{Detail, Inspection, Look};
use whimbrel_platform::{AgentBody, EndReason, Next, Time, Turn};

use crate::behaviour::{Behaviour, Schedule, Waker};
use crate::context::Context;
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
    /// True if messages that no behaviour takes wait in the mailbox, instead of being handed to
    /// [`Agent::on_message`].
    const BEHAVIOURS_ONLY: bool = false;

    /// Called once, before the first message.
    fn on_start(&mut self, _ctx: &mut Context<'_, '_>) {}

    /// Called for each message that no behaviour took, in the order of their arrival.
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody);

    /// Called once, when another agent ends this one, or when the platform stops.
    fn on_stop(&mut self, _ctx: &mut Context<'_, '_>) {}
}

/// Creates an agent that consists of its behaviours; `set_up` adds the first of them.
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

/// Behaviours of an agent in its turn.
pub struct Behaviours<'a> {
    /// Schedule of the behaviours; while they take steps, only those added meanwhile.
    schedule: &'a mut Option<Box<Schedule>>,
    arrivals: u32,
    /// The clock at the last lap.
    clock: Time,
}

impl Context<'_, '_> {
    /// Takes the oldest message. For behaviours; [`Agent::on_message`] is given its messages.
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
                Err(panic) => AclMessage::new(Performative::Failure, me, me, crate::turn::panic_text(&*panic)),
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

/// Longest turn in which behaviours take steps.
const LONG_TURN: Duration = Duration::from_micros(50);

/// Share of steps that go to a long task even if messages wait: one in so many.
const LONG_SHARE: u32 = 8;

/// An [`Agent`] in a slot.
pub(crate) struct NativeBody<A> {
    agent: A,
    behaviours: Option<Box<Schedule>>,
    mail: Mail,
    started: bool,
}

/// Mailbox figures that an agent with behaviours remembers.
#[derive(Default)]
struct Mail {
    /// Messages left in the mailbox by the last turn.
    left: u32,
    /// Number of turns before which messages arrived.
    arrivals: u32,
}

impl Mail {
    /// Notes the number of messages at the start of a turn. Returns in how many turns some had arrived so far.
    fn look(&mut self, waiting: usize) -> u32 {
        self.arrivals = self.arrivals.wrapping_add(u32::from(waiting as u32 > self.left));
        self.arrivals
    }
}

impl<A: Agent> NativeBody<A> {
    fn new(agent: A) -> Self {
        Self { agent, behaviours: None, mail: Mail::default(), started: false }
    }

    /// Creates the agent's slot, with the agent in the same piece of memory.
    pub fn slot(agent: A) -> Box<Slot> {
        Box::new(Slot::new(Self::new(agent)))
    }

    pub fn boxed(agent: A) -> Box<dyn AgentBody> {
        Box::new(Self::new(agent))
    }

    fn parts<'a, 't>(&'a mut self, turn: &'a mut Turn<'t>) -> (&'a mut A, &'a mut Mail, Context<'a, 't>) {
        let Self { agent, behaviours, mail, .. } = self;
        let own = Behaviours { schedule: behaviours, arrivals: 0, clock: turn.now };
        let context = Context { turn, ended: false, own };
        (agent, mail, context)
    }
}

/// Handles messages as long as the agent has no behaviours. Returns the rest of the budget.
#[inline]
fn handle_messages<A: Agent>(agent: &mut A, ctx: &mut Context<'_, '_>, mut budget: u32) -> u32 {
    while budget > 0
        && !ctx.ended
        && ctx.own.schedule.is_none()
        && let Some(message) = ctx.turn.mailbox.take()
    {
        budget -= 1;
        agent.on_message(ctx, message);
    }
    budget
}

/// Lets behaviours take steps, and hands over the messages that none took.
fn behave<A: Agent>(agent: &mut A, mail: &mut Mail, ctx: &mut Context<'_, '_>, mut budget: u32) -> Next {
    let mut schedule = ctx.own.schedule.take().unwrap_or_default();
    ctx.lap();
    let began = ctx.own.clock;
    ctx.own.arrivals = mail.look(ctx.turn.mailbox.len());
    let next = loop {
        if budget == 0 || ctx.own.clock - began > LONG_TURN {
            break Next::Ready;
        }
        budget -= 1;
        schedule.wake(ctx.own.arrivals, ctx.turn.now);
        // Short steps come first, because they may choose among the messages. Long tasks mostly give way to messages.
        let turn_of_long = schedule.is_ready() && budget.is_multiple_of(LONG_SHARE);
        let mine = !(A::BEHAVIOURS_ONLY || schedule.is_quick() || turn_of_long);
        if mine && let Some(message) = ctx.turn.mailbox.take() {
            agent.on_message(ctx, message);
        } else if schedule.is_ready() {
            schedule.step(ctx);
        } else {
            break schedule.next_time().map_or(Next::Wait, Next::WaitUntil);
        }
        if let Some(more) = ctx.own.schedule.take() {
            schedule.join(*more);
        }
        if ctx.ended {
            break Next::Wait;
        }
    };
    mail.left = ctx.turn.mailbox.len() as u32;
    if !schedule.is_empty() {
        *ctx.own.schedule = Some(schedule);
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
            _ if ctx.own.schedule.is_none() || ctx.ended => Next::Wait,
            _ => behave(agent, mail, &mut ctx, budget),
        };
        if ctx.ended { Next::End(EndReason::Finished) } else { next }
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        let (agent, _, mut ctx) = self.parts(turn);
        agent.on_stop(&mut ctx);
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl<A: Agent> Inspectable for NativeBody<A> {
    fn inspect(&mut self, _look: Look, now: Time) -> Inspection {
        let mut details = vec![Detail::new("type", std::any::type_name::<A>())];
        if let Some(behaviours) = &self.behaviours {
            details.push(Detail::new("behaviours", behaviours.describe(now)));
        }
        Inspection { details, ..Inspection::default() }
    }
}
