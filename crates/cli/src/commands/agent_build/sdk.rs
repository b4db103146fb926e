//! SDKs of WebAssembly agents: in a folder of the user's cache, for compilers and editors.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::tools::cache;
use crate::guest_sdk::GUEST_CRATE;

/// Folder of the library for AssemblyScript.
pub const ASSEMBLYSCRIPT_FOLDER: &str = "assemblyscript";
/// Folder of the header for C.
pub const C_FOLDER: &str = "c";

/// Libraries for AssemblyScript and C.
const LIBRARIES: [(&str, &str); 2] = [
    ("assemblyscript/whimbrel.ts", include_str!("../../../../../guest/assemblyscript/whimbrel.ts")),
    ("c/whimbrel.h", include_str!("../../../../../guest/c/whimbrel.h")),
];

/// Returns a folder with the SDKs: in the user's cache, or below `scratch` if that cannot be written.
pub fn sdk(scratch: &Path) -> anyhow::Result<PathBuf> {
    sdk_in_cache().or_else(|_| {
        let folder = scratch.join("sdk");
        write_sdks(&folder).map(|()| folder)
    })
}

/// Returns the folder with the SDKs in the user's cache, and makes it if it is not there.
pub fn sdk_in_cache() -> anyhow::Result<PathBuf> {
    let parent = cache()
        .context("this user has no folder for caches: set HOME or XDG_CACHE_HOME (LOCALAPPDATA on Windows)")?
        .join("sdk");
    let folder = parent.join(sdk_folder_name());
    if folder.is_dir() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&parent).with_context(|| format!("cannot make the folder {}", parent.display()))?;
    // A folder of this name is whole: it gets its name when all its files are written.
    let unfinished = parent.join(format!("unfinished-{}", std::process::id()));
    let written = write_sdks(&unfinished);
    let named = written.and_then(|()| Ok(std::fs::rename(&unfinished, &folder)?));
    if named.is_err() {
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    // Another process may have been faster.
    if folder.is_dir() { Ok(folder) } else { named.map(|()| folder) }
}

/// Returns all files of the SDKs.
fn sdk_sources() -> impl Iterator<Item = (String, &'static str)> {
    let of_crate = GUEST_CRATE.iter().map(|(file, text)| (format!("rust/{file}"), *text));
    LIBRARIES.iter().map(|(file, text)| ((*file).to_owned(), *text)).chain(of_crate)
}

/// Returns the name of the folder with these sources: differs for different sources.
fn sdk_folder_name() -> String {
    let bytes = sdk_sources().flat_map(|(file, text)| file.into_bytes().into_iter().chain(text.bytes()));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{}-{hash:016x}", env!("CARGO_PKG_VERSION"))
}

/// Writes the SDKs into a folder.
fn write_sdks(folder: &Path) -> anyhow::Result<()> {
    for (file, text) in sdk_sources() {
        let path = folder.join(file);
        let within = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(within).with_context(|| format!("cannot make the folder {}", within.display()))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
