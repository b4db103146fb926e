//! Node for tests: shows the effects of an agent in `cargo test`.
//!
//! ```
//! use whimbrel_guest::testing::Trial;
//! use whimbrel_guest::{Context, Error, Message, Template, Value};
//!
//! async fn echo(ctx: Context) -> Result<(), Error> {
//!     loop {
//!         let asked = ctx.receive(Template::any()).await;
//!         ctx.send(&asked.reply(asked.performative.clone(), asked.content.clone()))?;
//!     }
//! }
//!
//! let mut trial = Trial::of_task(echo);
//! trial.start(Value::Null).unwrap();
//! trial.message(Message::inform("echo", "hello")).unwrap();
//! assert_eq!(trial.sent()[0].content, Value::text("hello"));
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use crate::agent::{Agent, Arrival, Handlers};
use crate::calls::{Calls, Outcome};
use crate::context::Context;
use crate::message::Message;
use crate::tasks::{IntoOutcome, boxed, forget, task};
use crate::value::Value;

/// Agent under test; one at a time in each thread.
pub struct Trial {
    agent: Box<dyn Calls>,
}

/// Effects of the agent, and inputs that wait for it.
#[derive(Default)]
struct Done {
    node: String,
    sent: Vec<Message>,
    printed: Vec<String>,
    /// Milliseconds until each timer is due, by tag.
    timers: BTreeMap<i64, i64>,
    waiting: VecDeque<Message>,
    /// Result whose length the last call returned.
    result: Vec<u8>,
    departing: Option<String>,
    cloning: Option<String>,
    stopped: bool,
    recalls: i32,
    /// Limit of life, in milliseconds.
    lifetime: Option<i64>,
    last_words: Option<Message>,
    /// Documents by environment and name.
    documents: BTreeMap<String, BTreeMap<String, String>>,
    /// Storage by node and key, if it is granted.
    kept: Option<BTreeMap<(String, String), Vec<u8>>>,
}

thread_local! {
    static DONE: RefCell<Done> = RefCell::default();
}

fn done<T>(use_: impl FnOnce(&mut Done) -> T) -> T {
    DONE.with(|done| use_(&mut done.borrow_mut()))
}

impl Trial {
    fn of(agent: Box<dyn Calls>) -> Self {
        done(|done| *done = Done { node: "n1".to_owned(), ..Done::default() });
        forget();
        Self { agent }
    }

    /// Puts an agent that is an `async` function under test. It is called `trial@test`, and is on the node `n1`.
    pub fn of_task<F: Future<Output: IntoOutcome> + 'static>(body: fn(Context) -> F) -> Self {
        Self::of(task(move |ctx| boxed(body(ctx))))
    }

    /// Puts an agent with handlers under test.
    pub fn of_agent<A: Agent>() -> Self {
        Self::of(Box::<Handlers<A>>::default())
    }

    /// Starts the agent, with these options.
    ///
    /// # Errors
    /// The agent fails.
    pub fn start(&mut self, options: Value) -> Outcome {
        self.agent.start(options)
    }

    /// Gives the agent a message.
    ///
    /// # Errors
    /// The agent fails.
    pub fn message(&mut self, message: Message) -> Outcome {
        // Encoded, as it comes from a node.
        self.agent.message(Message::decode(&message.encode()).map_err(|error| error.to_string())?)
    }

    /// Adds a waiting message, which the agent may take.
    pub fn waits(&mut self, message: Message) {
        done(|done| done.waiting.push_back(message));
    }

    /// Rings the timer that is due first. Returns true if there was one.
    ///
    /// # Errors
    /// The agent fails.
    pub fn timer(&mut self) -> Result<bool, String> {
        let first = done(|done| {
            let (&tag, _) = done.timers.iter().min_by_key(|(_, ms)| **ms)?;
            done.timers.remove(&tag)?;
            Some(tag)
        });
        first.map_or(Ok(false), |tag| self.agent.timer(tag).map(|()| true))
    }

    /// Lets the agent depart as it wants to, or tells it why it stays. Returns true if it wanted to depart.
    ///
    /// # Errors
    /// The agent fails.
    pub fn arrive(&mut self, stayed: Option<&str>) -> Result<bool, String> {
        let Some(to) = done(|done| done.departing.take()) else { return Ok(false) };
        self.agent.departure();
        let stayed = stayed.map(str::to_owned);
        let from = done(|done| match stayed {
            None => std::mem::replace(&mut done.node, to.clone()),
            Some(_) => done.node.clone(),
        });
        self.agent.arrival(Arrival { from, to, stayed, ..Arrival::default() }).map(|()| true)
    }

    /// Moves the agent to a node on another party's wish.
    ///
    /// # Errors
    /// The agent fails.
    pub fn moved(&mut self, to: &str) -> Outcome {
        self.agent.departure();
        let from = done(|done| std::mem::replace(&mut done.node, to.to_owned()));
        self.agent.arrival(Arrival { from, to: to.to_owned(), ..Arrival::default() })
    }

    /// Calls the agent home to a node, wherever it was to go.
    ///
    /// # Errors
    /// The agent fails.
    pub fn recall(&mut self, home: &str) -> Outcome {
        self.agent.departure();
        let from = done(|done| {
            done.recalls += 1;
            done.departing = None;
            std::mem::replace(&mut done.node, home.to_owned())
        });
        self.agent.arrival(Arrival { from, to: home.to_owned(), recalled: true, ..Arrival::default() })
    }

    /// Tells the agent why there is no clone. Returns true if it wanted one.
    ///
    /// # Errors
    /// The agent fails.
    pub fn not_cloned(&mut self, why: &str) -> Result<bool, String> {
        let Some(to) = done(|done| done.cloning.take()) else { return Ok(false) };
        let from = done(|done| done.node.clone());
        let stayed = Some(why.to_owned());
        self.agent.arrival(Arrival { from, to, stayed, ..Arrival::default() }).map(|()| true)
    }

    /// Makes the agent the original, or the copy, of the clone that it wants. Returns true if it wanted one.
    ///
    /// # Errors
    /// The agent fails.
    pub fn cloned(&mut self, copy: bool) -> Result<bool, String> {
        let Some(to) = done(|done| done.cloning.take()) else { return Ok(false) };
        let from = done(|done| if copy { std::mem::replace(&mut done.node, to.clone()) } else { done.node.clone() });
        let to = if copy { to } else { from.clone() };
        self.agent.arrival(Arrival { from, to, clone: copy, ..Arrival::default() }).map(|()| true)
    }

    /// Offers documents (names and texts) to the agent, by this name.
    pub fn offers(
        &mut self,
        environment: &str,
        documents: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) {
        let documents = documents.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
        done(|done| done.documents.insert(environment.to_owned(), documents));
    }

    /// Grants `storage` to the agent, on all nodes.
    pub fn grants_storage(&mut self) {
        done(|done| {
            done.kept.get_or_insert_default();
        });
    }

    /// Takes the messages that the agent has sent since the last call.
    pub fn sent(&self) -> Vec<Message> {
        done(|done| std::mem::take(&mut done.sent))
    }

    /// Takes the lines that the agent has printed since the last call.
    pub fn printed(&self) -> Vec<String> {
        done(|done| std::mem::take(&mut done.printed))
    }

    /// Limit of the agent's life, if it set one.
    pub fn lifetime(&self) -> Option<Duration> {
        done(|done| done.lifetime.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis))
    }

    /// Message that is sent if the agent fails, if it set one.
    pub fn last_words(&self) -> Option<Message> {
        done(|done| done.last_words.clone())
    }

    /// Returns true if the agent has ended itself.
    pub fn stopped(&self) -> bool {
        done(|done| done.stopped)
    }
}

/// Host functions of the trial.
pub(crate) mod node {
    use std::collections::BTreeMap;

    use super::{Message, Value, done};
    use crate::frame::template_of;

    const DENIED: i32 = -1;
    const MALFORMED: i32 = -3;
    const UNKNOWN: i32 = -4;
    /// Maximal number of keys in an answer.
    const KEYS_LISTED: usize = 1_000;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn copy(from: &[u8], to: &mut [u8]) -> i32 {
        let len = from.len().min(to.len());
        to[..len].copy_from_slice(&from[..len]);
        from.len() as i32
    }

    pub fn send(frame: &[u8]) -> i32 {
        match Message::decode(frame) {
            Ok(message) => done(|done| done.sent.push(message)),
            Err(_) => return MALFORMED,
        }
        0
    }

    pub fn take(template: &[u8]) -> i32 {
        let Ok(template) = template_of(template) else { return MALFORMED };
        done(|done| match done.waiting.iter().position(|message| template.fits(message)) {
            Some(at) => {
                done.result = done.waiting.remove(at).unwrap_or_default().encode();
                done.result.len() as i32
            }
            None => UNKNOWN,
        })
    }

    pub fn read(to: &mut [u8]) -> i32 {
        done(|done| copy(&done.result, to))
    }

    pub fn reason(to: &mut [u8]) -> i32 {
        copy(b"not in a test", to)
    }

    pub fn name(to: &mut [u8]) -> i32 {
        copy(b"trial@test", to)
    }

    pub fn node(to: &mut [u8]) -> i32 {
        done(|done| copy(done.node.as_bytes(), to))
    }

    pub fn timer(ms: i64, tag: i64) -> i32 {
        done(|done| done.timers.insert(tag, ms));
        0
    }

    pub fn cancel(tag: i64) -> i32 {
        done(|done| if done.timers.remove(&tag).is_some() { 0 } else { UNKNOWN })
    }

    pub fn timer_left(tag: i64) -> i64 {
        done(|done| done.timers.get(&tag).copied().unwrap_or(i64::from(UNKNOWN)))
    }

    pub fn recalled() -> i32 {
        done(|done| done.recalls)
    }

    pub fn set_lifetime(ms: i64) -> i32 {
        done(|done| done.lifetime = Some(done.lifetime.map_or(ms, |set| set.min(ms))));
        0
    }

    pub fn life() -> i64 {
        0xA11CE
    }

    pub fn on_failure(frame: &[u8]) -> i32 {
        if !frame.is_empty() && Message::decode(frame).is_err() {
            return MALFORMED;
        }
        done(|done| done.last_words = Message::decode(frame).ok());
        0
    }

    pub fn now() -> i64 {
        0
    }

    pub fn random(to: &mut [u8]) -> i32 {
        to.fill(4);
        0
    }

    pub fn log(_level: i32, _text: &[u8]) {}

    pub fn print(line: &[u8]) {
        done(|done| done.printed.push(text(line)));
    }

    pub fn register(_service: &[u8], _kind: &[u8]) -> i32 {
        0
    }

    pub fn deregister(_service: &[u8], _kind: &[u8]) -> i32 {
        0
    }

    pub fn search(_service: &[u8], _kind: &[u8]) -> i32 {
        done(|done| {
            done.result = Value::List(Vec::new()).encode();
            done.result.len() as i32
        })
    }

    pub fn exists(_name: &[u8]) -> i32 {
        0
    }

    pub fn join(_topic: &[u8]) -> i32 {
        0
    }

    pub fn leave(_topic: &[u8]) -> i32 {
        0
    }

    pub fn act(environment: &[u8], action: &[u8]) -> i32 {
        let Ok(action) = Value::decode(action) else { return MALFORMED };
        done(|done| {
            let Some(documents) = done.documents.get(&text(environment)) else { return DENIED };
            let Some(answer) = answer(documents, &action) else { return UNKNOWN };
            done.result = answer.encode();
            done.result.len() as i32
        })
    }

    /// Answers an action on documents, as a node does.
    fn answer(documents: &BTreeMap<String, String>, action: &Value) -> Option<Value> {
        let number = |value: &Value| value.as_int().and_then(|number| usize::try_from(number).ok());
        match action.as_term()? {
            ("count", []) => Some(Value::Int(documents.len() as i64)),
            ("list", [from, count]) => {
                let page = documents.iter().skip(number(from)?).take(number(count)?);
                let document = |(name, text): (&String, &String)| {
                    Value::term("document", [Value::text(name), Value::Int(text.len() as i64)])
                };
                Some(Value::List(page.map(document).collect()))
            }
            ("read", [name, from, count]) => {
                let text = documents.get(name.as_str()?)?;
                let from = number(from)?.min(text.len());
                let next = text.floor_char_boundary(from.saturating_add(number(count)?));
                let part = Value::text(text.get(from..next)?);
                Some(Value::term("part", [part, Value::Int(next as i64)]))
            }
            _ => None,
        }
    }

    /// Applies `use_` to the storage of the agent's node with a key; `None` if storage is not granted.
    fn kept<T>(
        key: &[u8],
        use_: impl FnOnce(&mut BTreeMap<(String, String), Vec<u8>>, (String, String)) -> T,
    ) -> Option<T> {
        done(|done| {
            let at = (done.node.clone(), text(key));
            done.kept.as_mut().map(|kept| use_(kept, at))
        })
    }

    fn hold(bytes: Vec<u8>) -> i32 {
        done(|done| {
            done.result = bytes;
            done.result.len() as i32
        })
    }

    pub fn storage_get(key: &[u8]) -> i32 {
        match kept(key, |kept, at| kept.get(&at).cloned()) {
            Some(found) => found.map_or(UNKNOWN, hold),
            None => DENIED,
        }
    }

    pub fn storage_put(key: &[u8], value: &[u8]) -> i32 {
        kept(key, |kept, at| kept.insert(at, value.to_vec())).map_or(DENIED, |_| 0)
    }

    pub fn storage_delete(key: &[u8]) -> i32 {
        match kept(key, |kept, at| kept.remove(&at)) {
            Some(found) => found.map_or(UNKNOWN, |_| 0),
            None => DENIED,
        }
    }

    pub fn storage_list(prefix: &[u8], after: &[u8]) -> i32 {
        let (prefix, after) = (text(prefix), text(after));
        let keys = kept(&[], |kept, (node, _)| {
            let here = kept.keys().filter(|(on, key)| *on == node && key.starts_with(&prefix) && *key > after);
            here.take(KEYS_LISTED).map(|(_, key)| Value::text(key)).collect()
        });
        keys.map_or(DENIED, |keys| hold(Value::List(keys).encode()))
    }

    pub fn depart(node: &[u8]) -> i32 {
        done(|done| done.departing = Some(text(node)));
        0
    }

    pub fn depart_clone(node: &[u8], _name: &[u8]) -> i32 {
        done(|done| done.cloning = Some(text(node)));
        0
    }

    pub fn discard(_unused: &[u8]) {}

    pub fn stop() {
        done(|done| done.stopped = true);
    }

    // Suspended calls cannot be tested without WebAssembly.

    pub fn receive(_template: &[u8], _ms: i64) -> i32 {
        DENIED
    }

    pub fn sleep(_ms: i64) {}

    pub fn move_to(_node: &[u8]) -> i32 {
        DENIED
    }

    pub fn clone_to(_node: &[u8], _name: &[u8]) -> i32 {
        DENIED
    }
}
