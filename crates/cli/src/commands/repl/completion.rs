//! Completion of a typed line: verbs, agents, beliefs, goals, internal actions and files.

use std::path::Path;
use std::time::Duration;

use whimbrel::control::RunningNode;
use whimbrel_bdi::syntax::action_names;
use whimbrel_operator::{AgentOrder, AgentsWanted, Answer, Request};
use whimbrel_platform::inspection::Inspection;

use super::typed_line::VERBS;

/// Number of agents that are proposed.
const AGENTS_MAX: usize = 1_000;
/// Length of names that are proposed: longer ones are hardly typed.
const NAME_BYTES_MAX: usize = 200;

/// Source of proposals: the society, asked when TAB is pressed.
pub struct Completion {
    nodes: Vec<RunningNode>,
    agent: String,
}

/// Kind of word at the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    Verb,
    Agent,
    Belief,
    Goal,
    Action,
    File,
    Nothing,
}

impl Completion {
    /// Completes for this agent of these nodes.
    pub fn new(nodes: Vec<RunningNode>, agent: &str) -> Self {
        Self { nodes, agent: agent.to_owned() }
    }

    /// Returns where the word at the end of the line begins, and what it may be.
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let (begin, kind) = word_at_end(line);
        let word = line.get(begin..).unwrap_or_default();
        let mut proposed: Vec<String> = match kind {
            WordKind::Verb => VERBS.iter().map(|(name, signature, _)| spaced(name, !signature.is_empty())).collect(),
            WordKind::Agent => self.agents(word),
            WordKind::Belief => self.predicates(|inside, add| {
                inside.beliefs.iter().for_each(|belief| add(&belief.text));
            }),
            WordKind::Goal => self.predicates(|inside, add| {
                let goals = inside.plans.iter().filter_map(|plan| plan.trigger.strip_prefix("+!"));
                goals.for_each(add);
            }),
            WordKind::Action => action_names().map(|name| format!(".{name}(")).collect(),
            WordKind::File => files(word),
            WordKind::Nothing => Vec::new(),
        };
        proposed.retain(|name| name.starts_with(word) && name.len() <= NAME_BYTES_MAX);
        proposed.sort_unstable();
        proposed.dedup();
        (begin, proposed)
    }

    fn agents(&self, word: &str) -> Vec<String> {
        let wanted = AgentsWanted {
            name: format!("{word}*"),
            state: None,
            services: false,
            sort: AgentOrder::Name,
            limit: AGENTS_MAX,
            elsewhere_but: Some(Vec::new()),
        };
        match self.nodes.first().map(|node| node.ask(&Request::Agents(wanted), Duration::ZERO)) {
            Some(Ok(Answer::Agents(found))) => found.agents.into_iter().map(|agent| agent.name).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the names of predicates in the agent's mind, with the bracket that follows.
    fn predicates(&self, of: impl Fn(&Inspection, &mut dyn FnMut(&str))) -> Vec<String> {
        let request = Request::Mind { agent: self.agent.clone(), follow: false };
        let mut found = Vec::new();
        if let Ok(Answer::Mind(mind)) = super::super::life::ask_anywhere(&self.nodes, &request, Duration::ZERO) {
            of(&mind.inside, &mut |text| found.push(predicate(text)));
        }
        found
    }
}

/// `price(` for `price(tea,3)`, `open` for `open`.
fn predicate(text: &str) -> String {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_:~".contains(c))).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    format!("{name}{}", if rest.starts_with('(') { "(" } else { "" })
}

fn spaced(name: &str, has_arguments: bool) -> String {
    format!("{name}{}", if has_arguments { " " } else { "" })
}

/// Returns where the word at the end of a line begins, and its kind.
fn word_at_end(line: &str) -> (usize, WordKind) {
    let typed = line.trim_start();
    let verb = VERBS.iter().find(|(name, ..)| typed.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    if let Some((_, signature, _)) = verb {
        let words = typed.split(' ').count() - 1;
        let argument = signature.split_whitespace().nth(words - 1).map(|name| name.trim_matches(['[', ']']));
        let begin = line.rfind(' ').map_or(0, |space| space + 1);
        return match argument {
            Some("AGENT" | "PATTERN") => (begin, WordKind::Agent),
            Some("PROGRAM") => (begin, WordKind::File),
            _ => (line.len(), WordKind::Nothing),
        };
    }
    let is_name = |c: char| c.is_alphanumeric() || "_:".contains(c);
    let name = line
        .rfind(|c: char| !is_name(c))
        .map_or(0, |at| at + line.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    let before = line.get(..name).unwrap_or_default();
    match before.chars().next_back() {
        Some('.') => (name - 1, WordKind::Action),
        Some('!') => (name, WordKind::Goal),
        Some('?' | '+' | '-' | '~' | '&' | '|') => (name, WordKind::Belief),
        Some(' ') if before.trim_start().starts_with('?') => (name, WordKind::Belief),
        _ if before.trim().is_empty() => (name, WordKind::Verb),
        _ => (line.len(), WordKind::Nothing),
    }
}

/// Returns programs and folders that begin with this path.
fn files(word: &str) -> Vec<String> {
    let begin = word.rfind('/').map_or("", |slash| word.get(..=slash).unwrap_or_default());
    let folder = if begin.is_empty() { Path::new(".") } else { Path::new(begin) };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.path().is_dir() && !name.starts_with('.');
        let is_program = [".asl", ".wasm"].iter().any(|ending| name.ends_with(ending));
        (is_folder || is_program).then(|| format!("{begin}{name}{}", if is_folder { "/" } else { "" }))
    };
    entries.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_kinds() {
        for (line, begin, kind) in [
            ("", 0, WordKind::Verb),
            ("ag", 0, WordKind::Verb),
            ("tell b", 5, WordKind::Agent),
            ("tell bob pri", 12, WordKind::Nothing),
            ("load bob ca", 9, WordKind::File),
            ("agents b", 7, WordKind::Agent),
            ("?sto", 1, WordKind::Belief),
            ("?stock(X, N) & pri", 15, WordKind::Belief),
            ("!se", 1, WordKind::Goal),
            ("!sell; !b", 8, WordKind::Goal),
            ("+pr", 1, WordKind::Belief),
            (".pri", 0, WordKind::Action),
            ("!sell; .pr", 7, WordKind::Action),
            ("!sell(X, ä", 11, WordKind::Nothing),
        ] {
            assert_eq!(word_at_end(line), (begin, kind), "{line}");
        }
    }

    #[test]
    fn predicates_end_before_arguments() {
        assert_eq!([predicate("price(tea,3)"), predicate("open"), predicate("~wet(1)")], ["price(", "open", "~wet("]);
    }
}
