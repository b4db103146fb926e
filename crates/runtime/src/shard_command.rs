//! Shard commands: messages, commands and new agents that cross from one thread to a shard.

use rustc_hash::FxHashSet;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::{Layout, Origin};
use whimbrel_platform::inspection::DebuggerSetup;
use whimbrel_platform::mobility::HopRequest;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::session::Exchange;
use whimbrel_platform::store::Partition;
use whimbrel_platform::{AgentBody, EndReason, Time};

use crate::advice::WeighRequest;
use crate::agent_stats::AgentStats;
use crate::durable::journal_writer::steps::Released;
use crate::mobility::{HopJob, HopOrder, ShardBarrier};
use crate::operate::AgentOperation;
use crate::shard::Slot;
use crate::shard::slot::Incarnation;
use crate::shard::slot::turn::LateTurn;
use crate::sync::Arc;

/// Item for a shard, in the order in which its sender sent it.
pub(crate) enum ShardCommand {
    /// A message from another shard, to an agent that was in this one when it was sent.
    Message(Envelope),
    /// A message from outside, which this shard sends as if one of its agents had.
    Posted(Envelope),
    /// A message from another node to an agent of this one. Sent like a posted message, but forwarded if the agent
    /// has left meanwhile.
    Arrived(Envelope),
    /// A row of plain messages from another node to one agent; equivalent to as many
    /// [`Arrived`](ShardCommand::Arrived).
    ArrivedRow(Aid, Vec<MessageBody>),
    /// Messages from another node to a topic or group, each for all these agents.
    Copies(Arc<[Symbol]>, Vec<Arc<AclMessage>>),
    /// A message that cannot be delivered to its receiver's node; its sender gets a `failure`.
    Undeliverable(Envelope, DeadReason),
    /// A change to an agent, from another shard, in order with messages.
    Change(Incarnation, AgentChange),
    /// A change from outside, which this shard sends on as its own: changes to one agent stay in order though it
    /// moves.
    PostedChange(Incarnation, AgentChange),
    /// The end of an agent that lost its name already.
    Retire { slot: u32, generation: u32, reason: EndReason },
    /// The effects of persisted steps, which become visible now.
    Written(Vec<Released>),
    /// A late turn that is over.
    TurnOver(Box<LateTurn>),
    /// The end of every agent, including the platform's own.
    EndAll,
    /// Notice that an announced agent will not come: messages for it are undeliverable.
    NeverComes(Symbol),
    /// A fence before agents move away: asks when all messages on their way to this shard are sent.
    Fence { from: ShardIndex },
    /// The answer to a fence.
    FenceReached,
    /// Agents that move here.
    Arrive(Vec<Box<Slot>>),
    /// Notice that the queue to this node has drained: waiting senders continue.
    Drained(NodeId),
    /// Notice that this agent is not crowded any more: waiting senders continue.
    Relieved(Symbol),
    /// Order to agents to stop, in order to continue on another node. The answer names those that have not.
    Yield(Arc<Yielding>, std::sync::mpsc::Sender<Vec<Symbol>>),
    /// A barrier through all shards: commands before it are taken in, and their results handed over.
    Cross(Arc<ShardBarrier>),
    /// A command about an agent's hop to or from another node.
    Hop(Box<HopOrder>),
    /// A request to count messages in mailboxes.
    CountQueued(std::sync::mpsc::Sender<u64>),
    /// A sender to drop once all turns that began are over and their messages handed over.
    TurnsEnd(std::sync::mpsc::Sender<()>),
    /// A request for statistics of agents.
    AgentStats(AgentStats),
    /// A request for an agent's origin and state.
    Weigh(WeighRequest),
    /// The setup of debuggers, for all agents of the shard and those that come. The answer follows when it is known.
    Debugger(Arc<DebuggerSetup>, std::sync::mpsc::Sender<()>),
}

impl ShardCommand {
    /// Returns true for anything but messages and credit for senders.
    pub fn changes_something(&self) -> bool {
        !matches!(
            self,
            Self::Message(_)
                | Self::Posted(_)
                | Self::Arrived(_)
                | Self::ArrivedRow(..)
                | Self::Copies(..)
                | Self::Undeliverable(..)
                | Self::Drained(_)
                | Self::Relieved(_)
        )
    }
}

/// Change to one agent.
pub(crate) enum AgentChange {
    /// Stop turns from now on.
    Hold,
    /// Resume turns.
    Run,
    /// Give a turn, with or without messages.
    Wake,
    /// Give no turn before this time, because the agent creates others faster than it may.
    Delay(Time),
    /// Restart the agent as this slot, once it has stopped.
    Renew(Box<Slot>),
    /// End the agent: its supervisor does not restart it.
    Release(EndReason),
    /// Move the agent to this shard.
    MoveTo(ShardIndex),
    /// Send the agent to another node, and report the outcome.
    Hop(Box<HopJob>),
    /// Resume a hop: a durable agent that was about to go to another node continues here, and still is.
    SetOut(Box<HopRequest>),
    /// Record the agent's changed registration.
    NoteStanding,
    /// Inspect or instruct the agent.
    Operate(Box<AgentOperation>),
    /// Replace the agent's body.
    Exchange(Offered),
    /// Copy the agent as `copy`, owned by this shard, of this generation.
    Copy { copy: Aid, shard: u16, generation: u32 },
}

/// New agent on its way to the shard that will own it.
pub(crate) type Newcomer = Box<Slot>;

/// Exchange of an agent's body, to be taken once. Dropping it untaken reports that there is no such agent.
pub(crate) struct Offered(pub Option<Exchange>);

impl Offered {
    /// Returns the agent's new body, if there is one.
    pub fn take(mut self, written: Option<(Origin, Vec<u8>)>) -> Option<Box<dyn AgentBody>> {
        self.0.take().and_then(|with| with(written))
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        if let Some(with) = self.0.take() {
            with(None);
        }
    }
}

/// Order to durable agents of partitions to stop between two turns, once all their steps are persisted.
#[derive(Debug)]
pub(crate) struct Yielding {
    pub partitions: FxHashSet<Partition>,
    pub layout: Arc<Layout>,
}

impl Yielding {
    /// Returns true if this agent has to stop, provided that it is durable.
    pub fn concerns(&self, agent: Symbol) -> bool {
        self.partitions.contains(&self.layout.partition_of(agent))
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Performative, Value};

    use super::*;

    /// Messages flush no links, so that those to other nodes gather.
    #[test]
    fn messages_let_links_gather() {
        let message = || AclMessage::new(Performative::Inform, Aid::local("ann"), Aid::local("bob"), Value::Int(1));
        let envelope = || Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(message())) };
        for quiet in [
            ShardCommand::Message(envelope()),
            ShardCommand::Posted(envelope()),
            ShardCommand::Arrived(envelope()),
            ShardCommand::ArrivedRow(Aid::local("bob"), vec![envelope().body]),
            ShardCommand::Copies([Symbol::new("bob")].into(), vec![Arc::new(message())]),
            ShardCommand::Undeliverable(envelope(), DeadReason::AgentEnded),
            ShardCommand::Drained(NodeId(1)),
            ShardCommand::Relieved("bob".into()),
        ] {
            assert!(!quiet.changes_something());
        }
        for change in [ShardCommand::EndAll, ShardCommand::NeverComes("bob".into()), ShardCommand::FenceReached] {
            assert!(change.changes_something());
        }
    }
}
