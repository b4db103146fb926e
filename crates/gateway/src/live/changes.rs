//! Differences between two lists of agents.

use rustc_hash::FxHashMap;

use whimbrel_operator::AgentInfo;

/// Agents as the client knows them.
#[derive(Debug, Default)]
pub struct KnownAgents {
    agents: FxHashMap<String, AgentInfo>,
}

impl KnownAgents {
    /// Returns the agents that changed and the names of agents that are gone. A change of age alone is no change:
    /// clients count time themselves.
    pub fn changes(&mut self, now: &[AgentInfo]) -> (Vec<AgentInfo>, Vec<String>) {
        let mut before = std::mem::take(&mut self.agents);
        let mut changed = Vec::new();
        for agent in now {
            let was = before.remove(&agent.name);
            let ageless = AgentInfo { age_ms: None, ..agent.clone() };
            if was.as_ref() != Some(&ageless) {
                changed.push(agent.clone());
            }
            self.agents.insert(agent.name.clone(), ageless);
        }
        let mut gone: Vec<String> = before.into_keys().collect();
        gone.sort();
        (changed, gone)
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_platform::ams::AgentKind;

    use super::*;

    fn agent(name: &str, mailbox: u64, age_ms: u64) -> AgentInfo {
        AgentInfo {
            activity: None,
            program: None,
            name: name.to_owned(),
            kind: AgentKind::AgentSpeak,
            state: None,
            ending: false,
            node: "n1".to_owned(),
            device: None,
            owner: None,
            age_ms: Some(age_ms),
            mailbox: Some(mailbox),
            handled: None,
            passive: false,
        }
    }

    #[test]
    fn unchanged_agents_are_left_out() {
        let mut told = KnownAgents::default();
        let first = [agent("a", 0, 1), agent("b", 0, 1), agent("c", 0, 1)];
        assert_eq!(told.changes(&first), (first.to_vec(), vec![]));
        assert_eq!(told.changes(&first), (vec![], vec![]));
        let older = [agent("a", 0, 9), agent("b", 0, 9), agent("c", 0, 9)];
        assert_eq!(told.changes(&older), (vec![], vec![]), "that they are older goes without saying");
        let second = [agent("c", 2, 9), agent("d", 0, 0)];
        assert_eq!(told.changes(&second), (second.to_vec(), vec!["a".to_owned(), "b".to_owned()]));
    }
}
