//! Agents of a project: their programs, options, classes and numbers.

use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::limits;

use super::classes::ClassRole;
use super::lexer::{ProjectToken, ProjectTokenKind};
use super::parser::{Parse, ProjectParser, ReportedError, forward, parse_number, unquoted};
use super::{AgentEntry, AgentNames, AgentOption, Class};
use crate::syntax::ast::{CodeTerm, Goal, Rule, Span, Term};
use crate::syntax::{Diagnostic, nearest, parse_embedded};

/// Keywords that may follow an agent's name, source and options.
const AGENT_PARTS: [&str; 4] = ["agentArchClass", "agentClass", "beliefBaseClass", "at"];
const FIRST: &str = "first declared here";
/// Options that the engine knows; others belong to the program.
const OPTIONS: [&str; 22] = [
    "apart",
    "beliefs",
    "cycles",
    "cycles_act",
    "cycles_deliberate",
    "cycles_sense",
    "durability",
    "events",
    "goals",
    "intBels",
    "label",
    "lifetime",
    "mindinspector",
    "nrcbp",
    "qcache",
    "qprofiling",
    "rc",
    "synchronised",
    "together",
    "tro",
    "verbose",
    "host",
];

impl ProjectParser<'_> {
    /// Parses the agents of the section.
    pub(super) fn agents(&mut self) -> Parse<()> {
        if self.peek() != ProjectTokenKind::Word || self.at_section() {
            return Err(self.unexpected(&["an agent"], "declare at least one agent: `agents: a;`"));
        }
        while self.peek() == ProjectTokenKind::Word && !self.at_section() {
            let start = self.at;
            match self.agent() {
                Ok(agent) => self.add_agent(agent),
                Err(ReportedError) => self.skip_agent(start),
            }
        }
        self.check_hints();
        Ok(())
    }

    fn add_agent(&mut self, agent: AgentEntry) {
        // A large population is compared in part, so that checking it does not create all its names.
        let compared = if agent.count == 1 { 1 } else { self.names_left.min(agent.count as usize) };
        self.names_left -= if agent.count == 1 { 0 } else { compared };
        let names = self.names.reserve(agent.name, agent.count as usize, compared);
        let plain = AgentNames::default().reserve(agent.name, agent.count as usize, compared);
        if let Some((name, _)) = names.iter().zip(&plain).find(|(name, plain)| name != plain) {
            let message = format!("the agent `{}` is declared twice", agent.name);
            let help = format!("the later one is called `{name}`, as in Jason; give it a name of its own");
            let mut warning = Diagnostic::warning(self.file, agent.span, message, "declared again");
            (warning.code, warning.help) = ("repeated-agent", Some(help));
            warning.related.extend(self.agent_places.get(&agent.name).map(|first| (*first, FIRST.to_owned())));
            self.diagnostics.push(warning);
        }
        self.agent_places.entry(agent.name).or_insert(agent.span);
        self.project.agents.push(agent);
    }

    /// Skips to the `;` that ends the agent with the error.
    fn skip_agent(&mut self, start: usize) {
        loop {
            match self.peek() {
                ProjectTokenKind::Eof | ProjectTokenKind::Sign(b'}') => return,
                _ if self.at_section() && self.at > start => return,
                ProjectTokenKind::Sign(b';') => {
                    self.advance();
                    return;
                }
                _ => {
                    self.advance();
                }
            }
        }
    }

    fn agent(&mut self) -> Parse<AgentEntry> {
        let start = self.token().span;
        let name = self.word().unwrap_or_default();
        if !is_agent_name(name) {
            let help = "an agent's name begins with a lower-case letter and has letters, digits and `_`";
            return Err(self.error(start, format!("`{name}` cannot name an agent"), "not a name", help));
        }
        self.advance();
        let mut agent = AgentEntry {
            name: Symbol::new(name),
            source: self.source(name),
            options: Vec::new(),
            count: 1,
            is_broken: false,
            agent_class: None,
            arch_classes: Vec::new(),
            belief_base_class: None,
            host: None,
            beliefs: Vec::new(),
            goals: Vec::new(),
            span: start,
        };
        let errors = self.diagnostics.errors();
        if self.is(b'[') {
            self.options(&mut agent)?;
        }
        while !self.is(b';') && !self.next_agent_begins() {
            self.agent_part(&mut agent)?;
        }
        agent.is_broken = self.diagnostics.errors() > errors;
        agent.span = self.span_from(start);
        if !self.accept(b';') {
            let end = Span { start: self.last.end.saturating_sub(1), ..self.last };
            self.error(end, "this agent does not end", "expected `;`", "each agent ends with `;`");
        }
        Ok(agent)
    }

    /// Parses the program's file: the written one, with `.asl` if it has no other ending; by default the agent's
    /// name.
    fn source(&mut self, name: &str) -> Text {
        let written = match self.peek() {
            ProjectTokenKind::Str => Some(unquoted(self.text_of(self.token().span))),
            ProjectTokenKind::Word if !AGENT_PARTS.contains(&self.word().unwrap_or_default()) => {
                Some(Text::from(self.word().unwrap_or_default()))
            }
            _ => None,
        };
        // A word at the start of a line is rather the next agent, after a missing `;`.
        let Some(written) = written.filter(|_| !self.misses_semicolon()) else {
            return Text::from(format!("{name}.asl"));
        };
        self.advance();
        let written = forward(&written);
        let file = written.rsplit('/').next().unwrap_or_default();
        if file.contains('.') { written } else { Text::from(format!("{written}.asl")) }
    }

    /// Returns true if the word here is an agent of its own: it begins a line, and no file ending follows.
    fn misses_semicolon(&self) -> bool {
        let span = self.token().span;
        self.peek() == ProjectTokenKind::Word
            && span.line > self.last.line
            && !self.text_of(span).contains('.')
            && !self.text_of(span).contains('/')
    }

    /// Returns true if the next agent begins here after a missing `;`, or the project ends.
    fn next_agent_begins(&self) -> bool {
        let word = self.word().unwrap_or_default();
        self.is(b'}') || self.at_section() || (self.misses_semicolon() && !AGENT_PARTS.contains(&word))
    }

    fn agent_part(&mut self, agent: &mut AgentEntry) -> Parse<()> {
        match self.peek() {
            ProjectTokenKind::Sign(b'#') => {
                self.advance();
                agent.count = self.instances()?;
                Ok(())
            }
            ProjectTokenKind::Sign(b'[') => {
                let span = self.token().span;
                self.warn(span, "options after other parts", "out of order", "Jason wants them before `#` and classes");
                self.options(agent)
            }
            ProjectTokenKind::Word => match self.word().unwrap_or_default() {
                "agentClass" => {
                    agent.agent_class = self.part_class(ClassRole::AgentClass)?;
                    Ok(())
                }
                "agentArchClass" => {
                    let class = self.part_class(ClassRole::AgentArchClass)?;
                    agent.arch_classes.splice(0..0, class);
                    Ok(())
                }
                "beliefBaseClass" => {
                    agent.belief_base_class = self.part_class(ClassRole::BeliefBaseClass)?;
                    Ok(())
                }
                "at" => {
                    agent.host = self.host()?;
                    Ok(())
                }
                word => Err(self.unknown_part(word)),
            },
            _ => Err(self.unexpected(&["`;`"], "each agent ends with `;`")),
        }
    }

    fn unknown_part(&mut self, word: &str) -> ReportedError {
        let help = match nearest(word, AGENT_PARTS) {
            Some(part) => format!("did you mean `{part}`?"),
            None => "an agent is written `name file.asl [options] agentClass C #n at \"host\";`".to_owned(),
        };
        self.unexpected(&["`;`"], &help)
    }

    fn part_class(&mut self, place: ClassRole) -> Parse<Option<Class>> {
        self.advance();
        let class = self.class()?;
        Ok(self.accepted(place, &class).then_some(class))
    }

    fn instances(&mut self) -> Parse<u32> {
        let span = self.token().span;
        let count = self.word().and_then(|word| word.parse::<u32>().ok());
        match count {
            Some(count) if count as usize <= limits::AGENTS_MAX => {
                self.advance();
                Ok(count)
            }
            _ if self.peek() == ProjectTokenKind::Word => {
                let help = "write a whole number: `a #3;`";
                Err(self.error(span, "this is no number of agents", "expected a number", help))
            }
            _ => Err(self.unexpected(&["a number"], "write `a #3;`")),
        }
    }

    fn options(&mut self, agent: &mut AgentEntry) -> Parse<()> {
        self.advance();
        if self.accept(b']') {
            return Ok(());
        }
        loop {
            self.agent_option(agent)?;
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b']', &["`,`", "`]`"], "options are written `[key=value, key=value]`")?;
        Ok(())
    }

    fn agent_option(&mut self, agent: &mut AgentEntry) -> Parse<()> {
        let start = self.token().span;
        let help = "options are written `key=value`";
        let Some(key) = self.word() else { return Err(self.unexpected(&["an option"], help)) };
        self.advance();
        self.expect(b'=', &["`=`"], help)?;
        let token = self.token();
        let value = match token.kind {
            ProjectTokenKind::Str => unquoted(self.text_of(token.span)),
            ProjectTokenKind::Word => Text::from(self.text_of(token.span)),
            _ => return Err(self.unexpected(&["a value"], "values are names, numbers and texts in quotes")),
        };
        self.advance();
        self.check_option(key, &value, start, token.span);
        match key {
            "beliefs" => agent.beliefs = self.beliefs(token.span),
            "goals" => agent.goals = self.goals(token.span),
            _ => {}
        }
        agent.options.push(AgentOption { key: Text::from(key), value, span: self.span_from(start) });
        Ok(())
    }

    fn check_option(&mut self, key: &str, value: &str, key_span: Span, span: Span) {
        let values: &[&str] = match key {
            "events" => &["discard", "requeue", "retrieve"],
            "intBels" => &["sameFocus", "newFocus"],
            "synchronised" | "tro" => &["true", "false"],
            "nrcbp" | "verbose" | "cycles" | "cycles_sense" | "cycles_deliberate" | "cycles_act" => {
                if parse_number(value).is_none() {
                    self.error(span, format!("the option `{key}` is a number"), "expected a number", "");
                }
                return;
            }
            known if OPTIONS.contains(&known) => return,
            own => {
                if let Some(like) = nearest(own, OPTIONS).filter(|like| own.len() > 3 && like.len() > 3) {
                    let message = format!("the option `{own}` means nothing to the engine");
                    self.warn(key_span, message, "passed on to the agent", &format!("did you mean `{like}`?"));
                }
                return;
            }
        };
        if !values.contains(&value) {
            let help = format!("write {}", values.join(" or "));
            self.error(span, format!("`{value}` is no value of the option `{key}`"), "unknown value", &help);
        }
    }

    fn beliefs(&mut self, span: Span) -> Vec<Rule> {
        let mut beliefs = Vec::new();
        for (term, span) in self.embedded(span) {
            match term {
                Term::Literal(head) => beliefs.push(Rule { head, body: None, span, file: self.file.clone() }),
                Term::Code(CodeTerm::Rule(rule)) => beliefs.push(*rule),
                _ => {
                    let help = "beliefs are literals, separated by commas: `beliefs=\"a(1), b\"`";
                    self.error(span, "this is no belief", "expected a literal", help);
                }
            }
        }
        beliefs
    }

    fn goals(&mut self, span: Span) -> Vec<Goal> {
        let mut goals = Vec::new();
        for (term, span) in self.embedded(span) {
            match term {
                Term::Literal(literal) => goals.push(Goal { literal, span, file: self.file.clone() }),
                _ => {
                    let help = "goals are literals, separated by commas: `goals=\"a(1), b\"`";
                    self.error(span, "this is no goal", "expected a literal", help);
                }
            }
        }
        goals
    }

    /// Parses the literals in the string at `span`, or in the single word there.
    fn embedded(&mut self, span: Span) -> Vec<(Term, Span)> {
        let (mut start, mut end) = (span.start as usize, span.end as usize);
        if self.text.get(start..end).unwrap_or_default().starts_with('"') {
            start += 1;
            let closed = end > start && self.text.get(start..end).unwrap_or_default().ends_with('"');
            end -= usize::from(closed);
        }
        let place = Span { start: start as u32, end: start as u32, line: span.line };
        let text = if self.text.get(start..end).unwrap_or_default().contains('\\') {
            let tokens = &self.tokens;
            self.unescaped.get_or_insert_with(|| unescaped(self.text, tokens))
        } else {
            self.text
        };
        let (terms, problems) = parse_embedded(text.get(..end).unwrap_or_default(), place, self.file);
        problems.into_iter().for_each(|problem| self.diagnostics.push(problem));
        terms
    }
}

fn is_agent_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Replaces each `\"` in a string by `"` and a blank outside the quotes, so that all other places stay the same.
fn unescaped(text: &str, tokens: &[ProjectToken]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for token in tokens.iter().filter(|token| token.kind == ProjectTokenKind::Str) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        result.push_str(text.get(done..start).unwrap_or_default());
        let mut opens = true;
        for (i, part) in text.get(start..end).unwrap_or_default().split("\\\"").enumerate() {
            if i > 0 {
                result.push_str(if opens { " \"" } else { "\" " });
                opens = !opens;
            }
            result.push_str(part);
        }
        done = end;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}
