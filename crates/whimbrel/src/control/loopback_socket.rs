//! Control sockets where Rust's library has no Unix domain sockets: a port of this machine, and a file with the port
//! and a secret. Whoever can read the file may ask the node.
//!
//! Both ends prove that they know the secret, and neither sends it. A program that listens at the port of a node that
//! ended learns nothing, and cannot answer in the node's place:
//!
//! | from | bytes |
//! |---|---|
//! | caller | its challenge |
//! | node | its challenge; proof of a node for both challenges |
//! | caller | proof of a caller for both challenges |

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of the secret, and of a proof.
const SECRET_BYTES: usize = 32;
/// Bytes of a challenge.
const CHALLENGE_BYTES: usize = 16;
/// Longest time to connect, and for each part of the node's proof.
const PATIENCE: Duration = Duration::from_secs(2);
/// Words at the beginning of what a node and a caller sign.
const NODE: &[u8] = b"whimbrel control: node";
const CALLER: &[u8] = b"whimbrel control: caller";

/// Connection to a control socket.
pub type LocalStream = TcpStream;

/// Port at which a node listens for callers.
pub struct LocalListener {
    port: TcpListener,
    key: hmac::Key,
    /// Keeps the file open: the system removes it at the end of the process, if it can.
    _file: std::fs::File,
}

impl LocalListener {
    /// Waits for connections. [`admit`] decides about each.
    pub fn incoming(&self) -> impl Iterator<Item = io::Result<LocalStream>> {
        self.port.incoming()
    }
}

/// Listens at a port, and writes it and a new secret into a private file.
pub fn bind(path: &Path) -> io::Result<LocalListener> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let secret: [u8; SECRET_BYTES] = drawn()?;
    let written: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = whimbrel_files::create_until_exit(path)?;
    file.write_all(format!("{} {written}\n", port.local_addr()?.port()).as_bytes())?;
    Ok(LocalListener { port, key: key_of(&secret), _file: file })
}

/// Connects to the node of a file, and has it prove that it wrote the file.
pub fn connect(path: &Path) -> io::Result<LocalStream> {
    // The node may be writing the file, or may have been killed before: as if it did not listen yet.
    let (port, secret) = read(&std::fs::read_to_string(path)?).ok_or(ErrorKind::ConnectionRefused)?;
    let key = key_of(&secret);
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mine: [u8; CHALLENGE_BYTES] = drawn()?;
    stream.write_all(&mine)?;
    let (theirs, proof) = (received::<CHALLENGE_BYTES>(&stream)?, received::<SECRET_BYTES>(&stream)?);
    if hmac::verify(&key, &signed(NODE, &mine, &theirs), &proof).is_err() {
        let text = format!("the program at port {port} is not the node of {}: remove this file", path.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    stream.write_all(hmac::sign(&key, &signed(CALLER, &mine, &theirs)).as_ref())?;
    Ok(stream)
}

/// Admits a caller that knows the secret. The stream's timeouts count for each part of the proof.
pub fn admit(listener: &LocalListener, stream: &LocalStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let theirs = received::<CHALLENGE_BYTES>(stream)?;
    let mine: [u8; CHALLENGE_BYTES] = drawn()?;
    let proof = hmac::sign(&listener.key, &signed(NODE, &theirs, &mine));
    let answer = [&mine, proof.as_ref()].concat();
    { stream }.write_all(&answer)?;
    let proof = received::<SECRET_BYTES>(stream)?;
    hmac::verify(&listener.key, &signed(CALLER, &theirs, &mine), &proof)
        .map_err(|_| io::Error::new(ErrorKind::PermissionDenied, "the caller does not know the secret"))
}

/// Returns the user at the other end: callers know the secret of this user's file. The system does not tell their
/// process.
pub fn user_of(_stream: &LocalStream) -> (String, String) {
    let name = std::env::var("USERNAME").ok().filter(|name| !name.is_empty());
    (name.map_or_else(|| "user".to_owned(), |name| format!("user:{name}")), String::new())
}

/// Returns true if the other end was closed.
pub fn is_gone(stream: &LocalStream) -> bool {
    let look = || {
        stream.set_nonblocking(true)?;
        let looked = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        looked
    };
    match look() {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// Reads port and secret from the text of a file.
fn read(text: &str) -> Option<(u16, [u8; SECRET_BYTES])> {
    let (port, digits) = text.strip_suffix('\n')?.split_once(' ')?;
    let mut secret = [0; SECRET_BYTES];
    if digits.len() != 2 * SECRET_BYTES {
        return None;
    }
    for (index, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some((port.parse().ok()?, secret))
}

fn key_of(secret: &[u8; SECRET_BYTES]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

/// Returns what one end signs.
fn signed(role: &[u8], caller: &[u8], node: &[u8]) -> Vec<u8> {
    [role, caller, node].concat()
}

/// Draws random bytes.
fn drawn<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system has no randomness"))?;
    Ok(bytes)
}

fn received<const BYTES: usize>(mut stream: &LocalStream) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use whimbrel_testkit::Scratch;

    use super::*;

    /// Accepts one connection, admits it, and returns what came of it.
    fn serve_one(listener: &LocalListener) -> io::Result<LocalStream> {
        let stream = listener.incoming().next().expect("it listens")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        admit(listener, &stream).map(|()| stream)
    }

    #[test]
    fn reader_of_file_is_admitted() {
        let scratch = Scratch::new();
        let path = scratch.path().join("1-00000001.sock");
        let listener = bind(&path).expect("it listens");
        thread::scope(|scope| {
            let serving = scope.spawn(|| {
                let stream = serve_one(&listener).expect("admitted");
                assert!(!is_gone(&stream), "the caller waits for an answer");
                assert!(user_of(&stream).0.starts_with("user"));
                { &stream }.write_all(b"answer\n").expect("written");
                while !is_gone(&stream) {
                    thread::yield_now();
                }
            });
            let mut stream = connect(&path).expect("connected");
            let mut answer = [0; 7];
            stream.read_exact(&mut answer).expect("answered");
            assert_eq!(&answer, b"answer\n");
            drop(stream);
            serving.join().expect("the node sees that the caller is gone");
        });
        assert!(bind(&path).is_err(), "the file is another node's");
    }

    #[test]
    fn caller_without_secret_is_refused() {
        let scratch = Scratch::new();
        let path = scratch.path().join("node.sock");
        let listener = bind(&path).expect("it listens");
        let port = listener.port.local_addr().expect("an address").port();
        thread::scope(|scope| {
            let serving = scope.spawn(|| serve_one(&listener).map_err(|error| error.kind()).map(drop));
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("anybody reaches the port");
            // A caller that sends the node's own proof back.
            stream.write_all(&[7; CHALLENGE_BYTES]).expect("written");
            let _ = received::<CHALLENGE_BYTES>(&stream).expect("its challenge");
            let proof = received::<SECRET_BYTES>(&stream).expect("its proof");
            stream.write_all(&proof).expect("written");
            assert_eq!(serving.join().expect("it ended"), Err(ErrorKind::PermissionDenied));
        });
    }

    #[test]
    fn program_at_nodes_port_is_no_node() {
        let scratch = Scratch::new();
        let (one, other) = (scratch.path().join("one.sock"), scratch.path().join("other.sock"));
        let (listener, _another) = (bind(&one).expect("it listens"), bind(&other).expect("it listens"));
        // The second file names the first node's port, as if the second node had ended.
        let secret = std::fs::read_to_string(&other).expect("written");
        let (_, secret) = secret.split_once(' ').expect("port and secret");
        let port = listener.port.local_addr().expect("an address").port();
        let stale = scratch.path().join("stale.sock");
        whimbrel_files::write(&stale, format!("{port} {secret}").as_bytes()).expect("written");
        thread::scope(|scope| {
            let serving = scope.spawn(|| serve_one(&listener).map(drop));
            let error = connect(&stale).expect_err("another program").to_string();
            assert!(error.contains(&format!("at port {port} is not the node of")), "{error}");
            assert!(serving.join().expect("it ended").is_err());
        });
    }

    #[test]
    fn unfinished_file_counts_as_refusal() {
        let scratch = Scratch::new();
        let path = scratch.path().join("node.sock");
        for text in ["", "80", "80 ab\n", "x 00\n", &format!("80 {}", "00".repeat(SECRET_BYTES))] {
            whimbrel_files::write(&path, text.as_bytes()).expect("written");
            assert_eq!(connect(&path).map_err(|error| error.kind()).map(drop), Err(ErrorKind::ConnectionRefused));
        }
        let listener = bind(&scratch.path().join("ended.sock")).expect("it listens");
        drop(listener);
        let ended = connect(&scratch.path().join("ended.sock")).map_err(|error| error.kind()).map(drop);
        assert!(matches!(ended, Err(ErrorKind::ConnectionRefused | ErrorKind::NotFound)), "{ended:?}");
    }
}
