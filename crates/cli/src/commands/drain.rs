//! `whimbrel drain`: a node of a cluster hands over what it serves.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use whimbrel_operator::{Answer, MemberInfo, MemberState, Request};
use whimbrel_platform::plain_text::harmless;

use crate::arguments::DrainArguments;
use whimbrel::control::{RunningNode, choose};
use whimbrel::duration::readable;
use whimbrel::figures::counted;
use whimbrel_terminal::note;
use whimbrel_terminal::screen::print;

/// Interval of progress checks.
const LOOK: Duration = Duration::from_millis(100);

/// Has it done, and waits until it is.
pub fn drain(arguments: &DrainArguments) -> anyhow::Result<ExitCode> {
    let Some(asked) = choose(&arguments.target)?.into_iter().next() else {
        bail!("no such node runs here: `whimbrel ps` lists nodes")
    };
    let request = Request::Drain { node: arguments.drained.clone(), drains: !arguments.undo };
    match asked.ask(&request, Duration::ZERO)? {
        Answer::Done => {}
        Answer::Error(refusal) => bail!(refusal),
        _ => bail!("node {} cannot be drained: unexpected answer", asked.info.node),
    }
    let name = harmless(&arguments.drained);
    if arguments.undo {
        print(&format!("{name} takes its share again"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let until = Instant::now() + arguments.wait;
    if !has_taker(members(&asked)?.iter().map(|member| (&*member.node, member.state)), &arguments.drained) {
        note(&format!(
            "no other node takes the agents of {name}: waiting {} for one (start one with `whimbrel up`)",
            readable(arguments.wait)
        ));
    }
    loop {
        match left(members(&asked)?, &arguments.drained) {
            Some(0) => break,
            Some(left) if Instant::now() > until => {
                let left = counted(left, "partition");
                bail!("{name} still has {left}, which no other node takes (see `whimbrel nodes`)")
            }
            Some(_) => std::thread::sleep(LOOK),
            None => bail!("node {name} has left the platform"),
        }
    }
    print(&format!("{name} has nothing to do: it can be ended (--undo gives it its share again)"))?;
    Ok(ExitCode::SUCCESS)
}

fn members(asked: &RunningNode) -> anyhow::Result<Vec<MemberInfo>> {
    let Answer::Nodes { nodes, .. } = asked.ask(&Request::Nodes, Duration::ZERO)? else {
        bail!("node {} sent an unexpected answer to a query for its peers", asked.info.node);
    };
    Ok(nodes)
}

/// Returns true if another node than this one takes agents.
fn has_taker<'a>(mut members: impl Iterator<Item = (&'a str, MemberState)>, name: &str) -> bool {
    members.any(|(node, state)| node != name && state == MemberState::Running)
}

/// Returns the number of partitions of a draining node; `None` if it has left.
fn left(members: Vec<MemberInfo>, name: &str) -> Option<u64> {
    let lives = |state| matches!(state, MemberState::Draining | MemberState::Running);
    let found = members.into_iter().find(|node| node.node == name && lives(node.state));
    // It may not have learned of it yet.
    found.map(|node| if node.state == MemberState::Draining { node.partitions } else { node.partitions.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_running_nodes_take_agents() {
        let members = [("n1", MemberState::Running), ("n2", MemberState::Draining)];
        assert!(!has_taker(members.into_iter(), "n1"));
        assert!(has_taker(members.into_iter(), "n2"));
    }
}
