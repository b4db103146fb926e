//! `whimbrel chaos`: runs a society under real faults of its processes, and checks whether anything was lost
//! (docs/guide/chaos.md).

mod arguments;
mod check;
mod clients;
mod clock;
mod disk;
mod history;
mod lookout;
mod network;
pub mod plan;
mod schedule;
mod society;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Serialize;
use toml::Spanned;
use whimbrel::files::{self, wrong};

pub use self::arguments::ChaosArguments;
use self::check::{Calm, MessageTotals, RegisterReport};
use self::clients::{Clients, Histories};
use self::lookout::Lookout;
use self::plan::{Check, FaultPlan, Wrong};
use self::schedule::{Blow, Victim, schedule};
use self::society::StruckSociety;
use whimbrel::duration;
use whimbrel::projects::project_in;
use whimbrel::society::SocietyError;
use whimbrel_terminal as terminal;
use whimbrel_terminal::stopping::{INTERRUPTED, Stopping};

/// Interval of looks at the running processes.
const LOOK: Duration = Duration::from_millis(50);
/// Number of faults of one kind.
#[derive(Debug, PartialEq, Serialize)]
struct Count {
    fault: String,
    times: usize,
}

/// Result of a run.
#[derive(Debug, Serialize)]
struct ChaosReport {
    seed: u64,
    lasted_s: f64,
    faults: Vec<Count>,
    messages: Option<MessageTotals>,
    agents: usize,
    registers: Vec<RegisterReport>,
    checks: usize,
    violations: Vec<String>,
}

/// The caller does not wait any longer.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct ChaosInterrupted;

/// Carries out a plan.
pub fn chaos(arguments: &ChaosArguments) -> anyhow::Result<ExitCode> {
    let plan = read(&arguments.file)?;
    let seed = arguments.seed.or(plan.run.seed).unwrap_or_else(|| whimbrel::cluster::random() >> 32);
    let blows = schedule(&plan, seed);
    if arguments.show {
        return show(&plan, &blows, seed);
    }
    let beside = arguments.file.parent().unwrap_or(Path::new(""));
    let project = std::path::absolute(project_in(&beside.join(&plan.society.get_ref().project))?)?;
    check_programs(&project)?;
    let stopping = Stopping::new()?;
    let folder = std::env::temp_dir().join(format!("whimbrel-chaos-{}", std::process::id()));
    whimbrel_files::create_folder(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let outcome = StruckSociety::prepare(&plan, &project, folder.clone())
        .and_then(|society| ChaosTrial::begin(&plan, society, seed, arguments.patience, stopping).run(&blows));
    let keep = arguments.keep || outcome.as_ref().is_ok_and(|report| !report.violations.is_empty());
    if keep {
        terminal::note(&format!("the output of nodes and servers is in {}", folder.display()));
    } else {
        let _ = std::fs::remove_dir_all(&folder);
    }
    match outcome {
        Ok(report) => tell(&report, arguments.json),
        Err(error) if error.is::<ChaosInterrupted>() => Ok(ExitCode::from(INTERRUPTED as u8)),
        Err(error) => Err(error),
    }
}

/// Opens the society, so that errors in its programs are shown before any node starts.
fn check_programs(project: &Path) -> anyhow::Result<()> {
    match whimbrel::Society::open(project) {
        Err(SocietyError::Errors { diagnostics, path }) => {
            terminal::show(&diagnostics);
            bail!("{} has errors", path.display());
        }
        opened => Ok(opened.map(drop)?),
    }
}

fn read(file: &Path) -> anyhow::Result<FaultPlan> {
    let text = files::read(file)?;
    FaultPlan::parse(&text).map_err(|Wrong { place, what }| {
        terminal::show(&[*wrong(&text, file, place, &what)]);
        anyhow::anyhow!("{} is no valid plan", file.display())
    })
}

/// Society under test, its observers, and the time.
struct ChaosTrial<'a> {
    plan: &'a FaultPlan,
    seed: u64,
    patience: Duration,
    society: StruckSociety,
    lookout: Lookout,
    _looking: lookout::LookoutThread,
    stopping: Stopping,
    began: Instant,
}

impl<'a> ChaosTrial<'a> {
    fn begin(plan: &'a FaultPlan, society: StruckSociety, seed: u64, patience: Duration, stopping: Stopping) -> Self {
        let (lookout, looking) = Lookout::begin();
        Self { plan, seed, patience, society, lookout, _looking: looking, stopping, began: Instant::now() }
    }

    fn run(mut self, blows: &[Blow]) -> anyhow::Result<ChaosReport> {
        self.say(&format!("seed {}: {} faults", self.seed, blows.len()));
        self.wait_until_whole().context("the society does not start")?;
        self.began = Instant::now();
        self.say("the society runs");
        let clients = self.begin_clients()?;
        self.strike(blows)?;
        let lasted_s = self.began.elapsed().as_secs_f64();
        let mut report = ChaosReport {
            seed: self.seed,
            lasted_s,
            faults: count(self.plan, blows),
            messages: None,
            agents: 0,
            registers: Vec::new(),
            checks: self.plan.checks.len(),
            violations: Vec::new(),
        };
        self.say("all faults are over");
        self.judge(clients, &mut report)?;
        report.violations.append(&mut self.society.troubles);
        Ok(report)
    }

    fn say(&self, text: &str) {
        terminal::note(&format!("{:7.2} s  {text}", self.began.elapsed().as_secs_f64()));
    }

    /// Lets time pass, and looks after the processes.
    fn pass(&mut self, time: Duration) -> anyhow::Result<()> {
        if self.stopping.within(time) {
            bail!(ChaosInterrupted);
        }
        for said in self.society.look_after() {
            self.say(&said);
        }
        self.lookout.watch(self.society.processes());
        Ok(())
    }

    /// Waits until something is so: what it gives. What it says last if it does not come to be so.
    fn wait_for<T>(
        &mut self,
        mut look: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> anyhow::Result<Result<T, String>> {
        let until = Instant::now() + self.patience;
        loop {
            self.pass(LOOK)?;
            match look(self) {
                Ok(found) => return Ok(Ok(found)),
                Err(why) if Instant::now() > until => return Ok(Err(why)),
                Err(_) => {}
            }
        }
    }

    fn wait_until_whole(&mut self) -> anyhow::Result<()> {
        let whole = self.wait_for(|trial| match check::missing(&trial.lookout.nodes(), trial.society.size()) {
            Some(_) if trial.society.is_over => Ok(()),
            Some(missing) => Err(missing),
            None => Ok(()),
        })?;
        whole.map_err(|why| anyhow::anyhow!("not reached within {}: {why}", duration::readable(self.patience)))
    }

    fn begin_clients(&mut self) -> anyhow::Result<Vec<Clients>> {
        let plan = self.plan;
        let mut all = Vec::new();
        self.wait_for_agents()?;
        for (number, register) in plan.registers.iter().enumerate() {
            let names = self.wait_for(|trial| {
                let (homes, _) = check::homes(&trial.lookout.nodes()).map_err(|error| format!("{error:#}"))?;
                let fits = |name: &String| whimbrel_platform::ams::name_fits(&register.agents, name);
                let names: Vec<String> = homes.into_keys().filter(fits).collect();
                if names.is_empty() { Err("none".to_owned()) } else { Ok(names) }
            })?;
            let names =
                names.map_err(|_| anyhow::anyhow!("[[register]]: no agent has the name {}", register.agents))?;
            all.push(Clients::begin(
                &self.lookout,
                names,
                register.clients,
                self.seed.wrapping_add(number as u64),
                self.began,
            ));
        }
        Ok(all)
    }

    /// Waits until as many agents are there as the plan says. If that does not come to be so, it is said at the end.
    fn wait_for_agents(&mut self) -> anyhow::Result<()> {
        let plan = self.plan;
        for wanted in plan.checks.iter().filter(|check| matches!(check, Check::Agents { .. })) {
            let _ = self.wait_for(|trial| check::check(wanted, &trial.society, &trial.lookout))?;
        }
        Ok(())
    }

    /// Has everything happen that is to happen, in time.
    fn strike(&mut self, blows: &[Blow]) -> anyhow::Result<()> {
        let begins = blows.iter().map(|blow| (blow.at, true, blow));
        let ends = blows.iter().map(|blow| (blow.until, false, blow));
        let mut events: Vec<(Duration, bool, &Blow)> = begins.chain(ends).collect();
        // What ends at an instant ends before what begins then.
        events.sort_by_key(|(at, begins, _)| (*at, *begins));
        for (at, begins, blow) in events {
            self.pass_until(at)?;
            if self.society.is_over {
                return Ok(());
            }
            let Some(fault) = self.plan.faults.get(blow.fault).map(Spanned::get_ref) else { continue };
            let names: Vec<String> = blow.victims.iter().map(ToString::to_string).collect();
            let names = names.join(", ");
            if begins {
                self.say(&format!("{} {names} for {}", fault.kind, duration::readable(fault.time)));
                self.society.strike(fault, &blow.victims)?;
            } else {
                self.society.relieve(fault, &blow.victims)?;
                self.say(&format!("{} {names} is over", fault.kind));
            }
        }
        match self.plan.run.time {
            Some(time) => self.pass_until(time.0),
            None => Ok(()),
        }
    }

    fn pass_until(&mut self, at: Duration) -> anyhow::Result<()> {
        while !self.society.is_over {
            let left = at.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                break;
            }
            self.pass(left.min(LOOK))?;
        }
        Ok(())
    }

    /// Runs all checks.
    fn judge(&mut self, clients: Vec<Clients>, report: &mut ChaosReport) -> anyhow::Result<()> {
        if let Err(why) = self.wait_until_whole() {
            if why.is::<ChaosInterrupted>() {
                return Err(why);
            }
            report.violations.push(format!("the society is not whole again: {why:#}"));
        }
        let histories: Histories = clients.into_iter().flat_map(Clients::end).collect();
        report.registers = check::registers(&histories);
        for register in &report.registers {
            let wrong = register.violation.as_ref();
            report.violations.extend(wrong.map(|why| format!("{} is not linearizable: {why}", register.name)));
        }
        if !self.society.is_over {
            self.judge_messages(report)?;
        }
        let plan = self.plan;
        for wanted in &plan.checks {
            let done = self.wait_for(|trial| check::check(wanted, &trial.society, &trial.lookout))?;
            report.violations.extend(done.err());
        }
        Ok(())
    }

    fn judge_messages(&mut self, report: &mut ChaosReport) -> anyhow::Result<()> {
        // Agents that are just being read from the store send nothing: without them it would be calm too soon.
        self.wait_for_agents()?;
        let (mut calm, mut told) = (Calm::new(), BTreeSet::new());
        let sum = self.wait_for(|trial| {
            let nodes = trial.lookout.look();
            if let Some(end) = &trial.plan.end {
                check::tell(end, &nodes, &mut told).map_err(|error| format!("{error:#}"))?;
            }
            if let Some(missing) = check::missing(&nodes, trial.society.size()) {
                return Err(missing);
            }
            calm.look(&nodes, trial.society.has_lost_nodes)
        })?;
        match sum {
            Ok(sum) => report.messages = Some(sum),
            Err(why) => report.violations.push(format!(
                "the society did not come to rest within {}: {why} ([end] says how agents are told to)",
                duration::readable(self.patience)
            )),
        }
        let (homes, twice) = check::homes(&self.lookout.look())?;
        report.agents = homes.len();
        report.violations.extend(twice);
        Ok(())
    }
}

/// Counts faults by kind and target.
fn count(plan: &FaultPlan, blows: &[Blow]) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    for blow in blows {
        let Some(kind) = plan.faults.get(blow.fault).map(|fault| fault.get_ref().kind) else { continue };
        let is_node = |victim: &Victim| matches!(victim, Victim::Node(_));
        let whom = match (blow.victims.iter().any(is_node), blow.victims.iter().all(is_node)) {
            (_, true) => "nodes",
            (false, _) => "servers",
            (true, false) => "both",
        };
        let fault = format!("{kind} of {whom}");
        match counts.iter_mut().find(|known| known.fault == fault) {
            Some(known) => known.times += 1,
            None => counts.push(Count { fault, times: 1 }),
        }
    }
    counts
}

/// Prints the schedule.
fn show(plan: &FaultPlan, blows: &[Blow], seed: u64) -> anyhow::Result<ExitCode> {
    let mut text = format!("seed {seed}: {} faults", blows.len());
    for blow in blows {
        let Some(fault) = plan.faults.get(blow.fault).map(Spanned::get_ref) else { continue };
        let names: Vec<String> = blow.victims.iter().map(ToString::to_string).collect();
        let (at, time) = (blow.at.as_secs_f64(), duration::readable(fault.time));
        text.push_str(&format!("\n{at:9.2} s  {} {} for {time}", fault.kind, names.join(", ")));
    }
    whimbrel_terminal::screen::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says how it went.
fn tell(report: &ChaosReport, as_json: bool) -> anyhow::Result<ExitCode> {
    let code = if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if as_json {
        whimbrel_terminal::screen::print(&serde_json::to_string(report)?)?;
        return Ok(code);
    }
    let mut lines = Vec::new();
    let faults: Vec<String> = report.faults.iter().map(|Count { fault, times }| format!("{times} x {fault}")).collect();
    let faults = if faults.is_empty() { "none".to_owned() } else { faults.join(", ") };
    lines.push(format!("faults    {faults}, in {:.1} s (seed {})", report.lasted_s, report.seed));
    lines.extend(report.messages.map(|sum| format!("messages  {} on the nodes that live", check::shown(sum))));
    lines.push(format!("agents    {}, each on one node", report.agents));
    for register in &report.registers {
        let RegisterReport { name, reads, writes, unanswered, silence_s, silence_from_s, violation } = register;
        let so = if violation.is_none() { "linearizable" } else { "not linearizable" };
        lines.push(format!(
            "register  {name}: {so}; {reads} reads and {writes} writes, {unanswered} of them unanswered; nobody answered for {silence_s:.1} s at most, from {silence_from_s:.1} s on"
        ));
    }
    lines.push(format!("checks    {}", report.checks));
    match report.violations.as_slice() {
        [] => lines.push("nothing was lost, and nothing done twice".to_owned()),
        wrong => lines.extend(wrong.iter().map(|why| format!("VIOLATED  {why}"))),
    }
    whimbrel_terminal::screen::print(&lines.join("\n"))?;
    Ok(code)
}
