//! Services of agents, as the directory facilitator of a node knows them.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Name, Symbol, Value};
use whimbrel_operator::{EntryInfo, ServiceInfo, ServicesWanted, SubscriptionInfo, SubscriptionsFound};
use whimbrel_platform::Time;
use whimbrel_platform::ams::name_fits;
use whimbrel_platform::df::{DfDescription, DfQuery, NoticeForm, ServiceDescription, Subscription};
use whimbrel_platform::route::NodeId;

use super::operator_service::OperatorService;

impl OperatorService {
    /// Returns the entries that fit, in order of registration.
    pub(super) fn services(&self, wanted: &ServicesWanted) -> Vec<EntryInfo> {
        let now = self.now();
        let names = self.node_names();
        let Some(directory) = self.directory() else { return Vec::new() };
        let elsewhere = directory.with_ams(|ams| ams.agents_elsewhere()).unwrap_or_default();
        let elsewhere: FxHashMap<Name, NodeId> = elsewhere.into_iter().map(|(name, node, _)| (name, node)).collect();
        let entry = |description: &DfDescription, expires: Option<Time>| {
            let agent = description.agent?;
            let node = elsewhere.get(&agent.name.into()).map(|node| names.get(node).cloned().unwrap_or_default());
            let is_asked_for = match (&node, &wanted.elsewhere_but) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(node), Some(but)) => !but.contains(node),
            };
            let agent_fits = wanted.agent.as_ref().is_none_or(|pattern| name_fits(pattern, agent.name.as_str()));
            let services = fitting_services(wanted, description)?;
            (is_asked_for && agent_fits).then(|| EntryInfo {
                agent: agent.name.as_str().to_owned(),
                node: node.unwrap_or_else(|| self.node().to_owned()),
                services,
                protocols: texts(&description.protocols),
                ontologies: texts(&description.ontologies),
                languages: texts(&description.languages),
                lease_left_ms: expires.map(|expires| (expires - now).as_millis() as u64),
            })
        };
        let found = directory.with_df(|df| {
            let all = df.search(&DfQuery::all(DfDescription::default()), now);
            let expires = |entry: &DfDescription| entry.agent.and_then(|agent| df.expires(agent));
            all.into_iter().filter_map(|description| entry(description, expires(description))).collect()
        });
        found.unwrap_or_default()
    }

    /// Returns standing searches, `limit` at most.
    pub(super) fn subscriptions(&self, limit: usize) -> SubscriptionsFound {
        let found = self.directory().and_then(|directory| {
            directory.with_df(|df| {
                let all = df.subscriptions();
                let total = all.len() as u64;
                SubscriptionsFound { subscriptions: all.take(limit).map(subscription_info).collect(), total }
            })
        });
        found.unwrap_or_default()
    }
}

fn subscription_info(subscription: &Subscription) -> SubscriptionInfo {
    let Subscription { subscriber, template, form } = subscription;
    let conversation = match form {
        NoticeForm::Fipa { inform, .. } => inform.extras().conversation_id.as_ref().map(ToString::to_string),
        NoticeForm::Provider => None,
    };
    SubscriptionInfo {
        subscriber: subscriber.name.as_str().to_owned(),
        conversation,
        agent: template.agent.map(|agent| agent.name.as_str().to_owned()),
        services: template.services.iter().map(service_info).collect(),
        protocols: texts(&template.protocols),
        ontologies: texts(&template.ontologies),
        languages: texts(&template.languages),
    }
}

fn texts(symbols: &[Symbol]) -> Vec<String> {
    symbols.iter().map(|symbol| symbol.as_str().to_owned()).collect()
}

/// Returns the services of an entry that fit; `None` if the entry does not.
fn fitting_services(wanted: &ServicesWanted, entry: &DfDescription) -> Option<Vec<ServiceInfo>> {
    let all = |of_service: fn(&ServiceDescription) -> &[Symbol], of_entry: &[Symbol], wanted: &Option<String>| {
        let Some(wanted) = wanted.clone() else { return Box::new(|_: &ServiceDescription| true) as Fits<'_> };
        let known = of_entry.iter().any(|name| name.as_str() == wanted);
        let fits =
            move |service: &ServiceDescription| known || of_service(service).iter().any(|name| name.as_str() == wanted);
        Box::new(fits) as Fits<'_>
    };
    let ontology = all(|service| &service.ontologies, &entry.ontologies, &wanted.ontology);
    let protocol = all(|service| &service.protocols, &entry.protocols, &wanted.protocol);
    let language = all(|service| &service.languages, &entry.languages, &wanted.language);
    let fits = |service: &ServiceDescription| {
        let named = |pattern: &Option<String>, name: Symbol| {
            pattern.as_ref().is_none_or(|pattern| name_fits(pattern, name.as_str()))
        };
        let property = |(name, value): &(String, String)| {
            let mut known = service.properties.iter();
            known.any(|(known, is)| known.as_str() == name && (value.is_empty() || plain(is) == *value))
        };
        (named(&wanted.service, service.name) || named(&wanted.service, service.kind))
            && named(&wanted.name, service.name)
            && named(&wanted.kind, service.kind)
            && ontology(service)
            && protocol(service)
            && language(service)
            && wanted.properties.iter().all(property)
    };
    let of_services = [&wanted.service, &wanted.name, &wanted.kind].into_iter().any(Option::is_some);
    let of_services = of_services || !wanted.properties.is_empty();
    let bare = ServiceDescription::default();
    let entry_fits = !of_services && ontology(&bare) && protocol(&bare) && language(&bare);
    let services: Vec<ServiceInfo> = entry.services.iter().filter(|service| fits(service)).map(service_info).collect();
    (entry_fits || !services.is_empty()).then_some(services)
}

type Fits<'a> = Box<dyn Fn(&ServiceDescription) -> bool + 'a>;

fn service_info(service: &ServiceDescription) -> ServiceInfo {
    ServiceInfo {
        name: service.name.as_str().to_owned(),
        kind: service.kind.as_str().to_owned(),
        owner: Some(service.owner.as_str()).filter(|owner| !owner.is_empty()).map(str::to_owned),
        protocols: texts(&service.protocols),
        ontologies: texts(&service.ontologies),
        languages: texts(&service.languages),
        properties: service.properties.iter().map(|(name, value)| (name.as_str().to_owned(), plain(value))).collect(),
    }
}

/// Returns a value as it is printed, text without its quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Str(text) => text.as_str().to_owned(),
        value => value.to_string(),
    }
}
