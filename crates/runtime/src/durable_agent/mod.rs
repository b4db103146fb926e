//! Rust agents that outlive their process: their state is what serde makes of them, and each of their steps is written
//! with it ([`crate::durable`]).

mod body;
mod context;
mod dispatch;
mod itinerary;
mod kinds;
mod passive;
mod state;
mod timers;
mod unserved;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use whimbrel_acl::{MessageBody, Symbol, Value};
use whimbrel_platform::AgentBody;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::mobility::Hop;

use crate::agent::{Agent, NativeBody};
pub(crate) use body::DurableBody;
pub use context::{DurableContext, KeptTimers};
pub(crate) use dispatch::Envoy;
pub use dispatch::{DispatchError, Minion};
pub use itinerary::{Itinerary, Leg, Missed, TourEnd};
pub(crate) use kinds::Kinds;
pub(crate) use unserved::Unserved;

/// A Rust agent that outlives its process: however that ends, the agent goes on where it was, on the same machine or on
/// another node.
///
/// Each step is kept as a whole or not at all: the messages it handled, what the agent became, what it sent and printed.
/// What it sends leaves when that is written. What is kept of the agent is what serde makes of it, and its timers; a step
/// that changes nothing and sends nothing writes nothing. So the agent has no behaviours, which are closures: a
/// [`DurableContext`] has none to offer, but timers that have names.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use whimbrel_acl::{MessageBody, Performative};
/// use whimbrel_runtime::{DurableAgent, DurableContext, Platform, durable, recover};
/// # use whimbrel_platform::store::{Append, AppendError, Epoch, Journal, Lsn, OpenError, Partition, Promises, StoreError};
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
/// # fn run(journal: Arc<dyn Journal>) -> Result<(), Box<dyn std::error::Error>> {
/// let platform = Platform::builder().kind::<Counter>().durable(recover(journal, Epoch(1))?).build();
/// platform.spawn_together([durable("c1", Counter::default())])?;
/// # Ok(())
/// # }
/// ```
///
/// **A state of an earlier release.** State is written with the names of fields, in MessagePack. A field that is new has
/// `#[serde(default)]`; one that has gone is skipped; one that is called otherwise now has `#[serde(alias = "...")]`.
pub trait DurableAgent: Serialize + DeserializeOwned + Send + 'static {
    /// The name under which its state is kept, by which every node knows how to make it again
    /// ([`PlatformBuilder::kind`](crate::PlatformBuilder::kind)). It stays when the type is renamed.
    const KIND: &'static str;

    /// How long one has nothing to do before it leaves memory; `None`: as long as others
    /// ([`PlatformBuilder::passivate_after`](crate::PlatformBuilder::passivate_after)), [`Duration::MAX`]: for ever.
    const PASSIVATE_AFTER: Option<Duration> = None;

    /// Called once in its life, before the first message.
    fn on_start(&mut self, _ctx: &mut DurableContext<'_, '_>) {}

    /// Called when it goes on after its process ended, on another node, or after it had left memory, before anything else:
    /// what it holds that is not kept (`#[serde(skip)]`) can be made again here.
    fn on_resume(&mut self, _ctx: &mut DurableContext<'_, '_>) {}

    /// Called when it is known what became of its hop to another node ([`DurableContext::move_to`]) or of somebody else's wish
    /// that it goes there: on the new node, after [`DurableAgent::on_resume`], or on the old one.
    fn on_hopped(&mut self, _ctx: &mut DurableContext<'_, '_>, _hop: &Hop) {}

    /// Called for each message, in the order of their arrival.
    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody);

    /// Called when the timer of this name goes off, before the messages that wait.
    fn on_timer(&mut self, _ctx: &mut DurableContext<'_, '_>, _timer: &str) {}

    /// Called once for each minion that it [sent](DurableContext::dispatch): what that found, or why nothing comes back.
    fn on_returned(
        &mut self,
        _ctx: &mut DurableContext<'_, '_>,
        _minion: Symbol,
        _found: Result<Value, DispatchError>,
    ) {
    }

    /// Called once, when the agent is made to end by another, or its platform is stopped: then nothing of what it does here
    /// is kept, and it goes on another time.
    fn on_stop(&mut self, _ctx: &mut DurableContext<'_, '_>) {}
}

/// An agent that a society begins with, for [`Platform::spawn_together`](crate::Platform::spawn_together) and
/// [`Platform::adopt`](crate::Platform::adopt).
pub type Founder = (Symbol, AgentKind, Box<dyn AgentBody>);

/// An agent that outlives its process, and begins as this if it never was.
pub fn durable(name: impl Into<Symbol>, agent: impl DurableAgent) -> Founder {
    (name.into(), AgentKind::Native, Box::new(DurableBody::new(agent)))
}

/// An agent that begins anew with its process.
pub fn volatile(name: impl Into<Symbol>, agent: impl Agent) -> Founder {
    (name.into(), AgentKind::Native, NativeBody::boxed(agent))
}
