//! Projects (`.mas2j`) and lone programs, as societies of a device.

use std::time::Duration;

use whimbrel_acl::{Aid, Symbol, Text};
use whimbrel_bdi::AgentConfig;
use whimbrel_bdi::project::options::{apply, value_of};
use whimbrel_bdi::project::{AgentEntry, AgentNames, ProjectEnvironment, parse_project};
use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_bdi::syntax::ast::{Span, Term};
use whimbrel_platform::duration;

use crate::host::SocietyHost;

/// The name of the agent that is the environment.
const ENVIRONMENT: &str = "environment";
/// Options that say where an agent lives: there is one place here.
const ELSEWHERE: [&str; 3] = ["together", "apart", "label"];

/// A project or program that cannot be run.
#[derive(Debug)]
pub struct ProjectOpenError(
    /// Diagnostics: errors and warnings.
    pub Vec<Diagnostic>,
);

/// Agent of a project, before it is created.
pub(crate) struct ProjectAgent {
    pub name: String,
    pub config: AgentConfig,
    pub lifetime: Option<Duration>,
}

/// Project that is being read, with its diagnostics so far.
pub(crate) struct ProjectReader<'a> {
    host: &'a mut SocietyHost,
    file: Text,
    diagnostics: Vec<Diagnostic>,
    seats: Vec<ProjectAgent>,
}

pub(crate) fn problem(file: &Text, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(file, span, message, "named here")
}

impl<'a> ProjectReader<'a> {
    pub fn read(host: &'a mut SocietyHost, path: &str) -> (Vec<ProjectAgent>, Vec<Diagnostic>) {
        let mut opening = Self { host, file: Text::from(path), diagnostics: Vec::new(), seats: Vec::new() };
        if path.ends_with(".mas2j") {
            opening.project(path)
        } else {
            opening.program(path)
        }
        (opening.seats, opening.diagnostics)
    }

    fn program(&mut self, path: &str) {
        let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".asl");
        if let Some(config) = self.compile(path, Span::default()) {
            self.seats.push(ProjectAgent { name: stem.to_owned(), config, lifetime: None });
        }
    }

    fn project(&mut self, path: &str) {
        let text = self.host.files().read(path).map(ToOwned::to_owned);
        let text = match text {
            Ok(text) => text,
            Err(why) => return self.diagnostics.push(problem(&self.file, Span::default(), why)),
        };
        let parsed = parse_project(&text, &self.file, &[]);
        self.diagnostics.extend(parsed.diagnostics);
        let project = parsed.project;
        let folder = path.rfind('/').and_then(|slash| path.get(..slash)).unwrap_or_default();
        let beside = |listed: &Text| format!("{folder}/{listed}").trim_start_matches('/').to_owned();
        let folders = project.asl_source_path.iter().map(beside);
        let folders = folders.chain(project.asl_source_path.iter().map(ToString::to_string));
        self.host.files().search_in(folders.chain([folder.to_owned()]).collect());
        self.environment(project.environment.as_ref());
        let mut names = AgentNames::default();
        self.seats.iter().for_each(|seat| drop(names.reserve(Symbol::new(&seat.name), 1, 1)));
        for agent in &project.agents {
            let called = names.reserve(agent.name, agent.count as usize, usize::MAX);
            self.agent(agent, called);
        }
    }

    fn environment(&mut self, environment: Option<&ProjectEnvironment>) {
        self.host.environment = None;
        match environment {
            None => {}
            Some(ProjectEnvironment::Program { file, class }) => {
                if let Some(config) = self.compile(file, class.span) {
                    self.seats.push(ProjectAgent { name: ENVIRONMENT.to_owned(), config, lifetime: None });
                    self.host.environment = Some(Aid::local(ENVIRONMENT));
                }
            }
            Some(ProjectEnvironment::Host(class)) => {
                let message = format!("there is no environment called {} on a device", class.name);
                let help = "write it as an agent, `environment: asl(\"env.asl\")`";
                self.diagnostics.push(problem(&self.file, class.span, message).with_help(help));
            }
        }
    }

    fn agent(&mut self, entry: &AgentEntry, names: Vec<Symbol>) {
        if entry.source.ends_with(".wasm") {
            let why = "a device's society runs only AgentSpeak agents: run WebAssembly modules beside it";
            return self.diagnostics.push(problem(&self.file, entry.span, why));
        }
        let Some(mut config) = self.compile(&entry.source, entry.span) else { return };
        config.environment = self.host.environment;
        config.beliefs.extend(entry.beliefs.iter().map(|belief| value_of(&Term::Literal(belief.head.clone()))));
        config.goals.extend(entry.goals.iter().map(|goal| value_of(&Term::Literal(goal.literal.clone()))));
        let mut lifetime = None;
        for option in &entry.options {
            let applied = match option.key.as_str() {
                "beliefs" | "goals" => Ok(()),
                key if ELSEWHERE.contains(&key) => Ok(()),
                "lifetime" => duration::parse(&option.value).map(|time| lifetime = Some(time)),
                key => apply(&mut config, Symbol::new(key), &option.value),
            };
            if let Err(why) = applied {
                self.diagnostics.push(problem(&self.file, option.span, why));
            }
        }
        let seats =
            names.into_iter().map(|name| ProjectAgent { name: name.to_string(), config: config.clone(), lifetime });
        self.seats.extend(seats);
    }

    /// Compiles a program. Its diagnostics are noted once, even if several agents run it.
    fn compile(&mut self, path: &str, span: Span) -> Option<AgentConfig> {
        let compiled = self.host.files().compile(path);
        match compiled {
            Ok((image, warnings)) => {
                self.diagnostics.extend(warnings);
                Some(AgentConfig::new(image))
            }
            Err(diagnostics) => {
                for mut diagnostic in diagnostics {
                    if diagnostic.span == Span::default() && diagnostic.label == "named here" {
                        diagnostic = problem(&self.file, span, diagnostic.message);
                    }
                    if !self.diagnostics.contains(&diagnostic) {
                        self.diagnostics.push(diagnostic);
                    }
                }
                None
            }
        }
    }
}
