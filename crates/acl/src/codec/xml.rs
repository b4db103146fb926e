//! FIPA ACL in XML (FIPA00071): `<fipa-message act="inform"> ... </fipa-message>`.
//!
//! A document type may be named, but none is read: entities other than XML's own five are refused, so nothing expands.
//!
//! JADE's add-on `xmlacl` and Janus write dialects of it, which are read as they mean them: one `<receiver>` for each
//! receiver (as the DTD has it), parameters as `<X-name>`, empty times, white space around names.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::parameters::{
    CarriedContent, IncomingParameters, JADE_ENCODING, Natively, OutgoingParameters, Parameter, Readers, agent_name,
    agent_parameter_name, performative, read_agent_name,
};
use super::{DecodeError, DecodeErrorKind, EncodeError, date, expression};
use crate::limits::RESOLVER_DEPTH_MAX;
use crate::tokens::{FipaTokens, TokenKind, utf8};
use crate::{AclMessage, Aid, Contact, Symbol, Value};

const NATIVELY: Natively = Natively { bytes: false, text: |text| text.chars().all(is_xml) };

/// Most attributes of one element.
const ATTRIBUTES_MAX: usize = 16;
/// The type of a parameter that is plain text; that of any other is an expression of FIPA's string encoding.
const STRING_TYPE: &str = "string";
const EXPRESSION_TYPE: &str = "expression";

/// Checks whether XML 1.0 allows this character.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[derive(Default)]
pub(super) struct XmlWriter {
    pub out: String,
    /// True if characters beyond ASCII are written as references.
    pub is_ascii: bool,
}

//= fipa00071 2.2
pub(super) fn encode(message: &AclMessage, readers: Readers) -> Result<Vec<u8>, EncodeError> {
    let outgoing = OutgoingParameters::of(message, NATIVELY, readers)?;
    let act = message.performative.as_str();
    if act.trim() != act {
        return Err(EncodeError::Performative(act.to_owned()));
    }
    let mut writer = XmlWriter { out: String::with_capacity(512), is_ascii: false };
    writer.out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fipa-message");
    writer.attribute("act", act)?;
    writer.out.push('>');
    if let Some(sender) = outgoing.sender() {
        writer.out.push_str("<sender>");
        writer.agent(sender, 0)?;
        writer.out.push_str("</sender>");
    }
    writer.agents(Parameter::Receiver, &message.receivers)?;
    if let CarriedContent::Text(text) = &outgoing.content {
        writer.element(Parameter::Content.name(), text)?;
    }
    for (parameter, text) in outgoing.texts() {
        writer.word(parameter.name(), text)?;
    }
    if let Some(time) = outgoing.reply_by()? {
        writer.out.push_str("<reply-by");
        writer.attribute("time", &time)?;
        writer.out.push_str("/>");
    }
    writer.agents(Parameter::ReplyTo, &message.extras().reply_to)?;
    for (name, value) in &outgoing.user {
        match value.as_str() {
            // JADE finds this encoding only in an element of its name.
            Some(encoding) if &**name == JADE_ENCODING => writer.element(JADE_ENCODING, encoding)?,
            _ => writer.user_defined(name, value)?,
        }
    }
    writer.out.push_str("</fipa-message>\n");
    Ok(writer.out.into_bytes())
}

impl XmlWriter {
    /// Writes text. Markup is escaped, and also white space that a reader would change.
    pub fn text(&mut self, what: &'static str, text: &str, in_attribute: bool) -> Result<(), EncodeError> {
        for character in text.chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' if in_attribute => self.out.push_str("&quot;"),
                '\r' => self.out.push_str("&#13;"),
                '\n' if in_attribute => self.out.push_str("&#10;"),
                '\t' if in_attribute => self.out.push_str("&#9;"),
                character if is_xml(character) && self.is_ascii && !character.is_ascii() => {
                    self.out.push_str(&format!("&#{};", u32::from(character)));
                }
                character if is_xml(character) => self.out.push(character),
                character => return Err(EncodeError::Character { what, character }),
            }
        }
        Ok(())
    }

    pub fn attribute(&mut self, name: &'static str, value: &str) -> Result<(), EncodeError> {
        self.out.push_str(&format!(" {name}=\""));
        self.text(name, value, true)?;
        self.out.push('"');
        Ok(())
    }

    pub fn element(&mut self, name: &'static str, text: &str) -> Result<(), EncodeError> {
        self.out.push_str(&format!("<{name}>"));
        self.text(name, text, false)?;
        self.out.push_str(&format!("</{name}>"));
        Ok(())
    }

    /// Writes an element whose surrounding white space readers ignore.
    fn word(&mut self, name: &'static str, text: &str) -> Result<(), EncodeError> {
        if text.trim() == text {
            return self.element(name, text);
        }
        self.out.push_str(&format!("<{name}"));
        self.attribute("href", text)?;
        self.out.push_str("/>");
        Ok(())
    }

    /// Writes an element for each agent: of several in one, JADE reads the last.
    //= fipa00071 2.2 "None of the elements should occur more than once except receiver"
    fn agents(&mut self, parameter: Parameter, agents: &[Aid]) -> Result<(), EncodeError> {
        let name = parameter.name();
        for agent in agents {
            self.out.push_str(&format!("<{name}>"));
            self.agent(*agent, 0)?;
            self.out.push_str(&format!("</{name}>"));
        }
        Ok(())
    }

    fn agent(&mut self, agent: Aid, depth: usize) -> Result<(), EncodeError> {
        if depth > RESOLVER_DEPTH_MAX {
            return Err(EncodeError::TooDeep { what: "resolvers", max: RESOLVER_DEPTH_MAX });
        }
        let name = agent_name(agent)?;
        if name.trim() != name {
            return Err(EncodeError::AgentName(name));
        }
        self.out.push_str("<agent-identifier><name");
        self.attribute("id", &name)?;
        self.out.push_str("/>");
        let contact = agent.contact();
        if !contact.addresses.is_empty() {
            self.out.push_str("<addresses>");
            for address in &contact.addresses {
                self.out.push_str("<url");
                self.attribute("href", address)?;
                self.out.push_str("/>");
            }
            self.out.push_str("</addresses>");
        }
        if !contact.resolvers.is_empty() {
            self.out.push_str("<resolvers>");
            contact.resolvers.iter().try_for_each(|resolver| self.agent(*resolver, depth + 1))?;
            self.out.push_str("</resolvers>");
        }
        for (name, value) in &contact.user {
            self.user_defined(agent_parameter_name(*name)?, value)?;
        }
        self.out.push_str("</agent-identifier>");
        Ok(())
    }

    pub fn user_defined(&mut self, name: &str, value: &Value) -> Result<(), EncodeError> {
        let (kind, text) = match value {
            Value::Str(text) if text.chars().all(is_xml) => (STRING_TYPE, Cow::Borrowed(text.as_str())),
            value => {
                let mut out = Vec::new();
                // Text with characters that XML lacks goes as JSON, which escapes them.
                match value {
                    Value::Str(_) => expression::write_as_json(&mut out, value)?,
                    value => expression::write(&mut out, value, 0)?,
                }
                (EXPRESSION_TYPE, Cow::Owned(String::from_utf8_lossy(&out).into_owned()))
            }
        };
        self.out.push_str("<user-defined");
        self.attribute("href", name)?;
        self.attribute("type", kind)?;
        self.out.push('>');
        self.text("a parameter", &text, false)?;
        self.out.push_str("</user-defined>");
        Ok(())
    }
}

//= fipa00071 2.2
pub(super) fn decode(bytes: &[u8], arrival_ms: Option<u64>) -> Result<AclMessage, DecodeError> {
    let mut reader = XmlReader::new(utf8(bytes, 0)?);
    let root = reader.child("`<fipa-message>`")?.ok_or(reader.truncated())?;
    if root.name != "fipa-message" {
        return Err(DecodeError::expected(root.at, "`<fipa-message>`", format!("`<{}>`", root.name)));
    }
    root.allow(&["act", "conversation-id"])?;
    let act = root.attribute("act").ok_or_else(|| DecodeError::expected(root.at, "the attribute `act`", "none"))?;
    let mut incoming = IncomingParameters::new(performative(act.trim()), arrival_ms);
    if let Some(id) = root.attribute("conversation-id") {
        incoming.begin(Parameter::ConversationId, root.at)?;
        incoming.text(Parameter::ConversationId, id);
    }
    while let Some(element) = reader.child("a parameter or `</fipa-message>`")? {
        reader.parameter(&mut incoming, &element)?;
    }
    reader.finish()?;
    incoming.finish()
}

/// The beginning of an element.
pub(super) struct Element {
    pub at: usize,
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Refuses any attribute but these, since its meaning would be lost.
    fn allow(&self, names: &[&str]) -> Result<(), DecodeError> {
        match self.attributes.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let known = if known.is_empty() { "no attribute".to_owned() } else { known.join(" or ") };
                Err(DecodeError::new(
                    self.at,
                    DecodeErrorKind::Attribute { element: self.name.clone(), name: name.clone(), known },
                ))
            }
        }
    }
}

pub(super) enum XmlItem {
    Start(Element),
    End,
    Text(String),
    Eof,
}

pub(super) struct XmlReader<'a> {
    source: quick_xml::Reader<&'a [u8]>,
    length: usize,
}

impl<'a> XmlReader<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut source = quick_xml::Reader::from_str(text);
        source.config_mut().expand_empty_elements = true;
        Self { source, length: text.len() }
    }

    fn at(&self) -> usize {
        usize::try_from(self.source.buffer_position()).unwrap_or(self.length)
    }

    pub fn truncated(&self) -> DecodeError {
        DecodeError::new(self.length, DecodeErrorKind::Truncated("XML"))
    }

    fn syntax(&self, error: impl std::fmt::Display) -> DecodeError {
        let at = usize::try_from(self.source.error_position()).unwrap_or(self.length);
        DecodeError::new(at.min(self.length), DecodeErrorKind::Syntax(error.to_string()))
    }

    /// Returns the next item that says something, and where it begins.
    fn next(&mut self) -> Result<(usize, XmlItem), DecodeError> {
        loop {
            let at = self.at();
            let event = self.source.read_event().map_err(|error| self.syntax(error))?;
            let item = match event {
                Event::Start(start) | Event::Empty(start) => XmlItem::Start(self.element(&start, at)?),
                Event::End(_) => XmlItem::End,
                Event::Text(text) => XmlItem::Text(text.xml10_content().into_owned()),
                Event::CData(text) => XmlItem::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(reference) => XmlItem::Text(resolve(&reference, at)?.to_string()),
                Event::Eof => XmlItem::Eof,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            };
            return Ok((at, item));
        }
    }

    fn element(&self, start: &BytesStart<'_>, at: usize) -> Result<Element, DecodeError> {
        let name = start.local_name().as_ref().to_owned();
        let mut attributes = Vec::new();
        // Looking for doubles takes the library's iterator time that grows with the square of their number.
        for attribute in start.attributes().with_checks(false).take(ATTRIBUTES_MAX) {
            let attribute = attribute.map_err(|error| self.wrong(at, error))?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| self.wrong(at, error))?;
            if !is_about_xml(attribute.key.as_ref()) {
                attributes.push((attribute.key.local_name().as_ref().to_owned(), value.into_owned()));
            }
        }
        if start.attributes().with_checks(false).nth(ATTRIBUTES_MAX).is_some() {
            return Err(self.wrong(at, format!("an element with more than {ATTRIBUTES_MAX} attributes")));
        }
        Ok(Element { at, name, attributes })
    }

    fn wrong(&self, at: usize, error: impl std::fmt::Display) -> DecodeError {
        DecodeError::new(at, DecodeErrorKind::Syntax(error.to_string()))
    }

    /// Returns the next element inside the present one; `None` at its end.
    pub fn child(&mut self, expected: &'static str) -> Result<Option<Element>, DecodeError> {
        loop {
            match self.next()? {
                (_, XmlItem::Start(element)) => return Ok(Some(element)),
                (_, XmlItem::End) => return Ok(None),
                (_, XmlItem::Text(text)) if text.trim().is_empty() => {}
                (at, XmlItem::Text(_)) => return Err(DecodeError::expected(at, expected, "text")),
                (_, XmlItem::Eof) => return Err(self.truncated()),
            }
        }
    }

    /// Reads up to the end of the document, after its root element.
    pub fn finish(&mut self) -> Result<(), DecodeError> {
        loop {
            match self.next()? {
                (_, XmlItem::Eof) => return Ok(()),
                (_, XmlItem::Text(text)) if text.trim().is_empty() => {}
                (at, _) => return Err(DecodeError::new(at, DecodeErrorKind::Trailing)),
            }
        }
    }

    /// Reads up to the end of the present element, which nobody needs.
    pub fn skip(&mut self) -> Result<(), DecodeError> {
        let mut depth = 0_usize;
        loop {
            match self.next()?.1 {
                XmlItem::Start(_) => depth += 1,
                XmlItem::End if depth == 0 => return Ok(()),
                XmlItem::End => depth -= 1,
                XmlItem::Text(_) => {}
                XmlItem::Eof => return Err(self.truncated()),
            }
        }
    }

    /// Returns the text inside the present element, up to its end.
    pub fn text(&mut self) -> Result<String, DecodeError> {
        let mut all = String::new();
        loop {
            match self.next()? {
                (_, XmlItem::Text(text)) => all.push_str(&text),
                (_, XmlItem::End) => return Ok(all),
                (at, XmlItem::Start(element)) => {
                    return Err(DecodeError::expected(at, "text", format!("`<{}>`", element.name)));
                }
                (_, XmlItem::Eof) => return Err(self.truncated()),
            }
        }
    }

    /// Returns the value of an attribute, else the text inside, without white space around it.
    pub fn value(&mut self, element: &Element, attribute: &'static str) -> Result<String, DecodeError> {
        element.allow(&[attribute])?;
        let text = self.text()?;
        match (element.attribute(attribute), text.trim()) {
            (None, text) => Ok(text.to_owned()),
            (Some(value), "") => Ok(value.to_owned()),
            (Some(value), text) if value.trim() == text => Ok(text.to_owned()),
            (Some(_), text) => {
                let expected = "its value once, as an attribute or as text";
                Err(DecodeError::expected(element.at, expected, format!("two, and `{text}` is one of them")))
            }
        }
    }

    fn parameter(&mut self, incoming: &mut IncomingParameters, element: &Element) -> Result<(), DecodeError> {
        if element.name == "user-defined" {
            let (name, value) = self.user_defined(element)?;
            incoming.user(&name, value);
            return Ok(());
        }
        if is_user_defined(&element.name) {
            element.allow(&[])?;
            let text = self.text()?;
            incoming.user(&element.name, Value::from(text.trim()));
            return Ok(());
        }
        let unknown = || DecodeError::expected(element.at, "a parameter", format!("`<{}>`", element.name));
        let parameter = Parameter::named(&element.name).ok_or_else(unknown)?;
        let several = matches!(parameter, Parameter::Receiver | Parameter::ReplyTo);
        if several {
            incoming.more_agents(parameter, self.agents(element, 0)?);
            return Ok(());
        }
        incoming.begin(parameter, element.at)?;
        match parameter {
            Parameter::Sender => match self.agents(element, 0)?.as_slice() {
                [sender] => incoming.sender(*sender),
                several => {
                    let found = several.len().to_string();
                    return Err(DecodeError::expected(element.at, "one agent identifier", found));
                }
            },
            Parameter::Content if element.attribute("href").is_some() => {
                return Err(DecodeError::expected(element.at, "content", "the address of content"));
            }
            Parameter::Content => {
                element.allow(&[])?;
                incoming.content(Value::from(self.text()?));
            }
            Parameter::ReplyBy => {
                let text = self.value(element, "time")?;
                // Janus writes an empty element where no time was given.
                if !text.trim().is_empty() {
                    incoming.reply_by(date::read(text.trim(), element.at)?, element.at)?;
                }
            }
            _ => incoming.text(parameter, &self.value(element, "href")?),
        }
        Ok(())
    }

    pub fn user_defined(&mut self, element: &Element) -> Result<(String, Value), DecodeError> {
        element.allow(&["href", "type"])?;
        let missing = || DecodeError::expected(element.at, "the attribute `href`", "none");
        let name = element.attribute("href").ok_or_else(missing)?.to_owned();
        let text = self.text()?;
        if element.attribute("type") != Some(EXPRESSION_TYPE) {
            return Ok((name, Value::from(text)));
        }
        let inside = |error: DecodeError| DecodeError { offset: element.at, ..error };
        let mut tokens = FipaTokens::new(text.as_bytes());
        let first = tokens.next().map_err(inside)?;
        let value = expression::read(&mut tokens, first, 0).map_err(inside)?;
        match tokens.next().map_err(inside)?.kind {
            TokenKind::End => Ok((name, value)),
            other => Err(DecodeError::expected(element.at, "one expression", other.describe())),
        }
    }

    /// Returns the agent identifiers inside this element, which is the present one.
    pub fn agents(&mut self, parent: &Element, depth: usize) -> Result<Vec<Aid>, DecodeError> {
        parent.allow(&[])?;
        let mut agents = Vec::new();
        while let Some(element) = self.child("`<agent-identifier>`")? {
            if element.name != "agent-identifier" {
                let found = format!("`<{}>`", element.name);
                return Err(DecodeError::expected(element.at, "`<agent-identifier>`", found));
            }
            agents.push(self.agent(&element, depth)?);
        }
        Ok(agents)
    }

    fn agent(&mut self, start: &Element, depth: usize) -> Result<Aid, DecodeError> {
        if depth > RESOLVER_DEPTH_MAX {
            return Err(DecodeError::too_deep(start.at, RESOLVER_DEPTH_MAX));
        }
        start.allow(&[])?;
        let mut aid = None;
        let mut contact = Contact::default();
        while let Some(element) = self.child("`<name>`")? {
            match element.name.as_str() {
                "name" => {
                    let attribute = if element.attribute("refid").is_some() { "refid" } else { "id" };
                    let name = self.value(&element, attribute)?;
                    let read = read_agent_name(name.trim());
                    aid = Some(read.ok_or_else(|| DecodeError::expected(element.at, "an agent's name", name))?);
                }
                "addresses" => contact.addresses.extend(self.addresses(&element)?),
                "resolvers" => contact.resolvers.extend(self.agents(&element, depth + 1)?),
                "user-defined" => {
                    let (name, value) = self.user_defined(&element)?;
                    contact.user.push((Symbol::new(&name), value));
                }
                name if is_user_defined(name) => {
                    element.allow(&[])?;
                    contact.user.push((Symbol::new(name), Value::from(self.text()?.trim())));
                }
                other => return Err(DecodeError::expected(element.at, "`<name>`", format!("`<{other}>`"))),
            }
        }
        let missing = || DecodeError::expected(start.at, "`<name>`", "an agent identifier without it");
        Ok(aid.ok_or_else(missing)?.with_contact(contact))
    }

    fn addresses(&mut self, parent: &Element) -> Result<Vec<String>, DecodeError> {
        parent.allow(&[])?;
        let mut addresses = Vec::new();
        while let Some(element) = self.child("`<url>`")? {
            if element.name != "url" {
                return Err(DecodeError::expected(element.at, "`<url>`", format!("`<{}>`", element.name)));
            }
            addresses.push(self.value(&element, "href")?);
        }
        Ok(addresses)
    }
}

/// Returns true if an element's name marks a user-defined parameter (`X-..`), which JADE's add-on writes as an element.
fn is_user_defined(name: &str) -> bool {
    name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("X-")) && name.len() > 2
}

/// Returns true if an attribute is the XML document's own (a namespace or schema), not the message's.
fn is_about_xml(name: &str) -> bool {
    name == "xmlns" || ["xmlns:", "xml:", "xsi:"].iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the character a reference stands for.
fn resolve(reference: &BytesRef<'_>, at: usize) -> Result<char, DecodeError> {
    let unknown = |what: String| DecodeError::new(at, DecodeErrorKind::Syntax(what));
    if let Some(character) = reference.resolve_char_ref().map_err(|error| unknown(error.to_string()))? {
        return Ok(character);
    }
    match &*reference.xml10_content() {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        other => Err(unknown(format!("the entity &{other}; is not one of XML's own"))),
    }
}
