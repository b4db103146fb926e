//! POST from another platform, and the checks before its message reaches an agent.

use whimbrel_acl::codec::envelope;
use whimbrel_acl::{AclMessage, Aid, DecodeError, Encoding, Envelope, MessageBody, NameAllowance, Symbol};
use whimbrel_acl::{TransportEnvelope, sym};

use super::multipart::{MultipartError, read_multipart};
use super::{HomePlatform, Multipart};

/// Message from another platform, for agents of this one.
#[derive(Clone, Debug)]
pub struct ArrivedPost {
    /// One copy for each receiver here.
    pub messages: Vec<Envelope>,
    /// Sender, and agents that answers go to, with their addresses.
    pub correspondents: Vec<Aid>,
    /// Encoding that the other platform wrote, and so reads.
    pub encoding: Encoding,
}

/// Reason why a POST is refused. Its sender is told by the answer; a platform that gets any answer but 200 tells its
/// agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostRefusal {
    /// Body without two parts.
    #[error(transparent)]
    Body(#[from] MultipartError),
    /// Envelope that cannot be read.
    #[error("cannot read the envelope: {0}")]
    Envelope(DecodeError),
    /// Message that cannot be read.
    #[error("cannot read the message as {0}: {1}")]
    Message(Encoding, DecodeError),
    /// Unknown representation.
    #[error("cannot read {0}: send fipa.acl.rep.string.std, fipa.acl.rep.xml.std or fipa.acl.rep.bitefficient.std")]
    Representation(String),
    /// Character set that is neither UTF-8 nor one of its subsets, nor Latin-1.
    #[error("cannot read text in {0}: send UTF-8")]
    Charset(String),
    /// Receivers of other platforms only.
    #[error("no receiver is an agent of {platform}: this platform passes no messages on")]
    NotOurs {
        /// Name of this platform.
        platform: Symbol,
    },
    /// Sender that claims to be an agent of this platform, or no sender.
    #[error("the sender {0} is no agent of another platform")]
    Forged(Aid),
    /// Message that passed this platform before.
    #[error("the message has passed {0} before")]
    Loop(String),
    /// Names beyond the allowance.
    #[error("too many new names from this address: try again later, or use fewer names")]
    Names,
    /// Too many receivers.
    #[error("a message has {0} receivers: send it to fewer")]
    Receivers(usize),
}

/// Reads a POST that arrived at this moment (milliseconds since 1970-01-01 UTC). The thread should have a
/// [`NameAllowance`].
///
/// # Errors
/// The POST is refused: it cannot be read, or is not for this platform.
//= fipa00067 2.5
pub fn read_post(
    home: &HomePlatform,
    content_type: &str,
    body: &[u8],
    arrival_ms: u64,
) -> Result<ArrivedPost, PostRefusal> {
    let parts = read_multipart(content_type, body)?;
    let envelope = envelope::decode(parts.envelope).map_err(PostRefusal::Envelope)?;
    if envelope.has_passed(&home.address) {
        return Err(PostRefusal::Loop(home.address.clone()));
    }
    let encoding = encoding_of(&envelope, parts.payload)?;
    let message = read_message(&parts, &envelope, encoding, arrival_ms)?;
    let arrived = checked(home, &envelope, message, encoding);
    if NameAllowance::is_refused() { Err(PostRefusal::Names) } else { arrived }
}

fn encoding_of(envelope: &TransportEnvelope, payload: &[u8]) -> Result<Encoding, PostRefusal> {
    let said = envelope.acl_representation;
    let known = match said {
        sym::EMPTY => Encoding::detect(payload),
        said => said.as_str().parse().ok(),
    };
    let readable = |encoding: &Encoding| matches!(encoding, Encoding::String | Encoding::Xml | Encoding::BitEfficient);
    known.filter(readable).ok_or_else(|| PostRefusal::Representation(said.to_string()))
}

fn read_message(
    parts: &Multipart<'_>,
    envelope: &TransportEnvelope,
    encoding: Encoding,
    arrival_ms: u64,
) -> Result<AclMessage, PostRefusal> {
    let refused = |error| PostRefusal::Message(encoding, error);
    if encoding == Encoding::BitEfficient {
        return encoding.decode_at(parts.payload, arrival_ms).map_err(refused);
    }
    let charset = envelope.payload_encoding.map(Symbol::as_str).or(parts.charset.as_deref());
    let text = text_of(parts.payload, charset)?;
    encoding.decode_at(text.as_deref().map_or(parts.payload, str::as_bytes), arrival_ms).map_err(refused)
}

/// Returns the text of a payload, if it is not UTF-8 already. A platform that names no character set writes its
/// machine's.
fn text_of(payload: &[u8], charset: Option<&str>) -> Result<Option<String>, PostRefusal> {
    let latin = || payload.iter().copied().map(char::from).collect::<String>();
    let is_utf8 = std::str::from_utf8(payload).is_ok();
    let Some(charset) = charset else { return Ok((!is_utf8).then(latin)) };
    match charset.trim().to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" | "" => Ok((!is_utf8).then(latin)),
        "iso-8859-1" | "iso8859_1" | "iso8859-1" | "latin1" | "windows-1252" | "cp1252" => Ok(Some(latin())),
        other => Err(PostRefusal::Charset(other.chars().take(40).collect())),
    }
}

/// Checks who wrote to whom.
fn checked(
    home: &HomePlatform,
    envelope: &TransportEnvelope,
    mut message: AclMessage,
    encoding: Encoding,
) -> Result<ArrivedPost, PostRefusal> {
    if let Some(count) = message.excess_receivers() {
        return Err(PostRefusal::Receivers(count));
    }
    if message.sender == Aid::NOBODY {
        message.sender = envelope.from.unwrap_or(Aid::NOBODY);
    }
    if home.has(message.sender) {
        return Err(PostRefusal::Forged(message.sender));
    }
    let mut to: Vec<Aid> = Vec::new();
    for receiver in envelope.receivers() {
        let local = Aid::local(receiver.name);
        if receiver.platform == home.name && !to.contains(&local) {
            to.push(local);
        }
    }
    if to.is_empty() {
        return Err(PostRefusal::NotOurs { platform: home.name });
    }
    // Programs know agents of other platforms by one name, which counts as the stranger's.
    let _ = Symbol::new(&message.sender.to_string());
    for agent in message.receivers.iter_mut().chain(message.extras.iter_mut().flat_map(|it| it.reply_to.iter_mut())) {
        if agent.platform == home.name {
            *agent = Aid::local(agent.name);
        }
    }
    let answered = message.extras().reply_to.iter().copied();
    let correspondents = answered.chain([message.sender]).filter(|agent| !home.has(*agent)).collect();
    let body = MessageBody::Owned(Box::new(message)).weighed();
    let messages = match to.as_slice() {
        [only] => vec![Envelope { to: *only, body }],
        several => {
            let body = body.for_many();
            several.iter().map(|to| Envelope { to: *to, body: body.clone() }).collect()
        }
    };
    Ok(ArrivedPost { messages, correspondents, encoding })
}
