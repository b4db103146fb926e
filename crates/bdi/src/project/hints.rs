//! Placement hints of a project's agents (together, apart, on a node, on nodes with a label), and whether they can be
//! met.

use std::collections::BTreeMap;

use whimbrel_acl::Text;

use super::parser::ProjectParser;
use super::{AgentEntry, AgentOption};
use crate::syntax::Diagnostic;
use crate::syntax::ast::Span;

/// Value of `at` that stands for any machine.
const ANYWHERE: &str = "localhost";

impl AgentEntry {
    /// Returns an option as written.
    fn written(&self, key: &str) -> Option<&AgentOption> {
        self.options.iter().rev().find(|option| option.key == key)
    }

    /// Returns the node that the agent has to run on: `at "n2"`.
    pub fn node(&self) -> Option<&Text> {
        self.host.as_ref().filter(|host| host.as_str() != ANYWHERE)
    }

    /// Returns the node or label that the agent is limited to, if any.
    fn pin(&self) -> Option<(&str, &Text)> {
        let label = self.written("label").map(|option| ("label", &option.value));
        self.node().map(|node| ("node", node)).or(label)
    }
}

impl ProjectParser<'_> {
    /// Reports hints that contradict each other as errors.
    pub(super) fn check_hints(&mut self) {
        let agents = std::mem::take(&mut self.project.agents);
        agents.iter().for_each(|agent| self.check_hints_of(agent));
        let mut apart: BTreeMap<&Text, (u32, Span)> = BTreeMap::new();
        let mut together: BTreeMap<&Text, &AgentEntry> = BTreeMap::new();
        for agent in &agents {
            if let Some(option) = agent.written("apart") {
                apart.entry(&option.value).or_insert((0, option.span)).0 += agent.count;
            }
            let Some(option) = agent.written("together") else { continue };
            let first = together.entry(&option.value).or_insert(agent);
            if first.pin() != agent.pin() {
                let message =
                    format!("`{}` and `{}` are to be together and on different nodes", first.name, agent.name);
                let mut error = Diagnostic::error(self.file, option.span, message, "together here");
                error.related.push((first.span, "first of the group".to_owned()));
                error.help = Some("pin all agents of a group to the same node or label, or none".to_owned());
                self.diagnostics.push(error);
            }
        }
        for (group, (count, span)) in apart {
            if count == 1 {
                let message = format!("one agent only is in the group `{group}`");
                self.warn(
                    span,
                    message,
                    "apart from nobody",
                    "agents with the same value of `apart` are kept on different nodes",
                );
            }
        }
        self.project.agents = agents;
    }

    fn check_hints_of(&mut self, agent: &AgentEntry) {
        let [together, apart, label] = ["together", "apart", "label"].map(|key| agent.written(key));
        for option in [together, apart, label].into_iter().flatten().filter(|option| option.value.trim().is_empty()) {
            self.error(option.span, format!("the option `{}` is a name", option.key), "expected a name", "");
        }
        if let (Some(_), Some(apart)) = (together, apart) {
            let message = format!("`{}` is to be together with others and apart from them", agent.name);
            self.error(apart.span, message, "apart here", "say `together` or `apart`");
        }
        if let (Some(label), Some(node)) = (label, agent.node()) {
            let message = format!("`{}` is to be on the node {node} and on any with a label", agent.name);
            self.error(label.span, message, "a label here", "say `at` or `label`");
        }
        if let (Some(apart), Some(node)) = (apart, agent.node().filter(|_| agent.count > 1)) {
            let message = format!("several of `{}` are to be on the node {node} and apart", agent.name);
            self.error(apart.span, message, "apart here", "agents on one node are not apart");
        }
    }
}
