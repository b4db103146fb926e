//! Inbox of a shard: other threads leave messages, commands and new agents in it, and its owner sleeps at it.
//!
//! One lock, taken once per batch and never per message: a sender appends its whole batch, the owner swaps the whole
//! content for an empty vector. A flag beside it tells the owner without the lock whether to look. The owner sleeps
//! on the same lock, so no wake-up can be lost: a sender finds the inbox of a sleeping shard marked asleep. An owner
//! that waits at another place, where other events may wake it, too, is marked accordingly.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, locked};

/// Content of an inbox.
#[derive(Debug)]
pub(crate) struct InboxContent<P, N> {
    /// Messages and commands, oldest first.
    pub commands: Vec<P>,
    /// New agents to be installed.
    pub newcomers: Vec<N>,
}

impl<P, N> Default for InboxContent<P, N> {
    fn default() -> Self {
        Self { commands: Vec::new(), newcomers: Vec::new() }
    }
}

/// Place where the owner of an inbox waits for new content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerWait {
    /// The owner does not wait: it looks by itself.
    No,
    /// The owner waits at the inbox.
    Here,
    /// The owner waits at another place, and has to be called.
    Elsewhere,
}

#[derive(Debug)]
struct InboxState<P, N> {
    content: InboxContent<P, N>,
    owner: OwnerWait,
}

/// Inbox of a shard; see the module.
#[derive(Debug)]
pub(crate) struct Inbox<P, N> {
    /// Set after new content was put in; cleared before it is taken out.
    filled: CachePadded<AtomicBool>,
    /// Number of commands in the inbox.
    commands: AtomicUsize,
    state: CachePadded<Mutex<InboxState<P, N>>>,
    alarm: Condvar,
}

impl<P, N> Inbox<P, N> {
    pub fn new() -> Self {
        let state = InboxState { content: InboxContent::default(), owner: OwnerWait::No };
        Self {
            filled: CachePadded::new(AtomicBool::new(false)),
            commands: AtomicUsize::new(0),
            state: CachePadded::new(Mutex::new(state)),
            alarm: Condvar::new(),
        }
    }

    /// Returns true if the inbox has content. True may come late, and never fails to come.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::Acquire)
    }

    /// Returns the approximate number of commands in the inbox.
    pub fn commands(&self) -> usize {
        self.commands.load(Ordering::Relaxed)
    }

    /// Puts content in, and wakes the owner if it sleeps here. `on_wake` gets the place where the owner waited, and
    /// runs before the owner can. So a caller that counts running shards counts this one there, and calls an owner
    /// that waits at another place.
    pub fn put(&self, fill: impl FnOnce(&mut InboxContent<P, N>), on_wake: impl FnOnce(OwnerWait)) {
        let mut state = locked(&self.state);
        fill(&mut state.content);
        self.commands.store(state.content.commands.len(), Ordering::Relaxed);
        self.filled.store(true, Ordering::Release);
        let owner = std::mem::replace(&mut state.owner, OwnerWait::No);
        if owner != OwnerWait::No {
            on_wake(owner);
        }
        // The owner takes the lock when it wakes: with the lock still held it would wait again at once.
        drop(state);
        if owner == OwnerWait::Here {
            self.alarm.notify_one();
        }
    }

    /// Takes all commands (into `commands`, which is empty and gives its room in exchange) and newcomers.
    pub fn take(&self, commands: &mut Vec<P>) -> Vec<N> {
        let mut state = locked(&self.state);
        self.filled.store(false, Ordering::Relaxed);
        self.commands.store(0, Ordering::Relaxed);
        std::mem::swap(commands, &mut state.content.commands);
        std::mem::take(&mut state.content.newcomers)
    }

    /// Returns true if the owner waits for new content: then everything put in before was taken out and processed.
    pub fn is_done_with(&self) -> bool {
        locked(&self.state).owner != OwnerWait::No
    }

    /// Takes only the newcomers.
    pub fn take_newcomers(&self) -> Vec<N> {
        std::mem::take(&mut locked(&self.state).content.newcomers)
    }

    /// Sleeps until content is put in, or for `at_most`. Does not sleep if content was put in since [`Inbox::take`].
    /// `on_sleep` runs before the sleep. `on_timeout` runs after it if nothing was put in meanwhile.
    pub fn sleep(&self, at_most: Option<Duration>, on_sleep: impl FnOnce(), on_timeout: impl FnOnce()) {
        let mut state = locked(&self.state);
        if self.is_filled() {
            return;
        }
        state.owner = OwnerWait::Here;
        on_sleep();
        while state.owner == OwnerWait::Here {
            state = match at_most {
                None => crate::sync::wait(&self.alarm, state),
                Some(at_most) => {
                    let (mut state, timed_out) = crate::sync::wait_timeout(&self.alarm, state, at_most);
                    if timed_out && state.owner == OwnerWait::Here {
                        state.owner = OwnerWait::No;
                        on_timeout();
                        return;
                    }
                    state
                }
            };
        }
    }

    /// Marks that the owner is about to wait at another place: senders call it there until [`Inbox::come_back`]. Does
    /// nothing and returns false if content was put in since [`Inbox::take`].
    pub fn go_elsewhere(&self, on_sleep: impl FnOnce()) -> bool {
        let mut state = locked(&self.state);
        let goes = !self.is_filled();
        if goes {
            state.owner = OwnerWait::Elsewhere;
            on_sleep();
        }
        goes
    }

    /// Marks that the owner waits no more. `on_timeout` runs if no sender called it.
    pub fn come_back(&self, on_timeout: impl FnOnce()) {
        let mut state = locked(&self.state);
        if std::mem::replace(&mut state.owner, OwnerWait::No) != OwnerWait::No {
            on_timeout();
        }
    }
}
