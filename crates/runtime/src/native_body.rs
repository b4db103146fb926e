//! Body of a Rust agent in its slot.

use std::time::Duration;

use whimbrel_platform::capabilities::Inspectable;
use whimbrel_platform::inspection::{Detail, Inspection, Look};
use whimbrel_platform::{AgentBody, EndReason, Next, Time, Turn};

use crate::agent::Agent;
use crate::behaviour::Schedule;
use crate::context::{Behaviours, Context};
use crate::shard::Slot;

/// Longest turn in which behaviours take steps.
const LONG_TURN: Duration = Duration::from_micros(50);

/// Share of steps that go to a long task even if messages wait: one in this many.
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
