//! Going to other nodes: an intention asks for it and waits, the turn ends, and whatever becomes of it is told to the mind,
//! there or here.

use whimbrel_acl::Value;
use whimbrel_platform::mobility::{Hop, HopMode, HopRequest};

use super::Cycle;
use super::failure::error_annots;
use crate::mind::{Deferred, IntentionId, Mind, Place, Resumption, WaitFor};

/// The actions whose intentions wait for that.
const MOVE_TO: &str = ".move_to";
const CLONE_TO: &str = ".clone_to";

impl Cycle<'_> {
    /// Has the agent, or a clone of it, go to another node as soon as this turn ends, which is now. The intention waits.
    pub fn hop(&mut self, id: IntentionId, request: HopRequest) {
        let serial = self.mind.next_serial();
        let action = if request.mode == HopMode::Move { MOVE_TO } else { CLONE_TO };
        self.put_down(Some(id));
        self.wait_for(id, WaitFor::Action(serial, Value::term(action, [Value::Atom(request.to)])), None, None);
        self.hop = Some(request);
        self.cycles_left = 0;
    }
}

/// It is known what became of a hop: the intentions that wait for that go on, or fail.
pub(super) fn hopped(mind: &mut Mind, hop: &Hop) {
    let waits = |wait: &WaitFor| {
        matches!(wait, WaitFor::Action(_, action)
            if action.functor().is_some_and(|name| matches!(name.as_str(), MOVE_TO | CLONE_TO)))
    };
    for id in mind.intentions.ids() {
        let is_waiting = mind
            .intentions
            .find(id)
            .is_some_and(|intention| matches!(&intention.place, Place::Waiting(wait) if waits(&wait.until)));
        if !is_waiting {
            continue;
        }
        mind.cancel_wait(id);
        let how = match hop {
            Hop::Stayed { why, .. } => {
                Resumption::Failed(error_annots(why.code(), Value::from(why.to_string())), why.code().to_owned())
            }
            _ => Resumption::Done,
        };
        mind.deferred.push_back(Deferred::Resume(id, how));
    }
}
