//! Departing body: an agent that left its client for another node, or continues from this node to a client. In its
//! first turn it moves there, before anything else.

use crate::capabilities::{Durable, Inspectable, Mobile, Owned};
use whimbrel_acl::Symbol;

use crate::durable::Origin;
use crate::mobility::{Hop, HopError, HopMode, HopRequest, Wish};
use crate::{AgentBody, Mailbox, Next, Time, Turn};

/// Body of an agent that moves in its first turn; see the module.
pub struct DepartingBody {
    body: Box<dyn AgentBody>,
    /// Destination of the agent.
    to: Option<Symbol>,
    /// Wish that the agent move there, until it sets off.
    wish: Option<Wish>,
}

impl DepartingBody {
    /// Returns the body of an agent that moves on to `to`; its state has still to be told to it.
    pub fn new(body: Box<dyn AgentBody>, to: Symbol, wish: Option<Wish>) -> Self {
        Self { body, to: Some(to), wish }
    }
}

impl AgentBody for DepartingBody {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        match self.to.take() {
            Some(to) => Next::Hop(Box::new(HopRequest { to, mode: HopMode::Move })),
            None => Next::Activate,
        }
    }

    fn yielded(&mut self, mailbox: &mut Mailbox) {
        self.body.yielded(mailbox);
    }

    /// Returns no clone: it would not know whether it is the one that departs.
    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        None
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        Ok(std::mem::replace(&mut self.body, Box::new(Nobody)))
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        self.body.snapshot(now)
    }

    fn origin(&self) -> Option<Origin> {
        self.body.origin()
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        self.body.stopping(turn);
    }

    /// Returns no capability to be saved: a body that was saved or passivated in between would not depart.
    fn durable(&mut self) -> Option<&mut dyn Durable> {
        None
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        self.body.inspectable()
    }

    fn owned(&mut self) -> Option<&mut dyn Owned> {
        self.body.owned()
    }
}

impl Mobile for DepartingBody {
    fn has_news(&mut self) -> bool {
        self.body.has_news()
    }

    fn before_hop(&mut self) {
        self.body.before_hop();
    }

    fn take_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    fn recalled(&mut self) {
        // An agent that is recalled does not move on.
        self.to = None;
        if let Some(wish) = self.wish.take() {
            wish.over(Err(HopError::NotMovable("it was called home".to_owned())));
        }
        self.body.recalled();
    }

    fn hopped(&mut self, hop: &Hop) {
        match hop {
            // The agent has not reached its destination yet.
            Hop::Arrived { .. } if self.to.is_some() => {}
            Hop::Stayed { why, .. } => {
                self.to = None;
                if let Some(wish) = self.wish.take() {
                    wish.over(Err(why.clone()));
                }
                self.body.hopped(hop);
            }
            _ => self.body.hopped(hop),
        }
    }
}

/// Body that remains when the real one is given away.
struct Nobody;

impl AgentBody for Nobody {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }
}
