//! Steps on their way from a shard to the journal, and what returns from there.

use whimbrel_acl::{AclMessage, Aid, MessageBody, Symbol};
use whimbrel_platform::durable::Record;
use whimbrel_platform::route::ShardIndex;

use crate::durable::WithheldEffect;
use crate::sync::Arc;

/// Steps of one agent since its last capture.
pub(crate) struct StepEntry {
    pub agent: Symbol,
    /// Records that share one frame.
    pub records: Vec<Record>,
    /// Number of the first message.
    pub first: u64,
    pub sent: Vec<(Aid, Arc<AclMessage>)>,
    pub effects: Vec<WithheldEffect>,
    /// Messages that the agent did not handle before it ended.
    pub unhandled: Vec<MessageBody>,
}

/// Steps of one shard's agents.
pub(crate) struct StepBatch {
    pub shard: ShardIndex,
    pub entries: Vec<StepEntry>,
}

/// Effect or message that becomes visible because it is persisted; released in order.
pub(crate) enum Released {
    Effect(WithheldEffect),
    Message {
        from: Symbol,
        to: Aid,
        body: MessageBody,
    },
    /// A message to an agent that has ended.
    Unhandled(Aid, MessageBody),
}
