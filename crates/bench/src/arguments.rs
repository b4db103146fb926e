//! Arguments of `whimbrel bench`: the benchmarks. Each benchmark has its own arguments beside its work.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::devices::DevicesArguments;
use crate::durability::DurabilityArguments;
#[cfg(feature = "nats")]
use crate::failover::Failover;
use crate::messaging::Messaging;
#[cfg(feature = "wasm")]
use crate::mobility::MobilityArguments;
use crate::passivation::Passivation;
use crate::rtt::Rtt;
use crate::sessions::SessionsArguments;
use crate::state::StateArguments;

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
