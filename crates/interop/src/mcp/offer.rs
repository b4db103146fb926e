//! Offer of a node: services of agents as tools, resources and prompts.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_platform::df::{DfDescription, ServiceDescription};
use whimbrel_platform::limits::{MCP_OFFERED_BYTES_MAX, MCP_OFFERED_MAX, MCP_TOOL_NAME_BYTES_MAX};

use super::schema::ServiceSchema;
use crate::json::{JsonMembers, text_of};

/// Types of services that are tools without a schema, and prompts.
const TOOL_TYPE: &str = "tool";
const PROMPT_TYPE: &str = "prompt";
/// Name of the node's own tool that sends a message.
pub const SEND_TOOL: &str = "send";
/// Name of the node's own tool that searches the DF.
pub const SEARCH_TOOL: &str = "df_search";

/// Kind of an offered service.
#[derive(Clone, Debug, PartialEq)]
pub enum OfferedKind {
    /// Tool.
    Tool,
    /// Prompt.
    Prompt,
    /// Resource at this URI.
    Resource(String),
    /// Resources whose URIs fit this template.
    Template(String),
}

/// Service of an agent, as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedService {
    /// Name, or URI of a resource.
    pub name: String,
    /// Agent.
    pub agent: Aid,
    /// Service.
    pub service: Symbol,
    /// Kind.
    pub kind: OfferedKind,
    /// Capabilities that a client must have.
    pub requires: Vec<String>,
    pub(super) input: ServiceSchema,
    pub(super) output: Option<ServiceSchema>,
    /// Media type of a resource.
    pub(super) media_type: Option<String>,
    listed: Json,
}

/// Services that agents offer, in the order of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpOffer {
    services: Vec<Arc<OfferedService>>,
    tools: FxHashMap<String, usize>,
    prompts: FxHashMap<String, usize>,
    resources: FxHashMap<String, usize>,
    /// Services that are left out, and why.
    pub left_out: Vec<String>,
}

impl McpOffer {
    /// Makes an offer of entries of the DF. `is_offered` gets names of agents, and names as `agent.service`.
    pub fn of(entries: &[DfDescription], is_offered: &dyn Fn(&str) -> bool) -> Self {
        let mut offer = Self::default();
        let mut entries: Vec<(Aid, &DfDescription)> =
            entries.iter().filter_map(|entry| Some((entry.agent?, entry))).collect();
        entries.sort_by_key(|(agent, _)| agent.name.as_str());
        for (agent, entry) in entries {
            let has_agent = is_offered(agent.name.as_str());
            for service in &entry.services {
                let name = format!("{}.{}", agent.name, service.name);
                if has_agent || is_offered(&name) {
                    offer.add(agent, service, &name);
                }
            }
        }
        offer
    }

    fn add(&mut self, agent: Aid, service: &ServiceDescription, name: &str) {
        if self.services.len() >= MCP_OFFERED_MAX {
            self.left_out.push(format!("{name}: there are {MCP_OFFERED_MAX} others already"));
            return;
        }
        match offered(agent, service, name) {
            Ok(None) => {}
            Err(why) => self.left_out.push(format!("{name}: {why}")),
            Ok(Some(mut offered)) => {
                let alias = property(service, "tool").map(text_of).filter(|alias| is_alias(alias));
                let names = self.names(&offered.kind);
                let free = alias.filter(|alias| !names.contains_key(alias));
                if let (Some(alias), OfferedKind::Tool | OfferedKind::Prompt) = (free, &offered.kind) {
                    offered.rename(alias);
                }
                let number = self.services.len();
                let names = self.names(&offered.kind);
                if names.contains_key(&offered.name) {
                    self.left_out.push(format!("{name}: {} is another service already", offered.name));
                    return;
                }
                names.insert(offered.name.clone(), number);
                self.services.push(Arc::new(offered));
            }
        }
    }

    fn names(&mut self, kind: &OfferedKind) -> &mut FxHashMap<String, usize> {
        match kind {
            OfferedKind::Tool => &mut self.tools,
            OfferedKind::Prompt => &mut self.prompts,
            OfferedKind::Resource(_) | OfferedKind::Template(_) => &mut self.resources,
        }
    }

    /// Returns the tool of this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<OfferedService>> {
        self.services.get(*self.tools.get(name)?)
    }

    /// Returns the prompt of this name.
    pub fn prompt(&self, name: &str) -> Option<&Arc<OfferedService>> {
        self.services.get(*self.prompts.get(name)?)
    }

    /// Returns the resource at this URI, and the values of the template's variables.
    pub fn resource(&self, uri: &str) -> Option<(&Arc<OfferedService>, JsonMembers)> {
        if let Some(found) = self.resources.get(uri).and_then(|number| self.services.get(*number)) {
            return Some((found, JsonMembers::new()));
        }
        self.services.iter().find_map(|service| match &service.kind {
            OfferedKind::Template(template) => Some((service, fit(template, uri)?)),
            _ => None,
        })
    }

    /// Returns the lists that differ from those of another offer: of tools, prompts and resources.
    pub fn changes(&self, other: &Self) -> [bool; 3] {
        let of = |offer: &Self, is_wanted: fn(&OfferedKind) -> bool| -> Vec<Json> { offer.listed(is_wanted).collect() };
        let is_at_uri: fn(&OfferedKind) -> bool =
            |kind| matches!(kind, OfferedKind::Resource(_) | OfferedKind::Template(_));
        let kinds: [fn(&OfferedKind) -> bool; 3] =
            [|kind| *kind == OfferedKind::Tool, |kind| *kind == OfferedKind::Prompt, is_at_uri];
        kinds.map(|is_wanted| of(self, is_wanted) != of(other, is_wanted))
    }

    /// Returns the list of tools, the node's own first.
    pub fn tools(&self) -> Vec<Json> {
        let own = [send_tool(), search_tool()];
        own.into_iter().chain(self.listed(|kind| *kind == OfferedKind::Tool)).collect()
    }

    /// Returns the list of prompts.
    pub fn prompts(&self) -> Vec<Json> {
        self.listed(|kind| *kind == OfferedKind::Prompt).collect()
    }

    /// Returns the list of resources.
    pub fn resources(&self) -> Vec<Json> {
        self.listed(|kind| matches!(kind, OfferedKind::Resource(_))).collect()
    }

    /// Returns the list of templates of resources.
    pub fn templates(&self) -> Vec<Json> {
        self.listed(|kind| matches!(kind, OfferedKind::Template(_))).collect()
    }

    fn listed(&self, is_wanted: impl Fn(&OfferedKind) -> bool) -> impl Iterator<Item = Json> {
        self.services.iter().filter(move |service| is_wanted(&service.kind)).map(|service| service.listed.clone())
    }
}

impl OfferedService {
    fn rename(&mut self, name: String) {
        if let Some(members) = self.listed.as_object_mut() {
            members.insert("name".to_owned(), json!(name));
        }
        self.name = name;
    }

    /// Returns the content of a request to the agent.
    ///
    /// # Errors
    /// The arguments do not fit the schema.
    pub fn goal(&self, arguments: &JsonMembers) -> Result<Value, String> {
        self.input.goal(self.service, arguments)
    }

    /// Returns true if the service says which form its result has.
    pub fn is_typed(&self) -> bool {
        self.output.is_some()
    }

    /// Returns the required capabilities that the client lacks.
    pub fn lacks<'a>(&'a self, has: impl Fn(&str) -> bool + 'a) -> Vec<&'a str> {
        self.requires.iter().map(String::as_str).filter(|name| !has(name)).collect()
    }
}

fn property<'a>(service: &'a ServiceDescription, name: &str) -> Option<&'a Value> {
    service.properties.iter().find(|(other, _)| other.as_str() == name).map(|(_, value)| value)
}

/// Returns a service as clients see it; `None` if it is nothing for them.
fn offered(agent: Aid, service: &ServiceDescription, name: &str) -> Result<Option<OfferedService>, String> {
    let text = |name: &str| property(service, name).map(text_of).filter(|text| !text.is_empty());
    let input = property(service, "input");
    let kind = match (text("uri"), text("uri_template")) {
        (Some(uri), _) => OfferedKind::Resource(uri),
        (None, Some(template)) => OfferedKind::Template(template),
        (None, None) if service.kind.as_str() == PROMPT_TYPE => OfferedKind::Prompt,
        (None, None) if input.is_some() || service.kind.as_str() == TOOL_TYPE => OfferedKind::Tool,
        (None, None) => return Ok(None),
    };
    let schema = |value: &Value, of: &str| {
        let read = ServiceSchema::read(value);
        read.ok_or_else(|| format!("`{of}` is neither a list of parameters nor JSON Schema"))
    };
    let input = match (input, &kind) {
        (Some(input), _) => schema(input, "input")?,
        (None, OfferedKind::Tool) => ServiceSchema::Whole(json!({"type": "object"})),
        (None, OfferedKind::Template(template)) => template_input(template)?,
        (None, _) => ServiceSchema::Named(Vec::new()),
    };
    let output = property(service, "output").map(|output| schema(output, "output")).transpose()?;
    let requires = property(service, "requires").into_iter();
    let requires = requires.flat_map(|names| if names.is_list() { names.items().collect() } else { vec![names] });
    let mut offered = OfferedService {
        name: match &kind {
            OfferedKind::Resource(uri) | OfferedKind::Template(uri) => uri.clone(),
            OfferedKind::Tool | OfferedKind::Prompt => tool_name(name),
        },
        agent,
        service: service.name,
        requires: requires.map(text_of).collect(),
        input,
        output,
        media_type: text("media_type"),
        kind,
        listed: Json::Null,
    };
    let title = text("title").or_else(|| {
        let is_at_uri = matches!(offered.kind, OfferedKind::Resource(_) | OfferedKind::Template(_));
        is_at_uri.then(|| name.to_owned())
    });
    let about = text("about").unwrap_or_else(|| format!("Service {} of agent {}", service.name, agent.name));
    offered.listed = listing(&offered, name, title, &about);
    let bytes = offered.listed.to_string().len();
    if bytes > MCP_OFFERED_BYTES_MAX {
        return Err(format!("its description has {bytes} bytes, at most {MCP_OFFERED_BYTES_MAX} are listed"));
    }
    Ok(Some(offered))
}

/// Returns the entry of a service in a list.
fn listing(offered: &OfferedService, name: &str, title: Option<String>, about: &str) -> Json {
    let mut members = JsonMembers::new();
    let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
    match &offered.kind {
        OfferedKind::Tool => {
            put("name", json!(offered.name));
            put("inputSchema", offered.input.to_json());
            offered.output.as_ref().map(|output| put("outputSchema", output.to_json()));
        }
        OfferedKind::Prompt => {
            put("name", json!(offered.name));
            let argument = |it: &super::schema::ServiceParameter| match &it.about {
                Some(about) => json!({"name": it.name, "required": it.is_required, "description": about}),
                None => json!({"name": it.name, "required": it.is_required}),
            };
            put("arguments", offered.input.parameters().iter().map(argument).collect());
        }
        OfferedKind::Resource(uri) => {
            put("uri", json!(uri));
            put("name", json!(tool_name(name)));
        }
        OfferedKind::Template(template) => {
            put("uriTemplate", json!(template));
            put("name", json!(tool_name(name)));
        }
    }
    if let (Some(media_type), OfferedKind::Resource(_) | OfferedKind::Template(_)) =
        (&offered.media_type, &offered.kind)
    {
        put("mimeType", json!(media_type));
    }
    if let Some(title) = title {
        put("title", json!(title));
    }
    put("description", json!(about));
    Json::Object(members)
}

/// Returns a name with the characters that tools' names may have.
fn tool_name(name: &str) -> String {
    let fitting = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    name.chars().map(fitting).take(MCP_TOOL_NAME_BYTES_MAX).collect()
}

/// Returns true for a name that a service may have instead of `agent.service`: such names have a dot.
fn is_alias(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_own = name == SEND_TOOL || name == SEARCH_TOOL;
    !is_own && (1..=MCP_TOOL_NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(fits)
}

/// Returns the pieces of a URI template: text, and names of variables in between.
fn pieces(template: &str) -> Option<Vec<(&str, Option<&str>)>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // Two variables side by side could be split anywhere.
        if !is_name || (text.is_empty() && !pieces.is_empty()) {
            return None;
        }
        pieces.push((text, Some(name)));
        rest = after;
    }
    pieces.push((rest, None));
    Some(pieces)
}

fn template_input(template: &str) -> Result<ServiceSchema, String> {
    let pieces =
        pieces(template).ok_or("`uri_template` has something else than text and {names}, with text between")?;
    let parameter = |name: &str| Value::term(name, [Value::atom("string")]);
    let parameters = pieces.into_iter().filter_map(|(_, name)| name).map(parameter).collect::<Vec<_>>();
    ServiceSchema::read(&Value::list(parameters)).ok_or_else(|| "`uri_template` has a strange name".to_owned())
}

/// Returns the values of a template's variables in a URI that fits it.
fn fit(template: &str, uri: &str) -> Option<JsonMembers> {
    let mut values = JsonMembers::new();
    let mut rest = uri;
    let mut open: Option<&str> = None;
    for (text, name) in pieces(template)? {
        rest = match open {
            None => rest.strip_prefix(text)?,
            Some(variable) => {
                let end = if text.is_empty() && name.is_none() { rest.len() } else { rest.find(text)? };
                let (value, after) = rest.split_at_checked(end)?;
                if value.is_empty() || value.contains('/') {
                    return None;
                }
                values.insert(variable.to_owned(), json!(value));
                after.strip_prefix(text)?
            }
        };
        open = name;
    }
    rest.is_empty().then_some(values)
}

fn send_tool() -> Json {
    json!({
        "name": SEND_TOOL,
        "title": "Send a message to an agent",
        "description": "Sends an ACL message to an agent, and returns its answer. A goal for an AgentSpeak agent is \
            {\"term\": \"price\", \"args\": [\"book\"]} with the performative request; a question is the same with \
            query-ref.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "agent": {"type": "string", "description": "Name of the agent"},
                "performative": {"type": "string", "description": "FIPA performative; request if absent"},
                "content": {"description": "Text, or any JSON value; an object with `term` is a term"},
                "ontology": {"type": "string"},
            },
            "required": ["agent", "content"],
            "additionalProperties": false,
        },
    })
}

fn search_tool() -> Json {
    json!({
        "name": SEARCH_TOOL,
        "title": "Search for agents",
        "description": "Returns the agents that offer a service, and their services, from the directory facilitator.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "service": {"type": "string", "description": "Name of the service; any if absent"},
                "type": {"type": "string", "description": "Type of the service; any if absent"},
            },
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"agents": {"type": "array", "items": {"type": "object"}}},
            "required": ["agents"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, kind: &str, properties: &[(&str, Value)]) -> ServiceDescription {
        let mut service = ServiceDescription::new(name, kind);
        service.properties = properties.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        service
    }

    fn entry(agent: &str, services: Vec<ServiceDescription>) -> DfDescription {
        DfDescription { services, ..DfDescription::of(Aid::local(agent)) }
    }

    fn all(entries: &[DfDescription]) -> McpOffer {
        McpOffer::of(entries, &|_| true)
    }

    #[test]
    fn services_with_schemas_are_tools() {
        let input = Value::list([Value::term("item", [Value::atom("string")])]);
        let services = vec![service("price", "", &[("input", input)]), service("painting", "", &[])];
        let offer = all(&[entry("seller", services)]);
        let names: Vec<_> = offer.tools().iter().filter_map(|tool| tool.get("name").cloned()).collect();
        assert_eq!(names, [json!("send"), json!("df_search"), json!("seller.price")]);
        let tool = offer.tool("seller.price").expect("it is offered");
        assert_eq!((tool.agent, tool.service.as_str()), (Aid::local("seller"), "price"));
    }

    #[test]
    fn only_chosen_services_are_offered() {
        let entries = [
            entry("a", vec![service("x", "tool", &[]), service("y", "tool", &[])]),
            entry("b", vec![service("x", "tool", &[])]),
        ];
        let offer = McpOffer::of(&entries, &|name| name == "a.x" || name == "b");
        assert!(offer.tool("a.x").is_some() && offer.tool("a.y").is_none() && offer.tool("b.x").is_some());
    }

    #[test]
    fn alias_belongs_to_first_agent() {
        let alias = [("tool", Value::from("price"))];
        let entries = [entry("b", vec![service("p", "tool", &alias)]), entry("a", vec![service("p", "tool", &alias)])];
        let offer = all(&entries);
        assert_eq!(offer.tool("price").map(|tool| tool.agent), Some(Aid::local("a")));
        assert_eq!(offer.tool("b.p").map(|tool| tool.agent), Some(Aid::local("b")));
        let forged = [("tool", Value::from("a.p"))];
        let offer = all(&[entry("b", vec![service("p", "tool", &forged)])]);
        assert!(offer.tool("a.p").is_none() && offer.tool("b.p").is_some(), "a dot belongs to agents");
        assert!(!is_alias("send") && !is_alias(""));
    }

    #[test]
    fn resources_have_addresses() {
        let at = [("uri", Value::from("test://one")), ("media_type", Value::from("text/plain"))];
        let some = [("uri_template", Value::from("test://t/{id}/data"))];
        let offer = all(&[entry("a", vec![service("one", "", &at), service("some", "", &some)])]);
        let listed = json!({
            "uri": "test://one", "name": "a.one", "title": "a.one", "mimeType": "text/plain",
            "description": "Service one of agent a",
        });
        assert_eq!(offer.resources(), [listed]);
        let (found, values) = offer.resource("test://t/12/data").expect("it fits");
        assert_eq!((found.service.as_str(), Json::Object(values.clone())), ("some", json!({"id": "12"})));
        assert_eq!(found.goal(&values), Ok(Value::term("some", [Value::from("12")])));
        for other in ["test://t//data", "test://t/1/2/data", "test://t/1/dat", "test://two"] {
            assert!(offer.resource(other).is_none(), "{other}");
        }
        assert_eq!(fit("whimbrel://{agent}/beliefs/{functor}", "whimbrel://a/beliefs/f").map(|it| it.len()), Some(2));
    }

    #[test]
    fn faulty_services_are_left_out() {
        let entries = [entry("a", vec![service("x", "tool", &[("input", Value::Int(5))])])];
        let offer = all(&entries);
        assert_eq!(offer.left_out, ["a.x: `input` is neither a list of parameters nor JSON Schema"]);
        assert!(offer.tool("a.x").is_none());
        let twice = [("uri", Value::from("test://one"))];
        let offer = all(&[entry("a", vec![service("x", "", &twice), service("y", "", &twice)])]);
        assert_eq!((offer.resources().len(), offer.left_out.len()), (1, 1));
    }
}
