//! Throttling of output: what agents print and log reaches the output as fast as their quotas allow.

use whimbrel_acl::Aid;
use whimbrel_platform::Time;
use whimbrel_platform::limits::LINE_BYTES;
use whimbrel_platform::services::LogLevel;

use super::Node;
use crate::throttle::OutputStream;

impl Node {
    /// Prints a line of an agent.
    pub fn print(&self, agent: Aid, text: &str) {
        if self.may_write(OutputStream::Printed, agent, text) {
            self.output.print(agent, text);
        }
    }

    /// Prints a part of a line of an agent.
    pub fn print_bare(&self, agent: Aid, text: &str) {
        if self.may_write(OutputStream::Printed, agent, text) {
            self.output.print_bare(agent, text);
        }
    }

    /// Logs a line of an agent. Levels below [`LogLevel::Notice`] are not throttled: operators do not see them.
    pub fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        if level < LogLevel::Notice || self.may_write(OutputStream::Logged, agent, text) {
            self.output.log(agent, level, text);
        }
    }

    /// Reports how many lines of each family were left out.
    pub fn report_left_out(&self) {
        let now = self.now();
        for stream in [OutputStream::Printed, OutputStream::Logged] {
            for (root, count) in self.throttles.of(stream).take_left_out(now) {
                let lines = if count == 1 { "line" } else { "lines" };
                let text = format!(
                    "... and {count} more {lines} {} by it and its descendants, left out (`{}` in a `[[quota]]` of the policy)",
                    stream.participle(),
                    stream.quota()
                );
                self.output.log(Aid::local(root), LogLevel::Warning, &text);
            }
        }
    }

    fn may_write(&self, stream: OutputStream, agent: Aid, text: &str) -> bool {
        let (bytes, now) = (text.len() as u64 + LINE_BYTES, self.now());
        self.throttles.of(stream).is_free(stream, bytes, now) || self.may_write_much(stream, agent, bytes, now)
    }

    #[cold]
    #[inline(never)]
    fn may_write_much(&self, stream: OutputStream, agent: Aid, bytes: u64, now: Time) -> bool {
        if stream == OutputStream::Printed && !self.guard.policy.limits_printing() {
            return true;
        }
        let root = self.with_ams(|ams| ams.root_of(agent.name));
        let terms = self.guard.policy.output_terms(root, self.called());
        let bytes_per_s = match stream {
            OutputStream::Printed => terms.printed,
            OutputStream::Logged => Some(terms.logged),
        };
        bytes_per_s.is_none_or(|rate| self.throttles.of(stream).admit(stream, root, bytes, rate, now))
    }
}
