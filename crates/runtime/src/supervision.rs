//! Supervision: agents that restart others when they fail.
//!
//! A supervised agent that fails does not end. Its name stays, its messages wait, and its supervisor, an agent
//! itself, is told. The supervisor restarts the agent (and others with it, depending on the [strategy](Supervisor)),
//! or lets it end. Senders notice only a pause; just the message that made the agent fail is lost. An agent that is
//! killed is not restarted, because that was intended.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Value, sym};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{AgentBody, EndReason, Next, Time, Turn};

use crate::agent::Agent;
use crate::monitors::reason_value;
use crate::native_body::NativeBody;
use crate::node::Node;
use crate::node::introduction::Introduction;
use crate::shard::Slot;
use crate::shard_command::AgentChange;

/// Condition for restarting an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Whenever the agent ends by itself.
    Always,
    /// Only when the agent fails.
    OnFailure,
    /// Never.
    Never,
}

/// Agents that are restarted together with one that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    OneForOne,
    OneForAll,
    RestForOne,
}

/// Supervisor to be spawned: an agent that restarts others.
///
/// ```
/// # use whimbrel_runtime::facade as whimbrel;
/// use std::time::Duration;
/// use whimbrel::agents::Supervisor;
/// use whimbrel::prelude::*;
///
/// struct Clerk;
/// impl Agent for Clerk {
///     fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
///         ctx.print(&message.content.to_string());
///     }
/// }
///
/// let platform = Platform::builder().build();
/// let office = Supervisor::one_for_one()
///     .intensity(3, Duration::from_secs(5))
///     .child("amy", || Clerk)
///     .child("bob", || Clerk);
/// platform.supervise("office", office)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Supervisor {
    strategy: Strategy,
    restarts_max: usize,
    period: Duration,
    children: Vec<SupervisedAgent>,
    /// Times of restarts within the last period.
    restarts: VecDeque<Time>,
    node: Weak<Node>,
    started: bool,
}

struct SupervisedAgent {
    name: Symbol,
    restart: Restart,
    make: Box<dyn FnMut() -> Box<Slot> + Send>,
}

impl Supervisor {
    /// Restarts only the agent that failed.
    pub fn one_for_one() -> Self {
        Self::new(Strategy::OneForOne)
    }

    /// Restarts all agents when one failed.
    pub fn one_for_all() -> Self {
        Self::new(Strategy::OneForAll)
    }

    /// Restarts the agent that failed, and those named after it.
    pub fn rest_for_one() -> Self {
        Self::new(Strategy::RestForOne)
    }

    fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            restarts_max: 3,
            period: Duration::from_secs(5),
            children: Vec::new(),
            restarts: VecDeque::new(),
            node: Weak::new(),
            started: false,
        }
    }

    /// Sets the number of restarts in a period, after which the supervisor ends all its agents and fails itself. The
    /// default is three in five seconds.
    #[must_use]
    pub fn intensity(mut self, restarts_max: usize, period: Duration) -> Self {
        self.restarts_max = restarts_max;
        self.period = period;
        self
    }

    /// Supervises the agent `name`, made by `make`; it is restarted whenever it ends by itself.
    #[must_use]
    pub fn child<A: Agent>(self, name: impl Into<Symbol>, make: impl FnMut() -> A + Send + 'static) -> Self {
        self.child_if(Restart::Always, name, make)
    }

    /// Supervises the agent `name`, restarted only as `restart` says.
    #[must_use]
    pub fn child_if<A: Agent>(
        self,
        restart: Restart,
        name: impl Into<Symbol>,
        mut make: impl FnMut() -> A + Send + 'static,
    ) -> Self {
        self.add(name.into(), restart, Box::new(move || NativeBody::slot(make())))
    }

    /// Supervises an agent with any body.
    #[must_use]
    pub fn child_body(
        self,
        restart: Restart,
        name: impl Into<Symbol>,
        mut make: impl FnMut() -> Box<dyn AgentBody> + Send + 'static,
    ) -> Self {
        self.add(name.into(), restart, Box::new(move || Box::new(Slot::new(make()))))
    }

    fn add(mut self, name: Symbol, restart: Restart, make: Box<dyn FnMut() -> Box<Slot> + Send>) -> Self {
        self.children.push(SupervisedAgent { name, restart, make });
        self
    }

    pub(crate) fn into_slot(mut self, node: &Arc<Node>) -> Box<Slot> {
        self.node = Arc::downgrade(node);
        Box::new(Slot::new(self))
    }

    /// Creates all agents, in order.
    fn start(&mut self, turn: &mut Turn<'_>) -> Result<(), String> {
        let Some(node) = self.node.upgrade() else { return Err("the platform is gone".into()) };
        for child in &mut self.children {
            let who = Introduction {
                supervisor: turn.aid.name,
                owner: Some(turn.aid),
                ..Introduction::new(child.name, AgentKind::Native)
            };
            node.create(0, who, |_| Ok((child.make)())).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Handles the failure of an agent. Returns an error if the supervisor has to fail, too.
    fn handle_fall(&mut self, name: Symbol, reason: EndReason, turn: &mut Turn<'_>) -> Result<(), String> {
        let Some(index) = self.children.iter().position(|child| child.name == name) else { return Ok(()) };
        let Some(node) = self.node.upgrade() else { return Ok(()) };
        let restart = self.children.get(index).map_or(Restart::Never, |child| child.restart);
        let failed = matches!(reason, EndReason::Failed(_));
        if restart == Restart::Never || (restart == Restart::OnFailure && !failed) {
            node.change(name, AgentChange::Release(reason));
            self.children.remove(index);
            return Ok(());
        }
        self.restarts.push_back(turn.now);
        while self.restarts.front().is_some_and(|first| turn.now - *first > self.period) {
            self.restarts.pop_front();
        }
        if self.restarts.len() > self.restarts_max {
            let (most, period) = (self.restarts_max, self.period);
            return Err(format!("agent {name} fell: more than {most} restarts in {period:?}"));
        }
        turn.services.log(turn.aid, LogLevel::Info, &format!("begins {name} anew"));
        let whom = match self.strategy {
            Strategy::OneForOne => index..index + 1,
            Strategy::OneForAll => 0..self.children.len(),
            Strategy::RestForOne => index..self.children.len(),
        };
        for child in self.children.iter_mut().take(whom.end).skip(whom.start) {
            node.change(child.name, AgentChange::Renew((child.make)()));
        }
        Ok(())
    }

    /// Ends all agents, the last first.
    fn end_all(&mut self, turn: &Turn<'_>) {
        while let Some(child) = self.children.pop() {
            turn.services.kill(Aid::local(child.name));
        }
    }
}

impl AgentBody for Supervisor {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let mut outcome = Ok(());
        if !std::mem::replace(&mut self.started, true) {
            outcome = self.start(turn);
        }
        while outcome.is_ok()
            && let Some(message) = turn.mailbox.take()
        {
            if let Some((name, reason)) = read_fall(&message) {
                outcome = self.handle_fall(name, reason, turn);
            }
        }
        match outcome {
            Ok(()) => Next::Wait,
            Err(why) => {
                self.end_all(turn);
                Next::End(EndReason::Failed(why))
            }
        }
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        self.end_all(turn);
    }
}

/// Placeholder body of an agent that failed, until its supervisor has decided. Messages wait.
pub(crate) struct Fallen;

impl AgentBody for Fallen {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }
}

const FELL: &str = "fell";

/// Makes the message to a supervisor that `agent` failed: `fell(Name, Reason)`.
pub(crate) fn fallen(agent: Aid, supervisor: Aid, reason: &EndReason) -> AclMessage {
    let content = Value::term(FELL, [Value::atom(agent.name), reason_value(Some(reason))]);
    AclMessage::new(Performative::Inform, Aid::local(sym::AMS), supervisor, content)
}

/// Reads the failed agent and its reason from such a message.
fn read_fall(message: &MessageBody) -> Option<(Symbol, EndReason)> {
    let [Value::Atom(name), reason] = message.content.args() else { return None };
    if message.sender.name != sym::AMS || message.content.functor()?.as_str() != FELL {
        return None;
    }
    let reason = match reason.args() {
        [Value::Str(why)] => EndReason::Failed(why.to_string()),
        _ => EndReason::Finished,
    };
    Some((*name, reason))
}
