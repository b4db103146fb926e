//! Thread of a node's part in a cluster, and threads for its long tasks.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use whimbrel_platform::Time;
use whimbrel_platform::cluster::{
    AdoptError, BEAT, ClusterAction, Load, LoadWindow, LocalNode, MembershipEnd, NodeView, Nonce, PAUSE, Participant,
    YieldFailure,
};
use whimbrel_platform::mobility::Wish;
use whimbrel_platform::store::{Coord, Epoch, Partition, Revision, StoreError, WatchNotice};

use super::Forget;
use super::weight::Weighing;

/// Input of the thread.
pub(super) enum ThreadInput {
    Told(WatchNotice),
    Begin(String, Arc<dyn LocalNode>),
    Adopted(Vec<(Partition, Epoch)>, Vec<(Partition, AdoptError)>),
    Yielded(Vec<Partition>, Vec<(Partition, YieldFailure)>),
    Forgot(Result<(), StoreError>),
    /// New measurement of this machine's capacity.
    Weighed(f64),
    /// Notify this channel when everything is handed over, or no node is there to take it.
    HandOver(SyncSender<()>),
    Leave {
        concluded: bool,
    },
    /// The node's handle was dropped: this node takes part no longer.
    Dropped,
    /// A partition is wanted on another node.
    Move(Partition, Wish),
    /// Cancel the wish for a partition. The answer is whether there was one.
    Free(Partition, SyncSender<bool>),
    /// End the wait for a partition to be on the node of this name.
    GiveUp(Partition, String),
    Drain {
        node: String,
        drains: bool,
        answer: SyncSender<Result<(), String>>,
    },
}

/// Work that may take seconds.
pub(super) enum ThreadJob {
    Adopt(Arc<dyn LocalNode>, Vec<(Partition, Epoch)>),
    Forget(Epoch),
}

/// Outcome of a request for admission: name and token.
type Admission = Result<(String, String), String>;

/// View of the nodes for others.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenNodes {
    pub nodes: Vec<NodeView>,
    pub vacant: Vec<String>,
    pub wishes: Vec<(Partition, String)>,
}

/// State of the thread.
pub(super) struct ClusterThread {
    pub participant: Participant,
    pub began: Instant,
    pub store: Arc<dyn Coord>,
    pub note: Box<dyn Fn(&str) + Send>,
    pub inputs: Sender<ThreadInput>,
    /// Channel that waits for admission.
    pub answer: Option<SyncSender<Admission>>,
    pub node: Option<Arc<dyn LocalNode>>,
    pub worker: Option<Sender<ThreadJob>>,
    pub forget: Arc<Mutex<Forget>>,
    pub seen: Arc<Mutex<SeenNodes>>,
    pub handed_over: Vec<SyncSender<()>>,
    /// Callers that wait for a partition to move to another node.
    pub wishes: Vec<(Partition, Nonce, Wish)>,
    /// Time of the next count of agents.
    pub count_at: Time,
    /// Recent load of the nodes.
    pub window: LoadWindow,
    /// Measurement of this machine's capacity, while it runs.
    pub weighing: Option<Weighing>,
    pub dropped: bool,
}

/// Returns the time since a participant began.
pub(super) fn time(began: Instant) -> Time {
    Time::ZERO + began.elapsed()
}

impl ClusterThread {
    pub fn run(mut self, received: &Receiver<ThreadInput>) {
        loop {
            match received.recv_timeout(PAUSE) {
                Ok(input) => self.hear(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            received.try_iter().for_each(|input| self.hear(input));
            if self.dropped {
                return;
            }
            self.look();
            while let Some(action) = self.participant.act(self.now()) {
                if let ClusterAction::End(ending) = action {
                    return self.end(ending);
                }
                self.carry_out(action);
            }
            self.show();
        }
    }

    fn now(&self) -> Time {
        time(self.began)
    }

    fn hear(&mut self, input: ThreadInput) {
        let now = self.now();
        match input {
            ThreadInput::Told(watched) => self.participant.told(watched, now),
            ThreadInput::Begin(address, node) => {
                self.node = Some(node);
                self.participant.begin(address);
            }
            ThreadInput::Adopted(partitions, failed) => {
                let again = failed.iter().find(|(_, error)| !matches!(error, AdoptError::Unreadable(_)));
                if let Some((partition, error)) = again {
                    (self.note)(&format!("cannot serve partition {}, and tries again: {error}", partition.0));
                }
                self.participant.adopted(&partitions, failed, now);
            }
            ThreadInput::Weighed(units) => self.weighed(units),
            ThreadInput::Yielded(partitions, stuck) => self.participant.yielded(&partitions, stuck, now),
            ThreadInput::Dropped => self.dropped = true,
            ThreadInput::Forgot(outcome) => self.participant.forgot(outcome, now),
            ThreadInput::HandOver(answer) => {
                self.handed_over.push(answer);
                self.participant.prepare_to_leave();
            }
            ThreadInput::Leave { concluded } => {
                if concluded {
                    self.participant.conclude();
                }
                self.participant.leave();
            }
            ThreadInput::Move(partition, wish) => {
                match self.participant.ask_to_move(partition, wish.to.as_str(), now) {
                    Ok(to) => self.wishes.push((partition, to, wish)),
                    Err(why) => wish.over(Err(why)),
                }
            }
            ThreadInput::Free(partition, answer) => drop(answer.send(self.participant.ask_to_free(partition))),
            ThreadInput::GiveUp(partition, to) => self.participant.give_up(partition, &to),
            ThreadInput::Drain { node, drains, answer } => {
                let _ = answer.send(self.participant.ask_to_drain(&node, drains, now));
            }
        }
    }

    fn carry_out(&mut self, action: ClusterAction) {
        match action {
            ClusterAction::Write(key, expected, value) => {
                let outcome = self.store.write(&key, expected, &value);
                self.participant.wrote(&key, outcome, self.now());
            }
            ClusterAction::Remove(key, expected) => {
                let outcome = self.store.remove(&key, expected).map(|()| Revision(0));
                self.participant.wrote(&key, outcome, self.now());
            }
            ClusterAction::Read(key) => {
                let outcome = self.store.read(&key);
                self.participant.read(&key, outcome, self.now());
            }
            ClusterAction::Adopt(partitions) => self.adopt(partitions),
            ClusterAction::Yield(partitions) => self.yield_up(partitions),
            ClusterAction::Forget(epoch) => self.hand_to_worker(ThreadJob::Forget(epoch)),
            ClusterAction::Accepted { name, token } => self.answer(Ok((name, token))),
            ClusterAction::LinkWith(members) => self.with_node(|node| node.link_with(&members)),
            ClusterAction::Moved { partition, to, outcome } => {
                let is_it = |(wanted, there, _): &mut (Partition, Nonce, Wish)| (*wanted, *there) == (partition, to);
                self.wishes.extract_if(.., is_it).for_each(|(.., wish)| wish.over(outcome.clone()));
            }
            ClusterAction::Note(text) => (self.note)(&text),
            ClusterAction::Conclude => {
                (self.note)("the society has ended on another node");
                self.with_node(|node| node.concluded());
            }
            ClusterAction::End(_) => {}
        }
    }

    /// Counts the agents, and measures their load, at intervals.
    fn look(&mut self) {
        let now = self.now();
        if let Some(node) = self.node.clone().filter(|_| now >= self.count_at) {
            self.participant.set_agents(node.agents());
            let load = self.window.note(node.work(), now);
            self.weigh(load.as_ref());
            self.participant.set_load(load);
            self.count_at = now + BEAT;
        }
        let awaited: Vec<Partition> = self.participant.awaited().collect();
        for (partition, node) in awaited.into_iter().zip(std::iter::repeat(self.node.clone())) {
            if let Some(server) = node.and_then(|node| node.server_of(partition)) {
                self.participant.is_served_by(partition, &server);
            }
        }
    }

    /// Measures this machine's capacity if it is idle, on a thread of its own.
    fn weigh(&mut self, load: Option<&Load>) {
        let now = self.now();
        if let Some(measure) = self.weighing.as_mut().and_then(|weighing| weighing.due(load, now)) {
            let inputs = self.inputs.clone();
            std::thread::spawn(move || inputs.send(ThreadInput::Weighed(measure())));
        }
    }

    fn weighed(&mut self, units: f64) {
        let Some(weighing) = &mut self.weighing else { return };
        let before = weighing.weight();
        if let Some(weight) = weighing.measured(units) {
            (self.note)(&format!("the weight of this node is {weight} now, not {before}: measured while it was idle"));
            self.participant.set_weight(weight);
        }
    }

    fn with_node(&self, call: impl FnOnce(&dyn LocalNode)) {
        if let Some(node) = &self.node {
            call(&**node);
        }
    }

    fn adopt(&mut self, partitions: Vec<(Partition, Epoch)>) {
        if let Some(node) = self.node.clone() {
            self.hand_to_worker(ThreadJob::Adopt(node, partitions));
        }
    }

    /// Yields partitions on a thread of its own: agents that do not stop delay nothing else.
    fn yield_up(&self, partitions: Vec<Partition>) {
        let Some(node) = self.node.clone() else { return };
        let inputs = self.inputs.clone();
        std::thread::spawn(move || {
            let stuck = node.yield_up(&partitions);
            let _ = inputs.send(ThreadInput::Yielded(partitions, stuck));
        });
    }

    /// Hands a job to the other thread, behind all earlier ones.
    fn hand_to_worker(&mut self, job: ThreadJob) {
        let worker = self.worker.get_or_insert_with(|| {
            let (jobs, received) = channel();
            let (inputs, forget) = (self.inputs.clone(), Arc::clone(&self.forget));
            std::thread::spawn(move || work(&received, &inputs, &forget));
            jobs
        });
        let _ = worker.send(job);
    }

    fn answer(&mut self, admission: Admission) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(admission);
        }
    }

    /// Publishes the view of the nodes.
    fn show(&mut self) {
        let now = self.now();
        let (nodes, vacant) = (self.participant.nodes(now), self.participant.vacant(now));
        let seen = SeenNodes { nodes, vacant, wishes: self.participant.wishes() };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        if !self.handed_over.is_empty() && self.participant.has_handed_over(now) {
            for answer in self.handed_over.drain(..) {
                let _ = answer.send(());
            }
        }
    }

    fn end(mut self, ending: MembershipEnd) {
        match ending {
            MembershipEnd::Left => {}
            MembershipEnd::Deposed => match &self.node {
                Some(node) => {
                    (self.note)("other nodes took this one for dead, and what it served is theirs");
                    node.deposed();
                }
                None => self.answer(Err("other nodes took this one for dead before it began".to_owned())),
            },
            MembershipEnd::Failed(why) => match &self.node {
                Some(node) => node.failed(&why),
                None => self.answer(Err(why)),
            },
        }
    }
}

/// Runs one job after the other.
fn work(jobs: &Receiver<ThreadJob>, inputs: &Sender<ThreadInput>, forget: &Mutex<Forget>) {
    for job in jobs {
        let done = match job {
            ThreadJob::Adopt(node, partitions) => {
                let failed = node.adopt(&partitions);
                ThreadInput::Adopted(partitions, failed)
            }
            ThreadJob::Forget(epoch) => {
                let forget = forget.lock().unwrap_or_else(PoisonError::into_inner);
                ThreadInput::Forgot(forget(epoch))
            }
        };
        if inputs.send(done).is_err() {
            return;
        }
    }
}
