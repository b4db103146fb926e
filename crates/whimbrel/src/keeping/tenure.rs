//! Who runs a society that is kept in a store which several machines reach: one node at a time.
//!
//! The owner rewrites one key four times a second. Whoever waits to take over counts, by a clock of its own, how long that key did
//! not change; no two clocks are ever compared. That an owner is thought dead decides only who tries: what makes it safe is
//! that the journal takes nothing more from an owner once another one has opened it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use whimbrel_platform::store::{Coord, Epoch, Revision, StoreError, WriteError};

/// The key that the owner rewrites.
const OWNER: &str = "owner";
/// How often it does.
const BEAT: Duration = Duration::from_millis(250);
/// How long those who wait let a store be that cannot be reached.
const AWAY: Duration = Duration::from_secs(1);
/// How often those who wait look.
const LOOK: Duration = Duration::from_millis(100);

/// What is written under [`OWNER`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    /// The owner, for people: its machine and process.
    node: String,
    /// Unlike any other owner's, whatever they are called.
    nonce: u64,
    epoch: u64,
    beat: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// It runs the society.
    Running,
    /// It left: somebody may go on.
    Left,
    /// The society has ended.
    Concluded,
}

/// How to come by a store.
pub struct Terms {
    /// This process has the store for itself: whoever is written down is dead.
    pub exclusive: bool,
    /// Wait for the owner's end instead of giving up.
    pub standby: bool,
    /// How long an owner may be silent.
    pub patience: Duration,
}

/// What came of asking for a store.
pub enum Claim {
    /// It is this process's.
    Ours(Tenure),
    /// The society has ended while this process waited.
    Concluded,
    /// The person at this process does not want to wait any longer.
    Interrupted,
}

/// This process's ownership of a store.
pub struct Tenure {
    store: Arc<dyn Coord>,
    owner: Owner,
    revision: Revision,
    /// Whom it was taken from, if that one did not leave by itself.
    pub succeeded: Option<String>,
}

/// Takes the store over, when that can be done. `wait` waits, and says whether to stop waiting.
pub fn claim(
    store: &Arc<dyn Coord>,
    terms: &Terms,
    mut wait: impl FnMut(Duration) -> bool,
    mut note: impl FnMut(&str),
) -> anyhow::Result<Claim> {
    let mut seen: Option<(Revision, Instant)> = None;
    let mut waited = false;
    loop {
        let (revision, owner) = match read(&**store) {
            Ok(found) => found,
            Err(error) if terms.standby && waited => {
                // The store's silence is not the owner's: all counting begins anew.
                note(&error.to_string());
                seen = None;
                if wait(AWAY) {
                    return Ok(Claim::Interrupted);
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let running = owner.as_ref().filter(|owner| owner.state == State::Running);
        if let Some(concluded) = owner.as_ref().filter(|owner| owner.state == State::Concluded)
            && waited
        {
            note(&format!("the society has ended on {}", concluded.node));
            return Ok(Claim::Concluded);
        }
        let changed = seen.is_none_or(|(before, _)| before != revision);
        let silent = seen.map_or(Duration::ZERO, |(_, since)| since.elapsed());
        match running {
            Some(owner) if !terms.exclusive && (changed || silent < terms.patience) => {
                if !terms.standby && changed && seen.is_some() {
                    anyhow::bail!("{} runs this society (--standby waits to take over from it)", owner.node);
                }
                if seen.is_none() {
                    let what = if terms.standby { "waiting to take over (Ctrl-C ends that)" } else { "is it alive?" };
                    note(&format!("{} runs this society; {what}", owner.node));
                }
                waited |= terms.standby;
                if changed {
                    seen = Some((revision, Instant::now()));
                }
                if wait(LOOK) {
                    return Ok(Claim::Interrupted);
                }
            }
            dead => {
                let succeeded = dead.map(|owner| owner.node.clone()).filter(|_| !terms.exclusive);
                match take(store, revision, owner, succeeded) {
                    Ok(Some(tenure)) => return Ok(Claim::Ours(tenure)),
                    Ok(None) => {}
                    Err(error) if waited => note(&format!("{error:#}")),
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

fn read(store: &dyn Coord) -> Result<(Revision, Option<Owner>), StoreError> {
    let Some((revision, bytes)) = store.read(OWNER)? else { return Ok((Revision(0), None)) };
    let damaged = |error: serde_json::Error| StoreError::Damaged(format!("it does not say whose it is: {error}"));
    Ok((revision, Some(serde_json::from_slice(&bytes).map_err(damaged)?)))
}

/// Writes this process down as the owner; `None` if somebody was quicker.
fn take(
    store: &Arc<dyn Coord>,
    revision: Revision,
    before: Option<Owner>,
    succeeded: Option<String>,
) -> anyhow::Result<Option<Tenure>> {
    let epoch = before.map_or(0, |owner| owner.epoch) + 1;
    let owner = Owner { node: me(), nonce: nonce(), epoch, beat: 0, state: State::Running };
    match store.write(OWNER, revision, &serde_json::to_vec(&owner)?) {
        Ok(revision) => Ok(Some(Tenure { store: Arc::clone(store), owner, revision, succeeded })),
        // What is not known is read again: if it was written, that owner is this process.
        Err(WriteError::Conflict(_) | WriteError::Unknown(_) | WriteError::Retry(_)) => {
            Ok(read(&**store)?.1.filter(|now| *now == owner).and_then(|owner| {
                let revision = read(&**store).ok()?.0;
                Some(Tenure { store: Arc::clone(store), owner, revision, succeeded })
            }))
        }
        Err(error) => Err(error).context("cannot take the store over"),
    }
}

fn nonce() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// This process, for people.
fn me() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("process {} on {machine}", std::process::id())
}

impl Tenure {
    /// The epoch of this ownership.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.owner.epoch)
    }

    /// Shows from now on that this process is alive. `deposed` is called if another one took the store over.
    pub fn begin(self, deposed: impl FnOnce() + Send + 'static) -> Beating {
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            let mut tenure = self;
            let state = loop {
                match ended.recv_timeout(BEAT) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(state) => break state,
                    Err(RecvTimeoutError::Disconnected) => break State::Left,
                }
                if !tenure.beat(State::Running) {
                    return deposed();
                }
            };
            tenure.beat(state);
        });
        Beating { end, thread }
    }

    /// Rewrites the key; false if it is another's by now. What fails is tried with the next beat.
    fn beat(&mut self, state: State) -> bool {
        let owner = Owner { beat: self.owner.beat + 1, state, ..self.owner.clone() };
        let Ok(bytes) = serde_json::to_vec(&owner) else { return true };
        match self.store.write(OWNER, self.revision, &bytes) {
            Ok(revision) => {
                (self.owner, self.revision) = (owner, revision);
                true
            }
            Err(WriteError::Conflict(_)) => match read(&*self.store) {
                // A beat whose outcome was not known had been written.
                Ok((revision, Some(now))) if now.nonce == self.owner.nonce => {
                    self.revision = revision;
                    true
                }
                Ok(_) => false,
                Err(_) => true,
            },
            Err(_) => true,
        }
    }
}

/// An ownership that shows that it is alive.
pub struct Beating {
    end: Sender<State>,
    thread: JoinHandle<()>,
}

impl Beating {
    /// Lets others have the store; if the society has concluded, nobody need go on.
    pub fn end(self, concluded: bool) {
        let _ = self.end.send(if concluded { State::Concluded } else { State::Left });
        let _ = self.thread.join();
    }
}
