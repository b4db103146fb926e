//! `whimbrel advise`: whether an agent had better go, or ask.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use whimbrel_operator::{Answer, Reason, Refusal, Request};
use whimbrel_platform::advice::{Advice, Explanation, LinkCost, Situation};
use whimbrel_platform::limits::ADVICE_PATIENCE_MS;

use crate::arguments::AdviseArguments;
use whimbrel::control::{RunningNode, choose};
use whimbrel_terminal::screen::print;

/// Says it.
pub fn advise(arguments: &AdviseArguments) -> anyhow::Result<ExitCode> {
    let advice = match &arguments.to {
        Some(to) => measured(arguments, to)?,
        None => told(arguments)?,
    };
    let text = match (arguments.json, arguments.explain) {
        (true, _) => serde_json::to_string(&advice)?,
        (false, true) => Explanation(&advice).text(),
        (false, false) => Explanation(&advice).verdict(),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Advises about a link that does not exist yet.
fn told(arguments: &AdviseArguments) -> anyhow::Result<Advice> {
    let mbit = arguments.mbit.unwrap_or_default();
    ensure!(mbit > 0.0 && mbit.is_finite(), "--mbit: more than 0 is wanted");
    let rate = Some(mbit * 1e6 / 8.0);
    let way = LinkCost { round_trip: arguments.rtt, out_bytes_per_s: rate, back_bytes_per_s: rate };
    let situation = Situation { way, way_is_told: true, ..Situation::default() };
    Ok(Advice::of(&arguments.job().checked()?, &situation))
}

/// Advises about a node that is linked with one on this machine: the one that has the agent, or any.
fn measured(arguments: &AdviseArguments, to: &str) -> anyhow::Result<Advice> {
    let nodes = choose(&arguments.target)?;
    let Some(first) = nodes.iter().find(|node| node.info.node != to).or(nodes.first()) else {
        bail!("no such node runs here: `whimbrel ps` lists nodes")
    };
    ask(first, arguments, to).or_else(|error| {
        let refusal = error.downcast_ref::<Refusal>().filter(|refusal| refusal.reason == Reason::Elsewhere);
        let other =
            refusal.and_then(|refusal| nodes.iter().find(|node| Some(&node.info.node) == refusal.node.as_ref()));
        other.map_or(Err(error), |other| ask(other, arguments, to))
    })
}

fn ask(node: &RunningNode, arguments: &AdviseArguments, to: &str) -> anyhow::Result<Advice> {
    let (to, agent, job) = (to.to_owned(), arguments.agent.clone(), Box::new(arguments.job()));
    match node.ask(&Request::Advise { to, agent, job }, Duration::from_millis(ADVICE_PATIENCE_MS))? {
        Answer::Advice(advice) => Ok(*advice),
        _ => bail!("node {} gives no advice", node.info.node),
    }
}
