//! `whimbrel ca`: the platform's certification authority.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, bail};
use whimbrel_net::authority::file::{AUTHORITY, Folder, REVOKED, load, save, write_secret};
use whimbrel_net::enrolment::{Enrolment, EnrolmentConfig};
use whimbrel_net::{AuditLog, Authority, Issued};
use whimbrel_platform::audit::Auditor;

use crate::arguments::{CaAction, CaArguments};
use whimbrel::node::credentials::{self, write_text};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;
use whimbrel_terminal::stopping::Stopping;

const PASSPHRASE: &str = "WHIMBREL_CA_PASSPHRASE";

/// Performs `whimbrel ca`.
pub fn ca(arguments: &CaArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        CaAction::Init { folder, platform } => init(folder, platform)?,
        CaAction::Issue { folder, node: name, session: true, also, out, days, .. } => {
            issue_session(folder, name, also, out, *days)?
        }
        CaAction::Issue { folder, node, out, address, days, .. } => issue(folder, node, out, address, *days)?,
        CaAction::Token { folder, node, valid, address, days } => token(folder, node, *valid, address, *days)?,
        CaAction::Serve { folder, listen, audit } => serve(folder, listen, audit.as_deref())?,
        CaAction::Rotate { folder, switch, finish, force } => rotate(folder, *switch, *finish, *force)?,
        CaAction::List { folder, json } => list(load(folder, &passphrase()?)?.issued(), *json)?,
        CaAction::Revoke { folder, node_or_serial } => revoke(folder, node_or_serial)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn passphrase() -> anyhow::Result<String> {
    match std::env::var(PASSPHRASE) {
        Ok(passphrase) if !passphrase.is_empty() => Ok(passphrase),
        _ => bail!("no passphrase for the authority's key: set the environment variable {PASSPHRASE}"),
    }
}

fn init(folder: &Path, platform: &str) -> anyhow::Result<()> {
    if folder.exists() {
        bail!("{} exists already; choose another folder", folder.display());
    }
    let mut authority = Authority::create(platform)?;
    save(&mut authority, folder, &passphrase()?)?;
    say(&format!("made the authority of {platform} in {}", folder.display()))
}

fn open(folder: &Path) -> anyhow::Result<Folder> {
    Ok(Folder::new(folder, &passphrase()?))
}

fn issue(folder: &Path, node: &str, out: &Path, addresses: &[String], days: u32) -> anyhow::Result<()> {
    if credentials::are_in(out) {
        bail!("{} already contains credentials: choose another folder", out.display());
    }
    let issued = open(folder)?.with(|authority| authority.issue(node, addresses, days))?;
    credentials::write(&issued, out)?;
    say(&format!("{node} has a certificate for {days} days; its key is in {}", out.join("node.pem").display()))
}

fn issue_session(folder: &Path, name: &str, also: &[String], out: &Path, days: u32) -> anyhow::Result<()> {
    whimbrel_files::create_folder(out).with_context(|| format!("cannot make {}", out.display()))?;
    let issued = open(folder)?.with(|authority| authority.issue_session(name, also, days))?;
    let key = out.join("session.key");
    write_secret(&key, issued.key_pem.as_bytes()).with_context(|| format!("cannot write {}", key.display()))?;
    write_text(&out.join("session.pem"), &issued.certificate_pem)?;
    write_text(&out.join(AUTHORITY), &issued.authority_pem)?;
    let agents = std::iter::once(name).chain(also.iter().map(String::as_str)).collect::<Vec<_>>().join(", ");
    let word = if also.is_empty() { "agent" } else { "agents" };
    say(&format!("the holder of {} may have the {word} {agents} for {days} days", key.display()))
}

fn token(folder: &Path, node: &str, valid: Duration, addresses: &[String], days: u32) -> anyhow::Result<()> {
    let token = open(folder)?.with(|authority| authority.permit(node, addresses, days, valid))?;
    say(&token.to_string())
}

fn serve(folder: &Path, listen: &str, audit: Option<&Path>) -> anyhow::Result<()> {
    let audit = audit.map(|file| AuditLog::open(file).with_context(|| format!("cannot write {}", file.display())));
    let auditor = audit.transpose()?.map(|audit| Arc::new(audit) as Arc<dyn Auditor>);
    let config = EnrolmentConfig { folder: open(folder)?, auditor, log: Box::new(terminal::note) };
    let service = Enrolment::start(config, listen)?;
    let (ended, end) = channel();
    Stopping::new()?.watch(
        || Some("the service"),
        move |_| {
            let _ = ended.send(());
        },
    );
    terminal::note(&format!("nodes can enrol at {}", service.address()));
    let _ = end.recv();
    Ok(())
}

fn rotate(folder: &Path, switch: bool, finish: bool, force: bool) -> anyhow::Result<()> {
    open(folder)?.with(|authority| match (switch, finish) {
        (true, _) => authority.switch_rotation(),
        (_, true) => authority.finish_rotation(force),
        _ => authority.begin_rotation(),
    })?;
    say(match (switch, finish) {
        (true, _) => {
            "the new key signs; nodes that enrolled renew their certificates by themselves, give others new ones with \
             `whimbrel ca issue`; then `whimbrel ca rotate --finish`"
        }
        (_, true) => "the old key is forgotten",
        _ => {
            "made a new key; nodes that enrolled trust it within a minute, give others the new authority.pem and \
             revoked.pem; then `whimbrel ca rotate --switch`"
        }
    })
}

fn revoke(folder: &Path, node_or_serial: &str) -> anyhow::Result<()> {
    let count = open(folder)?.with(|authority| Ok(authority.revoke(node_or_serial)))?;
    if count == 0 {
        bail!("no valid certificate of {node_or_serial} to revoke");
    }
    let certificates = if count == 1 { "1 certificate".to_owned() } else { format!("{count} certificates") };
    let revoked = folder.join(REVOKED);
    say(&format!("revoked {certificates}; nodes that enrolled are told, give others {}", revoked.display()))
}

fn list(issued: &[Issued], json: bool) -> anyhow::Result<()> {
    if json {
        return say(&serde_json::to_string(issued)?);
    }
    let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as i64;
    say(&format!("{:<34}{:<20}{:<8}state", "serial", "node", "for"))?;
    for one in issued {
        let days = (one.not_after_s - now_s) / 86_400;
        let state = match one.revoked_s {
            Some(_) => "revoked".to_owned(),
            None if one.not_after_s < now_s => "expired".to_owned(),
            None => format!("valid for {days} days"),
        };
        let what = if one.agents { "agents" } else { "node" };
        say(&format!("{:<34}{:<20}{what:<8}{state}", one.serial, one.node))?;
    }
    Ok(())
}

fn say(line: &str) -> anyhow::Result<()> {
    print(line).context("cannot write to standard output")
}
