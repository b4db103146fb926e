//! Links of a node: its announcements to other nodes, and the handling of theirs.

use std::sync::atomic::{Ordering, fence};

use whimbrel_acl::{Aid, Envelope, MessageBody, Name, Symbol, sym};
use whimbrel_platform::ams::{AgentKind, Ams, AmsChange, ElsewhereError, is_everywhere};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::df::{Df, DfChange, DfChangeKind, DfDescription, ServiceDescription};
use whimbrel_platform::limits::{AGENTS_ELSEWHERE_BYTES_MAX, LINK_NEWS_AGENTS, LINK_NEWS_ENTRIES};
use whimbrel_platform::link::News;
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::{NodeId, Place, Route, ShardIndex};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{EndReason, NewsExchange, Station, Time};

use super::Node;
use crate::cluster::{PartitionServer, PartitionTable};
use crate::peers::Gathering;
use crate::shard_command::ShardCommand;
use crate::sync::{Arc, locked};

/// Messages that may wait in a shard's inbox before links have to pause.
const INBOX_MESSAGES_MAX: usize = 1_024;

impl Node {
    /// Corks the links: announcements of this thread wait until the links are flushed. For workers, which flush after
    /// each round.
    pub fn cork(&self) -> Gathering<'_> {
        let io = self.linked.io();
        Gathering { io, before: io.is_some_and(|io| io.cork(true)) }
    }

    /// Announces changes to this node's agents.
    pub fn push_agents(&self, ams: &Ams, changes: &[AmsChange]) {
        let Some(links) = self.linked.links() else { return };
        if self.cluster.is_some() && self.stopping.load(Ordering::Acquire) {
            // These agents continue on another node, or end with this one. Other nodes learn that when the link ends.
            return;
        }
        let mut born: Vec<(Name, AgentKind)> = Vec::new();
        for change in changes.iter().filter(|change| !is_everywhere(change.agent.name)) {
            match (change.from, change.to, &change.reason) {
                // Agents of partitions that are about to be served are announced together.
                (None, Some(_), _) if self.is_served_soon(change.agent.name) => {}
                (None, Some(_), _) => {
                    born.push((change.agent.name.into(), ams.kind(change.agent).unwrap_or(AgentKind::Native)));
                }
                (_, None, reason) => {
                    if !born.is_empty() {
                        links.tell_all(News::Agents(std::mem::take(&mut born)));
                    }
                    let reason = reason.clone().unwrap_or(EndReason::Finished);
                    links.tell_all(News::AgentEnded(change.agent.name.into(), reason));
                }
                _ => {}
            }
        }
        born.chunks(LINK_NEWS_AGENTS).for_each(|agents| links.tell_all(News::Agents(agents.to_vec())));
    }

    fn is_served_soon(&self, name: Symbol) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.server_of(name) == PartitionServer::HereSoon)
    }

    /// Announces a change to a DF entry of one of this node's agents.
    pub fn push_entry(&self, df: &Df, change: &DfChange) {
        let Some(links) = self.linked.links() else { return };
        let name = change.agent.name;
        if change.kind == DfChangeKind::AgentEnded || !matches!(self.routes.look_up(name).place(), Place::Local(_)) {
            return;
        }
        links.tell_all(match df.description_of(change.agent) {
            Some(description) => match change.added_after.map(|after| (after, description.services.get(after..))) {
                Some((after, Some(services @ [_, ..]))) => {
                    News::MoreServices { agent: name, after: after as u64, services: services.to_vec() }
                }
                _ => News::Service(Box::new(without_lease(description))),
            },
            None => News::NoService(name),
        });
    }

    /// Tells the nodes that sent messages to an agent of this one that the agent is crowded, or not any more. To be
    /// called once the agent's route says so, because nodes that send for the first time learn it from there.
    pub fn push_crowded(&self, name: Symbol, crowded: bool) {
        if let Some(links) = self.linked.links() {
            for node in locked(&self.linked.arrivals).senders_to(name) {
                links.tell(node, News::Crowded(name, crowded));
            }
        }
        self.with_topics(|topics| topics.handle_crowded(name, crowded));
    }

    pub fn bury_all(&self, messages: Vec<Envelope>, why: DeadReason) {
        let mut commands: Vec<ShardCommand> =
            messages.into_iter().map(|envelope| ShardCommand::Undeliverable(envelope, why)).collect();
        self.fill(0, |content| content.commands.append(&mut commands));
    }

    /// Returns true if more messages from outside can be dealt with now.
    pub fn has_room(&self) -> bool {
        self.seats.iter().all(|seat| seat.waiting() < INBOX_MESSAGES_MAX)
    }

    /// Counts and buries messages whose sender is forged.
    pub fn bury_forged(&self, messages: Vec<Envelope>) {
        self.linked.came.fetch_add(messages.len() as u64, Ordering::Relaxed);
        self.bury_all(messages, DeadReason::Forged);
    }

    fn agents_came(&self, from: NodeId, agents: Vec<(Name, AgentKind)>) {
        let (mut doubtful, mut left_out) = (Vec::new(), 0);
        // Names of topics and groups belong to no agent.
        for (name, kind) in agents.into_iter().filter(|(name, _)| Cast::split_text(name.as_str()).is_none()) {
            if self.doubts(&name, from) {
                doubtful.push(name);
                continue;
            }
            match self.agent_came(&name, from, kind) {
                Ok(()) => {}
                Err(ElsewhereError::NameTaken) => name.known().into_iter().for_each(|it| self.meet_namesake(it, from)),
                Err(_) => left_out += 1,
            }
        }
        self.note_left_out(from, left_out);
        self.look_into(from, doubtful);
    }

    /// Logs that this many agents of another node are not known here, because that node has too many.
    pub fn note_left_out(&self, node: NodeId, count: usize) {
        if count > 0 {
            let text = format!(
                "{} has more agents than can be known here ({AGENTS_ELSEWHERE_BYTES_MAX} bytes of them): {count} of \
                 them cannot be reached from here; have agents live on more nodes, or give them shorter names",
                self.name_of(node)
            );
            self.output.log(Aid::local(sym::AMS), LogLevel::Warning, &text);
        }
    }

    /// Enters an agent that another node reports.
    fn agent_came(&self, name: &Name, from: NodeId, kind: AgentKind) -> Result<(), ElsewhereError> {
        let mut parts = self.cluster.as_ref().map(|cluster| (cluster, cluster.lock()));
        self.with_ams(|ams| {
            let coming = parts.as_mut().and_then(|(cluster, parts)| parts.coming_to(cluster, name, from));
            // Messages that wait for the server of the agent's partition go first; then the agent gets a route.
            self.enter_elsewhere(ams, name, from, kind, coming.is_none())?;
            coming.into_iter().for_each(|coming| coming.push(name.clone()));
            Ok(())
        })
    }

    /// Enters an agent of another node into the AMS. Messages to it go there from now on if the node `is_open`; else
    /// they go nowhere until it is.
    ///
    /// Routes to other nodes are set under the lock of the AMS: an agent has a route only to the node where the AMS
    /// knows it. The AMS holds its name, so its number is not given to another name while it has a route.
    pub fn enter_elsewhere(
        &self,
        ams: &mut Ams,
        name: &Name,
        node: NodeId,
        kind: AgentKind,
        is_open: bool,
    ) -> Result<(), ElsewhereError> {
        let before = ams.node_of(name).filter(|before| *before != node);
        ams.handle_elsewhere(name, node, kind)?;
        match before {
            _ if is_open => self.routes.set(name, Route::node(node)),
            Some(before) => self.routes.clear(name, before),
            None => {}
        }
        Ok(())
    }

    /// Removes an agent of another node, with its route, from the AMS; false if that node had none of this name.
    pub fn remove_elsewhere(&self, ams: &mut Ams, name: &Name, node: NodeId) -> bool {
        let is_removed = ams.handle_ended_elsewhere(name, node);
        if is_removed {
            self.routes.clear(name, node);
        }
        is_removed
    }

    /// Handles the end of another node's agent.
    pub fn agent_ended_elsewhere(&self, name: &Name, from: NodeId, reason: &EndReason) {
        if self.with_ams(|ams| self.remove_elsewhere(ams, name, from)) {
            self.forget_elsewhere(name, from, reason);
        }
    }

    /// Tells the DF, topics and monitors of the end of another node's agent, which the AMS has removed.
    fn forget_elsewhere(&self, name: &Name, node: NodeId, reason: &EndReason) {
        // A name without a symbol is known only to the router; a later symbol for it finds no route.
        let Some(symbol) = name.known() else { return };
        self.with_df(|df| df.handle_agent_ended(Aid::local(symbol)));
        self.hear_of_topics(node, News::AgentEnded(symbol.into(), reason.clone()));
        for news in self.monitors.ended_elsewhere(symbol, reason) {
            self.post(0, Box::new(news));
        }
    }

    /// Enters an agent's services into the DF, or updates them.
    pub fn enter_service(&self, description: DfDescription) -> Result<(), String> {
        let now = self.now();
        self.with_df(|df| {
            let known = description.agent.is_some_and(|agent| df.description_of(agent).is_some());
            if known {
                df.modify(description, now).map_err(|error| error.to_string())
            } else {
                df.register(description, now).map_err(|error| error.to_string())
            }
        })
    }

    fn service_came(&self, description: DfDescription) {
        if let Err(error) = self.enter_service(description) {
            self.output.log(Aid::local(sym::DF), LogLevel::Warning, &error);
        }
        self.wake_df();
    }

    /// Returns announcements of this node's entries in the piece of the DF that begins with `number`, and the start
    /// of the next piece.
    fn entries_here(&self, df: &Df, number: u64, now: Time) -> (Vec<News>, Option<u64>) {
        let is_here = |description: &DfDescription| {
            let place = description.agent.map(|agent| self.routes.look_up(agent.name).place());
            matches!(place, Some(Place::Local(_)))
        };
        let (mut news, mut next) = (Vec::new(), None);
        for (number, description) in df.entries_from(number, now).take(LINK_NEWS_ENTRIES) {
            next = Some(number + 1);
            if is_here(description) {
                news.push(News::Service(Box::new(without_lease(description))));
            }
        }
        (news, next)
    }

    fn services_came(&self, agent: Aid, after: u64, services: Vec<ServiceDescription>) {
        let now = self.now();
        if let Err(error) = self.with_df(|df| df.add_after(agent, after as usize, services, now)) {
            self.output.log(Aid::local(sym::DF), LogLevel::Warning, &error.to_string());
        }
        self.wake_df();
    }
}

impl Node {
    /// Returns true if an agent of that node may register these services, or change its entry to them.
    pub fn permits_services(&self, from: NodeId, description: &DfDescription) -> bool {
        if !self.guard.policy.restricts_nodes(Action::Register) {
            return true;
        }
        let may = |service: &str| match description.agent {
            Some(agent) => self.permits(self.principal(agent), Action::Register, service),
            None => self.permits_node(from, Action::Register, service),
        };
        description.services.iter().all(|service| may(service.name.as_str()))
    }
}

/// Routes a message for a lost node once more: its receiver may be served elsewhere, or its sender gets a `failure`.
/// No message to many goes to the others again, and none to one of many goes to another one: the lost node may have
/// handled it. None follows an agent that left the lost node, because that node may have forwarded it.
fn lost_command(node: &Node, envelope: Envelope) -> ShardCommand {
    let lives = || !matches!(node.routes.look_up(envelope.to.name).place(), Place::Unknown);
    match Cast::behind(&envelope) {
        None if node.cluster.is_none() && lives() => ShardCommand::Undeliverable(envelope, DeadReason::Unreachable),
        None => ShardCommand::Posted(envelope),
        Some((Cast::Anycast, _)) => ShardCommand::Undeliverable(envelope, DeadReason::Unreachable),
        Some(_) => ShardCommand::Undeliverable(envelope, DeadReason::AgentEnded),
    }
}

/// Returns agents in the form in which they are announced.
pub(crate) fn named(agents: &[(Symbol, AgentKind)]) -> Vec<(Name, AgentKind)> {
    agents.iter().map(|(name, kind)| (Name::from(*name), *kind)).collect()
}

/// Returns an entry without its lease, which only the agent's own node watches.
pub(crate) fn without_lease(description: &DfDescription) -> DfDescription {
    DfDescription { lease_ms: None, ..description.clone() }
}

/// This node as its links see it.
pub(crate) struct NodeStation(pub Arc<Node>);

impl Station for NodeStation {
    fn arrive(&self, from: NodeId, messages: &mut Vec<Envelope>) {
        let node = &*self.0;
        node.linked.came.fetch_add(messages.len() as u64, Ordering::Relaxed);
        let untimely = node.drop_untimely(from, messages);
        node.count_copies(0, untimely);
        let forbidden = node.forbidden_among(from, messages);
        if !forbidden.is_empty() {
            node.bury_all(forbidden, DeadReason::Forbidden);
        }
        let mut by_shard = node.sort_arrivals(from, messages);
        for (shard, batch) in by_shard.iter_mut().enumerate() {
            if !batch.is_empty() {
                node.fill(shard as ShardIndex, |content| content.commands.append(batch));
            }
        }
    }

    fn arrive_row(&self, from: NodeId, to: Aid, row: Vec<MessageBody>) {
        let node = &*self.0;
        // With a restricting policy, messages are checked one by one.
        let shard = match node.guard.restricts_arriving {
            true => None,
            false => node.entry_shard(from, to),
        };
        let Some((shard, seat)) = shard.and_then(|shard| Some((shard, node.seat(shard)?))) else {
            return self.arrive(from, &mut row.into_iter().map(|body| Envelope { to, body }).collect());
        };
        node.linked.came.fetch_add(row.len() as u64, Ordering::Relaxed);
        seat.copies.fetch_add(row.len(), Ordering::Relaxed);
        node.fill(shard, |content| content.commands.push(ShardCommand::ArrivedRow(to, row)));
    }

    fn arrive_forwarded(&self, from: NodeId, message: Envelope) {
        let node = &*self.0;
        match node.keep_forwarded(from, message) {
            None => drop(node.linked.came.fetch_add(1, Ordering::Relaxed)),
            Some(stray) if self.speaks_for(from, stray.body.sender) => self.arrive(from, &mut vec![stray]),
            Some(forged) => self.refuse_forged(vec![forged]),
        }
    }

    fn lose(&self, lost: NodeId, messages: Vec<Envelope>) {
        let node = &*self.0;
        node.linked.handed.fetch_sub(messages.len() as u64, Ordering::Relaxed);
        // If the node returns, it does not know which agents are crowded.
        locked(&node.linked.arrivals).forget(lost);
        node.forget_hearsay(lost);
        self.0.lose_hops(lost);
        let names = node.lose_agents(lost);
        node.ask_claimants(&names);
        let reason = EndReason::Failed("its node is lost".to_owned());
        for name in &names {
            node.forget_elsewhere(name, lost, &reason);
        }
        node.with_topics(|topics| topics.handle_node_lost(lost));
        node.wake_df();
        let count = messages.len();
        let messages = node.unsaid(messages);
        node.count_copies(0, (count - messages.len()) as u64);
        let mut commands: Vec<ShardCommand> = messages.into_iter().map(|message| lost_command(node, message)).collect();
        node.fill(0, |content| content.commands.append(&mut commands));
    }

    fn refuse(&self, messages: Vec<Envelope>) {
        self.0.linked.handed.fetch_sub(messages.len() as u64, Ordering::Relaxed);
        self.0.bury_all(messages, DeadReason::Unsendable);
    }

    fn refuse_unsigned(&self, messages: Vec<Envelope>) {
        // These messages count as handed over once the link has answered.
        self.0.linked.handed.fetch_sub(messages.len() as u64, Ordering::Relaxed);
        self.0.bury_all(messages, DeadReason::Unreachable);
    }

    fn keep_doubtful(&self, from: NodeId, message: Envelope) -> Option<Envelope> {
        self.0.keep_doubtful(from, message)
    }

    fn speaks_for(&self, node: NodeId, sender: Aid) -> bool {
        let ours = sender.platform == sym::EMPTY || sender.platform == self.0.name;
        ours && match self.0.routes.look_up(sender.name).place() {
            Place::Node(there) if there == node => true,
            Place::Unknown => {
                is_everywhere(sender.name)
                    || self.0.serves_partition_of(node, sender.name)
                    || self.0.may_bring_last_words(node, sender.name)
            }
            _ => is_everywhere(sender.name),
        }
    }

    fn refuse_forged(&self, messages: Vec<Envelope>) {
        self.0.bury_forged(messages);
    }

    fn has_room(&self) -> bool {
        if self.0.has_room() {
            return true;
        }
        self.0.linked.awaited.store(true, Ordering::Release);
        // Either this thread sees that the messages were taken in meanwhile, or the shard sees that the links wait.
        fence(Ordering::SeqCst);
        self.0.has_room()
    }

    fn drained(&self, to: NodeId, shards: &[ShardIndex]) {
        shards.iter().for_each(|shard| self.0.put(*shard, ShardCommand::Drained(to)));
    }

    fn now(&self) -> Time {
        self.0.now()
    }
}

impl NewsExchange for NodeStation {
    fn hear_on_worker(&self, shard: ShardIndex, from: NodeId, news: News) {
        match news {
            News::Hop(news) => self.0.hear_hop(Some(shard), from, news),
            news => self.hear(from, news),
        }
    }

    fn hear(&self, from: NodeId, news: News) {
        let node = &*self.0;
        match news {
            News::Agents(agents) => node.agents_came(from, agents),
            News::AgentEnded(name, reason) => {
                node.hear_denied(&name, from);
                node.expect_last_words(&name, from);
                node.agent_ended_elsewhere(&name, from, &reason);
                name.known().into_iter().for_each(|name| node.claim_name(name));
            }
            News::Introduced => node.hear_introduced(from),
            News::Asks(agents) => node.answer_asks(from, agents),
            News::Has { agents, not } => self.hear_answer(from, agents, not),
            News::Service(description) => {
                let of_it = |agent: Aid| node.with_ams(|ams| ams.node_of(agent.name)) == Some(from);
                if description.agent.is_some_and(of_it) && node.permits_services(from, &description) {
                    node.service_came(*description);
                }
            }
            News::MoreServices { agent, after, services } => {
                let agent = Aid::local(agent);
                let description = DfDescription { agent: Some(agent), services, ..DfDescription::default() };
                let is_its = node.with_ams(|ams| ams.node_of(agent.name)) == Some(from);
                if is_its && node.permits_services(from, &description) {
                    node.services_came(agent, after, description.services);
                }
            }
            News::NoService(name) if node.with_ams(|ams| ams.node_of(name)) == Some(from) => {
                let now = node.now();
                let _ = node.with_df(|df| df.deregister(Aid::local(name), now));
                node.wake_df();
            }
            News::Topics(_) | News::NoTopic(_) | News::Joined(..) | News::Left(..) => node.hear_of_topics(from, news),
            News::Crowded(name, crowded) if Cast::of(name).is_some() => {
                node.hear_of_topics(from, news);
                if !crowded {
                    node.relieved(name);
                }
            }
            News::Crowded(name, crowded) => {
                let route = node.routes.look_up(name);
                // The crowded flag is no part of the agent's location.
                if route.place() == Place::Node(from) {
                    let _ = node.routes.replace(name, route, route.with_crowded(crowded));
                    if !crowded {
                        node.relieved(name);
                    }
                }
            }
            News::Kill(name) if node.permits_node(from, Action::Kill, name.as_str()) => {
                node.kill(name, Some(from));
            }
            News::Stop { delay_ms, code } if node.permits_node(from, Action::Kill, sym::AMS.as_str()) => {
                node.ending.ask(std::time::Duration::from_millis(delay_ms), code)
            }
            News::Again { partitions, replay_round } => node.hear_again(from, &partitions, replay_round),
            News::Facts(facts) => node.hear_facts(facts),
            News::Serves { partitions, agents, more } => node.hear_serves(from, &partitions, agents, more),
            News::Hop(news) => self.0.hear_hop(None, from, news),
            News::Advice(news) => self.0.hear_advice(from, news),
            News::Ask { number, question } => self.0.hear_question(from, number, question),
            News::Answer { number, answer } => node.hear_answer(from, number, answer),
            News::Yields { partitions, agents } => node.hear_yields(from, &partitions, agents),
            News::NameConflict(word) => node.hear_namesake(from, word),
            _ => {}
        }
    }

    fn introduce(&self, tell: &mut dyn FnMut(Vec<News>)) {
        let node = &*self.0;
        let parts = node.cluster.as_ref().map(PartitionTable::lock);
        node.with_ams(|ams| {
            let served_here =
                |name| node.cluster.as_ref().is_some_and(|cluster| cluster.server_of(name) == PartitionServer::Here);
            let (served, mut agents): (Vec<_>, Vec<_>) = ams.reachable().partition(|(name, _)| served_here(*name));
            // Agents of partitions that change their server are announced by the next one.
            agents.retain(|(name, _)| !node.is_of_cluster(*name));
            let served = parts.as_ref().map(|parts| node.served(parts, &served)).unwrap_or_default();
            let agents = agents.chunks(LINK_NEWS_AGENTS).map(|agents| News::Agents(named(agents)));
            // Announced in one go, and before messages that wait for the peer: a publisher there then knows the
            // topic's subscribers.
            node.with_topics(|topics| tell(agents.chain(served).chain(topics.introduction()).collect()));
        });
    }

    fn introduce_more(&self, place: u64, tell: &mut dyn FnMut(Vec<News>)) -> Option<u64> {
        let node = &*self.0;
        let now = node.now();
        let next = node.with_df(|df| {
            let (entries, next) = node.entries_here(df, place, now);
            if !entries.is_empty() {
                tell(entries);
            }
            next
        });
        if next.is_none() {
            tell(vec![News::Introduced]);
        }
        next
    }
}
