//! Calls of Python functions by agents: the port [`ForeignActions`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use whimbrel_acl::{Text, Value};
use whimbrel_platform::foreign_actions::{ACTIONS_FILE, ForeignActions, ForeignCall, ForeignFailure, ForeignSolutions};
use whimbrel_platform::limits::{PYTHON_QUERY_MS_MAX, PYTHON_SOLUTIONS_AT_A_TIME, PYTHON_START_MS_MAX};
use whimbrel_platform::python_frames::ToPython;
use whimbrel_platform::services::LogLevel;

use super::host::{HostCore, OpenRequest, PythonHost, Reply};
use super::terms::for_python;

impl PythonHost {
    /// Checks that there are actions at all.
    fn check(&self, call: &ForeignCall) -> Result<(), ForeignFailure> {
        if self.core.actions().is_some() {
            return Ok(());
        }
        let place = self.core.folder().join(ACTIONS_FILE);
        let text = format!("py.{} is a function of {}, which does not exist", call.name, place.display());
        Err(ForeignFailure::new("action_failed", text))
    }
}

/// Returns the frame of a call; `most` solutions are wanted.
fn frame(call: &ForeignCall, most: u32) -> impl FnOnce(u64) -> ToPython {
    let args: Vec<Value> = call.args.iter().map(for_python).collect();
    let (agent, name) = (call.agent.to_string(), call.name.to_string());
    move |id| ToPython::Call { id, agent, name, args, most }
}

impl ForeignActions for PythonHost {
    fn begin(&self, call: ForeignCall, ticket: Text) {
        let agent = call.agent;
        let pending = OpenRequest::Call { agent, ticket: ticket.clone() };
        let failed = |why| ForeignFailure::new("action_failed", why);
        let begun =
            self.check(&call).and_then(|()| self.core.request(pending, frame(&call, 0)).map_err(failed).map(drop));
        if let Err(failure) = begun {
            self.core.answer(agent, ticket, Err(failure));
        }
    }

    fn solve(&self, call: ForeignCall) -> Result<ForeignSolutions, ForeignFailure> {
        self.check(&call)?;
        let (answer, waiting) = sync_channel(1);
        let requested = self.core.request(OpenRequest::Query(answer), frame(&call, 1));
        let id = requested.map_err(|why| ForeignFailure::new("action_failed", why))?;
        let start = self.core.start_number();
        let (solutions, more) = match reply_in_time(&self.core, &waiting) {
            Ok(reply) => reply?,
            Err(error) => {
                self.core.forget_call(id);
                return Err(no_reply(&self.core, &call.name, error));
            }
        };
        let core = Arc::clone(&self.core);
        let (ready, batch) = (solutions.into(), 1);
        Ok(Box::new(CallSolutions { core, id, start, name: call.name, ready, more, batch }))
    }
}

/// Waits for an answer as long as a formula may wait for it.
fn reply_in_time(core: &HostCore, waiting: &Receiver<Reply>) -> Result<Reply, RecvTimeoutError> {
    let [query, start] = [PYTHON_QUERY_MS_MAX, PYTHON_START_MS_MAX].map(Duration::from_millis);
    received_in_time(waiting, query, start, || core.ready())
}

/// Receives within `query`, which begins when the process `is_ready`. That takes `start` at most.
fn received_in_time<T>(
    waiting: &Receiver<T>,
    query: Duration,
    start: Duration,
    is_ready: impl Fn() -> Option<Instant>,
) -> Result<T, RecvTimeoutError> {
    let asked = Instant::now();
    loop {
        let until = is_ready().map_or(asked + start, |ready| asked.max(ready) + query);
        // The process may be ready meanwhile: then it has the whole time from there on.
        match waiting.recv_timeout(until.saturating_duration_since(Instant::now()).min(query)) {
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            outcome => return outcome,
        }
    }
}

fn no_reply(core: &HostCore, name: &str, error: RecvTimeoutError) -> ForeignFailure {
    match error {
        RecvTimeoutError::Timeout if core.ready().is_none() => ForeignFailure::new(
            "deadline_reached",
            format!("py.{name} did not answer: Python did not start within {PYTHON_START_MS_MAX} ms"),
        ),
        RecvTimeoutError::Timeout => ForeignFailure::new(
            "deadline_reached",
            format!(
                "py.{name} did not answer within {PYTHON_QUERY_MS_MAX} ms, for which a formula waits: call it as a step \
                 of a plan, where only its intention waits"
            ),
        ),
        RecvTimeoutError::Disconnected => {
            ForeignFailure::new("action_failed", format!("py.{name}: the Python process has ended"))
        }
    }
}

/// Solutions of a call, fetched as they are wanted.
struct CallSolutions {
    core: Arc<HostCore>,
    id: u64,
    start: u64,
    name: Text,
    ready: VecDeque<Vec<Value>>,
    more: bool,
    batch: u32,
}

impl CallSolutions {
    fn fetch(&mut self) -> Reply {
        if self.core.start_number() != self.start {
            return Err(no_reply(&self.core, &self.name, RecvTimeoutError::Disconnected));
        }
        // A generator that is asked once more is probably asked often.
        self.batch = (self.batch * 2).min(PYTHON_SOLUTIONS_AT_A_TIME);
        let (answer, waiting) = sync_channel(1);
        let asked = self.core.continue_call(self.id, OpenRequest::Query(answer), self.batch);
        asked.map_err(|why| ForeignFailure::new("action_failed", why))?;
        reply_in_time(&self.core, &waiting).map_err(|error| {
            self.core.forget_call(self.id);
            no_reply(&self.core, &self.name, error)
        })?
    }
}

impl Iterator for CallSolutions {
    type Item = Vec<Value>;

    fn next(&mut self) -> Option<Vec<Value>> {
        if self.ready.is_empty() && std::mem::take(&mut self.more) {
            match self.fetch() {
                Ok((solutions, more)) => (self.ready, self.more) = (solutions.into(), more),
                Err(failure) => {
                    let text = format!("py.{}: {}: there are no further solutions", self.name, failure.message);
                    self.core.log(LogLevel::Warning, &text);
                }
            }
        }
        self.ready.pop_front()
    }
}

impl Drop for CallSolutions {
    fn drop(&mut self) {
        if self.more && self.core.start_number() == self.start {
            self.core.forget_call(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const QUERY: Duration = Duration::from_millis(2);
    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn formula_waits_for_slow_start() {
        let (answer, waiting) = sync_channel(1);
        // The process answers when it has started, which takes longer than a call may take.
        let looks = Cell::new(0);
        let ready = || {
            looks.set(looks.get() + 1);
            (looks.get() > 3).then(|| {
                answer.try_send(looks.get()).expect("room");
                Instant::now()
            })
        };
        assert_eq!(received_in_time(&waiting, QUERY, LONG, ready), Ok(4));
    }

    #[test]
    fn formula_waits_with_bound() {
        let (_answer, waiting) = sync_channel::<()>(1);
        let begun = Instant::now();
        let late = Err(RecvTimeoutError::Timeout);
        assert_eq!(received_in_time(&waiting, QUERY, LONG, || Some(begun)), late, "it started");
        assert_eq!(received_in_time(&waiting, QUERY, 3 * QUERY, || None), late, "it never starts");
        assert!(begun.elapsed() >= 4 * QUERY);
    }
}
