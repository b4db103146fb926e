//! Plans as TOML (docs/guide/chaos.md): the society under test, its faults, and the conditions that must hold
//! afterwards. This module uses no files or processes.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::schedule::{FaultRandom, choose};
use whimbrel_platform::duration;

/// The longest a run may be asked to last.
const RUN_MAX: Duration = Duration::from_secs(24 * 3600);
/// The shortest time between two faults of a kind.
const EVERY_MIN: Duration = Duration::from_millis(10);
/// Faults of a kind in one run: all of them are in memory.
const FAULTS_MAX: u32 = 100_000;
/// Nodes of a society.
const NODES_MAX: u8 = 9;

/// A plan.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    pub society: Spanned<PlannedSociety>,
    #[serde(default)]
    pub run: RunConditions,
    #[serde(default, rename = "fault")]
    pub faults: Vec<Spanned<Fault>>,
    #[serde(default)]
    pub end: Option<End>,
    #[serde(default, rename = "register")]
    pub registers: Vec<Register>,
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
}

/// Fault of a plan, and its place: a range of bytes in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    pub place: Range<usize>,
    pub what: String,
}

/// The society, and what runs it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSociety {
    /// A project, a program, or a folder with one project; as seen from the plan's folder.
    pub project: String,
    /// Nodes: n1, n2, ...; three on an engine if not given.
    #[serde(default)]
    pub nodes: Option<u8>,
    #[serde(default)]
    pub store: PlannedStore,
    /// Servers of an engine of its own: s1, s2, ...; three if not given.
    #[serde(default)]
    pub servers: Option<u8>,
    /// As `whimbrel up --takeover`.
    #[serde(default)]
    pub takeover: Option<TimeSpan>,
    /// As `whimbrel up --agents`.
    #[serde(default)]
    pub agents: Option<u32>,
}

/// Stores of a society.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum PlannedStore {
    /// Servers that are started for the society.
    #[default]
    Engine,
    /// Folder that one node has for itself.
    Folder,
    /// Servers that run already.
    At(String),
}

/// Conditions of the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConditions {
    /// For how long; until all faults that say `times` or `at` have been, if not given.
    #[serde(default, rename = "for")]
    pub time: Option<TimeSpan>,
    /// Seed of random numbers.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Maximum number of simultaneous faults.
    #[serde(default = "one")]
    pub together: NonZeroUsize,
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

impl Default for RunConditions {
    fn default() -> Self {
        Self { time: None, seed: None, together: one() }
    }
}

/// Fault of nodes and servers, once or repeatedly.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WrittenFault")]
pub struct Fault {
    pub kind: FaultKind,
    /// Targets of the fault, all struck at the same time.
    pub targets: Vec<Target>,
    pub when: When,
    /// Duration of the fault.
    pub time: Duration,
}

/// Kind of the fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Killed as by `kill -9`; afterwards started again.
    Kill,
    /// Stopped as by `kill -STOP`; afterwards continued.
    Pause,
    /// Cut off from all others.
    Partition,
    /// Limit of the target's network in bits per second, each way.
    SlowLink { bits_per_s: u64 },
    /// Error of the target's clock.
    ClockStep { by_s: i64 },
    /// No byte is free where the target stores data.
    DiskFull,
}

/// Target of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Target {
    AnyNode,
    AnyServer,
    Any,
    /// n1, n2, ...: from 1.
    Node(u8),
    /// s1, s2, ...: from 1.
    Server(u8),
}

/// Time of a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Once, at this time.
    At(Duration),
    /// Random instants with this average distance: this many, or as long as the run lasts.
    Every { mean: Duration, times: Option<u64> },
}

/// Way to bring the society to rest.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Content to tell.
    pub tell: String,
    /// Names of the receivers, as a pattern.
    pub to: String,
    /// Performative of the message.
    #[serde(default = "tell")]
    pub performative: String,
}

fn tell() -> String {
    "tell".to_owned()
}

/// Agents that are read and written all the time: what they answer must be linearizable.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The agents whose names fit.
    pub agents: String,
    /// Number of simultaneous clients that read and write.
    #[serde(default = "two")]
    pub clients: u8,
}

fn two() -> u8 {
    2
}

/// Condition that must hold in the end.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a check has either `ask`, `content` and `expect`; or `lines` and `times`; or `unique`; or `agents` and `count`"
)]
pub enum Check {
    /// An agent that is asked (`query-ref`) answers this.
    Ask { ask: String, content: String, expect: String },
    /// Number of printed lines that contain the text.
    Lines { lines: String, times: u64 },
    /// Beginning of lines of which no two are equal.
    Unique { unique: String },
    /// Number of living agents whose names match.
    Agents { agents: String, count: u64 },
}

/// A length of time, as one types it: `10s`, `200ms`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct TimeSpan(pub Duration);

impl TryFrom<String> for TimeSpan {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = duration::parse(&text)?;
        if time > RUN_MAX {
            return Err(format!("`{text}` is longer than a day"));
        }
        Ok(Self(time))
    }
}

impl TryFrom<String> for PlannedStore {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "engine" => Ok(Self::Engine),
            "folder" => Ok(Self::Folder),
            url if url.contains("://") => Ok(Self::At(text)),
            other => Err(format!("`{other}` is no store: expected engine, folder, or nats://HOST:PORT/NAME")),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |prefix| text.strip_prefix(prefix).and_then(|number| number.parse().ok()).filter(|k| *k > 0);
        match text.as_str() {
            "node" => Ok(Self::AnyNode),
            "server" => Ok(Self::AnyServer),
            "any" => Ok(Self::Any),
            _ => number("n").map(Self::Node).or(number("s").map(Self::Server)).ok_or_else(|| {
                format!("`{text}` is no target: expected node, server, any, or a name as n2 (a node) or s1 (a server)")
            }),
        }
    }
}

impl FaultPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let wrong =
            |error: toml::de::Error| Wrong { place: error.span().unwrap_or(0..0), what: error.message().to_owned() };
        let plan: Self = toml::from_str(text).map_err(wrong)?;
        plan.check_society().map_err(|what| Wrong { place: plan.society.span(), what })?;
        for fault in &plan.faults {
            plan.check_fault(fault.get_ref()).map_err(|what| Wrong { place: fault.span(), what })?;
        }
        Ok(plan)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u8 {
        let society = self.society.get_ref();
        society.nodes.unwrap_or(if society.store == PlannedStore::Folder { 1 } else { 3 })
    }

    /// Returns the number of servers started for the society.
    pub fn servers(&self) -> u8 {
        let society = self.society.get_ref();
        if society.store == PlannedStore::Engine { society.servers.unwrap_or(3) } else { 0 }
    }

    fn check_society(&self) -> Result<(), String> {
        let society = self.society.get_ref();
        if !(1..=NODES_MAX).contains(&self.nodes()) {
            return Err(format!("`nodes` is from 1 to {NODES_MAX}"));
        }
        if society.store == PlannedStore::Folder && self.nodes() > 1 {
            return Err("one node has a folder for itself: say nodes = 1, or another store".to_owned());
        }
        if society.store != PlannedStore::Engine && society.servers.is_some() {
            return Err("`servers` are started for store = \"engine\" only".to_owned());
        }
        if society.servers.is_some_and(|servers| !matches!(servers, 1 | 3 | 5)) {
            return Err("`servers` is 1, 3 or 5".to_owned());
        }
        Ok(())
    }

    fn check_fault(&self, fault: &Fault) -> Result<(), String> {
        let (nodes, servers) = (self.nodes(), self.servers());
        for target in &fault.targets {
            match target {
                Target::Node(k) if *k > nodes => return Err(format!("there is no n{k}: the nodes are n1 to n{nodes}")),
                Target::Server(k) if *k > servers => {
                    return Err(format!("there is no s{k}: {servers} servers are started"));
                }
                _ => {}
            }
        }
        if choose(self, &fault.targets, Vec::new(), &mut FaultRandom(0)).is_none() {
            return Err(format!(
                "of {nodes} nodes and {servers} servers that are started there are not as many as targets"
            ));
        }
        match (fault.when, self.run.time.map(|time| time.0)) {
            (When::Every { times: None, .. }, None) => {
                Err("a fault that says `every` needs `times`, or `for` in [run]: when does it end?".to_owned())
            }
            (When::Every { mean, .. }, Some(run)) if run / FAULTS_MAX > mean => {
                Err(format!("`every` would make more than {FAULTS_MAX} faults"))
            }
            (When::At(at), Some(run)) if at > run => Err("`at` is after the end that `for` in [run] says".to_owned()),
            _ => self.check_means(fault),
        }
    }

    /// Checks that the targets can be struck in this way.
    fn check_means(&self, fault: &Fault) -> Result<(), String> {
        let store = &self.society.get_ref().store;
        let all = |may: fn(&Target) -> bool| fault.targets.iter().all(may);
        let of_nodes = all(|target| matches!(target, Target::AnyNode | Target::Node(_)));
        let of_servers = all(|target| matches!(target, Target::AnyServer | Target::Server(_)));
        match (fault.kind, store) {
            (FaultKind::Partition | FaultKind::SlowLink { .. }, PlannedStore::Folder | PlannedStore::At(_)) => {
                Err("this is for store = \"engine\": nodes and servers get a network of their own".to_owned())
            }
            (FaultKind::ClockStep { .. }, _) if !of_nodes => {
                Err("clock-step is for nodes: the servers' program asks the kernel itself".to_owned())
            }
            (FaultKind::DiskFull, PlannedStore::At(_)) => {
                Err("disk-full is for store = \"engine\" or \"folder\"".to_owned())
            }
            (FaultKind::DiskFull, PlannedStore::Engine) if !of_servers => {
                Err("disk-full is for servers: nodes keep nothing, unless store = \"folder\"".to_owned())
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindName {
    Kill,
    Pause,
    Partition,
    SlowLink,
    ClockStep,
    DiskFull,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a target, as \"node\", or several, as [\"n1\", \"s1\"]")]
enum TargetTexts {
    One(String),
    More(Vec<String>),
}

fn targets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Target>, D::Error> {
    let names = match TargetTexts::deserialize(deserializer)? {
        TargetTexts::One(name) => vec![name],
        TargetTexts::More(names) => names,
    };
    let targets: Result<Vec<Target>, String> = names.into_iter().map(Target::try_from).collect();
    let targets = targets.map_err(serde::de::Error::custom)?;
    if targets.is_empty() {
        return Err(serde::de::Error::custom("a fault needs a target"));
    }
    Ok(targets)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFault {
    kind: KindName,
    #[serde(deserialize_with = "targets")]
    target: Vec<Target>,
    at: Option<TimeSpan>,
    every: Option<TimeSpan>,
    times: Option<u64>,
    #[serde(rename = "for")]
    time: Option<TimeSpan>,
    rate: Option<String>,
    by: Option<String>,
}

impl TryFrom<WrittenFault> for Fault {
    type Error = String;

    fn try_from(written: WrittenFault) -> Result<Self, String> {
        let when = match (written.at, written.every, written.times) {
            (Some(at), None, None) => When::At(at.0),
            (None, Some(every), _) if every.0 < EVERY_MIN => return Err("`every` is 10ms at least".to_owned()),
            (None, Some(_), Some(times)) if times > FAULTS_MAX.into() => {
                return Err(format!("`times` is at most {FAULTS_MAX}"));
            }
            (None, Some(mean), times) => When::Every { mean: mean.0, times },
            _ => {
                return Err(
                    "a fault happens either once (`at`), or again and again (`every`, perhaps `times`)".to_owned()
                );
            }
        };
        let kind = match (written.kind, &written.rate, &written.by) {
            (KindName::SlowLink, Some(rate), None) => FaultKind::SlowLink { bits_per_s: bits_per_s(rate)? },
            (KindName::SlowLink, None, _) => return Err("a slow-link needs a `rate`, as \"64kbit\"".to_owned()),
            (KindName::ClockStep, None, Some(by)) => FaultKind::ClockStep { by_s: seconds(by)? },
            (KindName::ClockStep, _, None) => {
                return Err("a clock-step is wrong `by` something, as \"1h\" or \"-10m\"".to_owned());
            }
            (_, Some(_), _) => return Err("`rate` is for slow-link only".to_owned()),
            (_, _, Some(_)) => return Err("`by` is for clock-step only".to_owned()),
            (KindName::Kill, ..) => FaultKind::Kill,
            (KindName::Pause, ..) => FaultKind::Pause,
            (KindName::Partition, ..) => FaultKind::Partition,
            (KindName::DiskFull, ..) => FaultKind::DiskFull,
        };
        let time = written
            .time
            .map_or(if kind == FaultKind::Kill { Duration::from_secs(1) } else { Duration::from_secs(5) }, |time| {
                time.0
            });
        Ok(Self { kind, targets: written.target, when, time })
    }
}

fn bits_per_s(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no rate: expected bits a second, as 64kbit or 2mbit");
    let (number, factor) = match (text.strip_suffix("kbit"), text.strip_suffix("mbit")) {
        (Some(number), _) => (number, 1_000),
        (_, Some(number)) => (number, 1_000_000),
        _ => (text.strip_suffix("bit").ok_or_else(wrong)?, 1),
    };
    let number: u64 = number.trim().parse().map_err(|_| wrong())?;
    number
        .checked_mul(factor)
        .filter(|rate| (1_000..=10_000_000_000).contains(rate))
        .ok_or_else(|| format!("`{text}` is no rate for a link: from 1kbit to 10000mbit"))
}

/// Reads whole seconds, which may be negative.
fn seconds(text: &str) -> Result<i64, String> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let time = TimeSpan::try_from(rest.to_owned())?.0;
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    if seconds == 0 {
        return Err(format!("`{text}`: a clock is wrong by a second at least"));
    }
    Ok(sign * seconds)
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Partition => "partition",
            Self::SlowLink { .. } => "slow-link",
            Self::ClockStep { .. } => "clock-step",
            Self::DiskFull => "disk-full",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(text: &str, marked: &str, why: &str) {
        let Err(Wrong { place, what }) = FaultPlan::parse(text) else { panic!("{text}") };
        assert!(what.contains(why), "{what}");
        assert!(text[place].contains(marked), "{what}");
    }

    const SOCIETY: &str = "[society]\nproject = \"p\"\n";

    fn with(text: &str) -> String {
        format!("{SOCIETY}{text}")
    }

    fn fault(text: &str) -> String {
        with(&format!("[[fault]]\n{text}\n"))
    }

    #[test]
    fn a_plan_is_read() {
        let plan = FaultPlan::parse(SOCIETY).unwrap();
        assert_eq!((plan.nodes(), plan.servers(), plan.run.together.get()), (3, 3, 1));
        let text = fault(
            "kind = \"clock-step\"\ntarget = [\"n2\", \"node\"]\nevery = \"2s\"\ntimes = 7\nfor = \"1m\"\nby = \"-1h\"",
        );
        let [fault] = FaultPlan::parse(&text).unwrap().faults.try_into().unwrap();
        let expected = Fault {
            kind: FaultKind::ClockStep { by_s: -3600 },
            targets: vec![Target::Node(2), Target::AnyNode],
            when: When::Every { mean: Duration::from_secs(2), times: Some(7) },
            time: Duration::from_secs(60),
        };
        assert_eq!(fault.into_inner(), expected);
        let text = with("store = \"folder\"\n[[check]]\nlines = \"lost\"\ntimes = 0\n[[check]]\nunique = \"[a\"\n");
        let plan = FaultPlan::parse(&text).unwrap();
        assert_eq!((plan.nodes(), plan.servers(), plan.checks.len()), (1, 0, 2));
    }

    #[test]
    fn plan_fault_names_its_place() {
        wrong("[run]\nseed = 1\n", "", "missing field `society`");
        wrong(&with("nodse = 3\n"), "nodse", "unknown field `nodse`, expected one of");
        wrong(&with("nodes = 12\n"), "[society]", "from 1 to 9");
        wrong(&with("store = \"foldr\"\n"), "foldr", "expected engine, folder, or nats://");
        wrong(&with("store = \"folder\"\nnodes = 2\n"), "[society]", "one node has a folder for itself");
        wrong(&with("[run]\nfor = \"soon\"\n"), "soon", "no unit of time");
        wrong(
            &fault("kind = \"kil\"\ntarget = \"n1\"\nat = \"1s\""),
            "kil",
            "unknown variant `kil`, expected one of `kill`",
        );
        wrong(&fault("kind = \"kill\"\ntarget = \"m1\"\nat = \"1s\""), "m1", "expected node, server, any");
        wrong(&fault("kind = \"kill\"\ntarget = \"n4\"\nat = \"1s\""), "[[fault]]", "the nodes are n1 to n3");
        wrong(&fault("kind = \"kill\"\ntarget = [\"n1\", \"n1\"]\nat = \"1s\""), "[[fault]]", "not as many as targets");
        wrong(&fault("kind = \"kill\"\ntarget = \"n1\""), "[[fault]]", "either once (`at`)");
        wrong(&fault("kind = \"kill\"\ntarget = \"n1\"\nevery = \"1s\""), "[[fault]]", "when does it end?");
        wrong(&fault("kind = \"kill\"\ntarget = \"n1\"\nat = \"1s\"\nby = \"1h\""), "[[fault]]", "for clock-step only");
        wrong(&fault("kind = \"slow-link\"\ntarget = \"n1\"\nat = \"1s\"\nrate = \"fast\""), "[[fault]]", "64kbit");
        wrong(&fault("kind = \"clock-step\"\ntarget = \"any\"\nat = \"1s\"\nby = \"1h\""), "[[fault]]", "for nodes");
        wrong(&fault("kind = \"disk-full\"\ntarget = \"node\"\nat = \"1s\""), "[[fault]]", "for servers");
        wrong(&with("[[check]]\nlines = \"x\"\n"), "[[check]]", "`lines` and `times`");
    }
}
