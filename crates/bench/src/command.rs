//! `whimbrel bench`: the studies' benchmarks.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Context;

use crate::arguments::{BenchArguments as Arguments, Benchmark};
use crate::devices::DevicesArguments;
use crate::durability::DurabilityArguments;
use crate::messaging::Messaging;
use crate::passivation::Passivation;
use crate::rtt::Rtt;
use crate::sessions::SessionsArguments;
use crate::state::StateArguments;
use crate::{
    AgentLanguage, Study, Watching, codec, devices, durability, json, line, line_of, messaging, object, passivation,
    picture, rows, rtt, sessions, state, table,
};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

/// Runs a benchmark and reports.
pub fn bench(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (bench, options) = match chosen(&arguments.benchmark) {
        Chosen::Agents(bench, options) => (bench, options),
        Chosen::Messaging(what) => return messaging(what),
        Chosen::State(what) => return state(what),
        Chosen::Sessions(what) => return sessions(what),
        Chosen::Devices(what) => return devices(what),
        Chosen::Rtt(what) => return rtt(what),
        Chosen::Durability(what) => return durability(what),
        Chosen::Passivation(what) => return passivation(what),
        #[cfg(feature = "wasm")]
        Chosen::Mobility(what) => return mobility(what),
        Chosen::Codec { object, children, json } => return codec(object, children, json),
        #[cfg(feature = "nats")]
        Chosen::Failover(what) => return failover(what),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.map_or(cores, usize::from);
    // Before the work: a folder that cannot be made must not cost a long run.
    if let Some(folder) = &options.plot {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let watching = Watching { bar: !options.json && std::io::stderr().is_terminal(), curve: options.plot.is_some() };
    let outcome = bench.run(options.kind, threads, watching)?;
    let text = if options.json {
        json(&bench, options.kind, threads, &outcome.metrics)
    } else {
        table(&bench, options.kind, threads, &outcome.metrics)
    };
    print(&text)?;
    if let Some(folder) = &options.plot {
        let path = folder.join(format!("{}-{}.svg", bench.name(), options.kind.name()));
        std::fs::write(&path, picture(&bench, options.kind, threads, &outcome)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        terminal::note(&format!("drew {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn codec(object: codec::CodecObject, children: u64, json: bool) -> anyhow::Result<ExitCode> {
    let metrics = codec::run(object, children)?;
    let text = if json {
        line("codec", &format!("\"object\": \"{}\", \"children\": {children}", object.name()), &metrics)
    } else {
        rows(&format!("codec: {} object, children {children}", object.name()), &metrics)
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn messaging(what: &Messaging) -> anyhow::Result<ExitCode> {
    if let Some(first) = &what.first {
        messaging::produce(what, first)?;
        return Ok(ExitCode::SUCCESS);
    }
    let metrics = messaging::run(what)?;
    let title = format!("messaging: {}", what.params().replace('"', ""));
    let text = if what.json { line("messaging", &what.params(), &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "nats")]
fn failover(what: &crate::failover::Failover) -> anyhow::Result<ExitCode> {
    let metrics = crate::failover::run(what)?;
    let ms = |time: std::time::Duration| time.as_millis();
    let params = format!(
        "\"nodes\": {}, \"agents\": {}, \"period_ms\": {}, \"planned\": {}, \"takeover_ms\": {}",
        what.nodes,
        what.agents,
        ms(what.period),
        what.planned,
        what.takeover.map_or(0, ms)
    );
    let title = format!("failover: {}", params.replace('"', ""));
    let text = if what.json { line("failover", &params, &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn sessions(what: &SessionsArguments) -> anyhow::Result<ExitCode> {
    if let Some(node) = &what.node {
        sessions::ask(what, node)?;
        return Ok(ExitCode::SUCCESS);
    }
    let metrics = sessions::run(what)?;
    let title = format!("sessions: {}", what.params().replace('"', ""));
    let text = if what.json { line("sessions", &what.params(), &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn devices(what: &DevicesArguments) -> anyhow::Result<ExitCode> {
    if let Some((node, (first, count))) = what.node.as_deref().zip(what.share) {
        devices::act(what, node, first, count)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before the work: a folder that cannot be made must not cost a long run.
    if let Some(folder) = &what.plot {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let outcome = devices::run(what)?;
    let title = format!("devices: {}", what.params().replace('"', ""));
    let text = if what.json {
        let figures = object(&outcome.metrics);
        let figures = figures.trim_end_matches('}');
        let minutes = devices::stretches(&outcome.minutes);
        line_of(
            "devices",
            &what.params(),
            &format!("{figures}, \"every_s\": {}, \"stretches\": [{minutes}]}}", what.every),
        )
    } else {
        rows(&title, &outcome.metrics)
    };
    print(&text)?;
    if let Some(folder) = &what.plot {
        let path = folder.join("devices.svg");
        std::fs::write(&path, devices::picture(&title, what.every, &outcome.minutes)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        terminal::note(&format!("drew {}", path.display()));
    }
    let metric = |wanted: &str| outcome.metrics.iter().find(|(name, _)| *name == wanted).and_then(|(_, value)| *value);
    // A device that could not come back does not know the fate of its state.
    let lost = metric("lost") > Some(0.0) || metric("verified") < Some(f64::from(what.devices));
    Ok(if lost { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn rtt(what: &Rtt) -> anyhow::Result<ExitCode> {
    if let Some(number) = what.node {
        rtt::serve(what, number)?;
        return Ok(ExitCode::SUCCESS);
    }
    let metrics = rtt::run(what)?;
    let title = format!("rtt: {}", what.params().replace('"', ""));
    let text = if what.json { line("rtt", &what.params(), &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn durability(what: &DurabilityArguments) -> anyhow::Result<ExitCode> {
    let measured = durability::run(what)?;
    let text = if what.json { durability::json(what, &measured) } else { durability::table(what, &measured) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn passivation(what: &Passivation) -> anyhow::Result<ExitCode> {
    if let Some(phase) = what.phase {
        print(&passivation::measure(what, phase)?.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let metrics = passivation::run(what)?;
    let Passivation { agents, asked, kind, json, .. } = what;
    let kind = kind.name();
    let params = format!("\"kind\": \"{kind}\", \"agents\": {agents}, \"asked\": {asked}");
    let title = format!("passivation ({kind}): agents {agents}, asked {asked}");
    let text = if *json { line("passivation", &params, &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "wasm")]
fn mobility(what: &crate::mobility::MobilityArguments) -> anyhow::Result<ExitCode> {
    use crate::mobility;
    use crate::mobility::MobilityPart;
    if let Some(first) = &what.first {
        mobility::second(what, first)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(metrics) = mobility::run(what)? else { return Ok(ExitCode::SUCCESS) };
    let file = what.module.display();
    let params = match what.part {
        MobilityPart::Delivery => {
            format!("\"part\": \"delivery\", \"module\": \"{file}\", \"messages\": {}", what.messages)
        }
        MobilityPart::Density => {
            let (agents, asked) = (what.agents, what.asked);
            format!("\"part\": \"density\", \"module\": \"{file}\", \"agents\": {agents}, \"asked\": {asked}")
        }
        MobilityPart::Retrieval => "\"part\": \"retrieval\"".to_owned(),
        MobilityPart::Advisor => "\"part\": \"advisor\"".to_owned(),
        MobilityPart::Hops => {
            let (mover, security) = (what.mover.name(), mobility::security(what.security));
            let trips = what.trips;
            format!("\"part\": \"hops\", \"mover\": \"{mover}\", \"security\": \"{security}\", \"trips\": {trips}")
        }
    };
    let title = format!("mobility: {}", params.replace('"', ""));
    let text = if what.json { line("mobility", &params, &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn state(what: &StateArguments) -> anyhow::Result<ExitCode> {
    let metrics = state::run(what)?;
    let title = format!("state: {}", what.params().replace('"', ""));
    let text = if what.json { line("state", &what.params(), &metrics) } else { rows(&title, &metrics) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Benchmark to run.
enum Chosen<'a> {
    #[cfg(feature = "nats")]
    Failover(&'a crate::failover::Failover),
    Agents(Study, &'a crate::arguments::BenchOptions),
    Messaging(&'a Messaging),
    State(&'a StateArguments),
    Sessions(&'a SessionsArguments),
    Devices(&'a DevicesArguments),
    Rtt(&'a Rtt),
    Durability(&'a DurabilityArguments),
    Passivation(&'a Passivation),
    #[cfg(feature = "wasm")]
    Mobility(&'a crate::mobility::MobilityArguments),
    Codec {
        object: codec::CodecObject,
        children: u64,
        json: bool,
    },
}

fn chosen(benchmark: &Benchmark) -> Chosen<'_> {
    let (bench, options) = match benchmark {
        Benchmark::Ring { workers, tokens, passes, options } => {
            (Study::Ring { workers: *workers, tokens: *tokens, passes: *passes }, options)
        }
        Benchmark::Chameneos { creatures, meetings, options } => {
            (Study::Chameneos { creatures: *creatures, meetings: *meetings }, options)
        }
        Benchmark::Fibonacci { clients, requests, max_n, large_from, options } => {
            let max_n = max_n.unwrap_or(match options.kind {
                AgentLanguage::Native => 30,
                AgentLanguage::Asl => 20,
            });
            // The largest sixth, as the study's 25 of 30.
            let large_from = large_from.unwrap_or((max_n * 5).div_ceil(6));
            (Study::Fibonacci { clients: *clients, requests: *requests, max_n, large_from }, options)
        }
        Benchmark::Spawn { agents, options } => (Study::Spawn { agents: *agents }, options),
        Benchmark::Messaging(what) => return Chosen::Messaging(what),
        Benchmark::State(what) => return Chosen::State(what),
        #[cfg(feature = "nats")]
        Benchmark::Failover(what) => return Chosen::Failover(what),
        Benchmark::Sessions(what) => return Chosen::Sessions(what),
        Benchmark::Devices(what) => return Chosen::Devices(what),
        Benchmark::Rtt(what) => return Chosen::Rtt(what),
        Benchmark::Durability(what) => return Chosen::Durability(what),
        Benchmark::Passivation(what) => return Chosen::Passivation(what),
        #[cfg(feature = "wasm")]
        Benchmark::Mobility(what) => return Chosen::Mobility(what),
        Benchmark::Codec { object, children, json } => {
            return Chosen::Codec { object: *object, children: *children, json: *json };
        }
    };
    Chosen::Agents(bench, options)
}
