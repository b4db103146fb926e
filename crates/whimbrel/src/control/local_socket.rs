//! Unix domain sockets for control, and who is at their other end. `loopback_socket` takes the place of this module on
//! Windows.

use std::io;
use std::os::unix::fs::PermissionsExt;
pub use std::os::unix::net::{UnixListener as LocalListener, UnixStream as LocalStream};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Listens at a new socket that only this user can open.
pub fn bind(path: &Path) -> io::Result<LocalListener> {
    let listener = LocalListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a socket.
pub fn connect(path: &Path) -> io::Result<LocalStream> {
    LocalStream::connect(path)
}

/// Admits a connection: only permitted users can open the socket.
pub fn admit(_listener: &LocalListener, _stream: &LocalStream) -> io::Result<()> {
    Ok(())
}

/// Returns the user and the process at the other end, as far as the system knows. Only permitted users can open the
/// socket.
pub fn user_of(stream: &LocalStream) -> (String, String) {
    #[cfg(target_os = "linux")]
    if let Ok(user) = rustix::net::sockopt::socket_peercred(stream) {
        return (format!("user:{}", user.uid.as_raw()), format!("process {}", user.pid.as_raw_nonzero()));
    }
    let _ = stream;
    ("user".to_owned(), String::new())
}

/// Returns true if the other end was closed.
pub fn is_gone(stream: &LocalStream) -> bool {
    let mut asked = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && asked.iter().any(|asked| asked.revents().contains(PollFlags::HUP))
}
