//! Checks after all faults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use serde::Serialize;
use whimbrel_operator::{Answer, MemberState, NodeInfo, Request};
use whimbrel_platform::ams::name_fits;

use super::clients::Histories;
use super::history::{OperationKind, violation};
use super::lookout::{Lookout, agents, say};
use super::plan::{Check, End};
use super::schedule::FaultRandom;
use super::society::StruckSociety;
use whimbrel::control::RunningNode;

/// Time without a movement after which the society counts as at rest.
pub const REST: Duration = Duration::from_secs(2);
/// Longest time for an agent's answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// Messages of all nodes by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageTotals {
    pub sent: u64,
    pub came: u64,
    pub handled: u64,
    pub dead: u64,
    pub queued: u64,
    pub left: u64,
}

impl MessageTotals {
    fn of(info: &NodeInfo) -> Self {
        let NodeInfo { sent, came, handled, dead, queued, left, .. } = *info;
        Self { sent, came, handled, dead, queued, left }
    }

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            came: self.came + other.came,
            handled: self.handled + other.handled,
            dead: self.dead + other.dead,
            queued: self.queued + other.queued,
            left: self.left + other.left,
        }
    }

    fn is_conserved(self) -> bool {
        self.sent + self.came == self.handled + self.dead + self.queued + self.left
    }
}

/// Returns why the society is not whole yet: a node is missing, or a partition has no node. `None` if it is whole.
pub fn missing(nodes: &[RunningNode], size: usize) -> Option<String> {
    if nodes.len() < size {
        return Some(format!("{} of {size} nodes answer", nodes.len()));
    }
    for node in nodes {
        let members = match node.ask(&Request::Nodes, Duration::ZERO) {
            Ok(Answer::Nodes { nodes, .. }) => nodes,
            Ok(_) => return Some(format!("{} sent an unexpected answer to a query for its peers", node.info.node)),
            Err(error) => return Some(format!("{error:#}")),
        };
        let odd = members.iter().find(|member| member.state != MemberState::Running || member.leaving > 0);
        if let Some(odd) = odd {
            return Some(format!(
                "{} sees {} as {:?}, with {} partitions to hand over",
                node.info.node, odd.node, odd.state, odd.leaving
            ));
        }
        if size > 1 && members.len() != size {
            return Some(format!("{} sees {} of {size} nodes", node.info.node, members.len()));
        }
    }
    None
}

/// Detector of rest: nothing moves any more.
pub struct Calm {
    last: Option<(MessageTotals, BTreeMap<String, String>, Instant)>,
}

impl Calm {
    /// Makes a record without observations.
    pub fn new() -> Self {
        Self { last: None }
    }

    /// Looks once more. The sum, if it has been the same for long enough and adds up; otherwise what moves.
    pub fn look(&mut self, nodes: &[RunningNode], has_lost_nodes: bool) -> Result<MessageTotals, String> {
        let sum =
            nodes.iter().map(|node| MessageTotals::of(&node.info)).fold(MessageTotals::default(), MessageTotals::add);
        let (homes, _) = homes(nodes).map_err(|error| format!("{error:#}"))?;
        let since = match self.last.take() {
            Some((last, lived, since)) if last == sum && lived == homes => since,
            _ => Instant::now(),
        };
        self.last = Some((sum, homes, since));
        if let Some(node) = nodes.iter().find(|node| !MessageTotals::of(&node.info).is_conserved()) {
            return Err(format!("{}: {}", node.info.node, shown(MessageTotals::of(&node.info))));
        }
        if sum.queued > 0 {
            return Err(format!("{} messages wait", sum.queued));
        }
        // What was on its way from or to a node that is no more is counted by one side only.
        if !has_lost_nodes && sum.came != sum.left {
            return Err(format!("{} messages left nodes, {} came", sum.left, sum.came));
        }
        if since.elapsed() < REST {
            return Err(format!("messages are sent, or agents move: {}", shown(sum)));
        }
        Ok(sum)
    }
}

/// Returns the check as the plan writes it.
pub fn shown(sum: MessageTotals) -> String {
    let MessageTotals { sent, came, handled, dead, queued, left } = sum;
    format!("sent {sent} + came {came}, handled {handled} + dead {dead} + queued {queued} + left {left}")
}

/// Returns the node of each agent. Agents on two nodes are a violation.
pub fn homes(nodes: &[RunningNode]) -> anyhow::Result<(BTreeMap<String, String>, Vec<String>)> {
    let (mut homes, mut twice) = (BTreeMap::new(), Vec::new());
    for node in nodes {
        for agent in agents(node, "")? {
            if let Some(other) = homes.insert(agent.clone(), node.info.node.clone()) {
                twice.push(format!("{agent} lives on {other} and on {}", node.info.node));
            }
        }
    }
    Ok((homes, twice))
}

/// Tells agents to come to rest, each once: one that is just passing from node to node is told when it is there.
pub fn tell(end: &End, nodes: &[RunningNode], told: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for node in nodes {
        for agent in agents(node, &end.to)? {
            if told.insert(agent.clone()) {
                say(node, 0, (&end.performative, &agent, &end.tell), None)?;
            }
        }
    }
    Ok(())
}

/// Performs one of the plan's checks, and returns the fault.
pub fn check(check: &Check, society: &StruckSociety, lookout: &Lookout) -> Result<(), String> {
    let of = |found: u64, expected: u64, what: &str| {
        if found == expected { Ok(()) } else { Err(format!("{found} {what}, expected {expected}")) }
    };
    match check {
        Check::Ask { ask, content, expect } => {
            let node = lookout.any(&mut FaultRandom(0)).ok_or("no node answers")?;
            let asked = say(&node, 0, ("query-ref", ask, content), Some(ANSWER_PATIENCE));
            match asked.map_err(|error| format!("{ask} was asked {content}: {error:#}"))? {
                Some(answer) if answer == *expect => Ok(()),
                answer => Err(format!("{ask} was asked {content}: {}, expected {expect}", answer.unwrap_or_default())),
            }
        }
        Check::Lines { lines, times } => {
            let found = society.lines().iter().filter(|line| line.contains(lines.as_str())).count();
            of(found as u64, *times, &format!("lines with \"{lines}\""))
        }
        Check::Unique { unique } => {
            let mut counts: FxHashMap<String, u64> = FxHashMap::default();
            for line in society.lines().into_iter().filter(|line| line.starts_with(unique.as_str())) {
                *counts.entry(line).or_default() += 1;
            }
            match counts.iter().find(|(_, count)| **count > 1) {
                Some((line, count)) => Err(format!("printed {count} times: {line}")),
                None => Ok(()),
            }
        }
        Check::Agents { agents: names, count } => {
            let (homes, _) = homes(&lookout.nodes()).map_err(|error| format!("{error:#}"))?;
            let found = homes.keys().filter(|name| name_fits(names, name)).count();
            of(found as u64, *count, &format!("agents are called {names}"))
        }
    }
}

/// Observations of a register's clients.
#[derive(Clone, Debug, Serialize)]
pub struct RegisterReport {
    pub name: String,
    pub reads: usize,
    pub writes: usize,
    /// Writes of which it is not known whether they happened.
    pub unanswered: usize,
    /// The longest time in which nobody was answered.
    pub silence_s: f64,
    /// Start of the silence, on the same clock as events.
    pub silence_from_s: f64,
    pub violation: Option<String>,
}

/// Checks that the histories are linearizable.
pub fn registers(histories: &Histories) -> Vec<RegisterReport> {
    let mut registers: Vec<RegisterReport> = histories
        .iter()
        .map(|(name, history)| {
            let writes = history.iter().filter(|operation| matches!(operation.kind, OperationKind::Write(_))).count();
            let mut answers: Vec<Duration> = history.iter().filter_map(|operation| operation.answered).collect();
            answers.sort_unstable();
            let gaps = answers
                .windows(2)
                .filter_map(|pair| Some((pair.last()?.saturating_sub(*pair.first()?), *pair.first()?)));
            let (silence, from) = gaps.max_by_key(|(gap, _)| *gap).unwrap_or_default();
            RegisterReport {
                name: name.clone(),
                reads: history.len() - writes,
                writes,
                unanswered: history.iter().filter(|operation| operation.answered.is_none()).count(),
                silence_s: silence.as_secs_f64(),
                silence_from_s: from.as_secs_f64(),
                violation: violation(history).map(|violation| violation.to_string()),
            }
        })
        .collect();
    registers.sort_by(|one, other| one.name.cmp(&other.name));
    registers
}
