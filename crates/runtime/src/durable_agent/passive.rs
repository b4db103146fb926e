//! Passive body of a durable agent that has left memory.

use std::marker::PhantomData;
use whimbrel_platform::capabilities::Inspectable;

use whimbrel_platform::durable::Origin;
use whimbrel_platform::inspection::{Inspection, Look};
use whimbrel_platform::{AgentBody, Next, Time, Turn};

use super::agent::DurableAgent;
use super::body::DurableBody;

/// State of a passive agent, as recorded.
pub(super) struct PassiveState<A> {
    state: Box<[u8]>,
    agent: PhantomData<fn() -> A>,
}

impl<A: DurableAgent> PassiveState<A> {
    pub fn new(state: Vec<u8>) -> Self {
        Self { state: state.into_boxed_slice(), agent: PhantomData }
    }

    fn read(&self) -> Result<DurableBody<A>, String> {
        DurableBody::read(self.state.to_vec())
    }
}

impl<A: DurableAgent> AgentBody for PassiveState<A> {
    fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
        Next::Activate
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        Ok(Box::new(self.read()?))
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        if let Ok(mut agent) = self.read() {
            agent.stopping(turn);
        }
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin::Type(A::KIND.to_owned()))
    }

    fn duplicate(&self, now: Time) -> Option<Box<dyn AgentBody>> {
        self.read().ok()?.duplicate(now)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl<A: DurableAgent> Inspectable for PassiveState<A> {
    fn inspect(&mut self, look: Look, now: Time) -> Inspection {
        self.read().map(|mut agent| agent.inspect(look, now)).unwrap_or_default()
    }
}
