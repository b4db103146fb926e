//! Minds written out between two steps and read back, in this process or another: whole, or what changed since the last
//! save.
//!
//! All of a mind is data: beliefs, acquired plans and rules (as code terms), events, intentions with their place in each
//! plan, waits with the time that is left. The program itself is not part of it: the reader has it, or gets it by name.
//!
//! **Saves.** [`Durable::save_whole`](whimbrel_platform::capabilities::Durable::save_whole) writes a [record](record)
//! of the whole mind and begins to note what changes; each
//! [`Durable::save_delta`](whimbrel_platform::capabilities::Durable::save_delta) after it writes a record of what
//! changed since. Records have numbers, one after the other: a whole record and all deltas after it,
//! [applied](Agent::apply_delta) in order, make the mind as it was at the last of them. An agent that nobody saves
//! notes nothing. What a delta costs depends on what changed, not on what the mind holds, with these exceptions: an
//! intention that changed is written with all its frames and variables; a predicate of which more beliefs were removed
//! from the middle than it has left is renumbered then, and written whole once; the queue of ready intentions is
//! compared with what it was; and a mind that holds mutable containers (AgentSpeak's maps, sets and queues, which
//! change without the mind's noticing) is written whole each time.
//!
//! **Layouts.** Each record begins with the number of its layout, and every release goes on reading the layouts of
//! earlier releases: each has a module here that turns it into a record of today's, and a fixture in
//! `conformance/snapshots` that was written by a release which wrote it (`tests/it/layouts.rs`). A number that this
//! release does not know is refused with [`SnapshotError::Layout`], and nothing else is looked at; so is a record of
//! another program, with [`SnapshotError::OtherProgram`]. Postcard is not self-describing: any change of a type that is
//! part of a record takes a new number.

mod apply;
mod layout3;
mod record;
mod take;

use std::sync::Arc;

use whimbrel_acl::Text;
use whimbrel_acl::value::{TermConversion, shared_objects_met, with_shared_objects};
use whimbrel_platform::{AgentBody, Time};

use crate::code::Image;
use crate::mind::{IntentionId, Mind};
use crate::reason::Agent;
use record::Record;
pub(crate) use record::{Clock, First, move_times};
pub(crate) use take::{Saves, Subject};

/// The layout that this release writes. It reads those before it from 3 on.
const LAYOUT: u16 = 4;

/// How many intentions a mind that is read may have places for: more than fit into memory, but no bytes make the reader
/// reserve more than it can.
const INTENTIONS_MAX: u32 = 1 << 20;

/// Why a mind, or what changed in it, was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes are no record of a mind.
    #[error("not a snapshot of a mind: {0}")]
    Malformed(#[from] postcard::Error),
    /// The parts of the record do not belong together.
    #[error("not a snapshot of a mind: {0}")]
    Inconsistent(&'static str),
    /// It was written by a release with another layout.
    #[error("the snapshot has layout {0}, this release reads layouts 3 to {LAYOUT}")]
    Layout(u16),
    /// The snapshot is of an agent with another program.
    #[error("the snapshot is of an agent of {snapshot} with {plans} plans, the program given is {given}")]
    OtherProgram {
        /// The program it was taken of.
        snapshot: Text,
        /// How many plans that has.
        plans: u32,
        /// The program given.
        given: Text,
    },
    /// A plan or rule in it does not compile.
    #[error("an acquired plan or rule cannot be restored: {0}")]
    BadCode(String),
    /// A delta alone is no mind.
    #[error("the record is save {0} of a mind, which tells only what changed since save {before}", before = .0 - 1)]
    OnlyDelta(u64),
    /// The delta is not the one that follows.
    #[error("the mind is as it was at save {at}, the record is save {found}")]
    OutOfOrder {
        /// The save the mind is at.
        at: u64,
        /// The number of the delta.
        found: u64,
    },
    /// The agent has gone on since it was restored: it is not as it was at any save.
    #[error("the agent has had a turn since it was restored, so nothing can be applied to it")]
    GoneOn,
}

/// The mind of `agent` as bytes; what is due at a time is kept relative to `now`.
pub(crate) fn write(agent: &Agent, now: Time) -> Option<Vec<u8>> {
    let image = agent.image()?;
    let mut bytes = Vec::new();
    let record = take::whole(agent.mind(), agent.subject(&image, now), agent.save_number());
    take::encode(&record, &mut bytes)?;
    Some(bytes)
}

/// The agent whose mind the bytes are, going on at `now`.
pub(crate) fn read(bytes: &[u8], image: Arc<Image>, now: Time) -> Result<Agent, SnapshotError> {
    let (mut mind, mut begin) = (Mind::default(), Begin::default());
    let record = decode(bytes, &image, &mut begin.objects)?;
    if !record.is_whole() {
        return Err(SnapshotError::OnlyDelta(record.number));
    }
    take_over(&mut mind, &mut begin, record, &image, now)?;
    Ok(Agent::restored(image, mind, begin))
}

/// Brings a mind that was restored, and has had no turn yet, to the state of the save that the bytes are.
pub(crate) fn apply_delta(
    bytes: &[u8],
    mind: &mut Mind,
    begin: &mut Begin,
    image: &Image,
    now: Time,
) -> Result<(), SnapshotError> {
    if begin.clock.is_none() {
        return Err(SnapshotError::GoneOn);
    }
    let record = decode(bytes, image, &mut begin.objects)?;
    let follows = begin.save.checked_add(1) == Some(record.number);
    if !record.is_whole() && !follows {
        return Err(SnapshotError::OutOfOrder { at: begin.save, found: record.number });
    }
    take_over(mind, begin, record, image, now)
}

fn take_over(
    mind: &mut Mind,
    begin: &mut Begin,
    record: Record<'static>,
    image: &Image,
    now: Time,
) -> Result<(), SnapshotError> {
    let (from, number) = (record.now, record.number);
    if let Some(first) = apply::apply(mind, record, image)? {
        begin.first = first;
    }
    begin.clock = Some(Clock { from, to: now });
    begin.save = number;
    Ok(())
}

/// The record that the bytes are, whatever layout they have; notes whether containers are in it.
fn decode(bytes: &[u8], image: &Image, objects: &mut bool) -> Result<Record<'static>, SnapshotError> {
    let (layout, _) = postcard::take_from_bytes::<u16>(bytes)?;
    let read = || {
        let record: Record<'static> = match layout {
            LAYOUT => whole_input(bytes)?,
            layout3::LAYOUT => whole_input::<layout3::Snapshot>(bytes)?.into_record(image)?,
            other => return Err(SnapshotError::Layout(other)),
        };
        *objects = shared_objects_met() || (*objects && !record.is_whole());
        Ok(record)
    };
    // Earlier releases kept integers in minds.
    with_shared_objects(|| TermConversion::while_reading(read))
}

fn whole_input<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, SnapshotError> {
    match postcard::take_from_bytes(bytes)? {
        (record, []) => Ok(record),
        (_, _) => Err(SnapshotError::Inconsistent("something follows it")),
    }
}

/// A second agent with the same mind.
pub(crate) fn duplicate(agent: &Agent, now: Time) -> Option<Box<dyn AgentBody>> {
    let copy = read(&write(agent, now)?, agent.image()?, now).ok()?;
    Some(Box::new(copy))
}

/// An agent that has the mind of another but for one intention, which is at work.
pub(crate) fn copy_without(mind: &Mind, left_out: IntentionId, image: &Arc<Image>, now: Time) -> Option<Agent> {
    let mut record = take::whole(mind, Subject { image, begin: None, now }, 0);
    record.leave_out(left_out);
    let mut bytes = Vec::new();
    take::encode(&record, &mut bytes)?;
    read(&bytes, Arc::clone(image), now).ok()
}

/// What an agent does first in its first turn.
#[derive(Debug, Default)]
pub(crate) struct Begin {
    /// Beliefs and goals that it begins with.
    pub(crate) first: Option<First>,
    /// The clock by which its times are, if it was restored.
    pub(crate) clock: Option<Clock>,
    /// The save it is at, if it was restored.
    pub(crate) save: u64,
    /// Whether there were mutable containers in that.
    pub(crate) objects: bool,
}
