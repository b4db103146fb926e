//! Who watches keys: a consumer of the coordination stream, made anew whenever it cannot be sure to hear of everything.
//!
//! Each round begins with a mark that is stored in the stream. Until it comes, what the consumer brings is gathered; then it
//! is told at once. So a consumer beside a replica that is behind tells nothing that is older than what was told before.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use whimbrel_platform::limits;
use whimbrel_platform::store::{Revision, StoreError, Watch, Watched};

use super::coord::{Keys, says_removed};
use super::engine::{Engine, Pause, Post, Trouble};
use super::journal::{away, persist};
use super::{keys, patience};

type Tell = Box<dyn FnMut(Watched) + Send>;

/// Begins to watch; returns when what is there is about to be told.
pub(crate) fn watch(
    handle: &Handle,
    engine: Arc<Engine>,
    keys: Arc<Keys>,
    prefix: &str,
    tell: Tell,
) -> Result<Box<dyn Watch>, StoreError> {
    let (events, told) = channel();
    let mut round = Round { engine, keys, prefix: prefix.to_owned(), events };
    let deadline = Instant::now() + patience();
    let first = handle.block_on(persist(deadline, || round.begin())).map_err(away)?;
    let ended = Arc::new(AtomicBool::new(false));
    let thread = tell_on_thread(told, tell, ended.clone())?;
    let task = handle.spawn(async move { round.run(first).await }).abort_handle();
    Ok(Box::new(Watching { task, ended, thread: Some(thread) }))
}

/// Who is told may ask the store in turn, so that is no task's of the client.
fn tell_on_thread(
    told: Receiver<Watched>,
    mut tell: Tell,
    ended: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, StoreError> {
    let run = move || {
        while let Ok(watched) = told.recv() {
            if ended.load(Ordering::Acquire) {
                return;
            }
            tell(watched);
        }
    };
    let thread = std::thread::Builder::new().name("store-watch".to_owned()).spawn(run);
    thread.map_err(|error| StoreError::Away(format!("cannot begin to watch: {error}")))
}

struct Watching {
    task: AbortHandle,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch for Watching {}

impl Drop for Watching {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // With the task its sender goes, so the thread ends.
        self.task.abort();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

struct Round {
    engine: Arc<Engine>,
    keys: Arc<Keys>,
    prefix: String,
    events: Sender<Watched>,
}

/// A consumer, and the mark that it comes to.
struct Consumer {
    messages: Subscriber,
    mark: u64,
    /// How many messages it delivered.
    delivered: u64,
    pending: BTreeMap<String, Option<(Revision, Vec<u8>)>>,
}

/// One message of a consumer.
enum Came {
    Change(String, Option<(Revision, Vec<u8>)>),
    Mark(u64),
    /// It lives.
    Beat,
}

impl Round {
    /// Makes a consumer of the last message of each key, and of the changes from now on.
    async fn begin(&self) -> Result<Consumer, Trouble> {
        let engine = &self.engine;
        let mark_subject = format!("{}watch", self.keys.marks);
        let mark = engine.publish(&mark_subject, &Post::new(Bytes::new())).await?;
        let inbox = engine.client.new_inbox();
        let gone = |error: async_nats::SubscribeError| Trouble::NotTaken(error.to_string());
        let messages = engine.client.subscribe(inbox.clone()).await.map_err(gone)?;
        let filter = format!("{}{}", self.keys.start, keys::filter_of(&self.prefix));
        let beat_ns = Duration::from_millis(limits::STORE_NATS_BEAT_MS).as_nanos() as u64;
        let config = json!({
            "stream_name": self.keys.stream,
            "config": {
                "deliver_subject": inbox,
                "deliver_policy": "last_per_subject",
                "filter_subjects": [filter, mark_subject],
                "ack_policy": "none",
                "flow_control": true,
                "idle_heartbeat": beat_ns,
                "inactive_threshold": beat_ns * 10,
                "mem_storage": true,
                "num_replicas": 1,
            },
        });
        engine.ask(&format!("CONSUMER.CREATE.{}", self.keys.stream), &config).await?;
        Ok(Consumer { messages, mark, delivered: 0, pending: BTreeMap::new() })
    }

    async fn run(&mut self, first: Consumer) {
        let mut consumer = first;
        loop {
            self.follow(&mut consumer).await;
            if self.events.send(Watched::Away).is_err() {
                return;
            }
            let mut pause = Pause::default();
            consumer = loop {
                match self.begin().await {
                    Ok(consumer) => break consumer,
                    Err(_) => pause.wait().await,
                }
            };
            // `Back` is told with what is there: until then nothing is known.
            while !self.settle(&mut consumer, true).await {
                match self.begin().await {
                    Ok(anew) => consumer = anew,
                    Err(_) => pause.wait().await,
                }
            }
        }
    }

    /// Gathers what is there and tells it; false if the consumer failed before.
    async fn settle(&self, consumer: &mut Consumer, back: bool) -> bool {
        let mut connected = self.engine.connected();
        loop {
            match self.receive(consumer, &mut connected).await {
                Some(Came::Change(key, value)) => drop(consumer.pending.insert(key, value)),
                Some(Came::Mark(sequence)) if sequence >= consumer.mark => break,
                Some(_) => {}
                None => return false,
            }
        }
        let there = std::mem::take(&mut consumer.pending);
        let start = back.then_some(Watched::Back);
        let keys = there.into_iter().filter_map(|(key, value)| value.map(|(r, v)| Watched::Written(key, r, v)));
        for event in start.into_iter().chain(keys).chain([Watched::Complete]) {
            if self.events.send(event).is_err() {
                return false;
            }
        }
        consumer.mark = 0;
        true
    }

    /// Tells of changes, until the consumer may have missed one.
    async fn follow(&self, consumer: &mut Consumer) {
        if consumer.mark > 0 && !self.settle(consumer, false).await {
            return;
        }
        let mut connected = self.engine.connected();
        while let Some(came) = self.receive(consumer, &mut connected).await {
            let event = match came {
                Came::Change(key, Some((revision, value))) => Watched::Written(key, revision, value),
                Came::Change(key, None) => Watched::Removed(key),
                Came::Mark(_) | Came::Beat => continue,
            };
            if self.events.send(event).is_err() {
                return;
            }
        }
    }

    /// What comes next; `None` if something may have been missed.
    async fn receive(
        &self,
        consumer: &mut Consumer,
        connected: &mut tokio::sync::watch::Receiver<bool>,
    ) -> Option<Came> {
        let silence = Duration::from_millis(limits::STORE_NATS_BEAT_MS * limits::STORE_NATS_BEATS_MISSED_MAX);
        loop {
            let message = tokio::select! {
                message = tokio::time::timeout(silence, consumer.messages.next()) => message.ok()??,
                lost = connected.wait_for(|connected| !connected) => {
                    drop(lost);
                    return None;
                }
            };
            if message.status.is_some_and(|status| status.as_u16() == 100) {
                if let Some(reply) = &message.reply {
                    self.engine.client.publish(reply.clone(), Bytes::new()).await.ok()?;
                }
                return Some(Came::Beat);
            }
            let (sequence, delivered) = sequences(&message)?;
            consumer.delivered += 1;
            if delivered != consumer.delivered {
                return None;
            }
            if let Some(came) = self.came(&message, sequence) {
                return Some(came);
            }
        }
    }

    fn came(&self, message: &Message, sequence: u64) -> Option<Came> {
        let Some(subject) = message.subject.strip_prefix(self.keys.start.as_str()) else {
            return Some(Came::Mark(sequence));
        };
        let key = keys::key_of(subject).filter(|key| key.starts_with(&self.prefix))?;
        let removed = says_removed(message.headers.as_ref());
        let value = (!removed).then(|| (Revision(sequence), message.payload.to_vec()));
        Some(Came::Change(key, value))
    }
}

/// A message's place in the stream, and the how-manieth of its consumer it is; both stand in its reply subject:
/// `$JS.ACK.STREAM.CONSUMER.TRIES.STREAM-SEQUENCE.CONSUMER-SEQUENCE.TIME.PENDING`, or with two more tokens in front.
fn sequences(message: &Message) -> Option<(u64, u64)> {
    let tokens: Vec<&str> = message.reply.as_ref()?.split('.').collect();
    let start = if tokens.len() > 9 { 7 } else { 5 };
    let number = |index: usize| tokens.get(index)?.parse().ok();
    Some((number(start)?, number(start + 1)?))
}
