//! Arguments of `whimbrel bench` and `whimbrel chaos`.

#[cfg(feature = "nats")]
mod chaos;
mod devices;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use whimbrel_terminal::options::SecurityLevel;

#[cfg(feature = "nats")]
pub use self::chaos::ChaosArguments;
pub use self::devices::Devices;

/// Measure speed, with the benchmarks of the actor and agent studies.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel bench ring --tokens 500 --passes 10000
  whimbrel bench chameneos --creatures 50 --kind asl
  whimbrel bench fibonacci --max-n 25 --json
  whimbrel bench codec --object varied --children 10000
  whimbrel bench sessions --frames compact --in-flight 1
  whimbrel bench devices --devices 16000 --ops 6000 --seconds 600 --kill-after 300 --plot pictures
  whimbrel bench rtt --pairs 256 --nodes 2
  whimbrel bench state --store embedded --seconds 10
  whimbrel bench state --store 'nats://127.0.0.1:4222/bench?partitions=16' --threads 16 --reads 0
  whimbrel bench durability --society contract-net --levels volatile,local
  whimbrel bench passivation --kind native
  whimbrel bench fibonacci --plot pictures     response time by n, as pictures/fibonacci-native.svg

`make bench-peers` runs the same beside Erlang, Go, Pekko, tokio, Jason, brokers, other links and other codecs.")]
pub struct BenchArguments {
    #[command(subcommand)]
    pub(crate) benchmark: Benchmark,
}

#[cfg(feature = "nats")]
/// A society kept by three NATS servers, which this starts, and shared by nodes, one of which is killed or drained.
#[derive(Debug, Args)]
pub struct Failover {
    /// Nodes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=9))]
    pub nodes: u64,
    /// Agents of each node, on average.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub agents: u64,
    /// How long each agent waits until it does something again.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = whimbrel::duration::parse)]
    pub period: std::time::Duration,
    /// The node is not killed but drained: it hands over what it serves.
    #[arg(long)]
    pub planned: bool,
    /// As for `whimbrel up`; its default if not given.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_takeover)]
    pub takeover: Option<std::time::Duration>,
    /// Print the result as one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// The benchmarks. Defaults are the studies'.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Tokens go round in a ring of agents.
    Ring {
        /// Agents in the ring.
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
        workers: u64,
        /// Tokens going round at the same time.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        tokens: u64,
        /// How often each token is passed on.
        #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
        passes: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Creatures meet in pairs through a broker: how evenly?
    Chameneos {
        /// Creatures of three colours.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(2..))]
        creatures: u64,
        /// Meetings until the broker closes.
        #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
        meetings: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// A server computes fib(n) for many clients: do small requests wait behind large ones?
    Fibonacci {
        /// Clients, each with one request at a time.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
        clients: u64,
        /// Requests of each client.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
        requests: u64,
        /// The largest n asked for; the study's 30 if not given, 20 in AgentSpeak, where fib(30) takes millions of goals.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60))]
        max_n: Option<u64>,
        /// From which n on a request counts as large; the largest sixth if not given.
        #[arg(long)]
        large_from: Option<u64>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Agents in one process write to agents in another: how many messages a second, how long does each take?
    Messaging(Messaging),
    /// Programs with agents at an agent port ask agents of its node: how many messages a second, how long for an answer?
    Sessions(Sessions),
    /// Devices over WebSocket have their agents' states kept: how many operations a second, how soon safe, what is lost?
    Devices(Devices),
    /// Agents in pairs send each other long texts, and compute: how long until the answer comes, as the Siebog study asks?
    Rtt(Rtt),
    /// Agents' state is written to a store, nine writes to a read: how fast, how soon safe, in how many bytes?
    State(State),
    /// A ring and a contract net, kept or not: what does it cost that agents outlive their process?
    Durability(Durability),
    /// Durable agents that have nothing to do leave memory: what do they take there before and after, how soon are they back?
    Passivation(Passivation),
    /// Agents that move, and WebAssembly agents: how long does a hop take, what does it take to reach one, to have many?
    #[cfg(feature = "wasm")]
    Mobility(Mobility),
    /// Agents come to be: how fast, and how much memory does an idle one take?
    Spawn {
        /// How many.
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
        agents: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// A node is killed, or drained: how long until its agents answer elsewhere, and what is lost or done twice?
    #[cfg(feature = "nats")]
    Failover(Failover),
    /// The compact codec on the object of the Jadex study: how small, how fast?
    Codec {
        /// Objects that are all alike but for a random number, or that differ in all numbers.
        #[arg(long, value_enum, default_value_t = crate::codec::CodecObject::Same)]
        object: crate::codec::CodecObject,
        /// How many children of the same class the object has.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
        children: u64,
        /// One line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
}

/// Messages between two processes.
#[derive(Debug, Args)]
pub struct Messaging {
    /// Who writes to whom.
    #[arg(long, value_enum, default_value_t = Scenario::OneToOne)]
    pub scenario: Scenario,
    /// Agents that send.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub producers: u16,
    /// Agents that receive, for broadcasts: else there are as many as producers, or one.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub consumers: u16,
    /// Bytes of content of a message.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(8..))]
    pub bytes: u16,
    /// Whether producers send a message each millisecond, or as many as they can.
    #[arg(long, value_enum, default_value_t = Mode::Paced)]
    pub mode: Mode,
    /// How the link is secured.
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated, value_name = "LEVEL")]
    pub security: SecurityLevel,
    /// Messages of each producer; 500 if paced, else so many that it takes a while.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Threads of each process to run agents on; half as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Where the first process listens; for the process with the producers.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
}

/// Senders and receivers in pairs. A receiver counts primes before it answers, which takes most of the time.
#[derive(Debug, Args)]
pub struct Rtt {
    /// Pairs.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// A receiver counts the primes up to this number, dividing each number by all smaller ones.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub limit: u32,
    /// Bytes of random text in each message, either way.
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(16..=8 << 20))]
    pub bytes: u32,
    /// Processes, linked as nodes of one platform. The two of a pair are on different ones.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub nodes: u16,
    /// Messages of each sender, each when the one before is answered; if not given, 512 of all together, but two of each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Threads of each process to run agents on; all cores are shared evenly if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// How links between processes are secured.
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated, value_name = "LEVEL")]
    pub security: SecurityLevel,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Where the first process listens; for the others.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
    /// Which node this is; for the others.
    #[arg(long, hide = true, value_name = "N")]
    pub node: Option<u16>,
}

/// Messages between a node and programs in another process.
#[derive(Debug, Args)]
pub struct Sessions {
    /// Programs, each with a session, a connection and an agent.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub sessions: u16,
    /// How they write.
    #[arg(long, value_enum, default_value_t = Framed::Json)]
    pub frames: Framed,
    /// Bytes of content of a message.
    #[arg(long, default_value_t = 64)]
    pub bytes: u16,
    /// Questions of each that wait for their answers; with 1 the time of one is measured.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub in_flight: u16,
    /// Questions of each.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub messages: u64,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Where the node listens; for the process with the programs.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub node: Option<String>,
}

/// The two forms of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Framed {
    /// JSON.
    Json,
    /// Compact.
    Compact,
}

/// Agents whose state is durable.
#[derive(Debug, Args)]
pub struct State {
    /// Where it is kept: embedded, memory (what all but the disk costs), or a cluster engine at nats://HOST:PORT/NAME, where
    /// a store of that name is made and removed.
    #[arg(long, value_name = "STORE", default_value = "embedded")]
    pub store: StoreKind,
    /// Agents, each with one operation at a time.
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub writers: u64,
    /// Bytes of an agent's state.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(16..))]
    pub bytes: u16,
    /// How many of a hundred operations read. With a cluster engine none should: its owner has an agent's state in memory.
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=90))]
    pub reads: u64,
    /// How long it is measured.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Threads that write for the agents; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The folder in which the store is made, and removed at the end; this one if not given.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Societies whose agents are durable, or not.
#[derive(Debug, Args)]
pub struct Durability {
    /// Which society; both if not given.
    #[arg(long, value_enum)]
    pub society: Option<DurableSociety>,
    /// How they are kept; in every way if not given, but `replicated` only if a NATS server is installed.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    pub levels: Vec<DurableLevel>,
    /// Rounds, in which all take their turns. Figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub rounds: u64,
    /// Agents in the ring.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    pub workers: u64,
    /// Tokens going round at the same time.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub tokens: u64,
    /// How often each token is passed on; twenty times as often if nothing is kept.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub passes: u64,
    /// Agents that give jobs away in the contract net, each in one conversation after the other.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub initiators: u64,
    /// Agents that bid for each of them.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub participants: u64,
    /// Conversations of each initiator; twenty times as many if nothing is kept.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub conversations: u64,
    /// Threads to run on; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The folder in which stores are made, and removed at the end; this one if not given.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// One line of JSON instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Agents that move, and WebAssembly agents.
#[cfg(feature = "wasm")]
#[derive(Debug, Args)]
pub struct Mobility {
    /// What is measured.
    #[arg(long, value_enum, default_value_t = MobilityPart::Delivery)]
    pub part: MobilityPart,
    /// The module that the agents are of: one that counts messages.
    #[arg(long, value_name = "FILE", default_value = "guest/examples/counter-rust.wasm")]
    pub module: PathBuf,
    /// Messages sent in each round (delivery).
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub messages: u64,
    /// How many agents there are (density).
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub agents: u64,
    /// How many of them are sent a message, in another order than they came (density).
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub asked: u64,
    /// Agents in memory at once (density); as many as the system allows if not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,
    /// Who moves (hops).
    #[arg(long, value_enum, default_value_t = Mover::Weak)]
    pub mover: Mover,
    /// The module of the WebAssembly agent that moves (hops).
    #[arg(long, value_name = "FILE", default_value = "guest/examples/shuttle-c.wasm")]
    pub shuttle: PathBuf,
    /// How often it goes to the other process and comes back (hops).
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub trips: u64,
    /// How the two processes are linked (hops).
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated)]
    pub security: SecurityLevel,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// The address of the process that began.
    #[arg(long, hide = true)]
    pub first: Option<String>,
    #[command(flatten)]
    pub retrieval: Retrieval,
}

/// Documents are looked for by agents that go to them, and by clients that fetch them all.
#[cfg(feature = "wasm")]
#[derive(Debug, Args)]
pub struct Retrieval {
    /// Mbit/s of the server's link, each way (retrieval, advisor).
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,1000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub mbit: Vec<u32>,
    /// How many clients there are, each a process on a network of its own (retrieval, advisor).
    #[arg(long, value_delimiter = ',', default_value = "1,5,10,20", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub clients: Vec<u16>,
    /// Which cells (advisor).
    #[arg(long, value_enum, value_delimiter = ',', default_value = "study,few,whole,heavy")]
    pub grid: Vec<Grid>,
    /// How many of a hundred documents a query finds (retrieval, advisor).
    #[arg(long, value_delimiter = ',', default_value = "5,20", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub pass: Vec<u32>,
    /// Who does it (retrieval, advisor).
    #[arg(long, value_enum, value_delimiter = ',', default_value = "agent,plain,lz4")]
    pub systems: Vec<crate::mobility::System>,
    /// Queries of each client in each cell (retrieval, advisor).
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub queries: u32,
    /// Seconds after which clients begin no further query in a cell (retrieval, advisor).
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// The module of the agent that looks for documents (retrieval, advisor).
    #[arg(long, value_name = "FILE", default_value = "guest/examples/retriever-rust.wasm")]
    pub retriever: PathBuf,
    /// Draw the median times for each bandwidth into this folder (retrieval).
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// What this process is among those that take part.
    #[arg(long, value_enum, hide = true)]
    pub role: Option<Role>,
}

/// What a process is in the retrieval task.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// It has the documents.
    Server,
    /// It wants some.
    Client,
}

/// Which cells the advisor is tried in.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Grid {
    /// The study's grid.
    Study,
    /// Three documents of 512 bytes, by one client.
    Few,
    /// All documents pass, by one client.
    Whole,
    /// The agent carries a megabyte, by one client.
    Heavy,
}

#[cfg(feature = "wasm")]
impl Grid {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Few => "few",
            Self::Whole => "whole",
            Self::Heavy => "heavy",
        }
    }
}

/// Who moves.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mover {
    /// An AgentSpeak agent, in the middle of a plan.
    Asl,
    /// A WebAssembly agent, between two calls.
    Weak,
    /// A WebAssembly agent, in the middle of a recursion.
    Strong,
}

#[cfg(feature = "wasm")]
impl Mover {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asl => "asl",
            Self::Weak => "weak",
            Self::Strong => "strong",
        }
    }
}

/// What is measured of WebAssembly agents.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MobilityPart {
    /// Messages to an agent in memory.
    Delivery,
    /// Many agents on one node.
    Density,
    /// An agent that goes to and fro between two processes.
    Hops,
    /// Agents that go to documents beside clients that fetch them, on slow links and fast ones. Needs root.
    Retrieval,
    /// How often the advisor knows before which of them is faster. Needs root.
    Advisor,
}

/// Durable agents with nothing to do.
#[derive(Debug, Args)]
pub struct Passivation {
    /// How many.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub agents: u64,
    /// What they are written in.
    #[arg(long, value_enum, default_value_t = crate::AgentLanguage::Asl)]
    pub kind: crate::AgentLanguage,
    /// How many of them are asked something, one after the other.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub asked: u64,
    /// The folder in which the store is made, and removed at the end; this one if not given.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Which of the two processes this is.
    #[arg(long, value_enum, hide = true)]
    pub phase: Option<PassivationPhase>,
}

/// What agents do that have nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PassivationPhase {
    /// They stay.
    Live,
    /// They leave memory.
    Passive,
}

/// What is kept, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableSociety {
    /// Tokens go round in a ring of agents.
    Ring,
    /// Agents call for proposals, and give the job to the cheapest.
    ContractNet,
}

/// What agents outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableLevel {
    /// Nothing.
    Volatile,
    /// Their process and this machine's power: they are kept in a folder, each step flushed.
    Local,
    /// This machine, too: they are kept by three NATS servers, which this starts, and which flush before they acknowledge.
    Replicated,
}

/// Where state is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// In a directory.
    Embedded,
    /// In this process's memory: what all but the disk costs.
    Memory,
    /// In a cluster engine at this address.
    #[cfg(feature = "nats")]
    Nats(String),
}

impl std::str::FromStr for StoreKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "memory" => Ok(Self::Memory),
            #[cfg(feature = "nats")]
            address if address.contains("://") => Ok(Self::Nats(address.to_owned())),
            _ => Err("embedded, memory, or nats://HOST:PORT/NAME".to_owned()),
        }
    }
}

/// Who writes to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Each producer to a consumer of its own.
    OneToOne,
    /// Each producer to all consumers.
    Broadcast,
    /// All producers to one consumer.
    ManyToOne,
}

/// How fast producers send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A message each millisecond.
    Paced,
    /// As fast as they can.
    Saturated,
}

/// What all benchmarks of agents have in common.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// What the agents are written in.
    #[arg(long, value_enum, default_value_t = crate::AgentLanguage::Native)]
    pub kind: crate::AgentLanguage,
    /// Threads to run on; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Draw a picture of the run (SVG) into this folder.
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
}
