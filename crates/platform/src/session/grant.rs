//! Grant: the rights and limits of a session.

use crate::ams::name_fits;
use crate::limits::{
    SESSION_AGENTS_DEFAULT, SESSION_FRAME_BYTES_MORE, SESSION_LEASE_MS, SESSION_LEASE_MS_MAX, SESSION_LEASE_MS_MIN,
    SESSION_MESSAGE_BYTES_DEFAULT, SESSION_MESSAGES_PER_S, SESSION_REMEMBER_MAX, SESSION_WINDOW_MAX,
};

use super::frames::HelloFrame;

/// Limits of each session of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Number of agents at a time.
    pub agents: u32,
    /// Numbered frames a second, on average; a message counts once for each receiver.
    pub messages_per_s: u32,
    /// Bytes of one message, either way.
    pub message_bytes: u32,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            agents: SESSION_AGENTS_DEFAULT,
            messages_per_s: SESSION_MESSAGES_PER_S,
            message_bytes: SESSION_MESSAGE_BYTES_DEFAULT,
        }
    }
}

/// Rights and limits of a session, set by the code that admits the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionGrant {
    /// Principal, for logs and policies: the same whenever the same token or certificate is shown.
    pub principal: String,
    /// Account whose quotas the session uses, together with its client's address. Each token has an account of its own.
    pub account: String,
    /// Patterns of the names that its agents may have; `*` stands for any characters, `?` for any one.
    pub names: Vec<String>,
    /// Number of agents at a time.
    pub agents: u32,
    /// Numbered frames a second, on average.
    pub messages_per_s: u32,
    /// Bytes of one message to the client.
    pub message_bytes: u32,
    /// Bytes of one message from the client.
    pub sent_message_bytes: u32,
    /// Numbered frames that may be unacknowledged, either way.
    pub window: u32,
    /// Lease: how long the session outlives its client's last frame, in milliseconds.
    pub lease_ms: u64,
    /// Agents and texts that compact messages may refer to by number, either way.
    pub remember: u32,
}

impl SessionGrant {
    /// Returns the largest grant, for agents of these names.
    pub fn new(principal: impl Into<String>, names: Vec<String>) -> Self {
        let principal = principal.into();
        Self {
            account: principal.clone(),
            principal,
            names,
            agents: SESSION_AGENTS_DEFAULT,
            messages_per_s: SESSION_MESSAGES_PER_S,
            message_bytes: SESSION_MESSAGE_BYTES_DEFAULT,
            sent_message_bytes: SESSION_MESSAGE_BYTES_DEFAULT,
            window: SESSION_WINDOW_MAX,
            lease_ms: SESSION_LEASE_MS,
            remember: SESSION_REMEMBER_MAX,
        }
    }

    /// Returns the grant within the limits of the node's sessions.
    #[must_use]
    pub fn within(self, limits: SessionLimits) -> Self {
        let SessionLimits { agents, messages_per_s, message_bytes } = limits;
        Self { agents, messages_per_s, message_bytes, sent_message_bytes: message_bytes, ..self }
    }

    /// Returns the bytes of the longest frame of the client.
    pub fn frame_bytes_max(&self) -> usize {
        self.sent_message_bytes as usize + SESSION_FRAME_BYTES_MORE
    }

    /// Returns the grant, reduced to what the client asks for.
    #[must_use]
    pub fn narrowed(mut self, hello: &HelloFrame) -> Self {
        self.lease_ms = hello.lease_ms.unwrap_or(self.lease_ms).clamp(SESSION_LEASE_MS_MIN, SESSION_LEASE_MS_MAX);
        self.window = hello.window.unwrap_or(self.window).clamp(1, self.window.max(1));
        self.message_bytes = hello.message_bytes.unwrap_or(self.message_bytes).min(self.message_bytes);
        self.remember = hello.remember.min(self.remember);
        self
    }

    /// Returns true if an agent of the session may have this name.
    pub fn allows(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| name_fits(pattern, name))
    }
}
