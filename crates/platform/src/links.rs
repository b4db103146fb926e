//! Ports between a node's scheduler and its links to other nodes. Neither knows the other.

use std::time::Duration;

use whimbrel_acl::{Aid, Envelope, MessageBody};

use crate::Time;
use crate::limits::NODE_NAME_BYTES_MAX;
use crate::link::{Measured, News};
use crate::route::{NodeId, ShardIndex};

/// Name of a platform's only node, if it has no links and was given no name.
pub const ONLY_NODE: &str = "n1";

/// Links, as the scheduler sees them.
pub trait Links: Send + Sync {
    /// Takes messages for agents of another node, in order, from a shard. Messages that stay in `batch` cannot be
    /// taken: the link is full, or there is none. Returns how many more may follow before their senders should wait. If
    /// that is 0, [`Station::drained`] tells the shard when they may continue.
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, from: ShardIndex) -> usize;

    /// Does pending work on links, on this thread, without waiting. For busy workers, from time to time.
    fn poll_io(&self, _shard: ShardIndex) {}

    /// Lets this thread, an idle worker, serve links until it is [recalled](Links::recall), or for `at_most`. `begin`
    /// is called just before that, and decides if it begins. Returns false if serving is not needed: then the worker
    /// should rest.
    fn park_on_io(&self, _shard: ShardIndex, _at_most: Option<Duration>, _begin: &dyn Fn() -> bool) -> bool {
        false
    }

    /// Sets if messages that this thread hands to links are gathered until it drives or attends the links, as it
    /// promises to do soon. Calling a link from outside costs more. Returns the setting before.
    fn cork(&self, _gathers: bool) -> bool {
        false
    }

    /// Flushes what was [gathered](Links::cork). For the worker of this shard, before it does something else.
    fn flush(&self, _shard: ShardIndex) {}

    /// Ends the [attendance](Links::park_on_io) of this shard's worker, because it has other work.
    fn recall(&self, _shard: ShardIndex) {}

    /// Notes that there is room again, after [`Station::has_room`] said that there was none.
    fn go_on(&self);

    /// Sends news to every node that knows this one's agents.
    fn tell_all(&self, news: News);

    /// Sends news to one node.
    fn tell(&self, to: NodeId, news: News);

    /// Takes messages that are passed on for an agent that left for that node, in order. Messages that stay in `batch`
    /// cannot be taken.
    fn forward(&self, _to: NodeId, _batch: &mut Vec<Envelope>) {}

    /// Returns the nodes that are linked with this one, or are expected to be. News of agents that move ([`News::Hop`])
    /// waits until they are linked, as messages do.
    fn nodes(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// Returns the number of a node by its name.
    fn node_named(&self, _name: &str) -> Option<NodeId> {
        None
    }

    /// Returns the measurements of the link to a node.
    fn measured(&self, _node: NodeId) -> Measured {
        Measured::default()
    }

    /// Measures the link to a node; [`Links::measured`] returns the result.
    fn measure(&self, _node: NodeId) {}

    /// Returns the recent time of questions to a node.
    fn round_trip(&self, _node: NodeId) -> Option<Duration> {
        None
    }

    /// Returns the number of messages that wait on links, or that no peer has acknowledged.
    fn waiting(&self) -> u64;

    /// Returns this node's name.
    fn me(&self) -> String;

    /// Returns the name of a node; `None` if there is no such link.
    fn name_of(&self, node: NodeId) -> Option<String>;
}

/// Station: the scheduler, as the links see it.
pub trait Station: Send + Sync {
    /// Takes in all messages that arrived from another node, in order.
    fn arrive(&self, from: NodeId, messages: &mut Vec<Envelope>);

    /// Takes in a row of [plain](MessageBody::is_plain) messages without rarer parameters from another node, all from
    /// one agent to this one.
    fn arrive_row(&self, from: NodeId, to: Aid, row: Vec<MessageBody>) {
        self.arrive(from, &mut row.into_iter().map(|body| Envelope { to, body }).collect());
    }

    /// Takes in a message that another node passes on for an agent that left there, whoever sent it.
    fn arrive_forwarded(&self, from: NodeId, message: Envelope);

    /// Takes in news from another node.
    fn hear(&self, from: NodeId, news: News);

    /// Takes in news like [`Station::hear`], on the thread of this shard's worker, which is idle and
    /// [serves](Links::park_on_io) the links. Work that the news brings need not wake another worker.
    fn hear_on_worker(&self, _shard: ShardIndex, from: NodeId, news: News) {
        self.hear(from, news);
    }

    /// Hands the beginning of the introduction for a new peer to `tell`, this node's agents above all, while nothing
    /// changes. Later changes are news for the peer, too, and follow. [`Station::introduce_more`] has the rest, from
    /// place 0 on.
    fn introduce(&self, tell: &mut dyn FnMut(Vec<News>));

    /// Hands a chunk of the rest to `tell`, from this place on, while that part does not change; at last
    /// [`News::Introduced`]. Returns the place of the next chunk. The caller has written the chunk before, so one chunk
    /// at a time is in memory.
    fn introduce_more(&self, place: u64, tell: &mut dyn FnMut(Vec<News>)) -> Option<u64>;

    /// Notes that another node is gone, with its agents, and that these messages did not get there.
    fn lose(&self, node: NodeId, messages: Vec<Envelope>);

    /// Refuses messages that cannot be sent to any node.
    fn refuse(&self, messages: Vec<Envelope>);

    /// Refuses messages that were about to be handed to a link and that their senders cannot sign.
    fn refuse_unsigned(&self, messages: Vec<Envelope>);

    /// Returns true if `sender` is an agent of that node, or one that every node has.
    fn speaks_for(&self, node: NodeId, sender: Aid) -> bool;

    /// Keeps a message whose sender is not known to be that node's, if the sender's node is being asked about.
    /// Otherwise returns it: it is forged.
    fn keep_doubtful(&self, _from: NodeId, message: Envelope) -> Option<Envelope> {
        Some(message)
    }

    /// Keeps forged messages as dead letters; nobody is told.
    fn refuse_forged(&self, messages: Vec<Envelope>);

    /// Returns true if more messages can be dealt with now. If not, [`Links::go_on`] says when to ask again.
    fn has_room(&self) -> bool;

    /// Lets these shards, which were told to wait, continue: most messages that waited for that node are written.
    fn drained(&self, to: NodeId, shards: &[ShardIndex]);

    /// Returns the time.
    fn now(&self) -> Time;
}

/// Returns true if a text is a valid node name: ASCII letters, digits, `-`, `_` and `.`.
pub fn is_node_name(node: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !node.is_empty() && node.len() <= NODE_NAME_BYTES_MAX && node.chars().all(fits)
}
