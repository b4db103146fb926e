//! Society as tools read it: the programs of a project, what they name, and what cannot be known of them.

mod occurrences;
mod python_functions;
mod walk;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};
use whimbrel_bdi::project::{AgentEntry, AgentNames, ProjectEnvironment, parse_project};
use whimbrel_bdi::syntax::ast::{Goal, Program, Rule};
use whimbrel_bdi::syntax::{Diagnostic, LoadError, Loader, Severity, SourceText, parse_program};
use whimbrel_platform::foreign_actions::ACTIONS_FILE;
use whimbrel_platform::limits;

pub(crate) use occurrences::name_of;
pub use occurrences::{CalledAction, LiteralRole, NameOccurrence, NameOccurrences, OccurrenceOwner};
pub use python_functions::{Arities, PythonFunctions};
pub use walk::{TreeVisitor, walk_plan, walk_program, walk_rule};

/// Files of a project, as the host finds them.
pub trait ProjectFiles {
    /// Sets the folders that a project's programs are searched in, as the project lists them.
    fn search(&mut self, folders: &[Text]);

    /// Returns true if the folder of a project has other projects, whose agents may be on the same platform.
    fn has_other_projects(&mut self, project: &str) -> bool;

    /// Returns the name and text of the program that a project names.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    fn program(&mut self, path: &str) -> Result<(Text, SourceText), String>;

    /// Returns the name and text of the file that a program includes.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    fn included(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), String>;
}

/// Program of a society, with all that it includes.
#[derive(Debug, Default)]
pub struct MemberProgram {
    /// File of the program.
    pub file: Text,
    /// Syntax tree.
    pub program: Program,
    /// Faults that the parser found.
    pub diagnostics: Vec<Diagnostic>,
    /// Beliefs that a project gives to agents of this program.
    pub beliefs: Vec<Rule>,
    /// Goals that a project gives to agents of this program.
    pub goals: Vec<Goal>,
    /// Literals, strings and calls of the program.
    pub occurrences: NameOccurrences,
    /// True if a part of the program is unknown: a file that cannot be included, or an action in Java.
    pub has_unknown_parts: bool,
}

/// Programs of a society, as far as they can be known without running them.
#[derive(Debug, Default)]
pub struct SocietyText {
    /// Programs, each once.
    pub programs: Vec<MemberProgram>,
    /// Agents that the project declares or its programs create, each with the file of its program; an empty name if
    /// that is unknown.
    pub agents: FxHashMap<Symbol, Text>,
    /// Texts of all files, by name.
    pub texts: FxHashMap<Text, Text>,
    /// True if each agent that can ever be in the society runs one of these programs.
    pub is_complete: bool,
    /// True if [`SocietyText::agents`] has the names of all agents that can ever be in the society.
    pub knows_names: bool,
    /// True if agents perceive an environment.
    pub perceives: bool,
    /// Python functions that programs call, if the project has a file of them.
    pub python: Option<PythonFunctions>,
}

/// Actions of societies that pages, devices and other programs take part in: what these say is unknown.
const OPEN_ACTIONS: [&str; 8] =
    [".act", ".advise", ".anycast", ".join_group", ".move_to", ".multicast", ".publish", ".subscribe"];

impl SocietyText {
    /// Reads the project `text`, called `file`, and its programs.
    pub fn of_project(text: &str, file: &Text, files: &mut dyn ProjectFiles) -> Self {
        let parsed = parse_project(text, file, &[]);
        let project = parsed.project;
        files.search(&project.asl_source_path);
        let mut society = Self { is_complete: true, knows_names: true, ..Self::default() };
        society.texts.insert(file.clone(), Text::from(text));
        // Programs are searched in the listed folders first, and actions are not.
        let has_one_folder = project.asl_source_path.is_empty();
        society.python = has_one_folder
            .then(|| files.program(ACTIONS_FILE).ok())
            .flatten()
            .map(|(_, source)| PythonFunctions::of(&source.text));
        society.perceives = project.environment.is_some() || !project.offers.is_empty();
        if let Some(ProjectEnvironment::Program { file, .. }) = &project.environment {
            society.add_program(file, files);
        }
        let mut names = AgentNames::default();
        if project.environment.is_some() {
            let environment = Symbol::new("environment");
            names.reserve(environment, 1, 1);
            society.agents.insert(environment, Text::new());
        }
        for agent in &project.agents {
            let left = limits::EDITOR_AGENTS_MAX.saturating_sub(society.agents.len());
            let names = names.reserve(agent.name, agent.count as usize, left);
            society.knows_names &= agent.count as usize <= left;
            society.add_agent(agent, &names, files);
        }
        society.is_complete &= !files.has_other_projects(file);
        society.is_complete &= parsed.diagnostics.iter().all(|found| found.severity != Severity::Error);
        society.add_created(files);
        society
    }

    /// Reads a program that no project names: which agents run beside it is unknown.
    pub fn of_program(text: &str, file: &Text, files: &mut dyn ProjectFiles) -> Self {
        let mut society = Self::default();
        society.read_program(text, file, files);
        society
    }

    fn add_agent(&mut self, agent: &AgentEntry, names: &[Symbol], files: &mut dyn ProjectFiles) {
        self.agents.extend(names.iter().map(|name| (*name, Text::new())));
        let has_classes =
            agent.agent_class.is_some() || !agent.arch_classes.is_empty() || agent.belief_base_class.is_some();
        // Agents on other nodes are seldom alone there.
        self.is_complete &= !has_classes && !agent.is_broken && agent.node().is_none();
        let Some(place) = self.add_program(&agent.source, files) else { return };
        let Some(program) = self.programs.get_mut(place) else { return };
        self.agents.extend(names.iter().map(|name| (*name, program.file.clone())));
        program.has_unknown_parts |= has_classes;
        program.beliefs.extend(agent.beliefs.iter().cloned());
        program.goals.extend(agent.goals.iter().cloned());
        program.occurrences.add_options(&agent.beliefs, &agent.goals);
    }

    /// Adds the program at `path`, unless it is there. Returns its place; `None` if it cannot be read.
    fn add_program(&mut self, path: &str, files: &mut dyn ProjectFiles) -> Option<usize> {
        if !path.ends_with(".asl") || self.programs.len() >= limits::EDITOR_PROGRAMS_MAX {
            self.is_complete = false;
            return None;
        }
        let Ok((name, source)) = files.program(path) else {
            self.is_complete = false;
            return None;
        };
        if let Some(place) = self.programs.iter().position(|program| program.file == name) {
            return Some(place);
        }
        self.read_program(&source.text, &name, files);
        Some(self.programs.len().saturating_sub(1))
    }

    fn read_program(&mut self, text: &str, file: &Text, files: &mut dyn ProjectFiles) {
        self.texts.insert(file.clone(), Text::from(text));
        let mut includes = SocietyIncludes { files, texts: &mut self.texts };
        let parsed = parse_program(text, file, &mut includes);
        let occurrences = NameOccurrences::of(&parsed.program);
        let is_unknown = |found: &Diagnostic| matches!(found.code, "missing-include" | "java-action" | "error");
        let has_unknown_parts = parsed.diagnostics.iter().any(is_unknown) || occurrences.calls_package();
        self.is_complete &= !has_unknown_parts && occurrences.calls_of(&OPEN_ACTIONS).next().is_none();
        self.programs.push(MemberProgram {
            file: file.clone(),
            program: parsed.program,
            diagnostics: parsed.diagnostics,
            occurrences,
            has_unknown_parts,
            ..MemberProgram::default()
        });
    }

    /// Adds the programs of agents that programs create, and their names.
    fn add_created(&mut self, files: &mut dyn ProjectFiles) {
        let mut next = 0;
        while let Some(program) = self.programs.get(next) {
            next += 1;
            let created: Vec<PlannedAgent> = program.occurrences.created();
            for PlannedAgent { name, program } in created {
                self.knows_names &= name.is_some();
                let place = match program {
                    CreatedProgram::File(file) => self.add_program(&file, files),
                    CreatedProgram::Same => next.checked_sub(1),
                    CreatedProgram::Unknown => {
                        self.is_complete = false;
                        None
                    }
                };
                let file = place.and_then(|place| self.programs.get(place)).map(|program| program.file.clone());
                if let Some(name) = name {
                    self.agents.entry(name).or_insert(file.unwrap_or_default());
                }
            }
        }
    }
}

/// Agent that a program creates; parts that are computed are unknown.
#[derive(Debug)]
pub(crate) struct PlannedAgent {
    pub(crate) name: Option<Symbol>,
    pub(crate) program: CreatedProgram,
}

/// Program of an agent that is created.
#[derive(Debug)]
pub(crate) enum CreatedProgram {
    /// The file is written in the program.
    File(Text),
    /// A clone has its creator's program.
    Same,
    /// The file is computed.
    Unknown,
}

/// Loader of includes that keeps their texts.
struct SocietyIncludes<'a> {
    files: &'a mut dyn ProjectFiles,
    texts: &'a mut FxHashMap<Text, Text>,
}

impl Loader for SocietyIncludes<'_> {
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), LoadError> {
        let (name, source) = self.files.included(path, from_file)?;
        self.texts.insert(name.clone(), Text::from(source.text.as_str()));
        Ok((name, source))
    }

    fn load_library(&mut self, path: &str) -> Result<(Text, SourceText), LoadError> {
        let (name, source) = whimbrel_bdi::load_library(path)?;
        self.texts.insert(name.clone(), Text::from(source.text.as_str()));
        Ok((name, source))
    }
}
