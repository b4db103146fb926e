//! Journal: one subject per partition for its owner and one for its frames, both in one stream.
//!
//! | subject | content |
//! |---|---|
//! | `NAME.j.STREAM.PARTITION.own` | the epoch. Appends expect its sequence, so a new owner's message ends them |
//! | `….log` | messages of frames |
//! | `….mark` | marks of readers: a reader that reaches its own mark has read everything before |
//! | `….trim` | the place before which frames are forgotten |

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::json;
use tokio::sync::Mutex;
use whimbrel_platform::limits;
use whimbrel_platform::store::{Append, AppendError, Epoch, Lsn, OpenError, Partition, ReadFrame, StoreError};

use super::consumer::{ConsumerDelivery, StreamConsumer};
use super::engine::{
    IN_PROCESS, NO_LEADER, NatsEngine, NatsMessage, Pause, RequestError, StoredMessage, WRONG_LAST_SEQUENCE,
};
use super::frames::{self, MessageHead};
use super::patience;
use crate::fence::{Admission, Ownership};

/// The journals of all partitions.
#[derive(Debug)]
pub(crate) struct Journals {
    name: String,
    streams: u16,
    message_bytes_max: usize,
    slots: Vec<Mutex<PartitionSlot>>,
}

/// State of a partition at this node.
#[derive(Debug, Default)]
struct PartitionSlot {
    ownership: Ownership,
    standing: OwnershipState,
    /// Message that may or may not be stored. It is repeated unchanged before any other, so that the engine
    /// recognizes it when the first copy comes out of some buffer late.
    unresolved: Option<(MessageHead, NatsMessage)>,
    /// Index of the newest messages, without a gap: place of the first frame, sequence.
    index: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OwnershipState {
    #[default]
    Closed,
    /// Owned: the sequence of the ownership record.
    Open(u64),
    /// Another owner took the partition over.
    Lost(Epoch),
}

/// The subjects of a partition.
struct Subjects {
    stream: String,
    own: String,
    log: String,
    mark: String,
    trim: String,
    all: String,
}

type Results = Vec<Result<Lsn, AppendError>>;

impl Journals {
    pub(crate) fn new(name: &str, streams: u16, partitions: u16, payload_bytes_max: usize) -> Self {
        let message_bytes_max = payload_bytes_max.saturating_sub(limits::STORE_NATS_HEADER_BYTES_MAX);
        let slots = (0..partitions).map(|_| Mutex::default()).collect();
        Self { name: name.to_owned(), streams, message_bytes_max, slots }
    }

    pub(crate) fn frame_bytes_max(&self) -> usize {
        self.message_bytes_max.saturating_sub(frames::OVERHEAD_BYTES)
    }

    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    pub(crate) fn partitions(&self) -> u16 {
        u16::try_from(self.slots.len()).unwrap_or(u16::MAX)
    }

    fn subjects(&self, partition: Partition) -> Subjects {
        let index = partition.0 % self.streams;
        let start = format!("{}.j.{index}.{}", self.name, partition.0);
        Subjects {
            stream: format!("{}-J{index}", self.name),
            own: format!("{start}.own"),
            log: format!("{start}.log"),
            mark: format!("{start}.mark"),
            trim: format!("{start}.trim"),
            all: format!("{start}.*"),
        }
    }

    fn slot(&self, partition: Partition) -> Result<&Mutex<PartitionSlot>, OpenError> {
        let none = OpenError::NoSuchPartition { partition, partitions: self.partitions() };
        self.slots.get(usize::from(partition.0)).ok_or(none)
    }

    pub(crate) async fn open(&self, engine: &NatsEngine, partition: Partition, epoch: Epoch) -> Result<Lsn, OpenError> {
        let mut slot = self.slot(partition)?.lock().await;
        self.take(engine, &self.subjects(partition), &mut slot, partition, epoch).await
    }

    /// Takes over a partition.
    async fn take(
        &self,
        engine: &NatsEngine,
        on: &Subjects,
        slot: &mut PartitionSlot,
        partition: Partition,
        epoch: Epoch,
    ) -> Result<Lsn, OpenError> {
        let deadline = Instant::now() + patience();
        let held = match slot.standing {
            OwnershipState::Open(token) => Some(token),
            _ => None,
        };
        let token = take_over(engine, on, partition, epoch, held, deadline).await?;
        if held == Some(token) {
            return Ok(Lsn(slot.ownership.last));
        }
        // No other owner can append now, so the last message stays the last.
        let last = persist(deadline, || engine.last_proven(&on.stream, &on.log, &on.mark, deadline));
        let last = match last.await.map_err(away)? {
            Some(last) => Some((frames::unpack(&last.payload).map_err(damaged)?.0, last.sequence)),
            None => None,
        };
        let mut opened = PartitionSlot { standing: OwnershipState::Open(token), ..PartitionSlot::default() };
        opened.ownership.epoch = epoch.0;
        if let Some((head, sequence)) = last {
            opened.ownership.last = head.last_place();
            opened.ownership.number = if head.epoch == epoch.0 { head.last_number() } else { 0 };
            opened.index.insert(head.place, sequence);
        }
        *slot = opened;
        Ok(Lsn(slot.ownership.last))
    }

    /// Appends frames of one partition, one message after the other.
    pub(crate) async fn append(&self, engine: &NatsEngine, partition: Partition, appends: &[&Append<'_>]) -> Results {
        let Ok(slot) = self.slot(partition) else { return refuse_all(appends) };
        let mut slot = slot.lock().await;
        let subjects = self.subjects(partition);
        if let Some((head, post)) = slot.unresolved.take()
            && let Err(error) = slot.store(engine, &subjects, head, post, true).await
        {
            return followed_by_behind(Results::new(), error, appends.len());
        }
        if slot.standing == OwnershipState::Closed
            && let Err(error) = self.go_on(engine, &subjects, &mut slot, appends).await
        {
            return followed_by_behind(Results::new(), error, appends.len());
        }
        let mut results = Results::with_capacity(appends.len());
        while let Some(first) = appends.get(results.len()) {
            let rest = appends.get(results.len()..).unwrap_or_default();
            let Some((head, post)) = self.gather(&slot, &subjects, rest) else {
                results.push(self.admit(&slot, first));
                continue;
            };
            match slot.store(engine, &subjects, head, post, false).await {
                Ok(()) => results.extend((head.place..=head.last_place()).map(|place| Ok(Lsn(place)))),
                Err(error) => {
                    results.extend((1..head.frames).map(|_| Err(error.clone())));
                    return followed_by_behind(results, error, appends.len());
                }
            }
        }
        results
    }

    /// Continues in an epoch that was opened before this process began; or learns of a later one.
    async fn go_on(
        &self,
        engine: &NatsEngine,
        on: &Subjects,
        slot: &mut PartitionSlot,
        appends: &[&Append<'_>],
    ) -> Result<(), AppendError> {
        let own = engine.last(&on.stream, &on.own).await.map_err(|trouble| AppendError::Retry(trouble.to_string()))?;
        let Some(own) = own else { return Ok(()) };
        let opened = epoch_of(&own).map_err(|error| AppendError::Retry(error.to_string()))?;
        let Some(first) = appends.iter().find(|append| append.epoch == opened) else {
            slot.ownership.epoch = opened.0;
            return Ok(());
        };
        match self.take(engine, on, slot, first.partition, opened).await {
            Ok(_) => Ok(()),
            Err(OpenError::Fenced { by, .. }) => Err(AppendError::Fenced { by }),
            Err(error) => Err(AppendError::Retry(error.to_string())),
        }
    }

    /// Returns the outcome of an append whose frame does not fit a message.
    fn admit(&self, slot: &PartitionSlot, append: &Append<'_>) -> Result<Lsn, AppendError> {
        let bytes_max = self.frame_bytes_max();
        match slot.admit(append) {
            Admission::Again(place) => Ok(place),
            Admission::Refused(error) => Err(error),
            Admission::Next(_) => Err(AppendError::TooBig { bytes: append.frame.len(), bytes_max }),
        }
    }

    /// Packs as many of the first frames as make one message, if any do.
    fn gather(
        &self,
        slot: &PartitionSlot,
        on: &Subjects,
        appends: &[&Append<'_>],
    ) -> Option<(MessageHead, NatsMessage)> {
        let OwnershipState::Open(token) = slot.standing else { return None };
        let Ownership { epoch, number, last, .. } = slot.ownership;
        let mut bytes = frames::OVERHEAD_BYTES;
        let mut frames = 0;
        for (append, expected) in appends.iter().zip(number + 1..).take(limits::STORE_NATS_FRAMES_PER_MESSAGE_MAX) {
            bytes += if frames == 0 { append.frame.len() } else { frames::bytes_of(append.frame) };
            if append.epoch.0 != epoch || append.number != expected || bytes > self.message_bytes_max {
                break;
            }
            frames += 1;
        }
        if frames == 0 {
            return None;
        }
        let head = MessageHead {
            epoch,
            number: number + 1,
            place: last + 1,
            frames: u32::try_from(frames).unwrap_or(u32::MAX),
        };
        let payload = frames::pack(&head, appends.iter().take(frames).map(|append| append.frame));
        let id = format!("{}.{epoch}.{}", on.log, head.number);
        Some((head, NatsMessage::new(payload).expecting(token, &on.own).once(&id)))
    }

    /// Begins to read the frames that exist by now.
    pub(crate) async fn begin(
        &self,
        engine: &NatsEngine,
        partition: Partition,
        from: Lsn,
    ) -> Result<JournalCursor, StoreError> {
        self.slot(partition).map_err(|error| StoreError::Away(error.to_string()))?;
        let subjects = self.subjects(partition);
        let deadline = Instant::now() + patience();
        let mark = NatsMessage::new(&b"read"[..]).instead();
        let end = persist(deadline, || engine.publish(&subjects.mark, &mark)).await.map_err(away)?;
        let after = trimmed(engine, &subjects, deadline).await?.max(from.0.saturating_sub(1));
        let sequence = self.locate(engine, &subjects, partition, after + 1).await?;
        Ok(JournalCursor { subjects, sequence, end, after, told: None, asked: 0, consumer: None })
    }

    /// Returns the next message with frames; `None` if there is no more.
    pub(crate) async fn next(
        &self,
        engine: &NatsEngine,
        reading: &mut JournalCursor,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        loop {
            let message = self.next_of(engine, reading).await?;
            reading.sequence = message.sequence + 1;
            if message.sequence >= reading.end {
                if let Some(consumer) = reading.consumer.take() {
                    consumer.end(engine).await;
                }
                return Ok(None);
            }
            if message.subject != reading.subjects.log {
                continue;
            }
            let (MessageHead { place, .. }, _) = frames::unpack(&message.payload).map_err(damaged)?;
            // A slow reader may find that frames were trimmed in the meantime.
            let missing = reading.told.is_some_and(|told| place > told + 1);
            if missing && trimmed(engine, &reading.subjects, Instant::now() + patience()).await? + 1 < place {
                let log = &reading.subjects.log;
                return Err(StoreError::Damaged(format!("{log}: frames before {place} are missing")));
            }
            return Ok(Some(message.payload));
        }
    }

    /// Returns the next message. The first few are requested singly, because making a consumer takes longer; a
    /// consumer delivers the rest.
    async fn next_of(&self, engine: &NatsEngine, reading: &mut JournalCursor) -> Result<StoredMessage, StoreError> {
        if reading.consumer.is_none() && reading.asked >= limits::STORE_NATS_ASKED_FOR {
            let on = &reading.subjects;
            let which = json!({
                "deliver_policy": "by_start_sequence", "opt_start_seq": reading.sequence, "filter_subject": on.all,
            });
            reading.consumer = StreamConsumer::begin(engine, &on.stream, which).await.ok();
            reading.asked = 0;
        }
        if let Some(consumer) = &mut reading.consumer {
            let deadline = Instant::now() + patience();
            loop {
                match consumer.next(engine).await {
                    Some(ConsumerDelivery::Message(sequence, message)) => {
                        let (subject, payload) = (message.subject.to_string(), message.payload.to_vec());
                        return Ok(StoredMessage { subject, sequence, headers: String::new(), payload });
                    }
                    Some(ConsumerDelivery::Beat) if Instant::now() < deadline => {}
                    // Something may be missing, or it is beside a replica that does not have the rest.
                    Some(ConsumerDelivery::Beat) | None => break,
                }
            }
            reading.consumer = None;
        }
        reading.asked += 1;
        self.next_until(engine, &reading.subjects, reading.sequence, reading.end).await
    }

    /// Returns the next message. One exists, the mark at the latest, but a new leader may not have it yet.
    async fn next_until(
        &self,
        engine: &NatsEngine,
        on: &Subjects,
        from: u64,
        end: u64,
    ) -> Result<StoredMessage, StoreError> {
        let deadline = Instant::now() + patience();
        let mut pause = Pause::default();
        loop {
            let next = persist(deadline, || engine.next(&on.stream, &on.all, from)).await.map_err(away)?;
            match next {
                Some(next) => return Ok(next),
                None if Instant::now() < deadline => pause.wait().await,
                None => return Err(StoreError::Away(format!("{} has no message {end}, which it took", on.stream))),
            }
        }
    }

    pub(crate) async fn trim(&self, engine: &NatsEngine, partition: Partition, before: Lsn) -> Result<(), StoreError> {
        let slot = self.slot(partition).map_err(|error| StoreError::Away(error.to_string()))?;
        let subjects = self.subjects(partition);
        let deadline = Instant::now() + patience();
        let last = persist(deadline, || engine.last(&subjects.stream, &subjects.log)).await.map_err(away)?;
        let Some(last) = last else { return Ok(()) };
        let last = frames::unpack(&last.payload).map_err(damaged)?.0.last_place();
        // Places continue from the last frame, so its message stays, and only its frames are forgotten.
        let trim = before.0.saturating_sub(1).min(last);
        if trim <= trimmed(engine, &subjects, deadline).await? {
            return Ok(());
        }
        let keep = self.locate(engine, &subjects, partition, trim + 1).await?;
        let post = NatsMessage::new(trim.to_le_bytes().to_vec()).instead();
        persist(deadline, || engine.publish(&subjects.trim, &post)).await.map_err(away)?;
        persist(deadline, || engine.purge(&subjects.stream, &subjects.log, keep)).await.map_err(away)?;
        let mut slot = slot.lock().await;
        if let Some((&first, _)) = slot.index.range(..=trim + 1).next_back() {
            slot.index = slot.index.split_off(&first);
        }
        Ok(())
    }

    /// Returns the sequence of the message that this place is in: of the last one that does not begin behind it.
    async fn locate(
        &self,
        engine: &NatsEngine,
        on: &Subjects,
        partition: Partition,
        place: u64,
    ) -> Result<u64, StoreError> {
        if place <= 1 {
            return Ok(1);
        }
        if let Ok(slot) = self.slot(partition) {
            let slot = slot.lock().await;
            if let Some((_, &sequence)) = slot.index.range(..=place).next_back() {
                return Ok(sequence);
            }
        }
        let deadline = Instant::now() + patience();
        let last = persist(deadline, || engine.last(&on.stream, &on.log)).await.map_err(away)?;
        let Some(last) = last else { return Ok(1) };
        if frames::unpack(&last.payload).map_err(damaged)?.0.place <= place {
            return Ok(last.sequence);
        }
        // The remaining messages are mostly read from the beginning.
        let first = persist(deadline, || engine.next(&on.stream, &on.log, 1)).await.map_err(away)?;
        let Some(first) = first else { return Ok(1) };
        if frames::unpack(&first.payload).map_err(damaged)?.0.last_place() >= place {
            return Ok(first.sequence);
        }
        // The first message from `low` on begins at the place or before it; that from `high` on begins behind it.
        let (mut low, mut high) = (first.sequence, last.sequence);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let next = persist(deadline, || engine.next(&on.stream, &on.log, middle)).await.map_err(away)?;
            let behind = match next {
                Some(next) => frames::unpack(&next.payload).map_err(damaged)?.0.place > place,
                None => true,
            };
            if behind { high = middle } else { low = middle }
        }
        Ok(low)
    }
}

impl PartitionSlot {
    fn admit(&self, append: &Append<'_>) -> Admission {
        let not_open = || AppendError::NotOpen { partition: append.partition, epoch: append.epoch };
        match self.standing {
            OwnershipState::Open(_) => self.ownership.admit(append),
            // Another owner of this very epoch is the same node's successor.
            OwnershipState::Lost(by) if append.epoch <= by || append.epoch.0 == self.ownership.epoch => {
                Admission::Refused(AppendError::Fenced { by })
            }
            OwnershipState::Closed if append.epoch.0 < self.ownership.epoch => {
                Admission::Refused(AppendError::Fenced { by: Epoch(self.ownership.epoch) })
            }
            OwnershipState::Lost(_) | OwnershipState::Closed => Admission::Refused(not_open()),
        }
    }

    /// Stores a message. `again`: it may be stored already.
    async fn store(
        &mut self,
        engine: &NatsEngine,
        on: &Subjects,
        head: MessageHead,
        post: NatsMessage,
        again: bool,
    ) -> Result<(), AppendError> {
        let trouble = match engine.publish_settled(&on.log, &post, Instant::now() + engine.timeout).await {
            Ok(sequence) => {
                (0..head.frames).for_each(|_| self.ownership.appended());
                self.remember(head.place, sequence);
                return Ok(());
            }
            Err(trouble) => trouble,
        };
        if trouble.code() == Some(WRONG_LAST_SEQUENCE) {
            return Err(self.lost(engine, on).await);
        }
        let certain = matches!(trouble, RequestError::NotTaken(_) | RequestError::Refused { code: 0 | IN_PROCESS, .. });
        if certain && !again {
            return Err(AppendError::Retry(trouble.to_string()));
        }
        self.unresolved = Some((head, post));
        Err(AppendError::Unknown(trouble.to_string()))
    }

    /// Makes the error that the stream takes no more messages of this owner.
    async fn lost(&mut self, engine: &NatsEngine, on: &Subjects) -> AppendError {
        let by = match engine.last(&on.stream, &on.own).await {
            Ok(Some(own)) => epoch_of(&own).unwrap_or_default(),
            _ => Epoch(0),
        };
        self.standing = OwnershipState::Lost(by);
        AppendError::Fenced { by }
    }

    fn remember(&mut self, place: u64, sequence: u64) {
        self.index.insert(place, sequence);
        if self.index.len() > limits::STORE_NATS_INDEX_MAX {
            self.index.pop_first();
        }
    }
}

/// Position of a reader.
pub(crate) struct JournalCursor {
    subjects: Subjects,
    /// Sequence of the next message.
    sequence: u64,
    /// The sequence of the reader's mark.
    end: u64,
    /// Frames up to this place are not asked for.
    after: u64,
    /// The last place that was told.
    told: Option<u64>,
    /// Number of messages that were requested singly.
    asked: u32,
    /// Consumer that delivers the rest.
    consumer: Option<StreamConsumer>,
}

impl JournalCursor {
    /// Passes the frames of a message to `each`.
    pub(crate) fn tell(&mut self, message: &[u8], each: &mut ReadFrame<'_>) -> Result<ControlFlow<()>, StoreError> {
        let (head, frames) = frames::unpack(message).map_err(damaged)?;
        for (place, frame) in (head.place..).zip(frames) {
            // A message that was repeated after longer than the engine remembers is there twice.
            if place <= self.after || self.told.is_some_and(|told| place <= told) {
                continue;
            }
            self.told = Some(place);
            if each(Lsn(place), frame).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Writes this epoch into the ownership record, unless this node wrote the current one (`token`). Returns the
/// sequence of the record.
async fn take_over(
    engine: &NatsEngine,
    on: &Subjects,
    partition: Partition,
    epoch: Epoch,
    token: Option<u64>,
    deadline: Instant,
) -> Result<u64, OpenError> {
    let mut pause = Pause::default();
    loop {
        let own = persist(deadline, || engine.last(&on.stream, &on.own)).await.map_err(away)?;
        let (sequence, by) = match &own {
            Some(own) => (own.sequence, epoch_of(own)?),
            None => (0, Epoch(0)),
        };
        if by > epoch || epoch.0 == 0 {
            return Err(OpenError::Fenced { partition, by });
        }
        if by == epoch && token == Some(sequence) {
            return Ok(sequence);
        }
        let post = NatsMessage::new(epoch.0.to_le_bytes().to_vec()).expecting(sequence, &on.own).instead();
        match engine.publish(&on.own, &post).await {
            Ok(sequence) => return Ok(sequence),
            // The record shows the outcome. An active owner almost always has an append in progress.
            Err(trouble) if trouble.may_pass() && Instant::now() < deadline => pause.wait().await,
            Err(trouble) => return Err(away(trouble).into()),
        }
    }
}

/// Returns the place up to which frames are forgotten.
async fn trimmed(engine: &NatsEngine, on: &Subjects, deadline: Instant) -> Result<u64, StoreError> {
    match persist(deadline, || engine.last(&on.stream, &on.trim)).await.map_err(away)? {
        None => Ok(0),
        Some(record) => Ok(u64::from_le_bytes(eight(&record)?)),
    }
}

fn epoch_of(own: &StoredMessage) -> Result<Epoch, StoreError> {
    Ok(Epoch(u64::from_le_bytes(eight(own)?)))
}

fn eight(record: &StoredMessage) -> Result<[u8; 8], StoreError> {
    let bytes = record.payload.as_slice().try_into();
    bytes.map_err(|_| StoreError::Damaged(format!("{} has {} bytes, not 8", record.subject, record.payload.len())))
}

/// Returns this error for a frame, and for all frames behind it that they were not tried.
fn followed_by_behind(mut results: Results, error: AppendError, frames: usize) -> Results {
    results.push(Err(error));
    results.resize(frames, Err(AppendError::Behind));
    results
}

fn refuse_all(appends: &[&Append<'_>]) -> Results {
    let first = |append: &&Append<'_>| AppendError::NotOpen { partition: append.partition, epoch: append.epoch };
    appends.iter().map(|append| Err(first(append))).collect()
}

/// Repeats a request that may be done twice, until it succeeds or `deadline` is over.
pub(crate) async fn persist<T, F: Future<Output = Result<T, RequestError>>>(
    deadline: Instant,
    mut what: impl FnMut() -> F,
) -> Result<T, RequestError> {
    let mut pause = Pause::default();
    loop {
        match what().await {
            Err(
                RequestError::NotTaken(_) | RequestError::NoAnswer(_) | RequestError::Refused { code: NO_LEADER, .. },
            ) if Instant::now() < deadline => {
                pause.wait().await;
            }
            done => return done,
        }
    }
}

pub(crate) fn away(trouble: RequestError) -> StoreError {
    match trouble {
        RequestError::Nonsense(why) => StoreError::Damaged(why),
        trouble => StoreError::Away(trouble.to_string()),
    }
}

fn damaged(why: &'static str) -> StoreError {
    StoreError::Damaged(why.to_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    /// Makes a request that gets no answer the first two times, and returns its result and the number of tries.
    fn request_until(deadline: Instant, error: impl Fn() -> RequestError) -> (Result<u32, RequestError>, u32) {
        let tries = Cell::new(0);
        let request = persist(deadline, || {
            tries.set(tries.get() + 1);
            let answer = if tries.get() < 3 { Err(error()) } else { Ok(tries.get()) };
            std::future::ready(answer)
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let answer = runtime.block_on(request);
        (answer, tries.get())
    }

    #[test]
    fn request_is_repeated_until_its_deadline() {
        let (later, now) = (Instant::now() + Duration::from_secs(60), Instant::now());
        let silence = || RequestError::NoAnswer("none".to_owned());
        assert!(matches!(request_until(later, silence), (Ok(3), 3)));
        assert!(matches!(request_until(now, silence), (Err(RequestError::NoAnswer(_)), 1)));
        let nonsense = || RequestError::Nonsense("what".to_owned());
        assert!(matches!(request_until(later, nonsense), (Err(RequestError::Nonsense(_)), 1)), "repeating is no help");
    }
}
