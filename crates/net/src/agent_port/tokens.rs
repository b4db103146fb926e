//! Tokens that let programs have agents of certain names, as a file: a line for each, with the token's hash and the
//! names. Who reads the file can let nobody in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use whimbrel_platform::ams::name_fault;
use whimbrel_platform::limits::{SESSION_TOKEN_BYTES_MIN, SESSION_TOKEN_FILE_BYTES_MAX};
use whimbrel_platform::session::Grant;

use crate::authority::hex;

/// Why tokens cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("cannot use {path}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// A line of the file is none.
    #[error("{path}, line {line}: expected the hash of a token, 64 hexadecimal digits, and names")]
    BadLine {
        /// Which file.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// The file is longer than it may be.
    #[error("{path} has {bytes} bytes: {SESSION_TOKEN_FILE_BYTES_MAX} are the most")]
    TooLong {
        /// Which file.
        path: String,
        /// How long it is.
        bytes: u64,
    },
    /// A name that no agent can have.
    #[error("{name:?} cannot name agents: {why}")]
    BadName {
        /// The name.
        name: String,
        /// Fault of the name.
        why: String,
    },
    /// A token that can be guessed.
    #[error("the token is too short: {SESSION_TOKEN_BYTES_MIN} bytes at least")]
    ShortToken,
    /// There is no randomness to be had.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// Who is let in by which token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// By the token's hash: which agents it is for.
    lines: Vec<(String, Vec<String>)>,
}

impl Tokens {
    /// Nobody.
    pub fn none() -> Self {
        Self::default()
    }

    /// One token for agents of any name.
    ///
    /// # Errors
    /// It can be guessed.
    pub fn one(token: &str) -> Result<Self, TokenError> {
        if token.len() < SESSION_TOKEN_BYTES_MIN {
            return Err(TokenError::ShortToken);
        }
        Ok(Self { lines: vec![(hash(token), vec!["*".to_owned()])] })
    }

    /// Those of a file.
    ///
    /// # Errors
    /// It cannot be read, or has lines that are none.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let shown = || path.display().to_string();
        let failed = |source| TokenError::File { path: shown(), source };
        let bytes = fs::metadata(path).map_err(failed)?.len();
        if bytes > SESSION_TOKEN_FILE_BYTES_MAX {
            return Err(TokenError::TooLong { path: shown(), bytes });
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text).map_err(|line| TokenError::BadLine { path: shown(), line })
    }

    /// Those of a file's text.
    ///
    /// # Errors
    /// The number of a line that is none, from 1.
    pub fn parse(text: &str) -> Result<Self, usize> {
        let mut tokens = Self::none();
        for (index, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace().map(str::to_owned);
            let Some(hash) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let names: Vec<String> = words.collect();
            if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) || names.is_empty() {
                return Err(index + 1);
            }
            tokens.lines.push((hash.to_ascii_lowercase(), names));
        }
        Ok(tokens)
    }

    /// What a session may have that shows this token.
    pub fn grant(&self, token: &str) -> Option<Grant> {
        // What is compared are hashes: the time it takes tells nothing of the token.
        let shown = hash(token);
        let (hash, names) = self.lines.iter().find(|(hash, _)| *hash == shown)?;
        Some(Grant { account: hash.clone(), ..Grant::new(names.join(" "), names.clone()) })
    }
}

/// A file that was changed so lately may be changed again without looking otherwise: its time is not exact.
const SETTLED: Duration = Duration::from_secs(2);

/// A file of tokens that is read again when it has changed.
pub struct TokenFile {
    path: PathBuf,
    /// What was read, and how the file looked.
    kept: Mutex<Option<(Look, Tokens)>>,
}

/// How a file looks from outside: its number, bytes, and when it was changed.
type Look = (u64, u64, SystemTime);

impl TokenFile {
    /// This one.
    ///
    /// # Errors
    /// It cannot be read, or has lines that are none.
    pub fn open(path: &Path) -> Result<Self, TokenError> {
        Tokens::read(path)?;
        Ok(Self { path: path.to_owned(), kept: Mutex::default() })
    }

    /// What a session may have that shows this token, as the file is now.
    ///
    /// # Errors
    /// It cannot be read any more, or has lines that are none: then it lets nobody in.
    pub fn grant(&self, token: &str) -> Result<Option<Grant>, TokenError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let look = self.look();
        if let (Some(look), Some((before, tokens))) = (look, &*kept)
            && look == *before
        {
            return Ok(tokens.grant(token));
        }
        *kept = None;
        let tokens = Tokens::read(&self.path)?;
        let grant = tokens.grant(token);
        // The look from before it was read: what changed since then is noticed.
        *kept =
            look.filter(|(.., changed)| changed.elapsed().is_ok_and(|age| age > SETTLED)).map(|look| (look, tokens));
        Ok(grant)
    }

    fn look(&self) -> Option<Look> {
        let about = fs::metadata(&self.path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = 0;
        Some((number, about.len(), about.modified().ok()?))
    }
}

/// A new token for agents of these names, and the line that lets it in.
///
/// # Errors
/// A name is none, or there is no randomness.
pub fn new_token(names: &[String]) -> Result<(String, String), TokenError> {
    for name in names {
        // `*` and `?` stand for others here.
        let why = match name_fault(&name.replace(['*', '?'], "x")) {
            _ if name.contains(char::is_whitespace) => "it has white space, which stands between names".to_owned(),
            Some(fault) => fault.to_string(),
            None => continue,
        };
        return Err(TokenError::BadName { name: name.clone(), why });
    }
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| TokenError::NoRandomness)?;
    let token = hex(&bytes);
    let line = format!("{} {}\n", hash(&token), names.join(" "));
    Ok((token, line))
}

fn hash(token: &str) -> String {
    hex(digest(&SHA256, token.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_only_when_it_has_changed() {
        let path = std::env::temp_dir().join(format!("whimbrel-tokens-{}", std::process::id()));
        let ((one, first), (two, second)) = (new_token(&["a".into()]).unwrap(), new_token(&["b".into()]).unwrap());
        fs::write(&path, &first).unwrap();
        let file = TokenFile::open(&path).unwrap();
        let lets_in = |token: &str| file.grant(token).unwrap().is_some();
        assert!(lets_in(&one) && !lets_in(&two) && file.kept.lock().unwrap().is_none(), "it may change at any moment");
        fs::write(&path, &second).unwrap();
        assert!(!lets_in(&one) && lets_in(&two), "as long as the first");
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        assert!(lets_in(&two) && file.kept.lock().unwrap().is_some());
        // Nobody reads it now: it would say otherwise.
        let mut changed = fs::File::options().write(true).open(&path).unwrap();
        io::Write::write_all(&mut changed, first.as_bytes()).unwrap();
        changed.set_modified(long_ago).unwrap();
        assert!(lets_in(&two) && !lets_in(&one));
        changed.set_modified(long_ago + Duration::from_secs(1)).unwrap();
        assert!(lets_in(&one) && !lets_in(&two));
        fs::remove_file(&path).unwrap();
        assert!(file.grant(&one).is_err(), "a file that is gone lets nobody in");
        fs::write(&path, "nonsense\n").unwrap();
        assert!(file.grant(&one).is_err());
        fs::remove_file(path).unwrap();
    }
}
