//! The DF against a naive model: a list of entries searched from end to end, and subscriptions derived from it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::Time;
use whimbrel_platform::df::{Df, DfDescription, DfQuery, NoticeForm, ServiceDescription};

#[derive(Clone, Debug)]
enum DfInput {
    Register(DfDescription),
    Modify(DfDescription),
    Deregister(Aid),
    AddService(Aid, &'static str, &'static str),
    RemoveService(Aid, &'static str, &'static str),
    AgentEnded(Aid),
    Pass(u64),
}

fn agent() -> impl Strategy<Value = Aid> {
    prop::sample::select(&["a", "b", "c", "d"][..]).prop_map(Aid::local)
}

/// Returns one of few names, so that templates match often; empty ones too.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["", "x", "y", "z"][..])
}

fn names() -> impl Strategy<Value = Vec<Symbol>> {
    prop::collection::vec(prop::sample::select(&["o1", "o2"][..]).prop_map(Symbol::new), 0..2)
}

prop_compose! {
    fn service()(
        name in name(), kind in name(), ontologies in names(), languages in names(), protocols in names(),
        price in prop::option::of(0..3_i64),
    ) -> ServiceDescription {
        let properties = price.map(|price| (Symbol::new("price"), Value::Int(price))).into_iter().collect();
        ServiceDescription { ontologies, languages, protocols, properties, ..ServiceDescription::new(name, kind) }
    }
}

prop_compose! {
    fn description(agent: impl Strategy<Value = Option<Aid>>)(
        agent in agent, services in prop::collection::vec(service(), 0..3), ontologies in names(), languages in names(),
        protocols in names(), lease_ms in prop::option::of(1..200_u64),
    ) -> DfDescription {
        DfDescription { agent, services, protocols, ontologies, languages, lease_ms }
    }
}

fn inputs() -> impl Strategy<Value = Vec<DfInput>> {
    let entry = || description(agent().prop_map(Some));
    let input = prop_oneof![
        4 => entry().prop_map(DfInput::Register),
        2 => entry().prop_map(DfInput::Modify),
        1 => agent().prop_map(DfInput::Deregister),
        2 => (agent(), name(), name()).prop_map(|(agent, name, kind)| DfInput::AddService(agent, name, kind)),
        1 => (agent(), name(), name()).prop_map(|(agent, name, kind)| DfInput::RemoveService(agent, name, kind)),
        1 => agent().prop_map(DfInput::AgentEnded),
        2 => (0..100_u64).prop_map(DfInput::Pass),
    ];
    prop::collection::vec(input, 0..40)
}

#[derive(Debug, Default)]
struct DfModel {
    now_ms: u64,
    /// Descriptions with their expiry, in order of registration.
    entries: Vec<(DfDescription, Option<u64>)>,
}

impl DfModel {
    fn place(&self, agent: Aid) -> Option<usize> {
        self.entries.iter().position(|(entry, _)| entry.agent == Some(agent))
    }

    fn register(&mut self, description: DfDescription) -> bool {
        let free = self.place(description.agent.unwrap()).is_none();
        if free {
            let expires = description.lease_ms.map(|lease| self.now_ms + lease);
            self.entries.push((description, expires));
        }
        free
    }

    fn modify(&mut self, description: DfDescription) -> bool {
        let Some(place) = self.place(description.agent.unwrap()) else { return false };
        let expires = description.lease_ms.map(|lease| self.now_ms + lease);
        self.entries[place] = (description, expires);
        true
    }

    fn remove(&mut self, agent: Aid) -> bool {
        let place = self.place(agent);
        place.is_some_and(|place| self.entries.remove(place).0.agent.is_some())
    }

    fn add_service(&mut self, agent: Aid, service: ServiceDescription) {
        match self.place(agent).map(|place| self.entries[place].0.clone()) {
            None => drop(self.register(DfDescription::of(agent).with(service))),
            Some(entry) if entry.services.contains(&service) => {}
            Some(entry) => drop(self.modify(entry.with(service))),
        }
    }

    fn remove_service(&mut self, agent: Aid, unwanted: &ServiceDescription) {
        let Some(mut entry) = self.place(agent).map(|place| self.entries[place].0.clone()) else { return };
        let before = entry.services.len();
        entry.services.retain(|service| !unwanted.matches(service));
        if entry.is_bare() {
            self.remove(agent);
        } else if entry.services.len() < before {
            self.modify(entry);
        }
    }

    fn search(&self, template: &DfDescription) -> Vec<DfDescription> {
        self.entries.iter().map(|(entry, _)| entry).filter(|entry| template.matches(entry)).cloned().collect()
    }
}

fn apply(df: &mut Df, model: &mut DfModel, input: DfInput) {
    if let DfInput::Pass(ms) = input {
        model.now_ms += ms;
        model.entries.retain(|(_, expires)| expires.is_none_or(|expires| expires > model.now_ms));
        return df.handle_timeout(Time::from_ms(model.now_ms));
    }
    let now = Time::from_ms(model.now_ms);
    match input {
        DfInput::Register(entry) => assert_eq!(df.register(entry.clone(), now).is_ok(), model.register(entry)),
        DfInput::Modify(entry) => assert_eq!(df.modify(entry.clone(), now).is_ok(), model.modify(entry)),
        DfInput::Deregister(agent) => assert_eq!(df.deregister(agent, now).is_ok(), model.remove(agent)),
        DfInput::AddService(agent, name, kind) => {
            df.add_service(agent, name, kind, now).unwrap();
            model.add_service(agent, ServiceDescription::new(name, kind));
        }
        DfInput::RemoveService(agent, name, kind) => {
            df.remove_service(agent, name, kind, now);
            model.remove_service(agent, &ServiceDescription::new(name, kind));
        }
        DfInput::AgentEnded(agent) => {
            df.handle_agent_ended(agent);
            model.remove(agent);
        }
        DfInput::Pass(_) => {}
    }
}

/// Knowledge of a subscriber from notices alone: the last description told of each agent, as text.
#[derive(Debug, Default)]
struct Subscriber {
    known: BTreeMap<String, String>,
}

impl Subscriber {
    fn hear(&mut self, notice: &AclMessage) {
        let result = notice.content.items().next().unwrap();
        for frame in result.args()[1].args() {
            let Value::Record(record) = frame else { panic!("{frame}") };
            let (name, text) = (record.fields[0].1.to_string(), frame.to_string());
            if record.fields.len() == 1 { drop(self.known.remove(&name)) } else { drop(self.known.insert(name, text)) }
        }
    }
}

proptest! {
    #[test]
    fn search_agrees_with_model(inputs in inputs(), template in description(prop::option::of(agent()))) {
        let (mut df, mut model) = (Df::new("home"), DfModel::default());
        for input in inputs {
            apply(&mut df, &mut model, input);
            let now = Time::from_ms(model.now_ms);
            let found: Vec<_> = df.search(&DfQuery::all(template.clone()), now).into_iter().cloned().collect();
            prop_assert_eq!(found, model.search(&template));
        }
    }

    /// A subscriber that hears every notice, however early or late it subscribed, always knows exactly what a search
    /// would find.
    #[test]
    fn subscriber_knows_search_results(
        inputs in inputs(),
        mut template in description(Just(None)),
        subscribe_at in 0..20_usize,
    ) {
        // An entry without anything but a name cannot be told from a departure: ask for something.
        if template.services.is_empty() {
            template.services.push(ServiceDescription::default());
        }
        let (mut df, mut model, mut amy) = (Df::new("home"), DfModel::default(), Subscriber::default());
        for (step, input) in inputs.into_iter().enumerate() {
            if step == subscribe_at {
                let content = Value::Null;
                let inform = AclMessage::new(Performative::Inform, Aid::local("df"), Aid::local("amy"), content);
                let form = NoticeForm::Fipa { inform: Box::new(inform), action: Value::Null };
                df.subscribe(Aid::local("amy"), template.clone(), form, Time::from_ms(model.now_ms)).unwrap();
            }
            apply(&mut df, &mut model, input);
            while let Some(notice) = df.poll_message() {
                amy.hear(&notice);
            }
            if step >= subscribe_at {
                let found = df.search(&DfQuery::all(template.clone()), Time::from_ms(model.now_ms));
                let found: Vec<String> = found.into_iter().map(|entry| df.frame_of(entry).to_string()).collect();
                let mut known: Vec<String> = amy.known.values().cloned().collect();
                known.sort();
                let mut expected = found;
                expected.sort();
                prop_assert_eq!(known, expected);
            }
        }
    }
}
