//! `whimbrel join`: agents of one's own on a platform that runs elsewhere.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};

use anyhow::bail;
use whimbrel::Society;
use whimbrel::agent_storage::StorageFolder;
use whimbrel_runtime::{Platform, Roll};

use super::{close_ports, code_cache, last_line, open, open_control, set_guards, society_name};
use crate::arguments::JoinArguments;
use crate::trace::TraceObserver;
use whimbrel::control::OperatorService;
use whimbrel::node::Notes;
use whimbrel::node::agent_port;
use whimbrel::node::conversation_recorder::ConversationRecorder;
use whimbrel::node::credentials::WatchedFolder;
use whimbrel::node::document_offers;
use whimbrel::node::ending::Farewell;
use whimbrel::node::http_port::HttpOptions;
use whimbrel::node::http_port::{self, HttpPort, HttpSetup};
use whimbrel::node::membership::{Membership, security_at};
use whimbrel::projects::project_in;
use whimbrel_net::LinkSecurity;
use whimbrel_terminal::stopping::{INTERRUPTED, SOCIETY, Stopping};
use whimbrel_terminal::{AgentLines, note, notes};

/// Name of the society of a node without one; its log is in the current folder.
const VISITORS: &str = "visitors";
/// Number of taken names that an error shows.
const NAMES_SHOWN: usize = 10;

/// Joins, and stays until the platform stops.
pub fn join(arguments: &JoinArguments) -> anyhow::Result<ExitCode> {
    let cache = code_cache(arguments.code_cache.as_deref())?;
    let (file, society) = match &arguments.file {
        Some(file) => {
            let file = project_in(file)?;
            let society = open(&file, cache, None, arguments.strict, arguments.quiet)?;
            (file, society)
        }
        None => (PathBuf::from(VISITORS), Society::empty(cache)),
    };
    let (programs, last_line) = (society.loader(), last_line(society.left_out()));
    let (links, notes) = (arguments.links(), notes(arguments.quiet));
    let stopping = Stopping::new()?;
    let mut builder =
        Platform::builder().output(AgentLines::new(arguments.quiet, stopping.sender())).loader(society.loader());
    if let Some(watch) = TraceObserver::new(arguments.trace, false) {
        builder = builder.observer(watch);
    }
    let (guards, builder) = set_guards(&arguments.guarding, None, builder, &notes)?;
    let offered = document_offers::environments(&arguments.offering.options(), society.offers(), None)?;
    // Until the agents are gone.
    let storage_folder = document_offers::storage(&arguments.offering.options(), None, &notes)?;
    let builder = builder.storage(storage_folder.as_ref().map(StorageFolder::storage).unwrap_or_default());
    let platform = builder.environments(offered.clone()).build();
    document_offers::note_ungranted(&offered, &platform, &notes);
    let Some(membership) =
        Membership::join(&links, &arguments.address, &platform, &guards, &|time| stopping.within(time), &notes)?
    else {
        note(&format!("ended before the platform at {} was joined", arguments.address));
        return Ok(ExitCode::from(INTERRUPTED as u8));
    };
    check_names(&society, &platform)?;
    let logging =
        ConversationRecorder::begin(arguments.log.as_ref(), &file, membership.view().node(), &platform, &notes)?;
    let farewell = Farewell::new(logging.is_none() && !guards.record(), last_line, &notes);
    // Before the agents are there: creating many takes long.
    stopping.watch(|| Some(SOCIETY), leave_by(&platform, &farewell));
    society.start(&platform)?;
    let http = http_of(arguments, &arguments.http.options(), &notes).prepare()?;
    let level = |address: &str| security_at(links.level, address, arguments.credentials.as_deref());
    let agents_elsewhere = agent_port::open(
        &arguments.agents_elsewhere.options(),
        level,
        guards.auditor(),
        Some(membership.view()),
        http.as_ref().map(HttpPort::token),
        &platform,
        &notes,
    )?;
    let session_ports = agent_port::session_ports(http.as_ref(), agents_elsewhere.as_ref())?;
    let roll = Roll::default();
    agent_port::admit(agents_elsewhere.as_ref(), &roll, &platform);
    if let Some(folder) = &arguments.credentials {
        agent_port::watch(agents_elsewhere.as_ref(), WatchedFolder::following(folder), &notes);
    }
    let log = logging.as_ref().map(ConversationRecorder::log);
    let service = OperatorService::new(&platform, society_name(&file), Some(membership.view())).with_log(log);
    let service = service.with_refusals(Arc::clone(&guards.refusals)).with_devices(roll).with_programs(programs);
    let service = Arc::new(service.with_session_ports(session_ports));
    let control = open_control(&service, arguments.quiet);
    let gateway = http_port::open(http, service, agents_elsewhere.as_ref(), guards.auditor(), &platform)?;
    let code = wait_until_alone(&platform, &membership);
    farewell.stop(&platform);
    close_ports(gateway, agents_elsewhere, control, &farewell);
    logging.into_iter().for_each(ConversationRecorder::end);
    membership.end(&farewell);
    guards.end();
    Ok(farewell.end(code))
}

/// Agents of one name on two nodes: those that are there first keep it.
fn check_names(society: &Society, platform: &Platform) -> anyhow::Result<()> {
    let taken = platform.namesakes(society.members().into_iter().map(|seat| seat.name));
    if taken.is_empty() {
        return Ok(());
    }
    let more = taken.len().saturating_sub(NAMES_SHOWN);
    let mut names: Vec<String> =
        taken.iter().take(NAMES_SHOWN).map(|(name, node)| format!("{name} (on {node})")).collect();
    names.extend((more > 0).then(|| format!("and {more} more")));
    bail!(
        "already-registered: the platform has agents of these names: {}; give those of this node other names, or end these \
         first (`whimbrel kill NAME`)",
        names.join(", ")
    )
}

/// Returns the HTTP port that is asked for.
fn http_of<'a>(arguments: &'a JoinArguments, options: &'a HttpOptions, notes: &'a Notes) -> HttpSetup<'a> {
    HttpSetup {
        options,
        unless_said: false,
        level: arguments.security.map(LinkSecurity::from),
        credentials: arguments.credentials.as_deref(),
        notes,
    }
}

/// Returns what ends this process before the society ends: its node leaves.
fn leave_by(platform: &Platform, farewell: &Farewell) -> impl Fn(i32) + Send + use<> + 'static {
    let (platform, farewell) = (platform.clone(), farewell.clone());
    move |code| {
        farewell.begin(code);
        platform.leave_with(code);
    }
}

/// Waits until the platform is to stop, or all other nodes have left.
fn wait_until_alone(platform: &Platform, membership: &Membership) -> i32 {
    let (tell, alone) = mpsc::channel();
    membership.when_alone(Some(tell));
    std::thread::scope(|scope| {
        scope.spawn(move || alone.iter().for_each(|()| platform.leave_after_others()));
        let code = platform.wait_until_stopped();
        // The thread hears that nobody tells it more.
        membership.when_alone(None);
        code
    })
}
