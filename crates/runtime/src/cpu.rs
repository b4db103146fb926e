//! Processor time of threads, which passes only while a thread runs. On a busy machine, wall-clock time says little
//! about the duration of a turn.

use std::time::Duration;

#[cfg(target_os = "linux")]
use whimbrel_platform::limits::LATE_TURN_NICENESS;

/// Sample of a thread's activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    /// True if the thread waits for something other than a processor: a lock, a file, a peer.
    pub waits: bool,
    /// Processor time of the thread so far.
    pub ran: Duration,
}

/// Returns the processor time of the calling thread, where the operating system tells.
pub(crate) fn ran() -> Option<Duration> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::time::{ClockId, clock_gettime};
        let ran = clock_gettime(ClockId::ThreadCPUTime);
        Some(Duration::new(ran.tv_sec.try_into().ok()?, ran.tv_nsec.try_into().ok()?))
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Handle of a thread for observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    #[cfg(target_os = "linux")]
    id: Option<rustix::thread::Pid>,
}

impl Thread {
    /// Returns the calling thread's handle.
    pub fn current() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            id: (!cfg!(miri)).then(rustix::thread::gettid),
        }
    }

    /// Samples the thread's activity. Returns `None` if the thread is gone or the operating system does not tell.
    #[cfg(target_os = "linux")]
    pub fn look(self) -> Option<Sight> {
        let task = format!("/proc/self/task/{}", self.id?.as_raw_nonzero());
        // proc(5): the time spent on the processor in nanoseconds comes first; the state follows the name in brackets.
        let schedstat = std::fs::read_to_string(format!("{task}/schedstat")).ok()?;
        let ran = schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)?;
        let stat = std::fs::read_to_string(format!("{task}/stat")).ok()?;
        let (_, state) = stat.rsplit_once(')')?;
        Some(Sight { waits: !state.trim_start().starts_with('R'), ran })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn look(self) -> Option<Sight> {
        None
    }

    /// Lowers the thread's priority for the rest of its life, where the operating system supports that, unless it is
    /// lower already. A process without privileges cannot undo it.
    pub fn step_back(self) {
        #[cfg(target_os = "linux")]
        if let Some(id) = self.id {
            use rustix::process::{getpriority_process, setpriority_process};
            // On Linux the priority belongs to this thread alone. A thread that keeps its priority does no more harm
            // than before. The whole process may have been started with less priority than this.
            if getpriority_process(Some(id)).is_ok_and(|niceness| niceness < LATE_TURN_NICENESS) {
                let _ = setpriority_process(Some(id), LATE_TURN_NICENESS);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use super::*;

    fn niceness(thread: Thread) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.id?.as_raw_nonzero())).ok()?;
        let (_, after_name) = stat.rsplit_once(')')?;
        after_name.split_whitespace().nth(16)?.parse().ok()
    }

    #[test]
    fn thread_steps_back_alone() {
        let before = niceness(Thread::current()).unwrap();
        let stepped_back = std::thread::spawn(move || {
            Thread::current().step_back();
            niceness(Thread::current())
        });
        assert_eq!(stepped_back.join().unwrap(), Some(LATE_TURN_NICENESS.max(before)));
        assert_eq!(niceness(Thread::current()), Some(before));
    }

    #[test]
    fn stepping_back_raises_no_priority() {
        let lowest = std::thread::spawn(|| {
            let thread = Thread::current();
            rustix::process::setpriority_process(thread.id, 19).unwrap();
            thread.step_back();
            niceness(thread)
        });
        assert_eq!(lowest.join().unwrap(), Some(19));
    }

    #[test]
    fn waiting_thread_does_not_run() {
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let sleeper = std::thread::spawn(move || {
            tell.send(Thread::current()).unwrap();
            let _ = ended.recv();
        });
        let sleeper_thread = told.recv().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !sleeper_thread.look().is_some_and(|sight| sight.waits) {
            assert!(Instant::now() < deadline, "a thread that waits is not seen to");
        }
        let before = sleeper_thread.look().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(sleeper_thread.look(), Some(before));
        drop(end);
        sleeper.join().unwrap();
        assert_eq!(sleeper_thread.look(), None);
    }

    /// Waits for the thread's run time to show: other threads see it with a delay of up to ten milliseconds.
    #[test]
    fn computing_thread_runs() {
        let (before, began) = (ran().unwrap(), Instant::now());
        while ran().unwrap() - before < Duration::from_millis(40) {
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        let sight = Thread::current().look().unwrap();
        assert!(!sight.waits && sight.ran >= Duration::from_millis(20), "{sight:?}");
    }
}
