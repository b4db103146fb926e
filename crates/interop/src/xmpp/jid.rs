//! Addresses of XMPP (RFC 7622), and the agents' names that they stand for.
//!
//! An agent `NAME@PLATFORM` is `local@domain`: the domain is the platform's name, the local part the agent's, with the
//! escapes of XEP-0106. Servers ignore case in local parts, agents' names do not.

use std::fmt;
use std::str::FromStr;

use whimbrel_acl::{Aid, Contact, Symbol};
use whimbrel_platform::limits::XMPP_ADDRESS_BYTES_MAX;

/// Address of an XMPP entity: `local@domain/resource`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Jid {
    /// Name at the domain, with escapes; empty for the domain itself.
    pub local: String,
    /// Name of a server or of a component.
    pub domain: String,
    /// Name of one of the entity's connections.
    pub resource: Option<String>,
}

/// Reason why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of XMPP: expected NAME@DOMAIN")]
pub struct NotAJid(pub String);

/// Characters that no local part has, and their escapes.
const ESCAPES: [(char, &str); 10] = [
    (' ', "\\20"),
    ('"', "\\22"),
    ('&', "\\26"),
    ('\'', "\\27"),
    ('/', "\\2f"),
    (':', "\\3a"),
    ('<', "\\3c"),
    ('>', "\\3e"),
    ('@', "\\40"),
    ('\\', "\\5c"),
];

impl Jid {
    /// Returns the address of an agent at a domain.
    pub fn of_agent(name: &str, domain: &str) -> Self {
        Self { local: escaped(name), domain: domain.to_owned(), resource: None }
    }

    /// Returns the name of the agent that the local part stands for.
    pub fn agent_name(&self) -> String {
        unescaped(&self.local)
    }

    /// Returns the agent, with its address; `None` for an address without a local part.
    pub fn agent(&self) -> Option<Aid> {
        if self.local.is_empty() {
            return None;
        }
        let (name, platform) = (Symbol::new(&self.agent_name()), Symbol::new(&self.domain));
        let contact = Contact { addresses: vec![format!("xmpp:{}", self.bare())], ..Contact::default() };
        Some(Aid::new(name, platform).with_contact(contact))
    }

    /// Returns the address without its resource.
    pub fn bare(&self) -> String {
        match self.local.as_str() {
            "" => self.domain.clone(),
            local => format!("{local}@{}", self.domain),
        }
    }

    /// Returns the local part as servers compare it.
    pub fn folded(&self) -> String {
        self.local.to_lowercase()
    }
}

impl fmt::Display for Jid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.resource {
            None => f.write_str(&self.bare()),
            Some(resource) => write!(f, "{}/{resource}", self.bare()),
        }
    }
}

impl FromStr for Jid {
    type Err = NotAJid;

    fn from_str(text: &str) -> Result<Self, NotAJid> {
        let refused = || NotAJid(text.chars().take(128).collect());
        if text.len() > XMPP_ADDRESS_BYTES_MAX {
            return Err(refused());
        }
        let (bare, resource) = match text.split_once('/') {
            Some((bare, resource)) => (bare, Some(resource)),
            None => (text, None),
        };
        let (local, domain) = bare.split_once('@').map_or((None, bare), |(local, domain)| (Some(local), domain));
        let is_valid = |part: &str| {
            !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control() || "\"&'<>@".contains(c))
        };
        let resource_is_valid =
            resource.is_none_or(|resource| !resource.is_empty() && !resource.contains(char::is_control));
        if !is_valid(domain) || !local.is_none_or(|local| is_valid(local) && !local.contains(':')) || !resource_is_valid
        {
            return Err(refused());
        }
        let local = local.unwrap_or_default().to_owned();
        Ok(Self { local, domain: domain.to_lowercase(), resource: resource.map(str::to_owned) })
    }
}

/// Escapes what local parts cannot have.
//= xep0106 4
fn escaped(name: &str) -> String {
    let mut local = String::new();
    for (at, character) in name.char_indices() {
        let rest = name.get(at..).unwrap_or_default();
        let escape = ESCAPES.iter().find(|(special, _)| *special == character).map(|(_, escape)| *escape);
        // A back-slash stays one where nobody would take it for an escape.
        let is_escape = character != '\\' || ESCAPES.iter().any(|(_, escape)| rest.starts_with(escape));
        match escape.filter(|_| is_escape) {
            Some(escape) => local.push_str(escape),
            None => local.push(character),
        }
    }
    local
}

fn unescaped(local: &str) -> String {
    let (mut name, mut rest) = (String::new(), local);
    while let Some(character) = rest.chars().next() {
        let escape = ESCAPES.iter().find(|(_, escape)| rest.starts_with(escape));
        let (shown, length) =
            escape.map_or((character, character.len_utf8()), |(shown, escape)| (*shown, escape.len()));
        name.push(shown);
        rest = rest.get(length..).unwrap_or_default();
    }
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read() {
        let jid: Jid = "buyer@Localhost/Res/1".parse().unwrap();
        assert_eq!(
            (jid.local.as_str(), jid.domain.as_str(), jid.resource.as_deref()),
            ("buyer", "localhost", Some("Res/1"))
        );
        assert_eq!((jid.bare().as_str(), jid.to_string().as_str()), ("buyer@localhost", "buyer@localhost/Res/1"));
        assert_eq!("w.localhost".parse::<Jid>().unwrap().agent(), None);
        let agent = jid.agent().unwrap();
        assert_eq!(agent.to_string(), "buyer@localhost");
        assert_eq!(agent.contact().addresses, ["xmpp:buyer@localhost"]);
        for text in ["", "@h", "a@", "a@b@c", "a b@h", "a@h/", "a:b@h", "<a>@h", "a@h\n"] {
            assert!(text.parse::<Jid>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_escaped() {
        for (name, local) in [("a b", "a\\20b"), ("x@y/z", "x\\40y\\2fz"), ("c:\\d", "c\\3a\\d"), ("\\20", "\\5c20")] {
            let jid = Jid::of_agent(name, "h");
            assert_eq!((jid.local.as_str(), jid.agent_name().as_str()), (local, name));
        }
    }

    proptest! {
        #[test]
        fn any_name_is_read_back(name in "[^\\x00-\\x1f\\x7f-\\x9f\\s]{1,12}( [a-z\\\\2]{1,4})?") {
            let jid = Jid::of_agent(&name, "host.example");
            let read: Jid = jid.to_string().parse().unwrap();
            prop_assert_eq!(read.agent_name(), name);
        }
    }
}
