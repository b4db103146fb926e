//! Transport envelopes in XML (FIPA00085): `<envelope><params index="1"> ... </params></envelope>`.
//!
//! The writer produces what JADE's reader understands: names and addresses as text, one line, ASCII only (JADE takes
//! each byte for a character). The reader also takes attributes in their place, JADE's dates (`Z` in the place of `T`),
//! elements in any case, and bytes that are not UTF-8 as Latin-1. It ignores elements that it does not know.

use std::borrow::Cow;

use super::parameters::agent_name;
use super::xml::{Element, XmlReader, XmlWriter};
use super::{DecodeError, DecodeErrorKind, EncodeError, date, expression};
use crate::limits::{ENVELOPE_BYTES_MAX, ENVELOPE_STAMPS_MAX, MESSAGE_RECEIVERS_MAX, RESOLVER_DEPTH_MAX};
use crate::tokens::FipaTokens;
use crate::{Aid, Received, Symbol, Text, TransportEnvelope, Value};

/// Encodes an envelope, as one `params` element.
///
/// # Errors
/// A text has a character that XML cannot carry, a name cannot be written, or resolvers nest too deeply.
//= fipa00085 2
pub fn encode(envelope: &TransportEnvelope) -> Result<Vec<u8>, EncodeError> {
    let mut writer = XmlWriter { out: String::with_capacity(1_024), is_ascii: true };
    writer.out.push_str("<?xml version=\"1.0\"?><envelope><params index=\"1\">");
    agents(&mut writer, "to", &envelope.to)?;
    agents(&mut writer, "from", envelope.from.as_slice())?;
    if let Some(comments) = &envelope.comments {
        writer.element("comments", comments)?;
    }
    writer.element("acl-representation", envelope.acl_representation.as_str())?;
    if let Some(length) = envelope.payload_length {
        writer.element("payload-length", &length.to_string())?;
    }
    if let Some(encoding) = envelope.payload_encoding {
        writer.element("payload-encoding", encoding.as_str())?;
    }
    if let Some(date) = envelope.date_ms.and_then(date::write) {
        writer.element("date", &date)?;
    }
    agents(&mut writer, "intended-receiver", &envelope.intended_receivers)?;
    for (name, value) in &envelope.user {
        writer.user_defined(name.as_str(), value)?;
    }
    if let Some(behaviour) = &envelope.transport_behaviour {
        let mut text = Vec::new();
        expression::write(&mut text, behaviour, 0)?;
        writer.element("transport-behaviour", &String::from_utf8_lossy(&text))?;
    }
    envelope.received.iter().try_for_each(|stamp| received(&mut writer, stamp))?;
    writer.out.push_str("</params></envelope>");
    Ok(writer.out.into_bytes())
}

/// Writes an element for each agent.
fn agents(writer: &mut XmlWriter, element: &'static str, agents: &[Aid]) -> Result<(), EncodeError> {
    for agent in agents {
        writer.out.push_str(&format!("<{element}>"));
        identifier(writer, *agent, 0)?;
        writer.out.push_str(&format!("</{element}>"));
    }
    Ok(())
}

fn identifier(writer: &mut XmlWriter, agent: Aid, depth: usize) -> Result<(), EncodeError> {
    if depth > RESOLVER_DEPTH_MAX {
        return Err(EncodeError::TooDeep { what: "resolvers", max: RESOLVER_DEPTH_MAX });
    }
    let name = agent_name(agent)?;
    if name.trim() != name {
        return Err(EncodeError::AgentName(name));
    }
    writer.out.push_str("<agent-identifier>");
    writer.element("name", &name)?;
    let contact = agent.contact();
    if !contact.addresses.is_empty() {
        writer.out.push_str("<addresses>");
        contact.addresses.iter().try_for_each(|address| writer.element("url", address))?;
        writer.out.push_str("</addresses>");
    }
    if !contact.resolvers.is_empty() {
        writer.out.push_str("<resolvers>");
        contact.resolvers.iter().try_for_each(|resolver| identifier(writer, *resolver, depth + 1))?;
        writer.out.push_str("</resolvers>");
    }
    writer.out.push_str("</agent-identifier>");
    Ok(())
}

fn received(writer: &mut XmlWriter, stamp: &Received) -> Result<(), EncodeError> {
    writer.out.push_str("<received>");
    let date = date::write(stamp.date_ms);
    let parts = [
        ("<received-by", Some(stamp.by.as_str())),
        ("<received-from", stamp.from.as_deref()),
        ("<received-date", date.as_deref()),
        ("<received-id", stamp.id.as_deref()),
        ("<received-via", stamp.via.as_deref()),
    ];
    for (element, value) in parts {
        let Some(value) = value else { continue };
        writer.out.push_str(element);
        writer.attribute("value", value)?;
        writer.out.push_str("/>");
    }
    writer.out.push_str("</received>");
    Ok(())
}

/// Parameters of one `params` element. Those of a higher index replace the others.
#[derive(Default)]
struct EnvelopeParameters {
    index: u32,
    to: Vec<Aid>,
    intended_receivers: Vec<Aid>,
    rest: TransportEnvelope,
    representation: Option<Symbol>,
}

/// Decodes an envelope.
///
/// # Errors
/// If the bytes are none, or exceed a [limit](crate::limits), and where that shows.
//= fipa00085 2
pub fn decode(bytes: &[u8]) -> Result<TransportEnvelope, DecodeError> {
    if bytes.len() > ENVELOPE_BYTES_MAX {
        let kind = DecodeErrorKind::TooLong { what: "an envelope", max: ENVELOPE_BYTES_MAX };
        return Err(DecodeError::new(ENVELOPE_BYTES_MAX, kind));
    }
    let text = text_of(bytes);
    let mut reader = XmlReader::new(&text);
    let root = reader.child("`<envelope>`")?.ok_or(reader.truncated())?;
    if !root.name.eq_ignore_ascii_case("envelope") {
        return Err(DecodeError::expected(root.at, "`<envelope>`", format!("`<{}>`", root.name)));
    }
    let mut all = Vec::new();
    while let Some(element) = reader.child("`<params>`")? {
        if !element.name.eq_ignore_ascii_case("params") {
            return Err(DecodeError::expected(element.at, "`<params>`", format!("`<{}>`", element.name)));
        }
        all.push(parameters(&mut reader, &element)?);
    }
    reader.finish()?;
    all.sort_by_key(|parameters: &EnvelopeParameters| parameters.index);
    let mut envelope = TransportEnvelope::default();
    let mut representation = None;
    for parameters in all {
        representation = parameters.representation.or(representation);
        overlay(&mut envelope, parameters);
    }
    envelope.acl_representation = representation.unwrap_or_default();
    if envelope.received.len() > ENVELOPE_STAMPS_MAX {
        return Err(DecodeError::too_deep(0, ENVELOPE_STAMPS_MAX));
    }
    Ok(envelope)
}

fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

/// Replaces what these parameters say.
//= fipa00067 2.4 "the envelope is the result of flattening its parameter sets"
fn overlay(envelope: &mut TransportEnvelope, newer: EnvelopeParameters) {
    let EnvelopeParameters { to, intended_receivers, rest, .. } = newer;
    if !to.is_empty() {
        envelope.to = to;
    }
    if !intended_receivers.is_empty() {
        envelope.intended_receivers = intended_receivers;
    }
    envelope.from = rest.from.or(envelope.from);
    envelope.comments = rest.comments.or(envelope.comments.take());
    envelope.payload_length = rest.payload_length.or(envelope.payload_length);
    envelope.payload_encoding = rest.payload_encoding.or(envelope.payload_encoding);
    envelope.date_ms = rest.date_ms.or(envelope.date_ms);
    envelope.transport_behaviour = rest.transport_behaviour.or(envelope.transport_behaviour.take());
    envelope.received.extend(rest.received);
    for (name, value) in rest.user {
        envelope.user.retain(|(other, _)| *other != name);
        envelope.user.push((name, value));
    }
}

fn parameters(reader: &mut XmlReader<'_>, params: &Element) -> Result<EnvelopeParameters, DecodeError> {
    let mut read = EnvelopeParameters {
        index: params.attribute("index").and_then(|index| index.trim().parse().ok()).unwrap_or_default(),
        ..EnvelopeParameters::default()
    };
    while let Some(element) = reader.child("a parameter or `</params>`")? {
        parameter(reader, &element, &mut read)?;
    }
    let several = read.to.len().max(read.intended_receivers.len());
    if several > MESSAGE_RECEIVERS_MAX {
        let expected = "at most as many receivers as a message may have";
        return Err(DecodeError::expected(params.at, expected, several.to_string()));
    }
    Ok(read)
}

fn parameter(reader: &mut XmlReader<'_>, element: &Element, read: &mut EnvelopeParameters) -> Result<(), DecodeError> {
    match element.name.to_ascii_lowercase().as_str() {
        "to" => read.to.extend(reader.agents(element, 0)?),
        "from" => read.rest.from = reader.agents(element, 0)?.first().copied(),
        "intended-receiver" => read.intended_receivers.extend(reader.agents(element, 0)?),
        "comments" => read.rest.comments = Some(Text::from(reader.text()?)),
        "acl-representation" => read.representation = word(reader, element)?.map(|word| Symbol::new(&word)),
        "payload-length" => {
            let length = word(reader, element)?;
            let wrong = |text: String| DecodeError::expected(element.at, "a number of bytes", text);
            read.rest.payload_length = length.map(|text| text.parse().map_err(|_| wrong(text))).transpose()?;
        }
        "payload-encoding" => read.rest.payload_encoding = word(reader, element)?.map(|word| Symbol::new(&word)),
        "date" => read.rest.date_ms = moment(word(reader, element)?, element.at)?,
        "transport-behaviour" => read.rest.transport_behaviour = Some(behaviour(&reader.text()?)?),
        "received" => read.rest.received.push(stamp(reader, element)?),
        "user-defined" => {
            let (name, value) = reader.user_defined(element)?;
            read.rest.user.push((Symbol::new(&name), value));
        }
        _ => reader.skip()?,
    }
    Ok(())
}

/// Returns an element's text or its attribute `value`, without white space around it; `None` if that is empty.
fn word(reader: &mut XmlReader<'_>, element: &Element) -> Result<Option<String>, DecodeError> {
    let text = reader.value(element, "value")?;
    Ok((!text.is_empty()).then_some(text))
}

/// Returns a moment; JADE writes `Z` where FIPA has `T`, and `null` where there is none.
fn moment(text: Option<String>, at: usize) -> Result<Option<u64>, DecodeError> {
    let Some(mut text) = text.filter(|text| text != "null") else { return Ok(None) };
    if text.get(8..9) == Some("Z") {
        text.replace_range(8..9, "T");
    }
    Ok(date::read(&text, at)?.resolve(None))
}

fn behaviour(text: &str) -> Result<Value, DecodeError> {
    let mut tokens = FipaTokens::new(text.as_bytes());
    let first = tokens.next()?;
    expression::read(&mut tokens, first, 0)
}

fn stamp(reader: &mut XmlReader<'_>, received: &Element) -> Result<Received, DecodeError> {
    let mut stamp = Received::default();
    while let Some(element) = reader.child("`<received-by>`")? {
        let value = word(reader, &element)?;
        match element.name.to_ascii_lowercase().as_str() {
            "received-by" => stamp.by = value.unwrap_or_default(),
            "received-from" => stamp.from = value,
            "received-date" => stamp.date_ms = moment(value, element.at)?.unwrap_or_default(),
            "received-id" => stamp.id = value,
            "received-via" => stamp.via = value,
            other => return Err(DecodeError::expected(received.at, "a part of a stamp", format!("`<{other}>`"))),
        }
    }
    Ok(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contact;

    fn at(name: &str, address: &str) -> Aid {
        let contact = Contact { addresses: vec![address.to_owned()], ..Contact::default() };
        name.parse::<Aid>().expect("a name").with_contact(contact)
    }

    #[test]
    fn envelope_survives_round_trip() {
        let resolved = Contact { resolvers: vec![at("ams@there", "http://there:1/acc")], ..Contact::default() };
        let envelope = TransportEnvelope {
            to: vec![
                at("bob@10.0.0.1:1099/JADE", "http://10.0.0.1:7778/acc?a=1&b=2"),
                "eve@there".parse().expect("ok"),
            ],
            from: Some("amé@here".parse::<Aid>().expect("ok").with_contact(resolved)),
            comments: Some("a <b> & 世".into()),
            acl_representation: "fipa.acl.rep.string.std".into(),
            payload_length: Some(7),
            payload_encoding: Some("UTF-8".into()),
            date_ms: Some(1_795_859_637_598),
            intended_receivers: vec![at("bob@10.0.0.1:1099/JADE", "http://10.0.0.1:7778/acc?a=1&b=2")],
            received: vec![Received {
                by: "http://here/acc".into(),
                from: Some("http://there/acc".into()),
                date_ms: 1_000,
                id: Some("\"7\"".into()),
                via: Some("fipa.mts.mtp.http.std".into()),
            }],
            transport_behaviour: Some(Value::list([Value::atom("now"), Value::Int(3)])),
            user: vec![("X-a".into(), Value::from("b é")), ("X-b".into(), Value::list([Value::Int(1)]))],
        };
        let bytes = encode(&envelope).expect("it can be written");
        assert!(bytes.is_ascii() && !bytes.contains(&b'\n'), "JADE takes each byte for a character");
        let read = decode(&bytes).expect("it can be read");
        assert_eq!(read, envelope);
        assert!(read.from.zip(envelope.from).is_some_and(|(read, from)| read.is_same(from)));
    }

    #[test]
    fn jade_envelope_is_read() {
        let xml = "<?xml version=\"1.0\"?>\n<envelope><params index=\"1\"><to><agent-identifier><name>seller@w</name>\
                   <addresses><url>http://127.0.0.1:7788/acc</url></addresses></agent-identifier></to>\
                   <acl-representation>fipa.acl.rep.string.std</acl-representation><payload-length>418</payload-length>\
                   <date>20261128Z095357598</date><encrypted>no</encrypted></params>\
                   <Params index=\"2\"><payload-length> 7 </payload-length><received><received-by value=\"b\"/>\
                   <received-date value=\"20261128Z095357598\"/></received></Params></envelope>";
        let envelope = decode(xml.as_bytes()).expect("an envelope");
        assert_eq!((envelope.payload_length, envelope.date_ms), (Some(7), Some(1_795_859_637_598)));
        assert_eq!(envelope.to, ["seller@w".parse().expect("ok")]);
        assert!(envelope.has_passed("b"));
        let latin = decode(b"<envelope><params index='1'><comments>\xe9</comments></params></envelope>");
        assert_eq!(latin.map(|envelope| envelope.comments), Ok(Some("é".into())));
    }

    #[test]
    fn broken_envelope_is_refused() {
        for xml in [
            "",
            "<envelope>",
            "<a/>",
            "<envelope><to/></envelope>",
            "<envelope><params><to><name>x</name></to></params></envelope>",
            "<envelope><params><payload-length>many</payload-length></params></envelope>",
            "<envelope><params><date>today</date></params></envelope>",
            "<envelope><params><comments>&lol;</comments></params></envelope>",
            "<envelope/><envelope/>",
        ] {
            assert!(decode(xml.as_bytes()).is_err(), "{xml}");
        }
        let long =
            format!("<envelope><params><comments>{}</comments></params></envelope>", "x".repeat(ENVELOPE_BYTES_MAX));
        assert!(decode(long.as_bytes()).is_err());
    }
}
