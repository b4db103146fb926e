//! The ports between a node's scheduler and its links to other nodes. Neither knows the other.

use std::time::Duration;

use whimbrel_acl::{Aid, Envelope, MessageBody};

use crate::Time;
use crate::limits::NODE_NAME_BYTES_MAX;
use crate::link::{Measured, News};
use crate::route::{NodeId, ShardIndex};

/// What the only node of a platform is called, which has no links and was given no name.
pub const ONLY_NODE: &str = "n1";

/// The links, as the scheduler sees them.
pub trait Links: Send + Sync {
    /// Takes messages for agents of another node, in order, from a shard. What stays in `batch` cannot be taken: the link
    /// is full, or there is none. How many more may follow before their senders should wait: if that is 0, the shard hears
    /// by [`Station::drained`] when they may go on.
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, from: ShardIndex) -> usize;

    /// Does what there is to do on links, on this thread, without waiting. For workers that are busy, now and then.
    fn drive(&self, _shard: ShardIndex) {}

    /// Has this thread, a worker with nothing to do, see to links until it is [recalled](Links::recall), or for `at_most`.
    /// `begin` is called just before that, and says whether to. False if it is not needed: then the worker should rest.
    fn attend(&self, _shard: ShardIndex, _at_most: Option<Duration>, _begin: &dyn Fn() -> bool) -> bool {
        false
    }

    /// Whether what this thread hands to links from now on is to wait until it drives or attends them, as it promises to do
    /// soon: who calls a link from outside has farther to go. What was so before.
    fn gather(&self, _gathers: bool) -> bool {
        false
    }

    /// What was [gathered](Links::gather) leaves now. For the worker of this shard, before it does something else.
    fn see_off(&self, _shard: ShardIndex) {}

    /// Ends the [attendance](Links::attend) of this shard's worker: there is something for it to do.
    fn recall(&self, _shard: ShardIndex) {}

    /// There is room again, after [`Station::has_room`] said that there was none.
    fn go_on(&self);

    /// Tells every node that knows this one's agents.
    fn tell_all(&self, news: News);

    /// Tells one node.
    fn tell(&self, to: NodeId, news: News);

    /// Takes messages that are passed on for an agent that left for that node, in order. What stays in `batch` cannot be taken.
    fn forward(&self, _to: NodeId, _batch: &mut Vec<Envelope>) {}

    /// The nodes that are linked with this one, or are expected to be: what they are told of agents on their way
    /// ([`News::Hop`]) waits until then, as messages do.
    fn nodes(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// The number of one of them by its name.
    fn node_named(&self, _name: &str) -> Option<NodeId> {
        None
    }

    /// What is known of the way to a node.
    fn measured(&self, _node: NodeId) -> Measured {
        Measured::default()
    }

    /// Has the way to a node measured; [`Links::measured`] tells what came of it.
    fn measure(&self, _node: NodeId) {}

    /// How long questions to a node take of late.
    fn round_trip(&self, _node: NodeId) -> Option<Duration> {
        None
    }

    /// Messages that wait on links, or that no peer has acknowledged.
    fn waiting(&self) -> u64;

    /// This node's name.
    fn me(&self) -> String;

    /// The name of a node; `None` if there is no such link.
    fn name_of(&self, node: NodeId) -> Option<String>;
}

/// The scheduler, as the links see it.
pub trait Station: Send + Sync {
    /// Messages came from another node, in order. Takes them all.
    fn arrive(&self, from: NodeId, messages: &mut Vec<Envelope>);

    /// [Plain](MessageBody::is_plain) messages without rarer parameters came from another node, in a row from one agent to this one.
    fn arrive_row(&self, from: NodeId, to: Aid, row: Vec<MessageBody>) {
        self.arrive(from, &mut row.into_iter().map(|body| Envelope { to, body }).collect());
    }

    /// A message came from another node, which passes it on for an agent that left there: whoever sent it.
    fn arrive_forwarded(&self, from: NodeId, message: Envelope);

    /// Another node has news.
    fn hear(&self, from: NodeId, news: News);

    /// Hands what a new peer must know first to `tell`, its agents above all, while nothing changes: later changes are
    /// news for the peer, too, and follow. [`Station::introduce_more`] has the rest, from place 0 on.
    fn introduce(&self, tell: &mut dyn FnMut(Vec<News>));

    /// Hands a chunk of the rest to `tell`, from this place on, while its own part does not change; at last
    /// [`News::Introduced`]. Returns the place of the next chunk. Whoever asks has written the chunk before, so that one
    /// chunk at a time is in memory.
    fn introduce_more(&self, place: u64, tell: &mut dyn FnMut(Vec<News>)) -> Option<u64>;

    /// Another node is gone: its agents are, and these messages did not get there.
    fn lose(&self, node: NodeId, messages: Vec<Envelope>);

    /// These messages cannot be sent to any node.
    fn refuse(&self, messages: Vec<Envelope>);

    /// These messages, which were about to be handed to a link, cannot be signed by their senders.
    fn refuse_unsigned(&self, messages: Vec<Envelope>);

    /// Whether `sender` is an agent of that node, or one that every node has.
    fn speaks_for(&self, node: NodeId, sender: Aid) -> bool;

    /// A message came whose sender is none of that node's as far as is known. It comes back, as one that is forged, unless just that is being
    /// asked about: then it waits.
    fn keep_doubtful(&self, _from: NodeId, message: Envelope) -> Option<Envelope> {
        Some(message)
    }

    /// These messages came, and are not from whom they say: nobody hears of them, but they are kept as dead letters.
    fn refuse_forged(&self, messages: Vec<Envelope>);

    /// Whether more messages can be dealt with now. If not, [`Links::go_on`] says when it is time to ask again.
    fn has_room(&self) -> bool;

    /// Most of what waited to be written to that node is: these shards, which were told to wait, may go on.
    fn drained(&self, to: NodeId, shards: &[ShardIndex]);

    /// The time.
    fn now(&self) -> Time;
}

/// True if a text is a valid node name: ASCII letters, digits, `-`, `_` and `.`.
pub fn is_node_name(node: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !node.is_empty() && node.len() <= NODE_NAME_BYTES_MAX && node.chars().all(fits)
}
