//! Body of an agent: the port that every kind of agent implements: native, AgentSpeak, WebAssembly, a browser's
//! session.

use whimbrel_acl::{Aid, Symbol};

use crate::capabilities::{Durable, Inspectable, Mobile, Owned};
use crate::durable::Origin;
use crate::mobility::HopRequest;
use crate::{EndReason, Mailbox, Outbox, Services, Time};

/// Behaviour and state of an agent, in its slot. The scheduler gives it turns; in between it is only data. Abilities
/// that only some bodies have are [capabilities](crate::capabilities).
pub trait AgentBody: Send {
    /// Runs until there is nothing to do or the budget is spent. The first turn comes without a message.
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next;

    /// Tells the agent once that it ends by another's will (killed, platform stopping) instead of its own.
    fn stopping(&mut self, _turn: &mut Turn<'_>) {}

    /// Stops the agent on this node, whose partition is another node's by now. The journal has its state, so nothing
    /// else is saved. The body puts messages back that it took and that the journal does not cover.
    fn yielded(&mut self, _mailbox: &mut Mailbox) {}

    /// Returns the place of the agent's code, so that another process can make the agent again from a
    /// [snapshot](AgentBody::snapshot); `None` if none could.
    fn origin(&self) -> Option<Origin> {
        None
    }

    /// Returns the whole state as bytes, between two turns; `None` if this kind of agent cannot be written out.
    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        None
    }

    /// Returns a second agent with the same code and state; `None` if this kind of agent cannot be cloned.
    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        None
    }

    /// Returns the body that this one replaced, or the next one. Called when a turn ended with [`Next::Activate`].
    ///
    /// # Errors
    /// The reason why the agent cannot be made again.
    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        Err("it had not left".to_owned())
    }

    /// Returns the capability to be saved after turns, if the body has it.
    fn durable(&mut self) -> Option<&mut dyn Durable> {
        None
    }

    /// Returns the capability to move between nodes, if the body has it.
    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        None
    }

    /// Returns the capability to be inspected by an operator, if the body has it.
    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        None
    }

    /// Returns the capability to belong to an owner, if the state names one.
    fn owned(&mut self) -> Option<&mut dyn Owned> {
        None
    }
}

/// Agent that another node offers.
pub struct OfferedAgent<'a> {
    /// Name of the agent here.
    pub name: Symbol,
    /// Owner of the agent; empty if it has none.
    pub owner: Symbol,
    /// Node that offers it.
    pub from: Symbol,
    /// Original agent, if the arriving one is a clone.
    pub clone_of: Option<Symbol>,
    /// Services of this platform.
    pub services: &'a dyn Services,
}

/// Turn of an agent: what it sees and can do.
pub struct Turn<'a> {
    /// Agent whose turn it is.
    pub aid: Aid,
    /// Time at the start of the turn.
    pub now: Time,
    /// Messages of the agent, in order of arrival.
    pub mailbox: &'a mut Mailbox,
    /// Messages that the agent sends; routed when the turn ends.
    pub outbox: &'a mut Outbox,
    /// Steps that the agent may take in this turn: messages handled, reasoning cycles.
    pub budget: u32,
    /// Services of the platform.
    pub services: &'a dyn Services,
}

/// Result of a turn: when the next one comes.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Nothing to do until a message arrives.
    Wait,
    /// Nothing to do until a message arrives, or until this moment.
    WaitUntil(Time),
    /// As [`Next::WaitUntil`], without room for the messages that were [put aside](Mailbox::put_aside): their senders
    /// get an answer as from a full mailbox.
    Refuse(Time),
    /// More to do: the next turn comes when the other agents had theirs.
    Ready,
    /// Replace the body by the one that it [activates](AgentBody::activate), which has its turn then.
    Activate,
    /// Request to continue on another node, or to have a clone there. The agent has no turn, and messages wait, until
    /// it [is told](crate::capabilities::Mobile::hopped) the outcome. An agent that has neither a
    /// [snapshot](AgentBody::snapshot) nor an [origin](AgentBody::origin) stays.
    Hop(Box<HopRequest>),
    /// End: the agent is done and leaves the platform.
    End(EndReason),
}

/// Reason why a delta was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadDelta(pub String);

/// Boxed body: the whole trait is passed through, as `cargo xtask tidy` checks.
impl<B: AgentBody + ?Sized> AgentBody for Box<B> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        (**self).turn(turn)
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        (**self).stopping(turn);
    }

    fn yielded(&mut self, mailbox: &mut Mailbox) {
        (**self).yielded(mailbox);
    }

    fn origin(&self) -> Option<Origin> {
        (**self).origin()
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        (**self).snapshot(now)
    }

    fn duplicate(&self, now: Time) -> Option<Box<dyn AgentBody>> {
        (**self).duplicate(now)
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        (**self).activate()
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        (**self).durable()
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        (**self).mobile()
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        (**self).inspectable()
    }

    fn owned(&mut self) -> Option<&mut dyn Owned> {
        (**self).owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Next;

    struct Snapshotting;

    impl AgentBody for Snapshotting {
        fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
            Next::Wait
        }

        fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
            Some(vec![now.as_ms() as u8])
        }
    }

    #[test]
    fn wrapped_body_keeps_snapshot() {
        let now = Time::from_ms(7);
        let boxed: Box<dyn AgentBody> = Box::new(Snapshotting);
        assert_eq!(AgentBody::snapshot(&boxed, now), Some(vec![7]));
        let departing = crate::session::DepartingBody::new(boxed, "away".into(), None);
        assert_eq!(departing.snapshot(now), Some(vec![7]), "it departs with its state");
    }
}
