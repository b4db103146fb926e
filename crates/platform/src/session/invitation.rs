//! Invitation: an agent that is offered to a client. The agent stays as it was until the client creates it, and
//! continues as it was if the client does not.

use crate::capabilities::{Inspectable, Mobile};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whimbrel_acl::Symbol;

use super::body::{SessionBody, SharedSession};
use super::code_name::CodeName;
use super::durability::SavedState;
use super::frames::{ErrorFrame, OnLeave};
use super::kept_agents::{KeptState, Tenure};
use super::port::SessionHost;
use super::rollback::Rollback;
use crate::durable::Origin;
use crate::inspection::{Detail, Inspection, Look};
use crate::limits::SESSION_OFFER_MS;
use crate::mobility::{Hop, HopError, Wish};
use crate::{AgentBody, Mailbox, Next, Time, Turn};

/// State that an offered agent and its client share.
pub struct Invitation {
    /// Agent that is offered.
    pub(super) name: Symbol,
    /// State of the agent for the client.
    pub(super) saved: SavedState,
    /// Former place of the agent.
    pub(super) from: Symbol,
    /// Permission for the client to have the agent's code.
    is_given: bool,
    /// End of the offer.
    until: Time,
    answer: Mutex<InvitationAnswer>,
}

/// Answer of the client.
enum InvitationAnswer {
    None,
    /// Acceptance: the new body, and the former tenure of the kept agent.
    Taken(Box<SessionBody>, Option<Tenure>),
    /// Refusal, with its reason.
    Declined(String),
    /// Answer that is dealt with.
    Over,
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Invitation {
    pub(super) fn new(name: Symbol, saved: SavedState, is_given: bool, from: Symbol, now: Time) -> Arc<Self> {
        let until = now + Duration::from_millis(SESSION_OFFER_MS);
        Arc::new(Self { name, saved, from, is_given, until, answer: Mutex::new(InvitationAnswer::None) })
    }

    fn answer(&self) -> MutexGuard<'_, InvitationAnswer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the offer with this body. Returns the kept state for the client, or `None` if it was too late.
    ///
    /// # Errors
    /// Errors of `body`: the offer stands.
    pub(super) fn take(
        &self,
        body: impl FnOnce() -> Result<(SessionBody, Option<Tenure>), ErrorFrame>,
    ) -> Option<Result<KeptState, ErrorFrame>> {
        let mut answer = self.answer();
        if !matches!(*answer, InvitationAnswer::None) {
            return None;
        }
        let taken = body().map(|(body, before)| *answer = InvitationAnswer::Taken(Box::new(body), before));
        Some(taken.map(|()| KeptState {
            on_leave: OnLeave::GoOn,
            holds: false,
            saved: Some(self.saved.clone()),
            is_given: self.is_given,
        }))
    }

    /// Declines the offer.
    pub(super) fn decline(&self, why: &str) {
        let mut answer = self.answer();
        if matches!(*answer, InvitationAnswer::None) {
            *answer = InvitationAnswer::Declined(why.to_owned());
        }
    }

    /// Returns the answer, once.
    fn settle(&self, now: Time) -> InvitationAnswer {
        let mut answer = self.answer();
        match &*answer {
            InvitationAnswer::None if now < self.until => InvitationAnswer::None,
            InvitationAnswer::None => {
                *answer = InvitationAnswer::Over;
                InvitationAnswer::Declined(format!("it was not taken within {SESSION_OFFER_MS} ms"))
            }
            _ => std::mem::replace(&mut *answer, InvitationAnswer::Over),
        }
    }
}

/// Former body of an offered agent, which it returns to if no client takes it.
pub(super) enum Former {
    /// Agent of a client, which named the destination.
    Client(Box<SessionBody>),
    /// Agent of the node.
    Node(Arc<dyn SessionHost>, Origin, Option<Wish>),
}

/// Body of an agent that is offered to a client.
pub(super) struct InvitedBody {
    invitation: Arc<Invitation>,
    /// Agent of the client to which it is offered, as wishes name it.
    to: Symbol,
    client: Arc<SharedSession>,
    former: Option<Former>,
    next: Option<Box<dyn AgentBody>>,
    /// Reason why the agent cannot return to its former body.
    stuck: Option<String>,
}

impl InvitedBody {
    pub fn new(invitation: Arc<Invitation>, to: Symbol, client: Arc<SharedSession>, former: Former) -> Self {
        Self { invitation, to, client, former: Some(former), next: None, stuck: None }
    }

    /// Lets the agent go to the client: its former body is given up.
    fn leave(&mut self, mut body: Box<SessionBody>, before: Option<Tenure>, turn: &mut Turn<'_>) {
        let (node, wish) = match self.former.take() {
            Some(Former::Client(mut former)) => {
                former.depart(self.to, turn);
                (None, None)
            }
            Some(Former::Node(host, origin, wish)) => (Some((host, origin)), wish),
            None => (None, None),
        };
        let (saved, to, until) = (self.invitation.saved.clone(), self.to, self.invitation.until);
        let wish = wish.map(|wish| (wish, until));
        body.back = Some(Box::new(Rollback { saved, to, node, before, wish }));
        self.next = Some(body);
    }

    /// Returns the agent to its former body.
    fn stay(&mut self, why: &str, turn: &Turn<'_>) {
        self.client.withdraw(&self.invitation);
        let why = HopError::Refused { node: turn.services.node(), reason: why.to_owned() };
        match self.former.take() {
            Some(Former::Client(mut former)) => {
                former.stay(why);
                self.next = Some(former);
            }
            Some(Former::Node(host, origin, wish)) => {
                match host.remake(self.invitation.name, &origin, &self.invitation.saved.state) {
                    Ok(mut body) => {
                        body.hopped(&Hop::Stayed { to: self.to, why: why.clone() });
                        self.next = Some(body);
                    }
                    Err(error) => self.stuck = Some(error),
                }
                if let Some(wish) = wish {
                    wish.over(Err(why));
                }
            }
            None => {}
        }
    }
}

impl AgentBody for InvitedBody {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        match self.invitation.settle(turn.now) {
            InvitationAnswer::Taken(body, before) => self.leave(body, before, turn),
            InvitationAnswer::Declined(why) => self.stay(&why, turn),
            InvitationAnswer::None => return Next::WaitUntil(self.invitation.until),
            InvitationAnswer::Over => {}
        }
        Next::Activate
    }

    fn yielded(&mut self, mailbox: &mut Mailbox) {
        if let Some(Former::Client(former)) = &mut self.former {
            former.yielded(mailbox);
        }
        // The client that took the agent has been told that it has it.
        let answer = std::mem::replace(&mut *self.invitation.answer(), InvitationAnswer::Over);
        if let InvitationAnswer::Taken(mut body, _) = answer {
            body.yielded(mailbox);
            // The body tells its client when it is dropped with this one, once the name is free.
            self.next = Some(body);
        }
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        let stuck = self.stuck.take().unwrap_or_else(|| "it is offered to a client".to_owned());
        self.next.take().ok_or(stuck)
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        if let Some(Former::Client(former)) = &mut self.former {
            former.stopping(turn);
        }
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Mobile for InvitedBody {
    fn stays(&self) -> Option<&str> {
        Some("it is offered to a client")
    }
}

impl Inspectable for InvitedBody {
    fn inspect(&mut self, _look: Look, _now: Time) -> Inspection {
        let code: &CodeName = &self.invitation.saved.code;
        let details = vec![Detail::new("offered to", self.to.as_str()), Detail::new("code", code.to_string())];
        Inspection { details, ..Inspection::default() }
    }
}

impl Drop for InvitedBody {
    fn drop(&mut self) {
        // The client that was promised the agent learns of its end from the body that is dropped with this.
        let answer = std::mem::replace(&mut *self.invitation.answer(), InvitationAnswer::Over);
        drop(answer);
        self.client.withdraw(&self.invitation);
    }
}
