//! Head of a message: sender, receivers, and every ACL parameter but the content.
//!
//! ```text
//! +--------+---------+-----------------+-----------------------+------------+-------------------+
//! | act    | [name]  | sender          | receiver | n receiver*| [mask]     | parameters by mask|
//! +--------+---------+-----------------+-----------------------+------------+-------------------+
//!  bits 0-5: performative; 6: not exactly one receiver; 7: there is a mask
//! ```

use smallvec::SmallVec;

use super::link::{LinkReceiver, LinkSender};
use super::reader::Reader;
use super::tags::item;
use super::{DecodeError, known, value_in, varint};
use crate::{AclMessage, Aid, Contact, Extras, Performative, Symbol, Text, Value};

/// Performatives outside FIPA00037 that have a code, after FIPA's own: KQML's, as AgentSpeak uses them.
const KQML: [&str; 10] =
    ["tell", "untell", "achieve", "unachieve", "askOne", "askAll", "askHow", "tellHow", "untellHow", "signal"];
/// Any other performative: its name follows.
const NAMED: u8 = 0x3F;
const ACT: u8 = 0x3F;
const RECEIVERS: u8 = 0x40;
const MASK: u8 = 0x80;

/// Bits of the mask. The first seven cost one byte.
const CONVERSATION_ID: u64 = 1;
const PROTOCOL: u64 = 1 << 1;
const REPLY_WITH: u64 = 1 << 2;
const IN_REPLY_TO: u64 = 1 << 3;
const ONTOLOGY: u64 = 1 << 4;
const LANGUAGE: u64 = 1 << 5;
const REPLY_BY: u64 = 1 << 6;
const REPLY_TO: u64 = 1 << 7;
const ENCODING: u64 = 1 << 8;
const USER: u64 = 1 << 9;

/// Levels to which resolvers may have resolvers.
const RESOLVER_LEVELS: u32 = 4;

/// Most memory of an agent identifier, besides its bytes.
const AGENT_BYTES: usize = 64;

fn mask_of(extras: &Extras) -> u64 {
    let bit = |set: bool, bit: u64| if set { bit } else { 0 };
    bit(extras.conversation_id.is_some(), CONVERSATION_ID)
        | bit(extras.protocol.is_some(), PROTOCOL)
        | bit(extras.reply_with.is_some(), REPLY_WITH)
        | bit(extras.in_reply_to.is_some(), IN_REPLY_TO)
        | bit(extras.ontology.is_some(), ONTOLOGY)
        | bit(extras.language.is_some(), LANGUAGE)
        | bit(extras.reply_by_ms.is_some(), REPLY_BY)
        | bit(!extras.reply_to.is_empty(), REPLY_TO)
        | bit(extras.encoding.is_some(), ENCODING)
        | bit(!extras.user.is_empty(), USER)
}

/// Appends the head of `message`.
pub(super) fn write(out: &mut Vec<u8>, message: &AclMessage, said: &mut LinkSender) {
    let mask = message.extras.as_ref().map_or(0, |extras| mask_of(extras));
    let (code, name) = act_code(message.performative);
    let one = matches!(message.receivers.as_slice(), [_]);
    out.push(code | if one { 0 } else { RECEIVERS } | if mask == 0 { 0 } else { MASK });
    if let Some(name) = name {
        said.text(out, name, true);
    }
    said.agent(out, message.sender);
    if !one {
        varint::write(out, message.receivers.len() as u64);
    }
    message.receivers.iter().for_each(|receiver| said.agent(out, *receiver));
    if mask != 0 {
        varint::write(out, mask);
        write_extras(out, message.extras(), said);
    }
}

fn act_code(performative: Performative) -> (u8, Option<&'static str>) {
    let Performative::Other(name) = performative else {
        let place = Performative::FIPA.iter().position(|other| *other == performative);
        return (place.unwrap_or_default() as u8, None);
    };
    match KQML.iter().position(|other| *other == name.as_str()) {
        Some(place) => ((Performative::FIPA.len() + place) as u8, None),
        None => (NAMED, Some(name.as_str())),
    }
}

fn write_extras(out: &mut Vec<u8>, extras: &Extras, said: &mut LinkSender) {
    for id in [&extras.conversation_id, &extras.reply_with, &extras.in_reply_to].into_iter().flatten() {
        said.text(out, id, false);
    }
    for name in [extras.protocol, extras.ontology, extras.language, extras.encoding].into_iter().flatten() {
        said.text(out, name.as_str(), true);
    }
    if let Some(reply_by_ms) = extras.reply_by_ms {
        varint::write(out, reply_by_ms);
    }
    if !extras.reply_to.is_empty() {
        varint::write(out, extras.reply_to.len() as u64);
        extras.reply_to.iter().for_each(|agent| said.agent(out, *agent));
    }
    if !extras.user.is_empty() {
        varint::write(out, extras.user.len() as u64);
        for (name, value) in &extras.user {
            said.text(out, name.as_str(), true);
            write_user_value(out, value);
        }
    }
}

/// Writes a length and a body of its own, so that a node can forward the message without reading the value.
fn write_user_value(out: &mut Vec<u8>, value: &Value) {
    let mut body = Vec::new();
    if super::encode_body(value, &mut body).is_err() {
        body = vec![super::tags::NULL];
    }
    varint::write(out, body.len() as u64);
    out.extend_from_slice(&body);
}

/// Reads a head; the content is null.
pub(super) fn read(r: &mut Reader<'_>, heard: &mut LinkReceiver) -> Result<AclMessage, DecodeError> {
    let act = r.byte()?;
    let performative = match usize::from(act & ACT) {
        code if code < Performative::FIPA.len() => Performative::FIPA.get(code).copied(),
        code if act & ACT != NAMED => {
            KQML.get(code - Performative::FIPA.len()).map(|name| Performative::Other(Symbol::new(name)))
        }
        _ => Some(Performative::named(heard.symbol(r)?)),
    };
    let performative = performative.ok_or_else(|| r.malformed("an unknown performative"))?;
    let sender = heard.agent(r)?;
    let receivers = if act & RECEIVERS == 0 { SmallVec::from_buf([heard.agent(r)?]) } else { agents(r, heard)? };
    let extras = if act & MASK == 0 { None } else { Some(Box::new(read_extras(r, heard)?)) };
    Ok(AclMessage { performative, sender, receivers, content: Value::Null, extras })
}

fn agents(r: &mut Reader<'_>, heard: &mut LinkReceiver) -> Result<SmallVec<[Aid; 1]>, DecodeError> {
    let count = r.count_of_bytes(1)?;
    r.charge(count * AGENT_BYTES)?;
    (0..count).map(|_| heard.agent(r)).collect()
}

fn read_extras(r: &mut Reader<'_>, heard: &mut LinkReceiver) -> Result<Extras, DecodeError> {
    let mask = r.number()?;
    if mask == 0 || mask >= USER << 1 {
        return Err(r.malformed("parameters nobody knows"));
    }
    let has = |bit: u64| mask & bit != 0;
    let mut extras = Extras::default();
    for (bit, id) in [
        (CONVERSATION_ID, &mut extras.conversation_id),
        (REPLY_WITH, &mut extras.reply_with),
        (IN_REPLY_TO, &mut extras.in_reply_to),
    ] {
        if has(bit) {
            *id = Some(heard.text(r)?);
        }
    }
    for (bit, name) in [
        (PROTOCOL, &mut extras.protocol),
        (ONTOLOGY, &mut extras.ontology),
        (LANGUAGE, &mut extras.language),
        (ENCODING, &mut extras.encoding),
    ] {
        if has(bit) {
            *name = Some(heard.symbol(r)?);
        }
    }
    if has(REPLY_BY) {
        extras.reply_by_ms = Some(r.number()?);
    }
    if has(REPLY_TO) {
        extras.reply_to = agents(r, heard)?;
    }
    if has(USER) {
        extras.user = read_user(r, heard)?;
    }
    Ok(extras)
}

fn read_user(r: &mut Reader<'_>, heard: &mut LinkReceiver) -> Result<Vec<(Symbol, Value)>, DecodeError> {
    let count = r.count_of_bytes(2)?;
    r.charge(count * size_of::<(Symbol, Value)>())?;
    let mut user = Vec::with_capacity(count);
    for _ in 0..count {
        user.push((heard.symbol(r)?, read_user_value(r)?));
    }
    Ok(user)
}

fn read_user_value(r: &mut Reader<'_>) -> Result<Value, DecodeError> {
    let length = r.count_of_bytes(1)?;
    let body = r.take(length)?;
    let mut inner = Reader::new(body, r.limits_left())?;
    let value = value_in::value(&mut inner)?;
    inner.end()?;
    r.charge(inner.spent_bytes())?;
    Ok(value)
}

/// Returns roughly the bytes that an agent takes when it is written in full; the same at both ends of a link.
pub(super) fn agent_bytes(agent: Aid) -> usize {
    let contact = agent.contact();
    let own = agent.name.as_str().len() + agent.platform.as_str().len() + AGENT_BYTES;
    let addresses: usize = contact.addresses.iter().map(|address| address.len() + AGENT_BYTES).sum();
    let mut parameters = Vec::new();
    user_parts(&mut parameters, &contact.user);
    own + addresses + contact.resolvers.len() * AGENT_BYTES + parameters.len()
}

/// Writes an agent in full, without the memory of the link.
pub(super) fn agent_in_full(out: &mut Vec<u8>, agent: Aid) {
    let (name, platform) = (agent.name.as_str(), agent.platform.as_str());
    let contact = agent.contact();
    let is_plain = *contact == Contact::default();
    if is_plain && !platform.contains('@') && !(platform.is_empty() && name.contains('@')) {
        let at = usize::from(!platform.is_empty());
        varint::write(out, ((name.len() + at + platform.len()) as u64) << 2 | item::TEXT);
        out.extend_from_slice(name.as_bytes());
        out.extend((at == 1).then_some(b'@'));
        return out.extend_from_slice(platform.as_bytes());
    }
    let mut parts = Vec::new();
    agent_parts(&mut parts, agent, 0);
    varint::write(out, (parts.len() as u64) << 2 | item::STRUCTURE);
    out.extend_from_slice(&parts);
}

fn agent_parts(out: &mut Vec<u8>, agent: Aid, level: u32) {
    let contact = agent.contact();
    part(out, agent.name.as_str());
    part(out, agent.platform.as_str());
    varint::write(out, contact.addresses.len() as u64);
    contact.addresses.iter().for_each(|address| part(out, address));
    // Resolvers nested more deeply are of no use, and are left out.
    let resolvers: &[Aid] = if level < RESOLVER_LEVELS { &contact.resolvers } else { &[] };
    varint::write(out, resolvers.len() as u64);
    resolvers.iter().for_each(|resolver| agent_parts(out, *resolver, level + 1));
    varint::write(out, contact.user.len() as u64);
    user_parts(out, &contact.user);
}

fn user_parts(out: &mut Vec<u8>, user: &[(Symbol, Value)]) {
    for (name, value) in user {
        part(out, name.as_str());
        write_user_value(out, value);
    }
}

fn part(out: &mut Vec<u8>, text: &str) {
    varint::write(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads an agent whose item began with this number.
pub(super) fn agent_of(r: &mut Reader<'_>, number: u64) -> Result<Aid, DecodeError> {
    let length = usize::try_from(number >> 2).unwrap_or(usize::MAX);
    match number & 3 {
        item::TEXT => {
            let text = r.text_of(length)?;
            let Some((name, platform)) = text.rsplit_once('@') else { return Ok(Aid::local(text)) };
            if platform.is_empty() {
                return Err(r.malformed("an agent's name that ends in @"));
            }
            Ok(Aid::new(name, platform))
        }
        item::STRUCTURE => {
            let end = r.at().saturating_add(length);
            let agent = read_parts(r, 0)?;
            if r.at() == end { Ok(agent) } else { Err(r.malformed("an agent of the wrong length")) }
        }
        _ => Err(r.malformed("to remember what is known")),
    }
}

fn read_parts(r: &mut Reader<'_>, level: u32) -> Result<Aid, DecodeError> {
    if level > RESOLVER_LEVELS {
        return Err(r.malformed("resolvers that have resolvers too often"));
    }
    let (name, platform) = (r.plain_text()?, r.plain_text()?);
    let count = r.count_of_bytes(1)?;
    r.charge(count * AGENT_BYTES)?;
    let addresses = (0..count).map(|_| r.plain_text().map(str::to_owned)).collect::<Result<_, _>>()?;
    let count = r.count_of_bytes(4)?;
    r.charge(count * AGENT_BYTES)?;
    let resolvers = (0..count).map(|_| read_parts(r, level + 1)).collect::<Result<_, _>>()?;
    let count = r.count_of_bytes(2)?;
    r.charge(count * size_of::<(Symbol, Value)>())?;
    let parameter = |_| Ok((Symbol::new(r.plain_text()?), read_user_value(r)?));
    let user = (0..count).map(parameter).collect::<Result<_, _>>()?;
    Ok(Aid::new(name, platform).with_contact(Contact { addresses, resolvers, user }))
}

/// Reads a text whose item began with this number.
pub(super) fn text_of(r: &mut Reader<'_>, number: u64) -> Result<Text, DecodeError> {
    let text = r.text_of(usize::try_from(number >> 2).unwrap_or(usize::MAX))?;
    r.charge(text.len() + 16)?;
    Ok(Text::from(text))
}

/// Returns the text both ends know by this number.
pub(super) fn known_text(number: u32, at: usize) -> Result<Text, DecodeError> {
    let text = known::TEXTS.get(number as usize).copied();
    text.map(Text::from).ok_or(DecodeError::Malformed { at, what: "a text nobody knows" })
}
