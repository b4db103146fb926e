//! Names that nearly every program needs: `use whimbrel::prelude::*;`.
//!
//! | name | reason |
//! |---|---|
//! | [`Agent`], [`Context`] | trait of an agent in Rust, and the means by which its handlers act |
//! | [`DurableAgent`], [`DurableContext`] | the same for an agent that outlives its process |
//! | [`MessageBody`] | message as a handler gets it |
//! | [`AclMessage`] | message to send from outside, or with more than performative, receiver and content |
//! | [`Aid`], [`Performative`], [`Value`] | parts of every message: addresses, purpose, content |
//! | [`Template`] | filter of messages; [`Context::ask`] returns one for the answers |
//! | [`Platform`] | runs agents |
//! | [`Society`] | agents of an AgentSpeak project |
//!
//! Everything else is in the [modules by subject](crate#modules).

pub use crate::agents::{Agent, Context, Platform};
pub use crate::durable_agents::{DurableAgent, DurableContext};
pub use crate::messages::{AclMessage, Aid, MessageBody, Performative, Template, Value};
pub use crate::society::Society;
