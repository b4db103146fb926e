//! Doors: ports of other nodes, to which a client is sent whose session or agent is there. Several nodes may share a
//! port, or an address.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_platform::limits::NODES_MAX;

/// Time for which a node's doors are remembered; and for which a failed question is.
const KNOWN: Duration = Duration::from_secs(10);
const UNKNOWN: Duration = Duration::from_secs(1);

/// Transport of a session's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A connection to the agent port.
    Stream,
    /// WebSocket, or another transport of messages that somebody else receives.
    Messages,
}

/// Doors of one node and no other: `HOST:PORT`, or `:PORT` at any host name of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeDoors {
    /// Agent port.
    pub stream: Option<String>,
    /// Port for WebSocket.
    pub messages: Option<String>,
}

/// Function that finds the doors of the node of this name. It may block.
pub type AskDoors = Box<dyn Fn(&str) -> Option<NodeDoors> + Send + Sync>;

/// Last answer of a node, and its time.
type Said = Arc<tokio::sync::Mutex<Option<(Instant, Option<NodeDoors>)>>>;

/// Cache of the doors of other nodes.
pub(super) struct Doors {
    ask: Option<Arc<AskDoors>>,
    /// Answers, by the names of nodes.
    said: Mutex<FxHashMap<String, Said>>,
}

impl Doors {
    pub fn new(ask: Option<AskDoors>) -> Self {
        Self { ask: ask.map(Arc::new), said: Mutex::default() }
    }

    fn said_by(&self, node: &str) -> Said {
        let mut all = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= NODES_MAX && !all.contains_key(node) {
            // Drop entries that no task waits for: most are of nodes that are gone, and the others are asked again.
            all.retain(|_, said| Arc::strong_count(said) > 1);
        }
        Arc::clone(all.entry(node.to_owned()).or_default())
    }

    /// Returns the door of a node for a transport; empty if unknown. One question serves all tasks that wait for it.
    pub async fn of(&self, node: &str, carrier: Carrier) -> String {
        let Some(ask) = &self.ask else { return String::new() };
        let said = self.said_by(node);
        let mut said = said.lock().await;
        let is_fresh =
            |(at, doors): &(Instant, Option<NodeDoors>)| at.elapsed() < if doors.is_some() { KNOWN } else { UNKNOWN };
        if !said.as_ref().is_some_and(is_fresh) {
            let (ask, name) = (Arc::clone(ask), node.to_owned());
            let doors = tokio::task::spawn_blocking(move || ask(&name)).await.ok().flatten();
            *said = Some((Instant::now(), doors));
        }
        let doors = said.as_ref().and_then(|(_, doors)| doors.as_ref());
        let door = doors.and_then(|doors| match carrier {
            Carrier::Stream => doors.stream.clone(),
            Carrier::Messages => doors.messages.clone(),
        });
        door.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn concurrent_questions_ask_once() {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let doors = Doors::new(Some(Box::new(move |node| {
            count.fetch_add(1, Ordering::Relaxed);
            let messages = Some("127.0.0.1:1".to_owned());
            (node == "n2").then_some(NodeDoors { stream: None, messages })
        })));
        for _ in 0..3 {
            assert_eq!(doors.of("n2", Carrier::Messages).await, "127.0.0.1:1");
            assert_eq!(doors.of("n2", Carrier::Stream).await, "", "it has none");
        }
        assert_eq!((doors.of("n3", Carrier::Messages).await.as_str(), asked.load(Ordering::Relaxed)), ("", 2));
        assert_eq!(Doors::new(None).of("n2", Carrier::Messages).await, "");
    }
}
