//! What other nodes say of agents that are not theirs, or no more: believed, but asked about where it may be wrong.
//!
//! A node hears of agents from the node that has them, in order. What a third one says of an agent that left it
//! ([`HopNews::Departed`](whimbrel_platform::mobility::HopNews)) comes by another way: the destination may not have introduced itself
//! yet, and will say nothing of an agent that has ended by then; or it may have told of the end before.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::EndReason;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::{LINK_DENIED_AGENTS_MAX, LINK_NEWS_AGENTS};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Route};

use crate::linked::without_lease;
use crate::node::Node;
use crate::sync::locked;

/// See the module.
#[derive(Default)]
pub(crate) struct Hearsay {
    /// Nodes that have said all that there is to know of them: from then on they tell of each end.
    introduced: FxHashSet<NodeId>,
    /// Agents that others say have gone to a node that has not.
    gone_to: FxHashMap<NodeId, FxHashSet<Symbol>>,
    /// Agents whose end a node told of that another one was believed to have.
    denied: FxHashSet<(NodeId, Symbol)>,
}

impl Hearsay {
    /// Somebody says that an agent has gone to this node. Whether that is to be asked.
    fn gone(&mut self, agent: Symbol, to: NodeId) -> bool {
        if !self.introduced.contains(&to) {
            self.gone_to.entry(to).or_default().insert(agent);
        }
        self.denied.remove(&(to, agent))
    }

    fn deny(&mut self, node: NodeId, agent: Symbol) {
        if self.denied.len() >= LINK_DENIED_AGENTS_MAX {
            self.denied.clear();
        }
        self.denied.insert((node, agent));
    }

    /// A node is lost: should it come back, it introduces itself again.
    fn forget(&mut self, node: NodeId) {
        self.introduced.remove(&node);
        self.gone_to.remove(&node);
        self.denied.retain(|(other, _)| *other != node);
    }
}

impl Node {
    /// Another node says that an agent has gone to this one.
    pub fn hear_gone(&self, agent: Symbol, to: NodeId) {
        if locked(&self.linked.hearsay).gone(agent, to) {
            self.ask_for(to, vec![agent]);
        }
    }

    /// Whether a node says that it has an agent which another one has, as that says itself. Either this came late, or what that one
    /// said is out of date: whoever says it now is asked again.
    pub fn doubts(&self, agent: Symbol, from: NodeId) -> bool {
        if self.cluster.is_some() {
            // There, tables say who has whom.
            return false;
        }
        let known = self.with_ams(|ams| ams.node_of(agent)).filter(|node| *node != from);
        let is_doubtful = known.is_some_and(|node| locked(&self.linked.hearsay).introduced.contains(&node));
        if is_doubtful {
            self.ask_for(from, vec![agent]);
        }
        is_doubtful
    }

    /// A node says that an agent has ended there, which another one has as far as is known. It may have gone there before that is heard.
    pub fn hear_denied(&self, agent: Symbol, node: NodeId) {
        let is_elsewhere = self.with_ams(|ams| ams.node_of(agent)).is_some_and(|other| other != node);
        if is_elsewhere {
            locked(&self.linked.hearsay).deny(node, agent);
        }
    }

    /// A node has said all that there is to know of it: whoever is said to be there, and was not named, is asked about.
    pub fn hear_introduced(&self, node: NodeId) {
        let gone = {
            let mut hearsay = locked(&self.linked.hearsay);
            hearsay.introduced.insert(node);
            hearsay.gone_to.remove(&node).unwrap_or_default()
        };
        let there: Vec<Symbol> =
            self.with_ams(|ams| gone.into_iter().filter(|agent| ams.node_of(*agent) == Some(node)).collect());
        there.chunks(LINK_NEWS_AGENTS).for_each(|agents| self.ask_for(node, agents.to_vec()));
    }

    pub fn forget_hearsay(&self, lost: NodeId) {
        locked(&self.linked.hearsay).forget(lost);
    }

    /// Asks a node which of these agents it has.
    pub fn ask_for(&self, node: NodeId, agents: Vec<Symbol>) {
        if let Some(links) = self.linked.links() {
            links.tell(node, News::Asks(agents));
        }
    }

    /// Another node asks which of these agents are here. Nothing is said of those that are on their way here: all hear of them when
    /// they begin.
    pub fn answer_asks(&self, from: NodeId, agents: Vec<Symbol>) {
        let (mut here, mut gone) = (Vec::new(), Vec::new());
        for name in agents {
            let is_coming = self.is_coming(name);
            match self.with_ams(|ams| ams.kind(Aid::local(name))) {
                Some(kind) => here.push((name, kind)),
                None if is_coming => {}
                None => gone.push(name),
            }
        }
        let Some(links) = self.linked.links() else { return };
        let entries: Vec<News> = here.iter().map(|(name, _)| self.news_of_entry(*name)).collect();
        links.tell(from, News::Has { agents: here, not: gone });
        entries.into_iter().for_each(|entry| links.tell(from, entry));
    }

    fn news_of_entry(&self, name: Symbol) -> News {
        match self.with_df(|df| df.description_of(Aid::local(name)).map(without_lease)) {
            Some(entry) => News::Service(Box::new(entry)),
            None => News::NoService(name),
        }
    }

    /// A node answers which agents it has.
    pub fn hear_answer(&self, from: NodeId, agents: Vec<(Symbol, AgentKind)>, not: &[Symbol]) {
        for (name, kind) in agents {
            if self.with_ams(|ams| ams.handle_elsewhere(name, from, kind)) {
                self.routes.set(name, Route::node(from));
                self.relieved(name);
            }
        }
        let reason = EndReason::Failed("it ended when its node was not linked with this one".to_owned());
        not.iter().for_each(|name| self.agent_ended_elsewhere(*name, from, &reason));
    }
}
