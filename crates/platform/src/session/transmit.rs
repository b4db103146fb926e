//! Frames to the client, in their order.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{AclMessage, MessageBody, Symbol};

use super::code_name::CodeName;
use super::durability::SavedState;
use super::frames::{
    Ack, Certified, Code, CodePart, Created, Ended, Frame, Lacks, MessageFrame, OfferFrame, Refused, SESSION_VERSION,
    Saved, StateFrame, Welcome, Yield,
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
    Refused { of: u64, code: Code, text: String },
}

impl Outgoing {
    fn frame(&self, number: u64) -> Frame {
        match self.clone() {
            Self::Created { agent, name } => Frame::Created(Created { number, agent, name }),
            Self::Ended { agent, reason } => Frame::Ended(Ended { number, agent, reason }),
            Self::Message { agent, message, .. } => {
                Frame::Message(MessageFrame { number, agent, message: MessageBody::Shared(message) })
            }
            Self::Certified { agent, certificates } => Frame::Certified(Certified { number, agent, certificates }),
            Self::Saved { agent, of } => Frame::Saved(Saved { number, agent, of }),
            Self::Lacks { agent, code } => Frame::Lacks(Lacks { number, agent, code }),
            Self::Yield { agent, to } => Frame::Yield(Yield { number, agent, to: to.to_string() }),
            Self::Offer { name, code } => {
                Frame::Offer(OfferFrame { number, name: name.to_string(), code: code.to_string() })
            }
            Self::Code { agent, code, bytes, part } => {
                let (at, of) = (part.start as u64, bytes.len() as u64);
                let bytes = bytes.get(part).unwrap_or_default().to_vec();
                Frame::Code(CodePart { number, agent, code: code.to_string(), at, of, bytes })
            }
            Self::State { agent, saved, from } => {
                let SavedState { code, state } = saved;
                let from = from.map(|from| from.to_string());
                Frame::State(StateFrame { number, agent, code: code.to_string(), state: state.to_vec(), from })
            }
            Self::Refused { of, code, text } => Frame::Refused(Refused { number, of, code, text }),
        }
    }
}

impl Session {
    /// Returns the next frame to write, if there is one. After an error or good-bye the connection must be closed.
    pub fn poll_frame(&mut self, now: Time) -> Option<Frame> {
        let frame = self.next_frame(now)?;
        if let Some(connection) = &mut self.connection {
            connection.spoke_at = now;
        }
        if matches!(frame, Frame::Error(_) | Frame::Bye) {
            self.handle_disconnected();
        }
        Some(frame)
    }

    fn next_frame(&mut self, now: Time) -> Option<Frame> {
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

    fn welcome(&mut self) -> Option<Frame> {
        let connection = self.connection.as_mut().filter(|connection| connection.welcome)?;
        connection.welcome = false;
        connection.told = (self.received, self.granted);
        let opening = &self.opening;
        let grant = &opening.grant;
        Some(Frame::Welcome(Welcome {
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

    fn due_ack(&mut self, now: Time) -> Option<Frame> {
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
        Some(Frame::Ack(Ack { received: self.received, credit: Some(self.granted) }))
    }

    fn next_numbered(&mut self) -> Option<Frame> {
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
