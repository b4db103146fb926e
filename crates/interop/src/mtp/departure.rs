//! POST to another platform: the message as its reader knows it, and its envelope.

use whimbrel_acl::codec::envelope;
use whimbrel_acl::{
    AclMessage, Aid, EncodeError, Encoding, Envelope, Performative, Received, TransportEnvelope, Value, sl, sym,
};

use super::multipart::write_multipart;
use super::{HomePlatform, TRANSPORT};
use crate::kqml::fipa_of;

/// Body of a POST, with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostBody {
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Body.
    pub bytes: Vec<u8>,
}

/// Writes the POST of a message at this moment (milliseconds since 1970-01-01 UTC).
///
/// Agents of this platform get its name and address. KQML's performatives become FIPA's with the same meaning. Content
/// that is neither text, bytes nor a number gets SL for its language, if it has none and SL can express it.
///
/// # Errors
/// The message exceeds a limit, or contains a part that the encoding cannot write.
pub fn write_post(
    home: &HomePlatform,
    message: &Envelope,
    encoding: Encoding,
    date_ms: u64,
) -> Result<PostBody, EncodeError> {
    let outward = outward(home, &message.body);
    let payload = encoding.encode_for_others(&outward)?;
    let mut envelope = TransportEnvelope::of(&outward, encoding.representation(), date_ms);
    envelope.intended_receivers = vec![home.outward(message.to)];
    envelope.payload_length = Some(payload.len() as u64);
    envelope.payload_encoding = Some("UTF-8".into());
    let stamp = Received { by: home.address.clone(), date_ms, via: Some(TRANSPORT.to_owned()), ..Received::default() };
    envelope.received.push(stamp);
    let (content_type, bytes) = write_multipart(&envelope::encode(&envelope)?, &payload, encoding.representation());
    Ok(PostBody { content_type, bytes })
}

/// Returns a message as other platforms read it.
fn outward(home: &HomePlatform, message: &AclMessage) -> AclMessage {
    let mut message = message.clone();
    message.sender = home.outward(message.sender);
    message.receivers.iter_mut().for_each(|agent| *agent = home.outward(*agent));
    if let Some(extras) = &mut message.extras {
        extras.reply_to.iter_mut().for_each(|agent| *agent = home.outward(*agent));
    }
    if let Some(failure) = failure_of_ams(home, &message) {
        message.content = Value::from(failure);
        message.extras_mut().language = Some(sl::Profile::Sl.language().into());
    }
    message.performative = fipa_of(message.performative);
    let is_text = matches!(message.content, Value::Null | Value::Str(_) | Value::Bytes(_));
    if !is_text && message.extras().language.is_none() && is_sl(&message.content) {
        message.extras_mut().language = Some(sl::Profile::Sl.language().into());
    }
    message
}

fn is_sl(content: &Value) -> bool {
    sl::value_to_text(content, sl::Profile::Sl).is_ok()
}

/// Returns the content of the `failure` that tells a stranger that its message did not arrive, as FIPA's message
/// transport says it: `((action AMS (..)) (MTS-error RECEIVER (internal-error REASON)))`. `None` for other messages.
//= fipa00023 6.3.5
fn failure_of_ams(home: &HomePlatform, message: &AclMessage) -> Option<String> {
    let is_failure = message.performative == Performative::Failure && message.sender.name == sym::AMS;
    if !is_failure || !home.has(message.sender) {
        return None;
    }
    let mut items = message.content.items();
    let (action, undelivered) = (items.next()?, items.next()?);
    let named = |value: &Value, name: &str| value.functor().is_some_and(|functor| functor.as_str() == name);
    let (sending, [receiver, reason]) = (action.args().get(1)?, undelivered.args()) else { return None };
    if !named(action, "action") || !named(undelivered, "undelivered") || !named(sending, "send") {
        return None;
    }
    let receiver: Aid = receiver.as_str()?.parse().ok()?;
    let (sender, receiver) = (identifier(home, message.sender), identifier(home, receiver));
    let act = sending.args().get(1).and_then(Value::as_str).unwrap_or("inform");
    let reason = quoted(&format!("the message was not delivered: {}", reason.as_str().unwrap_or("unreachable")));
    Some(format!(
        "((action {sender} (ACLMessage :performative {} :receiver (set {receiver}))) (MTS-error {receiver} (internal-error {reason})))",
        quoted(act)
    ))
}

fn identifier(home: &HomePlatform, agent: Aid) -> String {
    let agent = home.outward(agent);
    let addresses: Vec<String> = agent.contact().addresses.iter().map(|address| quoted(address)).collect();
    let addresses = match addresses.is_empty() {
        true => String::new(),
        false => format!(" :addresses (sequence {})", addresses.join(" ")),
    };
    format!("(agent-identifier :name {}{addresses})", quoted(&agent.to_string()))
}

/// Returns a text as SL writes it, in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// Returns a word of SL: bare, or in quotes where it must be.
pub(super) fn word(text: &str) -> String {
    let is_bare = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if is_bare { text.to_owned() } else { quoted(text) }
}
