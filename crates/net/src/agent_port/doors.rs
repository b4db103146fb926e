//! Where the clients of other nodes connect: those come here, too, where several nodes have one port, or stand behind one address.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_platform::limits::NODES_MAX;

/// How long it is not asked again where a node's clients connect; and if it did not say.
const KNOWN: Duration = Duration::from_secs(10);
const UNKNOWN: Duration = Duration::from_secs(1);

/// What carries a session's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A connection to the agent port.
    Stream,
    /// Messages that somebody else receives: a WebSocket's.
    Messages,
}

/// Where the clients of one node, and of no other, connect: `HOST:PORT`, or `:PORT` if that is at any host by which it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeDoors {
    /// Its agent port.
    pub stream: Option<String>,
    /// Its WebSockets.
    pub messages: Option<String>,
}

/// Finds out where the clients of the node of this name connect. Takes its time.
pub type AskDoors = Box<dyn Fn(&str) -> Option<NodeDoors> + Send + Sync>;

/// What a node said last, and when.
type Said = Arc<tokio::sync::Mutex<Option<(Instant, Option<NodeDoors>)>>>;

/// See the module.
pub(super) struct Doors {
    ask: Option<Arc<AskDoors>>,
    /// By the names of nodes that there are.
    said: Mutex<FxHashMap<String, Said>>,
}

impl Doors {
    pub fn new(ask: Option<AskDoors>) -> Self {
        Self { ask: ask.map(Arc::new), said: Mutex::default() }
    }

    fn said_by(&self, node: &str) -> Said {
        let mut all = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= NODES_MAX && !all.contains_key(node) {
            // Entries that no task waits for are dropped: most are of nodes that are gone, the others are asked again.
            all.retain(|_, said| Arc::strong_count(said) > 1);
        }
        Arc::clone(all.entry(node.to_owned()).or_default())
    }

    /// Where clients of this node connect; nothing if it does not say. Asked once for all who want to know at the same time.
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
    async fn a_node_is_asked_once_for_all_who_come() {
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
