//! Operator service of a node: answers to requests at the control socket.

use std::cmp::Ordering;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::local_socket::LocalStream;
use crate::cluster::ClusterView;
use crate::programs::SocietyLoader;
use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Name, Symbol};
use whimbrel_net::{HubView, LinkStatus};
use whimbrel_operator::{
    AgentInfo, AgentOrder, AgentsFound, AgentsWanted, Answer, EndInfo, EventsFound, LinkInfo, LogLine, LogWanted,
    MemberInfo, MemberState, NodeInfo, PeerInfo, ProgramText, ProgramsFound, Reason, Refusal, Request, ServicesFound,
    SessionPortsInfo, SniffWanted, TopicInfo, WishInfo,
};
use whimbrel_platform::advice::{AdviseError, DocumentJob};
use whimbrel_platform::ams::{AgentDescription, AgentKind, AgentQuery, Ams, LifecycleError, LifecycleStep, name_fits};
use whimbrel_platform::cluster::{self, NodeView};
use whimbrel_platform::inspection::{Instruction, ProgramLine};
use whimbrel_platform::links::ONLY_NODE;
use whimbrel_platform::mobility::HopError;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::store::Partition;
use whimbrel_platform::{Directory, Time};
use whimbrel_runtime::{Platform, Remains, Roll};
use whimbrel_store::ConversationLog;

use super::debuggers::{self, ConnectedDebuggers};
use super::keep_first::keep_first;
use super::operator_mail::OperatorMail;
use super::recent_events::RecentEvents;
use super::remote_query::Denials;
use super::sniffer;
use super::society::{self, TrafficTally};
use super::{ANYWHERE, MOVE_PATIENCE};
use super::{
    bulk, code_and_quotas, devices, df_entries, health, history, killing, minds, name_order, output, program_texts,
    remote_query, security, spawning,
};
use crate::refusals::Refusals;

/// Refusal of requests to agents after the society's end.
const SOCIETY_ENDED: &str = "the society has ended, and its agents with it; what happened can still be looked at";

/// Similarity, from 0 to 1, from which a name is proposed instead of an unknown one.
const ALIKE: f64 = 0.8;
/// Maximum number of names compared for that.
const NEAR_NAMES_MAX: usize = 10_000;

/// See the module.
pub struct OperatorService {
    pub(super) platform: Platform,
    society: String,
    hub: Option<HubView>,
    cluster: Option<ClusterView>,
    mail: OperatorMail,
    pub(super) log: Option<ConversationLog>,
    pub(super) refusals: Arc<Refusals>,
    pub(super) roll: Roll,
    pub(super) denials: Denials,
    pub(super) tally: TrafficTally,
    recent: RecentEvents,
    pub(super) programs: Option<SocietyLoader>,
    session_ports: SessionPortsInfo,
    when_stopped: Option<StopHook>,
    pub(super) debuggers: ConnectedDebuggers,
}

/// Function that is called when an operator stops the platform.
type StopHook = Box<dyn Fn() + Send + Sync>;

/// Number of agents that are named for a partition that is wanted somewhere.
const WISH_AGENTS_SHOWN: usize = 3;

/// Returns all agents that a node knows.
fn names_of(ams: &Ams) -> Vec<Name> {
    let elsewhere = ams.agents_elsewhere().into_iter().map(|(name, ..)| name);
    ams.reachable().map(|(name, _)| name.into()).chain(elsewhere).collect()
}

impl OperatorService {
    /// Makes the service of the node that runs this project or program, and has these links.
    pub fn new(platform: &Platform, society: String, hub: Option<HubView>) -> Self {
        Self {
            platform: platform.clone(),
            society,
            hub,
            cluster: None,
            mail: OperatorMail::default(),
            log: None,
            refusals: Arc::default(),
            denials: Denials::default(),
            tally: TrafficTally::default(),
            recent: RecentEvents::default(),
            roll: Roll::default(),
            programs: None,
            session_ports: SessionPortsInfo::default(),
            when_stopped: None,
            debuggers: ConnectedDebuggers::default(),
        }
    }

    /// Sets the log of conversations, if the node has one.
    #[must_use]
    pub fn with_log(self, log: Option<ConversationLog>) -> Self {
        Self { log, ..self }
    }

    /// Sets the cluster, if the node is part of one.
    #[must_use]
    pub fn with_cluster(self, cluster: Option<ClusterView>) -> Self {
        Self { cluster, ..self }
    }

    /// Sets the record of what this node refuses.
    #[must_use]
    pub fn with_refusals(self, refusals: Arc<Refusals>) -> Self {
        Self { refusals, ..self }
    }

    /// Sets the roll of the agent `devices`.
    #[must_use]
    pub fn with_devices(self, roll: Roll) -> Self {
        Self { roll, ..self }
    }

    /// Sets the programs that the node runs.
    #[must_use]
    pub fn with_programs(self, programs: SocietyLoader) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// Sets the addresses to which clients of sessions connect.
    #[must_use]
    pub fn with_session_ports(self, session_ports: SessionPortsInfo) -> Self {
        Self { session_ports, ..self }
    }

    /// Sets a function that is called when an operator stops the platform.
    #[must_use]
    pub fn when_stopped(self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { when_stopped: Some(Box::new(hook)), ..self }
    }

    pub(super) fn random(&self) -> u64 {
        self.platform.services().random()
    }

    pub(super) fn platform(&self) -> &Platform {
        &self.platform
    }

    pub(super) fn mail(&self) -> &OperatorMail {
        &self.mail
    }

    pub(super) fn now(&self) -> Time {
        self.platform.services().now()
    }

    pub(super) fn stop(&self, code: i32) {
        self.when_stopped.iter().for_each(|hook| hook());
        self.platform.stop_with(code);
    }

    /// Tells all that happens, until the client goes.
    pub(super) fn sniff(&self, wanted: &SniffWanted, stream: &LocalStream) -> std::io::Result<()> {
        sniffer::sniff(&self.platform, self.node(), wanted, stream)
    }

    /// Tells what the node's log of conversations holds.
    pub(super) fn log(&self, wanted: &LogWanted, mut stream: &LocalStream) -> Result<(), history::HistoryEnd> {
        let log = self.kept_log()?;
        // A terminal may be held for long.
        stream.set_write_timeout(None)?;
        let mut tell = |line: &LogLine| -> std::io::Result<()> {
            let mut line = serde_json::to_vec(line)?;
            line.push(b'\n');
            stream.write_all(&line)
        };
        history::tell(log, self.node(), wanted, &mut tell)
    }

    pub(super) fn kept_log(&self) -> Result<&ConversationLog, Refusal> {
        let text = "this node keeps no log of messages: run it with --log";
        self.log.as_ref().ok_or_else(|| Refusal::new(Reason::NoLog, text))
    }

    /// Answers everything but `sniff`, `log`, `debugger` and `stop`. `gone` returns true when the caller has gone.
    pub(super) fn answer(&self, request: Request, gone: &dyn Fn() -> bool) -> Answer {
        let done = |outcome: Result<(), Refusal>| outcome.map_or_else(Answer::Error, |()| Answer::Done);
        if request.needs_agents() && self.platform.remains().is_some() {
            return Answer::Error(Refusal::new(Reason::BadState, SOCIETY_ENDED));
        }
        if let Some((pattern, operation)) = bulk::bulk_of(&request) {
            return bulk::here(self, pattern, operation);
        }
        match request {
            Request::Node => Answer::Node(Box::new(self.info())),
            Request::Agents(wanted) => Answer::Agents(self.agents(&wanted)),
            Request::Devices { limit } => Answer::Devices(devices::look(self, limit)),
            Request::Codes => Answer::Codes(code_and_quotas::codes(self)),
            Request::Quotas { limit } => Answer::Quotas(code_and_quotas::quotas(self, limit)),
            Request::Security => Answer::Security(security::look(self)),
            Request::Refusals { limit } => Answer::Refusals(security::refusals(self, limit)),
            Request::Audit { before, limit } => {
                security::audit(self, before.as_deref(), limit).map_or_else(Answer::Error, Answer::Audit)
            }
            Request::Conversations { wanted, limit } => {
                let found = self.kept_log().and_then(|log| history::page(log, self.node(), wanted, limit));
                found.map_or_else(Answer::Error, Answer::Conversations)
            }
            Request::Services(wanted) => Answer::Services(ServicesFound { entries: self.services(&wanted) }),
            Request::Register(entry) => done(df_entries::register(self, &entry)),
            Request::Modify(entry) => done(df_entries::modify(self, &entry)),
            Request::Deregister { agent } => done(df_entries::deregister(self, &agent)),
            Request::Subscriptions { limit } => Answer::Subscriptions(self.subscriptions(limit)),
            Request::Topics => Answer::Topics { topics: self.topics() },
            Request::DeadLetters { agents, limit } => {
                Answer::DeadLetters(sniffer::dead_letters(&self.platform, self.node(), agents, limit))
            }
            Request::Output { wanted, limit } => Answer::Output(output::look(&self.platform, &wanted, limit)),
            Request::Events { since, wanted } => Answer::Events(self.events(since, &wanted)),
            Request::Programs => Answer::Programs(self.programs()),
            Request::ProgramText { agent, file } => {
                self.program_text(&agent, file).map_or_else(Answer::Error, Answer::ProgramText)
            }
            Request::Links => Answer::Links { links: self.links() },
            Request::SessionPorts => Answer::SessionPorts(self.session_ports.clone()),
            Request::Nodes => Answer::Nodes { nodes: self.members(), vacant: self.vacant(), wishes: self.wishes() },
            Request::Totals => Answer::Totals(society::totals(self)),
            Request::Traffic { limit, elsewhere } => Answer::Traffic(society::traffic(self, limit, elsewhere)),
            Request::Drain { node, drains } => done(self.drain(&node, drains)),
            Request::Send(sending) => {
                let nobody = |name: &str| self.nobody(name);
                self.mail.send(&self.platform, *sending, nobody, gone).unwrap_or_else(Answer::Error)
            }
            Request::Step { agent, step } => done(self.step(&agent, step)),
            Request::Spawn(spawning) => {
                spawning::spawn(self, *spawning).map_or_else(Answer::Error, |agents| Answer::Spawned { agents })
            }
            Request::Clone { agent, name } => done(spawning::clone(self, &agent, &name)),
            Request::Kill { agent } => done(killing::kill(self, &agent)),
            Request::Move { agent, to } => self.move_to(&agent, &to).unwrap_or_else(Answer::Error),
            Request::Recall { agent } => done(self.recall(&agent)),
            request if is_about_mind(&request) => self.answer_about_mind(request),
            request @ (Request::Query { .. } | Request::Perform { .. } | Request::Load(_)) => {
                minds::answer(self, request, gone).unwrap_or_else(Answer::Error)
            }
            Request::Advise { to, agent, job } => {
                self.advise(&to, agent.as_deref(), &job).unwrap_or_else(Answer::Error)
            }
            Request::At { node, ask } => remote_query::ask(self, &node, &ask),
            _ => Answer::Error(answered_elsewhere()),
        }
    }

    /// Answers requests about minds: those of [`is_about_mind`].
    fn answer_about_mind(&self, request: Request) -> Answer {
        let done = |outcome: Result<(), Refusal>| outcome.map_or_else(Answer::Error, |()| Answer::Done);
        match request {
            Request::Mind { agent, follow } => {
                minds::look(self, &agent, follow).map_or_else(Answer::Error, |mind| Answer::Mind(Box::new(mind)))
            }
            Request::StepLines => Answer::StepLines(debuggers::step_lines(self.programs.as_ref())),
            Request::Paused { limit } => debuggers::paused(&self.platform, limit),
            Request::Debug { agent, order } => done(minds::debug(self, &agent, order)),
            Request::Breakpoint { agent, plan, on } => {
                done(minds::instruct(self, &agent, Instruction::Breakpoint { plan, on }))
            }
            Request::LineBreakpoint { agent, file, line, on } => {
                let at = ProgramLine { file, line };
                done(minds::instruct(self, &agent, Instruction::LineBreakpoint { at, on }))
            }
            Request::Believe { agent, belief, add } => {
                done(minds::instruct(self, &agent, Instruction::Believe { belief, add }))
            }
            Request::Pursue { agent, goal } => done(minds::instruct(self, &agent, Instruction::Pursue { goal })),
            _ => Answer::Error(Refusal::new(Reason::BadRequest, "this is no request about a mind")),
        }
    }

    fn events(&self, since: u64, wanted: &SniffWanted) -> EventsFound {
        self.recent.after(&self.platform, self.node(), since, wanted)
    }

    fn programs(&self) -> ProgramsFound {
        ProgramsFound { programs: self.programs.as_ref().map(SocietyLoader::list).unwrap_or_default() }
    }

    fn program_text(&self, agent: &str, file: Option<String>) -> Result<ProgramText, Refusal> {
        self.is_here(agent)?;
        program_texts::read(&self.platform, self.programs.as_ref(), agent, file)
    }

    pub(super) fn hub(&self) -> Option<&HubView> {
        self.hub.as_ref()
    }

    pub(super) fn node(&self) -> &str {
        self.hub.as_ref().map_or(ONLY_NODE, HubView::node)
    }

    fn statuses(&self) -> Vec<LinkStatus> {
        self.hub.as_ref().map(HubView::status).unwrap_or_default()
    }

    pub(super) fn directory(&self) -> Option<&dyn Directory> {
        self.platform.services().directory()
    }

    fn members(&self) -> Vec<MemberInfo> {
        self.cluster.iter().flat_map(ClusterView::nodes).map(member_info).collect()
    }

    /// Returns the wishes of operators, and of moving agents, for partitions on some node.
    fn wishes(&self) -> Vec<WishInfo> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let names = self.directory().and_then(|directory| directory.with_ams(|ams| names_of(ams))).unwrap_or_default();
        let wish = |(partition, node)| {
            let is_in = |name: &&Name| self.platform.partition_of(*name) == Some(partition);
            let mut agents: Vec<String> =
                names.iter().filter(is_in).take(WISH_AGENTS_SHOWN).map(Name::to_string).collect();
            agents.sort_unstable();
            WishInfo { partition: partition.0, node, agents }
        };
        cluster.wishes().into_iter().map(wish).collect()
    }

    fn vacant(&self) -> Vec<String> {
        self.cluster.iter().flat_map(ClusterView::vacant).collect()
    }

    fn drain(&self, node: &str, drains: bool) -> Result<(), Refusal> {
        let alone = || Err("this node is of no cluster: `whimbrel up` runs nodes of one".to_owned());
        let done = self.cluster.as_ref().map_or_else(alone, |cluster| cluster.drain(node, drains));
        done.map_err(|text| Refusal { reason: Reason::NoSuchNode, text, node: None })
    }

    pub(super) fn info(&self) -> NodeInfo {
        let services = self.platform.services();
        let now = services.now();
        let agents = self.directory().and_then(|directory| directory.with_ams(|ams| ams.agents().count() as u64));
        let counters = self.platform.counters_now();
        let (memory_bytes, memory_limit_bytes) = (whimbrel_runtime::resident_bytes(), whimbrel_runtime::limit_bytes());
        let (printed, faults) = self.platform.output_counts();
        let health = self.platform.health();
        let peer = |link: LinkStatus| PeerInfo { node: link.node, address: link.address };
        NodeInfo {
            platform: services.platform().as_str().to_owned(),
            node: self.node().to_owned(),
            society: self.society.clone(),
            pid: std::process::id(),
            version: crate::VERSION.to_owned(),
            started_ms: services.wall_clock_ms().saturating_sub(now.as_ms()),
            up_us: now.0,
            agents: agents.unwrap_or_default(),
            sent: counters.sent,
            handled: counters.handled,
            dead: counters.dead,
            queued: counters.queued,
            came: counters.came,
            left: counters.left,
            memory_bytes,
            memory_limit_bytes,
            wrong: health::wrong(&health, memory_bytes, memory_limit_bytes),
            still: health.still.as_ref().map(health::still),
            printed,
            faults,
            ended: self.platform.remains().map(|remains| end_info(&self.platform, remains)),
            security: self.hub.as_ref().map(|hub| format!("{:?}", hub.level()).to_lowercase()),
            address: self.hub.as_ref().and_then(|hub| hub.address().map(str::to_owned)),
            peers: self.statuses().into_iter().map(peer).collect(),
        }
    }

    pub(super) fn agents(&self, wanted: &AgentsWanted) -> AgentsFound {
        let query = AgentQuery { state: wanted.state, ..AgentQuery::named(wanted.name.as_str()) };
        let mut here = self.platform.search(&query);
        here.retain(|agent| wanted.services || agent.kind != AgentKind::Service);
        let but = wanted.elsewhere_but.as_ref().filter(|_| wanted.state.is_none());
        let mut elsewhere = but.map(|but| self.agents_elsewhere(wanted, but)).unwrap_or_default();
        let total = (here.len() + elsewhere.len()) as u64;
        // Only those that are shown are described: there may be very many.
        self.keep_first_here(&mut here, wanted);
        keep_first(&mut elsewhere, wanted.limit, |a, b| name_order::compare(a.name.as_str(), b.name.as_str()));
        let (places, nodes) = (self.roll.places(), self.node_names());
        let mut agents: Vec<AgentInfo> = here.iter().map(|agent| self.describe(agent, &places)).collect();
        agents.extend(elsewhere.into_iter().map(|agent| agent.info(&nodes)));
        self.fill_in(&mut agents);
        keep_first(&mut agents, wanted.limit, |a, b| compare(a, b, wanted.sort));
        AgentsFound { agents, total, silent: Vec::new() }
    }

    /// Keeps as many agents of this node as are wanted, the first in the order that is wanted.
    fn keep_first_here(&self, agents: &mut Vec<AgentDescription>, wanted: &AgentsWanted) {
        if agents.len() <= wanted.limit {
            return;
        }
        let now = self.platform.services().now();
        let counts = matches!(wanted.sort, AgentOrder::Mailbox | AgentOrder::Handled);
        let names: Vec<Symbol> = agents.iter().filter(|_| counts).map(|agent| agent.aid.name).collect();
        let figures = self.platform.figures_of(&names).into_iter();
        let figures: FxHashMap<Symbol, _> = figures.map(|figures| (figures.name, figures)).collect();
        // The greatest number comes first.
        let number = |agent: &AgentDescription| match wanted.sort {
            AgentOrder::Name => None,
            AgentOrder::Age => Some(agent.age(now).as_millis() as u64),
            AgentOrder::Mailbox => figures.get(&agent.aid.name).map(|figures| figures.waiting),
            AgentOrder::Handled => figures.get(&agent.aid.name).and_then(|figures| figures.handled),
        };
        keep_first(agents, wanted.limit, |a, b| {
            let by_number = number(b).cmp(&number(a));
            by_number.then_with(|| name_order::compare(a.aid.name.as_str(), b.aid.name.as_str()))
        });
    }

    fn describe(&self, agent: &AgentDescription, places: &FxHashMap<Symbol, Symbol>) -> AgentInfo {
        let device = places.get(&agent.aid.name).filter(|_| agent.kind == AgentKind::Session);
        let now = self.platform.services().now();
        AgentInfo {
            name: agent.aid.name.as_str().to_owned(),
            kind: agent.kind,
            state: Some(agent.state),
            ending: agent.ending,
            node: self.node().to_owned(),
            device: device.map(Symbol::to_string),
            owner: Some(agent.owner.as_str()).filter(|owner| !owner.is_empty()).map(str::to_owned),
            age_ms: Some(agent.age(now).as_millis() as u64),
            mailbox: None,
            handled: None,
            passive: false,
            activity: None,
            program: None,
        }
    }

    fn agents_elsewhere(&self, wanted: &AgentsWanted, but: &[String]) -> Vec<AgentElsewhere> {
        let names = self.node_names();
        let passed: FxHashSet<NodeId> =
            names.iter().filter(|(_, name)| but.contains(name)).map(|(node, _)| *node).collect();
        let all = self.directory().and_then(|directory| directory.with_ams(|ams| ams.agents_elsewhere()));
        let fits = |name: &Name| wanted.name.is_empty() || name_fits(&wanted.name, name.as_str());
        let agents = all.unwrap_or_default().into_iter().map(|(name, node, kind)| AgentElsewhere { name, node, kind });
        let agents = agents.filter(|agent| wanted.services || agent.kind != AgentKind::Service);
        agents.filter(|agent| !passed.contains(&agent.node) && fits(&agent.name)).collect()
    }

    /// Asks the workers how these agents are doing.
    fn fill_in(&self, agents: &mut [AgentInfo]) {
        let here = agents.iter().filter(|agent| agent.state.is_some());
        let names: Vec<Symbol> = here.filter_map(|agent| Symbol::known(&agent.name)).collect();
        let figures = self.platform.figures_of(&names);
        let by_name: FxHashMap<&str, _> = figures.iter().map(|figures| (figures.name.as_str(), figures)).collect();
        for agent in agents.iter_mut() {
            if let Some(figures) = by_name.get(agent.name.as_str()) {
                agent.mailbox = Some(figures.waiting);
                agent.handled = figures.handled;
                agent.passive = figures.is_passive;
                agent.activity = Some(figures.activity);
                agent.program = figures.program.as_deref().map(|file| self.program_name(file));
            }
        }
        self.tell_what_runs(agents);
    }

    /// Returns the name of a program's file, as the project names it.
    fn program_name(&self, file: &str) -> String {
        let named = self.programs.as_ref().map(|programs| programs.name(file));
        named.unwrap_or_else(|| file.to_owned())
    }

    /// Sets the kind of body for agents that were with a client once and now run on this node. To the AMS and the
    /// policy they stay agents of sessions.
    fn tell_what_runs(&self, agents: &mut [AgentInfo]) {
        let of_clients = agents.iter().filter(|agent| agent.state.is_some() && agent.kind == AgentKind::Session);
        let names: Vec<Symbol> = of_clients.filter_map(|agent| Symbol::known(&agent.name)).collect();
        let kinds = self.kinds_here(&names);
        for agent in agents {
            if let Some(kind) = Symbol::known(&agent.name).and_then(|name| kinds.get(&name)) {
                (agent.kind, agent.device) = (*kind, None);
            }
        }
    }

    /// Returns the kinds of these agents, as far as their code runs on this node.
    pub(super) fn kinds_here(&self, names: &[Symbol]) -> FxHashMap<Symbol, AgentKind> {
        let upkeep = self.platform.upkeep_of(names);
        upkeep.into_iter().filter_map(|(name, upkeep)| Some((name, upkeep.kind?))).collect()
    }

    /// Returns the names of the other nodes, each with true if it is connected.
    pub(super) fn other_nodes(&self) -> Vec<(String, bool)> {
        self.statuses().into_iter().filter_map(|link| Some((link.node?, link.up))).collect()
    }

    /// Returns the names of the other nodes, by their numbers.
    pub(super) fn node_names(&self) -> FxHashMap<NodeId, String> {
        let numbered = (1..).map(NodeId).zip(self.statuses());
        numbered.filter_map(|(id, link)| Some((id, link.node?))).collect()
    }

    fn topics(&self) -> Vec<TopicInfo> {
        let topic = |(name, members, nodes): (Symbol, usize, usize)| TopicInfo {
            name: name.as_str().to_owned(),
            node: self.node().to_owned(),
            members: members as u64,
            other_nodes: nodes as u64,
        };
        self.platform.topics().into_iter().map(topic).collect()
    }

    fn links(&self) -> Vec<LinkInfo> {
        let link = |link: LinkStatus| LinkInfo {
            node: self.node().to_owned(),
            peer: link.node,
            address: link.address,
            up: link.up,
            left: link.left,
            connections: link.connections,
            waiting: link.waiting,
            items_in: link.items_in,
            items_out: link.items_out,
            bytes_in: link.bytes_in,
            bytes_out: link.bytes_out,
            round_trip_us: link.round_trip_us,
        };
        self.statuses().into_iter().map(link).collect()
    }

    /// Refuses agents of other nodes, and names the node that is to be asked.
    pub(super) fn is_here(&self, agent: &str) -> Result<(), Refusal> {
        if let Some(node) = self.elsewhere(agent) {
            let text = format!("agent {agent} lives on node {node}");
            return Err(Refusal { reason: Reason::Elsewhere, text, node: Some(node) });
        }
        self.known(agent).map(drop)
    }

    /// Returns the agent of this name. Unknown names are not interned: a caller may send any number of them.
    pub(super) fn known(&self, agent: &str) -> Result<Aid, Refusal> {
        self.found(agent).ok_or_else(|| self.nobody(agent))
    }

    /// Returns the agent of this name, if there is one.
    pub(super) fn found(&self, agent: &str) -> Option<Aid> {
        Symbol::known(agent).map(Aid::local).filter(|aid| self.platform.services().exists(*aid))
    }

    fn step(&self, agent: &str, step: LifecycleStep) -> Result<(), Refusal> {
        self.not_ours(agent)?;
        self.is_here(agent)?;
        self.platform.step(self.known(agent)?, step).map_err(|error| match error {
            LifecycleError::NoSuchAgent(_) => self.nobody(agent),
            error => Refusal { reason: Reason::BadState, text: error.to_string(), node: None },
        })
    }

    fn move_to(&self, agent: &str, to: &str) -> Result<Answer, Refusal> {
        self.not_ours(agent)?;
        if to == ANYWHERE {
            return self.free(agent);
        }
        self.is_here(agent)?;
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let known = self.known(agent)?;
        self.platform.move_agent(known, to, move |outcome| drop(tell.send(outcome)));
        let hop = await_hop(agent, &told);
        if hop.as_ref().is_err_and(|refusal| refusal.reason == Reason::NoAnswer) {
            // A caller that is told that the agent stays must not find it there later.
            if let Some((cluster, partition)) = self.cluster.as_ref().zip(self.platform.partition_of(known.name)) {
                cluster.give_up(partition, to);
            }
        }
        hop?;
        // Of a society that several nodes keep, only whole partitions move.
        let moved = |partition: Partition| Answer::Moved { partition: partition.0, agents: self.agents_in(partition) };
        Ok(self.platform.partition_of(known.name).map_or(Answer::Done, moved))
    }

    /// Returns the number of agents of a partition on other nodes.
    fn agents_in(&self, partition: Partition) -> u64 {
        let elsewhere = self.directory().and_then(|directory| directory.with_ams(|ams| ams.agents_elsewhere()));
        let is_in = |(name, ..): &(Name, NodeId, AgentKind)| self.platform.partition_of(name) == Some(partition);
        elsewhere.unwrap_or_default().iter().filter(|agent| is_in(agent)).count() as u64
    }

    /// Withdraws the wish for an agent's partition.
    fn free(&self, agent: &str) -> Result<Answer, Refusal> {
        let known = self.known(agent)?;
        let partition = self.platform.partition_of(known.name);
        match self.cluster.as_ref().zip(partition) {
            Some((cluster, partition)) if cluster.free(partition) => Ok(Answer::Done),
            _ => Err(Refusal::new(
                Reason::BadState,
                format!("no order keeps {agent} on one node: there is nothing to withdraw"),
            )),
        }
    }

    fn recall(&self, agent: &str) -> Result<(), Refusal> {
        self.not_ours(agent)?;
        let known = self.known(agent)?;
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        self.platform.recall_agent(known, move |outcome| drop(tell.send(outcome)));
        await_hop(agent, &told)
    }

    fn advise(&self, to: &str, agent: Option<&str>, job: &DocumentJob) -> Result<Answer, Refusal> {
        agent.map_or(Ok(()), |agent| self.is_here(agent))?;
        let agent = agent.map(|agent| self.known(agent)).transpose()?;
        let advice = self.platform.advise(agent, to, job).map_err(|error| {
            let reason = if matches!(error, AdviseError::Job(_)) { Reason::BadJob } else { Reason::NoSuchNode };
            Refusal { reason, text: error.to_string(), node: None }
        })?;
        Ok(Answer::Advice(Box::new(advice)))
    }

    /// Refuses to act on the platform's own agents.
    pub(super) fn not_ours(&self, agent: &str) -> Result<(), Refusal> {
        let known = Symbol::known(agent).map(Aid::local).zip(self.directory());
        let kind = known.and_then(|(aid, directory)| directory.with_ams(|ams| ams.kind(aid)).flatten());
        if kind == Some(AgentKind::Service) {
            let text = format!("{agent} is the platform's own agent");
            return Err(Refusal { reason: Reason::BadState, text, node: None });
        }
        Ok(())
    }

    /// Returns the node where an agent lives, if that is another one.
    pub(super) fn elsewhere(&self, agent: &str) -> Option<String> {
        let directory = self.directory()?;
        let agent = Symbol::known(agent)?;
        let node = directory.with_ams(|ams| ams.node_of(agent)).flatten()?;
        Some(self.node_names().remove(&node).unwrap_or_default())
    }

    /// Makes the refusal for an agent that does not exist, with a similar name if there is one.
    pub(super) fn nobody(&self, agent: &str) -> Refusal {
        // Names of other nodes' agents become no symbols by this.
        let names = |ams: &mut Ams| -> Vec<Name> {
            let elsewhere = ams.agents_elsewhere().into_iter().filter(|(_, _, kind)| *kind != AgentKind::Service);
            let here = ams.agents().map(|aid| Name::from(aid.name));
            here.chain(elsewhere.map(|(name, ..)| name)).take(NEAR_NAMES_MAX).collect()
        };
        let known = self.directory().and_then(|directory| directory.with_ams(names)).unwrap_or_default();
        let near = known.iter().map(|known| (strsim::jaro_winkler(agent, known.as_str()), known));
        let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let hint = nearest.filter(|(alike, _)| *alike >= ALIKE);
        let hint = hint.map(|(_, name)| format!("; did you mean {name}?")).unwrap_or_default();
        Refusal { reason: Reason::NoSuchAgent, text: format!("there is no agent named {agent}{hint}"), node: None }
    }
}

/// Returns true for a request to look into minds, or to steer them.
fn is_about_mind(request: &Request) -> bool {
    matches!(
        request,
        Request::Mind { .. }
            | Request::Debug { .. }
            | Request::Breakpoint { .. }
            | Request::LineBreakpoint { .. }
            | Request::StepLines
            | Request::Paused { .. }
            | Request::Believe { .. }
            | Request::Pursue { .. }
    )
}

/// Makes the refusal of a request that another part of the node answers.
pub(super) fn answered_elsewhere() -> Refusal {
    Refusal::new(Reason::BadRequest, "this is answered elsewhere")
}

/// Waits to hear what became of an agent's hop.
fn await_hop(agent: &str, told: &Receiver<Result<(), HopError>>) -> Result<(), Refusal> {
    let refusal = |reason, text: &str| Refusal { reason, text: format!("{agent} stays: {text}"), node: None };
    match told.recv_timeout(MOVE_PATIENCE) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(refusal(reason_of(&error), &error.to_string())),
        Err(_) => Err(refusal(Reason::NoAnswer, "the other node does not answer")),
    }
}

fn reason_of(why: &HopError) -> Reason {
    match why {
        HopError::NoSuchNode(_) => Reason::NoSuchNode,
        HopError::Forbidden(_) => Reason::NotAllowed,
        HopError::Busy { .. } => Reason::Busy,
        HopError::Unreachable(_) => Reason::NoAnswer,
        _ => Reason::BadState,
    }
}

/// An agent of another node, of which no more is known here.
struct AgentElsewhere {
    name: Name,
    node: NodeId,
    kind: AgentKind,
}

impl AgentElsewhere {
    fn info(self, nodes: &FxHashMap<NodeId, String>) -> AgentInfo {
        AgentInfo {
            name: self.name.as_str().to_owned(),
            kind: self.kind,
            state: None,
            ending: false,
            node: nodes.get(&self.node).cloned().unwrap_or_default(),
            device: None,
            owner: None,
            age_ms: None,
            mailbox: None,
            handled: None,
            passive: false,
            activity: None,
            program: None,
        }
    }
}

fn end_info(platform: &Platform, Remains { at, code, agents, queued }: Remains) -> EndInfo {
    EndInfo { at_us: sniffer::began_us(platform) + at.0, code, agents, queued }
}

fn compare(a: &AgentInfo, b: &AgentInfo, order: AgentOrder) -> Ordering {
    let by_number = match order {
        AgentOrder::Name => Ordering::Equal,
        AgentOrder::Mailbox => b.mailbox.cmp(&a.mailbox),
        AgentOrder::Handled => b.handled.cmp(&a.handled),
        AgentOrder::Age => b.age_ms.cmp(&a.age_ms),
    };
    by_number.then_with(|| name_order::compare(&a.name, &b.name))
}

/// Puts what several nodes told of their agents together.
pub fn merge(parts: Vec<AgentsFound>, order: AgentOrder, limit: usize) -> AgentsFound {
    let total = parts.iter().map(|part| part.total).sum();
    let mut agents: Vec<AgentInfo> = parts.into_iter().flat_map(|part| part.agents).collect();
    keep_first(&mut agents, limit, |a, b| compare(a, b, order));
    AgentsFound { agents, total, silent: Vec::new() }
}

fn member_info(NodeView { node, member, dead, placer, partitions, leaving, unserved }: NodeView) -> MemberInfo {
    let state = match member.state {
        cluster::MemberPhase::Left => MemberState::Left,
        _ if dead => MemberState::Silent,
        cluster::MemberPhase::Joining => MemberState::Joining,
        cluster::MemberPhase::Running => MemberState::Running,
        cluster::MemberPhase::Draining => MemberState::Draining,
    };
    MemberInfo {
        node: member.name,
        number: node.to_string(),
        state,
        standby: member.standby,
        placer,
        level: member.level,
        weight: member.weight,
        partitions: partitions as u64,
        leaving: leaving as u64,
        agents: member.agents,
        load: member.load,
        address: member.address,
        process: member.process,
        unserved: unserved.into_iter().map(|partition| partition.0).collect(),
        labels: member.labels,
        troubles: member.troubles,
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_operator::Sending;
    use whimbrel_platform::limits::MESSAGE_RECEIVERS_MAX;
    use whimbrel_platform::link::News;

    use super::*;

    #[test]
    fn unknown_name_requests_leave_nothing() {
        let platform = Platform::builder().build();
        let panel = OperatorService::new(&platform, "garden".to_owned(), None);
        let agent = || "a name that nobody has but who asks".to_owned();
        let requests = [
            Request::Mind { agent: agent(), follow: true },
            Request::Kill { agent: agent() },
            Request::Step { agent: agent(), step: LifecycleStep::Suspend },
            Request::Move { agent: agent(), to: "n2".to_owned() },
            Request::Recall { agent: agent() },
            Request::Pursue { agent: agent(), goal: "go".to_owned() },
            Request::Agents(AgentsWanted {
                name: agent(),
                state: None,
                services: true,
                sort: AgentOrder::Name,
                limit: 1,
                elsewhere_but: Some(Vec::new()),
            }),
        ];
        for request in requests {
            let answer = panel.answer(request, &|| false);
            let none = AgentsFound { agents: Vec::new(), total: 0, silent: Vec::new() };
            let is_right = match &answer {
                Answer::Error(refusal) => refusal.reason == Reason::NoSuchAgent,
                Answer::Agents(found) => *found == none,
                _ => false,
            };
            assert!(is_right, "{answer:?}");
        }
        assert_eq!(Symbol::known(&agent()), None);
        let message = serde_json::json!({ "performative": "inform", "receivers": ["ams"] });
        let sending = Box::new(Sending { message, wait_ms: None });
        assert!(matches!(panel.answer(Request::Send(sending), &|| false), Answer::Sent { .. }), "others are known");
        let receivers: Vec<String> = (0..=MESSAGE_RECEIVERS_MAX).map(|number| format!("a{number}")).collect();
        let message = serde_json::json!({ "performative": "inform", "receivers": receivers });
        let sending = Box::new(Sending { message, wait_ms: None });
        let Answer::Error(refusal) = panel.answer(Request::Send(sending), &|| false) else { panic!("it is sent") };
        assert!(refusal.text.contains("it names 1025 receivers: at most 1024"), "{}", refusal.text);
    }

    #[test]
    fn mistyped_names_make_no_symbols() {
        let platform = Platform::builder().build();
        let panel = OperatorService::new(&platform, "garden".to_owned(), None);
        let told = |number: u32| (format!("told-of-elsewhere-{number}").as_str().into(), AgentKind::Native);
        platform.station().hear(NodeId(1), News::Agents((0..100).map(told).collect()));
        let before = Symbol::bytes_made_here();
        let refused = panel.known("told-of-elsewere-7").unwrap_err();
        assert!(refused.text.ends_with("did you mean told-of-elsewhere-7?"), "{}", refused.text);
        let refused = panel.known("quite another name").unwrap_err();
        assert!(refused.text.ends_with("named quite another name"), "{}", refused.text);
        assert_eq!(Symbol::bytes_made_here(), before);
    }

    #[test]
    fn first_of_many_agents_are_shown() {
        let platform = Platform::builder().build();
        for number in 0..40 {
            platform.spawn(format!("a{number}").as_str(), whimbrel_runtime::behaving(|_| {})).unwrap();
        }
        let panel = OperatorService::new(&platform, "garden".to_owned(), None);
        let shown = |sort, limit| {
            let name = String::new();
            let wanted =
                AgentsWanted { name, state: None, services: false, sort, limit, elsewhere_but: Some(Vec::new()) };
            let found = panel.agents(&wanted);
            assert_eq!(found.total, 40);
            found.agents.into_iter().map(|agent| agent.name).collect::<Vec<_>>()
        };
        assert_eq!(shown(AgentOrder::Name, 3), ["a0", "a1", "a2"]);
        assert_eq!(shown(AgentOrder::Mailbox, 2), ["a0", "a1"]);
        platform.wait_idle();
        for order in [AgentOrder::Name, AgentOrder::Handled] {
            let all = shown(order, 100);
            assert_eq!(shown(order, 7), all[..7], "{order:?}");
        }
    }
}
