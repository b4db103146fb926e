//! `whimbrel prove` and `whimbrel verify`: evidence of the messages of a conversation, their senders and their order.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;
use whimbrel::figures::counted;
use whimbrel_net::Trust;
use whimbrel_net::signing::{self, EvidenceBundle, ProvenMessage};
use whimbrel_platform::plain_text::harmless;

use crate::arguments::{ProveArguments, VerifyArguments};
use whimbrel_terminal::screen::print;

/// Writes a conversation down.
pub fn prove(arguments: &ProveArguments) -> anyhow::Result<ExitCode> {
    let bundle = signing::prove(&arguments.evidence, &arguments.conversation)?;
    match &arguments.output {
        Some(file) => {
            // Messages of agents are private.
            let written = whimbrel_files::write(file, bundle.to_json().as_bytes());
            written.with_context(|| format!("cannot write {}", file.display()))?;
            let conversation = harmless(&arguments.conversation);
            say(&format!("{} of {conversation}: in {}", counted(bundle.len(), "message"), file.display()))?;
        }
        None => say(bundle.to_json().trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Verifies it.
pub fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    let VerifyArguments { file, authority, revoked, json } = arguments;
    let revoked_pem = revoked.as_deref().map_or_else(|| Ok(String::new()), read)?;
    let trust = Trust { authority_pem: read(authority)?, revoked_pem };
    let verified = EvidenceBundle::from_json(&read(file)?)
        .and_then(|bundle| bundle.verify(&trust))
        .with_context(|| format!("{} is no valid evidence", file.display()))?;
    if *json {
        verified.said.iter().try_for_each(|said| say(&line_of(said)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let conversation = harmless(&verified.conversation);
    say(&format!("{conversation}: {}, as signed", counted(verified.said.len(), "message")))?;
    say(verified.to_string().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn line_of(said: &ProvenMessage) -> String {
    let receivers: Vec<String> = said.message.receivers.iter().map(|to| to.name.to_string()).collect();
    json!({
        "entry": said.entry,
        "time": said.time(),
        "sender": said.message.sender.name.as_str(),
        "node": said.node,
        "platform": said.platform,
        "receivers": receivers,
        "performative": said.message.performative.to_string(),
        "content": said.message.content.to_string(),
        "sequence": said.sequence,
        "after": said.after,
    })
    .to_string()
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn say(line: &str) -> anyhow::Result<()> {
    print(line).context("cannot write to standard output")
}
