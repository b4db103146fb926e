//! One turn of one agent.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_platform::limits::TURN_STEPS;
use whimbrel_platform::{EndReason, Next, Outbox, Services, Time, Turn};

use crate::shard::Slot;

/// An agent whose turn is over, but whose shard did not wait for that.
pub(crate) struct LateTurn {
    pub slot: Box<Slot>,
    /// Messages in the mailbox before the turn.
    pub waiting: usize,
    pub next: Next,
    pub sent: Outbox,
}

impl Slot {
    /// Has a turn, the last one if it is to end. A panic in it is the agent's end, not the worker's.
    #[inline]
    pub fn have_turn(&mut self, now: Time, outbox: &mut Outbox, services: &dyn Services) -> Next {
        let aid = self.aid();
        let Self { body, mailbox, doom, .. } = self;
        let mut turn = Turn { aid, now, mailbox, outbox, budget: TURN_STEPS, services };
        let doom = doom.take();
        let outcome = catch_unwind(AssertUnwindSafe(|| match doom {
            None => body.turn(&mut turn),
            Some(reason) => {
                body.stopping(&mut turn);
                Next::End(*reason)
            }
        }));
        outcome.unwrap_or_else(|panic| Next::End(EndReason::Failed(panic_text(&*panic))))
    }
}

/// What a panic says.
#[cold]
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("with a value that is no text"))
}
