//! Folder of control sockets, which only this user can use.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::local_socket::{self, LocalListener, LocalStream};
use crate::system::{check_socket_folder, socket_folders};

/// Says where, whatever the system's habits.
const VARIABLE: &str = "WHIMBREL_RUN_DIR";
/// A socket nobody listens at is stale when it is as old as this: a younger one may be about to be listened at.
const STALE_AGE: Duration = Duration::from_secs(1);

/// Returns the folders to use, the preferred first.
fn candidates() -> Vec<PathBuf> {
    let chosen = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    chosen.map_or_else(socket_folders, |chosen| vec![chosen])
}

/// Listens at a new socket in the first folder where that is possible.
pub fn listen(random: u64) -> anyhow::Result<(LocalListener, PathBuf)> {
    let mut problems = Vec::new();
    for folder in candidates() {
        match listen_in(&folder, random) {
            Ok(listening) => return Ok(listening),
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    bail!("{}", problems.join("; "))
}

fn listen_in(folder: &Path, random: u64) -> anyhow::Result<(LocalListener, PathBuf)> {
    whimbrel_files::create_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    check_socket_folder(folder)?;
    sockets_in(folder).for_each(|socket| drop(connect(&socket)));
    let path = folder.join(format!("{}-{:08x}.sock", std::process::id(), random as u32));
    let cannot = || format!("cannot listen at {}", path.display());
    Ok((local_socket::bind(&path).with_context(cannot)?, path))
}

/// Returns all sockets, and the errors of socket folders that cannot be used.
pub fn sockets() -> (Vec<PathBuf>, Vec<anyhow::Error>) {
    let (mut sockets, mut problems) = (Vec::new(), Vec::new());
    for folder in candidates().into_iter().filter(|folder| folder.symlink_metadata().is_ok()) {
        match check_socket_folder(&folder) {
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
pub fn connect(socket: &Path) -> io::Result<Option<LocalStream>> {
    match local_socket::connect(socket) {
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
    use whimbrel_testkit::Scratch;

    use super::*;

    #[test]
    fn refused_folder_gets_no_socket() {
        let scratch = Scratch::new();
        let file = scratch.path().join("file");
        whimbrel_files::write(&file, b"").expect("written");
        assert!(listen_in(&file, 1).is_err());
        let (_listener, path) = listen_in(&scratch.path().join("run"), 1).expect("it listens");
        assert_eq!(sockets_in(&scratch.path().join("run")).collect::<Vec<_>>(), [path]);
    }
}
