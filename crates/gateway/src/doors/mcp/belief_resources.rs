//! Beliefs of agents as resources.

use whimbrel_interop::mcp::McpError;
use whimbrel_operator::{Answer, Request};
use whimbrel_platform::inspection::BeliefSeen;

use super::McpDoor;
use crate::shared::GatewayState;

/// Beginning of the URIs of beliefs.
const SCHEME: &str = "whimbrel://";
pub(super) const MEDIA_TYPE: &str = "text/plain";

/// Address of beliefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BeliefAddress {
    agent: String,
    /// Name of the beliefs; all, if none is given.
    functor: Option<String>,
}

impl BeliefAddress {
    /// Reads `whimbrel://AGENT/beliefs` or `whimbrel://AGENT/beliefs/FUNCTOR`.
    pub fn read(uri: &str) -> Option<Self> {
        let mut parts = uri.strip_prefix(SCHEME)?.split('/');
        let (agent, beliefs, functor) = (parts.next()?, parts.next()?, parts.next());
        let fits = beliefs == "beliefs" && !agent.is_empty() && functor != Some("") && parts.next().is_none();
        fits.then(|| Self { agent: agent.to_owned(), functor: functor.map(str::to_owned) })
    }

    fn has(&self, belief: &BeliefSeen) -> bool {
        let name = || belief.text.trim_start_matches('~').split('(').next();
        !belief.rule && self.functor.as_deref().is_none_or(|functor| name() == Some(functor))
    }
}

fn line(belief: &BeliefSeen) -> String {
    let sources = belief.sources.iter().map(|source| format!("source({source})"));
    let annotations: Vec<String> = sources.chain(belief.annotations.iter().cloned()).collect();
    let annotations = if annotations.is_empty() { String::new() } else { format!("[{}]", annotations.join(",")) };
    let is_usual = matches!(belief.namespace.as_str(), "" | "default");
    let namespace = if is_usual { String::new() } else { format!("{}::", belief.namespace) };
    format!("{namespace}{}{annotations}.\n", belief.text)
}

impl McpDoor {
    /// Returns the list of the beliefs of offered agents.
    pub(super) fn belief_resources(&self) -> Vec<serde_json::Value> {
        let agents = self.society.services().agents();
        let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        let names = agents.iter().map(|agent| agent.name.as_str());
        let offered = names.filter(|name| self.is_offered(name) && is_plain(name));
        let listed = |name: &str| {
            serde_json::json!({
                "uri": format!("{SCHEME}{name}/beliefs"),
                "name": format!("{name}.beliefs"),
                "title": format!("Beliefs of {name}"),
                "mimeType": MEDIA_TYPE,
            })
        };
        offered.take(whimbrel_platform::limits::MCP_OFFERED_MAX).map(listed).collect()
    }

    /// Returns the template of these resources.
    pub(super) fn belief_template() -> serde_json::Value {
        serde_json::json!({
            "uriTemplate": format!("{SCHEME}{{agent}}/beliefs/{{functor}}"),
            "name": "beliefs",
            "title": "Beliefs of an agent by name",
            "mimeType": MEDIA_TYPE,
        })
    }

    /// Returns beliefs as text, each on a line.
    pub(super) async fn beliefs(
        &self,
        state: &GatewayState,
        address: &BeliefAddress,
        uri: &str,
    ) -> Result<String, McpError> {
        if !self.is_offered(&address.agent) {
            return Err(McpError::no_resource(uri));
        }
        match state.answer(Request::Mind { agent: address.agent.clone(), follow: false }).await {
            Answer::Mind(mind) => {
                let mut text: String = mind.inside.beliefs.iter().filter(|it| address.has(it)).map(line).collect();
                if mind.inside.cut.beliefs > 0 {
                    text += &format!("// and {} more\n", mind.inside.cut.beliefs);
                }
                Ok(text)
            }
            _ => Err(McpError::no_resource(uri)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_agents_and_beliefs() {
        let read = |uri| BeliefAddress::read(uri).map(|address| (address.agent, address.functor));
        assert_eq!(read("whimbrel://bob/beliefs"), Some(("bob".into(), None)));
        assert_eq!(read("whimbrel://bob/beliefs/price"), Some(("bob".into(), Some("price".into()))));
        for wrong in [
            "test://bob/beliefs",
            "whimbrel://bob",
            "whimbrel://bob/goals",
            "whimbrel:///beliefs",
            "whimbrel://a/beliefs/",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn beliefs_are_lines() {
        let belief = BeliefSeen { text: "price(tea,3)".into(), sources: vec!["bob".into()], ..BeliefSeen::default() };
        assert_eq!(line(&belief), "price(tea,3)[source(bob)].\n");
        let named = BeliefAddress { agent: "a".into(), functor: Some("price".into()) };
        assert!(named.has(&belief));
        assert!(!named.has(&BeliefSeen { text: "prices".into(), ..belief.clone() }));
        assert!(!named.has(&BeliefSeen { rule: true, ..belief }));
    }
}
