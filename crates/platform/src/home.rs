//! Home of a platform's agents, as agents of other platforms know it.

use whimbrel_acl::{Aid, Contact, Symbol, sym};

/// Name of a platform, and the addresses of its message transport.
#[derive(Clone, Copy, Debug)]
pub struct PlatformHome {
    /// Agent of the platform, with its name and addresses.
    pattern: Aid,
}

impl PlatformHome {
    /// Returns the home of this name, without addresses.
    pub fn new(name: impl Into<Symbol>) -> Self {
        Self { pattern: Aid::new(sym::AMS, name) }
    }

    /// Returns the same home with these addresses.
    #[must_use]
    pub fn at(self, addresses: Vec<String>) -> Self {
        Self { pattern: self.pattern.with_contact(Contact { addresses, ..Contact::default() }) }
    }

    /// Returns the platform's name.
    pub fn platform(self) -> Symbol {
        self.pattern.platform
    }

    /// Returns the addresses of the platform's message transport.
    pub fn addresses(self) -> &'static [String] {
        &self.pattern.contact().addresses
    }

    /// Returns an agent with all that other platforms need to reach it.
    pub fn identify(self, agent: Aid) -> Aid {
        let is_local = agent.platform == sym::EMPTY || agent.platform == self.platform();
        match is_local {
            true if *agent.contact() == Contact::default() => self.pattern.renamed(agent.name),
            true => agent.at(self.platform()),
            false => agent,
        }
    }
}

impl From<&str> for PlatformHome {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<Symbol> for PlatformHome {
    fn from(name: Symbol) -> Self {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_agents_get_addresses() {
        let home = PlatformHome::from("home").at(vec!["http://h:1/acc".to_owned()]);
        for agent in [Aid::local("bob"), Aid::new("bob", "home")] {
            let known = home.identify(agent);
            assert_eq!((known.to_string().as_str(), &*known.contact().addresses), ("bob@home", home.addresses()));
        }
        let elsewhere = Aid::new("bob", "away");
        assert!(home.identify(elsewhere).is_same(elsewhere));
    }
}
