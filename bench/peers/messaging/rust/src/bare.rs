//! The ceiling: one connection between two processes, length-prefixed messages of all agents in batched writes, a mailbox
//! per agent. No routing table, no acknowledgement, no reconnection.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::tally::{Consumer, PACE, Tally, fill, wall_ns};
use crate::{Case, certificates};

/// Bytes that wait to be written before producers wait.
const OUTBOX_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 64 << 10;
/// A message's length and its receiver.
const HEAD_BYTES: usize = 8;

type Reading = Pin<Box<dyn AsyncRead + Send>>;
type Writing = Pin<Box<dyn AsyncWrite + Send>>;

/// Contents that wait for an agent.
#[derive(Default)]
struct Mailbox {
    contents: Mutex<Vec<Box<[u8]>>>,
    filled: Notify,
}

/// Listens, and has the consumers wait. Returns the address, and the folder with certificates.
pub async fn consume(case: &Case, tally: &Tally) -> Result<String> {
    let folder = std::env::temp_dir().join(format!("messaging-peer-{}", std::process::id()));
    if case.secure {
        certificates::make(&folder)?;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("{}|{}", listener.local_addr()?, folder.display());
    let mailboxes: Arc<Vec<Mailbox>> = Arc::new((0..case.consumers).map(|_| Mailbox::default()).collect());
    for index in 0..case.consumers {
        tokio::spawn(handle(Arc::clone(&mailboxes), index, tally.consumer(case)));
    }
    let secure = case.secure;
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let reading: Reading = if secure {
            let acceptor = TlsAcceptor::from(certificates::server(&folder)?);
            let reading = acceptor.accept(socket).await?;
            let _ = std::fs::remove_dir_all(&folder);
            Box::pin(reading)
        } else {
            Box::pin(socket)
        };
        read(reading, &mailboxes).await
    });
    Ok(address)
}

async fn handle(mailboxes: Arc<Vec<Mailbox>>, index: usize, mut consumer: Consumer) {
    let Some(mailbox) = mailboxes.get(index) else { return };
    let mut contents = Vec::new();
    while !consumer.is_done() {
        mailbox.filled.notified().await;
        std::mem::swap(&mut contents, &mut mailbox.contents.lock().unwrap());
        let now_ns = wall_ns();
        contents.drain(..).for_each(|content| consumer.take(&content, now_ns));
    }
}

/// Reads messages, and puts all that came at once into the mailboxes.
async fn read(mut reading: Reading, mailboxes: &[Mailbox]) -> Result<()> {
    let mut bytes = vec![0; READ_BYTES];
    let mut filled = 0;
    let mut sorted: Vec<Vec<Box<[u8]>>> = mailboxes.iter().map(|_| Vec::new()).collect();
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
            let to = u32::from_le_bytes(head[4..].try_into()?) as usize;
            let Some(content) = bytes[at..filled].get(HEAD_BYTES..HEAD_BYTES + length) else { break };
            let mailbox = sorted.get_mut(to).context("no such agent")?;
            if mailbox.is_empty() {
                touched.push(to);
            }
            mailbox.push(content.into());
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

/// What waits to be written.
#[derive(Default)]
struct Outbox {
    bytes: Mutex<Vec<u8>>,
    filled: Notify,
    emptied: Notify,
}

/// Connects, then has the producers send.
pub async fn produce(case: &Case, address: &str, go: impl FnOnce() -> Result<()>) -> Result<()> {
    let (address, folder) = address.split_once('|').context("ADDRESS|FOLDER")?;
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let writing: Writing = if case.secure {
        let connector = TlsConnector::from(certificates::client(folder.as_ref())?);
        Box::pin(connector.connect(certificates::NAME.try_into()?, socket).await?)
    } else {
        Box::pin(socket)
    };
    let outbox: Arc<Outbox> = Arc::default();
    go()?;
    for producer in 0..case.producers {
        tokio::spawn(send(case.clone(), producer, Arc::clone(&outbox)));
    }
    tokio::spawn(write(writing, outbox));
    Ok(())
}

async fn send(case: Case, producer: usize, outbox: Arc<Outbox>) {
    let receivers = case.receivers(producer);
    let mut ticking = tokio::time::interval(PACE);
    let mut left = case.messages;
    while left > 0 {
        if case.paced {
            ticking.tick().await;
        }
        // Made before it is known whether it is needed: nothing that happens meanwhile is missed.
        let emptied = outbox.emptied.notified();
        let is_full = {
            let mut bytes = outbox.bytes.lock().unwrap();
            let now_ns = wall_ns();
            let count = if case.paced { 1 } else { left.min(64) };
            for _ in 0..count {
                for to in &receivers {
                    bytes.extend_from_slice(&(case.bytes as u32).to_le_bytes());
                    bytes.extend_from_slice(&(*to as u32).to_le_bytes());
                    fill(&mut bytes, case.bytes, now_ns);
                }
            }
            left -= count;
            bytes.len() > OUTBOX_BYTES
        };
        outbox.filled.notify_one();
        if is_full && !case.paced {
            emptied.await;
        } else if !case.paced {
            tokio::task::yield_now().await;
        }
    }
}

/// Takes all that waits and makes one write of it.
async fn write(mut writing: Writing, outbox: Arc<Outbox>) -> Result<()> {
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
