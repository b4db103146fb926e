//! Arguments of `bench rtt`.

use clap::Args;
use whimbrel_terminal::options::SecurityLevel;

/// Measure round trips between pairs of agents. A receiver counts primes before it answers, which takes most of the
/// time.
#[derive(Debug, Args)]
pub struct Rtt {
    /// Number of pairs.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// Number up to which a receiver counts primes, dividing each number by all smaller ones.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub limit: u32,
    /// Size of the random text in each message, both ways, in bytes.
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(16..=8 << 20))]
    pub bytes: u32,
    /// Number of processes, linked as nodes of one platform. The two agents of a pair are on different nodes.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub nodes: u16,
    /// Number of messages of each sender, each sent after the answer to the one before [default: 512 in total, but at
    /// least two each].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Number of threads in each process that run agents [default: an even share of the cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Security of the links between processes.
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated, value_name = "LEVEL")]
    pub security: SecurityLevel,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Address of the first process; for the others.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
    /// Number of this node; for the others.
    #[arg(long, hide = true, value_name = "N")]
    pub node: Option<u16>,
}
