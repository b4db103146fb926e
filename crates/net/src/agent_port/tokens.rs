//! Tokens of programs, as a file: each line has the hash of a token and the names of its agents. The file reveals no
//! token.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use whimbrel_platform::ams::name_fault;
use whimbrel_platform::limits::{SESSION_TOKEN_BYTES_MIN, SESSION_TOKEN_FILE_BYTES_MAX};
use whimbrel_platform::session::SessionGrant;

use crate::authority::hex;

/// Error of reading or making tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("cannot use {path}")]
    File {
        /// Path of the file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A line of the file is malformed.
    #[error("{path}, line {line}: expected the hash of a token, 64 hexadecimal digits, and names")]
    BadLine {
        /// Path of the file.
        path: String,
        /// The line, from 1.
        line: usize,
    },
    /// The file is too long.
    #[error("{path} has {bytes} bytes: at most {SESSION_TOKEN_FILE_BYTES_MAX}")]
    TooLong {
        /// Path of the file.
        path: String,
        /// Length of the file.
        bytes: u64,
    },
    /// The name is no name of an agent.
    #[error("{name:?} cannot name agents: {why}")]
    BadName {
        /// The name.
        name: String,
        /// Fault of the name.
        why: String,
    },
    /// The token is short enough to be guessed.
    #[error("the token is too short: {SESSION_TOKEN_BYTES_MIN} bytes at least")]
    ShortToken,
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoRandomness,
}

/// Accepted tokens, with the names of agents for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedTokens {
    /// Names of agents, by the hash of the token.
    lines: Vec<(String, Vec<String>)>,
}

impl AcceptedTokens {
    /// Accepts no token.
    pub fn none() -> Self {
        Self::default()
    }

    /// Accepts one token, for agents of any name.
    ///
    /// # Errors
    /// The token is short enough to be guessed.
    pub fn one(token: &str) -> Result<Self, TokenError> {
        if token.len() < SESSION_TOKEN_BYTES_MIN {
            return Err(TokenError::ShortToken);
        }
        Ok(Self { lines: vec![(hash(token), vec!["*".to_owned()])] })
    }

    /// Reads the tokens of a file.
    ///
    /// # Errors
    /// The file cannot be read, or has a malformed line.
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

    /// Reads the tokens of a file's text.
    ///
    /// # Errors
    /// The number of a malformed line, from 1.
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

    /// Returns the grant of a token.
    pub fn grant(&self, token: &str) -> Option<SessionGrant> {
        // Comparing hashes takes a time that reveals nothing of the token.
        let shown = hash(token);
        let (hash, names) = self.lines.iter().find(|(hash, _)| *hash == shown)?;
        Some(SessionGrant { account: hash.clone(), ..SessionGrant::new(names.join(" "), names.clone()) })
    }
}

/// Age from which a file's modification time can be trusted: the time is not exact, so a younger file may change
/// unnoticed.
const SETTLED: Duration = Duration::from_secs(2);

/// File of tokens, read again when it has changed.
pub struct TokenFile {
    path: PathBuf,
    /// State of the file when it was read, and its tokens.
    kept: Mutex<Option<(Look, AcceptedTokens)>>,
}

/// State of a file: its inode, length and modification time.
type Look = (u64, u64, SystemTime);

impl TokenFile {
    /// Opens a file of tokens.
    ///
    /// # Errors
    /// The file cannot be read, or has a malformed line.
    pub fn open(path: &Path) -> Result<Self, TokenError> {
        AcceptedTokens::read(path)?;
        Ok(Self { path: path.to_owned(), kept: Mutex::default() })
    }

    /// Returns the grant of a token, by the file's present content.
    ///
    /// # Errors
    /// The file can no longer be read, or has a malformed line. No token is accepted then.
    pub fn grant(&self, token: &str) -> Result<Option<SessionGrant>, TokenError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let look = self.look();
        if let (Some(look), Some((before, tokens))) = (look, &*kept)
            && look == *before
        {
            return Ok(tokens.grant(token));
        }
        *kept = None;
        let tokens = AcceptedTokens::read(&self.path)?;
        let grant = tokens.grant(token);
        // The state from before the file was read: a change since then is noticed.
        *kept =
            look.filter(|(.., changed)| changed.elapsed().is_ok_and(|age| age > SETTLED)).map(|look| (look, tokens));
        Ok(grant)
    }

    fn look(&self) -> Option<Look> {
        let about = fs::metadata(&self.path).ok()?;
        Some((whimbrel_files::number_of(&about), about.len(), about.modified().ok()?))
    }
}

/// Makes a token for agents of these names. Returns it with its line for the file.
///
/// # Errors
/// A name is invalid, or the system has no random numbers.
pub fn new_token(names: &[String]) -> Result<(String, String), TokenError> {
    for name in names {
        // `*` and `?` stand for other characters here.
        let why = match name_fault(&name.replace(['*', '?'], "x")) {
            _ if name.contains(char::is_whitespace) => "white space separates names".to_owned(),
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
    fn changed_token_file_is_read_again() {
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
        // Nobody may read the file now: it would be read wrong.
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
