//! A deterministic simulator: whole societies of agents on a virtual clock, in an order drawn from a seed.
//!
//! [`Simulation`] schedules [`AgentBody`](whimbrel_platform::AgentBody) one turn at a time over the platform's own AMS
//! and DF. Time passes only when no agent has anything to do, so ten simulated hours take no longer than their events.
//! The same seed gives the same run, to the last line of output. [`simulate`] runs a test under many seeds. When one
//! fails, it prints the command that repeats it:
//!
//! ```
//! use whimbrel_testkit::{answering, simulate};
//!
//! simulate(|sim| {
//!     sim.spawn("echo", answering(|message, turn| turn.services.print(turn.aid, &message.content.to_string())));
//!     sim.tell("echo", "hello");
//!     sim.run_until_idle();
//!     assert_eq!(sim.output(), [r#"[echo] "hello""#]);
//! });
//! ```
#![forbid(unsafe_code)]

mod bodies;
pub mod generators;
mod harness;
mod host;
mod links;
mod network;
mod random;
mod scratch;
pub mod script_fields;
mod sessions;
mod simulation;
pub mod stores;
mod transcript;

pub use bodies::{Probe, answering, turning};
pub use harness::{simulate, simulate_seeds, with_seeds};
pub use host::ProgramLoader;
pub use links::{Claimant, Faults, LinkContest, LinkEnd, LinkPair, speaker};
pub use network::Network;
pub use random::Random;
pub use scratch::Scratch;
pub use sessions::{SessionClient, SessionWorld};
pub use simulation::Simulation;
pub use transcript::{TOKEN, Transcript, TranscriptNode};
