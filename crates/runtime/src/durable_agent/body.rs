//! Body of a durable agent in its slot.

use std::time::Duration;
use whimbrel_platform::capabilities::{Durable, Inspectable, Mobile};

use whimbrel_acl::{MessageBody, Symbol};
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::inspection::{Detail, Inspection, Look, Texts};
use whimbrel_platform::mobility::{Hop, HopMode, HopRequest};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::{AgentBody, EndReason, Next, Time, Turn};

use super::agent::{DispatchError, DurableAgent};
use super::context::DurableContext;
use super::context::KeptTimers;
use super::passive::PassiveState;
use super::state::{self, DecodedAgent};
use super::timers::AgentTimers;
use super::{dispatch, itinerary};
use crate::context::Context;

/// Stage of an agent's life in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentStage {
    /// The agent had no turn yet.
    New,
    /// The agent continues from its state, and is not told yet.
    Resumed,
    /// The agent had a turn in this process.
    Running,
}

/// Body of a durable agent.
pub(crate) struct DurableBody<A> {
    agent: A,
    timers: AgentTimers,
    stage: AgentStage,
    /// State at the last save; empty before the first.
    saved: Vec<u8>,
    /// Reason why the agent could not be saved.
    unsaved: Option<String>,
    /// Destination node, until the agent is told the outcome of the hop.
    wants: Option<Symbol>,
    /// Outcome of a hop that the agent is not told yet.
    hopped: Option<Hop>,
    /// True if the agent was recalled and is not told yet.
    recalled: bool,
}

impl<A: DurableAgent> DurableBody<A> {
    pub fn new(agent: A) -> Self {
        Self::at(agent, AgentTimers::default(), AgentStage::New, Vec::new())
    }

    fn at(agent: A, timers: AgentTimers, stage: AgentStage, saved: Vec<u8>) -> Self {
        Self { agent, timers, stage, saved, unsaved: None, wants: None, hopped: None, recalled: false }
    }

    /// Creates a body after checking that its initial state can be written.
    pub fn checked(name: Symbol, agent: A) -> Result<Box<dyn AgentBody>, CreateError> {
        let body = Self::new(agent);
        match body.encode() {
            Ok(_) => Ok(Box::new(body)),
            Err(reason) => Err(CreateError::BadProgram { name, reason }),
        }
    }

    /// Restores a body from its recorded states: a complete one, then changes.
    pub fn restore(states: &[State]) -> Result<Self, String> {
        Self::read(state::latest(states)?)
    }

    pub(super) fn read(saved: Vec<u8>) -> Result<Self, String> {
        let DecodedAgent { agent, started, timers, wants } = state::decode(&saved)?;
        let stage = if started { AgentStage::Resumed } else { AgentStage::New };
        Ok(Self { wants, ..Self::at(agent, timers, stage, saved) })
    }

    fn encode(&self) -> Result<Vec<u8>, String> {
        state::encode(&self.agent, self.stage != AgentStage::New, &self.timers, self.wants)
    }

    fn save(&mut self, write: impl FnOnce(&[u8], &[u8])) -> bool {
        match self.encode() {
            Ok(bytes) => {
                write(&self.saved, &bytes);
                self.saved = bytes;
                true
            }
            Err(why) => {
                self.unsaved = Some(why);
                false
            }
        }
    }

    fn take_turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let mut budget = turn.budget;
        let stage = std::mem::replace(&mut self.stage, AgentStage::Running);
        let hopped = self.hopped.take();
        let recalled = std::mem::take(&mut self.recalled);
        let (agent, mut ctx) = self.parts(turn);
        ctx.own.recalled = recalled;
        if stage != AgentStage::Running {
            let (now, wall_ms) = (ctx.now(), ctx.services().wall_clock_ms());
            ctx.own.timers.resume(now, wall_ms);
        }
        match stage {
            AgentStage::New => agent.on_start(&mut ctx),
            AgentStage::Resumed => agent.on_resume(&mut ctx),
            AgentStage::Running => {}
        }
        if let Some(hop) = hopped {
            agent.on_hopped(&mut ctx, &hop);
            ctx.own.recalled = false;
        }
        while !ctx.ended {
            if let Some(request) = ctx.own.hop.take() {
                return Next::Hop(Box::new(request));
            }
            let now = ctx.now();
            if budget == 0 {
                return Next::Ready;
            } else if let Some(timer) = ctx.own.timers.take_due(now) {
                handle_timer(agent, &mut ctx, &timer);
            } else if let Some(message) = ctx.turn.mailbox.take() {
                handle_message(agent, &mut ctx, message);
            } else {
                return ctx.own.timers.next().map_or(Next::Wait, Next::WaitUntil);
            }
            budget -= 1;
        }
        Next::End(EndReason::Finished)
    }

    fn parts<'a, 't>(&'a mut self, turn: &'a mut Turn<'t>) -> (&'a mut A, DurableContext<'a, 't>) {
        let own = KeptTimers { timers: &mut self.timers, hop: None, recalled: false };
        (&mut self.agent, Context { turn, ended: false, own })
    }
}

fn handle_timer<A: DurableAgent>(agent: &mut A, ctx: &mut DurableContext<'_, '_>, timer: &str) {
    match dispatch::given_up(timer) {
        Some(minion) => agent.on_returned(ctx, minion, Err(DispatchError::Late)),
        None if timer == itinerary::DEADLINE => {}
        None => agent.on_timer(ctx, timer),
    }
}

fn handle_message<A: DurableAgent>(agent: &mut A, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
    match dispatch::heard(ctx.own.timers, ctx.turn.aid, &message) {
        dispatch::MinionNews::None => agent.on_message(ctx, message),
        dispatch::MinionNews::Stale => {}
        dispatch::MinionNews::Returned(minion, found) => agent.on_returned(ctx, minion, found),
    }
}

impl<A: DurableAgent> AgentBody for DurableBody<A> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if self.hopped.is_some() {
            self.wants = None;
        }
        let next = self.take_turn(turn);
        if let Next::Hop(request) = &next
            && request.mode == HopMode::Move
        {
            self.wants = Some(request.to);
        }
        next
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        let (agent, mut ctx) = self.parts(turn);
        agent.on_stop(&mut ctx);
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        state::encode(&self.agent, self.stage != AgentStage::New, &self.timers.on_the_way(now), None).ok()
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin::Type(A::KIND.to_owned()))
    }

    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        // A clone is first saved complete, like every new agent.
        let copy = Self { saved: Vec::new(), wants: None, ..Self::read(self.encode().ok()?).ok()? };
        Some(Box::new(copy))
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        Some(self)
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl<A: DurableAgent> Durable for DurableBody<A> {
    fn save_whole(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        self.save(|_, bytes| out.extend_from_slice(bytes))
    }

    fn save_delta(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        let write = |before: &[u8], bytes: &[u8]| {
            if before != bytes {
                state::write_delta(before, bytes, out);
            }
        };
        !self.saved.is_empty() && self.save(write)
    }

    fn unsaved(&self) -> Option<&str> {
        self.unsaved.as_deref()
    }

    fn passivate_after(&self) -> Option<Duration> {
        A::PASSIVATE_AFTER
    }

    fn passivate(&mut self, _now: Time) -> Option<Box<dyn AgentBody>> {
        let state = self.encode().ok().filter(|state| *state == self.saved)?;
        Some(Box::new(PassiveState::<A>::new(state)))
    }
}

impl<A: DurableAgent> Mobile for DurableBody<A> {
    fn has_news(&mut self) -> bool {
        self.hopped.is_some()
    }

    fn awaits_hop(&self) -> Option<HopRequest> {
        let to = self.wants.filter(|_| self.hopped.is_none())?;
        Some(HopRequest { to, mode: HopMode::Move })
    }

    fn recalled(&mut self) {
        self.recalled = true;
    }

    fn hopped(&mut self, hop: &Hop) {
        self.hopped.get_or_insert_with(|| hop.clone());
    }
}

impl<A: DurableAgent> Inspectable for DurableBody<A> {
    fn inspect(&mut self, _look: Look, now: Time) -> Inspection {
        let mut texts = Texts::default();
        let mut details = vec![Detail::new("kind", A::KIND)];
        if self.timers.next().is_some() {
            details.push(Detail::new("timers", texts.of(self.timers.describe(now))));
        }
        let state = state::describe(&self.agent).unwrap_or_else(|why| format!("it cannot be written: {why}"));
        details.push(Detail::new("state", texts.of(state)));
        Inspection { details, ..Inspection::default() }
    }
}
