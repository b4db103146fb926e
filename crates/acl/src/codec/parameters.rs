//! Parameters of a message, as FIPA's three encodings share them: content values, and everything else that FIPA has
//! no notation for.
//!
//! FIPA's content is text, and text is written unchanged. Bytes are written where the encoding has bytes; elsewhere
//! as in JADE: Base64, marked by [`JADE_ENCODING`]. Any other value is written as SL if `:language` is one of SL's
//! and SL has an expression for the value; else as JSON. [`CONTENT_FORM`] names the form. `X-` parameters are written
//! as expressions. Parameters whose names no encoding can write go together as JSON in [`OTHER_PARAMETERS`].

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::date::{self, FipaTime};
use super::{DecodeError, DecodeErrorKind, EncodeError, json};
use crate::tokens::is_word;
use crate::{AclMessage, Aid, Extras, Performative, Symbol, Text, Value, sl};

/// Parameter by which JADE marks content that is bytes in Base64.
pub(super) const JADE_ENCODING: &str = "X-JADE-Encoding";
/// Parameter that marks content as a value, in one of the forms [`SL_FORM`], [`SL_EXPRESSION_FORM`], [`JSON_FORM`],
/// [`INTEGER_FORM`] or [`NUMBER_FORM`].
const CONTENT_FORM: &str = "X-whimbrel-content";
const SL_FORM: &str = "sl";
/// Form of one expression of SL; [`SL_FORM`] is a list of them.
const SL_EXPRESSION_FORM: &str = "sl-expression";
const JSON_FORM: &str = "json";
/// Forms of numbers for [other platforms](Readers::Anybody), as their digits.
const INTEGER_FORM: &str = "integer";
const NUMBER_FORM: &str = "number";
/// A list of pairs, as JSON: all further parameters, if the name of one cannot be written.
const OTHER_PARAMETERS: &str = "X-whimbrel-parameters";

/// With or without padding, as some writers leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The parameters of FIPA00061 but the performative, with the codes of the bit-efficient encoding.
//= fipa00061 table 1
//= fipa00069 2.2 PredefinedMsgParam
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Parameter {
    Sender = 2,
    Receiver,
    Content,
    ReplyWith,
    ReplyBy,
    InReplyTo,
    ReplyTo,
    Language,
    Encoding,
    Ontology,
    Protocol,
    ConversationId,
}

impl Parameter {
    /// All parameters, in the order of their codes.
    pub const ALL: [Self; 12] = [
        Self::Sender,
        Self::Receiver,
        Self::Content,
        Self::ReplyWith,
        Self::ReplyBy,
        Self::InReplyTo,
        Self::ReplyTo,
        Self::Language,
        Self::Encoding,
        Self::Ontology,
        Self::Protocol,
        Self::ConversationId,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Content => "content",
            Self::ReplyWith => "reply-with",
            Self::ReplyBy => "reply-by",
            Self::InReplyTo => "in-reply-to",
            Self::ReplyTo => "reply-to",
            Self::Language => "language",
            Self::Encoding => "encoding",
            Self::Ontology => "ontology",
            Self::Protocol => "protocol",
            Self::ConversationId => "conversation-id",
        }
    }

    /// Returns the parameter of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| parameter.name().eq_ignore_ascii_case(name))
    }

    /// Returns the parameter with this code.
    pub fn coded(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| *parameter as u8 == code)
    }
}

/// Readers of an encoded message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    /// Programs that know all forms of content.
    OurOwn,
    /// Other platforms too: content should mean something to them.
    Anybody,
}

/// Kinds of content that an encoding can write by itself.
#[derive(Clone, Copy)]
pub(super) struct Natively {
    /// True if the encoding has bytes.
    pub bytes: bool,
    /// Predicate of the texts that the encoding can write.
    pub text: fn(&str) -> bool,
}

/// The content as FIPA's encodings carry it.
pub(super) enum CarriedContent<'a> {
    None,
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

/// A message's parameters, ready to be written.
pub(super) struct OutgoingParameters<'a> {
    message: &'a AclMessage,
    pub content: CarriedContent<'a>,
    /// Names (with their `X-`) and values.
    pub user: Vec<(Cow<'a, str>, Cow<'a, Value>)>,
}

impl<'a> OutgoingParameters<'a> {
    pub fn of(message: &'a AclMessage, natively: Natively, readers: Readers) -> Result<Self, EncodeError> {
        let extras = message.extras();
        let mut user: Vec<(Cow<'a, str>, Cow<'a, Value>)> = Vec::new();
        if extras.user.iter().all(|(name, _)| is_user_name(name.as_str())) {
            user.extend(extras.user.iter().map(|(name, value)| (name.as_str().into(), Cow::Borrowed(value))));
        } else {
            let pairs =
                extras.user.iter().map(|(name, value)| Value::list([Value::from(name.as_str()), value.clone()]));
            let json = json::value_to_string(&Value::list(pairs.collect::<Vec<_>>()))?;
            user.push((OTHER_PARAMETERS.into(), Cow::Owned(Value::from(json))));
        }
        let mut outgoing = Self { message, content: CarriedContent::None, user };
        outgoing.write_content(natively, readers)?;
        Ok(outgoing)
    }

    fn write_content(&mut self, natively: Natively, readers: Readers) -> Result<(), EncodeError> {
        match &self.message.content {
            Value::Null => {}
            Value::Str(text) if (natively.text)(text) => self.content = CarriedContent::Text(Cow::Borrowed(text)),
            Value::Bytes(bytes) if natively.bytes => self.content = CarriedContent::Bytes(bytes),
            Value::Bytes(bytes) => {
                self.content = CarriedContent::Text(BASE64.encode(&**bytes).into());
                self.mark(JADE_ENCODING, "Base64");
            }
            Value::Int(number) if readers == Readers::Anybody => {
                self.content = CarriedContent::Text(number.to_string().into());
                self.mark(CONTENT_FORM, INTEGER_FORM);
            }
            Value::Num(number) if readers == Readers::Anybody && number.is_finite() => {
                self.content = CarriedContent::Text(number.to_string().into());
                self.mark(CONTENT_FORM, NUMBER_FORM);
            }
            value => match sl_text(value, self.message.extras().language).filter(|(text, _)| (natively.text)(text)) {
                Some((text, form)) => {
                    self.content = CarriedContent::Text(text.into());
                    self.mark(CONTENT_FORM, form);
                }
                None => {
                    self.content = CarriedContent::Text(json::value_to_string(value)?.into());
                    self.mark(CONTENT_FORM, JSON_FORM);
                }
            },
        }
        Ok(())
    }

    fn mark(&mut self, name: &'static str, form: &'static str) {
        self.user.push((name.into(), Cow::Owned(Value::atom(form))));
    }

    /// Returns the parameters that are texts, in the order they are written in.
    pub fn texts(&self) -> impl Iterator<Item = (Parameter, &'a str)> + use<'a> {
        let extras = self.message.extras();
        let symbols = [
            (Parameter::Language, extras.language),
            (Parameter::Encoding, extras.encoding),
            (Parameter::Ontology, extras.ontology),
            (Parameter::Protocol, extras.protocol),
        ];
        let texts = [
            (Parameter::ConversationId, &extras.conversation_id),
            (Parameter::ReplyWith, &extras.reply_with),
            (Parameter::InReplyTo, &extras.in_reply_to),
        ];
        let symbols = symbols.into_iter().filter_map(|(parameter, name)| Some((parameter, name?.as_str())));
        symbols.chain(texts.into_iter().filter_map(|(parameter, text)| Some((parameter, text.as_deref()?))))
    }

    /// Returns `:reply-by` in FIPA's notation.
    pub fn reply_by(&self) -> Result<Option<String>, EncodeError> {
        let write = |ms| date::write(ms).ok_or(EncodeError::Time(ms));
        self.message.extras().reply_by_ms.map(write).transpose()
    }

    /// Returns the sender, or `None` if the message has none.
    pub fn sender(&self) -> Option<Aid> {
        (self.message.sender != Aid::NOBODY).then_some(self.message.sender)
    }
}

/// Checks whether every encoding can write a parameter of this name, and reads it as no other.
fn is_user_name(name: &str) -> bool {
    let reserved = [JADE_ENCODING, CONTENT_FORM, OTHER_PARAMETERS];
    is_word(name)
        && !name.starts_with(':')
        && name.bytes().all(|byte| byte.is_ascii_graphic())
        && Parameter::named(name).is_none()
        && !reserved.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// Encodes a value as SL, if SL has it without loss. Also returns its form there.
fn sl_text(value: &Value, language: Option<Symbol>) -> Option<(String, &'static str)> {
    let profile = sl::Profile::of_language(language?.as_str())?;
    let text = sl::value_to_text(value, profile).ok()?;
    let form = if value.is_list() { SL_FORM } else { SL_EXPRESSION_FORM };
    let read = read_sl(&text, form, profile).ok()?;
    // Equality takes 1 and 1.0 for the same.
    (read == *value && format!("{read:?}") == format!("{value:?}")).then_some((text, form))
}

fn read_sl(text: &str, form: &str, profile: sl::Profile) -> Result<Value, DecodeError> {
    let list = sl::text_to_value(text, profile)?;
    match (form, list.items().next()) {
        (SL_EXPRESSION_FORM, Some(first)) => Ok(first.clone()),
        _ => Ok(list),
    }
}

/// Returns an agent's name as one text. An empty platform is said by a closing `@` if the name itself holds an `@`.
pub(super) fn agent_name(agent: Aid) -> Result<String, EncodeError> {
    let name = match agent.platform == crate::sym::EMPTY && agent.name.as_str().contains('@') {
        true => format!("{agent}@"),
        false => agent.to_string(),
    };
    match read_agent_name(&name) {
        Some(read) if read == agent => Ok(name),
        _ => Err(EncodeError::AgentName(name)),
    }
}

/// Returns the name of a parameter of an agent identifier beyond FIPA's, if it can be written.
pub(super) fn agent_parameter_name(name: Symbol) -> Result<&'static str, EncodeError> {
    let reserved =
        ["name", "addresses", "resolvers"].iter().any(|reserved| reserved.eq_ignore_ascii_case(name.as_str()));
    let writable = is_word(name.as_str()) && name.as_str().bytes().all(|byte| byte.is_ascii_graphic()) && !reserved;
    writable.then(|| name.as_str()).ok_or_else(|| EncodeError::ParameterName(name.as_str().to_owned()))
}

/// Returns the agent of this name; `None` if it is no name.
pub(super) fn read_agent_name(name: &str) -> Option<Aid> {
    match name.strip_suffix('@') {
        Some(local) if local.contains('@') => Some(Aid::local(local)),
        _ => name.parse().ok(),
    }
}

/// Returns the performative of this name: FIPA's in any case, else as it is written.
pub(super) fn performative(name: &str) -> Performative {
    name.parse().unwrap_or_else(|_| Performative::named(Symbol::new(name)))
}

/// A message as it is read, parameter by parameter.
pub(super) struct IncomingParameters {
    arrival_ms: Option<u64>,
    seen: u16,
    message: AclMessage,
    extras: Extras,
}

impl IncomingParameters {
    pub fn new(performative: Performative, arrival_ms: Option<u64>) -> Self {
        let message = AclMessage {
            performative,
            sender: Aid::NOBODY,
            receivers: smallvec::SmallVec::new(),
            content: Value::Null,
            extras: None,
        };
        Self { arrival_ms, seen: 0, message, extras: Extras::default() }
    }

    /// Notes that this parameter comes now.
    pub fn begin(&mut self, parameter: Parameter, at: usize) -> Result<(), DecodeError> {
        let bit = 1 << parameter as u8;
        if self.seen & bit != 0 {
            return Err(DecodeError::new(at, DecodeErrorKind::Repeated(parameter.name())));
        }
        self.seen |= bit;
        Ok(())
    }

    pub fn sender(&mut self, sender: Aid) {
        self.message.sender = sender;
    }

    pub fn agents(&mut self, parameter: Parameter, agents: Vec<Aid>) {
        match parameter {
            Parameter::ReplyTo => self.extras.reply_to = agents.into(),
            _ => self.message.receivers = agents.into(),
        }
    }

    /// Adds agents to those before, for encodings that name them one by one.
    pub fn more_agents(&mut self, parameter: Parameter, agents: Vec<Aid>) {
        match parameter {
            Parameter::ReplyTo => self.extras.reply_to.extend(agents),
            _ => self.message.receivers.extend(agents),
        }
    }

    pub fn text(&mut self, parameter: Parameter, text: &str) {
        let extras = &mut self.extras;
        match parameter {
            Parameter::Language => extras.language = Some(text.into()),
            Parameter::Encoding => extras.encoding = Some(text.into()),
            Parameter::Ontology => extras.ontology = Some(text.into()),
            Parameter::Protocol => extras.protocol = Some(text.into()),
            Parameter::ConversationId => extras.conversation_id = Some(Text::from(text)),
            Parameter::ReplyWith => extras.reply_with = Some(Text::from(text)),
            _ => extras.in_reply_to = Some(Text::from(text)),
        }
    }

    pub fn reply_by(&mut self, time: FipaTime, at: usize) -> Result<(), DecodeError> {
        let unknown = || DecodeError::new(at, DecodeErrorKind::RelativeTime);
        self.extras.reply_by_ms = Some(time.resolve(self.arrival_ms).ok_or_else(unknown)?);
        Ok(())
    }

    pub fn content(&mut self, content: Value) {
        self.message.content = content;
    }

    pub fn user(&mut self, name: &str, value: Value) {
        self.extras.user.push((Symbol::new(name), value));
    }

    /// Builds the message: decodes content and parameters from their carried forms.
    pub fn finish(mut self) -> Result<AclMessage, DecodeError> {
        if let Some(form) = self.take_mark(CONTENT_FORM) {
            self.message.content = self.read_value(&form)?;
        } else if let Some(bytes) = self.base64_content() {
            self.take_mark(JADE_ENCODING);
            self.message.content = Value::from(bytes);
        }
        // Last, so that a parameter in there is never taken for one of the above.
        if let Some(json) = self.take_mark(OTHER_PARAMETERS) {
            let pairs = json::value_from_str(&json).map_err(carried)?;
            self.extras.user.extend(read_pairs(&pairs).ok_or_else(|| carried("a list of pairs was expected"))?);
        }
        if self.extras != Extras::default() {
            self.message.extras = Some(Box::new(self.extras));
        }
        Ok(self.message)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.extras.user.iter().position(|(other, _)| other.as_str().eq_ignore_ascii_case(name))
    }

    /// Takes out a parameter that is text.
    fn take_mark(&mut self, name: &str) -> Option<String> {
        let place = self.find(name)?;
        let (_, value) = self.extras.user.remove(place);
        Some(value.as_str().unwrap_or_default().to_owned())
    }

    fn read_value(&self, form: &str) -> Result<Value, DecodeError> {
        let text = self.message.content.as_str().unwrap_or_default();
        if matches!(form, SL_FORM | SL_EXPRESSION_FORM) {
            let language = self.extras.language.map_or("", Symbol::as_str);
            let profile = sl::Profile::of_language(language).unwrap_or(sl::Profile::Sl);
            return read_sl(text, form, profile).map_err(carried);
        }
        match form {
            JSON_FORM => json::value_from_str(text).map_err(carried),
            INTEGER_FORM => text.parse().map(Value::Int).map_err(carried),
            NUMBER_FORM => text.parse().map(Value::Num).map_err(carried),
            other => Err(carried(format!("content of the unknown form {other:?}"))),
        }
    }

    /// Returns the content's bytes, if it is Base64 and said to be.
    fn base64_content(&self) -> Option<Vec<u8>> {
        let (_, encoding) = self.extras.user.get(self.find(JADE_ENCODING)?)?;
        let is_base64 = encoding.as_str().is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"));
        let Value::Str(text) = &self.message.content else { return None };
        let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        is_base64.then(|| BASE64.decode(digits).ok()).flatten()
    }
}

fn carried(why: impl std::fmt::Display) -> DecodeError {
    DecodeError::new(0, DecodeErrorKind::Carried(why.to_string()))
}

fn read_pairs(pairs: &Value) -> Option<Vec<(Symbol, Value)>> {
    let pair = |pair: &Value| {
        let mut parts = pair.items();
        let (name, value) = (parts.next()?, parts.next()?);
        parts.next().is_none().then(|| Some((Symbol::new(name.as_str()?), value.clone())))?
    };
    pairs.is_list().then(|| pairs.items().map(pair).collect())?
}
