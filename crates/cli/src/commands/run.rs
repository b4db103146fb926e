//! `whimbrel run`: a society, until it ends.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use anyhow::bail;
use whimbrel::Society;
use whimbrel::agent_storage::StorageFolder;
use whimbrel::cluster::ClusterView;
use whimbrel_gateway::Gateway;
use whimbrel_net::agent_port::AgentPort;
use whimbrel_net::{HubView, LinkSecurity};
use whimbrel_operator::SessionPortsInfo;
use whimbrel_runtime::{Platform, PlatformBuilder, Roll};

use super::{close_ports, code_cache, last_line, open, open_control, set_guards, society_name};
use crate::arguments::RunArguments;
use crate::browser_console::BrowserConsole;
use crate::local_nodes::{LocalNodes, end_with_input, name_of};
use crate::trace::TraceObserver;
use whimbrel::control::OperatorService;
use whimbrel::node::Notes;
use whimbrel::node::agent_port;
use whimbrel::node::conversation_recorder::ConversationRecorder;
use whimbrel::node::credentials::WatchedFolder;
use whimbrel::node::document_offers;
use whimbrel::node::durability::{Durability, hand_over};
use whimbrel::node::ending::Farewell;
use whimbrel::node::http_port::{self, ConsoleAt, HttpPort, HttpSetup};
use whimbrel::node::membership::{Membership, security_at};
use whimbrel::node::policy_setup::Guards;
use whimbrel::projects::project_in;
use whimbrel_terminal as terminal;
use whimbrel_terminal::options::SecurityLevel;
use whimbrel_terminal::screen::print;
use whimbrel_terminal::stopping::{INTERRUPTED, SOCIETY, Stopping, end_after};
use whimbrel_terminal::{AgentLines, notes};

/// Performs `whimbrel run`.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let file = project_in(&arguments.file)?;
    let society = society_of(arguments, &file)?;
    let last_line = told_here(arguments, &society);
    let (stopping, programs, notes) = (Stopping::new()?, society.loader(), notes(arguments.quiet));
    let mut watch = TraceObserver::new(arguments.trace, arguments.summary && arguments.node.is_none());
    let builder = platform_to_be(arguments, &society, &stopping, watch.as_ref());
    let (guards, builder) = set_guards(&arguments.guarding, arguments.node.map(name_of).as_deref(), builder, &notes)?;
    let Some((durability, builder)) = begin_durability(arguments, &file, &society, builder, &stopping, &notes)? else {
        return Ok(ExitCode::from(INTERRUPTED as u8));
    };
    let node = lives_at(arguments, durability.as_ref());
    let offered = document_offers::environments(&arguments.offering.options(), society.offers(), node.as_deref())?;
    // Until the agents are gone.
    let storage_folder = document_offers::storage(&arguments.offering.options(), node.as_deref(), &notes)?;
    let began = Instant::now();
    let builder = builder.storage(storage_folder.as_ref().map(StorageFolder::storage).unwrap_or_default());
    let platform = builder.environments(offered.clone()).build();
    document_offers::note_ungranted(&offered, &platform, &notes);
    // Before the agents begin: what cannot be had at all should not end a society that has done something.
    let membership = become_member(arguments, durability.as_ref(), &platform, &guards, &notes)?;
    let (http, agents_elsewhere, session_ports) =
        open_ports(arguments, &guards, membership.as_ref().map(Membership::view), &platform, &notes)?;
    let logging = begin_log(arguments, &file, membership.as_ref(), &platform, &notes)?;
    let console = http.as_ref().map(HttpPort::console).transpose()?;
    let farewell = Farewell::new(is_forced(durability.as_ref(), logging.as_ref(), &guards), last_line, &notes);
    let cluster = durability.as_ref().map(Durability::view);
    // Before the agents are there: creating many takes long.
    let reasons = stopping.watch(arguments.node.is_none().then_some(SOCIETY), end_by(&platform, &cluster, &farewell));
    let roll = Roll::default();
    let begin = |society| {
        let nodes = begin(arguments, society, durability.as_ref(), membership.as_ref(), &platform, &guards)?;
        agent_port::share_out(agents_elsewhere.as_ref(), &roll, &platform);
        anyhow::Ok(nodes)
    };
    let (at_once, later) = if arguments.open { (None, Some(society)) } else { (Some(society), None) };
    let nodes = at_once.map(begin).transpose()?.flatten();
    let links = nodes.as_ref().map(LocalNodes::view).or(membership.as_ref().map(Membership::view));
    let log = logging.as_ref().map(ConversationRecorder::log);
    let service = OperatorService::new(&platform, society_name(&file), links).with_cluster(cluster.clone());
    let service = service.with_log(log).with_refusals(Arc::clone(&guards.refusals)).with_session_ports(session_ports);
    let service = Arc::new(service.with_devices(roll.clone()).with_programs(programs));
    let control = open_control(&service, arguments.quiet);
    let gateway = http_port::open(http, service, agents_elsewhere.as_ref(), guards.auditor())?;
    let opened = open_console(arguments, gateway.as_ref().zip(console.as_ref()), reasons)?;
    let later = later.filter(|_| opened.as_ref().is_none_or(BrowserConsole::wait));
    let failed = later.and_then(|society| begin(society).err());
    if failed.is_some() {
        platform.stop_with(1);
    } else if let Some(time) = arguments.time.filter(|_| arguments.node.is_none()) {
        end_after(time, end_by(&platform, &cluster, &farewell));
    }
    let code = platform.wait_until_stopped();
    farewell.stop(&platform);
    if let Some(opened) = opened {
        summarise(watch.take(), &platform, began);
        opened.stay();
    }
    close_ports(gateway, agents_elsewhere, control, &farewell);
    logging.into_iter().for_each(ConversationRecorder::end);
    nodes.into_iter().for_each(|nodes| nodes.end(&farewell));
    membership.into_iter().for_each(|membership| membership.end(&farewell));
    guards.end();
    durability.into_iter().for_each(|durability| durability.end(&platform));
    summarise(watch, &platform, began);
    failed.map_or_else(|| Ok(farewell.end(code)), Err)
}

/// Returns the line about agents that are not started, for the process that reports them: the first of several nodes in
/// one command.
fn told_here(arguments: &RunArguments, society: &Society) -> Option<String> {
    last_line(society.left_out()).filter(|_| arguments.node.is_none())
}

/// Says what there was, if that was asked for.
fn summarise(watch: Option<TraceObserver>, platform: &Platform, began: Instant) {
    if let Some(table) = watch.and_then(|watch| watch.summary(platform.counters(), began.elapsed())) {
        // Nobody may be reading any more.
        let _ = print(&table);
    }
}

/// Returns the society as it is written, and with as many agents as are wanted.
fn society_of(arguments: &RunArguments, file: &Path) -> anyhow::Result<Society> {
    if arguments.name.is_some() && arguments.store.is_none() && arguments.listen.is_none() {
        bail!(
            "--name needs other nodes: let them join with --listen ADDRESS, or keep \
             the society with --store"
        );
    }
    let quiet = arguments.quiet || arguments.node.is_some();
    let cache = code_cache(arguments.code_cache.as_deref())?;
    let society = open(file, cache, arguments.agents, arguments.strict, quiet)?;
    if (arguments.store.is_some() || arguments.durable) && !society.left_out().is_empty() {
        bail!(
            "a durable society cannot run in part: messages to agents that are not started would be recorded as \
             failures. Correct the errors above, or remove these agents from {}",
            file.display()
        );
    }
    Ok(society)
}

/// Has a browser show the console, if that was asked for.
fn open_console(
    arguments: &RunArguments,
    console: Option<(&Arc<Gateway>, &ConsoleAt)>,
    reasons: Receiver<()>,
) -> anyhow::Result<Option<BrowserConsole>> {
    match console {
        _ if !arguments.open => Ok(None),
        Some((gateway, console)) => Ok(BrowserConsole::open(gateway, console, reasons)),
        None => bail!("--open needs the console, and the node has no HTTP port: give --http"),
    }
}

/// Brings the society's agents to life, as far as they are to live here.
fn begin(
    arguments: &RunArguments,
    society: Society,
    durability: Option<&Durability>,
    membership: Option<&Membership>,
    platform: &Platform,
    guards: &Guards,
) -> anyhow::Result<Option<LocalNodes>> {
    if arguments.end_with_input {
        end_with_input(platform.clone());
    }
    if let Some(durability) = durability {
        durability.serve(platform, society, membership, &notes(arguments.quiet));
        return Ok(None);
    }
    match arguments.nodes {
        Some(count) if count > 1 || arguments.node.is_some() => {
            let nodes = LocalNodes::start(arguments, count, platform, &society, guards)?;
            society.start_some(platform, |name| nodes.lives_here(name))?;
            Ok(Some(nodes.open()?))
        }
        _ => {
            society.start(platform)?;
            Ok(None)
        }
    }
}

/// Returns the name of the node that this process is, if the society has several.
fn lives_at(arguments: &RunArguments, durability: Option<&Durability>) -> Option<String> {
    let of_cluster =
        durability.filter(|durability| durability.listen().is_some()).map(|durability| durability.node().to_owned());
    of_cluster.or(arguments.nodes.map(|_| name_of(arguments.node.unwrap_or(1))))
}

/// Returns whether the end of this process may be forced. Where other nodes wait until this one hands over, or
/// something is recorded that people read later, the end takes as long as necessary.
fn is_forced(durability: Option<&Durability>, logging: Option<&ConversationRecorder>, guards: &Guards) -> bool {
    durability.is_none_or(Durability::is_alone) && logging.is_none() && !guards.record()
}

/// Returns what ends this process before the society ends itself. In a cluster, other nodes continue the society.
fn end_by(
    platform: &Platform,
    cluster: &Option<ClusterView>,
    farewell: &Farewell,
) -> impl Fn(i32) + Send + use<> + 'static {
    let (platform, cluster, farewell) = (platform.clone(), cluster.clone(), farewell.clone());
    move |code| {
        if let Some(cluster) = cluster.as_ref().filter(|_| !farewell.is_forced()) {
            hand_over(cluster);
        }
        farewell.begin(code);
        if cluster.is_some() {
            platform.leave_with(code);
        } else {
            platform.stop_with(code);
        }
    }
}

/// A node's part in a society that is kept, if it is, and the platform to be.
type Begun = (Option<Durability>, PlatformBuilder);

/// Opens the society's store, if it is to be kept. `None` if the process is to end before.
fn begin_durability(
    arguments: &RunArguments,
    file: &Path,
    society: &Society,
    builder: PlatformBuilder,
    stopping: &Stopping,
    notes: &Notes,
) -> anyhow::Result<Option<Begun>> {
    let Some(options) = arguments.durability(file)? else { return Ok(Some((None, builder))) };
    let begun = Durability::begin(&options, &arguments.links(), society, builder, |time| stopping.within(time), notes)?;
    Ok(begun.map(|(durability, builder)| (Some(durability), builder)))
}

/// Returns the links to other nodes, if there may be any.
fn become_member(
    arguments: &RunArguments,
    durability: Option<&Durability>,
    platform: &Platform,
    guards: &Guards,
    notes: &Notes,
) -> anyhow::Result<Option<Membership>> {
    let links = arguments.links();
    let of_cluster = durability.and_then(|durability| Some((durability, durability.listen()?)));
    let membership = match (of_cluster, &arguments.listen) {
        (Some((durability, address)), _) => {
            Membership::of_cluster(&links, durability, address, platform, guards, notes)?
        }
        (None, Some(address)) => Membership::listen(&links, address, platform, guards, notes)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(membership))
}

fn platform_to_be(
    arguments: &RunArguments,
    society: &Society,
    stopping: &Stopping,
    watch: Option<&TraceObserver>,
) -> PlatformBuilder {
    let mut builder =
        Platform::builder().output(AgentLines::new(arguments.quiet, stopping.sender())).loader(society.loader());
    if let Some(workers) = arguments.workers.map(usize::from).or(society.workers()) {
        builder = builder.workers(workers);
    }
    if let Some(seed) = arguments.seed {
        builder = builder.seed(seed);
    }
    if let Some(idle) = arguments.passivate {
        builder = builder.passivate_after(idle);
    }
    if let Some(watch) = watch {
        builder = builder.observer(watch.clone());
    }
    builder
}

fn begin_log(
    arguments: &RunArguments,
    file: &Path,
    membership: Option<&Membership>,
    platform: &Platform,
    notes: &Notes,
) -> anyhow::Result<Option<ConversationRecorder>> {
    let name = membership.map(|membership| membership.view().node().to_owned());
    let name = name.unwrap_or_else(|| name_of(arguments.node.unwrap_or(1)));
    match ConversationRecorder::begin(arguments.log.as_ref(), file, &name, platform, notes) {
        // A process that hangs may have the folder: that must not keep anybody from continuing the society.
        Err(error) if arguments.standby => {
            terminal::note(&format!("{error:#}: no messages are logged"));
            Ok(None)
        }
        begun => begun,
    }
}

/// Opens the ports for the console and for external programs, and announces where clients find this node. Of the nodes
/// that one command starts, the first has the ports.
fn open_ports(
    arguments: &RunArguments,
    guards: &Guards,
    links: Option<HubView>,
    platform: &Platform,
    notes: &Notes,
) -> anyhow::Result<(Option<HttpPort>, Option<Arc<AgentPort>>, SessionPortsInfo)> {
    if arguments.node.is_some() {
        return Ok((None, None, SessionPortsInfo::default()));
    }
    let folder = arguments.credentials.as_deref();
    // The authority of `--nodes` is known to nobody else.
    let asked = arguments.security.filter(|asked| arguments.nodes.is_none() || *asked == SecurityLevel::Open);
    let (level, options) = (asked.map(LinkSecurity::from), arguments.http.options());
    let site = HttpSetup { options: &options, unless_said: arguments.shows_console, level, credentials: folder, notes };
    let http = site.prepare()?;
    let security = |address: &str| security_at(level, address, folder);
    let is_member = links.is_some();
    let (options, token) = (arguments.agents_elsewhere.options(), http.as_ref().map(HttpPort::token));
    let port = agent_port::open(&options, security, guards.auditor(), links, token, platform, notes)?;
    if let Some(folder) = folder {
        let is_looked_after = is_member;
        let watched = if is_looked_after { WatchedFolder::following(folder) } else { WatchedFolder::new(folder) };
        agent_port::watch(port.as_ref(), watched, notes);
    }
    let session_ports = agent_port::session_ports(http.as_ref(), port.as_ref())?;
    Ok((http, port, session_ports))
}
