//! Steps of durable agents at their node: whether they are persisted, and their effects after that.

use crate::durable::WithheldEffect;
use crate::node::Node;
use crate::sync::atomic::Ordering;

impl Node {
    /// Returns true if steps of durable agents are persisted: such agents exist, and the platform does not stop.
    pub fn writes_steps(&self) -> bool {
        self.scribe.as_ref().is_some_and(|scribe| !scribe.suspended.load(Ordering::Acquire))
    }

    /// Carries out an effect whose step is persisted.
    pub fn take_effect(&self, effect: WithheldEffect) {
        match effect {
            WithheldEffect::Print(agent, text) => self.print(agent, &text),
            WithheldEffect::PrintBare(agent, text) => self.print_bare(agent, &text),
            WithheldEffect::Log(agent, level, text) => self.log(agent, level, &text),
            WithheldEffect::Stop { delay_ms, code } => self.end_all(delay_ms, code),
            WithheldEffect::Registration => {}
            WithheldEffect::Then(then) => then(),
            WithheldEffect::Create(message) => self.post(0, message),
        }
    }
}
