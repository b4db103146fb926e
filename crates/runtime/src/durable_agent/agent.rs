//! Durable agents, as their authors write them.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use whimbrel_acl::{MessageBody, Symbol, Value};
use whimbrel_platform::mobility::Hop;

use super::context::DurableContext;

/// Rust agent that outlives its process. However the process ends, the agent continues from its last step, on the
/// same machine or on another node.
///
/// Each step is persisted completely or not at all: the messages it handled, the agent's new state, and what it sent
/// and printed. Sent messages leave once the step is persisted. The persisted state is the agent's fields as serde
/// encodes them, and its timers; a step without changes and messages writes nothing. Behaviours are closures, so a
/// [`DurableContext`] has none: it has named timers instead.
///
/// ```
/// # use whimbrel_runtime::facade as whimbrel;
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use whimbrel::durable_agents::durable;
/// use whimbrel::prelude::*;
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Counter {
///     total: u64,
/// }
///
/// impl DurableAgent for Counter {
///     const KIND: &'static str = "counter";
///
///     fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
///         self.total += 1;
///         ctx.reply(&message, Performative::Inform, self.total as i64);
///         ctx.set_timer("quiet", Duration::from_secs(3600));
///     }
///
///     fn on_timer(&mut self, ctx: &mut DurableContext<'_, '_>, _timer: &str) {
///         ctx.print(&format!("nobody counted for an hour; it is {}", self.total));
///     }
/// }
///
/// # fn run(recovered: whimbrel_runtime::RecoveredJournal) -> Result<(), Box<dyn std::error::Error>> {
/// // `recovered` is what `whimbrel::durable_agents::kept_in` or `recover` returned.
/// let platform = Platform::builder().kind::<Counter>().durable(recovered).build();
/// platform.spawn_together([durable("c1", Counter::default())])?;
/// # Ok(())
/// # }
/// ```
///
/// **A state of an earlier release.** State is written with the names of fields, in MessagePack. A new field needs
/// `#[serde(default)]`; a removed field is skipped; a renamed field needs `#[serde(alias = "...")]`.
pub trait DurableAgent: Serialize + DeserializeOwned + Send + 'static {
    /// Name under which the state is recorded, and by which every node restores it
    /// ([`PlatformBuilder::kind`](crate::PlatformBuilder::kind)). The name stays when the type is renamed.
    const KIND: &'static str;

    /// Idle time after which an agent leaves memory. `None` takes the platform's default
    /// ([`PlatformBuilder::passivate_after`](crate::PlatformBuilder::passivate_after)); [`Duration::MAX`] never
    /// leaves.
    const PASSIVATE_AFTER: Option<Duration> = None;

    /// Called once in the agent's life, before the first message.
    fn on_start(&mut self, _ctx: &mut DurableContext<'_, '_>) {}

    /// Called first when the agent continues after its process ended, on another node, or after it had left memory.
    /// Fields that are not persisted (`#[serde(skip)]`) can be made again here.
    fn on_resume(&mut self, _ctx: &mut DurableContext<'_, '_>) {}

    /// Called with the outcome of a hop that the agent ([`DurableContext::move_to`]) or another caller requested: on
    /// the new node, after [`DurableAgent::on_resume`], or on the old one.
    fn on_hopped(&mut self, _ctx: &mut DurableContext<'_, '_>, _hop: &Hop) {}

    /// Called for each message, in the order of arrival.
    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody);

    /// Called when the timer of this name goes off, before the messages that wait.
    fn on_timer(&mut self, _ctx: &mut DurableContext<'_, '_>, _timer: &str) {}

    /// Called once for each minion that the agent [sent](DurableContext::dispatch), with its result or the reason for
    /// none.
    fn on_returned(
        &mut self,
        _ctx: &mut DurableContext<'_, '_>,
        _minion: Symbol,
        _found: Result<Value, DispatchError>,
    ) {
    }

    /// Called once, when another agent ends this one, or when its platform is stopped. In the second case no effect
    /// of this call is persisted, and the agent continues another time.
    fn on_stop(&mut self, _ctx: &mut DurableContext<'_, '_>) {}
}

/// Reason why no result came from a minion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The minion could reach none of the nodes.
    #[error("the minion could not go: {why}")]
    Stayed {
        /// [`HopError::code`](whimbrel_platform::mobility::HopError::code) of the last node that it tried.
        code: String,
        /// The reason in words.
        why: String,
    },
    /// The minion had no result.
    #[error("the minion failed: {0}")]
    Failed(String),
    /// The minion ended before it was done: it was killed, or its node is lost.
    #[error("the minion is lost: {0}")]
    Lost(String),
    /// The minion did not answer in time.
    #[error("the minion did not answer in time")]
    Late,
}

impl DispatchError {
    /// Returns a word for programs, as AgentSpeak plans find it in `error(..)`.
    pub fn code(&self) -> &str {
        match self {
            Self::Stayed { code, .. } => code,
            Self::Failed(_) => "failed",
            Self::Lost(_) => "lost",
            Self::Late => "timeout",
        }
    }
}
