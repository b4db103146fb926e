//! `whimbrel chaos`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Run a society while its nodes and servers are killed, stopped, cut off ..., and see whether anything is lost.
///
/// The plan says which society, what happens to it, and what must be so afterwards. Everything is started on this machine
/// and ended at the end, or at Ctrl-C. The exit status is 0 if all held, 1 if something was violated.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel chaos examples/bank/chaos.toml             what the plan says
  whimbrel chaos examples/bank/chaos.toml --seed 7    the same faults each time
  whimbrel chaos examples/bank/chaos.toml --show      what would happen when, and nothing else

A plan:
  [society]
  project = \"bank.mas2j\"       beside the plan; on three nodes, kept by three NATS servers, if nothing else is said
  [[fault]]
  kind = \"kill\"                or pause, partition, slow-link, clock-step, disk-full
  target = \"any\"               or node, server, n2, s1
  every = \"2s\"                 at random instants; or at = \"5s\"
  times = 10
  [[check]]
  ask = \"auditor\"              an agent
  content = \"total(T)\"
  expect = \"total(1000)\"

docs/guide/chaos.md says all of it.")]
pub struct ChaosArguments {
    /// The plan.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where random numbers start; what the plan says if not given, or a new one, which is shown.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How long the society may take to begin, to be whole again, to come to rest, and to make a check come true.
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = whimbrel::duration::parse)]
    pub(crate) patience: Duration,
    /// Show what would happen when, and start nothing.
    #[arg(long)]
    pub(crate) show: bool,
    /// Keep what nodes and servers wrote, also if all held.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print the outcome as one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
