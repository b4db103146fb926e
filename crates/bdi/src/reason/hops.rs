//! Going to other nodes: an intention asks for it and waits, the turn ends, and whatever becomes of it is told to the mind,
//! there or here.

use whimbrel_acl::{AclMessage, Aid, Annots, Args, Structure, Symbol, Value, Var, sym};
use whimbrel_platform::mobility::{Hop, HopMode, HopRequest};

use super::Cycle;
use super::Doomed;
use super::failure::error_annots;
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::Bindings;
use crate::mind::{Deferred, IntentionId, Mind, Place, Resumption, WaitFor};

/// The actions whose intentions wait for that.
const MOVE_TO: &str = ".move_to";
const CLONE_TO: &str = ".clone_to";
const MINION: &str = ".minion";

/// The namespace of the library's plans for journeys.
pub(crate) const JOURNEYS: &str = "whimbrel";

impl Cycle<'_> {
    /// Has the agent, or a clone of it, go to another node as soon as this turn ends, which is now. The intention waits.
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

    /// Asked is a minion of this agent: should it end before it answers, nobody waits for it.
    pub fn watch_minion(&self, asked: Aid) {
        if asked.name.as_str().starts_with(&minions_of(self.aid)) {
            self.services.monitor(self.aid, asked);
        }
    }

    /// The AMS tells of the end of each minion that is asked something: that is the answer, if there is none yet. False if it is about
    /// something else.
    pub(super) fn minion_ended(&mut self, message: &AclMessage) -> bool {
        let content = &message.content;
        let is_end =
            message.sender == Aid::local(sym::AMS) && content.functor().is_some_and(|it| it.as_str() == "ended");
        let [name, reason] = content.args() else { return false };
        let Some(name) = name.as_str().filter(|name| is_end && name.starts_with(&minions_of(self.aid))) else {
            return false;
        };
        // Who ended of himself has answered: that is on its way.
        if reason.as_str() != Some("finished") {
            self.answered_by_end(Aid::local(Symbol::new(name)), content);
        }
        true
    }

    /// Somebody called the agent home: its tours fail, whatever they are at, and `+recalled` happens.
    pub(super) fn called_home(&mut self) {
        let tours: Vec<Value> = (3..=4).map(any_tour).collect();
        for id in self.mind.intentions.ids() {
            let Some(place) = tours.iter().filter_map(|tour| self.find_goal(id, tour)).min() else { continue };
            let why = error_annots("recalled", Value::from("the agent was called home"));
            self.finish_goal(id, place, Doomed::Fails, why);
        }
        let mut recalled = Structure::new(Symbol::new("recalled"), Args::new());
        super::own_source(&mut recalled);
        let event = super::step_event_of(TriggerOp::Add, recalled, TriggerKind::Belief);
        if self.has_candidates(&event.trigger()) {
            self.add_event(event);
        }
    }
}

/// The goal of a tour, of so many arguments.
fn any_tour(count: u32) -> Value {
    let args = (0..count).map(|slot| Value::Var(Var { slot, name: sym::ANY })).collect();
    Structure::full(Symbol::new(JOURNEYS), false, Symbol::new("tour"), args, Annots::default()).into_value()
}

/// How the names of an agent's minions begin.
pub(crate) fn minions_of(agent: Aid) -> String {
    format!("{}_minion_", agent.name)
}

/// What a minion believes of itself: who sent it.
fn minion_of(sender: Value) -> Structure {
    let args = std::iter::once(sender).collect();
    Structure::full(Symbol::new(JOURNEYS), false, Symbol::new("minion_of"), args, Annots::default())
}

/// The hop that an intention waits for, if one does.
pub(super) fn awaited(mind: &Mind) -> Option<HopRequest> {
    mind.intentions.ids().into_iter().find_map(|id| {
        let Place::Waiting(wait) = &mind.intentions.find(id)?.place else { return None };
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

/// It is known what became of a hop: the intentions that wait for that go on, or fail.
pub(super) fn hopped(mind: &mut Mind, hop: &Hop) {
    if matches!(hop, Hop::IsClone { .. }) {
        // Whoever it is a clone of may have been a minion.
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
            Place::Waiting(wait) => waits(&wait.until),
            _ => None,
        });
        let Some(action) = waiting else { continue };
        if let (MINION, Hop::IsClone { of, .. }) = (action.as_str(), hop) {
            mind.keep_knowledge();
            let mut belief = minion_of(Value::Atom(*of));
            super::own_source(&mut belief);
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
