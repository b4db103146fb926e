//! Presence of the agents here, for those who subscribed to it (RFC 6121 section 3).

use std::collections::{BTreeMap, BTreeSet};

use whimbrel_platform::limits::XMPP_SUBSCRIPTIONS_MAX;

use super::jid::Jid;

/// Subscriptions to the presence of agents. They are kept while the process lives: a subscriber that comes back asks
/// anew (a `probe`).
#[derive(Debug, Default)]
pub struct PresenceSubscriptions {
    /// Each agent's address and those of its subscribers, by the agent's local part as servers compare it.
    of: BTreeMap<String, (Jid, BTreeSet<String>)>,
    count: usize,
}

impl PresenceSubscriptions {
    /// Enters a subscription. Returns false if there are too many.
    pub fn add(&mut self, agent: &Jid, subscriber: &str) -> bool {
        let known = self.of.get(&agent.folded()).is_some_and(|(_, known)| known.contains(subscriber));
        if known || self.count >= XMPP_SUBSCRIPTIONS_MAX {
            return known;
        }
        self.count += 1;
        let (_, subscribers) = self.of.entry(agent.folded()).or_insert_with(|| (agent.clone(), BTreeSet::new()));
        subscribers.insert(subscriber.to_owned())
    }

    /// Deletes a subscription.
    pub fn remove(&mut self, agent: &Jid, subscriber: &str) {
        let Some((_, known)) = self.of.get_mut(&agent.folded()) else { return };
        self.count -= usize::from(known.remove(subscriber));
        if known.is_empty() {
            self.of.remove(&agent.folded());
        }
    }

    /// Takes the subscriptions of agents that are not there any more.
    pub fn take_unless(&mut self, mut is_there: impl FnMut(&Jid) -> bool) -> Vec<(Jid, BTreeSet<String>)> {
        let gone: Vec<String> =
            self.of.iter().filter(|(_, (agent, _))| !is_there(agent)).map(|(local, _)| local.clone()).collect();
        let gone: Vec<_> = gone.iter().filter_map(|local| self.of.remove(local)).collect();
        self.count -= gone.iter().map(|(_, subscribers)| subscribers.len()).sum::<usize>();
        gone
    }
}
