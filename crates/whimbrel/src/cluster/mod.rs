//! This process's part in a cluster (docs/design/cluster.md): a thread that shows that the node is alive, watches the
//! others, and carries out the commands of [`Participant`].

mod thread;
pub mod weight;

#[cfg(test)]
mod tests;

use std::sync::mpsc::{SendError, Sender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use whimbrel_platform::cluster::{ClusterTerms, LoadWindow, LocalNode, Mover, NodeView, Nonce, Participant};
use whimbrel_platform::mobility::{HopError, Wish};
use whimbrel_platform::store::{Coord, Epoch, Partition, StoreError};

use self::thread::{ClusterThread, SeenNodes, ThreadInput};
use self::weight::Weighing;

/// Longest time for good-byes, beyond the time that others need to end.
const LEAVE_PATIENCE: Duration = Duration::from_secs(15);
/// Interval at which waiting callers look again.
const LOOK: Duration = Duration::from_millis(20);

/// Number of partitions of a store in NATS, unless its address says another one. Few partitions let more steps share a
/// frame and pass on sooner; but no more nodes than these have agents to run.
pub const ENGINE_PARTITIONS: u16 = 16;

/// Exit status of a process that others took for dead.
pub const DEPOSED: i32 = 75;

/// Forgets all that is kept in the store, as the owner of all partitions in an epoch.
pub type Forget = Box<dyn Fn(Epoch) -> Result<(), StoreError> + Send>;

/// A part in a cluster. Ends without a word when it is dropped: others will take this node for dead.
pub struct ClusterHandle {
    /// This node's name.
    pub name: String,
    /// Secret of links between nodes.
    pub token: String,
    inputs: Sender<ThreadInput>,
    thread: Option<JoinHandle<()>>,
    view: ClusterView,
}

impl std::fmt::Debug for ClusterHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Outcomes of a request for admission.
#[derive(Debug)]
pub enum Joined {
    /// This node takes part.
    In(ClusterHandle),
    /// The caller does not wait any longer.
    Interrupted,
}

/// Reasons why a node does not take part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The store cannot be watched.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Admission was refused.
    #[error("{0}")]
    Refused(String),
    /// Thread that cannot be started.
    #[error("cannot start a thread of the cluster: {0}")]
    Thread(std::io::Error),
}

/// The nodes, as this one sees them, for others than the cluster's owner.
#[derive(Clone, Debug)]
pub struct ClusterView {
    seen: Arc<Mutex<SeenNodes>>,
    inputs: Sender<ThreadInput>,
    me: Nonce,
}

/// Returns a random number.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// This process, for people.
pub fn this_process() -> String {
    format!("process {} on {}", std::process::id(), crate::system::machine_name())
}

impl ClusterHandle {
    /// Asks for admission, with the weight of `weighing`, if there is one. `wait` waits, and returns whether to stop
    /// waiting; `note` gets notices for people.
    ///
    /// # Errors
    /// The store cannot be watched, or the node is not admitted.
    pub fn join(
        store: Arc<dyn Coord>,
        mut terms: ClusterTerms,
        weighing: Option<Weighing>,
        forget: Forget,
        mut wait: impl FnMut(Duration) -> bool,
        note: impl Fn(&str) + Send + 'static,
    ) -> Result<Joined, JoinError> {
        terms.weight = weighing.as_ref().map_or(terms.weight, Weighing::weight);
        let (inputs, received) = channel();
        let told = inputs.clone();
        let watch = store.watch("", Box::new(move |watched| drop(told.send(ThreadInput::Told(watched)))))?;
        let view = ClusterView { seen: Arc::default(), inputs: inputs.clone(), me: terms.me };
        let began = Instant::now();
        let participant = Participant::new(terms, thread::time(began));
        let (answer, answers) = sync_channel(1);
        let thread = ClusterThread {
            participant,
            began,
            store,
            note: Box::new(note),
            inputs: inputs.clone(),
            answer: Some(answer),
            node: None,
            worker: None,
            forget: Arc::new(Mutex::new(forget)),
            seen: Arc::clone(&view.seen),
            handed_over: Vec::new(),
            wishes: Vec::new(),
            count_at: thread::time(began),
            window: LoadWindow::default(),
            weighing,
            dropped: false,
        };
        let run = move || {
            thread.run(&received);
            drop(watch);
        };
        let thread = std::thread::Builder::new().name("whimbrel-cluster".to_owned()).spawn(run);
        let thread = thread.map_err(JoinError::Thread)?;
        loop {
            if wait(LOOK) {
                let _ = inputs.send(ThreadInput::Leave { concluded: false });
                let _ = thread.join();
                return Ok(Joined::Interrupted);
            }
            match answers.try_recv() {
                Ok(Ok((name, token))) => {
                    return Ok(Joined::In(Self { name, token, inputs, thread: Some(thread), view }));
                }
                Ok(Err(why)) => return Err(JoinError::Refused(why)),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Err(JoinError::Refused("its thread ended".to_owned())),
            }
        }
    }

    /// This node can serve, and is reached by others at `address` (empty if there are none).
    pub fn begin(&self, address: &str, node: Arc<dyn LocalNode>) {
        let _ = self.inputs.send(ThreadInput::Begin(address.to_owned(), node));
    }

    /// Ends this node's part: it serves nothing any more. If the society has ended here, all nodes are to end, and the
    /// stored society is deleted after that.
    pub fn end(mut self, concluded: bool) {
        let _ = self.inputs.send(ThreadInput::Leave { concluded });
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + LEAVE_PATIENCE;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        // Otherwise the others find out themselves.
        if thread.is_finished() {
            let _ = thread.join();
        }
    }

    /// Returns the nodes, as this one sees them.
    pub fn view(&self) -> ClusterView {
        self.view.clone()
    }
}

impl Drop for ClusterHandle {
    fn drop(&mut self) {
        let _ = self.inputs.send(ThreadInput::Dropped);
    }
}

impl ClusterView {
    /// Returns all nodes that have keys in the store.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).nodes.clone()
    }

    /// Returns the partitions that no node serves because no node may have them, as text for people.
    pub fn vacant(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).vacant.clone()
    }

    /// Returns the wished partitions, each with the name of its node.
    pub fn wishes(&self) -> Vec<(Partition, String)> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).wishes.clone()
    }

    /// This node's number.
    pub fn me(&self) -> Nonce {
        self.me
    }

    /// Hands all partitions of this node over to other nodes, if there are any, within this time. Returns whether that
    /// is done.
    pub fn hand_over(&self, at_most: Duration) -> bool {
        let (answer, answers) = sync_channel(1);
        self.inputs.send(ThreadInput::HandOver(answer)).is_err() || answers.recv_timeout(at_most).is_ok()
    }

    /// Has a node hand over what it serves and take no more; or take its share again.
    ///
    /// # Errors
    /// No node that lives is called so.
    pub fn drain(&self, node: &str, drains: bool) -> Result<(), String> {
        let (answer, answers) = sync_channel(1);
        let gone = || "this node ends".to_owned();
        self.inputs.send(ThreadInput::Drain { node: node.to_owned(), drains, answer }).map_err(|_| gone())?;
        answers.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// Cancels the wish for a partition, so that it may be on any node again. Returns false if there is no wish, or if
    /// this node ends.
    pub fn free(&self, partition: Partition) -> bool {
        let (answer, answers) = sync_channel(1);
        self.inputs.send(ThreadInput::Free(partition, answer)).is_ok() && answers.recv().unwrap_or_default()
    }
}

impl ClusterView {
    /// Ends a wait for a partition to be on that node. If the wish for it was made for this wait, the wish is
    /// cancelled.
    pub fn give_up(&self, partition: Partition, to: &str) {
        // A node that ends wants nothing more.
        let _ = self.inputs.send(ThreadInput::GiveUp(partition, to.to_owned()));
    }
}

impl Mover for ClusterView {
    fn bring(&self, partition: Partition, wish: Wish) {
        if let Err(SendError(ThreadInput::Move(_, wish))) = self.inputs.send(ThreadInput::Move(partition, wish)) {
            wish.over(Err(HopError::Stopping));
        }
    }
}
