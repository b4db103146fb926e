//! Turn of one agent.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_acl::Aid;
use whimbrel_platform::limits::TURN_STEPS;
use whimbrel_platform::mobility::HopRequest;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{AgentBody, EndReason, Next, Outbox, Services, Time, Turn};

use super::{Doom, Slot};
use crate::durable::{Unserved, WithheldEffects};
use crate::panics::panic_text;

/// Services of a worker for agents in their turns.
pub(crate) struct TurnServices<'a> {
    /// Services of agents that are not durable: effects are visible at once.
    pub at_once: &'a dyn Services,
    /// Services of durable agents: effects are withheld.
    pub withholding: &'a dyn Services,
    /// Effects that the services of durable agents withheld.
    pub withheld: &'a WithheldEffects,
}

/// Late turn that is over: the shard continued without waiting for it.
pub(crate) struct LateTurn {
    pub slot: Box<Slot>,
    pub outcome: TurnOutcome,
    pub sent: Outbox,
}

/// Result of a turn: [`Next`] in two registers, since every turn returns one.
pub(crate) enum TurnOutcome {
    Wait,
    WaitUntil(Time),
    Refuse(Time),
    Ready,
    /// The agent requests a hop, or a clone on another node.
    Hop(Box<HopRequest>),
    /// The agent ended by itself.
    End(Box<EndReason>),
    /// The agent ended because it was told to.
    Ended(Box<EndReason>),
    /// The agent continues as this slot.
    Renewed(Box<Box<Slot>>),
}

impl From<Next> for TurnOutcome {
    #[inline(never)]
    fn from(next: Next) -> Self {
        match next {
            Next::Wait => Self::Wait,
            Next::WaitUntil(at) => Self::WaitUntil(at),
            Next::Refuse(at) => Self::Refuse(at),
            Next::Ready => Self::Ready,
            Next::End(reason) => Self::End(Box::new(reason)),
            // The caller that gives the turn handles this.
            Next::Activate => Self::Ready,
            Next::Hop(request) => Self::Hop(request),
        }
    }
}

impl Slot {
    /// Gives the agent a turn, the last one if it is to end. A panic ends the agent, not the worker.
    #[inline]
    pub fn have_turn(&mut self, now: Time, outbox: &mut Outbox, services: &TurnServices<'_>) -> TurnOutcome {
        if self.unwritten.is_some() {
            return self.have_durable_turn(now, outbox, services);
        }
        self.have_turn_at_once(now, outbox, services.at_once)
    }

    /// Gives a durable agent a turn, and withholds its effects until they are persisted.
    #[cold]
    #[inline(never)]
    fn have_durable_turn(&mut self, now: Time, outbox: &mut Outbox, services: &TurnServices<'_>) -> TurnOutcome {
        let outcome = self.have_turn_at_once(now, outbox, services.withholding);
        if let Some(unwritten) = &mut self.unwritten {
            services.withheld.append_to(&mut unwritten.effects);
        }
        outcome
    }

    #[inline]
    fn have_turn_at_once(&mut self, now: Time, outbox: &mut Outbox, services: &dyn Services) -> TurnOutcome {
        let Self { name, body, mailbox, doom, .. } = self;
        let turn = Turn { aid: Aid::local(*name), now, mailbox, outbox, budget: TURN_STEPS, services };
        let mut call = GuardedTurn { body, turn, outcome: TurnOutcome::Wait };
        if let Some(doom) = doom.take() {
            return call.stop(*doom);
        }
        // All is in one place, so that the caught closure is one pointer and nothing is copied.
        match catch_unwind(AssertUnwindSafe(|| call.run())) {
            Ok(()) => call.outcome,
            Err(panic) => TurnOutcome::End(Box::new(EndReason::Failed(panic_text(&*panic)))),
        }
    }
}

struct GuardedTurn<'a> {
    body: &'a mut dyn AgentBody,
    turn: Turn<'a>,
    outcome: TurnOutcome,
}

impl GuardedTurn<'_> {
    #[inline]
    fn run(&mut self) {
        let next = self.body.turn(&mut self.turn);
        // Mostly there is nothing to convert, and never anything to drop.
        if !matches!(next, Next::Wait) {
            let outcome = if matches!(next, Next::Activate) { self.activate() } else { next.into() };
            std::mem::forget(std::mem::replace(&mut self.outcome, outcome));
        }
    }

    /// Restores an agent that had left memory. If that fails, it is left as it is, and its messages wait.
    #[cold]
    fn activate(&mut self) -> TurnOutcome {
        let body = match (self.body.activate(), self.body.origin()) {
            (Ok(body), _) => body,
            (Err(why), origin) => {
                let text = format!("it does not continue, and its stored state stays as it is: {why}");
                self.turn.services.log(self.turn.aid, LogLevel::Severe, &text);
                Box::new(Unserved(origin))
            }
        };
        TurnOutcome::Renewed(Box::new(Box::new(Slot::new(body))))
    }

    #[cold]
    fn stop(&mut self, doom: Doom) -> TurnOutcome {
        // The agent is over, whether it stops well or not.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if matches!(doom, Doom::End(EndReason::Expired)) {
                self.body.expired();
            }
            self.body.stopping(&mut self.turn);
        }));
        match doom {
            Doom::End(reason) => TurnOutcome::Ended(Box::new(reason)),
            Doom::Renew(new) => TurnOutcome::Renewed(Box::new(new)),
        }
    }
}
