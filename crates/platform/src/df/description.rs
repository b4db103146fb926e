//! Descriptions in the DF: entries of agents, and templates of searches, which have the same shape.

use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};
use whimbrel_acl::{Aid, Symbol, Value, sym};

/// Service of an agent (FIPA00023 6.1.3), or template of one. An empty name, empty list or null value says nothing: as
/// a template, it matches anything.
//= fipa00023 6.1.3
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Encode, Decode)]
#[serde(default)]
pub struct ServiceDescription {
    /// Name of the service.
    pub name: Symbol,
    /// Type of the service.
    pub kind: Symbol,
    /// Owner of the service.
    pub owner: Symbol,
    /// Interaction protocols of the service.
    pub protocols: Vec<Symbol>,
    /// Ontologies of the service.
    pub ontologies: Vec<Symbol>,
    /// Content languages of the service.
    pub languages: Vec<Symbol>,
    /// Further properties, by name. A null value matches any.
    pub properties: Vec<(Symbol, Value)>,
}

/// Entry of an agent (FIPA00023 6.1.2), or template of one.
//= fipa00023 6.1.2
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Encode, Decode)]
#[serde(default)]
pub struct DfDescription {
    /// Agent; `None` in a template for any agent.
    pub agent: Option<Aid>,
    /// Services of the agent.
    pub services: Vec<ServiceDescription>,
    /// Interaction protocols of the agent.
    pub protocols: Vec<Symbol>,
    /// Ontologies of the agent.
    pub ontologies: Vec<Symbol>,
    /// Content languages of the agent.
    pub languages: Vec<Symbol>,
    /// Lease in milliseconds, from the entry's registration or last modification; `None` for as long as the agent
    /// lives. Ignored in a template.
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
    /// Returns a service of this name and type; either may be empty.
    pub fn new(name: impl Into<Symbol>, kind: impl Into<Symbol>) -> Self {
        Self { name: name.into(), kind: kind.into(), ..Self::default() }
    }

    /// Returns true if `service` has all that this template asks for.
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
    /// Returns an entry of `agent` without services.
    pub fn of(agent: Aid) -> Self {
        Self { agent: Some(agent), ..Self::default() }
    }

    /// Returns a template for the agents that offer a service; an empty name or type matches any.
    pub fn offering(name: impl Into<Symbol>, kind: impl Into<Symbol>) -> Self {
        Self { services: vec![ServiceDescription::new(name, kind)], ..Self::default() }
    }

    /// Adds a service.
    #[must_use]
    pub fn with(mut self, service: ServiceDescription) -> Self {
        self.services.push(service);
        self
    }

    /// Sets a lease of this many milliseconds.
    #[must_use]
    pub fn leased(mut self, lease_ms: u64) -> Self {
        self.lease_ms = Some(lease_ms);
        self
    }

    /// Returns true if `entry` matches this template: it has each parameter of the template, and each element of the
    /// template's lists and services (FIPA00023 6.2.4.1).
    //= fipa00023 6.2.4.1
    pub fn matches(&self, entry: &Self) -> bool {
        (self.agent.is_none() || self.agent == entry.agent)
            && all_in(&self.protocols, &entry.protocols)
            && all_in(&self.ontologies, &entry.ontologies)
            && all_in(&self.languages, &entry.languages)
            && self.services.iter().all(|wanted| entry.services.iter().any(|service| wanted.matches(service)))
    }

    /// Returns true if the description says nothing beyond the agent's name.
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
    fn empty_template_matches_all() {
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
