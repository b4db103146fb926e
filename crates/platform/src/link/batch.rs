//! Batches: messages with their receivers, and news, in the order in which they were put on the link.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use whimbrel_acl::compact::{Decode, Encode};
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Name, NameAllowance, Numbered, Symbol, Value};

use super::NameConflict;
use super::codec::{MessageError, MessageReader, MessageWriter};
use super::wire::{FrameError, begin_sized, end_sized, take_number, write_number};
use crate::EndReason;
use crate::advice::AdviceNews;
use crate::ams::AgentKind;
use crate::df::{DfDescription, ServiceDescription};
use crate::durable::Facts;
use crate::limits::{
    LINK_BATCH_SHARES_MAX, LINK_BATCH_TAGS_MAX, LINK_MESSAGE_BYTES_MAX, LINK_RECEIVER_BYTES, LINK_RECEIVERS_MAX,
    MESSAGE_WEIGHED_BYTES,
};
use crate::mobility::HopNews;

/// Item that travels on a link exactly once and in order.
#[derive(Clone, Debug)]
pub enum Item {
    /// Message to an agent.
    Message(Envelope),
    /// Message to an agent that left the sending node for the receiving one. The message had come to the sending node
    /// first, whoever sent it.
    Forwarded(Envelope),
    /// News from one node to the other.
    News(Box<News>),
    /// Placeholder for a message that cannot be encoded; keeps the numbering.
    Void,
}

impl Item {
    /// Returns true for a message.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Forwarded(_))
    }

    /// Returns the message, if the item is one.
    pub fn into_message(self) -> Option<Envelope> {
        match self {
            Self::Message(envelope) | Self::Forwarded(envelope) => Some(envelope),
            Self::News(_) | Self::Void => None,
        }
    }
}

/// News from one node to another: facts about its agents and services, and requests. On the wire, values of the compact
/// codec.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum News {
    /// Agents that the sending node has now.
    Agents(Vec<(Name, AgentKind)>),
    /// End of an agent of the sending node, and its reason.
    AgentEnded(Name, EndReason),
    /// Services that an agent of the sending node offers now.
    Service(Box<DfDescription>),
    /// Further services of an agent of the sending node, after those that were told.
    MoreServices {
        /// Agent that offers the services.
        agent: Symbol,
        /// Number of services told before.
        after: u64,
        /// Further services.
        services: Vec<ServiceDescription>,
    },
    /// End of all services of this agent of the sending node.
    NoService(Symbol),
    /// Start or end of an overload of this agent of the sending node, or of one of its agents in this topic or group.
    Crowded(Symbol, bool),
    /// Request to end this agent of the receiving node.
    Kill(Symbol),
    /// Stop of the whole platform.
    Stop {
        /// Milliseconds until the stop.
        delay_ms: u64,
        /// Exit code.
        code: i32,
    },
    /// Nodes that the receiving node is to link with.
    Members(Vec<Member>),
    /// Topics (`topic:NAME`) to which agents of the sending node subscribe.
    Topics(Vec<Symbol>),
    /// Topic to which no agent of the sending node subscribes any more.
    NoTopic(Symbol),
    /// New members of this group (`group:NAME`) on the sending node.
    Joined(Symbol, Vec<Symbol>),
    /// Agent of the sending node, named last, that left this group.
    Left(Symbol, Symbol),
    /// Certificates of agents of the sending node, for the messages that they sign.
    Certificates {
        /// Certificate with which the sending node certifies its agents (DER).
        node: Vec<u8>,
        /// Certificates of the agents (DER).
        agents: Vec<Vec<u8>>,
    },
    /// Partitions that the sending node serves as soon as all agents are named. `more` agents follow in another such
    /// news.
    Serves {
        /// Partitions ([`Partition`](crate::store::Partition)) with their epochs.
        partitions: Vec<(u16, u64)>,
        /// All agents of these partitions on the sending node.
        agents: Vec<(Name, AgentKind)>,
        /// Continuation: more agents follow.
        more: bool,
    },
    /// Start of a replay round: all messages for agents of these partitions, which the receiving node serves in these
    /// epochs, follow. Messages of earlier rounds are void.
    Again {
        /// Partitions with their epochs.
        partitions: Vec<(u16, u64)>,
        /// Number of the round: see [`Numbered::telling`].
        telling: u64,
    },
    /// Facts about messages, for the ledger of the receiving node.
    Facts(Facts),
    /// Partitions that the sending node stops serving: messages to these agents wait until another node serves them.
    /// Other agents stay.
    Yields {
        /// Partitions.
        partitions: Vec<u16>,
        /// Agents of these partitions.
        agents: Vec<Name>,
    },
    /// News of an agent's move from one node to another.
    #[compact(name = "H")]
    Hop(HopNews),
    /// End of the introduction: later news are of later events.
    Introduced,
    /// Question: which of these agents does the receiving node have?
    Asks(Vec<Name>),
    /// Answer to [`News::Asks`].
    Has {
        /// Agents that the sending node has.
        agents: Vec<(Name, AgentKind)>,
        /// Agents that it does not have.
        not: Vec<Name>,
    },
    /// Question or answer about a node's capacity, for placement advice.
    Advice(AdviceNews),
    /// Query of an operator of one node about the other. Its bytes are for operators only.
    Ask {
        /// Number of the query, quoted in the answer.
        number: u64,
        /// Query.
        question: Vec<u8>,
    },
    /// Answer to a query.
    Answer {
        /// Number of the query.
        number: u64,
        /// Answer.
        answer: Vec<u8>,
    },
    /// Name conflict: both nodes have an agent of one name.
    #[compact(name = "Namesake")]
    NameConflict(NameConflict),
}

/// Node of the platform to link with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Member {
    /// Name of the node.
    pub node: String,
    /// Address at which the node listens.
    pub address: String,
}

/// Reason why a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Malformed number.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Malformed message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Malformed news.
    #[error("news that cannot be read")]
    News,
    /// Receivers that the message does not have, or too many.
    #[error("receivers that the message does not have")]
    Receivers,
    /// More items than any node writes into a batch.
    #[error(
        "more than {LINK_BATCH_TAGS_MAX} items in a batch, or more than {LINK_BATCH_SHARES_MAX} receivers that share a message with another"
    )]
    TooMany,
    /// Item with names that the peer may not make this node keep ([`NameAllowance`]).
    #[error("names that are new to this node, which keeps no more of this peer's")]
    NewNames,
}

const TAG_NEWS: u64 = 0;
/// Message for all its receivers.
const TAG_ALL: u64 = 1;
/// Message for some of its receivers: their number, then their indexes.
const TAG_SOME: u64 = 2;
/// Message for agents that are not among its receivers: their number, then their names.
const TAG_OTHERS: u64 = 3;
const TAG_VOID: u64 = 4;
/// No item: the reader forgets what the connection's messages had in common.
const TAG_FORGET: u64 = 5;
/// Number and replay round of the message that follows, then its receivers as above.
const TAG_NUMBERED: u64 = 6;
/// Mark of a message that is passed on for an agent that left.
const TAG_FORWARDED: u64 = 7;

/// Message like the one before, except for its content, which follows.
const TAG_ALIKE: u64 = 8;

/// Result of writing items.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Number of items that were written.
    pub items: usize,
    /// Indexes of messages that cannot be encoded: placeholders stand for them.
    pub refused: Vec<usize>,
    /// Number of receivers that share a message with one before: each counts as [`LINK_RECEIVER_BYTES`].
    pub shares: usize,
}

/// Writer of a connection's messages, each with its length before it.
pub(super) struct BatchWriter {
    writer: Box<dyn MessageWriter>,
}

impl BatchWriter {
    pub fn new(writer: Box<dyn MessageWriter>) -> Self {
        Self { writer }
    }

    /// Writes items, beginning with the one at `from`, until `bytes_max` are written. A message to several agents is
    /// written once if its envelopes are adjacent. Of adjacent messages that differ in their contents alone, only the
    /// first is written whole.
    pub fn write(&mut self, items: &VecDeque<Item>, from: usize, bytes_max: usize, out: &mut Vec<u8>) -> Written {
        let (limit, mut at, mut refused, mut shares) = (out.len().saturating_add(bytes_max), from, Vec::new(), 0);
        let mut before: Option<&AclMessage> = None;
        while out.len() + shares * LINK_RECEIVER_BYTES < limit
            && let Some(item) = items.get(at)
        {
            let alone = alone_in(item);
            if let (Some(before), Some(message)) = (before, alone)
                && message.is_alike(before)
                && self.write_alike(message, out)
            {
                at += 1;
                continue;
            }
            before = None;
            at += match item {
                Item::Void => {
                    write_number(TAG_VOID, out);
                    1
                }
                Item::News(news) => {
                    self.write_news(news, out);
                    1
                }
                Item::Message(envelope) | Item::Forwarded(envelope) => {
                    let together = together(items, at);
                    if self.write_message(item, envelope, items.range(at..at + together), out) {
                        before = alone.filter(|_| together == 1);
                        shares += together - 1;
                    } else {
                        refused.extend(at..at + together);
                        (0..together).for_each(|_| write_number(TAG_VOID, out));
                    }
                    together
                }
            };
        }
        Written { items: at - from, refused, shares }
    }

    /// Writes the content of a message that equals the one before in all else. Returns false, and writes nothing, if
    /// this encoding or this message does not allow it.
    fn write_alike(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        write_number(TAG_ALIKE, out);
        let sized = begin_sized(out);
        let written = matches!(self.writer.write_content(&message.content, out), Ok(true));
        self.end_message(written, start, sized, out)
    }

    /// Writes the message of this item, which all of `together` share. Returns false if that is not possible.
    fn write_message<'a>(
        &mut self,
        item: &Item,
        Envelope { to, body }: &Envelope,
        together: impl ExactSizeIterator<Item = &'a Item> + Clone,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        if matches!(item, Item::Forwarded(_)) {
            write_number(TAG_FORWARDED, out);
        }
        if let MessageBody::Numbered(numbered) = body {
            write_number(TAG_NUMBERED, out);
            write_number(numbered.number, out);
            // The previous number is usually near.
            write_number(if numbered.after == 0 { 0 } else { numbered.number.saturating_sub(numbered.after) }, out);
            write_number(numbered.telling, out);
        }
        match together.len() {
            1 => write_receivers(body, std::iter::once(*to), 1, out),
            several => write_receivers(body, together.filter_map(receiver), several, out),
        }
        let sized = begin_sized(out);
        let written = self.writer.write(body, out).is_ok();
        self.end_message(written, start, sized, out)
    }

    fn write_news(&mut self, news: &News, out: &mut Vec<u8>) {
        let start = out.len();
        write_number(TAG_NEWS, out);
        let sized = begin_sized(out);
        match self.writer.write_news(news, out) {
            Ok(()) => end_sized(sized, out),
            // The news has values that are nested too deeply, or far too many of them.
            Err(_) => {
                out.truncate(start);
                write_number(TAG_VOID, out);
            }
        }
    }

    /// Ends a message that begins at `start`, with its encoding at `sized`. `written` says if the encoding succeeded.
    /// Returns false, and leaves nothing of the message, if it cannot be sent.
    #[inline]
    fn end_message(&mut self, written: bool, start: usize, sized: usize, out: &mut Vec<u8>) -> bool {
        let bytes = out.len() - sized;
        let fits = written && bytes <= LINK_MESSAGE_BYTES_MAX;
        if fits {
            end_sized(sized, out);
        } else {
            self.take_back(bytes, start, out);
        }
        fits
    }

    /// Removes what was written of a message since `start`. If it is too long, the writer forgets its memory, because
    /// that refers to bytes that the other end will never see.
    #[cold]
    fn take_back(&mut self, bytes: usize, start: usize, out: &mut Vec<u8>) {
        out.truncate(start);
        if bytes > LINK_MESSAGE_BYTES_MAX {
            out.shrink_to_fit();
            self.writer.forget();
            write_number(TAG_FORGET, out);
        }
    }
}

/// Returns the number of items, from this one on, that share its message and are written together.
fn together(items: &VecDeque<Item>, at: usize) -> usize {
    let Some(Item::Message(Envelope { body, .. })) = items.get(at) else { return 1 };
    body.shared().map_or(1, |message| {
        let most = items.len().min(at + LINK_RECEIVERS_MAX);
        (at..most).take_while(|index| shares(items.get(*index), message)).count()
    })
}

/// Returns the message of an item without other data: not numbered, not passed on, and for its only receiver.
fn alone_in(item: &Item) -> Option<&AclMessage> {
    match item {
        Item::Message(Envelope { body: MessageBody::Numbered(_), .. }) => None,
        Item::Message(Envelope { to, body }) => {
            matches!(body.receivers.as_slice(), [only] if only == to).then_some(&**body)
        }
        _ => None,
    }
}

fn shares(item: Option<&Item>, with: &Arc<AclMessage>) -> bool {
    let Some(Item::Message(Envelope { body, .. })) = item else { return false };
    body.shared().is_some_and(|message| Arc::ptr_eq(message, with))
}

fn receiver(item: &Item) -> Option<Aid> {
    match item {
        Item::Message(envelope) | Item::Forwarded(envelope) => Some(envelope.to),
        Item::News(_) | Item::Void => None,
    }
}

fn write_receivers(message: &AclMessage, to: impl Iterator<Item = Aid> + Clone, count: usize, out: &mut Vec<u8>) {
    if count == message.receivers.len() && to.clone().eq(message.receivers.iter().copied()) {
        return write_number(TAG_ALL, out);
    }
    let mut places = Vec::with_capacity(count);
    let mut search_from = 0;
    for aid in to.clone() {
        let known = message.receivers.get(search_from..).and_then(|rest| rest.iter().position(|other| *other == aid));
        let Some(offset) = known else {
            write_number(TAG_OTHERS, out);
            write_number(count as u64, out);
            return to.for_each(|aid| write_name(aid, out));
        };
        places.push(offset);
        search_from += offset + 1;
    }
    write_number(TAG_SOME, out);
    write_number(count as u64, out);
    places.into_iter().for_each(|place| write_number(place as u64, out));
}

fn write_name(aid: Aid, out: &mut Vec<u8>) {
    for text in [aid.name.as_str(), aid.platform.as_str()] {
        write_number(text.len() as u64, out);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Sink for items that arrive, in order.
pub trait ItemSink {
    /// Puts an item in.
    fn put(&mut self, item: Item);

    /// Puts in a message that differs from the item before in its content alone: both are messages with the same sender
    /// and receiver.
    fn put_alike(&mut self, envelope: Envelope) {
        self.put(Item::Message(envelope));
    }

    /// Returns the number of items put in.
    fn count(&self) -> usize;

    /// Returns the last item, unless it was [alike](ItemSink::put_alike) the one before.
    fn last(&self) -> Option<&Item>;
}

impl ItemSink for Vec<Item> {
    fn put(&mut self, item: Item) {
        self.push(item);
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn last(&self) -> Option<&Item> {
        self.as_slice().last()
    }
}

/// Reads all items of a batch, in order; returns their number.
///
/// # Errors
/// The bytes are malformed. The items before the fault are in `items`.
pub fn read_items(
    bytes: &[u8],
    reader: &mut dyn MessageReader,
    items: &mut impl ItemSink,
) -> Result<usize, BatchError> {
    read_shares(bytes, reader, items, &mut 0)
}

/// Reads items as [`read_items`] does, and adds to `shares` the number of receivers that share a message with one
/// before.
pub(super) fn read_shares(
    mut bytes: &[u8],
    reader: &mut dyn MessageReader,
    items: &mut impl ItemSink,
    shares: &mut usize,
) -> Result<usize, BatchError> {
    let (before, mut tags) = (items.count(), 0);
    // Common part of adjacent messages, from the second of them on.
    let mut row: Option<Alike> = None;
    while !bytes.is_empty() {
        tags += 1;
        if tags > LINK_BATCH_TAGS_MAX {
            return Err(BatchError::TooMany);
        }
        if let [first, rest @ ..] = bytes
            && u64::from(*first) == TAG_ALIKE
        {
            bytes = rest;
            if row.is_none() {
                row = items.last().filter(|_| items.count() > before).and_then(Alike::of);
            }
            let alike = row.as_ref().ok_or(BatchError::Receivers)?;
            let envelope = alike.read(&mut bytes, reader)?;
            check_names()?;
            items.put_alike(envelope);
            continue;
        }
        let Head { tag, forwarded, number } = read_head(&mut bytes)?;
        if tag == TAG_FORGET {
            reader.forget();
            continue;
        }
        row = None;
        let to = match tag {
            TAG_NEWS => {
                let news = read_news(&mut bytes, reader)?;
                check_names()?;
                items.put(Item::News(Box::new(news)));
                continue;
            }
            TAG_VOID => {
                items.put(Item::Void);
                continue;
            }
            _ => read_to(tag, &mut bytes)?,
        };
        let encoded = take_bytes(&mut bytes)?;
        let message = reader.read(encoded)?;
        check_names()?;
        match number {
            Some(number) if forwarded => items.put(Item::Forwarded(numbered(message, number, &to)?)),
            Some(number) => items.put(Item::Message(numbered(message, number, &to)?)),
            None if forwarded => items.put(Item::Forwarded(for_one(boxed(message, encoded), &to)?)),
            None => {
                *shares += to.count(&message).saturating_sub(1);
                if *shares > LINK_BATCH_SHARES_MAX {
                    return Err(BatchError::TooMany);
                }
                address(boxed(message, encoded), &to, |item| items.put(item))?;
            }
        }
    }
    Ok(items.count() - before)
}

/// Refuses the item that was just read if it has new names that are not allowed.
#[inline]
fn check_names() -> Result<(), BatchError> {
    if NameAllowance::is_refused() { Err(BatchError::NewNames) } else { Ok(()) }
}

/// Boxes a message that came as these bytes, weighed if they are many.
fn boxed(message: AclMessage, encoded: &[u8]) -> MessageBody {
    let body = MessageBody::Owned(Box::new(message));
    if encoded.len() >= MESSAGE_WEIGHED_BYTES { body.weighed() } else { body }
}

/// Head of an item: its tag, the mark of a message that is passed on, and the numbers from its sender.
struct Head {
    tag: u64,
    forwarded: bool,
    number: Option<(u64, u64, u64)>,
}

fn read_head(bytes: &mut &[u8]) -> Result<Head, BatchError> {
    let mut head = Head { tag: take_number(bytes)?, forwarded: false, number: None };
    if head.tag == TAG_FORWARDED {
        head.forwarded = true;
        head.tag = take_number(bytes)?;
        if !matches!(head.tag, TAG_NUMBERED | TAG_ALL | TAG_SOME | TAG_OTHERS) {
            return Err(BatchError::Receivers);
        }
    }
    if head.tag == TAG_NUMBERED {
        head.number = Some(read_numbers(bytes)?);
        head.tag = take_number(bytes)?;
        if !matches!(head.tag, TAG_ALL | TAG_SOME | TAG_OTHERS) {
            return Err(BatchError::Receivers);
        }
    }
    Ok(head)
}

/// Common part of adjacent messages.
struct Alike {
    to: Aid,
    /// First message, without its content.
    message: AclMessage,
}

impl Alike {
    /// Returns the common part of this item and those that may follow it.
    fn of(first: &Item) -> Option<Self> {
        let message = alone_in(first).filter(|message| message.extras.is_none())?;
        Some(Self { to: receiver(first)?, message: message.alike(Value::Null) })
    }

    /// Reads the next message.
    fn read(&self, bytes: &mut &[u8], reader: &mut dyn MessageReader) -> Result<Envelope, BatchError> {
        let encoded = take_bytes(bytes)?;
        let content = reader.read_content(encoded)?;
        Ok(Envelope { to: self.to, body: boxed(self.message.alike(content), encoded) })
    }
}

/// Takes as many bytes as the number before them says.
fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], BatchError> {
    let length = usize::try_from(take_number(bytes)?).map_err(|_| FrameError::Number)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(FrameError::Number)?;
    *bytes = rest;
    Ok(taken)
}

enum To {
    All,
    Some(Vec<usize>),
    Others(Vec<Aid>),
}

impl To {
    /// Returns the number of selected receivers.
    fn count(&self, message: &AclMessage) -> usize {
        match self {
            Self::All => message.receivers.len(),
            Self::Some(places) => places.len(),
            Self::Others(others) => others.len(),
        }
    }
}

/// Reads the receivers that a tag announces.
fn read_to(tag: u64, bytes: &mut &[u8]) -> Result<To, BatchError> {
    match tag {
        TAG_ALL => Ok(To::All),
        TAG_SOME => {
            let mut place = 0u64;
            let places = read_list(bytes, |bytes| {
                let this = place.saturating_add(take_number(bytes)?);
                place = this.saturating_add(1);
                Ok(usize::try_from(this).unwrap_or(usize::MAX))
            })?;
            Ok(To::Some(places))
        }
        TAG_OTHERS => read_list(bytes, read_name).map(To::Others),
        _ => Err(BatchError::Receivers),
    }
}

/// Returns the envelope of a message to a single receiver.
fn for_one(message: MessageBody, to: &To) -> Result<Envelope, BatchError> {
    let mut all = Vec::new();
    address(message, to, |item| all.extend(item.into_message()))?;
    all.pop().filter(|_| all.is_empty()).ok_or(BatchError::Receivers)
}

fn address(message: MessageBody, to: &To, mut push: impl FnMut(Item)) -> Result<(), BatchError> {
    if message.excess_receivers().is_some() {
        return Err(BatchError::Receivers);
    }
    match to {
        To::All => match message.receivers.as_slice() {
            [] => return Err(BatchError::Receivers),
            [only] => push(Item::Message(Envelope { to: *only, body: message })),
            all => {
                let all = all.to_vec();
                share(message, &all, &mut push);
            }
        },
        To::Some(places) => {
            let receivers: Option<Vec<Aid>> =
                places.iter().map(|place| message.receivers.get(*place).copied()).collect();
            share(message, &receivers.ok_or(BatchError::Receivers)?, &mut push);
        }
        To::Others(receivers) => share(message, receivers, &mut push),
    }
    Ok(())
}

/// Reads a numbered message's number, the number of the message before it, and its replay round.
fn read_numbers(bytes: &mut &[u8]) -> Result<(u64, u64, u64), BatchError> {
    let (number, back) = (take_number(bytes)?, take_number(bytes)?);
    let after = if back == 0 { 0 } else { number.saturating_sub(back) };
    Ok((number, after, take_number(bytes)?))
}

/// Returns the envelope of a numbered message; a number belongs to one receiver.
fn numbered(message: AclMessage, (number, after, telling): (u64, u64, u64), to: &To) -> Result<Envelope, BatchError> {
    let to = match (to, message.receivers.as_slice()) {
        (To::All, [only]) => Some(*only),
        (To::Some(places), receivers) if places.len() == 1 => {
            places.first().and_then(|place| receivers.get(*place)).copied()
        }
        (To::Others(others), _) if others.len() == 1 => others.first().copied(),
        _ => None,
    };
    let body =
        MessageBody::Numbered(Box::new(Numbered { number, after, telling, bulk: 0, message: Arc::new(message) }));
    Ok(Envelope { to: to.ok_or(BatchError::Receivers)?, body: body.weighed() })
}

/// Gives the message to each of several receivers once. A repeated receiver only keeps the numbering.
fn share(message: MessageBody, receivers: &[Aid], push: &mut impl FnMut(Item)) {
    if let [to] = receivers {
        return push(Item::Message(Envelope { to: *to, body: message }));
    }
    let shared = message.for_many();
    if Envelope::names_ascend(receivers) {
        return receivers.iter().for_each(|to| push(Item::Message(Envelope { to: *to, body: shared.clone() })));
    }
    let mut seen = FxHashSet::default();
    for to in receivers {
        push(if seen.insert(*to) { Item::Message(Envelope { to: *to, body: shared.clone() }) } else { Item::Void });
    }
}

fn read_list<T>(
    bytes: &mut &[u8],
    mut read: impl FnMut(&mut &[u8]) -> Result<T, BatchError>,
) -> Result<Vec<T>, BatchError> {
    let count = take_number(bytes)?;
    // Each entry takes a byte at least, so no count can ask for more than arrived.
    if count == 0 || count > bytes.len().min(LINK_RECEIVERS_MAX) as u64 {
        return Err(BatchError::Receivers);
    }
    (0..count).map(|_| read(bytes)).collect()
}

fn read_name(bytes: &mut &[u8]) -> Result<Aid, BatchError> {
    let name = read_text(bytes)?;
    Ok(Aid::new(name, read_text(bytes)?))
}

fn read_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str, BatchError> {
    let length = usize::try_from(take_number(bytes)?).map_err(|_| BatchError::Receivers)?;
    let (text, rest) = bytes.split_at_checked(length).ok_or(BatchError::Receivers)?;
    *bytes = rest;
    std::str::from_utf8(text).map_err(|_| BatchError::Receivers)
}

fn read_news(bytes: &mut &[u8], reader: &mut dyn MessageReader) -> Result<News, BatchError> {
    let length = usize::try_from(take_number(bytes)?).map_err(|_| BatchError::News)?;
    let (news, rest) = bytes.split_at_checked(length).ok_or(BatchError::News)?;
    *bytes = rest;
    reader.read_news(news).map_err(|_| BatchError::News)
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Encoding, Performative, compact};

    use super::super::LINK_VERSION;
    use super::super::codec::{reader, writer};
    use super::*;
    use crate::advice::{AdviceNews, Condition};
    use crate::ams::AgentState;
    use crate::durable::{Origin, Receipt, Registration};
    use crate::limits::HOP_NUMBER_BITS;
    use crate::mobility::{HopError, HopId, Offer, Part, Whence};

    fn message(receivers: &[&str]) -> Box<AclMessage> {
        let mut message =
            AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::from("hello"));
        message.receivers = receivers.iter().map(|name| Aid::local(*name)).collect();
        Box::new(message)
    }

    fn there_and_back(items: Vec<Item>) -> (usize, Vec<Item>) {
        let (items, mut bytes, mut back) = (VecDeque::from(items), Vec::new(), Vec::new());
        let written = BatchWriter::new(writer(Encoding::Compact)).write(&items, 0, usize::MAX / 2, &mut bytes);
        assert_eq!((written.items, written.refused.len()), (items.len(), 0));
        assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(items.len()));
        (bytes.len(), back)
    }

    fn names(items: &[Item]) -> Vec<String> {
        items.iter().filter_map(receiver).map(|aid| aid.to_string()).collect()
    }

    #[test]
    fn shared_message_is_written_once() {
        let mut items = Vec::new();
        Envelope::for_each_receiver(message(&["a", "b", "c", "d"]), |envelope| items.push(Item::Message(envelope)));
        let (all_bytes, back) = there_and_back(items.clone());
        assert_eq!(names(&back), ["a", "b", "c", "d"]);
        let some = vec![items.swap_remove(1), items.swap_remove(1)];
        let (some_bytes, back) = there_and_back(some);
        assert_eq!(names(&back), ["b", "d"]);
        assert!(some_bytes <= all_bytes + 3, "{some_bytes} {all_bytes}");
    }

    #[test]
    fn foreign_receiver_is_named() {
        let envelope = Envelope { to: Aid::new("eve", "there"), body: MessageBody::Owned(message(&["bob"])) };
        let (_, back) = there_and_back(vec![Item::Message(envelope)]);
        assert_eq!(names(&back), ["eve@there"]);
    }

    /// Returns messages of these senders to these receivers, each with its index as its content.
    fn row(pairs: &[(&str, &str)]) -> Vec<Item> {
        let item = |(number, (from, to)): (usize, &(&str, &str))| {
            let (from, to) = (Aid::local(*from), Aid::local(*to));
            let message = AclMessage::new(Performative::Inform, from, to, Value::Int(number as i64));
            Item::Message(Envelope { to, body: MessageBody::Owned(Box::new(message)) })
        };
        pairs.iter().enumerate().map(item).collect()
    }

    fn messages(items: &[Item]) -> Vec<AclMessage> {
        items.iter().cloned().filter_map(Item::into_message).map(|envelope| *envelope.body.into_message()).collect()
    }

    #[test]
    fn alike_messages_share_their_head() {
        let (bytes, back) = there_and_back(row(&[("amy", "bob"); 100]));
        assert_eq!(messages(&back), messages(&row(&[("amy", "bob"); 100])));
        let (one, _) = there_and_back(row(&[("amy", "bob")]));
        assert!(bytes <= one + 99 * 4, "{bytes} of which the first takes {one}");
    }

    #[test]
    fn differing_messages_are_written_whole() {
        let mut items = row(&[("amy", "bob"), ("amy", "bob"), ("amy", "eve"), ("bob", "eve"), ("bob", "eve")]);
        let change = |item: &mut Item, change: &dyn Fn(&mut AclMessage)| {
            if let Item::Message(Envelope { body: MessageBody::Owned(message), .. }) = item {
                change(message);
            }
        };
        items.extend(row(&[("bob", "eve"); 6]));
        change(&mut items[5], &|message| message.performative = Performative::Request);
        change(&mut items[6], &|message| message.extras_mut().reply_with = Some("q".into()));
        change(&mut items[8], &|message| message.content = Value::from("x".repeat(300)));
        change(&mut items[9], &|message| {
            message.content = Value::list((0..9).map(|n| Value::from(format!("text{n}"))))
        });
        change(&mut items[10], &|message| message.receivers.push(Aid::local("bob")));
        items.extend([Item::Void, Item::News(Box::new(News::NoService("bob".into())))]);
        items.extend(row(&[("bob", "eve"), ("bob", "eve")]));
        let (_, back) = there_and_back(items.clone());
        assert_eq!(messages(&back), messages(&items));
        let kinds = |items: &[Item]| items.iter().map(std::mem::discriminant).collect::<Vec<_>>();
        assert_eq!((kinds(&back), names(&back)), (kinds(&items), names(&items)));
    }

    #[test]
    fn alike_needs_plain_predecessor() {
        let alike = [TAG_ALIKE as u8, 1, 0];
        let (mut reader, mut items) = (reader(Encoding::Compact), row(&[("amy", "bob")]));
        assert_eq!(read_items(&alike, &mut *reader, &mut items), Err(BatchError::Receivers), "of an earlier batch");
        let void = [TAG_VOID as u8, TAG_ALIKE as u8, 1, 0];
        assert_eq!(read_items(&void, &mut *reader, &mut items), Err(BatchError::Receivers));
        for encoding in [Encoding::Json, Encoding::String] {
            let (items, mut bytes, mut back) = (VecDeque::from(row(&[("amy", "bob"); 3])), Vec::new(), Vec::new());
            BatchWriter::new(writer(encoding)).write(&items, 0, usize::MAX / 2, &mut bytes);
            assert_eq!(read_items(&bytes, &mut *super::super::codec::reader(encoding), &mut back), Ok(3));
            bytes.extend(alike);
            let read = read_items(&bytes, &mut *super::super::codec::reader(encoding), &mut back);
            assert!(matches!(read, Err(BatchError::Message(_))), "{read:?}");
        }
    }

    #[test]
    fn news_and_messages_keep_their_order() {
        let news = News::AgentEnded("bob".into(), EndReason::Failed("why not".into()));
        let mut items = vec![Item::News(Box::new(news.clone()))];
        Envelope::for_each_receiver(message(&["bob"]), |envelope| items.push(Item::Message(envelope)));
        let (_, back) = there_and_back(items);
        assert!(matches!(back.as_slice(), [Item::News(first), Item::Message(_)] if **first == news));
    }

    #[test]
    fn repeated_news_are_short() {
        let ready =
            |number| Item::News(Box::new(News::Hop(HopNews::Ready(HopId { agent: "retriever".into(), number }))));
        let bytes = |count| there_and_back((0..count).map(|_| ready(1 << (HOP_NUMBER_BITS - 1))).collect()).0;
        let (first, both) = (bytes(1), bytes(2));
        assert!(both - first < first * 2 / 3, "{first} {both}");
    }

    /// Returns the news of an agent's move to another node and back, with an empty state, in the form of later moves.
    #[test]
    fn hop_news_are_short() {
        let offer = Offer {
            hop: HopId { agent: "retriever".into(), number: 0 },
            kind: AgentKind::Wasm,
            owner: Symbol::default(),
            root: "mover".into(),
            origin: Whence(Origin::Module { path: "guest/examples/retriever-rust.wasm".to_owned(), hash: [0xa5; 32] }),
            state: Vec::new(),
            of: 0,
            unpacked: 0,
            clone: None,
            home: "c1".into(),
            lifetime_ms: None,
            age_ms: 3_600_000,
            handled: 1_000,
            recalled: false,
            onward: Symbol::default(),
        };
        let said = |round: u64| {
            let hop = HopId { agent: "retriever".into(), number: (1 << (HOP_NUMBER_BITS - 1)) + round };
            let commit = HopNews::Commit { hop, standing: None, told: Vec::new() };
            let offer = HopNews::Offer(Box::new(Offer { hop, ..offer.clone() }));
            [offer, commit, HopNews::Followed(hop, "c1".into()), HopNews::Ready(hop)]
        };
        let (mut batches, mut sizes) = (BatchWriter::new(writer(Encoding::Compact)), Vec::new());
        for round in 0..3 {
            sizes.clear();
            for news in said(round) {
                let mut bytes = Vec::new();
                batches.write(&VecDeque::from([Item::News(Box::new(News::Hop(news)))]), 0, usize::MAX / 2, &mut bytes);
                sizes.push(bytes.len());
            }
        }
        assert!(sizes.iter().sum::<usize>() <= 104, "{sizes:?}");
    }

    #[test]
    fn unencodable_message_leaves_placeholder() {
        let deep = (0..500).fold(Value::Nil, |inner, _| Value::list([inner]));
        let mut message = message(&["bob"]);
        message.content = deep;
        let envelope = Envelope { to: Aid::local("bob"), body: MessageBody::Owned(message) };
        let good = Envelope { to: Aid::local("bob"), body: MessageBody::Owned(super::tests::message(&["bob"])) };
        let items = VecDeque::from([Item::Message(good.clone()), Item::Message(envelope), Item::Message(good)]);
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        let written = BatchWriter::new(writer(Encoding::Compact)).write(&items, 0, usize::MAX / 2, &mut bytes);
        assert_eq!((written.items, written.refused), (3, vec![1]));
        assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(3));
        assert!(matches!(back.as_slice(), [Item::Message(_), Item::Void, Item::Message(_)]));
    }

    #[test]
    fn forwarded_message_stays_marked() {
        let numbered =
            Numbered { number: 7, after: 5, telling: 9, bulk: 0, message: Arc::from(message(&["bob", "eve"])) };
        let shared = MessageBody::Shared(Arc::from(message(&["bob", "eve"])));
        let bodies = [MessageBody::Owned(message(&["bob"])), shared, MessageBody::Numbered(Box::new(numbered))];
        let items = bodies.map(|body| Item::Forwarded(Envelope { to: Aid::local("bob"), body }));
        let (_, back) = there_and_back(items.to_vec());
        assert!(
            back.iter().all(|item| matches!(item, Item::Forwarded(envelope) if envelope.to.name.as_str() == "bob"))
        );
        assert_eq!(back.len(), 3);
        let two = [TAG_FORWARDED as u8, TAG_NEWS as u8];
        assert!(read_items(&two, &mut *reader(Encoding::Compact), &mut Vec::new()).is_err());
    }

    #[test]
    fn numbered_message_keeps_number() {
        let numbered = |number: u64| {
            let message = Arc::from(message(&["bob", "eve"]));
            let body = MessageBody::Numbered(Box::new(Numbered {
                number,
                after: number / 2,
                telling: number + 1,
                bulk: 0,
                message,
            }));
            Item::Message(Envelope { to: Aid::local("eve"), body })
        };
        let plain = Item::Message(Envelope { to: Aid::local("bob"), body: MessageBody::Owned(message(&["bob"])) });
        let (_, back) = there_and_back(vec![numbered(1), plain, numbered(u64::MAX / 2)]);
        let number = |item: &Item| match item {
            Item::Message(Envelope { body: MessageBody::Numbered(numbered), .. }) => {
                assert_eq!((numbered.telling, numbered.after), (numbered.number + 1, numbered.number / 2));
                Some(numbered.number)
            }
            _ => None,
        };
        assert_eq!(back.iter().map(number).collect::<Vec<_>>(), [Some(1), None, Some(u64::MAX / 2)]);
        assert_eq!(names(&back), ["eve", "bob", "eve"]);
    }

    /// News of every kind.
    fn all_news() -> Vec<News> {
        let mut description = crate::df::DfDescription::offering("s", "t");
        description.agent = Some(Aid::local("bob"));
        let receipt = Receipt { sender: "bob".into(), number: 5, by: "eve".into() };
        let member = Member { node: "n2".into(), address: "127.0.0.1:1".into() };
        let others = [
            News::Agents(vec![("bob".into(), AgentKind::AgentSpeak), ("eve".into(), AgentKind::Native)]),
            News::AgentEnded("bob".into(), EndReason::Killed),
            News::MoreServices { agent: "bob".into(), after: 1, services: vec![ServiceDescription::new("u", "t")] },
            News::AgentEnded("tab".into(), EndReason::LeaseOver { lease_ms: 10_000 }),
            News::Service(Box::new(description)),
            News::NoService("bob".into()),
            News::Crowded("bob".into(), true),
            News::Kill("bob".into()),
            News::Stop { delay_ms: 7, code: -3 },
            News::Members(vec![member]),
            News::Serves { partitions: vec![(3, 7)], agents: vec![("bob".into(), AgentKind::AgentSpeak)], more: true },
            News::Again { partitions: vec![(3, 7)], telling: 9 },
            News::Facts(Facts { handled: vec![receipt], known: vec![receipt] }),
            News::Yields { partitions: vec![3, 5], agents: vec!["bob".into()] },
            News::Introduced,
            News::Asks(vec!["amy".into(), "bob".into()]),
            News::Has { agents: vec![("amy".into(), AgentKind::Native)], not: vec!["bob".into()] },
            News::Topics(vec!["topic:t".into()]),
            News::NoTopic("topic:t".into()),
            News::Joined("group:g".into(), vec!["bob".into()]),
            News::Left("group:g".into(), "bob".into()),
            News::Ask { number: 8, question: b"how many".to_vec() },
            News::Answer { number: 8, answer: b"seven".to_vec() },
            News::NameConflict(NameConflict::Asks("bob".into(), 7)),
            News::NameConflict(NameConflict::Has { agent: "bob".into(), asked: 7, life: 9, age_ms: 11 }),
            News::NameConflict(NameConflict::Ends("bob".into(), 9)),
            News::Advice(AdviceNews::Ask { number: 7, code: Some(Origin::Type("t".to_owned())) }),
            News::Advice(AdviceNews::Tell {
                number: 7,
                condition: Condition { cores: Some(2), ..Condition::default() },
            }),
        ];
        others.into_iter().chain(hop_news().into_iter().map(News::Hop)).collect()
    }

    fn hop_news() -> Vec<HopNews> {
        let hop = HopId { agent: "bob".into(), number: 7 };
        let (kind, origin) = (AgentKind::Wasm, Origin::Module { path: "a.wasm".to_owned(), hash: [7; 32] });
        let offer = Offer {
            hop,
            kind,
            owner: "boss".into(),
            root: "founder".into(),
            origin: Whence(origin),
            state: vec![1, 2],
            of: 2,
            unpacked: 0,
            clone: None,
            home: "n1".into(),
            lifetime_ms: Some(5),
            age_ms: 3_600_000,
            handled: 1_000,
            recalled: false,
            onward: "tab".into(),
        };
        let standing = Registration {
            agent: "bob".into(),
            last: 0,
            entry: None,
            expires_ms: None,
            subscriptions: Vec::new(),
            places: vec!["group:g".into()],
            state: AgentState::Active,
        };
        vec![
            HopNews::Followed(hop, "n2".into()),
            HopNews::Lacks { hop, at: 3 },
            HopNews::Code(hop, Part { at: 3, of: 5, bytes: vec![7, 0] }),
            HopNews::More { hop, at: 3 },
            HopNews::State(hop, Part { at: 3, of: 5, bytes: vec![7, 0] }),
            HopNews::Offer(Box::new(offer)),
            HopNews::Ready(hop),
            HopNews::Cloned(hop, "amy".into()),
            HopNews::Refuse(hop, HopError::Stopping),
            HopNews::Cancel(hop),
            HopNews::Commit { hop, standing: Some(Box::new(standing)), told: vec!["n3".into()] },
            HopNews::Recall("bob".into(), 7),
            HopNews::Recalled(7, None),
            HopNews::Departed(hop, "n2".into()),
            HopNews::Follow(hop),
            HopNews::Roams(hop, "n2".into(), vec!["topic:news".into()]),
            HopNews::Clear(hop, vec!["topic:news".into()]),
            HopNews::Settled(hop),
        ]
    }

    /// A change of what nodes tell each other increments [`LINK_VERSION`], unless that was done since the last release,
    /// and updates the fingerprint here.
    #[test]
    fn link_version_matches_fingerprint() {
        let mut bytes = Vec::new();
        all_news().iter().for_each(|news| compact::encode_body_of(news, &mut bytes).unwrap());
        // FNV-1a.
        let print = bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!((LINK_VERSION, print), (3, 5_710_761_252_287_112_124));
    }

    #[test]
    fn all_news_round_trip() {
        let all = all_news();
        let (_, back) = there_and_back(all.iter().map(|news| Item::News(Box::new(news.clone()))).collect());
        let news: Vec<News> =
            back.into_iter().filter_map(|item| if let Item::News(news) = item { Some(*news) } else { None }).collect();
        assert_eq!(news, all);
    }

    #[test]
    fn overlong_message_leaves_others_intact() {
        let said = |text: &str, content: Value| {
            let mut message = message(&["bob"]);
            message.content = content;
            message.extras_mut().protocol = Some(text.into());
            Item::Message(Envelope { to: Aid::local("bob"), body: MessageBody::Owned(message) })
        };
        let long = Value::from("x".repeat(LINK_MESSAGE_BYTES_MAX));
        let items = VecDeque::from([
            said("one", Value::from(1)),
            said("two", long),
            said("two", Value::from(2)),
            said("one", Value::from(3)),
        ]);
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        let mut batches = BatchWriter::new(writer(Encoding::Compact));
        let written = batches.write(&items, 0, usize::MAX / 2, &mut bytes);
        assert_eq!((written.items, written.refused), (4, vec![1]));
        assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(4));
        let protocols: Vec<_> = back
            .iter()
            .map(|item| match item {
                Item::Message(envelope) => envelope.body.extras().protocol.map(|name| name.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(protocols, [Some("one"), None, Some("two"), Some("one")]);
    }

    #[test]
    fn overlong_alike_content_is_forgotten() {
        let texts = || (0..40).map(|number| Value::from(format!("{number:01000}")));
        let bytes = Value::from(vec![7_u8; LINK_MESSAGE_BYTES_MAX - 20_000]);
        let long = Value::list(texts().chain([bytes]).collect::<Vec<_>>());
        let items: VecDeque<Item> = [Value::from(1), long, Value::list(texts()), Value::from(2)]
            .map(|content| {
                let message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), content);
                Item::Message(Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(message)) })
            })
            .into();
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        let mut batches = BatchWriter::new(writer(Encoding::Compact));
        let written = batches.write(&items, 0, usize::MAX / 2, &mut bytes);
        assert_eq!((written.items, written.refused), (4, vec![1]));
        assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(4));
        let content = |item: &Item| match item {
            Item::Message(envelope) => Some(envelope.body.content.clone()),
            _ => None,
        };
        let sent = [content(&items[0]), None, content(&items[2]), content(&items[3])];
        assert_eq!(back.iter().map(content).collect::<Vec<_>>(), sent);
    }

    #[test]
    fn batch_items_are_bounded() {
        let read = |count: usize| {
            let mut items = Vec::new();
            read_items(&vec![TAG_VOID as u8; count], &mut *reader(Encoding::Compact), &mut items)
        };
        assert_eq!(read(LINK_BATCH_TAGS_MAX), Ok(LINK_BATCH_TAGS_MAX));
        assert_eq!(read(LINK_BATCH_TAGS_MAX + 1), Err(BatchError::TooMany));
    }

    /// Returns a batch of messages to these receivers, each named by position, with copies of one text.
    fn flood(messages: usize, names: &[String]) -> Vec<u8> {
        let mut message = message(&[]);
        message.receivers = names.iter().map(|name| Aid::local(name.as_str())).collect();
        let (mut bytes, mut writer) = (Vec::new(), writer(Encoding::Compact));
        for _ in 0..messages {
            write_number(TAG_ALL, &mut bytes);
            let sized = begin_sized(&mut bytes);
            writer.write(&message, &mut bytes).unwrap();
            end_sized(sized, &mut bytes);
        }
        bytes
    }

    #[test]
    fn shared_receivers_are_bounded() {
        let all: Vec<String> = (0..LINK_RECEIVERS_MAX).map(|n| format!("a{n}")).collect();
        let read = |bytes: &[u8]| {
            let (mut items, mut shares) = (Vec::new(), 0);
            let read = read_shares(bytes, &mut *reader(Encoding::Compact), &mut items, &mut shares);
            (read, items.len(), shares)
        };
        assert_eq!(read(&flood(1, &all)), (Ok(all.len()), all.len(), all.len() - 1));
        let (outcome, items, _) = read(&flood(3, &all));
        assert_eq!((outcome, items), (Err(BatchError::TooMany), 2 * all.len()));
        let many: Vec<String> = (0..=LINK_RECEIVERS_MAX).map(|n| format!("a{n}")).collect();
        assert_eq!(read(&flood(1, &many)).0, Err(BatchError::Receivers));
        let twice = ["ann", "bob", "ann"].map(String::from);
        let mut items = Vec::new();
        assert_eq!(read_items(&flood(1, &twice), &mut *reader(Encoding::Compact), &mut items), Ok(3));
        assert_eq!((names(&items), items.len()), (vec!["ann".to_owned(), "bob".to_owned()], 3));
    }

    #[test]
    fn batch_closes_by_receiver_count() {
        let names: Vec<String> = (0..LINK_RECEIVERS_MAX).map(|n| format!("a{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut items = VecDeque::new();
        for _ in 0..3 {
            Envelope::for_each_receiver(message(&names), |envelope| items.push_back(Item::Message(envelope)));
        }
        let mut batches = BatchWriter::new(writer(Encoding::Compact));
        let written = batches.write(&items, 0, crate::limits::LINK_BATCH_BYTES, &mut Vec::new());
        assert_eq!((written.items, written.shares), (names.len(), names.len() - 1));
    }

    #[test]
    fn hostile_batches_are_refused() {
        let mut items = Vec::new();
        for bytes in [&[9][..], &[0, 5, 1], &[0, 2, 99, 1], &[2, 0], &[2, 100, 1], &[3, 1, 200], &[3, 1, 1, 0xff, 0]] {
            assert!(read_items(bytes, &mut *reader(Encoding::Compact), &mut items).is_err(), "{bytes:?}");
        }
        assert!(items.is_empty());
    }
}
