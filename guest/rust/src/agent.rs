//! Agents with a handler for each kind of event.

use crate::calls::{Calls, Outcome};
use crate::context::Context;
use crate::error::Error;
use crate::message::Message;
use crate::value::Value;

/// Reason why an agent failed.
pub type Failure = Box<dyn std::error::Error>;

/// Agent with a handler for each kind of event, called one after the other. Write `#[agent]` above the implementation:
///
/// ```
/// use whimbrel_guest::{Agent, Context, Failure, Message, Performative, agent};
///
/// #[derive(Default)]
/// struct Counter {
///     count: i64,
/// }
///
/// #[agent]
/// impl Agent for Counter {
///     fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure> {
///         self.count += 1;
///         ctx.send(&message.reply(Performative::Inform, self.count))?;
///         Ok(())
///     }
/// }
/// ```
///
/// The value lives in the agent's memory, and moves with it. An error that a handler returns ends the agent.
#[expect(unused_variables, reason = "they are named for who implements it")]
pub trait Agent: Default + 'static {
    /// Starts, with the options from the project, a map.
    ///
    /// # Errors
    /// The agent cannot continue.
    fn on_start(&mut self, ctx: Context, options: Value) -> Result<(), Failure> {
        Ok(())
    }

    /// Handles a message.
    ///
    /// # Errors
    /// The agent cannot continue.
    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure>;

    /// Handles a timer that [`Context::set_timer`] set.
    ///
    /// # Errors
    /// The agent cannot continue.
    fn on_timer(&mut self, ctx: Context, tag: i64) -> Result<(), Failure> {
        Ok(())
    }

    /// Prepares a departure: the agent can drop what it need not carry.
    fn on_departure(&mut self, ctx: Context) {}

    /// Handles an arrival, or the news that the agent stayed.
    ///
    /// # Errors
    /// The agent cannot continue.
    fn on_arrival(&mut self, ctx: Context, arrival: Arrival) -> Result<(), Failure> {
        Ok(())
    }

    /// Handles the end of the agent by another's will. Messages sent now still leave.
    fn on_stop(&mut self, ctx: Context) {}
}

/// Outcome of a departure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Node that the agent left.
    pub from: String,
    /// Node that the agent was to go to.
    pub to: String,
    /// True for the copy that was made there.
    pub clone: bool,
    /// Name of the copy, for the agent that was copied and stayed.
    pub copy: Option<String>,
    /// Reason why the agent stayed, if it did.
    pub stayed: Option<String>,
    /// True if the agent was called home. It is there, or stays because it cannot get there.
    pub recalled: bool,
}

impl Arrival {
    pub(crate) fn of(value: &Value) -> Self {
        let text = |name: &str| value.field(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            from: text("from").unwrap_or_default(),
            to: text("to").unwrap_or_default(),
            clone: value.field("clone").and_then(Value::as_bool) == Some(true),
            copy: text("name"),
            stayed: text("reason"),
            recalled: value.field("recalled").and_then(Value::as_bool) == Some(true),
        }
    }

    pub(crate) fn error(&self) -> Option<Error> {
        let called_home = || "it was called home".to_owned();
        let reason = self.stayed.clone().or_else(|| self.recalled.then(called_home))?;
        Some(Error::new(crate::error::ErrorKind::Stayed, reason))
    }
}

/// Handlers of an [`Agent`], in the form that the node calls.
#[doc(hidden)]
#[derive(Default)]
pub struct Handlers<A>(A);

fn outcome(result: Result<(), Failure>) -> Outcome {
    result.map_err(|failure| failure.to_string())
}

impl<A: Agent> Calls for Handlers<A> {
    fn start(&mut self, options: Value) -> Outcome {
        outcome(self.0.on_start(Context, options))
    }

    fn message(&mut self, message: Message) -> Outcome {
        outcome(self.0.on_message(Context, message))
    }

    fn timer(&mut self, tag: i64) -> Outcome {
        // Tags below 0 belong to itineraries.
        if tag < 0 { Ok(()) } else { outcome(self.0.on_timer(Context, tag)) }
    }

    fn arrival(&mut self, arrival: Arrival) -> Outcome {
        outcome(self.0.on_arrival(Context, arrival))
    }

    fn departure(&mut self) {
        self.0.on_departure(Context);
    }

    fn stop(&mut self) {
        self.0.on_stop(Context);
    }
}
