//! FIPA's interaction protocols as state machines: conversations of agents are checked against data that all languages
//! share (`conformance/protocols`).
//!
//! [`Protocol`] is one protocol's data, [`Dialogue`] one conversation with one agent, and [`Dialogues`] are all
//! conversations of an agent: participants need no more. Initiators have a [`Talk`] with several agents, or a
//! [`ContractNet`]. None of them sends or waits: the agent does, as they say.

mod contract_net;
mod dialogue;
mod dialogues;
mod table;
mod talk;

pub use contract_net::{ContractNet, ContractOutcome};
pub use dialogue::{Dialogue, MessageVerdict, SayError, Saying};
pub use dialogues::{Dialogues, JudgedMessage};
pub use table::{Protocol, ProtocolEnd, ProtocolMove, ProtocolRole, ProtocolState, START, StateDeadline, protocols};
pub use talk::Talk;
