//! Weighing: a shard's answer to the question how much of an agent would move to another node.

use whimbrel_platform::route::Place;

use super::Shard;
use crate::advice::WeighRequest;

impl Shard {
    /// Sends an agent's origin and state to the asker, if the agent is here and not in a turn.
    pub(crate) fn weigh(&mut self, weighing: &WeighRequest) {
        let Place::Local(place) = self.node.routes.look_up(weighing.agent).place() else { return };
        let index = place.slot.filter(|_| place.shard == self.index);
        let _ = weighing.answer.send(index.and_then(|index| self.luggage_of(index)));
    }
}
