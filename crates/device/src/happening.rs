//! What happened in a society that its host may want to know.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::value::RawValue;

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

/// What a [`Society`](crate::Society) was not asked for yet. A host that never asks loses the oldest, not its memory.
#[derive(Debug, Default)]
pub(crate) struct Happenings {
    queue: VecDeque<Happening>,
    lost: u64,
}

impl Happenings {
    pub fn add(&mut self, happening: Happening) {
        if self.queue.len() >= whimbrel_platform::limits::DEVICE_HAPPENINGS_MAX {
            self.queue.pop_front();
            self.lost += 1;
        }
        self.queue.push_back(happening);
    }

    pub fn take(&mut self) -> Option<Happening> {
        self.queue.pop_front()
    }

    /// How many were never asked for.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
