//! Entries of the directory facilitator that an operator writes by hand, in the place of the agents whose they are.

use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_operator::{EntryWanted, Reason, Refusal, ServiceInfo};
use whimbrel_platform::df::{Df, DfDescription, ModifyError, RegisterError, ServiceDescription};

use super::operator_service::OperatorService;
use super::services::plain;

/// Registers an agent of this node.
pub(super) fn register(service: &OperatorService, entry: &EntryWanted) -> Result<(), Refusal> {
    let agent = here(service, &entry.agent)?;
    let registered = service.platform().with_df(agent, |df, now| df.register(description(df, agent, entry), now));
    registered.map_err(|error| refusal(&error))
}

/// Puts a description in the place of what the entry of an agent of this node says.
pub(super) fn modify(service: &OperatorService, entry: &EntryWanted) -> Result<(), Refusal> {
    let agent = here(service, &entry.agent)?;
    let modified = service.platform().with_df(agent, |df, now| df.modify(description(df, agent, entry), now));
    modified.map_err(|error| match error {
        ModifyError::Description(error) => refusal(&error),
        error => Refusal::new(Reason::BadState, error.to_string()),
    })
}

/// Takes the entry of an agent of this node out.
pub(super) fn deregister(service: &OperatorService, agent: &str) -> Result<(), Refusal> {
    let agent = here(service, agent)?;
    let removed = service.platform().with_df(agent, |df, now| df.deregister(agent, now));
    removed.map_err(|error| Refusal::new(Reason::BadState, error.to_string()))
}

fn here(service: &OperatorService, agent: &str) -> Result<Aid, Refusal> {
    service.is_here(agent)?;
    service.known(agent)
}

fn refusal(error: &RegisterError) -> Refusal {
    let reason =
        if matches!(error, RegisterError::AlreadyRegistered(_)) { Reason::BadState } else { Reason::BadRequest };
    Refusal::new(reason, error.to_string())
}

fn description(df: &Df, agent: Aid, entry: &EntryWanted) -> DfDescription {
    let known = df.description_of(agent).map_or(&[][..], |old| &old.services);
    DfDescription {
        agent: Some(agent),
        services: entry.services.iter().map(|service| service_description(service, known)).collect(),
        protocols: symbols(&entry.protocols),
        ontologies: symbols(&entry.ontologies),
        languages: symbols(&entry.languages),
        lease_ms: entry.lease_ms,
    }
}

fn service_description(service: &ServiceInfo, known: &[ServiceDescription]) -> ServiceDescription {
    let properties = service.properties.iter();
    ServiceDescription {
        name: Symbol::new(&service.name),
        kind: Symbol::new(&service.kind),
        owner: service.owner.as_deref().unwrap_or_default().into(),
        protocols: symbols(&service.protocols),
        ontologies: symbols(&service.ontologies),
        languages: symbols(&service.languages),
        properties: properties.map(|(name, text)| (Symbol::new(name), value(name, text, known))).collect(),
    }
}

fn symbols(names: &[String]) -> Vec<Symbol> {
    names.iter().map(|name| Symbol::new(name)).collect()
}

/// Reads a value of an entry. Text that stands for a value of the agent's present entry is that value; any other text
/// is a number, an atom or a text.
fn value(name: &str, text: &str, known: &[ServiceDescription]) -> Value {
    let mut before = known.iter().flat_map(|service| &service.properties);
    if let Some((_, value)) = before.find(|(known, value)| known.as_str() == name && plain(value) == text) {
        return value.clone();
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::from(number);
    }
    let is_atom = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|other| other.is_ascii_alphanumeric() || other == '_');
    if is_atom { Value::atom(text) } else { Value::from(text) }
}
