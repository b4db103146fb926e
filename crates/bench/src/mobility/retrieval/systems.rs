//! Running systems of the comparison: a process for the server and one for each client, each on its host.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};
use whimbrel_net::{Authority, NODE_DAYS};

use super::network::{RetrievalHost, RetrievalNetwork};
use super::nodes::{ProcessRole, SERVER};
use whimbrel::node::node_secrets::NodeSecrets;

/// The client/server program.
const PEER: &str = include_str!("../../../../../bench/peers/retrieval/retrieval.cpp");
/// Port of servers.
const PORT: &str = "7700";

/// Systems that do the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum System {
    /// A WebAssembly agent that goes to the documents.
    Agent,
    /// Client and server in C++.
    Plain,
    /// The same, with all documents packed by lz4.
    Lz4,
}

impl System {
    /// Returns the name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Plain => "plain",
            Self::Lz4 => "lz4",
        }
    }
}

/// Times of one query, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryTimes {
    /// Start of the query, since 1970.
    begun_ns: u64,
    pub total_us: f64,
    /// Looking for the word.
    pub task_us: f64,
    /// The way there, and the way home; of agents.
    pub out_us: f64,
    pub back_us: f64,
    /// Documents.
    pub found: usize,
}

/// A process that answers lines.
struct LineProcess {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl LineProcess {
    fn start(mut command: Command, first: &str) -> anyhow::Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start a process")?;
        let out = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        let mut process = Self { child, out };
        if !first.is_empty() {
            process.tell(first)?;
        }
        match process.hear()?.as_str() {
            "ready" => Ok(process),
            other => bail!("a process did not start: {other}"),
        }
    }

    fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.child.stdin.as_mut().context("its input is a pipe")?, "{line}")?)
    }

    fn hear(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.out.read_line(&mut line)? == 0 {
            bail!("a process ended too soon");
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A system that runs.
pub struct RunningSystem {
    pub system: System,
    server: LineProcess,
    clients: Vec<LineProcess>,
    asked: u64,
    /// Bytes that the server's links received and sent until the last query was answered; of agents.
    pub link_bytes: Option<(u64, u64)>,
}

impl RunningSystem {
    /// Starts it.
    ///
    /// # Errors
    /// A process cannot be started, or the client/server program not compiled.
    pub fn start(
        system: System,
        network: &RetrievalNetwork,
        clients: usize,
        folder: &Path,
        module: &Path,
    ) -> anyhow::Result<Self> {
        let (server, clients) = match system {
            System::Agent => start_nodes(network, clients, folder, module)?,
            System::Plain | System::Lz4 => start_peer(system, network, clients, folder)?,
        };
        Ok(Self { system, server, clients, asked: 0, link_bytes: None })
    }

    /// Says something to the first client: what it answers.
    ///
    /// # Errors
    /// The process fails.
    pub fn say(&mut self, line: &str) -> anyhow::Result<String> {
        let client = self.clients.first_mut().context("there is no client")?;
        client.tell(line)?;
        client.hear()
    }

    /// Has each client ask so often, in this time: with the study's pauses, or none. What came of it.
    ///
    /// # Errors
    /// A process fails.
    pub fn ask(&mut self, word: &str, queries: u32, seconds: f64, pause: f64) -> anyhow::Result<Vec<QueryTimes>> {
        for client in &mut self.clients {
            self.asked += 1;
            client.tell(&format!("{word} {queries} {seconds} {pause} {}", self.asked))?;
        }
        let mut all = Vec::new();
        for client in &mut self.clients {
            let line = client.hear()?;
            all.push(line.split_whitespace().map(query).collect::<anyhow::Result<Vec<_>>>()?);
        }
        if self.system == System::Agent {
            self.server.tell("visits")?;
            let told = self.server.hear()?;
            let (bytes, visits) = told.split_once(' ').unwrap_or((&told, ""));
            let (came, went) =
                bytes.split_once('/').context("the server sent an unexpected answer to a query for its links")?;
            self.link_bytes = Some((came.parse()?, went.parse()?));
            note_visits(&mut all, visits);
        }
        Ok(all.into_iter().flatten().collect())
    }
}

fn query(text: &str) -> anyhow::Result<QueryTimes> {
    let mut parts = text.split('/');
    let mut next = || parts.next().with_context(|| format!("a client says {text}"));
    let begun_ns = next()?.parse()?;
    let (total_us, task_us) = (next()?.parse()?, next()?.parse()?);
    Ok(QueryTimes { begun_ns, total_us, task_us, found: next()?.parse()?, ..QueryTimes::default() })
}

/// Derives from the server's record of each client's agent how long it travelled and how long it worked.
fn note_visits(all: &mut [Vec<QueryTimes>], visits: &str) {
    for visit in visits.split_whitespace() {
        let mut parts = visit.split('/');
        let (Some(agent), Some(what), Some(at)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let number = agent.rsplit('c').next().and_then(|number| number.parse::<usize>().ok()).unwrap_or_default();
        let at: u64 = at.parse().unwrap_or_default();
        let queries = number.checked_sub(1).and_then(|client| all.get_mut(client));
        let query = queries.and_then(|queries| queries.iter_mut().rev().find(|query| query.begun_ns <= at));
        let Some(query) = query else { continue };
        let since_us = (at - query.begun_ns) as f64 / 1e3;
        if what == "came" {
            query.out_us = since_us;
        } else {
            query.task_us = since_us - query.out_us;
            query.back_us = query.total_us - since_us;
        }
    }
}

fn start_nodes(
    network: &RetrievalNetwork,
    clients: usize,
    folder: &Path,
    module: &Path,
) -> anyhow::Result<(LineProcess, Vec<LineProcess>)> {
    let mut authority = Authority::create("whimbrel")?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut start = |host: RetrievalHost, node: String, role: &str| {
        let credentials = Some(authority.issue(&node, &[], NODE_DAYS)?);
        let part = ProcessRole {
            node,
            server: format!("{}:{PORT}", RetrievalNetwork::address(RetrievalHost::Server)),
            secrets: NodeSecrets { token: String::new(), credentials },
            module: module.to_owned(),
            folder: folder.join("documents"),
        };
        let mut command = network.command(host, &program);
        command.args(["bench", "mobility", "--part", "retrieval", "--role", role]);
        LineProcess::start(command, &serde_json::to_string(&part)?)
    };
    let server = start(RetrievalHost::Server, SERVER.to_owned(), "server")?;
    let clients = (1..=clients).map(|number| start(RetrievalHost::Client(number), format!("c{number}"), "client"));
    Ok((server, clients.collect::<anyhow::Result<_>>()?))
}

fn start_peer(
    system: System,
    network: &RetrievalNetwork,
    clients: usize,
    folder: &Path,
) -> anyhow::Result<(LineProcess, Vec<LineProcess>)> {
    let program = compiled(folder)?;
    let mut command = network.command(RetrievalHost::Server, &program);
    command.args(["server", PORT]).arg(folder.join("documents")).arg(system.name());
    let server = LineProcess::start(command, "")?;
    let client = |number: usize| {
        let mut command = network.command(RetrievalHost::Client(number), &program);
        command.args(["client", &RetrievalNetwork::address(RetrievalHost::Server), PORT, system.name()]);
        LineProcess::start(command, "")
    };
    Ok((server, (1..=clients).map(client).collect::<anyhow::Result<_>>()?))
}

/// Returns the client/server program, compiled.
fn compiled(folder: &Path) -> anyhow::Result<PathBuf> {
    let (source, program) = (folder.join("retrieval.cpp"), folder.join("retrieval"));
    if !program.exists() {
        std::fs::write(&source, PEER)?;
        let mut compiler = Command::new("c++");
        compiler.args(["-O2", "-std=c++20", "-pthread"]).arg(&source).arg("-o").arg(&program).arg("-llz4");
        let output = compiler.output().context("it needs a C++ compiler")?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).lines().take(3).collect::<Vec<_>>().join("\n");
            bail!("it needs a C++ compiler and lz4's header and library (liblz4-dev): {why}");
        }
    }
    Ok(program)
}
