//! Bodies and documents that stand alone: a dictionary, and the value that refers to it.

use std::cell::Cell;

use super::writer::{Dictionary, Writer, dictionary_tag};
use super::{EncodeError, VALUE_MARK, in_place, tags};

/// Bytes of buffers that a thread keeps for the next body; and after a long body, which another may follow.
const ROOM_BYTES_KEPT: usize = 64 << 10;
const ROOM_BYTES_KEPT_MAX: usize = 4 << 20;

/// Most bytes before a dictionary's items: a tag, and a count of 32 bits.
const DICTIONARY_TAG_BYTES_MAX: usize = 6;

/// Reused buffers for building a body. To allocate them anew would take longer than to write a small body.
#[derive(Default)]
struct BodyBuffers {
    dictionary: Dictionary,
    value: Vec<u8>,
}

thread_local! {
    /// Buffers of this thread. A body that is written inside another one gets buffers of its own.
    static DESK: Cell<Option<Box<BodyBuffers>>> = const { Cell::new(None) };
}

/// Appends a body.
///
/// # Errors
/// Values are nested too deeply; nothing was written then.
pub(super) fn write_body(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) -> Result<(), EncodeError> {
    at_desk(|desk| {
        let mut writer = Writer::new(&mut desk.value, &mut desk.dictionary);
        write(&mut writer);
        writer.finish()?;
        desk.body().append_to(out);
        Ok(())
    })
}

/// Appends a document: a mark, if the body does not begin with a tag that tells as much, and the body.
///
/// # Errors
/// As [`write_body`].
pub(super) fn write_document(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) -> Result<(), EncodeError> {
    at_desk(|desk| {
        let mut writer = Writer::of_document(&mut desk.value, &mut desk.dictionary);
        write(&mut writer);
        let may_be_rewritten = writer.finish()?;
        let mut body = desk.body();
        let rewritten = match may_be_rewritten {
            true => in_place::rewrite(body.value, body.items, desk.dictionary.references()),
            false => None,
        };
        if let Some((count, items, value)) = &rewritten {
            body = BodyParts { count: *count, items, value };
        }
        if body.count > 0 || !body.value.first().copied().is_some_and(tags::is_mark) {
            out.push(VALUE_MARK);
        }
        body.append_to(out);
        Ok(())
    })
}

fn at_desk(write: impl FnOnce(&mut BodyBuffers) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
    // A thread that ends has none.
    let mut desk = DESK.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let written = write(&mut desk);
    desk.clear();
    let _ = DESK.try_with(|place| place.set(Some(desk)));
    written
}

impl BodyBuffers {
    fn body(&self) -> BodyParts<'_> {
        let (count, items) = self.dictionary.items();
        BodyParts { count, items, value: &self.value }
    }

    /// Keeps room for the next body: up to four times as much as this one took.
    fn clear(&mut self) {
        let kept = (4 * self.value.len()).clamp(ROOM_BYTES_KEPT, ROOM_BYTES_KEPT_MAX);
        self.value.clear();
        self.value.shrink_to(kept);
        self.dictionary.keep_room(ROOM_BYTES_KEPT);
    }
}

/// Parts of a body.
struct BodyParts<'a> {
    /// Number of items in the dictionary. Without items there is no dictionary.
    count: u32,
    items: &'a [u8],
    value: &'a [u8],
}

impl BodyParts<'_> {
    fn append_to(&self, out: &mut Vec<u8>) {
        out.reserve(DICTIONARY_TAG_BYTES_MAX + self.items.len() + self.value.len());
        if self.count > 0 {
            dictionary_tag(out, self.count);
            out.extend_from_slice(self.items);
        }
        out.extend_from_slice(self.value);
    }
}
