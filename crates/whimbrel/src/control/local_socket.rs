//! Sockets within this machine, and who is at their other end. Only Unix has them in Rust's library: a port to another
//! system replaces this module and `socket_folder`.

pub use std::os::unix::net::{UnixListener, UnixStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Returns the user and the process at the other end, as far as the system knows. Only permitted users can open the
/// socket.
pub fn user_of(stream: &UnixStream) -> (String, String) {
    #[cfg(target_os = "linux")]
    if let Ok(user) = rustix::net::sockopt::socket_peercred(stream) {
        return (format!("user:{}", user.uid.as_raw()), format!("process {}", user.pid.as_raw_nonzero()));
    }
    let _ = stream;
    ("user".to_owned(), String::new())
}

/// Returns true if the other end was closed.
pub fn is_gone(stream: &UnixStream) -> bool {
    let mut asked = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && asked.iter().any(|asked| asked.revents().contains(PollFlags::HUP))
}
