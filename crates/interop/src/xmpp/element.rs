//! Elements of XML: the stanzas of XMPP, read and written.

use std::fmt::Write;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use whimbrel_platform::limits::{XMPP_LEVELS_MAX, XMPP_PARTS_MAX};

/// Reason why bytes are no stanza, or no stream of stanzas.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StanzaError {
    /// XML that is malformed, or that XMPP does not permit: comments, document types, instructions.
    #[error("the XML is malformed: {0}")]
    Malformed(String),
    /// More bytes, levels or parts than permitted.
    #[error("a stanza is too large: {0}")]
    TooLarge(&'static str),
}

impl StanzaError {
    pub(super) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }
}

/// XmlElement without its prefix. Comments and order of text among children are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XmlElement {
    /// Local name.
    pub name: String,
    /// Namespace, if the element or one around it declares one.
    pub namespace: String,
    /// Attributes in their order, with prefixes, without declarations of namespaces.
    pub attributes: Vec<(String, String)>,
    /// Elements in it.
    pub children: Vec<XmlElement>,
    /// Text in it, put together.
    pub text: String,
}

impl XmlElement {
    /// Makes an empty element.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Makes an empty element of a namespace.
    pub fn of(name: &str, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..Self::new(name) }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a child.
    #[must_use]
    pub fn containing(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// Sets the text.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Reads one element, and nothing after it.
    ///
    /// # Errors
    /// The text is not one element, or is too large.
    pub fn read(text: &str) -> Result<Self, StanzaError> {
        if !is_writable(text) {
            return Err(StanzaError::malformed("a character that XML does not have"));
        }
        let mut reading = quick_xml::Reader::from_str(text);
        reading.config_mut().check_comments = true;
        let (mut open, mut parts) = (Vec::<Self>::new(), 0);
        loop {
            let event = reading.read_event().map_err(|error| StanzaError::malformed(error.to_string()))?;
            let done = match event {
                Event::Start(tag) => {
                    let element = begun(&tag, open.last(), &mut parts)?;
                    if open.len() == XMPP_LEVELS_MAX {
                        return Err(StanzaError::TooLarge("elements in elements"));
                    }
                    open.push(element);
                    None
                }
                Event::Empty(tag) => close(begun(&tag, open.last(), &mut parts)?, &mut open),
                Event::End(_) => open.pop().and_then(|element| close(element, &mut open)),
                Event::Text(text) => said(&mut open, &text.xml10_content())?,
                Event::CData(text) => said(&mut open, &text.xml10_content())?,
                Event::GeneralRef(reference) => said(&mut open, resolve(&reference)?.encode_utf8(&mut [0; 4]))?,
                Event::Eof => return Err(StanzaError::malformed("it ends within an element")),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {
                    return Err(StanzaError::malformed("XMPP permits no comments, declarations and instructions"));
                }
            };
            if let Some(element) = done {
                return Ok(element);
            }
        }
    }

    /// Writes the element, with its namespace if it differs from the one around it.
    pub fn write(&self, around: &str, out: &mut String) {
        out.push('<');
        out.push_str(&self.name);
        if !self.namespace.is_empty() && self.namespace != around {
            attribute(out, "xmlns", &self.namespace);
        }
        for (name, value) in &self.attributes {
            attribute(out, name, value);
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        escape(out, &self.text);
        let namespace = if self.namespace.is_empty() { around } else { &self.namespace };
        for child in &self.children {
            child.write(namespace, out);
        }
        let _ = write!(out, "</{}>", self.name);
    }
}

/// Puts a finished element into the one around it, or returns it if there is none.
fn close(element: XmlElement, open: &mut [XmlElement]) -> Option<XmlElement> {
    match open.last_mut() {
        Some(around) => {
            around.children.push(element);
            None
        }
        None => Some(element),
    }
}

/// Adds text to the innermost element. Returns `None`: no element ends here.
fn said(open: &mut [XmlElement], text: &str) -> Result<Option<XmlElement>, StanzaError> {
    match open.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim().is_empty() => {}
        None => return Err(StanzaError::malformed("text outside an element")),
    }
    Ok(None)
}

/// Resolves a reference to a character: XML's own five, and numbers of characters that XML has.
fn resolve(reference: &BytesRef<'_>) -> Result<char, StanzaError> {
    let character = reference.resolve_char_ref().map_err(|error| StanzaError::malformed(error.to_string()))?;
    let named = match &*reference.xml10_content() {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    };
    let known = character.or(named).filter(|character| is_xml(*character));
    known.ok_or_else(|| StanzaError::malformed("a reference to what is not XML's own"))
}

/// Reads the tag that begins an element.
fn begun(tag: &BytesStart<'_>, around: Option<&XmlElement>, parts: &mut usize) -> Result<XmlElement, StanzaError> {
    let mut element = XmlElement::new(tag.local_name().as_ref());
    let name = tag.name();
    let prefix = name.prefix();
    element.namespace = around.map(|around| around.namespace.clone()).unwrap_or_default();
    *parts += 1;
    // Looking for doubles takes time that grows with the square of their number.
    for attribute in tag.attributes().with_checks(false) {
        *parts += 1;
        if *parts > XMPP_PARTS_MAX {
            return Err(StanzaError::TooLarge("elements and attributes"));
        }
        let attribute = attribute.map_err(|error| StanzaError::malformed(error.to_string()))?;
        let name: &str = attribute.key.as_ref();
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value.map_err(|error| StanzaError::malformed(error.to_string()))?.into_owned();
        let declared = match &prefix {
            None => name == "xmlns",
            Some(prefix) => name.strip_prefix("xmlns:") == Some(prefix.as_ref()),
        };
        if declared {
            element.namespace = value;
        } else if name != "xmlns" && !name.starts_with("xmlns:") {
            element.attributes.push((name.to_owned(), value));
        }
    }
    if *parts > XMPP_PARTS_MAX {
        return Err(StanzaError::TooLarge("elements and attributes"));
    }
    Ok(element)
}

fn attribute(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}='");
    escape(out, value);
    out.push('\'');
}

/// Writes text so that every reader sees the same: white space that XML would change is written as references, and
/// characters that XML does not have as U+FFFD.
pub(super) fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            _ if is_xml(character) => out.push(character),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
}

/// Returns a text as readers see what [`escape`] wrote.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|character| if is_xml(character) { character } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Checks whether XML has all characters of a text.
pub(super) fn is_writable(text: &str) -> bool {
    text.chars().all(is_xml)
}

/// Checks whether XML 1.0 has this character.
fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_back() {
        let element = XmlElement::of("message", "jabber:component:accept")
            .with("to", "a@h")
            .with("note", "it's \"5\"\n & <more>\t\r")
            .containing(XmlElement::new("body").saying(" two\r\nlines & <tags> \u{e9} \u{4e16} \u{1f600} "))
            .containing(XmlElement::of("x", "jabber:x:data").containing(XmlElement::new("field")));
        let mut text = String::new();
        element.write("jabber:component:accept", &mut text);
        // Nothing around it says the namespace.
        let mut read =
            XmlElement::read(&text.replacen("<message", "<message xmlns='jabber:component:accept'", 1)).unwrap();
        assert_eq!(read.child("x").unwrap().child("field").unwrap().namespace, "jabber:x:data");
        read.children[0].namespace.clear();
        read.children[1].children[0].namespace.clear();
        assert_eq!(read, element);
    }

    #[test]
    fn forbidden_xml_is_refused() {
        for text in [
            "<a><!-- no --></a>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<a>&b;</a>",
            "<a><?php ?></a>",
            "<a><b></a></b>",
            "<a",
            "",
            "text<a/>",
            "<a>&#0;</a>",
            "<a b='\u{16}'/>",
        ] {
            assert!(XmlElement::read(text).is_err(), "{text}");
        }
        let deep = "<a>".repeat(XMPP_LEVELS_MAX + 1) + &"</a>".repeat(XMPP_LEVELS_MAX + 1);
        assert_eq!(XmlElement::read(&deep), Err(StanzaError::TooLarge("elements in elements")));
        let wide = format!("<a>{}</a>", "<b/>".repeat(XMPP_PARTS_MAX));
        assert_eq!(XmlElement::read(&wide), Err(StanzaError::TooLarge("elements and attributes")));
    }
}
