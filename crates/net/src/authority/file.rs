//! Folder of an authority. `authority.json` has its certificates, issued certificates and tokens. `authority.key` has
//! its keys, encrypted with one derived from a passphrase (PBKDF2-HMAC-SHA256, then ChaCha20-Poly1305). `authority.pem`
//! and `revoked.pem` are for nodes: trusted and revoked certificates. Several processes may use one folder: see
//! [`Folder`].

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};

use super::{Authority, AuthorityError, AuthorityRegister, EnrolmentToken, Trust, hex, unhex};

const REGISTER: &str = "authority.json";
const KEY: &str = "authority.key";
/// Name of the file with the authority's certificates, in its own folder and in those of its nodes.
pub const AUTHORITY: &str = "authority.pem";
/// Name of the file with the authority's revocation lists.
pub const REVOKED: &str = "revoked.pem";
/// Name of the lock file of a process that changes something.
const LOCK: &str = "authority.lock";
/// First line of an encrypted key.
const MAGIC: &str = "whimbrel-authority-keys-2";
/// Rounds of PBKDF2, as OWASP advises for HMAC-SHA256 (2023).
const ROUNDS: NonZeroU32 = match NonZeroU32::new(600_000) {
    Some(rounds) => rounds,
    None => NonZeroU32::MIN,
};

/// Error of reading or writing an authority's folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityFileError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The authority failed.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> AuthorityFileError {
    move |source| AuthorityFileError::File { path: path.display().to_string(), source }
}

/// Writes an authority into a folder, which is created if it is missing.
///
/// # Errors
/// The files cannot be written.
pub fn save(authority: &mut Authority, folder: &Path, passphrase: &str) -> Result<(), AuthorityFileError> {
    whimbrel_files::create_folder(folder).map_err(failed(folder))?;
    let trust = authority.trust()?;
    let path = folder.join(REGISTER);
    let register = authority.register();
    let text = serde_json::to_vec_pretty(&register).map_err(|_| AuthorityError::BadFile(REGISTER))?;
    let numbers =
        |register: &AuthorityRegister| register.signers.iter().map(|signer| signer.number).collect::<Vec<_>>();
    let (now, before) = (numbers(&register), read_register(folder).map(|before| numbers(&before)).unwrap_or_default());
    // In this order, the folder has the keys of all certificates after any crash.
    if now.len() > before.len() {
        save_keys(authority, folder, passphrase)?;
    }
    // The register is secret: it lists certificates and has digests of tokens.
    replace_secret(&path, &text).map_err(failed(&path))?;
    if now.len() < before.len() {
        save_keys(authority, folder, passphrase)?;
    }
    publish(&trust, folder)
}

/// Writes the files for nodes, if their content has changed.
fn publish(trust: &Trust, folder: &Path) -> Result<(), AuthorityFileError> {
    for (file, text) in [(AUTHORITY, &trust.authority_pem), (REVOKED, &trust.revoked_pem)] {
        let path = folder.join(file);
        if fs::read(&path).is_ok_and(|present| present == text.as_bytes()) {
            continue;
        }
        replace_file(&path, text.as_bytes()).map_err(failed(&path))?;
    }
    Ok(())
}

fn save_keys(authority: &Authority, folder: &Path, passphrase: &str) -> Result<(), AuthorityFileError> {
    let key = folder.join(KEY);
    let keys = serde_json::to_string(&authority.keys_pem()).map_err(|_| AuthorityError::BadFile(KEY))?;
    replace_secret(&key, seal(&keys, passphrase)?.as_bytes()).map_err(failed(&key))
}

/// Reads an authority.
///
/// # Errors
/// The files are missing or malformed, or the passphrase is wrong.
pub fn load(folder: &Path, passphrase: &str) -> Result<Authority, AuthorityFileError> {
    Folder::new(folder, passphrase).load()
}

fn read_register(folder: &Path) -> Result<AuthorityRegister, AuthorityFileError> {
    let register = folder.join(REGISTER);
    let text = fs::read(&register).map_err(failed(&register))?;
    Ok(serde_json::from_slice(&text).map_err(|_| AuthorityError::BadFile(REGISTER))?)
}

/// Folder of an authority, with the passphrase of its keys. Changes of several processes are serialised, so that none
/// is lost.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    passphrase: String,
    /// Keys of the last time, with their encrypted text: decryption is slow by design.
    opened: Arc<Mutex<Option<Opened>>>,
}

struct Opened {
    sealed: String,
    keys: Vec<(u32, String)>,
}

impl Folder {
    /// Names the folder and the passphrase.
    pub fn new(path: &Path, passphrase: &str) -> Self {
        Self { path: path.to_owned(), passphrase: passphrase.to_owned(), opened: Arc::default() }
    }

    fn load(&self) -> Result<Authority, AuthorityFileError> {
        let key = self.path.join(KEY);
        let register = read_register(&self.path)?;
        let sealed = fs::read_to_string(&key).map_err(failed(&key))?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.as_ref().filter(|opened| opened.sealed == sealed) {
            return Ok(Authority::restore(register, &opened.keys)?);
        }
        let text = open(&sealed, &self.passphrase)?;
        let keys: Vec<(u32, String)> = serde_json::from_str(&text).map_err(|_| AuthorityError::BadFile(KEY))?;
        let authority = Authority::restore(register, &keys)?;
        *opened = Some(Opened { sealed, keys });
        Ok(authority)
    }

    /// Runs `work` on the authority and saves the result, unless `work` fails or changes nothing. Other processes wait
    /// meanwhile.
    ///
    /// # Errors
    /// The files are missing or malformed, the passphrase is wrong, or `work` fails.
    pub fn with<R>(
        &self,
        work: impl FnOnce(&mut Authority) -> Result<R, AuthorityError>,
    ) -> Result<R, AuthorityFileError> {
        let lock = self.path.join(LOCK);
        // Windows locks no file that is only appended to.
        let file = whimbrel_files::open_or_create(&lock).map_err(failed(&lock))?;
        file.lock().map_err(failed(&lock))?;
        let mut authority = self.load()?;
        let written = |authority: &Authority| {
            serde_json::to_vec(&authority.register()).map_err(|_| AuthorityError::BadFile(REGISTER))
        };
        let before = written(&authority)?;
        let result = work(&mut authority)?;
        if written(&authority)? != before {
            save(&mut authority, &self.path, &self.passphrase)?;
        }
        Ok(result)
    }

    /// Returns the version of the authority, which changes whenever a certificate is revoked or another key signs.
    pub(crate) fn epoch(&self) -> Result<(u32, usize, usize), AuthorityFileError> {
        let register = read_register(&self.path)?;
        let revoked = register.issued.iter().filter(|one| one.revoked_s.is_some()).count();
        Ok((register.signing, register.signers.len(), revoked))
    }

    /// Checks that the authority would accept this token, without opening a key.
    ///
    /// # Errors
    /// The token is refused, or the files are missing or malformed.
    pub fn check(&self, token: &EnrolmentToken) -> Result<(), AuthorityFileError> {
        let now_s = time::OffsetDateTime::now_utc().unix_timestamp();
        token.find(&read_register(&self.path)?.permits, now_s).map_err(AuthorityError::from)?;
        Ok(())
    }
}

/// Writes a file that only its owner can read.
///
/// # Errors
/// The file exists already, or cannot be written.
pub fn write_secret(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = whimbrel_files::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Replaces a file's content atomically, even if the power fails.
///
/// # Errors
/// The file cannot be written.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, |fresh| fs::File::options().write(true).create_new(true).open(fresh))
}

/// Replaces the content of a file that only its owner can read.
///
/// # Errors
/// The file cannot be written.
pub fn replace_secret(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, whimbrel_files::create_new)
}

fn replace(path: &Path, content: &[u8], make: impl FnOnce(&Path) -> io::Result<fs::File>) -> io::Result<()> {
    // The temporary file is beside the target under a name of its own: other processes may be replacing its neighbours.
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    // A process that was killed may have left the file, with any permissions.
    let _ = fs::remove_file(&fresh);
    let mut file = make(Path::new(&fresh))?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    // The new name is durable only when the folder is written, too.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    whimbrel_files::sync_folder(folder)
}

fn seal(keys: &str, passphrase: &str) -> Result<String, AuthorityError> {
    let random = SystemRandom::new();
    let (mut salt, mut nonce) = ([0; 16], [0; 12]);
    random.fill(&mut salt).and_then(|()| random.fill(&mut nonce)).map_err(|_| AuthorityError::NoRandomness)?;
    let mut text = keys.as_bytes().to_vec();
    let sealing = cipher(passphrase, &salt)?;
    let sealed = sealing.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(MAGIC), &mut text);
    sealed.map_err(|_| AuthorityError::BadFile(KEY))?;
    Ok(format!("{MAGIC}\n{}\n{}\n{}\n", hex(&salt), hex(&nonce), hex(&text)))
}

fn open(sealed: &str, passphrase: &str) -> Result<String, AuthorityError> {
    let mut lines = sealed.lines();
    if lines.next() != Some(MAGIC) {
        return Err(AuthorityError::BadFile(KEY));
    }
    let mut part = || lines.next().and_then(unhex).ok_or(AuthorityError::BadFile(KEY));
    let (salt, nonce, mut text) = (part()?, part()?, part()?);
    let nonce = Nonce::try_assume_unique_for_key(&nonce).map_err(|_| AuthorityError::BadFile(KEY))?;
    let opening = cipher(passphrase, &salt)?;
    let opened =
        opening.open_in_place(nonce, Aad::from(MAGIC), &mut text).map_err(|_| AuthorityError::BadPassphrase)?;
    String::from_utf8(opened.to_vec()).map_err(|_| AuthorityError::BadFile(KEY))
}

fn cipher(passphrase: &str, salt: &[u8]) -> Result<LessSafeKey, AuthorityError> {
    let mut key = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, salt, passphrase.as_bytes(), &mut key);
    let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| AuthorityError::BadFile(KEY))?;
    Ok(LessSafeKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_needs_its_passphrase() {
        let sealed = seal("the key", "open sesame").unwrap();
        assert_eq!(open(&sealed, "open sesame").unwrap(), "the key");
        assert!(matches!(open(&sealed, "open barley"), Err(AuthorityError::BadPassphrase)));
        let last = sealed.trim_end().len() - 1;
        let digit = if sealed.as_bytes()[last] == b'0' { "1" } else { "0" };
        let tampered = format!("{}{digit}\n", &sealed[..last]);
        assert!(matches!(open(&tampered, "open sesame"), Err(AuthorityError::BadPassphrase)));
        assert!(matches!(open("something else", "open sesame"), Err(AuthorityError::BadFile(_))));
    }

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("whimbrel-folder-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn unchanged_authority_is_not_written() {
        let path = scratch("same");
        save(&mut Authority::create("p").unwrap(), &path, "open sesame").unwrap();
        let folder = Folder::new(&path, "open sesame");
        let about = || {
            let files = [REGISTER, KEY, AUTHORITY, REVOKED].map(|file| path.join(file));
            files.map(|file| (fs::metadata(&file).unwrap().modified().unwrap(), fs::read(&file).unwrap()))
        };
        let before = about();
        let trust = folder.with(Authority::trust).unwrap();
        assert_eq!(folder.with(Authority::trust).unwrap(), trust, "the same lists, not others that say the same");
        assert_eq!(about(), before);
        folder.with(|authority| authority.issue("n1", &[], 1)).unwrap();
        assert_eq!(folder.with(Authority::trust).unwrap(), trust);
        assert_eq!(folder.with(|authority| Ok(authority.revoke("n1"))).unwrap(), 2);
        assert_ne!(fs::read_to_string(path.join(REVOKED)).unwrap(), trust.revoked_pem);
        fs::remove_dir_all(path).unwrap();
    }

    /// The process that revokes last need not be the one that writes last.
    #[test]
    fn revocation_survives_older_write() {
        const NODES: usize = 12;
        let path = scratch("revoke");
        let mut authority = Authority::create("p").unwrap();
        (0..NODES).for_each(|node| drop(authority.issue(&format!("n{node}"), &[], 1).unwrap()));
        save(&mut authority, &path, "open sesame").unwrap();
        let folder = Folder::new(&path, "open sesame");
        std::thread::scope(|scope| {
            for node in 0..NODES {
                let folder = folder.clone();
                scope.spawn(move || folder.with(|authority| Ok(authority.revoke(&format!("n{node}")))).unwrap());
            }
        });
        let published = fs::read_to_string(path.join(REVOKED)).unwrap();
        assert_eq!(published, folder.with(Authority::trust).unwrap().revoked_pem);
        fs::remove_dir_all(path).unwrap();
    }
}
