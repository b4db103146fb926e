//! Choice of one of the platforms that run on this machine.
use whimbrel_platform::plain_text::harmless;

use std::cmp::Ordering;
use std::fmt::Write;

use anyhow::{anyhow, bail};
use whimbrel_operator::NodeInfo;

use super::client::{RunningNode, Survey, survey};
use super::name_order;

/// Choice of a platform and of its nodes.
#[derive(Clone, Debug, Default)]
pub struct PlatformChoice {
    /// Name of the platform, or of its project.
    pub platform: Option<String>,
    /// Name of one node.
    pub node: Option<String>,
    /// Number of one node's process.
    pub pid: Option<u32>,
}

impl PlatformChoice {
    fn fits(&self, info: &NodeInfo) -> bool {
        self.platform.as_ref().is_none_or(|name| *name == info.platform || *name == info.society)
            && self.node.as_ref().is_none_or(|name| *name == info.node)
            && self.pid.is_none_or(|pid| pid == info.pid)
    }
}

/// Returns the nodes of the chosen platform that run on this machine; only one if a node is named.
///
/// # Errors
/// Nothing runs, nothing that is meant, or several platforms that could be.
pub fn choose(target: impl Into<PlatformChoice>) -> anyhow::Result<Vec<RunningNode>> {
    let target = target.into();
    let Survey { nodes, problems } = survey();
    let mut platforms = platforms(nodes);
    if platforms.is_empty() {
        let problem = problems.into_iter().next();
        return Err(problem.unwrap_or_else(|| anyhow!("no society runs here: start one with `whimbrel run FILE`")));
    }
    let all = listed(&platforms);
    platforms.iter_mut().for_each(|nodes| nodes.retain(|node| target.fits(&node.info)));
    platforms.retain(|nodes| !nodes.is_empty());
    let mut fitting = platforms.into_iter();
    match (fitting.next(), fitting.next()) {
        (Some(nodes), None) => Ok(nodes),
        (None, _) => bail!("no such node runs here; running nodes:{all}"),
        (Some(_), Some(_)) => {
            bail!("several platforms run on this machine: choose one with --platform, --node or --pid:{all}")
        }
    }
}

/// Returns a line for each platform, with the option that chooses it.
fn listed(platforms: &[Vec<RunningNode>]) -> String {
    let mut text = String::new();
    let firsts = || platforms.iter().filter_map(|nodes| nodes.first()).map(|found| &found.info);
    for nodes in platforms {
        let Some(NodeInfo { platform, society, pid, .. }) = nodes.first().map(|found| &found.info) else { continue };
        let alike = |name: fn(&NodeInfo) -> &String, own: &String| firsts().filter(|info| name(info) == own).count();
        let choice = if alike(|info| &info.platform, platform) == 1 {
            format!("--platform {platform}")
        } else if alike(|info| &info.society, society) == 1 {
            format!("--platform {society}")
        } else {
            format!("--pid {pid}")
        };
        let names = nodes.iter().map(|found| format!("{} (process {})", found.info.node, found.info.pid));
        let line = format!("{choice:<24} {platform} runs {society} on {}", names.collect::<Vec<_>>().join(", "));
        // The terminal indents an error's further lines.
        let _ = write!(text, "\n{}", harmless(&line));
    }
    text
}

/// Returns nodes by platform, the oldest platform first. Nodes that know each other belong together, whatever others
/// are called.
pub fn platforms(nodes: Vec<RunningNode>) -> Vec<Vec<RunningNode>> {
    let mut platforms: Vec<(Vec<RunningNode>, Vec<Name>)> = Vec::new();
    for node in nodes {
        let mut names: Vec<Name> = known(&node.info);
        let mut members = vec![node];
        let (same, others): (Vec<_>, Vec<_>) =
            platforms.into_iter().partition(|(_, known)| known.iter().any(|name| names.contains(name)));
        platforms = others;
        for (nodes, known) in same {
            members.extend(nodes);
            names.extend(known);
        }
        platforms.push((members, names));
    }
    let mut platforms: Vec<Vec<RunningNode>> = platforms.into_iter().map(|(nodes, _)| nodes).collect();
    let by_name = |a: &RunningNode, b: &RunningNode| name_order::compare(&a.info.node, &b.info.node).then(age(a, b));
    platforms.iter_mut().for_each(|nodes| nodes.sort_by(by_name));
    platforms.sort_by(|a, b| a.first().zip(b.first()).map_or(Ordering::Equal, |(a, b)| age(a, b)));
    platforms
}

fn age(a: &RunningNode, b: &RunningNode) -> Ordering {
    (a.info.started_ms, a.info.pid).cmp(&(b.info.started_ms, b.info.pid))
}

/// A node by its platform, its name and its port.
type Name = (String, String, String);

/// Returns the names of a node and of its peers.
fn known(info: &NodeInfo) -> Vec<Name> {
    let name = |node: Option<&String>, address: Option<&String>| {
        let (_, port) = address?.rsplit_once(':')?;
        Some((info.platform.clone(), node?.clone(), port.to_owned()))
    };
    let own = name(Some(&info.node), info.address.as_ref());
    let peers = info.peers.iter().filter_map(|peer| name(peer.node.as_ref(), peer.address.as_ref()));
    peers.chain(own).collect()
}
