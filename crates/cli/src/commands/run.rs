//! `whimbrel run`: a society, until it ends.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender};

use anyhow::bail;
use whimbrel::Society;
use whimbrel::agent_storage::StorageFolder;
use whimbrel::cluster::ClusterView;
use whimbrel_gateway::Gateway;
use whimbrel_net::agent_port::AgentPort;
use whimbrel_net::{HubView, LinkSecurity};
use whimbrel_operator::SessionPortsInfo;
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_runtime::{Platform, PlatformBuilder, Roll};

use super::{close_ports, code_cache, last_line, open, open_control, set_guards, society_name};
use crate::arguments::RunArguments;
use crate::browser_console::{BrowserConsole, ConsoleWishes};
use crate::local_nodes::{LocalNodes, begins_with_input, end_with_input, name_of};
use crate::node_supervisor::{Supervision, is_supervised, supervise};
use crate::society_end::{EndRecord, EndedBy};
use crate::trace::TraceObserver;
use whimbrel::control::OperatorService;
use whimbrel::doors::mtp;
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
use whimbrel_terminal::stopping::{INTERRUPTED, SOCIETY, StopReason, Stopping, end_after};
use whimbrel_terminal::{AgentLines, notes};

/// Performs `whimbrel run`.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    if arguments.guarding.evidence.is_some() && arguments.security != Some(SecurityLevel::Signed) {
        bail!("--evidence needs signed messages: give --security signed");
    }
    if arguments.nodes.is_some_and(|count| count > 1) && arguments.node.is_none() && !is_supervised() {
        return supervise();
    }
    run_here(arguments)
}

/// Runs the society, or its part, in this process.
fn run_here(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let file = project_in(&arguments.file)?;
    let society = society_of(arguments, &file)?;
    let last_line = told_here(arguments, &society);
    let (stopping, programs, notes) = (Stopping::new()?, society.loader(), notes(arguments.quiet));
    let mut watch = TraceObserver::new(arguments.trace, arguments.summary.is_some() && arguments.node.is_none());
    let (warnings, builder) = platform_to_be(arguments, &society, &stopping, watch.as_ref());
    let (guards, builder) = set_guards(&arguments.guarding, arguments.node.map(name_of).as_deref(), builder, &notes)?;
    let Some((durability, builder)) = begin_durability(arguments, &file, &society, builder, &stopping, &notes)? else {
        return Ok(ExitCode::from(INTERRUPTED as u8));
    };
    let node = lives_at(arguments, durability.as_ref());
    // The folder is used until the agents are gone.
    let (offered, _storage_folder, builder) = offer(arguments, &society, node.as_deref(), builder, &notes)?;
    let platform = builder.environments(offered.clone()).build();
    document_offers::note_ungranted(&offered, &platform, &notes);
    // Before the agents begin: what cannot be had at all should not end a society that has done something.
    let membership = become_member(arguments, durability.as_ref(), &platform, &guards, &notes)?;
    let (http, agents_elsewhere, session_ports) =
        open_ports(arguments, &guards, membership.as_ref().map(Membership::view), &platform, &notes)?;
    let logging = begin_log(arguments, &file, membership.as_ref(), &platform, &notes)?;
    let mtp = mtp::open(&arguments.mtp.options(arguments.node.is_none()), &platform, &notes)?;
    let console = http.as_ref().map(HttpPort::console).transpose()?;
    let farewell = Farewell::new(is_forced(durability.as_ref(), logging.as_ref(), &guards), last_line, &notes);
    let cluster = durability.as_ref().map(Durability::view);
    let nodes = arguments.nodes.filter(|count| *count > 1).map(|count| (count, society.members().len()));
    let record = EndRecord::new(&platform, cluster.is_some(), nodes, warnings);
    let ending = SocietyEnding::new(arguments, cluster.clone(), &farewell, record, stopping.sender());
    ending.report_if(arguments, console.is_some());
    // Before the agents are there: creating many takes long.
    let reasons = stopping.watch(ending.subject(arguments), ending.by_process());
    let roll = Roll::default();
    let begin = |society| {
        ending.record.begin();
        let nodes = begin(arguments, society, durability.as_ref(), membership.as_ref(), &platform, &guards, &ending)?;
        agent_port::admit(agents_elsewhere.as_ref(), &roll, &platform);
        anyhow::Ok(nodes)
    };
    let (at_once, later) = if arguments.begins_later() { (None, Some(society)) } else { (Some(society), None) };
    let nodes = at_once.map(begin).transpose()?.flatten();
    let links = nodes.as_ref().map(LocalNodes::view).or(membership.as_ref().map(Membership::view));
    let log = logging.as_ref().map(ConversationRecorder::log);
    let service = OperatorService::new(&platform, society_name(&file), links).with_cluster(cluster.clone());
    let service = service.with_log(log).with_refusals(Arc::clone(&guards.refusals)).with_session_ports(session_ports);
    let service = service.with_devices(roll.clone()).with_programs(programs);
    let service = Arc::new(service.when_stopped(ending.by_operator()));
    let control = open_control(&service, arguments.quiet);
    let gateway = http_port::open(http, service, agents_elsewhere.as_ref(), guards.auditor())?;
    let opened = open_console(arguments, gateway.as_ref().zip(console.as_ref()), reasons);
    let later = later.filter(|_| begins_later(arguments, opened.as_ref(), &platform));
    let failed = later.and_then(|society| begin(society).err());
    let code = ending.wait(arguments, nodes.as_ref(), failed.is_some());
    let has_stayed = opened.is_some_and(|opened| {
        summarise(arguments, watch.take(), &ending.record);
        ending.stay(opened, code)
    });
    mtp::close(mtp);
    close_ports(gateway, agents_elsewhere, control, &farewell);
    if has_stayed {
        notes.news("the console is closed");
    }
    logging.into_iter().for_each(ConversationRecorder::end);
    nodes.into_iter().for_each(|nodes| nodes.end(&farewell));
    membership.into_iter().for_each(|membership| membership.end(&farewell));
    guards.end();
    durability.into_iter().for_each(|durability| durability.end(&platform));
    summarise(arguments, watch, &ending.record);
    failed.map_or_else(|| Ok(farewell.end(code)), Err)
}

/// Returns what the node offers to agents: environments, and the folder of their storage.
fn offer(
    arguments: &RunArguments,
    society: &Society,
    node: Option<&str>,
    builder: PlatformBuilder,
    notes: &Notes,
) -> anyhow::Result<(NodeEnvironments, Option<StorageFolder>, PlatformBuilder)> {
    let options = arguments.offering.options();
    let offered = document_offers::environments(&options, society.offers(), node)?;
    let storage_folder = document_offers::storage(&options, node, notes)?;
    let builder = builder.storage(storage_folder.as_ref().map(StorageFolder::storage).unwrap_or_default());
    Ok((offered, storage_folder, builder))
}

/// Waits for the console in a browser, or for the process that started this one. Returns false if the society is to end
/// before it has begun.
fn begins_later(arguments: &RunArguments, opened: Option<&BrowserConsole>, platform: &Platform) -> bool {
    opened.is_none_or(BrowserConsole::wait) && (!arguments.begin_with_input || begins_with_input(platform))
}

/// Returns the line about agents that are not started, for the process that reports them: the first of several nodes in
/// one command.
fn told_here(arguments: &RunArguments, society: &Society) -> Option<String> {
    last_line(society.left_out()).filter(|_| arguments.node.is_none())
}

/// Says what there was, if that was asked for.
fn summarise(arguments: &RunArguments, watch: Option<TraceObserver>, record: &EndRecord) {
    let (Some(form), Some(watch)) = (arguments.summary, watch) else { return };
    if let Some(text) = watch.summary(form, &record.figures()) {
        // Nobody may be reading any more.
        let _ = print(&text);
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
    if arguments.keep && arguments.store.as_ref().is_some_and(|store| store.contains("://")) {
        bail!(
            "--keep cannot keep the console of one node of a cluster: look at the console of another node, or leave out \
             --keep"
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

/// Has a browser show the console, and has the console stay after the society's end, if that was asked for.
fn open_console(
    arguments: &RunArguments,
    console: Option<(&Arc<Gateway>, &ConsoleAt)>,
    reasons: Receiver<()>,
) -> Option<BrowserConsole> {
    let wishes = ConsoleWishes { opens: arguments.open, is_kept: arguments.keep };
    let (gateway, console) = console.filter(|_| wishes.opens || wishes.is_kept)?;
    BrowserConsole::open(wishes, gateway, console, reasons)
}

/// Brings the society's agents to life, as far as they are to live here.
fn begin(
    arguments: &RunArguments,
    society: Society,
    durability: Option<&Durability>,
    membership: Option<&Membership>,
    platform: &Platform,
    guards: &Guards,
    ending: &SocietyEnding,
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
            let (me, stop) = (name_of(arguments.node.unwrap_or(1)), ending.stop.clone());
            let supervision = Supervision::begin(&me, move || stop.send(StopReason::Interrupt).unwrap_or_default())?;
            let nodes = LocalNodes::start(arguments, count, platform, &society, guards)?.supervised_by(supervision);
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

/// Ways in which a society ends before it ends itself.
#[derive(Clone)]
struct SocietyEnding {
    platform: Platform,
    /// The cluster in which other nodes continue the society.
    cluster: Option<ClusterView>,
    farewell: Farewell,
    record: EndRecord,
    /// Ends the process as Ctrl-C does.
    stop: Sender<StopReason>,
    keeps_console: bool,
}

impl SocietyEnding {
    fn new(
        arguments: &RunArguments,
        cluster: Option<ClusterView>,
        farewell: &Farewell,
        record: EndRecord,
        stop: Sender<StopReason>,
    ) -> Self {
        let (platform, farewell) = (record.platform().clone(), farewell.clone());
        Self { platform, cluster, farewell, record, stop, keeps_console: arguments.keep }
    }

    /// Waits until the society has ended, at once if it `has_failed` to begin, and ends its agents. Returns its exit
    /// code.
    fn wait(&self, arguments: &RunArguments, nodes: Option<&LocalNodes>, has_failed: bool) -> i32 {
        if has_failed {
            self.record.note_cause(EndedBy::NotBegun);
            self.platform.stop_with(1);
        } else if let Some(time) = arguments.time.filter(|_| arguments.node.is_none()) {
            end_after(time, self.by_time());
        }
        let code = self.platform.wait_until_stopped();
        self.record.end(code);
        nodes.iter().for_each(|nodes| nodes.note_end(code));
        if self.farewell.stop(&self.platform) {
            self.record.note_still();
        }
        code
    }

    /// Says the last words, and has the console stay. Returns whether it said that the console stays.
    fn stay(&self, console: BrowserConsole, code: i32) -> bool {
        self.farewell.report();
        self.farewell.note_end(code);
        console.stay()
    }

    /// Has the last words said, where somebody is there to read them: on a terminal, or where a console was announced.
    fn report_if(&self, arguments: &RunArguments, has_console: bool) {
        if arguments.node.is_some() || !(has_console || std::io::stderr().is_terminal()) {
            return;
        }
        let (record, is_closed) = (self.record.clone(), has_console && !arguments.keep && !arguments.open);
        let closed = if is_closed { "; its console is closed (--keep keeps it)" } else { "" };
        self.farewell.report_with(move || format!("{}{closed}", record.last_words()));
    }

    /// Returns what tells what Ctrl-C ends: nothing in a process that another one started, or once the society is over.
    fn subject(&self, arguments: &RunArguments) -> impl Fn() -> Option<&'static str> + Send + use<> + 'static {
        let (farewell, is_first) = (self.farewell.clone(), arguments.node.is_none());
        move || (is_first && !farewell.is_over()).then_some(SOCIETY)
    }

    /// Returns what ends the process: Ctrl-C, or a closed output.
    fn by_process(&self) -> impl Fn(i32) + Send + use<> + 'static {
        let this = self.clone();
        move |code| {
            this.record.note_cause(if code == INTERRUPTED { EndedBy::Interrupt } else { EndedBy::ClosedOutput });
            this.end(code);
        }
    }

    /// Returns what ends the society when its time is over. The console may stay.
    fn by_time(&self) -> impl Fn(i32) + Send + use<> + 'static {
        let this = self.clone();
        move |code| {
            this.record.note_cause(EndedBy::Time);
            if this.keeps_console {
                this.farewell.hurry();
                this.platform.stop_with(code);
            } else {
                this.end(code);
            }
        }
    }

    /// Returns what is called when an operator stops the society: the console does not stay.
    fn by_operator(&self) -> impl Fn() + Send + Sync + use<> + 'static {
        let (record, stop) = (self.record.clone(), self.stop.clone());
        move || {
            record.note_cause(EndedBy::Operator);
            let _ = stop.send(StopReason::Stopped);
        }
    }

    /// Ends the process. In a cluster, other nodes continue the society.
    fn end(&self, code: i32) {
        if let Some(cluster) = self.cluster.as_ref().filter(|_| !self.farewell.is_forced()) {
            hand_over(cluster);
        }
        self.farewell.begin(code);
        if self.cluster.is_some() {
            self.platform.leave_with(code);
        } else {
            self.platform.stop_with(code);
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

/// Returns the platform to be, and the counter of its agents' warnings.
fn platform_to_be(
    arguments: &RunArguments,
    society: &Society,
    stopping: &Stopping,
    watch: Option<&TraceObserver>,
) -> (Arc<AtomicU64>, PlatformBuilder) {
    let lines = AgentLines::new(arguments.quiet, stopping.sender());
    let warnings = lines.warnings();
    let mut builder = Platform::builder().output(lines).loader(society.loader()).name(arguments.mtp.mtp_name.as_str());
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
    (warnings, builder)
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
    if http.is_none() && (arguments.keep || arguments.open) {
        let option = if arguments.keep { "--keep" } else { "--open" };
        bail!("{option} needs the console, and the node has no HTTP port: give --http");
    }
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
