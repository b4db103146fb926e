//! Limits of interaction protocols.

/// Conversations of one agent that are judged by protocols; beyond that, the oldest that are over are forgotten.
pub const DIALOGUES_MAX: usize = 10_000;
