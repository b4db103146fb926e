//! Societies of the benchmark: a ring and a contract net in AgentSpeak, and their output.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use whimbrel::Society;
use whimbrel_acl::Aid;
use whimbrel_platform::services::LogLevel;
use whimbrel_runtime::{Output, Platform, RecoveredJournal};

use super::arguments::{DurabilityArguments, DurableSociety};

const RING: &[(&str, &str)] = &[
    ("ring_driver.asl", include_str!("../../../../bench/asl/ring_driver.asl")),
    ("ring_worker.asl", include_str!("../../../../bench/asl/ring_worker.asl")),
];
const CONTRACT_NET: &[(&str, &str)] = &[
    ("contract_net_collector.asl", include_str!("contract_net_collector.asl")),
    ("contract_net_initiator.asl", include_str!("contract_net_initiator.asl")),
    ("contract_net_participant.asl", include_str!("contract_net_participant.asl")),
];

/// A society to be run, so and so long.
pub struct SocietyRun {
    pub society: DurableSociety,
    /// Passes of each token, or conversations of each initiator.
    pub repetitions: u64,
}

/// Result of a run.
#[derive(Debug)]
pub struct Ran {
    pub seconds: f64,
    pub messages: f64,
    /// Duration of each conversation, in a contract net.
    pub conversation_ms: Vec<f64>,
}

impl SocietyRun {
    /// Messages that all agents send, but for the few with which it begins and ends.
    fn messages(&self, what: &DurabilityArguments) -> u64 {
        match self.society {
            DurableSociety::Ring => what.tokens * self.repetitions,
            // A call and an offer of each, the job, what is told to the others, and the result.
            DurableSociety::ContractNet => what.initiators * self.repetitions * (3 * what.participants + 1),
        }
    }

    fn project(&self, what: &DurabilityArguments) -> (String, &'static [(&'static str, &'static str)]) {
        let DurabilityArguments { workers, tokens, initiators, participants, .. } = what;
        let repetitions = self.repetitions;
        match self.society {
            DurableSociety::Ring => {
                let driver = format!("workers({workers}),tokens({tokens}),passes({repetitions})");
                let agents = format!(
                    "driver ring_driver.asl [beliefs=\"{driver}\"]; \
                     w ring_worker.asl [beliefs=\"workers({workers})\"] #{workers};"
                );
                (format!("MAS ring {{ agents: {agents} }}"), RING)
            }
            DurableSociety::ContractNet => {
                let collector = format!("initiators({initiators}),everybody({})", initiators + participants);
                let initiator = format!("participants({participants}),conversations({repetitions})");
                let agents = format!(
                    "collector contract_net_collector.asl [beliefs=\"{collector}\"]; \
                     initiator contract_net_initiator.asl [beliefs=\"{initiator}\"] #{initiators}; \
                     participant contract_net_participant.asl #{participants};"
                );
                (format!("MAS contract_net {{ agents: {agents} }}"), CONTRACT_NET)
            }
        }
    }

    /// Runs it, kept or not.
    pub fn run(&self, what: &DurabilityArguments, kept: Option<RecoveredJournal>) -> anyhow::Result<Ran> {
        let (project, files) = self.project(what);
        let society = Society::built_in(&project, files)?;
        let heard = Arc::new(Mutex::new(RunLines::default()));
        let builder = Platform::builder().output(RunListener(Arc::clone(&heard))).loader(society.loader());
        let builder = what.threads.into_iter().fold(builder, |builder, threads| builder.workers(usize::from(threads)));
        let platform = kept.into_iter().fold(builder, whimbrel_runtime::PlatformBuilder::durable).build();
        society.start(&platform)?;
        platform.run_until_stopped();
        drop(platform);
        let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(seconds) = heard.seconds else { bail!("the agents came to no result: {}", heard.last_line) };
        let conversations = match self.society {
            DurableSociety::Ring => 0,
            DurableSociety::ContractNet => what.initiators * self.repetitions,
        };
        if heard.conversation_ms.len() as u64 != conversations {
            bail!("{} of {conversations} conversations came to their end", heard.conversation_ms.len());
        }
        Ok(Ran { seconds, messages: self.messages(what) as f64, conversation_ms: heard.conversation_ms })
    }
}

/// Relevant output of the agents.
#[derive(Default)]
struct RunLines {
    seconds: Option<f64>,
    conversation_ms: Vec<f64>,
    last_line: String,
}

struct RunListener(Arc<Mutex<RunLines>>);

impl Output for RunListener {
    fn print(&self, _agent: Aid, text: &str) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(us) = text.strip_prefix("SAMPLE us=") {
            heard.conversation_ms.extend(us.parse::<f64>().map(|us| us / 1_000.0));
        } else if let Some(results) = text.strip_prefix("RESULT ") {
            let mut pairs = results.split_whitespace().filter_map(|pair| pair.split_once('='));
            heard.seconds = pairs.find(|(name, _)| *name == "seconds").and_then(|(_, value)| value.parse().ok());
        } else {
            text.clone_into(&mut heard.last_line);
        }
    }

    fn log(&self, agent: Aid, _level: LogLevel, text: &str) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.last_line = format!("[{}] {text}", agent.name);
    }
}
