//! Session ports of other nodes, to which a client is sent whose session or agent is there. Several nodes may share a
//! port, or an address.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_platform::limits::NODES_MAX;

/// Time for which a node's session ports are remembered; and for which a failed question is.
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

/// Session ports of one node and no other: `HOST:PORT`, or `:PORT` at any host name of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPorts {
    /// Agent port.
    pub stream: Option<String>,
    /// Port for WebSocket.
    pub messages: Option<String>,
}

/// Function that finds the session ports of the node of this name. It may block.
pub type FindSessionPorts = Box<dyn Fn(&str) -> Option<SessionPorts> + Send + Sync>;

/// Last answer of a node, and its time.
type CachedPorts = Arc<tokio::sync::Mutex<Option<(Instant, Option<SessionPorts>)>>>;

/// Cache of the session ports of other nodes.
pub(super) struct SessionPortCache {
    find: Option<Arc<FindSessionPorts>>,
    /// Answers, by the names of nodes.
    cached: Mutex<FxHashMap<String, CachedPorts>>,
}

impl SessionPortCache {
    pub fn new(find: Option<FindSessionPorts>) -> Self {
        Self { find: find.map(Arc::new), cached: Mutex::default() }
    }

    fn cached(&self, node: &str) -> CachedPorts {
        let mut nodes = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if nodes.len() >= NODES_MAX && !nodes.contains_key(node) {
            // Drop entries that no task waits for: most are of nodes that are gone, and the others are asked again.
            nodes.retain(|_, cached| Arc::strong_count(cached) > 1);
        }
        Arc::clone(nodes.entry(node.to_owned()).or_default())
    }

    /// Returns the address of a node's port for a transport; empty if unknown. One question serves all tasks that wait
    /// for it.
    pub async fn of(&self, node: &str, carrier: Carrier) -> String {
        let Some(find) = &self.find else { return String::new() };
        let cached = self.cached(node);
        let mut cached = cached.lock().await;
        let is_fresh = |(at, ports): &(Instant, Option<SessionPorts>)| {
            at.elapsed() < if ports.is_some() { KNOWN } else { UNKNOWN }
        };
        if !cached.as_ref().is_some_and(is_fresh) {
            let (find, name) = (Arc::clone(find), node.to_owned());
            let ports = tokio::task::spawn_blocking(move || find(&name)).await.ok().flatten();
            *cached = Some((Instant::now(), ports));
        }
        let ports = cached.as_ref().and_then(|(_, ports)| ports.as_ref());
        let address = ports.and_then(|ports| match carrier {
            Carrier::Stream => ports.stream.clone(),
            Carrier::Messages => ports.messages.clone(),
        });
        address.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn concurrent_questions_ask_once() {
        let found = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&found);
        let ports = SessionPortCache::new(Some(Box::new(move |node| {
            count.fetch_add(1, Ordering::Relaxed);
            let messages = Some("127.0.0.1:1".to_owned());
            (node == "n2").then_some(SessionPorts { stream: None, messages })
        })));
        for _ in 0..3 {
            assert_eq!(ports.of("n2", Carrier::Messages).await, "127.0.0.1:1");
            assert_eq!(ports.of("n2", Carrier::Stream).await, "", "it has none");
        }
        assert_eq!((ports.of("n3", Carrier::Messages).await.as_str(), found.load(Ordering::Relaxed)), ("", 2));
        assert_eq!(SessionPortCache::new(None).of("n2", Carrier::Messages).await, "");
    }
}
