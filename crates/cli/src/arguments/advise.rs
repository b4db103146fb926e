//! `whimbrel advise`.

use std::time::Duration;

use clap::Args;
use whimbrel_platform::advice::Job;

use super::TargetArguments;

/// Say whether an agent had better go to a node's documents, or have them sent.
///
/// Of a society that runs it is measured what can be: the link's round trip and bandwidth, both nodes' processors and what they have to
/// do, the agent's state, whether its code is there. Without a node, all is as told by --mbit and --rtt. What is neither measured nor
/// told is assumed, and --explain says what that is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel advise n2 --documents 60 --bytes 4096 --pass 5
  whimbrel advise n2 --documents 60 --bytes 4096 --pass 5 --agent scout --explain
  whimbrel advise --mbit 10 --rtt 2ms --documents 60 --bytes 4096 --pass 20   for a link that is none yet")]
pub struct AdviseArguments {
    /// The node that has the documents, as `whimbrel links` shows it; it may be on another machine.
    #[arg(value_name = "NODE", required_unless_present = "mbit", conflicts_with_all = ["mbit", "rtt"])]
    pub to: Option<String>,
    /// The agent that would go: its state and code are measured.
    #[arg(long, value_name = "NAME", requires = "to")]
    pub agent: Option<String>,
    /// How many documents there are.
    #[arg(long, value_name = "N")]
    pub documents: u64,
    /// Bytes of each.
    #[arg(long, value_name = "N")]
    pub bytes: u64,
    /// How many of a hundred documents pass, and are wanted here.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub pass: Option<f64>,
    /// How much of a document that passes is wanted.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub keeps: Option<f64>,
    /// Requests of who asks, one after the other.
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Bytes of each of them.
    #[arg(long, value_name = "N")]
    pub question: Option<u64>,
    /// Who is asked picks the documents that pass.
    #[arg(long)]
    pub picks: bool,
    /// Who is asked packs what it sends.
    #[arg(long)]
    pub packed: bool,
    /// What a document is packed to.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub packs_to: Option<f64>,
    /// Nanoseconds of work with a byte, by who asks.
    #[arg(long, value_name = "NS")]
    pub work: Option<f64>,
    /// The same by the agent, if it is not as fast.
    #[arg(long, value_name = "NS")]
    pub agent_work: Option<f64>,
    /// Nanoseconds to send, read and hand over a byte in a message.
    #[arg(long, value_name = "NS")]
    pub handling: Option<f64>,
    /// Bytes of the agent's state.
    #[arg(long, value_name = "N")]
    pub state: Option<u64>,
    /// Bytes of the agent's code, if the node lacks it.
    #[arg(long, value_name = "N")]
    pub code: Option<u64>,
    /// Clients that do such jobs over this link, this one included.
    #[arg(long, value_name = "N")]
    pub clients: Option<u64>,
    /// How often each of them does one in a second; all the time, if that is not said.
    #[arg(long, value_name = "N")]
    pub per_second: Option<f64>,
    /// Mbit/s of a link that is not measured, each way.
    #[arg(long, value_name = "N")]
    pub mbit: Option<f64>,
    /// Its round trip.
    #[arg(long, value_name = "TIME", requires = "mbit", value_parser = whimbrel::duration::parse)]
    pub rtt: Option<Duration>,
    /// Say what that rests on, and why.
    #[arg(long)]
    pub explain: bool,
    /// One line of JSON: all of it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

impl AdviseArguments {
    /// The job.
    pub fn job(&self) -> Job {
        Job {
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

/// A share of a hundred, as one of one.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>();
    let share = number.ok().filter(|percent| (0.0..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or_else(|| "a number from 0 to 100 is wanted".to_owned())
}
