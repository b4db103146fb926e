//! Client side of control sockets: finds the nodes on this machine, and sends them requests.
use whimbrel_platform::plain_text::harmless;

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use serde::de::DeserializeOwned;
use whimbrel_operator::{Answer, NodeInfo, OperatorCall, Refusal, Request, VERSION};

use super::local_socket::LocalStream;
use super::socket_folder;

/// Longest time in which a node answers with its name.
const GREETING_PATIENCE: Duration = Duration::from_secs(2);
/// Longest time for any other answer, beyond the wait that the request asks for.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval at which a waiting caller checks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Node on this machine.
#[derive(Clone, Debug)]
pub struct RunningNode {
    /// Description of the node.
    pub info: NodeInfo,
    socket: PathBuf,
}

/// Nodes on this machine.
#[derive(Debug, Default)]
pub struct Survey {
    /// The nodes, those of one platform together, the oldest first.
    pub nodes: Vec<RunningNode>,
    /// Errors of nodes that did not answer.
    pub problems: Vec<anyhow::Error>,
}

/// Asks all nodes of this user on this machine for their descriptions.
pub fn survey() -> Survey {
    let (sockets, problems) = socket_folder::sockets();
    let asking = sockets.into_iter().map(|socket| std::thread::spawn(move || greet(socket)));
    // All at once.
    let asking: Vec<_> = asking.collect();
    let mut survey = Survey { nodes: Vec::new(), problems };
    for answer in asking {
        match answer.join() {
            Ok(Ok(found)) => survey.nodes.extend(found),
            Ok(Err(problem)) => survey.problems.push(problem),
            Err(_) => survey.problems.push(anyhow!("a query to a node failed")),
        }
    }
    survey
}

/// Asks a node for its description; `None` if it has ended.
fn greet(socket: PathBuf) -> anyhow::Result<Option<RunningNode>> {
    let cannot = || format!("the node at {} cannot be asked", socket.display());
    let Some(stream) = socket_folder::connect(&socket).with_context(cannot)? else { return Ok(None) };
    match call(&stream, &Request::Node, GREETING_PATIENCE).and_then(|mut lines| read_answer(&mut lines)) {
        Ok(Answer::Node(info)) => Ok(Some(RunningNode { info: *info, socket })),
        Ok(Answer::Error(refusal)) => {
            bail!("the node at {} does not answer: {}", socket.display(), harmless(&refusal.text))
        }
        Ok(_) => bail!("the node at {} sent an unexpected answer to a query for its name", socket.display()),
        // It ended just now.
        Err(_) if !socket.exists() => Ok(None),
        Err(error) => Err(error.context(cannot())),
    }
}

impl RunningNode {
    /// Asks for one answer, which may take `wait` longer than usual.
    ///
    /// # Errors
    /// The node is gone, or refuses: then it is a [`Refusal`].
    pub fn ask(&self, request: &Request, wait: Duration) -> anyhow::Result<Answer> {
        match read_answer(&mut call(&self.stream()?, request, PATIENCE + wait)?)? {
            // Names of agents may be in there, and anything in those.
            Answer::Error(refusal) => Err(Refusal { text: harmless(&refusal.text), ..refusal }.into()),
            answer => Ok(answer),
        }
    }

    /// Asks as [`Self::ask`] does, until `stopped` returns true. Then it returns `None`, and the node learns that the
    /// caller has gone.
    ///
    /// # Errors
    /// The node is gone, does not answer in time, or refuses: then it is a [`Refusal`].
    pub fn ask_until(
        &self,
        request: &Request,
        wait: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> anyhow::Result<Option<Answer>> {
        let (begun, patience) = (Instant::now(), PATIENCE.saturating_add(wait));
        let mut lines = call(&self.stream()?, request, PATIENCE)?;
        lines.get_ref().set_read_timeout(Some(LOOK_EVERY))?;
        let mut line = Vec::new();
        while let Err(error) = lines.read_until(b'\n', &mut line) {
            let is_late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            if !is_late || begun.elapsed() > patience {
                return Err(error).context("no answer");
            }
            if stopped() {
                return Ok(None);
            }
        }
        if line.is_empty() {
            bail!("the node ended");
        }
        match serde_json::from_slice(&line).context("malformed answer")? {
            Answer::Error(refusal) => Err(Refusal { text: harmless(&refusal.text), ..refusal }.into()),
            answer => Ok(Some(answer)),
        }
    }

    /// Requests all matching events, a line each, perhaps for ever.
    ///
    /// # Errors
    /// The node is gone. A line may be a [`Refusal`].
    pub fn lines<T: DeserializeOwned>(
        &self,
        request: &Request,
    ) -> anyhow::Result<impl Iterator<Item = anyhow::Result<T>> + Send + use<T>> {
        let lines = call(&self.stream()?, request, PATIENCE)?;
        Ok(lines.lines().map_while(|line| Some(read_line(&line.ok()?))))
    }

    fn stream(&self) -> anyhow::Result<LocalStream> {
        let gone = || format!("node {} (process {}) is gone", self.info.node, self.info.pid);
        socket_folder::connect(&self.socket).with_context(gone)?.with_context(gone)
    }

    /// Returns the path of the node's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

fn call(stream: &LocalStream, request: &Request, patience: Duration) -> anyhow::Result<BufReader<LocalStream>> {
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(&OperatorCall { version: VERSION, request: request.clone() })?;
    line.push(b'\n');
    let mut stream = stream.try_clone()?;
    stream.write_all(&line).context("cannot send the request")?;
    Ok(BufReader::new(stream))
}

fn read_line<T: DeserializeOwned>(line: &str) -> anyhow::Result<T> {
    serde_json::from_str(line).or_else(|error| match serde_json::from_str(line) {
        Ok(Answer::Error(refusal)) => Err(Refusal { text: harmless(&refusal.text), ..refusal }.into()),
        _ => Err(error).with_context(|| format!("unexpected answer of the node: {}", harmless(line))),
    })
}

fn read_answer(lines: &mut BufReader<LocalStream>) -> anyhow::Result<Answer> {
    let mut line = String::new();
    lines.read_line(&mut line).context("no answer")?;
    if line.is_empty() {
        bail!("the node ended");
    }
    serde_json::from_str(&line).context("malformed answer")
}
