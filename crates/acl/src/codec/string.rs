//! FIPA ACL in string encoding (FIPA00070): `(inform :sender (agent-identifier :name a@b) :content "...")`.

use super::expression;
use super::parameters::{
    CarriedContent, IncomingParameters, Natively, OutgoingParameters, Parameter, Readers, agent_name,
    agent_parameter_name, performative, read_agent_name,
};
use super::{DecodeError, DecodeErrorKind, EncodeError, date};
use crate::limits::RESOLVER_DEPTH_MAX;
use crate::tokens::{FipaToken, FipaTokens, TokenKind, text_of, write_literal};
use crate::{AclMessage, Aid, Contact};

const NATIVELY: Natively = Natively { bytes: false, text: |_| true };

pub(super) fn encode(message: &AclMessage, readers: Readers) -> Result<Vec<u8>, EncodeError> {
    let outgoing = OutgoingParameters::of(message, NATIVELY, readers)?;
    let mut out = Vec::with_capacity(256);
    out.push(b'(');
    let act = message.performative.as_str();
    if expression::is_simple_word(act) {
        out.extend_from_slice(act.as_bytes())
    } else {
        write_literal(&mut out, act)
    }
    if let Some(sender) = outgoing.sender() {
        begin(&mut out, Parameter::Sender.name());
        write_agent(&mut out, sender, 0)?;
    }
    write_agents(&mut out, Parameter::Receiver, &message.receivers)?;
    write_agents(&mut out, Parameter::ReplyTo, &message.extras().reply_to)?;
    if let CarriedContent::Text(text) = &outgoing.content {
        begin(&mut out, Parameter::Content.name());
        write_literal(&mut out, text);
    }
    for (parameter, text) in outgoing.texts() {
        begin(&mut out, parameter.name());
        if expression::stands_bare(text) {
            out.extend_from_slice(text.as_bytes())
        } else {
            write_literal(&mut out, text)
        }
    }
    if let Some(time) = outgoing.reply_by()? {
        begin(&mut out, Parameter::ReplyBy.name());
        out.extend_from_slice(time.as_bytes());
    }
    for (name, value) in &outgoing.user {
        begin(&mut out, name);
        expression::write(&mut out, value, 0)?;
    }
    out.push(b')');
    Ok(out)
}

fn begin(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"\n :");
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
}

/// Writes a name or address, without quotes if possible.
fn write_word(out: &mut Vec<u8>, text: &str) {
    if expression::is_simple_word(text) { out.extend_from_slice(text.as_bytes()) } else { write_literal(out, text) }
}

//= fipa00070 2.2 AgentIdentifierSet
fn write_agents(out: &mut Vec<u8>, parameter: Parameter, agents: &[Aid]) -> Result<(), EncodeError> {
    if agents.is_empty() {
        return Ok(());
    }
    begin(out, parameter.name());
    out.extend_from_slice(b"(set");
    for agent in agents {
        out.push(b' ');
        write_agent(out, *agent, 0)?;
    }
    out.push(b')');
    Ok(())
}

//= fipa00070 2.2 AgentIdentifier
fn write_agent(out: &mut Vec<u8>, agent: Aid, depth: usize) -> Result<(), EncodeError> {
    if depth > RESOLVER_DEPTH_MAX {
        return Err(EncodeError::TooDeep { what: "resolvers", max: RESOLVER_DEPTH_MAX });
    }
    out.extend_from_slice(b"(agent-identifier :name ");
    write_word(out, &agent_name(agent)?);
    let contact = agent.contact();
    if !contact.addresses.is_empty() {
        out.extend_from_slice(b" :addresses (sequence");
        for address in &contact.addresses {
            out.push(b' ');
            write_word(out, address);
        }
        out.push(b')');
    }
    if !contact.resolvers.is_empty() {
        out.extend_from_slice(b" :resolvers (sequence");
        for resolver in &contact.resolvers {
            out.push(b' ');
            write_agent(out, *resolver, depth + 1)?;
        }
        out.push(b')');
    }
    for (name, value) in &contact.user {
        out.extend_from_slice(format!(" :{} ", agent_parameter_name(*name)?).as_bytes());
        expression::write(out, value, 0)?;
    }
    out.push(b')');
    Ok(())
}

//= fipa00070 2.2 Message
pub(super) fn decode(bytes: &[u8], arrival_ms: Option<u64>) -> Result<AclMessage, DecodeError> {
    let mut reader = StringReader { tokens: FipaTokens::of_document(bytes) };
    reader.open("`(`")?;
    let act = reader.word("a performative")?;
    let mut incoming = IncomingParameters::new(performative(&act), arrival_ms);
    loop {
        let token = reader.tokens.next()?;
        match token.kind {
            TokenKind::Close => break,
            TokenKind::Bare(keyword) if keyword.len() > 1 && keyword.starts_with(':') => {
                reader.parameter(&mut incoming, keyword.get(1..).unwrap_or_default(), token.at)?;
            }
            other => return Err(DecodeError::expected(token.at, "`:parameter` or `)`", other.describe())),
        }
    }
    let token = reader.tokens.next()?;
    match token.kind {
        TokenKind::End => incoming.finish(),
        _ => Err(DecodeError::new(token.at, DecodeErrorKind::Trailing)),
    }
}

struct StringReader<'a> {
    tokens: FipaTokens<'a>,
}

impl<'a> StringReader<'a> {
    fn open(&mut self, expected: &'static str) -> Result<usize, DecodeError> {
        let token = self.tokens.next()?;
        match token.kind {
            TokenKind::Open => Ok(token.at),
            other => Err(DecodeError::expected(token.at, expected, other.describe())),
        }
    }

    /// Returns a token that is text, however it is written.
    fn word(&mut self, expected: &'static str) -> Result<String, DecodeError> {
        let token = self.tokens.next()?;
        text_of(token, expected)
    }

    /// Returns the value's first token: a keyword in its place says that the value was left out.
    fn value(&mut self) -> Result<FipaToken<'a>, DecodeError> {
        let token = self.tokens.next()?;
        match token.kind {
            TokenKind::Bare(keyword) if keyword.starts_with(':') => {
                Err(DecodeError::expected(token.at, "a value", token.kind.describe()))
            }
            _ => Ok(token),
        }
    }

    fn parameter(&mut self, incoming: &mut IncomingParameters, name: &str, at: usize) -> Result<(), DecodeError> {
        let Some(parameter) = Parameter::named(name) else {
            let first = self.value()?;
            let value = expression::read(&mut self.tokens, first, 0)?;
            incoming.user(name, value);
            return Ok(());
        };
        incoming.begin(parameter, at)?;
        match parameter {
            Parameter::Sender => {
                let sender = self.agent(0)?;
                incoming.sender(sender);
            }
            Parameter::Receiver | Parameter::ReplyTo => incoming.agents(parameter, self.agents(0)?),
            Parameter::Content => incoming.content(self.content()?),
            Parameter::ReplyBy => {
                let first = self.value()?;
                let at = first.at;
                incoming.reply_by(date::read(&text_of(first, "a time")?, at)?, at)?;
            }
            _ => {
                let text = self.text()?;
                incoming.text(parameter, &text);
            }
        }
        Ok(())
    }

    /// Returns the text of an expression: a list is written out again.
    fn text(&mut self) -> Result<String, DecodeError> {
        let first = self.value()?;
        if first.kind != TokenKind::Open {
            return text_of(first, "an expression");
        }
        let at = first.at;
        let value = expression::read(&mut self.tokens, first, 0)?;
        expression::to_text(&value).map_err(|error| DecodeError::new(at, DecodeErrorKind::Syntax(error.to_string())))
    }

    /// The content is text; if it is bytes that are no text, bytes.
    //= fipa00070 2.2 MessageParameter
    fn content(&mut self) -> Result<crate::Value, DecodeError> {
        let token = self.value()?;
        match token.kind {
            TokenKind::Literal(text) => Ok(crate::Value::from(text.as_ref())),
            TokenKind::Bytes(bytes) => Ok(expression::bytes_value(bytes)),
            TokenKind::Bare(text) => Ok(crate::Value::from(text)),
            other => {
                let expected = "a string (content stands in quotes: :content \"(price 10)\")";
                Err(DecodeError::expected(token.at, expected, other.describe()))
            }
        }
    }

    /// A set or sequence of agent identifiers; one alone stands for a set of itself.
    //= fipa00070 2.2 AgentIdentifierSet
    fn agents(&mut self, depth: usize) -> Result<Vec<Aid>, DecodeError> {
        let at = self.open("`(set`")?;
        let head = self.word("`set`")?;
        if head.eq_ignore_ascii_case("agent-identifier") {
            return Ok(vec![self.agent_parameters(depth, at)?]);
        }
        if !["set", "sequence"].iter().any(|name| head.eq_ignore_ascii_case(name)) {
            return Err(DecodeError::expected(at, "`(set` of agent identifiers", format!("`({head}`")));
        }
        let mut agents = Vec::new();
        while self.tokens.peek()?.kind != TokenKind::Close {
            agents.push(self.agent(depth)?);
        }
        self.tokens.next()?;
        Ok(agents)
    }

    //= fipa00070 2.2 AgentIdentifier
    fn agent(&mut self, depth: usize) -> Result<Aid, DecodeError> {
        let at = self.open("`(agent-identifier`")?;
        let head = self.word("`agent-identifier`")?;
        // The name that the first version of the specification had for it.
        if head.eq_ignore_ascii_case("agent-identifier") || head.eq_ignore_ascii_case("aid") {
            return self.agent_parameters(depth, at);
        }
        Err(DecodeError::expected(at, "`(agent-identifier`", format!("`({head}`")))
    }

    /// Reads the rest of `(agent-identifier`, closing bracket included.
    fn agent_parameters(&mut self, depth: usize, start: usize) -> Result<Aid, DecodeError> {
        if depth > RESOLVER_DEPTH_MAX {
            return Err(DecodeError::too_deep(start, RESOLVER_DEPTH_MAX));
        }
        let mut name = None;
        let mut contact = Contact::default();
        loop {
            let token = self.tokens.next()?;
            let keyword = match token.kind {
                TokenKind::Close => break,
                TokenKind::Bare(keyword) => keyword,
                other => return Err(DecodeError::expected(token.at, "`:parameter` or `)`", other.describe())),
            };
            match keyword.to_ascii_lowercase().as_str() {
                ":name" => {
                    let token = self.tokens.next()?;
                    let at = token.at;
                    let text = text_of(token, "an agent's name")?;
                    let read = read_agent_name(&text);
                    name = Some(read.ok_or_else(|| DecodeError::expected(at, "an agent's name", format!("`{text}`")))?);
                }
                ":addresses" => contact.addresses = self.addresses()?,
                ":resolvers" => contact.resolvers = self.agents(depth + 1)?,
                ":" => return Err(DecodeError::expected(token.at, "`:parameter` or `)`", token.kind.describe())),
                // FIPA00070 has agents' further parameters without a colon, JADE with one.
                //= fipa00070 2.2 UserDefinedParameter
                _ => {
                    let first = self.value()?;
                    let value = expression::read(&mut self.tokens, first, 0)?;
                    contact.user.push((keyword.strip_prefix(':').unwrap_or(keyword).into(), value));
                }
            }
        }
        let name = name.ok_or_else(|| DecodeError::expected(start, ":name", "an agent identifier without it"))?;
        Ok(name.with_contact(contact))
    }

    //= fipa00070 2.2 URLSequence
    fn addresses(&mut self) -> Result<Vec<String>, DecodeError> {
        self.open("`(sequence`")?;
        self.word("`sequence`")?;
        let mut addresses = Vec::new();
        loop {
            let token = self.tokens.next()?;
            match token.kind {
                TokenKind::Close => return Ok(addresses),
                _ => addresses.push(text_of(token, "an address")?),
            }
        }
    }
}
