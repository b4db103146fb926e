//! Folders of the user's cache with files of this program: for compilers and editors.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the folder of this program in the user's cache.
pub fn cache() -> Option<PathBuf> {
    Some(whimbrel_files::caches()?.join("whimbrel"))
}

/// File of a folder: its path there, and its text.
pub type CachedFile = (String, &'static str);

/// Returns a folder of the cache, below `parent`, that has these files. It is made if it is not there; other files get
/// another folder.
pub fn cached_folder(parent: &str, files: &[CachedFile], is_read_only: bool) -> anyhow::Result<PathBuf> {
    let parent = cache()
        .context("this user has no folder for caches: set HOME or XDG_CACHE_HOME (LOCALAPPDATA on Windows)")?
        .join(parent);
    let folder = parent.join(name_of(files));
    if folder.is_dir() {
        return Ok(folder);
    }
    whimbrel_files::create_folder(&parent).with_context(|| format!("cannot make the folder {}", parent.display()))?;
    // A folder of this name is whole: it gets its name when all its files are written.
    let unfinished = parent.join(format!("unfinished-{}", std::process::id()));
    let written = write_files(&unfinished, files, is_read_only);
    let named = written.and_then(|()| Ok(std::fs::rename(&unfinished, &folder)?));
    if named.is_err() {
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    // Another process may have been faster.
    if folder.is_dir() { Ok(folder) } else { named.map(|()| folder) }
}

/// Returns the name of the folder with these files: differs for different texts.
fn name_of(files: &[CachedFile]) -> String {
    let bytes = files.iter().flat_map(|(file, text)| file.bytes().chain(text.bytes()));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{}-{hash:016x}", env!("CARGO_PKG_VERSION"))
}

/// Writes files into a folder.
pub fn write_files(folder: &Path, files: &[CachedFile], is_read_only: bool) -> anyhow::Result<()> {
    for (file, text) in files {
        let path = folder.join(file);
        let within = path.parent().unwrap_or(folder);
        whimbrel_files::create_folder(within)
            .with_context(|| format!("cannot make the folder {}", within.display()))?;
        let written = whimbrel_files::write(&path, text.as_bytes());
        let finished = written.and_then(|()| if is_read_only { forbid_writing(&path) } else { Ok(()) });
        finished.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn forbid_writing(path: &Path) -> std::io::Result<()> {
    let mut permissions = std::fs::metadata(path)?.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path, permissions)
}
