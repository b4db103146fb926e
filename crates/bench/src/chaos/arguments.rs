//! `whimbrel chaos`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Test a society under faults: kill, pause or cut off its nodes and servers, and check that nothing is lost.
///
/// A plan names the society, the faults, and the checks afterwards. All nodes and servers run on this machine, and stop
/// at the end or at Ctrl-C. The exit status is 0 if all checks hold, 1 if one fails.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel chaos examples/bank/chaos.toml             run the plan
  whimbrel chaos examples/bank/chaos.toml --seed 7    the same faults each time
  whimbrel chaos examples/bank/chaos.toml --show      show the schedule, and start nothing

A plan:
  [society]
  project = \"bank.mas2j\"       beside the plan; by default on three nodes and three NATS servers
  [[fault]]
  kind = \"kill\"                or pause, partition, slow-link, clock-step, disk-full
  target = \"any\"               or node, server, n2, s1
  every = \"2s\"                 at random instants; or at = \"5s\"
  times = 10
  [[check]]
  ask = \"auditor\"              an agent
  content = \"total(T)\"
  expect = \"total(1000)\"

docs/guide/chaos.md explains plans in full.")]
pub struct ChaosArguments {
    /// Plan of the test.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Seed of random numbers [default: the plan's, or a new one, which is printed].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Longest time to wait for the society to start, recover, come to rest, and satisfy a check.
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = whimbrel::duration::parse)]
    pub(crate) patience: Duration,
    /// Show the schedule of faults, and start nothing.
    #[arg(long)]
    pub(crate) show: bool,
    /// Do not delete the output of nodes and servers when all checks hold.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print the outcome as one line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
