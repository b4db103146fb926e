//! Topics and groups: agents join and leave, and other nodes are told.

use std::sync::atomic::Ordering;

use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::HopNews;
use whimbrel_platform::route::{NodeId, Place};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::topics::{Cast, TopicError, Topics};

use super::Node;
use crate::sync::locked;

impl Node {
    /// Asks for the state of topics and groups, and announces changes to other nodes.
    pub fn with_topics<T>(&self, ask: impl FnOnce(&mut Topics) -> T) -> T {
        let mut topics = locked(&self.forum.topics);
        let answer = ask(&mut topics);
        // Announced under the lock, so that news keeps its order.
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
            // An agent loses its route before it is taken out of topics and groups. So either this thread sees that
            // the agent is gone, or the ending thread sees the new membership.
            match self.routes.look_up(agent.name).place() {
                Place::Local(place) => topics.join(agent.name, to.name, place.crowded).map(drop),
                _ => Err(TopicError::NoSuchAgent(agent)),
            }
        })
    }

    /// Takes an agent that ended out of all topics and groups.
    pub fn leave_all(&self, agent: Symbol) {
        if self.forum.version.load(Ordering::Acquire) > 0 {
            self.with_topics(|topics| topics.handle_agent_ended(agent));
        }
    }

    /// Handles another node's news of topics and groups, without agents that may not be in them.
    pub fn hear_of_topics(&self, from: NodeId, news: News) {
        let news = match news {
            News::Topics(mut topics) => {
                topics.retain(|topic| self.permits_subscribing(from, *topic));
                News::Topics(topics)
            }
            News::Joined(group, mut members) => {
                // The agent lives there, or is on its way from there and may stay after all.
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

    /// Returns true if messages to this name of a topic or group have a destination: a topic always accepts them.
    pub fn takes_in(&self, name: Symbol) -> bool {
        match Cast::of(name) {
            None => false,
            Some(Cast::Broadcast) => true,
            Some(Cast::Multicast | Cast::Anycast) => self.with_topics(|topics| topics.audience(name).is_some()),
        }
    }
}
