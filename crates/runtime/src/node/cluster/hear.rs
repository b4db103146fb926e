//! Cluster messages: what other nodes announce about the partitions they serve, and this node's announcements.

use whimbrel_acl::{Aid, Envelope, MessageBody, Name, Numbered, Symbol};
use whimbrel_platform::ams::{AgentKind, ElsewhereError};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::creation::is_creation;
use whimbrel_platform::durable::{AnnouncementKind, Facts, Ticket};
use whimbrel_platform::limits::LINK_NEWS_AGENTS;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Route};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::store::{Epoch, Partition};

use crate::cluster::partitions::{NextServer, PartitionServer, PartitionState, PartitionStates, PartitionTable};
use crate::node::Node;
use crate::node::peers::named;
use crate::shard_command::ShardCommand;
use crate::sync::atomic::Ordering;

impl Node {
    /// Handles the announcement that another node serves partitions, with some of their agents.
    pub fn hear_serves(&self, from: NodeId, partitions: &[(u16, u64)], agents: Vec<(Name, AgentKind)>, more: bool) {
        let Some(cluster) = &self.cluster else { return };
        let mut parts = cluster.lock();
        for &(index, epoch) in partitions {
            self.expect_server(cluster, &mut parts, Partition(index), Epoch(epoch), from);
        }
        let left_out = self.with_ams(|ams| {
            let mut left_out = 0;
            for (name, kind) in agents {
                let Some(part) = parts.part(cluster.partition_of(&name)) else { continue };
                let Some(coming) = part.coming.as_mut().filter(|coming| coming.node == from) else { continue };
                match self.enter_elsewhere(ams, &name, from, kind, false) {
                    Ok(()) => {
                        part.absent.remove(&name);
                        coming.agents.push(name);
                    }
                    Err(ElsewhereError::NameTaken) => {}
                    Err(_) => left_out += 1,
                }
            }
            left_out
        });
        if more {
            drop(parts);
            return self.note_left_out(from, left_out);
        }
        let (mut ended, mut fresh) = (Vec::new(), Vec::new());
        for &(index, _) in partitions {
            if let Some(part) = parts.part(Partition(index)).filter(|part| part.is_coming_from(from)) {
                ended.extend(part.absent.drain());
                fresh.push(Partition(index));
            }
        }
        drop(parts);
        self.note_left_out(from, left_out);
        ended.into_iter().for_each(|name| self.absent_ended(&name));
        if let Some(scribe) = &self.scribe {
            scribe.say_again(from, fresh);
        }
    }

    /// Notes that a partition has another server, or that its server announced itself again.
    fn expect_server(
        &self,
        cluster: &PartitionTable,
        parts: &mut PartitionStates,
        partition: Partition,
        epoch: Epoch,
        from: NodeId,
    ) {
        let coming = parts.part(partition).and_then(|part| part.coming.as_ref());
        if coming.is_some_and(|coming| coming.node == from && coming.epoch == epoch) {
            // The announcement continues: it names more agents of a server that is already known.
            return;
        }
        // This node learns from the journal, not from here, that it was deposed.
        if parts.servers.hear_serves(from, partition, epoch) != AnnouncementKind::News
            || cluster.server(partition) == PartitionServer::HereSoon
        {
            return;
        }
        match cluster.server(partition) {
            PartitionServer::Node(before) if before != from => self.forsake(cluster, parts, &[partition], before),
            _ => cluster.set(partition, PartitionServer::Nobody),
        }
        if let Some(part) = parts.part(partition) {
            part.coming = Some(NextServer { node: from, epoch, agents: Vec::new() });
        }
    }

    /// Opens partitions to the node that serves them. Replays the messages that the node may have missed, sends those
    /// that waited, then lets new messages through. `letters` makes envelopes for a replay round.
    pub fn open_to(&self, to: NodeId, partitions: &[Partition], letters: impl FnOnce(u64) -> Vec<Envelope>) {
        let (Some(cluster), Some(links)) = (&self.cluster, self.linked.links()) else { return };
        let replay_round = cluster.begin_replay_round();
        let open: Vec<(u16, u64)> = {
            let mut parts = cluster.lock();
            let coming = |partition: &Partition| {
                let coming = parts.part(*partition)?.coming.as_ref().filter(|coming| coming.node == to)?;
                Some((partition.0, coming.epoch.0))
            };
            partitions.iter().filter_map(coming).collect()
        };
        let is_open = |letter: &Envelope| {
            let partition = cluster.partition_of(letter.to.name);
            open.iter().any(|(index, _)| *index == partition.0)
        };
        let letters: Vec<Envelope> = letters(replay_round).into_iter().filter(is_open).collect();
        self.count_posted(letters.len() as u64);
        self.note_creations(&letters, to);
        links.tell(to, News::Again { partitions: open.clone(), replay_round });
        let mut batch = letters;
        // Sends without the lock, because handing messages to a link may make it hand others to this node. Nothing is
        // persisted meanwhile, so no numbered message is missing.
        while self.send_all_linked(to, &mut batch) && !self.opened(cluster, to, &open, &mut batch) {}
    }

    /// Hands messages to a link. Returns false if the link cannot take them: it is lost, and its loss is reported
    /// separately.
    fn send_all_linked(&self, to: NodeId, batch: &mut Vec<Envelope>) -> bool {
        let count = batch.len();
        if let Some(links) = self.linked.links().filter(|_| count > 0) {
            links.send(to, batch, 0);
        }
        self.linked.handed.fetch_add((count - batch.len()) as u64, Ordering::Relaxed);
        let lost = std::mem::take(batch);
        let mut commands: Vec<ShardCommand> = self.unsaid(lost).into_iter().map(ShardCommand::Posted).collect();
        let is_lost = !commands.is_empty();
        self.fill(0, |content| content.commands.append(&mut commands));
        !is_lost
    }

    /// Lets new messages go to another node if none waits. Otherwise takes those that wait into `batch`, to be sent
    /// first.
    fn opened(&self, cluster: &PartitionTable, to: NodeId, open: &[(u16, u64)], batch: &mut Vec<Envelope>) -> bool {
        let mut parts = cluster.lock();
        let (mut nobodys, mut left_out) = (Vec::new(), 0);
        for &(index, epoch) in open {
            let Some(part) = parts.part(Partition(index)) else { continue };
            if part.coming.as_ref().is_some_and(|coming| coming.node == to && coming.epoch == Epoch(epoch)) {
                let PartitionState { coming: Some(coming), waiting, .. } = part else { continue };
                let created = waiting.iter().filter(|envelope| is_creation(&envelope.body));
                left_out += created.filter(|envelope| !self.note_creation(coming, envelope.to.name, to)).count();
                let there = |envelope: &Envelope| self.with_ams(|ams| ams.node_of(envelope.to.name)) == Some(to);
                let (mut known, mut unknown) = std::mem::take(waiting).into_iter().partition(there);
                batch.append(&mut known);
                nobodys.append(&mut unknown);
            }
        }
        if batch.is_empty() {
            open.iter()
                .for_each(|(index, epoch)| self.open_one(cluster, &mut parts, to, Partition(*index), Epoch(*epoch)));
        }
        drop(parts);
        self.note_left_out(to, left_out);
        let dead = |envelope| ShardCommand::Undeliverable(envelope, DeadReason::UnknownAgent);
        let mut commands: Vec<ShardCommand> = nobodys.into_iter().map(dead).collect();
        self.fill(0, |content| content.commands.append(&mut commands));
        batch.is_empty()
    }

    fn open_one(
        &self,
        cluster: &PartitionTable,
        parts: &mut PartitionStates,
        to: NodeId,
        partition: Partition,
        epoch: Epoch,
    ) {
        let is_it = |coming: &mut NextServer| coming.node == to && coming.epoch == epoch;
        let Some(part) = parts.part(partition) else { return };
        let Some(coming) = part.coming.take_if(is_it) else { return };
        self.kill_there(part, to);
        self.with_ams(|ams| {
            let there = coming.agents.iter().filter(|name| ams.node_of(*name) == Some(to));
            there.for_each(|name| self.routes.set(name, Route::node(to)));
        });
        cluster.set(partition, PartitionServer::Node(to));
    }

    /// Notes that agents which one of these messages creates live on that node for all messages behind it.
    fn note_creations(&self, letters: &[Envelope], to: NodeId) {
        let Some(cluster) = &self.cluster else { return };
        let mut left_out = 0;
        for Envelope { to: Aid { name, .. }, .. } in letters.iter().filter(|letter| is_creation(&letter.body)) {
            let mut parts = cluster.lock();
            let Some(coming) = parts.part(cluster.partition_of(*name)).and_then(|part| part.coming.as_mut()) else {
                continue;
            };
            left_out += usize::from(!self.note_creation(coming, *name, to));
        }
        self.note_left_out(to, left_out);
    }

    /// Notes that an agent will be on a node that begins to serve its partition. Returns false if that node has more
    /// agents than can be known here.
    fn note_creation(&self, coming: &mut NextServer, name: Symbol, to: NodeId) -> bool {
        let entered = self.with_ams(|ams| {
            let kind = ams.kind_anywhere(Aid::local(name)).unwrap_or(AgentKind::Native);
            let is_new = ams.node_of(name) != Some(to);
            is_new.then(|| self.enter_elsewhere(ams, &name.into(), to, kind, false))
        });
        if entered == Some(Ok(())) {
            coming.agents.push(name.into());
        }
        !matches!(entered, Some(Err(ElsewhereError::NoRoom)))
    }

    /// Handles another node's announcement of a replay: all its messages to these partitions of this node follow.
    pub fn hear_again(&self, from: NodeId, partitions: &[(u16, u64)], replay_round: u64) {
        let Some(cluster) = &self.cluster else { return };
        let mut parts = cluster.lock();
        for &(index, epoch) in partitions {
            parts.servers.hear_again(from, Partition(index), Epoch(epoch));
            parts.replay_rounds.insert((from, Partition(index)), replay_round);
            parts.asked.remove(&(from, Partition(index)));
        }
    }

    /// Asks nodes of these senders to repeat all unsettled messages to an agent of this node, because one is missing
    /// and later ones were not taken. The nodes repeat them as to a new server of the partition.
    #[cold]
    pub fn ask_again(&self, receiver: Symbol, senders: impl IntoIterator<Item = Symbol>) {
        let mut senders = senders.into_iter().peekable();
        let (Some(cluster), Some(scribe), Some(links)) = (&self.cluster, &self.scribe, self.linked.links()) else {
            return;
        };
        if senders.peek().is_none() {
            return;
        }
        let (mut asked, mut parts) = (Vec::new(), cluster.lock());
        let partition = cluster.partition_of(receiver);
        let Some((_, epoch)) = parts.servers.served().find(|(served, _)| *served == partition) else { return };
        for sender in senders {
            let theirs = cluster.partition_of(sender);
            match parts.servers.server_of(theirs) {
                Some(node) if parts.asked.insert((node, partition)) => {
                    asked.push(sender);
                    let partitions = vec![(partition.0, epoch.0)];
                    links.tell(node, News::Serves { partitions, agents: Vec::new(), more: false });
                }
                None if cluster.server(theirs) == PartitionServer::Here && parts.asked_here.insert(partition) => {
                    asked.push(sender);
                    scribe.say_again_here(partition);
                }
                // The node was asked already, or the sender's next server repeats its messages anyway.
                _ => {}
            }
        }
        drop(parts);
        for sender in asked {
            let text = format!("a message of {sender} is missing: {sender} says again what is not settled");
            self.output.log(Aid::local(receiver), LogLevel::Debug, &text);
        }
    }

    /// Repeats the messages of this node's agents to agents of a partition that it serves.
    pub fn say_again_here(&self, partition: Partition, letters: impl FnOnce(u64) -> Vec<Envelope>) {
        let Some(cluster) = &self.cluster else { return };
        let mut parts = cluster.lock();
        parts.asked_here.remove(&partition);
        if cluster.server(partition) == PartitionServer::Here {
            let letters = letters(cluster.begin_replay_round());
            self.count_posted(letters.len() as u64);
            self.have_sent(letters);
        }
    }

    /// Returns true if another node has announced that it serves an agent's partition. That node speaks for the agent
    /// from then on, though messages to the agent wait until the node has received its replay.
    pub fn serves_partition_of(&self, node: NodeId, agent: Symbol) -> bool {
        let serves =
            |cluster: &PartitionTable| cluster.lock().servers.server_of(cluster.partition_of(agent)) == Some(node);
        self.cluster.as_ref().is_some_and(serves)
    }

    /// Records what another node reports about the fate of messages.
    pub fn hear_facts(&self, facts: Facts) {
        if let Some(scribe) = self.scribe.as_ref().filter(|_| self.cluster.is_some()) {
            scribe.hear(facts);
        }
    }

    /// Drops messages from a link that arrive too early or too late; their sender will repeat them. Returns their
    /// number.
    pub fn drop_untimely(&self, from: NodeId, messages: &mut Vec<Envelope>) -> u64 {
        let Some(cluster) = self.cluster.as_ref().filter(|_| messages.iter().any(is_numbered)) else { return 0 };
        let parts = cluster.lock();
        let count = messages.len();
        messages.retain_mut(|Envelope { to, body }| {
            let MessageBody::Numbered(numbered) = body else { return true };
            let replay_round = std::mem::replace(&mut numbered.replay_round, Numbered::LATEST);
            let (sender, receiver) = (numbered.message.sender.name, cluster.partition_of(to.name));
            let is_latest = parts.replay_rounds.get(&(from, receiver)).is_some_and(|latest| replay_round >= *latest);
            is_latest && parts.servers.takes(from, cluster.partition_of(sender), receiver)
        });
        (count - messages.len()) as u64
    }

    /// Returns the other node that has to refuse a numbered message to a missing agent: the server of the receiver's
    /// partition. The refusal is recorded there, so the message does not arrive later.
    pub fn refuses_for(&self, envelope: &Envelope) -> Option<NodeId> {
        match self.cluster.as_ref()?.server_of(envelope.to.name) {
            PartitionServer::Node(node) if is_numbered(envelope) => Some(node),
            _ => None,
        }
    }

    /// Turns a numbered message into a plain one if its local receiver is not durable: no one accounts for it any
    /// more.
    pub fn for_keeps(&self, envelope: Envelope) -> Envelope {
        match (envelope.body, &self.scribe) {
            (MessageBody::Numbered(numbered), Some(scribe)) if !scribe.is_durable(envelope.to.name) => {
                scribe.write_off(Ticket::of(&numbered), envelope.to.name);
                Envelope { to: envelope.to, body: MessageBody::Numbered(numbered).for_many() }
            }
            (body, _) => Envelope { to: envelope.to, body },
        }
    }

    /// Handles the announcement that another node stops serving partitions.
    pub fn hear_yields(&self, from: NodeId, partitions: &[u16], agents: Vec<Name>) {
        let Some(cluster) = &self.cluster else { return };
        let mut parts = cluster.lock();
        for partition in partitions.iter().copied().map(Partition) {
            let Some(part) = parts.part(partition) else { continue };
            if cluster.server(partition) == PartitionServer::Node(from) || part.is_coming_from(from) {
                part.before = Some(from);
                part.coming = None;
                cluster.set(partition, PartitionServer::Nobody);
            }
        }
        // Agents that another node has announced as its own meanwhile live there.
        let left: Vec<Name> =
            self.with_ams(|ams| agents.into_iter().filter(|name| ams.node_of(name) == Some(from)).collect());
        for name in left {
            self.routes.clear(&name, from);
            if let Some(part) = parts.part(cluster.partition_of(&name)) {
                part.absent.insert(name);
            }
        }
    }

    /// Returns the announcement for a new peer of the partitions that this node serves, and of their agents.
    pub fn served(&self, parts: &PartitionStates, agents: &[(Symbol, AgentKind)]) -> Vec<News> {
        serves(&parts.served(), agents)
    }
}

pub(super) fn is_numbered(envelope: &Envelope) -> bool {
    matches!(envelope.body, MessageBody::Numbered(_))
}

/// Builds the announcement that this node serves partitions, with their agents, in pieces that a link can carry.
pub(super) fn serves(partitions: &[(u16, u64)], agents: &[(Symbol, AgentKind)]) -> Vec<News> {
    if partitions.is_empty() {
        return Vec::new();
    }
    let pieces = agents.chunks(LINK_NEWS_AGENTS).chain(agents.is_empty().then_some(&[][..]));
    let mut news: Vec<News> = pieces
        .map(|agents| News::Serves { partitions: partitions.to_vec(), agents: named(agents), more: true })
        .collect();
    if let Some(News::Serves { more, .. }) = news.last_mut() {
        *more = false;
    }
    news
}
