//! The AMS against a naive model: any sequence of inputs gives the same answers, states and commands.

use std::collections::VecDeque;

use proptest::prelude::*;
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::{
    AgentKind, AgentModification, AgentQuery, AgentState, Ams, AmsCommand, LifecycleStep, NewAgent,
};
use whimbrel_platform::{EndReason, Time};

#[derive(Clone, Debug)]
enum AmsInput {
    Create { name: &'static str, unique: bool, started: bool },
    Step(&'static str, LifecycleStep),
    SetState(&'static str, AgentState),
    Kill(&'static str),
    Ended(&'static str),
    Clone(&'static str, &'static str),
}

const NAMES: [&str; 6] = ["a", "b", "b_1", "c", "c_1", "c_2"];

fn inputs() -> impl Strategy<Value = Vec<AmsInput>> {
    let name = || prop::sample::select(&NAMES[..]);
    let input = prop_oneof![
        3 => (name(), any::<bool>(), any::<bool>())
            .prop_map(|(name, unique, started)| AmsInput::Create { name, unique, started }),
        6 => (name(), prop::sample::select(&LifecycleStep::ALL[..]))
            .prop_map(|(name, step)| AmsInput::Step(name, step)),
        2 => (name(), prop::sample::select(&AgentState::ALL[..])).prop_map(|(name, to)| AmsInput::SetState(name, to)),
        1 => name().prop_map(AmsInput::Kill),
        1 => name().prop_map(AmsInput::Ended),
        1 => (name(), name()).prop_map(|(original, copy)| AmsInput::Clone(original, copy)),
    ];
    prop::collection::vec(input, 0..80)
}

#[derive(Clone, Debug)]
struct ModelAgent {
    name: String,
    state: AgentState,
    ending: bool,
}

/// Model of the AMS, as simple as possible: agents in a list, in order of creation.
#[derive(Debug, Default)]
struct AmsModel {
    agents: Vec<ModelAgent>,
    commands: VecDeque<AmsCommand>,
}

impl AmsModel {
    fn find(&mut self, name: &str) -> Option<&mut ModelAgent> {
        self.agents.iter_mut().find(|agent| agent.name == name)
    }

    fn create(&mut self, name: &str, unique: bool, state: AgentState) -> Option<String> {
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        let name = candidates.find(|name| !unique || self.find(name).is_none())?;
        if self.find(&name).is_some() {
            return None;
        }
        self.agents.push(ModelAgent { name: name.clone(), state, ending: false });
        Some(name)
    }

    fn step(&mut self, name: &str, from: AgentState, to: AgentState) -> bool {
        let Some(agent) = self.find(name).filter(|agent| !agent.ending && agent.state == from) else { return false };
        agent.state = to;
        let aid = Aid::local(name);
        self.commands.push_back(if to == AgentState::Active { AmsCommand::Run(aid) } else { AmsCommand::Hold(aid) });
        true
    }

    fn set_state(&mut self, name: &str, to: AgentState) -> bool {
        let Some(agent) = self.find(name).filter(|agent| !agent.ending) else { return false };
        let from = agent.state;
        // Only active is next to all other states, and nothing leads back to initiated.
        let allowed = from == to
            || (from == AgentState::Active && to != AgentState::Initiated)
            || (from != AgentState::Active && to == AgentState::Active);
        allowed && (from == to || self.step(name, from, to))
    }

    fn kill(&mut self, name: &str) -> bool {
        let Some(agent) = self.find(name) else { return false };
        if !std::mem::replace(&mut agent.ending, true) {
            self.commands.push_back(AmsCommand::End(Aid::local(name)));
        }
        true
    }

    fn clone_agent(&mut self, original: &str, copy: &str) -> bool {
        let alive = |agent: &&mut ModelAgent| {
            !agent.ending && !matches!(agent.state, AgentState::Initiated | AgentState::Transit)
        };
        if self.find(original).filter(alive).is_none() || self.create(copy, false, AgentState::Initiated).is_none() {
            return false;
        }
        self.commands.push_back(AmsCommand::Copy { original: Aid::local(original), copy: Aid::local(copy) });
        true
    }
}

fn apply(ams: &mut Ams, model: &mut AmsModel, input: AmsInput) {
    match input {
        AmsInput::Create { name, unique, started } => {
            let state = if started { AgentState::Active } else { AgentState::Initiated };
            let new = NewAgent { unique, started, ..NewAgent::new(name, AgentKind::Native) };
            let made = ams.create(new, Time::ZERO).ok().map(|aid| aid.to_string());
            assert_eq!(made, model.create(name, unique, state));
        }
        AmsInput::Step(name, step) => {
            let (from, to) = step.ends();
            assert_eq!(ams.step(Aid::local(name), step).is_ok(), model.step(name, from, to));
        }
        AmsInput::SetState(name, to) => {
            let change = AgentModification { state: Some(to), ..AgentModification::default() };
            assert_eq!(ams.modify(Aid::new(name, "home"), change).is_ok(), model.set_state(name, to));
        }
        AmsInput::Kill(name) => assert_eq!(ams.kill(Aid::local(name)).is_ok(), model.kill(name)),
        AmsInput::Ended(name) => {
            let before = model.agents.len();
            model.agents.retain(|agent| agent.name != name);
            assert_eq!(ams.handle_ended(Aid::local(name), EndReason::Finished), model.agents.len() < before);
        }
        AmsInput::Clone(original, copy) => {
            let cloned = ams.clone_agent(Aid::local(original), Symbol::new(copy), Time::ZERO).is_ok();
            assert_eq!(cloned, model.clone_agent(original, copy));
        }
    }
}

proptest! {
    #[test]
    fn ams_agrees_with_model(inputs in inputs()) {
        let (mut ams, mut model) = (Ams::new("home"), AmsModel::default());
        for input in inputs {
            apply(&mut ams, &mut model, input);
            let commands: Vec<_> = std::iter::from_fn(|| ams.poll_command()).collect();
            prop_assert_eq!(commands, model.commands.drain(..).collect::<Vec<_>>());
            let found: Vec<_> = ams.search(&AgentQuery::default());
            let found: Vec<_> =
                found.iter().map(|agent| (agent.aid.name.as_str(), agent.state, agent.ending)).collect();
            let expected: Vec<_> =
                model.agents.iter().map(|agent| (agent.name.as_str(), agent.state, agent.ending)).collect();
            prop_assert_eq!(found, expected);
            let restored = Ams::restore(ams.snapshot());
            prop_assert_eq!(restored.snapshot(), ams.snapshot());
        }
    }
}
