//! Reader of batches.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, NameAllowance, Numbered, Value};

use super::super::codec::MessageReader;
use super::super::wire::take_number;
use super::super::{ItemSink, LinkItem, News};
use super::write::{alone_in, receiver};
use super::*;
use crate::limits::{LINK_BATCH_SHARES_MAX, LINK_BATCH_TAGS_MAX, LINK_RECEIVERS_MAX, MESSAGE_WEIGHED_BYTES};

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
pub(in crate::link) fn read_shares(
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
        let ItemHead { tag, forwarded, number } = read_head(&mut bytes)?;
        if tag == TAG_FORGET {
            reader.forget();
            continue;
        }
        row = None;
        let to = match tag {
            TAG_NEWS => {
                let news = read_news(&mut bytes, reader)?;
                check_names()?;
                items.put(LinkItem::News(Box::new(news)));
                continue;
            }
            TAG_VOID => {
                items.put(LinkItem::Tombstone);
                continue;
            }
            _ => read_to(tag, &mut bytes)?,
        };
        let encoded = take_bytes(&mut bytes)?;
        let message = reader.read(encoded)?;
        check_names()?;
        match number {
            Some(number) if forwarded => items.put(LinkItem::Forwarded(numbered(message, number, &to)?)),
            Some(number) => items.put(LinkItem::Message(numbered(message, number, &to)?)),
            None if forwarded => items.put(LinkItem::Forwarded(for_one(boxed(message, encoded), &to)?)),
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
struct ItemHead {
    tag: u64,
    forwarded: bool,
    number: Option<(u64, u64, u64)>,
}

fn read_head(bytes: &mut &[u8]) -> Result<ItemHead, BatchError> {
    let mut head = ItemHead { tag: take_number(bytes)?, forwarded: false, number: None };
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
    fn of(first: &LinkItem) -> Option<Self> {
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

fn address(message: MessageBody, to: &To, mut push: impl FnMut(LinkItem)) -> Result<(), BatchError> {
    if message.excess_receivers().is_some() {
        return Err(BatchError::Receivers);
    }
    match to {
        To::All => match message.receivers.as_slice() {
            [] => return Err(BatchError::Receivers),
            [only] => push(LinkItem::Message(Envelope { to: *only, body: message })),
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
fn numbered(
    message: AclMessage,
    (number, after, replay_round): (u64, u64, u64),
    to: &To,
) -> Result<Envelope, BatchError> {
    let to = match (to, message.receivers.as_slice()) {
        (To::All, [only]) => Some(*only),
        (To::Some(places), receivers) if places.len() == 1 => {
            places.first().and_then(|place| receivers.get(*place)).copied()
        }
        (To::Others(others), _) if others.len() == 1 => others.first().copied(),
        _ => None,
    };
    let body =
        MessageBody::Numbered(Box::new(Numbered { number, after, replay_round, bulk: 0, message: Arc::new(message) }));
    Ok(Envelope { to: to.ok_or(BatchError::Receivers)?, body: body.weighed() })
}

/// Gives the message to each of several receivers once. A repeated receiver only keeps the numbering.
fn share(message: MessageBody, receivers: &[Aid], push: &mut impl FnMut(LinkItem)) {
    if let [to] = receivers {
        return push(LinkItem::Message(Envelope { to: *to, body: message }));
    }
    let shared = message.for_many();
    if Envelope::names_ascend(receivers) {
        return receivers.iter().for_each(|to| push(LinkItem::Message(Envelope { to: *to, body: shared.clone() })));
    }
    let mut seen = FxHashSet::default();
    for to in receivers {
        push(if seen.insert(*to) {
            LinkItem::Message(Envelope { to: *to, body: shared.clone() })
        } else {
            LinkItem::Tombstone
        });
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
