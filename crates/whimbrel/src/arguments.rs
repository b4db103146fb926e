//! What can be typed after `whimbrel`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use whimbrel_acl::Encoding;

/// Whimbrel runs societies of agents written in AgentSpeak and Rust.
#[derive(Debug, Parser)]
#[command(name = "whimbrel", version = env!("WHIMBREL_VERSION"), max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  whimbrel new garden                 make a society of two agents, ready to run
  whimbrel run garden                 run it
  whimbrel run hello.asl --agents 3   run three agents of one program
  whimbrel check garden               look for errors without running anything

`whimbrel help COMMAND` shows more examples.")]
pub struct Arguments {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Run),
    Join(Join),
    Check(Check),
    New(New),
    Codec(Codec),
    Ca(Ca),
    Bench(Bench),
}

/// Run a society until it ends itself, or is ended by Ctrl-C.
///
/// Lines that agents print go to standard output as `[agent] text`; warnings go to standard error. The exit status is
/// what an agent gave to `.stopMAS`, or 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run examples/contract-net --summary     a folder with one project in it
  whimbrel run auction.mas2j --agents 1000         each `#n` of the project becomes #1000
  whimbrel run hello.asl                           one agent, named hello after its file
  whimbrel run hello.asl --agents 3                hello1, hello2 and hello3
  whimbrel run auction.mas2j --nodes 3             three processes, the agents spread over them
  whimbrel run hello.asl --for 10s --trace         for ten seconds, and show every message")]
pub struct Run {
    /// A project (.mas2j), a program (.asl), or a folder with one project in it.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How many agents of a lone program, or of each project entry that has `#n`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub agents: Option<u32>,
    /// End the society after this long, for instance 10s, 500ms, 2m.
    #[arg(long = "for", value_name = "TIME", value_parser = crate::duration::parse)]
    pub time: Option<Duration>,
    /// Show every message, and agents coming and going, on standard error.
    #[arg(long)]
    pub trace: bool,
    /// End with a table: agents, messages by performative, awards, time.
    #[arg(long)]
    pub summary: bool,
    /// Threads to run agents on; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Where random numbers start, for runs that are to repeat.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Nodes to spread the agents over, each a process of its own on this machine. `at "n2"` in a project puts an agent
    /// on the second one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub nodes: Option<u16>,
    /// How the links between nodes are secured: `tls` encrypts them, `authenticated` also makes sure by certificates who
    /// is at the other end, and refuses messages whose sender is not an agent of the node they come from.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub security: Option<SecurityLevel>,
    /// Let other nodes join at this address, as 127.0.0.1:7001. Beyond this machine links are authenticated, unless
    /// `--security` says otherwise.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "nodes", requires = "token")]
    pub listen: Option<String>,
    /// The secret that nodes which join must know.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The folder with this node's certificate: what `whimbrel ca issue FOLDER n1 --out` made.
    #[arg(long, value_name = "FOLDER", conflicts_with = "nodes")]
    pub credentials: Option<PathBuf>,
    /// Which of the nodes this process is; for processes that `--nodes` starts.
    #[arg(long, hide = true, value_name = "K", requires = "nodes", requires = "first")]
    pub node: Option<u16>,
    /// Where the first of the nodes listens; for processes that `--nodes` starts.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
    /// Show no warnings, only what agents print.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Join a running platform, with agents of one's own.
///
/// The agents of the file become agents of that platform: they and those there find each other and talk. The node leaves
/// when that platform stops, or at Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run garden --listen 127.0.0.1:7001 --token T     on one terminal
  whimbrel join 127.0.0.1:7001 bees.mas2j --token T         on another")]
pub struct Join {
    /// Where a node of the platform listens.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// A project (.mas2j), a program (.asl), or a folder with one project in it.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The platform's secret.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// This node's name, unlike any other's; made up if not given.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// How links are secured: as the platform's are.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub security: Option<SecurityLevel>,
    /// The folder with this node's certificate: what `whimbrel ca issue` made.
    #[arg(long, value_name = "FOLDER")]
    pub credentials: Option<PathBuf>,
    /// Show every message, and agents coming and going, on standard error.
    #[arg(long)]
    pub trace: bool,
    /// Show no warnings, only what agents print.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Look for errors in programs and projects, without running them.
///
/// All errors and warnings are shown, not just the first. The exit status is 1 if there is an error.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel check garden.mas2j        the project, and every program it names
  whimbrel check *.asl               some programs
  whimbrel check examples/auction    a folder with one project in it")]
pub struct Check {
    /// Projects (.mas2j), programs (.asl), or folders with one project in each.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Make a folder with a small society in it that runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel new garden && whimbrel run garden")]
pub struct New {
    /// The folder to make, which is also the project's name.
    #[arg(value_name = "NAME")]
    pub name: PathBuf,
}

/// Read ACL messages in any encoding, and write them in another.
///
/// Encodings: string (FIPA00070), xml (FIPA00071), bit-efficient (FIPA00069), json and compact.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel codec inspect message.acl                     what it says, and how long it is in each encoding
  whimbrel codec convert message.acl --to json           from whatever it is in
  whimbrel codec convert --from string --to compact -o message.bin message.acl
  cat message.xml | whimbrel codec convert --to string   from standard input")]
pub struct Codec {
    #[command(subcommand)]
    pub action: CodecAction,
}

/// What to do with a message.
#[derive(Debug, Subcommand)]
pub enum CodecAction {
    /// Write the message in another encoding.
    Convert {
        /// The message; standard input if not given, or `-`.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The encoding it is in; told by how it begins if not given.
        #[arg(long, value_name = "ENCODING")]
        from: Option<Encoding>,
        /// The encoding to write it in.
        #[arg(long, value_name = "ENCODING")]
        to: Encoding,
        /// Where to write it; standard output if not given.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show what the message says, for people.
    Inspect {
        /// The message; standard input if not given, or `-`.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The encoding it is in; told by how it begins if not given.
        #[arg(long, value_name = "ENCODING")]
        from: Option<Encoding>,
    },
}

/// Look after a platform's certification authority, which says which process is which node.
///
/// The authority is a folder. Its key is encrypted with a passphrase, which is read from the variable
/// WHIMBREL_CA_PASSPHRASE.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ca init authority --platform garden
  whimbrel ca issue authority n1 --out n1          n1/node.pem, node.key, authority.pem, revoked.pem
  whimbrel ca issue authority n2 --out n2 --address 10.0.0.2
  whimbrel ca revoke authority n2 && whimbrel ca list authority")]
pub struct Ca {
    #[command(subcommand)]
    pub action: CaAction,
}

/// What to do with an authority.
#[derive(Debug, Subcommand)]
pub enum CaAction {
    /// Make a new one.
    Init {
        /// The folder to make.
        folder: PathBuf,
        /// The platform it is for.
        #[arg(long, default_value = "whimbrel")]
        platform: String,
    },
    /// Make a key and a certificate for a node.
    Issue {
        /// The authority's folder.
        folder: PathBuf,
        /// The node's name.
        node: String,
        /// The folder to put them into.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// Where the node may come from: an IP address; from anywhere if none is given.
        #[arg(long, value_name = "IP")]
        address: Vec<String>,
        /// How many days it is good for.
        #[arg(long, default_value_t = whimbrel_net::NODE_DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// Show what was issued.
    List {
        /// The authority's folder.
        folder: PathBuf,
        /// One line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Take certificates back, and write the list of all that were: give it to every node.
    Revoke {
        /// The authority's folder.
        folder: PathBuf,
        /// A node's name, for all of its certificates, or a serial number.
        node_or_serial: String,
    },
}

/// Measure speed, with the benchmarks of the actor and agent studies.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel bench ring --tokens 500 --passes 10000
  whimbrel bench chameneos --creatures 50 --kind asl
  whimbrel bench fibonacci --max-n 25 --json
  whimbrel bench codec --object varied --children 10000
  whimbrel bench fibonacci --plot pictures     response time by n, as pictures/fibonacci-native.svg

`make bench-peers` runs the same beside Erlang, Go, Pekko, tokio and Jason.")]
pub struct Bench {
    #[command(subcommand)]
    pub benchmark: Benchmark,
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
    /// Agents come to be: how fast, and how much memory does an idle one take?
    Spawn {
        /// How many.
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
        agents: u64,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// The compact codec on the object of the Jadex study: how small, how fast?
    Codec {
        /// Objects that are all alike but for a random number, or that differ in all numbers.
        #[arg(long, value_enum, default_value_t = crate::bench::codec::Object::Same)]
        object: crate::bench::codec::Object,
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
    #[arg(long, value_enum, default_value_t = crate::bench::Kind::Native)]
    pub kind: crate::bench::Kind,
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

/// How links are secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SecurityLevel {
    Open,
    Tls,
    Authenticated,
}

impl From<SecurityLevel> for whimbrel_net::Level {
    fn from(level: SecurityLevel) -> Self {
        match level {
            SecurityLevel::Open => Self::Open,
            SecurityLevel::Tls => Self::Tls,
            SecurityLevel::Authenticated => Self::Authenticated,
        }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes this the choice for all output.
    pub fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::AlwaysAnsi,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_and_counts_are_checked() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' '));
        assert!(parse("whimbrel run a.asl --for 10s --agents 3").is_ok());
        assert!(parse("whimbrel run a.asl --for soon").is_err());
        assert!(parse("whimbrel run a.asl --agents 0").is_err());
        assert!(parse("whimbrel check").is_err());
    }
}
