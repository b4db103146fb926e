//! Facts of Windows: names, open files, shared ports, and the folder of control sockets.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::net::TcpSocket;

/// Returns the name of this machine.
pub fn machine_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this machine".to_owned())
}

/// Returns the limit of open files: Windows has none that a process could raise.
pub fn raise_open_files() -> u64 {
    u64::MAX
}

/// Shares no address: here, `SO_REUSEADDR` would let another program take connections away.
pub fn set_sharing(_socket: &TcpSocket, _is_shared: bool) -> std::io::Result<()> {
    Ok(())
}

/// Returns the usual folder for control sockets.
pub fn socket_folders() -> Vec<PathBuf> {
    whimbrel_files::caches().map(|folder| folder.join("whimbrel").join("run")).into_iter().collect()
}

/// Makes sure that no other user can read a folder: that it lies in this user's profile.
pub fn check_socket_folder(folder: &Path) -> anyhow::Result<()> {
    let whole = |folder: &Path| folder.canonicalize().with_context(|| format!("cannot look into {}", folder.display()));
    let profile = whimbrel_files::home().context("the variable USERPROFILE does not name the user's profile")?;
    if !whole(folder)?.starts_with(whole(&profile)?) {
        bail!(
            "other users may read {}: choose a folder in {} with WHIMBREL_RUN_DIR",
            folder.display(),
            profile.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_folder_lies_in_profile() {
        check_socket_folder(&std::env::temp_dir()).expect("in the profile");
        let error = check_socket_folder(Path::new("C:\\")).expect_err("all users read it").to_string();
        assert!(error.contains("other users may read"), "{error}");
    }
}
