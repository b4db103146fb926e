//! Hops to other nodes: an intention requests a hop and waits, the turn ends, and the mind gets the outcome, there or
//! here.

use whimbrel_acl::{AclMessage, Aid, Annots, Args, Structure, Symbol, Value, Var, sym};
use whimbrel_platform::mobility::{Hop, HopMode, HopRequest};

use super::Cycle;
use super::Doomed;
use super::failure::error_annots;
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::Bindings;
use crate::mind::{Deferred, IntentionId, IntentionPlace, Mind, Resumption, WaitFor};

/// Actions whose intentions wait for a hop.
const MOVE_TO: &str = ".move_to";
const CLONE_TO: &str = ".clone_to";
const MINION: &str = ".minion";

/// Namespace of the library's plans for journeys.
pub(crate) const JOURNEYS: &str = "whimbrel";

impl Cycle<'_> {
    /// Requests a hop of the agent, or of a clone, at the end of this turn, which is now. The intention waits.
    pub fn hop(&mut self, id: IntentionId, request: HopRequest) {
        let serial = self.mind.next_serial();
        let action = match request.mode {
            HopMode::Clone(_) => CLONE_TO,
            HopMode::Minion(..) => MINION,
            HopMode::Move | HopMode::Recall => MOVE_TO,
        };
        self.put_down(Some(id));
        self.wait_for(id, WaitFor::Action(serial, Value::term(action, [Value::Atom(request.to)])), None, None);
        self.hop = Some(request);
        self.cycles_left = 0;
    }

    /// Monitors a minion of this agent that is asked: if it ends without an answer, no intention waits for it.
    pub fn watch_minion(&self, asked: Aid) {
        if asked.name.as_str().starts_with(&minions_of(self.aid)) {
            self.services.monitor(self.aid, asked);
        }
    }

    /// Handles the AMS's notification that a minion ended which was asked: it stands for a missing answer. Returns
    /// false if the message is about anything else.
    pub(super) fn minion_ended(&mut self, message: &AclMessage) -> bool {
        let content = &message.content;
        let is_end =
            message.sender == Aid::local(sym::AMS) && content.functor().is_some_and(|it| it.as_str() == "ended");
        let [name, reason] = content.args() else { return false };
        let Some(name) = name.as_str().filter(|name| is_end && name.starts_with(&minions_of(self.aid))) else {
            return false;
        };
        // A minion that finished by itself has answered: the answer is on its way.
        if reason.as_str() != Some("finished") {
            self.answered_by_end(Aid::local(Symbol::new(name)), content);
        }
        true
    }

    /// Handles a recall of the agent: its tours fail, whatever their state, and `+recalled` is raised.
    pub(crate) fn called_home(&mut self) {
        let tours: Vec<Value> = (3..=4).map(any_tour).collect();
        for id in self.mind.intentions.ids() {
            let Some(place) = tours.iter().filter_map(|tour| self.find_goal(id, tour)).min() else { continue };
            let why = error_annots("recalled", Value::from("the agent was called home"));
            self.finish_goal(id, place, Doomed::Fails, why);
        }
        let mut recalled = Structure::new(Symbol::new("recalled"), Args::new());
        super::with_own_source(&mut recalled);
        let event = super::step_event_of(TriggerOp::Add, recalled, TriggerKind::Belief);
        if self.has_candidates(&event.trigger()) {
            self.add_event(event);
        }
    }
}

/// Returns the goal of a tour with this many arguments.
fn any_tour(count: u32) -> Value {
    let args = (0..count).map(|slot| Value::Var(Var { slot, name: sym::ANY })).collect();
    Structure::full(Symbol::new(JOURNEYS), false, Symbol::new("tour"), args, Annots::default()).into_value()
}

/// Returns the prefix of the names of an agent's minions.
pub(crate) fn minions_of(agent: Aid) -> String {
    format!("{}_minion_", agent.name)
}

/// Returns a minion's belief about its sender.
fn minion_of(sender: Value) -> Structure {
    let args = std::iter::once(sender).collect();
    Structure::full(Symbol::new(JOURNEYS), false, Symbol::new("minion_of"), args, Annots::default())
}

/// Returns the hop that an intention waits for, if one does.
pub(crate) fn awaited(mind: &Mind) -> Option<HopRequest> {
    mind.intentions.ids().into_iter().find_map(|id| {
        let IntentionPlace::Waiting(wait) = &mind.intentions.find(id)?.place else { return None };
        let WaitFor::Action(_, action) = &wait.until else { return None };
        let Value::Atom(to) = action.args().first()? else { return None };
        let mode = match action.functor()?.as_str() {
            MOVE_TO => HopMode::Move,
            CLONE_TO | MINION => HopMode::Clone(sym::EMPTY),
            _ => return None,
        };
        Some(HopRequest { to: *to, mode })
    })
}

/// Notes the outcome of a hop: intentions that wait for it continue, or fail.
pub(crate) fn hopped(mind: &mut Mind, hop: &Hop) {
    if matches!(hop, Hop::IsClone { .. }) {
        // Its original may have been a minion.
        mind.beliefs.abolish(&minion_of(Value::Var(Var { slot: 0, name: sym::ANY })), &mut Bindings::default());
    }
    let waits = |wait: &WaitFor| match wait {
        WaitFor::Action(_, action) => {
            action.functor().filter(|name| matches!(name.as_str(), MOVE_TO | CLONE_TO | MINION))
        }
        _ => None,
    };
    for id in mind.intentions.ids() {
        let waiting = mind.intentions.find(id).and_then(|intention| match &intention.place {
            IntentionPlace::Waiting(wait) => waits(&wait.until),
            _ => None,
        });
        let Some(action) = waiting else { continue };
        if let (MINION, Hop::IsClone { of, .. }) = (action.as_str(), hop) {
            mind.keep_knowledge();
            let mut belief = minion_of(Value::Atom(*of));
            super::with_own_source(&mut belief);
            mind.beliefs.add(belief, true);
            return;
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
