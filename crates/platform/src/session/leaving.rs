//! Departure of an agent from its client, in its turn: to the node, to another node, or to another client.

use std::sync::Arc;

use whimbrel_acl::Symbol;

use super::body::{SessionBody, SharedSession};
use super::code_name::CodeName;
use super::departing::DepartingBody;
use super::durability::Unsaved;
use super::frames::Save;
use super::invitation::{Former, Invitation, InvitedBody};
use super::moves::Departed;
use super::session_agents::Waiting;
use crate::durable::Origin;
use crate::limits::SESSION_CODE_LOOKUPS_PER_S;
use crate::mobility::{Hop, HopError, Wish};
use crate::{AgentBody, Turn};

impl SessionBody {
    /// Lets the agent leave for another place, by this save or by the one that is under way. Returns the wish that
    /// caused it, if there is one.
    fn leave(&mut self, save: Option<Box<Save>>, to: Symbol, turn: &mut Turn<'_>) -> Option<Wish> {
        let mut session = self.session.lock();
        let Departed { save, held, unsaved, wish } = session.depart(self.agent, save, to)?;
        for waiting in held {
            if let Waiting::Message { number, message, bytes } = waiting {
                Self::say(&mut session, message, (number, bytes), turn);
            }
        }
        drop(session);
        turn.mailbox.put_back(unsaved.into_iter().map(Unsaved::into_body));
        self.ended = true;
        self.tell_departed(save, turn);
        wish
    }

    /// Tells the client, once that is safe, that the agent left because of the frame of this number.
    pub(super) fn tell_departed(&self, by: u64, turn: &Turn<'_>) {
        let (session, agent) = (Arc::clone(&self.session), self.agent);
        turn.services.once_written(Box::new(move || {
            session.lock().handle_departed(agent, by);
            (session.notify)();
        }));
    }

    /// Lets the agent go to the client that took it.
    pub(super) fn depart(&mut self, to: Symbol, turn: &mut Turn<'_>) {
        if let Some(wish) = self.leave(None, to, turn) {
            wish.over(Ok(()));
        }
        (self.session.notify)();
    }

    /// Keeps the agent here, because the client that it was offered to does not take it.
    pub(super) fn stay(&mut self, why: HopError) {
        self.session.lock().refuse_departure(self.agent, None, why);
        (self.session.notify)();
    }

    /// Begins the departure that the client asked for, in the agent's turn. Returns true if the agent has another body
    /// from now on.
    pub(super) fn set_off(&mut self, save: Box<Save>, asked: bool, turn: &mut Turn<'_>) -> bool {
        let to = Symbol::new(save.to.as_deref().unwrap_or_default());
        match self.way_out(&save, to, asked, turn) {
            Ok(WayOut::Body(body, is_here, written)) => {
                self.written = written;
                let from = place(&save, turn.services.node());
                let wish = self.leave(Some(save), to, turn);
                self.next = Some(on_its_way(body, to, is_here, wish, from));
                true
            }
            Ok(WayOut::Client(invitation, client)) => {
                self.session.lock().depart_when_taken(self.agent, save);
                let former = Former::Client(self.pass_on());
                self.next = Some(Box::new(InvitedBody::new(invitation, to, client, former)));
                true
            }
            Ok(WayOut::Code(code)) => {
                self.session.lock().depart_with_code(self.agent, save, code, turn.now);
                false
            }
            Err(why) => {
                self.session.lock().refuse_departure(self.agent, Some(save), why);
                false
            }
        }
    }

    /// Returns the way in which an agent can go to `to`.
    fn way_out(&self, save: &Save, to: Symbol, asked: bool, turn: &Turn<'_>) -> Result<WayOut, HopError> {
        let stays = |why: String| HopError::NotMovable(why);
        let (kept, kept_agents, account) = {
            let session = self.session.lock();
            let account = session.grant().account.clone();
            (session.kept_by(self.agent, save), Arc::clone(&session.opening.kept_agents), account)
        };
        let (name, kept) = kept.ok_or_else(|| stays("it is not kept".to_owned()))?;
        let saved = kept.saved.clone().ok_or_else(|| stays("it never said what it is".to_owned()))?;
        let host = kept_agents.host().ok_or(HopError::Stopping)?;
        let node = host.node();
        let mobility = host.mobility().ok_or(HopError::Forbidden(node))?;
        let may = |object: &str| if mobility.may_move(name, object) { Ok(()) } else { Err(HopError::Forbidden(node)) };
        may(name.as_str())?;
        let here = mobility.is_here(to);
        if self.written.is_some() && !matches!(here, Ok(true)) {
            return Err(stays(format!("its society is durable, and {name} is stored at this node")));
        }
        if let Some(client) = kept_agents.client(to).filter(|_| here.is_err()) {
            may(&format!("session:{to}"))?;
            if Arc::ptr_eq(&client, &self.session) {
                return Err(HopError::AlreadyThere(to));
            }
            let invitation = Invitation::new(name, saved, kept.is_given, place(save, node), turn.now);
            client.invite(&invitation, to)?;
            return Ok(WayOut::Client(invitation, client));
        }
        let is_here = here?;
        let origin = saved.code.origin().ok_or_else(|| stays(format!("no node can run {}", saved.code)))?;
        let refused = |reason: String| HopError::Refused { node, reason };
        if !kept_agents.count_lookup(&account, turn.now) {
            let reason = format!("code is looked for {SESSION_CODE_LOOKUPS_PER_S} times a second for its client");
            return Err(HopError::Busy { node, reason });
        }
        match mobility.has_code(name, &origin) {
            Some(true) => {}
            Some(false) if !asked => return Ok(WayOut::Code(saved.code)),
            Some(false) => return Err(refused(format!("{} did not come", saved.code))),
            // The node's policy does not let it run that code, or bring it along.
            None => return Err(HopError::Forbidden(node)),
        }
        let (body, written) = kept_agents.go_on(name, &kept, self.written.as_ref()).map_err(refused)?;
        Ok(WayOut::Body(body, is_here, written))
    }
}

/// Ways in which an agent leaves its client.
enum WayOut {
    /// Body that the node runs; true if this node is the destination; and its origin in the journal, if it is written.
    Body(Box<dyn AgentBody>, bool, Option<Origin>),
    /// Offer to another client.
    Client(Arc<Invitation>, Arc<SharedSession>),
    /// Request for the agent's code: it leaves once the code is here.
    Code(Arc<CodeName>),
}

/// Returns the place that an agent leaves by this save, by its client's name for it, or its node's.
fn place(save: &Save, node: Symbol) -> Symbol {
    save.from.as_deref().map_or(node, Symbol::new)
}

/// Returns the body of an agent that left its client for `to`.
fn on_its_way(
    mut body: Box<dyn AgentBody>,
    to: Symbol,
    is_here: bool,
    wish: Option<Wish>,
    from: Symbol,
) -> Box<dyn AgentBody> {
    if !is_here {
        return Box::new(DepartingBody::new(body, to, wish));
    }
    body.hopped(&Hop::Arrived { from });
    if let Some(wish) = wish {
        wish.over(Ok(()));
    }
    body
}
