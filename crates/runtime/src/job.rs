//! One turn, apart from the shard it came from: what is taken out of a slot before it, and put back after it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_acl::Aid;
use whimbrel_platform::{AgentBody, EndReason, Mailbox, Next, Outbox, Services, Time, Turn};

/// An agent about to have a turn.
pub(crate) struct Job {
    pub slot: u32,
    pub generation: u32,
    pub aid: Aid,
    pub body: Box<dyn AgentBody>,
    pub mailbox: Mailbox,
    /// Messages in the mailbox before the turn.
    pub waiting: usize,
    pub budget: u32,
    pub now: Time,
    /// Whether the agent is to end: its last turn is [`AgentBody::stopping`].
    pub last: Option<EndReason>,
}

/// An agent after its turn.
pub(crate) struct Ran {
    pub slot: u32,
    pub generation: u32,
    pub body: Box<dyn AgentBody>,
    pub mailbox: Mailbox,
    pub waiting: usize,
    pub next: Next,
    /// What it sent; only if the shard did not wait for the turn's end.
    pub sent: Outbox,
}

impl Job {
    /// Runs the turn. A panic in it is the agent's end, not the worker's.
    pub fn run(mut self, outbox: &mut Outbox, services: &dyn Services) -> Ran {
        let mut turn =
            Turn { aid: self.aid, now: self.now, mailbox: &mut self.mailbox, outbox, budget: self.budget, services };
        let body = &mut self.body;
        let last = self.last;
        let outcome = catch_unwind(AssertUnwindSafe(|| match last {
            None => body.turn(&mut turn),
            Some(reason) => {
                body.stopping(&mut turn);
                Next::End(reason)
            }
        }));
        let next = outcome.unwrap_or_else(|panic| Next::End(EndReason::Failed(panic_text(&*panic))));
        let Self { slot, generation, body, mailbox, waiting, .. } = self;
        Ran { slot, generation, body, mailbox, waiting, next, sent: Outbox::default() }
    }
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("with a value that is no text"))
}
