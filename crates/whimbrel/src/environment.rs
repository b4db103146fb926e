//! Environments written in Rust: what a society's agents act on and see.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::{AgentBody, Next, Turn};

pub use whimbrel_bdi::project::{Class, ClassArg};

/// Environment: the object of agents' actions and percepts. The protocol is that of `docs/reference/environments.md`.
/// If actions take time, any agent that follows the protocol can be the environment.
///
/// ```
/// use whimbrel::environment::Environment;
/// use whimbrel::prelude::*;
///
/// struct Lamp {
///     on: bool,
/// }
///
/// impl Environment for Lamp {
///     fn act(&mut self, _agent: Aid, action: &Value) -> Result<(), Value> {
///         match action.functor().map(|name| name.as_str()) {
///             Some("press") => self.on = !self.on,
///             _ => return Err(Value::atom("no_such_action")),
///         }
///         Ok(())
///     }
///
///     fn percepts(&mut self, _agent: Aid) -> Vec<Value> {
///         if self.on { vec![Value::atom("light")] } else { Vec::new() }
///     }
/// }
/// ```
pub trait Environment: Send + 'static {
    /// Performs an agent's action. The world changes at once, and the agent's intention continues.
    ///
    /// # Errors
    /// It cannot be done: why. The agent's step fails.
    fn act(&mut self, agent: Aid, action: &Value) -> Result<(), Value>;

    /// Returns all present percepts of an agent. The agent ceases to believe earlier percepts that are missing here.
    fn percepts(&mut self, agent: Aid) -> Vec<Value>;
}

type Make = dyn Fn(&Class) -> Result<Box<dyn Environment>, String> + Send + Sync;

/// The environments that projects can name, as in `environment: lamp(3)`.
#[derive(Clone, Default)]
pub struct Environments {
    makers: FxHashMap<String, Arc<Make>>,
}

impl Environments {
    /// Makes an empty set of environments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an environment, made from the parameters in the project. The name may be that of a Java class, so that a
    /// project written for Jason runs unchanged.
    #[must_use]
    pub fn with<E: Environment>(
        mut self,
        name: &str,
        make: impl Fn(&Class) -> Result<E, String> + Send + Sync + 'static,
    ) -> Self {
        let make = move |class: &Class| -> Result<Box<dyn Environment>, String> { Ok(Box::new(make(class)?)) };
        self.makers.insert(name.to_owned(), Arc::new(make));
        self
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.makers.keys().map(String::as_str).collect()
    }

    /// Returns a body that runs the environment of this name; `None` if there is no such one.
    pub(crate) fn make(&self, class: &Class) -> Option<Result<Box<dyn AgentBody>, String>> {
        let make = self.makers.get(class.name.as_str())?;
        Some(make(class).map(|environment| -> Box<dyn AgentBody> {
            Box::new(EnvironmentBody { environment, seen: FxHashMap::default(), started: false })
        }))
    }
}

/// An environment as an agent.
struct EnvironmentBody {
    environment: Box<dyn Environment>,
    /// Last percepts of each agent.
    seen: FxHashMap<Aid, Vec<Value>>,
    started: bool,
}

impl AgentBody for EnvironmentBody {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if !self.started {
            self.started = true;
            let myself = turn.aid;
            self.seen = turn.services.agents().into_iter().filter(|a| *a != myself).map(|a| (a, Vec::new())).collect();
            self.show(turn);
        }
        for _ in 0..turn.budget {
            let Some(message) = turn.mailbox.take() else { return Next::Wait };
            if message.performative == Performative::Request {
                self.seen.entry(message.sender).or_default();
                let done = self.environment.act(message.sender, &message.content);
                // Before the answer: an agent perceives the effects of its action as soon as it is done.
                self.show(turn);
                let (performative, content) = match done {
                    Ok(()) => (Performative::Inform, Value::atom("done")),
                    Err(reason) => (Performative::Failure, reason),
                };
                let mut answer = message.make_reply(turn.aid, performative);
                answer.content = content;
                turn.outbox.send(answer);
            }
        }
        Next::Ready
    }
}

impl EnvironmentBody {
    /// Tells each agent what it sees differently.
    fn show(&mut self, turn: &mut Turn<'_>) {
        for (agent, seen) in &mut self.seen {
            let now = self.environment.percepts(*agent);
            if now == *seen {
                continue;
            }
            let gone: Vec<Value> = seen.iter().filter(|percept| !now.contains(percept)).cloned().collect();
            let came: Vec<Value> = now.iter().filter(|percept| !seen.contains(percept)).cloned().collect();
            let content = Value::term("percepts", [Value::list(came), Value::list(gone)]);
            let percept = Performative::Other(Symbol::new("percept"));
            turn.outbox.send(AclMessage::new(percept, turn.aid, *agent, content));
            *seen = now;
        }
    }
}
