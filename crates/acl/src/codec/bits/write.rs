//! Messages to bits.

use super::table::{CodeEntry, CodeTable};
use super::{VERSION, digits, id, tag};
use crate::codec::expression::{ExpressionForm, json_head};
use crate::codec::parameters::{
    CarriedContent, Natively, OutgoingParameters, Parameter, Readers, agent_name, agent_parameter_name,
};
use crate::limits::RESOLVER_DEPTH_MAX;
use crate::tokens::{is_bare, write_literal};
use crate::{AclMessage, Aid, EncodeError, Performative, Value};

const NATIVELY: Natively = Natively { bytes: true, text: |text| !text.contains('\0') };

struct BitsWriter<'a> {
    out: Vec<u8>,
    table: Option<&'a mut CodeTable>,
    /// Growth of the table: true if new words and strings enter it.
    grows: bool,
}

//= fipa00069 2.2 Message
pub(super) fn message(message: &AclMessage, id: u8, table: Option<&mut CodeTable>) -> Result<Vec<u8>, EncodeError> {
    let outgoing = OutgoingParameters::of(message, NATIVELY, Readers::OurOwn)?;
    let mut writer = BitsWriter { out: Vec::with_capacity(128), table, grows: id == id::TABLE };
    writer.out.extend_from_slice(&[id, VERSION]);
    writer.performative(message.performative)?;
    if let Some(sender) = outgoing.sender() {
        writer.out.push(Parameter::Sender as u8);
        writer.agent(sender, 0)?;
    }
    writer.agents(Parameter::Receiver, &message.receivers)?;
    writer.agents(Parameter::ReplyTo, &message.extras().reply_to)?;
    for (parameter, text) in outgoing.texts() {
        writer.out.push(parameter as u8);
        match parameter {
            Parameter::Protocol => writer.word("the protocol", text)?,
            _ if is_bare(text) && !text.contains('\0') => writer.word("a parameter", text)?,
            _ => writer.string(text),
        }
    }
    if let Some(time) = outgoing.reply_by()? {
        writer.out.extend_from_slice(&[Parameter::ReplyBy as u8, tag::TIME_WITH_ZONE]);
        digits::write_time(&mut writer.out, &time);
        writer.out.push(b'Z');
    }
    for (name, value) in &outgoing.user {
        writer.out.push(tag::USER_DEFINED);
        writer.word("a parameter's name", name)?;
        writer.expression(value, 0)?;
    }
    writer.content(&outgoing.content);
    writer.out.push(tag::END);
    Ok(writer.out)
}

impl BitsWriter<'_> {
    //= fipa00069 2.2 MessageType
    fn performative(&mut self, performative: Performative) -> Result<(), EncodeError> {
        match Performative::FIPA.iter().position(|other| *other == performative) {
            Some(place) => self.out.push(place as u8 + 1),
            None => {
                self.out.push(tag::USER_DEFINED);
                self.word("the performative", performative.as_str())?;
            }
        }
        Ok(())
    }

    /// The content is neither looked up in the table nor added to it. Text is not quoted.
    //= fipa00069 2.4.9
    fn content(&mut self, content: &CarriedContent<'_>) {
        match content {
            CarriedContent::None => {}
            CarriedContent::Text(text) => {
                self.out.extend_from_slice(&[Parameter::Content as u8, tag::STRING]);
                self.out.extend_from_slice(text.as_bytes());
                self.out.push(0);
            }
            CarriedContent::Bytes(bytes) => {
                self.out.push(Parameter::Content as u8);
                self.byte_sequence(bytes);
            }
        }
    }

    //= fipa00069 2.2 AgentIdentifierCollection
    fn agents(&mut self, parameter: Parameter, agents: &[Aid]) -> Result<(), EncodeError> {
        if agents.is_empty() {
            return Ok(());
        }
        self.out.push(parameter as u8);
        for agent in agents {
            self.agent(*agent, 0)?;
        }
        self.out.push(tag::END);
        Ok(())
    }

    //= fipa00069 2.2 AgentIdentifier
    fn agent(&mut self, agent: Aid, depth: usize) -> Result<(), EncodeError> {
        if depth > RESOLVER_DEPTH_MAX {
            return Err(EncodeError::TooDeep { what: "resolvers", max: RESOLVER_DEPTH_MAX });
        }
        self.out.push(tag::AGENT);
        self.word("an agent's name", &agent_name(agent)?)?;
        let contact = agent.contact();
        if !contact.addresses.is_empty() {
            self.out.push(tag::ADDRESSES);
            for address in &contact.addresses {
                self.word("an address", address)?;
            }
            self.out.push(tag::END);
        }
        if !contact.resolvers.is_empty() {
            self.out.push(tag::RESOLVERS);
            for resolver in &contact.resolvers {
                self.agent(*resolver, depth + 1)?;
            }
            self.out.push(tag::END);
        }
        for (name, value) in &contact.user {
            self.out.push(tag::AGENT_PARAMETER);
            self.word("a parameter's name", agent_parameter_name(*name)?)?;
            self.expression(value, 0)?;
        }
        self.out.push(tag::END);
        Ok(())
    }

    //= fipa00069 2.2 BinWord
    fn word(&mut self, what: &'static str, word: &str) -> Result<(), EncodeError> {
        if word.contains('\0') {
            return Err(EncodeError::Character { what, character: '\0' });
        }
        self.coded(tag::WORD, tag::WORD_CODE, word.as_bytes());
        Ok(())
    }

    /// A string in quotes; one that these cannot carry by its length.
    //= fipa00069 2.2 BinString
    fn string(&mut self, text: &str) {
        if text.contains('\0') || text.ends_with('\\') {
            return self.bytes(text.as_bytes());
        }
        let mut quoted = Vec::with_capacity(text.len() + 2);
        write_literal(&mut quoted, text);
        self.coded(tag::STRING, tag::STRING_CODE, &quoted);
    }

    fn coded(&mut self, new: u8, known: u8, text: &[u8]) {
        if !self.known(known, false, text) {
            self.out.push(new);
            self.out.extend_from_slice(text);
            self.out.push(0);
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if !self.known(tag::BYTES_CODE, true, bytes) {
            self.byte_sequence(bytes);
        }
    }

    /// Writes the code of an entry, if it has one. If not, it may get one for the next time.
    fn known(&mut self, tag: u8, is_bytes: bool, text: &[u8]) -> bool {
        let Some(table) = &mut self.table else { return false };
        let entry = CodeEntry { is_bytes, text: text.into() };
        match table.code(&entry) {
            Some(code) => {
                self.out.push(tag);
                match table.has_short_codes() {
                    true => self.out.push(code as u8),
                    false => self.out.extend_from_slice(&code.to_be_bytes()),
                }
                true
            }
            None => {
                if self.grows {
                    table.insert(entry);
                }
                false
            }
        }
    }

    fn byte_sequence(&mut self, bytes: &[u8]) {
        if let Ok(length) = u8::try_from(bytes.len()) {
            self.out.extend_from_slice(&[tag::BYTES8, length]);
        } else if let Ok(length) = u16::try_from(bytes.len()) {
            self.out.push(tag::BYTES16);
            self.out.extend_from_slice(&length.to_be_bytes());
        } else {
            self.out.push(tag::BYTES32);
            // A message of 4 GiB is refused as too long.
            self.out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        }
        self.out.extend_from_slice(bytes);
    }

    //= fipa00069 2.2 BinExpression
    fn expression(&mut self, value: &Value, depth: usize) -> Result<(), EncodeError> {
        match ExpressionForm::of(value, depth)? {
            ExpressionForm::Bare(text) => self.word("a word", &text)?,
            ExpressionForm::Number(text) => {
                self.out.push(tag::NUMBER);
                digits::write(&mut self.out, &text);
            }
            ExpressionForm::Text(text) => self.string(text),
            ExpressionForm::List(list) => {
                self.out.push(tag::DOWN);
                for item in list.items() {
                    self.expression(item, depth + 1)?;
                }
                self.out.push(tag::UP);
            }
            ExpressionForm::Json(json) => {
                self.out.push(tag::DOWN);
                self.word("a word", json_head())?;
                self.string(&json);
                self.out.push(tag::UP);
            }
        }
        Ok(())
    }
}
