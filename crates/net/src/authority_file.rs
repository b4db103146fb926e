//! An authority as a folder: `authority.json` (certificate, what was issued), and `authority.key`, encrypted with a key
//! made of a passphrase (PBKDF2-HMAC-SHA256, then ChaCha20-Poly1305).

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};

use crate::authority::{Authority, AuthorityError, Register, hex, unhex};

const REGISTER: &str = "authority.json";
const KEY: &str = "authority.key";
/// The first line of an encrypted key.
const MAGIC: &str = "whimbrel-authority-key-1";
/// Rounds of PBKDF2, as OWASP advises for HMAC-SHA256 (2023).
const ROUNDS: NonZeroU32 = match NonZeroU32::new(600_000) {
    Some(rounds) => rounds,
    None => NonZeroU32::MIN,
};

/// Why an authority's folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityFileError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The authority itself is at fault.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> AuthorityFileError {
    move |source| AuthorityFileError::File { path: path.display().to_string(), source }
}

/// Writes an authority into a folder, which is made if it is not there.
///
/// # Errors
/// The files cannot be written.
pub fn save(authority: &Authority, folder: &Path, passphrase: &str) -> Result<(), AuthorityFileError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let key = folder.join(KEY);
    if !key.exists() {
        write_secret(&key, seal(&authority.key_pem(), passphrase)?.as_bytes()).map_err(failed(&key))?;
    }
    let register = folder.join(REGISTER);
    let text = serde_json::to_vec_pretty(&authority.register()).map_err(|_| AuthorityError::BadFile(REGISTER))?;
    replace(&register, &text).map_err(failed(&register))
}

/// Reads an authority.
///
/// # Errors
/// The files are not there or are no authority's, or the passphrase is wrong.
pub fn load(folder: &Path, passphrase: &str) -> Result<Authority, AuthorityFileError> {
    let (register, key) = (folder.join(REGISTER), folder.join(KEY));
    let text = fs::read(&register).map_err(failed(&register))?;
    let read: Register = serde_json::from_slice(&text).map_err(|_| AuthorityError::BadFile(REGISTER))?;
    let sealed = fs::read_to_string(&key).map_err(failed(&key))?;
    Ok(Authority::restore(read, &open(&sealed, passphrase)?)?)
}

/// Writes a file that only its owner can read.
///
/// # Errors
/// It is there already, or cannot be written.
pub fn write_secret(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Replaces a file's content, all or nothing.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, content)?;
    fs::rename(fresh, path)
}

fn seal(key_pem: &str, passphrase: &str) -> Result<String, AuthorityError> {
    let random = SystemRandom::new();
    let (mut salt, mut nonce) = ([0; 16], [0; 12]);
    random.fill(&mut salt).and_then(|()| random.fill(&mut nonce)).map_err(|_| AuthorityError::NoRandomness)?;
    let mut text = key_pem.as_bytes().to_vec();
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
    fn a_sealed_key_opens_with_its_passphrase_only() {
        let sealed = seal("the key", "open sesame").unwrap();
        assert_eq!(open(&sealed, "open sesame").unwrap(), "the key");
        assert!(matches!(open(&sealed, "open barley"), Err(AuthorityError::BadPassphrase)));
        let last = sealed.trim_end().len() - 1;
        let digit = if sealed.as_bytes()[last] == b'0' { "1" } else { "0" };
        let tampered = format!("{}{digit}\n", &sealed[..last]);
        assert!(matches!(open(&tampered, "open sesame"), Err(AuthorityError::BadPassphrase)));
        assert!(matches!(open("something else", "open sesame"), Err(AuthorityError::BadFile(_))));
    }
}
