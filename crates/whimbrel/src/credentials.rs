//! A node's credentials as a folder: `node.pem`, `node.key` (its certificate and key), `agents.pem`, `agents.key` (those with
//! which it certifies its agents), `authority.pem`, `revoked.pem` (whom it trusts, and whom not any more), and `authority`,
//! where the authority serves, if the node enrolled there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use whimbrel_net::authority::file::{replace_file, write_secret};
use whimbrel_net::{Credentials, enrolment};

use crate::terminal;

const CERTIFICATE: &str = "node.pem";
const KEY: &str = "node.key";
const AGENTS: &str = "agents.pem";
const AGENTS_KEY: &str = "agents.key";
/// Also of an authority's own folder.
pub const AUTHORITY: &str = "authority.pem";
/// Also of an authority's own folder.
pub const REVOKED: &str = "revoked.pem";
const ADDRESS: &str = "authority";
const ALL: [&str; 6] = [CERTIFICATE, KEY, AGENTS, AGENTS_KEY, AUTHORITY, REVOKED];

/// Made, and removed at once, to see whether files can be made.
const PROBE: &str = "probe";
/// How often a running node looks whether its credentials changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it asks the authority whom to trust.
const ASK_EVERY: Duration = Duration::from_secs(30);

/// Whether there are credentials in this folder.
pub fn are_in(folder: &Path) -> bool {
    folder.join(KEY).exists()
}

/// Writes a file.
pub fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    // All or nothing: a node that runs may be reading.
    replace_file(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the folder, and makes sure that files can be put there.
pub fn prepare(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let probe = folder.join(PROBE);
    write_text(&probe, "")?;
    std::fs::remove_file(&probe).with_context(|| format!("cannot remove {}", probe.display()))
}

fn write_key(path: &Path, text: &str) -> anyhow::Result<()> {
    let fresh = path.with_extension("key.new");
    let _ = std::fs::remove_file(&fresh);
    write_secret(&fresh, text.as_bytes())
        .and_then(|()| std::fs::rename(&fresh, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes all files of a node's credentials.
pub fn write(credentials: &Credentials, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    write_key(&folder.join(AGENTS_KEY), &credentials.agents_key_pem)?;
    write_text(&folder.join(AGENTS), &credentials.agents_pem)?;
    write_trust(&credentials.authority_pem, &credentials.revoked_pem, folder)?;
    write_key(&folder.join(KEY), &credentials.key_pem)?;
    write_text(&folder.join(CERTIFICATE), &credentials.certificate_pem)
}

fn write_trust(authority_pem: &str, revoked_pem: &str, folder: &Path) -> anyhow::Result<()> {
    write_text(&folder.join(AUTHORITY), authority_pem)?;
    write_text(&folder.join(REVOKED), revoked_pem)
}

/// Notes where the authority serves.
pub fn write_authority_address(folder: &Path, address: &str) -> anyhow::Result<()> {
    write_text(&folder.join(ADDRESS), &format!("{address}\n"))
}

/// Reads a node's credentials.
pub fn read(folder: &Path) -> anyhow::Result<Credentials> {
    let read = |file: &str| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok(Credentials {
        certificate_pem: read(CERTIFICATE)?,
        key_pem: read(KEY)?,
        agents_pem: read(AGENTS)?,
        agents_key_pem: read(AGENTS_KEY)?,
        authority_pem: read(AUTHORITY)?,
        revoked_pem: read(REVOKED)?,
    })
}

/// A folder that a running node keeps an eye on.
pub struct Watched {
    folder: PathBuf,
    seen: Vec<Option<SystemTime>>,
    asked: Option<Instant>,
    /// Somebody else asks the authority.
    only_follows: bool,
}

impl Watched {
    /// This folder, which was read just now.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), seen: changes(folder), asked: None, only_follows: false }
    }

    /// This folder, which somebody else keeps up to date.
    pub fn following(folder: &Path) -> Self {
        Self { only_follows: true, ..Self::new(folder) }
    }

    /// Gives `use_them` the credentials whenever they change, and has them change when the authority says so, until
    /// `use_them` says that it is over.
    pub fn watch(mut self, mut use_them: impl FnMut(Option<&Credentials>) -> bool + Send + 'static) {
        std::thread::spawn(move || {
            while use_them(None) {
                std::thread::sleep(LOOK_EVERY);
                if let Err(error) = self.ask_authority() {
                    terminal::note(&format!("{error:#}"));
                }
                let seen = changes(&self.folder);
                if seen == self.seen {
                    continue;
                }
                self.seen = seen;
                match read(&self.folder) {
                    Ok(credentials) if !use_them(Some(&credentials)) => return,
                    Ok(_) => {}
                    Err(error) => terminal::note(&format!("{error:#}")),
                }
            }
        });
    }

    /// Brings the folder up to date, if the node knows where the authority is.
    fn ask_authority(&mut self) -> anyhow::Result<()> {
        if self.only_follows || self.asked.is_some_and(|asked| asked.elapsed() < ASK_EVERY) {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        let Ok(address) = std::fs::read_to_string(self.folder.join(ADDRESS)) else { return Ok(()) };
        let (address, present) = (address.trim(), read(&self.folder)?);
        let (trust, outdated) = enrolment::look_after(address, &present)?;
        let renewed =
            if outdated || present.wants_renewal()? { Some(enrolment::renew(address, &present)?) } else { None };
        match renewed {
            Some(renewed) => write(&renewed, &self.folder),
            // The list is signed anew each time; only what it says matters.
            None if present.trusts_as(&trust)? => Ok(()),
            None => write_trust(&trust.authority_pem, &trust.revoked_pem, &self.folder),
        }
    }
}

/// When each file was written last.
fn changes(folder: &Path) -> Vec<Option<SystemTime>> {
    ALL.iter().map(|file| std::fs::metadata(folder.join(file)).and_then(|about| about.modified()).ok()).collect()
}
