//! `whimbrel codec`: messages from one encoding to another, and for people to read.

use std::fmt::{self, Display, Formatter};
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use whimbrel_acl::codec::{DecodeErrorKind, time_to_string};
use whimbrel_acl::sl::{Profile, SlContent};
use whimbrel_acl::{AclMessage, Aid, DecodeError, Encoding, Symbol, Value};
use whimbrel_platform::limits::PRINTED_TEXT_BYTES_MAX;
use whimbrel_platform::plain_text::{harmless, is_harmful, shortened};

use crate::arguments::{CodecAction, CodecArguments};
use whimbrel_terminal::screen::{print, print_bytes};

/// Converts or shows messages.
pub fn codec(arguments: &CodecArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        CodecAction::Convert { file, from, to, output } => {
            let mut bytes = Vec::new();
            for source in CodecInput::read_all(file.as_deref(), *from)? {
                let message =
                    to.encode(&source.message).with_context(|| format!("cannot write {} as {to}", source.name))?;
                // A text of several messages has each on lines of its own.
                bytes.extend(if bytes.is_empty() || !is_text(*to) { None } else { Some(b'\n') });
                bytes.extend(message);
            }
            write(&bytes, *to, output.as_ref())?;
        }
        CodecAction::Inspect { file, from } => {
            let sources = CodecInput::read_all(file.as_deref(), *from)?;
            let dumps: Vec<String> = sources.iter().map(|source| Dump(source).to_string()).collect();
            print(dumps.join("\n").trim_end_matches('\n'))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A message, and where it came from.
struct CodecInput {
    name: String,
    bytes: Vec<u8>,
    encoding: Encoding,
    message: AclMessage,
}

impl CodecInput {
    /// Reads the messages of a file. In FIPA's encodings several can stand one behind another.
    fn read_all(file: Option<&Path>, encoding: Option<Encoding>) -> anyhow::Result<Vec<Self>> {
        let (name, bytes) = match file.filter(|file| *file != Path::new("-")) {
            Some(file) => {
                let name = file.display().to_string();
                let bytes = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
                (name, bytes)
            }
            None => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
                ("standard input".to_owned(), bytes)
            }
        };
        let unknown = || anyhow!("cannot detect the encoding of {name}: give it with --from");
        let encoding = encoding.or_else(|| Encoding::detect(&bytes)).ok_or_else(unknown)?;
        let arrival_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let decode = |bytes: &[u8]| encoding.decode_at(bytes, arrival_ms.as_millis() as u64);
        let (mut sources, mut rest) = (Vec::new(), bytes.as_slice());
        while !rest.is_empty() || sources.is_empty() {
            let whole = decode(rest);
            let used = match &whole {
                Err(DecodeError { offset, kind: DecodeErrorKind::Trailing }) if *offset > 0 => *offset,
                _ => rest.len(),
            };
            let (one, behind) = rest.split_at_checked(used).unwrap_or((rest, &[]));
            let message = if behind.is_empty() { whole } else { decode(one) };
            let at = bytes.len() - rest.len();
            let fault = |error: DecodeError| DecodeError { offset: at + error.offset, ..error };
            let message = message.map_err(|error| {
                let which = if sources.is_empty() { String::new() } else { format!("message {}: ", sources.len() + 1) };
                anyhow!("{name} as {encoding}: {which}{}", placed(&fault(error), &bytes))
            })?;
            sources.push(Self { name: name.clone(), bytes: one.to_vec(), encoding, message });
            rest = behind;
        }
        Ok(sources)
    }
}

/// Returns an error with its line and column, if what came before is text.
fn placed(error: &DecodeError, bytes: &[u8]) -> String {
    let before = bytes.get(..error.offset).and_then(|before| std::str::from_utf8(before).ok());
    match before {
        Some(before) if before.contains('\n') => {
            let (line, last) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default());
            format!("{error} (line {line}, column {})", last.chars().count() + 1)
        }
        _ => error.to_string(),
    }
}

fn write(bytes: &[u8], encoding: Encoding, output: Option<&PathBuf>) -> anyhow::Result<()> {
    if let Some(path) = output {
        return std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()));
    }
    if std::io::stdout().is_terminal() && !is_text(encoding) {
        bail!("{encoding} is binary: give a file with --output, or redirect the output");
    }
    let end: &[u8] = if is_text(encoding) && !bytes.ends_with(b"\n") { b"\n" } else { b"" };
    Ok(print_bytes(&[bytes, end].concat())?)
}

const fn is_text(encoding: Encoding) -> bool {
    !matches!(encoding, Encoding::BitEfficient | Encoding::Compact)
}

/// Readable form of a message, one parameter a line.
struct Dump<'a>(&'a CodecInput);

/// Width of parameter names.
const NAME_WIDTH: usize = 16;

fn line(f: &mut Formatter<'_>, name: &str, value: impl Display) -> fmt::Result {
    // A message that one inspects is one that one does not trust: names and values of all kinds are a stranger's.
    let value = value.to_string();
    writeln!(f, "{:NAME_WIDTH$} {}", harmless(name), harmless(&shortened(&value, PRINTED_TEXT_BYTES_MAX)))
}

impl Display for Dump<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let CodecInput { bytes, encoding, message, .. } = self.0;
        line(f, "encoding", format_args!("{encoding} ({}), {} bytes", encoding.representation(), bytes.len()))?;
        line(f, "performative", message.performative)?;
        if message.sender != Aid::NOBODY {
            agent(f, "sender", message.sender)?;
        }
        message.receivers.iter().try_for_each(|receiver| agent(f, "receiver", *receiver))?;
        let extras = message.extras();
        extras.reply_to.iter().try_for_each(|agents| agent(f, "reply-to", *agents))?;
        content(f, message)?;
        for (name, value) in [
            ("language", extras.language.map(Symbol::as_str)),
            ("encoding", extras.encoding.map(Symbol::as_str)),
            ("ontology", extras.ontology.map(Symbol::as_str)),
            ("protocol", extras.protocol.map(Symbol::as_str)),
            ("conversation-id", extras.conversation_id.as_deref()),
            ("reply-with", extras.reply_with.as_deref()),
            ("in-reply-to", extras.in_reply_to.as_deref()),
        ] {
            if let Some(value) = value {
                line(f, name, shown(value))?;
            }
        }
        if let Some(ms) = extras.reply_by_ms {
            line(f, "reply-by", time_to_string(ms).unwrap_or_else(|| format!("{ms} ms since 1970")))?;
        }
        extras.user.iter().try_for_each(|(name, value)| line(f, name.as_str(), value))?;
        sizes(f, message)
    }
}

/// Prints an agent, and below it its addresses and resolvers.
fn agent(f: &mut Formatter<'_>, what: &str, agent: Aid) -> fmt::Result {
    line(f, what, agent)?;
    let contact = agent.contact();
    contact.addresses.iter().try_for_each(|address| line(f, "", format_args!("at {}", shown(address))))?;
    for resolver in &contact.resolvers {
        let addresses = resolver.contact().addresses.join(", ");
        let at = if addresses.is_empty() { "" } else { " at " };
        line(f, "", format_args!("resolved by {resolver}{at}{addresses}"))?;
    }
    contact.user.iter().try_for_each(|(name, value)| line(f, "", format_args!("{name} {value}")))
}

/// Writes the content. Of text in a language of SL, it also says whether it is SL.
fn content(f: &mut Formatter<'_>, message: &AclMessage) -> fmt::Result {
    match &message.content {
        Value::Null => return Ok(()),
        Value::Str(text) => line(f, "content", shown(text))?,
        Value::Bytes(bytes) => line(f, "content", format_args!("{} bytes", bytes.len()))?,
        value => line(f, "content", value)?,
    }
    let profile = message.extras().language.and_then(|language| Profile::of_language(language.as_str()));
    let (Some(profile), Value::Str(text)) = (profile, &message.content) else { return Ok(()) };
    match SlContent::parse(text, profile) {
        Ok(tree) if tree.expressions.len() == 1 => {
            line(f, "", format_args!("one expression of {}", profile.language()))
        }
        Ok(tree) => line(f, "", format_args!("{} expressions of {}", tree.expressions.len(), profile.language())),
        Err(error) => line(f, "", format_args!("not {}: {error} of the content", profile.language())),
    }
}

/// Returns text as it is, or quoted if it has characters that a terminal would act on.
fn shown(text: &str) -> String {
    if text.contains(is_harmful) { format!("{text:?}") } else { text.to_owned() }
}

/// Writes the length of the message in each encoding.
fn sizes(f: &mut Formatter<'_>, message: &AclMessage) -> fmt::Result {
    let size = |encoding: Encoding| match encoding.encode(message) {
        Ok(bytes) => format!("{encoding} {}", bytes.len()),
        Err(error) => format!("{encoding} impossible ({error})"),
    };
    line(f, "bytes", Encoding::ALL.map(size).join(", "))
}
