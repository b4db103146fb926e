//! `whimbrel mind`: what is in an agent.

mod follow;
mod page;

use std::process::ExitCode;

use anyhow::bail;
use whimbrel_operator::{Answer, MindInfo, Request};

use super::life::{ask, local};
use crate::arguments::MindArguments;
use whimbrel::control::{RunningNode, choose};
use whimbrel_terminal::screen::show;

pub use page::{MindPart, part, standing, whole};

/// Performs `whimbrel mind`.
pub fn mind(arguments: &MindArguments) -> anyhow::Result<ExitCode> {
    let agent = local(&arguments.agent);
    if arguments.follow {
        return follow::follow(agent, &arguments.target, arguments.showing.json);
    }
    let parts = page::MindParts::of(arguments);
    let watched = arguments.showing.watch.is_some();
    let look = || look(&choose(&arguments.target)?, agent, watched);
    show(&arguments.showing, look, |mind, room| page::page(mind, parts, room))
}

/// Asks for it, the node where the agent is.
pub fn look(nodes: &[RunningNode], agent: &str, follow: bool) -> anyhow::Result<MindInfo> {
    match ask(nodes, None, &Request::Mind { agent: agent.to_owned(), follow })? {
        Answer::Mind(mind) => Ok(*mind),
        _ => bail!("unexpected answer to a query for the state of {agent}"),
    }
}
