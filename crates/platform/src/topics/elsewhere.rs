//! Subscribers and members on other nodes, as those nodes tell of them.

use std::collections::BTreeMap;

use whimbrel_acl::Symbol;

use super::{Cast, Topics};
use crate::limits::{TOPIC_SUBSCRIBERS_MAX, TOPICS_MAX, TOPICS_PER_AGENT_MAX};
use crate::link::News;
use crate::route::NodeId;

/// Part of a topic or group on another node.
#[derive(Debug, Default)]
pub(super) struct Remote {
    /// Members there, in the order in which they joined; none for topics.
    pub members: BTreeMap<u64, Symbol>,
    /// Overload: true if one of the node's subscribers or members has too much to do.
    pub crowded: bool,
}

impl Topics {
    /// Takes in another node's news of topics and groups, or of an agent that ended. Returns false if some of it is
    /// useless, or there is no room for it: that part is ignored. The caller must check that members are agents of that
    /// node.
    pub fn handle_news(&mut self, from: NodeId, news: &News) -> bool {
        match news {
            News::Topics(names) => names.iter().filter(|name| !self.topic_elsewhere(from, **name)).count() == 0,
            News::NoTopic(name) => {
                self.forget_part(from, *name);
                true
            }
            News::Joined(group, members) => {
                members.iter().filter(|member| !self.member_elsewhere(from, *group, **member)).count() == 0
            }
            News::Left(group, member) => {
                self.member_left(from, *group, *member);
                true
            }
            News::Crowded(name, crowded) => {
                if let Some(entry) = self.entries.get_mut(name)
                    && let Some(remote) = entry.remote.get_mut(&from)
                {
                    remote.crowded = *crowded;
                    self.note_change(*name);
                }
                true
            }
            News::AgentEnded(agent, _) => {
                // News names members as symbols.
                let Some(agent) = agent.known() else { return true };
                let groups = self.members_elsewhere.get(&(from, agent)).cloned().unwrap_or_default();
                groups.into_keys().for_each(|group| self.member_left(from, group, agent));
                self.forget_gone(agent, from);
                true
            }
            _ => true,
        }
    }

    /// Forgets another node that is gone, with all that was known of it.
    pub fn handle_node_lost(&mut self, node: NodeId) {
        self.lose_roaming(node);
        let there = |entry: &super::TopicEntry| entry.remote.contains_key(&node);
        let names: Vec<Symbol> = self.entries.iter().filter(|(_, entry)| there(entry)).map(|(name, _)| *name).collect();
        names.into_iter().for_each(|name| self.forget_part(node, name));
    }

    fn has_room_for(&self, name: Symbol) -> bool {
        self.entries.len() < TOPICS_MAX || self.entries.contains_key(&name)
    }

    fn topic_elsewhere(&mut self, from: NodeId, name: Symbol) -> bool {
        if Cast::of(name) != Some(Cast::Broadcast) || !self.has_room_for(name) {
            return false;
        }
        self.entries.entry(name).or_default().remote.entry(from).or_default();
        self.note_change(name);
        true
    }

    fn member_elsewhere(&mut self, from: NodeId, group: Symbol, member: Symbol) -> bool {
        if Cast::of(group) != Some(Cast::Multicast) || !self.has_room_for(group) {
            return false;
        }
        let known = self.members_elsewhere.get(&(from, member));
        if known.is_some_and(|groups| groups.contains_key(&group)) {
            return true;
        }
        let remote = self.entries.get(&group).and_then(|entry| entry.remote.get(&from));
        if remote.is_some_and(|remote| remote.members.len() >= TOPIC_SUBSCRIBERS_MAX)
            || known.is_some_and(|groups| groups.len() >= TOPICS_PER_AGENT_MAX)
        {
            return false;
        }
        self.joined += 1;
        self.members_elsewhere.entry((from, member)).or_default().insert(group, self.joined);
        let entry = self.entries.entry(group).or_default();
        entry.remote.entry(from).or_default().members.insert(self.joined, member);
        self.note_change(group);
        true
    }

    fn member_left(&mut self, from: NodeId, group: Symbol, member: Symbol) {
        let Some(place) = self.forget_member(from, group, member) else { return };
        let Some(remote) = self.entries.get_mut(&group).and_then(|entry| entry.remote.get_mut(&from)) else { return };
        remote.members.remove(&place);
        if remote.members.is_empty() {
            return self.forget_part(from, group);
        }
        self.note_change(group);
    }

    /// Forgets a node's part of a topic or group, which no agent there is in any more.
    fn forget_part(&mut self, from: NodeId, name: Symbol) {
        let Some(remote) = self.entries.get_mut(&name).and_then(|entry| entry.remote.remove(&from)) else { return };
        for member in remote.members.into_values() {
            self.forget_member(from, name, member);
        }
        self.note_change(name);
    }

    fn forget_member(&mut self, from: NodeId, group: Symbol, member: Symbol) -> Option<u64> {
        let groups = self.members_elsewhere.get_mut(&(from, member))?;
        let place = groups.remove(&group);
        if groups.is_empty() {
            self.members_elsewhere.remove(&(from, member));
        }
        place
    }
}
