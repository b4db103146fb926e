//! All nodes of a society, with their links and store, on a virtual clock.

use std::collections::BTreeMap;
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::cluster::{AdoptError, ClusterAction, ClusterTerms, LEVEL, MembershipEnd, Nonce, YieldFailure};
use whimbrel_platform::durable::{AnnouncementKind, JournalReplay, Letter, Ticket, decode_frame};
use whimbrel_platform::durable::{Resumed, Sent};
use whimbrel_platform::store::{AppendError, Epoch, OpenError, Partition, StoreError, WatchNotice};
use whimbrel_testkit::Random;

use super::network::{SocietyNetwork, SocietyNews};
use super::node::{NodeJob, PlayedMember};
use super::store::SocietyStore;
use super::{MORTALS, NAMES, PARTITIONS, home, is_mortal};
use crate::durable_actors::Actor;

const STEP: Duration = Duration::from_millis(25);
pub const PATIENCE: Duration = Duration::from_secs(2);

pub struct SocietyWorld {
    pub now: Time,
    pub random: Random,
    pub store: SocietyStore,
    pub network: SocietyNetwork,
    pub nodes: Vec<PlayedMember>,
    /// True while agents send, end and are born.
    pub busy: bool,
    /// Number of agents that ever lived.
    born: u64,
}

impl SocietyWorld {
    pub fn new(seed: u64) -> Self {
        let (store, network) = (SocietyStore::new(PARTITIONS), SocietyNetwork::default());
        Self { now: Time::ZERO, random: Random::new(seed), store, network, nodes: Vec::new(), busy: true, born: 0 }
    }

    /// Starts a node.
    pub fn start(&mut self, weight: u32) {
        let terms = ClusterTerms {
            me: Nonce(self.random.next_u64()),
            name: None,
            level: LEVEL,
            weight,
            standby: false,
            fresh: false,
            alone: false,
            patience: PATIENCE,
            project: "garden".into(),
            token: "secret".into(),
            process: "a test".into(),
            layout: PARTITIONS.into(),
            labels: Vec::new(),
            programs: BTreeMap::new(),
        };
        let mut node = PlayedMember::new(terms, self.now);
        if !self.store.away {
            node.inbox.extend(self.store.all().into_iter().map(|watched| (self.now, watched)));
        }
        self.nodes.push(node);
    }

    pub fn end(&mut self, index: usize, ending: MembershipEnd) {
        let node = &mut self.nodes[index];
        node.ended = Some(ending);
        node.batch = None;
        let (now, other) = (self.now, 0..self.nodes.len());
        for other in other.filter(|other| *other != index) {
            self.network.cut(index, other, now, Duration::ZERO, &mut self.random);
        }
    }

    pub fn living(&self) -> impl Iterator<Item = &PlayedMember> {
        self.nodes.iter().filter(|node| node.ended.is_none())
    }

    pub fn tell_all(&mut self, watched: &WatchNotice) {
        let delay = Duration::from_millis(self.random.between(0..=120));
        for node in self.nodes.iter_mut().filter(|node| node.ended.is_none()) {
            let after = node.inbox.back().map_or(Time::ZERO, |(at, _)| *at);
            node.inbox.push_back((after.max(self.now + delay), watched.clone()));
        }
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now = self.now + STEP;
            for index in 0..self.nodes.len() {
                if self.nodes[index].runs(self.now) {
                    self.step(index);
                }
            }
        }
    }

    /// Runs the threads of a node, of which each may be late and none waits for another.
    fn step(&mut self, index: usize) {
        let first = self.random.between(0..=2);
        for thread in [first, (first + 1) % 3, (first + 2) % 3] {
            if self.nodes[index].ended.is_some() {
                return;
            }
            match thread {
                _ if self.random.one_in(8) => {}
                0 => self.listen(index),
                1 => self.take_part(index),
                _ => self.work(index),
            }
        }
    }

    fn listen(&mut self, index: usize) {
        self.look_at_links(index);
        for from in 0..self.nodes.len() {
            while self.nodes[index].ended.is_none()
                && let Some(news) = self.network.receive(from, index, self.now)
            {
                self.hear(index, from, news);
            }
        }
    }

    fn look_at_links(&mut self, index: usize) {
        for other in (0..self.nodes.len()).filter(|other| *other != index) {
            if self.network.notices(index, other, self.now) {
                self.nodes[index].servers.unlinked(other);
            }
            if self.nodes[other].runs(self.now)
                && self.nodes[index].peers.contains(&self.nodes[other].name)
                && self.network.link(index, other, self.now)
            {
                for (from, to) in [(index, other), (other, index)] {
                    let serves = self.nodes[from].servers.served().collect();
                    self.say(from, to, SocietyNews::Serves(serves));
                }
            }
        }
    }

    fn say(&mut self, from: usize, to: usize, news: SocietyNews) {
        self.network.send(from, to, news, self.now, &mut self.random);
    }

    /// Runs the node's part in the cluster.
    fn take_part(&mut self, index: usize) {
        let (now, node) = (self.now, &mut self.nodes[index]);
        while let Some((_, watched)) = node.inbox.pop_front_if(|(at, _)| *at <= now) {
            node.part.told(watched, now);
        }
        if let Some((_, job)) = node.jobs.pop_front_if(|(at, _)| *at <= now) {
            self.finish(index, job);
        }
        let node = &mut self.nodes[index];
        if node.leaving && node.part.has_handed_over(now) {
            // The last node does not hand over: it stops.
            node.part.leave();
            let served: Vec<Partition> = node.servers.served().map(|(partition, _)| partition).collect();
            node.give_up(&served);
            node.batch = None;
        }
        let mut acts = 0;
        while self.nodes[index].ended.is_none()
            && let Some(action) = self.nodes[index].part.act(now)
        {
            self.carry_out(index, action);
            acts += 1;
            assert!(acts < 1_000, "it never has enough");
        }
    }

    fn carry_out(&mut self, index: usize, action: ClusterAction) {
        let now = self.now;
        match action {
            ClusterAction::Write(key, expected, value) => {
                let (outcome, watched) = self.store.write(&key, expected, Some(&value), &mut self.random);
                watched.iter().for_each(|watched| self.tell_all(watched));
                self.nodes[index].part.wrote(&key, outcome, now);
            }
            ClusterAction::Remove(key, expected) => {
                let (outcome, watched) = self.store.write(&key, expected, None, &mut self.random);
                watched.iter().for_each(|watched| self.tell_all(watched));
                self.nodes[index].part.wrote(&key, outcome, now);
            }
            ClusterAction::Read(key) => {
                let outcome = self.store.key(&key);
                self.nodes[index].part.read(&key, outcome, now);
            }
            ClusterAction::Adopt(partitions) => self.later(index, NodeJob::Adopt(partitions)),
            ClusterAction::Yield(partitions) => {
                self.nodes[index].yielding.extend(&partitions);
                self.later(index, NodeJob::Yield(partitions));
            }
            ClusterAction::Accepted { name, .. } => {
                self.nodes[index].part.begin(format!("{name}:1"));
                self.nodes[index].name = name;
            }
            ClusterAction::LinkWith(peers) => {
                self.nodes[index].peers = peers.into_iter().map(|(name, _)| name).collect()
            }
            ClusterAction::Note(_) | ClusterAction::Moved { .. } => {}
            ClusterAction::Forget(_) | ClusterAction::Conclude => panic!("nobody asked for that"),
            ClusterAction::End(ending) => self.end(index, ending),
        }
    }

    fn later(&mut self, index: usize, job: NodeJob) {
        let after = self.nodes[index].jobs.back().map_or(self.now, |(at, _)| *at);
        let at = after.max(self.now) + Duration::from_millis(self.random.between(0..=400));
        self.nodes[index].jobs.push_back((at, job));
    }

    fn finish(&mut self, index: usize, job: NodeJob) {
        let now = self.now;
        match job {
            NodeJob::Adopt(partitions) => {
                let failed = self.adopt(index, &partitions);
                self.nodes[index].part.adopted(&partitions, failed, now);
            }
            NodeJob::Yield(partitions) => {
                let node = &mut self.nodes[index];
                if !node.has_written(&partitions) {
                    // Not before all is written.
                    return node.jobs.push_front((now, NodeJob::Yield(partitions)));
                }
                let given_up = self.random.one_in(10);
                let node = &mut self.nodes[index];
                node.yielding.retain(|partition| !partitions.contains(partition));
                if given_up {
                    let stuck = partitions.iter().map(|partition| (*partition, YieldFailure("not now".into())));
                    return node.part.yielded(&partitions, stuck.collect(), now);
                }
                node.give_up(&partitions);
                node.part.yielded(&partitions, Vec::new(), now);
            }
        }
    }

    fn adopt(&mut self, index: usize, partitions: &[(Partition, Epoch)]) -> Vec<(Partition, AdoptError)> {
        let (mut opened, mut failed) = (Vec::new(), Vec::new());
        for (partition, epoch) in partitions {
            match self.store.open(index, *partition, *epoch) {
                Ok(_) => opened.push((*partition, *epoch)),
                Err(OpenError::Fenced { by, .. }) => failed.push((*partition, AdoptError::Fenced { by })),
                Err(other) => failed.push((*partition, AdoptError::Store(StoreError::Away(other.to_string())))),
            }
        }
        if !opened.is_empty() {
            self.serve(index, &opened);
        }
        failed
    }

    fn serve(&mut self, index: usize, partitions: &[(Partition, Epoch)]) {
        let all: Vec<Partition> = partitions.iter().map(|(partition, _)| *partition).collect();
        let mut arrears = JournalReplay::of(PARTITIONS, &all);
        for partition in &all {
            self.store.frames(*partition).iter().for_each(|bytes| arrears.read(decode_frame(bytes).unwrap()));
        }
        let (books, agents, letters) = arrears.finish();
        let node = &mut self.nodes[index];
        node.ledger.take_over(books, &letters);
        for (partition, epoch) in partitions {
            node.servers.serve(*partition, *epoch);
            node.numbers.insert(*partition, self.store.last(*partition));
        }
        for name in NAMES.map(Symbol::new).into_iter().filter(|name| all.contains(&home(*name))) {
            node.taken.insert(name, node.ledger.tickets_of(name).collect());
        }
        self.resume(index, &all, agents);
        for other in 0..self.nodes.len() {
            self.say(index, other, SocietyNews::Serves(partitions.to_vec()));
        }
        let others = self.nodes[index].ledger.letters_to(&all);
        self.dispatch_all(index, letters.into_iter().chain(others));
        self.tell(index);
    }

    fn resume(&mut self, index: usize, partitions: &[Partition], agents: Vec<Resumed>) {
        let node = &mut self.nodes[index];
        node.actors.extend(agents.into_iter().map(Actor::resumed));
        for name in NAMES.iter().filter(|name| !is_mortal(name) && partitions.contains(&home(Symbol::new(name)))) {
            if node.actor(Symbol::new(name)).is_none() {
                // Nothing of the agent was written: it begins, as all agents of the society do.
                self.born += 1;
                node.bear(name, self.born);
            }
        }
    }

    /// Gives agents turns, and begins to write their deeds.
    fn work(&mut self, index: usize) {
        if self.busy && self.random.one_in(20) {
            self.change_mortal(index);
        }
        let node = &mut self.nodes[index];
        node.give_turns(&NAMES, self.busy, &mut self.random);
        if node.batch.is_none() && (!node.yielding.is_empty() || self.random.one_in(2)) {
            node.capture(self.now, &mut self.random);
        }
        self.write(index);
        if self.nodes[index].ended.is_none() && self.busy && self.random.one_in(60) {
            self.condense(index);
        }
    }

    fn change_mortal(&mut self, index: usize) {
        let mortal = MORTALS[self.random.between(0..=MORTALS.len() as u64 - 1) as usize];
        let (name, node) = (Symbol::new(mortal), &mut self.nodes[index]);
        if node.epoch_of(home(name)).is_none() || node.yielding.contains(&home(name)) {
            return;
        }
        if node.actor(name).is_some() {
            node.end(name);
        } else {
            self.born += 1;
            node.bear(mortal, self.born);
        }
    }

    /// Writes some of the batch. When all is written, its messages leave.
    fn write(&mut self, index: usize) {
        let Some(batch) = &mut self.nodes[index].batch else { return };
        for _ in 0..self.random.between(0..=3) {
            let Some((partition, epoch, number, records)) = batch.frames.front() else { break };
            match self.store.append(*partition, *epoch, *number, records, &mut self.random) {
                Ok(()) => batch.written.extend(batch.frames.pop_front().unwrap().3),
                Err(AppendError::Fenced { .. }) => return self.end(index, MembershipEnd::Deposed),
                Err(_) => break,
            }
            batch.heard_at = self.now + Duration::from_millis(self.random.between(0..=80));
        }
        if !batch.frames.is_empty() || self.now < batch.heard_at {
            return;
        }
        let Some(batch) = self.nodes[index].batch.take() else { return };
        for record in batch.written {
            self.nodes[index].ledger.note(record);
        }
        self.dispatch_all(index, batch.leaves.into_iter().map(|(ticket, _, sent)| (ticket, sent.to, sent)));
        self.tell(index);
    }

    /// Rewrites the journal of a partition; half the time, the node dies in the middle of that.
    fn condense(&mut self, index: usize) {
        let node = &self.nodes[index];
        let served: Vec<(Partition, Epoch)> = node.servers.served().collect();
        let Some(&(partition, epoch)) = self.random.pick(&served).filter(|_| node.batch.is_none()) else { return };
        let mut arrears = JournalReplay::of(PARTITIONS, &[partition]);
        self.store.frames(partition).iter().for_each(|bytes| arrears.read(decode_frame(bytes).unwrap()));
        let pieces = arrears.condense(&node.ledger);
        let dies = self.random.one_in(20);
        let count = if dies { self.random.between(0..=pieces.len() as u64) as usize } else { pieces.len() };
        if !self.store.away && !self.store.rewrite(partition, epoch, pieces, count) || dies {
            return self.end(index, MembershipEnd::Deposed);
        }
        self.nodes[index].numbers.insert(partition, self.store.last(partition));
    }

    fn dispatch_all(&mut self, from: usize, letters: impl Iterator<Item = Letter>) {
        letters.for_each(|(ticket, to, sent)| self.dispatch(from, ticket, to.name, sent));
    }

    /// Sends a written message from its sender's node.
    fn dispatch(&mut self, from: usize, ticket: Ticket, to: Symbol, sent: Sent) {
        assert_eq!(self.store.sent.get(&ticket), Some(&sent), "what is not written leaves");
        match self.nodes[from].servers.server_of(home(to)) {
            Some(server) => self.say(from, server, SocietyNews::Letter(ticket, to, sent)),
            None => self.nodes[from].take(ticket, to, &sent),
        }
    }

    /// Sends facts to other nodes, and tells receivers what they may forget.
    fn tell(&mut self, from: usize) {
        while let Some((partition, facts)) = self.nodes[from].ledger.poll_facts() {
            for receipt in facts.handled.iter().chain(&facts.known) {
                assert_eq!(self.store.handled.get(&receipt.ticket()), Some(&receipt.by));
            }
            if let Some(server) = self.nodes[from].servers.server_of(partition) {
                self.say(from, server, SocietyNews::Facts(facts));
            }
        }
        let node = &mut self.nodes[from];
        for (receiver, ticket) in node.ledger.take_known() {
            node.taken.get_mut(&receiver).map(|taken| taken.remove(&ticket));
        }
    }

    fn hear(&mut self, index: usize, from: usize, news: SocietyNews) {
        match news {
            SocietyNews::Serves(partitions) => {
                for (partition, epoch) in partitions {
                    self.hear_serves(index, from, partition, epoch);
                }
            }
            SocietyNews::Again(partition, epoch) => self.nodes[index].servers.hear_again(from, partition, epoch),
            SocietyNews::Letter(ticket, to, sent) => {
                let node = &mut self.nodes[index];
                if node.servers.takes(from, home(ticket.sender), home(to)) {
                    node.take(ticket, to, &sent);
                }
            }
            SocietyNews::Facts(facts) => self.nodes[index].ledger.hear(&facts),
        }
        self.tell(index);
    }

    fn hear_serves(&mut self, index: usize, from: usize, partition: Partition, epoch: Epoch) {
        match self.nodes[index].servers.hear_serves(from, partition, epoch) {
            AnnouncementKind::News => {
                let letters = self.nodes[index].ledger.say_again(&[partition]);
                self.say(index, from, SocietyNews::Again(partition, epoch));
                self.dispatch_all(index, letters.into_iter());
            }
            AnnouncementKind::Stale => {}
            AnnouncementKind::Deposed => self.end(index, MembershipEnd::Deposed),
        }
    }
}
