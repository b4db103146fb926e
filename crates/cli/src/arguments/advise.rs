//! `whimbrel advise`.

use std::time::Duration;

use clap::Args;
use whimbrel_platform::advice::DocumentJob;

use super::TargetArguments;

/// Advise whether an agent should move to a node's documents, or have them sent.
///
/// The command measures a running society: the round trip and bandwidth of the link, and the speed and load of both
/// nodes. It reads the size of the agent's state, and looks for the agent's code on the node. Without NODE, --mbit and
/// --rtt describe the link. Everything else is assumed; --explain shows the assumptions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel advise n2 --documents 60 --bytes 4096 --pass 5
  whimbrel advise n2 --documents 60 --bytes 4096 --pass 5 --agent scout --explain
  whimbrel advise --mbit 10 --rtt 2ms --documents 60 --bytes 4096 --pass 20   for a planned link")]
pub struct AdviseArguments {
    /// Node that has the documents, as `whimbrel links` shows it. The node may be on another machine.
    #[arg(value_name = "NODE", required_unless_present = "mbit", conflicts_with_all = ["mbit", "rtt"])]
    pub to: Option<String>,
    /// Agent that would move. Its state and code are measured.
    #[arg(long, value_name = "NAME", requires = "to")]
    pub agent: Option<String>,
    /// Number of documents.
    #[arg(long, value_name = "N")]
    pub documents: u64,
    /// Bytes of each document.
    #[arg(long, value_name = "N")]
    pub bytes: u64,
    /// Share of the documents that are wanted here [default: 10].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub pass: Option<f64>,
    /// Wanted share of each wanted document [default: 100].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub keeps: Option<f64>,
    /// Number of requests to have the documents sent, one after the other [default: 1].
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Bytes of each request [default: 100].
    #[arg(long, value_name = "N")]
    pub question: Option<u64>,
    /// Assume that the answering agent sends the wanted documents only.
    #[arg(long)]
    pub picks: bool,
    /// Assume that the answering agent compresses the documents that it sends.
    #[arg(long)]
    pub packed: bool,
    /// Size of a compressed document, as a share of its original size [default: 60].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub packs_to: Option<f64>,
    /// Nanoseconds of work per byte, for the agent that has the documents sent [default: 3].
    #[arg(long, value_name = "NS")]
    pub work: Option<f64>,
    /// Nanoseconds of work per byte, for the agent that moves [default: as --work].
    #[arg(long, value_name = "NS")]
    pub agent_work: Option<f64>,
    /// Nanoseconds per byte to send, read and deliver a message [default: 1].
    #[arg(long, value_name = "NS")]
    pub handling: Option<f64>,
    /// Bytes of the agent's state.
    #[arg(long, value_name = "N")]
    pub state: Option<u64>,
    /// Bytes of the agent's code, if the node lacks it.
    #[arg(long, value_name = "N")]
    pub code: Option<u64>,
    /// Number of clients that have such jobs on this link, including this one [default: 1].
    #[arg(long, value_name = "N")]
    pub clients: Option<u64>,
    /// Jobs per second of each client [default: one job after the other].
    #[arg(long, value_name = "N")]
    pub per_second: Option<f64>,
    /// Bandwidth of an assumed link, in Mbit/s each way.
    #[arg(long, value_name = "N")]
    pub mbit: Option<f64>,
    /// Round trip of the assumed link.
    #[arg(long, value_name = "TIME", requires = "mbit", value_parser = whimbrel::duration::parse)]
    pub rtt: Option<Duration>,
    /// Show the figures behind the advice, and where they come from.
    #[arg(long)]
    pub explain: bool,
    /// Print one line of JSON with the advice and all figures.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

impl AdviseArguments {
    /// Returns the described job.
    pub fn job(&self) -> DocumentJob {
        DocumentJob {
            documents: self.documents,
            bytes: self.bytes,
            pass: self.pass,
            keeps: self.keeps,
            requests: self.requests,
            question: self.question,
            picks: self.picks,
            packed: self.packed,
            packs_to: self.packs_to,
            work_ns: self.work,
            agent_work_ns: self.agent_work,
            handling_ns: self.handling,
            state: self.state,
            code: self.code,
            clients: self.clients,
            per_second: self.per_second,
        }
    }
}

/// Parses a percentage as a fraction of one.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>();
    let share = number.ok().filter(|percent| (0.0..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or_else(|| "expected a number from 0 to 100".to_owned())
}
