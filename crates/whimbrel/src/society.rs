//! A society: which agents there are, and what programs they run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol, Text, Value};
use whimbrel_bdi::AgentConfig;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::reason::ProgramError;
use whimbrel_bdi::syntax::{Diagnostic, Loader};
use whimbrel_platform::AgentBody;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::services::CreateError;
use whimbrel_runtime::{Platform, ProgramLoader};

use crate::files::{ReadError, SourcePaths, read};

/// Why a society cannot be made from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A program has errors; all of them.
    #[error("{} has errors", .path.display())]
    Program {
        /// The program's file.
        path: PathBuf,
        /// Errors, and warnings.
        diagnostics: Vec<Diagnostic>,
    },
    /// There is nothing in it.
    #[error("{} is empty: there is nothing to run", .0.display())]
    Empty(PathBuf),
}

/// The programs of a society: found in its folders, compiled once, shared by all agents that run them.
#[derive(Debug)]
pub struct Programs {
    paths: SourcePaths,
    images: Mutex<FxHashMap<PathBuf, Arc<Image>>>,
}

impl Programs {
    /// Programs that are found in these folders.
    pub fn new(paths: SourcePaths) -> Self {
        Self { paths, images: Mutex::default() }
    }

    /// The compiled program, and what there is to say about it when it is compiled for the first time.
    ///
    /// # Errors
    /// There is none, or it has errors.
    pub fn compile(&self, path: &str) -> Result<(Arc<Image>, Vec<Diagnostic>), OpenError> {
        let file = self.paths.find(path);
        if let Some(image) = self.images.lock().unwrap_or_else(PoisonError::into_inner).get(&file) {
            return Ok((Arc::clone(image), Vec::new()));
        }
        let text = read(&file)?;
        let name = Text::from(file.to_string_lossy());
        let (image, warnings) = whimbrel_bdi::load(&text, &name, &mut Includes(&self.paths))
            .map_err(|ProgramError { diagnostics }| OpenError::Program { path: file.clone(), diagnostics })?;
        self.images.lock().unwrap_or_else(PoisonError::into_inner).insert(file, Arc::clone(&image));
        Ok((image, warnings))
    }
}

/// Files that programs include: beside the including file, then where programs are found.
struct Includes<'a>(&'a SourcePaths);

impl Loader for Includes<'_> {
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, String), String> {
        if path.starts_with("$jasonJar") {
            return Err("Jason's Java archive is not part of Whimbrel; copy the file beside the program".to_owned());
        }
        let beside = Path::new(from_file).parent().unwrap_or(Path::new("")).join(path);
        let file = if beside.is_file() { beside } else { self.0.find(path) };
        let text = read(&file).map_err(|error| error.to_string())?;
        Ok((Text::from(file.to_string_lossy()), text))
    }
}

/// Agents that are created while the society runs find their programs here.
#[derive(Clone, Debug)]
pub struct AgentSpeakLoader(pub Arc<Programs>);

impl ProgramLoader for AgentSpeakLoader {
    fn load(&self, _name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        let (image, _) = self.0.compile(path).map_err(|error| match error {
            OpenError::Program { diagnostics, .. } => {
                diagnostics.first().map_or_else(|| "the program has errors".to_owned(), Diagnostic::to_string)
            }
            other => other.to_string(),
        })?;
        let mut config = AgentConfig::new(image);
        for (key, value) in options {
            if let Err(problem) = crate::options::apply(&mut config, *key, value) {
                return Err(problem);
            }
        }
        Ok(Box::new(whimbrel_bdi::Agent::new(config)))
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        read(&self.0.paths.find(path)).map_err(|error| error.to_string())
    }
}

/// Agents to be: one, or a population.
#[derive(Clone, Debug)]
struct Entry {
    name: Symbol,
    /// `#n`
    count: Option<usize>,
    config: AgentConfig,
}

/// A society to be.
#[derive(Debug)]
pub struct Society {
    programs: Arc<Programs>,
    entries: Vec<Entry>,
    warnings: Vec<Diagnostic>,
}

impl Society {
    /// A society of one program: one agent, named after its file, or this many, numbered from 1.
    ///
    /// # Errors
    /// The program cannot be read, or has errors.
    pub fn of_program(file: &Path, agents: Option<usize>) -> Result<Self, OpenError> {
        let text = read(file)?;
        if text.trim().is_empty() {
            return Err(OpenError::Empty(file.to_owned()));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let programs = Arc::new(Programs::new(SourcePaths::new(folder, [])));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let (image, warnings) = programs.compile(&name)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let entry = Entry { name: Symbol::new(&stem), count: agents, config: AgentConfig::new(image) };
        Ok(Self { programs, entries: vec![entry], warnings })
    }

    /// What there is to say about the programs, though they can run.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// What a platform needs so that agents can create others.
    pub fn loader(&self) -> AgentSpeakLoader {
        AgentSpeakLoader(Arc::clone(&self.programs))
    }

    /// Brings the agents to life.
    ///
    /// # Errors
    /// A name is taken, or no name.
    pub fn start(&self, platform: &Platform) -> Result<Vec<Aid>, CreateError> {
        let mut agents = Vec::new();
        for Entry { name, count, config } in &self.entries {
            let body = |_: usize| -> Box<dyn AgentBody> { Box::new(whimbrel_bdi::Agent::new(config.clone())) };
            match count {
                None => agents.push(platform.spawn_kind(*name, AgentKind::AgentSpeak, body(0))?),
                Some(count) => {
                    agents.extend(platform.spawn_bodies(*name, AgentKind::AgentSpeak, *count, body)?);
                }
            }
        }
        Ok(agents)
    }
}
