//! Frames as bytes: JSON for people and scripts, compact for all others. Both say the same.
//!
//! A frame is the content of a WebSocket message; over TCP four bytes precede it. Its first byte tells its form.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use whimbrel_acl::compact::{self, Decoder, Encoder, Limits, LinkLimits};
use whimbrel_acl::{AclMessage, Encoding, MessageBody, Symbol};

use super::frames::{HelloFrame, MessageFrame, SessionFrame};
use crate::limits::{
    SESSION_HELLO_BYTES_MAX, SESSION_MESSAGE_BUDGET_BYTES, SESSION_MESSAGE_BUDGET_TIMES, SESSION_REMEMBER_MAX,
};
use crate::link::{take_number, write_number};

/// Longest text, in bytes, that compact messages may refer to by number.
const REMEMBERED_BYTES: usize = 1024;

/// Form of frames on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// JSON objects.
    Json,
    /// Kind and fields in order.
    Compact,
}

impl Framing {
    /// Returns the form of frames that begin like this one.
    pub fn of(frame: &[u8]) -> Self {
        if frame.first() == Some(&b'{') { Self::Json } else { Self::Compact }
    }
}

/// Reason why bytes are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// No bytes.
    #[error("an empty frame")]
    Empty,
    /// Frame in another form than the hello.
    #[error("frame in another form than the hello")]
    OtherFraming,
    /// Unknown kind.
    #[error("a frame of the unknown kind {0}")]
    UnknownKind(String),
    /// First frame that is no hello.
    #[error("the first frame must be hello, not {0}")]
    NoHello(String),
    /// Fields that do not match the kind.
    #[error("frame cannot be read: {0}")]
    Content(String),
    /// Malformed compact message: what follows cannot be read either.
    #[error("a message that cannot be read: {0}")]
    Message(String),
    /// Hello that is too long.
    #[error("a hello of {0} bytes: at most {SESSION_HELLO_BYTES_MAX}")]
    LongHello(usize),
}

/// Reason why a message cannot be written. The connection continues as if it had not been tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameWriteError {
    /// Message longer than the other end takes.
    #[error(
        "a message of {bytes} bytes: at most {bytes_max} (the node's --session-message-bytes, and message_bytes of the hello)"
    )]
    TooLong {
        /// Length of the message.
        bytes: usize,
        /// Length that was granted.
        bytes_max: usize,
    },
    /// Message that this form cannot express.
    #[error("{0}")]
    Unwritable(String),
}

/// Bytes of a frame's kind that an error repeats.
const KIND_SHOWN_BYTES_MAX: usize = 40;

/// Returns the kind of a frame, shortened for an error.
fn shown_kind(kind: &str) -> String {
    let cut = kind.get(..kind.floor_char_boundary(KIND_SHOWN_BYTES_MAX)).unwrap_or_default();
    if cut.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) { cut.to_owned() } else { format!("{cut:?}") }
}

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const ACK: u8 = 3;
const CREATE: u8 = 4;
const CREATED: u8 = 5;
const END: u8 = 6;
const ENDED: u8 = 7;
const MESSAGE: u8 = 8;
const REFUSED: u8 = 9;
const ERROR: u8 = 10;
const BYE: u8 = 11;
const CERTIFY: u8 = 12;
const CERTIFIED: u8 = 13;
const KEEP: u8 = 14;
const SAVE: u8 = 15;
const SAVED: u8 = 16;
const STATE: u8 = 17;
const LACKS: u8 = 18;
const CODE: u8 = 19;
const YIELD: u8 = 20;
const OFFER: u8 = 21;
const STAYS: u8 = 22;
const CHALLENGE: u8 = 23;
const PROOF: u8 = 24;
const OPEN: u8 = 25;

fn remembering(remember: u32) -> LinkLimits {
    match remember.min(SESSION_REMEMBER_MAX) {
        0 => LinkLimits::NONE,
        items => LinkLimits { items, item_bytes: REMEMBERED_BYTES },
    }
}

/// Reader of the frames of one direction of a connection, in order.
pub struct FrameReader {
    framing: Framing,
    decoder: Decoder,
    name_bytes: u64,
}

impl FrameReader {
    /// Returns a reader for this form of frames, with the memory of agents and texts that the welcome granted.
    pub fn new(framing: Framing, remember: u32) -> Self {
        Self::of_messages(framing, remember, 0)
    }

    /// Returns a reader as [`Self::new`] does, with memory for messages of this many bytes.
    pub fn of_messages(framing: Framing, remember: u32, message_bytes_max: usize) -> Self {
        let budget = (message_bytes_max * SESSION_MESSAGE_BUDGET_TIMES).max(SESSION_MESSAGE_BUDGET_BYTES);
        let limits = Limits::MESSAGE.with_budget_bytes(budget);
        Self { framing, decoder: Decoder::new(limits, remembering(remember)), name_bytes: 0 }
    }

    /// Returns the bytes of names that are new to this process, since the last call. They stay as long as the process.
    pub fn take_name_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.name_bytes)
    }

    /// Reads the hello of a connection.
    ///
    /// # Errors
    /// The bytes are no hello. Nothing of them is remembered.
    pub fn read_hello(bytes: &[u8]) -> Result<(Framing, HelloFrame), ReadError> {
        if bytes.len() > SESSION_HELLO_BYTES_MAX {
            return Err(ReadError::LongHello(bytes.len()));
        }
        let framing = Framing::of(bytes);
        match framing {
            Framing::Json => match kind_of(bytes)?.as_ref() {
                "hello" => Ok((framing, from_json(bytes)?)),
                other => Err(ReadError::NoHello(shown_kind(other))),
            },
            Framing::Compact => match bytes.split_first() {
                // Fields of later versions follow those that are read here.
                Some((&HELLO, fields)) => compact_hello(fields).map(|(hello, _)| (framing, hello)),
                Some((other, _)) => Err(ReadError::NoHello(format!("of kind {other}"))),
                None => Err(ReadError::Empty),
            },
        }
    }

    /// Reads a frame from all of these bytes.
    ///
    /// # Errors
    /// The bytes are no frame: nothing more should be read from this connection.
    pub fn read(&mut self, bytes: &[u8]) -> Result<SessionFrame, ReadError> {
        if bytes.is_empty() {
            return Err(ReadError::Empty);
        }
        if Framing::of(bytes) != self.framing {
            return Err(ReadError::OtherFraming);
        }
        let before = Symbol::bytes_made_here();
        let frame = match self.framing {
            Framing::Json => read_json(bytes),
            Framing::Compact => self.read_compact(bytes),
        };
        self.name_bytes += Symbol::bytes_made_here() - before;
        frame
    }

    fn read_compact(&mut self, bytes: &[u8]) -> Result<SessionFrame, ReadError> {
        let (kind, mut fields) = bytes.split_first().ok_or(ReadError::Empty)?;
        Ok(match *kind {
            HELLO => match compact_hello(fields)? {
                (hello, true) => SessionFrame::Hello(hello),
                _ => return Err(more_than_its_fields()),
            },
            WELCOME => SessionFrame::Welcome(whole(fields)?),
            ACK => SessionFrame::Ack(whole(fields)?),
            CREATE => SessionFrame::Create(whole(fields)?),
            CREATED => SessionFrame::Created(whole(fields)?),
            END => SessionFrame::End(whole(fields)?),
            ENDED => SessionFrame::Ended(whole(fields)?),
            MESSAGE => {
                let number = take_number(&mut fields).map_err(|error| ReadError::Content(error.to_string()))?;
                let agent = take_number(&mut fields).map_err(|error| ReadError::Content(error.to_string()))?;
                let message =
                    self.decoder.decode_message(fields).map_err(|error| ReadError::Message(error.to_string()))?;
                let agent = u32::try_from(agent).unwrap_or(u32::MAX);
                SessionFrame::Message(MessageFrame { number, agent, message: MessageBody::Owned(Box::new(message)) })
            }
            REFUSED => SessionFrame::Refused(whole(fields)?),
            ERROR => SessionFrame::Error(whole(fields)?),
            BYE if fields.is_empty() => SessionFrame::Bye,
            CERTIFY => SessionFrame::Certify(whole(fields)?),
            CERTIFIED => SessionFrame::Certified(whole(fields)?),
            KEEP => SessionFrame::Keep(whole(fields)?),
            SAVE => SessionFrame::Save(whole(fields)?),
            SAVED => SessionFrame::Saved(whole(fields)?),
            STATE => SessionFrame::State(whole(fields)?),
            LACKS => SessionFrame::Lacks(whole(fields)?),
            CODE => SessionFrame::Code(whole(fields)?),
            YIELD => SessionFrame::Yield(whole(fields)?),
            OFFER => SessionFrame::Offer(whole(fields)?),
            STAYS => SessionFrame::Stays(whole(fields)?),
            CHALLENGE => SessionFrame::Challenge(whole(fields)?),
            PROOF => SessionFrame::Proof(whole(fields)?),
            OPEN => SessionFrame::Open(whole(fields)?),
            other => return Err(ReadError::UnknownKind(other.to_string())),
        })
    }
}

fn more_than_its_fields() -> ReadError {
    ReadError::Content("more than its fields".to_owned())
}

/// Number of fields that were added to the hello later: trailing ones are left out if they are empty.
const LATER_HELLO_FIELDS: usize = 4;

/// Reads a hello. Returns true with it if nothing follows.
fn compact_hello(fields: &[u8]) -> Result<(HelloFrame, bool), ReadError> {
    let mut fields = fields.to_vec();
    let mut missing = 0;
    loop {
        match postcard::take_from_bytes(&fields) {
            // An empty field is written as 0.
            Err(postcard::Error::DeserializeUnexpectedEnd) if missing < LATER_HELLO_FIELDS => fields.push(0),
            Err(error) => return Err(ReadError::Content(error.to_string())),
            Ok((hello, rest)) => return Ok((hello, rest.is_empty())),
        }
        missing += 1;
    }
}

/// Writes a hello up to the last field that is not empty.
fn write_compact_hello(hello: &HelloFrame, out: &mut Vec<u8>) {
    let early = HelloFrame { moves: false, certificate: None, attempt: None, follows: false, ..hello.clone() };
    let later: [(bool, Vec<u8>); LATER_HELLO_FIELDS] = [
        (hello.moves, vec![u8::from(hello.moves)]),
        (hello.certificate.is_some(), postcard::to_stdvec(&hello.certificate).unwrap_or_default()),
        (hello.attempt.is_some(), postcard::to_stdvec(&hello.attempt).unwrap_or_default()),
        (hello.follows, vec![u8::from(hello.follows)]),
    ];
    out.push(HELLO);
    out.extend(postcard::to_stdvec(&early).unwrap_or_default());
    let count = later.iter().rposition(|(is_said, _)| *is_said).map_or(0, |last| last + 1);
    later.iter().take(count).for_each(|(_, field)| out.extend(field));
}

/// Reads fields that take all of `bytes`.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    match postcard::take_from_bytes(bytes) {
        Ok((fields, [])) => Ok(fields),
        Ok(_) => Err(more_than_its_fields()),
        Err(error) => Err(ReadError::Content(error.to_string())),
    }
}

#[derive(Deserialize)]
struct KindField<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct JsonMessage<'a> {
    number: u64,
    agent: u32,
    #[serde(borrow)]
    message: &'a RawValue,
}

fn from_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| ReadError::Content(error.to_string()))
}

fn kind_of(bytes: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    from_json::<KindField<'_>>(bytes).map(|kind| kind.kind)
}

fn read_json(bytes: &[u8]) -> Result<SessionFrame, ReadError> {
    Ok(match kind_of(bytes)?.as_ref() {
        "hello" => SessionFrame::Hello(from_json(bytes)?),
        "welcome" => SessionFrame::Welcome(from_json(bytes)?),
        "ack" => SessionFrame::Ack(from_json(bytes)?),
        "create" => SessionFrame::Create(from_json(bytes)?),
        "created" => SessionFrame::Created(from_json(bytes)?),
        "end" => SessionFrame::End(from_json(bytes)?),
        "ended" => SessionFrame::Ended(from_json(bytes)?),
        "message" => {
            let JsonMessage { number, agent, message } = from_json(bytes)?;
            match Encoding::Json.decode(message.get().as_bytes()) {
                Ok(message) => SessionFrame::Message(MessageFrame {
                    number,
                    agent,
                    message: MessageBody::Owned(Box::new(message)),
                }),
                Err(error) => SessionFrame::Unreadable { number, why: error.to_string() },
            }
        }
        "refused" => SessionFrame::Refused(from_json(bytes)?),
        "error" => SessionFrame::Error(from_json(bytes)?),
        "bye" => SessionFrame::Bye,
        "certify" => SessionFrame::Certify(from_json(bytes)?),
        "certified" => SessionFrame::Certified(from_json(bytes)?),
        "keep" => SessionFrame::Keep(from_json(bytes)?),
        "save" => SessionFrame::Save(from_json(bytes)?),
        "saved" => SessionFrame::Saved(from_json(bytes)?),
        "state" => SessionFrame::State(from_json(bytes)?),
        "lacks" => SessionFrame::Lacks(from_json(bytes)?),
        "code" => SessionFrame::Code(from_json(bytes)?),
        "yield" => SessionFrame::Yield(from_json(bytes)?),
        "offer" => SessionFrame::Offer(from_json(bytes)?),
        "stays" => SessionFrame::Stays(from_json(bytes)?),
        "challenge" => SessionFrame::Challenge(from_json(bytes)?),
        "proof" => SessionFrame::Proof(from_json(bytes)?),
        "open" => SessionFrame::Open(from_json(bytes)?),
        other => return Err(ReadError::UnknownKind(format!("{other:?}"))),
    })
}

/// Writer of the frames of one direction of a connection, in order.
pub struct FrameWriter {
    framing: Framing,
    remember: u32,
    encoder: Encoder,
    message_bytes_max: usize,
    scratch: Vec<u8>,
}

impl FrameWriter {
    /// Returns a writer for a connection whose other end takes messages of this many bytes.
    pub fn new(framing: Framing, remember: u32, message_bytes_max: usize) -> Self {
        let encoder = Encoder::new(remembering(remember));
        Self { framing, remember, encoder, message_bytes_max, scratch: Vec::new() }
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// The frame holds a message that cannot be written: then nothing was.
    pub fn write(&mut self, frame: &SessionFrame, out: &mut Vec<u8>) -> Result<(), FrameWriteError> {
        match frame {
            SessionFrame::Hello(hello) if self.framing == Framing::Compact => write_compact_hello(hello, out),
            SessionFrame::Hello(hello) => self.fields(HELLO, "hello", hello, out),
            SessionFrame::Welcome(welcome) => self.fields(WELCOME, "welcome", welcome, out),
            SessionFrame::Ack(ack) => self.fields(ACK, "ack", ack, out),
            SessionFrame::Create(create) => self.fields(CREATE, "create", create, out),
            SessionFrame::Created(created) => self.fields(CREATED, "created", created, out),
            SessionFrame::End(end) => self.fields(END, "end", end, out),
            SessionFrame::Ended(ended) => self.fields(ENDED, "ended", ended, out),
            SessionFrame::Message(message) => return self.message(message, out),
            SessionFrame::Unreadable { number, .. } => {
                let nothing = FrameWriteError::Unwritable(format!("frame {number} holds nothing"));
                return Err(nothing);
            }
            SessionFrame::Refused(refused) => self.fields(REFUSED, "refused", refused, out),
            SessionFrame::Certify(certify) => self.fields(CERTIFY, "certify", certify, out),
            SessionFrame::Certified(certified) => self.fields(CERTIFIED, "certified", certified, out),
            SessionFrame::Keep(keep) => self.fields(KEEP, "keep", keep, out),
            SessionFrame::Save(save) => self.fields(SAVE, "save", save, out),
            SessionFrame::Saved(saved) => self.fields(SAVED, "saved", saved, out),
            SessionFrame::State(state) => self.fields(STATE, "state", state, out),
            SessionFrame::Lacks(lacks) => self.fields(LACKS, "lacks", lacks, out),
            SessionFrame::Code(part) => self.fields(CODE, "code", part, out),
            SessionFrame::Yield(wish) => self.fields(YIELD, "yield", wish, out),
            SessionFrame::Offer(offer) => self.fields(OFFER, "offer", offer, out),
            SessionFrame::Stays(stays) => self.fields(STAYS, "stays", stays, out),
            SessionFrame::Challenge(challenge) => self.fields(CHALLENGE, "challenge", challenge, out),
            SessionFrame::Proof(proof) => self.fields(PROOF, "proof", proof, out),
            SessionFrame::Open(open) => self.fields(OPEN, "open", open, out),
            SessionFrame::Error(fault) => self.fields(ERROR, "error", fault, out),
            SessionFrame::Bye => match self.framing {
                Framing::Json => out.extend_from_slice(br#"{"type":"bye"}"#),
                Framing::Compact => out.push(BYE),
            },
        }
        Ok(())
    }

    fn fields<T: Serialize>(&self, kind: u8, name: &'static str, fields: &T, out: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            #[serde(rename = "type")]
            kind: &'static str,
            #[serde(flatten)]
            fields: &'a T,
        }
        // Plain data can always be written.
        match self.framing {
            Framing::Json => {
                out.extend(serde_json::to_vec(&Tagged { kind: name, fields }).unwrap_or_default());
            }
            Framing::Compact => {
                out.push(kind);
                out.extend(postcard::to_stdvec(fields).unwrap_or_default());
            }
        }
    }

    fn message(&mut self, frame: &MessageFrame, out: &mut Vec<u8>) -> Result<(), FrameWriteError> {
        let MessageFrame { number, agent, message } = frame;
        match self.framing {
            Framing::Json => {
                let json =
                    Encoding::Json.encode(message).map_err(|error| FrameWriteError::Unwritable(error.to_string()))?;
                self.check_length(json.len())?;
                let head = format!(r#"{{"type":"message","number":{number},"agent":{agent},"message":"#);
                out.extend_from_slice(head.as_bytes());
                out.extend_from_slice(&json);
                out.push(b'}');
            }
            Framing::Compact => {
                self.encode_alone(message)?;
                out.push(MESSAGE);
                write_number(*number, out);
                write_number(u64::from(*agent), out);
                if self.remember == 0 {
                    out.extend_from_slice(self.scratch.get(1..).unwrap_or_default());
                } else {
                    // The message was encoded by itself already, so this cannot fail.
                    let _ = self.encoder.encode_message(message, out);
                }
            }
        }
        Ok(())
    }

    /// Writes a message into the scratch buffer by itself, to see if it can be written. References to earlier messages
    /// could not be taken back.
    fn encode_alone(&mut self, message: &AclMessage) -> Result<(), FrameWriteError> {
        self.scratch.clear();
        compact::encode_message(message, &mut self.scratch)
            .map_err(|error| FrameWriteError::Unwritable(error.to_string()))?;
        self.check_length(self.scratch.len() - 1)
    }

    fn check_length(&self, bytes: usize) -> Result<(), FrameWriteError> {
        let bytes_max = self.message_bytes_max;
        if bytes > bytes_max { Err(FrameWriteError::TooLong { bytes, bytes_max }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Aid, Performative, Value};

    use super::super::frames::{AckFrame, ErrorFrame};
    use super::super::{Create, ErrorCode};
    use super::*;

    fn message(content: Value) -> SessionFrame {
        let message = AclMessage::new(Performative::Inform, Aid::local("bob"), Aid::local("amy"), content);
        SessionFrame::Message(MessageFrame { number: 7, agent: 3, message: MessageBody::Owned(Box::new(message)) })
    }

    fn written(writer: &mut FrameWriter, frame: &SessionFrame) -> Vec<u8> {
        let mut out = Vec::new();
        writer.write(frame, &mut out).unwrap();
        out
    }

    #[test]
    fn json_frame_has_its_type() {
        let mut writer = FrameWriter::new(Framing::Json, 0, 1000);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ack = SessionFrame::Ack(AckFrame { received: 3, credit: Some(9) });
        assert_eq!(text(written(&mut writer, &ack)), r#"{"type":"ack","received":3,"credit":9}"#);
        let expected = r#"{"type":"message","number":7,"agent":3,"message":{"performative":"inform","sender":"bob","receivers":["amy"],"content":"hi"}}"#;
        assert_eq!(text(written(&mut writer, &message("hi".into()))), expected);
        let fault = SessionFrame::Error(ErrorFrame::new(ErrorCode::TooManyNames, "no"));
        assert_eq!(text(written(&mut writer, &fault)), r#"{"type":"error","code":"too-many-names","text":"no"}"#);
    }

    #[test]
    fn repeated_message_is_short() {
        let (mut writer, mut reader) =
            (FrameWriter::new(Framing::Compact, 64, 1000), FrameReader::new(Framing::Compact, 64));
        let frame = message(Value::term("temperature", [Value::Int(20)]));
        let first = written(&mut writer, &frame);
        let second = written(&mut writer, &frame);
        assert!(second.len() + 10 < first.len() && second.len() <= 16, "{} then {}", first.len(), second.len());
        for bytes in [first, second] {
            let Ok(SessionFrame::Message(read)) = reader.read(&bytes) else { panic!("no message") };
            assert_eq!(read.message.content.to_string(), "temperature(20)");
        }
    }

    #[test]
    fn overlong_message_leaves_no_trace() {
        for framing in [Framing::Json, Framing::Compact] {
            let (mut writer, mut reader) = (FrameWriter::new(framing, 64, 100), FrameReader::new(framing, 64));
            let mut out = b"before".to_vec();
            let long = message(Value::from("x".repeat(101)));
            assert!(matches!(writer.write(&long, &mut out), Err(FrameWriteError::TooLong { bytes_max: 100, .. })));
            let deep = message((0..200).fold(Value::Nil, |inner, _| Value::list([inner])));
            assert!(writer.write(&deep, &mut out).is_err());
            assert_eq!(out, b"before");
            let bytes = written(&mut writer, &message(Value::Int(1)));
            assert!(matches!(reader.read(&bytes), Ok(SessionFrame::Message(_))), "the two still understand each other");
        }
    }

    #[test]
    fn new_names_are_counted() {
        let read = |reader: &mut FrameReader, name: &str| {
            let content = format!(r#"{{"term":"{name}","args":[]}}"#);
            let head = r#"{"type":"message","number":1,"agent":0,"message":{"performative":"inform","receivers":["amy"],"content":"#;
            reader.read(format!("{head}{content}}}}}").as_bytes()).unwrap();
            reader.take_name_bytes()
        };
        let mut reader = FrameReader::new(Framing::Json, 0);
        read(&mut reader, "session_known");
        assert_eq!(read(&mut reader, "session_known"), 0);
        let long = "session_new".repeat(100);
        assert!(read(&mut reader, &long) > 1_100);
        assert_eq!(read(&mut reader, &long), 0);
        let addressed = r#"{"type":"message","number":1,"agent":0,"message":{"performative":"inform","receivers":[{"name":"amy","addresses":["http://session.new/acc"]}]}}"#;
        reader.read(addressed.as_bytes()).unwrap();
        assert!(reader.take_name_bytes() > 20, "addresses stay, too");
    }

    #[test]
    fn frame_in_other_form_is_refused() {
        let create = SessionFrame::Create(Create { number: 1, agent: 0, name: "bob".into() });
        let json = written(&mut FrameWriter::new(Framing::Json, 0, 10), &create);
        let compact = written(&mut FrameWriter::new(Framing::Compact, 0, 10), &create);
        let read = |framing, bytes: &[u8]| FrameReader::new(framing, 0).read(bytes).map(|_| ());
        assert_eq!(read(Framing::Compact, &json), Err(ReadError::OtherFraming));
        assert_eq!(read(Framing::Json, &compact), Err(ReadError::OtherFraming));
    }

    #[test]
    fn only_hello_allows_trailing_fields() {
        let certificate = Some("PEM".into());
        let hello = HelloFrame {
            versions: vec![1, 2],
            token: Some("t".into()),
            moves: true,
            certificate,
            ..HelloFrame::default()
        };
        let counted = HelloFrame { attempt: Some(2), follows: true, ..hello.clone() };
        for framing in [Framing::Json, Framing::Compact] {
            let mut bytes = written(&mut FrameWriter::new(framing, 0, 10), &SessionFrame::Hello(counted.clone()));
            if framing == Framing::Compact {
                bytes.extend([1, 2, 3]);
            }
            assert_eq!(FrameReader::read_hello(&bytes), Ok((framing, counted.clone())));
        }
        for (moves, certificate) in [(true, hello.certificate.clone()), (false, None)] {
            let third = HelloFrame { moves, certificate, attempt: Some(3), ..hello.clone() };
            let bytes = written(&mut FrameWriter::new(Framing::Compact, 0, 10), &SessionFrame::Hello(third.clone()));
            assert_eq!(FrameReader::read_hello(&bytes), Ok((Framing::Compact, third)));
        }
        let follower = HelloFrame { follows: true, ..HelloFrame::default() };
        let bytes = written(&mut FrameWriter::new(Framing::Compact, 0, 10), &SessionFrame::Hello(follower.clone()));
        assert_eq!((bytes.last(), FrameReader::read_hello(&bytes)), (Some(&1), Ok((Framing::Compact, follower))));
        let unmoved = HelloFrame { moves: false, ..hello.clone() };
        let bytes = written(&mut FrameWriter::new(Framing::Compact, 0, 10), &SessionFrame::Hello(unmoved.clone()));
        assert_eq!(FrameReader::read_hello(&bytes), Ok((Framing::Compact, unmoved)));
        let uncertified = HelloFrame { certificate: None, ..hello.clone() };
        let bytes = written(&mut FrameWriter::new(Framing::Compact, 0, 10), &SessionFrame::Hello(uncertified.clone()));
        assert_eq!((bytes.last(), FrameReader::read_hello(&bytes)), (Some(&1), Ok((Framing::Compact, uncertified))));
        let earlier = HelloFrame { moves: false, certificate: None, ..hello };
        let mut bytes = written(&mut FrameWriter::new(Framing::Compact, 0, 10), &SessionFrame::Hello(earlier.clone()));
        assert_eq!(FrameReader::read_hello(&bytes), Ok((Framing::Compact, earlier)), "who does not know of moves");
        bytes.pop();
        assert!(FrameReader::read_hello(&bytes).is_err(), "one field more is missing");
        let long = vec![b'{'; SESSION_HELLO_BYTES_MAX + 1];
        assert_eq!(FrameReader::read_hello(&long), Err(ReadError::LongHello(long.len())));
        assert!(FrameReader::read_hello(br#"{"type":"ack","received":1}"#).is_err());
        assert!(FrameReader::read_hello(&[3, 1, 0]).is_err() && FrameReader::read_hello(&[]).is_err());
    }
}
