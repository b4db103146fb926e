//! Facts of Unix systems: names, open files, shared ports, and the folder of control sockets.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::TcpSocket;

/// Returns the name of this machine.
pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Raises the limit of open files to the highest that the system allows this process. Returns the limit.
pub fn raise_open_files() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    // None is no bound at all.
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit).is_ok();
    if raised { limit.maximum } else { before }.unwrap_or(u64::MAX)
}

/// Sets who else may bind the address of a listening socket: other processes only if it `is_shared`.
pub fn set_sharing(socket: &TcpSocket, is_shared: bool) -> std::io::Result<()> {
    // As the standard library does: connections that just ended do not keep their address from the next node.
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(is_shared)
}

/// Returns the usual folders for control sockets, the preferred first.
pub fn socket_folders() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let runtime = runtime.map(|folder| folder.join("whimbrel"));
    let home = whimbrel_files::home().map(|folder| folder.join(".whimbrel/run"));
    let last = std::env::temp_dir().join(format!("whimbrel-{}", rustix::process::geteuid().as_raw()));
    runtime.into_iter().chain(home).chain([last]).collect()
}

/// Makes sure that no other user can put sockets into a folder, or replace the folder.
pub fn check_socket_folder(folder: &Path) -> anyhow::Result<()> {
    // Of the folder itself: where a link leads may change before it is used.
    let about = std::fs::symlink_metadata(folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    if about.is_symlink() {
        bail!("{} is a symbolic link: expected a folder itself", folder.display());
    }
    if !about.is_dir() {
        bail!("{} is no folder", folder.display());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        bail!("{} belongs to another user", folder.display());
    }
    if about.mode() & 0o022 != 0 {
        bail!("other users can write to {}", folder.display());
    }
    check_parent(folder)
}

/// Checks the parent folder. A user who can write to it could replace this one, unless the parent is like `/tmp`, where
/// each user removes and renames only files of his own.
fn check_parent(folder: &Path) -> anyhow::Result<()> {
    let folder = std::path::absolute(folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    let Some(parent) = folder.parent() else { return Ok(()) };
    let about = std::fs::metadata(parent).with_context(|| format!("cannot look into {}", parent.display()))?;
    let is_trusted = about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw();
    if !is_trusted || (about.mode() & 0o022 != 0 && about.mode() & 0o1000 == 0) {
        bail!("other users can replace {}", folder.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn open_files_rise_to_limit() {
        let raised = raise_open_files();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!((limit.current.unwrap_or(u64::MAX), limit.maximum), (raised, limit.maximum));
        assert_eq!(limit.current, limit.maximum);
    }

    fn made(path: &Path, mode: u32) -> PathBuf {
        std::fs::create_dir(path).expect("made");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
        path.to_owned()
    }

    #[track_caller]
    fn refused(folder: &Path, why: &str) {
        let error = check_socket_folder(folder).expect_err("it is not to be used").to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn socket_folder_must_be_private() {
        let all = std::env::temp_dir().join(format!("whimbrel-folders-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&all);
        made(&all, 0o700);
        let own = made(&all.join("own"), 0o700);
        check_socket_folder(&own).expect("it is fine");
        refused(&made(&all.join("shared"), 0o770), "other users can write to");
        // A link to a good folder: today.
        let link = all.join("link");
        std::os::unix::fs::symlink(&own, &link).expect("linked");
        refused(&link, "is a symbolic link");
        let open = made(&all.join("open"), 0o777);
        refused(&made(&open.join("run"), 0o700), "other users can replace");
        let sticky = made(&all.join("sticky"), 0o1777);
        check_socket_folder(&made(&sticky.join("run"), 0o700)).expect("as in /tmp");
        std::fs::write(all.join("file"), "").expect("written");
        refused(&all.join("file"), "is no folder");
        std::fs::remove_dir_all(all).expect("removed");
    }
}
