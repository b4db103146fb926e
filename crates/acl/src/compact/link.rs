//! Encoder and decoder: the two ends of one direction of a connection. Repeated agents, names and dictionaries are
//! sent as numbers. The value part of a body is never parsed, so a message crosses any number of links without being
//! decoded. The receiver gets the sender's self-contained body, bit for bit.

use std::sync::Arc;

use super::limits::{Limits, LinkLimits};
use super::memory::{Lookup, ReceiverMemory, SenderMemory, hash_of};
use super::reader::Reader;
use super::tags::item;
use super::writer::{Dictionary, Writer, dictionary_tag};
use super::{
    Decode, DecodeError, Encode, EncodeError, EncodedMessage, blobs, head, known, value_in, value_out, varint,
};
use crate::{AclMessage, Aid, Symbol, Text, Value};

/// The sending end of one direction of a connection.
///
/// Its messages must be decoded by one [`Decoder`], all of them, in their order.
pub struct Encoder {
    dictionary: Dictionary,
    scratch: Vec<u8>,
    pub(super) said: LinkSender,
    /// See [`Writer::of_message`].
    packs_bytes: bool,
}

/// Memory of the sending end.
pub(super) struct LinkSender {
    agents: SenderMemory<RememberedAgentKey>,
    items: SenderMemory<ItemKey>,
    /// Marks of texts said once: identifiers of conversations mostly, which are worth remembering if they come again.
    once: Vec<u16>,
}

/// An agent as it is written: its addresses count, which they do not for equality.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct RememberedAgentKey(Symbol, Symbol, usize);

#[derive(PartialEq, Eq, Hash)]
struct ItemKey {
    is_shape: bool,
    bytes: Box<[u8]>,
}

/// Number of marks for texts that were sent once.
const MARKS: usize = 4096;
/// Most items of a typed value that are remembered. A value with more is mostly a list of names, which do not recur;
/// they would evict others that do.
const ITEMS_REMEMBERED_MAX: u32 = 64;
/// Bytes of room for a body that stay for the next one.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

impl LinkSender {
    fn new(limits: LinkLimits) -> Self {
        Self { agents: SenderMemory::new(limits), items: SenderMemory::new(limits), once: Vec::new() }
    }

    /// Writes an agent.
    pub(super) fn agent(&mut self, out: &mut Vec<u8>, agent: Aid) {
        let key = RememberedAgentKey(agent.name, agent.platform, std::ptr::from_ref(agent.contact()) as usize);
        match self.agents.look_up(hash_of(&key), |known| *known == key, || head::agent_bytes(agent), || key) {
            Lookup::Known(number) => return varint::write(out, u64::from(number) << 2 | item::KNOWN),
            Lookup::Remember(number) => varint::write(out, u64::from(number) << 2 | item::REMEMBER),
            Lookup::Untold => {}
        }
        head::agent_in_full(out, agent);
    }

    /// Writes a text of a head; one that may never come again is remembered only the second time.
    pub(super) fn text(&mut self, out: &mut Vec<u8>, text: &str, is_lasting: bool) {
        if let Some(known) = is_lasting.then(|| known::text_number(text)).flatten() {
            varint::write(out, u64::from(known) << 3 | 1 << 2 | item::KNOWN);
        } else if is_lasting || self.was_said_once(text) {
            self.item(out, false, text.as_bytes(), true);
        } else {
            item_in_full(out, false, text.as_bytes());
        }
    }

    fn was_said_once(&mut self, text: &str) -> bool {
        if self.items.is_mute() {
            return false;
        }
        if self.once.is_empty() {
            self.once = vec![0; MARKS];
        }
        let hash = hash_of(&text);
        let mark = (hash >> 48) as u16 | 1;
        let place = self.once.get_mut((hash >> 16) as usize % MARKS);
        place.is_some_and(|place| std::mem::replace(place, mark) == mark)
    }

    /// Writes a text or a shape; one that is not known by a number gets one if it is to be remembered.
    fn item(&mut self, out: &mut Vec<u8>, is_shape: bool, bytes: &[u8], remembers: bool) {
        let key = || ItemKey { is_shape, bytes: bytes.into() };
        let same = |known: &ItemKey| known.is_shape == is_shape && *known.bytes == *bytes;
        let length = || if remembers { bytes.len() } else { usize::MAX };
        match self.items.look_up(hash_of(&(is_shape, bytes)), same, length, key) {
            Lookup::Known(number) => return varint::write(out, u64::from(number) << 3 | item::KNOWN),
            Lookup::Remember(number) => varint::write(out, u64::from(number) << 2 | item::REMEMBER),
            Lookup::Untold => {}
        }
        item_in_full(out, is_shape, bytes);
    }

    /// Writes a body's dictionary, which has these items.
    fn dictionary(&mut self, items: &[u8], remembers: bool, out: &mut Vec<u8>) {
        let mut at = 0;
        while at < items.len() {
            let start = at;
            let Ok(number) = varint::read(items, &mut at) else { return };
            if number & 3 == item::KNOWN {
                out.extend_from_slice(items.get(start..at).unwrap_or_default());
                continue;
            }
            let end = at + (number >> 2) as usize;
            self.item(out, number & 3 == item::STRUCTURE, items.get(at..end).unwrap_or_default(), remembers);
            at = end;
        }
    }
}

fn item_in_full(out: &mut Vec<u8>, is_shape: bool, bytes: &[u8]) {
    varint::write(out, (bytes.len() as u64) << 2 | if is_shape { item::STRUCTURE } else { item::TEXT });
    out.extend_from_slice(bytes);
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new(LinkLimits::DEFAULT)
    }
}

impl Encoder {
    /// Returns an end that has said nothing. The other end must have the same limits.
    pub fn new(limits: LinkLimits) -> Self {
        Self {
            dictionary: Dictionary::default(),
            scratch: Vec::new(),
            said: LinkSender::new(limits),
            packs_bytes: false,
        }
    }

    /// Creates an encoder for one message that is a document by itself, without a link.
    pub(super) fn alone() -> Self {
        Self { packs_bytes: true, ..Self::new(LinkLimits::NONE) }
    }

    /// Forgets all items: for a new connection, whose other end starts anew, too.
    pub fn reset(&mut self) {
        self.said = LinkSender::new(self.said.items.limits());
    }

    /// Appends `message`. Where it ends is for the link's frames to say.
    ///
    /// # Errors
    /// The content is nested too deeply; nothing was written then, and nothing remembered.
    pub fn encode_message(&mut self, message: &AclMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode(Some(message), &message.content, out)
    }

    /// Appends only the content of a message, for [`Decoder::decode_content`] at an end that knows the head.
    ///
    /// # Errors
    /// As [`Encoder::encode_message`].
    pub fn encode_content(&mut self, content: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode(None, content, out)
    }

    fn encode(&mut self, head: Option<&AclMessage>, content: &Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let (Value::Bytes(bytes), false) = (content, self.packs_bytes) {
            self.head(head, out);
            blobs::write_plain(out, bytes);
            return Ok(());
        }
        if let Value::Str(_) | Value::Bytes(_) | Value::Atom(_) | Value::Null = content {
            // Nothing can go wrong, and there is no dictionary.
            self.head(head, out);
            value_out::value(&mut Writer::of_message(out, &mut self.dictionary, self.packs_bytes), content);
            return Ok(());
        }
        let mut body = std::mem::take(&mut self.scratch);
        body.clear();
        let mut writer = Writer::of_message(&mut body, &mut self.dictionary, self.packs_bytes);
        value_out::value(&mut writer, content);
        let written = writer.finish().map(drop);
        if written.is_ok() {
            self.head(head, out);
            self.body(&body, u32::MAX, out);
        }
        self.keep_room(body);
        written
    }

    fn head(&mut self, of: Option<&AclMessage>, out: &mut Vec<u8>) {
        if let Some(message) = of {
            head::write(out, message, &mut self.said);
        }
    }

    /// Keeps room for the next body, unless this one was uncommonly long.
    fn keep_room(&mut self, mut body: Vec<u8>) {
        if body.capacity() > SCRATCH_BYTES_KEPT {
            body.clear();
            body.shrink_to(SCRATCH_BYTES_KEPT);
        }
        self.scratch = body;
        self.dictionary.keep_room(SCRATCH_BYTES_KEPT);
    }

    /// Appends a typed value, as a body. The frames of the link mark its end.
    ///
    /// # Errors
    /// The value nests too deeply, or takes more than `bytes_max` bytes when written whole. Then nothing was written,
    /// and nothing remembered.
    pub fn encode_body_of<T: Encode>(
        &mut self,
        thing: &T,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut body = std::mem::take(&mut self.scratch);
        body.clear();
        let mut writer = Writer::of_message(&mut body, &mut self.dictionary, self.packs_bytes);
        thing.encode(&mut writer);
        let bytes = writer.bytes();
        let written = match writer.finish() {
            Ok(_) if bytes > bytes_max => Err(EncodeError::TooLong { bytes, bytes_max }),
            finished => finished.map(drop),
        };
        if written.is_ok() {
            self.body(&body, ITEMS_REMEMBERED_MAX, out);
        }
        self.keep_room(body);
        written
    }

    /// Appends a value after its dictionary; the dictionary is remembered if it has at most `items_max` items.
    fn body(&mut self, value: &[u8], items_max: u32, out: &mut Vec<u8>) {
        let (count, items) = self.dictionary.items();
        if count > 0 {
            dictionary_tag(out, count);
            self.said.dictionary(items, count <= items_max, out);
        }
        out.extend_from_slice(value);
    }

    /// Appends a message whose content is encoded already, without decoding it.
    ///
    /// # Errors
    /// The body's dictionary is malformed.
    pub fn encode_sealed(&mut self, message: &EncodedMessage, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let body = &message.body;
        let Some((count, items, value)) = split_body(body)? else {
            head::write(out, &message.head, &mut self.said);
            out.extend_from_slice(body);
            return Ok(());
        };
        head::write(out, &message.head, &mut self.said);
        dictionary_tag(out, count);
        self.said.dictionary(items, true, out);
        out.extend_from_slice(value);
        Ok(())
    }
}

/// Count of a dictionary, its items, and the bytes after it.
type SplitBody<'a> = (u32, &'a [u8], &'a [u8]);

/// Returns the count and the items of a self-contained body's dictionary, and its value; `None` if it has no
/// dictionary.
fn split_body(body: &[u8]) -> Result<Option<SplitBody<'_>>, DecodeError> {
    let mut reader = Reader::bare(body, Limits::DEFAULT);
    let Some(count) = reader.dictionary_count()? else { return Ok(None) };
    let start = reader.at();
    for _ in 0..count {
        let at = reader.at();
        let number = reader.number()?;
        match number & 3 {
            item::TEXT | item::STRUCTURE => {
                reader.take(usize::try_from(number >> 2).unwrap_or(usize::MAX))?;
            }
            item::KNOWN if number & 4 != 0 => {}
            _ => return Err(DecodeError::Malformed { at, what: "an item that only a link has" }),
        }
    }
    let items = body.get(start..reader.at()).unwrap_or_default();
    let count = u32::try_from(count).map_err(|_| DecodeError::Truncated { at: start })?;
    Ok(Some((count, items, body.get(reader.at()..).unwrap_or_default())))
}

/// The receiving end of one direction of a connection.
pub struct Decoder {
    limits: Limits,
    link_limits: LinkLimits,
    pub(super) heard: LinkReceiver,
}

/// Memory of the receiving end.
pub(super) struct LinkReceiver {
    agents: ReceiverMemory<Aid>,
    items: ReceiverMemory<ReceivedItem>,
}

/// A text or a shape, told now or before.
#[derive(Clone)]
enum ReceivedItem {
    Text(Text, Option<Symbol>),
    Shape(Arc<[u8]>),
    Known(u32),
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(Limits::MESSAGE, LinkLimits::DEFAULT)
    }
}

impl LinkReceiver {
    fn new(limits: LinkLimits) -> Self {
        Self { agents: ReceiverMemory::new(limits), items: ReceiverMemory::new(limits) }
    }

    /// Reads an agent.
    pub(super) fn agent(&mut self, r: &mut Reader<'_>) -> Result<Aid, DecodeError> {
        let at = r.at();
        let number = r.number()?;
        match number & 3 {
            item::KNOWN => self.agents.recall(number >> 2, at).copied(),
            item::REMEMBER => {
                let inner = r.number()?;
                let agent = head::agent_of(r, inner)?;
                self.agents.remember(number >> 2, agent, head::agent_bytes(agent), at)?;
                Ok(agent)
            }
            _ => head::agent_of(r, number),
        }
    }

    /// Reads a text of a head.
    pub(super) fn text(&mut self, r: &mut Reader<'_>) -> Result<Text, DecodeError> {
        let at = r.at();
        let number = r.number()?;
        match (number & 3, number & 4) {
            (item::KNOWN, 0) => match self.items.recall(number >> 3, at)? {
                ReceivedItem::Text(text, _) => Ok(text.clone()),
                _ => Err(DecodeError::Malformed { at, what: "a shape in a text's place" }),
            },
            (item::TEXT, _) => head::text_of(r, number),
            _ => match self.item_of(r, number, at)? {
                ReceivedItem::Text(text, _) => Ok(text),
                ReceivedItem::Known(known) => head::known_text(known, at),
                ReceivedItem::Shape(_) => Err(DecodeError::Malformed { at, what: "a shape in a text's place" }),
            },
        }
    }

    /// Reads a name of a head.
    pub(super) fn symbol(&mut self, r: &mut Reader<'_>) -> Result<Symbol, DecodeError> {
        let at = r.at();
        let number = r.number()?;
        if number & 7 == item::KNOWN
            && let ReceivedItem::Text(text, symbol) = self.items.recall(number >> 3, at)?
        {
            return Ok(*symbol.get_or_insert_with(|| Symbol::new(text)));
        }
        match self.item_of(r, number, at)? {
            ReceivedItem::Text(text, _) => Ok(Symbol::new(&text)),
            ReceivedItem::Known(known) => head::known_text(known, at).map(|text| Symbol::new(&text)),
            ReceivedItem::Shape(_) => Err(DecodeError::Malformed { at, what: "a shape in a name's place" }),
        }
    }

    /// Reads the rest of an item that began with this number.
    fn item_of(&mut self, r: &mut Reader<'_>, number: u64, at: usize) -> Result<ReceivedItem, DecodeError> {
        let length = usize::try_from(number >> 2).unwrap_or(usize::MAX);
        match number & 3 {
            item::KNOWN if number & 4 != 0 => {
                let known = u32::try_from(number >> 3).unwrap_or(u32::MAX);
                head::known_text(known, at).map(|_| ReceivedItem::Known(known))
            }
            item::KNOWN => self.items.recall(number >> 3, at).cloned(),
            item::TEXT => head::text_of(r, number).map(|text| ReceivedItem::Text(text, None)),
            item::STRUCTURE => r.take(length).map(|bytes| ReceivedItem::Shape(bytes.into())),
            _ => {
                let inner = r.number()?;
                if !matches!(inner & 3, item::TEXT | item::STRUCTURE) {
                    return Err(DecodeError::Malformed { at, what: "to remember what is known" });
                }
                let told = self.item_of(r, inner, at)?;
                let bytes = match &told {
                    ReceivedItem::Text(text, _) => text.len(),
                    ReceivedItem::Shape(bytes) => bytes.len(),
                    ReceivedItem::Known(_) => 0,
                };
                self.items.remember(number >> 2, told.clone(), bytes, at)?;
                Ok(told)
            }
        }
    }

    /// Reads the dictionary of a body, if it has one.
    fn dictionary(&mut self, r: &mut Reader<'_>) -> Result<Vec<ReceivedItem>, DecodeError> {
        let Some(count) = r.dictionary_count()? else { return Ok(Vec::new()) };
        let mut items = Vec::with_capacity((count as usize).min(r.remaining()).min(64));
        for _ in 0..count {
            let at = r.at();
            let number = r.number()?;
            let item = self.item_of(r, number, at)?;
            r.charge(size_of::<ReceivedItem>())?;
            items.push(item);
        }
        Ok(items)
    }
}

impl Decoder {
    /// Returns an end that has heard nothing. The other end must have the same link limits.
    pub fn new(limits: Limits, link_limits: LinkLimits) -> Self {
        Self { limits, link_limits, heard: LinkReceiver::new(link_limits) }
    }

    /// Forgets all items: for a new connection, whose other end starts anew, too.
    pub fn reset(&mut self) {
        self.heard = LinkReceiver::new(self.link_limits);
    }

    /// Decodes a whole message of an [`Encoder`].
    ///
    /// # Errors
    /// The other end cannot have made these bytes. The memories of the two ends may then differ: end the connection.
    pub fn decode_message(&mut self, bytes: &[u8]) -> Result<AclMessage, DecodeError> {
        let mut r = Reader::bare(bytes, self.limits);
        let mut message = head::read(&mut r, &mut self.heard)?;
        message.content = self.content(r)?;
        Ok(message)
    }

    /// Decodes the whole output of [`Encoder::encode_content`].
    ///
    /// # Errors
    /// As [`Decoder::decode_message`].
    pub fn decode_content(&mut self, bytes: &[u8]) -> Result<Value, DecodeError> {
        match blobs::read_plain(bytes, self.limits.budget_bytes.saturating_sub(value_in::COMPOUND_BYTES)) {
            Some(plain) => Ok(Value::from(plain)),
            None => self.content(Reader::bare(bytes, self.limits)),
        }
    }

    /// Reads a content, which is the rest.
    fn content(&mut self, r: Reader<'_>) -> Result<Value, DecodeError> {
        // The copy may refer to items that do not live as long as the bytes.
        let mut r = r;
        let items = self.heard.dictionary(&mut r)?;
        refer_to(&items, &mut r)?;
        let content = value_in::value(&mut r)?;
        r.end()?;
        Ok(content)
    }

    /// Decodes the whole output of [`Encoder::encode_body_of`].
    ///
    /// # Errors
    /// As [`Decoder::decode_message`], or the value is not of this type.
    pub fn decode_body_as<T: Decode>(&mut self, bytes: &[u8]) -> Result<T, DecodeError> {
        let mut r = Reader::bare(bytes, self.limits);
        let items = self.heard.dictionary(&mut r)?;
        refer_to(&items, &mut r)?;
        let thing = T::decode(&mut r)?;
        r.end()?;
        Ok(thing)
    }

    /// Decodes a message's head and leaves its content encoded, as the sender had it.
    ///
    /// # Errors
    /// As [`Decoder::decode_message`], but faults within the content show only when it is decoded.
    pub fn decode_sealed(&mut self, bytes: &[u8]) -> Result<EncodedMessage, DecodeError> {
        let mut r = Reader::bare(bytes, self.limits);
        let head = head::read(&mut r, &mut self.heard)?;
        let items = self.heard.dictionary(&mut r)?;
        let value = bytes.get(r.at()..).unwrap_or_default();
        let expanded: usize = items.iter().map(ReceivedItem::bytes_max).sum();
        r.charge(expanded.saturating_add(value.len()))?;
        let mut body = Vec::with_capacity(expanded + value.len() + 10);
        if !items.is_empty() {
            dictionary_tag(&mut body, items.len() as u32);
            items.iter().for_each(|item| item.write(&mut body));
        }
        body.extend_from_slice(value);
        Ok(EncodedMessage { head, body: body.into() })
    }
}

/// Adds the items of a dictionary to the reader, for references.
fn refer_to<'a>(items: &'a [ReceivedItem], r: &mut Reader<'a>) -> Result<(), DecodeError> {
    items.iter().try_for_each(|item| match item {
        ReceivedItem::Text(text, symbol) => r.add_told(text, *symbol),
        ReceivedItem::Known(known) => r.add_known(*known),
        ReceivedItem::Shape(bytes) => r.add_shape(bytes),
    })
}

impl ReceivedItem {
    fn bytes_max(&self) -> usize {
        match self {
            Self::Text(text, _) => text.len() + 9,
            Self::Shape(bytes) => bytes.len() + 9,
            Self::Known(_) => 9,
        }
    }

    /// Writes the item as in a self-contained body.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text, _) => item_in_full(out, false, text.as_bytes()),
            Self::Shape(bytes) => item_in_full(out, true, bytes),
            Self::Known(known) => varint::write(out, u64::from(*known) << 3 | 1 << 2 | item::KNOWN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize, from: usize) -> Vec<Symbol> {
        (from..from + count).map(|number| Symbol::new(&format!("agent-with-a-long-name-{number}"))).collect()
    }

    /// Bytes that these take, read back by the other end.
    fn said(ends: &mut (Encoder, Decoder), names: &[Symbol]) -> usize {
        let mut out = Vec::new();
        ends.0.encode_body_of(&names.to_vec(), usize::MAX, &mut out).unwrap();
        assert_eq!(ends.1.decode_body_as::<Vec<Symbol>>(&out).as_deref(), Ok(names));
        out.len()
    }

    #[test]
    fn contents_share_the_links_memory() {
        let mut ends = (Encoder::default(), Decoder::default());
        let list = || Value::list([Value::from("a text of some length"), Value::atom("atom")]);
        let message = AclMessage::new(crate::Performative::Inform, Aid::local("amy"), Aid::local("bob"), list());
        let mut out = Vec::new();
        ends.0.encode_message(&message, &mut out).unwrap();
        assert_eq!(ends.1.decode_message(&out), Ok(message));
        let text = Value::from("a text of some length");
        for content in [Value::Null, text, Value::from(vec![7; 3]), Value::from(vec![7; 3_000]), list()] {
            out.clear();
            ends.0.encode_content(&content, &mut out).unwrap();
            for cut in 0..out.len() {
                assert!(Decoder::default().decode_content(&out[..cut]).is_err(), "{cut} of {out:?}");
            }
            let mut longer = out.clone();
            longer.push(0);
            assert!(ends.1.decode_content(&longer).is_err());
            assert_eq!(ends.1.decode_content(&out), Ok(content));
        }
        assert!(out.len() < 10, "its texts were said before: {out:?}");
        let small = Limits::MESSAGE.with_budget_bytes(1_000);
        let mut bytes = Vec::new();
        ends.0.encode_content(&Value::from(vec![7; 3_000]), &mut bytes).unwrap();
        assert!(Decoder::new(small, LinkLimits::DEFAULT).decode_content(&bytes).is_err());
    }

    #[test]
    fn long_list_evicts_no_frequent_names() {
        let mut ends = (Encoder::default(), Decoder::default());
        let often = names(3, 0);
        let first = said(&mut ends, &often);
        let again = said(&mut ends, &often);
        assert!(again * 4 < first, "{again} of {first}");
        for round in 1..5 {
            said(&mut ends, &names(4_096, round * 10_000));
        }
        assert_eq!(said(&mut ends, &often), again);
    }

    #[test]
    fn room_of_long_body_is_freed() {
        let mut ends = (Encoder::default(), Decoder::default());
        said(&mut ends, &names(50_000, 0));
        let Encoder { scratch, dictionary, .. } = &ends.0;
        assert!(scratch.capacity() <= SCRATCH_BYTES_KEPT, "{}", scratch.capacity());
        assert!(dictionary.room() <= SCRATCH_BYTES_KEPT, "{}", dictionary.room());
        let mut out = Vec::new();
        let content = Value::list((0..100_000u32).map(|n| Value::Num(f64::from(n.wrapping_mul(2_654_435_761)).sqrt())));
        let message = AclMessage::new(crate::Performative::Inform, Aid::local("amy"), Aid::local("bob"), content);
        ends.0.encode_message(&message, &mut out).unwrap();
        assert!(out.len() > SCRATCH_BYTES_KEPT && ends.0.scratch.capacity() <= SCRATCH_BYTES_KEPT);
    }
}
