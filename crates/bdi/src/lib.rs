//! AgentSpeak(L) in Jason's dialect: syntax, compiler, belief base, plan library, reasoning cycle, internal actions.
//! Pure: time, output, randomness and other agents are reached through the platform's ports only.
#![forbid(unsafe_code)]

pub mod syntax;
