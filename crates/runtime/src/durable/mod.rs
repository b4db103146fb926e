//! Durable agents: each of their steps is persisted in a journal before anyone sees its effects
//! ([`whimbrel_platform::durable`] says what that promises).
//!
//! A step takes this way. The agent has its turn; what it sends and prints is withheld in its slot ([`Unwritten`]).
//! At the end of the round its shard captures all agents that had turns ([`crate::shard`], `steps`): their states,
//! the messages they handled and the effects withheld. It hands that batch to the [`journal_writer`], a thread that
//! writes the journal. Meanwhile the agents continue, and their new steps go into the next batch. When the batch is
//! acknowledged, the shard gets it back, and sends and prints what was withheld. So only messages wait for the disk,
//! not agents, and the busier the agents are, the more steps one write contains.

mod entrant;
pub(crate) mod journal_writer;
mod recover;
mod unserved;
mod unwritten;
mod withheld_effects;

pub(crate) use entrant::{Entrant, volatile};
pub use recover::{RecoverError, RecoveredJournal, erase, recover};
pub(crate) use recover::{RecoveredAgents, recover_some};
pub(crate) use unserved::Unserved;
pub(crate) use unwritten::{Idleness, Unwritten, WithheldEffect};
pub(crate) use withheld_effects::WithheldEffects;
