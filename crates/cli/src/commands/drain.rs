//! `whimbrel drain`: a node of a cluster hands over what it serves.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use whimbrel_operator::{Answer, MemberState, Request};
use whimbrel_platform::plain_text::harmless;

use crate::arguments::DrainArguments;
use whimbrel::control::{RunningNode, choose};
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
    loop {
        match left(&asked, &arguments.drained)? {
            Some(0) => break,
            Some(left) if Instant::now() > until => {
                bail!("{name} still has {left} partitions: no other node takes them (see `whimbrel nodes`)")
            }
            Some(_) => std::thread::sleep(LOOK),
            None => bail!("node {name} has left the platform"),
        }
    }
    print(&format!("{name} has nothing to do: it can be ended (--undo gives it its share again)"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of partitions of a draining node; `None` if it has left.
fn left(asked: &RunningNode, name: &str) -> anyhow::Result<Option<u64>> {
    let Answer::Nodes { nodes, .. } = asked.ask(&Request::Nodes, Duration::ZERO)? else {
        bail!("node {} sent an unexpected answer to a query for its peers", asked.info.node);
    };
    let lives = |state| matches!(state, MemberState::Draining | MemberState::Running);
    let found = nodes.into_iter().find(|node| node.node == name && lives(node.state));
    // It may not have learned of it yet.
    Ok(found.map(|node| if node.state == MemberState::Draining { node.partitions } else { node.partitions.max(1) }))
}
