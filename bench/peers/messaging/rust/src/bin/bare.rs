//! Upper bound for messaging: one connection between two processes, length-prefixed messages of all agents in batched
//! writes, a mailbox per agent. It has no routing table, no acknowledgement, no reconnection.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use messaging_peer::tally::{Consumer, Tally, fill, wall_ns};
use messaging_peer::{AT_ONCE, MeasuredCase, certificates, pace, ready, threads, wait_for_end, wait_for_go};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::{TlsAcceptor, TlsConnector};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes that wait to be written before producers wait.
const OUTBOX_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 64 << 10;
/// A message's length and its receiver.
const HEAD_BYTES: usize = 8;
/// The receiver of a broadcast, which crosses the link once.
const ALL: u32 = u32::MAX;

type Reading = Pin<Box<dyn AsyncRead + Send>>;
type Writing = Pin<Box<dyn AsyncWrite + Send>>;

/// Payload in mailboxes: owned, or shared by all receivers.
trait Payload: for<'a> From<&'a [u8]> + AsRef<[u8]> + Clone + Send + 'static {}
impl Payload for Box<[u8]> {}
impl Payload for Arc<[u8]> {}

/// Contents that wait for an agent.
struct ContentQueue<C> {
    contents: Mutex<Vec<C>>,
    filled: Notify,
}

impl<C> Default for ContentQueue<C> {
    fn default() -> Self {
        Self { contents: Mutex::default(), filled: Notify::default() }
    }
}

fn main() -> Result<()> {
    let case = MeasuredCase::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads()).enable_all().build()?;
    if !case.consumes {
        runtime.block_on(produce(&case))?;
    } else {
        let tally = Tally::default();
        if case.is_broadcast() {
            runtime.block_on(consume::<Arc<[u8]>>(&case, &tally))?;
        } else {
            runtime.block_on(consume::<Box<[u8]>>(&case, &tally))?;
        }
        ready();
        tally.report(&case)?;
    }
    wait_for_end();
    std::process::exit(0);
}

/// Listens, and starts the consumers.
async fn consume<C: Payload>(case: &MeasuredCase, tally: &Tally) -> Result<()> {
    let listener = TcpListener::bind(&case.address).await?;
    let mailboxes: Arc<Vec<ContentQueue<C>>> = Arc::new((0..case.consumers).map(|_| ContentQueue::default()).collect());
    for index in 0..case.consumers {
        tokio::spawn(handle(Arc::clone(&mailboxes), index, tally.consumer(case)));
    }
    let config = if case.secure { Some(certificates::server(&case.folder)?) } else { None };
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let reading: Reading = match config {
            Some(config) => Box::pin(TlsAcceptor::from(config).accept(socket).await?),
            None => Box::pin(socket),
        };
        read(reading, &mailboxes).await
    });
    Ok(())
}

async fn handle<C: Payload>(mailboxes: Arc<Vec<ContentQueue<C>>>, index: usize, mut consumer: Consumer) {
    let Some(mailbox) = mailboxes.get(index) else { return };
    let mut contents = Vec::new();
    while !consumer.is_done() {
        mailbox.filled.notified().await;
        std::mem::swap(&mut contents, &mut mailbox.contents.lock().unwrap());
        let now_ns = wall_ns();
        contents.drain(..).for_each(|content| consumer.take(content.as_ref(), now_ns));
    }
}

/// Reads messages, and puts all that arrived at once into the mailboxes.
async fn read<C: Payload>(mut reading: Reading, mailboxes: &[ContentQueue<C>]) -> Result<()> {
    let mut bytes = vec![0; READ_BYTES];
    let mut filled = 0;
    let mut sorted: Vec<Vec<C>> = mailboxes.iter().map(|_| Vec::new()).collect();
    let mut touched = Vec::new();
    loop {
        let count = reading.read(&mut bytes[filled..]).await?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut at = 0;
        while let Some(head) = bytes[at..filled].first_chunk::<HEAD_BYTES>() {
            let length = u32::from_le_bytes(head[..4].try_into()?) as usize;
            let to = u32::from_le_bytes(head[4..].try_into()?);
            let Some(content) = bytes[at..filled].get(HEAD_BYTES..HEAD_BYTES + length) else { break };
            let content = C::from(content);
            let receivers = if to == ALL { 0..sorted.len() } else { to as usize..to as usize + 1 };
            for to in receivers {
                let mailbox = sorted.get_mut(to).context("no such agent")?;
                if mailbox.is_empty() {
                    touched.push(to);
                }
                mailbox.push(content.clone());
            }
            at += HEAD_BYTES + length;
        }
        bytes.copy_within(at..filled, 0);
        filled -= at;
        for to in touched.drain(..) {
            mailboxes[to].contents.lock().unwrap().append(&mut sorted[to]);
            mailboxes[to].filled.notify_one();
        }
    }
}

/// Bytes that wait to be written.
#[derive(Default)]
struct WriteQueue {
    bytes: Mutex<Vec<u8>>,
    filled: Notify,
    emptied: Notify,
}

impl WriteQueue {
    /// Adds `count` messages. Returns true if there are too many bytes then.
    fn add(&self, case: &MeasuredCase, producer: usize, count: u64) -> bool {
        let to = if case.is_broadcast() { ALL } else { case.receiver(producer) as u32 };
        let is_full = {
            let mut bytes = self.bytes.lock().unwrap();
            let now_ns = wall_ns();
            for _ in 0..count {
                bytes.extend_from_slice(&(case.bytes as u32).to_le_bytes());
                bytes.extend_from_slice(&to.to_le_bytes());
                fill(&mut bytes, case.bytes, now_ns);
            }
            bytes.len() > OUTBOX_BYTES
        };
        self.filled.notify_one();
        is_full
    }
}

/// Connects, then starts the producers.
async fn produce(case: &MeasuredCase) -> Result<()> {
    let socket = TcpStream::connect(&case.address).await?;
    socket.set_nodelay(true)?;
    let writing: Writing = if case.secure {
        let connector = TlsConnector::from(certificates::client(&case.folder)?);
        Box::pin(connector.connect(certificates::NAME.try_into()?, socket).await?)
    } else {
        Box::pin(socket)
    };
    let outbox: Arc<WriteQueue> = Arc::default();
    wait_for_go()?;
    tokio::spawn(write(writing, Arc::clone(&outbox)));
    if case.paced {
        let case = case.clone();
        std::thread::spawn(move || {
            pace(&case, |producer| {
                outbox.add(&case, producer, 1);
            });
        });
    } else {
        for producer in 0..case.producers {
            tokio::spawn(send(case.clone(), producer, Arc::clone(&outbox)));
        }
    }
    Ok(())
}

async fn send(case: MeasuredCase, producer: usize, outbox: Arc<WriteQueue>) {
    let mut left = case.messages;
    while left > 0 {
        // Made before it is known to be needed: no notification in between is missed.
        let emptied = outbox.emptied.notified();
        let count = left.min(AT_ONCE);
        left -= count;
        if outbox.add(&case, producer, count) {
            emptied.await;
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// Takes all waiting bytes and writes them at once.
async fn write(mut writing: Writing, outbox: Arc<WriteQueue>) -> Result<()> {
    let mut bytes = Vec::new();
    loop {
        outbox.filled.notified().await;
        std::mem::swap(&mut bytes, &mut outbox.bytes.lock().unwrap());
        outbox.emptied.notify_waiters();
        writing.write_all(&bytes).await?;
        writing.flush().await?;
        bytes.clear();
    }
}
