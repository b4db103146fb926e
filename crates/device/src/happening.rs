//! What happened in a society that its host may want to know.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::value::RawValue;
use whimbrel_platform::limits::DEVICE_HAPPENINGS_MAX;

/// One thing that happened, as it is told in JSON: `{"printed":{"agent":"bob","text":"hello"}}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Happening {
    /// An agent printed a line; if it is `bare`, text without the end of a line.
    Printed {
        /// Its name.
        agent: String,
        /// What it printed.
        text: String,
        /// Whether the line goes on.
        bare: bool,
    },
    /// Something was noted for whoever operates the society.
    Noted {
        /// The agent it is about.
        agent: String,
        /// `debug`, `info`, `warning` or `severe`.
        level: &'static str,
        /// What.
        text: String,
    },
    /// An agent said something to one that is not here.
    Sent {
        /// Its name.
        agent: String,
        /// The message, in the JSON of `conformance/acl`.
        message: Box<RawValue>,
    },
    /// Somebody said something, whether to one that is here or elsewhere; told while somebody listens ([`Society::listen`](crate::Society::listen)).
    Said {
        /// Who said it.
        from: String,
        /// To whom.
        to: String,
        /// Its performative.
        performative: String,
        /// Its content, as people read it; cut if it is long.
        content: String,
        /// Why nobody got it; `None` if it arrived.
        dead: Option<String>,
    },
    /// An agent registered a service with the DF, or took that back.
    Offered {
        /// Its name.
        agent: String,
        /// The service's name.
        service: String,
        /// Its type; may be empty.
        kind: String,
        /// Whether it is offered now.
        offered: bool,
    },
    /// An agent that is kept had turns: its state may be another one.
    Worked {
        /// Its name.
        agent: String,
        /// How many of the messages that came from outside it has not handled yet.
        waiting: usize,
    },
    /// An agent that is kept wants to go on at another place. It has no turns until it [has left](crate::Society::leave) or [stays](crate::Society::stay).
    Leaving {
        /// Its name.
        agent: String,
        /// Where it wants to be.
        to: String,
    },
    /// An agent was created, by another one or by the host.
    Created {
        /// Its name.
        agent: String,
    },
    /// An agent ended.
    Ended {
        /// Its name.
        agent: String,
        /// Why: `finished`, `killed`, `failed: ...`.
        reason: String,
    },
    /// An agent stopped the whole society.
    Stopped {
        /// The exit code that it gave.
        code: i32,
    },
}

impl Happening {
    /// Whether it only tells: a message on its way, or that an agent is there or not, must not be forgotten.
    fn is_report(&self) -> bool {
        matches!(self, Self::Printed { .. } | Self::Noted { .. } | Self::Said { .. })
    }
}

/// What a [`Society`](crate::Society) was not asked for yet. A host that does not ask loses reports, not its memory: nobody has a turn while so much
/// waits that must not be forgotten.
#[derive(Debug, Default)]
pub(crate) struct Happenings {
    queue: VecDeque<Happening>,
    /// How many of them are reports.
    reports: usize,
    lost: u64,
}

impl Happenings {
    pub fn add(&mut self, happening: Happening) {
        if happening.is_report() {
            if self.reports >= DEVICE_HAPPENINGS_MAX {
                self.lost += 1;
                match self.queue.front() {
                    Some(oldest) if oldest.is_report() => drop(self.take()),
                    _ => return,
                }
            }
            self.reports += 1;
        }
        self.queue.push_back(happening);
    }

    pub fn take(&mut self) -> Option<Happening> {
        let oldest = self.queue.pop_front();
        self.reports -= usize::from(oldest.as_ref().is_some_and(Happening::is_report));
        oldest
    }

    /// Whether so much waits that agents have to.
    pub fn is_full(&self) -> bool {
        self.queue.len() - self.reports >= DEVICE_HAPPENINGS_MAX
    }

    /// How many were never asked for.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
