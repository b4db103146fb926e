//! Addresses of agents of other platforms that wrote to this one.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Encoding, Symbol};
use whimbrel_platform::limits::{MTP_ADDRESSES_MAX, MTP_CONTACTS_MAX};

use super::HttpAddress;

/// Address book: an agent's addresses as it last said them, the encoding that it wrote, and addresses of platforms that
/// the user named. Bounded: the agent that was entered first is forgotten first.
#[derive(Debug, Default)]
pub struct ContactBook {
    agents: FxHashMap<Aid, (Aid, Encoding)>,
    /// Agents in the order in which they were entered.
    order: VecDeque<Aid>,
    platforms: FxHashMap<Symbol, Vec<HttpAddress>>,
}

impl ContactBook {
    /// Enters an address of a platform. It is used for all agents of that platform, before those that they say.
    pub fn add_platform(&mut self, platform: Symbol, address: HttpAddress) {
        self.platforms.entry(platform).or_default().push(address);
    }

    /// Remembers the addresses of an agent that wrote in this encoding.
    pub fn learn(&mut self, agent: Aid, encoding: Encoding) {
        let known = self.agents.get(&agent);
        if known.is_some_and(|(known, before)| known.is_same(agent) && *before == encoding) {
            return;
        }
        if agent.contact().addresses.is_empty() && known.is_some() {
            return;
        }
        if self.agents.insert(agent, (agent, encoding)).is_none() {
            self.order.push_back(agent);
        }
        if self.order.len() > MTP_CONTACTS_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.agents.remove(&first);
        }
    }

    /// Returns the addresses at which an agent is reached, in the order to try them: those of its platform that the
    /// user named, those in its identifier, those that it last said.
    pub fn addresses_of(&self, agent: Aid) -> Vec<HttpAddress> {
        let named = self.platforms.get(&agent.platform).into_iter().flatten().cloned();
        let said = agent.contact().addresses.iter();
        let learnt = self.agents.get(&agent).map(|(known, _)| known.contact().addresses.iter());
        let all = named.chain(said.chain(learnt.into_iter().flatten()).filter_map(|text| text.parse().ok()));
        let mut addresses: Vec<HttpAddress> = Vec::new();
        for address in all {
            if addresses.len() < MTP_ADDRESSES_MAX && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    /// Returns the encoding for an agent: the one in which it wrote, or FIPA's strings, which every platform reads.
    pub fn encoding_of(&self, agent: Aid) -> Encoding {
        self.agents.get(&agent).map_or(Encoding::String, |(_, encoding)| *encoding)
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Contact;

    use super::*;

    fn at(name: &str, addresses: &[&str]) -> Aid {
        let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
        name.parse::<Aid>().expect("a name").with_contact(Contact { addresses, ..Contact::default() })
    }

    fn shown(contacts: &ContactBook, agent: Aid) -> Vec<String> {
        contacts.addresses_of(agent).iter().map(HttpAddress::to_string).collect()
    }

    #[test]
    fn learnt_addresses_follow_said_ones() {
        let mut contacts = ContactBook::default();
        contacts.learn(at("ann@jade", &["http://a:1/acc", "IOR:00", "http://b:1/acc"]), Encoding::Xml);
        contacts.learn(at("ann@jade", &[]), Encoding::Xml);
        assert_eq!(shown(&contacts, at("ann@jade", &[])), ["http://a:1/acc", "http://b:1/acc"]);
        assert_eq!(
            shown(&contacts, at("ann@jade", &["http://b:1/acc", "http://c:1/acc"])),
            ["http://b:1/acc", "http://c:1/acc", "http://a:1/acc"]
        );
        assert_eq!(contacts.encoding_of(at("ann@jade", &[])), Encoding::Xml);
        assert_eq!(contacts.encoding_of(at("bob@jade", &[])), Encoding::String);
        assert!(shown(&contacts, at("bob@jade", &[])).is_empty());
        contacts.add_platform("jade".into(), "http://z:1/acc".parse().expect("an address"));
        assert_eq!(shown(&contacts, at("bob@jade", &[])), ["http://z:1/acc"]);
    }

    #[test]
    fn book_is_bounded() {
        let mut contacts = ContactBook::default();
        (0..=MTP_CONTACTS_MAX).for_each(|n| contacts.learn(at(&format!("a{n}@jade"), &["http://a:1/"]), Encoding::Xml));
        assert_eq!((contacts.agents.len(), contacts.order.len()), (MTP_CONTACTS_MAX, MTP_CONTACTS_MAX));
        assert!(shown(&contacts, at("a0@jade", &[])).is_empty());
    }
}
