//! News between nodes: facts about their agents and services, and requests.

use whimbrel_acl::compact::{Decode, Encode};
use whimbrel_acl::{Name, Symbol};

use super::NameConflict;
use crate::EndReason;
use crate::advice::AdviceNews;
use crate::ams::AgentKind;
use crate::df::{DfDescription, ServiceDescription};
use crate::durable::Facts;
use crate::mobility::HopNews;

/// News from one node to another: facts about its agents and services, and requests. On the wire, values of the compact
/// codec.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum News {
    /// Agents that the sending node has now.
    Agents(Vec<(Name, AgentKind)>),
    /// End of an agent of the sending node, and its reason.
    AgentEnded(Name, EndReason),
    /// Services that an agent of the sending node offers now.
    Service(Box<DfDescription>),
    /// Further services of an agent of the sending node, after those that were told.
    MoreServices {
        /// Agent that offers the services.
        agent: Symbol,
        /// Number of services told before.
        after: u64,
        /// Further services.
        services: Vec<ServiceDescription>,
    },
    /// End of all services of this agent of the sending node.
    NoService(Symbol),
    /// Start or end of an overload of this agent of the sending node, or of one of its agents in this topic or group.
    Crowded(Symbol, bool),
    /// Request to end this agent of the receiving node.
    Kill(Symbol),
    /// Stop of the whole platform.
    Stop {
        /// Milliseconds until the stop.
        delay_ms: u64,
        /// Exit code.
        code: i32,
    },
    /// Nodes that the receiving node is to link with.
    Members(Vec<PeerAddress>),
    /// Topics (`topic:NAME`) to which agents of the sending node subscribe.
    Topics(Vec<Symbol>),
    /// Topic to which no agent of the sending node subscribes any more.
    NoTopic(Symbol),
    /// New members of this group (`group:NAME`) on the sending node.
    Joined(Symbol, Vec<Symbol>),
    /// Agent of the sending node, named last, that left this group.
    Left(Symbol, Symbol),
    /// Certificates of agents of the sending node, for the messages that they sign.
    Certificates {
        /// Certificate with which the sending node certifies its agents (DER).
        node: Vec<u8>,
        /// Certificates of the agents (DER).
        agents: Vec<Vec<u8>>,
    },
    /// Partitions that the sending node serves as soon as all agents are named. `more` agents follow in another such
    /// news.
    Serves {
        /// Partitions ([`Partition`](crate::store::Partition)) with their epochs.
        partitions: Vec<(u16, u64)>,
        /// All agents of these partitions on the sending node.
        agents: Vec<(Name, AgentKind)>,
        /// Continuation: more agents follow.
        more: bool,
    },
    /// Start of a replay round: all messages for agents of these partitions, which the receiving node serves in these
    /// epochs, follow. Messages of earlier rounds are void.
    Again {
        /// Partitions with their epochs.
        partitions: Vec<(u16, u64)>,
        /// Number of the round: see [`Numbered::replay_round`].
        #[compact(name = "telling")]
        replay_round: u64,
    },
    /// Facts about messages, for the ledger of the receiving node.
    Facts(Facts),
    /// Partitions that the sending node stops serving: messages to these agents wait until another node serves them.
    /// Other agents stay.
    Yields {
        /// Partitions.
        partitions: Vec<u16>,
        /// Agents of these partitions.
        agents: Vec<Name>,
    },
    /// News of an agent's move from one node to another.
    #[compact(name = "H")]
    Hop(HopNews),
    /// End of the introduction: later news are of later events.
    Introduced,
    /// Question: which of these agents does the receiving node have?
    Asks(Vec<Name>),
    /// Answer to [`News::Asks`].
    Has {
        /// Agents that the sending node has.
        agents: Vec<(Name, AgentKind)>,
        /// Agents that it does not have.
        not: Vec<Name>,
    },
    /// Question or answer about a node's capacity, for placement advice.
    Advice(AdviceNews),
    /// Query of an operator of one node about the other. Its bytes are for operators only.
    Ask {
        /// Number of the query, quoted in the answer.
        number: u64,
        /// Query.
        question: Vec<u8>,
    },
    /// Answer to a query.
    Answer {
        /// Number of the query.
        number: u64,
        /// Answer.
        answer: Vec<u8>,
    },
    /// Name conflict: both nodes have an agent of one name.
    #[compact(name = "Namesake")]
    NameConflict(NameConflict),
}

/// Node of the platform to link with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[compact(name = "Member")]
pub struct PeerAddress {
    /// Name of the node.
    pub node: String,
    /// Address at which the node listens.
    pub address: String,
}
