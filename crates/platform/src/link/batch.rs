//! What a batch holds: messages with their receivers, and news, in the order they were put on the link.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use whimbrel_acl::compact::{Decode, Encode};
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Name, NameAllowance, Numbered, Symbol, Value};

use super::Namesake;
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

/// What travels on a link, each piece exactly once and in order.
#[derive(Clone, Debug)]
pub enum Item {
    /// A message on its way to an agent.
    Message(Envelope),
    /// The same, for an agent that left the speaker for the hearer: whoever sent it, it had come to the speaker first.
    Forwarded(Envelope),
    /// What one node tells the other.
    News(Box<News>),
    /// What was a message and cannot be written: it keeps its number.
    Void,
}

impl Item {
    /// Whether it is a message.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Forwarded(_))
    }

    /// The message that it is.
    pub fn into_message(self) -> Option<Envelope> {
        match self {
            Self::Message(envelope) | Self::Forwarded(envelope) => Some(envelope),
            Self::News(_) | Self::Void => None,
        }
    }
}

/// What one node tells another: of its agents and their services, and what it asks it to do. On the wire, values of the
/// compact codec.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum News {
    /// Agents that the speaker has now.
    Agents(Vec<(Name, AgentKind)>),
    /// An agent that it has no more, and why.
    AgentEnded(Name, EndReason),
    /// What an agent of its own offers now.
    Service(Box<DfDescription>),
    /// Further services of an agent of the speaker, behind those that were told.
    MoreServices {
        /// Agent that offers the services.
        agent: Symbol,
        /// Number of services told before.
        after: u64,
        /// The others.
        services: Vec<ServiceDescription>,
    },
    /// This agent of its own offers nothing any more.
    NoService(Symbol),
    /// This agent of its own has too much to do, or has not any more; or one of its own in this topic or group.
    Crowded(Symbol, bool),
    /// The hearer is to end this agent of its own.
    Kill(Symbol),
    /// The platform is to stop.
    Stop {
        /// When: milliseconds from now.
        delay_ms: u64,
        /// The exit code.
        code: i32,
    },
    /// Nodes that the hearer is to link with.
    Members(Vec<Member>),
    /// Topics (`topic:NAME`) that agents of the speaker subscribe to.
    Topics(Vec<Symbol>),
    /// No agent of the speaker subscribes to this topic any more.
    NoTopic(Symbol),
    /// Agents of the speaker that are members of this group (`group:NAME`).
    Joined(Symbol, Vec<Symbol>),
    /// This agent of the speaker (named last) is no member of this group any more.
    Left(Symbol, Symbol),
    /// Certificates of agents of the speaker, for what they sign.
    Certificates {
        /// The certificate with which the speaker certifies its agents (DER).
        node: Vec<u8>,
        /// The agents' (DER).
        agents: Vec<Vec<u8>>,
    },
    /// The speaker serves these partitions as soon as all agents are named: `more` of them follow in another such news.
    Serves {
        /// Which ([`Partition`](crate::store::Partition)), and in which epochs.
        partitions: Vec<(u16, u64)>,
        /// All agents of these partitions that it has.
        agents: Vec<(Name, AgentKind)>,
        /// Whether more agents follow.
        more: bool,
    },
    /// All that the speaker has for agents of these partitions, which the hearer serves in these epochs, follows in this
    /// telling. What is of an earlier one is of no account.
    Again {
        /// Which.
        partitions: Vec<(u16, u64)>,
        /// See [`Numbered::telling`].
        telling: u64,
    },
    /// What the hearer is to know of messages.
    Facts(Facts),
    /// The speaker stops serving these partitions: messages to these agents of them wait until somebody does. Other agents
    /// stay.
    Yields {
        /// Which.
        partitions: Vec<u16>,
        /// Agents of these partitions.
        agents: Vec<Name>,
    },
    /// An agent goes from one node to another.
    #[compact(name = "H")]
    Hop(HopNews),
    /// All that the hearer is to know of the speaker has been said: what follows has happened since.
    Introduced,
    /// The hearer is to say which of these agents it has.
    Asks(Vec<Symbol>),
    /// Of the agents that it was asked about, the speaker has these, and has those not.
    Has {
        /// Which it has.
        agents: Vec<(Symbol, AgentKind)>,
        /// Which it has not.
        not: Vec<Symbol>,
    },
    /// One node asks the other how it is doing, or is told.
    Advice(AdviceNews),
    /// An operator of one node wants to know something of the other. What is asked and answered is theirs to read.
    Ask {
        /// Quoted in the answer.
        number: u64,
        /// What.
        question: Vec<u8>,
    },
    /// What was asked is answered.
    Answer {
        /// The question's.
        number: u64,
        /// The answer.
        answer: Vec<u8>,
    },
    /// Both nodes have an agent of one name.
    Namesake(Namesake),
}

/// A node of the platform that can be linked with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Member {
    /// Its name.
    pub node: String,
    /// Where it listens.
    pub address: String,
}

/// Why a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A number in it is none.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message in it is none.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// News in it are none.
    #[error("news that cannot be read")]
    News,
    /// A message is for a receiver that it does not have, or for too many.
    #[error("receivers that the message does not have")]
    Receivers,
    /// It has more in it than anybody writes into one.
    #[error(
        "more than {LINK_BATCH_TAGS_MAX} items in a batch, or more than {LINK_BATCH_SHARES_MAX} receivers that share a message with another"
    )]
    TooMany,
    /// An item of it has names that the peer may not make this node keep ([`NameAllowance`]).
    #[error("names that are new to this node, which keeps no more of this peer's")]
    NewNames,
}

const TAG_NEWS: u64 = 0;
/// The message is for all its receivers.
const TAG_ALL: u64 = 1;
/// The message is for some of its receivers: how many, then their places among them.
const TAG_SOME: u64 = 2;
/// The message is for somebody who is not among its receivers: how many names, then these.
const TAG_OTHERS: u64 = 3;
const TAG_VOID: u64 = 4;
/// No item: what was said on the connection before is forgotten.
const TAG_FORGET: u64 = 5;
/// The message that follows is numbered by its sender: its number and telling, then its receivers as above.
const TAG_NUMBERED: u64 = 6;
/// The message that follows is passed on for an agent that left.
const TAG_FORWARDED: u64 = 7;

/// The message is as the one before but for its content, which follows.
const TAG_ALIKE: u64 = 8;

/// What writing items came to.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// How many were written.
    pub items: usize,
    /// Which of them are messages that cannot be: something void stands in their place.
    pub refused: Vec<usize>,
    /// Receivers that share a message with one before: each counts as [`LINK_RECEIVER_BYTES`].
    pub shares: usize,
}

/// Writes messages, each with its length before it.
pub(super) struct BatchWriter {
    writer: Box<dyn MessageWriter>,
}

impl BatchWriter {
    pub fn new(writer: Box<dyn MessageWriter>) -> Self {
        Self { writer }
    }

    /// Writes items, beginning with the one at `from`, until `bytes_max` are written. A message to several agents is
    /// written once, if its envelopes stand together; of messages in a row that differ in their contents alone, the first
    /// is written whole.
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

    /// Writes the content of a message that has all else in common with the one before. False, and nothing is written, if
    /// that is not possible: not in this encoding, or not at all.
    fn write_alike(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        write_number(TAG_ALIKE, out);
        let sized = begin_sized(out);
        let written = matches!(self.writer.write_content(&message.content, out), Ok(true));
        self.end_message(written, start, sized, out)
    }

    /// Writes the message of this item, which all of `together` share; false if that is not possible.
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
            // It is a description with values nested too deeply, or with far too many.
            Err(_) => {
                out.truncate(start);
                write_number(TAG_VOID, out);
            }
        }
    }

    /// Ends a message that begins at `start`, and whose encoding, which was or was not written, begins at `sized`. False, and nothing
    /// of it is left, if it cannot be sent.
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

    /// Takes back what was written of a message since `start`. If it is too long, what was said before is forgotten: it has been said by
    /// something that the other end will never see.
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

/// How many items, from this one on, share its message and are written together.
fn together(items: &VecDeque<Item>, at: usize) -> usize {
    let Some(Item::Message(Envelope { body, .. })) = items.get(at) else { return 1 };
    body.shared().map_or(1, |message| {
        let most = items.len().min(at + LINK_RECEIVERS_MAX);
        (at..most).take_while(|index| shares(items.get(*index), message)).count()
    })
}

/// The message of an item that says nothing else: neither numbered nor passed on, and for its only receiver.
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

/// Where items that come are put, in order.
pub trait Basket {
    /// Puts an item in.
    fn put(&mut self, item: Item);

    /// Puts in a message from the same agent and to the same one as the item before, which is one, too: but for their contents they
    /// are alike.
    fn put_alike(&mut self, envelope: Envelope) {
        self.put(Item::Message(envelope));
    }

    /// How many items were put in.
    fn count(&self) -> usize;

    /// The item put in last, unless it was [alike](Basket::put_alike) the one before.
    fn last(&self) -> Option<&Item>;
}

impl Basket for Vec<Item> {
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

/// Reads all items of a batch, in order; returns how many.
///
/// # Errors
/// They are not what they should be. What was read before the fault is in `items`.
pub fn read_items(bytes: &[u8], reader: &mut dyn MessageReader, items: &mut impl Basket) -> Result<usize, BatchError> {
    read_shares(bytes, reader, items, &mut 0)
}

/// [`read_items`], which adds to `shares` how many receivers share a message with one before.
pub(super) fn read_shares(
    mut bytes: &[u8],
    reader: &mut dyn MessageReader,
    items: &mut impl Basket,
    shares: &mut usize,
) -> Result<usize, BatchError> {
    let (before, mut tags) = (items.count(), 0);
    // What is common to messages in a row, since the second of them.
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

/// Refuses the item that was just read if it has names that are new and not allowed.
#[inline]
fn check_names() -> Result<(), BatchError> {
    if NameAllowance::is_refused() { Err(BatchError::NewNames) } else { Ok(()) }
}

/// A message that came as these bytes: weighed, if they are many.
fn boxed(message: AclMessage, encoded: &[u8]) -> MessageBody {
    let body = MessageBody::Owned(Box::new(message));
    if encoded.len() >= MESSAGE_WEIGHED_BYTES { body.weighed() } else { body }
}

/// What comes before an item: what it is, whether it is passed on for an agent that left, and the numbers its sender gave it.
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

/// What messages in a row have in common.
struct Alike {
    to: Aid,
    /// The first, without its content.
    message: AclMessage,
}

impl Alike {
    /// What those have in common with this item that may follow it.
    fn of(first: &Item) -> Option<Self> {
        let message = alone_in(first).filter(|message| message.extras.is_none())?;
        Some(Self { to: receiver(first)?, message: message.alike(Value::Null) })
    }

    /// Reads the next.
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
    /// Number of receivers that the variant selects.
    fn count(&self, message: &AclMessage) -> usize {
        match self {
            Self::All => message.receivers.len(),
            Self::Some(places) => places.len(),
            Self::Others(others) => others.len(),
        }
    }
}

/// For whom a message is, as this tag says.
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

/// The message in an envelope, of which there is one.
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

/// A number is one message's to one receiver.
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

/// Gives the message to each of several receivers once. A receiver that is named again only keeps the numbering.
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
    // Each takes a byte at least, so that no count asks for more than came.
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
    use crate::durable::{Origin, Receipt, Standing};
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
    fn a_message_to_many_is_written_once() {
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
    fn whoever_is_not_among_the_receivers_is_named() {
        let envelope = Envelope { to: Aid::new("eve", "there"), body: MessageBody::Owned(message(&["bob"])) };
        let (_, back) = there_and_back(vec![Item::Message(envelope)]);
        assert_eq!(names(&back), ["eve@there"]);
    }

    /// Messages of these senders to these receivers, each with the number of its place as its content.
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
    fn of_messages_alike_only_the_first_is_written_whole() {
        let (bytes, back) = there_and_back(row(&[("amy", "bob"); 100]));
        assert_eq!(messages(&back), messages(&row(&[("amy", "bob"); 100])));
        let (one, _) = there_and_back(row(&[("amy", "bob")]));
        assert!(bytes <= one + 99 * 4, "{bytes} of which the first takes {one}");
    }

    #[test]
    fn what_differs_in_more_than_its_content_is_written_whole() {
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
    fn nothing_is_like_what_is_no_plain_message_of_the_same_batch() {
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
    fn news_are_short_once_their_like_was_told() {
        let ready =
            |number| Item::News(Box::new(News::Hop(HopNews::Ready(HopId { agent: "retriever".into(), number }))));
        let bytes = |count| there_and_back((0..count).map(|_| ready(1 << (HOP_NUMBER_BITS - 1))).collect()).0;
        let (first, both) = (bytes(1), bytes(2));
        assert!(both - first < first * 2 / 3, "{first} {both}");
    }

    /// What a node says of an agent's way to another one and back, whose state takes no bytes, when it was said before.
    #[test]
    fn a_hop_takes_few_bytes_beside_the_state() {
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
    fn what_cannot_be_written_keeps_its_place_and_harms_nobody() {
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
    fn a_message_that_is_passed_on_says_so() {
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
    fn a_numbered_message_keeps_its_number() {
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
            News::Namesake(Namesake::Asks("bob".into(), 7)),
            News::Namesake(Namesake::Has { agent: "bob".into(), asked: 7, life: 9, age_ms: 11 }),
            News::Namesake(Namesake::Ends("bob".into(), 9)),
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
        let standing = Standing {
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

    /// Whoever changes what nodes tell each other counts [`LINK_VERSION`] up, if that was not done since the last release, and notes the other
    /// number here.
    #[test]
    fn the_version_says_what_nodes_tell_each_other() {
        let mut bytes = Vec::new();
        all_news().iter().for_each(|news| compact::encode_body_of(news, &mut bytes).unwrap());
        // FNV-1a.
        let print = bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!((LINK_VERSION, print), (3, 5_710_761_252_287_112_124));
    }

    #[test]
    fn news_of_every_kind_come_back() {
        let all = all_news();
        let (_, back) = there_and_back(all.iter().map(|news| Item::News(Box::new(news.clone()))).collect());
        let news: Vec<News> =
            back.into_iter().filter_map(|item| if let Item::News(news) = item { Some(*news) } else { None }).collect();
        assert_eq!(news, all);
    }

    #[test]
    fn a_message_that_is_too_long_harms_nobody_whatever_was_said_in_it() {
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
    fn a_content_that_is_too_long_behind_an_alike_message_is_not_remembered() {
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
    fn no_batch_has_more_items_than_anybody_writes() {
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
    fn shared_receivers_are_bounded_in_a_batch() {
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
