//! Dispatch of minions: a function travels to another node, works there, and its result comes back.

use std::collections::VecDeque;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Value, sym};
use whimbrel_platform::mobility::Hop;
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError};

use super::agent::DispatchError;
use super::agent::DurableAgent;
use super::body::DurableBody;
use super::context::DurableContext;
use super::timers::AgentTimers;

/// Prefix of the timer, before the minion's name, that limits how long its sender waits.
const TIMER: &str = "whimbrel:minion:";
/// Protocol of a minion's answer.
const PROTOCOL: &str = "whimbrel-dispatch";

/// Function that travels to another node, with its input in its fields.
///
/// ```
/// # use whimbrel_runtime::facade as whimbrel;
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use whimbrel::messages::Symbol;
/// use whimbrel::mobility::{DispatchError, Minion};
/// use whimbrel::prelude::*;
///
/// #[derive(Serialize, Deserialize)]
/// struct Count {
///     service: String,
/// }
///
/// impl Minion for Count {
///     const KIND: &'static str = "count";
///
///     fn run(self, ctx: &mut DurableContext<'_, '_>) -> Result<Value, String> {
///         Ok(Value::Int(ctx.services().df_search(&self.service, "").len() as i64))
///     }
/// }
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Boss;
///
/// impl DurableAgent for Boss {
///     const KIND: &'static str = "boss";
///
///     fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, _message: MessageBody) {
///         let count = Count { service: "books".to_owned() };
///         if let Err(error) = ctx.dispatch(["south", "south-mirror"], count, Duration::from_secs(5)) {
///             ctx.print(&error.to_string());
///         }
///     }
///
///     fn on_returned(
///         &mut self,
///         ctx: &mut DurableContext<'_, '_>,
///         _minion: Symbol,
///         found: Result<Value, DispatchError>,
///     ) {
///         match found {
///             Ok(count) => ctx.print(&format!("{count} agents in the south")),
///             Err(error) => ctx.print(&error.to_string()),
///         }
///     }
/// }
///
/// let platform = Platform::builder().kind::<Boss>().minion::<Count>().build();
/// # drop(platform);
/// ```
///
/// The type is compiled into all nodes, and [registered](crate::PlatformBuilder::minion) there.
pub trait Minion: Serialize + DeserializeOwned + Send + 'static {
    /// Name by which every node knows the type. No other minion and no durable agent has it.
    const KIND: &'static str;

    /// Does the work on the other node. The minion is an agent there like any other, and ends with this call.
    ///
    /// # Errors
    /// Returns the reason if the minion has no result.
    fn run(self, ctx: &mut DurableContext<'_, '_>) -> Result<Value, String>;
}

impl DurableContext<'_, '_> {
    /// Dispatches a minion to the first of these nodes that it can reach. Returns the minion's name.
    /// [`DurableAgent::on_returned`] is called once with its result or an error, `within` this time. The minion lives
    /// no longer than that, even if this agent is gone, and leaves nothing behind.
    ///
    /// # Errors
    /// Returns an error if the policy forbids the creation, the minion's state cannot be written, its type is not
    /// [registered](crate::PlatformBuilder::minion), or the platform is stopping.
    pub fn dispatch<N: Into<Symbol>>(
        &mut self,
        nodes: impl IntoIterator<Item = N>,
        minion: impl Minion,
        within: Duration,
    ) -> Result<Symbol, CreateError> {
        let name = Symbol::new(&format!("{}{}", minions_of(self.turn.aid), self.ticket()));
        let nodes = nodes.into_iter().map(Into::into).collect();
        let envoy = Envoy { minion: Some(minion), sender: self.turn.aid.name, nodes, next: Symbol::default() };
        let source = AgentSource::Body(DurableBody::checked(name, envoy)?);
        let request = CreateAgent { name, unique: false, owner: Some(self.turn.aid), source };
        let minion = self.turn.services.create(request)?;
        // In a durable society the minion has no lifetime, and does not move.
        self.turn.services.set_lifetime(minion, within);
        self.turn.services.monitor(self.turn.aid, minion);
        self.set_timer(&format!("{TIMER}{name}"), within);
        Ok(name)
    }
}

/// Returns the prefix of the names of an agent's minions.
fn minions_of(agent: Aid) -> String {
    format!("{}_minion_", agent.name)
}

/// Meaning of a message for the sender of minions.
pub(super) enum MinionNews {
    /// The message is not about a minion.
    None,
    /// The message is about a minion that is not awaited any more.
    Stale,
    /// A minion's result, or the reason for none.
    Returned(Symbol, Result<Value, DispatchError>),
}

/// Reads a message as news of a minion.
pub(super) fn heard(timers: &mut AgentTimers, me: Aid, message: &MessageBody) -> MinionNews {
    if message.sender == Aid::local(sym::AMS) {
        return ended(timers, me, message);
    }
    if message.extras().protocol != Some(Symbol::new(PROTOCOL)) {
        return MinionNews::None;
    }
    let name = message.sender.name;
    if !timers.cancel(&format!("{TIMER}{name}")) {
        return MinionNews::Stale;
    }
    MinionNews::Returned(name, outcome(message))
}

fn outcome(message: &AclMessage) -> Result<Value, DispatchError> {
    let text = |at: usize| message.content.args().get(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    match message.content.functor() {
        _ if message.performative == Performative::Inform => Ok(message.content.clone()),
        Some(functor) if functor.as_str() == "stayed" => Err(DispatchError::Stayed { code: text(0), why: text(1) }),
        _ => Err(DispatchError::Failed(text(0))),
    }
}

/// Reads a notification of the AMS about a minion's end. If the minion finished, its answer is there, or on its way.
fn ended(timers: &mut AgentTimers, me: Aid, message: &AclMessage) -> MinionNews {
    let is_end = message.content.functor().is_some_and(|functor| functor.as_str() == "ended");
    let [name, reason, ..] = message.content.args() else { return MinionNews::None };
    let Some(name) = name.as_str().filter(|name| is_end && name.starts_with(&minions_of(me))) else {
        return MinionNews::None;
    };
    if reason.as_str() == Some("finished") || !timers.cancel(&format!("{TIMER}{name}")) {
        return MinionNews::Stale;
    }
    let why = match (reason.as_str(), reason.args().first().and_then(Value::as_str)) {
        (Some("expired"), _) => DispatchError::Late,
        (_, Some(why)) => DispatchError::Lost(why.to_owned()),
        _ => DispatchError::Lost(reason.to_string()),
    };
    MinionNews::Returned(Symbol::new(name), Err(why))
}

/// Returns the minion that is given up when this timer goes off.
pub(super) fn given_up(timer: &str) -> Option<Symbol> {
    timer.strip_prefix(TIMER).map(Symbol::new)
}

/// Agent that carries a minion.
#[derive(Serialize, Deserialize)]
pub(crate) struct Envoy<M> {
    /// `None` once the minion is done.
    minion: Option<M>,
    sender: Symbol,
    /// Alternative nodes that are left.
    nodes: VecDeque<Symbol>,
    /// Present destination.
    next: Symbol,
}

impl<M: Minion> Envoy<M> {
    fn go(&mut self, ctx: &mut DurableContext<'_, '_>, (code, why): (&str, String)) {
        match self.nodes.pop_front() {
            Some(node) if node == ctx.services().node() => self.work(ctx),
            Some(node) => {
                self.next = node;
                ctx.move_to(node);
            }
            None => self.report(ctx, Performative::Failure, Value::term("stayed", [code.into(), why.into()])),
        }
    }

    fn work(&mut self, ctx: &mut DurableContext<'_, '_>) {
        match self.minion.take().map(|minion| minion.run(ctx)) {
            Some(Ok(found)) => self.report(ctx, Performative::Inform, found),
            Some(Err(why)) => self.report(ctx, Performative::Failure, Value::term("failed", [why.into()])),
            None => ctx.end(),
        }
    }

    fn report(&mut self, ctx: &mut DurableContext<'_, '_>, performative: Performative, content: Value) {
        self.minion = None;
        let answer = AclMessage::new(performative, ctx.aid(), Aid::local(self.sender), content);
        ctx.send(answer.with_protocol(PROTOCOL));
        ctx.end();
    }
}

impl<M: Minion> DurableAgent for Envoy<M> {
    const KIND: &'static str = M::KIND;

    fn on_start(&mut self, ctx: &mut DurableContext<'_, '_>) {
        self.go(ctx, ("no_such_node", "no node was named".to_owned()));
    }

    fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
        match hop {
            Hop::Stayed { why, .. } => self.go(ctx, (why.code(), why.to_string())),
            _ if ctx.services().node() == self.next => self.work(ctx),
            // The minion was recalled, or moved by another caller.
            _ => self.go(ctx, ("not_movable", "it was taken elsewhere".to_owned())),
        }
    }

    fn on_message(&mut self, _ctx: &mut DurableContext<'_, '_>, _message: MessageBody) {}
}
