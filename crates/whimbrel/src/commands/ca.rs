//! `whimbrel ca`: the platform's certification authority.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use whimbrel_net::authority_file::{load, save, write_secret};
use whimbrel_net::{Authority, Issued};

use crate::arguments::{Ca, CaAction};

const PASSPHRASE: &str = "WHIMBREL_CA_PASSPHRASE";
/// The list of revoked certificates, in the authority's folder and in each node's.
const REVOKED: &str = "revoked.pem";
const AUTHORITY: &str = "authority.pem";

/// Does it.
pub fn ca(arguments: &Ca) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        CaAction::Init { folder, platform } => init(folder, platform)?,
        CaAction::Issue { folder, node, out, address, days } => issue(folder, node, out, address, *days)?,
        CaAction::List { folder, json } => list(load(folder, &passphrase()?)?.issued(), *json)?,
        CaAction::Revoke { folder, node_or_serial } => revoke(folder, node_or_serial)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn passphrase() -> anyhow::Result<String> {
    match std::env::var(PASSPHRASE) {
        Ok(passphrase) if !passphrase.is_empty() => Ok(passphrase),
        _ => bail!("the variable {PASSPHRASE} is to hold the passphrase of the authority's key"),
    }
}

fn init(folder: &Path, platform: &str) -> anyhow::Result<()> {
    if folder.exists() {
        bail!("{} exists already; choose another folder", folder.display());
    }
    let mut authority = Authority::create(platform)?;
    let revoked = authority.revocation_list()?;
    save(&authority, folder, &passphrase()?)?;
    write(&folder.join(AUTHORITY), authority.certificate_pem())?;
    write(&folder.join(REVOKED), &revoked)?;
    say(&format!("made the authority of {platform} in {}", folder.display()))
}

fn issue(folder: &Path, node: &str, out: &Path, addresses: &[String], days: u32) -> anyhow::Result<()> {
    let passphrase = passphrase()?;
    let mut authority = load(folder, &passphrase)?;
    let credentials = authority.issue(node, addresses, days)?;
    save(&authority, folder, &passphrase)?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let key = out.join("node.key");
    write_secret(&key, credentials.key_pem.as_bytes()).with_context(|| format!("cannot write {}", key.display()))?;
    write(&out.join("node.pem"), &credentials.certificate_pem)?;
    write(&out.join(AUTHORITY), &credentials.authority_pem)?;
    write(&out.join(REVOKED), &credentials.revoked_pem)?;
    say(&format!("{node} is good for {days} days; its key is in {}", key.display()))
}

fn revoke(folder: &Path, node_or_serial: &str) -> anyhow::Result<()> {
    let passphrase = passphrase()?;
    let mut authority = load(folder, &passphrase)?;
    let count = authority.revoke(node_or_serial);
    if count == 0 {
        bail!("there is no certificate of {node_or_serial} that could be taken back");
    }
    let revoked = authority.revocation_list()?;
    save(&authority, folder, &passphrase)?;
    let path = folder.join(REVOKED);
    write(&path, &revoked)?;
    let certificates = if count == 1 { "1 certificate".to_owned() } else { format!("{count} certificates") };
    say(&format!("took back {certificates}; give {} to every node", path.display()))
}

fn list(issued: &[Issued], json: bool) -> anyhow::Result<()> {
    if json {
        return say(&serde_json::to_string(issued)?);
    }
    let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as i64;
    say(&format!("{:<34}{:<20}state", "serial", "node"))?;
    for one in issued {
        let days = (one.not_after_s - now_s) / 86_400;
        let state = match one.revoked_s {
            Some(_) => "revoked".to_owned(),
            None if one.not_after_s < now_s => "expired".to_owned(),
            None => format!("good for {days} days"),
        };
        say(&format!("{:<34}{:<20}{state}", one.serial, one.node))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn say(line: &str) -> anyhow::Result<()> {
    writeln!(anstream::stdout().lock(), "{line}").context("cannot write to standard output")
}
