//! Folder of control sockets, which only this user can use.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::local_socket::{UnixListener, UnixStream};

/// Says where, whatever the system's habits.
const VARIABLE: &str = "WHIMBREL_RUN_DIR";
/// A socket nobody listens at is stale when it is as old as this: a younger one may be about to be listened at.
const STALE_AGE: Duration = Duration::from_secs(1);

/// Returns the folders to use, the preferred first.
fn candidates() -> Vec<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(chosen) = folder(VARIABLE) {
        return vec![chosen];
    }
    let runtime = folder("XDG_RUNTIME_DIR").filter(|folder| folder.is_absolute()).map(|folder| folder.join("whimbrel"));
    let home = folder("HOME").filter(|folder| folder.is_absolute()).map(|folder| folder.join(".whimbrel/run"));
    let last = std::env::temp_dir().join(format!("whimbrel-{}", rustix::process::geteuid().as_raw()));
    runtime.into_iter().chain(home).chain([last]).collect()
}

/// Listens at a new socket in the first folder where that is possible.
pub fn listen(random: u64) -> anyhow::Result<(UnixListener, PathBuf)> {
    let mut problems = Vec::new();
    for folder in candidates() {
        match listen_in(&folder, random) {
            Ok(listening) => return Ok(listening),
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    bail!("{}", problems.join("; "))
}

fn listen_in(folder: &Path, random: u64) -> anyhow::Result<(UnixListener, PathBuf)> {
    whimbrel_files::create_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    check(folder)?;
    sockets_in(folder).for_each(|socket| drop(connect(&socket)));
    let path = folder.join(format!("{}-{:08x}.sock", std::process::id(), random as u32));
    let cannot = || format!("cannot listen at {}", path.display());
    let listener = UnixListener::bind(&path).with_context(cannot)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).with_context(cannot)?;
    Ok((listener, path))
}

/// Makes sure that nobody else can put sockets there, or have another folder stand in its place.
fn check(folder: &Path) -> anyhow::Result<()> {
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

/// Returns all sockets, and the errors of socket folders that cannot be used.
pub fn sockets() -> (Vec<PathBuf>, Vec<anyhow::Error>) {
    let (mut sockets, mut problems) = (Vec::new(), Vec::new());
    for folder in candidates().into_iter().filter(|folder| folder.symlink_metadata().is_ok()) {
        match check(&folder) {
            Ok(()) => sockets.extend(sockets_in(&folder)),
            Err(problem) => problems.push(problem),
        }
    }
    (sockets, problems)
}

fn sockets_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
}

/// Connects to a socket; removes it if its process is no more. `None` then.
pub fn connect(socket: &Path) -> io::Result<Option<UnixStream>> {
    match UnixStream::connect(socket) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let modified = std::fs::symlink_metadata(socket).and_then(|about| about.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age >= STALE_AGE) {
                let _ = std::fs::remove_file(socket);
            }
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(path: &Path, mode: u32) -> PathBuf {
        std::fs::create_dir(path).expect("made");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
        path.to_owned()
    }

    #[track_caller]
    fn refused(folder: &Path, why: &str) {
        let error = check(folder).expect_err("it is not to be used").to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn socket_folder_must_be_private() {
        let all = std::env::temp_dir().join(format!("whimbrel-folders-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&all);
        made(&all, 0o700);
        let own = made(&all.join("own"), 0o700);
        check(&own).expect("it is fine");
        refused(&made(&all.join("shared"), 0o770), "other users can write to");
        // A link to a good folder: today.
        let link = all.join("link");
        std::os::unix::fs::symlink(&own, &link).expect("linked");
        refused(&link, "is a symbolic link");
        assert!(listen_in(&link, 1).is_err() && listen_in(&own, 1).is_ok());
        let open = made(&all.join("open"), 0o777);
        refused(&made(&open.join("run"), 0o700), "other users can replace");
        let sticky = made(&all.join("sticky"), 0o1777);
        check(&made(&sticky.join("run"), 0o700)).expect("as in /tmp");
        std::fs::write(all.join("file"), "").expect("written");
        refused(&all.join("file"), "is no folder");
        std::fs::remove_dir_all(all).expect("removed");
    }
}
