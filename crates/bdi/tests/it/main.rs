//! Tests of the AgentSpeak language as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod actions;
mod backlog;
mod deltas;
mod depth;
mod diagnostics;
mod doors;
mod fuzz;
mod hints;
mod inspection;
mod layouts;
mod many;
mod messages;
mod operators;
mod parse;
mod project;
mod proofs;
mod protocols;
mod quote;
mod round_trip;
mod runaways;
mod snapshots;
mod ways;

use std::sync::{Arc, Mutex};

use whimbrel_bdi::code::Image;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::capabilities::Durable;
use whimbrel_platform::{AgentBody, Next, Time, Turn};

/// Agent that a test inspects between its turns.
#[derive(Clone)]
struct SharedAgent(Arc<Mutex<Agent>>);

impl SharedAgent {
    fn of(image: Arc<Image>) -> Self {
        Self(Arc::new(Mutex::new(Agent::new(AgentConfig::new(image)))))
    }

    fn with<R>(&self, work: impl FnOnce(&mut Agent) -> R) -> R {
        work(&mut self.0.lock().expect("no turn panicked"))
    }

    fn whole(&self, now: Time) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(self.with(|agent| agent.save_whole(now, &mut bytes)));
        bytes
    }

    fn delta(&self, now: Time) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(self.with(|agent| agent.save_delta(now, &mut bytes)));
        bytes
    }
}

impl AgentBody for SharedAgent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        self.with(|agent| agent.turn(turn))
    }
}
