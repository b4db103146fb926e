//! Folder of code that came from other nodes, and of compiled modules, so that neither is fetched or compiled again.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ring::rand::{SecureRandom, SystemRandom};
use whimbrel_platform::durable::CodeHash;
use whimbrel_platform::limits::CODE_CACHE_BYTES_MAX;

/// The file with the key that seals what is believed without looking at it.
const KEY: &str = "key";
/// Bytes of that.
const KEY_BYTES: usize = 32;

/// Forms of stored code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An AgentSpeak program with all it includes.
    Program,
    /// A WebAssembly module.
    Module,
    /// A module that was compiled here.
    Compiled,
}

impl Form {
    const ALL: [Self; 3] = [Self::Program, Self::Module, Self::Compiled];

    fn ending(self) -> &'static str {
        match self {
            Self::Program => "asl",
            Self::Module => "wasm",
            Self::Compiled => "compiled",
        }
    }
}

/// Reasons why there is no cache.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The folder cannot be made or read.
    #[error("cannot keep code in {}", .0.display())]
    Unusable(PathBuf, #[source] io::Error),
    /// Folder that another user owns or can enter.
    #[error("other users have access to {}: a code cache must be private (chmod 700)", .0.display())]
    NotPrivate(PathBuf),
}

/// See the module. Several processes may use one folder.
#[derive(Debug)]
pub struct CodeCache {
    folder: PathBuf,
    bytes_max: u64,
    /// The folder's key, once it was needed; `None` if the folder is of no use.
    key: OnceLock<Option<[u8; KEY_BYTES]>>,
    /// Names the files that are being written.
    written: AtomicU64,
}

impl CodeCache {
    /// Opens the cache in this folder, which is made if it is missing.
    ///
    /// # Errors
    /// The folder cannot be used, or another user could write there.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let cache = Self::at(folder.to_owned());
        let _ = cache.key.set(Some(cache.prepare()?));
        Ok(cache)
    }

    /// Returns the cache in this folder, which is made with its first entry. If the folder cannot be used, nothing is
    /// cached.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder, bytes_max: CODE_CACHE_BYTES_MAX, key: OnceLock::new(), written: AtomicU64::new(0) }
    }

    fn prepare(&self) -> Result<[u8; KEY_BYTES], CacheError> {
        let unusable = |error| CacheError::Unusable(self.folder.clone(), error);
        whimbrel_files::create_folder(&self.folder).map_err(unusable)?;
        if !whimbrel_files::is_own_folder(&fs::metadata(&self.folder).map_err(unusable)?) {
            return Err(CacheError::NotPrivate(self.folder.clone()));
        }
        key_in(&self.folder).map_err(unusable)
    }

    /// Returns the folder of a user's cache: `whimbrel/code` in the folder of caches.
    pub fn default_folder() -> Option<PathBuf> {
        Some(whimbrel_files::caches()?.join("whimbrel").join("code"))
    }

    /// Returns a secret known only to readers of the folder; `None` if the folder cannot be used.
    pub fn key(&self) -> Option<&[u8; KEY_BYTES]> {
        self.key.get_or_init(|| self.prepare().ok()).as_ref()
    }

    fn file(&self, code: CodeHash, form: Form) -> PathBuf {
        self.folder.join(format!("{code}.{}", form.ending()))
    }

    /// Returns stored bytes unchecked; the caller checks them.
    pub fn find(&self, code: CodeHash, form: Form) -> Option<Vec<u8>> {
        self.key()?;
        let mut file = File::open(self.file(code, form)).ok()?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(self.bytes_max).read_to_end(&mut bytes).ok()?;
        // What is used stays. If that cannot be said, it goes a little sooner.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Lists the entries: code, form and bytes of each.
    pub fn list(&self) -> Vec<(CodeHash, Form, u64)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let kept = |entry: fs::DirEntry| {
            let file = entry.path();
            let code = CodeHash::read(file.file_stem()?.to_str()?)?;
            let ending = file.extension()?.to_str()?;
            let form = Form::ALL.into_iter().find(|form| form.ending() == ending)?;
            Some((code, form, entry.metadata().ok()?.len()))
        };
        entries.filter_map(kept).collect()
    }

    /// Returns the maximum number of stored bytes.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Keeps this. If that cannot be done, it is fetched or compiled again some time: nobody needs to know.
    pub fn keep(&self, code: CodeHash, form: Form, bytes: &[u8]) {
        let is_to_be = self.key().is_some() && bytes.len() as u64 <= self.bytes_max;
        if is_to_be && self.write(&self.file(code, form), bytes).is_ok() {
            self.tidy();
        }
    }

    /// Writes a file beside its place and renames it, so that nobody ever sees half a file.
    fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!(".{}-{number}", std::process::id()));
        let written = whimbrel_files::create_new(&draft).and_then(|mut draft| draft.write_all(bytes));
        let done = written.and_then(|()| fs::rename(&draft, file));
        if done.is_err() {
            let _ = fs::remove_file(&draft);
        }
        done
    }

    /// Removes what was not used for the longest time, until the rest is small enough.
    fn tidy(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter(|entry| entry.file_name() != KEY)
            .filter_map(|entry| {
                let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, length, file) in files {
            if bytes <= self.bytes_max {
                return;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(file);
            bytes -= length;
        }
    }
}

/// Returns the folder's key; the first process makes it.
fn key_in(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let (file, mut key) = (folder.join(KEY), [0; KEY_BYTES]);
    if !file.exists() {
        SystemRandom::new().fill(&mut key).map_err(|_| io::Error::other("there is no randomness"))?;
        let draft = folder.join(format!(".{KEY}-{}", std::process::id()));
        whimbrel_files::create_new(&draft)?.write_all(&key)?;
        // Unlike a rename this fails if another process was faster: then its key counts.
        let _ = fs::hard_link(&draft, &file);
        fs::remove_file(&draft)?;
    }
    File::open(&file)?.read_exact(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use whimbrel_testkit::Scratch;

    use super::*;

    fn code(number: u8) -> CodeHash {
        CodeHash([number; 32])
    }

    #[test]
    fn cached_code_survives_process() {
        let scratch = Scratch::new();
        let cache = CodeCache::open(scratch.path()).unwrap();
        assert_eq!(cache.find(code(1), Form::Module), None);
        cache.keep(code(1), Form::Module, b"one");
        cache.keep(code(1), Form::Compiled, b"two");
        let next = CodeCache::open(scratch.path()).unwrap();
        assert_eq!(next.key(), cache.key());
        assert_ne!(next.key(), Some(&[0; KEY_BYTES]));
        assert_eq!(next.find(code(1), Form::Module).as_deref(), Some(&b"one"[..]));
        assert_eq!(next.find(code(1), Form::Compiled).as_deref(), Some(&b"two"[..]));
        assert_eq!(next.find(code(2), Form::Module), None);
        let mut list = next.list();
        list.sort_by_key(|(_, _, bytes)| *bytes);
        assert_eq!(list.len(), 2, "the key is no code: {list:?}");
        assert!(list.contains(&(code(1), Form::Module, 3)) && list.contains(&(code(1), Form::Compiled, 3)));
    }

    #[test]
    fn least_recently_used_code_goes() {
        let scratch = Scratch::new();
        let cache = CodeCache { bytes_max: 100, ..CodeCache::at(scratch.path().to_owned()) };
        let long_ago = |number: u64| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number);
        for number in 1..=3 {
            cache.keep(code(number), Form::Program, &[number; 30]);
            let file = File::options().write(true).open(cache.file(code(number), Form::Program)).unwrap();
            file.set_modified(long_ago(number.into())).unwrap();
        }
        assert!(cache.find(code(1), Form::Program).is_some(), "used again");
        cache.keep(code(4), Form::Program, &[4; 30]);
        let there = [1, 2, 3, 4].map(|number| cache.file(code(number), Form::Program).exists());
        assert_eq!(there, [true, false, true, true]);
        cache.keep(code(5), Form::Program, &[5; 101]);
        assert!(!cache.file(code(5), Form::Program).exists(), "larger than all");
        assert_eq!(cache.find(code(4), Form::Program).as_deref(), Some(&[4; 30][..]));
    }

    #[cfg(unix)]
    #[test]
    fn writable_folder_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new();
        let folder = scratch.path().join("cache");
        drop(CodeCache::open(&folder).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(KEY))), (0o700, 0o600));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        let error = CodeCache::open(&folder).unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{error}");
        let unusable = CodeCache::at(folder.clone());
        unusable.keep(code(1), Form::Module, b"one");
        assert_eq!((unusable.key(), unusable.find(code(1), Form::Module)), (None, None));
    }
}
