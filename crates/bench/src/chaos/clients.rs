//! Clients of agents that are registers. They write and read continuously, through any node, and record the time of
//! each call and of its answer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_operator::{Reason, Refusal};

use super::history::{OperationKind, RegisterOperation};
use super::lookout::{Lookout, say};
use super::schedule::FaultRandom;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two operations of a client.
const PAUSE: Duration = Duration::from_millis(20);
/// Pause between two tries while no node answers.
const NOBODY_PAUSE: Duration = Duration::from_millis(100);

/// Histories of registers, by name.
pub type Histories = FxHashMap<String, Vec<RegisterOperation>>;

/// Clients at work.
pub struct Clients {
    shared: Arc<ClientState>,
    threads: Vec<JoinHandle<()>>,
}

struct ClientState {
    began: Instant,
    lookout: Lookout,
    registers: Vec<String>,
    histories: Mutex<Histories>,
    /// Source of values: none is written twice.
    values: AtomicU64,
    ended: AtomicBool,
}

impl Clients {
    /// Starts this number of clients. They count time from `began`.
    pub fn begin(lookout: &Lookout, registers: Vec<String>, clients: u8, seed: u64, began: Instant) -> Self {
        let shared = Arc::new(ClientState {
            began,
            lookout: lookout.clone(),
            registers,
            histories: Mutex::default(),
            values: AtomicU64::new(1),
            ended: AtomicBool::new(false),
        });
        let begin = |number: u8| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work(number, &mut FaultRandom(seed ^ u64::from(number))))
        };
        Self { threads: (1..=clients).map(begin).collect(), shared }
    }

    /// Ends the clients, and returns their notes.
    pub fn end(mut self) -> Histories {
        self.shared.ended.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        std::mem::take(&mut self.shared.histories.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
    }
}

impl ClientState {
    fn work(&self, number: u8, random: &mut FaultRandom) {
        while !self.ended.load(Ordering::Acquire) {
            let (Some(node), Some(register)) =
                (self.lookout.any(random), self.registers.get(random.below(self.registers.len())))
            else {
                std::thread::sleep(NOBODY_PAUSE);
                continue;
            };
            let writes = random.below(2) == 0;
            let value = if writes { self.values.fetch_add(1, Ordering::Relaxed) } else { 0 };
            let question = if writes { format!("set({value})") } else { "value(V)".to_owned() };
            let called = self.began.elapsed();
            let said = say(&node, number, ("query-ref", register, &question), Some(PATIENCE));
            let answered = self.began.elapsed();
            if said.as_ref().is_err_and(was_not_sent) {
                std::thread::sleep(NOBODY_PAUSE);
                continue;
            }
            let answer = said.ok().flatten();
            let operation = if writes {
                let answered = (answer.as_ref() == Some(&question)).then_some(answered);
                Some(RegisterOperation { called, answered, kind: OperationKind::Write(value) })
            } else {
                let seen = answer.as_deref().and_then(value_in);
                seen.map(|value| RegisterOperation {
                    called,
                    answered: Some(answered),
                    kind: OperationKind::Read(value),
                })
            };
            if let Some(operation) = operation {
                let mut histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
                histories.entry(register.clone()).or_default().push(operation);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Returns true if a node refused to send a message at all, for instance because it does not know the agent yet.
fn was_not_sent(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason != Reason::NoAnswer)
}

/// Returns the value in `value(7)`.
fn value_in(answer: &str) -> Option<u64> {
    answer.strip_prefix("value(")?.strip_suffix(')')?.parse().ok()
}
