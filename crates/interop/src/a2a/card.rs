//! Cards: what A2A clients read about an agent, made of its entry in the DF.

use serde_json::{Map, Value as Json, json};
use whimbrel_acl::Symbol;
use whimbrel_platform::df::{DfDescription, ServiceDescription};

use super::acl::{ACL_EXTENSION, MOSAICO_EXTENSION, SL_MEDIA_TYPE, VALUE_MEDIA_TYPE};

/// Media types that every agent takes.
const INPUT_MODES: [&str; 4] = ["text/plain", "application/json", SL_MEDIA_TYPE, VALUE_MEDIA_TYPE];
/// All media types, which an agent takes that names none.
const ANY_MODE: &str = "*/*";

/// Subject of a card.
#[derive(Clone, Debug)]
pub struct CardFacts<'a> {
    /// Name of the agent.
    pub name: &'a str,
    /// Name of the platform.
    pub platform: &'a str,
    /// Address of the agent's interfaces.
    pub url: &'a str,
    /// Version of this software.
    pub version: &'a str,
    /// True if clients need a token.
    pub needs_token: bool,
}

/// Returns the card of an agent: in version 1.0, and for `all_versions` with what readers of version 0.3 need beside
/// it. `entries` are those of the DF: the agent's own, or for the host's card those of all published agents.
pub fn card(facts: &CardFacts<'_>, entries: &[DfDescription], all_versions: bool) -> Json {
    let CardFacts { name, platform, url, version, needs_token } = facts;
    let is_host = *name == "df";
    let description = match is_host {
        true => format!("Directory of the agents of {platform} that are published."),
        false => format!("Agent {name} of {platform}, a multi-agent platform."),
    };
    let modes = modes(entries);
    let interface =
        |binding: &str, version: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
    let mut card = json!({
        "name": if is_host { platform } else { name },
        "description": description,
        "version": version,
        "supportedInterfaces": [interface("JSONRPC", "1.0"), interface("HTTP+JSON", "1.0"), interface("JSONRPC", "0.3")],
        "capabilities": {
            "streaming": true,
            "pushNotifications": false,
            "extendedAgentCard": false,
            "extensions": extensions(entries),
        },
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "skills": skills(name, entries, is_host),
    });
    let Json::Object(members) = &mut card else { return card };
    let mut scheme = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}});
    if all_versions {
        members.insert("url".into(), (*url).into());
        members.insert("preferredTransport".into(), "JSONRPC".into());
        members.insert("protocolVersion".into(), "0.3".into());
        scheme = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}, "type": "http", "scheme": "bearer"});
    }
    if *needs_token {
        members.insert("securitySchemes".into(), json!({"bearer": scheme}));
        members.insert("securityRequirements".into(), json!([{"schemes": {"bearer": {"list": []}}}]));
        if all_versions {
            members.insert("security".into(), json!([{"bearer": []}]));
        }
    }
    card
}

fn extensions(entries: &[DfDescription]) -> Json {
    let services: Vec<Json> = entries.iter().flat_map(|entry| &entry.services).map(service).collect();
    json!([
        {
            "uri": ACL_EXTENSION,
            "description": "ACL messages without loss, in metadata",
            "required": false,
            "params": {"services": services},
        },
        {"uri": MOSAICO_EXTENSION, "description": "Performatives, in metadata", "required": false},
    ])
}

/// Returns the services of agents as skills. The host's have the agents' names.
fn skills(name: &str, entries: &[DfDescription], is_host: bool) -> Vec<Json> {
    let mut skills: Vec<Json> = Vec::new();
    for entry in entries {
        let agent = entry.agent.map_or("", |agent| agent.name.as_str());
        for service in &entry.services {
            let id = match service.name.as_str() {
                "" => service.kind.as_str(),
                name => name,
            };
            let id = if is_host { format!("{agent}.{id}") } else { id.to_owned() };
            skills.push(skill(&id, service, entry));
        }
    }
    if skills.is_empty() {
        skills.push(json!({
            "id": "message",
            "name": "Messages",
            "description": format!("Takes messages as FIPA requests, and answers them. It is agent {name}."),
            "tags": ["fipa-request"],
        }));
    }
    skills
}

fn skill(id: &str, service: &ServiceDescription, entry: &DfDescription) -> Json {
    let said = [service.kind, service.owner].into_iter();
    let lists = [&service.protocols, &service.ontologies, &service.languages, &entry.protocols, &entry.ontologies];
    let mut tags: Vec<&str> = said.chain(lists.into_iter().flatten().copied()).map(Symbol::as_str).collect();
    tags.retain(|tag| !tag.is_empty());
    tags.sort_unstable();
    tags.dedup();
    if tags.is_empty() {
        tags.push("service");
    }
    let description = service.properties.iter().find(|(name, _)| name.as_str() == "description");
    let description = description.and_then(|(_, value)| value.as_str()).map_or_else(
        || match service.kind.as_str() {
            "" => format!("Service {} of an agent.", service.name),
            kind => format!("Service {} of type {kind}.", service.name),
        },
        str::to_owned,
    );
    json!({"id": id, "name": service.name.as_str(), "description": description, "tags": tags})
}

/// Returns all facts about a service, for readers of the extension.
fn service(service: &ServiceDescription) -> Json {
    let names = |names: &[Symbol]| names.iter().map(|name| Json::from(name.as_str())).collect::<Json>();
    let mut members = Map::new();
    for (key, name) in [("name", service.name), ("type", service.kind), ("owner", service.owner)] {
        if !name.as_str().is_empty() {
            members.insert(key.to_owned(), name.as_str().into());
        }
    }
    for (key, list) in
        [("protocols", &service.protocols), ("ontologies", &service.ontologies), ("languages", &service.languages)]
    {
        if !list.is_empty() {
            members.insert(key.to_owned(), names(list));
        }
    }
    members.into()
}

/// Returns the media types that an agent takes: those of all, and languages of its entry that are media types; any, if
/// there are none.
fn modes(entries: &[DfDescription]) -> Vec<&str> {
    let own = entries.iter().flat_map(|entry| {
        entry.languages.iter().chain(entry.services.iter().flat_map(|service| &service.languages)).copied()
    });
    let mut own: Vec<&str> = own.map(Symbol::as_str).filter(|language| language.contains('/')).collect();
    if own.is_empty() {
        own.push(ANY_MODE);
    }
    own.retain(|mode| !INPUT_MODES.contains(mode));
    own.sort_unstable();
    own.dedup();
    INPUT_MODES.into_iter().chain(own).collect()
}

/// Returns true if an agent takes a media type.
pub fn takes(entry: Option<&DfDescription>, media_type: &str) -> bool {
    let bare = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let fits = |mode: &str| match mode.strip_suffix('*') {
        _ if mode == ANY_MODE => true,
        Some(beginning) => bare.starts_with(beginning),
        None => bare == mode.to_ascii_lowercase(),
    };
    bare.starts_with("text/") || modes(entry.map_or(&[], std::slice::from_ref)).into_iter().any(fits)
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Aid;

    use super::*;

    fn facts(needs_token: bool) -> CardFacts<'static> {
        CardFacts { name: "bob", platform: "garden", url: "http://h/a2a/bob", version: "1", needs_token }
    }

    fn painter() -> DfDescription {
        let mut service = ServiceDescription::new("painting", "craft");
        service.languages = vec!["image/*".into(), "fipa-sl".into()];
        service.protocols = vec!["fipa-request".into()];
        DfDescription::of(Aid::local("bob")).with(service)
    }

    #[test]
    fn services_are_skills() {
        let card = card(&facts(false), &[painter()], true);
        assert_eq!(card["skills"][0]["id"], "painting");
        assert_eq!(card["skills"][0]["tags"], json!(["craft", "fipa-request", "fipa-sl", "image/*"]));
        assert_eq!((&card["url"], &card["protocolVersion"]), (&json!("http://h/a2a/bob"), &json!("0.3")));
        let params = &card["capabilities"]["extensions"][0]["params"]["services"][0];
        assert_eq!(params["type"], "craft");
    }

    #[test]
    fn strict_card_has_no_old_members() {
        let bare = card(&facts(true), &[], false);
        assert!(["url", "preferredTransport", "protocolVersion", "security"].iter().all(|key| bare.get(key).is_none()));
        assert_eq!(bare["skills"][0]["id"], "message");
        assert_eq!(bare["securitySchemes"]["bearer"], json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}}));
    }

    #[test]
    fn host_card_has_all_skills() {
        let host = CardFacts { name: "df", ..facts(false) };
        let card = card(&host, &[painter()], true);
        assert_eq!((&card["name"], &card["skills"][0]["id"]), (&json!("garden"), &json!("bob.painting")));
    }

    #[test]
    fn declared_media_types_bind() {
        let entry = painter();
        assert!(takes(Some(&entry), "image/png") && takes(Some(&entry), "text/html; charset=utf-8"));
        assert!(!takes(Some(&entry), "audio/ogg") && takes(None, "audio/ogg"));
    }
}
