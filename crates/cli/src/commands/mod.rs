//! Commands, one module for each command or family of commands. Each returns the exit code of the process, or an error.

use std::path::Path;
use std::sync::Arc;

use crate::arguments::GuardingArguments;
use anyhow::bail;
use whimbrel::environment::Environments;
use whimbrel::node::Notes;
use whimbrel::node::policy_setup::Guards;
use whimbrel::policy::PolicyError;
use whimbrel::society::{LeftOut, SocietyError};
use whimbrel::{CodeCache, Society};
use whimbrel_gateway::Gateway;
use whimbrel_net::agent_port::AgentPort;
use whimbrel_runtime::PlatformBuilder;

use crate::terminal;
use whimbrel::control::{Control, OperatorService, listen};
use whimbrel::node::ending::Farewell;
use whimbrel::node::{agent_port, http_port};

pub mod advise;
#[cfg(feature = "wasm")]
pub mod agent_build;
pub mod agents;
pub mod ask;
pub mod ca;
pub mod check;
mod child_society;
pub mod codec;
pub mod create;
pub mod dap;
pub mod dead_letters;
pub mod debug;
pub mod df;
pub mod drain;
#[cfg(feature = "nats")]
pub mod engine;
#[cfg(feature = "nats")]
mod engine_record;
pub mod enrol;
pub mod fmt;
pub mod join;
pub mod life;
pub mod links;
pub mod log;
pub mod lsp;
pub mod mcp;
pub mod mind;
pub mod new;
pub mod nodes;
pub mod prove;
pub mod ps;
pub mod repl;
pub mod run;
pub mod send;
pub mod session;
pub mod shell;
pub mod sniff;
pub mod store;
pub mod topics;
mod typed_text;
#[cfg(feature = "nats")]
pub mod up;

/// Entries of a project that a warning names, if agents are left out.
const LEFT_OUT_SHOWN: usize = 10;

/// Opens the node's control socket, and answers requests of operators of other nodes. A node without a socket runs as
/// well, but operators cannot see it.
fn open_control(service: &Arc<OperatorService>, quiet: bool) -> Option<Control> {
    listen(service);
    match Control::open(Arc::clone(service)) {
        Ok(control) => Some(control),
        Err(error) => {
            if !quiet {
                terminal::note(&format!("`whimbrel ps` will not show this node: {error:#}"));
            }
            None
        }
    }
}

/// Gives a platform its policy and its records, and shows the faults of the policy's file.
fn set_guards(
    guarding: &GuardingArguments,
    node: Option<&str>,
    builder: PlatformBuilder,
    notes: &Notes,
) -> anyhow::Result<(Guards, PlatformBuilder)> {
    let set = Guards::set(&guarding.options(), node, builder, notes);
    if let Some(PolicyError::Errors { diagnostics, .. }) = set.as_ref().err().and_then(|error| error.downcast_ref()) {
        terminal::show(diagnostics);
    }
    set
}

/// Closes the ports of a node whose agents have ended.
fn close_ports(
    gateway: Option<Arc<Gateway>>,
    agents: Option<Arc<AgentPort>>,
    control: Option<Control>,
    farewell: &Farewell,
) {
    agent_port::end_sessions(agents.as_ref());
    http_port::close(gateway, farewell);
    agent_port::close(agents, farewell);
    drop(control);
}

/// Returns the name of this file's society.
fn society_name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Opens the cache of code from other nodes, as `--code-cache` says.
pub fn code_cache(asked: Option<&Path>) -> anyhow::Result<Option<Arc<CodeCache>>> {
    let cache = match asked {
        Some(off) if off == Path::new("off") => None,
        Some(folder) => Some(CodeCache::open(folder)?),
        None => CodeCache::default_folder().map(CodeCache::at),
    };
    Ok(cache.map(Arc::new))
}

/// Opens a society, and shows the faults of its programs. Agents with errors are left out, unless it `is_strict`. Its
/// populations have this many agents, if `population` says so.
pub fn open(
    file: &Path,
    cache: Option<Arc<CodeCache>>,
    population: Option<u32>,
    is_strict: bool,
    quiet: bool,
) -> anyhow::Result<Society> {
    let open = if is_strict { Society::open_cached } else { Society::open_in_part };
    let mut society = match open(file, &Environments::new(), cache) {
        Err(SocietyError::Errors { diagnostics, path }) => {
            terminal::show(&diagnostics);
            bail!("{} has errors", path.display());
        }
        opened => opened?,
    };
    if let Some(agents) = population {
        society.set_population(agents as usize);
    }
    match society.left_out() {
        [] if quiet => {}
        [] => terminal::show(society.warnings()),
        left_out => {
            terminal::show(society.warnings());
            let others = "the others run; --strict refuses all";
            terminal::complain(&anyhow::anyhow!("{}: {others}", not_started(left_out)));
        }
    }
    if !quiet {
        society.tell(terminal::show);
    }
    Ok(society)
}

/// `2 agents are not started: ann (ann.asl has errors), bob (there is no file bob.asl)`
fn not_started(left_out: &[LeftOut]) -> String {
    let count: usize = left_out.iter().map(|left_out| left_out.agents.len()).sum();
    let shown: Vec<String> = left_out.iter().take(LEFT_OUT_SHOWN).map(named).collect();
    let more = left_out.len().saturating_sub(LEFT_OUT_SHOWN);
    let more = if more == 0 { String::new() } else { format!(", and {more} more entries of the project") };
    let agents = if count == 1 { "agent is" } else { "agents are" };
    format!("{count} {agents} not started: {}{more}", shown.join(", "))
}

/// `ann (ann.asl has errors)`, `worker1 to worker9 (there is no file worker.asl)`
fn named(left_out: &LeftOut) -> String {
    let names = match left_out.agents.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        agents => agents.iter().map(ToString::to_string).collect(),
    };
    format!("{names} ({})", left_out.why)
}

/// Returns the last line about a society of which agents were left out.
pub fn last_line(left_out: &[LeftOut]) -> Option<String> {
    (!left_out.is_empty()).then(|| not_started(left_out))
}
