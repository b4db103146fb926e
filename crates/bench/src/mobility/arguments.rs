//! Arguments of `bench mobility`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whimbrel_terminal::options::SecurityLevel;

/// Measure moving agents and WebAssembly agents.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RetrievalRole {
    /// Owner of the documents.
    Server,
    /// Searcher of documents.
    Client,
}

/// Groups of cells in which the advisor is tested.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MoverKind {
    /// An AgentSpeak agent, in the middle of a plan.
    Asl,
    /// A WebAssembly agent, between two calls.
    Weak,
    /// A WebAssembly agent, in the middle of a recursion.
    Strong,
}

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
