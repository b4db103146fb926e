//! Readers of the objects of FIPA-Agent-Management from content values: as records, or as maps (which name no type).

use whimbrel_acl::{Aid, Contact, Symbol, Value};

use super::exceptions::RequestRefusal;
use crate::ams::{AgentModification, AgentQuery, AgentState};
use crate::df::{DfDescription, DfQuery, ServiceDescription};
use crate::limits::SEARCH_RESULTS_MAX;

/// Names of parameters in FIPA's drafts of 2000 (XC00023F), which JADE reads as well, and in the standard.
const OLDER_NAMES: [(&str, &str); 3] =
    [("protocol", "protocols"), ("ontology", "ontologies"), ("language", "languages")];

/// Returns true if two words are equal in any case: JADE writes and reads words so.
fn is_same_word(word: Symbol, other: &str) -> bool {
    word.as_str().eq_ignore_ascii_case(other)
}

/// Returns the standard's name for a parameter that has an older name.
fn in_present_words(name: Symbol) -> Symbol {
    match OLDER_NAMES.iter().find(|(older, _)| is_same_word(name, older)) {
        Some((_, present)) => Symbol::new(present),
        None if name.as_str().bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Symbol::new(&name.as_str().to_ascii_lowercase())
        }
        None => name,
    }
}

/// Parameters of an object, by name.
struct NamedParameters<'a> {
    /// Expected type of the object.
    object: &'static str,
    parameters: Vec<(Symbol, &'a Value)>,
}

impl<'a> NamedParameters<'a> {
    /// Reads `value` as an object of type `object` with these parameters only; `X-` parameters are ignored.
    fn read(value: &'a Value, object: &'static str, allowed: &[&str]) -> Result<Self, RequestRefusal> {
        let parameters: Vec<(Symbol, &Value)> = match value {
            Value::Record(record) if is_same_word(record.name, object) => {
                record.fields.iter().map(|(name, value)| (in_present_words(*name), value)).collect()
            }
            Value::Map(pairs) => {
                let present = |name: &Value| Some(in_present_words(Symbol::new(text(name)?.as_ref())));
                pairs.iter().filter_map(|(name, value)| Some((present(name)?, value))).collect()
            }
            Value::Atom(name) if is_same_word(*name, object) => Vec::new(),
            Value::Record(record) => return Err(RequestRefusal::UnexpectedArgument(record.name)),
            _ => return Err(RequestRefusal::MissingArgument(object)),
        };
        let private = |name: Symbol| name.as_str().starts_with("X-") || name.as_str().starts_with("x-");
        let unexpected = |(name, _): &&(Symbol, &Value)| !allowed.contains(&name.as_str()) && !private(*name);
        match parameters.iter().find(unexpected) {
            Some((parameter, _)) => Err(RequestRefusal::UnexpectedParameter { object, parameter: *parameter }),
            None => Ok(Self { object, parameters }),
        }
    }

    fn find(&self, parameter: &str) -> Option<&'a Value> {
        let given = self.parameters.iter().find(|(name, _)| name.as_str() == parameter);
        given.map(|(_, value)| *value).filter(|value| !matches!(value, Value::Null))
    }

    /// Reads an optional parameter; `None` if it is not given.
    fn optional<T>(
        &self,
        parameter: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, RequestRefusal> {
        let unrecognised = RequestRefusal::UnrecognisedParameterValue { object: self.object, parameter };
        self.find(parameter).map(|value| read(value).ok_or(unrecognised)).transpose()
    }

    fn symbol(&self, parameter: &'static str) -> Result<Symbol, RequestRefusal> {
        Ok(self.optional(parameter, symbol)?.unwrap_or_default())
    }

    fn symbols(&self, parameter: &'static str) -> Result<Vec<Symbol>, RequestRefusal> {
        let all = |value: &Value| elements(value).into_iter().map(symbol).collect();
        Ok(self.optional(parameter, all)?.unwrap_or_default())
    }
}

/// Returns the text of a string or an atom.
fn text(value: &Value) -> Option<std::borrow::Cow<'_, str>> {
    match value {
        Value::Str(text) => Some(text.as_str().into()),
        Value::Int(n) => Some(n.to_string().into()),
        other => other.args().is_empty().then(|| other.functor()).flatten().map(|name| name.as_str().into()),
    }
}

fn symbol(value: &Value) -> Option<Symbol> {
    text(value).map(|text| Symbol::new(&text))
}

/// Returns the elements of a set or sequence; any other value stands for a set of itself.
fn elements(value: &Value) -> Vec<&Value> {
    let collection = value.functor().is_some_and(|name| is_same_word(name, "set") || is_same_word(name, "sequence"));
    match value {
        list if list.is_list() => list.items().collect(),
        term if collection => term.args().iter().collect(),
        one => vec![one],
    }
}

/// Reads an agent identifier, from its frame or from the name alone.
//= fipa00023 6.1.1
pub(super) fn agent(value: &Value) -> Option<Aid> {
    if let Some(name) = text(value) {
        return name.parse().ok();
    }
    let frame = NamedParameters::read(value, "agent-identifier", &["name", "addresses", "resolvers"]).ok()?;
    let aid: Aid = text(frame.find("name")?)?.parse().ok()?;
    let addresses = frame.find("addresses").map(elements).unwrap_or_default();
    let resolvers = frame.find("resolvers").map(elements).unwrap_or_default();
    let addresses: Option<_> = addresses.into_iter().map(|address| Some(text(address)?.into_owned())).collect();
    let resolvers: Option<_> = resolvers.into_iter().map(agent).collect();
    Some(aid.with_contact(Contact { addresses: addresses?, resolvers: resolvers?, ..Contact::default() }))
}

/// Reads a DF entry or template. A lease that ends at a moment counts from `wall_ms`, the present one.
//= fipa00023 6.1.2
pub(super) fn df_agent_description(value: &Value, wall_ms: u64) -> Result<DfDescription, RequestRefusal> {
    let allowed = ["name", "services", "protocols", "ontologies", "languages", "lease-time", "scope"];
    let frame = NamedParameters::read(value, "df-agent-description", &allowed)?;
    let services = frame.find("services").map(elements).unwrap_or_default();
    Ok(DfDescription {
        agent: frame.optional("name", agent)?,
        services: services.into_iter().map(service_description).collect::<Result<_, _>>()?,
        protocols: frame.symbols("protocols")?,
        ontologies: frame.symbols("ontologies")?,
        languages: frame.symbols("languages")?,
        lease_ms: frame.optional("lease-time", |value| lease_ms(value, wall_ms))?,
    })
}

//= fipa00023 6.1.3
fn service_description(value: &Value) -> Result<ServiceDescription, RequestRefusal> {
    let allowed = ["name", "type", "protocols", "ontologies", "languages", "ownership", "properties"];
    let frame = NamedParameters::read(value, "service-description", &allowed)?;
    let properties = frame.find("properties").map(elements).unwrap_or_default();
    Ok(ServiceDescription {
        name: frame.symbol("name")?,
        kind: frame.symbol("type")?,
        owner: frame.symbol("ownership")?,
        protocols: frame.symbols("protocols")?,
        ontologies: frame.symbols("ontologies")?,
        languages: frame.symbols("languages")?,
        properties: properties.into_iter().map(property).collect::<Result<_, _>>()?,
    })
}

//= fipa00023 6.1.8
fn property(value: &Value) -> Result<(Symbol, Value), RequestRefusal> {
    let frame = NamedParameters::read(value, "property", &["name", "value"])?;
    let name = frame.optional("name", symbol)?;
    let missing = RequestRefusal::MissingParameter { object: "property", parameter: "name" };
    Ok((name.ok_or(missing)?, frame.find("value").cloned().unwrap_or_default()))
}

/// Reads a lease in milliseconds: `duration(Ms)`, a plain number of milliseconds, or `datetime(Ms)` since 1970-01-01
/// UTC.
//= fipa00023 5.2.1
fn lease_ms(value: &Value, wall_ms: u64) -> Option<u64> {
    let number = |value: &Value| value.as_f64().filter(|ms| *ms >= 0.0).map(|ms| ms as u64);
    match (value.functor().map(Symbol::as_str), value.args()) {
        (Some("duration"), [ms]) => number(ms),
        (Some("datetime"), [ms]) => Some(number(ms)?.saturating_sub(wall_ms)),
        _ => number(value),
    }
}

/// Reads a DF search: a template, and constraints if there is a second argument.
//= fipa00023 6.2.4
pub(super) fn df_query(args: &[Value], wall_ms: u64) -> Result<DfQuery, RequestRefusal> {
    let (template, results_max) = match args {
        [] => return Err(RequestRefusal::MissingArgument("df-agent-description")),
        [template] => (template, SEARCH_RESULTS_MAX),
        [template, constraints] => (template, results_max(constraints)?),
        _ => return Err(RequestRefusal::UnexpectedArgumentCount),
    };
    Ok(DfQuery { template: df_agent_description(template, wall_ms)?, results_max })
}

/// Returns the number of results that search constraints allow. The search's depth is ignored until directories are
/// federated.
//= fipa00023 6.1.4
fn results_max(constraints: &Value) -> Result<usize, RequestRefusal> {
    let frame = NamedParameters::read(
        constraints,
        "search-constraints",
        &["max-depth", "max-results", "search-id", "timeout"],
    )?;
    let wanted = frame.optional("max-results", Value::as_f64)?;
    Ok(wanted.filter(|wanted| *wanted >= 0.0).map_or(SEARCH_RESULTS_MAX, |wanted| wanted as usize))
}

/// Content of an `ams-agent-description`.
//= fipa00023 6.1.5
pub(super) struct AmsDescription {
    pub agent: Option<Aid>,
    pub owner: Option<Symbol>,
    pub state: Option<AgentState>,
}

impl AmsDescription {
    pub fn read(value: &Value) -> Result<Self, RequestRefusal> {
        let frame = NamedParameters::read(value, "ams-agent-description", &["name", "ownership", "state"])?;
        Ok(Self {
            agent: frame.optional("name", agent)?,
            owner: frame.optional("ownership", symbol)?,
            state: frame.optional("state", |value| text(value)?.parse().ok())?,
        })
    }

    /// Returns the agent, which it must name.
    pub fn named(&self) -> Result<Aid, RequestRefusal> {
        self.agent.ok_or(RequestRefusal::MissingParameter { object: "ams-agent-description", parameter: "name" })
    }

    pub fn modification(&self) -> AgentModification {
        let contact = self.agent.map(|agent| agent.contact().clone()).filter(|contact| *contact != Contact::default());
        AgentModification { owner: self.owner, contact, state: self.state }
    }
}

/// Reads an AMS search: a template, and constraints if there is a second argument. `None` if it asks for an agent of
/// another platform than `platform`.
//= fipa00023 6.2.4
pub(super) fn ams_query(args: &[Value], platform: Symbol) -> Result<Option<AgentQuery>, RequestRefusal> {
    let (template, results_max) = match args {
        [] => return Err(RequestRefusal::MissingArgument("ams-agent-description")),
        [template] => (template, SEARCH_RESULTS_MAX),
        [template, constraints] => (template, results_max(constraints)?),
        _ => return Err(RequestRefusal::UnexpectedArgumentCount),
    };
    let AmsDescription { agent, owner, state } = AmsDescription::read(template)?;
    if agent.is_some_and(|agent| agent.platform != Symbol::default() && agent.platform != platform) {
        return Ok(None);
    }
    let name = agent.map(|agent| agent.name.as_str().to_owned()).unwrap_or_default();
    Ok(Some(AgentQuery { name, state, owner, results_max, ..AgentQuery::default() }))
}
