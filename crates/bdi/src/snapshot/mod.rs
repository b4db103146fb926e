//! Snapshots of minds: written between two steps and restored, in this process or another; complete, or only the
//! changes since the last save.
//!
//! A mind is data: beliefs, acquired plans and rules (as code terms), events, intentions with their place in each
//! plan, and waits with their remaining time. The program itself is not part of it: the reader has it, or gets it by
//! name.
//!
//! **Saves.** [`Durable::save_whole`](whimbrel_platform::capabilities::Durable::save_whole) writes a [record](record)
//! of the complete mind and begins to note changes. Each
//! [`Durable::save_delta`](whimbrel_platform::capabilities::Durable::save_delta) after it writes a record of the
//! changes since. Records are numbered: a complete record and all deltas after it, [applied](Agent::apply_delta) in
//! order, make the mind of the last of them. An agent that is never saved notes nothing.
//!
//! The cost of a delta depends on the changes, not on the size of the mind, with these exceptions:
//!
//! - A changed intention is written with all its frames and variables.
//! - A predicate that lost more beliefs from the middle than it has left is renumbered, and written completely once.
//! - The queue of ready intentions is compared with its last state.
//! - A mind with mutable containers (AgentSpeak's maps, sets and queues, whose changes the mind does not notice) is
//!   written completely each time.
//!
//! **Layouts.** Each record begins with the number of its layout, and every release reads the layouts of earlier
//! releases. Each earlier layout has a module here that converts it to a current record, and a fixture in
//! `conformance/snapshots` that a release with that layout wrote (`tests/it/layouts.rs`). A number unknown to this
//! release is refused with [`SnapshotError::Layout`], before anything else is read; a record of another program is
//! refused with [`SnapshotError::OtherProgram`]. Postcard is not self-describing: any change of a type that is part
//! of a record takes a new number.

mod apply;
mod layout3;
mod record;
mod take;

use std::sync::Arc;

use whimbrel_acl::Text;
use whimbrel_acl::value::{TermConversion, shared_objects_met, with_shared_objects};
use whimbrel_platform::{AgentBody, Time};

use crate::agent::Agent;
use crate::code::Image;
use crate::mind::{IntentionId, Mind};
use record::Record;
pub(crate) use record::{Clock, First, move_times};
pub(crate) use take::{Saves, SnapshotSubject};

/// Layout that this release writes. It reads earlier ones from 3 on.
const LAYOUT: u16 = 4;

/// Greatest number of places for intentions in a mind that is read: more than fit into memory, but no bytes make the
/// reader reserve more than it can.
const INTENTIONS_MAX: u32 = 1 << 20;

/// Reason why a mind, or a delta, was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes are no record of a mind.
    #[error("not a snapshot of a mind: {0}")]
    Malformed(#[from] postcard::Error),
    /// The parts of the record do not belong together.
    #[error("not a snapshot of a mind: {0}")]
    Inconsistent(&'static str),
    /// The record was written by a release with another layout.
    #[error("the snapshot has layout {0}, this release reads layouts 3 to {LAYOUT}")]
    Layout(u16),
    /// The snapshot is of an agent with another program.
    #[error("the snapshot is of an agent of {snapshot} with {plans} plans, the program given is {given}")]
    OtherProgram {
        /// Program of the snapshot.
        snapshot: Text,
        /// Number of its plans.
        plans: u32,
        /// Program given.
        given: Text,
    },
    /// A plan or rule in the snapshot does not compile.
    #[error("an acquired plan or rule cannot be restored: {0}")]
    BadCode(String),
    /// The delta has no complete record before it.
    #[error("the record is save {0} of a mind, which tells only what changed since save {before}", before = .0 - 1)]
    OnlyDelta(u64),
    /// The delta is not the next one.
    #[error("the mind is as it was at save {at}, the record is save {found}")]
    OutOfOrder {
        /// Number of the mind's save.
        at: u64,
        /// Number of the delta.
        found: u64,
    },
    /// The agent has continued since it was restored: it is in the state of no save.
    #[error("the agent has had a turn since it was restored, so nothing can be applied to it")]
    GoneOn,
}

/// Encodes the mind of `agent`; due times are relative to `now`.
pub(crate) fn write(agent: &Agent, now: Time) -> Option<Vec<u8>> {
    let image = agent.image()?;
    let mut bytes = Vec::new();
    let record = take::whole(agent.mind(), agent.subject(&image, now), agent.save_number());
    take::encode(&record, &mut bytes)?;
    Some(bytes)
}

/// Restores the agent of a snapshot, which continues at `now`.
pub(crate) fn read(bytes: &[u8], image: Arc<Image>, now: Time) -> Result<Agent, SnapshotError> {
    let (mut mind, mut begin) = (Mind::default(), Begin::default());
    let record = decode(bytes, &image, &mut begin.objects)?;
    if !record.is_whole() {
        return Err(SnapshotError::OnlyDelta(record.number));
    }
    take_over(&mut mind, &mut begin, record, &image, now)?;
    Ok(Agent::restored(image, mind, begin))
}

/// Applies the next save to a restored mind that has had no turn yet.
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

/// Decodes a record of any layout; notes whether it contains containers.
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
    // Earlier releases had integers in minds.
    with_shared_objects(|| TermConversion::while_reading(read))
}

fn whole_input<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, SnapshotError> {
    match postcard::take_from_bytes(bytes)? {
        (record, []) => Ok(record),
        (_, _) => Err(SnapshotError::Inconsistent("something follows it")),
    }
}

/// Creates an agent with the same mind.
pub(crate) fn duplicate(agent: &Agent, now: Time) -> Option<Box<dyn AgentBody>> {
    let copy = read(&write(agent, now)?, agent.image()?, now).ok()?;
    Some(Box::new(copy))
}

/// Creates an agent with the mind of another except the current intention.
pub(crate) fn copy_without(mind: &Mind, left_out: IntentionId, image: &Arc<Image>, now: Time) -> Option<Agent> {
    let mut record = take::whole(mind, SnapshotSubject { image, begin: None, now }, 0);
    record.leave_out(left_out);
    let mut bytes = Vec::new();
    take::encode(&record, &mut bytes)?;
    read(&bytes, Arc::clone(image), now).ok()
}

/// Actions of an agent at the start of its first turn.
#[derive(Debug, Default)]
pub(crate) struct Begin {
    /// Initial beliefs and goals.
    pub(crate) first: Option<First>,
    /// Clock of its times, if it was restored.
    pub(crate) clock: Option<Clock>,
    /// Save that it was restored from.
    pub(crate) save: u64,
    /// True if that contained mutable containers.
    pub(crate) objects: bool,
}
