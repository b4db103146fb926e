//! Who serves which partition, and which of the messages that come over links are to be taken.

use rustc_hash::FxHashMap;

use crate::store::{Epoch, Partition};

/// Who serves which partition, as far as this node was told, and whose messages it takes. `N` names a node.
///
/// A receiver takes each message once, and each sender's in the order they were sent, though nodes die, partitions move and
/// links break with what is on them. For that it takes a numbered message that came from another node only if
///
/// - that node serves the sender's partition. What comes late from one that did so before may be what the receiver has handled
///   and forgotten; and what a node passes on for another may overtake what that one says itself;
/// - that node has begun to say again, on this link, all it has for the receiver's partition, in the term in which this node
///   serves it now. What it sent before it knew may be what comes after something that was lost.
///
/// What is not taken is dropped: it is said again.
///
/// The protocol: who serves partitions says so to each node when they link, and to all when it takes some over
/// ([`Servers::served`]). Who hears that ([`Servers::hear_serves`]) answers `Again` with the same term, then with all that
/// [`Ledger::say_again`](super::Ledger::say_again) gives, then with what is new. Who hears `Again` notes it
/// ([`Servers::hear_again`]).
#[derive(Debug)]
pub struct Servers<N> {
    lines: Vec<Line<N>>,
    /// Who has begun to say again all it has for a partition served here, and in which term of it.
    complete: FxHashMap<(N, Partition), Epoch>,
}

/// One partition.
#[derive(Clone, Debug)]
struct Line<N> {
    /// The highest that was heard of.
    epoch: Epoch,
    server: Server<N>,
}

#[derive(Clone, Debug)]
enum Server<N> {
    Unknown,
    Here,
    Node(N),
}

/// What it means that a node says that it serves a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is to be told `Again`, and all that there is for it.
    News,
    /// It did so, and another one does by now.
    Stale,
    /// This node served it, and has been deposed.
    Deposed,
}

impl<N: Copy + Eq + std::hash::Hash> Servers<N> {
    /// Nothing is known of so many partitions.
    pub fn new(partitions: u16) -> Self {
        let line = Line { epoch: Epoch::default(), server: Server::Unknown };
        Self { lines: vec![line; usize::from(partitions)], complete: FxHashMap::default() }
    }

    fn line(&mut self, partition: Partition) -> Option<&mut Line<N>> {
        self.lines.get_mut(usize::from(partition.0))
    }

    /// This node serves it from now on, in this term.
    pub fn serve(&mut self, partition: Partition, epoch: Epoch) {
        if let Some(line) = self.line(partition) {
            *line = Line { epoch, server: Server::Here };
        }
    }

    /// This node serves it no more.
    pub fn give_up(&mut self, partition: Partition) {
        if let Some(line) = self.line(partition) {
            line.server = Server::Unknown;
        }
    }

    /// What this node serves, and in which terms.
    pub fn served(&self) -> impl Iterator<Item = (Partition, Epoch)> {
        let here = |line: &Line<N>| matches!(line.server, Server::Here);
        (0..).map(Partition).zip(&self.lines).filter(move |(_, line)| here(line)).map(|(one, line)| (one, line.epoch))
    }

    /// Which other node serves it; none if this one does, or nobody of whom it is known.
    pub fn server_of(&self, partition: Partition) -> Option<N> {
        match self.lines.get(usize::from(partition.0))?.server {
            Server::Node(node) => Some(node),
            Server::Unknown | Server::Here => None,
        }
    }

    /// The link to a node is broken: what was said on it may be lost, so it counts for nothing.
    pub fn unlinked(&mut self, node: N) {
        self.complete.retain(|(other, _), _| *other != node);
        for line in &mut self.lines {
            if matches!(line.server, Server::Node(server) if server == node) {
                line.server = Server::Unknown;
            }
        }
    }

    /// A node says that it serves a partition in this term.
    pub fn hear_serves(&mut self, node: N, partition: Partition, epoch: Epoch) -> Heard {
        let Some(line) = self.line(partition) else { return Heard::Stale };
        let here = matches!(line.server, Server::Here);
        if epoch < line.epoch || (here && epoch == line.epoch) {
            return Heard::Stale;
        }
        *line = Line { epoch, server: Server::Node(node) };
        if here { Heard::Deposed } else { Heard::News }
    }

    /// A node says that all that it has for the partition, which this node serves in this term, follows.
    pub fn hear_again(&mut self, node: N, partition: Partition, epoch: Epoch) {
        self.complete.insert((node, partition), epoch);
    }

    /// Whether a message is to be taken that this node sent, from an agent of the one partition to an agent of the other.
    pub fn takes(&self, node: N, sender: Partition, receiver: Partition) -> bool {
        let Some(Line { epoch, server: Server::Here }) = self.lines.get(usize::from(receiver.0)) else { return false };
        self.server_of(sender) == Some(node) && self.complete.get(&(node, receiver)) == Some(epoch)
    }
}
