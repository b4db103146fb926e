//! Events in a society that its host may want to know.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::value::RawValue;
use whimbrel_platform::limits::DEVICE_HAPPENINGS_MAX;

/// Event in a society, as JSON: `{"printed":{"agent":"bob","text":"hello"}}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SocietyEvent {
    /// An agent printed a line; if it is `bare`, text without the end of a line.
    Printed {
        /// Name of the agent.
        agent: String,
        /// Text that was printed.
        text: String,
        /// True if the line is not ended.
        bare: bool,
    },
    /// An agent or the society logged a line for the operator.
    Noted {
        /// Agent that the line is about.
        agent: String,
        /// `debug`, `info`, `warning` or `severe`.
        level: &'static str,
        /// Text of the line.
        text: String,
    },
    /// An agent sent a message to an agent elsewhere.
    Sent {
        /// Name of the agent.
        agent: String,
        /// The message, in the JSON of `conformance/acl`.
        message: Box<RawValue>,
    },
    /// A message was sent or arrived. Reported only while the host listens
    /// ([`DeviceSociety::listen`](crate::DeviceSociety::listen)).
    Said {
        /// Sender.
        from: String,
        /// Receiver.
        to: String,
        /// Performative.
        performative: String,
        /// Content as text, truncated if it is long.
        content: String,
        /// Reason for which the message was not delivered; `None` if it was.
        dead: Option<String>,
    },
    /// An agent registered a service with the DF, or deregistered it.
    Offered {
        /// Name of the agent.
        agent: String,
        /// Name of the service.
        service: String,
        /// Type of the service; may be empty.
        kind: String,
        /// True if the service is registered now.
        offered: bool,
    },
    /// A kept agent had turns, so its state may have changed.
    Worked {
        /// Name of the agent.
        agent: String,
        /// Number of messages from outside that the agent has not handled yet.
        waiting: usize,
    },
    /// A kept agent wants to move. It has no turns until it [has left](crate::DeviceSociety::leave) or
    /// [stays](crate::DeviceSociety::stay).
    Leaving {
        /// Name of the agent.
        agent: String,
        /// Destination.
        to: String,
    },
    /// An agent was created, by another agent or by the host.
    Created {
        /// Name of the agent.
        agent: String,
    },
    /// An agent ended.
    Ended {
        /// Name of the agent.
        agent: String,
        /// Reason: `finished`, `killed`, `failed: ...`.
        reason: String,
    },
    /// An agent stopped the whole society.
    Stopped {
        /// Exit code from the agent.
        code: i32,
    },
}

impl SocietyEvent {
    /// Returns true for a report, which may be lost. Messages on their way, and the creation and end of agents, must
    /// not.
    fn is_report(&self) -> bool {
        matches!(self, Self::Printed { .. } | Self::Noted { .. } | Self::Said { .. })
    }
}

/// Queue of a society's events for its host. A host that does not poll loses reports, but its memory stays bounded:
/// agents have no turns while too many events wait that must not be lost.
#[derive(Debug, Default)]
pub(crate) struct SocietyEvents {
    queue: VecDeque<SocietyEvent>,
    /// Number of reports in the queue.
    reports: usize,
    lost: u64,
}

impl SocietyEvents {
    pub fn add(&mut self, event: SocietyEvent) {
        if event.is_report() {
            if self.reports >= DEVICE_HAPPENINGS_MAX {
                self.lost += 1;
                match self.queue.front() {
                    Some(oldest) if oldest.is_report() => drop(self.take()),
                    _ => return,
                }
            }
            self.reports += 1;
        }
        self.queue.push_back(event);
    }

    pub fn take(&mut self) -> Option<SocietyEvent> {
        let oldest = self.queue.pop_front();
        self.reports -= usize::from(oldest.as_ref().is_some_and(SocietyEvent::is_report));
        oldest
    }

    /// Returns true if so many events wait that agents must wait, too.
    pub fn is_full(&self) -> bool {
        self.queue.len() - self.reports >= DEVICE_HAPPENINGS_MAX
    }

    /// Returns the number of reports that were lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
