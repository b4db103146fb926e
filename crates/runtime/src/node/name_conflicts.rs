//! Name conflicts: two agents of one name on nodes that did not know of each other. Both were created at the same
//! moment, or before the nodes were linked. The older agent keeps the name, the other one ends, and all nodes
//! concerned are told.
//!
//! An agent that moves between two nodes is never in conflict with itself. Its destination records the agent only
//! after hearing that its source has no record any more, so conflicts are found by comparing records. The node whose
//! name comes first asks ([`NameConflict::Asks`]). If its record has not changed when the answer comes, two agents
//! existed while the other node answered, however late the messages are. Ages are compared on that one node: clocks
//! that differ do no harm, and both nodes act on one decision.
//!
//! Giving up a name for another node's agent amounts to being killed by that node, and needs the same permission. So
//! no node takes a name away by claiming a great age, unless the policy lets it end the agent anyway.

use std::time::Duration;

use whimbrel_acl::{Aid, Symbol, sym};
use whimbrel_platform::Time;
use whimbrel_platform::ams::{AgentKind, Ams};
use whimbrel_platform::link::{NameConflict, News};
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::services::LogLevel;

use crate::node::Node;

/// Returns the time at which this node's agent got its name, which identifies it among agents of that name. Returns
/// `None` if the agent is ending, or is the platform's own.
fn life_of(ams: &Ams, agent: Symbol) -> Option<Time> {
    let known = ams.describe(Aid::local(agent))?;
    (!known.ending && known.kind != AgentKind::Service).then_some(known.created)
}

impl Node {
    /// Handles another node's claim to have an agent that this node has, too, or had a moment ago.
    pub fn meet_namesake(&self, agent: Symbol, there: NodeId) {
        let Some(links) = self.linked.links().filter(|_| self.cluster.is_none()) else { return };
        self.with_ams(|ams| {
            let Some(life) = life_of(ams, agent) else { return };
            match (self.asks(there), ams.kind(Aid::local(agent))) {
                (true, _) => links.tell(there, News::NameConflict(NameConflict::Asks(agent, life.0))),
                (false, Some(kind)) => links.tell(there, News::Agents(vec![(agent.into(), kind)])),
                (false, None) => {}
            }
        });
    }

    /// Returns true if this node, of the two, asks and decides.
    fn asks(&self, other: NodeId) -> bool {
        self.my_name().as_str() < self.name_of(other).as_str()
    }

    /// Handles a message about an agent that both nodes have, or had.
    pub fn hear_namesake(&self, from: NodeId, word: NameConflict) {
        match word {
            NameConflict::Asks(agent, asked) => self.with_ams(|ams| {
                if let (Some(life), Some(links)) = (life_of(ams, agent), self.linked.links()) {
                    let age_ms = u64::try_from((self.now() - life).as_millis()).unwrap_or(u64::MAX);
                    links.tell(from, News::NameConflict(NameConflict::Has { agent, asked, life: life.0, age_ms }));
                }
            }),
            NameConflict::Has { agent, asked, life, age_ms } => {
                let mine = self.with_ams(|ams| life_of(ams, agent)).filter(|mine| mine.0 == asked);
                if let Some(mine) = mine.filter(|_| self.asks(from)) {
                    self.decide_between(agent, mine, from, life, Duration::from_millis(age_ms));
                }
            }
            NameConflict::Ends(agent, life) => {
                self.give_up_name(agent, Time(life), from);
            }
            _ => {}
        }
    }

    /// Ends one of two agents of one name: the younger one, unless its node's policy prevents that.
    fn decide_between(&self, agent: Symbol, mine: Time, there: NodeId, life: u64, age: Duration) {
        let was_later = self.now() - mine < age;
        if was_later && self.give_up_name(agent, mine, there) {
            return;
        }
        let (here, other) = (self.my_name(), self.name_of(there));
        let text = format!(
            "{other} has an agent {agent}, too: the one here ({here}) keeps the name, and {other} is told to end its own"
        );
        self.output.log(Aid::local(sym::AMS), LogLevel::Warning, &text);
        if let Some(links) = self.linked.links() {
            links.tell(there, News::NameConflict(NameConflict::Ends(agent, life)));
        }
    }

    /// Ends an agent of this node because another node had one of its name first. Returns false if another agent has
    /// the name by now, or if the policy does not let that node end it.
    fn give_up_name(&self, agent: Symbol, life: Time, first: NodeId) -> bool {
        let other = self.name_of(first);
        let permitted = self.permits_node(first, Action::Kill, agent.as_str());
        let ended = self.with_ams(|ams| {
            let is_meant = life_of(ams, agent) == Some(life);
            is_meant.then(|| permitted && ams.kill(Aid::local(agent)).is_ok())
        });
        let text = match ended {
            None => return false,
            Some(true) => {
                let here = self.my_name();
                format!(
                    "already-registered: the name {agent} is an agent's of {other}, so the one here ({here}) ends; \
                     start it under another name"
                )
            }
            Some(false) => format!(
                "the name {agent} is an agent's of {other}, and the policy here does not let {other} end the one here, too: \
                 as long as both live, messages to {agent} go to the one or the other"
            ),
        };
        self.output.log(Aid::local(sym::AMS), LogLevel::Severe, &text);
        ended == Some(true)
    }

    /// Announces a local agent after another node's agent of its name ended, so that all nodes know where it is.
    pub fn claim_name(&self, agent: Symbol) {
        let Some(links) = self.linked.links().filter(|_| self.cluster.is_none()) else { return };
        self.with_ams(|ams| {
            let kind = life_of(ams, agent).and_then(|_| ams.kind(Aid::local(agent)));
            let Some(kind) = kind else { return };
            links.tell_all(News::Agents(vec![(agent.into(), kind)]));
            self.tell_standing(&[agent].into_iter().collect(), &mut |news| links.tell_all(news));
        });
    }
}
