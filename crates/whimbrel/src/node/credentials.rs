//! A node's credentials as a folder. `node.pem` has its certificate and key; `agents.pem` has those with which it
//! certifies its agents; `authority.pem` and `revoked.pem` have the trusted and the revoked certificates; `authority`
//! has the address of the authority's service, if the node enrolled there.
//!
//! A certificate and its key are one file, so that neither is ever replaced without the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use whimbrel_net::authority::file::{AUTHORITY, REVOKED, replace_file, replace_secret};
use whimbrel_net::{Credentials, enrolment};

use super::Notes;

const NODE: &str = "node.pem";
const AGENTS: &str = "agents.pem";
const ADDRESS: &str = "authority";
const ALL: [&str; 4] = [NODE, AGENTS, AUTHORITY, REVOKED];
/// First line of the key in a file, by RFC 7468 section 10.
const KEY_BEGINS: &str = "-----BEGIN PRIVATE KEY-----";

/// Made, and removed at once, to see whether files can be made.
const PROBE: &str = "probe";
/// Interval at which a running node checks its credentials for changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Interval at which a running node asks the authority for trust.
const ASK_EVERY: Duration = Duration::from_secs(30);

/// Returns true if a folder contains credentials.
pub fn are_in(folder: &Path) -> bool {
    folder.join(NODE).exists()
}

/// Writes a file.
pub fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    // All or nothing: a node that runs may be reading.
    replace_file(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the folder, and makes sure that files can be put there.
pub fn prepare(folder: &Path) -> anyhow::Result<()> {
    whimbrel_files::create_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let probe = folder.join(PROBE);
    write_text(&probe, "")?;
    std::fs::remove_file(&probe).with_context(|| format!("cannot remove {}", probe.display()))
}

/// Writes a certificate and its key as one file, which is its owner's only.
fn write_pair(path: &Path, certificate_pem: &str, key_pem: &str) -> anyhow::Result<()> {
    let text = format!("{certificate_pem}{key_pem}");
    replace_secret(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns a certificate and its key; no key if there is none.
fn read_pair(text: &str) -> (String, String) {
    let (certificate, key) = text.split_at(text.find(KEY_BEGINS).unwrap_or(text.len()));
    (certificate.to_owned(), key.to_owned())
}

/// Writes all files of a node's credentials.
pub fn write(credentials: &Credentials, folder: &Path) -> anyhow::Result<()> {
    whimbrel_files::create_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Each of these steps leaves what can be used.
    write_trust(&credentials.authority_pem, &credentials.revoked_pem, folder)?;
    write_pair(&folder.join(AGENTS), &credentials.agents_pem, &credentials.agents_key_pem)?;
    write_pair(&folder.join(NODE), &credentials.certificate_pem, &credentials.key_pem)
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
    let ((certificate_pem, key_pem), (agents_pem, agents_key_pem)) =
        (read_pair(&read(NODE)?), read_pair(&read(AGENTS)?));
    let (authority_pem, revoked_pem) = (read(AUTHORITY)?, read(REVOKED)?);
    Ok(Credentials { certificate_pem, key_pem, agents_pem, agents_key_pem, authority_pem, revoked_pem })
}

/// A folder that a running node keeps an eye on.
pub struct WatchedFolder {
    folder: PathBuf,
    seen: Vec<Option<SystemTime>>,
    asked: Option<Instant>,
    /// True if another process asks the authority, and this one only reads the files.
    only_follows: bool,
}

impl WatchedFolder {
    /// This folder, which was read just now.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), seen: changes(folder), asked: None, only_follows: false }
    }

    /// This folder, which another process keeps up to date.
    pub fn following(folder: &Path) -> Self {
        Self { only_follows: true, ..Self::new(folder) }
    }

    /// Gives `use_them` the credentials whenever they change, and has them change when the authority says so, until
    /// `use_them` says that it is over.
    pub fn watch(mut self, notes: Notes, mut use_them: impl FnMut(Option<&Credentials>) -> bool + Send + 'static) {
        std::thread::spawn(move || {
            while use_them(None) {
                std::thread::sleep(LOOK_EVERY);
                if let Err(error) = self.ask_authority() {
                    notes.warning(&format!("{error:#}"));
                }
                let seen = changes(&self.folder);
                if seen == self.seen {
                    continue;
                }
                self.seen = seen;
                match read(&self.folder) {
                    Ok(credentials) if !use_them(Some(&credentials)) => return,
                    Ok(_) => {}
                    Err(error) => notes.warning(&format!("{error:#}")),
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

/// Takes back a shared value from the thread that renews credentials, which holds it only for moments. For the node's
/// end.
pub fn alone<T>(mut shared: Arc<T>) -> T {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(alone) => return alone,
            Err(still) => shared = still,
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the time of each file's last change.
fn changes(folder: &Path) -> Vec<Option<SystemTime>> {
    ALL.iter().map(|file| std::fs::metadata(folder.join(file)).and_then(|about| about.modified()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    use whimbrel_net::Authority;

    use super::*;

    /// A reader at any moment, also after a crash, finds certificates with their own keys.
    #[test]
    fn certificate_and_key_change_together() {
        let folder = std::env::temp_dir().join(format!("whimbrel-pairs-{}", std::process::id()));
        let mut authority = Authority::create("p").expect("randomness");
        let mut issue = || authority.issue("n1", &[], 1).expect("a name");
        let both = [issue(), issue()];
        write(&both[0], &folder).expect("written");
        assert!(read(&folder).expect("read") == both[0]);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..100).for_each(|round| write(&both[round % 2], &folder).expect("written"));
                done.store(true, Ordering::Release);
            });
            let mut looks = 0;
            while !done.load(Ordering::Acquire) || looks == 0 {
                let seen = read(&folder).expect("all files are there at any time");
                let own = |one: &Credentials| (one.certificate_pem.clone(), one.key_pem.clone());
                let agents = |one: &Credentials| (one.agents_pem.clone(), one.agents_key_pem.clone());
                assert!(both.iter().any(|one| own(one) == own(&seen)));
                assert!(both.iter().any(|one| agents(one) == agents(&seen)));
                looks += 1;
            }
        });
        for file in [NODE, AGENTS] {
            let mode = std::fs::metadata(folder.join(file)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        let mode = std::fs::metadata(&folder).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "the folder");
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
