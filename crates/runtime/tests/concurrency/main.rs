//! Concurrent parts of the scheduler under stress.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub, missing_docs)]

#[path = "../../src/handover.rs"]
mod handover;
#[path = "../../src/inbox.rs"]
mod inbox;
#[path = "../../src/sync.rs"]
mod sync;
mod twin;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use handover::{Desk, Lease};
use twin::{LockedDesk, LockedLease};

macro_rules! check_handover {
    ($name:ident, $desk:ident, $lease:ident) => {
        /// Stress test: a worker counts its turns in a plain number, while a watchdog seizes the shard whenever it
        /// can. No count is lost, and no two threads count at once.
        #[test]
        fn $name() {
            const TURNS: u64 = 300_000;

            fn work(current: &Mutex<Option<Arc<$desk<u64>>>>, done: &mpsc::Sender<u64>, shard: Box<u64>) {
                let mut lease = $lease::new(shard);
                *current.lock().unwrap() = Some(Arc::clone(lease.desk()));
                while *lease < TURNS {
                    *lease += 1;
                    let (_, back) = lease.lend(std::hint::spin_loop);
                    let Some(back) = back else { return };
                    lease = back;
                }
                let _ = done.send(*lease.release());
            }

            let current = Mutex::new(None);
            let seizures = AtomicUsize::new(0);
            std::thread::scope(|s| {
                let (done, finished) = mpsc::channel();
                let (first, current) = (done.clone(), &current);
                s.spawn(move || work(current, &first, Box::new(0)));
                let counted = loop {
                    let desk = current.lock().unwrap().clone();
                    if let Some(shard) = desk.and_then(|desk| desk.seize()) {
                        seizures.fetch_add(1, Ordering::Relaxed);
                        let done = done.clone();
                        s.spawn(move || work(current, &done, shard));
                    }
                    if let Ok(counted) = finished.try_recv() {
                        break counted;
                    }
                };
                assert_eq!(counted, TURNS);
            });
            println!("{} seizures", seizures.load(Ordering::Relaxed));
        }
    };
}

check_handover!(no_turn_is_lost, Desk, Lease);
check_handover!(no_turn_is_lost_by_the_twin, LockedDesk, LockedLease);

/// Several threads put in, one takes out and sleeps in between: all commands arrive, each sender's in order.
#[test]
fn inbox_keeps_order_and_wakes_owner() {
    const SENDERS: usize = 4;
    const EACH: usize = 20_000;
    let inbox = inbox::Inbox::<(usize, usize), ()>::new();
    std::thread::scope(|s| {
        for sender in 0..SENDERS {
            let inbox = &inbox;
            s.spawn(move || {
                for i in 0..EACH {
                    inbox.put(|content| content.commands.push((sender, i)), |_| ());
                    if i % 997 == 0 {
                        std::thread::sleep(std::time::Duration::from_micros(50));
                    }
                }
            });
        }
        let (mut commands, mut next, mut got) = (Vec::new(), [0; SENDERS], 0);
        while got < SENDERS * EACH {
            inbox.take(&mut commands);
            got += commands.len();
            for (sender, i) in commands.drain(..) {
                assert_eq!(next[sender], i);
                next[sender] += 1;
            }
            if got < SENDERS * EACH {
                inbox.sleep(None, || (), || ());
            }
        }
    });
}
