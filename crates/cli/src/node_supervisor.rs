//! Supervisor of `run --nodes`: the process that a user started. The nodes are processes below it, so that it outlives
//! each of them. A node keeps a connection to the supervisor, and ends when that breaks.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use whimbrel::control::name_order;
use whimbrel_terminal as terminal;
use whimbrel_terminal::stopping::{INTERRUPTED, SOCIETY, Stopping};

use crate::local_nodes::name_of;

/// Environment variable with the address of the supervisor, and a secret.
const VARIABLE: &str = "WHIMBREL_SUPERVISOR";
/// Word with which a node says that it ends in order.
const BYE: &str = "bye";
/// Longest wait for the nodes to end after Ctrl-C.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// Interval of checks whether nodes are late.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bytes that a node says at most.
const LINE_BYTES_MAX: u64 = 200;

/// Connection of a node to its supervisor.
pub struct Supervision(TcpStream);

impl Supervision {
    /// Connects the node of this name to the supervisor, if it has one. `when_alone` is called when the supervisor is
    /// gone.
    ///
    /// # Errors
    /// The supervisor does not answer.
    pub fn begin(name: &str, when_alone: impl FnOnce() + Send + 'static) -> anyhow::Result<Option<Self>> {
        let Ok(told) = std::env::var(VARIABLE) else { return Ok(None) };
        let Some((address, secret)) = told.split_once('/') else {
            bail!("{VARIABLE} is not the address of a supervisor")
        };
        let mut stream = TcpStream::connect(address).context("the process that started this node is gone")?;
        writeln!(stream, "{secret} {name}")?;
        let mut reader = stream.try_clone()?;
        std::thread::spawn(move || {
            let _ = reader.read_to_end(&mut Vec::new());
            when_alone();
        });
        Ok(Some(Self(stream)))
    }

    /// Tells the supervisor that the node ends in order, with this exit code.
    pub fn end(&self, code: i32) {
        // A supervisor that is gone needs no word.
        let _ = writeln!(&self.0, "{BYE} {code}");
    }
}

/// Report to the supervisor.
enum NodeReport {
    /// A node connected.
    Began(String, TcpStream),
    /// Some node ends in order, with this exit code.
    Ends(i32),
    /// The connection of a node is closed.
    Gone(String),
    /// The first node's process has ended.
    Exited(std::io::Result<ExitStatus>),
    /// Ctrl-C, or a request to terminate.
    Stop,
}

/// A node, as the supervisor knows it.
struct SupervisedNode {
    name: String,
    stream: TcpStream,
}

/// Returns true in a process that a supervisor started.
pub fn is_supervised() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Runs this command line below this process, until the society has ended.
///
/// # Errors
/// The first node cannot be started.
pub fn supervise() -> anyhow::Result<ExitCode> {
    let (tell, reports) = channel();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen for nodes")?;
    let secret = format!("{:016x}{:016x}", random(), random());
    let told = format!("{}/{secret}", listener.local_addr()?);
    let stop = tell.clone();
    Stopping::new()?.watch(|| None, move |_| drop(stop.send(NodeReport::Stop)));
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let arguments = std::env::args_os().skip(1);
    let child = Command::new(program).args(arguments).env(VARIABLE, told).spawn().context("cannot start node n1")?;
    accept(listener, secret, tell.clone());
    wait_for(child, tell);
    Ok(ExitCode::from(u8::try_from(follow(&reports) & 0xff).unwrap_or(1)))
}

/// Draws a number. Hashers are keyed at random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn wait_for(mut child: Child, tell: Sender<NodeReport>) {
    std::thread::spawn(move || drop(tell.send(NodeReport::Exited(child.wait()))));
}

fn accept(listener: TcpListener, secret: String, tell: Sender<NodeReport>) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (secret, tell) = (secret.clone(), tell.clone());
            std::thread::spawn(move || hear(&stream, &secret, &tell));
        }
    });
}

/// Passes on what a node says, if it knows the secret.
fn hear(stream: &TcpStream, secret: &str, tell: &Sender<NodeReport>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?.take(LINE_BYTES_MAX)).lines().map_while(Result::ok);
    let first = lines.next()?;
    let name = first.strip_prefix(secret)?.trim().to_owned();
    tell.send(NodeReport::Began(name.clone(), stream.try_clone().ok()?)).ok()?;
    for line in lines {
        if let Some(code) = line.strip_prefix(BYE) {
            tell.send(NodeReport::Ends(code.trim().parse().unwrap_or(1))).ok()?;
        }
    }
    tell.send(NodeReport::Gone(name)).ok()
}

/// State of a supervised society.
#[derive(Default)]
struct SupervisedSociety {
    nodes: Vec<SupervisedNode>,
    /// Exit code of the first node, once its process has ended in order.
    code: Option<i32>,
    /// True once the first node's process has ended.
    has_lost_first: bool,
    /// True once the first node's connection broke although it had not said that it ends. The end of its process may
    /// be known later.
    has_missed_first: bool,
    /// Exit code that the last node gave that ended in order.
    last_code: Option<i32>,
    /// True once a node ends in order, or Ctrl-C was pressed: losses are no news any more.
    is_ending: bool,
    /// Time until which nodes may end after Ctrl-C.
    until: Option<Instant>,
}

/// Follows the nodes until all have ended. Returns the exit code.
fn follow(reports: &Receiver<NodeReport>) -> i32 {
    let mut society = SupervisedSociety::default();
    loop {
        match reports.recv_timeout(LOOK_EVERY) {
            Ok(report) => society.take(report),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return 1,
        }
        let is_late = society.until.is_some_and(|until| Instant::now() > until);
        if let Some(code) = society.code.or_else(|| is_late.then_some(INTERRUPTED)) {
            return code;
        }
        if society.has_lost_first && society.nodes.is_empty() {
            let interrupted = society.until.map(|_| INTERRUPTED);
            return interrupted.or(society.last_code).unwrap_or(1);
        }
    }
}

impl SupervisedSociety {
    fn take(&mut self, report: NodeReport) {
        match report {
            NodeReport::Began(name, stream) => self.nodes.push(SupervisedNode { name, stream }),
            NodeReport::Ends(code) => (self.is_ending, self.last_code) = (true, Some(code)),
            NodeReport::Gone(name) => {
                self.nodes.retain(|node| node.name != name);
                if !self.is_ending {
                    self.has_missed_first |= name == name_of(1);
                    self.tell_loss(&name);
                }
            }
            NodeReport::Exited(status) => {
                // Without a code, the process was killed or crashed.
                self.code = status.ok().and_then(crate::system::code_of);
                self.has_lost_first = self.code.is_none();
            }
            NodeReport::Stop => {
                if self.says_end() {
                    terminal::note(&format!("ending {SOCIETY} (Ctrl-C again to end at once)"));
                }
                self.is_ending = true;
                self.until = Some(Instant::now() + END_PATIENCE);
                self.nodes.iter().for_each(|node| drop(node.stream.shutdown(Shutdown::Both)));
            }
        }
    }

    /// Returns true if no other process says that Ctrl-C ends the society: the first node does, as long as it lives.
    fn says_end(&self) -> bool {
        self.has_lost_first || self.has_missed_first
    }

    /// Says that a node is gone, and which continue.
    fn tell_loss(&self, name: &str) {
        let mut others: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        others.sort_unstable_by(|one, other| name_order::compare(one, other));
        terminal::note(&match others.as_slice() {
            [] => format!("{name} is gone, and no node is left"),
            _ => format!("{name} is gone: the society continues on {}; Ctrl-C ends it", others.join(", ")),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threads that see the connection break and the process end may be in any order.
    #[test]
    fn lost_first_node_leaves_last_word() {
        let after = |reports: Vec<NodeReport>| {
            let mut society = SupervisedSociety::default();
            reports.into_iter().for_each(|report| society.take(report));
            society.says_end()
        };
        let gone = |name: &str| NodeReport::Gone(name.to_owned());
        assert!(after(vec![gone("n1")]), "its process ended just now");
        assert!(!after(vec![gone("n2")]), "the first node lives");
        assert!(!after(vec![NodeReport::Ends(0), gone("n1")]), "it said that it ends");
    }
}
