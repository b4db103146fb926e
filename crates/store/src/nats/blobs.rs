//! Blobs: chunks in a stream, `NAME.b.HASH.0` and so on. The last part stored is `NAME.b.HASH.head`, with the number
//! of bytes. Bytes that do not match their hash are never returned.

use std::time::Instant;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use whimbrel_platform::limits;
use whimbrel_platform::store::{BlobHash, StoreError};

use super::engine::{NatsEngine, NatsMessage, StoredMessage};
use super::journal::{away, persist};
use super::patience;
use crate::sizes;

/// Blobs of a store.
#[derive(Debug)]
pub(crate) struct Chunks {
    pub stream: String,
    start: String,
    chunk_bytes: usize,
}

#[derive(Serialize, Deserialize)]
struct BlobHead {
    bytes: usize,
    chunk_bytes: usize,
}

impl Chunks {
    pub(crate) fn new(name: &str, payload_bytes_max: usize) -> Self {
        let room = payload_bytes_max.saturating_sub(limits::STORE_NATS_HEADER_BYTES_MAX).max(1);
        Self {
            stream: format!("{name}-BLOB"),
            start: format!("{name}.b"),
            chunk_bytes: room.min(limits::STORE_NATS_CHUNK_BYTES_MAX),
        }
    }

    fn subject(&self, hash: BlobHash, part: impl std::fmt::Display) -> String {
        let hex: String = hash.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}.{hex}.{part}", self.start)
    }

    async fn head(&self, engine: &NatsEngine, hash: BlobHash) -> Result<Option<BlobHead>, StoreError> {
        let deadline = Instant::now() + patience();
        let (subject, mark) = (self.subject(hash, "head"), format!("{}.mark", self.start));
        let last = persist(deadline, || engine.last_proven(&self.stream, &subject, &mark, deadline));
        let Some(head) = last.await.map_err(away)? else { return Ok(None) };
        let head: BlobHead =
            serde_json::from_slice(&head.payload).map_err(|error| damaged(&head, &error.to_string()))?;
        if head.chunk_bytes == 0 || head.bytes > limits::STORE_BLOB_BYTES_MAX {
            return Err(StoreError::Damaged(format!("{subject} says {} bytes", head.bytes)));
        }
        Ok(Some(head))
    }

    pub(crate) async fn put(&self, engine: &NatsEngine, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        if bytes.len() > limits::STORE_BLOB_BYTES_MAX {
            return Err(StoreError::TooBig { bytes: bytes.len(), bytes_max: limits::STORE_BLOB_BYTES_MAX });
        }
        let hash = sizes::hash_of(bytes);
        if self.head(engine, hash).await?.is_some() {
            return Ok(hash);
        }
        let store = |(index, chunk): (usize, &[u8])| {
            let (subject, post) = (self.subject(hash, index), NatsMessage::new(chunk.to_vec()));
            async move {
                persist(Instant::now() + patience(), || engine.publish(&subject, &post)).await.map(drop).map_err(away)
            }
        };
        let chunks = bytes.chunks(self.chunk_bytes).enumerate();
        let stored = stream::iter(chunks.map(store)).buffer_unordered(limits::STORE_NATS_CHUNKS_AT_ONCE);
        stored.try_collect::<()>().await?;
        let head = serde_json::json!(BlobHead { bytes: bytes.len(), chunk_bytes: self.chunk_bytes }).to_string();
        let (subject, post) = (self.subject(hash, "head"), NatsMessage::new(head));
        persist(Instant::now() + patience(), || engine.publish(&subject, &post)).await.map_err(away)?;
        Ok(hash)
    }

    pub(crate) async fn fetch(&self, engine: &NatsEngine, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(head) = self.head(engine, hash).await? else { return Ok(None) };
        let chunks = 0..head.bytes.div_ceil(head.chunk_bytes);
        let fetch = |index: usize| {
            let subject = self.subject(hash, index);
            async move {
                let deadline = Instant::now() + patience();
                let chunk = persist(deadline, || engine.last(&self.stream, &subject)).await.map_err(away)?;
                chunk.ok_or_else(|| StoreError::Damaged(format!("{subject} is missing")))
            }
        };
        let mut fetched = stream::iter(chunks.map(fetch)).buffered(limits::STORE_NATS_CHUNKS_AT_ONCE);
        let mut bytes = Vec::new();
        while let Some(chunk) = fetched.next().await {
            bytes.extend_from_slice(&chunk?.payload);
        }
        if bytes.len() != head.bytes || sizes::hash_of(&bytes) != hash {
            return Err(StoreError::Damaged(format!("{}: content does not match its hash", self.subject(hash, "*"))));
        }
        Ok(Some(bytes))
    }

    pub(crate) async fn remove(&self, engine: &NatsEngine, hash: BlobHash) -> Result<(), StoreError> {
        // The head is removed first: a blob without its head does not exist.
        for part in ["head", "*"] {
            let subject = self.subject(hash, part);
            let deadline = Instant::now() + patience();
            persist(deadline, || engine.purge_all(&self.stream, &subject)).await.map_err(away)?;
        }
        Ok(())
    }
}

fn damaged(message: &StoredMessage, why: &str) -> StoreError {
    StoreError::Damaged(format!("{}: {why}", message.subject))
}
