//! SDKs of WebAssembly agents: in a folder of the user's cache, for compilers and editors.

use std::path::{Path, PathBuf};

use crate::cached_folder::{CachedFile, cached_folder, write_files};
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
        write_files(&folder, &sdk_sources(), false).map(|()| folder)
    })
}

/// Returns the folder with the SDKs in the user's cache, and makes it if it is not there.
pub fn sdk_in_cache() -> anyhow::Result<PathBuf> {
    cached_folder("sdk", &sdk_sources(), false)
}

/// Returns all files of the SDKs.
fn sdk_sources() -> Vec<CachedFile> {
    let of_crate = GUEST_CRATE.iter().map(|(file, text)| (format!("rust/{file}"), *text));
    LIBRARIES.iter().map(|(file, text)| ((*file).to_owned(), *text)).chain(of_crate).collect()
}
