//! Ports between a node's scheduler and its links to other nodes. Neither knows the other.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{Aid, Envelope, MessageBody};

use crate::Time;
use crate::limits::NODE_NAME_BYTES_MAX;
use crate::link::{Measured, News};
use crate::route::{NodeId, ShardIndex};

/// Name of a platform's only node, if it has no links and was given no name.
pub const ONLY_NODE: &str = "n1";

/// Links, as the scheduler sees them. Abilities that only some links have are capabilities: [`SocketIo`],
/// [`LinkGauge`].
pub trait Links: Send + Sync {
    /// Takes messages for agents of another node, in order, from a shard. Messages that stay in `batch` cannot be
    /// taken: the link is full, or there is none. Returns how many more may follow before their senders should wait. If
    /// that is 0, [`Station::drained`] tells the shard when they may continue.
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, from: ShardIndex) -> usize;

    /// Takes messages that are passed on for an agent that left for that node, in order. Messages that stay in `batch`
    /// cannot be taken.
    fn forward(&self, _to: NodeId, _batch: &mut Vec<Envelope>) {}

    /// Notes that there is room again, after [`Station::has_room`] said that there was none.
    fn go_on(&self);

    /// Returns the number of messages that wait on links, or that no peer has acknowledged.
    fn waiting(&self) -> u64;

    /// Sends news to every node that knows this one's agents.
    fn tell_all(&self, news: News);

    /// Sends news to one node.
    fn tell(&self, to: NodeId, news: News);

    /// Returns this node's name.
    fn me(&self) -> String;

    /// Returns the name of a node; `None` if there is no such link.
    fn name_of(&self, node: NodeId) -> Option<String>;

    /// Returns the number of a node by its name.
    fn node_named(&self, _name: &str) -> Option<NodeId> {
        None
    }

    /// Returns the nodes that are linked with this one, or are expected to be. News of agents that move ([`News::Hop`])
    /// waits until they are linked, as messages do.
    fn nodes(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// Returns the input and output of the node's sockets, if workers can serve them. Called once, when links are
    /// attached.
    fn io(self: Arc<Self>) -> Option<Arc<dyn SocketIo>> {
        None
    }

    /// Returns the capability to be measured, if the links have it.
    fn gauge(&self) -> Option<&dyn LinkGauge> {
        None
    }
}

/// Input and output of links and sessions on the threads of workers, which would be idle otherwise, or are nearer than
/// others.
pub trait SocketIo: Send + Sync {
    /// Returns true while there is anything to serve. Otherwise a worker rests at its inbox, where it wakes sooner.
    fn is_used(&self) -> bool {
        true
    }

    /// Does pending work on sockets, on this thread, without waiting. For busy workers, from time to time.
    fn poll_io(&self, shard: ShardIndex);

    /// Lets this thread, an idle worker, serve sockets until it is [recalled](SocketIo::recall), or for `at_most`.
    /// `begin` is called just before that, and decides if it begins. Returns false if serving is not needed: then the
    /// worker should rest.
    fn park_on_io(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool;

    /// Ends the [attendance](SocketIo::park_on_io) of this shard's worker, because it has other work.
    fn recall(&self, shard: ShardIndex);

    /// Sets if messages that this thread hands to links and sessions are gathered until it serves the sockets, as it
    /// promises to do soon. Waking their tasks from outside costs more. Returns the setting before.
    fn cork(&self, gathers: bool) -> bool;

    /// Flushes what was [gathered](SocketIo::cork). For the worker of this shard, before it does something else.
    fn flush(&self, shard: ShardIndex);
}

/// Gauge of links: their rates and round trips, from which agents are advised whether a move pays.
pub trait LinkGauge {
    /// Returns the measurements of the link to a node.
    fn measured(&self, node: NodeId) -> Measured;

    /// Measures the link to a node; [`LinkGauge::measured`] returns the result.
    fn measure(&self, node: NodeId);

    /// Returns the recent time of questions to a node.
    fn round_trip(&self, node: NodeId) -> Option<Duration>;
}

/// Station: the scheduler, as the links see it. Messages come by it, and [news](NewsExchange).
pub trait Station: NewsExchange + Send + Sync {
    /// Takes in all messages that arrived from another node, in order.
    fn arrive(&self, from: NodeId, messages: &mut Vec<Envelope>);

    /// Takes in a row of [plain](MessageBody::is_plain) messages without rarer parameters from another node, all from
    /// one agent to this one.
    fn arrive_row(&self, from: NodeId, to: Aid, row: Vec<MessageBody>) {
        self.arrive(from, &mut row.into_iter().map(|body| Envelope { to, body }).collect());
    }

    /// Takes in a message that another node passes on for an agent that left there, whoever sent it.
    fn arrive_forwarded(&self, from: NodeId, message: Envelope);

    /// Returns true if `sender` is an agent of that node, or one that every node has.
    fn speaks_for(&self, node: NodeId, sender: Aid) -> bool;

    /// Keeps a message whose sender is not known to be that node's, if the sender's node is being asked about.
    /// Otherwise returns it: it is forged.
    fn keep_doubtful(&self, _from: NodeId, message: Envelope) -> Option<Envelope> {
        Some(message)
    }

    /// Keeps forged messages as dead letters; nobody is told.
    fn refuse_forged(&self, messages: Vec<Envelope>);

    /// Refuses messages that cannot be sent to any node.
    fn refuse(&self, messages: Vec<Envelope>);

    /// Refuses messages that were about to be handed to a link and that their senders cannot sign.
    fn refuse_unsigned(&self, messages: Vec<Envelope>);

    /// Notes that another node is gone, with its agents, and that these messages did not get there.
    fn lose(&self, node: NodeId, messages: Vec<Envelope>);

    /// Returns true if more messages can be dealt with now. If not, [`Links::go_on`] says when to ask again.
    fn has_room(&self) -> bool;

    /// Lets these shards, which were told to wait, continue: most messages that waited for that node are written.
    fn drained(&self, to: NodeId, shards: &[ShardIndex]);

    /// Returns the time.
    fn now(&self) -> Time;
}

/// Exchange of news between nodes: agents, services and topics, and what happens to them.
pub trait NewsExchange {
    /// Takes in news from another node.
    fn hear(&self, from: NodeId, news: News);

    /// Takes in news like [`NewsExchange::hear`], on the thread of this shard's worker, which is idle and
    /// [serves](SocketIo::park_on_io) the links. Work that the news brings need not wake another worker.
    fn hear_on_worker(&self, _shard: ShardIndex, from: NodeId, news: News) {
        self.hear(from, news);
    }

    /// Hands the beginning of the introduction for a new peer to `tell`, this node's agents above all, while nothing
    /// changes. Later changes are news for the peer, too, and follow. [`NewsExchange::introduce_more`] has the rest,
    /// from place 0 on.
    fn introduce(&self, tell: &mut dyn FnMut(Vec<News>));

    /// Hands a chunk of the rest to `tell`, from this place on, while that part does not change; at last
    /// [`News::Introduced`]. Returns the place of the next chunk. The caller has written the chunk before, so one chunk
    /// at a time is in memory.
    fn introduce_more(&self, place: u64, tell: &mut dyn FnMut(Vec<News>)) -> Option<u64>;
}

/// Returns true if a text is a valid node name: ASCII letters, digits, `-`, `_` and `.`.
pub fn is_node_name(node: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !node.is_empty() && node.len() <= NODE_NAME_BYTES_MAX && node.chars().all(fits)
}
