//! Frames to the client, in their order.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{AclMessage, MessageBody, Symbol};

use super::code_name::CodeName;
use super::durability::SavedState;
use super::frames::{
    AckFrame, CertifiedFrame, CodePart, Created, EndedFrame, ErrorCode, Lacks, MessageFrame, OfferFrame, RefusedFrame,
    SESSION_VERSION, SavedFrame, SessionFrame, StateFrame, Welcome, Yield,
};
use super::state::Session;
use crate::Time;
use crate::limits::SESSION_ACK_DELAY_MS;

/// Numbered frame on its way to the client.
#[derive(Clone, Debug)]
pub(super) enum Outgoing {
    Created { agent: u32, name: String },
    Ended { agent: u32, reason: String },
    Message { agent: u32, message: Arc<AclMessage>, bytes: usize },
    Certified { agent: u32, certificates: String },
    Saved { agent: u32, of: u64 },
    State { agent: u32, saved: SavedState, from: Option<Symbol> },
    Lacks { agent: u32, code: String },
    Code { agent: u32, code: Arc<CodeName>, bytes: Arc<[u8]>, part: Range<usize> },
    Yield { agent: u32, to: Symbol },
    Offer { name: Symbol, code: Arc<CodeName> },
    Refused { of: u64, code: ErrorCode, text: String },
}

impl Outgoing {
    fn frame(&self, number: u64) -> SessionFrame {
        match self.clone() {
            Self::Created { agent, name } => SessionFrame::Created(Created { number, agent, name }),
            Self::Ended { agent, reason } => SessionFrame::Ended(EndedFrame { number, agent, reason }),
            Self::Message { agent, message, .. } => {
                SessionFrame::Message(MessageFrame { number, agent, message: MessageBody::Shared(message) })
            }
            Self::Certified { agent, certificates } => {
                SessionFrame::Certified(CertifiedFrame { number, agent, certificates })
            }
            Self::Saved { agent, of } => SessionFrame::Saved(SavedFrame { number, agent, of }),
            Self::Lacks { agent, code } => SessionFrame::Lacks(Lacks { number, agent, code }),
            Self::Yield { agent, to } => SessionFrame::Yield(Yield { number, agent, to: to.to_string() }),
            Self::Offer { name, code } => {
                SessionFrame::Offer(OfferFrame { number, name: name.to_string(), code: code.to_string() })
            }
            Self::Code { agent, code, bytes, part } => {
                let (at, of) = (part.start as u64, bytes.len() as u64);
                let bytes = bytes.get(part).unwrap_or_default().to_vec();
                SessionFrame::Code(CodePart { number, agent, code: code.to_string(), at, of, bytes })
            }
            Self::State { agent, saved, from } => {
                let SavedState { code, state } = saved;
                let from = from.map(|from| from.to_string());
                SessionFrame::State(StateFrame { number, agent, code: code.to_string(), state: state.to_vec(), from })
            }
            Self::Refused { of, code, text } => SessionFrame::Refused(RefusedFrame { number, of, code, text }),
        }
    }
}

impl Session {
    /// Returns the next frame to write, if there is one. After an error or good-bye the connection must be closed.
    pub fn poll_frame(&mut self, now: Time) -> Option<SessionFrame> {
        let frame = self.next_frame(now)?;
        if let Some(connection) = &mut self.connection {
            connection.spoke_at = now;
        }
        if matches!(frame, SessionFrame::Error(_) | SessionFrame::Bye) {
            self.handle_disconnected();
        }
        Some(frame)
    }

    fn next_frame(&mut self, now: Time) -> Option<SessionFrame> {
        self.connection.as_ref()?;
        if let Some(welcome) = self.welcome() {
            return Some(welcome);
        }
        if let Some(ack) = self.due_ack(now) {
            return Some(ack);
        }
        if let Some(numbered) = self.next_numbered() {
            return Some(numbered);
        }
        // The client hears first how its agents ended.
        if self.is_over() { self.last.take() } else { None }
    }

    fn welcome(&mut self) -> Option<SessionFrame> {
        let connection = self.connection.as_mut().filter(|connection| connection.welcome)?;
        connection.welcome = false;
        connection.told = (self.received, self.granted);
        let opening = &self.opening;
        let grant = &opening.grant;
        Some(SessionFrame::Welcome(Welcome {
            version: SESSION_VERSION,
            session: opening.session.clone(),
            secret: opening.secret.clone(),
            platform: opening.platform.to_string(),
            lease_ms: grant.lease_ms,
            window: grant.window,
            agents: grant.agents,
            message_bytes: grant.message_bytes,
            messages_per_s: grant.messages_per_s,
            remember: grant.remember,
            received: self.received,
            credit: self.granted,
        }))
    }

    fn due_ack(&mut self, now: Time) -> Option<SessionFrame> {
        let window = u64::from(self.opening.grant.window);
        let is_held_back = self.grow_credit(now);
        let connection = self.connection.as_mut()?;
        // Small steps are not worth a frame of their own.
        let much = self.granted - connection.told.1 >= window.div_ceil(4);
        if !much && now < connection.ack_due {
            return None;
        }
        // Credit that the rate withholds is told later.
        let later = now + Duration::from_millis(SESSION_ACK_DELAY_MS);
        connection.ack_due = if is_held_back { later } else { Time::NEVER };
        connection.told = (self.received, self.granted);
        Some(SessionFrame::Ack(AckFrame { received: self.received, credit: Some(self.granted) }))
    }

    fn next_numbered(&mut self) -> Option<SessionFrame> {
        let window = u64::from(self.opening.grant.window);
        let connection = self.connection.as_mut()?;
        let number = self.first + connection.sent as u64;
        let highest = connection.credit.unwrap_or(u64::MAX).min(self.first - 1 + window);
        if number > highest {
            return None;
        }
        let frame = self.window.get(connection.sent)?.frame(number);
        connection.sent += 1;
        self.written = self.written.max(number);
        Some(frame)
    }
}
