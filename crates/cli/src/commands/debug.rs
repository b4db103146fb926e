//! `whimbrel debug`: pausing an agent, having it take steps, and changing its mind.

use std::process::ExitCode;

use anyhow::bail;
use whimbrel_operator::Request;
use whimbrel_platform::inspection::DebugOrder;

use super::life::{ask, local};
use super::mind;
use whimbrel_platform::plain_text::harmless;

use crate::arguments::{DebugArguments, DebugWord};
use whimbrel::control::choose;
use whimbrel_terminal::screen::print;

/// Does what is asked for, and shows where the agent stands.
pub fn debug(arguments: &DebugArguments) -> anyhow::Result<ExitCode> {
    let alone = matches!(arguments.order, DebugWord::Pause | DebugWord::Step | DebugWord::Continue | DebugWord::End);
    if let (true, Some(what)) = (alone, &arguments.what) {
        bail!("`{}` is unexpected: this order takes no argument beyond the agent", harmless(what));
    }
    let nodes = choose(&arguments.target)?;
    let agent = local(&arguments.agent);
    ask(&nodes, None, &request(arguments, agent))?;
    let name = harmless(agent);
    let what = harmless(arguments.what.as_deref().unwrap_or_default());
    let text = match arguments.order {
        DebugWord::Pause | DebugWord::Step => mind::standing(&mind::look(&nodes, agent, false)?),
        DebugWord::Continue => format!("{name} goes on"),
        DebugWord::End => format!("{name} is not debugged any more"),
        DebugWord::Break => format!("{name} pauses when {what} is chosen"),
        DebugWord::Unbreak => format!("{name} does not pause for {what}"),
        DebugWord::Believe => format!("{name} believes {what}"),
        DebugWord::Forget => format!("{name} does not believe {what} any more"),
        DebugWord::Pursue => format!("{name} pursues {what}"),
    };
    // Nobody may be reading.
    let _ = print(&text);
    Ok(ExitCode::SUCCESS)
}

fn request(arguments: &DebugArguments, agent: &str) -> Request {
    let agent = agent.to_owned();
    let what = || arguments.what.clone().unwrap_or_default();
    let debug = |order| Request::Debug { agent: agent.clone(), order };
    match arguments.order {
        DebugWord::Pause => debug(DebugOrder::Pause),
        DebugWord::Step => debug(DebugOrder::Step),
        DebugWord::Continue => debug(DebugOrder::Continue),
        DebugWord::End => debug(DebugOrder::End),
        DebugWord::Break => Request::Breakpoint { agent, plan: what(), on: true },
        DebugWord::Unbreak => Request::Breakpoint { agent, plan: what(), on: false },
        DebugWord::Believe => Request::Believe { agent, belief: what(), add: true },
        DebugWord::Forget => Request::Believe { agent, belief: what(), add: false },
        DebugWord::Pursue => Request::Pursue { agent, goal: what() },
    }
}
