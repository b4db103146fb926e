//! Bits to messages.

use std::sync::Arc;

use super::digits::{self, TIME_BYTES};
use super::table::{CodeEntry, CodeTable};
use super::{VERSION, VERSION_SWAPPED, id, tag};
use crate::codec::error::Byte;
use crate::codec::expression::{bare_value, bytes_value, list_value, to_text};
use crate::codec::parameters::{IncomingParameters, Parameter, performative, read_agent_name};
use crate::codec::{DecodeErrorKind, date};
use crate::limits::{
    CODE_TABLE_BYTES_MAX, EXPANSION_BYTES_MIN, EXPANSION_MAX, EXPRESSION_DEPTH_MAX, RESOLVER_DEPTH_MAX,
};
use crate::tokens::{FipaTokens, TokenKind, utf8};
use crate::{AclMessage, Aid, Contact, DecodeError, Performative, Value};

struct BitsReader<'a> {
    bytes: &'a [u8],
    at: usize,
    table: Option<&'a mut CodeTable>,
    /// Growth of the table: true if new words and strings enter it.
    grows: bool,
    /// Bytes that codes may still stand for.
    expansion_left: usize,
}

//= fipa00069 2.2 Message
pub(super) fn message(
    bytes: &[u8],
    arrival_ms: Option<u64>,
    table: Option<&mut CodeTable>,
) -> Result<AclMessage, DecodeError> {
    let expansion_left = bytes.len().saturating_mul(EXPANSION_MAX).max(EXPANSION_BYTES_MIN);
    let mut reader = BitsReader { bytes, at: 0, table, grows: false, expansion_left };
    reader.header()?;
    let mut incoming = IncomingParameters::new(reader.performative()?, arrival_ms);
    loop {
        let at = reader.at;
        match reader.byte("the parameters")? {
            tag::END => break,
            tag::USER_DEFINED => {
                let name = reader.word("a parameter's name")?;
                incoming.user(&name, reader.expression()?);
            }
            code => reader.parameter(&mut incoming, code, at)?,
        }
    }
    if reader.at < bytes.len() {
        return Err(DecodeError::new(reader.at, DecodeErrorKind::Trailing));
    }
    incoming.finish()
}

impl<'a> BitsReader<'a> {
    fn byte(&mut self, within: &'static str) -> Result<u8, DecodeError> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or(DecodeError::new(self.bytes.len(), DecodeErrorKind::Truncated(within)))
    }

    fn take(&mut self, count: usize, within: &'static str) -> Result<&'a [u8], DecodeError> {
        let taken = self.at.checked_add(count).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(DecodeError::new(self.bytes.len(), DecodeErrorKind::Truncated(within)))?;
        self.at += count;
        Ok(taken)
    }

    /// Reads a number of up to four bytes, the highest first.
    fn integer(&mut self, count: usize, within: &'static str) -> Result<usize, DecodeError> {
        Ok(self.take(count, within)?.iter().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    }

    /// Returns the error for the byte that was just read.
    fn unexpected(&self, expected: &'static str, byte: u8) -> DecodeError {
        DecodeError::expected(self.at.saturating_sub(1), expected, Byte(byte).to_string())
    }

    fn header(&mut self) -> Result<(), DecodeError> {
        match self.byte("the header")? {
            id::PLAIN => {}
            id::TABLE | id::FIXED_TABLE if self.table.is_none() => {
                return Err(DecodeError::new(0, DecodeErrorKind::NeedsCodeTable));
            }
            id::TABLE => self.grows = true,
            id::FIXED_TABLE => {}
            other => return Err(self.unexpected("0xfa, 0xfb or 0xfc", other)),
        }
        match self.byte("the header")? {
            VERSION | VERSION_SWAPPED => Ok(()),
            other => Err(DecodeError::new(1, DecodeErrorKind::Version(other))),
        }
    }

    //= fipa00069 2.2 MessageType
    fn performative(&mut self) -> Result<Performative, DecodeError> {
        let code = self.byte("the performative")?;
        if code == tag::USER_DEFINED {
            return Ok(performative(&self.word("a performative")?));
        }
        let known = Performative::FIPA.get(usize::from(code).wrapping_sub(1)).copied();
        known.ok_or_else(|| self.unexpected("a performative (0x00 to 0x16)", code))
    }

    fn parameter(&mut self, incoming: &mut IncomingParameters, code: u8, at: usize) -> Result<(), DecodeError> {
        let parameter = Parameter::coded(code).ok_or_else(|| self.unexpected("a parameter (0x00 to 0x0d)", code))?;
        incoming.begin(parameter, at)?;
        match parameter {
            Parameter::Sender => incoming.sender(self.one_agent()?),
            Parameter::Receiver | Parameter::ReplyTo => incoming.agents(parameter, self.agents(0)?),
            Parameter::Content => incoming.content(self.content()?),
            Parameter::ReplyBy => {
                let at = self.at;
                let time = self.time()?;
                incoming.reply_by(time, at)?;
            }
            _ => {
                let text = self.text()?;
                incoming.text(parameter, &text);
            }
        }
        Ok(())
    }

    /// Returns an expression where text is wanted. Words and strings are their text; they are many and need not be
    /// interned.
    fn text(&mut self) -> Result<String, DecodeError> {
        let at = self.at;
        let code = self.bytes.get(at).copied();
        if let Some(code @ (tag::WORD | tag::WORD_CODE | tag::STRING | tag::STRING_CODE)) = code {
            self.at += 1;
            let item = self.item(code)?;
            let text = utf8(&item.text, at + 1)?;
            return Ok(if is_word(code, text) { text.to_owned() } else { unquoted(text) });
        }
        let value = self.expression()?;
        match &value {
            Value::Bool(_) | Value::Int(_) | Value::Num(_) => Ok(value.to_string()),
            _ => to_text(&value).map_err(|error| DecodeError::new(at, DecodeErrorKind::Syntax(error.to_string()))),
        }
    }

    fn one_agent(&mut self) -> Result<Aid, DecodeError> {
        match self.byte("an agent identifier")? {
            tag::AGENT => self.agent(0),
            other => Err(self.unexpected("an agent identifier (0x02)", other)),
        }
    }

    //= fipa00069 2.2 AgentIdentifierCollection
    fn agents(&mut self, depth: usize) -> Result<Vec<Aid>, DecodeError> {
        let mut agents = Vec::new();
        loop {
            match self.byte("agent identifiers")? {
                tag::END => return Ok(agents),
                tag::AGENT => agents.push(self.agent(depth)?),
                other => return Err(self.unexpected("an agent identifier (0x02) or the end (0x01)", other)),
            }
        }
    }

    /// Reads an agent identifier after its first byte.
    //= fipa00069 2.2 AgentIdentifier
    fn agent(&mut self, depth: usize) -> Result<Aid, DecodeError> {
        if depth > RESOLVER_DEPTH_MAX {
            return Err(DecodeError::too_deep(self.at, RESOLVER_DEPTH_MAX));
        }
        let at = self.at;
        let name = self.word("an agent's name")?;
        let aid = read_agent_name(&name).ok_or_else(|| DecodeError::expected(at, "an agent's name", name))?;
        let mut contact = Contact::default();
        loop {
            match self.byte("an agent identifier")? {
                tag::END => return Ok(aid.with_contact(contact)),
                tag::ADDRESSES => contact.addresses = self.addresses()?,
                tag::RESOLVERS => contact.resolvers = self.agents(depth + 1)?,
                tag::AGENT_PARAMETER => {
                    let name = self.word("a parameter's name")?;
                    contact.user.push((name.as_str().into(), self.expression()?));
                }
                other => return Err(self.unexpected("addresses, resolvers, a parameter or the end", other)),
            }
        }
    }

    fn addresses(&mut self) -> Result<Vec<String>, DecodeError> {
        let mut addresses = Vec::new();
        while self.bytes.get(self.at) != Some(&tag::END) {
            addresses.push(self.word("an address")?);
        }
        self.at += 1;
        Ok(addresses)
    }

    /// A word, which others write as a string now and then.
    //= fipa00069 2.2 BinWord
    fn word(&mut self, expected: &'static str) -> Result<String, DecodeError> {
        let at = self.at;
        let item = match self.byte(expected)? {
            code @ (tag::WORD | tag::WORD_CODE | tag::STRING | tag::STRING_CODE) => self.item(code)?,
            other => return Err(self.unexpected(expected, other)),
        };
        Ok(utf8(&item.text, at + 1)?.to_owned())
    }

    /// Text stands as it is, not in quotes. Bytes are bytes.
    //= fipa00069 2.4.9
    fn content(&mut self) -> Result<Value, DecodeError> {
        let at = self.at;
        let grows = std::mem::replace(&mut self.grows, false);
        let item = match self.byte("the content")? {
            code @ (tag::STRING..=tag::BYTES_CODE | tag::BYTES32) => self.item(code)?,
            other => return Err(self.unexpected("a string", other)),
        };
        self.grows = grows;
        match item.is_bytes {
            true => Ok(Value::from(&*item.text)),
            false => Ok(Value::from(utf8(&item.text, at + 1)?)),
        }
    }

    /// Reads a word or string after its first byte.
    fn item(&mut self, code: u8) -> Result<CodeEntry, DecodeError> {
        let is_bytes = matches!(code, tag::BYTES8 | tag::BYTES16 | tag::BYTES32 | tag::BYTES_CODE);
        let text = match code {
            tag::WORD_CODE | tag::STRING_CODE | tag::BYTES_CODE => return self.known(),
            tag::BYTES8 => self.byte_sequence(1)?,
            tag::BYTES16 => self.byte_sequence(2)?,
            tag::BYTES32 => self.byte_sequence(4)?,
            _ => self.until_zero()?,
        };
        let entry = CodeEntry { is_bytes, text: Arc::from(text) };
        if let (Some(table), true) = (&mut self.table, self.grows) {
            if table.bytes() + text.len() > CODE_TABLE_BYTES_MAX {
                let kind = DecodeErrorKind::TooLong { what: "a code table", max: CODE_TABLE_BYTES_MAX };
                return Err(DecodeError::new(self.at, kind));
            }
            table.insert(entry.clone());
        }
        Ok(entry)
    }

    fn byte_sequence(&mut self, length_bytes: usize) -> Result<&'a [u8], DecodeError> {
        let length = self.integer(length_bytes, "a string's length")?;
        self.take(length, "a byte-length-encoded string")
    }

    fn until_zero(&mut self) -> Result<&'a [u8], DecodeError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let text = self.take(length, "a string")?;
        self.byte("a string")?;
        Ok(text)
    }

    fn known(&mut self) -> Result<CodeEntry, DecodeError> {
        let at = self.at;
        let short = self.table.as_ref().is_none_or(|table| table.has_short_codes());
        // At most two bytes.
        let code = self.integer(if short { 1 } else { 2 }, "a code")? as u16;
        let Some(table) = &mut self.table else {
            return Err(DecodeError::new(at, DecodeErrorKind::NeedsCodeTable));
        };
        let entry = table.entry(code).ok_or(DecodeError::new(at, DecodeErrorKind::UnknownCode(code)))?;
        match self.expansion_left.checked_sub(entry.text.len()) {
            Some(left) => self.expansion_left = left,
            None => {
                let kind = DecodeErrorKind::TooLong { what: "texts from the code table", max: EXPANSION_BYTES_MIN };
                return Err(DecodeError::new(at, kind));
            }
        }
        Ok(entry)
    }

    /// An expression, read without recursion: brackets and items are bits of the same byte.
    //= fipa00069 2.2 BinExpression
    fn expression(&mut self) -> Result<Value, DecodeError> {
        let mut open: Vec<(usize, Vec<Value>)> = Vec::new();
        loop {
            let at = self.at;
            let byte = self.byte("an expression")?;
            let item = match byte {
                0x40..=0x5f => {
                    let Some((start, items)) = open.pop() else {
                        return Err(self.unexpected("an expression", byte));
                    };
                    let list = list_value(items, start)?;
                    match (open.last_mut(), byte & 0x1f) {
                        (Some((_, outer)), _) => outer.push(list),
                        (None, 0) => return Ok(list),
                        (None, _) => return Err(self.unexpected("the end of an expression (0x40)", byte)),
                    }
                    byte & 0x1f
                }
                0x60..=0x7f if open.len() >= EXPRESSION_DEPTH_MAX => {
                    return Err(DecodeError::too_deep(at, EXPRESSION_DEPTH_MAX));
                }
                0x60..=0x7f => {
                    open.push((at, Vec::new()));
                    byte & 0x1f
                }
                tag::STRING_FOLLOWS if open.is_empty() => self.byte("an expression")?,
                // Some write nothing at all for an empty string.
                0 if open.is_empty() => return Ok(Value::from("")),
                other => other,
            };
            // A bracket alone.
            if item == 0 && byte >= tag::UP {
                continue;
            }
            // With a bracket, the codes of the last two are the other way round.
            let item = match item {
                0x18 if byte >= tag::UP && byte != tag::STRING_FOLLOWS => tag::BYTES32,
                0x19 if byte >= tag::UP && byte != tag::STRING_FOLLOWS => tag::BYTES_CODE,
                item => item,
            };
            let value = self.expression_item(item)?;
            match open.last_mut() {
                Some((_, items)) => items.push(value),
                None => return Ok(value),
            }
        }
    }

    fn expression_item(&mut self, code: u8) -> Result<Value, DecodeError> {
        let at = self.at;
        match code {
            tag::NUMBER | tag::HEX_NUMBER => {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                let wrong = || DecodeError::expected(at, "a number", "something else");
                let (text, length) = digits::read(rest).ok_or_else(wrong)?;
                self.at += length;
                Ok(bare_value(&text))
            }
            tag::WORD..=tag::BYTES32 => {
                let entry = self.item(code)?;
                if entry.is_bytes {
                    return Ok(bytes_value(&entry.text));
                }
                let text = utf8(&entry.text, at)?;
                Ok(if is_word(code, text) { Value::atom(text) } else { Value::from(unquoted(text).as_str()) })
            }
            other => Err(self.unexpected("an expression", other)),
        }
    }

    //= fipa00069 2.2 BinDateTimeToken
    fn time(&mut self) -> Result<date::FipaTime, DecodeError> {
        let at = self.at;
        let code = self.byte("a time")?;
        let sign = match code.wrapping_sub(tag::TIME) {
            0 | 4 => "",
            1 | 5 => "+",
            2 | 6 => "-",
            _ => return Err(self.unexpected("a time (0x20 to 0x26)", code)),
        };
        let bytes: [u8; TIME_BYTES] = self.take(TIME_BYTES, "a time")?.try_into().unwrap_or_default();
        let wrong = || DecodeError::new(at, DecodeErrorKind::Time(format!("{bytes:02x?}")));
        let mut text = format!("{sign}{}", digits::read_time(&bytes).ok_or_else(wrong)?);
        if code >= tag::TIME_WITH_ZONE {
            text.push(char::from(self.byte("a time")?));
        }
        date::read(&text, at)
    }
}

/// Returns true for a word, and false for a string. JADE stores both as one kind in its table; no word begins with a
/// quote.
fn is_word(code: u8, text: &str) -> bool {
    matches!(code, tag::WORD | tag::WORD_CODE) && !text.starts_with('"')
}

/// Returns a string's text; in an expression it stands in quotes, but not everyone writes them.
fn unquoted(text: &str) -> String {
    let mut tokens = FipaTokens::new(text.as_bytes());
    match (tokens.next().map(|token| token.kind), tokens.next().map(|token| (token.kind, token.at))) {
        (Ok(TokenKind::Literal(inner)), Ok((TokenKind::End, end))) if text.starts_with('"') && text.ends_with('"') => {
            debug_assert_eq!(end, text.len());
            inner.into_owned()
        }
        _ => text.to_owned(),
    }
}
