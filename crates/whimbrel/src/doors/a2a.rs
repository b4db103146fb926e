//! Door for A2A: published agents, tokens of clients, and the society behind.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Symbol};
use whimbrel_gateway::doors::a2a::A2aConfig;
use whimbrel_interop::society::SocietyPort;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::policy::Pattern;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::{AgentBody, Services};
use whimbrel_runtime::Platform;

/// Options of the door for A2A.
#[derive(Clone, Debug, Default)]
pub struct A2aOptions {
    /// Names and patterns of published agents.
    pub published: Vec<String>,
    /// Tokens of clients, each after the client's name and `=`, or alone.
    pub tokens: Vec<String>,
}

/// Minimum length of a token after a name: fewer bytes are the end of a token in base64.
const TOKEN_BYTES_MIN: usize = 8;
/// Name of a client whose token is given without one.
const CLIENT: &str = "client";

impl A2aOptions {
    /// Returns the configuration of the door, if agents are published.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn config(&self, platform: &Platform) -> anyhow::Result<Option<A2aConfig>> {
        if self.published.is_empty() {
            return Ok(None);
        }
        let published = self.published.iter().map(|pattern| Pattern::new(pattern)).collect::<Result<_, _>>()?;
        let society = Arc::new(PlatformSociety(platform.clone()));
        let tokens = self.tokens.iter().map(|text| token(text)).collect();
        Ok(Some(A2aConfig { society, published, tokens }))
    }

    /// Returns the addresses of the published agents at a host, patterns included.
    pub fn addresses(&self, host: &str) -> String {
        self.published.iter().map(|name| format!("{host}/a2a/{name}")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the name and the token of a client.
fn token(text: &str) -> (String, String) {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match text.split_once('=') {
        Some((name, token)) if is_name(name) && token.len() >= TOKEN_BYTES_MIN => (name.to_owned(), token.to_owned()),
        _ => (CLIENT.to_owned(), text.to_owned()),
    }
}

/// SocietyPort of a platform in this process.
struct PlatformSociety(Platform);

impl SocietyPort for PlatformSociety {
    fn start(&self, name: Symbol, body: Box<dyn AgentBody>) -> Result<Aid, CreateError> {
        self.0.spawn_kind(name, AgentKind::Session, body)
    }

    fn send(&self, message: Box<AclMessage>) {
        self.0.send(message);
    }

    fn services(&self) -> &dyn Services {
        self.0.services()
    }
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn tokens_may_have_names() {
        let read = |text| {
            let (name, token) = token(text);
            format!("{name} {token}")
        };
        assert_eq!(read("alice=secret-1"), "alice secret-1");
        assert_eq!(read("c2VjcmV0cw=="), "client c2VjcmV0cw==", "a token in base64");
        assert_eq!((read("Secret=xyz").as_str(), read("secret").as_str()), ("client Secret=xyz", "client secret"));
    }
}
