//! Passivation benchmark: idle durable agents leave memory. It measures the memory that they take before and after, and
//! the time until one of them answers again.
//!
//! Memory is that of a whole process, so there are two: one whose agents stay, and one whose agents leave.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use whimbrel::{DurableAgent, DurableContext, MessageBody, Performative, Platform, Society, durable, kept_in};
use whimbrel_acl::{Aid, Symbol, Value, Var};

use super::{AgentLanguage, Metrics, object, percentile, resident_bytes};

/// Idle time after which an agent leaves memory.
const IDLE: Duration = Duration::from_millis(200);
/// Longest wait until all agents have left.
const PATIENCE: Duration = Duration::from_secs(600);

const PROJECT: &str = "MAS passivation { agents: clerk; }";
const CLERK: (&str, &str) = (
    "clerk.asl",
    "name(\"a clerk like any other\"). opened(2026, 11, 21). balance(1250). limit(500). customer(c1). customer(c2).\n\
     +!deposit(N)[source(A)] <- ?balance(B); -+balance(B+N); .send(A, tell, balance(B+N)).\n",
);

/// Measure durable agents that are idle.
#[derive(Debug, Args)]
pub struct Passivation {
    /// Number of agents.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub agents: u64,
    /// Language of the agents.
    #[arg(long, value_enum, default_value_t = crate::AgentLanguage::Asl)]
    pub kind: crate::AgentLanguage,
    /// Number of agents that get a question, one after the other.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub asked: u64,
    /// Folder for the temporary store [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Role of this process.
    #[arg(long, value_enum, hide = true)]
    pub phase: Option<PassivationPhase>,
}

/// Phases of the passivation benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PassivationPhase {
    /// Idle agents stay in memory.
    Live,
    /// Idle agents leave memory.
    Passive,
}

/// The clerk in Rust.
#[derive(Serialize, Deserialize)]
struct PassiveClerk {
    name: String,
    opened: (u16, u8, u8),
    balance: i64,
    limit: i64,
    customers: Vec<String>,
}

impl DurableAgent for PassiveClerk {
    const KIND: &'static str = "clerk";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        ctx.reply(&message, Performative::Inform, self.balance);
    }
}

impl PassiveClerk {
    fn new() -> Self {
        let customers = vec!["c1".to_owned(), "c2".to_owned()];
        Self { name: "a clerk like any other".to_owned(), opened: (2026, 11, 21), balance: 1250, limit: 500, customers }
    }
}

/// Measures both.
pub fn run(what: &Passivation) -> anyhow::Result<Metrics> {
    let names = ["live_bytes_per_agent", "live_p50_us", "live_p99_us"];
    let mut metrics = in_process(what, PassivationPhase::Live, names)?;
    let names = ["passive_bytes_per_agent", "passive_p50_us", "passive_p99_us"];
    metrics.extend(in_process(what, PassivationPhase::Passive, names)?);
    Ok(metrics)
}

/// Measures one of them in a process of its own, and gives its figures these names.
fn in_process(what: &Passivation, phase: PassivationPhase, names: [&'static str; 3]) -> anyhow::Result<Metrics> {
    let phase_name = if phase == PassivationPhase::Live { "live" } else { "passive" };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "passivation", "--phase", phase_name, "--kind", what.kind.name()]);
    command.args(["--agents", &what.agents.to_string(), "--asked", &what.asked.to_string()]);
    if let Some(dir) = &what.dir {
        command.arg("--dir").arg(dir);
    }
    let output = command.output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the {phase_name} agents came to no result: {told}");
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(names
        .into_iter()
        .zip(FIGURES)
        .map(|(name, figure)| (name, figures.get(figure).and_then(serde_json::Value::as_f64)))
        .collect())
}

/// Figures of a process.
const FIGURES: [&str; 3] = ["bytes_per_agent", "p50_us", "p99_us"];

/// Measures in this process: figures as JSON.
pub fn measure(what: &Passivation, phase: PassivationPhase) -> anyhow::Result<String> {
    let folder = PassivationFolder::new(what)?;
    let idle = if phase == PassivationPhase::Live { Duration::MAX } else { IDLE };
    let platform = Platform::builder().kind::<PassiveClerk>().passivate_after(idle).durable(kept_in(&folder.0)?);
    let told = || resident_bytes().context("this system does not tell how much memory a process has");
    let (before, platform) = match what.kind {
        AgentLanguage::Native => {
            let platform = platform.build();
            let before = told()?;
            platform.spawn_together(
                (1..=what.agents).map(|n| durable(format!("clerk{n}").as_str(), PassiveClerk::new())),
            )?;
            (before, platform)
        }
        AgentLanguage::Asl => {
            let mut society = Society::built_in(PROJECT, &[CLERK])?;
            society.set_population(what.agents as usize);
            let platform = platform.loader(society.loader()).build();
            let before = told()?;
            society.start(&platform)?;
            (before, platform)
        }
    };
    platform.wait_idle();
    let is_passive = phase == PassivationPhase::Passive;
    if is_passive {
        wait_until_passive(&platform)?;
    }
    let mut answers_us = ask(what, &platform)?;
    if is_passive {
        wait_until_passive(&platform)?;
    }
    // Last, for what agents left behind the allocator gives back while it has something to do.
    let bytes = told()? - before;
    let figures =
        [Some(bytes / what.agents as f64), percentile(50.0, &mut answers_us), percentile(99.0, &mut answers_us)];
    platform.stop();
    Ok(object(&FIGURES.into_iter().zip(figures).collect()))
}

fn wait_until_passive(platform: &Platform) -> anyhow::Result<()> {
    let agents: Vec<Symbol> = platform.services().agents().into_iter().map(|aid| aid.name).collect();
    let began = Instant::now();
    while !platform.figures_of(&agents).iter().all(|figures| figures.is_passive) {
        ensure!(began.elapsed() < PATIENCE, "some agents do not leave memory");
        std::thread::sleep(IDLE);
    }
    Ok(())
}

/// Asks some of the agents one after the other, and returns the microseconds that each takes to answer. It waits for
/// the disk once.
fn ask(what: &Passivation, platform: &Platform) -> anyhow::Result<Vec<f64>> {
    let question = Value::term("balance", [Value::Var(Var { slot: 0, name: "B".into() })]);
    let asked = what.asked.min(what.agents);
    let mut answers_us = Vec::with_capacity(asked as usize);
    for number in (1..=what.agents).step_by((what.agents / asked) as usize).take(asked as usize) {
        let clerk = Aid::local(Symbol::new(&format!("clerk{number}")));
        let began = Instant::now();
        platform.ask(clerk, Performative::Other("askOne".into()), question.clone())?;
        answers_us.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(answers_us)
}

/// Folder of the agents, removed at the end.
struct PassivationFolder(PathBuf);

impl PassivationFolder {
    fn new(what: &Passivation) -> anyhow::Result<Self> {
        let within = what.dir.clone().map_or_else(std::env::current_dir, Ok)?;
        let folder = within.join(format!("whimbrel-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for PassivationFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
