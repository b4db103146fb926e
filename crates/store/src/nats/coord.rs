//! Coordination: a stream that keeps the last message of each subject; a key's revision is that message's sequence.
//!
//! A key that is removed gets a message that says so. The engine forgets it after a while.

use std::time::Instant;

use whimbrel_platform::limits;
use whimbrel_platform::store::{Revision, StoreError, WriteError};

use super::engine::{IN_PROCESS, NatsEngine, NatsMessage, RequestError, StoredMessage, WRONG_LAST_SEQUENCE};
use super::journal::away;
use super::keys;
use crate::sizes;

const REMOVED: &str = "Whimbrel-Removed";
const LIFETIME: &str = "Nats-TTL";

/// Keys of a store.
#[derive(Debug)]
pub(crate) struct Keys {
    pub stream: String,
    /// Prefix of the subjects of keys: `NAME.c.`.
    pub start: String,
    /// Prefix of the marks that readers store.
    pub marks: String,
}

impl Keys {
    pub(crate) fn new(name: &str) -> Self {
        Self { stream: format!("{name}-COORD"), start: format!("{name}.c."), marks: format!("{name}.m.") }
    }

    fn subject(&self, key: &str) -> String {
        format!("{}{}", self.start, keys::subject_of(key))
    }

    pub(crate) async fn read(&self, engine: &NatsEngine, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        if sizes::key_fits(key, &[]).is_err() {
            return Ok(None);
        }
        let deadline = Instant::now() + engine.timeout;
        let mark = format!("{}read", self.marks);
        let last = engine.last_proven(&self.stream, &self.subject(key), &mark, deadline).await.map_err(away)?;
        Ok(last.filter(|last| !is_removal(last)).map(|last| (Revision(last.sequence), last.payload)))
    }

    pub(crate) async fn write(
        &self,
        engine: &NatsEngine,
        key: &str,
        expected: Revision,
        value: &[u8],
    ) -> Result<Revision, WriteError> {
        sizes::key_fits(key, value)?;
        self.store(engine, key, expected, NatsMessage::new(value.to_vec())).await
    }

    pub(crate) async fn remove(&self, engine: &NatsEngine, key: &str, expected: Revision) -> Result<(), WriteError> {
        if expected == Revision(0) {
            return match self.read(engine, key).await {
                Ok(None) => Ok(()),
                Ok(Some((revision, _))) => Err(WriteError::Conflict(revision)),
                Err(error) => Err(WriteError::Retry(error.to_string())),
            };
        }
        let lifetime = format!("{}s", limits::STORE_NATS_REMOVED_S);
        let post = NatsMessage::new(Vec::new()).header(REMOVED, "1").header(LIFETIME, &lifetime);
        self.store(engine, key, expected, post).await.map(drop)
    }

    async fn store(
        &self,
        engine: &NatsEngine,
        key: &str,
        expected: Revision,
        post: NatsMessage,
    ) -> Result<Revision, WriteError> {
        let subject = self.subject(key);
        let deadline = Instant::now() + engine.timeout;
        let mut sequence = expected.0;
        loop {
            let post = post.clone().expecting(sequence, &subject);
            let trouble = match engine.publish_settled(&subject, &post, deadline).await {
                Ok(sequence) => return Ok(Revision(sequence)),
                Err(trouble) => trouble,
            };
            if trouble.code() != Some(WRONG_LAST_SEQUENCE) {
                return Err(not_written(trouble));
            }
            let last = match engine.last(&self.stream, &subject).await {
                Ok(last) => last,
                Err(trouble) => return Err(WriteError::Retry(trouble.to_string())),
            };
            match last {
                // There is no key, but a message that says so.
                Some(last) if is_removal(&last) && expected.0 == 0 && last.sequence > sequence => {
                    sequence = last.sequence
                }
                Some(last) if !is_removal(&last) => return Err(WriteError::Conflict(Revision(last.sequence))),
                _ if expected.0 > 0 => return Err(WriteError::Conflict(Revision(0))),
                // The conflicting message is forgotten by now, or a new leader does not have it yet.
                _ if Instant::now() < deadline => sequence = 0,
                _ => return Err(WriteError::Retry(trouble.to_string())),
            }
        }
    }
}

/// Checks whether a message removes its key.
pub(crate) fn is_removal(message: &StoredMessage) -> bool {
    message.headers.contains(REMOVED)
}

/// Checks whether a header marks the removal of a key.
pub(crate) fn says_removed(headers: Option<&async_nats::HeaderMap>) -> bool {
    headers.is_some_and(|headers| headers.get(REMOVED).is_some())
}

fn not_written(trouble: RequestError) -> WriteError {
    match trouble {
        RequestError::NotTaken(_) | RequestError::Refused { code: 0 | IN_PROCESS, .. } => {
            WriteError::Retry(trouble.to_string())
        }
        other => WriteError::Unknown(other.to_string()),
    }
}
