//! Passive body of an agent that has left memory.

use std::sync::Arc;
use whimbrel_platform::capabilities::Inspectable;

use whimbrel_platform::durable::Origin;
use whimbrel_platform::inspection::{Inspection, Instructed, Instruction, Look, Workload};
use whimbrel_platform::{AgentBody, Next, Time, Turn};

use super::Agent;
use super::body::origin;
use crate::code::Image;

/// Encoded mind of a passive agent; the program is shared.
pub(super) struct Passive {
    image: Arc<Image>,
    mind: Box<[u8]>,
    /// Time of the encoding: times in the mind are by the same clock.
    at: Time,
}

impl Passive {
    pub fn of(agent: &Agent, now: Time) -> Option<Self> {
        let mind = agent.snapshot(now)?.into_boxed_slice();
        Some(Self { image: agent.image()?, mind, at: now })
    }

    fn read(&self) -> Result<Agent, String> {
        Agent::restore(&self.mind, Arc::clone(&self.image), self.at).map_err(|error| error.to_string())
    }
}

impl AgentBody for Passive {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Activate
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        Ok(Box::new(self.read()?))
    }

    fn origin(&self) -> Option<Origin> {
        Some(origin(&self.image))
    }

    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        Some(Box::new(self.read().ok()?))
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Inspectable for Passive {
    fn inspect(&mut self, look: Look, now: Time) -> Inspection {
        // The mind is only read: inspection wakes no agent.
        let mut seen = self.read().map(|mut agent| agent.inspect(look, now)).unwrap_or_default();
        seen.cycle = None;
        seen
    }

    fn workload(&self) -> Workload {
        Workload { program: Some(self.image.name.clone()), ..Workload::default() }
    }

    fn instruct(&mut self, _instruction: &Instruction, _now: Time) -> Instructed {
        Instructed::Later
    }
}
