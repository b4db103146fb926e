//! The programs of a society: found in its folders, compiled once, shared by all agents that run them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text, Value};
use whimbrel_bdi::AgentConfig;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::reason::ProgramError;
use whimbrel_bdi::syntax::{Diagnostic, Loader};
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::{AgentBody, Time};
use whimbrel_runtime::ProgramLoader;

use crate::files::{ReadError, Sources};
use crate::guests::{GuestCode, Guests, is_module};

/// Why a program cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has errors; all of them, and warnings.
    #[error("{}", first(.0))]
    Errors(Vec<Diagnostic>),
    /// It is a module that cannot run here: why.
    #[error("{0}")]
    Module(String),
}

fn first(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(|| "the program has errors".to_owned(), Diagnostic::to_string)
}

/// Program text and files, compiled once each.
#[derive(Debug, Default)]
pub struct Programs {
    sources: Sources,
    images: Mutex<FxHashMap<PathBuf, Arc<Image>>>,
    guests: Guests,
    modules: Mutex<FxHashMap<PathBuf, GuestCode>>,
}

impl Programs {
    /// Programs that are found there.
    pub fn new(sources: Sources) -> Self {
        Self { sources, ..Self::default() }
    }

    /// The compiled program, and what there is to say about it when it is compiled for the first time.
    ///
    /// # Errors
    /// There is none, or it has errors.
    pub fn compile(&self, path: &str) -> Result<(Arc<Image>, Vec<Diagnostic>), CompileError> {
        let file = self.sources.find(path);
        if let Some(image) = self.images.lock().unwrap_or_else(PoisonError::into_inner).get(&file) {
            return Ok((Arc::clone(image), Vec::new()));
        }
        let text = self.sources.read(&file)?;
        let name = Text::from(file.to_string_lossy());
        let (image, warnings) = whimbrel_bdi::load(&text, &name, &mut Includes(&self.sources))
            .map_err(|ProgramError { diagnostics }| CompileError::Errors(diagnostics))?;
        self.images.lock().unwrap_or_else(PoisonError::into_inner).insert(file, Arc::clone(&image));
        Ok((image, warnings))
    }

    /// A program's file as its project names it, whichever folder that is in.
    pub fn name(&self, file: &Path) -> String {
        let name = self.sources.project_folder().and_then(|folder| file.strip_prefix(folder).ok());
        name.or(file.file_name().map(Path::new)).unwrap_or(file).to_string_lossy().into_owned()
    }

    /// The compiled WebAssembly module.
    ///
    /// # Errors
    /// There is none, or it cannot run here.
    pub fn module(&self, path: &str) -> Result<GuestCode, CompileError> {
        let file = self.sources.find(path);
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = modules.get(&file) {
            return Ok(code.clone());
        }
        let bytes = self.sources.read_module(&file)?;
        let code = self.guests.code(&file, &bytes).map_err(CompileError::Module)?;
        modules.insert(file, code.clone());
        Ok(code)
    }
}

impl Programs {
    /// A module with this hash that is in use here, wherever it was found; or else the one at `path`.
    fn module_like(&self, path: &str, hash: [u8; 32]) -> Result<GuestCode, CompileError> {
        let modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let known = modules.values().find(|code| code.is(hash)).cloned();
        drop(modules);
        known.map_or_else(|| self.module(path), Ok)
    }
}

/// Files that programs include: beside the including file, then where programs are found.
struct Includes<'a>(&'a Sources);

impl Loader for Includes<'_> {
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, String), String> {
        let beside = Path::new(from_file).parent().unwrap_or(Path::new("")).join(path);
        let file = if beside.is_file() { beside } else { self.0.find(path) };
        let text = self.0.read(&file).map_err(|error| {
            let of_jason = path.starts_with("$jasonJar");
            let help = "; it is part of Jason: let the variable JASON_HOME name a checkout of Jason's repository";
            format!("{error}{}", if of_jason { help } else { "" })
        })?;
        Ok((Text::from(file.to_string_lossy()), text))
    }
}

/// Finds the programs of agents that are created while the society runs.
#[derive(Clone, Debug)]
pub struct SocietyLoader {
    programs: Arc<Programs>,
    environment: Option<whimbrel_acl::Aid>,
}

impl SocietyLoader {
    /// A loader of these programs, whose agents act on this environment.
    pub fn new(programs: Arc<Programs>, environment: Option<whimbrel_acl::Aid>) -> Self {
        Self { programs, environment }
    }
}

impl SocietyLoader {
    fn restore_program(
        &self,
        path: &str,
        fingerprint: u64,
        states: &[State],
        now: Time,
    ) -> Result<Box<dyn AgentBody>, String> {
        let (image, _) = self.programs.compile(path).map_err(|error| error.to_string())?;
        if image.fingerprint != fingerprint {
            return Err(format!("{path} is not the program any more that its state is of; --fresh begins anew"));
        }
        let Some((State::Whole(whole), changes)) = states.split_first() else {
            return Err("its state was not kept whole".to_owned());
        };
        let mut agent = whimbrel_bdi::Agent::restore(whole, image, now).map_err(|error| error.to_string())?;
        for change in changes {
            if let State::Delta(delta) = change {
                agent.apply_delta(delta, now).map_err(|error| error.to_string())?;
            }
        }
        agent.go_on_saving();
        Ok(Box::new(agent))
    }
}

impl ProgramLoader for SocietyLoader {
    fn load(&self, _name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        if is_module(path) {
            let code = self.programs.module(path).map_err(|error| error.to_string())?;
            return Ok(code.agent(options.to_vec()));
        }
        let (image, _) = self.programs.compile(path).map_err(|error| error.to_string())?;
        let mut config = AgentConfig::new(image);
        config.environment = self.environment;
        for (key, value) in options {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            crate::options::apply(&mut config, *key, &text)?;
        }
        Ok(Box::new(whimbrel_bdi::Agent::new(config)))
    }

    fn restore(
        &self,
        _name: Symbol,
        origin: &Origin,
        states: &[State],
        now: Time,
    ) -> Result<Box<dyn AgentBody>, String> {
        match origin {
            Origin::Program { path, fingerprint } => self.restore_program(path, *fingerprint, states, now),
            Origin::Module { path, hash } => {
                let code = self.programs.module_like(path, *hash).map_err(|error| error.to_string())?;
                code.restore(*hash, states, now)
            }
            _ => Err("it was made in Rust by another program than this one".to_owned()),
        }
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        let sources = &self.programs.sources;
        sources.read(&sources.find(path)).map_err(|error| error.to_string())
    }
}
