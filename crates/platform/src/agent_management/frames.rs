//! Objects of FIPA-Agent-Management (FIPA00023 6.1) as content values: records named by their frame.

use whimbrel_acl::{Aid, Symbol, Value, sym};

use crate::PlatformHome;
use crate::ams::AgentDescription;
use crate::df::{DfDescription, ServiceDescription};

/// Name of FIPA's message transport over HTTP.
//= fipa00084 3
pub const HTTP_TRANSPORT: &str = "fipa.mts.mtp.http.std";

/// Returns an agent identifier; `home` completes a local agent.
//= fipa00023 6.1.1
pub fn agent_identifier(agent: Aid, home: PlatformHome) -> Value {
    let full = home.identify(agent);
    let contact = full.contact();
    let addresses = contact.addresses.iter().map(|address| Value::from(address.as_str()));
    let resolvers = contact.resolvers.iter().map(|resolver| agent_identifier(*resolver, home));
    let fields = [
        ("name", Some(Value::from(full.to_string()))),
        ("addresses", sequence_unless_empty(addresses)),
        ("resolvers", sequence_unless_empty(resolvers)),
    ];
    record("agent-identifier", fields)
}

/// Returns a DF entry or template; `lease_ends_ms` in milliseconds since 1970-01-01 UTC, if known.
//= fipa00023 6.1.2
pub fn df_agent_description(description: &DfDescription, lease_ends_ms: Option<u64>, home: PlatformHome) -> Value {
    let lease_time = lease_ends_ms.map(|ms| Value::term("datetime", [integer(ms)]));
    let fields = [
        ("name", description.agent.map(|agent| agent_identifier(agent, home))),
        ("services", set_unless_empty(description.services.iter().map(service_description))),
        ("protocols", names(&description.protocols)),
        ("ontologies", names(&description.ontologies)),
        ("languages", names(&description.languages)),
        ("lease-time", lease_time.or_else(|| description.lease_ms.map(|ms| Value::term("duration", [integer(ms)])))),
    ];
    record("df-agent-description", fields)
}

/// Returns a service of a DF entry or template.
//= fipa00023 6.1.3
pub fn service_description(service: &ServiceDescription) -> Value {
    let property = |(name, value): &(Symbol, Value)| {
        record("property", [("name", Some(Value::atom(*name))), ("value", Some(value.clone()))])
    };
    let fields = [
        ("name", name_unless_empty(service.name)),
        ("type", name_unless_empty(service.kind)),
        ("protocols", names(&service.protocols)),
        ("ontologies", names(&service.ontologies)),
        ("languages", names(&service.languages)),
        ("ownership", name_unless_empty(service.owner)),
        ("properties", set_unless_empty(service.properties.iter().map(property))),
    ];
    record("service-description", fields)
}

/// Returns an AMS entry.
//= fipa00023 6.1.5
pub fn ams_agent_description(description: &AgentDescription, home: PlatformHome) -> Value {
    let fields = [
        ("name", Some(agent_identifier(description.aid, home))),
        ("ownership", name_unless_empty(description.owner)),
        ("state", Some(Value::atom(description.state.as_str()))),
    ];
    record("ams-agent-description", fields)
}

/// Returns the AMS entry of an agent of another node; only that node knows more.
//= fipa00023 6.1.5
pub fn ams_agent_named(agent: Aid, home: PlatformHome) -> Value {
    record("ams-agent-description", [("name", Some(agent_identifier(agent, home)))])
}

/// Returns the description of the platform.
//= fipa00023 6.1.6
pub fn ap_description(home: PlatformHome) -> Value {
    let addresses = sequence_unless_empty(home.addresses().iter().map(|address| Value::from(address.as_str())));
    let name = || Some(Value::atom(HTTP_TRANSPORT));
    let service =
        addresses.map(|it| record("ap-service", [("name", name()), ("type", name()), ("addresses", Some(it))]));
    let fields = [("name", Some(Value::atom(home.platform()))), ("ap-services", set_unless_empty(service.into_iter()))];
    record("ap-description", fields)
}

/// Returns a set, as the term `set(...)`; the atom `set` if it is empty.
pub fn set(items: Vec<Value>) -> Value {
    Value::term("set", items)
}

fn record<const N: usize>(name: &str, fields: [(&str, Option<Value>); N]) -> Value {
    Value::record(name, fields.into_iter().filter_map(|(name, value)| Some((Symbol::new(name), value?))))
}

fn integer(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn name_unless_empty(name: Symbol) -> Option<Value> {
    (name != sym::EMPTY).then(|| Value::atom(name))
}

fn names(names: &[Symbol]) -> Option<Value> {
    set_unless_empty(names.iter().copied().map(Value::atom))
}

fn set_unless_empty(items: impl Iterator<Item = Value>) -> Option<Value> {
    let items: Vec<Value> = items.collect();
    (!items.is_empty()).then(|| set(items))
}

fn sequence_unless_empty(items: impl Iterator<Item = Value>) -> Option<Value> {
    let items: Vec<Value> = items.collect();
    (!items.is_empty()).then(|| Value::list(items))
}
