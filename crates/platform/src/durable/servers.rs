//! Servers of partitions: the node that serves each partition, and the messages that this node accepts from links.

use rustc_hash::FxHashMap;

use crate::store::{Epoch, Partition};

/// Servers of partitions, as far as this node was told, and the messages that it accepts from them. `N` names a node.
///
/// A receiver must take each message once, and each sender's messages in order, though nodes die, partitions move, and
/// links break with messages on them. So a node accepts a numbered message from another node only under two conditions:
///
/// - That node serves the sender's partition. A late message from an earlier server may be one that the receiver
///   handled and forgot. A message that a node passes on for another may overtake the other's own messages.
/// - That node has begun to send again, on this link, all its unsettled messages for the receiver's partition, in this
///   node's current epoch. An earlier message may follow one that was lost.
///
/// Other messages are dropped: they are sent again.
///
/// Protocol: a node that serves partitions says so to each node when they link, and to all nodes when it takes over a
/// partition ([`Servers::served`]). A node that hears this ([`Servers::hear_serves`]) answers `Again` with the same
/// epoch, then sends all that [`Ledger::say_again`](super::Ledger::say_again) returns, then new messages. A node that
/// hears `Again` notes it ([`Servers::hear_again`]).
///
/// Order of calls: [`Servers::serve`] and [`Servers::give_up`] as the node's own partitions change, and the `hear_`
/// functions as announcements arrive. Call [`Servers::unlinked`] when a link breaks, and [`Servers::takes`] before each
/// delivery.
#[derive(Debug)]
pub struct Servers<N> {
    lines: Vec<ServerEntry<N>>,
    /// Nodes that have begun to send again all their messages for a partition served here, with the epoch of that.
    complete: FxHashMap<(N, Partition), Epoch>,
}

/// Server of one partition.
#[derive(Clone, Debug)]
struct ServerEntry<N> {
    /// Highest epoch that was reported.
    epoch: Epoch,
    server: Server<N>,
}

#[derive(Clone, Debug)]
enum Server<N> {
    Unknown,
    Here,
    Node(N),
}

/// Meaning of another node's announcement that it serves a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnouncementKind {
    /// News: that node is to be told `Again`, and all messages for the partition.
    News,
    /// Outdated: another node serves the partition by now.
    Stale,
    /// Deposition: this node served the partition, and does so no longer.
    Deposed,
}

impl<N: Copy + Eq + std::hash::Hash> Servers<N> {
    /// Returns the servers of this number of partitions, all unknown.
    pub fn new(partitions: u16) -> Self {
        let line = ServerEntry { epoch: Epoch::default(), server: Server::Unknown };
        Self { lines: vec![line; usize::from(partitions)], complete: FxHashMap::default() }
    }

    fn line(&mut self, partition: Partition) -> Option<&mut ServerEntry<N>> {
        self.lines.get_mut(usize::from(partition.0))
    }

    /// Notes that this node serves a partition from now on, in this epoch.
    pub fn serve(&mut self, partition: Partition, epoch: Epoch) {
        if let Some(line) = self.line(partition) {
            *line = ServerEntry { epoch, server: Server::Here };
        }
    }

    /// Notes that this node no longer serves a partition.
    pub fn give_up(&mut self, partition: Partition) {
        if let Some(line) = self.line(partition) {
            line.server = Server::Unknown;
        }
    }

    /// Returns the partitions that this node serves, with their epochs.
    pub fn served(&self) -> impl Iterator<Item = (Partition, Epoch)> {
        let here = |line: &ServerEntry<N>| matches!(line.server, Server::Here);
        (0..).map(Partition).zip(&self.lines).filter(move |(_, line)| here(line)).map(|(one, line)| (one, line.epoch))
    }

    /// Returns the other node that serves a partition. `None` if this node serves it, or the server is unknown.
    pub fn server_of(&self, partition: Partition) -> Option<N> {
        match self.lines.get(usize::from(partition.0))?.server {
            Server::Node(node) => Some(node),
            Server::Unknown | Server::Here => None,
        }
    }

    /// Notes that the link to a node is broken: announcements on it count no longer, because messages on it may be
    /// lost.
    pub fn unlinked(&mut self, node: N) {
        self.complete.retain(|(other, _), _| *other != node);
        for line in &mut self.lines {
            if matches!(line.server, Server::Node(server) if server == node) {
                line.server = Server::Unknown;
            }
        }
    }

    /// Takes in a node's announcement that it serves a partition in this epoch.
    pub fn hear_serves(&mut self, node: N, partition: Partition, epoch: Epoch) -> AnnouncementKind {
        let Some(line) = self.line(partition) else { return AnnouncementKind::Stale };
        let here = matches!(line.server, Server::Here);
        if epoch < line.epoch || (here && epoch == line.epoch) {
            return AnnouncementKind::Stale;
        }
        *line = ServerEntry { epoch, server: Server::Node(node) };
        if here { AnnouncementKind::Deposed } else { AnnouncementKind::News }
    }

    /// Takes in a node's announcement that all its messages for a partition follow. This node serves the partition in
    /// this epoch.
    pub fn hear_again(&mut self, node: N, partition: Partition, epoch: Epoch) {
        self.complete.insert((node, partition), epoch);
    }

    /// Returns true if this node accepts a message from that node, sent by an agent of the one partition to an agent of
    /// the other.
    pub fn takes(&self, node: N, sender: Partition, receiver: Partition) -> bool {
        let Some(ServerEntry { epoch, server: Server::Here }) = self.lines.get(usize::from(receiver.0)) else {
            return false;
        };
        self.server_of(sender) == Some(node) && self.complete.get(&(node, receiver)) == Some(epoch)
    }
}
