//! `whimbrel debug`: pausing an agent, having it take steps, and changing its mind.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use whimbrel_operator::{MindInfo, Request};
use whimbrel_platform::inspection::DebugOrder;

use super::life::{ask, local};
use super::mind;
use whimbrel_platform::plain_text::harmless;

use crate::arguments::{DebugArguments, DebugWord};
use whimbrel::control::{RunningNode, choose};
use whimbrel_terminal::screen::print;

/// Longest wait for a step of an intention, whose result the operator wants to see.
const STEP_PATIENCE: Duration = Duration::from_secs(1);
/// Interval of looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Does what is asked for, and shows where the agent stands.
pub fn debug(arguments: &DebugArguments) -> anyhow::Result<ExitCode> {
    let needs = matches!(
        arguments.order,
        DebugWord::Break | DebugWord::Unbreak | DebugWord::Believe | DebugWord::Forget | DebugWord::Pursue
    );
    let alone = !needs;
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
        DebugWord::Into | DebugWord::Over | DebugWord::Out => mind::standing(&after_step(&nodes, agent)?),
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

/// Returns the state of an agent after a step of its intention, or after a while if the step takes long.
fn after_step(nodes: &[RunningNode], agent: &str) -> anyhow::Result<MindInfo> {
    let begun = Instant::now();
    loop {
        let mind = mind::look(nodes, agent, false)?;
        if mind.inside.paused || begun.elapsed() > STEP_PATIENCE {
            return Ok(mind);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn request(arguments: &DebugArguments, agent: &str) -> Request {
    let agent = agent.to_owned();
    let what = || arguments.what.clone().unwrap_or_default();
    let debug = |order| Request::Debug { agent: agent.clone(), order };
    match arguments.order {
        DebugWord::Pause => debug(DebugOrder::Pause),
        DebugWord::Step => debug(DebugOrder::Step),
        DebugWord::Into => debug(DebugOrder::Into),
        DebugWord::Over => debug(DebugOrder::Over),
        DebugWord::Out => debug(DebugOrder::Out),
        DebugWord::Continue => debug(DebugOrder::Continue),
        DebugWord::End => debug(DebugOrder::End),
        DebugWord::Break => Request::Breakpoint { agent, plan: what(), on: true },
        DebugWord::Unbreak => Request::Breakpoint { agent, plan: what(), on: false },
        DebugWord::Believe => Request::Believe { agent, belief: what(), add: true },
        DebugWord::Forget => Request::Believe { agent, belief: what(), add: false },
        DebugWord::Pursue => Request::Pursue { agent, goal: what() },
    }
}
