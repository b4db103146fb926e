//! Location claims, verified: what a third node says of an agent is checked with the agent's own node
//! ([`crate::location_claims`]).

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use whimbrel_acl::{Aid, Envelope, Name, Symbol, sym};
use whimbrel_platform::ams::{AgentKind, ElsewhereError};
use whimbrel_platform::limits::{LINK_CLAIMED_AGENTS_MAX, LINK_NEWS_AGENTS};
use whimbrel_platform::link::News;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{EndReason, Station};

use super::Node;
use crate::node::peers::{NodeStation, without_lease};
use crate::sync::locked;

impl Node {
    /// Handles a report that an agent has gone to this node.
    pub fn hear_gone(&self, agent: &Name, to: NodeId) {
        if locked(&self.linked.hearsay).gone(agent, to) {
            self.ask_for(to, std::slice::from_ref(agent));
        }
    }

    /// Lets an agent's last messages arrive after its node reported its end. The report is sent at once, and messages
    /// that the agent sent before may be handed to the link after it.
    pub fn expect_last_words(&self, agent: &Name, node: NodeId) {
        let known = self.with_ams(|ams| ams.elsewhere(agent));
        if let Some((_, kind)) = known.filter(|(there, _)| *there == node) {
            locked(&self.linked.hearsay).ended.entry(node).or_default().insert(agent.clone(), kind, self.now());
        }
    }

    /// Returns the kind of an agent that has just ended at another node.
    pub fn kind_of_ended(&self, agent: Symbol) -> Option<AgentKind> {
        let (hearsay, now) = (locked(&self.linked.hearsay), self.now());
        hearsay.ended.values().find_map(|ended| ended.kind_of(agent, now))
    }

    /// Returns true if a node may still send for an agent that has just ended there, and whose name is free.
    pub fn may_bring_last_words(&self, node: NodeId, agent: Symbol) -> bool {
        locked(&self.linked.hearsay).ended.get(&node).is_some_and(|ended| ended.contains(agent, self.now()))
    }

    /// Returns true if a node claims an agent that another node claims itself. Either this claim came late, or the
    /// other is out of date: the other node has to be asked.
    pub fn doubts(&self, agent: &Name, from: NodeId) -> bool {
        if self.cluster.is_some() {
            // In a cluster, the partition tables decide.
            return false;
        }
        let known = self.with_ams(|ams| ams.node_of(agent)).filter(|node| *node != from);
        known.is_some_and(|node| locked(&self.linked.hearsay).introduced.contains(&node))
    }

    /// Verifies claims to agents that other nodes claim themselves. Those nodes are asked first: no node takes an
    /// agent away from another by a mere claim.
    pub fn look_into(&self, claimant: NodeId, agents: Vec<Name>) {
        if agents.is_empty() {
            return;
        }
        let mut questions: BTreeMap<NodeId, Vec<Name>> = BTreeMap::new();
        let room = LINK_CLAIMED_AGENTS_MAX.saturating_sub(locked(&self.linked.hearsay).looked_into(claimant));
        self.note_left_out(claimant, agents.len().saturating_sub(room));
        for agent in agents.into_iter().take(room) {
            let known = self.rival(&agent, claimant);
            if known.is_some() {
                locked(&self.linked.hearsay).claims.insert(agent.clone(), claimant);
            }
            questions.entry(known.unwrap_or(claimant)).or_default().push(agent);
        }
        questions.into_iter().for_each(|(node, agents)| self.ask_for(node, &agents));
    }

    /// Asks the claimants of these agents, whose known node is lost.
    pub fn ask_claimants(&self, agents: &[Name]) {
        let mut claims: BTreeMap<NodeId, Vec<Name>> = BTreeMap::new();
        for agent in agents {
            if let Some(claimant) = locked(&self.linked.hearsay).claims.get(agent) {
                claims.entry(*claimant).or_default().push(agent.clone());
            }
        }
        for (claimant, agents) in claims {
            self.ask_for(claimant, &agents);
            let mut hearsay = locked(&self.linked.hearsay);
            for agent in &agents {
                hearsay.claims.remove(agent);
            }
        }
    }

    /// Returns the node that claims this agent itself, if it is another one and can be asked.
    fn rival(&self, agent: &Name, claimant: NodeId) -> Option<NodeId> {
        let known = self.with_ams(|ams| ams.node_of(agent)).filter(|_| self.doubts(agent, claimant))?;
        self.linked.links().is_some_and(|links| links.nodes().contains(&known)).then_some(known)
    }

    /// Retains a message whose sender's location is being verified. Returns any other message.
    pub fn keep_doubtful(&self, from: NodeId, message: Envelope) -> Option<Envelope> {
        let mut hearsay = locked(&self.linked.hearsay);
        match hearsay.is_asking(from, &message.body.sender.name.into()) {
            true => hearsay.doubtful.entry(from).or_default().keep(message),
            false => Some(message),
        }
    }

    /// Handles a node's report that an agent has ended there which lives on another node as far as is known. The agent
    /// may have gone there before this node learns of that.
    pub fn hear_denied(&self, agent: &Name, node: NodeId) {
        let is_elsewhere = self.with_ams(|ams| ams.node_of(agent)).is_some_and(|other| other != node);
        if is_elsewhere {
            locked(&self.linked.hearsay).deny(node, agent.clone());
        }
    }

    /// Handles the end of a node's introduction. Asks it about agents that are said to be there and were not named.
    pub fn hear_introduced(&self, node: NodeId) {
        let gone = {
            let mut hearsay = locked(&self.linked.hearsay);
            hearsay.introduced.insert(node);
            hearsay.gone_to.remove(&node).unwrap_or_default()
        };
        let there: Vec<Name> =
            self.with_ams(|ams| gone.into_iter().filter(|agent| ams.node_of(agent) == Some(node)).collect());
        self.ask_for(node, &there);
        self.follow_late(node);
    }

    /// Returns true if a node has introduced itself completely.
    pub fn has_introduced(&self, node: NodeId) -> bool {
        locked(&self.linked.hearsay).introduced.contains(&node)
    }

    pub fn forget_hearsay(&self, lost: NodeId) {
        let doubtful = locked(&self.linked.hearsay).forget(lost);
        if !doubtful.is_empty() {
            self.bury_forged(doubtful);
        }
    }

    /// Asks a node which of these agents it has.
    pub fn ask_for(&self, node: NodeId, agents: &[Name]) {
        let Some(links) = self.linked.links() else { return };
        for agents in agents.chunks(LINK_NEWS_AGENTS) {
            // A node answers in the order in which it is asked.
            let mut hearsay = locked(&self.linked.hearsay);
            hearsay.asked.entry(node).or_default().push_back(agents.iter().cloned().collect());
            links.tell(node, News::Asks(agents.to_vec()));
        }
    }

    /// Answers another node's question which of these agents are here. Agents on their way here are left out: all nodes
    /// learn of them when they begin. A question that exceeds the limit gets no answer.
    pub fn answer_asks(&self, from: NodeId, mut agents: Vec<Name>) {
        let Some(links) = self.linked.links() else { return };
        if agents.len() > LINK_NEWS_AGENTS {
            let text = format!("another node asks for {} agents at once: {LINK_NEWS_AGENTS} may be", agents.len());
            self.output.log(Aid::local(sym::AMS), LogLevel::Warning, &text);
            return;
        }
        let mut named = FxHashSet::default();
        agents.retain(|name| named.insert(name.clone()));
        // The answer is sent under the locks, as ends and beginnings are: no answer may follow the report of a later
        // event.
        self.with_coming(|is_coming| {
            self.with_ams(|ams| {
                let (mut here, mut gone, mut names) = (Vec::new(), Vec::new(), FxHashSet::default());
                for name in agents {
                    // No agent that is here, or on its way here, has a name that is no symbol.
                    let symbol = name.known();
                    match symbol.and_then(|symbol| ams.kind(Aid::local(symbol))) {
                        Some(kind) => {
                            names.extend(symbol);
                            here.push((name, kind));
                        }
                        None if symbol.is_some_and(is_coming) => {}
                        None => gone.push(name),
                    }
                }
                links.tell(from, News::Has { agents: here, not: gone });
                self.tell_standing(&names, &mut |news| links.tell(from, news));
            });
        });
    }

    /// Announces the services and groups of these agents. A node that did not believe that they are here ignored
    /// those, too.
    pub fn tell_standing(&self, agents: &FxHashSet<Symbol>, tell: &mut dyn FnMut(News)) {
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
        self.with_topics(|topics| topics.introduction_of(agents).into_iter().for_each(tell));
    }

    /// Limits a node's answer to the agents that it was asked about, and to those that no other node claims itself.
    fn believable(
        &self,
        from: NodeId,
        asked: &FxHashSet<Name>,
        mut agents: Vec<(Name, AgentKind)>,
        mut not: Vec<Name>,
    ) -> (Vec<(Name, AgentKind)>, Vec<Name>) {
        not.retain(|name| asked.contains(name));
        agents.retain(|(name, _)| asked.contains(name));
        let doubtful: Vec<Name> =
            agents.iter().map(|(name, _)| name).filter(|name| self.rival(name, from).is_some()).cloned().collect();
        agents.retain(|(name, _)| !doubtful.contains(name));
        self.look_into(from, doubtful);
        (agents, not)
    }

    /// Settles other nodes' claims after an answer. If this node denies an agent, the agent's claimant is asked
    /// again; otherwise the claimant is wrong.
    fn decide_claims(&self, from: NodeId, asked: &FxHashSet<Name>, not: &[Name]) {
        self.ask_claimants(not);
        let forged: Vec<Envelope> = {
            let mut hearsay = locked(&self.linked.hearsay);
            let claims = asked.iter().filter_map(|agent| Some((agent, *hearsay.claims.get(agent)?)));
            let wrong: Vec<(&Name, NodeId)> = claims.filter(|(_, claimant)| *claimant != from).collect();
            wrong
                .iter()
                .flat_map(|(agent, claimant)| {
                    hearsay.claims.remove(*agent);
                    hearsay.take_doubtful(*claimant, [*agent])
                })
                .collect()
        };
        if !forged.is_empty() {
            self.bury_forged(forged);
        }
    }

    fn take_in_answer(&self, from: NodeId, agents: Vec<(Name, AgentKind)>, not: &[Name]) {
        let left_out = self.with_coming(|is_coming| {
            let mut left_out = 0;
            for (name, kind) in agents.into_iter().filter(|(name, _)| !name.known().is_some_and(is_coming)) {
                let entered = self.with_ams(|ams| self.enter_elsewhere(ams, &name, from, kind, true));
                // No sender waits for an agent whose name is no symbol, and no agent here has such a name.
                match (entered, name.known()) {
                    (Ok(()), Some(name)) => self.relieved(name),
                    (Err(ElsewhereError::NameTaken), Some(name)) => self.meet_namesake(name, from),
                    (Err(ElsewhereError::NoRoom), _) => left_out += 1,
                    _ => {}
                }
            }
            left_out
        });
        self.note_left_out(from, left_out);
        let reason = EndReason::Failed("it ended when its node was not linked with this one".to_owned());
        not.iter().for_each(|name| self.agent_ended_elsewhere(name, from, &reason));
    }
}

impl NodeStation {
    /// Handles a node's answer which agents it has. An agent that moves here meanwhile has a place here already.
    pub fn hear_answer(&self, from: NodeId, agents: Vec<(Name, AgentKind)>, not: Vec<Name>) {
        let node = &*self.0;
        let asked = locked(&node.linked.hearsay).answered(from);
        let (agents, not) = node.believable(from, &asked, agents, not);
        not.iter().for_each(|name| node.hear_denied(name, from));
        node.take_in_answer(from, agents, &not);
        node.decide_claims(from, &asked, &not);
        // Messages that its agents sent meanwhile come before their next ones.
        let waited = {
            let mut hearsay = locked(&node.linked.hearsay);
            let decided: Vec<Name> = asked.into_iter().filter(|agent| !hearsay.is_asking(from, agent)).collect();
            hearsay.take_doubtful(from, &decided)
        };
        let (mut messages, forged): (Vec<Envelope>, Vec<Envelope>) =
            waited.into_iter().partition(|message| self.speaks_for(from, message.body.sender));
        if !messages.is_empty() {
            self.arrive(from, &mut messages);
        }
        if !forged.is_empty() {
            node.bury_forged(forged);
        }
    }
}
