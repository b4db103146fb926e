//! What other nodes say of agents that are not theirs, or no more: believed, but asked about where it may be wrong.
//!
//! A node hears of agents from the node that has them, in order. What a third one says of an agent that left it
//! ([`HopNews::Departed`](whimbrel_platform::mobility::HopNews)) comes by another way: the destination may not have introduced itself
//! yet, and will say nothing of an agent that has ended by then; or it may have told of the end before.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::EndReason;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::{LINK_DENIED_AGENTS_MAX, LINK_NEWS_AGENTS};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Route};
use whimbrel_platform::services::LogLevel;

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
    denied: Denied,
}

/// Agents whose end a node told of, the oldest of which are forgotten when there are too many.
#[derive(Default)]
struct Denied {
    /// By what is told, the number under which `in_order` has it.
    by_word: FxHashMap<(NodeId, Symbol), u64>,
    in_order: BTreeMap<u64, (NodeId, Symbol)>,
    last: u64,
}

impl Denied {
    fn insert(&mut self, node: NodeId, agent: Symbol) {
        self.remove(node, agent);
        if self.in_order.len() >= LINK_DENIED_AGENTS_MAX
            && let Some((_, oldest)) = self.in_order.pop_first()
        {
            self.by_word.remove(&oldest);
        }
        self.last += 1;
        self.by_word.insert((node, agent), self.last);
        self.in_order.insert(self.last, (node, agent));
    }

    /// Forgets it; whether it was there.
    fn remove(&mut self, node: NodeId, agent: Symbol) -> bool {
        let number = self.by_word.remove(&(node, agent));
        number.is_some_and(|number| self.in_order.remove(&number).is_some())
    }

    fn forget(&mut self, node: NodeId) {
        self.by_word.retain(|(other, _), _| *other != node);
        self.in_order.retain(|_, (other, _)| *other != node);
    }
}

impl Hearsay {
    /// Somebody says that an agent has gone to this node. Whether that is to be asked.
    fn gone(&mut self, agent: Symbol, to: NodeId) -> bool {
        if !self.introduced.contains(&to) {
            self.gone_to.entry(to).or_default().insert(agent);
        }
        self.denied.remove(to, agent)
    }

    fn deny(&mut self, node: NodeId, agent: Symbol) {
        self.denied.insert(node, agent);
    }

    /// A node is lost: should it come back, it introduces itself again.
    fn forget(&mut self, node: NodeId) {
        self.introduced.remove(&node);
        self.gone_to.remove(&node);
        self.denied.forget(node);
    }
}

impl Node {
    /// Another node says that an agent has gone to this one.
    pub fn hear_gone(&self, agent: Symbol, to: NodeId) {
        if locked(&self.linked.hearsay).gone(agent, to) {
            self.ask_for(to, &[agent]);
        }
    }

    /// Whether a node says that it has an agent which another one has, as that says itself. Either this came late, or what that one
    /// said is out of date: whoever says it now is to be asked.
    pub fn doubts(&self, agent: Symbol, from: NodeId) -> bool {
        if self.cluster.is_some() {
            // There, tables say who has whom.
            return false;
        }
        let known = self.with_ams(|ams| ams.node_of(agent)).filter(|node| *node != from);
        known.is_some_and(|node| locked(&self.linked.hearsay).introduced.contains(&node))
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
        self.ask_for(node, &there);
    }

    pub fn forget_hearsay(&self, lost: NodeId) {
        locked(&self.linked.hearsay).forget(lost);
    }

    /// Asks a node which of these agents it has.
    pub fn ask_for(&self, node: NodeId, agents: &[Symbol]) {
        if let Some(links) = self.linked.links() {
            agents.chunks(LINK_NEWS_AGENTS).for_each(|agents| links.tell(node, News::Asks(agents.to_vec())));
        }
    }

    /// Another node asks which of these agents are here. Nothing is said of those that are on their way here: all hear of them when
    /// they begin. Whoever asks for more than is asked for at once gets no answer.
    pub fn answer_asks(&self, from: NodeId, mut agents: Vec<Symbol>) {
        let Some(links) = self.linked.links() else { return };
        if agents.len() > LINK_NEWS_AGENTS {
            let text = format!("another node asks for {} agents at once: {LINK_NEWS_AGENTS} may be", agents.len());
            self.output.log(Aid::local(sym::AMS), LogLevel::Warning, &text);
            return;
        }
        let mut named = FxHashSet::default();
        agents.retain(|name| named.insert(*name));
        // It is told while it is so, as ends and beginnings are: no answer is to come after word of what happened since.
        self.with_coming(|is_coming| {
            self.with_ams(|ams| {
                let (mut here, mut gone) = (Vec::new(), Vec::new());
                for name in agents {
                    match ams.kind(Aid::local(name)) {
                        Some(kind) => here.push((name, kind)),
                        None if is_coming(name) => {}
                        None => gone.push(name),
                    }
                }
                let names: FxHashSet<Symbol> = here.iter().map(|(name, _)| *name).collect();
                links.tell(from, News::Has { agents: here, not: gone });
                self.tell_standing(&names, &mut |news| links.tell(from, news));
            });
        });
    }

    /// Tells what these agents offer, and the groups they are in: who did not believe that they are here did not believe that either.
    fn tell_standing(&self, agents: &FxHashSet<Symbol>, tell: &mut dyn FnMut(News)) {
        if agents.is_empty() {
            return;
        }
        self.with_df(|df| {
            for name in agents {
                tell(match df.description_of(Aid::local(*name)).map(without_lease) {
                    Some(entry) => News::Service(Box::new(entry)),
                    None => News::NoService(*name),
                });
            }
        });
        self.with_topics(|topics| {
            let mut told = None;
            for news in topics.introduction() {
                match news {
                    News::Joined(group, mut members) => {
                        members.retain(|member| agents.contains(member));
                        if !members.is_empty() {
                            told = Some(group);
                            tell(News::Joined(group, members));
                        }
                    }
                    News::Crowded(group, _) if told == Some(group) => tell(news),
                    _ => {}
                }
            }
        });
    }

    /// A node answers which agents it has. Whoever of them comes here meanwhile has a place here already.
    pub fn hear_answer(&self, from: NodeId, agents: Vec<(Symbol, AgentKind)>, not: &[Symbol]) {
        self.with_coming(|is_coming| {
            for (name, kind) in agents.into_iter().filter(|(name, _)| !is_coming(*name)) {
                if self.with_ams(|ams| ams.handle_elsewhere(name, from, kind)) {
                    self.routes.set(name, Route::node(from));
                    self.relieved(name);
                }
            }
        });
        let reason = EndReason::Failed("it ended when its node was not linked with this one".to_owned());
        not.iter().for_each(|name| self.agent_ended_elsewhere(*name, from, &reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_ends_the_oldest_is_forgotten() {
        let (node, name) = (NodeId(1), |at: usize| Symbol::from(format!("a{at}").as_str()));
        let mut hearsay = Hearsay::default();
        (0..LINK_DENIED_AGENTS_MAX).for_each(|at| hearsay.deny(node, name(at)));
        // Told again, it is the newest.
        hearsay.deny(node, name(0));
        hearsay.deny(NodeId(2), name(0));
        assert!(!hearsay.gone(name(1), node), "the oldest");
        assert!((2..LINK_DENIED_AGENTS_MAX).all(|at| hearsay.gone(name(at), node)));
        assert!(hearsay.gone(name(0), node) && !hearsay.gone(name(0), node), "it is asked about once");
        hearsay.forget(NodeId(2));
        assert!(!hearsay.gone(name(0), NodeId(2)));
        assert!(hearsay.denied.by_word.is_empty() && hearsay.denied.in_order.is_empty());
    }
}
