//! Arguments of `bench durability`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Measure societies with and without durable agents.
#[derive(Debug, Args)]
pub struct DurabilityArguments {
    /// Society to measure [default: both].
    #[arg(long, value_enum)]
    pub society: Option<DurableSociety>,
    /// Levels of durability [default: all; `replicated` only if a NATS server is installed].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    pub levels: Vec<DurableLevel>,
    /// Number of rounds, each with every level. Figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub rounds: u64,
    /// Number of agents in the ring.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    pub workers: u64,
    /// Number of tokens that circulate at the same time.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub tokens: u64,
    /// Number of times each token is passed on; twenty times as many at level `volatile`.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub passes: u64,
    /// Number of initiators in the contract net, each with one conversation at a time.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub initiators: u64,
    /// Number of participants that bid for each initiator.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub participants: u64,
    /// Number of conversations of each initiator; twenty times as many at level `volatile`.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub conversations: u64,
    /// Number of threads that run agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Folder for the temporary stores [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Societies of the durability benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableSociety {
    /// Pass tokens round a ring of agents.
    Ring,
    /// Contract net: agents call for proposals, and give the job to the cheapest bidder.
    ContractNet,
}

/// Levels of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableLevel {
    /// No durability.
    Volatile,
    /// Agents outlive their process and a power cut: a folder stores them, and each step is flushed to disk.
    Local,
    /// Agents also outlive this machine: three NATS servers, which the benchmark starts, store them and flush before
    /// they acknowledge.
    Replicated,
}
