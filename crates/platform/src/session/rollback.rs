//! Rollback of an agent's move to a client: the agent returns if its client cannot have it after all.

use std::sync::Arc;

use whimbrel_acl::Symbol;

use super::body::SessionBody;
use super::durability::{SavedState, Unsaved};
use super::kept_agents::{KeptAgents, KeptState, Tenure};
use super::kept_body::KeptBody;
use super::port::SessionHost;
use crate::durable::Origin;
use crate::mobility::{Hop, HopError, Wish};
use crate::services::LogLevel;
use crate::{AgentBody, Time, Turn};

/// Record of an agent that came to a client.
pub(super) struct Rollback {
    /// State of the agent when it came.
    pub saved: SavedState,
    /// Agent of the client to which it was sent.
    pub to: Symbol,
    /// Host and origin that make the agent again, if it was the node's.
    pub node: Option<(Arc<dyn SessionHost>, Origin)>,
    /// Former tenure of the agent, if it was kept.
    pub before: Option<Tenure>,
    /// Wish that sent it there, until its outcome is known: when its client acknowledges it, or at this time.
    pub wish: Option<(Wish, Time)>,
}

impl Rollback {
    /// Returns the agent as the node had it, if its client has not saved another state since.
    fn remade(
        &self,
        name: Symbol,
        kept: &KeptState,
        kept_agents: &KeptAgents,
    ) -> Option<Result<Box<dyn AgentBody>, String>> {
        let (host, origin) = self.node.as_ref()?;
        let is_same = |saved: &SavedState| Arc::ptr_eq(&saved.state, &self.saved.state);
        let saved = kept.saved.as_ref().filter(|saved| is_same(saved))?;
        let body = host.remake(name, origin, &saved.state);
        if body.is_ok() {
            kept_agents.hand_back(name, self.before.clone());
        }
        Some(body)
    }
}

impl SessionBody {
    /// Fulfils the wish that sent the agent here, once its client says anything about it, or is silent for long enough.
    /// Returns the end of that time.
    pub(super) fn note_came(&mut self, was_heard: bool, now: Time) -> Option<Time> {
        let back = self.back.as_mut()?;
        let until = back.wish.as_ref()?.1;
        if !was_heard && now < until {
            return Some(until);
        }
        if let Some((wish, _)) = back.wish.take() {
            wish.over(Ok(()));
        }
        None
    }

    /// Fails the wish that sent the agent here, because its client is gone before it said anything about it.
    pub(super) fn note_client_gone(&mut self) {
        if let Some(back) = &mut self.back
            && let Some((wish, _)) = back.wish.take()
        {
            wish.over(Err(HopError::Unreachable(back.to)));
        }
    }

    /// Returns the agent in its turn, because its client cannot have it after all. It gets its former body; if that
    /// fails, it waits.
    pub(super) fn go_back(&mut self, number: u64, why: &str, turn: &mut Turn<'_>) {
        let (kept, kept_agents) = {
            let mut session = self.session.lock();
            let kept = session.kept(self.agent).map(|(kept, _)| kept).unwrap_or_default();
            (kept, Arc::clone(&session.opening.kept_agents))
        };
        let Some(unsaved) = self.session.lock().turn_back(self.agent, number, why) else { return };
        turn.mailbox.put_back(unsaved.into_iter().map(Unsaved::into_body));
        self.ended = true;
        let (name, back) = (turn.aid.name, self.back.take());
        let to = back.as_ref().map(|back| back.to).unwrap_or_default();
        let why = HopError::Refused { node: turn.services.node(), reason: why.to_owned() };
        let remade = back.as_ref().filter(|_| self.written.is_none());
        let again = match remade.and_then(|back| back.remade(name, &kept, &kept_agents)) {
            Some(body) => body.map(|body| (body, None)),
            None => kept_agents.go_on(name, &kept, self.written.as_ref()),
        };
        match again {
            Ok((mut body, written)) => {
                self.written = written;
                body.hopped(&Hop::Stayed { to, why: why.clone() });
                self.next = Some(body);
            }
            Err(error) => {
                let text = format!("cannot continue here, and waits for its client: {error}");
                turn.services.log(turn.aid, LogLevel::Warning, &format!("it came back from {to}, {text}"));
                self.session.lock().note_stranded(self.agent, &text);
                self.next = Some(Box::new(KeptBody::stranded(name, kept, kept_agents, self.written.clone(), error)));
            }
        }
        self.tell_departed(number, turn);
        if let Some((wish, _)) = back.and_then(|back| back.wish) {
            wish.over(Err(why));
        }
    }
}
