//! Common helpers of the tests.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::services::LogLevel;
use whimbrel_runtime::{Agent, Context, Counters, Output, Platform};

/// Output that records agents' lines and log entries.
#[derive(Clone, Default)]
pub struct Lines {
    printed: Arc<Mutex<Vec<String>>>,
    noted: Arc<Mutex<Vec<String>>>,
}

impl Lines {
    pub fn all(&self) -> Vec<String> {
        self.printed.lock().unwrap().clone()
    }

    pub fn notes(&self) -> Vec<String> {
        self.noted.lock().unwrap().clone()
    }
}

impl Output for Lines {
    fn print(&self, agent: Aid, text: &str) {
        self.printed.lock().unwrap().push(format!("{agent}: {text}"));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        self.noted.lock().unwrap().push(format!("{level:?} {agent}: {text}"));
    }
}

/// Agent that is a function of its messages.
pub struct Does<F>(pub F);

impl<F: FnMut(&mut Context<'_, '_>, MessageBody) + Send + 'static> Agent for Does<F> {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        (self.0)(ctx, message);
    }
}

/// Makes an agent of a function.
pub fn does<F: FnMut(&mut Context<'_, '_>, MessageBody) + Send + 'static>(f: F) -> Does<F> {
    Does(f)
}

pub fn platform(workers: usize) -> (Platform, Lines) {
    let lines = Lines::default();
    (Platform::builder().name("home").workers(workers).output(lines.clone()).build(), lines)
}

/// Waits until the condition holds, with a limit that suits a busy machine.
#[track_caller]
pub fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(180);
    while !so() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn inform(from: &str, to: Aid, content: impl Into<Value>) -> AclMessage {
    AclMessage::new(Performative::Inform, Aid::local(from), to, content)
}

pub fn assert_balanced(counters: Counters) {
    assert_eq!(counters.sent, counters.handled + counters.dead + counters.queued, "{counters:?}");
}
