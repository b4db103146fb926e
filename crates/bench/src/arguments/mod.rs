//! Arguments of `whimbrel bench` and `whimbrel chaos`.

#[cfg(feature = "nats")]
mod chaos;
mod devices;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use whimbrel_terminal::options::SecurityLevel;

#[cfg(feature = "nats")]
pub use self::chaos::ChaosArguments;
pub use self::devices::DevicesArguments;

/// Measure performance, with the benchmarks of the actor and agent studies.
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
/// Measure a failover: one node of a society on three NATS servers is killed or drained.
#[derive(Debug, Args)]
pub struct Failover {
    /// Number of nodes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=9))]
    pub nodes: u64,
    /// Average number of agents per node.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub agents: u64,
    /// Time that each agent waits between two actions.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = whimbrel::duration::parse)]
    pub period: std::time::Duration,
    /// Drain the node instead of killing it: it hands over its agents.
    #[arg(long)]
    pub planned: bool,
    /// Takeover time, as for `whimbrel up` [default: that of `whimbrel up`].
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_takeover)]
    pub takeover: Option<std::time::Duration>,
    /// Print the result as one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// Benchmarks. Defaults are those of the studies.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Pass tokens round a ring of agents.
    Ring {
        /// Number of agents in the ring.
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
        workers: u64,
        /// Number of tokens that circulate at the same time.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        tokens: u64,
        /// Number of times each token is passed on.
        #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
        passes: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Let creatures meet in pairs through a broker, and measure fairness.
    Chameneos {
        /// Number of creatures, in three colours.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(2..))]
        creatures: u64,
        /// Number of meetings until the broker closes.
        #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
        meetings: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Compute fib(n) for many clients, and measure how long small requests wait behind large ones.
    Fibonacci {
        /// Number of clients, each with one request at a time.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
        clients: u64,
        /// Number of requests of each client.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
        requests: u64,
        /// Largest requested n [default: 30 as in the study; 20 in AgentSpeak, where fib(30) takes millions of goals].
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60))]
        max_n: Option<u64>,
        /// Smallest n of a large request [default: the largest sixth].
        #[arg(long)]
        large_from: Option<u64>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure throughput and latency of messages between two processes.
    Messaging(Messaging),
    /// Measure throughput and latency between external programs at an agent port and agents of its node.
    Sessions(SessionsArguments),
    /// Measure devices over WebSocket that write states: throughput, time until a state is durable, losses.
    Devices(DevicesArguments),
    /// Measure round trips of long texts between pairs of agents that compute, as in the Siebog study.
    Rtt(Rtt),
    /// Measure a store of agents' states: throughput, time until a write is durable, bytes.
    State(StateArguments),
    /// Measure the cost of durability, with a ring and a contract net.
    Durability(DurabilityArguments),
    /// Measure passivation: memory of idle agents before and after, and time to bring them back.
    Passivation(Passivation),
    /// Measure moving agents and WebAssembly agents: time of a hop, cost of a message, memory of many agents.
    #[cfg(feature = "wasm")]
    Mobility(MobilityArguments),
    /// Measure the rate at which agents are created, and the memory of an idle one.
    Spawn {
        /// Number of agents.
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
        agents: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Measure a failover: time until agents answer on other nodes, losses and repetitions.
    #[cfg(feature = "nats")]
    Failover(Failover),
    /// Measure size and speed of the compact codec, on the object of the Jadex study.
    Codec {
        /// Kind of objects: identical but for a random number, or different in all numbers.
        #[arg(long, value_enum, default_value_t = crate::codec::CodecObject::Same)]
        object: crate::codec::CodecObject,
        /// Number of the object's children of the same class.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
        children: u64,
        /// Print one line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
}

/// Measure messages between two processes.
#[derive(Debug, Args)]
pub struct Messaging {
    /// Pattern of senders and receivers.
    #[arg(long, value_enum, default_value_t = Scenario::OneToOne)]
    pub scenario: Scenario,
    /// Number of agents that send.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub producers: u16,
    /// Number of agents that receive, for broadcasts only: the other scenarios have one per producer, or one.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub consumers: u16,
    /// Size of a message's content in bytes.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(8..))]
    pub bytes: u16,
    /// Pace of the producers: a message each millisecond, or as fast as possible.
    #[arg(long, value_enum, default_value_t = Mode::Paced)]
    pub mode: Mode,
    /// Security of the link.
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated, value_name = "LEVEL")]
    pub security: SecurityLevel,
    /// Number of messages of each producer [default: 500 if paced, else enough for a longer run].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Number of threads in each process that run agents [default: half the number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Address of the first process; for the process with the producers.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
}

/// Measure round trips between pairs of agents. A receiver counts primes before it answers, which takes most of the
/// time.
#[derive(Debug, Args)]
pub struct Rtt {
    /// Number of pairs.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// Number up to which a receiver counts primes, dividing each number by all smaller ones.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub limit: u32,
    /// Size of the random text in each message, both ways, in bytes.
    #[arg(long, default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(16..=8 << 20))]
    pub bytes: u32,
    /// Number of processes, linked as nodes of one platform. The two agents of a pair are on different nodes.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub nodes: u16,
    /// Number of messages of each sender, each sent after the answer to the one before [default: 512 in total, but at
    /// least two each].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Number of threads in each process that run agents [default: an even share of the cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Security of the links between processes.
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated, value_name = "LEVEL")]
    pub security: SecurityLevel,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Address of the first process; for the others.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
    /// Number of this node; for the others.
    #[arg(long, hide = true, value_name = "N")]
    pub node: Option<u16>,
}

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

/// Measure writes and reads of durable states.
#[derive(Debug, Args)]
pub struct StateArguments {
    /// Store of the states: embedded, memory (excludes the cost of the disk), or a cluster engine at
    /// nats://HOST:PORT/NAME. There, a store of that name is created and removed.
    #[arg(long, value_name = "STORE", default_value = "embedded")]
    pub store: StoreKind,
    /// Number of agents, each with one operation at a time.
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub writers: u64,
    /// Size of an agent's state in bytes.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(16..))]
    pub bytes: u16,
    /// Share of operations that read. Use 0 with a cluster engine, because nodes read states of their agents from their
    /// own memory.
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=90))]
    pub reads: u64,
    /// Duration of the measurement in seconds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Number of threads that write for the agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Folder for the temporary store [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Measure societies with and without durable agents.
#[derive(Debug, Args)]
pub struct DurabilityArguments {
    /// Society to measure [default: both].
    #[arg(long, value_enum)]
    pub society: Option<DurableSociety>,
    /// Levels of durability [default: all; `replicated` only if a NATS server is installed].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    pub levels: Vec<DurableLevel>,
    /// Number of rounds, each with every level. Figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub rounds: u64,
    /// Number of agents in the ring.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    pub workers: u64,
    /// Number of tokens that circulate at the same time.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub tokens: u64,
    /// Number of times each token is passed on; twenty times as many at level `volatile`.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub passes: u64,
    /// Number of initiators in the contract net, each with one conversation at a time.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub initiators: u64,
    /// Number of participants that bid for each initiator.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub participants: u64,
    /// Number of conversations of each initiator; twenty times as many at level `volatile`.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub conversations: u64,
    /// Number of threads that run agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Folder for the temporary stores [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Measure moving agents and WebAssembly agents.
#[cfg(feature = "wasm")]
#[derive(Debug, Args)]
pub struct MobilityArguments {
    /// Part to measure.
    #[arg(long, value_enum, default_value_t = MobilityPart::Delivery)]
    pub part: MobilityPart,
    /// Module of the agents, which counts messages.
    #[arg(long, value_name = "FILE", default_value = "guest/examples/counter-rust.wasm")]
    pub module: PathBuf,
    /// Number of messages in each round (delivery).
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub messages: u64,
    /// Number of agents (density).
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub agents: u64,
    /// Number of agents that get a message, in another order than they were created (density).
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub asked: u64,
    /// Maximum number of agents in memory at the same time (density) [default: the system's limit].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: Option<u32>,
    /// Kind of the agent that moves (hops).
    #[arg(long, value_enum, default_value_t = MoverKind::Weak)]
    pub mover: MoverKind,
    /// Module of the WebAssembly agent that moves (hops).
    #[arg(long, value_name = "FILE", default_value = "guest/examples/shuttle-c.wasm")]
    pub shuttle: PathBuf,
    /// Number of round trips to the other process (hops).
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub trips: u64,
    /// Security of the link between the two processes (hops).
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated)]
    pub security: SecurityLevel,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Address of the first process.
    #[arg(long, hide = true)]
    pub first: Option<String>,
    #[command(flatten)]
    pub retrieval: Retrieval,
}

/// Measure searches for documents: agents that move to the documents, and clients that fetch all of them.
#[cfg(feature = "wasm")]
#[derive(Debug, Args)]
pub struct Retrieval {
    /// Bandwidth of the server's link in Mbit/s, each way (retrieval, advisor).
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,1000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub mbit: Vec<u32>,
    /// Number of clients, each a process on its own network (retrieval, advisor).
    #[arg(long, value_delimiter = ',', default_value = "1,5,10,20", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub clients: Vec<u16>,
    /// Groups of cells to measure (advisor). A cell is one combination of bandwidth, clients and share of found
    /// documents.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "study,few,whole,heavy")]
    pub grid: Vec<Grid>,
    /// Percentage of documents that a query finds (retrieval, advisor).
    #[arg(long, value_delimiter = ',', default_value = "5,20", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub pass: Vec<u32>,
    /// Systems to compare (retrieval, advisor).
    #[arg(long, value_enum, value_delimiter = ',', default_value = "agent,plain,lz4")]
    pub systems: Vec<crate::mobility::System>,
    /// Number of queries of each client in each cell (retrieval, advisor).
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub queries: u32,
    /// Time after which clients begin no further query in a cell, in seconds (retrieval, advisor).
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// Module of the agent that searches documents (retrieval, advisor).
    #[arg(long, value_name = "FILE", default_value = "guest/examples/retriever-rust.wasm")]
    pub retriever: PathBuf,
    /// Draw the median times for each bandwidth into this folder (retrieval).
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// Role of this process.
    #[arg(long, value_enum, hide = true)]
    pub role: Option<RetrievalRole>,
}

/// Roles of processes in the retrieval task.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RetrievalRole {
    /// Owner of the documents.
    Server,
    /// Searcher of documents.
    Client,
}

/// Groups of cells in which the advisor is tested.
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
    /// Returns the name of the value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Few => "few",
            Self::Whole => "whole",
            Self::Heavy => "heavy",
        }
    }
}

/// Kinds of agents that move.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MoverKind {
    /// An AgentSpeak agent, in the middle of a plan.
    Asl,
    /// A WebAssembly agent, between two calls.
    Weak,
    /// A WebAssembly agent, in the middle of a recursion.
    Strong,
}

#[cfg(feature = "wasm")]
impl MoverKind {
    /// Returns the name of the value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asl => "asl",
            Self::Weak => "weak",
            Self::Strong => "strong",
        }
    }
}

/// Parts of the mobility benchmark.
#[cfg(feature = "wasm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MobilityPart {
    /// Messages to an agent in memory.
    Delivery,
    /// Many agents on one node.
    Density,
    /// Moves of an agent between two processes.
    Hops,
    /// Agents that move to documents, compared with clients that fetch them, on slow and fast links. Needs root.
    Retrieval,
    /// Share of cells in which the advisor names the faster way: moving the agent, or fetching the documents. Needs
    /// root.
    Advisor,
}

/// Measure durable agents that are idle.
#[derive(Debug, Args)]
pub struct Passivation {
    /// Number of agents.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub agents: u64,
    /// Language of the agents.
    #[arg(long, value_enum, default_value_t = crate::AgentLanguage::Asl)]
    pub kind: crate::AgentLanguage,
    /// Number of agents that get a question, one after the other.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub asked: u64,
    /// Folder for the temporary store [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Role of this process.
    #[arg(long, value_enum, hide = true)]
    pub phase: Option<PassivationPhase>,
}

/// Phases of the passivation benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PassivationPhase {
    /// Idle agents stay in memory.
    Live,
    /// Idle agents leave memory.
    Passive,
}

/// Societies of the durability benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableSociety {
    /// Pass tokens round a ring of agents.
    Ring,
    /// Contract net: agents call for proposals, and give the job to the cheapest bidder.
    ContractNet,
}

/// Levels of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableLevel {
    /// No durability.
    Volatile,
    /// Agents outlive their process and a power cut: a folder stores them, and each step is flushed to disk.
    Local,
    /// Agents also outlive this machine: three NATS servers, which the benchmark starts, store them and flush before
    /// they acknowledge.
    Replicated,
}

/// Stores of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// In a directory.
    Embedded,
    /// In this process's memory, which excludes the cost of the disk.
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
            _ => Err("expected embedded, memory, or nats://HOST:PORT/NAME".to_owned()),
        }
    }
}

/// Pattern of senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Each producer to a consumer of its own.
    OneToOne,
    /// Each producer to all consumers.
    Broadcast,
    /// All producers to one consumer.
    ManyToOne,
}

/// Paces of producers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A message each millisecond.
    Paced,
    /// As fast as possible.
    Saturated,
}

/// Options of all benchmarks of agents.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Language of the agents.
    #[arg(long, value_enum, default_value_t = crate::AgentLanguage::Native)]
    pub kind: crate::AgentLanguage,
    /// Number of threads that run agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Draw a picture of the run (SVG) into this folder.
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
}
