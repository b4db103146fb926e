//! Node of the simulated cluster: its part in the cluster, its ledger, and the agents that it believes to serve.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::Time;
use whimbrel_platform::cluster::{ClusterTerms, MembershipEnd, Participant};
use whimbrel_platform::durable::{Ledger, Record, Sent, Servers, Ticket};
use whimbrel_platform::store::{Epoch, Partition, WatchNotice};
use whimbrel_testkit::Random;

use super::{PARTITIONS, home};
use crate::durable_actors::Actor;

/// Job of a node that takes time.
pub enum NodeJob {
    Adopt(Vec<(Partition, Epoch)>),
    Yield(Vec<Partition>),
}

/// Batch that a node is writing.
pub struct NodeBatch {
    /// Frames that are not in the journal yet, as far as the node knows.
    pub frames: VecDeque<(Partition, Epoch, u64, Vec<Record>)>,
    /// Records that are in the journal.
    pub written: Vec<Record>,
    /// Messages that leave when all frames are written.
    pub leaves: Vec<(Ticket, Symbol, Sent)>,
    /// Time at which the node hears that all is written.
    pub heard_at: Time,
}

pub struct PlayedMember {
    pub part: Participant,
    pub name: String,
    /// Events that the store has sent, each with the time at which the node hears it.
    pub inbox: VecDeque<(Time, WatchNotice)>,
    pub jobs: VecDeque<(Time, NodeJob)>,
    /// Names of the nodes that it links with.
    pub peers: BTreeSet<String>,
    pub paused_until: Time,
    pub leaving: bool,
    pub ended: Option<MembershipEnd>,
    pub ledger: Ledger,
    pub servers: Servers<usize>,
    pub actors: Vec<Actor>,
    /// Last deeds of agents that have ended.
    pub gone: Vec<Actor>,
    /// Messages that arrived for each name.
    pub taken: BTreeMap<Symbol, HashSet<Ticket>>,
    pub batch: Option<NodeBatch>,
    /// Number of the last frame of each partition.
    pub numbers: BTreeMap<Partition, u64>,
    /// Partitions whose agents have no more turns.
    pub yielding: Vec<Partition>,
    pub next_life: u64,
}

impl PlayedMember {
    pub fn new(terms: ClusterTerms, now: Time) -> Self {
        let mut ledger = Ledger::new(PARTITIONS);
        ledger.keep_letters();
        Self {
            part: Participant::new(terms, now),
            name: String::new(),
            inbox: VecDeque::new(),
            jobs: VecDeque::new(),
            peers: BTreeSet::new(),
            paused_until: now,
            leaving: false,
            ended: None,
            ledger,
            servers: Servers::new(PARTITIONS),
            actors: Vec::new(),
            gone: Vec::new(),
            taken: BTreeMap::new(),
            batch: None,
            numbers: BTreeMap::new(),
            yielding: Vec::new(),
            next_life: 0,
        }
    }

    pub fn runs(&self, now: Time) -> bool {
        self.ended.is_none() && now >= self.paused_until
    }

    pub fn epoch_of(&self, partition: Partition) -> Option<Epoch> {
        self.servers.served().find(|(served, _)| *served == partition).map(|(_, epoch)| epoch)
    }

    pub fn actor(&mut self, name: Symbol) -> Option<&mut Actor> {
        self.actors.iter_mut().find(|actor| actor.name == name)
    }

    pub fn bear(&mut self, name: &str, serial: u64) {
        self.next_life = self.next_life.max(self.ledger.next_life()) + 1;
        self.actors.push(Actor::new(name, self.next_life - 1, serial));
    }

    pub fn end(&mut self, name: Symbol) {
        let Some(place) = self.actors.iter().position(|actor| actor.name == name) else { return };
        let mut actor = self.actors.remove(place);
        for (ticket, _) in actor.mailbox.drain(..) {
            self.ledger.write_off(ticket, name);
        }
        self.gone.push(actor);
    }

    /// Takes a message, whose receiver may be here.
    pub fn take(&mut self, ticket: Ticket, to: Symbol, sent: &Sent) {
        if !self.ledger.serves(home(to)) || !self.taken.entry(to).or_default().insert(ticket) {
            return;
        }
        match self.actor(to) {
            Some(actor) => actor.mailbox.push_back((ticket, sent.message().unwrap())),
            None => self.ledger.write_off(ticket, to),
        }
    }

    /// Gives turns to some agents.
    pub fn give_turns(&mut self, names: &[&str], busy: bool, random: &mut Random) {
        for actor in &mut self.actors {
            if self.yielding.contains(&home(actor.name)) {
                continue;
            }
            if busy && random.one_in(10) {
                actor.send(Symbol::new(random.pick(names).unwrap()));
            }
            if random.one_in(2) {
                let count = random.between(0..=actor.mailbox.len() as u64);
                (0..count).for_each(|_| actor.handle());
            }
        }
    }

    /// Begins to write the deeds of some agents, or of all that are to stop.
    pub fn capture(&mut self, now: Time, random: &mut Random) {
        let mut pieces: BTreeMap<Partition, Vec<Vec<Record>>> = BTreeMap::new();
        for partition in self.ledger.partitions_to_settle() {
            pieces.entry(partition).or_default().push(self.ledger.take_settled(partition));
        }
        let mut leaves = Vec::new();
        let all = !self.yielding.is_empty();
        for actor in self.actors.iter_mut().filter(|actor| is_unwritten(actor)) {
            if all || !random.one_in(4) {
                let (records, left) = actor.capture();
                pieces.entry(home(actor.name)).or_default().push(records);
                leaves.extend(left);
            }
        }
        for mut actor in self.gone.extract_if(.., |_| all || random.one_in(3)) {
            let (mut records, left) = actor.capture();
            records.push(Record::Gone { agent: actor.name, last: actor.last });
            pieces.entry(home(actor.name)).or_default().push(records);
            leaves.extend(left);
        }
        if pieces.is_empty() {
            return;
        }
        let mut frames = VecDeque::new();
        for (partition, pieces) in pieces {
            let epoch = self.epoch_of(partition).unwrap();
            let number = self.numbers.entry(partition).or_default();
            for records in if random.one_in(2) { pieces } else { vec![pieces.concat()] } {
                *number += 1;
                frames.push_back((partition, epoch, *number, records));
            }
        }
        let written = |(ticket, to, message)| (ticket, to, Sent::of(Aid::local(to), &message).unwrap());
        let leaves = leaves.into_iter().map(written).collect();
        self.batch = Some(NodeBatch { frames, written: Vec::new(), leaves, heard_at: now });
    }

    /// Returns true if all deeds of these partitions' agents are written.
    pub fn has_written(&self, partitions: &[Partition]) -> bool {
        let theirs = |actor: &&Actor| partitions.contains(&home(actor.name));
        self.batch.is_none()
            && !self.actors.iter().filter(theirs).any(is_unwritten)
            && !self.gone.iter().any(|actor| theirs(&actor))
    }

    pub fn give_up(&mut self, partitions: &[Partition]) {
        self.ledger.give_up(partitions);
        partitions.iter().for_each(|partition| self.servers.give_up(*partition));
        self.actors.retain(|actor| !partitions.contains(&home(actor.name)));
        self.gone.retain(|actor| !partitions.contains(&home(actor.name)));
        self.taken.retain(|name, _| !partitions.contains(&home(*name)));
    }
}

/// Returns true if the agent did something since it was captured last.
fn is_unwritten(actor: &Actor) -> bool {
    actor.born.is_some() || actor.written != Some(actor.deeds.len())
}
