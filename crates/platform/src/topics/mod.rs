//! Publish/subscribe topics and groups: receivers that stand for several agents.
//!
//! A topic or group is a receiver like any other, by a reserved name: `topic:weather` (every subscriber),
//! `group:workers` (every member), `any:workers` (one member). So any agent that can send can publish, in any language.
//! The path of a message to one agent is not affected: the router comes here only with a name that is no agent's. The
//! delivered message is the one that was sent, with the topic or group as its `:receiver`. JADE's topics are AIDs as
//! well, groups are like Erlang's `pg`, and anycast is like a NATS queue group.
//!
//! [`Topics`] is one node's knowledge, without I/O. Inputs: [`Topics::join`], [`Topics::leave`], and what the node
//! observes (`handle_*`). Outputs: [`Topics::audience`] for the router and [`Topics::poll_news`] for the other nodes.
//! Each node knows its own subscribers and members by name. Of another node it knows which topics have subscribers
//! there, so that a broadcast crosses the link once. It also knows which agents there are members of groups, so that it
//! can choose one of them. A topic or group exists as long as an agent is in it; an agent leaves when it ends.
//!
//! ```
//! use whimbrel_platform::topics::{Topics, topic};
//!
//! let mut topics = Topics::new();
//! let weather = topic("weather")?;
//! topics.join("ada".into(), weather.name, false)?;
//! let audience = topics.audience(weather.name).expect("somebody subscribed");
//! assert_eq!(audience.local.as_ref(), ["ada".into()]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod audience;
mod elsewhere;
mod moving_subscribers;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use self::address::group_of;
pub use self::address::{Cast, TopicError, any_member, group, topic};
pub use self::audience::{Audience, ListeningNode};
use self::elsewhere::Remote;
use self::moving_subscribers::MovingSubscribers;
use crate::limits::{TOPIC_NEWS_NAMES_MAX, TOPIC_SUBSCRIBERS_MAX, TOPICS_MAX, TOPICS_PER_AGENT_MAX};
use crate::link::News;
use crate::route::NodeId;

/// Topics and groups, as one node knows them; see the [module](self). After each input, take news until there are none.
#[derive(Debug, Default)]
pub struct Topics {
    /// Entries by whole name: `topic:NAME` or `group:NAME`.
    entries: FxHashMap<Symbol, TopicEntry>,
    /// Agents of this node that are in a topic or group.
    agents: FxHashMap<Symbol, TopicMember>,
    /// Groups of members on other nodes, each with its place in the order of joining.
    members_elsewhere: FxHashMap<(NodeId, Symbol), FxHashMap<Symbol, u64>>,
    /// Number of joins so far.
    joined: u64,
    version: u64,
    news: VecDeque<News>,
    /// Subscribers that move from node to node.
    roaming: MovingSubscribers,
}

/// Topic or group.
#[derive(Debug, Default)]
struct TopicEntry {
    /// Agents of this node, in the order in which they joined.
    local: BTreeMap<u64, Symbol>,
    /// Number of these agents that have too much to do.
    crowded: usize,
    remote: BTreeMap<NodeId, Remote>,
    turn: Arc<AtomicU32>,
    /// Audience, made on demand and dropped when an agent joins or leaves.
    audience: Option<Arc<Audience>>,
}

/// Agent of this node.
#[derive(Debug, Default)]
struct TopicMember {
    /// Topics and groups of the agent, each with its place in the order of joining.
    places: FxHashMap<Symbol, u64>,
    crowded: bool,
}

impl TopicMember {
    /// Returns the agent's topics and groups, the oldest first, so that news does not depend on how names are hashed.
    fn places_in_order(&self) -> Vec<(u64, Symbol)> {
        let mut places: Vec<(u64, Symbol)> = self.places.iter().map(|(name, place)| (*place, *name)).collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        places
    }
}

impl TopicEntry {
    fn is_empty(&self) -> bool {
        self.local.is_empty() && self.remote.is_empty()
    }

    fn audience(&mut self) -> Arc<Audience> {
        let Self { local, remote, turn, audience, .. } = self;
        let made = audience.get_or_insert_with(|| {
            let listener = |(node, remote): (&NodeId, &Remote)| ListeningNode { node: *node, crowded: remote.crowded };
            Arc::new(Audience {
                local: local.values().copied().collect(),
                nodes: remote.iter().map(listener).collect(),
                elsewhere: remote.values().flat_map(|remote| remote.members.values().copied()).collect(),
                turn: Arc::clone(turn),
                roaming: false,
            })
        });
        Arc::clone(made)
    }
}

impl Topics {
    /// Returns topics without any entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an agent of this node a subscriber of `topic:NAME` or a member of `group:NAME`. Returns false if it is one
    /// already. `crowded` tells if it has too much to do at the moment.
    ///
    /// # Errors
    /// The name is not one of a topic or group, or a limit is reached.
    pub fn join(&mut self, agent: Symbol, to: Symbol, crowded: bool) -> Result<bool, TopicError> {
        let is_topic = match Cast::split(to) {
            Some((Cast::Broadcast, name)) if Cast::allows(name) => true,
            Some((Cast::Multicast, name)) if Cast::allows(name) => false,
            _ => return Err(TopicError::NotJoinable(whimbrel_acl::Aid::local(to))),
        };
        let is_in = self.agents.get(&agent).is_some_and(|known| known.places.contains_key(&to));
        if is_in || self.roaming.places_of(agent).contains(&to) {
            return Ok(false);
        }
        self.check_room(agent, to)?;
        self.joined += 1;
        let place = self.joined;
        let known = self.agents.entry(agent).or_insert_with(|| TopicMember { crowded, ..TopicMember::default() });
        known.places.insert(to, place);
        let crowded = known.crowded;
        let entry = self.entries.entry(to).or_default();
        let first = entry.local.is_empty();
        entry.local.insert(place, agent);
        if !is_topic {
            self.news.push_back(News::Joined(to, vec![agent]));
        } else if first {
            self.news.push_back(News::Topics(vec![to]));
        }
        self.note_crowded(to, usize::from(crowded), 0);
        self.note_change(to);
        Ok(true)
    }

    fn check_room(&self, agent: Symbol, to: Symbol) -> Result<(), TopicError> {
        if self.agents.get(&agent).is_some_and(|known| known.places.len() >= TOPICS_PER_AGENT_MAX) {
            return Err(TopicError::TooManyOfAgent { agent, most: TOPICS_PER_AGENT_MAX });
        }
        match self.entries.get(&to) {
            None if self.entries.len() >= TOPICS_MAX => Err(TopicError::TooMany(TOPICS_MAX)),
            Some(entry) if entry.local.len() >= TOPIC_SUBSCRIBERS_MAX => {
                Err(TopicError::Full { name: to, most: TOPIC_SUBSCRIBERS_MAX })
            }
            _ => Ok(()),
        }
    }

    /// Returns the topics and groups of an agent of this node, in the order in which it joined them.
    pub fn places_of(&self, agent: Symbol) -> Vec<Symbol> {
        let known = self.agents.get(&agent).map(TopicMember::places_in_order).unwrap_or_default();
        self.roaming.places_of(agent).iter().copied().chain(known.into_iter().map(|(_, name)| name)).collect()
    }

    /// Takes an agent of this node out of a topic or group. Returns false if it was not in it.
    pub fn leave(&mut self, agent: Symbol, from: Symbol) -> bool {
        if self.roaming.leave(agent, from) {
            self.note_unheard(from);
            return true;
        }
        let Some(known) = self.agents.get_mut(&agent) else { return false };
        let Some(place) = known.places.remove(&from) else { return false };
        let crowded = known.crowded;
        if known.places.is_empty() {
            self.agents.remove(&agent);
        }
        self.take_out(agent, from, place, crowded);
        true
    }

    /// Takes an agent of this node that ended out of all its topics and groups.
    pub fn handle_agent_ended(&mut self, agent: Symbol) {
        self.forget_roaming(agent);
        self.handle_agent_left(agent);
    }

    fn handle_agent_left(&mut self, agent: Symbol) {
        let Some(known) = self.agents.remove(&agent) else { return };
        for (place, name) in known.places_in_order() {
            self.take_out(agent, name, place, known.crowded);
        }
    }

    fn take_out(&mut self, agent: Symbol, from: Symbol, place: u64, crowded: bool) {
        self.note_crowded(from, 0, usize::from(crowded));
        let Some(entry) = self.entries.get_mut(&from) else { return };
        entry.local.remove(&place);
        if Cast::of(from) == Some(Cast::Multicast) {
            if !self.roaming.passes_on(agent, from) {
                self.news.push_back(News::Left(from, agent));
            }
        } else if entry.local.is_empty() {
            return self.note_unheard(from);
        }
        self.note_change(from);
    }

    /// Notes that an agent of this node has too much to do, or has not any more.
    pub fn handle_crowded(&mut self, agent: Symbol, crowded: bool) {
        let Some(known) = self.agents.get_mut(&agent) else { return };
        if std::mem::replace(&mut known.crowded, crowded) == crowded {
            return;
        }
        for (_, name) in known.places_in_order() {
            self.note_crowded(name, usize::from(crowded), usize::from(!crowded));
        }
    }

    /// Counts agents of this node that have too much to do, more and less. Other nodes learn of the first and the last
    /// one.
    fn note_crowded(&mut self, name: Symbol, more: usize, less: usize) {
        let Some(entry) = self.entries.get_mut(&name) else { return };
        let was = entry.crowded > 0;
        entry.crowded = (entry.crowded + more).saturating_sub(less);
        let is = entry.crowded > 0;
        if was != is {
            self.news.push_back(News::Crowded(name, is));
        }
    }

    /// Notes that an agent joined or left.
    fn note_change(&mut self, name: Symbol) {
        self.version += 1;
        let Some(entry) = self.entries.get_mut(&name) else { return };
        entry.audience = None;
        if entry.is_empty() {
            self.entries.remove(&name);
        }
    }

    /// Returns a number that counts changes of audiences: while it stays, [`Topics::audience`] gives the same answers.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the audience of messages to this name: a topic's or a group's, also as `any:NAME`. `None` if it is
    /// empty.
    pub fn audience(&mut self, name: Symbol) -> Option<Arc<Audience>> {
        let name = if Cast::of(name) == Some(Cast::Anycast) { group_of(name) } else { name };
        if self.roaming.is_about(name) {
            return Some(self.audience_for(name, None));
        }
        self.entries.get_mut(&name).map(TopicEntry::audience)
    }

    /// Returns the audience of a message on a topic with subscribers on their way. The message comes from this node's
    /// peer `from`, or is published here.
    pub fn audience_for(&mut self, name: Symbol, from: Option<NodeId>) -> Arc<Audience> {
        let known = self.entries.get_mut(&name).map(TopicEntry::audience);
        let known = known.as_deref();
        let local = known.map_or(&[][..], |known| &*known.local).iter().copied();
        let roaming = self.roaming.subscribers(name, from);
        let mut heard = known.map_or(&[][..], |known| &*known.nodes).to_vec();
        for node in self.roaming.nodes(name) {
            if heard.iter().all(|listener| listener.node != node) {
                heard.push(ListeningNode { node, crowded: false });
            }
        }
        let members = known.map_or(&[][..], |known| &*known.elsewhere).iter().copied();
        let on_their_way = self.roaming.held_members(name);
        Arc::new(Audience {
            local: local.chain(roaming).collect(),
            nodes: heard.into(),
            elsewhere: members.chain(on_their_way).collect(),
            turn: known.map(|known| Arc::clone(&known.turn)).unwrap_or_default(),
            roaming: self.roaming.is_about(name),
        })
    }

    /// Returns the members of `group:NAME`, those of this node first. For `topic:NAME`, returns its subscribers on this
    /// node.
    pub fn members(&mut self, name: Symbol) -> Vec<Symbol> {
        let Some(known) = self.audience(name) else { return Vec::new() };
        // A member on its way may be known of two nodes.
        let mut seen = FxHashSet::default();
        known.local.iter().chain(&known.elsewhere).copied().filter(|member| seen.insert(*member)).collect()
    }

    /// Returns all topics and groups by name, with the number of agents of this node and of other nodes in each.
    pub fn list(&self) -> Vec<(Symbol, usize, usize)> {
        let row = |(name, entry): (&Symbol, &TopicEntry)| (*name, entry.local.len(), entry.remote.len());
        let mut all: Vec<_> = self.entries.iter().map(row).collect();
        all.sort_unstable_by_key(|(name, ..)| name.as_str());
        all
    }

    /// Returns the next news for the other nodes.
    pub fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Returns the news for a peer about the groups of these agents: their members, and which of them have too much to
    /// do.
    pub fn introduction_of(&self, agents: &FxHashSet<Symbol>) -> Vec<News> {
        let mut groups: BTreeMap<&str, (Symbol, Vec<Symbol>)> = BTreeMap::new();
        for agent in agents {
            let places = self.places_of(*agent).into_iter();
            for group in places.filter(|name| Cast::of(*name) != Some(Cast::Broadcast)) {
                groups.entry(group.as_str()).or_insert_with(|| (group, Vec::new())).1.push(*agent);
            }
        }
        let mut news = Vec::new();
        for (group, mut members) in groups.into_values() {
            members.sort_unstable_by_key(|member| member.as_str());
            news.extend(members.chunks(TOPIC_NEWS_NAMES_MAX).map(|some| News::Joined(group, some.into())));
            if self.entries.get(&group).is_some_and(|entry| entry.crowded > 0) {
                news.push(News::Crowded(group, true));
            }
        }
        news
    }

    /// Returns the news for a new peer. A topic of a subscriber on its way is heard here, too.
    pub fn introduction(&self) -> Vec<News> {
        let mut ours: Vec<(Symbol, &TopicEntry)> = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.local.is_empty())
            .map(|(name, entry)| (*name, entry))
            .collect();
        ours.sort_unstable_by_key(|(name, _)| name.as_str());
        let is_topic = |name: &Symbol| Cast::of(*name) == Some(Cast::Broadcast);
        let mut topics: Vec<Symbol> = ours.iter().map(|(name, _)| *name).filter(is_topic).collect();
        topics.extend(self.roaming.kept().filter(is_topic));
        topics.sort_unstable_by_key(|name| name.as_str());
        topics.dedup();
        let mut news: Vec<News> = topics.chunks(TOPIC_NEWS_NAMES_MAX).map(|names| News::Topics(names.into())).collect();
        for (name, entry) in &ours {
            if !is_topic(name) {
                let members: Vec<Symbol> = entry.local.values().copied().collect();
                news.extend(members.chunks(TOPIC_NEWS_NAMES_MAX).map(|some| News::Joined(*name, some.into())));
            }
            if entry.crowded > 0 {
                news.push(News::Crowded(*name, true));
            }
        }
        news
    }
}
