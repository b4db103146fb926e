//! Society of a platform in this process.

use whimbrel_acl::{AclMessage, Aid, Symbol};
use whimbrel_interop::society::SocietyPort;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::{AgentBody, Services};
use whimbrel_runtime::Platform;

/// Minimum length of a token after a name: fewer bytes are the end of a token in base64.
const TOKEN_BYTES_MIN: usize = 8;
/// Name of a client whose token is given without one.
const CLIENT: &str = "client";

/// Society of a platform in this process.
pub(super) struct DoorSociety(pub Platform);

impl SocietyPort for DoorSociety {
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

/// Returns the name and the token of a client, from `NAME=TOKEN` or `TOKEN`.
pub(super) fn named_token(text: &str) -> (String, String) {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match text.split_once('=') {
        Some((name, token)) if is_name(name) && token.len() >= TOKEN_BYTES_MIN => (name.to_owned(), token.to_owned()),
        _ => (CLIENT.to_owned(), text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::named_token;

    #[test]
    fn tokens_may_have_names() {
        let read = |text| {
            let (name, token) = named_token(text);
            format!("{name} {token}")
        };
        assert_eq!(read("alice=secret-1"), "alice secret-1");
        assert_eq!(read("c2VjcmV0cw=="), "client c2VjcmV0cw==", "a token in base64");
        assert_eq!((read("Secret=xyz").as_str(), read("secret").as_str()), ("client Secret=xyz", "client secret"));
    }
}
