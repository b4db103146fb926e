//! Moving subscribers and members of groups. Each message to their topics and groups reaches them once, in the order of
//! its sender, while they move from one node to another.
//!
//! A node that publishes does not know the subscribers on other nodes. So while a subscriber moves, three kinds of
//! nodes have to agree, message by message, by which path it gets a copy. Each node changes from the old path to the
//! new one at one moment. Messages that it publishes before go to the source, which passes them on. Messages that it
//! publishes after go to the destination, where they wait.
//!
//! A node tells both of them, on the links on which its messages come, behind the last message of the old path. So both
//! know for each message over that link if the agent gets a copy from them. The node's scheduler must publish no
//! message while the node tells it.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::{Cast, TopicError, Topics};
use crate::limits::{TOPICS_MAX, TOPICS_PER_AGENT_MAX};
use crate::link::News;
use crate::mobility::HopId;
use crate::route::NodeId;

/// Moving subscribers and members, as one node knows them; see the module.
#[derive(Debug, Default)]
pub(super) struct MovingSubscribers {
    leaving: FxHashMap<Symbol, DepartedSubscriber>,
    arriving: FxHashMap<Symbol, Arriving>,
    /// Hops for whose agents this node has still to say that it publishes by the new path.
    following: FxHashMap<HopId, Following>,
    /// Nodes that get these topics for an agent that moved there, until they say that it is one of their subscribers.
    /// Their news of other agents meanwhile may be older than its arrival.
    held: FxHashMap<HopId, (NodeId, Vec<Symbol>)>,
    /// Nodes, by name, that would get these topics for an agent that moved there, if this node had a link to them.
    unlinked: FxHashMap<HopId, (Symbol, Vec<Symbol>)>,
    /// Hops whose agents have become ordinary subscribers here, or none: to be told.
    settled: Vec<HopId>,
}

/// Source and destination of a move, with the topics and groups.
#[derive(Debug)]
struct Following {
    source: NodeId,
    to: Symbol,
    places: Vec<Symbol>,
}

/// Agent that this node let go: the node still passes on messages by the old path.
#[derive(Debug)]
struct DepartedSubscriber {
    hop: HopId,
    to: NodeId,
    places: Vec<Symbol>,
    /// True while this node itself publishes by the old path.
    own: bool,
    /// Nodes that may still publish by the old path.
    links: FxHashSet<NodeId>,
    /// Hop by which the agent came, with the nodes whose change to this node is not over yet.
    earlier: Option<(HopId, FxHashSet<NodeId>)>,
}

/// Agent that arrived, or is arriving.
#[derive(Debug)]
struct Arriving {
    hop: HopId,
    source: NodeId,
    places: Vec<Symbol>,
    /// True once this node itself publishes by the new path.
    own: bool,
    /// Nodes that publish by the new path.
    links: FxHashSet<NodeId>,
    /// Nodes that do not yet, once the agent belongs to this node.
    missing: Option<FxHashSet<NodeId>>,
}

impl DepartedSubscriber {
    fn gets(&self, from: Option<NodeId>) -> bool {
        let is_early = |node: NodeId| self.earlier.as_ref().is_some_and(|(_, missing)| missing.contains(&node));
        from.map_or(self.own, |node| self.links.contains(&node) && !is_early(node))
    }
}

impl Arriving {
    fn gets(&self, from: Option<NodeId>) -> bool {
        match (from, &self.missing) {
            (None, _) => self.own,
            (Some(node), None) => self.links.contains(&node),
            (Some(node), Some(missing)) => !missing.contains(&node),
        }
    }

    fn is_settled(&self) -> bool {
        self.own && self.missing.as_ref().is_some_and(FxHashSet::is_empty)
    }
}

impl MovingSubscribers {
    /// Returns true if the audience of a message depends on where it comes from.
    pub fn is_about(&self, name: Symbol) -> bool {
        let Self { leaving, arriving, following, held, .. } = self;
        let nobody = leaving.is_empty() && arriving.is_empty() && following.is_empty() && held.is_empty();
        let is_in = |places: &[Symbol]| places.contains(&name);
        !nobody
            && (self.keeps(name)
                || following.values().any(|one| is_in(&one.places))
                || held.values().any(|(_, places)| is_in(places)))
    }

    /// Returns the nodes that get this topic for agents that moved there.
    pub fn nodes(&self, name: Symbol) -> impl Iterator<Item = NodeId> {
        self.held.values().filter(move |(_, places)| places.contains(&name)).map(|(node, _)| *node)
    }

    /// Returns members of this group that moved to such nodes and are not known there yet.
    pub fn held_members(&self, name: Symbol) -> impl Iterator<Item = Symbol> {
        let is_group = Cast::of(name) == Some(Cast::Multicast);
        self.held.iter().filter(move |(_, (_, places))| is_group && places.contains(&name)).map(|(hop, _)| hop.agent)
    }

    /// Sends messages for this agent to that node from now on, and nowhere else for its sake.
    fn hold(&mut self, hop: HopId, to: Option<NodeId>, places: Vec<Symbol>) {
        self.held.retain(|held, _| held.agent != hop.agent);
        self.unlinked.retain(|unlinked, _| unlinked.agent != hop.agent);
        if let Some(to) = to.filter(|_| !places.is_empty()) {
            self.held.insert(hop, (to, places));
        }
    }

    /// Returns true if messages to a group are still passed on to this agent.
    pub fn passes_on(&self, agent: Symbol, group: Symbol) -> bool {
        self.leaving.get(&agent).is_some_and(|one| one.places.contains(&group))
    }

    /// Returns the topics and groups whose messages must come here because of moving agents.
    pub fn kept(&self) -> impl Iterator<Item = Symbol> {
        let leaving = self.leaving.values().flat_map(|one| &one.places);
        leaving.chain(self.arriving.values().flat_map(|one| &one.places)).copied()
    }

    /// Returns true if messages to this topic are among them.
    pub fn keeps(&self, name: Symbol) -> bool {
        self.kept().any(|kept| kept == name)
    }

    /// Returns the agents to which this node gives a message that comes from there, or is published here.
    pub fn subscribers(&self, name: Symbol, from: Option<NodeId>) -> Vec<Symbol> {
        let leaving = self.leaving.iter().filter(|(_, one)| one.places.contains(&name) && one.gets(from));
        let arriving = self.arriving.iter().filter(|(_, one)| one.places.contains(&name) && one.gets(from));
        let mut all: Vec<Symbol> = leaving.map(|(agent, _)| *agent).chain(arriving.map(|(agent, _)| *agent)).collect();
        all.sort_unstable_by_key(|agent| agent.as_str());
        all
    }

    pub fn places_of(&self, agent: Symbol) -> &[Symbol] {
        self.arriving.get(&agent).map_or(&[], |one| one.places.as_slice())
    }

    /// Takes an arriving agent out of a topic. Returns false if it was not in it.
    pub fn leave(&mut self, agent: Symbol, topic: Symbol) -> bool {
        let Some(one) = self.arriving.get_mut(&agent) else { return false };
        let before = one.places.len();
        one.places.retain(|known| *known != topic);
        one.places.len() < before
    }
}

/// Part of the source.
impl Topics {
    /// Notes that an agent of this node is about to be another's. Messages that these nodes, and this node's own
    /// agents, publish still come here.
    pub fn handle_leaving(&mut self, hop: HopId, to: NodeId, links: impl IntoIterator<Item = NodeId>) {
        let agent = hop.agent;
        let places = self.places_of(agent);
        let earlier = self.roaming.arriving.remove(&agent).and_then(|one| Some((one.hop, one.missing?)));
        if !places.is_empty() {
            let (places, links) = (places.clone(), links.into_iter().collect());
            self.roaming.leaving.insert(agent, DepartedSubscriber { hop, to, places, own: true, links, earlier });
        }
        // Messages on them still come here: other nodes are not told.
        self.handle_agent_left(agent);
        places.into_iter().for_each(|name| self.note_change(name));
    }

    /// Notes that a node publishes by the new path from now on.
    pub fn handle_followed(&mut self, hop: HopId, node: NodeId) {
        self.change_leaving(hop, |leaving| {
            leaving.links.remove(&node);
        });
    }

    /// Notes that this node itself publishes by the new path: its agents' messages go to the destination directly.
    /// Returns the topics and groups.
    pub fn handle_own_followed(&mut self, hop: HopId) -> Vec<Symbol> {
        let leaving = self.roaming.leaving.get(&hop.agent).filter(|leaving| leaving.hop == hop);
        let Some((to, places)) = leaving.map(|leaving| (leaving.to, leaving.places.clone())) else { return Vec::new() };
        self.roaming.hold(hop, Some(to), places.clone());
        self.change_leaving(hop, |leaving| leaving.own = false);
        places
    }

    /// Returns true if this node passes on messages for an agent that it let go by this hop.
    pub fn is_leaving(&self, hop: HopId) -> bool {
        self.roaming.leaving.get(&hop.agent).is_some_and(|leaving| leaving.hop == hop)
    }

    fn change_leaving(&mut self, hop: HopId, change: impl FnOnce(&mut DepartedSubscriber)) {
        let Some(leaving) = self.roaming.leaving.get_mut(&hop.agent).filter(|leaving| leaving.hop == hop) else {
            return;
        };
        change(leaving);
        let (places, is_over) = (leaving.places.clone(), !leaving.own && leaving.links.is_empty());
        if is_over {
            self.roaming.leaving.remove(&hop.agent);
        }
        for name in places {
            if is_over { self.note_left(hop.agent, name) } else { self.note_change(name) }
        }
    }
}

/// Part of any other node, and of the destination.
impl Topics {
    /// Notes that an agent in these topics and groups leaves that node. This node's agents publish on them with care,
    /// until [`Topics::handle_switched`].
    pub fn handle_roams(&mut self, hop: HopId, source: NodeId, to: Symbol, mut places: Vec<Symbol>) {
        if self.roaming.following.len() >= TOPICS_MAX {
            return;
        }
        places.truncate(TOPICS_PER_AGENT_MAX);
        self.follow_later(hop, source, to, places);
    }

    fn follow_later(&mut self, hop: HopId, source: NodeId, to: Symbol, places: Vec<Symbol>) {
        self.roaming.following.insert(hop, Following { source, to, places: places.clone() });
        places.into_iter().for_each(|name| self.note_change(name));
    }

    /// Returns the destination of an agent, if this node has still to say that it publishes by the new path.
    pub fn destination_of(&self, hop: HopId) -> Option<Symbol> {
        self.roaming.following.get(&hop).map(|one| one.to)
    }

    /// Switches to the new path. Messages published here go to the agent's node from now on, if that node exists and
    /// may get messages of these topics. Without a link to it, they go there from [`Topics::handle_introduced`] on.
    /// Returns the topics and groups, and the errors of an agent of this node.
    pub fn handle_switched(
        &mut self,
        hop: HopId,
        to: Option<NodeId>,
        may_hear: impl Fn(Symbol) -> bool,
    ) -> (Vec<Symbol>, Vec<TopicError>) {
        let Some(Following { places, to: name, .. }) = self.roaming.following.remove(&hop) else {
            return (Vec::new(), Vec::new());
        };
        let comes_here = self.roaming.arriving.get(&hop.agent).is_some_and(|arriving| arriving.hop == hop);
        self.roaming.hold(hop, to, places.iter().copied().filter(|name| may_hear(*name)).collect());
        if to.is_none() && !comes_here && self.roaming.unlinked.len() < TOPICS_MAX {
            self.roaming.unlinked.insert(hop, (name, places.clone()));
        }
        places.iter().for_each(|name| self.note_change(*name));
        let errors = self.change_arriving(hop, |arriving| arriving.own = true);
        (places, errors)
    }

    /// Notes that a node publishes by the new path for an agent that arrives here from `source`.
    pub fn handle_cleared(&mut self, hop: HopId, source: NodeId, node: NodeId, places: Vec<Symbol>) -> Vec<TopicError> {
        if self.roaming.arriving.get(&hop.agent).is_none_or(|arriving| arriving.hop != hop) {
            let links = FxHashSet::default();
            let arriving = Arriving { hop, source, places, own: false, links, missing: None };
            self.roaming.arriving.insert(hop.agent, arriving);
        }
        self.handle_cleared_late(hop, node)
    }

    /// Notes the same for an agent that is here already, has left again, or has ended.
    pub fn handle_cleared_late(&mut self, hop: HopId, node: NodeId) -> Vec<TopicError> {
        if let Some(leaving) = self.roaming.leaving.get_mut(&hop.agent)
            && let Some((earlier, missing)) = &mut leaving.earlier
            && *earlier == hop
        {
            if !missing.remove(&node) {
                // The node is late, and nothing waits for its answer.
                self.roaming.settled.push(hop);
            }
            let places = leaving.places.clone();
            places.into_iter().for_each(|name| self.note_change(name));
        } else if !self.roaming.arriving.contains_key(&hop.agent) {
            // The agent has ended since.
            self.roaming.settled.push(hop);
        }
        self.change_arriving(hop, |arriving| {
            arriving.links.insert(node);
            if let Some(missing) = &mut arriving.missing {
                missing.remove(&node);
            }
        })
    }

    /// Notes a link to the node of this name. Messages that are published here go there from now on, for agents that
    /// moved there when there was no link. Returns these hops with their topics and groups.
    pub fn handle_introduced(
        &mut self,
        node: NodeId,
        name: Symbol,
        may_hear: impl Fn(Symbol, Symbol) -> bool,
    ) -> Vec<(HopId, Vec<Symbol>)> {
        let went: Vec<_> = self.roaming.unlinked.extract_if(|_, (to, _)| *to == name).collect();
        let mut cleared = Vec::new();
        for (hop, (_, places)) in went {
            let heard: Vec<Symbol> = places.into_iter().filter(|name| may_hear(hop.agent, *name)).collect();
            self.roaming.hold(hop, Some(node), heard.clone());
            heard.iter().for_each(|name| self.note_change(*name));
            cleared.push((hop, heard));
        }
        cleared
    }

    /// Returns the next hop whose agent has become an ordinary subscriber of this node, or none. Other nodes are to
    /// learn of it, after the news of [`Topics::poll_news`].
    pub fn poll_settled(&mut self) -> Option<HopId> {
        self.roaming.settled.pop()
    }

    /// Notes that an agent that moved to a node has become an ordinary subscriber there, or none.
    pub fn handle_settled(&mut self, hop: HopId, node: NodeId) {
        let is_there = self.roaming.held.get(&hop).is_some_and(|(to, _)| *to == node);
        if let Some((_, places)) = is_there.then(|| self.roaming.held.remove(&hop)).flatten() {
            places.into_iter().for_each(|name| self.note_change(name));
        }
    }

    /// Notes that the agent belongs to this node, `me`, from now on, and is in these topics and groups. These nodes
    /// publish by the old path until they say otherwise, and so does this one until [`Topics::handle_switched`].
    pub fn handle_owned(
        &mut self,
        hop: HopId,
        source: NodeId,
        me: Symbol,
        places: Vec<Symbol>,
        nodes: impl IntoIterator<Item = NodeId>,
    ) {
        let before = self.roaming.arriving.remove(&hop.agent).filter(|arriving| arriving.hop == hop);
        let links = before.map(|arriving| arriving.links).unwrap_or_default();
        let missing = Some(nodes.into_iter().filter(|node| !links.contains(node)).collect());
        self.follow_later(hop, source, me, places.clone());
        self.roaming.arriving.insert(hop.agent, Arriving { hop, source, places, own: false, links, missing });
    }

    fn change_arriving(&mut self, hop: HopId, change: impl FnOnce(&mut Arriving)) -> Vec<TopicError> {
        let arriving = self.roaming.arriving.get_mut(&hop.agent).filter(|arriving| arriving.hop == hop);
        let Some(arriving) = arriving else { return Vec::new() };
        change(arriving);
        let (places, is_settled) = (arriving.places.clone(), arriving.is_settled());
        if is_settled {
            self.roaming.arriving.remove(&hop.agent);
            self.roaming.settled.push(hop);
        }
        let mut errors = Vec::new();
        for name in places {
            // The agent is an ordinary subscriber now.
            errors.extend(is_settled.then(|| self.join(hop.agent, name, false).err()).flatten());
            self.note_unheard(name);
        }
        errors
    }
}

/// End of agents, and loss of nodes.
impl Topics {
    /// Forgets an agent that has ended, or does not arrive after all.
    pub(super) fn forget_roaming(&mut self, agent: Symbol) {
        let leaving = self.roaming.leaving.remove(&agent).map(|one| one.places).unwrap_or_default();
        leaving.into_iter().for_each(|name| self.note_left(agent, name));
        let arriving = self.roaming.arriving.remove(&agent);
        self.roaming.settled.extend(arriving.as_ref().map(|one| one.hop));
        arriving.into_iter().flat_map(|one| one.places).for_each(|name| self.note_unheard(name));
    }

    /// Forgets an agent that ended after it moved to that node.
    pub(super) fn forget_gone(&mut self, agent: Symbol, node: NodeId) {
        if self.roaming.leaving.get(&agent).is_some_and(|leaving| leaving.to == node) {
            self.forget_roaming(agent);
        }
    }

    /// Forgets a node that is lost: it sends nothing more, and agents that moved there are gone.
    pub(super) fn lose_roaming(&mut self, node: NodeId) {
        let MovingSubscribers { following, arriving, .. } = &mut self.roaming;
        let stays = |hop: &HopId| arriving.get(&hop.agent).is_some_and(|one| one.hop == *hop);
        let lost: Vec<(HopId, Following)> =
            following.extract_if(|hop, one| one.source == node && !stays(hop)).collect();
        lost.into_iter().flat_map(|(_, one)| one.places).for_each(|name| self.note_change(name));
        let deaf: Vec<_> = self.roaming.held.extract_if(|_, (to, _)| *to == node).collect();
        deaf.into_iter().flat_map(|(_, (_, places))| places).for_each(|name| self.note_change(name));
        let gone: Vec<Symbol> =
            self.roaming.leaving.iter().filter(|(_, one)| one.to == node).map(|(agent, _)| *agent).collect();
        gone.into_iter().for_each(|agent| self.forget_roaming(agent));
        let left: Vec<HopId> = self.roaming.leaving.values().map(|one| one.hop).collect();
        for hop in left {
            self.change_leaving(hop, |leaving| {
                leaving.links.remove(&node);
                if let Some((_, missing)) = &mut leaving.earlier {
                    missing.remove(&node);
                }
            });
        }
        let came: Vec<HopId> = self.roaming.arriving.values().map(|one| one.hop).collect();
        for hop in came {
            // An agent that cannot be a subscriber any more is told when it next uses topics.
            self.change_arriving(hop, |arriving| {
                let Some(missing) = &mut arriving.missing else { return };
                missing.remove(&node);
                // Nodes that had not learned of the move from its source never will.
                if arriving.source == node {
                    missing.clear();
                }
            });
        }
    }

    /// Notes that messages no longer come here for an agent that left: other nodes learn of that.
    fn note_left(&mut self, agent: Symbol, name: Symbol) {
        if Cast::of(name) != Some(Cast::Multicast) {
            return self.note_unheard(name);
        }
        // The agent may have come back since.
        if !self.places_of(agent).contains(&name) {
            self.news.push_back(News::Left(name, agent));
        }
        self.note_change(name);
    }

    /// Notes that a subscriber is gone for which messages on a topic came here. Other nodes learn of it if it was the
    /// last one.
    pub(super) fn note_unheard(&mut self, name: Symbol) {
        let is_heard = self.entries.get(&name).is_some_and(|entry| !entry.local.is_empty()) || self.roaming.keeps(name);
        if !is_heard && Cast::of(name) == Some(Cast::Broadcast) {
            self.news.push_back(News::NoTopic(name));
        }
        self.note_change(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::topic;

    const O: NodeId = NodeId(1);
    const D: NodeId = NodeId(2);
    const Z: NodeId = NodeId(3);

    fn news() -> Symbol {
        topic("news").unwrap().name
    }

    fn hop() -> HopId {
        HopId { agent: "amy".into(), number: 7 }
    }

    fn local(topics: &mut Topics, from: Option<NodeId>) -> Vec<String> {
        topics.audience_for(news(), from).local.iter().map(|name| name.to_string()).collect()
    }

    fn told(topics: &mut Topics) -> Vec<News> {
        std::iter::from_fn(|| topics.poll_news()).collect()
    }

    #[test]
    fn source_passes_on_until_nodes_follow() {
        let mut topics = Topics::new();
        topics.join("amy".into(), news(), false).unwrap();
        told(&mut topics);
        topics.handle_leaving(hop(), D, [D, Z]);
        assert!(topics.audience(news()).unwrap().roaming);
        for from in [None, Some(D), Some(Z)] {
            assert_eq!(local(&mut topics, from), ["amy"], "{from:?}");
        }
        topics.handle_followed(hop(), Z);
        assert_eq!((local(&mut topics, Some(Z)).len(), local(&mut topics, Some(D)).len()), (0, 1));
        assert_eq!(topics.handle_own_followed(hop()), [news()]);
        assert_eq!(local(&mut topics, None), [""; 0]);
        assert_eq!(topics.audience_for(news(), None).nodes.len(), 1, "it goes to the destination");
        assert_eq!(told(&mut topics), [], "others still send what they published here");
        topics.handle_followed(hop(), D);
        assert_eq!(told(&mut topics), [News::NoTopic(news())]);
        // News that was under way before the agent arrived there.
        assert!(topics.handle_news(D, &News::NoTopic(news())));
        assert_eq!(topics.audience(news()).unwrap().nodes.len(), 1);
        topics.handle_settled(hop(), D);
        assert!(topics.audience(news()).is_none(), "it would have said so, were it a subscriber");
    }

    #[test]
    fn destination_delivers_after_nodes_follow() {
        let mut topics = Topics::new();
        topics.join("bob".into(), news(), false).unwrap();
        told(&mut topics);
        // A third node may be heard before the source.
        assert_eq!(topics.handle_cleared(hop(), O, Z, vec![news()]), []);
        assert_eq!(
            (local(&mut topics, Some(Z)), local(&mut topics, Some(O))),
            (vec!["bob".into(), "amy".into()], vec!["bob".into()])
        );
        topics.handle_owned(hop(), O, "d".into(), vec![news()], [O, Z]);
        assert_eq!((local(&mut topics, Some(Z)).len(), local(&mut topics, Some(O)).len()), (2, 1));
        assert_eq!((local(&mut topics, None).len(), topics.places_of("amy".into())), (1, vec![news()]));
        assert_eq!(topics.handle_switched(hop(), None, |_| true), (vec![news()], vec![]));
        assert_eq!(local(&mut topics, None).len(), 2);
        assert_eq!(topics.handle_cleared_late(hop(), O), []);
        assert!(!topics.audience(news()).unwrap().roaming, "it is one of several now");
        assert_eq!((topics.poll_settled(), topics.poll_settled()), (Some(hop()), None));
        assert_eq!(topics.audience(news()).unwrap().local.len(), 2);
        assert_eq!(told(&mut topics), []);
    }

    #[test]
    fn lost_node_is_not_awaited() {
        let mut topics = Topics::new();
        topics.handle_owned(hop(), O, "d".into(), vec![news()], [O, Z]);
        topics.handle_switched(hop(), None, |_| true);
        topics.handle_node_lost(O);
        assert_eq!(local(&mut topics, Some(Z)), ["amy"], "who has not heard of it from its source never will");
        assert_eq!(told(&mut topics), [News::Topics(vec![news()])]);
        let mut source = Topics::new();
        source.join("amy".into(), news(), false).unwrap();
        source.handle_leaving(hop(), D, [D, Z]);
        source.handle_node_lost(D);
        assert!(source.audience(news()).is_none());
        let mut third = Topics::new();
        third.handle_roams(hop(), O, "d".into(), vec![news()]);
        third.handle_node_lost(O);
        assert!(third.audience(news()).is_none() && third.destination_of(hop()).is_none());
    }

    #[test]
    fn moving_on_keeps_unsettled_hops() {
        let mut topics = Topics::new();
        topics.handle_owned(hop(), O, "d".into(), vec![news()], [O, Z]);
        topics.handle_switched(hop(), None, |_| true);
        topics.handle_cleared_late(hop(), Z);
        let next = HopId { number: 8, ..hop() };
        topics.handle_leaving(next, Z, [O, Z]);
        assert_eq!((local(&mut topics, Some(O)).len(), local(&mut topics, Some(Z)).len()), (0, 1));
        topics.handle_cleared_late(hop(), O);
        assert_eq!(local(&mut topics, Some(O)), ["amy"], "that is behind what went by way of the first node");
        topics.handle_agent_ended("amy".into());
        assert!(topics.audience(news()).is_none());
    }

    #[test]
    fn unlinked_destination_gets_topics_once_linked() {
        let mut third = Topics::new();
        third.handle_roams(hop(), O, "d".into(), vec![news()]);
        assert_eq!(third.handle_switched(hop(), None, |_| true), (vec![news()], vec![]));
        assert!(third.audience(news()).is_none());
        assert_eq!(third.handle_introduced(Z, "z".into(), |_, _| true), []);
        assert_eq!(third.handle_introduced(D, "d".into(), |_, _| true), [(hop(), vec![news()])]);
        let nodes: Vec<NodeId> = third.audience(news()).unwrap().nodes.iter().map(|it| it.node).collect();
        assert_eq!(nodes, [D]);
        assert_eq!(third.handle_introduced(D, "d".into(), |_, _| true), [], "it is told once");
    }

    #[test]
    fn moving_member_can_be_chosen() {
        let crew = crate::topics::group("crew").unwrap().name;
        let mut topics = Topics::new();
        topics.join("amy".into(), crew, false).unwrap();
        topics.handle_leaving(hop(), D, [D]);
        assert_eq!(topics.members(crew), ["amy".into()]);
        topics.handle_own_followed(hop());
        assert_eq!(topics.members(crew), ["amy".into()], "it is on its way to the node that will say so");
        told(&mut topics);
        topics.handle_followed(hop(), D);
        assert_eq!(told(&mut topics), [News::Left(crew, "amy".into())]);
        topics.handle_settled(hop(), D);
        assert_eq!(topics.members(crew), [""; 0].map(Symbol::from));
    }

    #[test]
    fn introduction_names_moving_subscribers_topics() {
        let mut topics = Topics::new();
        topics.join("amy".into(), news(), false).unwrap();
        topics.handle_leaving(hop(), D, [D, Z]);
        assert_eq!(
            topics.introduction(),
            [News::Topics(vec![news()])],
            "what is published there comes by way of this node"
        );
    }

    #[test]
    fn unsubscribed_while_moving_gets_nothing() {
        let mut topics = Topics::new();
        topics.handle_owned(hop(), O, "d".into(), vec![news()], [O]);
        assert_eq!(topics.join("amy".into(), news(), false), Ok(false));
        assert!(topics.leave("amy".into(), news()) && !topics.leave("amy".into(), news()));
        topics.handle_switched(hop(), None, |_| true);
        assert_eq!(topics.handle_cleared_late(hop(), O), []);
        assert_eq!(local(&mut topics, Some(O)), [""; 0]);
    }
}
