//! Documents that stand alone: an item with one reference is written in place, and leaves the dictionary. (Bodies of
//! messages keep all items in the dictionary, because a link remembers dictionaries.)

use super::tags::{self, item, shape};
use super::varint;
use super::writer::{Reference, ReferenceKind, reference};

/// Rewrites a value and the items of its dictionary, given all places that refer to an item. Returns the number of
/// remaining items, the items and the value; `None` if nothing would change.
pub(super) fn rewrite(value: &[u8], items: &[u8], references: &[Reference]) -> Option<(u32, Vec<u8>, Vec<u8>)> {
    let mut texts = Vec::new();
    let mut shapes = Vec::new();
    let mut at = 0;
    while at < items.len() {
        let start = at;
        let head = varint::read(items, &mut at).ok()?;
        let length = if head & 3 == item::KNOWN { 0 } else { (head >> 2) as usize };
        let whole = items.get(start..at + length)?;
        let content = items.get(at..at + length)?;
        let known = DictionaryItem { whole, content, used: if head & 3 == item::KNOWN { 2 } else { 0 }, number: 0 };
        if head & 3 == item::STRUCTURE {
            shapes.push(known)
        } else {
            texts.push(known)
        }
        at += length;
    }
    for reference in references {
        let list = if reference.place == ReferenceKind::Object { &mut shapes } else { &mut texts };
        list.get_mut(reference.number as usize)?.used += 1;
    }
    if texts.iter().chain(&shapes).all(|item| item.used > 1) {
        return None;
    }
    let (mut count, mut kept) = (0, Vec::with_capacity(items.len()));
    for list in [&mut texts, &mut shapes] {
        let mut number = 0;
        for item in list.iter_mut().filter(|item| item.used > 1) {
            item.number = number;
            number += 1;
            kept.extend_from_slice(item.whole);
        }
        count += number;
    }
    let mut out = Vec::with_capacity(items.len() + value.len());
    write_value(&mut out, value, &texts, &shapes, references)?;
    Some((count, kept, out))
}

struct DictionaryItem<'a> {
    whole: &'a [u8],
    content: &'a [u8],
    used: u32,
    /// Number of the item among those that remain.
    number: u32,
}

fn write_value(
    out: &mut Vec<u8>,
    value: &[u8],
    texts: &[DictionaryItem<'_>],
    shapes: &[DictionaryItem<'_>],
    references: &[Reference],
) -> Option<()> {
    let mut from = 0;
    for found in references {
        out.extend_from_slice(value.get(from..found.at as usize)?);
        from = found.at as usize + found.bytes as usize;
        let list = if found.place == ReferenceKind::Object { shapes } else { texts };
        let item = list.get(found.number as usize)?;
        match found.place {
            _ if item.used > 1 => reference(out, found.place, item.number),
            ReferenceKind::Object => object(out, item.content)?,
            place => text(out, place, item.content),
        }
    }
    out.extend_from_slice(value.get(from..)?);
    Some(())
}

fn text(out: &mut Vec<u8>, place: ReferenceKind, text: &[u8]) {
    let length = text.len() as u64;
    match place {
        ReferenceKind::Text if text.len() < tags::SHORT_TEXTS => out.push(tags::SHORT_TEXT + text.len() as u8),
        ReferenceKind::Text => {
            out.push(tags::TEXT);
            varint::write(out, length);
        }
        ReferenceKind::Atom => {
            out.push(tags::ATOM);
            varint::write(out, length);
        }
        ReferenceKind::Name | ReferenceKind::Object => varint::write(out, length << 1 | 1),
    }
    out.extend_from_slice(text);
}

fn object(out: &mut Vec<u8>, definition: &[u8]) -> Option<()> {
    let mut at = 0;
    let head = varint::read(definition, &mut at).ok()?;
    let (kind, count) = ((head & 3) as u8, head >> 2);
    if kind == shape::MAP && (1..=tags::SHORT_MAPS).contains(&count) {
        out.push(tags::SHORT_MAP + count as u8 - 1);
        out.extend_from_slice(definition.get(at..)?);
    } else {
        out.push(tags::OBJECT_IN_PLACE);
        out.extend_from_slice(definition);
    }
    Some(())
}
