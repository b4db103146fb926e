//! Lines that a society prints, until the client has them. A client that is slower than the society misses some.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::protocol;

/// Lines that wait for the client.
const LINES_WAIT_MAX: usize = 1_000;
/// Lines in one event.
const LINES_TOGETHER_MAX: usize = 100;

/// Lines that wait for the client; threads share them.
#[derive(Debug, Default)]
pub struct OutputBacklog {
    waiting: Mutex<WaitingLines>,
}

#[derive(Debug, Default)]
struct WaitingLines {
    /// Lines, each with true for warnings and failures.
    lines: VecDeque<(bool, String)>,
    left_out: u64,
}

impl OutputBacklog {
    /// Adds a line. Returns true if none waited.
    pub fn add(&self, is_fault: bool, line: String) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = waiting.lines.is_empty();
        if waiting.lines.len() >= LINES_WAIT_MAX {
            waiting.lines.pop_front();
            waiting.left_out += 1;
        }
        waiting.lines.push_back((is_fault, line));
        is_first
    }

    /// Adds to the number of lines that the client does not get.
    pub fn leave_out(&self, count: u64) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).left_out += count;
    }

    /// Takes the lines as events, many in one.
    pub fn take(&self) -> Vec<Value> {
        let WaitingLines { lines, left_out } =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let mut events = Vec::new();
        if left_out > 0 {
            let text = format!("{left_out} lines came too fast and are not shown");
            events.push(protocol::output("console", &text));
        }
        let lines: Vec<(bool, String)> = lines.into();
        for alike in lines.chunk_by(|(one, _), (other, _)| one == other) {
            for together in alike.chunks(LINES_TOGETHER_MAX) {
                let is_fault = together.first().is_some_and(|(is_fault, _)| *is_fault);
                let text: Vec<&str> = together.iter().map(|(_, line)| line.as_str()).collect();
                events.push(protocol::output(if is_fault { "stderr" } else { "stdout" }, &text.join("\n")));
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let lines = OutputBacklog::default();
        assert!(lines.add(true, "fault".to_owned()));
        for number in 0..LINES_WAIT_MAX + 4 {
            assert!(!lines.add(false, number.to_string()));
        }
        let events = lines.take();
        assert_eq!(events.len(), 1 + LINES_WAIT_MAX / LINES_TOGETHER_MAX);
        assert_eq!(events[0]["body"]["output"], "5 lines came too fast and are not shown\n");
        assert!(events[1]["body"]["output"].as_str().unwrap().starts_with("4\n5\n"));
        assert!(lines.take().is_empty());
    }
}
