//! Agents that are called for each thing that happens.

use crate::calls::{Calls, Outcome};
use crate::context::Context;
use crate::error::Error;
use crate::message::Message;
use crate::value::Value;

/// What an agent that failed says of it.
pub type Failure = Box<dyn std::error::Error>;

/// An agent that is called for each thing that happens, one after the other. Write `#[agent]` above the implementation:
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
/// It lives in the agent's memory, and moves with it. An error that is returned ends the agent.
#[expect(unused_variables, reason = "they are named for who implements it")]
pub trait Agent: Default + 'static {
    /// It begins; with the options that the project gives it, a map.
    ///
    /// # Errors
    /// It cannot go on.
    fn on_start(&mut self, ctx: Context, options: Value) -> Result<(), Failure> {
        Ok(())
    }

    /// A message.
    ///
    /// # Errors
    /// It cannot go on.
    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure>;

    /// A timer is due that [`Context::set_timer`] set.
    ///
    /// # Errors
    /// It cannot go on.
    fn on_timer(&mut self, ctx: Context, tag: i64) -> Result<(), Failure> {
        Ok(())
    }

    /// It is about to leave: it can drop what it need not carry.
    fn on_departure(&mut self, ctx: Context) {}

    /// It has arrived, or stayed.
    ///
    /// # Errors
    /// It cannot go on.
    fn on_arrival(&mut self, ctx: Context, arrival: Arrival) -> Result<(), Failure> {
        Ok(())
    }

    /// It is ended by another's will. What it sends now is still sent.
    fn on_stop(&mut self, ctx: Context) {}
}

/// Where an agent is after a departure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The node that it left.
    pub from: String,
    /// The node that it was to go to.
    pub to: String,
    /// Whether it is the copy that was made there.
    pub clone: bool,
    /// What the copy is called that was made of this agent, which stayed.
    pub copy: Option<String>,
    /// Why it stayed where it was, if it did.
    pub stayed: Option<String>,
    /// Somebody called it home: it is there, or stays where it is because it cannot get there.
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

/// An [`Agent`] as the node calls it.
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
        // Those below 0 are itineraries'.
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
