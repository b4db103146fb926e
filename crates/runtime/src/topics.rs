//! Topics and groups of a node: its knowledge behind one lock, and what shards and links remember of it.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::limits::TOPIC_AUDIENCES_MAX;
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::HopNews;
use whimbrel_platform::route::{NodeId, Place};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::topics::{Audience, Cast, TopicError, Topics};

use crate::node::Node;
use crate::roaming::Publishing;
use crate::sync::{Arc, Mutex, locked};

/// See the module.
#[derive(Default)]
pub(crate) struct Forum {
    topics: Mutex<Topics>,
    /// As [`Topics::version`]: changed while the lock is held, read without it.
    version: AtomicU64,
    pub publishing: Publishing,
}

/// Who gets what is sent to topics and groups, as its holder saw it last.
#[derive(Default)]
pub(crate) struct Audiences {
    version: u64,
    by_name: FxHashMap<Symbol, Option<Arc<Audience>>>,
}

impl Audiences {
    /// Who gets messages to this topic or group now; `None` if nobody does.
    pub fn of(&mut self, name: Symbol, forum: &Forum) -> Option<Arc<Audience>> {
        let version = forum.version.load(Ordering::Acquire);
        if version != self.version || self.by_name.len() >= TOPIC_AUDIENCES_MAX {
            self.by_name.clear();
            self.version = version;
        }
        self.by_name.entry(name).or_insert_with(|| locked(&forum.topics).audience(name)).clone()
    }
}

impl Node {
    /// Asks what is known of topics and groups. Other nodes hear of what changes.
    pub fn with_topics<T>(&self, ask: impl FnOnce(&mut Topics) -> T) -> T {
        let mut topics = locked(&self.forum.topics);
        let answer = ask(&mut topics);
        // Under the lock, so that news are told in their order.
        while let Some(news) = topics.poll_news() {
            if let Some(links) = self.linked.links() {
                links.tell_all(news);
            }
        }
        while let Some(hop) = topics.poll_settled() {
            if let Some(links) = self.linked.links() {
                links.tell_all(News::Hop(HopNews::Settled(hop)));
            }
        }
        self.forum.version.store(topics.version(), Ordering::Release);
        answer
    }

    /// Makes an agent of this node a subscriber of a topic or a member of a group.
    pub fn join(&self, agent: Aid, to: Aid) -> Result<(), TopicError> {
        if to.platform != sym::EMPTY && to.platform != self.name {
            return Err(TopicError::NotJoinable(to));
        }
        if !self.permits_joining(agent, to.name) {
            return Err(TopicError::Forbidden { agent, to });
        }
        self.with_topics(|topics| {
            // An agent loses its route before it is taken out of what it is in: so either it is seen here that it is
            // gone, or what is joined here is left there.
            match self.routes.look_up(agent.name).place() {
                Place::Local(place) => topics.join(agent.name, to.name, place.crowded).map(drop),
                _ => Err(TopicError::NoSuchAgent(agent)),
            }
        })
    }

    /// An agent of this node ended.
    pub fn leave_all(&self, agent: Symbol) {
        if self.forum.version.load(Ordering::Acquire) > 0 {
            self.with_topics(|topics| topics.handle_agent_ended(agent));
        }
    }

    /// Another node has news of topics and groups. Who may not be in them is not.
    pub fn hear_of_topics(&self, from: NodeId, news: News) {
        let news = match news {
            News::Topics(mut topics) => {
                topics.retain(|topic| self.permits_subscribing(from, *topic));
                News::Topics(topics)
            }
            News::Joined(group, mut members) => {
                // Or comes from there just now, and may stay after all.
                let lives_there = |member: Symbol| match self.routes.look_up(member).place() {
                    Place::Node(node) => node == from,
                    Place::Local(_) => self.comes_from(member, from),
                    _ => false,
                };
                members.retain(|member| lives_there(*member) && self.permits_joining(Aid::local(*member), group));
                News::Joined(group, members)
            }
            news => news,
        };
        if !self.with_topics(|topics| topics.handle_news(from, &news)) {
            let text = "another node has more topics or groups than can be, or such that are none";
            self.output.log(Aid::local(sym::AMS), LogLevel::Warning, text);
        }
    }

    /// Whether messages to this name have somewhere to go though it is no agent's: a topic always takes them.
    pub fn takes_in(&self, name: Symbol) -> bool {
        match Cast::of(name) {
            None => false,
            Some(Cast::Broadcast) => true,
            Some(Cast::Multicast | Cast::Anycast) => self.with_topics(|topics| topics.audience(name).is_some()),
        }
    }
}
