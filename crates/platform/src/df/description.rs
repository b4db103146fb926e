//! What agents say of themselves to the DF, and what others ask for: the same shape, an entry or a template.

use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};
use whimbrel_acl::{Aid, Symbol, Value, sym};

/// A service of an agent (FIPA00023 6.1.3), or what is asked of one. An empty name, empty list or null value says
/// nothing: as a template, it matches anything.
//= fipa00023 6.1.3
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Encode, Decode)]
#[serde(default)]
pub struct ServiceDescription {
    /// The service's name.
    pub name: Symbol,
    /// Its type.
    pub kind: Symbol,
    /// Who owns it.
    pub owner: Symbol,
    /// Interaction protocols it speaks.
    pub protocols: Vec<Symbol>,
    /// Ontologies it knows.
    pub ontologies: Vec<Symbol>,
    /// Content languages it speaks.
    pub languages: Vec<Symbol>,
    /// What else tells it from others, by name. A null value matches any.
    pub properties: Vec<(Symbol, Value)>,
}

/// An agent's entry (FIPA00023 6.1.2), or what is asked of one.
//= fipa00023 6.1.2
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Encode, Decode)]
#[serde(default)]
pub struct DfDescription {
    /// The agent; `None` in a template for any agent.
    pub agent: Option<Aid>,
    /// Its services.
    pub services: Vec<ServiceDescription>,
    /// Interaction protocols it speaks.
    pub protocols: Vec<Symbol>,
    /// Ontologies it knows.
    pub ontologies: Vec<Symbol>,
    /// Content languages it speaks.
    pub languages: Vec<Symbol>,
    /// How long the entry lasts from its registration or last modification, in milliseconds; `None` for as long as the
    /// agent lives. Of no account in a template.
    pub lease_ms: Option<u64>,
}

impl DfDescription {
    /// Returns the number of an earlier description's services, if this one only adds further services behind them.
    pub(super) fn extends(&self, earlier: &Self) -> Option<usize> {
        let Self { agent, services, protocols, ontologies, languages, lease_ms } = self;
        let same = *agent == earlier.agent
            && *protocols == earlier.protocols
            && *ontologies == earlier.ontologies
            && *languages == earlier.languages
            && *lease_ms == earlier.lease_ms;
        let count = earlier.services.len();
        (same && services.len() > count && services.starts_with(&earlier.services)).then_some(count)
    }
}

impl ServiceDescription {
    /// A service of this name and type; either may be empty.
    pub fn new(name: impl Into<Symbol>, kind: impl Into<Symbol>) -> Self {
        Self { name: name.into(), kind: kind.into(), ..Self::default() }
    }

    /// Whether `service` is all that this template asks for.
    //= fipa00023 6.2.4.1
    pub fn matches(&self, service: &Self) -> bool {
        (self.name == sym::EMPTY || self.name == service.name)
            && (self.kind == sym::EMPTY || self.kind == service.kind)
            && (self.owner == sym::EMPTY || self.owner == service.owner)
            && all_in(&self.protocols, &service.protocols)
            && all_in(&self.ontologies, &service.ontologies)
            && all_in(&self.languages, &service.languages)
            && self.properties.iter().all(|(name, wanted)| {
                let same = |(other, value): &(Symbol, Value)| {
                    other == name && (matches!(wanted, Value::Null) || value == wanted)
                };
                service.properties.iter().any(same)
            })
    }
}

impl DfDescription {
    /// An entry of `agent` without services.
    pub fn of(agent: Aid) -> Self {
        Self { agent: Some(agent), ..Self::default() }
    }

    /// A template for the agents that offer a service; an empty name or type matches any.
    pub fn offering(name: impl Into<Symbol>, kind: impl Into<Symbol>) -> Self {
        Self { services: vec![ServiceDescription::new(name, kind)], ..Self::default() }
    }

    /// The same with one service more.
    #[must_use]
    pub fn with(mut self, service: ServiceDescription) -> Self {
        self.services.push(service);
        self
    }

    /// The same with a lease of so many milliseconds.
    #[must_use]
    pub fn leased(mut self, lease_ms: u64) -> Self {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// Whether `entry` is all that this template asks for: each parameter it gives is in the entry, and of lists and
    /// services each element is (FIPA00023 6.2.4.1).
    //= fipa00023 6.2.4.1
    pub fn matches(&self, entry: &Self) -> bool {
        (self.agent.is_none() || self.agent == entry.agent)
            && all_in(&self.protocols, &entry.protocols)
            && all_in(&self.ontologies, &entry.ontologies)
            && all_in(&self.languages, &entry.languages)
            && self.services.iter().all(|wanted| entry.services.iter().any(|service| wanted.matches(service)))
    }

    /// Whether it says nothing beyond whose it is.
    pub fn is_bare(&self) -> bool {
        self.services.is_empty() && self.protocols.is_empty() && self.ontologies.is_empty() && self.languages.is_empty()
    }
}

fn all_in(wanted: &[Symbol], offered: &[Symbol]) -> bool {
    wanted.iter().all(|name| offered.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translator() -> DfDescription {
        let mut service = ServiceDescription::new("english", "translation");
        service.languages = vec!["fipa-sl".into()];
        service.properties = vec![("price".into(), Value::Int(5)), ("fast".into(), Value::Bool(true))];
        let mut entry = DfDescription::of(Aid::local("bob")).with(service);
        entry.ontologies = vec!["market".into(), "text".into()];
        entry
    }

    #[test]
    fn an_empty_template_matches_all() {
        assert!(DfDescription::default().matches(&translator()));
        assert!(DfDescription::offering("", "").matches(&translator()));
        assert!(!DfDescription::offering("", "").matches(&DfDescription::of(Aid::local("eve"))));
    }

    #[test]
    fn each_parameter_given_must_be_there() {
        let entry = translator();
        let fits = |change: fn(&mut DfDescription)| {
            let mut template = DfDescription::offering("english", "translation");
            change(&mut template);
            template.matches(&entry)
        };
        assert!(fits(|_| ()));
        assert!(fits(|template| template.agent = Some(Aid::local("bob"))));
        assert!(!fits(|template| template.agent = Some(Aid::local("eve"))));
        assert!(fits(|template| template.ontologies = vec!["text".into()]));
        assert!(!fits(|template| template.ontologies = vec!["text".into(), "music".into()]));
        assert!(fits(|template| template.services[0].properties = vec![("price".into(), Value::Num(5.0))]));
        assert!(fits(|template| template.services[0].properties = vec![("price".into(), Value::Null)]));
        assert!(!fits(|template| template.services[0].properties = vec![("price".into(), Value::Int(6))]));
        assert!(!fits(|template| template.services[0].languages = vec!["kif".into()]));
        assert!(!fits(|template| template.services.push(ServiceDescription::new("french", ""))));
    }
}
