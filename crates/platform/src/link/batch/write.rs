//! Writer of batches.

use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody};

use super::super::codec::MessageWriter;
use super::super::wire::{begin_sized, end_sized, write_number};
use super::super::{LinkItem, News};
use super::*;
use crate::limits::{LINK_MESSAGE_BYTES_MAX, LINK_RECEIVER_BYTES, LINK_RECEIVERS_MAX};

/// Result of writing items.
#[derive(Debug, Default)]
pub(in crate::link) struct WrittenItems {
    /// Number of items that were written.
    pub items: usize,
    /// Indexes of messages that cannot be encoded: placeholders stand for them.
    pub refused: Vec<usize>,
    /// Number of receivers that share a message with one before: each counts as [`LINK_RECEIVER_BYTES`].
    pub shares: usize,
}

/// Writer of a connection's messages, each with its length before it.
pub(in crate::link) struct BatchWriter {
    writer: Box<dyn MessageWriter>,
}

impl BatchWriter {
    pub fn new(writer: Box<dyn MessageWriter>) -> Self {
        Self { writer }
    }

    /// Writes items, beginning with the one at `from`, until `bytes_max` are written. A message to several agents is
    /// written once if its envelopes are adjacent. Of adjacent messages that differ in their contents alone, only the
    /// first is written whole.
    pub fn write(
        &mut self,
        items: &VecDeque<LinkItem>,
        from: usize,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> WrittenItems {
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
                LinkItem::Tombstone => {
                    write_number(TAG_VOID, out);
                    1
                }
                LinkItem::News(news) => {
                    self.write_news(news, out);
                    1
                }
                LinkItem::Message(envelope) | LinkItem::Forwarded(envelope) => {
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
        WrittenItems { items: at - from, refused, shares }
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
        item: &LinkItem,
        Envelope { to, body }: &Envelope,
        together: impl ExactSizeIterator<Item = &'a LinkItem> + Clone,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        if matches!(item, LinkItem::Forwarded(_)) {
            write_number(TAG_FORWARDED, out);
        }
        if let MessageBody::Numbered(numbered) = body {
            write_number(TAG_NUMBERED, out);
            write_number(numbered.number, out);
            // The previous number is usually near.
            write_number(if numbered.after == 0 { 0 } else { numbered.number.saturating_sub(numbered.after) }, out);
            write_number(numbered.replay_round, out);
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
fn together(items: &VecDeque<LinkItem>, at: usize) -> usize {
    let Some(LinkItem::Message(Envelope { body, .. })) = items.get(at) else { return 1 };
    body.shared().map_or(1, |message| {
        let most = items.len().min(at + LINK_RECEIVERS_MAX);
        (at..most).take_while(|index| shares(items.get(*index), message)).count()
    })
}

/// Returns the message of an item without other data: not numbered, not passed on, and for its only receiver.
pub(super) fn alone_in(item: &LinkItem) -> Option<&AclMessage> {
    match item {
        LinkItem::Message(Envelope { body: MessageBody::Numbered(_), .. }) => None,
        LinkItem::Message(Envelope { to, body }) => {
            matches!(body.receivers.as_slice(), [only] if only == to).then_some(&**body)
        }
        _ => None,
    }
}

fn shares(item: Option<&LinkItem>, with: &Arc<AclMessage>) -> bool {
    let Some(LinkItem::Message(Envelope { body, .. })) = item else { return false };
    body.shared().is_some_and(|message| Arc::ptr_eq(message, with))
}

pub(super) fn receiver(item: &LinkItem) -> Option<Aid> {
    match item {
        LinkItem::Message(envelope) | LinkItem::Forwarded(envelope) => Some(envelope.to),
        LinkItem::News(_) | LinkItem::Tombstone => None,
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
