//! Threads of a client: one for each agent, with a number that stays.

use rustc_hash::FxHashMap;
use whimbrel_platform::limits::DEBUGGER_THREADS_MAX;

/// Numbers of agents.
#[derive(Debug, Default)]
pub struct AgentThreads {
    numbers: FxHashMap<String, i64>,
    names: Vec<String>,
}

impl AgentThreads {
    /// Returns the number of an agent's thread.
    pub fn number(&mut self, agent: &str) -> i64 {
        if let Some(number) = self.numbers.get(agent) {
            return *number;
        }
        self.names.push(agent.to_owned());
        let number = i64::try_from(self.names.len()).unwrap_or(i64::MAX);
        self.numbers.insert(agent.to_owned(), number);
        number
    }

    /// Returns the agent of a thread.
    pub fn agent(&self, number: i64) -> anyhow::Result<String> {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let name = place.and_then(|place| self.names.get(place)).cloned();
        name.ok_or_else(|| anyhow::anyhow!("there is no thread {number}"))
    }
}

/// Returns the agents to list: paused ones first if there are too many for all.
pub fn listed(all: Vec<String>, total: u64, paused: &[String]) -> Vec<String> {
    let mut names = all;
    if total > DEBUGGER_THREADS_MAX as u64 {
        let others = std::mem::replace(&mut names, paused.to_vec());
        let others: Vec<String> = others.into_iter().filter(|name| !paused.contains(name)).collect();
        names.extend(others.into_iter().take(DEBUGGER_THREADS_MAX));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paused_agents_are_always_listed() {
        let name = |number: usize| format!("a{number}");
        let all: Vec<String> = (0..DEBUGGER_THREADS_MAX).map(name).collect();
        let paused = vec![name(7), name(900)];
        assert_eq!(listed(all.clone(), 100, &paused), all);
        let many = listed(all, 1_000, &paused);
        assert_eq!((many.len(), &many[..3]), (101, &[name(7), name(900), name(0)][..]));
    }

    #[test]
    fn threads_keep_their_numbers() {
        let mut threads = AgentThreads::default();
        assert_eq!([threads.number("bob"), threads.number("amy"), threads.number("bob")], [1, 2, 1]);
        assert_eq!(threads.agent(2).unwrap(), "amy");
        assert_eq!(threads.agent(3).unwrap_err().to_string(), "there is no thread 3");
        assert!(threads.agent(0).is_err());
    }
}
