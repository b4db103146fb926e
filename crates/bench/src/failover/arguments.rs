//! Arguments of `bench failover`.

use clap::Args;

/// Measure a failover: one node of a society on three NATS servers is killed or drained.
#[derive(Debug, Args)]
pub struct Failover {
    /// Number of nodes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=9))]
    pub nodes: u64,
    /// Average number of agents per node.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub agents: u64,
    /// Time that each agent waits between two actions.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = whimbrel::duration::parse)]
    pub period: std::time::Duration,
    /// Drain the node instead of killing it: it hands over its agents.
    #[arg(long)]
    pub planned: bool,
    /// Takeover time, as for `whimbrel up` [default: that of `whimbrel up`].
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_takeover)]
    pub takeover: Option<std::time::Duration>,
    /// Print the result as one line of JSON.
    #[arg(long)]
    pub json: bool,
}
