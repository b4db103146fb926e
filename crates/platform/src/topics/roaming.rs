//! Subscribers and members on their way from one node to another: each message on their topics and to their groups reaches them once, in the
//! order of its sender.
//!
//! Who publishes does not know who subscribed on other nodes, so while a subscriber moves three kinds of nodes have to agree, message by
//! message, by which way it gets a copy. For each node there is one moment at which it changes from the one way to the other: what it publishes
//! before goes to the source, which passes it on, and what it publishes after goes to the destination, where it waits. A node says so to
//! both of them, on the links on which its messages come, behind the last message before: so both know for each message that comes over
//! that link whether the agent gets a copy from them. That no message is published while a node says so is its scheduler's affair.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::{Cast, TopicError, Topics};
use crate::limits::{TOPICS_MAX, TOPICS_PER_AGENT_MAX};
use crate::link::News;
use crate::mobility::HopId;
use crate::route::NodeId;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Roaming {
    leaving: FxHashMap<Symbol, Leaving>,
    arriving: FxHashMap<Symbol, Arriving>,
    /// Hops of which this node has still to say that it publishes for their agents by the new way.
    following: FxHashMap<HopId, Following>,
    /// Nodes that hear these topics for the sake of an agent which went there, until they say that it is one of their subscribers. What
    /// they say of others meanwhile may have been said before it came.
    held: FxHashMap<HopId, (NodeId, Vec<Symbol>)>,
    /// Nodes, by name, that would hear these topics for the sake of an agent which went there, if this one knew a way to them.
    unlinked: FxHashMap<HopId, (Symbol, Vec<Symbol>)>,
    /// Hops whose agents are subscribers here like any other, or no more: to be told.
    settled: Vec<HopId>,
}

/// From which node to which, and the topics and groups.
#[derive(Debug)]
struct Following {
    source: NodeId,
    to: Symbol,
    places: Vec<Symbol>,
}

/// An agent that this node let go: it still passes on what comes by the old way.
#[derive(Debug)]
struct Leaving {
    hop: HopId,
    to: NodeId,
    places: Vec<Symbol>,
    /// This node itself publishes by the old way.
    own: bool,
    /// These nodes may still.
    links: FxHashSet<NodeId>,
    /// The hop by which it came: for what these nodes say that is not over yet.
    earlier: Option<(HopId, FxHashSet<NodeId>)>,
}

/// An agent that came, or comes.
#[derive(Debug)]
struct Arriving {
    hop: HopId,
    source: NodeId,
    places: Vec<Symbol>,
    /// This node itself publishes by the new way.
    own: bool,
    /// These nodes do.
    links: FxHashSet<NodeId>,
    /// It is this node's, and these do not yet.
    missing: Option<FxHashSet<NodeId>>,
}

impl Leaving {
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

impl Roaming {
    /// Whether it depends on where a message comes from who gets it.
    pub fn is_about(&self, name: Symbol) -> bool {
        let Self { leaving, arriving, following, held, .. } = self;
        let nobody = leaving.is_empty() && arriving.is_empty() && following.is_empty() && held.is_empty();
        let is_in = |places: &[Symbol]| places.contains(&name);
        !nobody
            && (self.keeps(name)
                || following.values().any(|one| is_in(&one.places))
                || held.values().any(|(_, places)| is_in(places)))
    }

    /// Nodes that hear this topic for the sake of such agents.
    pub fn nodes(&self, name: Symbol) -> impl Iterator<Item = NodeId> {
        self.held.values().filter(move |(_, places)| places.contains(&name)).map(|(node, _)| *node)
    }

    /// Members of this group that went to such nodes: they are not known there yet.
    pub fn held_members(&self, name: Symbol) -> impl Iterator<Item = Symbol> {
        let is_group = Cast::of(name) == Some(Cast::Multicast);
        self.held.iter().filter(move |(_, (_, places))| is_group && places.contains(&name)).map(|(hop, _)| hop.agent)
    }

    /// What is published for this agent goes to that node from now on, and nowhere else for its sake.
    fn hold(&mut self, hop: HopId, to: Option<NodeId>, places: Vec<Symbol>) {
        self.held.retain(|held, _| held.agent != hop.agent);
        self.unlinked.retain(|unlinked, _| unlinked.agent != hop.agent);
        if let Some(to) = to.filter(|_| !places.is_empty()) {
            self.held.insert(hop, (to, places));
        }
    }

    /// Whether what is sent to a group is still passed on to this agent.
    pub fn passes_on(&self, agent: Symbol, group: Symbol) -> bool {
        self.leaving.get(&agent).is_some_and(|one| one.places.contains(&group))
    }

    /// The topics and groups whose messages are to come here because of such an agent.
    pub fn kept(&self) -> impl Iterator<Item = Symbol> {
        let leaving = self.leaving.values().flat_map(|one| &one.places);
        leaving.chain(self.arriving.values().flat_map(|one| &one.places)).copied()
    }

    /// Whether messages to this topic are among them.
    pub fn keeps(&self, name: Symbol) -> bool {
        self.kept().any(|kept| kept == name)
    }

    /// The agents to whom this node gives a message that comes from there, or is published here.
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

    /// It subscribes no longer; false if it did not.
    pub fn leave(&mut self, agent: Symbol, topic: Symbol) -> bool {
        let Some(one) = self.arriving.get_mut(&agent) else { return false };
        let before = one.places.len();
        one.places.retain(|known| *known != topic);
        one.places.len() < before
    }
}

/// The source's part.
impl Topics {
    /// An agent of this node is about to be another's. What these nodes publish still comes here, and this node's own agents' does.
    pub fn handle_leaving(&mut self, hop: HopId, to: NodeId, links: impl IntoIterator<Item = NodeId>) {
        let agent = hop.agent;
        let places = self.places_of(agent);
        let earlier = self.roaming.arriving.remove(&agent).and_then(|one| Some((one.hop, one.missing?)));
        if !places.is_empty() {
            let (places, links) = (places.clone(), links.into_iter().collect());
            self.roaming.leaving.insert(agent, Leaving { hop, to, places, own: true, links, earlier });
        }
        // What is in them is heard as before: nobody is told.
        self.handle_agent_left(agent);
        places.into_iter().for_each(|name| self.note_change(name));
    }

    /// That node publishes by the new way from now on.
    pub fn handle_followed(&mut self, hop: HopId, node: NodeId) {
        self.change_leaving(hop, |leaving| {
            leaving.links.remove(&node);
        });
    }

    /// This node itself does: what of its agents' messages goes to the destination goes there directly. The topics.
    pub fn handle_own_followed(&mut self, hop: HopId) -> Vec<Symbol> {
        let leaving = self.roaming.leaving.get(&hop.agent).filter(|leaving| leaving.hop == hop);
        let Some((to, places)) = leaving.map(|leaving| (leaving.to, leaving.places.clone())) else { return Vec::new() };
        self.roaming.hold(hop, Some(to), places.clone());
        self.change_leaving(hop, |leaving| leaving.own = false);
        places
    }

    /// Whether this node passes on what is published for an agent that it let go by this hop.
    pub fn is_leaving(&self, hop: HopId) -> bool {
        self.roaming.leaving.get(&hop.agent).is_some_and(|leaving| leaving.hop == hop)
    }

    fn change_leaving(&mut self, hop: HopId, change: impl FnOnce(&mut Leaving)) {
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

/// Any other node's part, and the destination's.
impl Topics {
    /// An agent that subscribes to these topics leaves that node: from now on this node's agents publish on them with care, until
    /// [`Topics::handle_switched`].
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

    /// Where an agent goes, of which this node has still to say that it publishes by the new way.
    pub fn destination_of(&self, hop: HopId) -> Option<Symbol> {
        self.roaming.following.get(&hop).map(|one| one.to)
    }

    /// What is published here from now on goes to the node where the agent is, if there is one that may hear these topics; if this one knows no way
    /// to it, from [`Topics::handle_introduced`] on. They are returned, and the errors of one that is an agent of this node.
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

    /// That node publishes by the new way for an agent that comes here from `source`.
    pub fn handle_cleared(&mut self, hop: HopId, source: NodeId, node: NodeId, places: Vec<Symbol>) -> Vec<TopicError> {
        if self.roaming.arriving.get(&hop.agent).is_none_or(|arriving| arriving.hop != hop) {
            let links = FxHashSet::default();
            let arriving = Arriving { hop, source, places, own: false, links, missing: None };
            self.roaming.arriving.insert(hop.agent, arriving);
        }
        self.handle_cleared_late(hop, node)
    }

    /// The same of one that is here already, has left again, or has ended.
    pub fn handle_cleared_late(&mut self, hop: HopId, node: NodeId) -> Vec<TopicError> {
        if let Some(leaving) = self.roaming.leaving.get_mut(&hop.agent)
            && let Some((earlier, missing)) = &mut leaving.earlier
            && *earlier == hop
        {
            if !missing.remove(&node) {
                // It did so late, and nobody waits for it.
                self.roaming.settled.push(hop);
            }
            let places = leaving.places.clone();
            places.into_iter().for_each(|name| self.note_change(name));
        } else if !self.roaming.arriving.contains_key(&hop.agent) {
            // It has ended since.
            self.roaming.settled.push(hop);
        }
        self.change_arriving(hop, |arriving| {
            arriving.links.insert(node);
            if let Some(missing) = &mut arriving.missing {
                missing.remove(&node);
            }
        })
    }

    /// There is a link to the node of this name: what is published here goes there from now on for agents that went there when there was none.
    /// These hops and their topics.
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

    /// Hops whose agents are subscribers of this node like any other, or subscribe no more: what other nodes are to hear, behind what
    /// [`Topics::poll_news`] has.
    pub fn poll_settled(&mut self) -> Option<HopId> {
        self.roaming.settled.pop()
    }

    /// A node says that of an agent that went there.
    pub fn handle_settled(&mut self, hop: HopId, node: NodeId) {
        let is_there = self.roaming.held.get(&hop).is_some_and(|(to, _)| *to == node);
        if let Some((_, places)) = is_there.then(|| self.roaming.held.remove(&hop)).flatten() {
            places.into_iter().for_each(|name| self.note_change(name));
        }
    }

    /// The agent is this node's, `me`, from now on, and subscribes to these topics; these nodes publish by the old way until they say
    /// otherwise, and so does this one until [`Topics::handle_switched`].
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
            // It is a subscriber like any other now.
            errors.extend(is_settled.then(|| self.join(hop.agent, name, false).err()).flatten());
            self.note_unheard(name);
        }
        errors
    }
}

/// What becomes of others.
impl Topics {
    /// An agent is no more, or does not come after all.
    pub(super) fn forget_roaming(&mut self, agent: Symbol) {
        let leaving = self.roaming.leaving.remove(&agent).map(|one| one.places).unwrap_or_default();
        leaving.into_iter().for_each(|name| self.note_left(agent, name));
        let arriving = self.roaming.arriving.remove(&agent);
        self.roaming.settled.extend(arriving.as_ref().map(|one| one.hop));
        arriving.into_iter().flat_map(|one| one.places).for_each(|name| self.note_unheard(name));
    }

    /// An agent is no more that went there.
    pub(super) fn forget_gone(&mut self, agent: Symbol, node: NodeId) {
        if self.roaming.leaving.get(&agent).is_some_and(|leaving| leaving.to == node) {
            self.forget_roaming(agent);
        }
    }

    /// A node is lost: it says nothing more, and who went there is gone.
    pub(super) fn lose_roaming(&mut self, node: NodeId) {
        let Roaming { following, arriving, .. } = &mut self.roaming;
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
            // Whoever cannot be a subscriber any more is told by the next that it does with topics.
            self.change_arriving(hop, |arriving| {
                let Some(missing) = &mut arriving.missing else { return };
                missing.remove(&node);
                // Who had not heard of it from its source never will.
                if arriving.source == node {
                    missing.clear();
                }
            });
        }
    }

    /// Nothing comes here any more for the sake of an agent that left: other nodes hear of that.
    fn note_left(&mut self, agent: Symbol, name: Symbol) {
        if Cast::of(name) != Some(Cast::Multicast) {
            return self.note_unheard(name);
        }
        // It may have come back since.
        if !self.places_of(agent).contains(&name) {
            self.news.push_back(News::Left(name, agent));
        }
        self.note_change(name);
    }

    /// Somebody is no subscriber any more for whose sake messages on a topic came here: other nodes hear of that if he was the last.
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
    fn the_source_passes_on_what_was_published_before_each_node_followed() {
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
        // Word that was under way before the agent came there.
        assert!(topics.handle_news(D, &News::NoTopic(news())));
        assert_eq!(topics.audience(news()).unwrap().nodes.len(), 1);
        topics.handle_settled(hop(), D);
        assert!(topics.audience(news()).is_none(), "it would have said so, were it a subscriber");
    }

    #[test]
    fn the_destination_gives_it_what_is_published_after_each_node_followed() {
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
    fn who_is_lost_is_not_waited_for() {
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
    fn who_goes_on_takes_along_what_has_not_settled() {
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
    fn who_went_where_no_way_was_known_is_published_for_as_soon_as_there_is_one() {
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
    fn a_member_on_its_way_is_one_of_those_of_whom_one_is_chosen() {
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
    fn who_is_introduced_hears_of_topics_of_those_on_their_way() {
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
    fn who_unsubscribes_on_the_way_is_told_nothing() {
        let mut topics = Topics::new();
        topics.handle_owned(hop(), O, "d".into(), vec![news()], [O]);
        assert_eq!(topics.join("amy".into(), news(), false), Ok(false));
        assert!(topics.leave("amy".into(), news()) && !topics.leave("amy".into(), news()));
        topics.handle_switched(hop(), None, |_| true);
        assert_eq!(topics.handle_cleared_late(hop(), O), []);
        assert_eq!(local(&mut topics, Some(O)), [""; 0]);
    }
}
