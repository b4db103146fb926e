//! Tasks: agents that are one `async` function. While the function waits, it is a value in the agent's memory. So the
//! agent moves to other nodes in the middle of a loop, and no module needs to be prepared for that.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Polling, Poll, Waker};
use std::time::Duration;

use crate::agent::Arrival;
use crate::blocking::Twin;
use crate::calls::{Calls, Outcome};
use crate::context::Context;
use crate::error::Error;
use crate::message::{Message, Template};
use crate::value::Value;

/// Events that no part of the function has waited for yet.
#[derive(Default)]
struct Happened {
    options: Value,
    messages: VecDeque<Message>,
    /// Tags of due timers.
    due: Vec<i64>,
    arrival: Option<Arrival>,
    /// Last used tag or `:reply-with`.
    numbers: i64,
    /// Wakers of waiting parts. Some combinators poll only the parts that were woken.
    waiting: Vec<Waker>,
}

thread_local! {
    static HAPPENED: RefCell<Happened> = RefCell::default();
}

/// Borrows the events. `use_` must not poll, since polling borrows them again.
fn happened<T>(use_: impl FnOnce(&mut Happened) -> T) -> T {
    HAPPENED.with(|happened| use_(&mut happened.borrow_mut()))
}

/// Notes that the polling part waits for an event.
fn pending<T>(polling: &Polling<'_>) -> Poll<T> {
    happened(|happened| happened.waiting.push(polling.waker().clone()));
    Poll::Pending
}

/// Return value of an agent's function: nothing, or a result whose error ends the agent.
pub trait IntoOutcome {
    /// Converts the value into an outcome.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Ok(())
    }
}

impl<E: std::fmt::Display> IntoOutcome for Result<(), E> {
    fn into_outcome(self) -> Outcome {
        self.map_err(|error| error.to_string())
    }
}

type Running = Pin<Box<dyn Future<Output = Outcome>>>;

/// Agent that is one `async` function.
struct Task<B> {
    body: B,
    running: Option<Running>,
}

/// Makes the agent of the function `body`.
#[doc(hidden)]
pub fn task(body: impl Fn(Context) -> Running + 'static) -> Box<dyn Calls> {
    Box::new(Task { body, running: None })
}

/// Forgets all events.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn forget() {
    let before = happened(std::mem::take);
    drop(before);
}

/// Boxes a future with its outcome, and erases its type.
#[doc(hidden)]
pub fn boxed(future: impl Future<Output: IntoOutcome> + 'static) -> Running {
    Box::pin(async { future.await.into_outcome() })
}

impl<B> Task<B> {
    /// Continues as far as possible. The agent ends with its function.
    fn go_on(&mut self) -> Outcome {
        for waker in happened(|happened| std::mem::take(&mut happened.waiting)) {
            waker.wake();
        }
        let Some(running) = &mut self.running else { return Ok(()) };
        let Poll::Ready(outcome) = running.as_mut().poll(&mut Polling::from_waker(Waker::noop())) else {
            return Ok(());
        };
        self.running = None;
        Context.stop();
        outcome
    }
}

impl<B: Fn(Context) -> Running> Calls for Task<B> {
    fn start(&mut self, options: Value) -> Outcome {
        happened(|happened| happened.options = options);
        self.running = Some((self.body)(Context));
        self.go_on()
    }

    fn message(&mut self, message: Message) -> Outcome {
        happened(|happened| happened.messages.push_back(message));
        self.go_on()
    }

    fn timer(&mut self, tag: i64) -> Outcome {
        happened(|happened| happened.due.push(tag));
        self.go_on()
    }

    fn arrival(&mut self, arrival: Arrival) -> Outcome {
        happened(|happened| happened.arrival = Some(arrival));
        let outcome = self.go_on();
        // An arrival that nobody waits for comes from another party's move: it answers no later request of the agent.
        happened(|happened| happened.arrival = None);
        outcome
    }
}

/// Agent that is one function which waits by [`crate::blocking`].
#[doc(hidden)]
pub struct Body(pub fn(Context) -> Outcome);

impl Calls for Body {
    fn start(&mut self, options: Value) -> Outcome {
        happened(|happened| happened.options = options);
        let outcome = (self.0)(Context);
        Context.stop();
        outcome
    }

    fn message(&mut self, _: Message) -> Outcome {
        Ok(())
    }

    fn timer(&mut self, _: i64) -> Outcome {
        Ok(())
    }

    fn arrival(&mut self, _: Arrival) -> Outcome {
        Ok(())
    }
}

/// Waiting operations of an `async` agent. They need no prepared module.
impl Context {
    /// Returns the options that the project gives the agent, a map. (An [`Agent`](crate::Agent) gets them in
    /// `on_start`.)
    pub fn options(self) -> Value {
        happened(|happened| happened.options.clone())
    }

    /// Waits for a message that fits. Other messages wait meanwhile, in the order of their arrival.
    pub fn receive(self, template: Template) -> Receive {
        Receive { template: template.with_platform_of(self) }
    }

    /// Waits for a message that fits, at most for this time; `None` if there was none.
    pub async fn receive_within(self, template: Template, time: Duration) -> Option<Message> {
        let mut receive = self.receive(template);
        let mut sleep = self.sleep(time);
        std::future::poll_fn(|polling| {
            if let Poll::Ready(message) = Pin::new(&mut receive).poll(polling) {
                return Poll::Ready(Some(message));
            }
            Pin::new(&mut sleep).poll(polling).map(|()| None)
        })
        .await
    }

    /// Sends a message, and waits for its reply: the first message that quotes its `:reply-with`, which is made up if
    /// there is none.
    ///
    /// # Errors
    /// The message cannot be sent.
    pub async fn ask(self, mut message: Message) -> Result<Message, Error> {
        let id = message.reply_with.take().unwrap_or_else(|| format!("{}-{}", self.name(), number()));
        message.reply_with = Some(id.clone());
        self.send(&message)?;
        Ok(self.receive(Template::in_reply_to(id)).await)
    }

    /// Waits for this time.
    pub fn sleep(self, time: Duration) -> Sleep {
        Sleep { time, tag: None }
    }

    /// Moves to a node, unless the agent is there, and continues there.
    ///
    /// # Errors
    /// The agent did not move, or was not allowed to: it continues where it was.
    pub async fn move_to(self, node: &str) -> Result<(), Error> {
        if self.node() == node {
            return Ok(());
        }
        self.depart(node)?;
        let arrival = Arrive.await;
        arrival.error().map_or(Ok(()), Err)
    }

    /// Leaves a copy of the agent on a node, under this name (empty: a new one). Both continue after this call, and
    /// each is told which one it is.
    ///
    /// # Errors
    /// There is no copy.
    pub async fn clone_to(self, node: &str, name: &str) -> Result<Twin, Error> {
        self.depart_clone(node, name)?;
        let arrival = Arrive.await;
        match arrival.error() {
            Some(error) => Err(error),
            None if arrival.clone => Ok(Twin::Copy),
            None => Ok(Twin::Original),
        }
    }
}

/// Returns a new number. Agents' own numbers are not below 0.
pub(crate) fn number() -> i64 {
    happened(|happened| {
        happened.numbers += 1;
        happened.numbers
    })
}

/// Future of a message: [`Context::receive`].
#[must_use = "nothing is received before it is awaited"]
#[derive(Debug)]
pub struct Receive {
    template: Template,
}

impl Future for Receive {
    type Output = Message;

    fn poll(self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Message> {
        let found = happened(|happened| {
            let at = happened.messages.iter().position(|message| self.template.fits(message))?;
            let message = happened.messages.remove(at);
            if happened.messages.is_empty() {
                // Copies of messages elsewhere in memory would stay visible, and travel with the agent.
                happened.messages = VecDeque::new();
            }
            message
        });
        found.map_or_else(|| pending(polling), Poll::Ready)
    }
}

/// Future of a time: [`Context::sleep`].
#[must_use = "time only passes when it is awaited"]
#[derive(Debug)]
pub struct Sleep {
    time: Duration,
    tag: Option<i64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<()> {
        let Some(tag) = self.tag else {
            let tag = -number();
            if let Err(error) = Context.set_timer(self.time, tag) {
                panic!("{error}");
            }
            self.tag = Some(tag);
            return pending(polling);
        };
        let due = happened(|happened| {
            let at = happened.due.iter().position(|due| *due == tag);
            at.map(|at| happened.due.swap_remove(at))
        });
        if due.is_none() {
            return pending(polling);
        }
        self.tag = None;
        Poll::Ready(())
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(tag) = self.tag {
            forget_timer(tag);
        }
    }
}

/// Ends a timer, and forgets that it was due.
pub(crate) fn forget_timer(tag: i64) {
    Context.cancel_timer(tag);
    happened(|happened| happened.due.retain(|due| *due != tag));
}

/// Future of the outcome of a departure.
struct Arrive;

impl Future for Arrive {
    type Output = Arrival;

    fn poll(self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Arrival> {
        happened(|happened| happened.arrival.take()).map_or_else(|| pending(polling), Poll::Ready)
    }
}

impl Template {
    /// Adds the platform to the sender's name, if it is missing.
    fn with_platform_of(mut self, ctx: Context) -> Self {
        let sender = &mut self.fields.sender;
        if !sender.is_empty() && !sender.contains('@') {
            let own = ctx.name();
            if let Some((_, platform)) = own.split_once('@') {
                *sender = format!("{sender}@{platform}");
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::message::Performative;
    use crate::testing::Trial;

    async fn tour(ctx: Context) -> Result<(), Error> {
        let nodes: Vec<String> = ctx
            .options()
            .field("nodes")
            .map(Value::items)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        for node in &nodes {
            match ctx.move_to(node).await {
                Ok(()) => ctx.print(format!("on {}", ctx.node())),
                Err(error) => ctx.print(format!("{error}; on {}", ctx.node())),
            }
            ctx.sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    #[test]
    fn loop_continues_on_other_node() {
        let mut trial = Trial::of_task(tour);
        trial.start(Value::map([("nodes", Value::list(["n2", "n3"]))])).expect("starts");
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["on n2"]);
        assert_eq!(trial.arrive(None), Ok(false));
        assert_eq!(trial.timer(), Ok(true));
        assert_eq!(trial.arrive(Some("n3 is full")), Ok(true));
        assert_eq!(trial.printed(), ["did not move: n3 is full; on n2"]);
        assert!(!trial.stopped());
        assert_eq!(trial.timer(), Ok(true));
        assert!(trial.stopped());
    }

    #[test]
    fn foreign_move_answers_no_request() {
        let mut trial = Trial::of_task(tour);
        trial.start(Value::map([("nodes", Value::list(["n2", "n3"]))])).expect("starts");
        assert_eq!(trial.arrive(None), Ok(true));
        trial.moved("n9").expect("sleeps on");
        assert_eq!(trial.timer(), Ok(true));
        assert_eq!(trial.printed(), ["on n2"]);
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["on n3"]);
    }

    async fn buyer(ctx: Context) -> Result<(), Error> {
        let answer = ctx.ask(Message::request("shop", "price")).await?;
        ctx.print(format!("{:?}", answer.content.as_int()));
        let late = ctx.receive_within(Template::performative(Performative::Agree), Duration::from_secs(1)).await;
        ctx.print(if late.is_none() { "too late" } else { "in time" });
        let first = ctx.receive(Template::any()).await;
        ctx.print(first.content.as_str().unwrap_or_default());
        Err(Error::new(ErrorKind::Other, "enough"))
    }

    #[test]
    fn awaited_message_comes_first() {
        let mut trial = Trial::of_task(buyer);
        trial.start(Value::Null).expect("starts");
        let asked = trial.sent().remove(0);
        trial.message(Message::inform("trial", "news")).expect("waits");
        trial.message(asked.reply(Performative::Inform, 7)).expect("is read");
        assert_eq!(trial.printed(), ["Some(7)"]);
        assert_eq!(trial.timer(), Err("failed: enough".to_owned()));
        assert_eq!(trial.timer(), Ok(false));
        assert_eq!(trial.printed(), ["too late", "news"]);
        assert!(trial.stopped());
    }

    #[test]
    fn timely_message_ends_timer() {
        async fn listen(ctx: Context) {
            let any = Template::any().from("bob");
            while let Some(message) = ctx.receive_within(any.clone(), Duration::from_secs(1)).await {
                ctx.print(message.sender);
            }
        }
        let mut trial = Trial::of_task(listen);
        trial.start(Value::Null).expect("starts");
        for _ in 0..3 {
            let message = Message { sender: "bob@test".into(), ..Message::inform("trial", 1) };
            trial.message(message).expect("is read");
        }
        assert_eq!(trial.printed(), ["bob@test"; 3]);
        assert_eq!(trial.timer(), Ok(true));
        assert_eq!(trial.timer(), Ok(false));
    }

    #[test]
    fn copy_knows_it_is_copy() {
        async fn split(ctx: Context) -> Result<(), Error> {
            ctx.print(format!("{:?} on {}", ctx.clone_to("n2", "").await?, ctx.node()));
            Ok(())
        }
        for (copy, line) in [(false, "Original on n1"), (true, "Copy on n2")] {
            let mut trial = Trial::of_task(split);
            trial.start(Value::Null).expect("starts");
            assert_eq!(trial.cloned(copy), Ok(true));
            assert_eq!(trial.printed(), [line]);
        }
    }
}
