//! Messages to JSON and back.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use smallvec::SmallVec;

use super::decode_error;
use super::read::{FieldsSeed, TOO_DEEP, ValueSeed};
use super::write::{field, separated, string, value};
use crate::codec::{DecodeError, EncodeError, parameters};
use crate::limits::RESOLVER_DEPTH_MAX;
use crate::{AclMessage, Aid, Contact, Extras, Performative, Symbol, Text, Value, sym};

/// Encodes a message as JSON.
///
/// # Errors
/// [`EncodeError::TooDeep`].
pub fn encode(message: &AclMessage) -> Result<Vec<u8>, EncodeError> {
    let mut out = String::with_capacity(256);
    out.push_str(r#"{"performative":"#);
    string(&mut out, message.performative.as_str());
    if message.sender != Aid::NOBODY {
        out.push_str(r#","sender":"#);
        agent(&mut out, message.sender, 0)?;
    }
    agents(&mut out, "receivers", &message.receivers)?;
    if !matches!(message.content, Value::Null) {
        out.push_str(r#","content":"#);
        value(&mut out, &message.content, 0)?;
    }
    extras(&mut out, message.extras())?;
    out.push('}');
    Ok(out.into_bytes())
}

fn extras(out: &mut String, extras: &Extras) -> Result<(), EncodeError> {
    agents(out, "reply_to", &extras.reply_to)?;
    let symbol = |name: Option<Symbol>| name.map(Symbol::as_str);
    for (key, text) in [
        ("language", symbol(extras.language)),
        ("encoding", symbol(extras.encoding)),
        ("ontology", symbol(extras.ontology)),
        ("protocol", symbol(extras.protocol)),
        ("conversation_id", extras.conversation_id.as_deref()),
        ("reply_with", extras.reply_with.as_deref()),
        ("in_reply_to", extras.in_reply_to.as_deref()),
    ] {
        if let Some(text) = text {
            member(out, key);
            string(out, text);
        }
    }
    if let Some(ms) = extras.reply_by_ms {
        member(out, "reply_by_ms");
        out.push_str(&ms.to_string());
    }
    user(out, &extras.user)
}

fn member(out: &mut String, key: &str) {
    out.push_str(",\"");
    out.push_str(key);
    out.push_str("\":");
}

fn user(out: &mut String, parameters: &[(Symbol, Value)]) -> Result<(), EncodeError> {
    if parameters.is_empty() {
        return Ok(());
    }
    member(out, "user");
    out.push('[');
    separated(out, parameters, |out, (name, value)| field(out, *name, value, 0))?;
    out.push(']');
    Ok(())
}

fn agents(out: &mut String, key: &str, agents: &[Aid]) -> Result<(), EncodeError> {
    if agents.is_empty() {
        return Ok(());
    }
    member(out, key);
    out.push('[');
    separated(out, agents, |out, aid| agent(out, *aid, 0))?;
    out.push(']');
    Ok(())
}

/// Encodes an agent: as its name, or as an object if it has more parts or its name would be read as another's.
fn agent(out: &mut String, agent: Aid, depth: usize) -> Result<(), EncodeError> {
    if depth > RESOLVER_DEPTH_MAX {
        return Err(EncodeError::TooDeep { what: "resolvers", max: RESOLVER_DEPTH_MAX });
    }
    if agent == Aid::NOBODY {
        return Err(EncodeError::AgentName(String::new()));
    }
    let contact = agent.contact();
    let name = agent.to_string();
    let is_name = name.parse() == Ok(agent);
    if is_name && *contact == Contact::default() {
        string(out, &name);
        return Ok(());
    }
    out.push_str(r#"{"name":"#);
    string(out, if is_name { &name } else { agent.name.as_str() });
    if !is_name {
        member(out, "platform");
        string(out, agent.platform.as_str());
    }
    if !contact.addresses.is_empty() {
        member(out, "addresses");
        out.push('[');
        separated(out, &contact.addresses, |out, address| {
            string(out, address);
            Ok(())
        })?;
        out.push(']');
    }
    if !contact.resolvers.is_empty() {
        member(out, "resolvers");
        out.push('[');
        separated(out, &contact.resolvers, |out, resolver| self::agent(out, *resolver, depth + 1))?;
        out.push(']');
    }
    user(out, &contact.user)?;
    out.push('}');
    Ok(())
}

/// Decodes a message from JSON.
///
/// # Errors
/// If it is no JSON, or says no message.
pub fn decode(bytes: &[u8]) -> Result<AclMessage, DecodeError> {
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let json = bytes.get(mark..).unwrap_or_default();
    let mut source = serde_json::Deserializer::from_slice(json);
    source.disable_recursion_limit();
    let read = source.deserialize_map(MessageVisitor);
    read.and_then(|message| source.end().map(|()| message)).map_err(|error| {
        let error = decode_error(json, &error);
        DecodeError { offset: error.offset + mark, ..error }
    })
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = AclMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message, as an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AclMessage, A::Error> {
        let mut performative: Option<Performative> = None;
        let (mut sender, mut content) = (Aid::NOBODY, Value::Null);
        let mut receivers = SmallVec::new();
        let mut extras = Extras::default();
        let mut seen: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("{key:?} is given twice")));
            }
            match key.as_str() {
                "performative" => performative = Some(parameters::performative(&map.next_value::<String>()?)),
                "sender" => sender = map.next_value_seed(AgentSeed { depth: 0 })?,
                "receivers" => receivers = map.next_value_seed(AgentsSeed { depth: 0 })?.into(),
                "content" => content = map.next_value_seed(ValueSeed { depth: 0 })?,
                "reply_to" => extras.reply_to = map.next_value_seed(AgentsSeed { depth: 0 })?.into(),
                "language" => extras.language = map.next_value()?,
                "encoding" => extras.encoding = map.next_value()?,
                "ontology" => extras.ontology = map.next_value()?,
                "protocol" => extras.protocol = map.next_value()?,
                "conversation_id" => extras.conversation_id = text(&mut map)?,
                "reply_with" => extras.reply_with = text(&mut map)?,
                "in_reply_to" => extras.in_reply_to = text(&mut map)?,
                "reply_by_ms" => extras.reply_by_ms = map.next_value()?,
                "user" => extras.user = map.next_value_seed(FieldsSeed { depth: 0 })?,
                other => return Err(A::Error::custom(format!("no message has a member {other:?}"))),
            }
            seen.push(key);
        }
        let performative = performative.ok_or_else(|| A::Error::custom("a message without a performative"))?;
        let extras = (extras != Extras::default()).then(|| Box::new(extras));
        Ok(AclMessage { performative, sender, receivers, content, extras })
    }
}

fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Text>, A::Error> {
    Ok(map.next_value::<Option<String>>()?.map(Text::from))
}

#[derive(Clone, Copy)]
struct AgentSeed {
    depth: usize,
}

#[derive(Clone, Copy)]
struct AgentsSeed {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for AgentSeed {
    type Value = Aid;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Aid, D::Error> {
        match self.depth > RESOLVER_DEPTH_MAX {
            true => Err(D::Error::custom(TOO_DEEP)),
            false => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for AgentSeed {
    type Value = Aid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an agent: its name, or an object")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Aid, E> {
        name.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Aid, A::Error> {
        let (mut name, mut platform): (Option<String>, Option<Symbol>) = (None, None);
        let mut contact = Contact::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" => name = Some(map.next_value()?),
                "platform" => platform = Some(map.next_value()?),
                "addresses" => contact.addresses = map.next_value()?,
                "resolvers" => contact.resolvers = map.next_value_seed(AgentsSeed { depth: self.depth + 1 })?,
                "user" => contact.user = map.next_value_seed(FieldsSeed { depth: 0 })?,
                other => return Err(A::Error::custom(format!("no agent has a member {other:?}"))),
            }
        }
        let name = name.ok_or_else(|| A::Error::custom("an agent without a name"))?;
        let aid = match platform {
            Some(platform) if platform != sym::EMPTY || !name.is_empty() => Aid::new(name.as_str(), platform),
            _ => name.parse().map_err(A::Error::custom)?,
        };
        Ok(aid.with_contact(contact))
    }
}

impl<'de> DeserializeSeed<'de> for AgentsSeed {
    type Value = Vec<Aid>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Aid>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for AgentsSeed {
    type Value = Vec<Aid>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of agents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Aid>, A::Error> {
        let mut agents = Vec::new();
        while let Some(agent) = seq.next_element_seed(AgentSeed { depth: self.depth })? {
            agents.push(agent);
        }
        Ok(agents)
    }
}
