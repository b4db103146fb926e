//! A society: which agents there are, and what programs they run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol, Text, Value};
use whimbrel_bdi::project::options::{apply, value_of};
use whimbrel_bdi::project::{self, AgentEntry, AgentNames, Project, ProjectEnvironment, parse_project};
use whimbrel_bdi::syntax::ast::{Span, Term};
use whimbrel_bdi::syntax::{Diagnostic, Severity, SourceText};
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::AgentBody;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{Hinted, Hints, Layout, Pin, TooFewPartitions};
use whimbrel_platform::services::CreateError;
use whimbrel_runtime::Platform;

use crate::code_cache::CodeCache;
use crate::duration;
use crate::environment::Environments;
use crate::files::{SourceReadError, Sources, read_source};
use crate::guests::{GuestCode, is_module};
use crate::programs::{CompileError, Programs, SocietyLoader};
use crate::python::{self, PythonEnvironment, PythonHost};

/// The name of the agent that is the environment.
pub const ENVIRONMENT: &str = "environment";

/// Reasons why a society cannot be made from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocietyError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] SourceReadError),
    /// Empty project.
    #[error("{} is empty: expected a project or a program", .0.display())]
    Empty(PathBuf),
    /// The file is neither a project nor a program.
    #[error("{} is neither a project (.mas2j) nor a program (.asl, .wasm)", .0.display())]
    UnknownKind(PathBuf),
    /// The WebAssembly module cannot run here; contains the reason.
    #[error("{0}")]
    Module(String),
    /// The project, or programs of it, have errors: all of them, and warnings.
    #[error("{} has errors", .path.display())]
    Errors {
        /// The file.
        path: PathBuf,
        /// All that is wrong.
        diagnostics: Vec<Diagnostic>,
    },
}

/// The option that says how long an agent lives.
const LIFETIME: &str = "lifetime";

/// Agents to be: one, or a population.
#[derive(Clone, Debug)]
struct SocietyEntry {
    name: Symbol,
    /// `#n`, if n is not 1.
    count: Option<usize>,
    /// Names of the entry's agents.
    names: Vec<Symbol>,
    /// `at "host"`.
    host: Option<Text>,
    /// Wishes for the agent's place in a cluster.
    hints: Hints,
    /// `lifetime`: how long each lives.
    lifetime: Option<Duration>,
    code: AgentCode,
}

/// Code of agents.
#[derive(Clone, Debug)]
enum AgentCode {
    AgentSpeak(Box<AgentConfig>),
    /// A WebAssembly module, with what its agents are told in their first call.
    Module(GuestCode, Vec<(Symbol, Value)>),
    /// The program has errors, or is missing: why.
    Unknown(String),
}

impl AgentCode {
    fn kind(&self) -> AgentKind {
        match self {
            Self::AgentSpeak(_) | Self::Unknown(_) => AgentKind::AgentSpeak,
            Self::Module(..) => AgentKind::Wasm,
        }
    }

    fn agent(&self) -> Option<Box<dyn AgentBody>> {
        match self {
            Self::AgentSpeak(config) => Some(Box::new(Agent::new((**config).clone()))),
            Self::Module(code, options) => Some(code.agent(options.clone())),
            Self::Unknown(_) => None,
        }
    }
}

impl SocietyEntry {
    /// Makes an entry of one agent with this code.
    fn lone(name: &str, code: AgentCode) -> Self {
        let (name, hints) = (Symbol::new(name), Hints::default());
        Self { name, count: None, names: vec![name], host: None, hints, lifetime: None, code }
    }

    /// Returns the agents by name.
    fn names(&self) -> impl Iterator<Item = Symbol> {
        self.names.iter().copied()
    }

    /// Returns the agents by name, with their bodies.
    fn agents(&self) -> impl Iterator<Item = (Symbol, AgentKind, Box<dyn AgentBody>)> {
        self.names().filter_map(|name| Some((name, self.code.kind(), self.code.agent()?)))
    }
}

/// Agents that are not started, for their project or program has errors or is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Names of the agents.
    pub agents: Vec<Symbol>,
    /// Fault, in a few words.
    pub why: String,
    /// Number of the society's entries before this one.
    place: usize,
    name: Symbol,
    /// `#n`, if n is not 1.
    count: Option<usize>,
}

/// One agent of a society to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Seat {
    /// Name of the agent.
    pub name: Symbol,
    /// Kind of the agent.
    pub kind: AgentKind,
    /// Host of the agent, from `at "host"`.
    pub host: Option<Text>,
}

/// Advice for a missing module.
const MODULES_ARE_MADE: &str =
    "`whimbrel agent build` makes it of a program; those of Whimbrel's own examples are made by `make guests`";

/// A society to be; see [`Society::open`].
pub struct Society {
    programs: Arc<Programs>,
    entries: Vec<SocietyEntry>,
    environment: Option<Aid>,
    workers: Option<usize>,
    warnings: Vec<Diagnostic>,
    left_out: Vec<LeftOut>,
    host_environment: Option<Box<dyn AgentBody>>,
    offers: Vec<DocumentOffer>,
}

/// A folder of documents that nodes of a society offer its agents.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentOffer {
    /// The name by which agents act on it.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The node that offers it, if it is not each of them: what `at "n2"` says.
    pub host: Option<Text>,
}

impl Society {
    fn of(programs: Programs, entries: Vec<SocietyEntry>) -> Self {
        Self {
            programs: Arc::new(programs),
            entries,
            environment: None,
            workers: None,
            warnings: Vec::new(),
            left_out: Vec::new(),
            host_environment: None,
            offers: Vec::new(),
        }
    }

    /// Reads a project (`.mas2j`), or a program (`.asl`) as a society of one agent named after its file; compiles all
    /// programs.
    ///
    /// # Errors
    /// A file cannot be read or has errors; then all errors of all files are told.
    pub fn open(file: &Path) -> Result<Self, SocietyError> {
        Self::open_with(file, &Environments::new())
    }

    /// Opens a society to look at its diagnostics only: large populations do not get all their names.
    ///
    /// # Errors
    /// As [`Society::open`].
    pub fn check(file: &Path) -> Result<Self, SocietyError> {
        SocietyReader { names_max: 1, ..SocietyReader::new(&Environments::new(), None) }.open(file)
    }

    /// Opens a project as [`Society::open`] does, with environments written in Rust that it may name.
    ///
    /// # Errors
    /// As [`Society::open`].
    pub fn open_with(file: &Path, environments: &Environments) -> Result<Self, SocietyError> {
        Self::open_cached(file, environments, None)
    }

    /// Opens a society as [`Society::open_with`] does. The cache keeps code that agents bring from other nodes, and
    /// compiled modules.
    ///
    /// # Errors
    /// As [`Society::open`].
    pub fn open_cached(
        file: &Path,
        environments: &Environments,
        cache: Option<Arc<CodeCache>>,
    ) -> Result<Self, SocietyError> {
        SocietyReader::new(environments, cache).open(file)
    }

    /// Opens a society as Jason does: agents that have errors, or whose programs are missing, are [left
    /// out](Society::left_out), and a file that cannot be included is a warning.
    ///
    /// # Errors
    /// The project itself has errors, or its environment, or every agent.
    pub fn open_in_part(
        file: &Path,
        environments: &Environments,
        cache: Option<Arc<CodeCache>>,
    ) -> Result<Self, SocietyError> {
        SocietyReader { is_strict: false, ..SocietyReader::new(environments, cache) }.open(file)
    }

    /// Returns a society without agents or programs of its own, for a node that takes in agents of other nodes.
    pub fn empty(cache: Option<Arc<CodeCache>>) -> Self {
        Self::of(Programs::new(Sources::default(), cache), Vec::new())
    }

    /// Returns a society that is built into this program: a project's text, and the files it names.
    ///
    /// # Errors
    /// The project or its programs have errors.
    pub fn built_in(project: &str, files: &'static [(&'static str, &'static str)]) -> Result<Self, SocietyError> {
        let file = Path::new("project.mas2j");
        let environments = Environments::new();
        let mut opening = SocietyReader::new(&environments, None);
        let society = opening.project(file, &project.to_owned().into(), |_| Sources::BuiltIn(files));
        opening.finish(file, society)
    }

    /// Sets how many agents each population has: a lone program's, or each `#n` of a project.
    pub fn set_population(&mut self, count: usize) {
        let is_lone = self.entries.len() + self.left_out.len() == 1;
        let mut names = AgentNames::default();
        self.host_environment.as_ref().map(|_| names.reserve(Symbol::new(ENVIRONMENT), 1, 1));
        let mut rename = |name: Symbol, counted: &mut Option<usize>| {
            if is_lone || counted.is_some_and(|count| count > 0) {
                *counted = (count > 1 || counted.is_some()).then_some(count);
            }
            match counted {
                // A population of one is numbered, too.
                Some(1) => names.reserve(Symbol::new(&format!("{name}1")), 1, 1),
                counted => names.reserve(name, counted.unwrap_or(1), usize::MAX),
            }
        };
        // Agents that are left out keep their names, so that those of the others do not depend on them.
        let mut left_out = self.left_out.iter_mut().peekable();
        for place in 0..=self.entries.len() {
            while let Some(out) = left_out.next_if(|out| out.place <= place) {
                out.agents = rename(out.name, &mut out.count);
            }
            if let Some(entry) = self.entries.get_mut(place) {
                entry.names = rename(entry.name, &mut entry.count);
            }
        }
    }

    /// Agents that are not started, of a society that was [opened in part](Society::open_in_part).
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Sets the receiver of warnings about programs that are loaded while the society runs.
    pub fn tell(&self, reader: fn(&[Diagnostic])) {
        self.programs.tell(reader);
    }

    /// Returns the diagnostics of the programs; errors are those of agents that are left out.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Returns the project's offers to agents on its nodes. Folders are relative to the project's file.
    pub fn offers(&self) -> &[DocumentOffer] {
        &self.offers
    }

    /// Returns the number of threads that the project asks for.
    pub fn workers(&self) -> Option<usize> {
        self.workers
    }

    /// Returns the partitions of the society's agents, in a store with this number of partitions.
    ///
    /// # Errors
    /// The project's hints need more partitions than there are.
    pub fn layout(&self, partitions: u16) -> Result<Layout, TooFewPartitions> {
        let hinted = |entry: &SocietyEntry| Hinted {
            what: entry.count.map_or(entry.name.to_string(), |count| format!("{} #{count}", entry.name)),
            names: entry.names().collect(),
            hints: entry.hints.clone(),
        };
        let has_hints = |entry: &&SocietyEntry| entry.hints != Hints::default();
        Layout::plan(partitions, &self.entries.iter().filter(has_hints).map(hinted).collect::<Vec<_>>())
    }

    /// Returns the programs of the durable agents, by file, each with a fingerprint of its text and of all that it
    /// includes. Agents that are created later are not among them.
    pub fn programs(&self) -> BTreeMap<String, String> {
        let kept = |entry: &SocietyEntry| match &entry.code {
            AgentCode::AgentSpeak(config) if !config.options.is_volatile() => {
                let image = &config.image;
                Some((self.programs.name(Path::new(&*image.name)), format!("{:016x}", image.fingerprint)))
            }
            AgentCode::Module(code, _) => Some((self.programs.name(Path::new(code.path().as_str())), code.hash())),
            AgentCode::AgentSpeak(_) | AgentCode::Unknown(_) => None,
        };
        self.entries.iter().filter_map(kept).collect()
    }

    /// Returns the loader with which a platform's agents create others.
    pub fn loader(&self) -> SocietyLoader {
        SocietyLoader::new(Arc::clone(&self.programs), self.environment)
    }

    /// Returns all agents in the order of the project, the environment first, and on which host each is to be, if it is
    /// said.
    pub fn members(&self) -> Vec<Seat> {
        let environment = self.host_environment.as_ref().map(|_| {
            let name = Symbol::new(ENVIRONMENT);
            Seat { name, kind: AgentKind::Native, host: None }
        });
        let seat = |entry: &SocietyEntry, name| Seat { name, kind: entry.code.kind(), host: entry.host.clone() };
        let agents = self.entries.iter().flat_map(|entry| entry.names().map(move |name| seat(entry, name)));
        environment.into_iter().chain(agents).collect()
    }

    /// Brings those agents to life that `lives_here` says: all of them exist before the first has its first turn.
    ///
    /// # Errors
    /// A name is taken, or no name.
    pub fn start_some(
        mut self,
        platform: &Platform,
        lives_here: impl Fn(Symbol) -> bool,
    ) -> Result<Vec<Aid>, CreateError> {
        let bounded: FxHashMap<Symbol, Duration> = self.lifetimes().collect();
        platform.spawn_together_for(self.some(lives_here), |name| bounded.get(&name).copied())
    }

    /// Returns the agents that live no longer than the project says, and how long that is.
    pub fn lifetimes(&self) -> impl Iterator<Item = (Symbol, Duration)> {
        self.entries.iter().flat_map(|entry| entry.names().zip(entry.lifetime.into_iter().cycle()))
    }

    /// Returns the initial agents that `lives_here` selects, for [`Platform::adopt`]. An environment in Rust is made
    /// only once.
    pub fn some(&mut self, lives_here: impl Fn(Symbol) -> bool) -> Vec<(Symbol, AgentKind, Box<dyn AgentBody>)> {
        let environment = Symbol::new(ENVIRONMENT);
        let made = if lives_here(environment) { self.host_environment.take() } else { None };
        let made = made.map(|body| (environment, AgentKind::Native, body));
        let agents = self.entries.iter().flat_map(SocietyEntry::agents).filter(|(name, ..)| lives_here(*name));
        made.into_iter().chain(agents).collect()
    }

    /// Brings the agents to life: all of them exist before the first has its first turn.
    ///
    /// # Errors
    /// A name is taken, or no name.
    pub fn start(self, platform: &Platform) -> Result<Vec<Aid>, CreateError> {
        self.start_some(platform, |_| true)
    }
}

/// Returns the project's wishes for an agent's place in a cluster.
fn hints_of(agent: &AgentEntry) -> Hints {
    let value = |key| agent.option(key).map(str::to_owned);
    let pin = agent.node().map(|node| Pin::Node(node.to_string())).or(value("label").map(Pin::Label));
    Hints { together: value("together"), apart: value("apart"), pin }
}

/// A society being read: what is wrong is collected, so that all of it can be told at once.
struct SocietyReader<'a> {
    environments: &'a Environments,
    cache: Option<Arc<CodeCache>>,
    /// The body of the environment, if it is written in Rust.
    host_environment: Option<Box<dyn AgentBody>>,
    diagnostics: Vec<Diagnostic>,
    /// True if one error keeps the whole society from running.
    is_strict: bool,
    /// True if the society cannot run, not even in part.
    is_hopeless: bool,
    left_out: Vec<LeftOut>,
    /// Agents of one line that get names.
    names_max: usize,
}

impl<'a> SocietyReader<'a> {
    fn new(environments: &'a Environments, cache: Option<Arc<CodeCache>>) -> Self {
        let (diagnostics, left_out) = (Vec::new(), Vec::new());
        let (is_strict, is_hopeless, names_max) = (true, false, usize::MAX);
        Self { environments, cache, host_environment: None, diagnostics, is_strict, is_hopeless, left_out, names_max }
    }

    fn open(mut self, file: &Path) -> Result<Society, SocietyError> {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if is_module(&file.to_string_lossy()) {
            return self.module(file);
        }
        let source = read_source(file)?;
        if source.text.trim().is_empty() {
            return Err(SocietyError::Empty(file.to_owned()));
        }
        let society = match extension {
            "mas2j" => {
                let folder = file.parent().unwrap_or(Path::new(""));
                self.project(file, &source, |listed| Sources::new(folder, listed.iter().map(Text::as_str)))
            }
            "asl" => self.program(file),
            _ => return Err(SocietyError::UnknownKind(file.to_owned())),
        };
        self.finish(file, society)
    }

    fn programs(&self, sources: Sources) -> Programs {
        let programs = Programs::new(sources, self.cache.clone());
        if self.is_strict { programs.strict() } else { programs }
    }

    fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    }

    /// Returns a module as a society of one agent.
    fn module(&self, file: &Path) -> Result<Society, SocietyError> {
        let programs = self.programs(Sources::new(file.parent().unwrap_or(Path::new("")), []));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let code = programs.module(&name).map_err(|error| match error {
            CompileError::Read(error) => SocietyError::Read(error),
            other => SocietyError::Module(other.to_string()),
        })?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Society::of(programs, vec![SocietyEntry::lone(&stem, AgentCode::Module(code, Vec::new()))]))
    }

    fn program(&mut self, file: &Path) -> Society {
        let folder = file.parent().unwrap_or(Path::new(""));
        let programs = self.programs(Sources::new(folder, []));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let place = (Text::from(file.to_string_lossy()), Span::default());
        let entry = SocietyEntry::lone(&stem, self.code(&programs, &name, &place));
        self.python(&Project::default(), &programs, &place.0);
        self.is_hopeless |= matches!(entry.code, AgentCode::Unknown(_));
        Society::of(programs, vec![entry])
    }

    fn finish(self, file: &Path, society: Society) -> Result<Society, SocietyError> {
        let nobody_runs = society.entries.iter().all(|entry| entry.names.is_empty());
        if self.errors() > 0 && (self.is_strict || self.is_hopeless || nobody_runs) {
            return Err(SocietyError::Errors { path: file.to_owned(), diagnostics: self.diagnostics });
        }
        let (host_environment, left_out) = (self.host_environment, self.left_out);
        Ok(Society { warnings: self.diagnostics, left_out, host_environment, ..society })
    }

    fn project(&mut self, file: &Path, source: &SourceText, sources: impl FnOnce(&[Text]) -> Sources) -> Society {
        let name = Text::from(file.to_string_lossy());
        self.diagnostics.extend(source.warning(&name));
        let parsed = parse_project(&source.text, &name, &self.environments.names());
        self.is_hopeless |= !parsed.is_ok_in_part();
        self.diagnostics.extend(parsed.diagnostics);
        let project = parsed.project;
        let programs = self.programs(sources(&project.asl_source_path));
        let before = self.errors();
        let mut entries = Vec::new();
        entries.extend(self.environment(&project, &programs, &name));
        self.python(&project, &programs, &name);
        self.is_hopeless |= self.errors() > before;
        let exists = !entries.is_empty() || self.host_environment.is_some();
        let environment = exists.then(|| Aid::local(ENVIRONMENT));
        let mut names = AgentNames::default();
        environment.map(|environment| names.reserve(environment.name, 1, 1));
        for agent in &project.agents {
            let called = names.reserve(agent.name, agent.count as usize, self.names_max);
            let place = entries.len();
            entries.extend(self.agent(agent, (place, called), &programs, &name, environment));
        }
        let workers = project.infrastructure.workers.map(|workers| workers as usize);
        let beside = Path::new(name.as_str()).parent().unwrap_or(Path::new(""));
        let offer = |offer: &project::ProjectOffer| DocumentOffer {
            name: offer.name.to_string(),
            folder: beside.join(offer.folder.as_str()),
            host: offer.host.clone(),
        };
        let offers = project.offers.iter().map(offer).collect();
        Society { environment, workers, offers, ..Society::of(programs, entries) }
    }

    /// Adds the project's Python: an environment, and functions that programs call.
    fn python(&mut self, project: &Project, programs: &Programs, project_file: &Text) {
        let class = match &project.environment {
            Some(ProjectEnvironment::Host(class)) if python::is_python(class) => Some(class),
            _ => None,
        };
        let Some(folder) = programs.folder() else { return };
        match python::setup_of(class, folder, &|file| programs.find_file(file)) {
            Ok(setup) => {
                let host = Arc::new(PythonHost::new(setup));
                if class.is_some() {
                    self.host_environment = Some(Box::new(PythonEnvironment::new(Arc::clone(&host))));
                }
                programs.add_python(host);
            }
            Err(problem) => {
                let span = class.map_or_else(Span::default, |class| class.span);
                self.diagnostics.push(Diagnostic::error(project_file, span, problem, "named here"));
            }
        }
    }

    fn environment(&mut self, project: &Project, programs: &Programs, project_file: &Text) -> Option<SocietyEntry> {
        match project.environment.as_ref()? {
            ProjectEnvironment::Program { file, class } => {
                let code = self.code(programs, file, &(project_file.clone(), class.span));
                Some(SocietyEntry::lone(ENVIRONMENT, code))
            }
            ProjectEnvironment::Host(class) if python::is_python(class) => None,
            ProjectEnvironment::Host(class) => {
                let (message, label) = match self.environments.make(class) {
                    Some(Ok(body)) => {
                        self.host_environment = Some(body);
                        return None;
                    }
                    Some(Err(problem)) => (problem, "made here"),
                    None => (format!("there is no environment called {} here", class.name), "not provided"),
                };
                let help = "write it as an agent, `environment: asl(\"env.asl\")`, in Python, `environment: py(\"env.py\")`, or \
                            embed Whimbrel in a Rust program";
                self.diagnostics.push(Diagnostic::error(project_file, class.span, message, label).with_help(help));
                None
            }
        }
    }

    /// Returns the agents that one line of a project declares, with the line's place and their names; none if they have
    /// errors.
    fn agent(
        &mut self,
        agent: &AgentEntry,
        (place, names): (usize, Vec<Symbol>),
        programs: &Programs,
        project: &Text,
        acts_on: Option<Aid>,
    ) -> Option<SocietyEntry> {
        let before = self.errors();
        let mut code = self.code(programs, &agent.source, &(project.clone(), agent.span));
        match &mut code {
            AgentCode::AgentSpeak(config) => {
                config.environment = acts_on;
                self.configure(config, agent, project);
            }
            AgentCode::Module(_, options) => self.tell_options(options, agent, project),
            AgentCode::Unknown(_) => {}
        }
        let count = (agent.count != 1).then_some(agent.count as usize);
        let lifetime = self.lifetime(agent, project);
        let why = match &code {
            AgentCode::Unknown(why) => Some(why.clone()),
            _ if agent.is_broken || self.errors() > before => Some("its declaration has errors".to_owned()),
            _ => None,
        };
        if let Some(why) = why {
            // `#0` is none that could be missed.
            if count != Some(0) {
                self.left_out.push(LeftOut { agents: names, why, place, name: agent.name, count });
            }
            return None;
        }
        Some(SocietyEntry {
            name: agent.name,
            count,
            names,
            host: agent.host.clone(),
            hints: hints_of(agent),
            lifetime,
            code,
        })
    }

    /// Returns an agent's lifetime, if the project gives one.
    fn lifetime(&mut self, agent: &AgentEntry, project: &Text) -> Option<Duration> {
        let option = agent.options.iter().find(|option| *option.key == *LIFETIME)?;
        match duration::parse(&option.value) {
            Ok(lifetime) => Some(lifetime),
            Err(why) => {
                let problem = format!("{LIFETIME}: {why}");
                self.diagnostics.push(Diagnostic::error(project, option.span, problem, "this value"));
                None
            }
        }
    }

    /// Applies the project's settings of an AgentSpeak agent.
    fn configure(&mut self, config: &mut AgentConfig, agent: &AgentEntry, project: &Text) {
        config.beliefs.extend(agent.beliefs.iter().map(|belief| value_of(&Term::Literal(belief.head.clone()))));
        config.goals.extend(agent.goals.iter().map(|goal| value_of(&Term::Literal(goal.literal.clone()))));
        for option in &agent.options {
            if matches!(option.key.as_str(), "beliefs" | "goals" | "together" | "apart" | "label" | LIFETIME) {
                continue;
            }
            if let Err(problem) = apply(config, Symbol::new(&option.key), &option.value) {
                self.diagnostics.push(Diagnostic::error(project, option.span, problem, "this value"));
            }
        }
    }

    /// Passes the project's settings of a WebAssembly agent on to the agent.
    fn tell_options(&mut self, options: &mut Vec<(Symbol, Value)>, agent: &AgentEntry, project: &Text) {
        for option in &agent.options {
            match option.key.as_str() {
                "together" | "apart" | "label" | LIFETIME => {}
                "beliefs" | "goals" => {
                    let message = format!("a WebAssembly agent has no {}", option.key);
                    self.diagnostics.push(Diagnostic::error(project, option.span, message, "of an AgentSpeak agent"));
                }
                key => options.push((Symbol::new(key), Value::from(option.value.as_str()))),
            }
        }
    }

    /// Loads the code at `path`, which `place` names.
    fn code(&mut self, programs: &Programs, path: &str, place: &(Text, Span)) -> AgentCode {
        let code = if is_module(path) {
            programs.module(path).map(|code| AgentCode::Module(code, Vec::new()))
        } else {
            programs.compile(path).map(|(image, warnings)| {
                self.diagnostics.extend(warnings);
                AgentCode::AgentSpeak(Box::new(AgentConfig::new(image)))
            })
        };
        code.unwrap_or_else(|error| {
            let why = match &error {
                CompileError::Errors(_) => format!("{path} has errors"),
                other => other.to_string(),
            };
            match error {
                CompileError::Errors(diagnostics) => self.note_once(diagnostics),
                other => {
                    let error = Diagnostic::error(&place.0, place.1, other.to_string(), "named here");
                    let unbuilt =
                        is_module(path) && matches!(other, CompileError::Read(SourceReadError::Missing { .. }));
                    self.note_once(vec![if unbuilt { error.with_help(MODULES_ARE_MADE) } else { error }]);
                }
            }
            AgentCode::Unknown(why)
        })
    }

    /// Notes diagnostics, each once: several agents may run one program.
    fn note_once(&mut self, diagnostics: Vec<Diagnostic>) {
        for diagnostic in diagnostics {
            if !self.diagnostics.contains(&diagnostic) {
                self.diagnostics.push(diagnostic);
            }
        }
    }
}
