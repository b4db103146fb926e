//! `whimbrel send`: a message from the command line.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use whimbrel_acl::{AclMessage, Aid, Encoding, Performative, Symbol, Text, Value};
use whimbrel_operator::{Answer, Reason, Refusal, Request, Sending};
use whimbrel_platform::limits::PRINTED_TEXT_BYTES_MAX;
use whimbrel_platform::plain_text::{harmless, shortened};

use crate::arguments::SendArguments;
use whimbrel::control::{choose, content_of};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

/// The exit status if the answer says that it is not so.
const REFUSED: u8 = 3;
/// The exit status if no answer came.
const UNANSWERED: u8 = 4;

/// Performs `whimbrel send`.
pub fn send(arguments: &SendArguments) -> anyhow::Result<ExitCode> {
    let message = message_of(arguments)?;
    let nodes = choose(&arguments.target)?;
    let node = nodes.first().context("no society runs here")?;
    let json = Encoding::Json.encode(&message).context("the message cannot be sent")?;
    let wait_ms = arguments.wait.map(|wait| wait.as_millis() as u64);
    let sending = Sending { message: serde_json::from_slice(&json)?, wait_ms };
    let answer = node.ask(&Request::Send(Box::new(sending)), arguments.wait.unwrap_or(Duration::ZERO));
    match answer {
        Ok(Answer::Sent { .. }) => Ok(ExitCode::SUCCESS),
        Ok(Answer::Reply { message }) => show(&message, arguments.json),
        Ok(_) => bail!("node {} sent an unexpected answer instead of the message's outcome", node.info.node),
        Err(error) => match error.downcast_ref::<Refusal>() {
            Some(Refusal { reason: Reason::NoAnswer, .. }) => {
                terminal::complain(&error);
                Ok(ExitCode::from(UNANSWERED))
            }
            _ => Err(error),
        },
    }
}

fn show(answer: &serde_json::Value, json: bool) -> anyhow::Result<ExitCode> {
    let message = Encoding::Json.decode(&serde_json::to_vec(answer)?).context("unreadable answer")?;
    let text = if json {
        serde_json::to_string(answer)?
    } else {
        let AclMessage { sender, performative, content, .. } = &message;
        let content = if matches!(content, Value::Null) { String::new() } else { format!(" {content}") };
        let content = shortened(&content, PRINTED_TEXT_BYTES_MAX);
        format!("{}: {}{}", harmless(&sender.to_string()), harmless(performative.as_str()), harmless(&content))
    };
    // Nobody may be reading any more.
    let _ = print(&text);
    let refused =
        matches!(message.performative, Performative::Failure | Performative::Refuse | Performative::NotUnderstood);
    Ok(if refused { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
}

/// Returns the message that the arguments describe.
fn message_of(arguments: &SendArguments) -> anyhow::Result<AclMessage> {
    let mut message = match (&arguments.content, arguments.message.as_deref()) {
        (Some(content), _) => with_content(content),
        (None, Some(text)) if text != "-" => parse(text.as_bytes())?,
        (None, _) => parse(&read_input()?)?,
    };
    if let Some(performative) = &arguments.performative {
        let other = || Performative::named(Symbol::new(performative));
        message.performative = performative.parse().unwrap_or_else(|_| other());
    }
    let named: Vec<&String> = arguments.agent.iter().chain(&arguments.to).collect();
    if !named.is_empty() {
        message.receivers = named.into_iter().map(|name| agent(name)).collect::<anyhow::Result<_>>()?;
    }
    if message.receivers.is_empty() {
        bail!("no receiver: name one, as in `whimbrel send seller MESSAGE`");
    }
    if let Some(from) = &arguments.from {
        message.sender = agent(from)?;
    }
    let symbol = |text: &Option<String>| text.as_deref().map(Symbol::new);
    let parts = (symbol(&arguments.protocol), symbol(&arguments.ontology), symbol(&arguments.language));
    if let Some(conversation) = &arguments.conversation {
        message.extras_mut().conversation_id = Some(Text::from(conversation.as_str()));
    }
    if parts != (None, None, None) {
        let extras = message.extras_mut();
        extras.protocol = parts.0.or(extras.protocol);
        extras.ontology = parts.1.or(extras.ontology);
        extras.language = parts.2.or(extras.language);
    }
    Ok(message)
}

fn agent(name: &str) -> anyhow::Result<Aid> {
    Ok(name.parse::<Aid>()?)
}

fn read_input() -> anyhow::Result<Vec<u8>> {
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        bail!("no message: give content or a whole message, as an argument or on standard input");
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).context("cannot read standard input")?;
    Ok(bytes)
}

/// Returns a whole message if it begins like one, else content.
fn parse(bytes: &[u8]) -> anyhow::Result<AclMessage> {
    if let Some(encoding) = whole(bytes) {
        let arrival_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let message = encoding.decode_at(bytes, arrival_ms.as_millis() as u64);
        return message.map(understood).map_err(|error| anyhow!("malformed message in encoding {encoding}: {error}"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| anyhow!("neither a message nor UTF-8 text"))?;
    Ok(with_content(text.trim()))
}

/// Reads the text of FIPA's encodings as content that is given by itself, unless the message names a language.
fn understood(mut message: AclMessage) -> AclMessage {
    if message.extras().language.is_none()
        && let Value::Str(text) = &message.content
    {
        message.content = content_of(text);
    }
    message
}

/// Returns the encoding of a whole message. A bracket begins messages and other things: a performative has to follow.
fn whole(bytes: &[u8]) -> Option<Encoding> {
    let encoding = Encoding::detect(bytes)?;
    if encoding != Encoding::String {
        return Some(encoding);
    }
    let text = std::str::from_utf8(bytes).ok()?.trim_start().strip_prefix('(')?.trim_start();
    let (word, rest) = text.split_at(text.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(text.len()));
    let is_message = word.parse::<Performative>().is_ok() || rest.trim_start().starts_with(':');
    is_message.then_some(encoding)
}

fn with_content(text: &str) -> AclMessage {
    let nobody = Aid::NOBODY;
    let mut message = AclMessage::new(Performative::Inform, nobody, nobody, content_of(text));
    message.receivers.clear();
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_text_defaults_to_term() {
        let said = |text: &str| parse(text.as_bytes()).expect("a message").content;
        let order = Value::term("order", [Value::atom("milk")]);
        assert_eq!(said("(inform :content \"order(milk)\")"), order);
        assert_eq!(said("order(milk)"), order);
        assert_eq!(said("(inform :content \"good morning!\")"), Value::from("good morning!"));
        assert_eq!(said("(inform :language prolog :content \"order(milk)\")"), Value::from("order(milk)"));
    }
}
