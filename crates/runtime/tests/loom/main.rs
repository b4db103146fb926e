//! Concurrent parts of the scheduler, in all interleavings (loom).
#![allow(clippy::unwrap_used, dead_code, unreachable_pub, missing_docs)]

#[path = "../../src/activity.rs"]
mod activity;
#[path = "../../src/handover.rs"]
mod handover;
#[path = "../../src/inbox.rs"]
mod inbox;
mod sync;

use loom::cell::UnsafeCell;
use loom::thread;
use sync::Arc;
use sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::activity::Activity;
use crate::handover::Lease;
use crate::inbox::{Inbox, OwnerWait};

/// Checks all interleavings in which threads are interrupted three times at most: nearly all faults show with two.
fn all_interleavings(check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(check);
}

/// Number in which loom detects simultaneous access.
struct LoomCounter(UnsafeCell<u32>);

impl LoomCounter {
    fn add(&mut self) -> u32 {
        self.0.with_mut(|number| {
            // SAFETY: `&mut self`; loom checks that this is true.
            let number = unsafe { &mut *number };
            *number += 1;
            *number
        })
    }
}

/// Takes so many turns, unless the shard is seized. Returns the shard if it is not.
fn work(mut lease: Lease<LoomCounter>, turns: u32) -> Option<Box<LoomCounter>> {
    for _ in 0..turns {
        lease.add();
        let ((), back) = lease.lend(|| ());
        lease = back?;
    }
    lease.add();
    Some(lease.release())
}

/// However a seizure falls between and into a worker's turns, one of the two has the shard afterwards, and never
/// both.
#[test]
fn shard_has_one_holder() {
    all_interleavings(|| {
        let lease = Lease::new(Box::new(LoomCounter(UnsafeCell::new(0))));
        let desk = Arc::clone(lease.desk());
        let worker = thread::spawn(move || work(lease, 2));
        let seized = desk.seize().map(|mut shard| {
            shard.add();
            shard
        });
        let kept = worker.join().unwrap();
        assert!(kept.is_some() != seized.is_some());
    });
}

/// Two seizures, and a third holder that makes a new desk.
#[test]
fn seized_shard_can_be_seized_again() {
    all_interleavings(|| {
        let lease = Lease::new(Box::new(LoomCounter(UnsafeCell::new(0))));
        let desk = Arc::clone(lease.desk());
        let worker = thread::spawn(move || work(lease, 1));
        let again = desk.seize().and_then(|shard| {
            assert!(desk.seize().is_none(), "nothing is seized twice");
            work(Lease::new(shard), 1)
        });
        let kept = worker.join().unwrap();
        assert!(kept.is_some() != again.is_some());
    });
}

/// An owner that sleeps whenever it finds nothing gets everything that is put in: no wake-up is lost.
#[test]
fn no_wake_up_is_lost() {
    all_interleavings(|| {
        let inbox = Arc::new(Inbox::<u32, ()>::new());
        let senders: Vec<_> = (0..2)
            .map(|sender| {
                let inbox = Arc::clone(&inbox);
                thread::spawn(move || inbox.put(|content| content.commands.push(sender), |_| ()))
            })
            .collect();
        let (mut commands, mut got) = (Vec::new(), 0);
        while got < 2 {
            inbox.take(&mut commands);
            got += commands.drain(..).count();
            if got < 2 {
                inbox.sleep(None, || (), || ());
            }
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

/// Call that is not missed, though no thread waits for it yet.
struct Bell {
    rung: sync::Mutex<bool>,
    rings: sync::Condvar,
}

impl Bell {
    fn ring(&self) {
        *sync::locked(&self.rung) = true;
        self.rings.notify_one();
    }

    fn wait(&self) {
        let mut rung = sync::locked(&self.rung);
        while !std::mem::take(&mut *rung) {
            rung = sync::wait(&self.rings, rung);
        }
    }
}

/// An owner that waits at another place is called for everything that is put in, once each time.
#[test]
fn owner_waiting_elsewhere_is_called() {
    all_interleavings(|| {
        let inbox = Arc::new(Inbox::<u32, ()>::new());
        let bell = Arc::new(Bell { rung: sync::Mutex::new(false), rings: sync::Condvar::new() });
        let senders: Vec<_> = (0..2)
            .map(|sender| {
                let (inbox, bell) = (Arc::clone(&inbox), Arc::clone(&bell));
                let call = move |owner| {
                    assert_eq!(owner, OwnerWait::Elsewhere);
                    bell.ring();
                };
                thread::spawn(move || inbox.put(|content| content.commands.push(sender), call))
            })
            .collect();
        let (mut commands, mut got) = (Vec::new(), 0);
        while got < 2 {
            inbox.take(&mut commands);
            got += commands.drain(..).count();
            if got < 2 && inbox.go_elsewhere(|| ()) {
                bell.wait();
                inbox.come_back(|| panic!("it was called"));
            }
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

/// A shard passes work on to a sleeping one and falls asleep itself: a thread that waits for idleness sees it only
/// when the work is done.
#[test]
fn idleness_comes_after_all_work() {
    all_interleavings(|| {
        let activity = Arc::new(Activity::new());
        let inbox = Arc::new(Inbox::<(), ()>::new());
        let (done, closing) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        activity.begin();
        activity.begin();
        let second = {
            let (activity, inbox) = (Arc::clone(&activity), Arc::clone(&inbox));
            let (done, closing) = (Arc::clone(&done), Arc::clone(&closing));
            thread::spawn(move || {
                let mut commands = Vec::new();
                while !closing.load(Ordering::Acquire) {
                    inbox.take(&mut commands);
                    for () in commands.drain(..) {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    inbox.sleep(None, || activity.end(), || activity.begin());
                }
            })
        };
        let first = {
            let (activity, inbox) = (Arc::clone(&activity), Arc::clone(&inbox));
            thread::spawn(move || {
                inbox.put(|content| content.commands.push(()), |_| activity.begin());
                activity.end();
            })
        };
        activity.wait_still(None);
        assert_eq!(done.load(Ordering::Relaxed), 1);
        closing.store(true, Ordering::Release);
        inbox.put(|_| (), |_| activity.begin());
        first.join().unwrap();
        second.join().unwrap();
    });
}
