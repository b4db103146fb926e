//! Lookout: a thread that polls all nodes and notes which of them answer. A stopped node answers late, and no other
//! part of the test may wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::json;
use whimbrel_acl::{AclMessage, Aid, Encoding, Performative, Symbol};
use whimbrel_operator::{AgentOrder, AgentsWanted, Answer, Request, Sending};

use super::schedule::FaultRandom;
use whimbrel::control::content_of;
use whimbrel::control::{RunningNode, survey};

/// Interval of looks.
const LOOK: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Clone)]
pub struct Lookout {
    seen: Arc<LookoutState>,
}

#[derive(Default)]
struct LookoutState {
    processes: Mutex<Vec<u32>>,
    nodes: Mutex<Vec<RunningNode>>,
    ended: AtomicBool,
}

/// The thread; it ends when this is dropped.
pub struct LookoutThread {
    seen: Arc<LookoutState>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    /// Begins to look.
    pub fn begin() -> (Self, LookoutThread) {
        let seen = Arc::<LookoutState>::default();
        let looks = Arc::clone(&seen);
        let look = move || {
            while !looks.ended.load(Ordering::Acquire) {
                let nodes = looks.among(survey().nodes);
                *looks.nodes.lock().unwrap_or_else(PoisonError::into_inner) = nodes;
                std::thread::sleep(LOOK);
            }
        };
        (Self { seen: Arc::clone(&seen) }, LookoutThread { seen, thread: Some(std::thread::spawn(look)) })
    }

    /// Says whose nodes are meant.
    pub fn watch(&self, processes: Vec<u32>) {
        *self.seen.processes.lock().unwrap_or_else(PoisonError::into_inner) = processes;
    }

    /// Returns the nodes that answered the last query.
    pub fn nodes(&self) -> Vec<RunningNode> {
        let nodes = self.seen.nodes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.seen.among(nodes)
    }

    /// Returns the nodes that answer now.
    pub fn look(&self) -> Vec<RunningNode> {
        self.seen.among(survey().nodes)
    }

    /// Returns any of the nodes that answered.
    pub fn any(&self, random: &mut FaultRandom) -> Option<RunningNode> {
        let mut nodes = self.nodes();
        (!nodes.is_empty()).then(|| nodes.swap_remove(random.below(nodes.len())))
    }
}

impl LookoutState {
    fn among(&self, mut nodes: Vec<RunningNode>) -> Vec<RunningNode> {
        let processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|node| processes.contains(&node.info.pid));
        nodes
    }
}

impl Drop for LookoutThread {
    fn drop(&mut self) {
        self.seen.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the agents of a node whose names fit, without the platform's own.
pub fn agents(node: &RunningNode, names: &str) -> anyhow::Result<Vec<String>> {
    let wanted = AgentsWanted {
        name: names.to_owned(),
        state: None,
        services: false,
        sort: AgentOrder::Name,
        limit: usize::MAX,
        elsewhere_but: None,
    };
    let Answer::Agents(found) = node.ask(&Request::Agents(wanted), Duration::ZERO)? else {
        bail!("node {} sent an unexpected answer to a query for its agents", node.info.node);
    };
    Ok(found.agents.into_iter().map(|agent| agent.name).collect())
}

/// Sends a message to an agent through a node, from the client of this number. Returns the content of the answer, if
/// one is awaited.
///
/// # Errors
/// The outcome is unknown. If the error is a [`Refusal`] with a reason other than a missing answer, the message was not
/// sent.
pub fn say(
    node: &RunningNode,
    client: u8,
    (performative, agent, text): (&str, &str, &str),
    wait: Option<Duration>,
) -> anyhow::Result<Option<String>> {
    // An agent of its own on each node.
    let from = format!("chaos-{}-{client}", node.info.pid);
    let performative = performative.parse().unwrap_or_else(|_| Performative::named(Symbol::new(performative)));
    let message = AclMessage::new(performative, Aid::local(from.as_str()), Aid::local(agent), content_of(text));
    let encoded = Encoding::Json.encode(&message).context("the message cannot be sent")?;
    let wait_ms = wait.map(|wait| wait.as_millis() as u64);
    let sending = Sending { message: serde_json::from_slice(&encoded)?, wait_ms };
    match node.ask(&Request::Send(Box::new(sending)), wait.unwrap_or_default())? {
        Answer::Reply { message } => {
            let answer = Encoding::Json.decode(json!(message).to_string().as_bytes())?;
            Ok(Some(answer.content.to_string()))
        }
        _ => Ok(None),
    }
}
