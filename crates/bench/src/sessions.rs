//! External agents at an agent port: programs in another process, each with a session and an agent, ask an echo agent
//! of the node and receive their own text. Each message is a whole ACL message, either way.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::LinkSecurity;
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig};
use whimbrel_platform::session::{
    AckFrame, Create, FrameReader, FrameWriter, Framing, HelloFrame, MessageFrame, SESSION_VERSION, SessionFrame,
    SessionGrant,
};
use whimbrel_runtime::{Agent, Context, Platform};

use super::messaging::cpu_s;
use super::{Metrics, percentile};

const TOKEN: &str = "a token for benchmarks";
/// Agents and texts that compact messages refer to by number.
const REMEMBER: u32 = 64;
/// Bytes of the longest frame that a client takes.
const FRAME_BYTES_MAX: usize = 1 << 20;
/// Frames after which an acknowledgement is due.
const ACK_EVERY: u64 = 32;

/// Measure messages between a node and external programs in another process.
#[derive(Debug, Args)]
pub struct SessionsArguments {
    /// Number of programs, each with a session, a connection and an agent.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub sessions: u16,
    /// Encoding of frames.
    #[arg(long, value_enum, default_value_t = Framed::Json)]
    pub frames: Framed,
    /// Size of a message's content in bytes.
    #[arg(long, default_value_t = 64)]
    pub bytes: u16,
    /// Number of unanswered questions of each program; with 1 the latency is measured.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub in_flight: u16,
    /// Number of questions of each program.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub messages: u64,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Address of the node; for the process with the programs.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub node: Option<String>,
}

/// Encodings of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Framed {
    /// JSON.
    Json,
    /// Compact.
    Compact,
}

impl SessionsArguments {
    fn framing(&self) -> Framing {
        match self.frames {
            Framed::Json => Framing::Json,
            Framed::Compact => Framing::Compact,
        }
    }

    /// Returns the parameters, as JSON.
    pub fn params(&self) -> String {
        let frames = if self.frames == Framed::Json { "json" } else { "compact" };
        let Self { sessions, in_flight, bytes, messages, .. } = self;
        format!(
            "\"sessions\": {sessions}, \"frames\": \"{frames}\", \"bytes\": {bytes}, \"in_flight\": {in_flight}, \
             \"messages\": {messages}"
        )
    }
}

/// Answers each message with what it says.
struct EchoAgent;

impl Agent for EchoAgent {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative == Performative::Request {
            ctx.reply(&message, Performative::Inform, message.content.clone());
        }
    }
}

/// Report of the clients' process.
#[derive(Serialize, Deserialize)]
struct SessionResult {
    seconds: f64,
    us: Vec<f64>,
    cpu_s: f64,
}

/// Runs it: this process is the node, and starts the one with the clients.
///
/// # Errors
/// The other process cannot be started, or does not hear all answers.
pub fn run(what: &SessionsArguments) -> anyhow::Result<Metrics> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    let platform = Platform::builder().workers(threads).build();
    platform.spawn_population("echo", usize::from(what.sessions), |_| EchoAgent)?;
    let grant = SessionGrant { messages_per_s: u32::MAX, ..SessionGrant::new("bench", vec!["*".into()]) };
    let config = AgentPortConfig {
        level: LinkSecurity::Open,
        credentials: None,
        links: None,
        session_ports: None,
        authorise: Box::new(move |claim| (claim.token == Some(TOKEN)).then(|| grant.clone())),
        auditor: None,
        log: Box::new(|_| ()),
    };
    let port = AgentPort::open(config, platform.host(), "127.0.0.1:0")?;
    port.io().map(|sockets| platform.serve(sockets));
    let before = cpu_s("self")?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .args(["--node", port.address()])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the clients' process")?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("its output is a pipe")?).read_line(&mut line)?;
    let _ = child.wait();
    let heard: SessionResult = serde_json::from_str(&line).context("the clients did not get all answers")?;
    let cpu = cpu_s("self")? - before;
    port.close(Duration::from_secs(1));
    let SessionResult { seconds, mut us, cpu_s } = heard;
    // To the node and back.
    let messages = (2 * what.messages * u64::from(what.sessions)) as f64;
    Ok(vec![
        ("messages_per_s", (seconds > 0.0).then_some(messages / seconds)),
        ("p50_us", percentile(50.0, &mut us)),
        ("p99_us", percentile(99.0, &mut us)),
        ("node_cpu_s_per_million", Some(cpu / messages * 1e6)),
        ("clients_cpu_s_per_million", Some(cpu_s / messages * 1e6)),
        ("seconds", Some(seconds)),
    ])
}

/// Runs the other process: clients of the node that listens there, a thread for each.
///
/// # Errors
/// The node does not do what it should.
pub fn ask(what: &SessionsArguments, node: &str) -> anyhow::Result<()> {
    let clients = (1..=what.sessions).map(|number| SessionProgram::begin(what, node, number));
    let clients: Vec<SessionProgram> = clients.collect::<anyhow::Result<_>>()?;
    let begun = Instant::now();
    let asking: Vec<_> = clients.into_iter().map(|client| std::thread::spawn(move || client.run())).collect();
    let mut us = Vec::new();
    for client in asking {
        let Ok(heard) = client.join() else { bail!("a client failed") };
        us.extend(heard?);
    }
    let heard = SessionResult { seconds: begun.elapsed().as_secs_f64(), us, cpu_s: cpu_s("self")? };
    println!("{}", serde_json::to_string(&heard)?);
    Ok(())
}

/// A program with a session and one agent.
struct SessionProgram {
    reading: BufReader<TcpStream>,
    writing: BufWriter<TcpStream>,
    reader: FrameReader,
    writer: FrameWriter,
    question: AclMessage,
    /// Numbered frames written and read so far, those of them that are acknowledged, and the highest number that may be
    /// written.
    number: u64,
    received: u64,
    acknowledged: u64,
    credit: u64,
    left: u64,
    in_flight: usize,
    /// Time of each unanswered question; answers come in order.
    asked: VecDeque<Instant>,
}

impl SessionProgram {
    /// Connects, and has an agent when this returns.
    fn begin(what: &SessionsArguments, node: &str, number: u16) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(node).context("cannot connect")?;
        socket.set_nodelay(true)?;
        let framing = what.framing();
        let remember = if framing == Framing::Compact { REMEMBER } else { 0 };
        let content = Value::from("x".repeat(usize::from(what.bytes)));
        let echo = Aid::local(format!("echo{number}").as_str());
        let mut client = Self {
            reading: BufReader::new(socket.try_clone()?),
            writing: BufWriter::new(socket),
            reader: FrameReader::new(framing, remember),
            writer: FrameWriter::new(framing, remember, FRAME_BYTES_MAX),
            question: AclMessage::new(Performative::Request, Aid::NOBODY, echo, content),
            number: 1,
            received: 0,
            acknowledged: 0,
            credit: 0,
            left: what.messages,
            in_flight: usize::from(what.in_flight),
            asked: VecDeque::new(),
        };
        let token = Some(TOKEN.to_owned());
        client.write(&SessionFrame::Hello(HelloFrame {
            versions: vec![SESSION_VERSION],
            token,
            remember,
            ..HelloFrame::default()
        }))?;
        client.write(&SessionFrame::Create(Create { number: 1, agent: 0, name: format!("client{number}") }))?;
        client.writing.flush()?;
        while client.received == 0 {
            client.read()?;
        }
        Ok(client)
    }

    fn write(&mut self, frame: &SessionFrame) -> anyhow::Result<()> {
        let mut bytes = vec![0; 4];
        self.writer.write(frame, &mut bytes)?;
        let length = u32::try_from(bytes.len() - 4)?.to_be_bytes();
        bytes.splice(..4, length);
        Ok(self.writing.write_all(&bytes)?)
    }

    /// Reads a frame. Whether it is an answer.
    fn read(&mut self) -> anyhow::Result<bool> {
        let mut length = [0; 4];
        self.reading.read_exact(&mut length)?;
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        self.reading.read_exact(&mut bytes)?;
        match self.reader.read(&bytes)? {
            SessionFrame::Welcome(welcome) => self.credit = welcome.credit,
            SessionFrame::Ack(ack) => self.credit = ack.credit.unwrap_or(self.credit),
            SessionFrame::Created(created) => self.received = created.number,
            SessionFrame::Message(message) => {
                self.received = message.number;
                return Ok(true);
            }
            SessionFrame::Refused(refused) => bail!("refused: {}", refused.text),
            SessionFrame::Error(fault) => bail!("closed: {}", fault.text),
            _ => {}
        }
        Ok(false)
    }

    /// Asks until all is answered. How long each answer took, in microseconds.
    fn run(mut self) -> anyhow::Result<Vec<f64>> {
        let mut us = Vec::with_capacity(self.left as usize);
        while self.left > 0 || !self.asked.is_empty() {
            while self.left > 0 && self.asked.len() < self.in_flight && self.number < self.credit {
                self.number += 1;
                let message = MessageBody::Owned(Box::new(self.question.clone()));
                self.asked.push_back(Instant::now());
                self.write(&SessionFrame::Message(MessageFrame { number: self.number, agent: 0, message }))?;
                self.left -= 1;
            }
            if self.received >= self.acknowledged + ACK_EVERY {
                self.acknowledged = self.received;
                self.write(&SessionFrame::Ack(AckFrame { received: self.received, credit: None }))?;
            }
            self.writing.flush()?;
            // One at least; then what came with it.
            loop {
                if self.read()?
                    && let Some(asked) = self.asked.pop_front()
                {
                    us.push(asked.elapsed().as_nanos() as f64 / 1_000.0);
                }
                if self.reading.buffer().len() < 4 {
                    break;
                }
            }
        }
        self.write(&SessionFrame::Bye)?;
        self.writing.flush()?;
        Ok(us)
    }
}
