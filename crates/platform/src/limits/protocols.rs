//! Limits of interaction protocols.

/// Conversations of one agent that are judged by protocols; beyond that, the oldest that are over are forgotten.
pub const DIALOGUES_MAX: usize = 10_000;

/// Own messages with a `:reply-with` that a conversation remembers, so that an answer to an older one is known as late.
/// The oldest are forgotten.
pub const QUESTIONS_MAX: usize = 64;
