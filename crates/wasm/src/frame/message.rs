//! Messages, and templates of messages.

use whimbrel_acl::{AclMessage, Aid, Extras, Performative, Symbol, Template, Value};
use whimbrel_platform::limits::{GUEST_TEMPLATE_BYTES_MAX, GUEST_TEMPLATE_PARTS_MAX};
use whimbrel_platform::topics::Cast;

use super::read::{GuestFrameError, GuestFrameReader};
use super::value::{TooDeep, length, read_value, write_value};
use super::{act, field};

/// Writer of messages for guests, one after another into the same buffer. Consecutive messages mostly have the same
/// sender and receiver, so the writer keeps this head.
#[derive(Default)]
pub struct GuestFrameWriter {
    frame: Vec<u8>,
    /// Head of the frame, and its length.
    head: Option<(Performative, Aid, Aid, Symbol)>,
    head_bytes: usize,
}

impl GuestFrameWriter {
    /// Encodes `message`, with its fields in the order of their numbers. Names of agents are written with their
    /// platform, by default `platform`.
    ///
    /// # Errors
    /// The content nests too deeply for guests.
    pub fn write(&mut self, message: &AclMessage, platform: Symbol) -> Result<&[u8], TooDeep> {
        let head = match message.receivers.as_slice() {
            [receiver] => Some((message.performative, message.sender, *receiver, platform)),
            _ => None,
        };
        if head.is_none() || head != self.head {
            self.frame.clear();
            write_head(message, platform, &mut self.frame);
            (self.head, self.head_bytes) = (head, self.frame.len());
        }
        self.frame.truncate(self.head_bytes);
        write_rest(message, platform, &mut self.frame)?;
        Ok(&self.frame)
    }
}

/// Appends `message` to `out`; see [`GuestFrameWriter::write`].
///
/// # Errors
/// The content nests too deeply for guests; then `out` has a part of the frame.
pub fn write_message(message: &AclMessage, platform: Symbol, out: &mut Vec<u8>) -> Result<(), TooDeep> {
    write_head(message, platform, out);
    write_rest(message, platform, out)
}

fn write_head(message: &AclMessage, platform: Symbol, out: &mut Vec<u8>) {
    out.push(number_of(message.performative));
    agent(field::SENDER, message.sender, platform, out);
    message.receivers.iter().for_each(|receiver| agent(field::RECEIVER, *receiver, platform, out));
}

fn write_rest(message: &AclMessage, platform: Symbol, out: &mut Vec<u8>) -> Result<(), TooDeep> {
    if !matches!(message.content, Value::Null) {
        put(field::CONTENT, out, |out| write_value(&message.content, out))?;
    }
    if message.extras.is_some() {
        write_extras(message.extras(), platform, out);
    }
    if let Performative::Other(name) = message.performative {
        text(field::PERFORMATIVE, name.as_str(), out);
    }
    for (name, value) in &message.extras().user {
        put(field::USER, out, |out| {
            length(name.as_str().len(), out);
            out.extend_from_slice(name.as_str().as_bytes());
            write_value(value, out)
        })?;
    }
    Ok(())
}

fn write_extras(extras: &Extras, platform: Symbol, out: &mut Vec<u8>) {
    let name = |name: Option<Symbol>| name.map(Symbol::as_str);
    let texts = [
        (field::CONVERSATION_ID, extras.conversation_id.as_deref()),
        (field::REPLY_WITH, extras.reply_with.as_deref()),
        (field::IN_REPLY_TO, extras.in_reply_to.as_deref()),
        (field::ONTOLOGY, name(extras.ontology)),
        (field::LANGUAGE, name(extras.language)),
        (field::PROTOCOL, name(extras.protocol)),
        (field::ENCODING, name(extras.encoding)),
    ];
    for (number, value) in texts {
        if let Some(value) = value {
            text(number, value, out);
        }
    }
    if let Some(reply_by) = extras.reply_by_ms {
        out.push(field::REPLY_BY);
        length(size_of_val(&reply_by), out);
        out.extend_from_slice(&reply_by.to_le_bytes());
    }
    extras.reply_to.iter().for_each(|other| agent(field::REPLY_TO, *other, platform, out));
}

/// Returns the performative's number in FIPA00037, or [`act::NAMED`] if it has none.
fn number_of(performative: Performative) -> u8 {
    Performative::FIPA.iter().position(|one| *one == performative).map_or(act::NAMED, |index| index as u8)
}

/// Writes a field, and then its length in front.
fn put(number: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), TooDeep>) -> Result<(), TooDeep> {
    out.push(number);
    let counted = out.len();
    length(0, out);
    write(out)?;
    let written = (out.len() - counted - 4) as u32;
    if let Some(place) = out.get_mut(counted..counted + 4) {
        place.copy_from_slice(&written.to_le_bytes());
    }
    Ok(())
}

fn text(number: u8, text: &str, out: &mut Vec<u8>) {
    out.push(number);
    length(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

fn agent(number: u8, aid: Aid, platform: Symbol, out: &mut Vec<u8>) {
    let (name, said) = (aid.name.as_str(), aid.platform.as_str());
    if said.is_empty() && Cast::of(aid.name).is_some() {
        // Topics and groups belong to no platform.
        return text(number, name, out);
    }
    let platform = if said.is_empty() { platform.as_str() } else { said };
    out.push(number);
    length(name.len() + 1 + platform.len(), out);
    out.extend_from_slice(name.as_bytes());
    out.push(b'@');
    out.extend_from_slice(platform.as_bytes());
}

/// Decodes a message of a guest. Its sender is `sender`, whatever the guest wrote.
///
/// # Errors
/// The bytes are no message, or the message has no receiver.
pub fn read_message(bytes: &[u8], sender: Aid) -> Result<AclMessage, GuestFrameError> {
    let mut reader = GuestFrameReader::new(bytes);
    let number = reader.byte()?;
    let performative = Performative::FIPA.get(usize::from(number)).copied();
    let mut message = AclMessage {
        performative: performative.unwrap_or(Performative::Inform),
        sender,
        receivers: Default::default(),
        content: Value::Null,
        extras: None,
    };
    let mut is_known = performative.is_some();
    while !reader.is_done() {
        let number = reader.byte()?;
        let at = reader.bytes()?;
        if number == field::PERFORMATIVE {
            message.performative = Performative::named(Symbol::new(utf8(at, &reader)?));
            is_known = true;
        } else {
            read_field(number, at, &reader, &mut message)?;
        }
    }
    if !is_known {
        Err(GuestFrameError { what: "invalid number of a performative", at: 0 })
    } else if message.receivers.is_empty() {
        Err(reader.error("message without a receiver"))
    } else {
        Ok(message)
    }
}

fn read_field(
    number: u8,
    bytes: &[u8],
    reader: &GuestFrameReader<'_>,
    message: &mut AclMessage,
) -> Result<(), GuestFrameError> {
    match number {
        // The sender is known, whatever the guest wrote.
        field::SENDER => {}
        field::RECEIVER => message.receivers.push(aid(bytes, reader)?),
        field::CONTENT => message.content = read_value(bytes)?,
        field::REPLY_TO => message.extras_mut().reply_to.push(aid(bytes, reader)?),
        field::CONVERSATION_ID => message.extras_mut().conversation_id = Some(utf8(bytes, reader)?.into()),
        field::REPLY_WITH => message.extras_mut().reply_with = Some(utf8(bytes, reader)?.into()),
        field::IN_REPLY_TO => message.extras_mut().in_reply_to = Some(utf8(bytes, reader)?.into()),
        field::ONTOLOGY => message.extras_mut().ontology = Some(Symbol::new(utf8(bytes, reader)?)),
        field::LANGUAGE => message.extras_mut().language = Some(Symbol::new(utf8(bytes, reader)?)),
        field::PROTOCOL => message.extras_mut().protocol = Some(Symbol::new(utf8(bytes, reader)?)),
        field::ENCODING => message.extras_mut().encoding = Some(Symbol::new(utf8(bytes, reader)?)),
        field::REPLY_BY => {
            let bytes = bytes.try_into().map_err(|_| reader.error("reply-by is not eight bytes long"))?;
            message.extras_mut().reply_by_ms = Some(u64::from_le_bytes(bytes));
        }
        field::USER => {
            let mut parts = GuestFrameReader::new(bytes);
            let name = Symbol::new(parts.text()?);
            let value = read_value(parts.take(parts.left())?)?;
            message.extras_mut().user.push((name, value));
        }
        _ => return Err(reader.error("unknown field in a message")),
    }
    Ok(())
}

fn utf8<'a>(bytes: &'a [u8], reader: &GuestFrameReader<'_>) -> Result<&'a str, GuestFrameError> {
    super::read::utf8(bytes).map_err(|what| reader.error(what))
}

fn aid(bytes: &[u8], reader: &GuestFrameReader<'_>) -> Result<Aid, GuestFrameError> {
    let name = utf8(bytes, reader)?;
    match name.split_once('@') {
        None if !name.is_empty() => Ok(Aid::local(name)),
        Some((local, platform)) if !local.is_empty() && !platform.is_empty() => Ok(Aid::new(local, platform)),
        _ => Err(reader.error("no agent's name")),
    }
}

/// Decodes a template of a guest; an empty one matches every message.
///
/// # Errors
/// The bytes are no template, or exceed [`GUEST_TEMPLATE_BYTES_MAX`] or [`GUEST_TEMPLATE_PARTS_MAX`].
pub fn read_template(bytes: &[u8]) -> Result<Template, GuestFrameError> {
    if bytes.is_empty() {
        return Ok(Template::Any);
    }
    let mut reader = GuestFrameReader::new(bytes);
    if bytes.len() > GUEST_TEMPLATE_BYTES_MAX {
        return Err(reader.error("template too long"));
    }
    let mut parts = 0;
    let number = reader.byte()?;
    let mut template = match Performative::FIPA.get(usize::from(number)) {
        Some(performative) => Template::Performative(*performative),
        None if number >= act::NAMED => Template::Any,
        None => return Err(GuestFrameError { what: "invalid number of a performative", at: 0 }),
    };
    while !reader.is_done() {
        let number = reader.byte()?;
        let bytes = reader.bytes()?;
        parts += 1;
        if parts > GUEST_TEMPLATE_PARTS_MAX {
            return Err(reader.error("template with too many parts"));
        }
        let part = read_part(number, bytes, &reader)?;
        template = if template == Template::Any { part } else { template & part };
    }
    Ok(template)
}

fn read_part(number: u8, bytes: &[u8], reader: &GuestFrameReader<'_>) -> Result<Template, GuestFrameError> {
    let name = || utf8(bytes, reader).map(Symbol::new);
    Ok(match number {
        field::PERFORMATIVE => Template::Performative(Performative::named(name()?)),
        field::SENDER => Template::Sender(aid(bytes, reader)?),
        field::RECEIVER => Template::Receiver(aid(bytes, reader)?),
        field::CONVERSATION_ID => Template::conversation(utf8(bytes, reader)?),
        field::IN_REPLY_TO => Template::in_reply_to(utf8(bytes, reader)?),
        field::ONTOLOGY => Template::Ontology(name()?),
        field::LANGUAGE => Template::Language(name()?),
        field::PROTOCOL => Template::Protocol(name()?),
        _ => return Err(reader.error("unknown field in a template")),
    })
}
